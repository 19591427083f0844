//! The parts of a boosted classifier as Python sees them.

use boulevard::methods::boosted::{BoostedModel, Kind, LabelEnsemble, Round};
use boulevard::persist::AnyModel;
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{give, int32, table};

/// Adds what is special about the model.
pub fn parts(parts: &Bound<'_, PyDict>, model: &BoostedModel) -> PyResult<()> {
    let py = parts.py();
    let kind = match model.kind {
        Kind::TwoClasses | Kind::Classes => "classes",
        Kind::Labels => "labels",
    };
    parts.set_item("target", kind)?;
    parts.set_item("at_least_one", model.at_least_one)?;
    parts.set_item("thresholds", model.labels.iter().map(|label| label.threshold).collect::<Vec<f64>>().into_pyarray(py))?;
    parts.set_item("stage_scores", model.stage_scores.clone().into_pyarray(py))?;
    let endings: Vec<String> = model.labels.iter().map(|label| serde_json::json!(label.ending).as_str().unwrap_or("").to_owned()).collect();
    parts.set_item("endings", endings)?;
    let numbers = |part: fn(&Round) -> f64| {
        let one = |label: &LabelEnsemble| label.rounds.iter().map(part).collect::<Vec<f64>>().into_pyarray(py);
        PyList::new(py, model.labels.iter().map(one))
    };
    parts.set_item("alphas", numbers(|round| round.alpha)?)?;
    parts.set_item("errors", numbers(|round| round.error)?)?;
    parts.set_item("sigmas", numbers(|round| round.sigma)?)?;
    let weights = PyList::empty(py);
    for label in &model.labels {
        let history = label.weights();
        let rows = history.first().map_or(0, Vec::len);
        weights.append(table(py, history.concat(), history.len(), rows)?)?;
    }
    parts.set_item("weights", weights)?;
    parts.set_item("machines", machines(py, model)?)?;
    parts.set_item("members", members(py, model)?)
}

/// The machines' arrays: one per kernel width.
fn machines<'py>(py: Python<'py>, model: &BoostedModel) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for machine in &model.machines {
        let one = PyDict::new(py);
        one.set_item("support", int32(py, &machine.support))?;
        one.set_item("vectors", give(py, &machine.vectors)?)?;
        one.set_item("coefficients", table(py, machine.coefficients.clone(), machine.outputs(), machine.len())?)?;
        one.set_item("intercepts", machine.intercepts.clone().into_pyarray(py))?;
        all.append(one)?;
    }
    Ok(all)
}

/// By label: which machine and which of its outputs each round is, and how many rows it learnt from.
fn members<'py>(py: Python<'py>, model: &BoostedModel) -> PyResult<Bound<'py, PyList>> {
    let one = |label: &LabelEnsemble| label.rounds.iter().map(|round| (round.machine, round.output, round.drawn)).collect::<Vec<_>>();
    PyList::new(py, model.labels.iter().map(one))
}

/// Stages and columns of a boosted classifier.
pub fn shape(any: &AnyModel) -> (usize, usize) {
    match any {
        AnyModel::Boosted(model) => (model.rounds().max(1), model.labels.len()),
        _ => (1, 1),
    }
}

/// Cuts decision values of all stages apart. Large tables come in chunks of rows, each with all its stages.
pub fn stages(py: Python<'_>, shape: (usize, usize), values: Vec<f64>, rows: usize) -> PyResult<Vec<Bound<'_, PyArray2<f64>>>> {
    let (stages, columns) = shape;
    let mut all = vec![Vec::with_capacity(rows * columns); stages];
    let mut rest = &values[..];
    let mut left = rows;
    while left > 0 {
        let chunk = left.min(super::models::CHUNK);
        for stage in &mut all {
            let (part, after) = rest.split_at(chunk * columns);
            stage.extend_from_slice(part);
            rest = after;
        }
        left -= chunk;
    }
    all.into_iter().map(|values| table(py, values, rows, columns)).collect()
}
