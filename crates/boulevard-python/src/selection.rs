//! Multi-task selection: fits, paths and searches over tables and tasks.

use boulevard::any::AnyModel;
use boulevard::methods::multitask_selection::{
    MultiTaskSelection, MultiTaskSelectionModel, Outputs, SelectionSearch, TaskSet, TaskTarget, transfer,
};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{Table, reals, table};
use crate::border::{self, Limits};
use crate::models::{LARGE, Model};

type Targets<'py> = Vec<(usize, Bound<'py, PyAny>)>;

fn unclear(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("parameters: {error}"))
}

/// The arrays as tables and tasks.
fn task_set<'a>(held: &'a [Table<'_>], targets: &Targets<'_>, outputs: &str, features: Option<Vec<String>>) -> PyResult<TaskSet<'a>> {
    let outputs: Outputs = serde_json::from_str(outputs).map_err(unclear)?;
    Ok(TaskSet {
        tables: held.iter().map(Table::matrix).collect::<PyResult<_>>()?,
        targets: targets.iter().map(|(table, y)| Ok(TaskTarget { table: *table, y: reals(y)? })).collect::<PyResult<_>>()?,
        outputs,
        feature_names: features,
    })
}

fn hold<'py>(tables: &[Bound<'py, PyAny>]) -> PyResult<Vec<Table<'py>>> {
    tables.iter().map(Table::extract).collect()
}

fn is_large(tasks: &TaskSet<'_>) -> bool {
    tasks.rows().saturating_mul(tasks.features().max(tasks.rows())) >= LARGE
}

/// Fits tasks. Returns the model and the exception that stopped the fit, if one did.
#[pyfunction]
#[pyo3(signature = (parameters, tables, targets, outputs, features, threads, max_time, memory, progress))]
pub fn fit_selection<'py>(
    py: Python<'py>,
    parameters: &str,
    tables: Vec<Bound<'py, PyAny>>,
    targets: Targets<'py>,
    outputs: &str,
    features: Option<Vec<String>>,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, Option<PyErr>)> {
    let learner: MultiTaskSelection = serde_json::from_str(parameters).map_err(unclear)?;
    let held = hold(&tables)?;
    let tasks = task_set(&held, &targets, outputs, features)?;
    let limits = Limits { threads, time: max_time, memory, progress };
    let (model, raised) = border::run(py, &limits, is_large(&tasks), |context| learner.fit_tasks(&tasks, context))?;
    Ok((Model::new(model.into()), raised))
}

/// Fits tasks for several values of `ln rho`, each from its neighbour's solution.
#[pyfunction]
#[pyo3(signature = (parameters, tables, targets, outputs, features, ln_rhos, threads, max_time, memory, progress))]
pub fn selection_path<'py>(
    py: Python<'py>,
    parameters: &str,
    tables: Vec<Bound<'py, PyAny>>,
    targets: Targets<'py>,
    outputs: &str,
    features: Option<Vec<String>>,
    ln_rhos: Vec<f64>,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Model>> {
    let learner: MultiTaskSelection = serde_json::from_str(parameters).map_err(unclear)?;
    let held = hold(&tables)?;
    let tasks = task_set(&held, &targets, outputs, features)?;
    let limits = Limits { threads, time: max_time, memory, progress };
    let (models, raised) = border::run(py, &limits, true, |context| learner.path(&tasks, &ln_rhos, context))?;
    raised.map_or(Ok(models.into_iter().map(|model| Model::new(model.into())).collect()), Err)
}

/// Searches rho and c by cross-validation. Returns the grid and the best model.
#[pyfunction]
#[pyo3(signature = (parameters, search, tables, targets, outputs, features, threads, max_time, memory, progress))]
pub fn selection_search<'py>(
    py: Python<'py>,
    parameters: &str,
    search: &str,
    tables: Vec<Bound<'py, PyAny>>,
    targets: Targets<'py>,
    outputs: &str,
    features: Option<Vec<String>>,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyDict>, Model)> {
    let learner: MultiTaskSelection = serde_json::from_str(parameters).map_err(unclear)?;
    let search: SelectionSearch = serde_json::from_str(search).map_err(unclear)?;
    let held = hold(&tables)?;
    let tasks = task_set(&held, &targets, outputs, features)?;
    let limits = Limits { threads, time: max_time, memory, progress };
    let (result, raised) = border::run(py, &limits, true, |context| search.run(&learner, &tasks, context))?;
    if let Some(raised) = raised {
        return Err(raised);
    }
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
#[pyo3(signature = (parameters, tables, targets, outputs, features, folds, seed, threads, max_time, memory, progress))]
pub fn selection_transfer<'py>(
    py: Python<'py>,
    parameters: &str,
    tables: Vec<Bound<'py, PyAny>>,
    targets: Targets<'py>,
    outputs: &str,
    features: Option<Vec<String>>,
    folds: usize,
    seed: u64,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let learner: MultiTaskSelection = serde_json::from_str(parameters).map_err(unclear)?;
    let held = hold(&tables)?;
    let tasks = task_set(&held, &targets, outputs, features)?;
    let limits = Limits { threads, time: max_time, memory, progress };
    let (report, raised) = border::run(py, &limits, true, |context| transfer(&learner, &tasks, folds, seed, context))?;
    if let Some(raised) = raised {
        return Err(raised);
    }
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
    parts.set_item("outputs", serde_json::to_string(&model.outputs).map_err(unclear)?)?;
    parts.set_item("notes", model.notes.clone())?;
    Ok(true)
}

/// Fits probabilities on the tasks a model learnt from.
pub fn calibrate(
    py: Python<'_>,
    model: &Model,
    tables: &[Bound<'_, PyAny>],
    targets: &Targets<'_>,
    outputs: &str,
    limits: &Limits,
) -> PyResult<()> {
    let held = hold(tables)?;
    let tasks = task_set(&held, targets, outputs, None)?;
    let mut copy = model.look(|any| any.get::<MultiTaskSelectionModel>().cloned());
    let (done, raised) = border::run(py, limits, is_large(&tasks), |context| {
        if let Some(model) = &mut copy {
            model.calibrate(&tasks, context)?;
        }
        Ok(copy)
    })?;
    if let Some(raised) = raised {
        return Err(raised);
    }
    if let Some(calibrated) = done {
        model.replace(calibrated.into());
    }
    Ok(())
}
