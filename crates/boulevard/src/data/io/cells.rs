//! What single cells mean: numbers, truth values, and how a list of names is shown.

use super::complaint::{Fault, excerpt};
use super::number;

/// A finite number; `otherwise` is what else could be done about a text.
pub(super) fn finite(name: &str, field: &[u8], otherwise: &str) -> std::result::Result<f64, Fault> {
    match number::parse(field) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(Fault::Bad(format!("column `{name}`: `{}` is not finite; only finite numbers are allowed", excerpt(field)))),
        None if otherwise.is_empty() => Err(Fault::Bad(format!("column `{name}`: `{}` is not a number", excerpt(field)))),
        None => Err(Fault::Bad(format!("column `{name}`: `{}` is not a number; give a number, {otherwise}", excerpt(field)))),
    }
}

/// Whether a label is there.
pub(super) fn truth(name: &str, field: &[u8]) -> std::result::Result<bool, Fault> {
    match number::parse(field) {
        Some(0.0) => Ok(false),
        Some(1.0) => Ok(true),
        _ if field.eq_ignore_ascii_case(b"true") => Ok(true),
        _ if field.eq_ignore_ascii_case(b"false") => Ok(false),
        _ => Err(Fault::Bad(format!("label column `{name}`: `{}` must be 0 or 1 (or false or true)", excerpt(field)))),
    }
}

/// The first names of a list.
pub(super) fn short_list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(10).map(String::as_str).collect();
    format!("{{{}{}}}", shown.join(", "), if names.len() > 10 { ", ..." } else { "" })
}
