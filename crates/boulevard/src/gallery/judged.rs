//! Rows with the class they have, the class that was said, and how strongly.

use crate::data::{Categories, Dataset, Target};
use crate::error::Result;
use crate::metrics::classification::Confusion;
use crate::observe::Context;
use crate::svm::{Answers, Model, Rows, Sigmoid};
use crate::validation::FoldResult;

/// Classified rows and what was said about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Class names.
    pub classes: Vec<String>,
    /// Places of the rows in their table.
    pub rows: Vec<usize>,
    /// Their classes.
    pub truth: Vec<u32>,
    /// What was said.
    pub said: Vec<u32>,
    /// A score per class, row-major: the larger, the more it is that class.
    pub scores: Vec<f64>,
    /// Probabilities per class, row-major, where they are known.
    pub probabilities: Option<Vec<f64>>,
    /// Whether the rows were not learnt from.
    pub held_out: bool,
    /// Whether these are sets of rows: then `rows` counts sets.
    pub sets: bool,
}

/// Decision values as one score per class.
fn per_class(values: &[f64], columns: usize, classes: usize) -> Option<Vec<f64>> {
    match (columns, classes) {
        (1, 2) => Some(values.iter().flat_map(|&value| [-value, value]).collect()),
        (columns, classes) if columns == classes => Some(values.to_vec()),
        _ => None,
    }
}

impl Judged {
    /// What folds that did not see the rows say; `None` where there are no classes or no decision per row.
    pub fn from_folds(folds: &[FoldResult], data: &Dataset<'_>) -> Result<Option<Self>> {
        let Target::Classes(truth) = &data.target else { return Ok(None) };
        let classes = truth.names().len();
        let mut judged = Self {
            classes: truth.names().to_vec(),
            rows: Vec::new(),
            truth: Vec::new(),
            said: Vec::new(),
            scores: Vec::new(),
            probabilities: None,
            held_out: true,
            sets: false,
        };
        // Repetitions judge a row again: the first one counts.
        let mut seen = vec![false; data.len()];
        let (mut folds_of, mut given) = (Vec::new(), Some(Vec::new()));
        for fold in folds {
            let (Target::Classes(said), Some(decisions)) = (&fold.predictions, &fold.decisions) else { return Ok(None) };
            let columns = decisions.len() / fold.test.len().max(1);
            // A fold that lacks a class has other columns.
            let Some(scores) = per_class(decisions, columns, classes).filter(|_| said.names() == truth.names()) else { return Ok(None) };
            for (place, &row) in fold.test.iter().enumerate().filter(|(_, row)| !std::mem::replace(&mut seen[**row], true)) {
                judged.rows.push(row);
                judged.truth.push(truth.codes()[row]);
                judged.said.push(said.codes()[place]);
                judged.scores.extend_from_slice(&scores[place * classes..(place + 1) * classes]);
                folds_of.push(fold.split);
                match (&mut given, &fold.probabilities) {
                    (Some(all), Some(own)) => all.extend_from_slice(&own[place * classes..(place + 1) * classes]),
                    _ => given = None,
                }
            }
        }
        if judged.rows.is_empty() {
            return Ok(None);
        }
        judged.probabilities = given.or_else(|| judged.sigmoids(&folds_of));
        Ok(Some(judged))
    }

    /// What folds say about sets of rows that they did not see; `None` where rows are decided about one by one.
    pub fn of_sets(folds: &[FoldResult], data: &Dataset<'_>) -> Result<Option<Self>> {
        let Target::Classes(classes) = &data.target else { return Ok(None) };
        let names = classes.names();
        let (mut truth, mut said, mut scores, mut folds_of) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for fold in folds {
            let Some(sets) = &fold.sets else { return Ok(None) };
            let columns = sets.decisions.len() / sets.said.len().max(1);
            let Some(own) = per_class(&sets.decisions, columns, names.len()) else { return Ok(None) };
            truth.extend_from_slice(&sets.truth);
            said.extend_from_slice(&sets.said);
            scores.extend(own);
            folds_of.resize(truth.len(), fold.split);
        }
        if truth.is_empty() {
            return Ok(None);
        }
        let rows = (0..truth.len()).collect();
        let mut judged = Self { classes: names.to_vec(), rows, truth, said, scores, probabilities: None, held_out: true, sets: true };
        judged.probabilities = judged.sigmoids(&folds_of);
        Ok(Some(judged))
    }

    /// What a model says about labeled rows; `None` where it does not decide about rows by classes.
    pub fn from_model<M: Model>(model: &M, data: &Dataset<'_>, held_out: bool, context: &Context<'_>) -> Result<Option<Self>> {
        let (Target::Classes(truth), Answers::Classes(names)) = (&data.target, model.answers()) else { return Ok(None) };
        if model.decides_sets() || names != truth.names() {
            return Ok(None);
        }
        let classes = names.len();
        let decisions = model.decide(&Rows { x: &data.x, sets: None, tasks: data.tasks.as_ref() }, context)?;
        let Some(scores) = per_class(&decisions.values, decisions.columns, classes) else { return Ok(None) };
        let said: Target = model.predictions_from(&decisions)?.into();
        let Target::Classes(said) = said else { return Ok(None) };
        let probabilities = if model.has_probabilities() { model.probabilities_from(&decisions)? } else { None };
        Ok(Some(Self {
            classes: names.to_vec(),
            rows: (0..data.len()).collect(),
            truth: truth.codes().to_vec(),
            said: said.codes().to_vec(),
            scores,
            probabilities,
            held_out,
            sets: false,
        }))
    }

    /// Probabilities of every fold's rows by sigmoids that were fitted to the other folds' decisions.
    fn sigmoids(&self, folds_of: &[usize]) -> Option<Vec<f64>> {
        let classes = self.classes.len();
        let mut folds = folds_of.to_vec();
        folds.sort_unstable();
        folds.dedup();
        if folds.len() < 2 || self.scores.iter().any(|score| !score.is_finite()) {
            return None;
        }
        let mut probabilities = vec![0.0; self.scores.len()];
        for &fold in &folds {
            let others: Vec<usize> = (0..folds_of.len()).filter(|&i| folds_of[i] != fold).collect();
            for class in 0..classes {
                let values: Vec<f64> = others.iter().map(|&i| self.score(i, class)).collect();
                let own: Vec<bool> = others.iter().map(|&i| self.truth[i] as usize == class).collect();
                let sigmoid = Sigmoid::fit(&values, &own, None);
                for i in (0..folds_of.len()).filter(|&i| folds_of[i] == fold) {
                    probabilities[i * classes + class] = sigmoid.probability(self.score(i, class));
                }
            }
        }
        for row in probabilities.chunks_exact_mut(classes) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= sum.max(f64::MIN_POSITIVE));
        }
        Some(probabilities)
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The score of a class for the row at a place.
    pub fn score(&self, place: usize, class: usize) -> f64 {
        self.scores[place * self.classes.len() + class]
    }

    /// How far the row's own class is ahead of the best other one; negative where it is decided wrongly.
    pub fn margin(&self, place: usize) -> f64 {
        let own = self.truth[place] as usize;
        let others = (0..self.classes.len()).filter(|&class| class != own).map(|class| self.score(place, class));
        let margin = self.score(place, own) - others.fold(f64::NEG_INFINITY, f64::max);
        // Two classes share one value, which counts once.
        if self.classes.len() == 2 { 0.5 * margin } else { margin }
    }

    /// Share of wrong rows, and its standard error.
    pub fn error(&self) -> (f64, f64) {
        let wrong = self.truth.iter().zip(&self.said).filter(|(a, b)| a != b).count();
        let share = wrong as f64 / self.len().max(1) as f64;
        (share, (share * (1.0 - share) / self.len().max(1) as f64).sqrt())
    }

    /// Counts of truth against said.
    pub fn counts(&self) -> Result<Confusion> {
        let named = |codes: &[u32]| Categories::new(codes.to_vec(), self.classes.clone());
        Confusion::from_categories(&named(&self.truth)?, &named(&self.said)?, None)
    }

    /// Which rows these are, as it follows a statement.
    pub(super) fn which(&self) -> &'static str {
        match (self.sets, self.held_out) {
            (true, _) => "sets of rows that were not learnt from",
            (false, true) => "rows that were not learnt from",
            (false, false) => "the training rows",
        }
    }

    /// Which of them were said to be of a class.
    pub(super) fn taken_for(&self, class: usize) -> Vec<bool> {
        self.said.iter().map(|&code| code as usize == class).collect()
    }

    /// What one of them is called.
    pub(super) fn one(&self) -> &'static str {
        if self.sets { "set" } else { "row" }
    }

    /// The classes that get a curve of their own: the second of two, else the first few.
    pub(super) fn curves(&self) -> Vec<usize> {
        if self.classes.len() == 2 { vec![1] } else { (0..self.classes.len().min(8)).collect() }
    }
}
