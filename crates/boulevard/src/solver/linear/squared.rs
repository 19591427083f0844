//! Squared losses by the finite Newton method.
//!
//! `min 1/2 |w|^2 + sum_i up_i max(0, r_i - tube)^2 + down_i max(0, -r_i - tube)^2`: 2 to 5 steps from anywhere on ordinary data (see
//! `newton.rs` for their cost). Large prices and few active rows can need hundreds; after some steps the prices are therefore lowered
//! and raised again tenfold at a time, each solution being the start of the next.

use super::loss::{Certificate, Pull, Samples, certify, without_dual};
use super::newton::{Gradient, Newton, Point, Response};
use super::{LinearOutcome, Task};
use crate::error::Result;
use crate::observe::{Progress, StopReason, stopped};

/// Steps before the prices are lowered.
const COLD_STEPS: usize = 25;
/// Steps per price on the way up.
const PATH_STEPS: usize = 60;
/// Steps at the full price at most: on random problems 263 were seen without the path.
const MOST_STEPS: usize = 1000;
/// Relative gap that is always asked for: the last step of a finite method brings it for nothing.
const CHEAP_GAP: f64 = 1e-9;

pub(super) fn solve(task: &Task<'_>, mut point: Point) -> Result<LinearOutcome> {
    let Task { table, samples, free_bias, tolerance, .. } = *task;
    let pull = Pull::none(table.columns());
    let mut newton = Newton::new(table, free_bias);
    let mut iterations = 0;
    let (mut stop, mut certificate) = descend(task, &pull, &mut newton, &mut point, COLD_STEPS, &mut iterations)?;
    if stop == Some(StopReason::MaxIterations) {
        for factor in [1e-4, 1e-3, 1e-2, 1e-1] {
            let up: Vec<f64> = samples.up.iter().map(|v| factor * v).collect();
            let down: Vec<f64> = samples.down.iter().map(|v| factor * v).collect();
            let cheaper = Samples { up: &up, down: &down, ..*samples };
            descend(&Task { samples: &cheaper, ..*task }, &pull, &mut newton, &mut point, PATH_STEPS, &mut iterations)?;
        }
        (stop, certificate) = descend(task, &pull, &mut newton, &mut point, MOST_STEPS, &mut iterations)?;
    }
    let reached = certificate.relative() <= tolerance;
    let stop = match stop {
        Some(StopReason::MaxIterations) | None if reached => StopReason::Converged,
        None => StopReason::MaxIterations,
        Some(stop) => stop,
    };
    Ok(LinearOutcome { point, certificate, iterations, stop, method: "finite Newton" })
}

/// Steps until the gap is small, no step helps (none), or the limit is reached.
fn descend(
    task: &Task<'_>,
    pull: &Pull,
    newton: &mut Newton<'_>,
    point: &mut Point,
    limit: usize,
    iterations: &mut u64,
) -> Result<(Option<StopReason>, Certificate)> {
    let Task { table, samples, free_bias, tolerance, context } = *task;
    let response = Response::Squared(*samples);
    let tolerance = tolerance.min(CHEAP_GAP);
    let mut last: Option<(Point, Certificate)> = None;
    for step in 0.. {
        let gradient = match stopped(Gradient::new(table, &response, point, pull, 0.0, 0.0))? {
            Ok(gradient) => gradient,
            // The step is not certified: back to the point before it.
            Err(reason) => {
                let (before, certificate) = last.take().unwrap_or_else(|| (point.clone(), without_dual(samples, pull, free_bias, point)));
                *point = before;
                return Ok((Some(reason), certificate));
            }
        };
        let certificate = certify(&gradient.sides, samples, pull, free_bias, point, gradient.slopes.clone());
        let gap = certificate.relative();
        let progress = Progress { stage: "solve", done: *iterations, total: None, violation: Some(gap), tolerance: Some(tolerance) };
        if let Some(stop) = context.check(&progress) {
            return Ok((Some(stop), certificate));
        }
        if gap <= tolerance {
            return Ok((None, certificate));
        }
        if step == limit {
            return Ok((Some(StopReason::MaxIterations), certificate));
        }
        let before = point.clone();
        match stopped(newton.step(point, &response, &gradient, pull, 0.0, 0.0))? {
            Ok(true) => {}
            Ok(false) => return Ok((None, certificate)),
            Err(reason) => return Ok((Some(reason), certificate)),
        }
        last = Some((before, certificate));
        *iterations += 1;
    }
    unreachable!("the loop ends by a return")
}
