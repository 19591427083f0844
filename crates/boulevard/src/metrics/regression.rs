//! How far predicted numbers are from the true ones. All measures take optional sample weights.

use super::{check_numbers, paired};
use crate::check;
use crate::error::Result;

/// Weighted mean of a loss of the error `predicted - truth`.
fn mean_loss(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>, loss: impl Fn(f64) -> f64) -> Result<f64> {
    let weights = paired(truth.len(), predicted.len(), weights)?;
    check_numbers("true values", truth, true)?;
    check_numbers("predicted values", predicted, true)?;
    let sum: f64 = truth.iter().zip(predicted).zip(weights.as_ref()).map(|((t, p), weight)| weight * loss(p - t)).sum();
    Ok(sum / weights.iter().sum::<f64>())
}

/// Mean squared error.
pub fn mean_squared_error(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    mean_loss(truth, predicted, weights, |error| error * error)
}

/// Square root of the mean squared error, in the target's own unit.
pub fn root_mean_squared_error(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    mean_squared_error(truth, predicted, weights).map(f64::sqrt)
}

/// Mean absolute error.
pub fn mean_absolute_error(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    mean_loss(truth, predicted, weights, f64::abs)
}

/// Mean of `max(|error| - epsilon, 0)`: what support vector regression minimizes.
pub fn epsilon_insensitive(truth: &[f64], predicted: &[f64], epsilon: f64, weights: Option<&[f64]>) -> Result<f64> {
    check::not_negative("epsilon_insensitive", "epsilon", epsilon)?;
    mean_loss(truth, predicted, weights, |error| (error.abs() - epsilon).max(0.0))
}

/// Largest absolute error among rows that count.
pub fn max_error(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let weights = paired(truth.len(), predicted.len(), weights)?;
    check_numbers("true values", truth, true)?;
    check_numbers("predicted values", predicted, true)?;
    let errors = truth.iter().zip(predicted).zip(weights.as_ref()).filter(|(_, weight)| **weight > 0.0).map(|((t, p), _)| (p - t).abs());
    Ok(errors.fold(0.0, f64::max))
}

/// Share of the variance explained, `1 - sum (p - t)^2 / sum (t - mean)^2`; negative if the mean would do better.
///
/// A constant truth has no variance: the value is then 1 if every prediction is right and 0 otherwise.
pub fn r2(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let squared_error = mean_squared_error(truth, predicted, weights)?;
    let resolved = paired(truth.len(), predicted.len(), weights)?;
    let counted = || truth.iter().zip(resolved.as_ref()).filter(|(_, weight)| **weight > 0.0);
    let low = counted().map(|(t, _)| *t).fold(f64::INFINITY, f64::min);
    let high = counted().map(|(t, _)| *t).fold(f64::NEG_INFINITY, f64::max);
    // The mean of equal numbers may differ from them by rounding: compare the numbers themselves.
    if low == high {
        return Ok(if squared_error == 0.0 { 1.0 } else { 0.0 });
    }
    let total: f64 = resolved.iter().sum();
    let mean = low + counted().map(|(t, weight)| weight * (t - low)).sum::<f64>() / total;
    let variance = counted().map(|(t, weight)| weight * (t - mean).powi(2)).sum::<f64>() / total;
    Ok(1.0 - squared_error / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRUTH: [f64; 4] = [3.0, -0.5, 2.0, 7.0];
    const SAID: [f64; 4] = [2.5, 0.0, 2.0, 8.0];

    #[test]
    fn known_values() {
        assert_eq!(mean_squared_error(&TRUTH, &SAID, None).unwrap(), 0.375);
        assert_eq!(root_mean_squared_error(&TRUTH, &SAID, None).unwrap(), 0.375f64.sqrt());
        assert_eq!(mean_absolute_error(&TRUTH, &SAID, None).unwrap(), 0.5);
        assert_eq!(max_error(&TRUTH, &SAID, None).unwrap(), 1.0);
        assert_eq!(max_error(&TRUTH, &SAID, Some(&[1.0, 1.0, 1.0, 0.0])).unwrap(), 0.5);
        assert_eq!(epsilon_insensitive(&TRUTH, &SAID, 0.25, None).unwrap(), (0.25 + 0.25 + 0.75) / 4.0);
        // Mean 2.875, sum of squares 29.1875.
        assert!((r2(&TRUTH, &SAID, None).unwrap() - (1.0 - 1.5 / 29.1875)).abs() < 1e-15);
        assert_eq!(r2(&[0.1; 3], &[0.1; 3], None).unwrap(), 1.0);
        assert_eq!(r2(&[0.1; 3], &[0.1, 0.1, 0.2], None).unwrap(), 0.0);
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(mean_squared_error(&[1.0], &[], None).is_err());
        assert!(mean_squared_error(&[], &[], None).is_err());
        assert!(r2(&[f64::NAN], &[1.0], None).is_err() && max_error(&[1.0], &[f64::INFINITY], None).is_err());
        assert!(epsilon_insensitive(&TRUTH, &SAID, -1.0, None).is_err());
    }

    proptest! {
        #[test]
        fn weights_are_repeated_rows_in_any_order(rows in prop::collection::vec((-5.0..5.0f64, -5.0..5.0f64, 0usize..3), 2..20)) {
            prop_assume!(rows.iter().any(|row| row.2 > 0));
            let truth: Vec<f64> = rows.iter().map(|row| row.0).collect();
            let said: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let weights: Vec<f64> = rows.iter().map(|row| row.2 as f64).collect();
            let many: Vec<_> = rows.iter().rev().flat_map(|row| std::iter::repeat_n((row.0, row.1), row.2)).collect();
            let (truth_many, said_many): (Vec<f64>, Vec<f64>) = many.into_iter().unzip();
            for measure in [mean_squared_error, mean_absolute_error, max_error, r2] {
                let (a, b) = (measure(&truth, &said, Some(&weights)).unwrap(), measure(&truth_many, &said_many, None).unwrap());
                prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{} {}", a, b);
            }
        }
    }
}
