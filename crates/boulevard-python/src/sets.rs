//! Sets of samples: kernels between them, and the classifier that makes one decision for each.

use boulevard::any::AnyModel;
use boulevard::data::Categories;
use boulevard::kernel::permanent::{Normalization, log_set_kernel, set_kernel_into};
use boulevard::kernel::{Gamma, Kernel};
use boulevard::methods::multi_sample::{MultiSample, MultiSampleModel, SetMachine, SetSearch, Sets};
use boulevard::observe::Context;
use boulevard::svm::Learner;
use boulevard::{Error, Result};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Table, counts, table};
use crate::border::{self, Limits};
use crate::models::{Model, dataset};

fn read<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("parameters: {error}")))
}

/// The model of sets in a model of any kind.
fn sets_model(any: &AnyModel) -> Result<&MultiSampleModel> {
    any.expect()
}

/// What there is to see of a classifier of sets.
pub fn parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let (Some(model), py) = (any.get::<MultiSampleModel>(), parts.py()) else { return Ok(false) };
    parts.set_item("gamma", model.single.machine.kernel.gamma().and_then(Gamma::value))?;
    parts.set_item("priors", model.priors.clone().into_pyarray(py))?;
    parts.set_item("rates", model.rates.clone().into_pyarray(py))?;
    parts.set_item("sizes", model.machines.iter().map(|machine| machine.size).collect::<Vec<_>>())?;
    parts.set_item("support_sets", model.machines.iter().map(SetMachine::len).collect::<Vec<_>>())?;
    parts.set_item("extended", model.machines.iter().map(|machine| machine.columns).collect::<Vec<_>>())?;
    Ok(true)
}

/// Runs `work` and gives back what it made, or the exception that stopped it.
fn run<T: Send>(py: Python<'_>, threads: usize, large: bool, work: impl FnOnce(&Context<'_>) -> Result<T> + Send) -> PyResult<T> {
    let limits = Limits { threads, time: None, memory: None, progress: None };
    let (value, raised) = border::run(py, &limits, large, work)?;
    raised.map_or(Ok(value), Err)
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
    let kernel: Kernel = read(kernel)?;
    let normalization: Normalization = read(&format!("\"{normalization}\""))?;
    let held = (Table::extract(a)?, b.map(Table::extract).transpose()?);
    let left = held.0.matrix()?;
    let right = held.1.as_ref().map(Table::matrix).transpose()?;
    let mut writable = out.try_readwrite()?;
    let values = writable.as_slice_mut()?;
    if logarithms {
        let made = run(py, threads, true, |context| log_set_kernel(&kernel, &left, right.as_ref(), k, context))?;
        values.copy_from_slice(&made);
        return Ok(());
    }
    run(py, threads, true, |context| set_kernel_into(&kernel, &left, right.as_ref(), k, normalization, context, values))
}

/// Fits a classifier of sets; `groups` are codes of the groups that rows belong to.
#[pyfunction]
#[pyo3(signature = (parameters, x, y, names, groups, features, threads, max_time, memory, progress))]
pub fn fit_sets<'py>(
    py: Python<'py>,
    parameters: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    names: Vec<String>,
    groups: Option<&Bound<'py, PyAny>>,
    features: Option<Vec<String>>,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, Option<PyErr>)> {
    let held = Table::extract(x)?;
    let mut data = dataset(py, &held, Some(y), Some(names), None)?;
    (data.feature_names, data.groups) = (features, groups.map(categories).transpose()?);
    let learner: MultiSample = read(parameters)?;
    let limits = Limits { threads, time: max_time, memory, progress };
    let (model, raised) = border::run(py, &limits, true, |context| learner.fit_in(&data, context).map(AnyModel::from))?;
    Ok((Model::new(model), raised))
}

/// Groups from codes 0, 1, ...
fn categories(codes: &Bound<'_, PyAny>) -> PyResult<Categories> {
    let codes: Vec<u32> = counts(codes)?.into_iter().map(|code| code as u32).collect();
    let names = (0..=codes.iter().copied().max().unwrap_or(0)).map(|code| code.to_string()).collect();
    Categories::new(codes, names).map_err(|error| PyValueError::new_err(error.to_string()))
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
    let values = run(py, threads, true, |context| {
        model.look(|any| {
            let model = sets_model(any)?;
            match what {
                "decisions" => model.set_decisions(&matrix, &sets, context),
                "probabilities" => model.set_probabilities(&matrix, &sets, context),
                "contributions" => model.contributions(&matrix, &sets, context),
                other => Err(Error::data(format!("sets have no `{other}`"))),
            }
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
    let values = run(py, threads, false, |context| model.look(|any| sets_model(any)?.scores(&matrix, context)))?;
    let columns = values.len().checked_div(matrix.rows()).unwrap_or(1);
    table(py, values, matrix.rows(), columns)
}

/// Expected number of samples per class until the posterior passes `confidence`.
#[pyfunction]
pub fn expected_samples<'py>(py: Python<'py>, model: &Model, confidence: f64) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = run(py, 1, false, |_| model.look(|any| sets_model(any)?.expected_samples(confidence)))?;
    Ok(values.into_pyarray(py))
}

/// Errors on labelled data for sets of several sizes, as a dictionary of columns.
#[pyfunction]
pub fn error_by_size<'py>(
    py: Python<'py>,
    model: &Model,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    sizes: Vec<usize>,
    repeats: usize,
    seed: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let names = model.look(|any| sets_model(any).map(|model| model.classes.clone())).map_err(|error| crate::errors::convert(py, error))?;
    let held = Table::extract(x)?;
    let data = dataset(py, &held, Some(y), Some(names), None)?;
    let curve = run(py, threads, true, |context| model.look(|any| sets_model(any)?.error_by_size(&data, &sizes, repeats, seed, context)))?;
    let columns = PyDict::new(py);
    columns.set_item("size", curve.iter().map(|point| point.size).collect::<Vec<_>>())?;
    columns.set_item("error", curve.iter().map(|point| point.error).collect::<Vec<_>>())?;
    columns.set_item("deviation", curve.iter().map(|point| point.deviation).collect::<Vec<_>>())?;
    columns.set_item("n_sets", curve.iter().map(|point| point.sets).collect::<Vec<_>>())?;
    Ok(columns)
}

/// Fits the probabilities of direct machines on the table the model learnt from.
#[pyfunction]
pub fn calibrate_sets<'py>(
    py: Python<'py>,
    model: &Model,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    groups: Option<&Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<()> {
    let inner = model.look(|any| sets_model(any).cloned()).map_err(|error| crate::errors::convert(py, error))?;
    let held = Table::extract(x)?;
    let mut data = dataset(py, &held, Some(y), Some(inner.classes.clone()), None)?;
    data.groups = groups.map(categories).transpose()?;
    let mut fresh = inner;
    let fresh = run(py, threads, true, |context| fresh.calibrate_in(&data, context).map(|()| fresh))?;
    model.replace(AnyModel::MultiSample(fresh));
    Ok(())
}

/// Cross-validation errors of a grid of C and gamma, folds over the original rows, as a dictionary of columns.
#[pyfunction]
#[pyo3(signature = (parameters, search, x, y, names, groups, threads, max_time, memory, progress))]
pub fn search_sets<'py>(
    py: Python<'py>,
    parameters: &str,
    search: &str,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    names: Vec<String>,
    groups: Option<&Bound<'py, PyAny>>,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let held = Table::extract(x)?;
    let mut data = dataset(py, &held, Some(y), Some(names), None)?;
    data.groups = groups.map(categories).transpose()?;
    let (learner, search): (MultiSample, SetSearch) = (read(parameters)?, read(search)?);
    let limits = Limits { threads, time: max_time, memory, progress };
    let (points, raised) = border::run(py, &limits, true, |context| learner.search(&data, &search, context))?;
    if let Some(raised) = raised {
        return Err(raised);
    }
    let columns = PyDict::new(py);
    columns.set_item("C", points.iter().map(|point| point.c).collect::<Vec<_>>())?;
    columns.set_item("gamma", points.iter().map(|point| point.gamma).collect::<Vec<_>>())?;
    columns.set_item("error", points.iter().map(|point| point.error).collect::<Vec<_>>())?;
    columns.set_item("deviation", points.iter().map(|point| point.deviation).collect::<Vec<_>>())?;
    Ok(columns)
}
