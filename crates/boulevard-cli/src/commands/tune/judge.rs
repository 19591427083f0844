//! The points of a grid with their errors: through the library's searches where these apply, else each point on its own.

use anyhow::{Result, bail, ensure};
use boulevard::Error;
use boulevard::any::{AnyLearner, Plan as Work};
use boulevard::data::split::Split;
use boulevard::data::{Dataset, Target};
use boulevard::internal::parallel;
use boulevard::methods::multi_sample::{Method, MultiSample, SetSearch};
use boulevard::observe::{Context, StopReason};
use boulevard::svm::{Learner, Penalty, Svc, Tube};
use boulevard::validation::{GridPoint, GridSearch, GridSetting, Score, around, cross_validate};

use super::grid::Grid;
use super::{Cell, best};
use crate::progress::Silent;

/// The plan at one point of the grid.
pub(super) fn at(plan: &Work, point: &GridSetting) -> Work {
    let mut plan = plan.clone();
    // A point of a grid is one machine's: a method that would choose C and gamma itself is the direct one here.
    if let AnyLearner::MultiSample(gather) = &mut plan.learner
        && gather.method == Method::Auto
    {
        gather.method = Method::Direct;
    }
    if let Some(place) = plan.learner.price_mut() {
        *place = point.c;
    }
    if let (Some(gamma), Some(kernel)) = (point.gamma, plan.learner.kernel_mut()) {
        *kernel = kernel.clone().with_gamma(gamma);
    }
    if let (Some(epsilon), AnyLearner::Svr(svr)) = (point.epsilon, &mut plan.learner) {
        svr.tube = Tube::Epsilon(epsilon);
    }
    plan
}

/// All points with their errors: the grid's, then those around its best.
pub(super) fn judge(plan: &Work, grid: &Grid, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<Vec<Cell>> {
    let shares = plan.scaling.is_none() && !plan.fills_missing() && !plan.learner.is_precomputed();
    if shares && let Some(cells) = shared_search(plan, grid, data, splits, context) {
        return cells;
    }
    let round = |points: Vec<GridSetting>| -> Result<Vec<Cell>> {
        let errors = match &plan.learner {
            AnyLearner::MultiSample(gather) if shares => sets(gather, &points, data, splits.len(), context)?,
            _ => {
                let plans: Vec<Work> = points.iter().map(|point| at(plan, point)).collect();
                search(&plans, data, splits, context)?
            }
        };
        Ok(points.into_iter().zip(errors).map(|(at, errors)| Cell { at, errors }).collect())
    };
    let mut cells = round(grid.points())?;
    if grid.refine
        && let Some(lowest) = best(&cells)
    {
        cells.extend(round(around(&grid.points(), &cells[lowest].at))?);
    }
    Ok(cells)
}

/// Errors of sets, which share their kernel's values over folds and values of C.
fn sets(gather: &MultiSample, points: &[GridSetting], data: &Dataset<'_>, folds: usize, context: &Context<'_>) -> Result<Vec<Vec<f64>>> {
    let list = |of: &dyn Fn(&GridSetting) -> Option<f64>| {
        let mut values: Vec<f64> = points.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let search = SetSearch { c: list(&|at| Some(at.c)), gamma: list(&|at| at.gamma), folds, seed: gather.seed };
    let found = gather.search(data, &search, context)?;
    let errors = |at: &GridSetting| {
        let point = found.iter().find(|point| point.c == at.c && (at.gamma.is_none() || point.gamma == at.gamma));
        point.map_or(Vec::new(), |point| point.errors.clone())
    };
    Ok(points.iter().map(errors).collect())
}

/// The library's grid search, which shares kernel rows over folds and values of C. It knows no scaling and no filling inside
/// folds and no nu-SVC: `None` then.
fn shared_search(plan: &Work, grid: &Grid, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Option<Result<Vec<Cell>>> {
    let list = |values: &[Option<f64>]| values.iter().flatten().copied().collect::<Vec<f64>>();
    let search = GridSearch {
        c: grid.prices.clone(),
        gamma: list(&grid.gammas),
        epsilon: list(&grid.epsilons),
        refit: false,
        refine: grid.refine,
        ..GridSearch::default()
    };
    let found = match &plan.learner {
        AnyLearner::Svc(svc) if matches!(svc.penalty, Penalty::C(_)) => {
            let search = GridSearch { score: Some(Score::Accuracy), ..search };
            let plain = Svc { calibrate: false, ..svc.clone() };
            search.svc_on(&plain, data, splits, context).map(|found| (found.points, found.stop))
        }
        AnyLearner::Svr(svr) => {
            let search = GridSearch { score: Some(Score::Rmse), ..search };
            search.svr_on(svr, data, splits, context).map(|found| (found.points, found.stop))
        }
        _ => return None,
    };
    let error = |score: f64| if matches!(data.target, Target::Real(_)) { score * score } else { 1.0 - score };
    let sorted = |(points, stop): (Vec<GridPoint>, StopReason)| {
        ensure!(stop != StopReason::Interrupted, "interrupted");
        // Parameters that are kept are no part of a point here.
        let own = |kept: bool, value: Option<f64>| if kept { None } else { value };
        let (no_gamma, no_epsilon) = (grid.gammas == [None], grid.epsilons == [None]);
        let mut cells: Vec<Cell> = points
            .iter()
            .map(|point| Cell {
                at: GridSetting { c: point.c, gamma: own(no_gamma, point.gamma), epsilon: own(no_epsilon, point.epsilon) },
                errors: point.scores.iter().map(|&score| error(score)).collect(),
            })
            .collect();
        // Points that the time limit cut short have no errors.
        for at in grid.points() {
            if !cells.iter().any(|cell| cell.at == at) {
                cells.push(Cell { at, errors: Vec::new() });
            }
        }
        Ok(cells)
    };
    Some(found.map_err(Into::into).and_then(sorted))
}

/// Errors by plan and fold, every point on its own. A nu that the class sizes do not allow gives no errors, and neither does a point that
/// the time limit cut short; any other failure ends the search.
fn search(plans: &[Work], data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<Vec<Vec<f64>>> {
    let quiet = context.with_threads(1).with_observer(&Silent);
    let results = parallel::map(context.threads, plans.len(), |i| {
        if context.step("tune", i, plans.len()) == Some(StopReason::Interrupted) {
            bail!("interrupted");
        }
        // Calibration does not change the decisions that are judged here.
        match cross_validate(&plans[i].without_calibration(), data, splits, &quiet) {
            Ok(found) if found.stop == StopReason::Interrupted => bail!("interrupted"),
            Ok(found) if found.folds.len() < splits.len() => Ok(Vec::new()),
            Ok(found) => Ok(found.losses(data)?),
            Err(Error::Parameter { name: "nu", .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    });
    results.into_iter().collect()
}
