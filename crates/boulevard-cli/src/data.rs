//! Reading data for a plan, and what cross-validation of it gives.

use std::path::Path;

use anyhow::{Result, ensure};
use boulevard::any::AnyLearner;
use boulevard::data::io::{PrecomputedUse, ReadOptions, TargetKind, read_precomputed};
use boulevard::data::split::Split;
use boulevard::data::{Dataset, Target};
use boulevard::observe::{Context, StopReason};
use boulevard::svm::Learner;
use boulevard::validation::{FoldResult, cross_validate};

use crate::args::DataArgs;
use crate::files::{self, expect_file};
use crate::learner::Plan;
use crate::report::complain;

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
    if options.target == TargetKind::None && options.label.is_none() {
        return read_without_label(path, &options);
    }
    Ok(Dataset::read_with(path, &options)?)
}

/// For methods that need no label: every column is a feature, but a last one that holds text can only be a label.
fn read_without_label(path: &Path, options: &ReadOptions) -> Result<Dataset<'static>> {
    // Standard input can be read only once.
    let input = if path.as_os_str() == "-" { Some(files::standard_input()?) } else { None };
    let load = |options: &ReadOptions| match &input {
        Some(bytes) => Dataset::read_from(&bytes[..], "-", options),
        None => Dataset::read_with(path, options),
    };
    match load(options) {
        Ok(data) => {
            if let Some(name) = data.feature_names.as_ref().and_then(|names| names.last())
                && data.x.columns() > 1
                && few_whole_numbers(&data)
            {
                complain(&format!(
                    "hint: the last column `{name}` is taken as a feature; if it is a label, leave it out with --label {name}"
                ));
            }
            Ok(data)
        }
        Err(refused) => match load(&ReadOptions { target: TargetKind::Classes, ..options.clone() }) {
            Ok(data) if matches!(&data.target, Target::Classes(classes) if classes.names().iter().any(|name| name.parse::<f64>().is_err())) =>
            {
                complain("hint: the last column holds text: it is taken as a label and not learnt from");
                Ok(Dataset { target: Target::None, ..data })
            }
            _ => Err(refused.into()),
        },
    }
}

/// Whether the last column looks like classes.
fn few_whole_numbers(data: &Dataset<'_>) -> bool {
    const FEW: usize = 10;
    let last = data.x.columns() - 1;
    let mut seen: Vec<f64> = Vec::new();
    for row in 0..data.len() {
        let value = data.x.get(row, last);
        if value.fract() != 0.0 {
            return false;
        }
        if !seen.contains(&value) {
            seen.push(value);
        }
        if seen.len() > FEW {
            return false;
        }
    }
    data.len() > 2 * seen.len()
}

/// Fails for a column of tasks that none of the methods looks at.
pub fn expect_tasks(plans: &[Plan], args: &DataArgs) -> Result<()> {
    let known = plans.iter().any(|plan| matches!(plan.learner(), AnyLearner::MultiTaskSelection(_)));
    ensure!(args.task.is_none() || known, "--task does not apply to this method: it belongs to select (--ignore leaves a column out)");
    Ok(())
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
