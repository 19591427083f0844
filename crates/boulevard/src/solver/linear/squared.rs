//! Squared losses by the finite Newton method.
//!
//! `min 1/2 |w|^2 + sum_i up_i max(0, r_i - tube)^2 + down_i max(0, -r_i - tube)^2`: 2 to 5 steps from anywhere on ordinary data (see
//! `newton.rs` for their cost). Large prices and few active rows can need hundreds; after some steps the prices are therefore lowered
//! and raised again tenfold at a time, each solution being the start of the next.

use super::Outcome;
use super::loss::{Pull, Samples, certify};
use super::newton::{Gradient, Newton, Point, Response};
use super::table::Table;
use crate::observe::{Context, Progress, StopReason};

/// Steps before the prices are lowered.
const COLD_STEPS: usize = 25;
/// Steps per price on the way up.
const PATH_STEPS: usize = 60;
/// Steps at the full price at most: on random problems 263 were seen without the path.
const MOST_STEPS: usize = 1000;
/// Relative gap that is always asked for: the last step of a finite method brings it for nothing.
const CHEAP_GAP: f64 = 1e-9;

pub(super) fn solve(
    table: &Table<'_>,
    samples: &Samples<'_>,
    free_bias: bool,
    mut point: Point,
    tolerance: f64,
    context: &Context<'_>,
) -> Outcome {
    let pull = Pull::none(table.columns());
    let mut newton = Newton::new(table, free_bias);
    let mut iterations = 0;
    let mut stop = descend(table, samples, &pull, &mut newton, free_bias, &mut point, tolerance, COLD_STEPS, &mut iterations, context);
    if stop == Some(StopReason::MaxIterations) {
        for factor in [1e-4, 1e-3, 1e-2, 1e-1] {
            let up: Vec<f64> = samples.up.iter().map(|v| factor * v).collect();
            let down: Vec<f64> = samples.down.iter().map(|v| factor * v).collect();
            let cheaper = Samples { up: &up, down: &down, ..*samples };
            descend(table, &cheaper, &pull, &mut newton, free_bias, &mut point, tolerance, PATH_STEPS, &mut iterations, context);
        }
        stop = descend(table, samples, &pull, &mut newton, free_bias, &mut point, tolerance, MOST_STEPS, &mut iterations, context);
    }
    let slopes = Response::Squared(*samples).slopes(&point.residuals);
    let certificate = certify(table, samples, &pull, free_bias, &point.w, point.bias, &point.residuals, slopes);
    let reached = certificate.relative() <= tolerance;
    let stop = match stop {
        Some(StopReason::MaxIterations) | None if reached => StopReason::Converged,
        None => StopReason::MaxIterations,
        Some(stop) => stop,
    };
    Outcome { point, certificate, iterations, stop, method: "finite Newton" }
}

/// Steps until the gap is small, no step helps (none), or the limit is reached.
fn descend(
    table: &Table<'_>,
    samples: &Samples<'_>,
    pull: &Pull,
    newton: &mut Newton<'_>,
    free_bias: bool,
    point: &mut Point,
    tolerance: f64,
    limit: usize,
    iterations: &mut u64,
    context: &Context<'_>,
) -> Option<StopReason> {
    let response = Response::Squared(*samples);
    let tolerance = tolerance.min(CHEAP_GAP);
    for _ in 0..limit {
        let gradient = Gradient::new(table, &response, point, pull, 0.0, 0.0);
        let primal = 0.5 * point.w.iter().map(|w| w * w).sum::<f64>()
            + point.residuals.iter().enumerate().map(|(i, &r)| samples.loss(i, r)).sum::<f64>();
        let mass: f64 = gradient.slopes.iter().map(|v| v.abs()).sum();
        let balanced = !free_bias || gradient.bias.abs() <= 1e-6 * tolerance.sqrt() * mass;
        let gap = gradient.half_square() / primal.max(f64::MIN_POSITIVE);
        let progress = Progress { stage: "solve", done: *iterations, total: None, violation: Some(gap), tolerance: Some(tolerance) };
        if let Some(stop) = context.check(&progress) {
            return Some(stop);
        }
        if gap <= tolerance && balanced {
            return None;
        }
        if !newton.step(point, &response, &gradient, pull, 0.0, 0.0) {
            return None;
        }
        *iterations += 1;
    }
    Some(StopReason::MaxIterations)
}
