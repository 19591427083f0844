//! What only models with induced features have: their parts, the transformed table, stages and explanations.

use std::time::Instant;

use boulevard::Error;
use boulevard::any::AnyModel;
use boulevard::methods::feature_induction::tree::{Output, SortedColumns, TreeSettings, grow};
use boulevard::methods::feature_induction::{FeatureInductionModel, Final};
use boulevard::svm::Classifier;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::arrays::{Table, counts, table};
use crate::errors::convert;
use crate::models::{Model, ask};

/// The machine's arrays and column names; rules, curves and reasons as JSON under `details`.
pub fn parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(model) = any.get::<FeatureInductionModel>() else { return Ok(false) };
    let py = parts.py();
    if let Final::Linear(machine) = &model.machine {
        parts.set_item("coefficients", table(py, machine.weights.clone(), machine.outputs(), machine.features)?)?;
        parts.set_item("intercepts", machine.biases.clone().into_pyarray(py))?;
    }
    parts.set_item("center", model.standard.center.clone().into_pyarray(py))?;
    parts.set_item("spread", model.standard.spread.clone().into_pyarray(py))?;
    let classes: Vec<_> = model
        .inductions
        .iter()
        .map(|induction| {
            json!({
                "errors": induction.stages.iter().map(|stage| stage.error).collect::<Vec<_>>(),
                "objectives": induction.stages.iter().map(|stage| stage.objective).collect::<Vec<_>>(),
                "gammas": induction.features.iter().map(|feature| feature.gamma).collect::<Vec<_>>(),
                "edges": induction.features.iter().map(|feature| feature.edge.edge).collect::<Vec<_>>(),
                "bounds": induction.features.iter().map(|feature| feature.edge.decrease).collect::<Vec<_>>(),
                "rounds": induction.features.iter().map(|feature| feature.round).collect::<Vec<_>>(),
                "choice": induction.choice,
                "ending": induction.ending.text(),
                "declined": induction.declined,
                "tree_seconds": induction.tree_seconds,
                "refit_seconds": induction.refit_seconds,
            })
        })
        .collect();
    parts.set_item("details", json!({ "classes": classes, "rules": model.rules(), "list": model.list }).to_string())?;
    parts.set_item("names", model.column_names())?;
    Ok(true)
}

fn of(any: &AnyModel) -> Result<&FeatureInductionModel, Error> {
    any.expect()
}

/// The table the last machine sees: standardised original columns and induced ones.
#[pyfunction]
pub fn induced_table<'py>(py: Python<'py>, model: &Model, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let columns = model.look(|any| of(any).map(FeatureInductionModel::columns)).map_err(|error| convert(py, error))?;
    let (values, rows) = model.judge(py, x, threads, |any, x, context| {
        let z = ask(any, x, |model: &FeatureInductionModel, x| model.transform(x, context))?;
        Ok((0..z.rows()).flat_map(|row| (0..z.columns()).map(move |j| (row, j))).map(|(row, j)| z.get(row, j)).collect())
    })?;
    table(py, values, rows, columns)
}

/// Class codes with 0, 1, 2, ... features per class.
#[pyfunction]
pub fn induced_stages<'py>(py: Python<'py>, model: &Model, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let stages = model.look(|any| of(any).map(|model| model.most_features() + 1)).map_err(|error| convert(py, error))?;
    let (values, rows) = model.judge(py, x, threads, |any, x, context| {
        let model = of(any)?;
        let z = ask(any, x, |model: &FeatureInductionModel, x| model.transform(x, context))?;
        let mut values = vec![0.0; z.rows() * stages];
        for stage in 0..stages {
            for (row, code) in model.codes(&model.staged_from(&z, stage)?).into_iter().enumerate() {
                values[row * stages + stage] = f64::from(code);
            }
        }
        Ok(values)
    })?;
    table(py, values, rows, stages)
}

/// One JSON text per row: what every feature and rule added to its decision.
#[pyfunction]
pub fn induced_explain(py: Python<'_>, model: &Model, x: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let held = Table::extract(x)?;
    let matrix = held.matrix()?;
    let explain = |any: &AnyModel| -> Result<Vec<String>, Error> {
        ask(any, &matrix, |model: &FeatureInductionModel, x| {
            (0..x.rows()).map(|row| Ok(json!(model.explain(x, row)?).to_string())).collect()
        })
    };
    model.look(explain).map_err(|error| convert(py, error))
}

/// The model as text, with up to this many rules.
#[pyfunction]
pub fn induced_text(model: &Model, rules: usize) -> PyResult<String> {
    model.look(|any| of(any).map(|model| model.export_text(rules))).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Grows one tree on one thread, for comparisons: seconds for sorting the columns, least seconds for growing and pruning, leaves, and what
/// the tree says about every row. `y` is 0 or 1.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn grow_tree<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    depth: usize,
    repeats: usize,
) -> PyResult<(f64, f64, usize, Bound<'py, PyArray1<f64>>)> {
    let held = Table::extract(x)?;
    let matrix = held.matrix()?;
    matrix.check_finite("X").map_err(|error| convert(py, error))?;
    let positive: Vec<bool> = counts(y)?.into_iter().map(|code| code == 1).collect();
    if positive.len() != matrix.rows() {
        return Err(PyValueError::new_err(format!("{} labels for {} rows", positive.len(), matrix.rows())));
    }
    let start = Instant::now();
    let columns = SortedColumns::new(&matrix, 1);
    let sorting = start.elapsed().as_secs_f64();
    let ones = vec![1.0; positive.len()];
    let settings = TreeSettings { max_depth: depth, ..TreeSettings::default() };
    let (mut growing, mut tree) = (f64::INFINITY, None);
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        tree = Some(grow(&columns, &positive, &ones, &settings));
        growing = growing.min(start.elapsed().as_secs_f64());
    }
    let tree = tree.ok_or_else(|| PyValueError::new_err("no tree"))?;
    let said = columns.evaluate(&tree, Output::Soft);
    Ok((sorting, growing, tree.leaves(), said.into_pyarray(py)))
}
