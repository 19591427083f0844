//! The fitted model: decisions, probabilities, contributions and sequential tests.

use serde_json::{Map, Value, json};

use super::choose::SetChoice;
use super::consensus::{Consensus, Sequential, expected_samples, majority, softmax};
use super::describe;
use super::direct::SetMachine;
use super::learner::{Method, MultiSample};
use super::pictures;
use crate::data::{Categories, Dataset, Matrix, Sets};
use crate::error::Result;
use crate::kernel::Gamma;
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{
    Answers, Classifier, Decisions, Fact, FitReport, KernelMachine, Layout, Model, ROWS_AT_ONCE, Rows, Sigmoid, SvcModel, argmax,
    consistent, couple, details, kept_facts, pairs,
};

/// A fitted classifier of sets.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiSampleModel {
    /// What it was fitted with.
    pub parameters: MultiSample,
    /// Class names; codes in predictions are places in this list.
    pub classes: Vec<String>,
    /// Shares in which classes are expected.
    pub priors: Vec<f64>,
    /// Shares of the classes among the training rows, weights and class weights included: those of the posteriors.
    pub rates: Vec<f64>,
    /// The calibrated machine of single samples: votes, consensus, and what direct machines leave to it.
    pub single: Box<SvcModel>,
    /// Mean log ratio per sample, row `c` column `d` over samples of class `c`: how fast evidence grows.
    pub separation: Vec<f64>,
    /// Direct machines, one per size of sets.
    pub machines: Vec<SetMachine>,
    /// What was chosen by held-out sets, where that was left open.
    pub chosen: Option<SetChoice>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

/// Scores of one sample, log posteriors up to a shift, from the machine's outputs.
pub(super) fn sample_scores(single: &SvcModel, raw: &[f64]) -> Vec<f64> {
    let sigmoids = &single.calibration.as_ref().expect("fitted with sigmoids").sigmoids;
    scores_of(sigmoids, raw, single.classes.len(), single.machine.layout != Layout::Full)
}

/// The same from sigmoids, of outputs that stand for pairs of classes or for classes.
pub(super) fn scores_of(sigmoids: &[Sigmoid], raw: &[f64], classes: usize, pairwise: bool) -> Vec<f64> {
    if classes == 2 {
        // log p(first) - log p(second), without forming either
        return vec![-(sigmoids[0].a * raw[0] + sigmoids[0].b), 0.0];
    }
    const LEAST: f64 = 1e-7;
    let probability = |output: usize| {
        let value = if raw[output].is_finite() { sigmoids[output].probability(raw[output]) } else { 0.0 };
        value.clamp(LEAST, 1.0 - LEAST)
    };
    if pairwise {
        let mut r = vec![0.0; classes * classes];
        for (output, (i, j)) in pairs(classes).into_iter().enumerate() {
            r[i * classes + j] = probability(output);
            r[j * classes + i] = 1.0 - r[i * classes + j];
        }
        return couple(&r, classes).into_iter().map(|p| p.max(LEAST * LEAST).ln()).collect();
    }
    (0..classes).map(|class| probability(class).ln()).collect()
}

/// What is known about every set: decision values and, where asked for, probabilities.
struct Judgement {
    decisions: Vec<f64>,
    probabilities: Vec<f64>,
}

impl MultiSampleModel {
    /// How decisions are made: as asked for, or as chosen.
    pub fn method(&self) -> Method {
        match (self.parameters.method, &self.chosen) {
            (Method::Auto, Some(chosen)) => chosen.method,
            // Nothing could be held out.
            (Method::Auto, None) => Method::Consensus,
            (given, _) => given,
        }
    }

    /// The width of the kernel that sets of the size asked for are judged with: a direct machine's own, else that of single samples. None
    /// for kernels without one.
    pub fn gamma(&self) -> Option<f64> {
        let k = self.parameters.n_samples_per_decision;
        let direct = self.machines.iter().find(|machine| self.method() == Method::Direct && machine.size == k);
        direct.map_or(&self.single.machine.kernel, |machine| &machine.kernel).gamma().and_then(Gamma::value)
    }

    /// What its direct machines were fitted with.
    pub(super) fn direct_learner(&self) -> MultiSample {
        match (self.parameters.method, &self.chosen) {
            (Method::Auto, Some(chosen)) => chosen.direct_learner(&self.parameters),
            _ => self.parameters.clone(),
        }
    }

    /// The direct machine for sets of this size.
    pub fn machine(&self, size: usize) -> Option<&SetMachine> {
        self.machines.iter().find(|machine| machine.size == size)
    }

    /// Scores of single samples, one row per sample and one column per class: log posteriors up to a shift per sample.
    pub fn scores(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let raw = self.single.outputs_in(x, context)?;
        Ok(raw.chunks_exact(self.single.machine.outputs()).flat_map(|raw| sample_scores(&self.single, raw)).collect())
    }

    /// The direct machine that would judge sets of this size but has no probabilities.
    fn uncalibrated(&self, size: usize) -> Option<&SetMachine> {
        let direct = self.method() == Method::Direct;
        self.machine(size).filter(|machine| direct && machine.calibration.is_none())
    }

    fn width(&self) -> usize {
        if self.classes.len() == 2 { 1 } else { self.classes.len() }
    }

    /// One decision value per set for two classes (positive for the second), one per class for more (the largest is the prediction).
    ///
    /// Values of direct machines, of consensus (log odds) and of votes are on scales of their own; probabilities can be compared.
    pub fn set_decisions(&self, x: &Matrix<'_>, sets: &Sets, context: &Context<'_>) -> Result<Vec<f64>> {
        Ok(self.judge(x, sets, false, context)?.decisions)
    }

    /// The class of every set.
    pub fn predict_sets(&self, x: &Matrix<'_>, sets: &Sets, context: &Context<'_>) -> Result<Categories> {
        let decisions = self.set_decisions(x, sets, context)?;
        Categories::new(self.codes_from_decisions(&decisions), self.classes.clone())
    }

    /// Class codes from decision values.
    pub fn codes_from_decisions(&self, decisions: &[f64]) -> Vec<u32> {
        decisions.chunks_exact(self.width()).map(|values| self.code(values)).collect()
    }

    fn code(&self, values: &[f64]) -> u32 {
        match values {
            [value] => u32::from(*value > 0.0),
            values => argmax(values) as u32,
        }
    }

    /// Class probabilities of every set, row-major; the most probable class is the predicted one.
    ///
    /// Fails for sets judged by a direct machine that was not calibrated.
    pub fn set_probabilities(&self, x: &Matrix<'_>, sets: &Sets, context: &Context<'_>) -> Result<Vec<f64>> {
        Ok(self.judge(x, sets, true, context)?.probabilities)
    }

    fn judge(&self, x: &Matrix<'_>, sets: &Sets, probabilities: bool, context: &Context<'_>) -> Result<Judgement> {
        self.check_input(x)?;
        sets.check(x.rows())?;
        let (classes, width) = (self.classes.len(), self.width());
        let mut judgement = Judgement {
            decisions: vec![0.0; sets.len() * width],
            probabilities: vec![0.0; if probabilities { sets.len() * classes } else { 0 }],
        };
        let mut left: Vec<usize> = (0..sets.len()).collect();
        if self.method() == Method::Direct {
            for machine in &self.machines {
                let chosen: Vec<usize> = left.iter().copied().filter(|&set| sets.size(set) == machine.size).collect();
                if !chosen.is_empty() {
                    self.judge_directly(machine, x, sets, &chosen, probabilities, &mut judgement, context)?;
                    left.retain(|&set| sets.size(set) != machine.size);
                }
            }
        }
        if !left.is_empty() {
            self.judge_by_samples(x, sets, &left, probabilities, &mut judgement, context)?;
        }
        Ok(judgement)
    }

    fn judge_directly(
        &self,
        machine: &SetMachine,
        x: &Matrix<'_>,
        sets: &Sets,
        chosen: &[usize],
        probabilities: bool,
        judgement: &mut Judgement,
        context: &Context<'_>,
    ) -> Result<()> {
        let (classes, width) = (self.classes.len(), self.width());
        let raw = machine.evaluate(x, sets, chosen, self.parameters.normalization, self.parameters.symmetric, context)?;
        let (outputs, count) = (machine.stand_for(), machine.outputs());
        let decisions = outputs.decisions(raw, classes);
        for (place, &set) in chosen.iter().enumerate() {
            let values = &mut judgement.decisions[set * width..(set + 1) * width];
            values.copy_from_slice(&decisions.values[place * width..(place + 1) * width]);
            if probabilities {
                let calibration = machine.calibration.as_ref().ok_or_else(|| machine.no_probabilities())?;
                let raw = &decisions.outputs()[place * count..(place + 1) * count];
                let row = outputs.probabilities(calibration, raw, classes, self.code(values) as usize);
                judgement.probabilities[set * classes..(set + 1) * classes].copy_from_slice(&row);
            }
        }
        Ok(())
    }

    /// Scores and decision values of single samples. Outputs of pairs of classes, of which there may be hundreds, are held for some rows
    /// at a time.
    fn judged_samples(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let outputs = self.single.machine.outputs();
        let (mut scores, mut values) = (Vec::new(), Vec::new());
        let mut add = |x: &Matrix<'_>| -> Result<()> {
            let judged = self.single.class_decisions(x, context)?;
            scores.extend(judged.outputs().chunks_exact(outputs).flat_map(|raw| sample_scores(&self.single, raw)));
            values.extend(judged.values);
            Ok(())
        };
        if x.rows() <= ROWS_AT_ONCE {
            add(x)?;
        } else {
            for first in (0..x.rows()).step_by(ROWS_AT_ONCE) {
                add(&x.select(&(first..(first + ROWS_AT_ONCE).min(x.rows())).collect::<Vec<_>>()))?;
            }
        }
        Ok((scores, values))
    }

    /// Consensus, or votes where that is the method.
    fn judge_by_samples(
        &self,
        x: &Matrix<'_>,
        sets: &Sets,
        chosen: &[usize],
        probabilities: bool,
        judgement: &mut Judgement,
        context: &Context<'_>,
    ) -> Result<()> {
        let (classes, width) = (self.classes.len(), self.width());
        let (scores, values) = self.judged_samples(x, context)?;
        let consensus = self.consensus()?;
        let vote = self.method() == Method::Vote;
        let samples = if vote {
            let decisions = values;
            let codes = self.single.codes(&decisions);
            // Two classes: the one value speaks for the second, its negative for the first.
            let values: Vec<f64> = if classes == 2 { decisions.iter().flat_map(|&f| [-f, f]).collect() } else { decisions };
            Some((codes, values))
        } else {
            None
        };
        for &set in chosen {
            let rows = sets.rows(set);
            let gather = |from: &[f64]| -> Vec<f64> {
                rows.iter().flat_map(|&row| from[row as usize * classes..(row as usize + 1) * classes].iter().copied()).collect()
            };
            let evidence = consensus.set_scores(&gather(&scores));
            let totals = match &samples {
                Some((codes, values)) => {
                    let codes: Vec<u32> = rows.iter().map(|&row| codes[row as usize]).collect();
                    majority(&codes, &gather(values), classes)
                }
                None => evidence.clone(),
            };
            let values = &mut judgement.decisions[set * width..(set + 1) * width];
            match classes {
                2 => values[0] = totals[1] - totals[0],
                _ => values.copy_from_slice(&totals),
            }
            if probabilities {
                let mut row = softmax(&evidence);
                consistent(&mut row, self.code(values) as usize);
                judgement.probabilities[set * classes..(set + 1) * classes].copy_from_slice(&row);
            }
        }
        Ok(())
    }

    /// What each sample adds to its set's decision values, in the order of the sets' members: one column per decision value.
    ///
    /// Consensus: the sample's log ratio without the training shares' own; the contributions of a set add up to its decision minus the
    /// priors' log ratio. Votes: the sample's share of the votes. Direct: the decision minus its mean over replacing the sample by another member of
    /// the set, that is by how much this sample pulls harder than its neighbors (single samples: the decision itself).
    pub fn contributions(&self, x: &Matrix<'_>, sets: &Sets, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        sets.check(x.rows())?;
        let (classes, width) = (self.classes.len(), self.width());
        let scores = self.scores(x, context)?;
        let singles = self.single.decision_values_in(x, context)?;
        let codes = self.single.codes(&singles);
        let mut result = Vec::new();
        for set in 0..sets.len() {
            let (rows, k) = (sets.rows(set), sets.size(set));
            if self.method() == Method::Direct && self.machine(k).is_some() {
                result.extend(self.pulls(x, rows, context)?);
                continue;
            }
            for &row in rows {
                let each: Vec<f64> = match self.method() {
                    Method::Vote => (0..classes).map(|class| f64::from(u8::from(codes[row as usize] as usize == class))).collect(),
                    _ => {
                        let of_row = &scores[row as usize * classes..(row as usize + 1) * classes];
                        of_row.iter().zip(&self.rates).map(|(score, rate)| score - rate.ln()).collect()
                    }
                };
                match width {
                    1 => result.push(each[1] - each[0]),
                    _ => result.extend(each),
                }
            }
        }
        Ok(result)
    }

    /// Decisions of one set with each member replaced by each other one.
    fn pulls(&self, x: &Matrix<'_>, rows: &[u32], context: &Context<'_>) -> Result<Vec<f64>> {
        let (k, width) = (rows.len(), self.width());
        let mut variants: Vec<Vec<usize>> = vec![rows.iter().map(|&row| row as usize).collect()];
        for place in 0..k {
            for other in (0..k).filter(|&other| other != place) {
                let mut variant = variants[0].clone();
                variant[place] = variant[other];
                variants.push(variant);
            }
        }
        let values = self.set_decisions(x, &Sets::new(&variants)?, context)?;
        let (whole, rest) = values.split_at(width);
        if k == 1 {
            return Ok(whole.to_vec());
        }
        let of_member = |place: usize, column: usize| {
            let mean = (0..k - 1).map(|other| rest[(place * (k - 1) + other) * width + column]).sum::<f64>() / (k - 1) as f64;
            whole[column] - mean
        };
        Ok((0..k).flat_map(|place| (0..width).map(move |column| of_member(place, column))).collect())
    }

    /// How posteriors of single samples are added up.
    pub fn consensus(&self) -> Result<Consensus> {
        Consensus::with_rates(&self.priors, &self.rates)
    }

    /// A decision to be made sample by sample; feed it rows of [`MultiSampleModel::scores`].
    pub fn sequential(&self, confidence: f64) -> Result<Sequential> {
        Sequential::new(&self.consensus()?, confidence)
    }

    /// Expected number of samples until a set of each class is recognized with this confidence.
    pub fn expected_samples(&self, confidence: f64) -> Result<Vec<f64>> {
        let consensus = self.consensus()?;
        // The same complaint about the confidence.
        self.sequential(confidence)?;
        Ok(expected_samples(&self.separation, consensus.log_priors(), confidence))
    }
}

impl Model for MultiSampleModel {
    type Prediction = Categories;

    kept_facts!();

    fn features(&self) -> usize {
        self.single.machine.features
    }

    fn answers(&self) -> Answers<'_> {
        Answers::Classes(&self.classes)
    }

    /// One decision per set; without sets every row is one of its own.
    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        let singles = if rows.sets.is_none() { Some(Sets::singles(rows.x.rows())) } else { None };
        let sets = rows.sets.or(singles.as_ref()).expect("one of both");
        // Evidence is not in the decision values of votes: probabilities are made on the way, where every machine has them.
        let calibrated = (0..sets.len()).all(|set| self.uncalibrated(sets.size(set)).is_none());
        let judgement = self.judge(rows.x, sets, calibrated, context)?;
        Ok(Decisions { values: judgement.decisions, columns: self.width(), behind: calibrated.then_some(judgement.probabilities) })
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Categories> {
        Categories::new(self.codes_from_decisions(&decisions.values), self.classes.clone())
    }

    fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        match (&decisions.behind, self.machines.iter().find(|machine| machine.calibration.is_none())) {
            (Some(probabilities), _) => Ok(Some(probabilities.clone())),
            (None, Some(machine)) => Err(machine.no_probabilities()),
            (None, None) => Ok(None),
        }
    }

    /// Sets that are not judged directly always have probabilities: consensus needs them.
    fn has_probabilities(&self) -> bool {
        self.machines.iter().all(|machine| machine.calibration.is_some())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::facts(self)
    }

    fn pictures(&self, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
        pictures::pictures(self, data, context)
    }

    fn details(&self) -> Map<String, Value> {
        details([
            ("kernel", json!(self.single.machine.kernel)),
            ("classes", json!(self.classes)),
            ("decides_by", json!(self.method())),
            ("chosen", json!(self.chosen)),
        ])
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        vec![&self.single.machine]
    }

    /// Support sets of all direct machines, or support vectors of the machine of single samples if that has more.
    fn support_vectors(&self) -> usize {
        self.machines.iter().map(SetMachine::len).sum::<usize>().max(self.single.machine.len())
    }

    fn judged_sets(&self, data: &Dataset<'_>) -> Result<Option<Sets>> {
        Sets::for_judging(data, self.parameters.n_samples_per_decision, self.parameters.seed).map(Some)
    }

    fn decides_sets(&self) -> bool {
        true
    }
}
