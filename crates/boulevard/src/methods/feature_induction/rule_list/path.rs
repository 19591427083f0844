//! The path: rules are added one at a time, every time the one that promises most, and the machine is fitted again.
//!
//! The machine of a list has the squared hinge: `1/2 |w|^2 + C sum max(0, 1 - y f)^2`. Its slope weighs a row by how far it is from the
//! margin, and rules are chosen by it: the best is the one with the largest `(sum_i s_i y_i max(0, 1 - y_i f_i) z_i)^2`, z the standardized
//! rule, summed over all classes. On seven sets with ten rules that erred less than the hinge with the paper's row weights on six, because
//! rows that are nearly right no longer vote as loudly as those that are far off. So rules are chosen together for all classes, and each
//! class has a weight for each rule.

use super::super::rounds::{Induced, Stage};
use super::super::table::TrainingTable;
use super::super::tree::Output;
use super::pool::Candidate;
use crate::data::Matrix;
use crate::error::Result;
use crate::linalg;
use crate::observe::{Context, StopReason, stopped};
use crate::parallel;
use crate::solver::linear::{Bias, LinearLoss, LinearProblem, LinearSolution, LinearStart, Regularizer, solve_linear};

/// What a path needs to know.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub c: f64,
    pub output: Output,
    /// How rows on the wrong side of the margin count.
    pub loss: LinearLoss,
    /// The gap of every fit but the last.
    pub rough: f64,
    pub tolerance: f64,
}

/// A finished path: features in the order they were added, and for every class the machines with 0, 1, 2, ... of them.
pub(super) struct Path {
    pub features: Vec<Induced>,
    /// Per class; empty for a class that was never seen.
    pub stages: Vec<Vec<Stage>>,
    /// The last solution of every class.
    pub solutions: Vec<Option<LinearSolution>>,
    pub iterations: u64,
    pub stop: StopReason,
}

/// One class against the rest.
struct Side {
    signs: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
    last: Option<LinearSolution>,
    slacks: Vec<f64>,
}

/// Adds up to `most` of the candidates for the classes of `outputs`.
// long: one step after another, with what is kept between steps.
pub(super) fn stepwise(
    table: &TrainingTable,
    outputs: &[u32],
    pool: &[Candidate],
    most: usize,
    settings: &Settings,
    context: &Context<'_>,
) -> Result<Path> {
    let mut z = Matrix::dense(table.z.as_slice(), table.rows(), table.original())?;
    let mut sides: Vec<Option<Side>> = outputs.iter().map(|&class| side(table, class, settings.c)).collect();
    let mut path = Path {
        features: Vec::new(),
        stages: vec![Vec::new(); outputs.len()],
        solutions: Vec::new(),
        iterations: 0,
        stop: StopReason::Converged,
    };
    let mut free = vec![true; pool.len()];
    for count in 0..=most {
        if let Some(stop) = context.step("choose rules", count, most + 1)
            && count > 0
        {
            path.stop = path.stop.worst(stop);
            break;
        }
        let tolerance = if count == most { settings.tolerance } else { settings.rough.max(settings.tolerance) };
        fit(table, &z, &mut sides, settings.loss, tolerance, &mut path, context)?;
        if matches!(path.stop, StopReason::TimeLimit | StopReason::Interrupted) {
            break;
        }
        if count == most {
            break;
        }
        let Some(best) = most_promising(table, pool, &free, &sides, context) else { break };
        free[best] = false;
        let feature = pool[best].feature(table, settings.output);
        z = match stopped(appended(&z, &pool[best], table, context))? {
            Ok(z) => z,
            Err(stop) => {
                path.stop = path.stop.worst(stop);
                break;
            }
        };
        path.features.push(feature);
    }
    // The last machine to the full tolerance, where the path ended before its time.
    let interrupted = matches!(path.stop, StopReason::TimeLimit | StopReason::Interrupted);
    let loose = |side: &Side| side.last.as_ref().is_some_and(|solution| solution.gap > settings.tolerance);
    if !interrupted && sides.iter().flatten().any(loose) {
        path.stages.iter_mut().for_each(|stages| drop(stages.pop()));
        fit(table, &z, &mut sides, settings.loss, settings.tolerance, &mut path, context)?;
    }
    // A fit that was stopped after a rule was added belongs to no machine.
    let fitted = path.stages.iter().map(Vec::len).max().unwrap_or(1);
    path.features.truncate(fitted.saturating_sub(1));
    path.solutions = sides.into_iter().map(|side| side.and_then(|side| side.last)).collect();
    Ok(path)
}

fn side(table: &TrainingTable, class: u32, c: f64) -> Option<Side> {
    let positive: Vec<bool> = table.codes.iter().map(|&code| code == class).collect();
    if !positive.contains(&true) {
        return None;
    }
    let price = |side: bool| table.counts.iter().zip(&positive).map(|(s, &p)| if p == side { c * s } else { 0.0 }).collect();
    Some(Side {
        up: price(true),
        down: price(false),
        signs: positive.iter().map(|&p| if p { 1.0 } else { -1.0 }).collect(),
        last: None,
        slacks: Vec::new(),
    })
}

/// Fits every class's machine, from the one before, and notes its stage.
fn fit(
    table: &TrainingTable,
    z: &Matrix<'_>,
    sides: &mut [Option<Side>],
    loss: LinearLoss,
    tolerance: f64,
    path: &mut Path,
    context: &Context<'_>,
) -> Result<()> {
    let Matrix::F64(dense) = z else { return Ok(()) };
    let total: f64 = table.counts.iter().sum();
    for (side, stages) in sides.iter_mut().zip(&mut path.stages) {
        let Some(side) = side else { continue };
        let problem = LinearProblem {
            x: z,
            target: &side.signs,
            up: &side.up,
            down: &side.down,
            tube: 0.0,
            loss,
            regularizer: Regularizer::L2,
            bias: Bias::Free,
        };
        let start = side.last.as_ref().map(|s| LinearStart { weights: s.weights.clone(), bias: s.bias, dual: s.dual.clone() });
        let mut solution = solve_linear(&problem, tolerance, start.as_ref(), context)?;
        // The machine before, with weight 0 for the new column, is a solution too.
        if let Some(old) = &side.last
            && solution.primal > old.primal
        {
            solution.weights = old.weights.clone();
            solution.weights.resize(z.columns(), 0.0);
            (solution.bias, solution.primal) = (old.bias, old.primal);
        }
        path.iterations += solution.iterations;
        path.stop = path.stop.worst(solution.stop);
        let decision = |row: usize| linalg::dot(dense.row(row), &solution.weights) + solution.bias;
        side.slacks = side.signs.iter().enumerate().map(|(row, y)| y * decision(row) - 1.0).collect();
        // A value of exactly zero is the negative side's, as in predictions.
        let wrong = |(h, y): (&f64, &f64)| if *y > 0.0 { *h <= -1.0 } else { *h < -1.0 };
        let error: f64 = side.slacks.iter().zip(&side.signs).zip(&table.counts).filter(|(of, _)| wrong(*of)).map(|(_, s)| s).sum();
        stages.push(Stage {
            weights: solution.weights.clone(),
            bias: solution.bias,
            objective: solution.primal,
            error: (error + 0.0) / total,
        });
        side.last = Some(solution);
    }
    Ok(())
}

/// The free candidate that promises most; none where nothing is left to be gained.
fn most_promising(
    table: &TrainingTable,
    pool: &[Candidate],
    free: &[bool],
    sides: &[Option<Side>],
    context: &Context<'_>,
) -> Option<usize> {
    /// A promise below this share of the rows' weight is rounding.
    const NOTHING: f64 = 1e-9;
    let total: f64 = table.counts.iter().sum();
    let pulls: Vec<(Vec<f64>, f64)> = sides
        .iter()
        .flatten()
        .map(|side| {
            let pull: Vec<f64> = side.slacks.iter().zip(&side.signs).zip(&table.counts).map(|((h, y), s)| s * y * (-h).max(0.0)).collect();
            let sum = pull.iter().sum();
            (pull, sum)
        })
        .collect();
    let worth = pool.len() * table.rows() * pulls.len() > 1 << 20;
    let promises = parallel::map(if worth { context.threads } else { 1 }, pool.len(), |place| {
        if !free[place] {
            return 0.0;
        }
        let candidate = &pool[place];
        let spread = (candidate.share * (1.0 - candidate.share)).sqrt();
        let promise = |(pull, sum): &(Vec<f64>, f64)| ((candidate.sum(pull) - candidate.share * sum) / spread / total).powi(2);
        pulls.iter().map(promise).sum::<f64>()
    });
    let (best, promise) =
        promises.iter().enumerate().fold((0, 0.0), |best, (place, &promise)| if promise > best.1 { (place, promise) } else { best });
    (promise > NOTHING * NOTHING).then_some(best)
}

/// The table with the rule's standardized column behind the others.
fn appended(z: &Matrix<'_>, candidate: &Candidate, table: &TrainingTable, context: &Context<'_>) -> Result<Matrix<'static>> {
    let Matrix::F64(dense) = z else { return Ok(z.clone().into_owned()) };
    let spread = (candidate.share * (1.0 - candidate.share)).sqrt();
    let [outside, inside] = [-candidate.share / spread, (1.0 - candidate.share) / spread];
    let mut values = Vec::with_capacity(table.rows() * (z.columns() + 1));
    let mut meter = context.meter("choose rules");
    for row in 0..table.rows() {
        meter.spend(8 * z.columns())?;
        values.extend_from_slice(dense.row(row));
        values.push(if candidate.holds(row) { inside } else { outside });
    }
    Matrix::dense(values, table.rows(), z.columns() + 1)
}
