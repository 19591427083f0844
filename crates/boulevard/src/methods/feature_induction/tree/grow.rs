//! Growing: the search for cuts and the recursion.

// long: the scans of a node share its sorted columns and sums; apart they would pass ten arguments to each other.

use super::{MOST_DEPTH, Node, Tree, TreeSettings, prune};
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::{Context, PIECE};
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
///
/// Many columns hold one value in most rows (zero, as a rule). Rows with a column's common value are left out of its list: what they weigh
/// at a node is what the others leave. On tables of word counts that saves four fifths of the work.
#[derive(Clone, Debug)]
pub struct SortedColumns {
    rows: usize,
    columns: usize,
    /// Column after column.
    values: Vec<f64>,
    /// The common value of each column; infinite where there is none.
    common: Vec<f64>,
    /// Row numbers of each column without its common value, by value, ties by row.
    order: Vec<Vec<u32>>,
}

impl SortedColumns {
    /// Sorts every column of `x`; values must be finite and rows fewer than 2^32.
    pub fn new(x: &Matrix<'_>, threads: usize) -> Self {
        Self::new_in(x, &Context::single().with_threads(threads)).expect("nobody stops it")
    }

    /// [`SortedColumns::new`] that may be stopped.
    pub fn new_in(x: &Matrix<'_>, context: &Context<'_>) -> Result<Self> {
        let (rows, columns) = (x.rows(), x.columns());
        let values = by_columns(x, context)?;
        let threads = context.threads;
        // Sorting takes some ten comparisons per value.
        let ask_every = (PIECE / 32 / rows.max(1)).max(1);
        let sorted = parallel::try_map(if rows * columns < 1 << 16 { 1 } else { threads }, columns, |j| {
            if j % ask_every == ask_every - 1 {
                context.go_on("sort columns")?;
            }
            let column = &values[j * rows..(j + 1) * rows];
            let common = common_value(column);
            // Value and row in one number: such are sorted the fastest.
            let keyed = |(&v, row): (&f64, u32)| (u128::from(ordered(v)) << 32) | u128::from(row);
            let mut keys: Vec<u128> = Vec::with_capacity(rows);
            keys.extend(column.iter().zip(0u32..).filter(|(v, _)| **v != common).map(keyed));
            keys.sort_unstable();
            Ok((common, keys.into_iter().map(|key| key as u32).collect::<Vec<u32>>()))
        });
        let (common, order) = sorted?.into_iter().unzip();
        Ok(Self { rows, columns, values, common, order })
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
        self.leaves(tree).map(|leaf| values[leaf]).collect()
    }

    /// The leaf of every row.
    pub fn leaves<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = usize> + 'a {
        (0..self.rows).map(|row| tree.leaf(|j| self.values[j * self.rows + row]))
    }
}

/// The table column after column. Adding zero makes -0 equal to 0 in every comparison.
fn by_columns(x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    /// Rows at a time: as many values as a few cache lines of every column hold.
    const BLOCK: usize = 16;
    /// Columns between two questions: of a wide table every value is the first in its page.
    const COLUMNS: usize = 4096;
    let (rows, columns) = (x.rows(), x.columns());
    let mut values = vec![0.0; rows * columns];
    let mut meter = context.meter("sort columns");
    let Matrix::F64(dense) = x else {
        for row in 0..rows {
            let mut count = 0;
            x.for_each(row, |j, v| {
                values[j * rows + row] = v + 0.0;
                count += 1;
            });
            // Every value goes to a line of its own.
            meter.spend(64 * count)?;
        }
        return Ok(values);
    };
    for from in (0..rows).step_by(BLOCK) {
        let block: Vec<&[f64]> = (from..rows.min(from + BLOCK)).map(|row| dense.row(row)).collect();
        for j in 0..columns {
            if j.is_multiple_of(COLUMNS) {
                meter.spend(16 * BLOCK * COLUMNS.min(columns - j))?;
            }
            let out = &mut values[j * rows + from..][..block.len()];
            out.iter_mut().zip(&block).for_each(|(out, row)| *out = row[j] + 0.0);
        }
    }
    Ok(values)
}

/// A number whose order among whole numbers is the value's among finite ones.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The value of more than half of the rows (Boyer and Moore's vote), or zero if an eighth of them hold it; else infinity.
fn common_value(column: &[f64]) -> f64 {
    let count = |wanted: f64| column.iter().filter(|v| **v == wanted).count();
    let zeros = count(0.0);
    if 2 * zeros > column.len() {
        return 0.0;
    }
    let (mut candidate, mut lead) = (0.0, 0usize);
    for &value in column {
        if lead == 0 {
            (candidate, lead) = (value, 1);
        } else if value == candidate {
            lead += 1;
        } else {
            lead -= 1;
        }
    }
    if 2 * count(candidate) > column.len() {
        candidate
    } else if 8 * zeros > column.len() {
        0.0
    } else {
        f64::INFINITY
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
    /// Row lists of all features, one after another; a node is a range of every list.
    lists: Vec<u32>,
    /// Rows with weight; a node is a range.
    rows: Vec<u32>,
    scratch: Vec<u32>,
    goes_left: Vec<bool>,
    plogp: Plogp,
    settings: TreeSettings,
    nodes: Vec<Node>,
}

/// A feature's rows at a node.
#[derive(Clone, Copy)]
struct Span {
    feature: u32,
    from: u32,
    to: u32,
}

/// A node that waits to be split.
struct NodeTask {
    node: usize,
    from: usize,
    to: usize,
    depth: usize,
    /// Features that are not constant here, as far as is known.
    alive: Vec<Span>,
}

/// A scan over a feature's values from left to right.
struct Scan {
    negative: f64,
    positive: f64,
    /// W times the entropy left over after the best cut so far; the best cut has the smallest.
    best: f64,
    candidates: usize,
    between: (f64, f64),
    left_weight: f64,
}

impl<'a> Growth<'a> {
    fn new(
        columns: &'a SortedColumns,
        positive: &[bool],
        weights: &[f64],
        settings: &TreeSettings,
        context: &Context<'_>,
    ) -> Result<(Self, NodeTask)> {
        let signed: Vec<f64> = positive.iter().zip(weights).map(|(&p, &w)| if p { w } else { -w }).collect();
        let rows: Vec<u32> = (0..columns.rows as u32).filter(|&row| weights[row as usize] > 0.0).collect();
        let mut lists = Vec::with_capacity(columns.order.iter().map(Vec::len).sum());
        let mut alive = Vec::with_capacity(columns.columns);
        let mut meter = context.meter("grow");
        for (feature, order) in (0u32..).zip(&columns.order) {
            // Fresh memory takes longer than a multiplication.
            meter.spend(8 * order.len())?;
            let from = lists.len() as u32;
            lists.extend(order.iter().copied().filter(|&row| weights[row as usize] > 0.0));
            alive.push(Span { feature, from, to: lists.len() as u32 });
        }
        let task = NodeTask { node: 0, from: 0, to: rows.len(), depth: 0, alive };
        let growth = Self {
            columns,
            signed,
            lists,
            scratch: vec![0; rows.len()],
            rows,
            goes_left: vec![false; columns.rows],
            plogp: Plogp::new(weights),
            settings: *settings,
            nodes: Vec::new(),
        };
        Ok((growth, task))
    }

    fn list(&self, span: Span) -> &[u32] {
        &self.lists[span.from as usize..span.to as usize]
    }

    /// The weights at the root, summed in row order.
    fn root(&self) -> Node {
        let side = |sign: f64| self.signed.iter().map(|&s| (s * sign).max(0.0)).sum::<f64>();
        Node { feature: 0, threshold: 0.0, left: 0, right: 0, negative: side(-1.0), positive: side(1.0) }
    }

    /// The best cut of a feature; none if there is no admissible cut or its corrected gain is not positive.
    fn cut(&self, span: Span, rows: usize, node: &Node, least: f64) -> Option<Cut> {
        if self.plogp.table.is_empty() {
            self.cut_by(span, rows, node, least, plogp)
        } else {
            self.cut_by(span, rows, node, least, |x| self.plogp.table[x as usize])
        }
    }

    #[inline(always)]
    fn cut_by(&self, span: Span, rows: usize, node: &Node, least: f64, plogp: impl Fn(f64) -> f64) -> Option<Cut> {
        let feature = span.feature as usize;
        let (list, column, common) = (self.list(span), self.columns.column(feature), self.columns.common[feature]);
        let (negative, positive, weight) = (node.negative, node.positive, node.weight());
        let slack = SAME_GAIN * weight;
        let mut scan = Scan { negative: 0.0, positive: 0.0, best: f64::INFINITY, candidates: 0, between: (0.0, 0.0), left_weight: 0.0 };
        let consider = |scan: &mut Scan, low: f64, high: f64| {
            let left = scan.negative + scan.positive;
            let right = weight - left;
            if left < least || right < least {
                return;
            }
            scan.candidates += 1;
            let (right_negative, right_positive) = ((negative - scan.negative).max(0.0), (positive - scan.positive).max(0.0));
            let rest =
                plogp(left) - plogp(scan.negative) - plogp(scan.positive) + plogp(right) - plogp(right_negative) - plogp(right_positive);
            if rest < scan.best - slack {
                (scan.best, scan.between, scan.left_weight) = (rest, (low, high), left);
            }
        };
        // Nothing is left of the first value, so the first call finds too little weight there.
        let mut value = f64::NEG_INFINITY;
        let walk = |scan: &mut Scan, value: &mut f64, part: &[u32]| {
            for &row in part {
                let next = column[row as usize];
                if next != *value {
                    consider(scan, *value, next);
                    *value = next;
                }
                let signed = self.signed[row as usize];
                scan.positive += signed.max(0.0);
                scan.negative += (-signed).max(0.0);
            }
        };
        if list.len() < rows {
            let (below, above) = list.split_at(list.partition_point(|&row| column[row as usize] < common));
            let (mut other_negative, mut other_positive) = (0.0, 0.0);
            for &row in list {
                let signed = self.signed[row as usize];
                other_positive += signed.max(0.0);
                other_negative += (-signed).max(0.0);
            }
            walk(&mut scan, &mut value, below);
            consider(&mut scan, value, common);
            value = common;
            scan.negative += (negative - other_negative).max(0.0);
            scan.positive += (positive - other_positive).max(0.0);
            walk(&mut scan, &mut value, above);
        } else {
            walk(&mut scan, &mut value, list);
        }
        if scan.candidates == 0 {
            return None;
        }
        let gain = (plogp(weight) - plogp(negative) - plogp(positive) - scan.best) / weight;
        let corrected = gain - (scan.candidates as f64).log2() / weight;
        if corrected <= 0.0 {
            return None;
        }
        let (low, high) = scan.between;
        let middle = low + 0.5 * (high - low);
        let threshold = if middle < high { middle } else { low };
        let left_weight = scan.left_weight;
        let split_info = (plogp(weight) - plogp(left_weight) - plogp(weight - left_weight)) / weight;
        let candidates = scan.candidates;
        Some(Cut { feature, threshold, gain, candidates, corrected, split_info, ratio: corrected / split_info, left_weight })
    }

    fn least(&self, weight: f64) -> f64 {
        self.settings.min_leaf.max((0.05 * weight).min(25.0))
    }

    /// Every live feature's best cut; features that turn out constant leave `alive`.
    fn cuts(&self, task: &mut NodeTask, node: &Node, context: &Context<'_>) -> Result<Vec<Cut>> {
        let (least, rows) = (self.least(node.weight()), task.to - task.from);
        let mut cuts = Vec::new();
        let (mut meter, mut asked) = (context.meter("grow"), Ok(()));
        task.alive.retain(|&span| {
            if asked.is_err() {
                return true;
            }
            asked = meter.spend(8 * (span.to - span.from) as usize);
            let (list, column) = (self.list(span), self.columns.column(span.feature as usize));
            let varies = match (list.first(), list.last()) {
                (Some(&first), Some(&last)) => list.len() < rows || column[first as usize] < column[last as usize],
                _ => false,
            };
            if varies {
                cuts.extend(self.cut(span, rows, node, least));
            }
            varies
        });
        asked.map(|()| cuts)
    }

    fn grow(mut self, root: NodeTask, context: &Context<'_>) -> Result<Vec<Node>> {
        self.nodes.push(self.root());
        let mut waiting = vec![root];
        let most_depth = self.settings.max_depth.min(MOST_DEPTH);
        while let Some(mut task) = waiting.pop() {
            let node = self.nodes[task.node];
            let pure = node.negative <= 0.0 || node.positive <= 0.0;
            if pure || node.weight() < 2.0 * self.settings.min_leaf || task.depth >= most_depth {
                continue;
            }
            let cuts = self.cuts(&mut task, &node, context)?;
            let Some(cut) = choose(&cuts) else { continue };
            self.split(task, &cut, most_depth, &mut waiting, context)?;
        }
        Ok(self.nodes)
    }

    /// Cuts a node in two: every live feature's list is partitioned, its order kept.
    fn split(&mut self, task: NodeTask, cut: &Cut, most_depth: usize, waiting: &mut Vec<NodeTask>, context: &Context<'_>) -> Result<()> {
        let (mut left, mut right) = ((0.0, 0.0), (0.0, 0.0));
        let column = self.columns.column(cut.feature);
        for &row in &self.rows[task.from..task.to] {
            let row = row as usize;
            let is_left = column[row] <= cut.threshold;
            self.goes_left[row] = is_left;
            let side = if is_left { &mut left } else { &mut right };
            let signed = self.signed[row];
            if signed > 0.0 { side.1 += signed } else { side.0 -= signed }
        }
        let first = self.nodes.len() as u32;
        let leaf = |(negative, positive)| Node { feature: 0, threshold: 0.0, left: 0, right: 0, negative, positive };
        self.nodes.push(leaf(left));
        self.nodes.push(leaf(right));
        let node = &mut self.nodes[task.node];
        (node.feature, node.threshold, node.left, node.right) = (cut.feature as u32, cut.threshold, first, first + 1);
        let depth = task.depth + 1;
        // The children of the last level are leaves: nobody will read their lists.
        if depth >= most_depth {
            return Ok(());
        }
        let mut meter = context.meter("grow");
        let middle = task.from + partition(&mut self.rows[task.from..task.to], &self.goes_left, &mut self.scratch);
        let (mut below, mut above) = (Vec::with_capacity(task.alive.len()), Vec::with_capacity(task.alive.len()));
        for &Span { feature, from, to } in &task.alive {
            meter.spend(4 * (to - from) as usize)?;
            let list = &mut self.lists[from as usize..to as usize];
            let middle = from + partition(list, &self.goes_left, &mut self.scratch) as u32;
            below.push(Span { feature, from, to: middle });
            above.push(Span { feature, from: middle, to });
        }
        waiting.push(NodeTask { node: first as usize + 1, from: middle, to: task.to, depth, alive: above });
        waiting.push(NodeTask { node: first as usize, from: task.from, to: middle, depth, alive: below });
        Ok(())
    }
}

/// Brings the rows that go left to the front, order kept on both sides; how many they are.
fn partition(list: &mut [u32], goes_left: &[bool], scratch: &mut [u32]) -> usize {
    // Without branches: both places are written, one of them advances.
    let (mut kept, mut moved) = (0, 0);
    for i in 0..list.len() {
        let row = list[i];
        let is_left = usize::from(goes_left[row as usize]);
        list[kept] = row;
        scratch[moved] = row;
        kept += is_left;
        moved += 1 - is_left;
    }
    list[kept..].copy_from_slice(&scratch[..moved]);
    kept
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
    grow_in(columns, positive, weights, settings, &Context::single()).expect("nobody stops it")
}

/// [`grow`] that may be stopped.
pub fn grow_in(
    columns: &SortedColumns,
    positive: &[bool],
    weights: &[f64],
    settings: &TreeSettings,
    context: &Context<'_>,
) -> Result<Tree> {
    let (growth, root) = Growth::new(columns, positive, weights, settings, context)?;
    context.go_on("grow")?;
    Ok(prune::prune(growth.grow(root, context)?, settings.confidence))
}

/// Every feature's best cut at the root, and the one that is chosen: for whoever wants to see the table.
pub fn root_cuts(columns: &SortedColumns, positive: &[bool], weights: &[f64], settings: &TreeSettings) -> (Vec<Cut>, Option<Cut>) {
    let context = Context::single();
    let (growth, mut root) = Growth::new(columns, positive, weights, settings, &context).expect("nobody stops it");
    let cuts = growth.cuts(&mut root, &growth.root(), &context).expect("nobody stops it");
    let chosen = choose(&cuts);
    (cuts, chosen)
}
