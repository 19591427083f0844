//! Is one method really better than another? Paired tests on differences of scores, fold by fold or data set by data set.
//!
//! - Folds of one data set share training rows, so their scores are not independent: use [`corrected_t_test`].
//! - Scores on different data sets are independent but not on one scale: use [`wilcoxon_signed_rank`] (Demsar 2006).

use super::special::{erfc, incomplete_beta};
use super::{check_numbers, ratio};
use crate::check;
use crate::error::{Error, Result};

/// Up to this many differences the distribution of the signed-rank sum is counted out; `2^50` still counts exactly in an `f64`.
const EXACT_UP_TO: usize = 50;

/// The mean; NaN for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample standard deviation (divisor n - 1); 0 for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> f64 {
    // Equal values have no spread, but their mean may round away from them.
    if values.iter().all(|value| *value == values[0]) {
        return 0.0;
    }
    let mean = mean(values);
    ratio(values.iter().map(|value| (value - mean).powi(2)).sum(), values.len() as f64 - 1.0).sqrt()
}

/// What a paired t-test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// Mean difference.
    pub mean: f64,
    /// Its standard error, corrected where asked for.
    pub standard_error: f64,
    /// Mean over standard error; 0 if both are 0, infinite if only the error is.
    pub t: f64,
    /// Degrees of freedom, J - 1.
    pub degrees: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// The probability that a standard normal number exceeds `x`.
pub fn normal_tail(x: f64) -> f64 {
    0.5 * erfc(x / std::f64::consts::SQRT_2)
}

/// The corrected resampled t-test (Nadeau and Bengio 2003) on J differences of scores from J splits of one data set.
///
/// Training sets of the splits overlap, and the plain variance `s^2 / J` is far too small. The correction uses
/// `(1 / J + n_test / n_train) s^2`; for k folds `n_test / n_train = 1 / (k - 1)`.
pub fn corrected_t_test(differences: &[f64], n_train: usize, n_test: usize) -> Result<TTest> {
    check::at_least("corrected_t_test", "n_train", n_train, 1)?;
    check::at_least("corrected_t_test", "n_test", n_test, 1)?;
    t_test(differences, n_test as f64 / n_train as f64)
}

/// The plain paired t-test, for independent differences.
pub fn paired_t_test(differences: &[f64]) -> Result<TTest> {
    t_test(differences, 0.0)
}

fn t_test(differences: &[f64], correction: f64) -> Result<TTest> {
    if differences.len() < 2 {
        return Err(Error::data(format!("a t-test needs at least 2 differences, found {}", differences.len())));
    }
    check_numbers("differences", differences, true)?;
    let (count, mean) = (differences.len() as f64, mean(differences));
    let standard_error = standard_deviation(differences) * (1.0 / count + correction).sqrt();
    let t = if mean == 0.0 { 0.0 } else { mean / standard_error };
    let degrees = count - 1.0;
    // P(|T| > t) = I_{v / (v + t^2)}(v / 2, 1 / 2).
    let p = incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    Ok(TTest { mean, standard_error, t, degrees, p })
}

/// What Wilcoxon's signed-rank test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of positive differences.
    pub positive: f64,
    /// Sum of the ranks of negative differences.
    pub negative: f64,
    /// Differences that are not zero; zeros are left out.
    pub counted: usize,
    /// Whether the p-value was counted out rather than approximated.
    pub exact: bool,
    /// Two-sided p-value.
    pub p: f64,
}

/// Wilcoxon's signed-rank test on paired differences.
///
/// Zeros are left out (Wilcoxon's rule); equal sizes share their mean rank. Up to 50 differences the p-value is exact, with ties too:
/// all sign patterns of the ranks at hand are counted. Beyond, a normal approximation with tie and continuity correction is used.
/// Without any difference p is 1.
pub fn wilcoxon_signed_rank(differences: &[f64]) -> Result<SignedRank> {
    check_numbers("differences", differences, true)?;
    let mut sizes: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let counted = sizes.len();
    // Ranks are doubled throughout: mean ranks of ties are then whole numbers.
    let (mut ranks, mut tie_term) = (Vec::with_capacity(counted), 0.0);
    for tied in sizes.chunk_by(|a, b| a.abs() == b.abs()) {
        let (first, many) = (ranks.len() + 1, tied.len());
        ranks.extend(std::iter::repeat_n(2 * first + many - 1, many));
        tie_term += (many as f64).powi(3) - many as f64;
    }
    let all: usize = ranks.iter().sum();
    let positive: usize = ranks.iter().zip(&sizes).filter(|(_, size)| **size > 0.0).map(|(rank, _)| rank).sum();
    let smaller = positive.min(all - positive);
    let exact = counted <= EXACT_UP_TO;
    let p = if exact { exact_p(&ranks, smaller) } else { normal_p(counted as f64, smaller as f64 / 2.0, tie_term) };
    Ok(SignedRank { positive: positive as f64 / 2.0, negative: (all - positive) as f64 / 2.0, counted, exact, p })
}

/// Twice the share of sign patterns whose sum of (doubled) positive ranks is at most `smaller`.
fn exact_p(ranks: &[usize], smaller: usize) -> f64 {
    let mut ways = vec![0.0; smaller + 1];
    ways[0] = 1.0;
    for &rank in ranks {
        for sum in (rank..=smaller).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    (2.0 * ways.iter().sum::<f64>() / 2f64.powi(ranks.len() as i32)).min(1.0)
}

fn normal_p(n: f64, smaller: f64, tie_term: f64) -> f64 {
    let expected = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term / 48.0;
    let z = (expected - smaller - 0.5).max(0.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn mean_and_deviation() {
        assert_eq!((mean(&[1.0, 2.0, 6.0]), standard_deviation(&[1.0, 2.0, 6.0])), (3.0, 7f64.sqrt()));
        assert_eq!((standard_deviation(&[0.1; 3]), standard_deviation(&[]), standard_deviation(&[4.0])), (0.0, 0.0, 0.0));
        assert!(mean(&[]).is_nan());
    }

    #[test]
    fn t_tests_with_closed_forms() {
        // J = 3, mean 2, s = 1, correction 1/9: t = 2 / sqrt(1/3 + 1/9) = 3; two degrees: p = 1 - t / sqrt(2 + t^2).
        let test = corrected_t_test(&[1.0, 2.0, 3.0], 90, 10).unwrap();
        assert!(near(test.t, 3.0) && near(test.p, 1.0 - 3.0 / 11f64.sqrt()) && test.degrees == 2.0 && near(test.standard_error, 2.0 / 3.0));
        // One degree: p = 1 - 2 atan(t) / pi. Differences 0 and 2: mean 1, s^2 = 2, t = 1.
        assert!(near(paired_t_test(&[0.0, 2.0]).unwrap().p, 0.5));
        // A table's value: t = 2.262157 at 9 degrees is the 5 % point.
        let eleven = incomplete_beta(4.5, 0.5, 9.0 / (9.0 + 2.262_157_162_740_992f64.powi(2)));
        assert!((eleven - 0.05).abs() < 1e-10, "{eleven}");
    }

    #[test]
    fn differences_without_spread() {
        let same = paired_t_test(&[0.0; 4]).unwrap();
        assert_eq!((same.t, same.p), (0.0, 1.0));
        let sure = paired_t_test(&[0.1; 3]).unwrap();
        assert_eq!((sure.t, sure.p), (f64::INFINITY, 0.0));
        assert!(paired_t_test(&[1.0]).is_err() && paired_t_test(&[1.0, f64::NAN]).is_err());
        assert!(corrected_t_test(&[1.0, 2.0], 0, 10).is_err());
    }

    #[test]
    fn signed_ranks_by_hand() {
        let test = wilcoxon_signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 0.0]).unwrap();
        assert_eq!((test.positive, test.negative, test.counted, test.exact, test.p), (15.0, 0.0, 5, true, 2.0 / 32.0));
        // Rank 2 is negative: sums at most 2 are {}, {1}, {2}: 2 * 3 / 16.
        assert_eq!(wilcoxon_signed_rank(&[1.0, -2.0, 3.0, 4.0]).unwrap().p, 6.0 / 16.0);
        // Three ties of rank 2 and one of rank 4: sums at most 2 are {} and the three single ones: 2 * 4 / 16.
        let tied = wilcoxon_signed_rank(&[1.0, 1.0, -1.0, 5.0]).unwrap();
        assert_eq!((tied.positive, tied.negative, tied.p), (8.0, 2.0, 0.5));
        assert_eq!(wilcoxon_signed_rank(&[0.0, 0.0]).unwrap().p, 1.0);
        assert_eq!(wilcoxon_signed_rank(&[]).unwrap().p, 1.0);
    }

    #[test]
    fn the_approximation_meets_the_count() {
        let differences: Vec<f64> = (1..=50).map(|i| if i % 3 == 0 { -f64::from(i) } else { f64::from(i) }).collect();
        let test = wilcoxon_signed_rank(&differences).unwrap();
        assert!(test.exact);
        let approximate = normal_p(50.0, test.negative, 0.0);
        assert!((test.p - approximate).abs() < 2e-3, "{} {approximate}", test.p);
        let more: Vec<f64> = (1..=51).map(f64::from).collect();
        let test = wilcoxon_signed_rank(&more).unwrap();
        assert!(!test.exact && test.p < 1e-8);
    }

    proptest! {
        #[test]
        fn order_and_sign_do_not_matter(values in prop::collection::vec(-9i32..9, 2..60)) {
            let forward: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            let turned: Vec<f64> = values.iter().rev().map(|&v| -f64::from(v)).collect();
            let (a, b) = (wilcoxon_signed_rank(&forward).unwrap(), wilcoxon_signed_rank(&turned).unwrap());
            prop_assert!(a.p == b.p && a.positive == b.negative && (0.0..=1.0).contains(&a.p));
            let (a, b) = (corrected_t_test(&forward, 9, 1).unwrap(), corrected_t_test(&turned, 9, 1).unwrap());
            prop_assert!((a.p - b.p).abs() < 1e-9 && (0.0..=1.0).contains(&a.p));
            prop_assert!(a.p >= paired_t_test(&forward).unwrap().p - 1e-12);
        }
    }
}
