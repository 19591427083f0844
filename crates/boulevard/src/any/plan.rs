//! What to do with a table: scale its columns, learn. The scaler learns from the same rows as the learner, so that a plan can be
//! cross-validated.

use super::{AnyLearner, AnyModel, ScaledModel};
use crate::data::split::Split;
use crate::data::{Categories, Dataset, Scaler, Scaling, Sets, Target};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::{Model, Rows};
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
        Ok(ScaledModel::new(scaler, self.learner.fit_in(&scaled, context)?)?.into())
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
        let Some(sets) = model.judged_sets(&test)? else {
            let decisions = model.decide(&Rows { x: &test.x, sets: None, tasks: test.tasks.as_ref() }, context)?;
            return Ok(Answer { predictions: model.predictions_from(&decisions)?, probabilities: None, set_error: None, report });
        };
        let (predictions, error) = by_sets(&model, &test, &sets, context)?;
        Ok(Answer { predictions, probabilities: None, set_error: Some(error), report })
    }
}

/// A classifier of sets is judged by sets; every row then has the label of its set.
fn by_sets(model: &AnyModel, test: &Dataset<'_>, sets: &Sets, context: &Context<'_>) -> Result<(Target, f64)> {
    let classes = test.expect_classes()?;
    let truth = sets.shared_classes(classes)?;
    let decisions = model.decide(&Rows { x: &test.x, sets: Some(sets), tasks: None }, context)?;
    let Target::Classes(said) = model.predictions_from(&decisions)? else { return Err(Error::data("sets are told apart by classes")) };
    // Codes of the file and of the model may differ: a fold may lack a class.
    let wrong = |set: usize| said.names()[said.codes()[set] as usize] != classes.names()[truth[set] as usize];
    let error = (0..sets.len()).filter(|&set| wrong(set)).count() as f64 / sets.len().max(1) as f64;
    let mut codes = vec![0; test.len()];
    for set in 0..sets.len() {
        sets.rows(set).iter().for_each(|&row| codes[row as usize] = said.codes()[set]);
    }
    Ok((Categories::new(codes, said.names().to_vec())?.into(), error))
}
