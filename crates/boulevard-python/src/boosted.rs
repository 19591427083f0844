//! The parts of a boosted classifier as Python sees them.

use boulevard::any::AnyModel;
use boulevard::methods::boosted::{BoostedModel, Kind, LabelEnsemble, Round};
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{give, int32, table};
use crate::models::{Model, ask};

/// Adds what is special about the model.
pub fn parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(model) = any.get::<BoostedModel>() else { return Ok(false) };
    let py = parts.py();
    let kind = match model.kind {
        Kind::TwoClasses | Kind::Classes => "classes",
        Kind::Labels => "labels",
    };
    parts.set_item("target", kind)?;
    parts.set_item("at_least_one", model.at_least_one)?;
    parts.set_item("thresholds", model.labels.iter().map(|label| label.threshold).collect::<Vec<f64>>().into_pyarray(py))?;
    parts.set_item("stage_scores", model.stage_scores.clone().into_pyarray(py))?;
    parts.set_item("chosen", model.chosen.as_ref().map(|chosen| serde_json::json!(chosen).to_string()))?;
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
    parts.set_item("members", members(py, model)?)?;
    Ok(true)
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

/// Decision values after 1, 2, ... rounds.
pub fn staged<'py>(py: Python<'py>, model: &Model, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let shape = model.look(|any| any.get::<BoostedModel>().map_or((1, 1), |model| (model.rounds().max(1), model.labels.len())));
    let (values, rows) = model.judge(py, x, threads, |any, x, context| {
        ask(any, x, |model: &BoostedModel, x| model.staged_decision_values_in(x, context).map(|stages| stages.concat()))
    })?;
    stages(py, shape, values, rows)
}

/// Cuts decision values of all stages apart. Large tables come in chunks of rows, each with all its stages.
fn stages(py: Python<'_>, shape: (usize, usize), values: Vec<f64>, rows: usize) -> PyResult<Vec<Bound<'_, PyArray2<f64>>>> {
    let (stages, columns) = shape;
    let mut all = vec![Vec::with_capacity(rows * columns); stages];
    let mut rest = &values[..];
    let mut left = rows;
    while left > 0 {
        let chunk = left.min(boulevard::svm::ROWS_AT_ONCE);
        for stage in &mut all {
            let (part, after) = rest.split_at(chunk * columns);
            stage.extend_from_slice(part);
            rest = after;
        }
        left -= chunk;
    }
    all.into_iter().map(|values| table(py, values, rows, columns)).collect()
}
