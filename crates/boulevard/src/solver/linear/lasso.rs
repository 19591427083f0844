//! Squared losses with the L1 penalty: proximal Newton steps on a growing set of columns.
//!
//! `min |w|_1 + sum_i squared loss`. The loss is replaced by its second-order model on the columns that are not zero or want to leave
//! zero; the model with the penalty is minimised by coordinate descent (`lasso_model`; as for generalised linear models: Friedman,
//! Hastie and Tibshirani 2010; Yuan, Ho and Lin 2012), and a line search on the true objective follows. A step costs two passes over the
//! table and what the model costs. The dual point is the losses' slopes scaled until
//! `|X' dual| <= 1` holds.

use super::lasso_model::Model;
use super::loss::{Certificate, Samples, balance, not_negative};
use super::newton::{Point, Response};
use super::table::LinearTable;
use super::{LinearOutcome, Task};
use crate::error::Result;
use crate::observe::{Progress, StopReason, stopped};

const MOST_STEPS: usize = 500;
/// Far from the solution a model is minimised until this share of its slopes is left; nearer, until the gap's share.
const ROUGH: f64 = 0.03;
/// Columns that join at least per step.
const LEAST_JOINING: usize = 64;

pub(super) fn solve(task: &Task<'_>, mut point: Point) -> Result<LinearOutcome> {
    let Task { table, samples, tolerance, context, .. } = *task;
    let response = Response::Squared(*samples);
    let d = table.columns();
    let mut best: Option<(Point, Certificate)> = None;
    let (mut stop, mut iterations, mut joining) = (StopReason::MaxIterations, 0, LEAST_JOINING);
    let steps = (|| -> Result<()> {
        while iterations < MOST_STEPS as u64 {
            let slopes = response.slopes(&point.residuals);
            let mut gradient = table.backward(&slopes)?;
            table.between_wide(d)?;
            gradient.iter_mut().for_each(|v| *v = -*v);
            let certificate = certify(task, &point, slopes.clone())?;
            let gap = certificate.relative();
            table.between_wide(d)?;
            if best.as_ref().is_none_or(|(_, best)| certificate.gap < best.gap) {
                best = Some((point.clone(), certificate));
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
            let in_play = columns_in_play(&point.w, &gradient, joining, d);
            table.between_wide(d)?;
            let part = table.columns_of(&in_play)?;
            if !step(task, &part, &mut point, &in_play, &gradient, &slopes, gap)? {
                if joining >= d {
                    break;
                }
                joining *= 4;
            }
            iterations += 1;
        }
        Ok(())
    })();
    if let Err(reason) = stopped(steps)? {
        stop = reason;
    }
    // Without a single pass, the dual point zero is what there is.
    let (point, certificate) = match best {
        Some(best) => best,
        None => {
            let certificate = certified(samples, &point, vec![0.0; table.rows()], &vec![0.0; d]);
            (point, certificate)
        }
    };
    Ok(LinearOutcome { point, certificate, iterations, stop, method: "proximal Newton" })
}

/// Columns that are not zero, and those that most want to leave it.
fn columns_in_play(w: &[f64], gradient: &[f64], joining: usize, d: usize) -> Vec<usize> {
    let mut waiting: Vec<(f64, usize)> =
        (0..d).filter(|&j| w[j] == 0.0 && gradient[j].abs() > 1.0 - 1e-9).map(|j| (gradient[j].abs(), j)).collect();
    let mut columns: Vec<usize> = (0..d).filter(|&j| w[j] != 0.0).collect();
    let joining = joining.max(columns.len());
    // Of a million columns only the first few are wanted.
    if joining < waiting.len() {
        waiting.select_nth_unstable_by(joining, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    columns.extend(waiting.iter().take(joining).map(|(_, j)| *j));
    columns.sort_unstable();
    columns
}

/// One proximal Newton step on some columns; `false` where nothing moved.
fn step(
    task: &Task<'_>,
    part: &LinearTable<'_>,
    point: &mut Point,
    columns: &[usize],
    gradient: &[f64],
    slopes: &[f64],
    gap: f64,
) -> Result<bool> {
    let Task { table, samples, free_bias, tolerance, .. } = *task;
    let curvature: Vec<f64> = point.residuals.iter().enumerate().map(|(i, &r)| samples.squared_slope(i, r).1).collect();
    let m = columns.len();
    // The bias is the last variable and has no penalty.
    let mut slope: Vec<f64> = columns.iter().map(|&j| gradient[j]).collect();
    if free_bias {
        slope.push(-slopes.iter().sum::<f64>());
    }
    let weights: Vec<f64> = columns.iter().map(|&j| point.w[j]).collect();
    let model = Model {
        part,
        weights: &weights,
        curvature: &curvature,
        slope,
        least_gain: 1e-4 * tolerance * tolerance,
        least_share: gap.min(ROUGH).powi(2),
    };
    let change = model.minimize()?;
    let step_bias = if free_bias { change[m] } else { 0.0 };
    table.between_wide(table.columns())?;
    let mut full = vec![0.0; table.columns()];
    columns.iter().zip(&change).for_each(|(&j, &c)| full[j] = c);
    let mut margins = part.forward(&change[..m])?;
    margins.iter_mut().for_each(|v| *v += step_bias);
    let objective = |t: f64| {
        let penalty: f64 = point.w.iter().zip(&full).map(|(w, s)| (w + t * s).abs()).sum();
        penalty + point.residuals.iter().zip(&margins).enumerate().map(|(i, (r, s))| samples.loss(i, r - t * s)).sum::<f64>()
    };
    table.between_wide(table.columns())?;
    let before = objective(0.0);
    let mut length = 1.0;
    // The best of a shrinking sequence: the objective is convex along the step.
    table.between_wide(table.columns())?;
    let mut now = objective(length);
    let mut meter = table.context().meter("solve");
    while length > 1e-10 {
        meter.spend(4 * (point.w.len() + point.residuals.len()))?;
        let shorter = objective(0.5 * length);
        if now < before && now <= shorter {
            break;
        }
        (length, now) = (0.5 * length, shorter);
    }
    if now >= before {
        return Ok(false);
    }
    point.w.iter_mut().zip(&full).for_each(|(w, s)| *w += length * s);
    point.bias += length * step_bias;
    point.residuals.iter_mut().zip(&margins).for_each(|(r, s)| *r -= length * s);
    Ok(true)
}

fn certify(task: &Task<'_>, point: &Point, mut dual: Vec<f64>) -> Result<Certificate> {
    if task.free_bias {
        let [up, down] = balance(&dual, 0.0);
        dual.iter_mut().for_each(|v| *v *= if *v > 0.0 { up } else { down });
    }
    let mut back = task.table.backward(&dual)?;
    task.table.between_wide(back.len())?;
    let largest = back.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest > 1.0 {
        dual.iter_mut().for_each(|v| *v /= largest);
        back.iter_mut().for_each(|v| *v /= largest);
    }
    Ok(certified(task.samples, point, dual, &back))
}

/// Certifies a point with a dual point that keeps its bounds; `back` is `X' dual`.
fn certified(samples: &Samples<'_>, point: &Point, dual: Vec<f64>, back: &[f64]) -> Certificate {
    let mut primal: f64 = point.w.iter().map(|w| w.abs()).sum();
    let mut gap: f64 = point.w.iter().zip(back).map(|(w, v)| not_negative(w.abs() - w * v)).sum();
    for (i, (&r, &v)) in point.residuals.iter().zip(&dual).enumerate() {
        let loss = samples.loss(i, r);
        primal += loss;
        gap += not_negative(loss + samples.conjugate(i, v) - v * r);
    }
    Certificate { dual, primal, gap, scale: primal }
}
