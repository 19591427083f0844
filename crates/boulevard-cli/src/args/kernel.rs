//! Kernels on the command line: the catalogue's names, and short words for lists of them.

use boulevard::kernel::{Gamma, Kernel, KernelInfo};
use clap::builder::{PossibleValue, PossibleValuesParser};

/// The catalogue's kernels, with their formulas.
pub fn kernel_names() -> PossibleValuesParser {
    let value = |info: &&KernelInfo| {
        let help = match (info.formula, info.note) {
            ("", _) => "The file holds kernel values (LIBSVM's `0:i 1:K 2:K ...`)".to_owned(),
            (formula, "") => formula.to_owned(),
            (formula, note) => format!("{formula}, {note}"),
        };
        PossibleValue::new(info.name.replace('_', "-")).help(help)
    };
    PossibleValuesParser::new(Kernel::CATALOGUE.iter().map(value))
}

/// A base kernel from `NAME`, `NAME:NUMBER:NUMBER` with the parameters in the catalogue's order, or `NAME:PARAMETER=VALUE`.
pub fn kernel_word(text: &str) -> Result<Kernel, String> {
    let mut words = text.split(':');
    let name = words.next().unwrap_or("").replace('-', "_");
    let Some(info) = Kernel::CATALOGUE.iter().find(|info| info.name == name && !info.formula.is_empty()) else {
        let known: Vec<&str> = Kernel::CATALOGUE.iter().filter(|info| !info.formula.is_empty()).map(|info| info.name).collect();
        return Err(format!("`{text}` is not a base kernel; there are {}", known.join(", ")));
    };
    let mut parts = serde_json::Map::new();
    // A base kernel is usually normalised, and then a polynomial needs no other width.
    if name == "poly" {
        parts.insert("gamma".to_owned(), 1.0.into());
    }
    for (place, word) in words.enumerate() {
        let (parameter, number) = match word.split_once('=') {
            Some(pair) => pair,
            None => match info.parameters.get(place) {
                Some((parameter, _)) => (*parameter, word),
                None => return Err(format!("`{text}` has {} numbers, {name} takes {} at most", place + 1, info.parameters.len())),
            },
        };
        let value = match number.parse::<f64>() {
            Ok(value) if value.is_finite() => value.into(),
            _ if parameter == "gamma" && number.parse::<Gamma>().is_ok() => serde_json::Value::from(number),
            _ => return Err(format!("`{number}` in `{text}` is not a number")),
        };
        parts.insert(parameter.to_owned(), value);
    }
    Kernel::from_parts(&name, &parts).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_read_from_short_words() {
        assert_eq!(kernel_word("linear"), Ok(Kernel::Linear));
        assert_eq!(kernel_word("poly:2:1"), Ok(Kernel::poly(2, 1.0, 1.0)));
        assert_eq!(kernel_word("poly:2:1:0.5"), Ok(Kernel::poly(2, 0.5, 1.0)));
        assert_eq!(kernel_word("rbf:0.5"), Ok(Kernel::rbf(0.5)));
        assert_eq!(kernel_word("rbf"), Ok(Kernel::Rbf { gamma: Gamma::SCALE }));
        assert_eq!(kernel_word("inverse-multiquadric:coef0=2"), Ok(Kernel::InverseMultiquadric { gamma: Gamma::SCALE, coef0: 2.0 }));
        for bad in ["", "cubic", "poly:x", "poly:1.5", "linear:1", "rbf:1:2", "rbf:nan", "rbf:degree=2", "precomputed"] {
            assert!(kernel_word(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_base_kernel_has_a_word() {
        for info in Kernel::CATALOGUE.iter().filter(|info| !info.formula.is_empty()) {
            assert_eq!(kernel_word(info.name).unwrap().name(), info.name);
        }
    }
}
