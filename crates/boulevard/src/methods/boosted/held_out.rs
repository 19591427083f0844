//! Scores of rows that were held out, round by round.

use super::ensemble::RoundFit;
use super::learner::{BoostedSvc, Validation, Voting};
use super::model::Kind;
use super::problems::Problems;
use super::tuning::{Goal, Scores};
use super::update::says_yes;
use crate::data::split::{Split, multilabel_k_fold};
use crate::data::{LabelMatrix, Matrix};
use crate::error::Result;
use crate::observe::Context;
use crate::svm::content_key;

/// What a round's decision value contributes to the score.
pub(super) fn contribution(voting: Voting, value: f64) -> f64 {
    match voting {
        Voting::Soft => value,
        Voting::Hard if says_yes(value) => 1.0,
        Voting::Hard => -1.0,
    }
}

/// Splits in which every label has its share, the same for all labels; none where there are too few rows.
///
/// They depend on what rows hold, not on their order or number: equal rows stay together, so that a weight of 2 means the same as having
/// the row twice.
pub(super) fn splits(settings: &BoostedSvc, problems: &Problems, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<Split>> {
    let mut meter = context.meter("hold out");
    let (folds, take) = match settings.validation {
        Validation::Folds(folds) => (folds, folds),
        Validation::Share(share) => ((1.0 / share).round().max(2.0) as usize, 1),
    };
    let labels_of = |row: usize| problems.signs.iter().map(|signs| signs[row] > 0.0).collect::<Vec<bool>>();
    let mut keys: Vec<(u64, Vec<bool>, usize)> =
        (0..x.rows()).map(|row| Ok((content_key(x, row, settings.seed, &mut meter)?, labels_of(row), row))).collect::<Result<_>>()?;
    keys.sort_unstable();
    let (mut group_of, mut values, mut groups) = (vec![0; x.rows()], Vec::new(), 0);
    for (place, (key, labels, row)) in keys.iter().enumerate() {
        if place == 0 || (keys[place - 1].0, &keys[place - 1].1) != (*key, labels) {
            groups += 1;
            // The other side of two classes is a class of its own.
            values.push(!labels.iter().any(|&on| on));
            values.extend_from_slice(labels);
        }
        group_of[*row] = groups - 1;
    }
    let names = (0..=problems.signs.len()).map(|label| label.to_string()).collect();
    let Ok(labels) = LabelMatrix::new(values, names) else { return Ok(Vec::new()) };
    // Fewer different rows than folds: nothing can be held out.
    let Ok(splits) = multilabel_k_fold(&labels, folds, settings.seed) else { return Ok(Vec::new()) };
    let rows = |groups: &[usize]| {
        let mut inside = vec![false; labels.len()];
        groups.iter().for_each(|&group| inside[group] = true);
        (0..x.rows()).filter(|&row| inside[group_of[row]]).collect::<Vec<usize>>()
    };
    Ok(splits.iter().take(take).map(|split| Split { train: rows(&split.train), test: rows(&split.test) }).collect())
}

/// Scores of held-out rows after every round.
pub(super) struct HeldOut {
    /// By label: scores of all rows after 1, 2, ... rounds; none for labels that could not be held out.
    stages: Vec<Option<Vec<Vec<f64>>>>,
    /// Weights of the rows that were held out, 0 for the others.
    pub(super) weights: Vec<f64>,
    /// The same times the class weights: what rows count when thresholds are tuned. Who says that a class matters more means it there too.
    stakes: Vec<f64>,
    /// The split that held each row out.
    split_of: Vec<usize>,
}

impl HeldOut {
    /// Puts the rounds of every label and split together; nothing if there are none of one.
    pub(super) fn new(voting: Voting, problems: &Problems, splits: &[Split], parts: &[(usize, usize, &[RoundFit])]) -> Option<Self> {
        let rows = problems.rows.len();
        if parts.iter().any(|(_, _, fit)| fit.is_empty()) {
            return None;
        }
        let longest = parts.iter().map(|(_, _, fit)| fit.len()).max()?;
        let mut stages: Vec<Option<Vec<Vec<f64>>>> = vec![None; problems.signs.len()];
        for (label, stages) in stages.iter_mut().enumerate() {
            let own: Vec<_> = parts.iter().filter(|part| part.0 == label).collect();
            if own.len() < splits.len() {
                continue;
            }
            let mut scores = vec![vec![0.0; rows]; longest];
            for (_, k, fit) in own {
                let mut sums = vec![0.0; splits[*k].test.len()];
                let mut weight = 0.0;
                for (stage, scores) in scores.iter_mut().enumerate() {
                    // An ensemble that ended early stays as it is.
                    if let Some(round) = fit.get(stage) {
                        weight += round.alpha;
                        sums.iter_mut().zip(&round.watched).for_each(|(sum, &f)| *sum += round.alpha * contribution(voting, f));
                    }
                    splits[*k].test.iter().zip(&sums).for_each(|(&row, sum)| scores[row] = sum / weight);
                }
            }
            *stages = Some(scores);
        }
        let mut split_of = vec![0; rows];
        splits.iter().enumerate().for_each(|(k, split)| split.test.iter().for_each(|&row| split_of[row] = k));
        let mut weights = vec![0.0; rows];
        splits.iter().flat_map(|split| &split.test).for_each(|&row| weights[row] = problems.weights[row]);
        let mut stakes = weights.clone();
        if problems.kind != Kind::Labels {
            stakes.iter_mut().zip(&problems.factors[0]).for_each(|(stake, factor)| *stake *= factor);
        }
        Some(Self { stages, weights, stakes, split_of })
    }

    /// The mean of what several machines said about the same rows after their first round; none where there are none.
    pub(super) fn mean<'a>(mut parts: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        let count = parts.clone().count() as f64;
        let first = parts.next()?;
        let mut mean = Self {
            stages: first.stages.iter().map(|stages| stages.as_ref().map(|stages| vec![stages[0].clone()])).collect(),
            weights: first.weights.clone(),
            stakes: first.stakes.clone(),
            split_of: first.split_of.clone(),
        };
        for part in parts {
            for (sums, more) in mean.stages.iter_mut().zip(&part.stages) {
                let (Some(sums), Some(more)) = (sums, more) else { return None };
                sums[0].iter_mut().zip(&more[0]).for_each(|(sum, score)| *sum += score);
            }
        }
        mean.stages.iter_mut().flatten().flatten().flatten().for_each(|score| *score /= count);
        Some(mean)
    }

    /// Rounds of the longest ensemble.
    pub(super) fn rounds(&self) -> usize {
        self.stages.iter().flatten().map(Vec::len).max().unwrap_or(0)
    }

    /// One label's scores after `rounds` rounds.
    pub(super) fn column(&self, label: usize, rounds: usize) -> Option<&[f64]> {
        let stages = self.stages[label].as_ref()?;
        stages.get(rounds.clamp(1, stages.len()) - 1).map(Vec::as_slice)
    }

    /// All labels' scores after `rounds` rounds.
    pub(super) fn scores<'a>(&'a self, problems: &'a Problems, goal: Goal, rounds: usize) -> Scores<'a> {
        let columns = (0..self.stages.len()).map(|label| self.column(label, rounds).map(<[f64]>::to_vec)).collect();
        Scores::new(columns, &problems.signs, &self.stakes, &self.split_of, goal).rare_by(&self.weights)
    }
}
