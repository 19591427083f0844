//! Reading data for a plan, and the split of rows into folds.

use std::path::Path;

use anyhow::Result;
use boulevard::data::io::{PrecomputedUse, TargetKind, read_precomputed};
use boulevard::data::split::{self, Split};
use boulevard::data::{Dataset, Target};
use boulevard::kernel::Kernel;

use crate::args::DataArgs;
use crate::files::expect_file;
use crate::learner::Plan;

/// Reads a training file.
pub fn read_for(plan: &Plan, path: &Path, args: &DataArgs) -> Result<Dataset<'static>> {
    let options = args.options(plan.target());
    expect_file(path)?;
    if *plan.kernel() == Kernel::Precomputed {
        let table = read_precomputed(path, &options, PrecomputedUse::Train)?;
        anyhow::ensure!(
            table.own_columns.iter().enumerate().all(|(row, &column)| row == column) && table.data.x.columns() == table.data.len(),
            "{}: a kernel file for training must be square, with row i numbered `0:i` ({} rows, {} columns)",
            path.display(),
            table.data.len(),
            table.data.x.columns()
        );
        return Ok(table.data);
    }
    Ok(Dataset::read_with(path, &options)?)
}

/// Reads any file with the target as the options say.
pub fn read(path: &Path, args: &DataArgs, target: TargetKind) -> Result<Dataset<'static>> {
    expect_file(path)?;
    Ok(Dataset::read_with(path, &args.options(target))?)
}

/// Folds that fit the data: whole groups if there are groups, else every class in its share.
pub fn folds(data: &Dataset<'_>, k: usize, repeats: usize, seed: u64) -> Result<Vec<Split>> {
    Ok(split::repeated(repeats, seed, |seed| match (&data.groups, &data.target) {
        (Some(groups), _) => split::group_k_fold(groups, k, seed),
        (None, Target::Classes(classes)) => split::stratified_k_fold(classes, k, seed),
        (None, Target::Labels(labels)) => split::multilabel_k_fold(labels, k, seed),
        (None, Target::Real(_) | Target::None) => split::k_fold(data.len(), k, seed),
    })?)
}

/// Size and kind of a table in words.
pub fn in_words(data: &Dataset<'_>) -> String {
    let sparse = if data.x.is_sparse() { ", sparse" } else { "" };
    let target = match &data.target {
        Target::None => "no target".to_owned(),
        Target::Classes(classes) => format!("{} classes", classes.names().len()),
        Target::Real(_) => "a real target".to_owned(),
        Target::Labels(labels) => format!("{} labels", labels.names().len()),
    };
    format!("{} rows, {} features{sparse}, {target}", data.len(), data.x.columns())
}
