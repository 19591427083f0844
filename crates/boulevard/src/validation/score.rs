//! Numbers that say how good predictions are, and which way is better.

use serde::{Deserialize, Serialize};

use crate::data::Target;
use crate::error::{Error, Result};
use crate::metrics::classification::{Average, Confusion, log_loss};
use crate::metrics::multilabel::LabelConfusion;
use crate::metrics::regression;

/// A measure of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// Share of rows with the right class (for label matrices: with all labels right).
    Accuracy,
    /// Mean recall of the classes.
    BalancedAccuracy,
    /// Mean F1 of the classes (for label matrices: of the labels).
    F1Macro,
    /// Matthews' correlation.
    Matthews,
    /// Mean negative logarithm of the probability given to the true class; needs a calibrated model.
    LogLoss,
    /// Root of the mean squared error.
    Rmse,
    /// Mean absolute error.
    Mae,
    /// Share of the variance that is explained.
    R2,
    /// Share of label entries that are wrong, for label matrices.
    HammingLoss,
}

impl Score {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Accuracy,
        Self::BalancedAccuracy,
        Self::F1Macro,
        Self::Matthews,
        Self::LogLoss,
        Self::Rmse,
        Self::Mae,
        Self::R2,
        Self::HammingLoss,
    ];

    /// Its name, as in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::F1Macro => "f1_macro",
            Self::Matthews => "matthews",
            Self::LogLoss => "log_loss",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::R2 => "r2",
            Self::HammingLoss => "hamming_loss",
        }
    }

    /// Whether a larger value is a better one.
    pub fn larger_is_better(self) -> bool {
        !matches!(self, Self::LogLoss | Self::Rmse | Self::Mae | Self::HammingLoss)
    }

    /// Whether `a` is better than `b`; any number is better than NaN.
    pub fn is_better(self, a: f64, b: f64) -> bool {
        if b.is_nan() {
            return !a.is_nan();
        }
        if self.larger_is_better() { a > b } else { a < b }
    }

    /// The usual measure for a target: accuracy, root mean squared error, or mean F1 of labels.
    pub fn usual(target: &Target) -> Self {
        match target {
            Target::Real(_) => Self::Rmse,
            Target::Labels(_) => Self::F1Macro,
            Target::Classes(_) | Target::None => Self::Accuracy,
        }
    }

    /// Scores predictions against the truth. `probabilities` (row-major, a column per class of the truth) are for [`Score::LogLoss`].
    pub fn evaluate(self, truth: &Target, predicted: &Target, probabilities: Option<&[f64]>, weights: Option<&[f64]>) -> Result<f64> {
        match (truth, predicted) {
            (Target::Classes(truth), Target::Classes(predicted)) => {
                let confusion = || Confusion::from_categories(truth, predicted, weights);
                match self {
                    Self::Accuracy => Ok(confusion()?.accuracy()),
                    Self::BalancedAccuracy => Ok(confusion()?.balanced_accuracy()),
                    Self::F1Macro => Ok(confusion()?.average(Average::Macro).f1),
                    Self::Matthews => Ok(confusion()?.matthews()),
                    Self::LogLoss => match probabilities {
                        Some(p) if truth.names() == predicted.names() => log_loss(truth.codes(), p, truth.names().len(), weights),
                        Some(_) => Err(Error::data("log_loss needs a model that knows the classes of the truth, in the same order")),
                        None => Err(Error::data("log_loss needs probabilities: fit with `calibrate`")),
                    },
                    _ => Err(self.mismatch("classes")),
                }
            }
            (Target::Real(truth), Target::Real(predicted)) => match self {
                Self::Rmse => regression::root_mean_squared_error(truth, predicted, weights),
                Self::Mae => regression::mean_absolute_error(truth, predicted, weights),
                Self::R2 => regression::r2(truth, predicted, weights),
                _ => Err(self.mismatch("real numbers")),
            },
            (Target::Labels(truth), Target::Labels(predicted)) => {
                let confusion = LabelConfusion::new(truth, predicted, weights)?;
                match self {
                    Self::F1Macro => Ok(confusion.macro_average().f1),
                    Self::HammingLoss => Ok(confusion.hamming_loss()),
                    Self::Accuracy => Ok(confusion.subset_accuracy()),
                    _ => Err(self.mismatch("a label matrix")),
                }
            }
            (truth, predicted) => {
                Err(Error::data(format!("predictions of {} cannot be scored against {}", predicted.kind(), truth.kind())))
            }
        }
    }

    fn mismatch(self, target: &str) -> Error {
        Error::data(format!("{} does not apply to predictions of {target}", self.name()))
    }
}
