//! Grid searches.

use boulevard::persist::AnyModel;
use boulevard::svm::{Svc, Svr};
use boulevard::validation::{GridResult, GridSearch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::border;
use crate::errors::read;
use crate::models::Model;
use crate::request::{Data, Limits};

/// Searches with the machine `kind`. Returns the table, the refitted model if there is one, and what stopped the search.
#[pyfunction]
pub fn grid_search<'py>(
    py: Python<'py>,
    kind: &str,
    parameters: &str,
    search: &str,
    data: Data<'py>,
    limits: Limits,
) -> PyResult<(Bound<'py, PyDict>, Option<Model>, Option<PyErr>)> {
    let held = data.hold()?;
    let data = data.dataset(&held)?;
    let search: GridSearch = read(py, search)?;
    match kind {
        "svc" => {
            let learner: Svc = read(py, parameters)?;
            let (result, raised) = border::run(py, &limits, true, |context| search.svc(&learner, &data, context))?;
            Ok((describe(py, &result)?, result.model.map(|model| Model::new(AnyModel::Svc(model))), raised))
        }
        "svr" => {
            let learner: Svr = read(py, parameters)?;
            let (result, raised) = border::run(py, &limits, true, |context| search.svr(&learner, &data, context))?;
            Ok((describe(py, &result)?, result.model.map(|model| Model::new(AnyModel::Svr(model))), raised))
        }
        _ => Err(PyValueError::new_err(format!("no grid search for `{kind}`"))),
    }
}

/// The table as lists, one entry per point.
fn describe<'py, M>(py: Python<'py>, result: &GridResult<M>) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let points = &result.points;
    table.set_item("C", points.iter().map(|point| point.c).collect::<Vec<f64>>())?;
    table.set_item("gamma", points.iter().map(|point| point.gamma).collect::<Vec<Option<f64>>>())?;
    table.set_item("epsilon", points.iter().map(|point| point.epsilon).collect::<Vec<Option<f64>>>())?;
    table.set_item("mean", points.iter().map(|point| point.mean).collect::<Vec<f64>>())?;
    table.set_item("std", points.iter().map(|point| point.standard_deviation).collect::<Vec<f64>>())?;
    let scores: Vec<Vec<f64>> = points.iter().map(|point| point.scores.clone()).collect();
    table.set_item("scores", PyList::new(py, scores)?)?;
    table.set_item("best", result.best)?;
    table.set_item("score", result.score.name())?;
    table.set_item("larger_is_better", result.score.larger_is_better())?;
    table.set_item("status", result.stop.code())?;
    Ok(table)
}
