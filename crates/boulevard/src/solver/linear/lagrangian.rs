//! Absolute losses by an augmented Lagrangian whose inner problems are solved by semismooth Newton steps.
//!
//! The multiplier of `r = target - Xw - b` is the dual point itself; smoothing the loss around it with stiffness `s` gives the slopes
//! `clip(soft(multiplier + s r, s tube), -down, up)`, and only rows strictly between the bounds enter the Hessian: all inner steps
//! together touch about a fifth of the rows, so the cost is that of the passes over the table (Li, Sun and Toh 2018 for the method on
//! sparse problems; Hager and Zhang for proximal multipliers). From a relative gap of about 1e-3 on, only the rows near a corner of
//! their loss can still change: they are solved as a small problem of their own in which the others are a constant pull, and one pass
//! over all rows certifies the result.

use super::loss::{Certificate, Pull, Samples, certify, without_dual};
use super::newton::{Gradient, Newton, Point, Response};
use super::{LinearOutcome, Task, interior};
use crate::error::Result;
use crate::observe::{Progress, StopReason, stopped};

/// Growth of the stiffness per outer round.
const GROWTH: f64 = 5.0;
/// The stiffness stays below this multiple of its start; beyond it the factors lose their digits.
const MOST_GROWTH: f64 = 1e3;
const MOST_ROUNDS: usize = 40;
/// Inner steps after which a round counts as stuck.
const MOST_STEPS: usize = 60;
/// The bias is held in place with this share of one row's curvature.
const HOLD: f64 = 1e-2;
/// Relative gap at which the near rows are set apart.
const APART: f64 = 1e-3;

/// How a run on a fixed set of rows ended.
struct Run {
    point: Point,
    certificate: Certificate,
    iterations: u64,
    stop: Option<StopReason>,
}

/// `start` is a dual point to begin with.
pub(super) fn solve(task: &Task<'_>, point: Point, start: Option<&[f64]>) -> Result<LinearOutcome> {
    let Task { table, samples, tolerance, .. } = *task;
    let pull = Pull::none(table.columns());
    let multiplier = start.map_or_else(|| vec![0.0; table.rows()], <[f64]>::to_vec);
    // A stiffer first round for warm starts was measured slower: 50 refits of spambase with a new column each took 1368 steps instead of
    // 1092 (gap 1e-2), 2075 instead of 1830 (1e-4).
    let stiffness = samples.mean_price() / spread(samples.target);
    let mut run = rounds(&Task { tolerance: tolerance.max(APART), ..*task }, &pull, point, multiplier, stiffness)?;
    let mut method = "augmented Lagrangian";
    if run.stop == Some(StopReason::Converged) && run.certificate.relative() > tolerance {
        method = "augmented Lagrangian with near rows";
        if let Err(reason) = stopped(near_rows(task, &mut run, stiffness))? {
            run.stop = Some(reason);
        }
    }
    match run.stop {
        Some(stop) => Ok(LinearOutcome { point: run.point, certificate: run.certificate, iterations: run.iterations, stop, method }),
        None => {
            let dual = run.certificate.dual;
            let mut outcome = interior::solve(task, &pull, run.point, Some(&dual))?;
            outcome.iterations += run.iterations;
            Ok(outcome)
        }
    }
}

/// The targets' standard deviation: 1 or a little less for two classes.
fn spread(target: &[f64]) -> f64 {
    let n = target.len().max(1) as f64;
    let mean = target.iter().sum::<f64>() / n;
    let variance = target.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n;
    if variance > 0.0 { variance.sqrt() } else { 1.0 }
}

/// Outer rounds on all rows of a table; `stop` is none where they stalled.
fn rounds(task: &Task<'_>, pull: &Pull, mut point: Point, mut multiplier: Vec<f64>, mut stiffness: f64) -> Result<Run> {
    let Task { table, samples, free_bias, tolerance, context } = *task;
    let mut newton = Newton::new(table, free_bias);
    let most = MOST_GROWTH * stiffness;
    let (mut iterations, mut without_progress) = (0, 0);
    let mut best: Option<(Point, Certificate)> = None;
    let mut stop = None;
    let steps = (|| -> Result<()> {
        for _ in 0..MOST_ROUNDS {
            let response = Response::Shifted { samples: *samples, multiplier, stiffness };
            let (bias_0, hold) = (point.bias, if free_bias { HOLD * stiffness } else { 0.0 });
            let mut stuck = true;
            let mut gradient = Gradient::new(table, &response, &point, pull, hold, bias_0)?;
            for _ in 0..MOST_STEPS {
                let (slack, primal) = slack(samples, &point, &gradient.slopes, pull);
                let scale = pull.scale.unwrap_or(primal).abs().max(f64::MIN_POSITIVE);
                let progress = Progress {
                    stage: "solve",
                    done: iterations,
                    total: None,
                    violation: Some((slack + gradient.half_square()) / scale),
                    tolerance: Some(tolerance),
                };
                stop = context.check(&progress);
                let rest = gradient.half_square() + if free_bias { gradient.bias.abs() * 0.1 } else { 0.0 };
                stuck = false;
                let solved = rest <= 0.1 * slack.max(0.1 * tolerance * scale);
                // Far enough already, whatever is left of the inner problem: a warm start often is.
                let enough = slack + rest <= 0.5 * tolerance * scale;
                if stop.is_some() || solved || enough {
                    break;
                }
                if !newton.step(&mut point, &response, &gradient, pull, hold, bias_0)? {
                    break;
                }
                stuck = true;
                iterations += 1;
                gradient = Gradient::new(table, &response, &point, pull, hold, bias_0)?;
            }
            multiplier = gradient.slopes;
            let certificate = certify(&gradient.sides, samples, pull, free_bias, &point, multiplier.clone());
            let before = best.as_ref().map_or(f64::INFINITY, |(_, best)| best.gap);
            without_progress = if certificate.gap > 0.5 * before { without_progress + 1 } else { 0 };
            let reached = certificate.relative() <= tolerance;
            if certificate.gap < before {
                best = Some((point.clone(), certificate));
            }
            if reached {
                stop = Some(StopReason::Converged);
            }
            if stop.is_some() || stuck || without_progress >= 3 {
                break;
            }
            stiffness = (GROWTH * stiffness).min(most);
        }
        Ok(())
    })();
    if let Err(reason) = stopped(steps)? {
        stop = Some(reason);
    }
    let (point, certificate) = best.unwrap_or_else(|| {
        let certificate = without_dual(samples, pull, free_bias, &point);
        (point, certificate)
    });
    Ok(Run { point, certificate, iterations, stop })
}

/// The complementarity part of the gap, and the primal objective.
fn slack(samples: &Samples<'_>, point: &Point, slopes: &[f64], pull: &Pull) -> (f64, f64) {
    let mut primal: f64 = point.w.iter().zip(&pull.weights).map(|(w, p)| w * (0.5 * w - p)).sum::<f64>() - pull.bias * point.bias;
    let mut slack = 0.0;
    for (i, (&r, &v)) in point.residuals.iter().zip(slopes).enumerate() {
        let loss = samples.loss(i, r);
        primal += loss;
        slack += (loss + samples.conjugate(i, v) - v * r).max(0.0);
    }
    (slack, primal)
}

/// Brings a run from a rough gap to `tolerance` by solving for the rows near a corner alone.
fn near_rows(task: &Task<'_>, run: &mut Run, stiffness: f64) -> Result<()> {
    let Task { table, samples, free_bias, tolerance, context } = *task;
    let (n, columns) = (table.rows(), table.columns());
    let mut size = (4 * columns).max(n / 10).max(500).min(n);
    loop {
        let gap = run.certificate.relative();
        let mut order: Vec<(f64, usize)> =
            run.point.residuals.iter().enumerate().map(|(i, &r)| (samples.distance_to_corner(i, r), i)).collect();
        if size < n {
            order.select_nth_unstable_by(size, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let mut near: Vec<usize> = order[..size].iter().map(|(_, i)| *i).collect();
        near.sort_unstable();
        // All others sit on one side of their corner: their slopes are settled and pull as constants.
        let mut far: Vec<f64> = run
            .point
            .residuals
            .iter()
            .enumerate()
            .map(|(i, &r)| {
                if r > samples.tube {
                    samples.up[i]
                } else if r < -samples.tube {
                    -samples.down[i]
                } else {
                    0.0
                }
            })
            .collect();
        near.iter().for_each(|&i| far[i] = 0.0);
        let pull = Pull { weights: table.backward(&far)?, bias: far.iter().sum(), scale: Some(run.certificate.primal) };
        let part = table.gather(&near)?;
        let pick = |from: &[f64]| near.iter().map(|&i| from[i]).collect::<Vec<f64>>();
        let (target, up, down) = (pick(samples.target), pick(samples.up), pick(samples.down));
        let small = Samples { target: &target, up: &up, down: &down, ..*samples };
        let point = Point { w: run.point.w.clone(), bias: run.point.bias, residuals: pick(&run.point.residuals) };
        let dual = pick(&run.certificate.dual);
        let inside = Task { table: &part, samples: &small, free_bias, tolerance: 0.3 * tolerance, context };
        let mut inner = rounds(&inside, &pull, point.clone(), dual, GROWTH * GROWTH * stiffness)?;
        if inner.stop.is_none() {
            let dual = inner.certificate.dual;
            let outcome = interior::solve(&inside, &pull, inner.point, Some(&dual))?;
            inner = Run {
                point: outcome.point,
                certificate: outcome.certificate,
                iterations: inner.iterations + outcome.iterations,
                stop: Some(outcome.stop),
            };
        }
        run.iterations += inner.iterations;
        near.iter().zip(&inner.certificate.dual).for_each(|(&i, &v)| far[i] = v);
        let all = Point::new(table, samples.target, inner.point.w, inner.point.bias)?;
        let certificate = certify(&table.backward_sides(&far)?, samples, &Pull::none(columns), free_bias, &all, far);
        if certificate.gap < run.certificate.gap {
            (run.point, run.certificate) = (all, certificate);
        }
        run.stop = match inner.stop {
            Some(stop @ (StopReason::TimeLimit | StopReason::Interrupted)) => Some(stop),
            _ if run.certificate.relative() <= tolerance => Some(StopReason::Converged),
            _ => None,
        };
        if run.stop.is_some() || size == n {
            return Ok(());
        }
        if run.certificate.relative() > 0.1 * gap {
            size = (2 * size).min(n);
        }
    }
}
