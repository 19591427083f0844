//! Classes from the outputs of machines: decisions, votes, codes, probabilities and their calibration, once for all classifiers.
//!
//! A decision value of two classes is positive for the second, everywhere. Machines of pairs store their outputs as LIBSVM and its files
//! do, positive for the first of a pair, and Platt's sigmoids speak of the first as well: [`Outputs`] is the one place that turns signs.

use super::calibration::{Calibration, calibrate, consistent};
use super::learner::Learner;
use super::model::{Decisions, Model};
use super::multiclass::{argmax, votes};
use super::sharpening::CalibrationMethod;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::observe::Context;

/// What a machine's outputs stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// A pair of classes each, positive for the first.
    Pairs,
    /// The second of two classes.
    Second,
    /// A class each, against all others.
    Classes,
}

impl Outputs {
    /// One machine against the rest per class, or one in all for two classes.
    pub fn against_rest(classes: usize) -> Self {
        if classes == 2 { Self::Second } else { Self::Classes }
    }

    /// Their number for so many classes.
    pub fn count(self, classes: usize) -> usize {
        match self {
            Self::Pairs => classes * (classes - 1) / 2,
            Self::Second => 1,
            Self::Classes => classes,
        }
    }

    /// Decision values per row.
    pub fn columns(self, classes: usize) -> usize {
        if self != Self::Classes && classes == 2 { 1 } else { classes }
    }

    /// Decision values from outputs: for two classes one, positive for the second; for more one per class, the largest of which is the
    /// prediction (for pairs: votes plus a confidence that breaks ties).
    pub fn decisions(self, outputs: Vec<f64>, classes: usize) -> Decisions {
        match self {
            Self::Second | Self::Classes => Decisions::plain(outputs, self.columns(classes)),
            Self::Pairs if classes == 2 => {
                Decisions { values: outputs.iter().map(|value| -value).collect(), columns: 1, behind: Some(outputs) }
            }
            Self::Pairs => {
                let count = self.count(classes);
                let mut values = vec![0.0; outputs.len() / count * classes];
                for (outputs, values) in outputs.chunks_exact(count).zip(values.chunks_exact_mut(classes)) {
                    votes(outputs, classes, values);
                }
                Decisions { values, columns: classes, behind: Some(outputs) }
            }
        }
    }

    /// Class probabilities of one row from its outputs; their largest is that of class `predicted`.
    pub(crate) fn probabilities(self, calibration: &Calibration, outputs: &[f64], classes: usize, predicted: usize) -> Vec<f64> {
        let mut row = match self {
            Self::Second => calibration.probabilities(&[-outputs[0]], classes, true),
            Self::Pairs => calibration.probabilities(outputs, classes, true),
            Self::Classes => calibration.probabilities(outputs, classes, false),
        };
        consistent(&mut row, predicted);
        row
    }
}

/// Class codes from so many decision values per row: the sign of one, the place of the largest of more.
pub fn codes(decisions: &[f64], columns: usize) -> Vec<u32> {
    match columns {
        1 => decisions.iter().map(|&value| u32::from(value > 0.0)).collect(),
        _ => decisions.chunks_exact(columns).map(|values| argmax(values) as u32).collect(),
    }
}

/// A model that gives every row one class.
pub trait Classifier: Model<Prediction = Categories> {
    /// Class names; codes in predictions are places in this list.
    fn classes(&self) -> &[String];

    /// What the machine's outputs stand for.
    fn outputs(&self) -> Outputs;

    /// Sigmoids of the outputs, where they were fitted.
    fn calibration(&self) -> Option<&Calibration>;

    /// The machine's outputs for every row, row-major.
    fn outputs_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>>;

    /// Decisions about rows.
    fn class_decisions(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Decisions> {
        Ok(self.outputs().decisions(self.outputs_in(x, context)?, self.classes().len()))
    }

    /// Class codes from decision values.
    fn codes(&self, decisions: &[f64]) -> Vec<u32> {
        codes(decisions, self.outputs().columns(self.classes().len()))
    }

    /// The classes that decisions stand for.
    fn categories(&self, decisions: &Decisions) -> Result<Categories> {
        Categories::new(self.codes(&decisions.values), self.classes().to_vec())
    }

    /// Class probabilities from decisions.
    fn class_probabilities(&self, decisions: &Decisions) -> Option<Vec<f64>> {
        let (calibration, outputs, classes) = (self.calibration()?, self.outputs(), self.classes().len());
        let rows = decisions.outputs().chunks_exact(outputs.count(classes)).zip(self.codes(&decisions.values));
        Some(rows.flat_map(|(row, code)| outputs.probabilities(calibration, row, classes, code as usize)).collect())
    }

    /// Sigmoids for this model from `learner`, which must not calibrate itself, on the table the model learnt from.
    fn fit_calibration<L>(
        &self,
        learner: &L,
        data: &Dataset<'_>,
        seed: u64,
        method: CalibrationMethod,
        context: &Context<'_>,
    ) -> Result<Calibration>
    where
        Self: Sized,
        L: Learner<Model: Classifier>,
    {
        data.validate()?;
        self.check_input(&data.x)?;
        if data.expect_classes()?.names() != self.classes() {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: the classes differ"));
        }
        // The model waits in memory with the rows it keeps.
        let kept = self.kernel_machines().iter().map(|machine| machine.vectors.bytes()).sum();
        context.beside(kept, "the model whose probabilities are fitted", |context| {
            calibrate(learner, data, seed, self.outputs(), method, |model: &L::Model, x| model.outputs_in(x, context), context)
        })
    }
}
