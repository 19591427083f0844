//! Judging probabilities: logarithmic and quadratic loss.

use crate::error::{Error, Result};
use crate::metrics::paired;

/// Probabilities of a row may miss a sum of 1 by this much; more means they are not probabilities.
const SUM_TOLERANCE: f64 = 1e-4;

/// Mean negative logarithm of the probability given to the true class.
///
/// `probabilities` is row-major with `classes` columns. Probabilities below 2^-52 count as 2^-52, so that one row that was sure and
/// wrong costs 36, not infinity.
pub fn log_loss(truth: &[u32], probabilities: &[f64], classes: usize, weights: Option<&[f64]>) -> Result<f64> {
    mean_over_rows(truth, probabilities, classes, weights, |row, class| -row[class].max(f64::EPSILON).ln())
}

/// Mean squared distance between the probabilities and the 0/1 vector of the true class: from 0 to 2.
///
/// For two classes this is twice [`brier`].
pub fn brier_multiclass(truth: &[u32], probabilities: &[f64], classes: usize, weights: Option<&[f64]>) -> Result<f64> {
    mean_over_rows(truth, probabilities, classes, weights, |row, class| {
        row.iter().enumerate().map(|(other, p)| (p - f64::from(u8::from(other == class))).powi(2)).sum()
    })
}

/// Mean squared difference between the probability of the positive class and 1 or 0.
pub fn brier(truth: &[bool], probabilities: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let weights = paired(truth.len(), probabilities.len(), weights)?;
    let mut sum = 0.0;
    for (row, ((&truth, &p), &weight)) in truth.iter().zip(probabilities).zip(weights.as_ref()).enumerate() {
        check_probability(p, row, 0)?;
        sum += weight * (p - f64::from(u8::from(truth))).powi(2);
    }
    Ok(sum / weights.iter().sum::<f64>())
}

fn mean_over_rows(
    truth: &[u32],
    probabilities: &[f64],
    classes: usize,
    weights: Option<&[f64]>,
    loss: impl Fn(&[f64], usize) -> f64,
) -> Result<f64> {
    let weights = paired(truth.len(), truth.len(), weights)?;
    let expected = truth.len().saturating_mul(classes);
    if probabilities.len() != expected {
        return Err(Error::shape(format!("probabilities of {} rows and {classes} classes", truth.len()), expected, probabilities.len()));
    }
    let mut sum = 0.0;
    for (row, (&class, &weight)) in truth.iter().zip(weights.as_ref()).enumerate() {
        let given = &probabilities[row * classes..(row + 1) * classes];
        for (column, &p) in given.iter().enumerate() {
            check_probability(p, row, column)?;
        }
        let total: f64 = given.iter().sum();
        if (total - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::data(format!("probabilities of row {row} must sum to 1, but sum to {total}")));
        }
        if class as usize >= classes {
            return Err(Error::data(format!("class code {class} at row {row} is outside the {classes} classes")));
        }
        sum += weight * loss(given, class as usize);
    }
    Ok(sum / weights.iter().sum::<f64>())
}

fn check_probability(p: f64, row: usize, column: usize) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(Error::data(format!("probabilities must be from 0 to 1: row {row}, column {column} has {p}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_losses() {
        let p = [0.75, 0.25, 0.5, 0.5];
        assert!((log_loss(&[0, 1], &p, 2, None).unwrap() - (4.0f64 / 3.0 * 2.0).ln() / 2.0).abs() < 1e-15);
        assert!((brier(&[false, true], &[0.25, 0.5], None).unwrap() - (0.0625 + 0.25) / 2.0).abs() < 1e-15);
        assert!((brier_multiclass(&[0, 1], &p, 2, None).unwrap() - (0.0625 + 0.25)).abs() < 1e-15);
        assert_eq!(log_loss(&[0], &[1.0, 0.0], 2, None).unwrap(), 0.0);
        assert!((log_loss(&[1], &[1.0, 0.0], 2, None).unwrap() - 52.0 * 2f64.ln()).abs() < 1e-12);
        // Weight 3 and 1: the first row three times.
        let weighted = log_loss(&[0, 1], &p, 2, Some(&[3.0, 1.0])).unwrap();
        let repeated = log_loss(&[0, 0, 0, 1], &[0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.5, 0.5], 2, None).unwrap();
        assert!((weighted - repeated).abs() < 1e-15);
    }

    #[test]
    fn what_is_not_a_probability_is_refused() {
        assert!(log_loss(&[0], &[0.9, 0.2], 2, None).unwrap_err().to_string().contains("row 0 must sum to 1"));
        assert!(log_loss(&[0], &[f64::NAN, 0.2], 2, None).is_err());
        assert!(log_loss(&[2], &[0.5, 0.5], 2, None).is_err());
        assert!(log_loss(&[0], &[0.5], 2, None).is_err());
        assert!(log_loss(&[0], &[], 0, None).is_err());
        assert!(brier(&[true], &[1.5], None).is_err() && brier(&[], &[], None).is_err());
    }
}
