//! Several machines side by side: the best trials of two classes, their decision values averaged.
//!
//! Trials that serve held-out rows about as well disagree about single rows, and which of them comes out first is chance, the more so the
//! fewer carriers decide. Their mean ranks rows better than the first alone (bagging's reason, without its resamples), and costs a solve
//! each: what they say about held-out rows is known from the trials. Where more rounds of the best trial serve held-out rows better than
//! the mean does, boosting stays.

use super::ensemble::EnsembleFit;
use super::fits::{Fits, fit_all, goal};
use super::gram::Distances;
use super::held_out::HeldOut;
use super::learner::{BoostedSvc, Thresholds};
use super::model::Ending;
use super::problems::Problems;
use super::search::{Trial, worth};
use super::tuning::choose;
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::Context;

/// Machines at most, and how far below the best trial's score one may be. (Chosen on the eight sets of `bench/rivals_boosted.py --group
/// choice`, none of which is judged: 3 to 7 machines, distances of 0.01 to none.)
const MOST: usize = 5;
const NEAR: f64 = 0.05;

/// A trial with what it said about the rows it did not see.
pub(super) struct Member {
    pub(super) trial: Trial,
    pub(super) held_out: HeldOut,
}

impl Member {
    /// The settings of its machine.
    fn settings(trial: &Trial, settings: &BoostedSvc) -> BoostedSvc {
        let Trial { c, sigma_init, initial_weights, .. } = *trial;
        BoostedSvc { c, sigma_init: Some(sigma_init), sigma_min: None, initial_weights, max_rounds: 1, tune: false, ..settings.clone() }
    }
}

/// The members of a committee among all trials, the best first; `most` at most.
pub(super) fn nearest(mut members: Vec<Member>, most: usize) -> Vec<Member> {
    members.sort_by(|a, b| b.trial.score.total_cmp(&a.trial.score));
    let best = members.first().map_or(0.0, |member| member.trial.score);
    members.retain(|member| member.trial.score >= best - NEAR);
    members.truncate(MOST.min(most));
    members
}

/// The fits with the committee in the place of the first label's ensemble, unless that has rounds that serve held-out rows better.
pub(super) fn seat(
    settings: &BoostedSvc,
    members: &[Member],
    problems: &Problems,
    x: &Matrix<'_>,
    distances: &Distances<'_>,
    fits: Fits,
    context: &Context<'_>,
) -> Result<Fits> {
    let (Some(Some(alone)), Some(held), true) = (fits.whole.first(), &fits.held_out, members.len() > 1) else { return Ok(fits) };
    if alone.ending == Ending::Stopped || alone.rounds.is_empty() {
        return Ok(fits);
    }
    let (goal, tuned) = (goal(settings, problems), settings.thresholds == Thresholds::Tuned);
    let Some(mean) = HeldOut::mean(members.iter().map(|member| &member.held_out)) else { return Ok(fits) };
    let rounds = choose(1..=alone.rounds.len(), tuned, |rounds| held.scores(problems, goal, rounds)).rounds;
    let value = |held: &HeldOut, rounds: usize| worth(settings, tuned, problems.kind, &held.scores(problems, goal, rounds));
    if rounds > 1 && value(held, rounds) >= value(&mean, 1) {
        return Ok(fits);
    }
    let mut together = EnsembleFit { rounds: Vec::new(), start: alone.start.clone(), ending: Ending::Committee, report: alone.report };
    for member in members {
        let one = Member::settings(&member.trial, settings);
        let mut whole = fit_all(&one, problems, x, distances, false, true, context)?.whole;
        let Some(Some(fit)) = whole.pop() else { return Ok(fits) };
        // Cut short: the ensemble that is there is whole.
        if fit.ending == Ending::Stopped || fit.rounds.is_empty() {
            return Ok(fits);
        }
        together.report.include(&fit.report);
        together.rounds.extend(fit.rounds.into_iter().take(1).map(|round| super::ensemble::RoundFit { alpha: 1.0, ..round }));
    }
    Ok(Fits { whole: vec![Some(together)], held_out: Some(mean) })
}

/// What the committee of a model says about rows its machines did not see, computed anew.
pub(super) fn held_out(
    settings: &BoostedSvc,
    trials: &[Trial],
    problems: &Problems,
    x: &Matrix<'_>,
    distances: &Distances<'_>,
    context: &Context<'_>,
) -> Result<Option<HeldOut>> {
    let mut each = Vec::with_capacity(trials.len());
    for trial in trials {
        let one = Member::settings(trial, settings);
        let Some(held) = fit_all(&one, problems, x, distances, true, false, context)?.held_out else { return Ok(None) };
        each.push(held);
    }
    Ok(HeldOut::mean(each.iter()))
}
