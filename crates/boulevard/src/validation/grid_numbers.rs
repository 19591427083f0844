//! Grid search for regression: all folds and values of C and epsilon on the same kernel rows.

use super::grid_table::{GridSetting, Outcome};
use super::grid_units::run_units;
use super::share::Counter;
use crate::data::split::Split;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason};
use crate::solver::{DualSolution, Solver, along_ray};
use crate::svm::Svr;

/// The held-out predictions of every setting in every fold, as far as it came, and why it stopped.
pub(super) fn run(
    learner: &Svr,
    kernel: &Kernel,
    data: &Dataset<'_>,
    splits: &[Split],
    settings: &[GridSetting],
    context: &Context<'_>,
) -> Result<(Vec<Outcome>, StopReason)> {
    let counter = Counter::new(context, "grid search", settings.len() * splits.len());
    let (y, weights, n) = (data.expect_real()?, data.weights_or_ones(), data.len());
    let outcomes = run_units(kernel, &learner.solver, &data.x, splits.len(), settings, context, |unit, source, options, inner| {
        let svr = Svr { solver: *options, ..learner.clone() };
        let mut solver = Solver::new(source, options.cache_bytes(), inner)?.shared();
        let mut outcomes = Vec::new();
        // Held-out rows have no cost, and a target of zero keeps their gradient free of it.
        let folds: Vec<(usize, Vec<f64>, Vec<f64>)> = unit
            .folds
            .clone()
            .map(|fold| {
                let (mut target, mut shares) = (vec![0.0; n], vec![0.0; n]);
                for &row in &splits[fold].train {
                    (target[row], shares[row]) = (y[row], weights[row]);
                }
                (fold, target, shares)
            })
            .collect();
        let mut last: Vec<Option<(GridSetting, DualSolution)>> = vec![None; folds.len()];
        for place in unit.settings.clone() {
            let setting = settings[place];
            for ((fold, target, shares), last) in folds.iter().zip(&mut last) {
                if !counter.go_on() {
                    return Ok(outcomes);
                }
                let costs: Vec<f64> = shares.iter().map(|w| w * setting.c).collect();
                let epsilon = setting.epsilon.unwrap_or(0.0);
                let start = match last {
                    Some((before, solved)) if before.epsilon == setting.epsilon => {
                        let bounds = |i: usize| (-costs[i], costs[i]);
                        Some(along_ray(solved, |i| -target[i], epsilon, setting.c / before.c, bounds))
                    }
                    _ => None,
                };
                let solution = svr.solve_epsilon(&mut solver, target, &costs, epsilon, start)?;
                if !counter.finish(solution.stop) {
                    return Ok(outcomes);
                }
                let values: Vec<f64> = splits[*fold].test.iter().map(|&row| solution.gradient[row] - solution.offsets[0]).collect();
                outcomes.push(Outcome {
                    setting: place,
                    fold: *fold,
                    predictions: Target::Real(values),
                    iterations: solution.iterations,
                    stop: solution.stop,
                });
                *last = Some((setting, solution));
            }
        }
        Ok(outcomes)
    })?;
    Ok((outcomes, counter.reason()))
}
