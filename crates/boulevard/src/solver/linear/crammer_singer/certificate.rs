//! What shares and weights prove about each other.
//!
//! Shares are repaired until they are exactly feasible, which is easy, since nothing bounds a share from above: what a class has too much
//! of goes, row by row, to the classes that have too little. The gap is then a sum of terms that are never negative:
//! `1/2 |w - w(share)|^2 + sum_i (price_i max_m z_im - share_i'z_i)` with `z_im = x_i'w_m + b_m + cost_im`.

use super::Joint;
use crate::error::Result;
use crate::solver::linear::loss::not_negative;
use crate::solver::linear::table::LinearTable;

/// Times that every bias in turn is put at its best.
const BIAS_SWEEPS: usize = 3;
/// Violations of the margin up to this are tried without, by longer weights.
const NEARLY: f64 = 1e-2;

/// A point with its duality gap.
pub(super) struct Proof {
    /// Weights, one row per class.
    pub(super) weights: Vec<f64>,
    pub(super) biases: Vec<f64>,
    pub(super) primal: f64,
    pub(super) gap: f64,
}

impl Proof {
    pub(super) fn relative(&self) -> f64 {
        relative(self.gap, self.primal)
    }
}

pub(super) fn relative(gap: f64, primal: f64) -> f64 {
    if gap == 0.0 { 0.0 } else { gap / primal.abs().max(f64::MIN_POSITIVE) }
}

/// The weights of all classes that shares stand for, one row per class.
pub(super) fn weights_of(joint: &Joint<'_>, table: &LinearTable<'_>, shares: &[f64]) -> Result<Vec<f64>> {
    let k = joint.classes;
    let mut weights = Vec::with_capacity(k * table.columns());
    for class in 0..k {
        let pull: Vec<f64> = (0..joint.rows())
            .map(|row| if joint.own(row) == class { joint.prices[row] - shares[row * k + class] } else { -shares[row * k + class] })
            .collect();
        weights.extend(table.backward(&pull)?);
    }
    Ok(weights)
}

/// Certifies weights (one row per class) and biases with the shares, which are repaired first; `table` may be one that nobody stops.
///
/// The weights that the shares stand for are tried too, and both a little longer: at a large price even rounding inside the margin is dear.
pub(super) fn prove(
    joint: &Joint<'_>,
    table: &LinearTable<'_>,
    weights: Vec<f64>,
    biases: Vec<f64>,
    mut shares: Vec<f64>,
) -> Result<Proof> {
    if joint.free_bias {
        repair(joint, &mut shares);
    }
    let implied = weights_of(joint, table, &shares)?;
    let mut best: Option<Proof> = None;
    for (place, candidate) in [&weights, &implied].into_iter().enumerate() {
        if place == 1 && weights == implied {
            break;
        }
        let (scores, biases) = scores_of(joint, table, candidate, biases.clone())?;
        let inside = scores.chunks_exact(joint.classes).enumerate().map(|(row, z)| margin(joint, row, z)).fold(f64::INFINITY, f64::min);
        let longer = if inside < 1.0 && inside > 1.0 - NEARLY { Some((1.0 + 1e-15) / inside) } else { None };
        for factor in std::iter::once(1.0).chain(longer) {
            let (primal, gap) = measure(joint, candidate, &implied, &scores, &shares, factor);
            if best.as_ref().is_none_or(|best| gap < best.gap) {
                let scaled = |values: &[f64]| values.iter().map(|v| factor * v).collect();
                best = Some(Proof { weights: scaled(candidate), biases: scaled(&biases), primal, gap });
            }
        }
    }
    Ok(best.expect("there is at least one candidate"))
}

/// `x_i'w_m + b_m` of all rows and classes, with the best biases where those are free.
fn scores_of(joint: &Joint<'_>, table: &LinearTable<'_>, weights: &[f64], mut biases: Vec<f64>) -> Result<(Vec<f64>, Vec<f64>)> {
    let (k, d) = (joint.classes, table.columns());
    let mut scores = vec![0.0; joint.rows() * k];
    for class in 0..k {
        let values = table.forward(&weights[class * d..(class + 1) * d])?;
        values.into_iter().enumerate().for_each(|(row, value)| scores[row * k + class] = value + biases[class]);
    }
    if joint.free_bias {
        best_biases(joint, &mut scores, &mut biases);
    }
    Ok((scores, biases))
}

/// By how much the own class is ahead of the next one.
fn margin(joint: &Joint<'_>, row: usize, scores: &[f64]) -> f64 {
    let own = joint.own(row);
    let others = scores.iter().enumerate().filter(|(m, _)| *m != own).fold(f64::NEG_INFINITY, |a, (_, &b)| a.max(b));
    scores[own] - others
}

/// Primal objective and gap of `factor` times the weights and scores.
fn measure(joint: &Joint<'_>, weights: &[f64], implied: &[f64], scores: &[f64], shares: &[f64], factor: f64) -> (f64, f64) {
    let k = joint.classes;
    let mut primal = 0.5 * weights.iter().map(|w| (factor * w).powi(2)).sum::<f64>();
    let mut gap = 0.5 * weights.iter().zip(implied).map(|(w, v)| (factor * w - v).powi(2)).sum::<f64>();
    for (row, s) in scores.chunks_exact(k).enumerate() {
        let z = |m: usize| factor * s[m] + joint.cost(row, m);
        let most = (0..k).map(z).fold(f64::NEG_INFINITY, f64::max);
        primal += joint.prices[row] * (most - z(joint.own(row)));
        gap += not_negative((0..k).map(|m| (most - z(m)) * shares[row * k + m]).sum());
    }
    (primal, gap)
}

/// Makes every class receive exactly what its own rows cost.
fn repair(joint: &Joint<'_>, shares: &mut [f64]) {
    let k = joint.classes;
    let (mut wanted, mut have) = (vec![0.0; k], vec![0.0; k]);
    for (row, share) in shares.chunks_exact(k).enumerate() {
        wanted[joint.own(row)] += joint.prices[row];
        share.iter().zip(&mut have).for_each(|(share, have)| *have += share);
    }
    let keep: Vec<f64> = wanted.iter().zip(&have).map(|(wanted, have)| if have > wanted { wanted / have } else { 1.0 }).collect();
    let lacking: Vec<f64> = wanted.iter().zip(&have).map(|(wanted, have)| (wanted - have).max(0.0)).collect();
    let total: f64 = lacking.iter().sum();
    if total <= 0.0 {
        return;
    }
    for share in shares.chunks_exact_mut(k) {
        let mut freed = 0.0;
        for (share, keep) in share.iter_mut().zip(&keep) {
            freed += *share * (1.0 - keep);
            *share *= keep;
        }
        share.iter_mut().zip(&lacking).for_each(|(share, lacking)| *share += freed * lacking / total);
    }
}

/// Puts one bias after another at its best for the scores, which follow. Along the bias of class `m` the loss is a sum of corners, one per
/// row, at `max of the others - z_im`: its slope begins at minus the cost of the class's rows and rises at every corner by the row's price.
fn best_biases(joint: &Joint<'_>, scores: &mut [f64], biases: &mut [f64]) {
    let k = joint.classes;
    let mut cost = vec![0.0; k];
    joint.prices.iter().enumerate().for_each(|(row, price)| cost[joint.own(row)] += price);
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(joint.rows());
    for _ in 0..BIAS_SWEEPS {
        let mut moved = false;
        for class in 0..k {
            corners.clear();
            for (row, s) in scores.chunks_exact(k).enumerate() {
                let z = |m: usize| s[m] + joint.cost(row, m);
                let others = (0..k).filter(|m| *m != class).map(z).fold(f64::NEG_INFINITY, f64::max);
                corners.push((others - z(class), joint.prices[row]));
            }
            corners.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let step = crossing(&corners, cost[class]);
            if step != 0.0 {
                moved = true;
                biases[class] += step;
                scores.chunks_exact_mut(k).for_each(|s| s[class] += step);
            }
        }
        if !moved {
            break;
        }
    }
}

/// Where the slope that begins at `-cost` crosses zero; the place nearest to zero where it is flat.
fn crossing(corners: &[(f64, f64)], cost: f64) -> f64 {
    let (mut slope, rounding) = (-cost, 1e-12 * cost);
    for (place, &(at, rise)) in corners.iter().enumerate() {
        slope += rise;
        if slope > rounding {
            return at;
        }
        if slope >= -rounding {
            let next = corners.get(place + 1).map_or(at, |next| next.0);
            return 0.0f64.clamp(at, next);
        }
    }
    0.0
}
