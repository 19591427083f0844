//! All ensembles of a fit side by side: every label on all rows, and once per split without the rows it holds out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::ensemble::{Boosting, EnsembleFit, Problem};
use super::gram::Distances;
use super::held_out::{HeldOut, splits};
use super::learner::{AtLeastOne, BoostedSvc, Measure, Thresholds};
use super::model::{Ending, Kind};
use super::problems::Problems;
use super::tuning::{Goal, Rule, Worth, choose};
use crate::data::Matrix;
use crate::data::split::Split;
use crate::error::Result;
use crate::observe::{Context, stopped};
use crate::parallel;
use crate::random::Random;

/// One ensemble to fit: of a label, on all rows or without those of a split.
struct LabelTask {
    label: usize,
    split: Option<usize>,
    /// Weights of the rows, 0 for those of the split.
    weights: Vec<f64>,
    boosting: Mutex<Boosting>,
}

/// What the fits of all tasks gave.
pub(super) struct Fits {
    /// By label, on all rows; none for labels that are constant.
    pub(super) whole: Vec<Option<EnsembleFit>>,
    /// Scores of held-out rows, where there are any.
    pub(super) held_out: Option<HeldOut>,
}

impl Fits {
    /// Whether machines were averaged instead of boosted.
    pub(super) fn is_committee(&self) -> bool {
        self.whole.iter().flatten().any(|fit| fit.ending == Ending::Committee)
    }
}

/// Rounds that are added before the held-out rows are asked again; if the best number lies this far back, there will be no more.
const PATIENCE: usize = 5;

/// Bytes for distances if nobody says otherwise.
const DISTANCES: usize = 200_000_000;

/// The distances of a table, in memory where the settings leave room.
pub(super) fn distances<'a>(settings: &BoostedSvc, x: &'a Matrix<'a>, context: &Context<'a>) -> Result<Distances<'a>> {
    let bytes = settings.solver.cache_bytes().unwrap_or(DISTANCES).min(context.memory.map_or(usize::MAX, |bytes| bytes / 3));
    Distances::new(x, bytes, context)
}

/// Fits every label on all rows (if `whole`) and once per split without its test rows.
pub(super) fn fit_all(
    settings: &BoostedSvc,
    problems: &Problems,
    x: &Matrix<'_>,
    distances: &Distances<'_>,
    held_out: bool,
    whole: bool,
    context: &Context<'_>,
) -> Result<Fits> {
    let schedule = settings.schedule(distances, &problems.weights)?;
    // Where time is over before rows could be held out, the fits below end at once as well.
    let splits = if held_out { stopped(splits(settings, problems, x, context))?.unwrap_or_default() } else { Vec::new() };
    let active: Vec<usize> = (0..problems.signs.len()).filter(|&label| problems.constant[label].is_none()).collect();
    // Whole fits first: if time runs out, they are what a partial model needs.
    let parts = std::iter::once(None).filter(|_| whole).chain((0..splits.len()).map(Some));
    let mut tasks: Vec<LabelTask> = Vec::new();
    for split in parts {
        for &label in &active {
            if split.is_some_and(|k| !problems.both_signs(label, &splits[k].train)) {
                continue;
            }
            let mut weights = problems.weights.clone();
            held_out_rows(&splits, split).iter().for_each(|&row| weights[row] = 0.0);
            // Every piece of work has its own stream.
            let stream = ((label as u64) << 32) + split.map_or(0, |k| k as u64 + 1);
            let random = Random::new(settings.seed, stream);
            let boosting = Mutex::new(Boosting::new(settings, schedule, &view(problems, &splits, label, split, &weights), random));
            tasks.push(LabelTask { label, split, weights, boosting });
        }
    }
    let at_once = context.threads.min(tasks.len()).max(1);
    let inner = if at_once > 1 { context.with_threads(1) } else { *context };
    let memory = if distances.are_resident() { None } else { context.memory.map(|bytes| bytes / 3 / at_once) };
    let inner = Context { memory, ..inner };
    // Somebody holds the first kernel matrix all the time: it is made once.
    let first = distances.level(schedule.first, true);
    // Rounds that nothing can be said about are not fitted: too few rows of every label's rarer side to hold some out.
    let judged =
        active.iter().any(|&label| tasks.iter().filter(|task| task.label == label && task.split.is_some()).count() == splits.len());
    let unjudged = settings.early_stopping && held_out && whole && (splits.is_empty() || !judged);
    let step = match settings.early_stopping && whole {
        true if unjudged => 1,
        true if !splits.is_empty() => PATIENCE,
        _ => settings.max_rounds,
    };
    let mut until = 0;
    loop {
        until += step;
        let done = AtomicUsize::new(0);
        let results = parallel::map(at_once, tasks.len(), |i| {
            let task = &tasks[i];
            let mut boosting = task.boosting.lock().unwrap_or_else(PoisonError::into_inner);
            context.step("boost", done.fetch_add(1, Ordering::Relaxed), tasks.len());
            let problem = view(problems, &splits, task.label, task.split, &task.weights);
            boosting.go_on(settings, schedule, &problem, distances, &inner, until)
        });
        results.into_iter().collect::<Result<Vec<()>>>()?;
        let open = tasks.iter_mut().any(|task| task.boosting.get_mut().unwrap_or_else(PoisonError::into_inner).is_open());
        if !open || unjudged || until >= settings.max_rounds || patience_is_over(settings, problems, &splits, &mut tasks, until) {
            break;
        }
    }
    drop(first);
    let mut fits = Fits { whole: problems.signs.iter().map(|_| None).collect(), held_out: None };
    let mut parts = Vec::new();
    for task in tasks {
        let fit = task.boosting.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        match task.split {
            None => fits.whole[task.label] = Some(fit),
            Some(k) => parts.push((task.label, k, fit)),
        }
    }
    // Splits that were cut short say nothing about how many rounds are best.
    if !splits.is_empty() && parts.iter().all(|(_, _, fit)| fit.ending != Ending::Stopped) {
        let parts: Vec<_> = parts.iter().map(|(label, k, fit)| (*label, *k, &fit.rounds[..])).collect();
        fits.held_out = HeldOut::new(settings.voting, problems, &splits, &parts);
    }
    Ok(fits)
}

fn held_out_rows(splits: &[Split], split: Option<usize>) -> &[usize] {
    split.map_or(&[], |k| &splits[k].test)
}

/// One label's problem; `weights` are 0 for the rows of the split.
fn view<'a>(problems: &'a Problems, splits: &'a [Split], label: usize, split: Option<usize>, weights: &'a [f64]) -> Problem<'a> {
    Problem { signs: &problems.signs[label], weights, factors: &problems.factors[label], watched: held_out_rows(splits, split) }
}

/// Whether held-out rows were served best long ago.
fn patience_is_over(settings: &BoostedSvc, problems: &Problems, splits: &[Split], tasks: &mut [LabelTask], until: usize) -> bool {
    let mut parts = Vec::new();
    for task in tasks {
        if let Some(k) = task.split {
            parts.push((task.label, k, task.boosting.get_mut().unwrap_or_else(PoisonError::into_inner).rounds()));
        }
    }
    let Some(held) = HeldOut::new(settings.voting, problems, splits, &parts) else { return false };
    let goal = goal(settings, problems);
    choose(1..=until, settings.thresholds == Thresholds::Tuned, |rounds| held.scores(problems, goal, rounds)).best + PATIENCE <= until
}

/// Whether rows that no label claims get their best one.
pub(super) fn at_least_one(settings: &BoostedSvc, problems: &Problems) -> bool {
    problems.kind == Kind::Labels
        && match settings.at_least_one {
            AtLeastOne::Auto => problems.every_row_labeled(),
            AtLeastOne::Always => true,
            AtLeastOne::Never => false,
        }
}

/// How scores become predictions, and what the predictions are judged by.
pub(super) fn goal(settings: &BoostedSvc, problems: &Problems) -> Goal {
    let worth = match settings.measure {
        Measure::F1 => Worth::F1,
        Measure::BalancedAccuracy => Worth::BalancedAccuracy,
        Measure::Cost => Worth::Cost { miss: settings.miss_cost, alarm: settings.alarm_cost },
        Measure::PrecisionAtRecall => Worth::Precision { recall: settings.least_recall },
    };
    Goal { rule: rule(problems.kind, at_least_one(settings, problems)), worth }
}

/// How scores become predictions.
fn rule(kind: Kind, at_least_one: bool) -> Rule {
    match kind {
        Kind::TwoClasses => Rule::TwoClasses,
        Kind::Classes => Rule::Largest,
        Kind::Labels => Rule::Labels { at_least_one },
    }
}
