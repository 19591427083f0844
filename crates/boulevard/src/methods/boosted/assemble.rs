//! From fitted ensembles to a model: thresholds, rounds, probabilities, and kernel machines that the labels share.

use super::ensemble::EnsembleFit;
use super::fits::{Fits, at_least_one, goal};
use super::gram::kernel_of;
use super::held_out::HeldOut;
use super::learner::{BoostedSvc, Thresholds};
use super::model::{BoostedModel, Ending, LabelEnsemble, Round};
use super::problems::Problems;
use super::search::Chosen;
use super::tuning::{Choice, choose, sought};
use crate::data::Dataset;
use crate::svm::{FitReport, KernelMachine, Layout, Ready, Sigmoid};

/// The model of some fits; its report lacks the time.
///
/// `settings` are those of the learner, with what was chosen in place of what was left open.
pub(super) fn assemble(
    learner: &BoostedSvc,
    settings: &BoostedSvc,
    chosen: Option<Chosen>,
    data: &Dataset<'_>,
    problems: Problems,
    fits: Fits,
) -> BoostedModel {
    let at_least_one = at_least_one(settings, &problems);
    let goal = goal(settings, &problems);
    let most = fits.whole.iter().flatten().map(|fit| fit.rounds.len()).max().unwrap_or(0);
    let choice = match &fits.held_out {
        Some(held) if held.rounds() > 0 && most > 0 && (settings.early_stopping || settings.thresholds == Thresholds::Tuned) => {
            let from = if settings.early_stopping && !fits.is_committee() { 1 } else { most };
            choose(from..=most, settings.thresholds == Thresholds::Tuned, |rounds| held.scores(&problems, goal, rounds))
        }
        _ => Choice { best: most, rounds: most, thresholds: vec![0.0; problems.signs.len()], scores: Vec::new() },
    };
    let mut report = FitReport::default();
    fits.whole.iter().flatten().for_each(|fit| report.include(&fit.report));
    let mut labels: Vec<LabelEnsemble> = Vec::with_capacity(fits.whole.len());
    for (label, fit) in fits.whole.iter().enumerate() {
        labels.push(match fit {
            Some(fit) => {
                let mut label = ensemble(fit, &problems, choice.rounds, choice.thresholds[label]);
                // A part of the table said beforehand how many rounds are worth while.
                if label.ending == Ending::MaxRounds && settings.max_rounds < learner.resolved().max_rounds {
                    label.ending = Ending::EarlyStop;
                }
                label
            }
            None => LabelEnsemble {
                rounds: Vec::new(),
                start: Vec::new(),
                threshold: 0.0,
                ending: if problems.constant[label] == Some(true) { Ending::Always } else { Ending::Never },
            },
        });
    }
    let machines = machines(settings, data, &problems, &fits.whole, &mut labels);
    let mut model = BoostedModel {
        parameters: learner.clone(),
        kind: problems.kind,
        names: problems.names.clone(),
        labels,
        machines,
        at_least_one,
        calibration: None,
        sought: problems.signs.first().and_then(|signs| sought(goal, signs, &problems.weights)),
        chosen,
        stage_scores: choice.scores,
        features: data.x.columns(),
        feature_names: data.feature_names.clone(),
        report: FitReport { rows: problems.rows.len(), ..report },
    };
    if let Some(held) = &fits.held_out {
        model.calibration = Some(sigmoids(&model, &problems, held));
    }
    model
}

/// One label's part without its machines.
fn ensemble(fit: &EnsembleFit, problems: &Problems, rounds: usize, threshold: f64) -> LabelEnsemble {
    let mut start = vec![0.0; problems.all_rows];
    problems.rows.iter().zip(&fit.start).for_each(|(&row, &w)| start[row] = w);
    let round = |fit: &super::ensemble::RoundFit| Round {
        alpha: fit.alpha,
        error: fit.error,
        sigma: fit.sigma,
        drawn: fit.drawn,
        missed: fit.missed.iter().map(|&row| problems.rows[row]).collect(),
        machine: 0,
        output: 0,
    };
    let ending = if fit.rounds.len() > rounds { Ending::EarlyStop } else { fit.ending };
    LabelEnsemble { rounds: fit.rounds.iter().take(rounds).map(round).collect(), start, threshold, ending }
}

/// One machine per width, with an output for every round of every label that has it.
fn machines(
    settings: &BoostedSvc,
    data: &Dataset<'_>,
    problems: &Problems,
    fits: &[Option<EnsembleFit>],
    labels: &mut [LabelEnsemble],
) -> Vec<KernelMachine> {
    let mut widths: Vec<f64> = labels.iter().flat_map(|label| label.rounds.iter().map(|round| round.sigma)).collect();
    widths.sort_unstable_by(|a, b| b.total_cmp(a));
    widths.dedup();
    let mut machines = Vec::with_capacity(widths.len());
    for (place, &sigma) in widths.iter().enumerate() {
        let mut members = Vec::new();
        for (label, fit) in labels.iter_mut().zip(fits) {
            let Some(fit) = fit else { continue };
            for (round, fit) in label.rounds.iter_mut().zip(&fit.rounds).filter(|(round, _)| round.sigma == sigma) {
                (round.machine, round.output) = (place, members.len());
                members.push(fit);
            }
        }
        // Where each row stands among the support vectors.
        let mut used = vec![false; problems.rows.len()];
        members.iter().flat_map(|fit| &fit.support).for_each(|&(row, _)| used[row] = true);
        let support: Vec<usize> = (0..used.len()).filter(|&row| used[row]).collect();
        let mut places = vec![0; used.len()];
        support.iter().enumerate().for_each(|(place, &row)| places[row] = place);
        let mut coefficients = vec![0.0; members.len() * support.len()];
        for (fit, to) in members.iter().zip(coefficients.chunks_exact_mut(support.len().max(1))) {
            fit.support.iter().for_each(|&(row, b)| to[places[row]] = b);
        }
        let rows: Vec<usize> = support.iter().map(|&row| problems.rows[row]).collect();
        machines.push(KernelMachine {
            kernel: kernel_of(sigma),
            vectors: data.x.select(&rows),
            support: rows,
            coefficients,
            layout: Layout::Full,
            intercepts: members.iter().map(|fit| fit.intercept).collect(),
            features: data.x.columns(),
            tolerance: settings.solver.tolerance,
            ready: Ready::default(),
        });
    }
    machines
}

/// A sigmoid per label on its margins of held-out rows.
pub(super) fn sigmoids(model: &BoostedModel, problems: &Problems, held: &HeldOut) -> Vec<Sigmoid> {
    // Certain to twelve digits, and finite.
    const SURE: f64 = 30.0;
    let one = |(label, ensemble): (usize, &LabelEnsemble)| {
        let Some(scores) = held.column(label, ensemble.rounds.len()).filter(|_| !ensemble.rounds.is_empty()) else {
            let b = match ensemble.ending {
                Ending::Always => -SURE,
                Ending::Never => SURE,
                // Too few rows to hold any out: the share of carriers is all that is known.
                _ => {
                    let carriers: f64 =
                        problems.signs[label].iter().zip(&problems.weights).filter(|(y, _)| **y > 0.0).map(|(_, w)| w).sum();
                    let others: f64 = problems.weights.iter().sum::<f64>() - carriers;
                    ((others + 1.0) / (carriers + 1.0)).ln()
                }
            };
            return Sigmoid { a: 0.0, b };
        };
        let rows: Vec<usize> = (0..scores.len()).filter(|&row| held.weights[row] > 0.0).collect();
        let margins: Vec<f64> = rows.iter().map(|&row| scores[row] - ensemble.threshold).collect();
        let positive: Vec<bool> = rows.iter().map(|&row| problems.signs[label][row] > 0.0).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| held.weights[row]).collect();
        Sigmoid::fit(&margins, &positive, Some(&weights))
    };
    model.labels.iter().enumerate().map(one).collect()
}
