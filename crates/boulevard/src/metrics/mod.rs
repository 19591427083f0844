//! Judging predictions: how often, how far and how surely they are wrong, and whether one method really beats another.
//!
//! Sample weights mean the same everywhere: 2 is the row twice, 0 is no row.

pub mod classification;
pub mod comparison;
mod hypervolume;
pub mod multilabel;
pub mod pareto;
pub mod regression;
pub(crate) mod special;

use std::borrow::Cow;

use crate::data::weights;
use crate::error::{Error, Result};

/// Checks that there is one prediction per true value, and at least one; gives the weights, or ones.
fn paired<'w>(rows: usize, predictions: usize, sample_weights: Option<&'w [f64]>) -> Result<Cow<'w, [f64]>> {
    if predictions != rows {
        return Err(Error::shape("predictions, one per true value", rows, predictions));
    }
    if rows == 0 {
        return Err(Error::data("there is nothing to judge: no predictions"));
    }
    weights::resolve(sample_weights, rows)
}

/// A share; 0/0 counts 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// Fails with the first NaN (or, if `finite`, infinity) of a column of predictions.
fn check_numbers(what: &'static str, values: &[f64], finite: bool) -> Result<()> {
    match values.iter().position(|v| v.is_nan() || (finite && v.is_infinite())) {
        Some(row) => Err(Error::NotFinite { what, found: values[row].to_string(), row, column: 0 }),
        None => Ok(()),
    }
}
