//! Models as the program uses them: read from files of either format, asked about rows, fitted to the columns of a table.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use boulevard::data::{Dataset, Matrix, Sets, Target};
use boulevard::observe::Context;
use boulevard::persist::{AnyModel, libsvm_text};
use boulevard::svm::{Answers, Decisions, Model, Rows};
use boulevard::words::listed;

use crate::files;
use crate::report::complain;

/// Reads a model file, native or LIBSVM's: the first bytes tell.
pub fn load(path: &Path) -> Result<AnyModel> {
    load_for(path, 0)
}

/// As [`load`], for tables of this many columns. A LIBSVM file does not say how many its training table had; columns that no support
/// vector uses still count in distances.
pub fn load_for(path: &Path, columns: usize) -> Result<AnyModel> {
    files::expect_file(path)?;
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let parse = |features| libsvm_text::parse(&bytes, path, &libsvm_text::ReadOptions { features });
    Ok(match bytes.trim_ascii_start().starts_with(b"svm_type") {
        true => match parse(None)? {
            model if model.features() < columns => parse(Some(columns))?,
            model => model,
        },
        false => AnyModel::from_bytes(&bytes).with_context(|| path.display().to_string())?,
    })
}

/// Decisions about the rows of a table, by sets or tasks where the model wants them.
pub fn decide(model: &AnyModel, data: &Dataset<'_>, sets: Option<&Sets>, context: &Context<'_>) -> Result<Decisions> {
    if let Answers::Tasks { names, .. } = model.answers() {
        ensure!(
            data.tasks.is_some() || names.len() < 2,
            "the model has {} tasks: name the column that says which task a row belongs to with --task",
            names.len()
        );
    }
    Ok(model.decide(&Rows { x: &data.x, sets, tasks: data.tasks.as_ref() }, context)?)
}

/// What the model says about every row of a table.
pub fn predict(model: &AnyModel, data: &Dataset<'_>, context: &Context<'_>) -> Result<Target> {
    Ok(model.predictions_from(&decide(model, data, None, context)?)?)
}

/// Puts columns into the model's order where both sides have names; else checks the count.
pub fn align(model: &AnyModel, data: &mut Dataset<'static>, path: &Path) -> Result<()> {
    let wanted = model.features();
    let found = data.x.columns();
    if let (Some(names), Some(have)) = (model.feature_names(), &data.feature_names)
        && names != have.as_slice()
    {
        let place: std::collections::HashMap<&str, usize> = have.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        // A one-hot column `column=value` is absent when no row has that value: it is zero then.
        let absent = |name: &str| name.split_once('=').is_some_and(|(column, _)| have.iter().any(|h| h.starts_with(&format!("{column}="))));
        let missing: Vec<&str> = names.iter().map(String::as_str).filter(|name| !place.contains_key(name) && !absent(name)).collect();
        if missing.is_empty() {
            tell_unseen(names, have, &data.x);
            let order: Vec<usize> = names.iter().map(|name| place.get(name.as_str()).copied().unwrap_or(usize::MAX)).collect();
            data.x = columns(&data.x, &order)?;
            data.feature_names = Some(names.to_vec());
            return Ok(());
        }
        let extra: Vec<&str> = have.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
        bail!(
            "{}: the model was trained on {wanted} features and the file has {found}; missing: {}; not known to the model: {}",
            path.display(),
            listed(&missing),
            listed(&extra)
        );
    }
    if found == wanted {
        return Ok(());
    }
    // LIBSVM files end at the largest index that occurs: columns beyond it are zeros.
    if data.x.is_sparse() && found < wanted {
        let order: Vec<usize> = (0..wanted).collect();
        data.x = columns(&data.x, &order)?;
        return Ok(());
    }
    let names = match (model.feature_names(), &data.feature_names) {
        (Some(names), _) => format!(" (the model's are {})", listed(names)),
        (None, Some(names)) => format!(" (the file's are {})", listed(names)),
        (None, None) => String::new(),
    };
    bail!("{}: the model was trained on {wanted} features and the file has {found}{names}", path.display())
}

/// A value that a one-hot column never had in training is none of the known ones: whoever asks should know.
fn tell_unseen(names: &[String], have: &[String], x: &Matrix<'_>) {
    let known: std::collections::HashSet<&str> = names.iter().map(String::as_str).collect();
    let columns: std::collections::HashSet<&str> = names.iter().filter_map(|name| Some(name.split_once('=')?.0)).collect();
    let unseen: Vec<(usize, &str)> = have
        .iter()
        .enumerate()
        .filter(|(_, name)| !known.contains(name.as_str()) && name.split_once('=').is_some_and(|(column, _)| columns.contains(column)))
        .map(|(place, name)| (place, name.as_str()))
        .collect();
    if unseen.is_empty() {
        return;
    }
    let rows = (0..x.rows()).filter(|&row| unseen.iter().any(|&(place, _)| x.get(row, place) != 0.0)).count();
    let named: Vec<&str> = unseen.iter().map(|&(_, name)| name).collect();
    complain(&format!(
        "warning: {rows} of {} rows have values the model has never seen ({}): they count as none of the known ones",
        x.rows(),
        listed(&named)
    ));
}

/// The columns in `order`; numbers past the end are zeros.
fn columns(x: &Matrix<'_>, order: &[usize]) -> Result<Matrix<'static>> {
    let width = x.columns();
    let mut row = vec![0.0; width];
    let mut values = Vec::with_capacity(x.rows() * order.len());
    let sparse = x.is_sparse();
    for i in 0..x.rows() {
        x.copy_row(i, &mut row);
        values.extend(order.iter().map(|&j| row.get(j).copied().unwrap_or(0.0)));
    }
    let dense = Matrix::dense(values, x.rows(), order.len()).context("reordering columns")?;
    Ok(if sparse { dense.to_sparse() } else { dense })
}
