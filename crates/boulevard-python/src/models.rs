//! Fitting, and fitted models as Python sees them.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use boulevard::any::{AnyLearner, AnyModel};
use boulevard::data::{Categories, Dataset, LabelMatrix, Matrix, Target};
use boulevard::kernel::Gamma;
use boulevard::methods::multitask_selection::MultiTaskSelectionModel;
use boulevard::methods::pareto::ParetoModel;
use boulevard::observe::Context;
use boulevard::svm::{Answers, Classifier, FitReport, Layout, Learner, LinearSvcModel, Model as _, SvcModel};
use boulevard::{Error, Result};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{Table, counts, give, int32, reals, table};
use crate::border::{self, Limits};
use crate::errors::{convert, exception};
use crate::{boosted, induction, selection, sets};

/// Rows times rows from which a fit gets a thread of its own: below, starting one would cost more than it saves.
pub const LARGE: usize = 1 << 20;
/// Rows judged between two looks at signals (the library's own chunk, so that results do not depend on it).
pub const CHUNK: usize = 16_384;

/// What every fit reports.
pub fn report_parts<'py>(py: Python<'py>, report: &FitReport, features: usize) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyDict::new(py);
    parts.set_item("features", features)?;
    parts.set_item("rows", report.rows)?;
    parts.set_item("objective", report.objective)?;
    parts.set_item("gap", report.gap)?;
    parts.set_item("violation", report.violation)?;
    parts.set_item("seconds", report.seconds)?;
    parts.set_item("status", report.stop.code())?;
    parts.set_item("iterations", report.iterations)?;
    Ok(parts)
}

/// Fits the machine `kind` with the parameters in the JSON text. Returns the model and the exception that stopped the fit, if one did.
#[pyfunction]
#[pyo3(signature = (kind, parameters, x, y, names, weights, features, threads, max_time, memory, progress))]
pub fn fit<'py>(
    py: Python<'py>,
    kind: &str,
    parameters: &str,
    x: &Bound<'py, PyAny>,
    y: Option<&Bound<'py, PyAny>>,
    names: Option<Vec<String>>,
    weights: Option<&Bound<'py, PyAny>>,
    features: Option<Vec<String>>,
    threads: usize,
    max_time: Option<f64>,
    memory: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, Option<PyErr>)> {
    let held = Table::extract(x)?;
    let data = Dataset { feature_names: features, ..dataset(py, &held, y, names, weights)? };
    let limits = Limits { threads, time: max_time, memory, progress };
    let large = data.len().saturating_mul(data.len().max(data.x.columns())) >= LARGE;
    let learner = AnyLearner::from_json(kind, parameters).map_err(|error| convert(py, error))?;
    let (any, raised) = border::run(py, &limits, large || learner.makes_many_fits(), |context| learner.fit_in(&data, context))?;
    Ok((Model::new(any), raised))
}

/// The arrays as the library's table: a label matrix where `y` is a table of truth values, class codes where there are names, real
/// targets otherwise.
pub fn dataset<'a>(
    py: Python<'_>,
    x: &'a Table<'_>,
    y: Option<&Bound<'_, PyAny>>,
    names: Option<Vec<String>>,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<Dataset<'a>> {
    let target = match (y, names) {
        (None, _) => Target::None,
        (Some(y), None) => Target::Real(reals(y)?),
        (Some(y), Some(names)) if y.extract::<PyReadonlyArray2<'_, bool>>().is_ok() => {
            let values = y.extract::<PyReadonlyArray2<'_, bool>>()?.as_array().iter().copied().collect();
            Target::Labels(LabelMatrix::new(values, names).map_err(|error| convert(py, error))?)
        }
        (Some(y), Some(names)) => {
            let codes = counts(y)?.into_iter().map(|code| code as u32).collect();
            Target::Classes(Categories::new(codes, names).map_err(|error| convert(py, error))?)
        }
    };
    let data = Dataset::new(x.matrix()?, target);
    Ok(match weights {
        Some(weights) => data.with_weights(reals(weights)?),
        None => data,
    })
}

/// Decision values.
fn decisions(any: &AnyModel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    any.decision_values_in(x, context)
}

/// The machine's own outputs: one per pair of classes where it has pairs.
fn outputs(any: &AnyModel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    Ok(any.decide(&x.into(), context)?.outputs().to_vec())
}

/// The arrays of a linear machine.
fn linear_parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(machine) = any.linear_machine() else { return Ok(false) };
    parts.set_item("weights", table(parts.py(), machine.weights.clone(), machine.outputs(), machine.features)?)?;
    parts.set_item("intercepts", machine.biases.clone().into_pyarray(parts.py()))?;
    Ok(true)
}

/// The arrays of a model that is one kernel machine.
fn kernel_parts(any: &AnyModel, parts: &Bound<'_, PyDict>) -> PyResult<bool> {
    let (py, machines) = (parts.py(), any.kernel_machines());
    let [machine] = machines[..] else { return Ok(false) };
    parts.set_item("support", int32(py, &machine.support))?;
    parts.set_item("vectors", give(py, &machine.vectors)?)?;
    let outputs = machine.coefficients.len().checked_div(machine.len());
    let outputs = outputs.unwrap_or(match &machine.layout {
        Layout::Full => machine.outputs(),
        Layout::Pairs(counts) => counts.len() - 1,
    });
    parts.set_item("coefficients", table(py, machine.coefficients.clone(), outputs, machine.len())?)?;
    parts.set_item("intercepts", machine.intercepts.clone().into_pyarray(py))?;
    parts.set_item("gamma", machine.kernel.gamma().and_then(Gamma::value))?;
    let classifier = any.get::<SvcModel>();
    if let Some(model) = classifier {
        let steps: Vec<usize> = model.iterations.iter().map(|&steps| steps as usize).collect();
        parts.set_item("iterations", int32(py, &steps))?;
    }
    let counts = classifier.or_else(|| any.get::<ParetoModel>().map(|front| &front.classifier)).map(|model| &model.support_counts[..]);
    parts.set_item("counts", int32(py, counts.unwrap_or(&[machine.len()])))?;
    Ok(true)
}

/// A fitted machine.
#[pyclass(frozen, module = "boulevard._core")]
pub struct Model {
    any: RwLock<AnyModel>,
}

impl Model {
    /// A model for Python.
    pub fn new(any: AnyModel) -> Self {
        Self { any: RwLock::new(any) }
    }

    /// Looks at the model; a panic elsewhere cannot leave it half changed.
    pub fn look<T>(&self, view: impl FnOnce(&AnyModel) -> T) -> T {
        view(&self.any.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another model in its place.
    pub fn replace(&self, any: AnyModel) {
        *self.any.write().unwrap_or_else(PoisonError::into_inner) = any;
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
        let limits = Limits { threads, time: None, memory: None, progress: None };
        if rows <= CHUNK {
            let (values, raised) = border::run(py, &limits, false, |context| self.look(|any| work(any, &matrix, context)))?;
            return raised.map_or(Ok((values, rows)), Err);
        }
        let mut values = Vec::new();
        for first in (0..rows).step_by(CHUNK) {
            py.check_signals()?;
            let chosen: Vec<usize> = (first..(first + CHUNK).min(rows)).collect();
            let part = matrix.select(&chosen);
            values.extend(border::run(py, &limits, false, |context| self.look(|any| work(any, &part, context)))?.0);
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
        self.look(|any| {
            let parts = report_parts(py, any.report(), any.features())?;
            for add in [selection::parts, sets::parts, boosted::parts, induction::parts, linear_parts, kernel_parts] {
                if add(any, &parts)? {
                    break;
                }
            }
            Ok(parts)
        })
    }

    /// The model in words: pairs of a name and a fact.
    fn facts(&self) -> Vec<(&'static str, String)> {
        self.look(|any| any.facts())
    }

    /// The model for machines, as JSON.
    fn details(&self) -> String {
        self.look(|any| any.to_json().to_string())
    }

    /// What the user should know about the fit.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.look(|any| any.notes().to_vec())
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.look(AnyModel::to_bytes).map_err(|error| convert(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let any = py.detach(|| AnyModel::from_bytes(bytes)).map_err(|error| convert(py, error))?;
        Ok(Self::new(any))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.look(|any| any.save(path))).map_err(|error| convert(py, error))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let any = py.detach(|| AnyModel::load(path)).map_err(|error| convert(py, error))?;
        Ok(Self::new(any))
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
        let (values, rows) = self.judge(py, x, threads, decisions)?;
        let columns = values.len().checked_div(rows).unwrap_or(1);
        table(py, values, rows, columns)
    }

    /// Class codes of a classifier; 1 inside and -1 outside for a one-class machine.
    fn codes<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
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

    /// Fits probabilities on the table the model learnt from.
    fn calibrate<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        threads: usize,
        memory: Option<usize>,
    ) -> PyResult<()> {
        let Some(names) = self.classes() else { return Err(exception(py, "DataError", "only classifiers have probabilities")) };
        let held = Table::extract(x)?;
        let data = dataset(py, &held, Some(y), Some(names), weights)?;
        let limits = Limits { threads, time: None, memory, progress: None };
        let large = data.len().saturating_mul(data.len()) >= LARGE;
        let mut model = self.look(AnyModel::clone);
        let (calibrated, raised) = border::run(py, &limits, large, |context| model.calibrate_in(&data, context).map(|()| model))?;
        if let Some(raised) = raised {
            return Err(raised);
        }
        self.replace(calibrated);
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
        let (values, _) =
            self.judge(py, x, threads, |any, x, context| any.expect::<MultiTaskSelectionModel>()?.task_values(x, task, context))?;
        Ok(values.into_pyarray(py))
    }

    /// Fits probabilities on the tasks a model of multi-task selection learnt from.
    fn calibrate_tasks<'py>(
        &self,
        py: Python<'py>,
        tables: Vec<Bound<'py, PyAny>>,
        targets: Vec<(usize, Bound<'py, PyAny>)>,
        outputs: &str,
        threads: usize,
        memory: Option<usize>,
    ) -> PyResult<()> {
        selection::calibrate(py, self, &tables, &targets, outputs, &Limits { threads, time: None, memory, progress: None })
    }
}
