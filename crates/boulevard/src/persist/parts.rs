//! What records of several kinds share: the report of a fit, names, sigmoids, and the checks of counts and numbers.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use crate::check;
use crate::error::{Error, Result};
use crate::observe::StopReason;
use crate::solver::Route;
use crate::svm::{Calibration, FitReport, Sharpening, Sigmoid};

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

/// Writes a calibration under names that begin with `prefix`, where there is one.
pub(super) fn write_calibration(calibration: Option<&Calibration>, prefix: &str, arrays: &mut ArrayWriter) {
    let Some(calibration) = calibration else { return };
    write_sigmoids(Some(&calibration.sigmoids), prefix, arrays);
    if let Some(sharpening) = &calibration.sharpening {
        let values: Vec<f64> = std::iter::once(sharpening.power).chain(sharpening.shifts.iter().copied()).collect();
        arrays.put_f64(format!("{prefix}sharpening"), vec![values.len()], &values);
    }
    if let Some(losses) = calibration.losses {
        arrays.put_f64(format!("{prefix}calibration_losses"), vec![losses.len()], &losses);
    }
}

/// Reads it again.
pub(super) fn read_calibration(prefix: &str, arrays: &ArrayReader<'_>) -> Result<Option<Calibration>> {
    let Some(sigmoids) = read_sigmoids(prefix, arrays)? else { return Ok(None) };
    let mut calibration = Calibration::plain(sigmoids);
    let name = format!("{prefix}sharpening");
    if arrays.contains(&name) {
        let values = arrays.list_f64(&name)?;
        let Some((&power, shifts)) = values.split_first() else { return Err(Error::shape("numbers of a sharpening", 1, 0)) };
        calibration.sharpening = Some(Sharpening { power, shifts: shifts.to_vec() });
    }
    let name = format!("{prefix}calibration_losses");
    if arrays.contains(&name) {
        let values = arrays.list_f64(&name)?;
        let losses = <[f64; 3]>::try_from(&values[..]).map_err(|_| Error::shape("log losses of a calibration", 3, values.len()))?;
        calibration.losses = Some(losses);
    }
    Ok(Some(calibration))
}

/// One finite sigmoid per output, and a sharpening for these classes, where there is a calibration.
pub(super) fn check_calibration(calibration: Option<&Calibration>, outputs: usize, classes: usize) -> Result<()> {
    let Some(calibration) = calibration else { return Ok(()) };
    equal("sigmoids, one per output", outputs, calibration.sigmoids.len())?;
    let not_finite = |found: String, row: usize| Err(Error::NotFinite { what: "the calibration", found, row, column: 0 });
    if let Some((row, s)) = calibration.sigmoids.iter().enumerate().find(|(_, s)| !(s.a.is_finite() && s.b.is_finite())) {
        return not_finite(format!("{} and {}", s.a, s.b), row);
    }
    let Some(sharpening) = &calibration.sharpening else { return Ok(()) };
    if !(sharpening.power > 0.0 && sharpening.power.is_finite()) {
        return Err(Error::data(format!("the power of a calibration must be positive and finite, found {}", sharpening.power)));
    }
    equal(
        "shifts of a calibration, one per class or none",
        if sharpening.shifts.is_empty() { 0 } else { classes },
        sharpening.shifts.len(),
    )?;
    match sharpening.shifts.iter().enumerate().find(|(_, shift)| !shift.is_finite()) {
        Some((row, shift)) => not_finite(shift.to_string(), row),
        None => Ok(()),
    }
}
