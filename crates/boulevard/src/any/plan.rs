//! What to do with a table: scale its columns, learn. The scaler learns from the same rows as the learner, so that a plan can be
//! cross-validated.

use super::AnyLearner;
use crate::data::split::Split;
use crate::data::{Categories, Dataset, Scaler, Scaling, Target};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::methods::multi_sample::{MultiSampleModel, Sets};
use crate::methods::multitask_selection::Outputs;
use crate::observe::Context;
use crate::persist::{AnyModel, ScaledModel};
use crate::random::Random;
use crate::svm::Model;
use crate::validation::{Answer, Candidate};

/// A learner of any kind and what happens to the columns first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How columns are scaled, if they are.
    pub scaling: Option<Scaling>,
    /// The learner.
    pub learner: AnyLearner,
}

impl<L: Into<AnyLearner>> From<L> for Plan {
    fn from(learner: L) -> Self {
        Self { scaling: None, learner: learner.into() }
    }
}

impl Plan {
    /// Learns from `data`; with scaling the model is an [`AnyModel::Scaled`].
    pub fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<AnyModel> {
        let Some(scaling) = self.scaling else { return self.learner.fit_in(data, context) };
        if self.learner.is_precomputed() {
            return Err(Error::data("a precomputed kernel has no columns to scale"));
        }
        data.validate()?;
        let scaler = Scaler::fit(&data.x, data.weights.as_deref(), scaling)?;
        let scaled = Dataset { x: scaler.apply_to(&data.x)?, ..data.clone() };
        Ok(AnyModel::Scaled(ScaledModel::new(scaler, self.learner.fit_in(&scaled, context)?)?))
    }

    /// The same without probabilities.
    pub fn without_calibration(&self) -> Self {
        Self { learner: self.learner.clone().without_calibration(), ..*self }
    }
}

impl Candidate for Plan {
    fn check(&self) -> Result<()> {
        self.learner.validate()
    }

    fn answer(&self, data: &Dataset<'_>, split: &Split, context: &Context<'_>) -> Result<Answer> {
        let kernel = self.learner.kernel().unwrap_or(&Kernel::Linear);
        let model = self.fit_in(&kernel.part_of(data, &split.train), context)?;
        let report = *model.report();
        if report.stop.is_cut_short() {
            return Ok(Answer { predictions: Target::None, probabilities: None, set_error: None, report });
        }
        let test = Dataset { x: kernel.new_rows_of(&data.x, &split.train, &split.test), feature_names: None, ..data.select(&split.test) };
        let (predictions, set_error) = predictions(&model, &test, context)?;
        Ok(Answer { predictions, probabilities: None, set_error, report })
    }
}

/// What a model says about labelled rows; classifiers of sets are asked about sets, and their error is that of sets.
fn predictions(model: &AnyModel, test: &Dataset<'_>, context: &Context<'_>) -> Result<(Target, Option<f64>)> {
    let said = match model {
        AnyModel::Scaled(scaled) => {
            return predictions(&scaled.model, &Dataset { x: scaled.scaler.apply_to(&test.x)?, ..test.clone() }, context);
        }
        AnyModel::MultiSample(model) => return by_sets(model, test, context),
        AnyModel::Svc(model) => model.predict_in(&test.x, context)?.into(),
        AnyModel::Svr(model) => model.predict_in(&test.x, context)?.into(),
        AnyModel::OneClass(model) => model.predict_in(&test.x, context)?.into(),
        AnyModel::LinearSvc(model) => model.predict_in(&test.x, context)?.into(),
        AnyModel::LinearSvr(model) => model.predict_in(&test.x, context)?.into(),
        AnyModel::FeatureInduction(model) => model.predict_in(&test.x, context)?.into(),
        AnyModel::MultiTaskSelection(model) => match (&model.outputs, &test.tasks) {
            (Outputs::Tasks { names, .. }, Some(tasks)) if names.len() > 1 => {
                let place = |name: &String| {
                    names.iter().position(|known| known == name).ok_or_else(|| Error::data(format!("task `{name}` is unknown")))
                };
                let codes = tasks.codes().iter().map(|&code| place(&tasks.names()[code as usize]));
                model.predict_tasks(&test.x, &codes.collect::<Result<Vec<_>>>()?, context)?
            }
            _ => model.predict_in(&test.x, context)?,
        },
        AnyModel::Boosted(model) => model.predict_in(&test.x, context)?,
        AnyModel::Pareto(model) => model.predict_in(&test.x, context)?.into(),
    };
    Ok((said, None))
}

/// A classifier of sets is judged by sets; every row then has the label of its set.
fn by_sets(model: &MultiSampleModel, test: &Dataset<'_>, context: &Context<'_>) -> Result<(Target, Option<f64>)> {
    let classes = test.expect_classes()?;
    let sets = judged_sets(test, model.parameters.n_samples_per_decision, model.parameters.seed)?;
    let truth = sets.shared_classes(classes)?;
    let said = model.predict_sets(&test.x, &sets, context)?;
    // Codes of the file and of the model may differ: a fold may lack a class.
    let wrong = |set: usize| said.names()[said.codes()[set] as usize] != classes.names()[truth[set] as usize];
    let error = (0..sets.len()).filter(|&set| wrong(set)).count() as f64 / sets.len().max(1) as f64;
    let mut codes = vec![0; test.len()];
    for set in 0..sets.len() {
        sets.rows(set).iter().for_each(|&row| codes[row as usize] = said.codes()[set]);
    }
    Ok((Target::Classes(Categories::new(codes, said.names().to_vec())?), Some(error)))
}

/// The sets of labelled rows: groups where there are groups, else rows of a class drawn together, `k` at a time.
pub fn judged_sets(data: &Dataset<'_>, k: usize, seed: u64) -> Result<Sets> {
    /// Stream of the order of rows: files may be sorted.
    const ORDER: u64 = 78;
    if let Some(groups) = &data.groups {
        return Ok(Sets::of_groups(groups).0);
    }
    let classes = data.expect_classes()?;
    let order = Random::new(seed, ORDER).permutation(data.len());
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for class in 0..classes.names().len() {
        let rows: Vec<usize> = order.iter().copied().filter(|&row| classes.codes()[row] as usize == class).collect();
        // What is left over makes a smaller set, so that every row is judged.
        sets.extend(rows.chunks(k.max(1)).map(<[usize]>::to_vec));
    }
    Sets::new(&sets)
}
