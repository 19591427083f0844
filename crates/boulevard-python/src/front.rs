//! Fronts as Python sees them.

use boulevard::any::AnyModel;
use boulevard::methods::pareto::{FrontPoint, ParetoModel, WidthFront, by_training_error};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{int32, table};
use crate::errors::convert;
use crate::models::Model;

/// Looks at the front of a model that has one.
fn look<T>(model: &Model, view: impl FnOnce(&ParetoModel) -> PyResult<T>) -> PyResult<T> {
    model.look(|any| view(any.expect().map_err(|error| PyValueError::new_err(error.to_string()))?))
}

/// The columns of a table of points, by name.
fn columns<'py>(py: Python<'py>, points: &[FrontPoint]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let real = |name: &str, value: &dyn Fn(&FrontPoint) -> f64| {
        columns.set_item(name, points.iter().map(value).collect::<Vec<f64>>().into_pyarray(py))
    };
    real("quadratic", &|point| point.quadratic)?;
    real("sum_alpha", &|point| point.sum_alpha)?;
    real("train_error", &|point| point.train_error)?;
    real("holdout_error", &|point| point.holdout_error)?;
    real("equivalent_c", &|point| point.equivalent_c)?;
    real("margin", &|point| point.margin)?;
    real("gap", &|point| point.gap)?;
    columns.set_item("n_support", int32(py, &points.iter().map(|point| point.n_support).collect::<Vec<_>>()))?;
    Ok(columns)
}

/// One width of a family.
fn width<'py>(py: Python<'py>, own: &WidthFront) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("gamma", own.gamma)?;
    parts.set_item("table", columns(py, &own.front)?)?;
    parts.set_item("estimates", own.estimates.clone().into_pyarray(py))?;
    parts.set_item("holdouts", own.holdouts)?;
    parts.set_item("hypervolume", own.hypervolume)?;
    Ok(parts)
}

/// Everything about a front but its `alpha`s.
#[pyfunction]
pub fn front<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyDict>> {
    look(model, |model| {
        let parts = PyDict::new(py);
        parts.set_item("table", columns(py, &model.front)?)?;
        let machines: Vec<_> = model.machines.iter().map(|machine| columns(py, &machine.points)).collect::<PyResult<_>>()?;
        parts.set_item("machines", machines)?;
        parts.set_item("hypervolume", model.hypervolume().map_err(|error| convert(py, error))?)?;
        parts.set_item("reference", model.machines.iter().map(|machine| machine.reference).collect::<Vec<_>>())?;
        parts.set_item("picked", model.picked)?;
        parts.set_item("estimates", model.estimates.clone().into_pyarray(py))?;
        parts.set_item("rows", int32(py, &model.rows))?;
        parts.set_item("holdout_rows", model.holdout_rows)?;
        parts.set_item("order", int32(py, &by_training_error(&model.front)))?;
        let marks = model.marks();
        let named = PyDict::new(py);
        named.set_item("lowest", marks.lowest)?;
        named.set_item("knee", marks.knee)?;
        named.set_item("one_se", marks.one_se)?;
        named.set_item("parting", marks.parting)?;
        parts.set_item("marks", named)?;
        parts.set_item("intercept", model.has_intercept())?;
        parts.set_item("constant_error", model.constant_error())?;
        parts.set_item("no_better", model.is_no_better_than_constant())?;
        parts.set_item("width", model.chosen_width())?;
        let family: Vec<_> = model.family.iter().map(|own| width(py, own)).collect::<PyResult<_>>()?;
        parts.set_item("family", family)?;
        let common = model.common_front().map_err(|error| convert(py, error))?;
        let points: Vec<FrontPoint> = common.iter().map(|(.., point)| *point).collect();
        parts.set_item("common", columns(py, &points)?)?;
        parts.set_item("common_gamma", common.iter().map(|(own, ..)| model.family[*own].gamma).collect::<Vec<_>>().into_pyarray(py))?;
        Ok(parts)
    })
}

/// The `alpha`s of one machine's front, points x training rows, and the points' intercepts.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn front_alphas<'py>(
    py: Python<'py>,
    model: &Model,
    machine: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
    look(model, |model| {
        let Some(front) = model.machines.get(machine) else {
            return Err(PyValueError::new_err(format!("there are {} machines, no machine {machine}", model.machines.len())));
        };
        let alphas = table(py, front.alphas.clone(), front.points.len(), model.rows.len())?;
        Ok((alphas, front.biases.clone().into_pyarray(py)))
    })
}

/// A point of the front as an ordinary classifier, behind the same scaler if there is one.
#[pyfunction]
pub fn select(py: Python<'_>, model: &Model, index: usize) -> PyResult<Model> {
    let select = |any: &AnyModel| any.with_inner(any.expect::<ParetoModel>()?.select(index)?.into());
    model.look(select).map(Model::new).map_err(|error| convert(py, error))
}
