//! Parameter checks: one sentence for all complaints.

use crate::error::{Error, Result};
use std::fmt::Display;

/// A complaint about parameter `name` of `owner`.
pub fn complaint(owner: &'static str, name: &'static str, allowed: impl Into<String>, found: impl Display) -> Error {
    Error::Parameter { name, owner, allowed: allowed.into(), found: found.to_string() }
}

/// A finite number from text.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Fails unless `value` is finite and above zero.
pub fn positive(owner: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(complaint(owner, name, "positive and finite", value)) }
}

/// Fails unless `value` is finite and not below zero.
pub fn not_negative(owner: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(complaint(owner, name, "zero or positive, and finite", value)) }
}

/// Fails unless `value` is finite.
pub fn finite(owner: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() { Ok(()) } else { Err(complaint(owner, name, "finite", value)) }
}

/// Fails unless `low < value <= high`.
pub fn in_range(owner: &'static str, name: &'static str, value: f64, low: f64, high: f64) -> Result<()> {
    if value > low && value <= high { Ok(()) } else { Err(complaint(owner, name, format!("above {low} and at most {high}"), value)) }
}

/// Fails unless `value` is at least `least`.
pub fn at_least(owner: &'static str, name: &'static str, value: usize, least: usize) -> Result<()> {
    if value >= least { Ok(()) } else { Err(complaint(owner, name, format!("at least {least}"), value)) }
}
