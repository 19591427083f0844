//! Candidate rules: conjunctions that trees have found, in their simplest form.
//!
//! Every node of a tree within the first levels is a conjunction; so is every part of one. Bounds on one column are one interval.
//! Thresholds are rounded to the shortest number that leaves nearly all training rows on their side. Of candidates that hold for the same
//! rows, or for exactly the others, the one with the fewest conditions stays: a condition that changes nothing is dropped, and the two sides
//! of one test are one candidate.

use std::collections::{BTreeMap, HashMap};

use super::super::gamma::Edge;
use super::super::rounds::Induced;
use super::super::table::TrainingTable;
use super::super::tree::{Node, Tree};
use crate::error::Result;
use crate::observe::Context;

/// Lower and upper bound per column: `low < x <= high`.
pub(in super::super) type Bounds = BTreeMap<u32, (Option<f64>, Option<f64>)>;

/// Share of the rows' weight that rounding a threshold may move to the other side.
const MOVED: f64 = 0.005;
/// A rule holds for at least this share of the rows' weight, and not for as much.
const LEAST_SHARE: f64 = 0.01;
/// And for this many rows, unless there are few in all.
const LEAST_ROWS: f64 = 5.0;
/// Conditions of which all parts are candidates.
const MOST_PARTS: usize = 3;

/// A conjunction with the training rows it holds for.
pub(super) struct Candidate {
    pub bounds: Bounds,
    /// One bit per row.
    pub rows: Vec<u64>,
    /// Its share of the rows' weight.
    pub share: f64,
    /// Where it comes from: round, sharpness and edge of the tree.
    pub round: usize,
    pub gamma: f64,
    pub capped: bool,
    pub edge: Edge,
}

impl Candidate {
    pub fn holds(&self, row: usize) -> bool {
        self.rows[row / 64] >> (row % 64) & 1 == 1
    }

    /// The sum of `values` over the rows that it holds for.
    pub fn sum(&self, values: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (word, values) in self.rows.iter().zip(values.chunks(64)) {
            let mut left = *word;
            while left != 0 {
                sum += values[left.trailing_zeros() as usize];
                left &= left - 1;
            }
        }
        sum
    }

    /// As a feature: a chain of tests that says 1 where the rule holds and -1 elsewhere, standardized like any other.
    pub fn feature(&self, table: &TrainingTable, output: super::super::Output) -> Induced {
        let tree = chain(&self.bounds);
        let (high, low) = (tree.nodes[tree.nodes.len() - 1].value(output), tree.nodes[1].value(output));
        let mean = low + (high - low) * self.share;
        let spread = (high - low) * (self.share * (1.0 - self.share)).sqrt();
        let all: f64 = table.counts.iter().sum();
        let mut shares = vec![0.0; tree.nodes.len()];
        table.columns.leaves(&tree).zip(&table.counts).for_each(|(leaf, s)| shares[leaf] += s / all);
        Induced { tree, shares, mean, spread, round: self.round, gamma: self.gamma, capped: self.capped, edge: self.edge }
    }
}

/// Tests one after another: the first that fails ends in a leaf, the last node is where all of them hold.
fn chain(bounds: &Bounds) -> Tree {
    let tests: Vec<(u32, f64, bool)> = bounds
        .iter()
        .flat_map(|(&column, &(low, high))| [low.map(|low| (column, low, false)), high.map(|high| (column, high, true))])
        .flatten()
        .collect();
    let leaf = |holds: bool| Node {
        feature: 0,
        threshold: 0.0,
        left: 0,
        right: 0,
        negative: f64::from(u8::from(!holds)),
        positive: f64::from(u8::from(holds)),
    };
    let mut nodes = Vec::with_capacity(2 * tests.len() + 1);
    for (place, &(feature, threshold, below)) in tests.iter().enumerate() {
        let (fails, goes_on) = (2 * place as u32 + 1, 2 * place as u32 + 2);
        let (left, right) = if below { (goes_on, fails) } else { (fails, goes_on) };
        nodes.push(Node { feature, threshold, left, right, negative: 1.0, positive: 1.0 });
        nodes.push(leaf(false));
    }
    nodes.push(leaf(true));
    Tree { nodes }
}

/// All candidates that the trees offer, `longest` conditions at most.
pub(super) fn candidates(
    table: &TrainingTable,
    features: &[Induced],
    longest: usize,
    least: f64,
    context: &Context<'_>,
) -> Result<Vec<Candidate>> {
    let total: f64 = table.counts.iter().sum();
    let least = (LEAST_SHARE * total).max(least).max(LEAST_ROWS.min(0.05 * total));
    let mut meter = context.meter("collect rules");
    let mut rounded: HashMap<(u32, u64), f64> = HashMap::new();
    let mut found: Vec<(Bounds, usize)> = Vec::new();
    let mut seen: BTreeMap<Vec<(u32, u64, u64)>, ()> = BTreeMap::new();
    for (place, feature) in features.iter().enumerate() {
        for mut bounds in conjunctions(&feature.tree, longest) {
            for (&column, ends) in &mut bounds {
                for end in [&mut ends.0, &mut ends.1].into_iter().flatten() {
                    let known = rounded.entry((column, end.to_bits()));
                    *end = *known.or_insert_with(|| shortest(table, column as usize, *end, MOVED * total));
                }
            }
            // An interval that rounding has closed holds for nothing.
            let open = |ends: &(Option<f64>, Option<f64>)| !matches!(ends, (Some(low), Some(high)) if low >= high);
            let bits = |end: Option<f64>| end.map_or(u64::MAX, f64::to_bits);
            let key = bounds.iter().map(|(&column, &(low, high))| (column, bits(low), bits(high))).collect();
            if bounds.values().all(open) && seen.insert(key, ()).is_none() {
                found.push((bounds, place));
            }
        }
    }
    // The simplest first: what comes later and holds for the same rows is left out.
    found.sort_by_key(|(bounds, _)| {
        bounds.values().map(|(low, high)| usize::from(low.is_some()) + usize::from(high.is_some())).sum::<usize>()
    });
    let words = table.rows().div_ceil(64);
    let mut known: HashMap<Vec<u64>, ()> = HashMap::new();
    let mut pool = Vec::new();
    for (bounds, place) in found {
        meter.spend(table.rows() * bounds.len())?;
        let rows = members(table, &bounds, words);
        let mut candidate = candidate(&features[place], bounds, rows);
        let weight = candidate.sum(&table.counts);
        if weight < least || total - weight < least {
            continue;
        }
        candidate.share = weight / total;
        let mut others: Vec<u64> = candidate.rows.iter().map(|word| !word).collect();
        if !table.rows().is_multiple_of(64) {
            others[words - 1] &= (1 << (table.rows() % 64)) - 1;
        }
        if !known.contains_key(&candidate.rows) && !known.contains_key(&others) {
            known.insert(candidate.rows.clone(), ());
            pool.push(candidate);
        }
    }
    Ok(pool)
}

fn candidate(feature: &Induced, bounds: Bounds, rows: Vec<u64>) -> Candidate {
    let Induced { round, gamma, capped, edge, .. } = *feature;
    Candidate { bounds, rows, share: 0.0, round, gamma, capped, edge }
}

/// The rows for which every bound holds.
fn members(table: &TrainingTable, bounds: &Bounds, words: usize) -> Vec<u64> {
    let mut rows = vec![u64::MAX; words];
    for (&column, &(low, high)) in bounds {
        let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
        for (word, values) in rows.iter_mut().zip(table.columns.column(column as usize).chunks(64)) {
            let inside = values.iter().enumerate().fold(0u64, |bits, (bit, &v)| bits | u64::from(v > low && v <= high) << bit);
            *word &= inside;
        }
    }
    rows
}

/// The conjunctions of all nodes of the first levels, and all parts of those that are short.
fn conjunctions(tree: &Tree, longest: usize) -> Vec<Bounds> {
    let mut found = Vec::new();
    let mut waiting = vec![(0usize, Bounds::new(), 0usize)];
    while let Some((place, bounds, level)) = waiting.pop() {
        if !bounds.is_empty() {
            parts(&bounds, &mut found);
        }
        let node = &tree.nodes[place];
        let Some([left, right]) = node.children().filter(|_| level < longest) else { continue };
        let (mut below, mut above) = (bounds.clone(), bounds);
        let high = below.entry(node.feature).or_default();
        high.1 = Some(high.1.map_or(node.threshold, |old| old.min(node.threshold)));
        let low = above.entry(node.feature).or_default();
        low.0 = Some(low.0.map_or(node.threshold, |old| old.max(node.threshold)));
        waiting.push((right, above, level + 1));
        waiting.push((left, below, level + 1));
    }
    found
}

/// A conjunction, and where it is short every part of it.
fn parts(bounds: &Bounds, found: &mut Vec<Bounds>) {
    let columns: Vec<u32> = bounds.keys().copied().collect();
    if columns.len() > MOST_PARTS {
        found.push(bounds.clone());
        return;
    }
    for choice in 1u32..1 << columns.len() {
        let kept = columns.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1);
        found.push(kept.map(|(_, column)| (*column, bounds[column])).collect());
    }
}

/// The shortest decimal near a threshold that moves rows of at most this weight to the other side.
fn shortest(table: &TrainingTable, column: usize, threshold: f64, most: f64) -> f64 {
    let spread = table.standard.spread[column];
    let first = spread.log10().floor();
    let values = table.columns.column(column);
    for digits in 0..8 {
        let step = 10f64.powf(first - f64::from(digits));
        if !(step.is_finite() && step > 0.0) {
            break;
        }
        // Through text: the nearest double of a short decimal, not a multiple of a rounded step.
        let exact = (threshold / step).round() * step;
        let places = (f64::from(digits) - first).clamp(0.0, 300.0) as usize;
        let Ok(rounded) = format!("{exact:.places$}").parse::<f64>() else { break };
        let (low, high) = (rounded.min(threshold), rounded.max(threshold));
        let moved: f64 = values.iter().zip(&table.counts).filter(|(v, _)| **v > low && **v <= high).map(|(_, s)| s).sum();
        if moved <= most {
            return rounded + 0.0;
        }
    }
    threshold
}
