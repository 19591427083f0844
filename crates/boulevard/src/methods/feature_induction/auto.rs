//! Choosing depth and number of features on rows that the induction does not see.
//!
//! Parts of the rows are held out several times (a fifth each, the classes in proportion; more often where rows are few, because one
//! small part says little). Every depth runs on the rest; the held-out error over the number of features, averaged over the parts and
//! smoothed over eleven numbers, is the curve, and its lowest point wins: the smallest number, then the smallest depth, among equals.
//! The linear machine is the point 0, and it stays unless the winner is better by more than the uncertainty of the comparison: the lowest
//! of 150 points flatters itself. So the choice may be to induce nothing.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::rounds::{Plan, run};
use super::table::TrainingTable;
use super::tree::{MOST_DEPTH, Output};
use crate::error::Result;
use crate::linalg;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::random::Random;

/// Depths that are tried: single tests, which add up to curves of one column; three levels, which see columns together; and no limit.
/// Neighbors such as 2 or 4 only made the choice noisier.
pub(super) const DEPTHS: [usize; 3] = [1, 3, MOST_DEPTH];
/// The share that is held out.
pub(super) const SHARE: f64 = 0.2;
/// Rows that should be held out in all, and bounds for how often.
const ENOUGH: usize = 1000;
const PARTS: (usize, usize) = (2, 5);
/// Half of the smoothing window.
const REACH: usize = 5;
/// With fewer rows the choice is to induce nothing.
pub(super) const LEAST_ROWS: usize = 20;

/// The held-out error over the number of features at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The depth; `None` is unlimited.
    pub depth: Option<usize>,
    /// The error with 0, 1, 2, ... rounds; only the first where the linear machine left nothing to be gained.
    pub errors: Vec<f64>,
}

/// What the hold-out found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The depth that was chosen; `None` is unlimited.
    pub depth: Option<usize>,
    /// The number of rounds that was chosen.
    pub rounds: usize,
    /// The smoothed error of the choice.
    pub error: f64,
    /// The error of the linear machine on the same rows.
    pub linear_error: f64,
    /// One per depth that was tried.
    pub curves: Vec<Curve>,
}

/// Chooses among `depths` (all of them if none is given) and up to `plan.rounds` rounds; `fixed_rounds`: the number is given, only the
/// depth is chosen. `None` where there are too few rows to hold some out.
pub(super) fn choose(
    table: &TrainingTable,
    class: u32,
    plan: &Plan,
    depth: Option<usize>,
    fixed_rounds: bool,
    context: &Context<'_>,
) -> Result<(Option<Choice>, StopReason)> {
    let Some(count) = held_out_parts(table) else { return Ok((None, StopReason::Converged)) };
    let mut random = Random::new(plan.seed, plan.stream + 1);
    let mut parts = Vec::new();
    for _ in 0..count {
        let Some((train, test)) = table.hold_out(class, SHARE, &mut random) else { return Ok((None, StopReason::Converged)) };
        parts.push((table.part(&train, context)?, test));
    }
    let depths: Vec<usize> = depth.map_or(DEPTHS.to_vec(), |depth| vec![depth]);
    let jobs = parts.len() * depths.len();
    let inner = if jobs > 1 { context.with_threads(1) } else { *context };
    let held: f64 = parts.iter().map(|(_, test)| test.iter().map(|&row| table.counts[row]).sum::<f64>()).sum();
    if !fixed_rounds {
        let linear = Plan { rounds: 0, finish: false, ..*plan };
        let results = parallel::map(context.threads, parts.len(), |place| {
            let (part, test) = &parts[place];
            held_out_errors(table, part, test, class, &linear, &inner)
        });
        let (mut linear_error, mut stop) = (0.0, StopReason::Converged);
        for result in results {
            let (errors, why) = result?;
            linear_error += errors[0] / parts.len() as f64;
            stop = stop.worst(why);
        }
        // Not even a machine without errors would be better by more than the uncertainty.
        if linear_error * held < 1.0 {
            let depth = |depth: usize| (depth < MOST_DEPTH).then_some(depth);
            let curves = depths.iter().map(|&d| Curve { depth: depth(d), errors: vec![linear_error] }).collect();
            return Ok((Some(Choice { depth: depth(depths[0]), rounds: 0, error: linear_error, linear_error, curves }), stop));
        }
    }
    let results = parallel::map(context.threads, jobs, |job| {
        let ((part, test), depth) = (&parts[job / depths.len()], depths[job % depths.len()]);
        let plan = Plan {
            tree: super::TreeSettings { max_depth: depth, ..plan.tree },
            finish: false,
            stream: plan.stream + 2 + (job / depths.len()) as u64,
            ..*plan
        };
        held_out_errors(table, part, test, class, &plan, &inner)
    });
    let mut curves: Vec<Curve> =
        depths.iter().map(|&depth| Curve { depth: (depth < MOST_DEPTH).then_some(depth), errors: vec![0.0; plan.rounds + 1] }).collect();
    let mut stop = StopReason::Converged;
    for (job, result) in results.into_iter().enumerate() {
        let (errors, why) = result?;
        stop = stop.worst(why);
        let curve = &mut curves[job % depths.len()].errors;
        curve.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error / parts.len() as f64);
    }
    Ok((Some(best_of(curves, plan.rounds, fixed_rounds, held)), stop))
}

/// How many parts are held out; none where there are too few rows.
pub(super) fn held_out_parts(table: &TrainingTable) -> Option<usize> {
    let weight: f64 = table.counts.iter().sum();
    let few = table.rows() < LEAST_ROWS && weight < LEAST_ROWS as f64;
    let count = (ENOUGH as f64 / (SHARE * weight.max(1.0))).ceil() as usize;
    (!few).then(|| count.clamp(PARTS.0, PARTS.1))
}

/// The best depth and number of rounds, or none at all where they do not beat the linear machine by more than the uncertainty of `held` rows.
pub(super) fn best_of(curves: Vec<Curve>, rounds: usize, fixed_rounds: bool, held: f64) -> Choice {
    let linear_error = curves[0].errors[0];
    let mut best = (linear_error, 0, 0);
    for (place, curve) in curves.iter().enumerate() {
        for rounds in if fixed_rounds { rounds..=rounds } else { 1..=rounds } {
            let error = smoothed(&curve.errors, rounds);
            if error < best.0 - 1e-12 || (fixed_rounds && place == 0) {
                best = (error, place, rounds);
            }
        }
    }
    // Of `held` rows at most `(linear + error) held` are judged differently by the two machines; the difference of the errors has at most
    // the standard deviation of as many coin tosses.
    let uncertainty = ((linear_error + best.0) / held.max(1.0)).sqrt();
    if !fixed_rounds && best.0 > linear_error - uncertainty {
        best = (linear_error, 0, 0);
    }
    Choice { depth: curves[best.1].depth, rounds: best.2, error: best.0, linear_error, curves }
}

/// The mean over the window around `place`; the linear machine's point is not part of it.
fn smoothed(errors: &[f64], place: usize) -> f64 {
    let window = &errors[place.saturating_sub(REACH).max(1)..(place + REACH + 1).min(errors.len())];
    window.iter().sum::<f64>() / window.len().max(1) as f64
}

/// Errors on the held-out rows after every round; a run that ends early keeps its last error.
fn held_out_errors(
    whole: &TrainingTable,
    part: &TrainingTable,
    test: &[usize],
    class: u32,
    plan: &Plan,
    context: &Context<'_>,
) -> Result<(Vec<f64>, StopReason)> {
    let x = whole.x.select(test);
    let total: f64 = test.iter().map(|&row| whole.counts[row]).sum();
    let original = part.original();
    // Columns are kept apart: a new stage needs a new column, not a new table.
    let z = part.standard.table(&x);
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut errors: Vec<f64> = Vec::with_capacity(plan.rounds + 1);
    let mut watch = |stage: &super::Stage, feature: Option<&super::Induced>| {
        match feature {
            Some(feature) => columns.push(standardized(feature, &x, plan.output)),
            // A round without a feature: the same machine.
            None if !errors.is_empty() => {
                errors.push(errors[errors.len() - 1]);
                return ControlFlow::Continue(());
            }
            None => {}
        }
        let (plain, induced) = stage.weights.split_at(original);
        let mut wrong = 0.0;
        for (place, &row) in test.iter().enumerate() {
            let mut f = stage.bias + linalg::dot(&z[place * original..(place + 1) * original], plain);
            f += columns.iter().zip(induced).map(|(column, w)| w * column[place]).sum::<f64>();
            if (f > 0.0) != (whole.codes[row] == class) {
                wrong += whole.counts[row];
            }
        }
        errors.push(wrong / total);
        ControlFlow::Continue(())
    };
    let stop = run(part, class, plan, context, &mut watch)?.stop;
    let last = errors.last().copied().unwrap_or(1.0);
    errors.resize(plan.rounds + 1, last);
    Ok((errors, stop))
}

/// A feature's column for new rows.
pub(super) fn standardized(feature: &super::Induced, x: &crate::data::Matrix<'_>, output: Output) -> Vec<f64> {
    feature.tree.evaluate(x, output).iter().map(|g| (g - feature.mean) / feature.spread).collect()
}
