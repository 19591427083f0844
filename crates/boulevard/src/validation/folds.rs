//! The folds that fit a table, and one pass over many repetitions of them.

use crate::data::split::{self, Split};
use crate::data::{Dataset, Target};
use crate::error::Result;

/// `k` folds of a table: whole groups if there are groups, else every class or every label in its share.
pub fn default_folds(data: &Dataset<'_>, k: usize, seed: u64) -> Result<Vec<Split>> {
    match (&data.groups, &data.target) {
        (Some(groups), _) => split::group_k_fold(groups, k, seed),
        (None, Target::Classes(classes)) => split::stratified_k_fold(classes, k, seed),
        (None, Target::Labels(labels)) => split::multilabel_k_fold(labels, k, seed),
        (None, Target::Real(_) | Target::None) => split::k_fold(data.len(), k, seed),
    }
}
