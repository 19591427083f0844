//! Reading data for a plan, and what cross-validation of it gives.

use std::path::Path;

use anyhow::{Result, ensure};
use boulevard::data::io::{PrecomputedUse, TargetKind, read_precomputed};
use boulevard::data::split::Split;
use boulevard::data::{Dataset, Target};
use boulevard::observe::{Context, StopReason};
use boulevard::svm::Learner;
use boulevard::validation::{FoldResult, cross_validate};

use crate::args::DataArgs;
use crate::files::expect_file;
use crate::learner::Plan;

/// Reads a training file.
pub fn read_for(plan: &Plan, path: &Path, args: &DataArgs) -> Result<Dataset<'static>> {
    let options = args.options(plan.target());
    expect_file(path)?;
    if plan.learner().is_precomputed() {
        let table = read_precomputed(path, &options, PrecomputedUse::Train)?;
        ensure!(
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

/// Every fold's result; work that was interrupted has none.
pub fn all_folds<L: Learner + Sync>(learner: &L, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<Vec<FoldResult>> {
    let found = cross_validate(learner, data, splits, context)?;
    ensure!(found.stop != StopReason::Interrupted, "interrupted");
    Ok(found.folds)
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
