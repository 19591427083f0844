//! Dual coordinate descent for wide, sparse tables (Hsieh et al. 2008), with an exactly free bias.
//!
//! One dual variable at a time is set to its best value; the weights follow. The usual way to a bias, a constant column, couples all
//! samples and doubles the epochs. Here the bias is a multiplier of `sum dual = 0`: the column has the small value `sqrt(rho)`, and
//! every second epoch the bias takes over what the column has gathered (method of multipliers), which converges to the free bias
//! itself. Rows are visited in a new random order each epoch (a fixed order needs several times as many), settled ones are left out,
//! and the next rows are fetched ahead. An epoch costs one read of the table.

use std::borrow::Cow;

use super::loss::{Certificate, Pull, Samples, certify};
use super::newton::Point;
use super::table::LinearTable;
use super::{LinearLoss, LinearOutcome, LinearStart, Task};
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::{PIECE, Progress, StopReason, stopped};
use crate::random::Random;
use crate::simd;

/// The constant column's square in units of the mean squared row.
const RHO: f64 = 0.03;
/// Epochs between two moves of the bias.
const BIAS_EPOCHS: usize = 2;
const MOST_EPOCHS: usize = 3000;
/// Rows visited between two questions whether to stop.
const ASK: usize = 1 << 14;
/// How many rows ahead a row's values and its scalars are fetched.
const AHEAD: [usize; 2] = [4, 10];

/// The rows, contiguous; those of a sparse table are borrowed.
struct SampleRows<'a> {
    offsets: Cow<'a, [usize]>,
    columns: Cow<'a, [u32]>,
    values: Cow<'a, [f64]>,
}

impl<'a> SampleRows<'a> {
    fn new(table: &'a LinearTable<'_>) -> Self {
        if let Matrix::Sparse(x) = table.x() {
            return Self { offsets: x.offsets().into(), columns: x.indices().into(), values: x.values().into() };
        }
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..table.rows() {
            table.x().for_each(i, |j, v| {
                if v != 0.0 {
                    columns.push(j as u32);
                    values.push(v);
                }
            });
            offsets.push(values.len());
        }
        Self { offsets: offsets.into(), columns: columns.into(), values: values.into() }
    }

    #[inline(always)]
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Asks for a row's values.
    #[inline(always)]
    fn fetch(&self, i: usize) {
        let (from, to) = (self.offsets[i], self.offsets[i + 1]);
        (from..to).step_by(8).for_each(|at| simd::prefetch(&self.values, at));
        (from..to).step_by(16).for_each(|at| simd::prefetch(&self.columns, at));
    }
}

struct Descent<'a> {
    samples: &'a Samples<'a>,
    rows: SampleRows<'a>,
    squares: Vec<f64>,
    w: Vec<f64>,
    /// The constant column's weight and value, where the bias is penalised.
    constant: Option<(f64, f64)>,
    dual: Vec<f64>,
    bias: f64,
    rho: f64,
    /// The sum of the dual variables.
    sum: f64,
}

impl Descent<'_> {
    #[inline(always)]
    fn residual(&self, i: usize) -> f64 {
        let (columns, values) = self.rows.row(i);
        let mut sums = [0.0; 4];
        let ((c4, c_rest), (v4, v_rest)) = (columns.as_chunks::<4>(), values.as_chunks::<4>());
        for (c, v) in c4.iter().zip(v4) {
            for k in 0..4 {
                sums[k] += self.w[c[k] as usize] * v[k];
            }
        }
        let rest: f64 = c_rest.iter().zip(v_rest).map(|(c, v)| self.w[*c as usize] * v).sum();
        let bias = self.constant.map_or(self.bias + self.rho * self.sum, |(weight, value)| weight * value);
        self.samples.target[i] - (sums[0] + sums[1]) - (sums[2] + sums[3]) - rest - bias
    }

    /// Sets one variable to its best value. Returns the violation found, negative where the variable rests at a bound or at zero with
    /// that much to spare.
    #[inline(always)]
    fn visit(&mut self, i: usize) -> f64 {
        let (old, r) = (self.dual[i], self.residual(i));
        let Samples { up, down, tube, loss, .. } = *self.samples;
        let (up, down) = (up[i], down[i]);
        let q = self.squares[i] + self.rho;
        let z = q * old + r;
        let soft = (z - tube).max(0.0) + (z + tube).min(0.0);
        let price = if soft > 0.0 { up } else { down };
        let (new, violation) = match loss {
            LinearLoss::Absolute => {
                let new = if q > 0.0 { (soft / q).clamp(-down, up) } else { (soft * f64::INFINITY).clamp(-down, up) };
                let spare = if old == 0.0 && new == 0.0 {
                    let above = if up > 0.0 { r - tube } else { f64::NEG_INFINITY };
                    let below = if down > 0.0 { -r - tube } else { f64::NEG_INFINITY };
                    above.max(below)
                } else if old == up && new == up {
                    tube - r
                } else if old == -down && new == -down {
                    tube + r
                } else {
                    slope(old, r, tube, 0.0)
                };
                (new, spare)
            }
            LinearLoss::Squared => {
                let new = if price > 0.0 { soft / (q + 0.5 / price) } else { 0.0 };
                let spare = if old == 0.0 && new == 0.0 {
                    let above = if up > 0.0 { r - tube } else { f64::NEG_INFINITY };
                    let below = if down > 0.0 { -r - tube } else { f64::NEG_INFINITY };
                    above.max(below)
                } else {
                    let own = if old > 0.0 {
                        0.5 * old / up
                    } else if old < 0.0 {
                        0.5 * old / down
                    } else {
                        0.0
                    };
                    slope(old, r, tube, own)
                };
                (new, spare)
            }
        };
        let change = new - old;
        if change != 0.0 {
            self.dual[i] = new;
            self.sum += change;
            let range = self.rows.offsets[i]..self.rows.offsets[i + 1];
            for (c, v) in self.rows.columns[range.clone()].iter().zip(&self.rows.values[range]) {
                self.w[*c as usize] += change * v;
            }
            if let Some((weight, value)) = &mut self.constant {
                *weight += change * *value;
            }
        }
        violation
    }
}

/// How far the slope of the dual is from zero at a variable that is not at rest.
#[inline(always)]
fn slope(old: f64, r: f64, tube: f64, own: f64) -> f64 {
    let kink = if old > 0.0 {
        tube
    } else if old < 0.0 {
        -tube
    } else {
        tube * r.signum()
    };
    (r - kink - own).abs()
}

impl<'a> Descent<'a> {
    /// The state at `start`, or at zero where it does not fit.
    fn new(
        table: &'a LinearTable<'a>,
        samples: &'a Samples<'a>,
        free_bias: bool,
        constant: Option<f64>,
        start: &LinearStart,
    ) -> Result<Self> {
        let n = table.rows();
        let rows = SampleRows::new(table);
        let constant_square = constant.map_or(0.0, |c| c * c);
        let squares: Vec<f64> = (0..n).map(|i| rows.row(i).1.iter().map(|v| v * v).sum::<f64>() + constant_square).collect();
        let dual = if start.dual.len() == n {
            (0..n)
                .map(|i| start.dual[i].clamp(limit(samples.down[i], samples.loss, -1.0), limit(samples.up[i], samples.loss, 1.0)))
                .collect()
        } else {
            vec![0.0; n]
        };
        // Most fits begin at zero, and a pass over the table would touch fresh memory for every piece of it.
        let mut w = if dual.iter().all(|v| *v == 0.0) { vec![0.0; table.columns()] } else { table.backward(&dual)? };
        let constant = constant.map(|value| (w.pop().expect("the constant column"), value));
        let sum = dual.iter().sum();
        let mean = squares.iter().sum::<f64>() / n.max(1) as f64;
        let rho = if free_bias { (RHO * mean).max(f64::MIN_POSITIVE) } else { 0.0 };
        let bias = if free_bias { start.bias } else { 0.0 };
        Ok(Self { samples, rows, squares, w, constant, dual, bias, rho, sum })
    }

    /// Visits the `active` samples in their order and leaves out those at rest with more to spare than `rest`, the worst violation of the
    /// last epoch. `ask` is asked every `between` samples. The worst violation of this one, or why
    /// it wants to stop.
    fn epoch(
        &mut self,
        active: &mut Vec<u32>,
        rest: f64,
        between: usize,
        ask: impl Fn() -> Option<StopReason>,
    ) -> std::result::Result<f64, StopReason> {
        let (mut worst, mut kept) = (0.0f64, 0);
        for place in 0..active.len() {
            if place % between == 0
                && let Some(asked) = ask()
            {
                return Err(asked);
            }
            if let Some(&next) = active.get(place + AHEAD[0]) {
                self.rows.fetch(next as usize);
            }
            if let Some(&next) = active.get(place + AHEAD[1]) {
                let next = next as usize;
                simd::prefetch(&self.dual, next);
                simd::prefetch(&self.squares, next);
                simd::prefetch(&self.rows.offsets, next);
                simd::prefetch(self.samples.target, next);
                simd::prefetch(self.samples.up, next);
                simd::prefetch(self.samples.down, next);
            }
            let i = active[place];
            let violation = self.visit(i as usize);
            worst = worst.max(violation);
            if violation >= -rest {
                active[kept] = i;
                kept += 1;
            }
        }
        active.truncate(kept);
        Ok(worst)
    }
}

pub(super) fn solve(task: &Task<'_>, constant: Option<f64>, start: &LinearStart) -> Result<LinearOutcome> {
    let Task { table, samples, free_bias, tolerance, context } = *task;
    let n = table.rows();
    let mut state = Descent::new(table, samples, free_bias, constant, start)?;
    let mean = state.squares.iter().sum::<f64>() / n.max(1) as f64;

    // Rows between two questions: fewer where they are long.
    let ask = (PIECE / (1 + state.rows.values.len() / n.max(1))).clamp(1, ASK);
    let scale = samples.target.iter().fold(0.0f64, |m, t| m.max(t.abs())).max(f64::MIN_POSITIVE);
    let everyone: Vec<u32> = (0..n).filter(|&i| samples.up[i] > 0.0 || samples.down[i] > 0.0).map(|i| i as u32).collect();
    let mut active = everyone.clone();
    let mut random = Random::new(0, 0);
    let mut target = (100.0 * tolerance).min(0.1) * scale;
    let (mut rest, mut epochs, mut imbalance) = (f64::INFINITY, 0u64, f64::INFINITY);
    let mut best: Option<(Point, Certificate)> = None;
    let mut stop = StopReason::MaxIterations;
    for epoch in 0..MOST_EPOCHS {
        random.shuffle(&mut active);
        let progress = Progress { stage: "solve", done: epochs, total: None, violation: Some(rest.min(1e300)), tolerance: Some(target) };
        let worst = match state.epoch(&mut active, rest, ask, || context.check(&progress)) {
            Ok(worst) => worst,
            Err(asked) => {
                stop = asked;
                break;
            }
        };
        epochs += 1;
        rest = if worst > 0.0 { worst } else { f64::INFINITY };
        if free_bias && epoch % BIAS_EPOCHS == BIAS_EPOCHS - 1 {
            state.bias += state.rho * state.sum;
        }
        if worst > target {
            continue;
        }
        let (point, certificate) = match stopped(certified(table, samples, free_bias, &state))? {
            Ok(certified) => certified,
            Err(reason) => {
                stop = reason;
                break;
            }
        };
        let gap = certificate.relative();
        let before = best.as_ref().map_or(f64::INFINITY, |(_, best)| best.gap);
        if certificate.gap < before {
            best = Some((point, certificate));
        }
        if gap <= tolerance {
            stop = StopReason::Converged;
            break;
        }
        // The bias lags behind: let the column carry more.
        let now = state.sum.abs() / state.dual.iter().map(|v| v.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        if free_bias && now > 0.5 * imbalance && state.rho < mean {
            state.rho *= 3.0;
        }
        imbalance = now;
        if target < 1e-13 * scale {
            break;
        }
        target *= if gap < 10.0 * tolerance { 0.3 } else { 0.1 };
        active.clone_from(&everyone);
        rest = f64::INFINITY;
    }
    let (point, certificate) = match (best, stop) {
        (Some(best), StopReason::Converged) => best,
        (best, _) => {
            // Two passes over the stored values, which nobody stops: without them the last epochs would be lost.
            let last = certified(&table.undisturbed(), samples, free_bias, &state)?;
            best.filter(|(_, best)| best.gap < last.1.gap).unwrap_or(last)
        }
    };
    Ok(LinearOutcome { point, certificate, iterations: epochs, stop, method: "coordinate descent" })
}

fn limit(price: f64, loss: LinearLoss, sign: f64) -> f64 {
    match loss {
        LinearLoss::Squared if price > 0.0 => sign * f64::INFINITY,
        _ => sign * price,
    }
}

/// The state as a point with its certificate; for the absolute loss the bias is the best one for the weights.
fn certified(table: &LinearTable<'_>, samples: &Samples<'_>, free_bias: bool, state: &Descent<'_>) -> Result<(Point, Certificate)> {
    let mut w = state.w.clone();
    w.extend(state.constant.map(|(weight, _)| weight));
    let margins = table.forward(&w)?;
    let bias = match samples.loss {
        _ if !free_bias => 0.0,
        LinearLoss::Absolute => samples.best_bias(&margins, 0.0),
        LinearLoss::Squared => state.bias + state.rho * state.sum,
    };
    let residuals: Vec<f64> = samples.target.iter().zip(&margins).map(|(t, m)| t - m - bias).collect();
    let pull = Pull::none(w.len());
    let point = Point { w, bias, residuals };
    let certificate = certify(&table.backward_sides(&state.dual)?, samples, &pull, free_bias, &point, state.dual.clone());
    Ok((point, certificate))
}
