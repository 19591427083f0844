//! Sets of samples: kernels between them, and the classifier that makes one decision for each.

use boulevard::Error;
use boulevard::any::AnyModel;
use boulevard::data::Dataset;
use boulevard::kernel::permanent::{Normalization, log_set_kernel, set_kernel_into};
use boulevard::kernel::{Gamma, Kernel};
use boulevard::methods::multi_sample::{MultiSample, MultiSampleModel, SetMachine, SetSearch, Sets};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Table, counts, table};
use crate::border;
use crate::errors::read;
use crate::models::{Model, ask};
use crate::request::{Data, Limits};

/// What there is to see of a classifier of sets.
pub fn parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let (Some(model), py) = (any.get::<MultiSampleModel>(), parts.py()) else { return Ok(false) };
    parts.set_item("gamma", model.single.machine.kernel.gamma().and_then(Gamma::value))?;
    parts.set_item("deciding_gamma", model.gamma())?;
    parts.set_item("priors", model.priors.clone().into_pyarray(py))?;
    parts.set_item("rates", model.rates.clone().into_pyarray(py))?;
    parts.set_item("method", serde_json::json!(model.method()).as_str().unwrap_or(""))?;
    parts.set_item("chosen", model.chosen.as_ref().map(|chosen| serde_json::json!(chosen).to_string()))?;
    parts.set_item("sizes", model.machines.iter().map(|machine| machine.size).collect::<Vec<_>>())?;
    parts.set_item("support_sets", model.machines.iter().map(SetMachine::len).collect::<Vec<_>>())?;
    parts.set_item("extended", model.machines.iter().map(|machine| machine.columns).collect::<Vec<_>>())?;
    Ok(true)
}

/// Sets from offsets into a list of row numbers.
fn sets_of(offsets: &Bound<'_, PyAny>, members: &Bound<'_, PyAny>) -> PyResult<Sets> {
    let (offsets, members) = (counts(offsets)?, counts(members)?);
    let sound = offsets.first() == Some(&0) && offsets.last() == Some(&members.len()) && offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if !sound {
        return Err(PyValueError::new_err("offsets of sets must rise from 0 to the number of members"));
    }
    let sets: Vec<&[usize]> = offsets.windows(2).map(|pair| &members[pair[0]..pair[1]]).collect();
    Sets::new(&sets).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Kernel values between sets into `out`: `a` and `b` hold the samples of consecutive sets of `k`.
#[pyfunction]
#[pyo3(signature = (kernel, a, b, k, normalization, logarithms, threads, out))]
pub fn symmetric_kernel<'py>(
    py: Python<'py>,
    kernel: &str,
    a: &Bound<'py, PyAny>,
    b: Option<&Bound<'py, PyAny>>,
    k: usize,
    normalization: &str,
    logarithms: bool,
    threads: usize,
    out: &Bound<'py, PyArray2<f64>>,
) -> PyResult<()> {
    let kernel: Kernel = read(py, kernel)?;
    let normalization: Normalization = read(py, &format!("\"{normalization}\""))?;
    let held = (Table::extract(a)?, b.map(Table::extract).transpose()?);
    let left = held.0.matrix()?;
    let right = held.1.as_ref().map(Table::matrix).transpose()?;
    let mut writable = out.try_readwrite()?;
    let values = writable.as_slice_mut()?;
    if logarithms {
        let made =
            border::whole(py, &Limits::threads(threads), true, |context| log_set_kernel(&kernel, &left, right.as_ref(), k, context))?;
        values.copy_from_slice(&made);
        return Ok(());
    }
    border::whole(py, &Limits::threads(threads), true, |context| {
        set_kernel_into(&kernel, &left, right.as_ref(), k, normalization, context, values)
    })
}

/// One row of numbers per set (`decisions` or `probabilities`), or per member of a set (`contributions`).
#[pyfunction]
pub fn judge_sets<'py>(
    py: Python<'py>,
    model: &Model,
    what: &str,
    x: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    members: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let held = Table::extract(x)?;
    let (matrix, sets) = (held.matrix()?, sets_of(offsets, members)?);
    let rows = if what == "contributions" { (0..sets.len()).map(|set| sets.size(set)).sum() } else { sets.len() };
    let values = border::whole(py, &Limits::threads(threads), true, |context| {
        model.look(|any| {
            ask(any, &matrix, |model: &MultiSampleModel, x| match what {
                "decisions" => model.set_decisions(x, &sets, context),
                "probabilities" => model.set_probabilities(x, &sets, context),
                "contributions" => model.contributions(x, &sets, context),
                other => Err(Error::data(format!("sets have no `{other}`"))),
            })
        })
    })?;
    let columns = values.len().checked_div(rows).unwrap_or(1);
    table(py, values, rows, columns)
}

/// Scores of single samples: log posteriors up to a shift.
#[pyfunction]
pub fn sample_scores<'py>(py: Python<'py>, model: &Model, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let held = Table::extract(x)?;
    let matrix = held.matrix()?;
    let values = border::whole(py, &Limits::threads(threads), false, |context| {
        model.look(|any| ask(any, &matrix, |model: &MultiSampleModel, x| model.scores(x, context)))
    })?;
    let columns = values.len().checked_div(matrix.rows()).unwrap_or(1);
    table(py, values, matrix.rows(), columns)
}

/// Expected number of samples per class until the posterior passes `confidence`.
#[pyfunction]
pub fn expected_samples<'py>(py: Python<'py>, model: &Model, confidence: f64) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = border::whole(py, &Limits::threads(1), false, |_| {
        model.look(|any| any.expect::<MultiSampleModel>()?.expected_samples(confidence))
    })?;
    Ok(values.into_pyarray(py))
}

/// Errors on labelled data for sets of several sizes, as a dictionary of columns.
#[pyfunction]
pub fn error_by_size<'py>(
    py: Python<'py>,
    model: &Model,
    data: Data<'py>,
    sizes: Vec<usize>,
    repeats: usize,
    seed: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let held = data.hold()?;
    let data = data.dataset(&held)?;
    let curve = border::whole(py, &Limits::threads(threads), true, |context| {
        model.look(|any| {
            ask(any, &data.x, |model: &MultiSampleModel, x| {
                model.error_by_size(&Dataset { x: x.clone(), ..data.clone() }, &sizes, repeats, seed, context)
            })
        })
    })?;
    let columns = PyDict::new(py);
    columns.set_item("size", curve.iter().map(|point| point.size).collect::<Vec<_>>())?;
    columns.set_item("error", curve.iter().map(|point| point.error).collect::<Vec<_>>())?;
    columns.set_item("deviation", curve.iter().map(|point| point.deviation).collect::<Vec<_>>())?;
    columns.set_item("n_sets", curve.iter().map(|point| point.sets).collect::<Vec<_>>())?;
    Ok(columns)
}

/// Cross-validation errors of a grid of C and gamma, folds over the original rows, as a dictionary of columns.
#[pyfunction]
pub fn search_sets<'py>(py: Python<'py>, parameters: &str, search: &str, data: Data<'py>, limits: Limits) -> PyResult<Bound<'py, PyDict>> {
    let held = data.hold()?;
    let data = data.dataset(&held)?;
    let (learner, search): (MultiSample, SetSearch) = (read(py, parameters)?, read(py, search)?);
    let points = border::whole(py, &limits, true, |context| learner.search(&data, &search, context))?;
    let columns = PyDict::new(py);
    columns.set_item("C", points.iter().map(|point| point.c).collect::<Vec<_>>())?;
    columns.set_item("gamma", points.iter().map(|point| point.gamma).collect::<Vec<_>>())?;
    columns.set_item("error", points.iter().map(|point| point.error).collect::<Vec<_>>())?;
    columns.set_item("deviation", points.iter().map(|point| point.deviation).collect::<Vec<_>>())?;
    Ok(columns)
}
