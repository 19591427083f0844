//! Fits whose rows are on a cluster: the worker's side is `Shard`, the driver's is `fit_shards`, and both speak in bytes.

use std::sync::{Mutex, PoisonError};

use boulevard::any::AnyModel;
use boulevard::data::{Categories, Target};
use boulevard::observe::Device;
use boulevard::solver::{Fleet, Piece, RoundReport, SHARD_VERSION, Shard as NativeShard};
use boulevard::svm::{OneClass, Spread, Svc, SvcModel, Svr};
use boulevard::{Error, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{Table, counts, reals};
use crate::border;
use crate::errors::{convert, read};
use crate::models::Model;
use crate::request::Limits;

/// Some rows of a table on a worker.
#[pyclass(frozen, module = "boulevard._core")]
pub struct Shard {
    inner: Mutex<NativeShard>,
}

#[pymethods]
impl Shard {
    /// A shard with a copy of these rows, whose sums are computed on `device`.
    #[new]
    fn new(py: Python<'_>, x: &Bound<'_, PyAny>, threads: usize, device: &str) -> PyResult<Self> {
        let device = device.parse().map_err(|error| convert(py, error))?;
        let table = Table::extract(x)?.matrix()?.into_owned();
        let inner = py.detach(|| NativeShard::new(table, threads)).map_err(|error| convert(py, error))?.on(device);
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Version of the messages it understands.
    #[classattr]
    fn version() -> u8 {
        SHARD_VERSION
    }

    /// Answers a message of the driver.
    fn call<'py>(&self, py: Python<'py>, message: &[u8]) -> Bound<'py, PyBytes> {
        let answer = py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).call(message));
        PyBytes::new(py, &answer)
    }

    /// Whether this is the name of a device; an error if not.
    #[staticmethod]
    fn check_device(py: Python<'_>, device: &str) -> PyResult<()> {
        device.parse::<Device>().map(|_| ()).map_err(|error| convert(py, error))
    }

    /// Its rows.
    #[getter]
    fn rows(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).rows()
    }
}

/// A training set whose rows are on shards.
#[derive(FromPyObject)]
pub struct ShardedData<'py> {
    /// Shard, number of the first row in the whole table, and rows.
    pieces: Vec<(usize, usize, usize)>,
    columns: usize,
    y: Option<Bound<'py, PyAny>>,
    names: Option<Vec<String>>,
    weights: Option<Bound<'py, PyAny>>,
    features: Option<Vec<String>>,
}

impl ShardedData<'_> {
    fn spread(&self, py: Python<'_>) -> PyResult<Spread> {
        let target = match (&self.y, &self.names) {
            (None, _) => Target::None,
            (Some(y), None) => Target::Real(reals(y)?),
            (Some(y), Some(names)) => {
                let codes = counts(y)?.into_iter().map(|code| code as u32).collect();
                Target::Classes(Categories::new(codes, names.clone()).map_err(|error| convert(py, error))?)
            }
        };
        Ok(Spread {
            pieces: self.pieces.iter().map(|&(shard, first, rows)| Piece { shard, first, rows }).collect(),
            columns: self.columns,
            target,
            weights: self.weights.as_ref().map(reals).transpose()?,
            feature_names: self.features.clone(),
        })
    }
}

/// Python's way to the shards: an object with `call`, `returned` and `report`.
struct PyFleet<'a> {
    fleet: &'a Py<PyAny>,
    /// What Python raised; the library hears of it in words, the caller gets it as it is.
    raised: &'a Mutex<Option<PyErr>>,
}

impl PyFleet<'_> {
    fn ask<T>(&self, question: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| {
            question(py).map_err(|error| {
                let text = error.to_string();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Error::data(format!("the cluster does not answer: {text}"))
            })
        })
    }
}

impl Fleet for PyFleet<'_> {
    fn call(&mut self, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<Option<Vec<u8>>>> {
        self.ask(|py| {
            let messages: Vec<(usize, Bound<'_, PyBytes>)> =
                messages.iter().map(|(shard, bytes)| (*shard, PyBytes::new(py, bytes))).collect();
            let answers = self.fleet.call_method1(py, "call", (messages,))?;
            let answers: Vec<Option<Bound<'_, PyBytes>>> = answers.extract(py)?;
            Ok(answers.into_iter().map(|answer| answer.map(|bytes| bytes.as_bytes().to_vec())).collect())
        })
    }

    fn returned(&mut self, wait: bool) -> Result<Vec<usize>> {
        self.ask(|py| self.fleet.call_method1(py, "returned", (wait,))?.extract(py))
    }

    fn report(&mut self, report: &RoundReport) {
        let RoundReport { rounds, violation, sent, received, slowest, lost, rebuilt } = *report;
        // A dashboard that fails must not end a fit.
        let _ =
            self.ask(|py| self.fleet.call_method1(py, "report", (rounds, violation, sent, received, slowest, lost, rebuilt)).map(|_| ()));
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Runs `work` with Python's fleet; an exception of the fleet is raised as it is.
fn with_fleet<T: Send>(
    py: Python<'_>,
    fleet: &Py<PyAny>,
    limits: &Limits,
    work: impl FnOnce(&mut dyn Fleet, &boulevard::observe::Context<'_>) -> Result<T> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let raised = Mutex::new(None);
    // Always on a thread of its own: the calling thread looks after signals, whatever the cluster does.
    let outcome = border::run(py, limits, true, |context| work(&mut PyFleet { fleet, raised: &raised }, context));
    match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) if outcome.is_err() => Err(error),
        _ => outcome,
    }
}

/// Fits the machine `kind` on the shards of `fleet`. Returns the model and the exception that stopped the fit, if one did.
#[pyfunction]
pub fn fit_shards(
    py: Python<'_>,
    kind: &str,
    parameters: &str,
    data: ShardedData<'_>,
    fleet: Py<PyAny>,
    limits: Limits,
) -> PyResult<(Model, Option<PyErr>)> {
    let data = data.spread(py)?;
    let (any, raised): (AnyModel, _) = match kind {
        "svc" => {
            let learner: Svc = read(py, parameters)?;
            let (model, raised) = with_fleet(py, &fleet, &limits, |fleet, context| learner.fit_spread(&data, fleet, context))?;
            (model.into(), raised)
        }
        "svr" => {
            let learner: Svr = read(py, parameters)?;
            let (model, raised) = with_fleet(py, &fleet, &limits, |fleet, context| learner.fit_spread(&data, fleet, context))?;
            (model.into(), raised)
        }
        "one_class" => {
            let learner: OneClass = read(py, parameters)?;
            let (model, raised) = with_fleet(py, &fleet, &limits, |fleet, context| learner.fit_spread(&data, fleet, context))?;
            (model.into(), raised)
        }
        _ => return Err(PyValueError::new_err(format!("`{kind}` cannot be fitted on a cluster"))),
    };
    Ok((Model::new(any), raised))
}

/// The same classifier with probabilities, fitted on the shards of `fleet`.
#[pyfunction]
pub fn calibrate_shards(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    data: ShardedData<'_>,
    fleet: Py<PyAny>,
    limits: Limits,
) -> PyResult<Model> {
    let data = data.spread(py)?;
    let mut svc = model.get().look(|any| any.expect::<SvcModel>().cloned()).map_err(|error| convert(py, error))?;
    let learner = Svc { calibrate: false, ..svc.parameters.clone() };
    let (svc, raised) = with_fleet(py, &fleet, &limits, |fleet, context| {
        learner.calibrate_spread(&mut svc, &data, fleet, context)?;
        Ok(svc)
    })?;
    raised.map_or(Ok(Model::new(svc.into())), Err)
}
