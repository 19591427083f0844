//! Sample weights in front of any statistic: 2 is the same as having the row twice, 0 as not having it.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// The weights, or ones; fails unless there is one finite, non-negative weight per row, and a usable sum.
pub(crate) fn resolve(weights: Option<&[f64]>, rows: usize) -> Result<Cow<'_, [f64]>> {
    let Some(weights) = weights else { return Ok(Cow::Owned(vec![1.0; rows])) };
    if weights.len() != rows {
        return Err(Error::shape("sample weights, one per row", rows, weights.len()));
    }
    for (row, &weight) in weights.iter().enumerate() {
        if !weight.is_finite() {
            return Err(Error::NotFinite { what: "sample weights", found: weight.to_string(), row, column: 0 });
        }
        if weight < 0.0 {
            return Err(Error::data(format!("sample weights must not be negative: row {row} has {weight}")));
        }
    }
    let total: f64 = weights.iter().sum();
    if rows > 0 && total == 0.0 {
        return Err(Error::data("all sample weights are zero: no row counts"));
    }
    if !total.is_finite() {
        return Err(Error::data("the sum of the sample weights is too large for a 64-bit number"));
    }
    Ok(Cow::Borrowed(weights))
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn unsound_weights_are_refused_with_their_row() {
        let message = |weights: &[f64]| resolve(Some(weights), 2).unwrap_err().to_string();
        assert_eq!(message(&[1.0]), "sample weights, one per row: expected 2, found 1");
        assert_eq!(message(&[1.0, -2.0]), "sample weights must not be negative: row 1 has -2");
        assert_eq!(message(&[0.0, 0.0]), "all sample weights are zero: no row counts");
        assert!(message(&[f64::NAN, 0.0]).contains("NaN at row 0"));
        assert!(message(&[f64::MAX, f64::MAX]).contains("too large"));
        assert_eq!(resolve(None, 2).unwrap().as_ref(), &[1.0, 1.0]);
    }
}
