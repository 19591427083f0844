//! Growing: the search for cuts and the recursion.

use super::{MOST_DEPTH, Node, Tree, TreeSettings, prune};
use crate::data::Matrix;
use crate::parallel;

/// A feature takes part only if its corrected gain reaches the features' average less this.
const NEAR_AVERAGE: f64 = 1e-3;
/// Gains closer than this are equal: the lowest threshold wins.
const SAME_GAIN: f64 = 1e-12;
/// Gain ratios closer than this are equal: the first feature wins.
const SAME_RATIO: f64 = 1e-10;
/// Whole weights up to this sum have their `x log2 x` in a table.
const TABLE: usize = 1 << 14;

/// A table by columns, each with its rows in rising order of value.
#[derive(Clone, Debug)]
pub struct SortedColumns {
    rows: usize,
    columns: usize,
    /// Column after column.
    values: Vec<f64>,
    /// Row numbers of each column, by value, ties by row.
    order: Vec<u32>,
}

impl SortedColumns {
    /// Sorts every column of `x`; values must be finite and rows fewer than 2^32.
    pub fn new(x: &Matrix<'_>, threads: usize) -> Self {
        let (rows, columns) = (x.rows(), x.columns());
        let mut values = vec![0.0; rows * columns];
        for row in 0..rows {
            x.for_each(row, |j, v| values[j * rows + row] = v + 0.0);
        }
        let orders = parallel::map(if rows * columns < 1 << 16 { 1 } else { threads }, columns, |j| {
            let column = &values[j * rows..(j + 1) * rows];
            let mut keyed: Vec<(f64, u32)> = column.iter().copied().zip(0..).collect();
            keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            keyed.into_iter().map(|(_, row)| row).collect::<Vec<u32>>()
        });
        Self { rows, columns, values, order: orders.concat() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The values of a column, row by row.
    pub fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.rows..(column + 1) * self.rows]
    }

    /// What `tree` says about every row.
    pub fn evaluate(&self, tree: &Tree, output: super::Output) -> Vec<f64> {
        let values: Vec<f64> = tree.nodes.iter().map(|node| node.value(output)).collect();
        (0..self.rows).map(|row| values[tree.leaf(|j| self.values[j * self.rows + row])]).collect()
    }
}

/// The best cut of one feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Which feature.
    pub feature: usize,
    /// Rows up to this value go left.
    pub threshold: f64,
    /// Information gain in bits.
    pub gain: f64,
    /// Cuts that were possible.
    pub candidates: usize,
    /// The gain less `log2(candidates) / W`.
    pub corrected: f64,
    /// Entropy of the cut itself.
    pub split_info: f64,
    /// `corrected / split_info`.
    pub ratio: f64,
    /// Weight that goes left.
    pub left_weight: f64,
    /// Rows (with weight) that go left, in the feature's order.
    left_rows: usize,
}

/// `x log2 x`, from a table where weights are whole numbers.
struct Plogp {
    table: Vec<f64>,
}

impl Plogp {
    fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let whole = total <= TABLE as f64 && weights.iter().all(|w| w.fract() == 0.0);
        let table = if whole { (0..=total as usize).map(|x| plogp(x as f64)).collect() } else { Vec::new() };
        Self { table }
    }
}

fn plogp(x: f64) -> f64 {
    if x > 0.0 { x * x.log2() } else { 0.0 }
}

/// What is being grown.
struct Growth<'a> {
    columns: &'a SortedColumns,
    /// Weight of every row: positive for the positive class, negative for the other, 0 for rows that do not exist.
    signed: Vec<f64>,
    /// Row lists of all features, one after another, `rows` each; a node is the same range of every list.
    lists: Vec<u32>,
    rows: usize,
    scratch: Vec<u32>,
    goes_left: Vec<bool>,
    plogp: Plogp,
    settings: TreeSettings,
    nodes: Vec<Node>,
}

/// A node that waits to be split.
struct Task {
    node: usize,
    from: usize,
    to: usize,
    depth: usize,
    /// Features that are not constant here, as far as is known.
    alive: Vec<u32>,
}

impl<'a> Growth<'a> {
    fn new(columns: &'a SortedColumns, positive: &[bool], weights: &[f64], settings: &TreeSettings) -> Self {
        let signed: Vec<f64> = positive.iter().zip(weights).map(|(&p, &w)| if p { w } else { -w }).collect();
        let rows = weights.iter().filter(|&&w| w > 0.0).count();
        let mut lists = Vec::with_capacity(rows * columns.columns);
        if rows == columns.rows {
            lists.extend_from_slice(&columns.order);
        } else {
            lists.extend(columns.order.iter().copied().filter(|&row| weights[row as usize] > 0.0));
        }
        Self {
            columns,
            signed,
            lists,
            rows,
            scratch: Vec::with_capacity(rows),
            goes_left: vec![false; columns.rows],
            plogp: Plogp::new(weights),
            settings: *settings,
            nodes: Vec::new(),
        }
    }

    fn list(&self, feature: usize, from: usize, to: usize) -> &[u32] {
        &self.lists[feature * self.rows + from..feature * self.rows + to]
    }

    /// The weights at the root, summed in row order.
    fn root(&self) -> Node {
        let side = |sign: f64| self.signed.iter().map(|&s| (s * sign).max(0.0)).sum::<f64>();
        Node { feature: 0, threshold: 0.0, left: 0, right: 0, negative: side(-1.0), positive: side(1.0) }
    }

    /// The best cut of `feature`; none if there is no admissible cut or its corrected gain is not positive.
    fn cut(&self, feature: usize, from: usize, to: usize, node: &Node, least: f64) -> Option<Cut> {
        if self.plogp.table.is_empty() {
            self.cut_by(feature, from, to, node, least, plogp)
        } else {
            self.cut_by(feature, from, to, node, least, |x| self.plogp.table[x as usize])
        }
    }

    #[inline(always)]
    fn cut_by(&self, feature: usize, from: usize, to: usize, node: &Node, least: f64, plogp: impl Fn(f64) -> f64) -> Option<Cut> {
        let (list, column) = (self.list(feature, from, to), self.columns.column(feature));
        let (negative, positive, weight) = (node.negative, node.positive, node.weight());
        let (mut left_negative, mut left_positive) = (0.0f64, 0.0f64);
        // W times the entropy left over after the cut; the best cut has the smallest.
        let mut best = f64::INFINITY;
        let slack = SAME_GAIN * weight;
        let (mut place, mut candidates, mut left_weight) = (0, 0usize, 0.0);
        let mut value = column[list[0] as usize];
        for (i, pair) in list.windows(2).enumerate() {
            let signed = self.signed[pair[0] as usize];
            left_positive += signed.max(0.0);
            left_negative += (-signed).max(0.0);
            let next = column[pair[1] as usize];
            if next == value {
                continue;
            }
            value = next;
            let left = left_negative + left_positive;
            let right = weight - left;
            if left < least || right < least {
                continue;
            }
            candidates += 1;
            let (right_negative, right_positive) = ((negative - left_negative).max(0.0), (positive - left_positive).max(0.0));
            let rest =
                plogp(left) - plogp(left_negative) - plogp(left_positive) + plogp(right) - plogp(right_negative) - plogp(right_positive);
            if rest < best - slack {
                (best, place, left_weight) = (rest, i, left);
            }
        }
        if candidates == 0 {
            return None;
        }
        let gain = (plogp(weight) - plogp(negative) - plogp(positive) - best) / weight;
        let corrected = gain - (candidates as f64).log2() / weight;
        if !(corrected > 0.0) {
            return None;
        }
        let (low, high) = (column[list[place] as usize], column[list[place + 1] as usize]);
        let middle = low + 0.5 * (high - low);
        let threshold = if middle < high { middle } else { low };
        let split_info = (plogp(weight) - plogp(left_weight) - plogp(weight - left_weight)) / weight;
        Some(Cut {
            feature,
            threshold,
            gain,
            candidates,
            corrected,
            split_info,
            ratio: corrected / split_info,
            left_weight,
            left_rows: place + 1,
        })
    }

    fn least(&self, weight: f64) -> f64 {
        self.settings.min_leaf.max((0.05 * weight).min(25.0))
    }

    /// Every live feature's best cut; features that turn out constant leave `alive`.
    fn cuts(&self, task: &mut Task, node: &Node) -> Vec<Cut> {
        let least = self.least(node.weight());
        let mut cuts = Vec::new();
        task.alive.retain(|&feature| {
            let (list, column) = (self.list(feature as usize, task.from, task.to), self.columns.column(feature as usize));
            let varies = list.first().zip(list.last()).is_some_and(|(&first, &last)| column[first as usize] < column[last as usize]);
            if varies {
                cuts.extend(self.cut(feature as usize, task.from, task.to, node, least));
            }
            varies
        });
        cuts
    }

    fn grow(mut self) -> Vec<Node> {
        self.nodes.push(self.root());
        let alive = (0..self.columns.columns as u32).collect();
        let mut waiting = vec![Task { node: 0, from: 0, to: self.rows, depth: 0, alive }];
        let most_depth = self.settings.max_depth.min(MOST_DEPTH);
        while let Some(mut task) = waiting.pop() {
            let node = self.nodes[task.node];
            let pure = node.negative <= 0.0 || node.positive <= 0.0;
            if pure || node.weight() < 2.0 * self.settings.min_leaf || task.depth >= most_depth {
                continue;
            }
            let cuts = self.cuts(&mut task, &node);
            let Some(cut) = choose(&cuts) else { continue };
            self.split(&task, &cut, &mut waiting);
        }
        self.nodes
    }

    /// Cuts a node in two: every live feature's list is partitioned, its order kept.
    fn split(&mut self, task: &Task, cut: &Cut, waiting: &mut Vec<Task>) {
        let middle = task.from + cut.left_rows;
        let (mut left, mut right) = ((0.0, 0.0), (0.0, 0.0));
        for place in task.from..task.to {
            let row = self.lists[cut.feature * self.rows + place] as usize;
            let is_left = place < middle;
            self.goes_left[row] = is_left;
            let side = if is_left { &mut left } else { &mut right };
            let signed = self.signed[row];
            if signed > 0.0 { side.1 += signed } else { side.0 -= signed }
        }
        for &feature in task.alive.iter().filter(|&&feature| feature as usize != cut.feature) {
            let start = feature as usize * self.rows;
            let list = &mut self.lists[start + task.from..start + task.to];
            self.scratch.clear();
            self.scratch.resize(list.len(), 0);
            // Without branches: both places are written, one of them advances.
            let (mut kept, mut moved) = (0, 0);
            for i in 0..list.len() {
                let row = list[i];
                let is_left = usize::from(self.goes_left[row as usize]);
                list[kept] = row;
                self.scratch[moved] = row;
                kept += is_left;
                moved += 1 - is_left;
            }
            list[kept..].copy_from_slice(&self.scratch[..moved]);
        }
        let first = self.nodes.len() as u32;
        let leaf = |(negative, positive)| Node { feature: 0, threshold: 0.0, left: 0, right: 0, negative, positive };
        self.nodes.push(leaf(left));
        self.nodes.push(leaf(right));
        let node = &mut self.nodes[task.node];
        (node.feature, node.threshold, node.left, node.right) = (cut.feature as u32, cut.threshold, first, first + 1);
        let depth = task.depth + 1;
        waiting.push(Task { node: first as usize + 1, from: middle, to: task.to, depth, alive: task.alive.clone() });
        waiting.push(Task { node: first as usize, from: task.from, to: middle, depth, alive: task.alive.clone() });
    }
}

/// The cut with the largest gain ratio among those with at least average gain.
fn choose(cuts: &[Cut]) -> Option<Cut> {
    let average = cuts.iter().map(|cut| cut.corrected).sum::<f64>() / cuts.len().max(1) as f64;
    let mut best: Option<Cut> = None;
    for cut in cuts.iter().filter(|cut| cut.corrected >= average - NEAR_AVERAGE) {
        if best.is_none_or(|best| cut.ratio > best.ratio + SAME_RATIO) {
            best = Some(*cut);
        }
    }
    best
}

/// Grows and prunes a tree. Rows of weight 0 do not exist; `positive` says which class a row has.
pub fn grow(columns: &SortedColumns, positive: &[bool], weights: &[f64], settings: &TreeSettings) -> Tree {
    let nodes = Growth::new(columns, positive, weights, settings).grow();
    prune::prune(nodes, settings.confidence)
}

/// Every feature's best cut at the root, and the place of the one that is chosen: for whoever wants to see the table.
pub fn root_cuts(columns: &SortedColumns, positive: &[bool], weights: &[f64], settings: &TreeSettings) -> (Vec<Cut>, Option<Cut>) {
    let growth = Growth::new(columns, positive, weights, settings);
    let mut task = Task { node: 0, from: 0, to: growth.rows, depth: 0, alive: (0..columns.columns as u32).collect() };
    let cuts = growth.cuts(&mut task, &growth.root());
    let chosen = choose(&cuts);
    (cuts, chosen)
}
