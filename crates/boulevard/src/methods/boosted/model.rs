//! The fitted ensembles.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::assemble::sigmoids;
use super::committee;
use super::describe;
use super::fits::{distances, fit_all};
use super::held_out::contribution;
use super::learner::BoostedSvc;
use super::pictures;
use super::problems::Problems;
use super::search::Chosen;
use super::update::Verdict;
use crate::data::{Categories, Dataset, LabelMatrix, Matrix, Target};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{
    Answers, Decisions, Fact, FitReport, KernelMachine, Model, Rows, Sigmoid, argmax, codes, consistent, details, kept_facts,
};

/// What a model answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One of two classes.
    TwoClasses,
    /// One of several classes.
    Classes,
    /// Any number of labels.
    Labels,
}

/// Why a label's ensemble has no more rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// There are as many as were asked for.
    MaxRounds,
    /// A round on all rows missed none: the next one would be the same.
    Perfect,
    /// Held-out rows were served best by this many.
    EarlyStop,
    /// It is the mean of several machines, the best trials: rounds of boosting served held-out rows no better.
    Committee,
    /// The kernel became as narrow as allowed.
    SigmaMin,
    /// Twenty rounds in a row were refused (or one that could only be repeated).
    Refused,
    /// Time was up or the caller asked to stop.
    Stopped,
    /// No training row carries the label: it is never predicted.
    Never,
    /// Every training row carries the label: it is always predicted.
    Always,
}

/// One round of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Weight of its vote.
    pub alpha: f64,
    /// Weight of the training rows it misses. At least 1/2 only where no round was accepted and the least bad machine answers alone.
    pub error: f64,
    /// Width of its kernel.
    pub sigma: f64,
    /// Rows it learnt from.
    pub drawn: usize,
    /// Training rows it misses.
    pub missed: Vec<usize>,
    /// Its place among [`BoostedModel::machines`].
    pub machine: usize,
    /// Its output of that machine.
    pub output: usize,
}

/// One label's ensemble.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelEnsemble {
    /// The rounds, first to last.
    pub rounds: Vec<Round>,
    /// The weights of the training rows before the first round; empty for a label that never changes.
    pub start: Vec<f64>,
    /// Scores above this are a yes.
    pub threshold: f64,
    /// Why there are no more rounds.
    pub ending: Ending,
}

impl LabelEnsemble {
    /// The weights of the training rows before the first round and after every round.
    ///
    /// They are computed again from the misses by the same operations in the same order: the same bits.
    pub fn weights(&self) -> Vec<Vec<f64>> {
        let mut all = vec![self.start.clone()];
        for round in &self.rounds {
            let mut missed = vec![false; self.start.len()];
            round.missed.iter().for_each(|&row| missed[row] = true);
            let mut weights = all[all.len() - 1].clone();
            // A machine that answers although it was refused moved nothing, and those of a committee know nothing of each other.
            if Verdict::is_better_than_chance(round.error) && self.ending != Ending::Committee {
                Verdict { error: round.error, alpha: round.alpha }.update(&mut weights, &missed);
            }
            all.push(weights);
        }
        all
    }

    /// How many rounds miss each training row.
    pub fn misses(&self) -> Vec<usize> {
        let mut counts = vec![0; self.start.len()];
        self.rounds.iter().flat_map(|round| &round.missed).for_each(|&row| counts[row] += 1);
        counts
    }

    /// The answer of a label that never changes.
    fn constant(&self) -> Option<bool> {
        match (self.ending, self.rounds.is_empty()) {
            (Ending::Always, true) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// A fitted boosted classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostedModel {
    /// What it was fitted with.
    pub parameters: BoostedSvc,
    /// What it answers with.
    pub kind: Kind,
    /// Class names, or label names.
    pub names: Vec<String>,
    /// One ensemble per label, per class, or (two classes) one in all, for the second class.
    pub labels: Vec<LabelEnsemble>,
    /// One machine per kernel width, with an output per round.
    pub machines: Vec<KernelMachine>,
    /// Whether a row that no label claims gets its best label.
    pub at_least_one: bool,
    /// Probabilities, one sigmoid per ensemble, where they were fitted.
    pub calibration: Option<Vec<Sigmoid>>,
    /// Which of two classes the measure is about: a rare one, else for costs and recalls the second; none where both count alike.
    pub sought: Option<usize>,
    /// What trials on held-out rows chose, where there were trials.
    pub chosen: Option<Chosen>,
    /// The measure of held-out rows (macro F1, unless another was named; costs are negative) by number of rounds, where that was looked
    /// at.
    pub stage_scores: Vec<f64>,
    /// Columns of the training table.
    pub features: usize,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went: the sum of all rounds' objectives, the largest gap.
    pub report: FitReport,
}

/// A label that is never predicted scores this; one that always is, its opposite.
const CONSTANT: f64 = 1.0;
/// The margin of the label that a row gets because it must have one.
const BARELY: f64 = 1e-12;

impl BoostedModel {
    /// Rows it learnt from.
    pub fn rows(&self) -> usize {
        self.report.rows
    }

    /// The parameters the ensembles were fitted with: those given, and what trials chose in place of what was left open.
    pub fn settings(&self) -> BoostedSvc {
        let given = self.parameters.resolved();
        match &self.chosen {
            Some(chosen) => chosen.applied(&given),
            None => given,
        }
    }

    /// Rounds of the longest ensemble.
    pub fn rounds(&self) -> usize {
        self.labels.iter().map(|label| label.rounds.len()).max().unwrap_or(0)
    }

    /// All machines' outputs, row-major each.
    fn outputs(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<Vec<f64>>> {
        self.check_input(x)?;
        self.machines.iter().map(|machine| machine.evaluate(x, context)).collect()
    }

    /// Scores after at most `rounds` rounds, row-major: one per label, between -1 and 1 for hard votes.
    fn scores(&self, outputs: &[Vec<f64>], rows: usize, rounds: usize) -> Vec<f64> {
        let labels = self.labels.len();
        let mut scores = vec![0.0; rows * labels];
        let voting = self.parameters.resolved().voting;
        for (l, label) in self.labels.iter().enumerate() {
            let constant = label.constant().map(|on| match (on, self.kind) {
                (true, _) => CONSTANT,
                // Another class is always the better answer.
                (false, Kind::Classes) => f64::NEG_INFINITY,
                (false, _) => -CONSTANT,
            });
            let members = &label.rounds[..rounds.min(label.rounds.len())];
            let total: f64 = members.iter().map(|round| round.alpha).sum();
            for row in 0..rows {
                scores[row * labels + l] = constant.unwrap_or_else(|| {
                    let vote = |round: &Round| {
                        let width = self.machines[round.machine].outputs();
                        round.alpha * contribution(voting, outputs[round.machine][row * width + round.output])
                    };
                    members.iter().map(vote).sum::<f64>() / total
                });
            }
        }
        scores
    }

    /// Scores minus thresholds; rows that must have a label get one.
    fn margins(&self, mut scores: Vec<f64>) -> Vec<f64> {
        let labels = self.labels.len();
        for row in scores.chunks_exact_mut(labels) {
            row.iter_mut().zip(&self.labels).for_each(|(score, label)| *score -= label.threshold);
            if !self.at_least_one || row.iter().any(|&margin| margin > 0.0) {
                continue;
            }
            let changing = |l: usize| self.labels[l].constant().is_none();
            let best = (0..labels).filter(|&l| changing(l)).fold(None, |best: Option<usize>, l| match best {
                Some(b) if row[b] >= row[l] => Some(b),
                _ => Some(l),
            });
            let Some(best) = best else { continue };
            let shift = row[best];
            (0..labels).filter(|&l| changing(l)).for_each(|l| row[l] -= shift);
            row[best] = BARELY;
        }
        scores
    }

    /// Decision values after 1, 2, ... rounds, as [`Model::decision_values_in`] has them after the last. Thresholds are those of the
    /// whole ensemble.
    pub fn staged_decision_values_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<Vec<f64>>> {
        let outputs = self.outputs(x, context)?;
        Ok((1..=self.rounds().max(1)).map(|rounds| self.margins(self.scores(&outputs, x.rows(), rounds))).collect())
    }
}

impl Model for BoostedModel {
    type Prediction = Target;

    kept_facts!();

    fn features(&self) -> usize {
        self.features
    }

    fn answers(&self) -> Answers<'_> {
        match self.kind {
            Kind::TwoClasses | Kind::Classes => Answers::Classes(&self.names),
            Kind::Labels => Answers::Labels(&self.names),
        }
    }

    /// Margins: the weighted mean of the rounds' contributions minus the threshold. Two classes: one value, positive for the second.
    /// Classes: one each, the largest wins. Labels: one each, positive ones are predicted.
    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        let outputs = self.outputs(rows.x, context)?;
        Ok(Decisions::plain(self.margins(self.scores(&outputs, rows.x.rows(), usize::MAX)), self.labels.len()))
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Target> {
        let margins = &decisions.values;
        Ok(match self.kind {
            Kind::TwoClasses | Kind::Classes => Categories::new(codes(margins, self.labels.len()), self.names.clone())?.into(),
            Kind::Labels => LabelMatrix::new(margins.iter().map(|&m| m > 0.0).collect(), self.names.clone())?.into(),
        })
    }

    /// One column per class, or per label (the probability that the row carries it). Above one half exactly where the label is predicted;
    /// the largest of classes is the predicted one.
    fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        let Some(sigmoids) = &self.calibration else { return Ok(None) };
        let labels = self.labels.len();
        let mut all = Vec::with_capacity(decisions.values.len() / labels * self.names.len());
        for row in decisions.values.chunks_exact(labels) {
            let each = |(sigmoid, &margin): (&Sigmoid, &f64)| if margin.is_finite() { sigmoid.probability(margin) } else { 0.0 };
            let mut chances: Vec<f64> = sigmoids.iter().zip(row).map(each).collect();
            match self.kind {
                Kind::TwoClasses => {
                    let mut pair = [1.0 - chances[0], chances[0]];
                    consistent(&mut pair, usize::from(row[0] > 0.0));
                    all.extend(pair);
                }
                Kind::Classes => {
                    let total: f64 = chances.iter().sum();
                    let even = 1.0 / labels as f64;
                    chances.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { even });
                    consistent(&mut chances, argmax(row));
                    all.extend(chances);
                }
                Kind::Labels => all.extend(chances.iter().zip(row).map(|(&p, &margin)| {
                    let mut pair = [1.0 - p, p];
                    consistent(&mut pair, usize::from(margin > 0.0));
                    pair[1]
                })),
            }
        }
        Ok(Some(all))
    }

    fn has_probabilities(&self) -> bool {
        self.calibration.is_some()
    }

    fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        data.validate()?;
        self.check_input(&data.x)?;
        let settings = BoostedSvc { max_rounds: self.rounds().max(1), ..self.settings() };
        let problems = Problems::new(data, &settings.class_weight)?;
        if problems.names != self.names || problems.kind != self.kind {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: the classes differ"));
        }
        let part = problems.table(data);
        let x = part.as_ref().unwrap_or(&data.x);
        let distances = distances(&settings, x, context)?;
        let members = self.chosen.as_ref().map_or(&[][..], |chosen| &chosen.committee[..]);
        let held = match members {
            [] => fit_all(&settings, &problems, x, &distances, true, false, context)?.held_out,
            members => committee::held_out(&settings, members, &problems, x, &distances, context)?,
        };
        let Some(held) = &held else {
            return Err(Error::data("probabilities need rows to hold out: there are too few different rows, or the fit was stopped"));
        };
        self.calibration = Some(sigmoids(self, &problems, held));
        Ok(())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::facts(self)
    }

    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        Ok(pictures::pictures(self))
    }

    fn details(&self) -> Map<String, Value> {
        let kernels: Vec<_> = self.machines.iter().map(|machine| &machine.kernel).collect();
        details([
            ("kernel", json!(kernels)),
            ("classes", json!(self.names)),
            ("ensembles", describe::ensembles(self)),
            ("chosen", json!(self.chosen)),
        ])
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        self.machines.iter().collect()
    }
}
