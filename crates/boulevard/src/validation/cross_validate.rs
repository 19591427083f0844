//! Cross-validation of any learner.

use super::loss::loss;
use super::score::Score;
use super::share::{Counter, share};
use crate::data::split::Split;
use crate::data::{Categories, Dataset, Sets, Target};
use crate::error::{Error, Result};
use crate::metrics::comparison;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::solver::CardLanes;
use crate::svm::{Answers, FitReport, Learner, Model, Rows};

/// One fold: what a model that did not see the test rows said about them.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldResult {
    /// The place of the fold's split in the list that was given.
    pub split: usize,
    /// The rows that were tested, rising.
    pub test: Vec<usize>,
    /// The predictions for them.
    pub predictions: Target,
    /// Their class probabilities, row-major, where the model has them.
    pub probabilities: Option<Vec<f64>>,
    /// Their decision values, row-major, where rows are decided about one by one; columns as the model has them.
    pub decisions: Option<Vec<f64>>,
    /// Share of wrong decisions, for models that decide about sets of rows; every row then has the prediction of its set.
    pub set_error: Option<f64>,
    /// What was said about every set, for the same models.
    pub sets: Option<SetAnswers>,
    /// How the fit went.
    pub report: FitReport,
}

/// What a model said about sets of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SetAnswers {
    /// The class of each set, by its place in the table's list.
    pub truth: Vec<u32>,
    /// What was said, likewise.
    pub said: Vec<u32>,
    /// Decision values, row-major; columns as the model has them.
    pub decisions: Vec<f64>,
}

/// What [`cross_validate`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidation {
    /// The folds that were finished, in the order of the splits.
    pub folds: Vec<FoldResult>,
    /// The worst reason of any fold; [`StopReason::TimeLimit`] and [`StopReason::Interrupted`] mean that folds are missing.
    pub stop: StopReason,
}

/// Fits `learner` on the training part of every split and predicts the test part. Folds of small tables run side by side.
///
/// A time limit or an interruption ends the work early with the folds that are finished.
pub fn cross_validate<L>(learner: &L, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<CrossValidation>
where
    L: Learner + Sync,
{
    learner.validate()?;
    if learner.fills_missing() {
        data.validate_with_holes()?
    } else {
        data.validate()?
    }
    check_splits(splits, data.len())?;
    let counter = Counter::new(context, "cross-validate", splits.len());
    // The kernel matrix of all classes is stored on a card.
    let beside = if matches!(&data.target, Target::Classes(of) if of.names().len() > 2) { 4 * data.len().pow(2) } else { 0 };
    let fewest = splits.iter().map(|split| split.train.len()).min().unwrap_or(0);
    let lanes = CardLanes::choose(None, fewest, data.x.columns(), beside, splits.len(), context);
    let (at_once, inner) = share(context, data.len(), splits.len(), lanes.as_ref());
    let results = parallel::map(at_once, splits.len(), |k| -> Result<Option<FoldResult>> {
        let _lane = lanes.as_ref().map(CardLanes::enter).transpose()?;
        if !counter.go_on() {
            return Ok(None);
        }
        let split = &splits[k];
        let model = learner.fit_in(&learner.training_part(data, &split.train, &inner)?, &inner)?;
        if !counter.finish(model.report().stop) {
            return Ok(None);
        }
        let test = Dataset { x: learner.test_part(data, &split.train, &split.test), ..data.select(&split.test) };
        judge(&model, k, split.test.clone(), &test, &inner).map(Some)
    });
    let mut folds = Vec::with_capacity(splits.len());
    for result in results {
        folds.extend(result?);
    }
    let stop = folds.iter().fold(counter.reason(), |worst, fold| worst.worst(fold.report.stop));
    Ok(CrossValidation { folds, stop })
}

/// What a model says about the rows `test` of a fold.
fn judge<M: Model>(model: &M, split: usize, rows: Vec<usize>, test: &Dataset<'_>, context: &Context<'_>) -> Result<FoldResult> {
    let sets = model.judged_sets(test)?;
    let decisions = model.decide(&Rows { x: &test.x, sets: sets.as_ref(), tasks: test.tasks.as_ref() }, context)?;
    let said: Target = model.predictions_from(&decisions)?.into();
    let (predictions, set_error, sets) = match sets {
        Some(sets) => by_sets(&said, &sets, test, &decisions.values)?,
        None => (said, None, None),
    };
    let has_classes = set_error.is_none() && matches!(model.answers(), Answers::Classes(_)) && model.has_probabilities();
    let probabilities = if has_classes { model.probabilities_from(&decisions)? } else { None };
    let decisions = if set_error.is_none() { Some(decisions.values) } else { None };
    Ok(FoldResult { split, test: rows, predictions, probabilities, decisions, set_error, sets, report: *model.report() })
}

/// Predictions of sets as predictions of their rows, the share of sets that are wrong, and the answers themselves.
fn by_sets(said: &Target, sets: &Sets, test: &Dataset<'_>, decisions: &[f64]) -> Result<(Target, Option<f64>, Option<SetAnswers>)> {
    let classes = test.expect_classes()?;
    let truth = sets.shared_classes(classes)?;
    let Target::Classes(said) = said else { return Err(Error::data("sets are decided about by classes")) };
    // Codes of the table and of the model may differ: a fold may lack a class.
    let own = |name: &String| classes.names().iter().position(|other| other == name).unwrap_or(0) as u32;
    let own: Vec<u32> = said.names().iter().map(own).collect();
    let answers: Vec<u32> = said.codes().iter().map(|&code| own[code as usize]).collect();
    let error = (0..sets.len()).filter(|&set| answers[set] != truth[set]).count() as f64 / sets.len().max(1) as f64;
    let mut codes = vec![0; test.len()];
    for set in 0..sets.len() {
        sets.rows(set).iter().for_each(|&row| codes[row as usize] = said.codes()[set]);
    }
    let answers = SetAnswers { truth, said: answers, decisions: decisions.to_vec() };
    Ok((Target::Classes(Categories::new(codes, said.names().to_vec())?), Some(error), Some(answers)))
}

/// Fails unless every split has rows on both sides, all of them exist, and none is on both sides.
pub(super) fn check_splits(splits: &[Split], rows: usize) -> Result<()> {
    if splits.is_empty() {
        return Err(Error::data("there are no splits to validate on"));
    }
    for (k, split) in splits.iter().enumerate() {
        let mut seen = vec![false; rows];
        for (what, part) in [("training", &split.train), ("test", &split.test)] {
            if part.is_empty() {
                return Err(Error::data(format!("split {k} has no {what} rows")));
            }
            for &row in part {
                match seen.get_mut(row) {
                    None => return Err(Error::data(format!("split {k} names {what} row {row}, but there are {rows} rows"))),
                    Some(true) => return Err(Error::data(format!("split {k} names row {row} twice"))),
                    Some(seen) => *seen = true,
                }
            }
        }
    }
    Ok(())
}

impl FoldResult {
    /// The error of the fold: see [`loss`]; by sets for models that decide about sets. `data` must be what was validated on.
    pub fn loss(&self, data: &Dataset<'_>) -> Result<f64> {
        match self.set_error {
            Some(error) => Ok(error),
            None => loss(&data.target.select(&self.test), &self.predictions, self.weights(data).as_deref()),
        }
    }

    fn weights(&self, data: &Dataset<'_>) -> Option<Vec<f64>> {
        data.weights.as_ref().map(|all| self.test.iter().map(|&row| all[row]).collect())
    }
}

impl CrossValidation {
    /// The error of every finished fold: see [`FoldResult::loss`].
    pub fn losses(&self, data: &Dataset<'_>) -> Result<Vec<f64>> {
        self.folds.iter().map(|fold| fold.loss(data)).collect()
    }

    /// The score of every finished fold. `data` must be what was validated on.
    pub fn scores(&self, data: &Dataset<'_>, score: Score) -> Result<Vec<f64>> {
        let score_of = |fold: &FoldResult| {
            let truth = data.target.select(&fold.test);
            score.evaluate(&truth, &fold.predictions, fold.probabilities.as_deref(), fold.weights(data).as_deref())
        };
        self.folds.iter().map(score_of).collect()
    }

    /// The mean of [`CrossValidation::scores`]; NaN if no fold is finished.
    pub fn mean(&self, data: &Dataset<'_>, score: Score) -> Result<f64> {
        Ok(comparison::mean(&self.scores(data, score)?))
    }

    /// The standard deviation of [`CrossValidation::scores`] (divisor n - 1).
    pub fn standard_deviation(&self, data: &Dataset<'_>, score: Score) -> Result<f64> {
        Ok(comparison::standard_deviation(&self.scores(data, score)?))
    }

    /// One prediction per row of `rows` rows, each from the model that did not see it; `None` unless every row was tested exactly once.
    pub fn out_of_fold(&self, rows: usize) -> Option<Target> {
        let places: Vec<usize> = self.folds.iter().flat_map(|fold| fold.test.iter().copied()).collect();
        let mut seen = vec![false; rows];
        let each_once = places.len() == rows && places.iter().all(|&row| row < rows && !std::mem::replace(&mut seen[row], true));
        if !each_once {
            return None;
        }
        Target::gather(&self.folds.iter().map(|fold| &fold.predictions).collect::<Vec<_>>(), &places)
    }
}
