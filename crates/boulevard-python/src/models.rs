//! Fitting, and fitted models as Python sees them.

use std::path::PathBuf;
use std::sync::{OnceLock, PoisonError, RwLock};

use boulevard::any::{AnyLearner, AnyModel, Kind};
use boulevard::data::{Dataset, Matrix, Target};
use boulevard::internal::linear::SideBySide;
use boulevard::methods::multitask_selection::MultiTaskSelectionModel;
use boulevard::methods::pareto::ParetoModel;
use boulevard::observe::Context;
use boulevard::svm::{Answers, Classifier, Learner as _, LinearSvcModel, Model as _, ROWS_AT_ONCE, SvcModel, facts_text};
use boulevard::{Error, Result};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{Table, table};
use crate::border;
use crate::errors::convert;
use crate::request::{Limits, Training};
use crate::{boosted, linear_rows, parts, selection};

/// Rows times rows from which a fit gets a thread of its own: below, starting one would cost more than it saves.
pub const LARGE: usize = 1 << 20;

fn is_large(data: &Dataset<'_>) -> bool {
    data.len().saturating_mul(data.len().max(data.x.columns())) >= LARGE
}

/// A learner with its parameters, for any number of fits.
#[pyclass(frozen, module = "boulevard._core")]
pub struct Learner(AnyLearner);

#[pymethods]
impl Learner {
    /// The learner `kind` with the parameters in the JSON text.
    #[new]
    fn new(py: Python<'_>, kind: &str, parameters: &str) -> PyResult<Self> {
        AnyLearner::from_json(kind, parameters).map(Self).map_err(|error| convert(py, error))
    }
}

/// Fits a learner's machine. Returns the model and the exception that stopped the fit, if one did.
#[pyfunction]
pub fn fit(py: Python<'_>, learner: &Bound<'_, Learner>, data: Training<'_>, limits: Limits) -> PyResult<(Model, Option<PyErr>)> {
    let learner = &learner.get().0;
    let (any, raised) = match data {
        Training::Table(data) => {
            let held = data.hold()?;
            let data = data.dataset(&held)?;
            border::run(py, &limits, is_large(&data) || learner.makes_many_fits(), |context| learner.fit_in(&data, context))?
        }
        Training::Tasks(tasks) => {
            let AnyLearner::MultiTaskSelection(learner) = learner else {
                return Err(PyTypeError::new_err(format!("tasks with tables of their own are not for {}", learner.kind())));
            };
            let held = tasks.hold()?;
            let tasks = tasks.task_set(py, &held)?;
            let (model, raised) = border::run(py, &limits, selection::is_large(&tasks), |context| learner.fit_tasks(&tasks, context))?;
            (model.into(), raised)
        }
    };
    Ok((Model::new(any), raised))
}

/// Asks a model of one kind about rows: behind a scaler about the scaled rows.
pub fn ask<M: Kind, T>(any: &AnyModel, x: &Matrix<'_>, question: impl FnOnce(&M, &Matrix<'_>) -> Result<T>) -> Result<T> {
    let model = any.expect::<M>()?;
    match any.prepare(x)? {
        Some(scaled) => question(model, &scaled),
        None => question(model, x),
    }
}

/// Decision values.
fn decisions(any: &AnyModel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    any.decision_values_in(x, context)
}

/// The machine's own outputs: one per pair of classes where it has pairs.
fn outputs(any: &AnyModel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    Ok(any.decide(&x.into(), context)?.outputs().to_vec())
}

/// A fitted machine.
#[pyclass(frozen, module = "boulevard._core")]
pub struct Model {
    any: RwLock<AnyModel>,
    /// What the Python half left in the file for itself.
    note: Option<String>,
    /// The weights of a linear machine as sparse rows want them, once they were asked for; calibration leaves them as they are.
    turned: OnceLock<SideBySide>,
}

impl Model {
    /// A model for Python.
    pub fn new(any: AnyModel) -> Self {
        Self::noted((any, None))
    }

    fn noted((any, note): (AnyModel, Option<String>)) -> Self {
        Self { any: RwLock::new(any), note, turned: OnceLock::new() }
    }

    /// Looks at the model; a panic elsewhere cannot leave it half changed.
    pub fn look<T>(&self, view: impl FnOnce(&AnyModel) -> T) -> T {
        view(&self.any.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// One row of numbers per row of `x`, by `work`, with a look at signals between chunks.
    pub(crate) fn judge<'py, T: Send>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
        work: impl Fn(&AnyModel, &Matrix<'_>, &Context<'_>) -> Result<Vec<T>> + Sync,
    ) -> PyResult<(Vec<T>, usize)> {
        let held = Table::extract(x)?;
        let matrix = held.matrix()?;
        let rows = matrix.rows();
        let limits = Limits::threads(threads);
        if rows <= ROWS_AT_ONCE {
            return Ok((border::whole(py, &limits, false, |context| self.look(|any| work(any, &matrix, context)))?, rows));
        }
        let mut values = Vec::new();
        for first in (0..rows).step_by(ROWS_AT_ONCE) {
            py.check_signals()?;
            let chosen: Vec<usize> = (first..(first + ROWS_AT_ONCE).min(rows)).collect();
            let part = matrix.select(&chosen);
            values.extend(border::whole(py, &limits, false, |context| self.look(|any| work(any, &part, context)))?);
        }
        Ok((values, rows))
    }
}

#[pymethods]
impl Model {
    /// Which machine it is, as files name it; behind a scaler the model that was scaled.
    #[getter]
    fn kind(&self) -> &'static str {
        self.look(|any| any.inner().kind())
    }

    /// Everything there is to see, in one call: arrays, certificate, effort.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.look(|any| parts::of(py, any))
    }

    /// The model in words: pairs of a name and a fact.
    fn facts(&self) -> Vec<(&'static str, String)> {
        self.look(|any| any.facts())
    }

    /// The same as text, a fact per line.
    fn describe(&self) -> String {
        self.look(|any| facts_text(&any.facts()))
    }

    /// The model for machines, as JSON.
    fn details(&self) -> String {
        self.look(|any| any.to_json().to_string())
    }

    /// Pictures of what it learnt, as JSON: the descriptions that reports and the page draw.
    fn pictures(&self, py: Python<'_>) -> PyResult<String> {
        let found = py.detach(|| self.look(|any| any.pictures(None, &Context::default()))).map_err(|error| convert(py, error))?;
        Ok(serde_json::json!(found).to_string())
    }

    /// What the user should know about the fit.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.look(|any| any.notes().to_vec())
    }

    /// How columns are scaled before the model sees them, as JSON; none where they are not.
    #[getter]
    fn scaling(&self) -> Option<String> {
        self.look(|any| any.scaler().map(|scaler| serde_json::json!(scaler).to_string()))
    }

    /// What takes the place of missing values, as JSON; none where they are refused.
    #[getter]
    fn missing(&self) -> Option<String> {
        self.look(|any| any.imputer().map(|imputer| serde_json::json!(imputer).to_string()))
    }

    /// The text that was saved with the model, if it was loaded and there was one.
    #[getter]
    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The bytes of a model file; the note comes back with [`Model::note`].
    #[pyo3(signature = (note=None))]
    fn to_bytes<'py>(&self, py: Python<'py>, note: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.look(|any| any.to_bytes_with_note(note)).map_err(|error| convert(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| AnyModel::from_bytes_with_note(bytes)).map(Self::noted).map_err(|error| convert(py, error))
    }

    /// Writes a model file.
    #[pyo3(signature = (path, note=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, note: Option<&str>) -> PyResult<()> {
        py.detach(|| self.look(|any| any.save_with_note(path, note))).map_err(|error| convert(py, error))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| AnyModel::load_with_note(path)).map(Self::noted).map_err(|error| convert(py, error))
    }

    /// Feature names, where the training table had them.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.look(|any| any.feature_names().map(<[String]>::to_vec))
    }

    /// Class or label names, for classifiers.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        self.look(|any| match any.answers() {
            Answers::Classes(names) | Answers::Labels(names) => Some(names.to_vec()),
            Answers::Numbers(_) | Answers::Inside | Answers::Tasks { .. } => None,
        })
    }

    /// The parameters it was fitted with, as JSON.
    #[getter]
    fn parameters(&self) -> String {
        self.look(|any| any.parameters().to_string())
    }

    /// The machine's own outputs: one column per pair of classes, or one column.
    fn raw<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, rows) = self.judge(py, x, threads, outputs)?;
        let columns = values.len().checked_div(rows).unwrap_or(1);
        table(py, values, rows, columns)
    }

    /// Decision values of a classifier of several classes, one column per class; one column otherwise.
    fn decisions<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let direct = self.look(|any| linear_rows::judge(py, any, &self.turned, x, threads)).transpose()?;
        let (values, rows) = match direct {
            Some(found) => found,
            None => self.judge(py, x, threads, decisions)?,
        };
        let columns = values.len().checked_div(rows).unwrap_or(1);
        table(py, values, rows, columns)
    }

    /// Class codes of a classifier; 1 inside and -1 outside for a one-class machine.
    fn codes<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        if let Some(direct) = self.look(|any| linear_rows::judge(py, any, &self.turned, x, threads)) {
            return Ok(direct?.0.into_pyarray(py));
        }
        let (codes, _) = self.judge(py, x, threads, |any, x, context| {
            let inside = any.answers() == Answers::Inside;
            match any.predict_in(x, context)? {
                Target::Classes(said) => {
                    Ok(said.codes().iter().map(|&code| if inside { 2 * i64::from(code) - 1 } else { i64::from(code) }).collect())
                }
                other => Err(Error::data(format!("this model answers with {}, not with classes", other.kind()))),
            }
        })?;
        Ok(codes.into_pyarray(py))
    }

    /// Decision values after 1, 2, ... rounds of a boosted classifier.
    fn staged<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        boosted::staged(py, self, x, threads)
    }

    /// Whether probabilities are there.
    #[getter]
    fn calibrated(&self) -> bool {
        self.look(|any| any.has_probabilities())
    }

    /// How probabilities are made, as JSON; none where they are not, or where the model's kind does not say.
    #[getter]
    fn calibration(&self) -> Option<String> {
        self.look(|any| any.details().get("calibration").filter(|value| !value.is_null()).map(ToString::to_string))
    }

    /// Slopes and shifts of the sigmoids, where probabilities are there.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn sigmoids<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let sigmoids = self.look(|any| {
            let svc = any.get::<SvcModel>().or_else(|| any.get::<ParetoModel>().map(|front| &front.classifier));
            let calibration =
                svc.and_then(Classifier::calibration).or_else(|| any.get::<LinearSvcModel>().and_then(Classifier::calibration));
            calibration.map(|calibration| calibration.sigmoids.clone())
        })?;
        let (a, b): (Vec<f64>, Vec<f64>) = sigmoids.iter().map(|sigmoid| (sigmoid.a, sigmoid.b)).unzip();
        Some((a.into_pyarray(py), b.into_pyarray(py)))
    }

    /// The same classifier of one kernel machine with other coefficients, as [`parts`] gives them; probabilities are dropped.
    fn with_coefficients(&self, py: Python<'_>, coefficients: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let model = self.look(|any| any.expect::<SvcModel>().cloned()).map_err(|error| convert(py, error))?;
        let mut model = model;
        let given: Vec<f64> = coefficients.as_array().iter().copied().collect();
        let wanted = model.machine.coefficients.len();
        if given.len() != wanted || given.iter().any(|value| !value.is_finite()) {
            return Err(convert(py, Error::data(format!("{} coefficients instead of {wanted} finite ones", given.len()))));
        }
        model.machine.coefficients = given;
        model.calibration = None;
        Ok(Self::new(model.into()))
    }

    /// Fits probabilities on what the model learnt from.
    fn calibrate(&self, py: Python<'_>, data: Training<'_>, limits: Limits) -> PyResult<()> {
        let mut any = self.look(AnyModel::clone);
        let calibrated = match data {
            Training::Table(data) => {
                let held = data.hold()?;
                let data = data.dataset(&held)?;
                let large = is_large(&data) || any.decides_sets();
                border::whole(py, &limits, large, |context| any.calibrate_in(&data, context).map(|()| any))?
            }
            Training::Tasks(tasks) => {
                let held = tasks.hold()?;
                let tasks = tasks.task_set(py, &held)?;
                let mut model = any.expect::<MultiTaskSelectionModel>().map_err(|error| convert(py, error))?.clone();
                let work = |context: &Context<'_>| model.calibrate(&tasks, context).map(|()| model.into());
                border::whole(py, &limits, selection::is_large(&tasks), work)?
            }
        };
        *self.any.write().unwrap_or_else(PoisonError::into_inner) = calibrated;
        Ok(())
    }

    /// Class probabilities, one column per class.
    fn probabilities<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, rows) = self.judge(py, x, threads, |any, x, context| any.probabilities(x, context))?;
        let columns = values.len().checked_div(rows).unwrap_or(1);
        table(py, values, rows, columns)
    }

    /// Decision values of one task of multi-task selection.
    fn task_decisions<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        task: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (values, _) = self.judge(py, x, threads, |any, x, context| {
            ask(any, x, |model: &MultiTaskSelectionModel, x| model.task_values(x, task, context))
        })?;
        Ok(values.into_pyarray(py))
    }
}
