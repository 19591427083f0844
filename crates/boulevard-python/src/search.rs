//! Grid searches.

use boulevard::data::Dataset;
use boulevard::kernel::Kernel;
use boulevard::persist::AnyModel;
use boulevard::svm::{Svc, Svr};
use boulevard::validation::{AutomaticGrid, GridPick, GridResult, GridSearch, Score};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Deserialize;

use crate::border;
use crate::errors::{convert, read};
use crate::models::Model;
use crate::request::{Data, Limits};

/// A search in which values may be left to the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    c: Option<Vec<f64>>,
    gamma: Option<Vec<f64>>,
    epsilon: Option<Vec<f64>>,
    folds: usize,
    seed: u64,
    score: Option<Score>,
    refine: bool,
    pick: GridPick,
}

impl Asked {
    /// The search with all values, and where those come from that were not given.
    fn search(self, kernel: &Kernel, data: &Dataset<'_>) -> boulevard::Result<(GridSearch, Option<String>)> {
        let left = self.c.is_none() || self.gamma.is_none() || self.epsilon.is_none();
        let automatic = if left { Some(AutomaticGrid::new(kernel, data)?) } else { None };
        let or = |given: Option<Vec<f64>>, own: &dyn Fn(&AutomaticGrid) -> Vec<f64>| {
            given.unwrap_or_else(|| automatic.as_ref().map_or(Vec::new(), own))
        };
        let search = GridSearch {
            c: or(self.c, &|grid| grid.c.clone()),
            gamma: or(self.gamma, &|grid| grid.gamma.clone()),
            epsilon: or(self.epsilon, &|grid| grid.epsilon.clone()),
            folds: self.folds,
            seed: self.seed,
            score: self.score,
            refit: false,
            refine: self.refine,
            pick: self.pick,
        };
        Ok((search, automatic.map(|grid| grid.why)))
    }
}

/// Searches with the machine `kind`. Returns the table and what stopped the search; nothing is fitted on all rows.
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
    let asked: Asked = read(py, search)?;
    match kind {
        "svc" => {
            let learner: Svc = read(py, parameters)?;
            let (search, why) = asked.search(&learner.kernel, &data).map_err(|error| convert(py, error))?;
            let (result, raised) = border::run(py, &limits, true, |context| search.svc(&learner, &data, context))?;
            Ok((describe(py, &result, &search, why)?, result.model.map(|model| Model::new(AnyModel::Svc(model))), raised))
        }
        "svr" => {
            let learner: Svr = read(py, parameters)?;
            let (search, why) = asked.search(&learner.kernel, &data).map_err(|error| convert(py, error))?;
            let (result, raised) = border::run(py, &limits, true, |context| search.svr(&learner, &data, context))?;
            Ok((describe(py, &result, &search, why)?, result.model.map(|model| Model::new(AnyModel::Svr(model))), raised))
        }
        _ => Err(PyValueError::new_err(format!("no grid search for `{kind}`"))),
    }
}

/// The table as lists, one entry per point.
fn describe<'py, M>(py: Python<'py>, result: &GridResult<M>, search: &GridSearch, why: Option<String>) -> PyResult<Bound<'py, PyDict>> {
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
    table.set_item("refined", result.refined)?;
    table.set_item("searched", (true, !search.gamma.is_empty(), !search.epsilon.is_empty()))?;
    table.set_item("values_from", why)?;
    table.set_item("pick", search.pick.in_words())?;
    table.set_item("score", result.score.name())?;
    table.set_item("larger_is_better", result.score.larger_is_better())?;
    table.set_item("status", result.stop.code())?;
    Ok(table)
}
