//! What can be cross-validated: every learner, and plans whose learner is known only at run time.

use crate::data::split::Split;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::observe::Context;
use crate::svm::{Answers, FitReport, Learner, Model};

/// Something that learns from some rows and answers for others.
pub trait Candidate: Sync {
    /// Fails if it cannot be fitted at all.
    fn check(&self) -> Result<()>;

    /// Learns from the training rows of `split` and answers for its test rows.
    fn answer(&self, data: &Dataset<'_>, split: &Split, context: &Context<'_>) -> Result<Answer>;
}

/// What a model said about rows that it had not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Predictions, one per row. None if the fit was cut short.
    pub predictions: Target,
    /// Class probabilities, row-major, where the model has them.
    pub probabilities: Option<Vec<f64>>,
    /// Share of wrong decisions, for models that decide about sets of rows; every row then has the prediction of its set.
    pub set_error: Option<f64>,
    /// How the fit went.
    pub report: FitReport,
}

impl<L> Candidate for L
where
    L: Learner + Sync,
{
    fn check(&self) -> Result<()> {
        self.validate()
    }

    fn answer(&self, data: &Dataset<'_>, split: &Split, context: &Context<'_>) -> Result<Answer> {
        let model = self.fit_in(&self.training_part(data, &split.train), context)?;
        let report = *model.report();
        if report.stop.is_cut_short() {
            return Ok(Answer { predictions: Target::None, probabilities: None, set_error: None, report });
        }
        let x = self.test_part(data, &split.train, &split.test);
        let decisions = model.decide(&(&x).into(), context)?;
        let predictions = model.predictions_from(&decisions)?.into();
        let has_classes = matches!(model.answers(), Answers::Classes(_)) && model.has_probabilities();
        let probabilities = if has_classes { model.probabilities_from(&decisions)? } else { None };
        Ok(Answer { predictions, probabilities, set_error: None, report })
    }
}
