//! C, the first width and the first weights by trials: one machine per label and split, judged by how it ranks the rows it did not see.
//!
//! Average precision decides, together with the measure at its own thresholds where that is a share (F1, balanced accuracy): the first is
//! steadier, the second is what is wanted in the end. Several classes, which have no thresholds, are chosen by the measure alone. All
//! labels share a choice, so that their scores can be compared. Of two classes the best few trials may be averaged (`committee.rs`).

use serde::{Deserialize, Serialize};

use super::committee::{Member, nearest};
use super::fits::{distances, fit_all, goal};
use super::gram::Distances;
use super::held_out::HeldOut;
use super::learner::{BoostedSvc, InitialWeights, Measure, Thresholds, Validation, Voting};
use super::model::Kind;
use super::problems::Problems;
use super::tuning::{Scores, choose};
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::Context;
use crate::random::Random;
use crate::svm::SolverSettings;

/// Multiples of C that are tried.
const PRICES: [f64; 3] = [1.0, 10.0, 100.0];
/// Multiples of the usual width that are tried, where no width is given.
const WIDTHS: [f64; 3] = [1.0, 0.5, 2.0];
/// Folds of a trial of one label, unless fewer are asked for; several labels make up for fewer folds.
const FOLDS: usize = 5;
const FEW_FOLDS: usize = 3;
/// A label with fewer carriers than this is tried on two sets of folds: a few rows decide, and by chance.
const FEW_CARRIERS: f64 = 100.0;
/// A score so far below the best that other folds will not bring it back.
const FAR: f64 = 0.1;
/// Trials see so many rows at most: what they choose between differs by factors, not by percents.
const MOST_ROWS: usize = 4000;
/// Stream of random numbers for those rows.
const ROWS_STREAM: u64 = 9_002;
/// Gains below this are rounding: the earlier trial stays.
const TIE: f64 = 1e-9;

/// One trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Price of slack.
    pub c: f64,
    /// Width of the kernel.
    pub sigma_init: f64,
    /// First weights.
    pub initial_weights: InitialWeights,
    /// Average precision of held-out rows, or its mean with F1 (balanced accuracy) where that is the measure; for several classes the
    /// measure alone.
    pub score: f64,
}

/// What trials chose, and from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// The best trial.
    pub best: Trial,
    /// All trials, in the order in which they were made.
    pub trials: Vec<Trial>,
    /// Rows that the trials learnt from and judged.
    pub rows: usize,
    /// The trials whose machines are averaged, where that is what the model is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub committee: Vec<Trial>,
}

/// What a search found.
pub(super) struct Found {
    /// The settings to fit with: as they were, or with what trials chose.
    pub(super) settings: BoostedSvc,
    pub(super) chosen: Option<Chosen>,
    /// Trials worth averaging, the best first.
    pub(super) members: Vec<Member>,
}

impl Chosen {
    /// The settings with what was chosen.
    pub(super) fn applied(&self, settings: &BoostedSvc) -> BoostedSvc {
        let Trial { c, sigma_init, initial_weights, .. } = self.best;
        BoostedSvc { c, sigma_init: Some(sigma_init), initial_weights, tune: false, ..settings.clone() }
    }
}

/// Tries settings where they are left open (see [`BoostedSvc::tune`]).
///
/// Of large tables a part is seen, and that part also says how many rounds are worth fitting on all rows.
pub(super) fn search(
    settings: &BoostedSvc,
    problems: &Problems,
    x: &Matrix<'_>,
    all: &Distances<'_>,
    context: &Context<'_>,
) -> Result<Found> {
    if !settings.tries() {
        return Ok(Found { settings: settings.clone(), chosen: None, members: Vec::new() });
    }
    let first = settings.schedule(all, &problems.weights)?.first;
    if x.rows() <= MOST_ROWS {
        let averages = settings.early_stopping && settings.voting == Voting::Soft && settings.max_rounds > 1;
        return trials(settings, first, averages, problems, x, all, context);
    }
    let mut rows = Random::new(settings.seed, ROWS_STREAM).permutation(x.rows());
    rows.truncate(MOST_ROWS);
    rows.sort_unstable();
    let (part, problems) = (x.select(&rows), problems.part(&rows));
    let near = distances(settings, &part, context)?;
    // Averages pay where few carriers decide, and would cost a solve per fold and machine of all rows here.
    let mut found = trials(settings, first, false, &problems, &part, &near, context)?;
    if settings.early_stopping && settings.max_rounds > 1 && found.chosen.is_some() {
        let fits = fit_all(&found.settings, &problems, &part, &near, true, true, context)?;
        let most = fits.whole.iter().flatten().map(|fit| fit.rounds.len()).max().unwrap_or(0);
        if let Some(held) = fits.held_out.filter(|_| most > 0) {
            let goal = goal(settings, &problems);
            let tuned = settings.thresholds == Thresholds::Tuned;
            found.settings.max_rounds = choose(1..=most, tuned, |rounds| held.scores(&problems, goal, rounds)).rounds;
        }
    }
    Ok(found)
}

/// Tries settings on all rows of `x`; `averages` says whether their machines may be averaged.
fn trials(
    settings: &BoostedSvc,
    first: f64,
    averages: bool,
    problems: &Problems,
    x: &Matrix<'_>,
    distances: &Distances<'_>,
    context: &Context<'_>,
) -> Result<Found> {
    // Uniform weights leave rare labels to their thresholds.
    let thresholds = settings.thresholds == Thresholds::Tuned && problems.kind != Kind::Classes;
    let starts: &[InitialWeights] = match settings.initial_weights {
        InitialWeights::Auto if thresholds => &[InitialWeights::Uniform, InitialWeights::Balanced],
        InitialWeights::Auto => &[InitialWeights::Balanced],
        InitialWeights::Balanced => &[InitialWeights::Balanced],
        InitialWeights::Uniform => &[InitialWeights::Uniform],
    };
    let widths: &[f64] = if settings.sigma_init.is_some() { &[1.0] } else { &WIDTHS };
    let one_label = problems.signs.len() == 1;
    let validation = match settings.validation {
        Validation::Folds(folds) => Validation::Folds(folds.min(if one_label { FOLDS } else { FEW_FOLDS })),
        share => share,
    };
    let repeats = if one_label && problems.smaller_side(0) < FEW_CARRIERS { 2 } else { 1 };
    let averages = averages && problems.kind == Kind::TwoClasses && thresholds;
    let mut members = Vec::new();
    let mut chosen: Option<Chosen> = None;
    for (turn, &initial_weights) in starts.iter().enumerate() {
        // The second start of label matrices, whose solves are many, is tried at the best width of the first.
        let widths = match (&chosen, turn) {
            (Some(chosen), 1) if !averages => vec![chosen.best.sigma_init],
            _ => widths.iter().map(|width| width * first).collect(),
        };
        for sigma_init in widths {
            for price in PRICES {
                let c = price * settings.c;
                let one = BoostedSvc {
                    c,
                    sigma_init: Some(sigma_init),
                    sigma_min: None,
                    initial_weights,
                    max_rounds: 1,
                    validation,
                    tune: false,
                    // Ranks need no more digits.
                    solver: SolverSettings { tolerance: settings.solver.tolerance.max(1e-3), ..settings.solver },
                    ..settings.clone()
                };
                let (mut score, mut told) = (0.0, None);
                for repeat in 0..repeats {
                    // What is far behind on one set of folds needs no other.
                    if repeat > 0 && chosen.as_ref().is_some_and(|chosen| score < chosen.best.score - FAR) {
                        break;
                    }
                    let one = BoostedSvc { seed: settings.seed.wrapping_add(repeat), ..one.clone() };
                    match judged(&one, thresholds, problems, x, distances, context)? {
                        Some((worth, held_out)) => {
                            score += (worth - score) / (repeat + 1) as f64;
                            told.get_or_insert(held_out);
                        }
                        None => return Ok(settled(settings, chosen, Vec::new())),
                    }
                }
                let trial = Trial { c, sigma_init, initial_weights, score };
                let chosen =
                    chosen.get_or_insert_with(|| Chosen { best: trial, trials: Vec::new(), rows: x.rows(), committee: Vec::new() });
                chosen.trials.push(trial);
                if score > chosen.best.score + TIE {
                    chosen.best = trial;
                }
                members.extend(told.filter(|_| averages).map(|held_out| Member { trial, held_out }));
            }
        }
    }
    Ok(settled(settings, chosen, nearest(members, settings.max_rounds)))
}

/// How good one machine per label is on rows it did not see; none where none could be held out.
fn judged(
    one: &BoostedSvc,
    thresholds: bool,
    problems: &Problems,
    x: &Matrix<'_>,
    distances: &Distances<'_>,
    context: &Context<'_>,
) -> Result<Option<(f64, HeldOut)>> {
    let Some(held_out) = fit_all(one, problems, x, distances, true, false, context)?.held_out else { return Ok(None) };
    let value = worth(one, thresholds, problems.kind, &held_out.scores(problems, goal(one, problems), 1));
    Ok(value.map(|value| (value, held_out)))
}

/// What scores of held-out rows are worth to a choice between settings.
pub(super) fn worth(settings: &BoostedSvc, thresholds: bool, kind: Kind, scores: &Scores<'_>) -> Option<f64> {
    let share = thresholds && matches!(settings.measure, Measure::F1 | Measure::BalancedAccuracy);
    match kind {
        Kind::Classes => Some(scores.tuned(false).1),
        _ if share => scores.ranking().map(|precision| 0.5 * (precision + scores.tuned(true).1)),
        _ => scores.ranking(),
    }
}

fn settled(settings: &BoostedSvc, chosen: Option<Chosen>, members: Vec<Member>) -> Found {
    let settings = chosen.as_ref().map_or_else(|| settings.clone(), |chosen| chosen.applied(settings));
    Found { settings, chosen, members }
}
