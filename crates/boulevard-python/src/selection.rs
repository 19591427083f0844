//! Multi-task selection: fits, paths and searches over tables and tasks.

use boulevard::any::AnyModel;
use boulevard::methods::multitask_selection::{MultiTaskSelection, MultiTaskSelectionModel, SelectionSearch, TaskSet, transfer};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::table;
use crate::border;
use crate::errors::read;
use crate::models::{LARGE, Model};
use crate::request::{Limits, Tasks};

/// Whether a fit gets a thread of its own.
pub fn is_large(tasks: &TaskSet<'_>) -> bool {
    tasks.rows().saturating_mul(tasks.features().max(tasks.rows())) >= LARGE
}

/// Fits tasks for several values of `ln rho`, each from its neighbour's solution.
#[pyfunction]
pub fn selection_path<'py>(
    py: Python<'py>,
    parameters: &str,
    tasks: Tasks<'py>,
    ln_rhos: Vec<f64>,
    limits: Limits,
) -> PyResult<Vec<Model>> {
    let learner: MultiTaskSelection = read(py, parameters)?;
    let held = tasks.hold()?;
    let tasks = tasks.task_set(py, &held)?;
    let models = border::whole(py, &limits, true, |context| learner.path(&tasks, &ln_rhos, context))?;
    Ok(models.into_iter().map(|model| Model::new(model.into())).collect())
}

/// Searches rho and c by cross-validation. Returns the grid and the best model.
#[pyfunction]
pub fn selection_search<'py>(
    py: Python<'py>,
    parameters: &str,
    search: &str,
    tasks: Tasks<'py>,
    limits: Limits,
) -> PyResult<(Bound<'py, PyDict>, Model)> {
    let learner: MultiTaskSelection = read(py, parameters)?;
    let search: SelectionSearch = read(py, search)?;
    let held = tasks.hold()?;
    let tasks = tasks.task_set(py, &held)?;
    let result = border::whole(py, &limits, true, |context| search.run(&learner, &tasks, context))?;
    let grid = PyDict::new(py);
    grid.set_item("ln_rho", result.points.iter().map(|point| point.ln_rho).collect::<Vec<f64>>())?;
    grid.set_item("c", result.points.iter().map(|point| point.c).collect::<Vec<f64>>())?;
    grid.set_item("error", result.points.iter().map(|point| point.error).collect::<Vec<f64>>())?;
    grid.set_item("deviation", result.points.iter().map(|point| point.deviation).collect::<Vec<f64>>())?;
    grid.set_item("best", result.best)?;
    Ok((grid, Model::new(result.model.into())))
}

/// Errors of every task alone and together.
#[pyfunction]
pub fn selection_transfer<'py>(
    py: Python<'py>,
    parameters: &str,
    tasks: Tasks<'py>,
    folds: usize,
    seed: u64,
    limits: Limits,
) -> PyResult<Bound<'py, PyDict>> {
    let learner: MultiTaskSelection = read(py, parameters)?;
    let held = tasks.hold()?;
    let tasks = tasks.task_set(py, &held)?;
    let report = border::whole(py, &limits, true, |context| transfer(&learner, &tasks, folds, seed, context))?;
    let parts = PyDict::new(py);
    parts.set_item("tasks", report.tasks)?;
    parts.set_item("alone", report.alone.into_pyarray(py))?;
    parts.set_item("together", report.together.into_pyarray(py))?;
    parts.set_item("rows", report.rows)?;
    Ok(parts)
}

/// Everything there is to see of a fitted model.
pub fn parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(model) = any.get::<MultiTaskSelectionModel>() else { return Ok(false) };
    let py = parts.py();
    let groups = model.groups();
    parts.set_item("switches", table(py, model.switches.clone(), model.switches.len() / groups, groups)?)?;
    if model.kernels.is_empty() {
        parts.set_item("weights", table(py, model.weights.clone(), model.tasks(), model.features)?)?;
    } else {
        parts.set_item("weights", py.None())?;
    }
    parts.set_item("intercepts", model.intercepts.clone().into_pyarray(py))?;
    let coefficients: Vec<_> = model.coefficients.iter().map(|of| of.clone().into_pyarray(py)).collect();
    parts.set_item("coefficients", PyList::new(py, coefficients)?)?;
    parts.set_item("groups", (0..groups).map(|group| model.group_name(group)).collect::<Vec<_>>())?;
    parts.set_item("selected", model.selected())?;
    parts.set_item("choice", serde_json::json!(model.choice).to_string())?;
    parts.set_item("outputs", serde_json::json!(model.outputs).to_string())?;
    Ok(true)
}
