//! An interior point method for few weights: neither wild scales nor large prices matter to it.
//!
//! With `t_i` above all `z_im`, slacks `t_i - z_im` and shares as multipliers, every step solves one system for the weights of all classes:
//! the block of classes `m, l` is `sum_i x_i x_i' (h_im [m = l] - h_im h_il / sum h_i)` with `h = share / slack`, plus the identity; the `t_i`
//! are eliminated row by row. Predictor and corrector as Mehrotra (1992) has them.

use super::certificate::{Proof, prove, weights_of};
use super::{Joint, Outcome};
use crate::error::Result;
use crate::linalg;
use crate::observe::{Context, Progress, StopReason, stopped};

const MOST_STEPS: u64 = 100;
/// How near to the boundary a step goes.
const BOUNDARY: f64 = 0.995;
/// What holds the biases, which only count up to a common constant, and what else rounding leaves without a pivot: a share of every
/// diagonal value, more where that is not enough.
const HOLD: [f64; 3] = [1e-13, 1e-11, 1e-9];

struct State<'a> {
    joint: &'a Joint<'a>,
    /// One row per class.
    w: Vec<f64>,
    biases: Vec<f64>,
    /// By row, the classes side by side.
    shares: Vec<f64>,
    slacks: Vec<f64>,
}

/// A direction in all variables.
struct Step {
    w: Vec<f64>,
    biases: Vec<f64>,
    shares: Vec<f64>,
    slacks: Vec<f64>,
}

/// The factored system of one point.
struct System {
    factor: Vec<f64>,
    /// What rows and columns were multiplied with before.
    units: Vec<f64>,
    size: usize,
    /// `h`, and its sum over the classes of a row.
    h: Vec<f64>,
    sums: Vec<f64>,
    /// What the weights and biases lack to be those of the shares.
    lacks: (Vec<f64>, Vec<f64>),
}

impl<'a> State<'a> {
    fn new(joint: &'a Joint<'a>) -> Self {
        let (n, k, d) = (joint.rows(), joint.classes, joint.table.columns());
        let shares = (0..n * k).map(|at| joint.prices[at / k] / k as f64).collect();
        let slacks = (0..n * k).map(|at| 2.0 - joint.cost(at / k, at % k)).collect();
        Self { joint, w: vec![0.0; k * d], biases: vec![0.0; k], shares, slacks }
    }

    fn width(&self) -> usize {
        self.joint.table.columns() + usize::from(self.joint.free_bias)
    }

    /// The system, or nothing where it cannot be factored.
    fn system(&self, context: &Context<'_>) -> Result<Option<System>> {
        let Joint { table, classes: k, .. } = *self.joint;
        let (n, d, width) = (self.joint.rows(), table.columns(), self.width());
        let size = k * width;
        let h: Vec<f64> = self.shares.iter().zip(&self.slacks).map(|(share, slack)| share / slack).collect();
        let sums: Vec<f64> = h.chunks_exact(k).map(|h| h.iter().sum()).collect();
        let mut a = vec![0.0; size * size];
        for m in 0..k {
            for l in 0..=m {
                let weight = |row: usize| {
                    let h = &h[row * k..(row + 1) * k];
                    // Not the sum minus this one: where this one is nearly all of it, no digit would be left.
                    let others = || h.iter().enumerate().filter(|(class, _)| *class != m).map(|(_, h)| h).sum::<f64>();
                    h[m] * if l == m { others() } else { h[l] } / sums[row]
                };
                let gram = table.gram(&(0..n).map(weight).collect::<Vec<f64>>(), self.joint.free_bias)?;
                let sign = if l == m { 1.0 } else { -1.0 };
                for (row, values) in gram.chunks_exact(width).enumerate() {
                    let at = (m * width + row) * size + l * width;
                    a[at..at + width].iter_mut().zip(values).for_each(|(to, v)| *to = sign * v);
                }
            }
        }
        (0..size).filter(|i| i % width < d).for_each(|i| a[i * size + i] += 1.0);
        // Columns of wild scales: every diagonal value becomes 1.
        let units: Vec<f64> = (0..size).map(|i| a[i * size + i].max(f64::MIN_POSITIVE).sqrt().recip()).collect();
        for (i, row) in a.chunks_exact_mut(size).enumerate() {
            row.iter_mut().zip(&units).for_each(|(v, unit)| *v *= unit * units[i]);
        }
        let Some(factor) = factored(&a, size, context)? else { return Ok(None) };
        let mut lacks = weights_of(self.joint, table, &self.shares)?;
        lacks.iter_mut().zip(&self.w).for_each(|(to, w)| *to -= w);
        let mut sides = vec![0.0; k];
        for (row, shares) in self.shares.chunks_exact(k).enumerate() {
            sides[self.joint.own(row)] += self.joint.prices[row];
            sides.iter_mut().zip(shares).for_each(|(side, share)| *side -= share);
        }
        Ok(Some(System { factor, units, size, h, sums, lacks: (lacks, sides) }))
    }

    /// The direction towards `share x slack = aims`.
    fn step(&self, system: &System, aims: &[f64]) -> Result<Step> {
        let Joint { table, classes: k, .. } = *self.joint;
        let (n, d, width) = (self.joint.rows(), table.columns(), self.width());
        // What a share changes by while the weights stand still.
        let mut still = vec![0.0; n * k];
        let mut shift = vec![0.0; n];
        for row in 0..n {
            let at = row * k..(row + 1) * k;
            let mut sum = 0.0;
            for m in at.clone() {
                still[m] = (aims[m] - self.shares[m] * self.slacks[m]) / self.slacks[m];
                sum += still[m];
            }
            let missing = self.joint.prices[row] - self.shares[at.clone()].iter().sum::<f64>();
            shift[row] = (sum - missing) / system.sums[row];
            at.for_each(|m| still[m] -= system.h[m] * shift[row]);
        }
        let mut right = vec![0.0; system.size];
        for m in 0..k {
            let column: Vec<f64> = (0..n).map(|row| still[row * k + m]).collect();
            let pull = table.backward(&column)?;
            let to = &mut right[m * width..(m + 1) * width];
            (0..d).for_each(|j| to[j] = system.lacks.0[m * d + j] - pull[j]);
            if self.joint.free_bias {
                to[d] = system.lacks.1[m] - column.iter().sum::<f64>();
            }
        }
        right.iter_mut().zip(&system.units).for_each(|(v, unit)| *v *= unit);
        linalg::solve(&system.factor, system.size, &mut right);
        right.iter_mut().zip(&system.units).for_each(|(v, unit)| *v *= unit);
        let mut step = Step { w: vec![0.0; k * d], biases: vec![0.0; k], shares: still, slacks: vec![0.0; n * k] };
        let mut moves = vec![0.0; n * k];
        for m in 0..k {
            let part = &right[m * width..(m + 1) * width];
            step.w[m * d..(m + 1) * d].copy_from_slice(&part[..d]);
            if self.joint.free_bias {
                step.biases[m] = part[d];
            }
            for (row, value) in table.forward(&part[..d])?.into_iter().enumerate() {
                moves[row * k + m] = value + step.biases[m];
            }
        }
        for row in 0..n {
            let at = row * k..(row + 1) * k;
            let mean = at.clone().map(|m| system.h[m] * moves[m]).sum::<f64>() / system.sums[row];
            for m in at {
                step.shares[m] += system.h[m] * (moves[m] - mean);
                step.slacks[m] = shift[row] + mean - moves[m];
            }
        }
        Ok(step)
    }

    /// How much of a step keeps shares and slacks positive.
    fn reach(&self, step: &Step) -> f64 {
        let side =
            |now: &[f64], change: &[f64]| now.iter().zip(change).filter(|(_, c)| **c < 0.0).fold(f64::INFINITY, |m, (v, c)| m.min(-v / c));
        side(&self.shares, &step.shares).min(side(&self.slacks, &step.slacks))
    }

    fn proof(&self, undisturbed: bool) -> Result<Proof> {
        let k = self.joint.classes;
        let mut shares = self.shares.clone();
        for (row, shares) in shares.chunks_exact_mut(k).enumerate() {
            let factor = self.joint.prices[row] / shares.iter().sum::<f64>();
            shares.iter_mut().for_each(|share| *share *= factor);
        }
        let still;
        let table = match undisturbed {
            true => {
                still = self.joint.table.undisturbed();
                &still
            }
            false => self.joint.table,
        };
        prove(self.joint, table, self.w.clone(), self.biases.clone(), shares)
    }
}

/// The Cholesky factor of a matrix whose diagonal is 1, held as little as it needs.
fn factored(a: &[f64], size: usize, context: &Context<'_>) -> Result<Option<Vec<f64>>> {
    for hold in HOLD {
        let mut factor = a.to_vec();
        (0..size).for_each(|i| factor[i * size + i] += hold);
        if linalg::cholesky_in(&mut factor, size, context)? {
            return Ok(Some(factor));
        }
    }
    Ok(None)
}

pub(super) fn solve(joint: &Joint<'_>, tolerance: f64, context: &Context<'_>) -> Result<Outcome> {
    let mut state = State::new(joint);
    let mut best = state.proof(true)?;
    let (mut stop, mut iterations, mut stalled) = (StopReason::MaxIterations, 0u64, 0);
    let outcome = stopped((|| -> Result<()> {
        while iterations < MOST_STEPS {
            let progress =
                Progress { stage: "solve", done: iterations, total: None, violation: Some(best.relative()), tolerance: Some(tolerance) };
            if let Some(asked) = context.check(&progress) {
                stop = asked;
                return Ok(());
            }
            let Some(system) = state.system(context)? else { return Ok(()) };
            let products: Vec<f64> = state.shares.iter().zip(&state.slacks).map(|(share, slack)| share * slack).collect();
            let count = products.len() as f64;
            let mean = products.iter().sum::<f64>() / count;
            let aim = state.step(&system, &vec![0.0; products.len()])?;
            let reach = state.reach(&aim).min(1.0);
            let moved = |now: &[f64], change: &[f64], at: usize| now[at] + reach * change[at];
            let ahead =
                (0..products.len()).map(|at| moved(&state.shares, &aim.shares, at) * moved(&state.slacks, &aim.slacks, at)).sum::<f64>()
                    / count;
            let center = mean * (ahead / mean).powi(3).clamp(1e-8, 1.0);
            let aims: Vec<f64> = (0..products.len()).map(|at| center - aim.shares[at] * aim.slacks[at]).collect();
            let step = state.step(&system, &aims)?;
            let reach = (BOUNDARY * state.reach(&step)).min(1.0);
            if !reach.is_finite() || !step.w.iter().all(|v| v.is_finite()) {
                return Ok(());
            }
            let go = |to: &mut [f64], by: &[f64], least: f64| to.iter_mut().zip(by).for_each(|(v, c)| *v = (*v + reach * c).max(least));
            go(&mut state.w, &step.w, f64::NEG_INFINITY);
            go(&mut state.biases, &step.biases, f64::NEG_INFINITY);
            go(&mut state.shares, &step.shares, 1e-300);
            go(&mut state.slacks, &step.slacks, 1e-300);
            iterations += 1;
            let proof = state.proof(false)?;
            stalled = if proof.gap > 0.9 * best.gap { stalled + 1 } else { 0 };
            if proof.gap < best.gap {
                best = proof;
            }
            if best.relative() <= tolerance {
                stop = StopReason::Converged;
                return Ok(());
            }
            if stalled > 12 {
                return Ok(());
            }
        }
        Ok(())
    })())?;
    let stop = outcome.err().unwrap_or(stop);
    Ok(Outcome { proof: best, iterations, stop, method: "interior point" })
}
