//! Kernels between sets of K samples that do not depend on the order within a set.
//!
//! The kernel of two concatenated sets, averaged over all orders of one of them (Santiago-Mozos, Perez-Cruz and Artes-Rodriguez 2011,
//! eqs. 10-18; the printed sum lacks the permutation):
//! ```text
//! S(z, z') = 1/K! sum over permutations s of k([x_1 ... x_K], [x'_s(1) ... x'_s(K)])
//! ```
//! | base kernel | value |
//! |---|---|
//! | RBF, Laplacian, chi-squared | `perm(M) / K!`, `M[k, l] = k(x_k, x'_l)`: the kernel of a concatenation is a product over samples |
//! | linear | `<sum x, sum x'> / K` |
//! | polynomial | the mean of `(gamma sum_k <x_k, x'_s(k)> + coef0)^degree` in closed form ([`mean_power`]) |
//! | all others | `perm(M) / K!`, that is the product of base kernels over a matching, averaged |
//!
//! `S` is positive semi-definite when `k` is. With [`Normalization::Cosine`] it is divided by the root of both diagonals; the diagonal of
//! the mean is not constant, it lies between `1 / K!` and 1 for kernels with `k(x, x) = 1`.
//!
//! Only the base kernel's matrix between single samples is needed: sets are tuples of row numbers into it, and rows of `S` are gathers
//! and permanents (`SetRows`). Sets are brought into an order of their members' values first, so that the result is the same to the bit
//! for any order.

mod gathered;
mod gram;
mod power;
mod rows;
mod subset;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Kernel;
use crate::check;
use crate::data::Matrix;
use crate::error::Result;

pub(crate) use gram::own_values;
pub use gram::{log_set_kernel, set_kernel, set_kernel_into};
pub use power::mean_power;
pub(crate) use rows::{Base, BaseGram, SetRows};
pub use subset::{log_permanent, permanent};

/// Largest size of a set: a permanent takes `K 2^(K-1)` products and `2^K` numbers of work space per lane.
pub const MAX_SET: usize = 16;

/// How set kernels are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Normalization {
    /// The mean over permutations.
    ///
    /// The mean over permutations. (The paper's sum is `(K!)^2` times this, which only rescales C.)
    #[default]
    Mean,
    /// That divided by the root of both sets' own values.
    ///
    /// The mean divided by the root of both sets' own values: every set has length 1. More forgiving when gamma is too large.
    Cosine,
}

/// How values between members become the value between sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// `perm(M) / K!`
    Permanent,
    /// `mean over matchings (coef0 + sum M)^degree`
    Power {
        /// The exponent.
        degree: u32,
        /// Added once per matching.
        coef0: f64,
    },
    /// The value of the identical matching alone, `prod_k M[k, k]`: no symmetry.
    Ordered,
    /// The same for polynomial kernels, `(coef0 + sum_k M[k, k])^degree`.
    OrderedPower {
        /// The exponent.
        degree: u32,
        /// Added once.
        coef0: f64,
    },
}

impl Rule {
    /// The same kernel of concatenations without the mean over orders.
    pub(crate) fn ordered(self) -> Self {
        match self {
            Self::Permanent => Self::Ordered,
            Self::Power { degree, coef0 } => Self::OrderedPower { degree, coef0 },
            other => other,
        }
    }
}

/// The rule of a kernel, and the kernel of single samples that it is computed from.
pub(crate) fn rule(kernel: &Kernel, normalization: Normalization) -> (Rule, Kernel) {
    match kernel {
        Kernel::Linear => (Rule::Power { degree: 1, coef0: 0.0 }, Kernel::Linear),
        Kernel::Poly { degree, gamma, coef0 } => {
            (Rule::Power { degree: *degree, coef0: *coef0 }, Kernel::Poly { degree: 1, gamma: *gamma, coef0: 0.0 })
        }
        // The cosine does not change when base values are divided by their diagonals, and then products cannot leave the range of numbers.
        // The diagonals of new rows of a given matrix are not known.
        Kernel::Precomputed => (Rule::Permanent, kernel.clone()),
        _ if normalization == Normalization::Cosine && !kernel.form().unit_diagonal => {
            (Rule::Permanent, Kernel::Normalized { kernel: Box::new(kernel.clone()) })
        }
        _ => (Rule::Permanent, kernel.clone()),
    }
}

/// The value of one pair of sets from the members' values.
pub(crate) fn value(rule: Rule, m: &[f64], k: usize) -> f64 {
    match rule {
        Rule::Permanent => permanent(m, k) / factorial(k),
        Rule::Power { degree, coef0 } => mean_power(m, k, degree, coef0),
        Rule::Ordered => (0..k).map(|i| m[i * k + i]).product(),
        Rule::OrderedPower { degree, coef0 } => (coef0 + (0..k).map(|i| m[i * k + i]).sum::<f64>()).powi(degree as i32),
    }
}

/// `k!`, exact up to 16.
pub(crate) fn factorial(k: usize) -> f64 {
    (1..=k).map(|i| i as f64).product()
}

/// Fails unless sets of `k` samples can be handled.
pub(crate) fn check_size(owner: &'static str, name: &'static str, k: usize) -> Result<()> {
    if (1..=MAX_SET).contains(&k) { Ok(()) } else { Err(check::complaint(owner, name, format!("from 1 to {MAX_SET}"), k)) }
}

/// The place of every row in the order of values (first column first); equal rows stay in their order.
///
/// Sets whose members are sorted by this rank look the same whatever order they came in.
pub(crate) fn ranks(x: &Matrix<'_>) -> Vec<u32> {
    let order = by_value(x, &(0..x.rows()).collect::<Vec<_>>());
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &row)| rank[row as usize] = place as u32);
    rank
}

/// The order of some rows by their values: places in `rows`.
fn by_value(x: &Matrix<'_>, rows: &[usize]) -> Vec<u32> {
    // The first column decides most comparisons and lies together here.
    let first: Vec<f64> = rows.iter().map(|&row| if x.columns() == 0 { 0.0 } else { x.get(row, 0) }).collect();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (a as usize, b as usize);
        first[a].total_cmp(&first[b]).then_with(|| compare(x, rows[a], rows[b]))
    });
    order
}

fn compare(x: &Matrix<'_>, a: usize, b: usize) -> Ordering {
    match x {
        Matrix::F64(dense) => {
            dense.row(a).iter().zip(dense.row(b)).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }
        Matrix::F32(dense) => {
            dense.row(a).iter().zip(dense.row(b)).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }
        Matrix::Sparse(csr) => {
            // The first column in which they differ decides; a value that is not stored is zero.
            let ((ia, va), (ib, vb)) = (csr.row(a), csr.row(b));
            let (mut p, mut q) = (0, 0);
            loop {
                let column = |of: &[u32], place: usize| of.get(place).map_or(usize::MAX, |&j| j as usize);
                let (column_a, column_b) = (column(ia, p), column(ib, q));
                if column_a == usize::MAX && column_b == usize::MAX {
                    return Ordering::Equal;
                }
                let at = column_a.min(column_b);
                let (left, right) = (if column_a == at { va[p] } else { 0.0 }, if column_b == at { vb[q] } else { 0.0 });
                let order = left.total_cmp(&right);
                if order.is_ne() {
                    return order;
                }
                (p, q) = (p + usize::from(column_a == at), q + usize::from(column_b == at));
            }
        }
    }
}

/// Sorts the members of every set of `k` by rank.
pub(crate) fn sort_members(tuples: &mut [u32], k: usize, ranks: &[u32]) {
    tuples.chunks_exact_mut(k).for_each(|set| set.sort_unstable_by_key(|&row| ranks[row as usize]));
}
