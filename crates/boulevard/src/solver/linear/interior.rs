//! Absolute losses by a primal-dual interior point method: the fall-back that never fails, and the method for small problems.
//!
//! ```text
//! min 1/2 |w|^2 - pull'w + sum_s c_s max(0, u_s),    u_s = h_s - sign_s (x_s'w + b)
//! ```
//! over the priced sides `s` of the samples (one for classification, two for regression). With `u = v - z`, the dual variable
//! `a` in `(0, c)` and `a z = (c - a) v = mu`, every step solves one system `I + X' T X`, `T = 1 / (v / (c - a) + z / a)`
//! (Mehrotra 1992; Ferris and Munson 2003 for support vector machines). All rows enter every system, so a step costs
//! `rows * columns^2`; 10 to 20 steps are usual, 54 were the most in 600 hostile problems.

use super::loss::{Certificate, Pull, Samples, certify, without_dual};
use super::newton::{Point, solve_scaled};
use super::table::LinearTable;
use super::{LinearOutcome, Task};
use crate::error::Result;
use crate::linalg;
use crate::observe::{Progress, StopReason, stopped};

const MOST_STEPS: usize = 200;
/// Share of the way to the boundary that a step may take.
const BOUNDARY: f64 = 0.995;

/// One priced side of one sample.
struct Side {
    row: usize,
    sign: f64,
    price: f64,
    offset: f64,
}

/// The sides of all samples that have a price.
fn priced_sides(samples: &Samples<'_>, n: usize) -> Vec<Side> {
    (0..n)
        .flat_map(|row| {
            let side = move |sign: f64, price: f64, offset: f64| (price > 0.0).then_some(Side { row, sign, price, offset });
            let (t, tube) = (samples.target[row], samples.tube);
            [side(1.0, samples.up[row], t - tube), side(-1.0, samples.down[row], -t - tube)].into_iter().flatten()
        })
        .collect()
}

/// The point with the certificate that `dual` gives it. Near the end the bias that is best for the weights brings the gap down a step
/// earlier.
fn certified(task: &Task<'_>, pull: &Pull, point: &Point, dual: Vec<f64>) -> Result<(Point, Certificate)> {
    let Task { table, samples, free_bias, tolerance, .. } = *task;
    let parts = table.backward_sides(&dual)?;
    let now = (point.clone(), certify(&parts, samples, pull, free_bias, point, dual.clone()));
    if free_bias && now.1.relative() > tolerance && now.1.relative() < 1e-2 {
        let margins: Vec<f64> = samples.target.iter().zip(&point.residuals).map(|(t, r)| t - r - point.bias).collect();
        let bias = samples.best_bias(&margins, pull.bias);
        let residuals = samples.target.iter().zip(&margins).map(|(t, m)| t - m - bias).collect();
        let moved = Point { w: point.w.clone(), bias, residuals };
        let other = certify(&parts, samples, pull, free_bias, &moved, dual);
        if other.gap < now.1.gap {
            return Ok((moved, other));
        }
    }
    Ok(now)
}

// long: one predictor-corrector loop; its four vectors move together.
pub(super) fn solve(task: &Task<'_>, pull: &Pull, mut point: Point, start: Option<&[f64]>) -> Result<LinearOutcome> {
    let Task { table, samples, free_bias, tolerance, context } = *task;
    let (n, columns) = (table.rows(), table.columns());
    let sides = priced_sides(samples, n);
    let count = sides.len().max(1) as f64;
    let excess = |point: &Point, side: &Side| side.sign * (point.residuals[side.row]) - samples.tube;
    // Well inside: half the price, or near the given dual point.
    let mut a: Vec<f64> = sides
        .iter()
        .map(|side| {
            let share = start.map_or(0.5, |dual| (side.sign * dual[side.row] / side.price).clamp(0.01, 0.99));
            share * side.price
        })
        .collect();
    let margin = if start.is_some() { 0.1 } else { 1.0 };
    let typical = (point.residuals.iter().map(|r| r * r).sum::<f64>() / n.max(1) as f64).sqrt().max(1e-3) * margin;
    let mut z: Vec<f64> = sides.iter().map(|s| (-excess(&point, s)).max(0.0) + typical).collect();
    let mut v: Vec<f64> = sides.iter().map(|s| excess(&point, s).max(0.0) + typical).collect();

    let mut best: Option<(Point, Certificate)> = None;
    let (mut iterations, mut stop, mut stalled) = (0, StopReason::MaxIterations, 0);
    let start_point = point.clone();
    // A stop inside a step leaves the best point before it.
    let steps = (|| -> Result<()> {
        for _ in 0..MOST_STEPS {
            let mut dual = vec![0.0; n];
            sides.iter().zip(&a).for_each(|(s, a)| dual[s.row] += s.sign * a);
            let now = certified(task, pull, &point, dual)?;
            let gap = now.1.relative();
            let before = best.as_ref().map_or(f64::INFINITY, |(_, best)| best.gap);
            stalled = if now.1.gap > 0.9 * before { stalled + 1 } else { 0 };
            // The first one counts whatever it is: it may be that nothing better comes.
            if now.1.gap < before || best.is_none() {
                best = Some(now);
            }
            let progress = Progress { stage: "solve", done: iterations, total: None, violation: Some(gap), tolerance: Some(tolerance) };
            if let Some(asked) = context.check(&progress) {
                stop = asked;
                break;
            }
            if gap <= tolerance {
                stop = StopReason::Converged;
                break;
            }
            if stalled > 12 {
                break;
            }
            let mu = sides.iter().enumerate().map(|(k, s)| a[k] * z[k] + (s.price - a[k]) * v[k]).sum::<f64>() / (2.0 * count);
            let system = System::new(table, &sides, &a, &z, &v, free_bias)?;
            let Some(system) = system else { break };
            // Predictor: straight at the solution; corrector: centered, with the predictor's second-order terms.
            let zero = vec![(0.0, 0.0); sides.len()];
            let Some(aim) = system.step(&point, pull, samples, &a, &z, &v, &zero, 0.0)? else { break };
            let reach = aim.reach(&sides, &a, &z, &v);
            let ahead = aim.mu(&sides, &a, &z, &v, reach, count);
            let center = mu * (ahead / mu).powi(3).clamp(1e-8, 1.0);
            let second: Vec<(f64, f64)> = (0..sides.len()).map(|k| (aim.a[k] * aim.z[k], -aim.a[k] * aim.v[k])).collect();
            let Some(step) = system.step(&point, pull, samples, &a, &z, &v, &second, center)? else { break };
            let reach = (BOUNDARY * step.reach(&sides, &a, &z, &v)).min(1.0);
            for k in 0..sides.len() {
                a[k] = (a[k] + reach * step.a[k]).clamp(1e-30 * sides[k].price, (1.0 - 1e-15) * sides[k].price);
                z[k] = (z[k] + reach * step.z[k]).max(1e-300);
                v[k] = (v[k] + reach * step.v[k]).max(1e-300);
            }
            point.w.iter_mut().zip(&step.w).for_each(|(w, s)| *w += reach * s);
            point.bias += reach * step.bias;
            point.residuals.iter_mut().zip(&step.margins).for_each(|(r, s)| *r -= reach * s);
            debug_assert_eq!(point.w.len(), columns);
            iterations += 1;
        }
        Ok(())
    })();
    if let Err(reason) = stopped(steps)? {
        stop = reason;
    }
    let (point, certificate) = best.unwrap_or_else(|| {
        let certificate = without_dual(samples, pull, free_bias, &start_point);
        (start_point, certificate)
    });
    if stop == StopReason::MaxIterations && certificate.relative() <= tolerance {
        stop = StopReason::Converged;
    }
    Ok(LinearOutcome { point, certificate, iterations, stop, method: "interior point" })
}

/// A step of all variables.
struct Step {
    w: Vec<f64>,
    bias: f64,
    margins: Vec<f64>,
    a: Vec<f64>,
    z: Vec<f64>,
    v: Vec<f64>,
}

impl Step {
    /// The largest length that keeps everything positive.
    fn reach(&self, sides: &[Side], a: &[f64], z: &[f64], v: &[f64]) -> f64 {
        let mut reach: f64 = 1.0 / BOUNDARY;
        let mut bound = |value: f64, change: f64| {
            if change < 0.0 {
                reach = reach.min(-value / change);
            }
        };
        for (k, side) in sides.iter().enumerate() {
            bound(a[k], self.a[k]);
            bound(side.price - a[k], -self.a[k]);
            bound(z[k], self.z[k]);
            bound(v[k], self.v[k]);
        }
        reach
    }

    /// The mean complementarity after a step of this length.
    fn mu(&self, sides: &[Side], a: &[f64], z: &[f64], v: &[f64], reach: f64, count: f64) -> f64 {
        let reach = reach.min(1.0);
        let sum: f64 = sides
            .iter()
            .enumerate()
            .map(|(k, side)| {
                let a = a[k] + reach * self.a[k];
                a * (z[k] + reach * self.z[k]) + (side.price - a) * (v[k] + reach * self.v[k])
            })
            .sum();
        (sum / (2.0 * count)).max(0.0)
    }
}

/// The factored system of one point.
struct System<'a> {
    table: &'a LinearTable<'a>,
    sides: &'a [Side],
    free_bias: bool,
    curvature: Vec<f64>,
    matrix: Vec<f64>,
}

impl<'a> System<'a> {
    fn new(table: &'a LinearTable<'a>, sides: &'a [Side], a: &[f64], z: &[f64], v: &[f64], free_bias: bool) -> Result<Option<Self>> {
        let columns = table.columns();
        let curvature: Vec<f64> = sides.iter().enumerate().map(|(k, s)| 1.0 / (v[k] / (s.price - a[k]) + z[k] / a[k])).collect();
        let mut rows = vec![0.0; table.rows()];
        sides.iter().zip(&curvature).for_each(|(s, t)| rows[s.row] += t);
        let mut matrix = table.gram(&rows, free_bias)?;
        let size = columns + usize::from(free_bias);
        (0..columns).for_each(|j| matrix[j * size + j] += 1.0);
        Ok(matrix.iter().all(|v| v.is_finite()).then_some(Self { table, sides, free_bias, curvature, matrix }))
    }

    /// The step towards `a z = center - second.0` and `(c - a) v = center - second.1`.
    fn step(
        &self,
        point: &Point,
        pull: &Pull,
        samples: &Samples<'_>,
        a: &[f64],
        z: &[f64],
        v: &[f64],
        second: &[(f64, f64)],
        center: f64,
    ) -> Result<Option<Step>> {
        let n = self.table.rows();
        let mut wanted = vec![0.0; n];
        let mut rho = vec![0.0; self.sides.len()];
        for (k, side) in self.sides.iter().enumerate() {
            let excess = side.offset - side.sign * (samples.target[side.row] - point.residuals[side.row]);
            rho[k] = excess + (center - second[k].0) / a[k] - (center - second[k].1) / (side.price - a[k]);
            wanted[side.row] += side.sign * (a[k] + rho[k] * self.curvature[k]);
        }
        let mut w: Vec<f64> = self.table.backward(&wanted)?.iter().zip(&point.w).zip(&pull.weights).map(|((v, w), p)| v + p - w).collect();
        if self.free_bias {
            w.push(wanted.iter().sum::<f64>() + pull.bias);
        }
        let size = w.len();
        if !solve_scaled(&mut self.matrix.clone(), size, &mut w, self.table.context())? {
            return Ok(None);
        }
        let bias = if self.free_bias { w.pop().expect("pushed above") } else { 0.0 };
        let mut margins = self.table.forward(&w)?;
        margins.iter_mut().for_each(|m| *m += bias);
        let mut step = Step { w, bias, margins, a: rho, z: Vec::with_capacity(a.len()), v: Vec::with_capacity(a.len()) };
        for (k, side) in self.sides.iter().enumerate() {
            let change = (step.a[k] - side.sign * step.margins[side.row]) * self.curvature[k];
            step.a[k] = change;
            step.z.push((center - second[k].0 - z[k] * change) / a[k] - z[k]);
            step.v.push((center - second[k].1 + v[k] * change) / (side.price - a[k]) - v[k]);
        }
        Ok(linalg::dot(&step.w, &step.w).is_finite().then_some(step))
    }
}
