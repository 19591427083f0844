//! One number for how wrong predictions are: what cross-validation, tuning and the program report as "the error".

use crate::data::Target;
use crate::error::{Error, Result};
use crate::metrics::classification::Confusion;
use crate::metrics::multilabel::LabelConfusion;
use crate::metrics::regression;

/// The error of predictions: share of wrong classes, mean squared error, Hamming loss, or the share of rows outside where there is no
/// truth.
pub fn loss(truth: &Target, predicted: &Target, weights: Option<&[f64]>) -> Result<f64> {
    Ok(match (truth, predicted) {
        (Target::Classes(truth), Target::Classes(predicted)) => 1.0 - Confusion::from_categories(truth, predicted, weights)?.accuracy(),
        (Target::Real(truth), Target::Real(predicted)) => regression::mean_squared_error(truth, predicted, weights)?,
        (Target::Labels(truth), Target::Labels(predicted)) => LabelConfusion::new(truth, predicted, weights)?.hamming_loss(),
        (Target::None, Target::Classes(inside)) => {
            inside.codes().iter().filter(|&&code| code == 0).count() as f64 / inside.len().max(1) as f64
        }
        (truth, predicted) => return Err(Error::data(format!("predictions are {} but the file has {}", predicted.kind(), truth.kind()))),
    })
}

/// What [`loss`] is called.
pub fn loss_name(target: &Target) -> &'static str {
    match target {
        Target::Real(_) => "mean squared error",
        Target::None => "share outside",
        Target::Labels(_) => "Hamming loss",
        Target::Classes(_) => "error",
    }
}
