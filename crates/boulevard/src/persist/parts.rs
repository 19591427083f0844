//! What records of several kinds share: the report of a fit, names, sigmoids, and the checks of counts and numbers.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use crate::check;
use crate::error::{Error, Result};
use crate::observe::StopReason;
use crate::solver::Route;
use crate::svm::{Calibration, FitReport, Sigmoid};

/// Twin of [`FitReport`] for files: a gap may be infinite, which JSON cannot say.
#[derive(Serialize, Deserialize)]
#[serde(remote = "FitReport", deny_unknown_fields)]
pub(super) struct Report {
    #[serde(with = "any_number")]
    objective: f64,
    #[serde(with = "any_number")]
    violation: f64,
    #[serde(with = "any_number")]
    gap: f64,
    iterations: u64,
    stop: StopReason,
    #[serde(with = "any_number")]
    seconds: f64,
    rows: usize,
    #[serde(default, skip_serializing_if = "Route::is_default")]
    route: Route,
}

/// Finite numbers as numbers, others as text.
mod any_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() { out.serialize_f64(*value) } else { out.collect_str(value) }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Text(String),
        }
        match Either::deserialize(from)? {
            Either::Number(value) => Ok(value),
            Either::Text(text) => text.parse().map_err(|_| D::Error::custom(format!("`{}` is not a number", text.escape_debug()))),
        }
    }
}

/// Fails unless a count is what it must be.
pub(super) fn equal(what: impl Into<String>, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::shape(what, expected, found)) }
}

/// The first of several counts that is not what it must be.
pub(super) fn all_equal(facts: &[(&str, usize, usize)]) -> Result<()> {
    facts.iter().try_for_each(|&(what, expected, found)| equal(what, expected, found))
}

/// One name per column, where there are names.
pub(super) fn check_feature_names(names: Option<&[String]>, features: usize) -> Result<()> {
    equal("feature names, one per column", features, names.map_or(features, <[String]>::len))
}

/// The first number that is not finite, by its place in rows of so many.
pub(super) fn check_finite(what: &'static str, values: &[f64], columns: usize) -> Result<()> {
    let columns = columns.max(1);
    match values.iter().position(|v| !v.is_finite()) {
        Some(place) => Err(Error::NotFinite { what, found: values[place].to_string(), row: place / columns, column: place % columns }),
        None => Ok(()),
    }
}

/// Offsets are finite; minus infinity stands for a class that was never seen, where `unseen` says so.
pub(super) fn check_offsets(what: &'static str, values: &[f64], unseen: impl Fn(usize) -> bool) -> Result<()> {
    match values.iter().enumerate().find(|(row, v)| !(v.is_finite() || (**v == f64::NEG_INFINITY && unseen(*row)))) {
        Some((row, value)) => Err(Error::NotFinite { what, found: value.to_string(), row, column: 0 }),
        None => Ok(()),
    }
}

/// The sigmoids of a calibration.
pub(super) fn sigmoids(calibration: Option<&Calibration>) -> Option<&[Sigmoid]> {
    calibration.map(|calibration| &calibration.sigmoids[..])
}

/// Two or more classes, each named once.
pub(super) fn check_class_names(classes: &[String]) -> Result<()> {
    check::at_least("model", "classes", classes.len(), 2)?;
    match classes.iter().enumerate().find(|(i, name)| classes[..*i].contains(name)) {
        Some((_, name)) => Err(Error::data(format!("class `{}` is named twice", name.escape_debug()))),
        None => Ok(()),
    }
}

/// Writes sigmoids under the name `{prefix}sigmoids`, where there are any.
pub(super) fn write_sigmoids(sigmoids: Option<&[Sigmoid]>, prefix: &str, arrays: &mut ArrayWriter) {
    if let Some(sigmoids) = sigmoids {
        let values: Vec<f64> = sigmoids.iter().flat_map(|s| [s.a, s.b]).collect();
        arrays.put_f64(format!("{prefix}sigmoids"), vec![sigmoids.len(), 2], &values);
    }
}

/// Reads them again.
pub(super) fn read_sigmoids(prefix: &str, arrays: &ArrayReader<'_>) -> Result<Option<Vec<Sigmoid>>> {
    let name = format!("{prefix}sigmoids");
    if !arrays.contains(&name) {
        return Ok(None);
    }
    let (values, [_, two]) = arrays.table_f64(&name)?;
    equal("numbers per sigmoid", 2, two)?;
    Ok(Some(values.chunks_exact(2).map(|pair| Sigmoid { a: pair[0], b: pair[1] }).collect()))
}

/// One finite sigmoid per output, where there are any.
pub(super) fn check_sigmoids(sigmoids: Option<&[Sigmoid]>, outputs: usize) -> Result<()> {
    let Some(sigmoids) = sigmoids else { return Ok(()) };
    equal("sigmoids, one per output", outputs, sigmoids.len())?;
    match sigmoids.iter().enumerate().find(|(_, s)| !(s.a.is_finite() && s.b.is_finite())) {
        Some((row, s)) => Err(Error::NotFinite { what: "the calibration", found: format!("{} and {}", s.a, s.b), row, column: 0 }),
        None => Ok(()),
    }
}
