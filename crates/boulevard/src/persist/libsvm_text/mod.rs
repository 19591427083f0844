//! LIBSVM's text format of models, read and written, so that either program can use the other's models.
//!
//! Classification is one-vs-one in the same layout: `svm-predict` takes class `i` of a pair when `sum coef K - rho > 0`, which is our pair
//! output with `intercept = -rho`, and `probA`, `probB` are our [`crate::svm::Sigmoid`].
//!
//! What the format cannot hold:
//! - Class names must be integers (or be mapped to integers by [`WriteOptions::labels`]).
//! - C, epsilon, tolerance, weights, feature names and the certificate are lost: a model that was read has default parameters, and a
//!   report with an infinite gap, because nothing is known about its optimality.
//! - The width of the training table is lost: it is taken to be the largest column that any support vector uses, unless
//!   [`ReadOptions::features`] says more.
//! - Training rows are lost except for precomputed kernels: support vectors are numbered 0, 1, 2, ...
//!
//! What our models cannot hold is read over: `probA` of a regression model (the scale of a Laplace error distribution) and
//! `prob_density_marks` of a one-class model (deciles of training scores) serve LIBSVM's own `-b 1` only; no prediction depends on them.
//!
//! Ties between votes: LIBSVM takes the first class, our models the larger confidence. [`vote`] is LIBSVM's rule.

mod read;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;

use super::AnyModel;
use super::native;
use crate::any::Kind;
use crate::error::{Error, Result};
use crate::svm::{OneClassModel, SvcModel, SvrModel};

/// What a LIBSVM model file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Columns of the tables that the model will judge; the largest column of any support vector if none is given. For a precomputed
    /// kernel: rows of the training table.
    pub features: Option<usize>,
}

/// How to write what LIBSVM says in another way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The integer for each class, in the order of [`crate::svm::SvcModel::classes`]. If none are given, class names must be integers.
    pub labels: Option<Vec<i32>>,
}

/// Reads a LIBSVM model file. The first mistake is an error with its line.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyModel> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    parse(&bytes, path, options)
}

/// Reads the bytes of a LIBSVM model file; `path` stands in messages only.
pub fn parse(bytes: &[u8], path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyModel> {
    let path = path.as_ref();
    read::parse(bytes, options).map_err(|(line, message)| Error::parse(path, line, message))
}

/// The kinds of models that LIBSVM knows.
pub const KINDS: [&str; 3] = [SvcModel::KIND, SvrModel::KIND, OneClassModel::KIND];

/// Writes a model for LIBSVM. The file appears whole or not at all.
pub fn write(model: &AnyModel, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    native::write(path.as_ref(), to_text(model, options)?.as_bytes())
}

/// The text of a model for LIBSVM. Numbers have the digits that give the same bits when read again.
pub fn to_text(model: &AnyModel, options: &WriteOptions) -> Result<String> {
    write::to_text(model, options)
}

/// The class that LIBSVM predicts from one sample's pair outputs ([`crate::svm::Classifier::outputs_in`]): most votes, the first of equals.
///
/// ```
/// use boulevard::persist::libsvm_text::vote;
/// // 0 beats 1, 2 beats 0, 1 beats 2: one vote each.
/// assert_eq!(vote(&[0.5, -3.0, 0.1], 3), 0);
/// ```
pub fn vote(pair_values: &[f64], classes: usize) -> usize {
    let mut votes = vec![0usize; classes];
    for ((i, j), &value) in crate::svm::pairs(classes).into_iter().zip(pair_values) {
        votes[if value > 0.0 { i } else { j }] += 1;
    }
    let most = votes.iter().copied().max().unwrap_or(0);
    votes.iter().position(|&count| count == most).unwrap_or(0)
}
