//! Fitting, and fitted models as Python sees them.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use boulevard::data::{Categories, Dataset, LabelMatrix, Matrix, Target};
use boulevard::kernel::Gamma;
use boulevard::methods::boosted::BoostedSvc;
use boulevard::methods::feature_induction::FeatureInduction;
use boulevard::methods::multi_sample::MultiSampleModel;
use boulevard::methods::pareto::ParetoSvc;
use boulevard::observe::Context;
use boulevard::persist::AnyModel;
use boulevard::svm::{FitReport, KernelMachine, Layout, Learner, LinearMachine, LinearSvc, LinearSvr, Model as _, OneClass, Svc, Svr};
use boulevard::{Error, Result};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{Table, counts, give, int32, reals, table};
use crate::boosted;
use crate::border::{self, Limits};
use crate::errors::{convert, exception};
use crate::selection;

/// Rows times rows from which a fit gets a thread of its own: below, starting one would cost more than it saves.
pub const LARGE: usize = 1 << 20;
/// Rows judged between two looks at signals (the library's own chunk, so that results do not depend on it).
pub const CHUNK: usize = 16_384;

/// The kernel machine in a model.
fn machine(model: &AnyModel) -> PyResult<&KernelMachine> {
    match model {
        AnyModel::Svc(model) => Ok(&model.machine),
        AnyModel::Svr(model) => Ok(&model.machine),
        AnyModel::OneClass(model) => Ok(&model.machine),
        AnyModel::Pareto(model) => Ok(&model.classifier.machine),
        other => Err(PyValueError::new_err(format!("a model of kind `{}` is not one kernel machine", other.kind()))),
    }
}

/// The machine's own outputs.
fn raw_values(model: &AnyModel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    match model {
        AnyModel::Svc(model) => model.raw_values(x, context),
        AnyModel::Svr(model) => model.decision_values_in(x, context),
        AnyModel::OneClass(model) => model.decision_values_in(x, context),
        AnyModel::FeatureInduction(model) => model.decision_values_in(x, context),
        AnyModel::LinearSvc(model) => model.decision_values_in(x, context),
        AnyModel::LinearSvr(model) => model.decision_values_in(x, context),
        AnyModel::MultiTaskSelection(model) => model.decision_values_in(x, context),
        AnyModel::Boosted(model) => model.decision_values_in(x, context),
        AnyModel::Pareto(model) => model.classifier.raw_values(x, context),
        other => Err(Error::data(format!("a model of kind `{}` has no decision values here", other.kind()))),
    }
}

/// The linear machine in a model.
fn linear_machine(model: &AnyModel) -> Option<&LinearMachine> {
    match model {
        AnyModel::LinearSvc(model) => Some(&model.machine),
        AnyModel::LinearSvr(model) => Some(&model.machine),
        _ => None,
    }
}

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
    parts.set_item("solver", report.route.to_string())?;
    Ok(parts)
}

/// Decision values as the library's models define them.
fn decision_values(model: &AnyModel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    match model {
        AnyModel::Svc(model) => model.decision_values_in(x, context),
        AnyModel::Pareto(model) => model.decision_values_in(x, context),
        _ => raw_values(model, x, context),
    }
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
    fn read<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("parameters: {error}")))
    }
    let (any, raised) = match kind {
        "svc" => {
            let learner: Svc = read(parameters)?;
            border::run(py, &limits, large, |context| learner.fit_in(&data, context).map(AnyModel::Svc))
        }
        "svr" => {
            let learner: Svr = read(parameters)?;
            border::run(py, &limits, large, |context| learner.fit_in(&data, context).map(AnyModel::Svr))
        }
        "one_class" => {
            let learner: OneClass = read(parameters)?;
            border::run(py, &limits, large, |context| learner.fit_in(&data, context).map(AnyModel::OneClass))
        }
        "feature_induction" => {
            let learner: FeatureInduction = read(parameters)?;
            border::run(py, &limits, large, |context| learner.fit_in(&data, context).map(AnyModel::FeatureInduction))
        }
        "linear_svc" => {
            let learner: LinearSvc = read(parameters)?;
            border::run(py, &limits, large, |context| learner.fit_in(&data, context).map(AnyModel::LinearSvc))
        }
        "linear_svr" => {
            let learner: LinearSvr = read(parameters)?;
            border::run(py, &limits, large, |context| learner.fit_in(&data, context).map(AnyModel::LinearSvr))
        }
        "boosted" => {
            let learner: BoostedSvc = read(parameters)?;
            border::run(py, &limits, true, |context| learner.fit_in(&data, context).map(AnyModel::Boosted))
        }
        "pareto" => {
            let learner: ParetoSvc = read(parameters)?;
            border::run(py, &limits, true, |context| learner.fit_in(&data, context).map(AnyModel::Pareto))
        }
        _ => Err(PyValueError::new_err(format!("no machine is called `{kind}`"))),
    }?;
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

/// What there is to see of a classifier of sets.
fn set_parts<'py>(py: Python<'py>, model: &MultiSampleModel) -> PyResult<Bound<'py, PyDict>> {
    let (report, parts) = (&model.report, PyDict::new(py));
    parts.set_item("features", model.single.machine.features)?;
    parts.set_item("rows", report.rows)?;
    parts.set_item("objective", report.objective)?;
    parts.set_item("gap", report.gap)?;
    parts.set_item("violation", report.violation)?;
    parts.set_item("seconds", report.seconds)?;
    parts.set_item("status", report.stop.code())?;
    parts.set_item("iterations", report.iterations)?;
    parts.set_item("solver", report.route.to_string())?;
    parts.set_item("gamma", model.single.machine.kernel.gamma().and_then(Gamma::value))?;
    parts.set_item("priors", model.priors.clone().into_pyarray(py))?;
    parts.set_item("rates", model.rates.clone().into_pyarray(py))?;
    parts.set_item("sizes", model.machines.iter().map(|machine| machine.size).collect::<Vec<_>>())?;
    parts.set_item("support_sets", model.machines.iter().map(boulevard::methods::multi_sample::SetMachine::len).collect::<Vec<_>>())?;
    parts.set_item("extended", model.machines.iter().map(|machine| machine.columns).collect::<Vec<_>>())?;
    Ok(parts)
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
    pub(crate) fn judge<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
        work: impl Fn(&AnyModel, &Matrix<'_>, &Context<'_>) -> Result<Vec<f64>> + Sync,
    ) -> PyResult<(Vec<f64>, usize)> {
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
    /// Which machine it is: `svc`, `svr` or `one_class`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.look(AnyModel::kind)
    }

    /// Everything there is to see, in one call: arrays, certificate, effort.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.look(|any| {
            if let AnyModel::MultiTaskSelection(model) = any {
                return selection::parts(py, model);
            }
            if let AnyModel::MultiSample(model) = any {
                return set_parts(py, model);
            }
            let parts = report_parts(py, any.report(), any.features())?;
            if let AnyModel::Boosted(model) = any {
                boosted::parts(&parts, model)?;
                return Ok(parts);
            }
            if let AnyModel::FeatureInduction(model) = any {
                crate::induction::add_parts(py, model, &parts)?;
                return Ok(parts);
            }
            if let Some(machine) = linear_machine(any) {
                parts.set_item("weights", table(py, machine.weights.clone(), machine.outputs(), machine.features)?)?;
                parts.set_item("intercepts", machine.biases.clone().into_pyarray(py))?;
                return Ok(parts);
            }
            let machine = machine(any)?;
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
            match any {
                AnyModel::Pareto(model) => parts.set_item("counts", int32(py, &model.classifier.support_counts))?,
                AnyModel::Svc(model) => {
                    parts.set_item("counts", int32(py, &model.support_counts))?;
                    let steps: Vec<usize> = model.iterations.iter().map(|&steps| steps as usize).collect();
                    parts.set_item("iterations", int32(py, &steps))?;
                }
                _ => parts.set_item("counts", int32(py, &[machine.len()]))?,
            }
            Ok(parts)
        })
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

    /// Class names, for classifiers.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        self.look(|any| match any {
            AnyModel::Svc(model) => Some(model.classes.clone()),
            AnyModel::Pareto(model) => Some(model.classes.clone()),
            AnyModel::FeatureInduction(model) => Some(model.classes.clone()),
            AnyModel::MultiSample(model) => Some(model.classes.clone()),
            AnyModel::LinearSvc(model) => Some(model.classes.clone()),
            AnyModel::Boosted(model) => Some(model.names.clone()),
            _ => None,
        })
    }

    /// The parameters it was fitted with, as JSON.
    #[getter]
    fn parameters(&self) -> PyResult<String> {
        let text = self.look(|any| match any {
            AnyModel::Svc(model) => serde_json::to_string(&model.parameters),
            AnyModel::Svr(model) => serde_json::to_string(&model.parameters),
            AnyModel::OneClass(model) => serde_json::to_string(&model.parameters),
            AnyModel::FeatureInduction(model) => serde_json::to_string(&model.parameters),
            AnyModel::MultiSample(model) => serde_json::to_string(&model.parameters),
            AnyModel::LinearSvc(model) => serde_json::to_string(&model.parameters),
            AnyModel::LinearSvr(model) => serde_json::to_string(&model.parameters),
            AnyModel::MultiTaskSelection(model) => serde_json::to_string(&model.parameters),
            AnyModel::Boosted(model) => serde_json::to_string(&model.parameters),
            AnyModel::Pareto(model) => serde_json::to_string(&model.parameters),
            _ => Ok("null".to_owned()),
        });
        text.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The machine's own outputs: one column per pair of classes, or one column.
    fn raw<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, rows) = self.judge(py, x, threads, raw_values)?;
        let columns = values.len().checked_div(rows).unwrap_or(1);
        table(py, values, rows, columns)
    }

    /// Decision values of a classifier of several classes, one column per class; one column otherwise.
    fn decisions<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, rows) = self.judge(py, x, threads, decision_values)?;
        let columns = values.len().checked_div(rows).unwrap_or(1);
        table(py, values, rows, columns)
    }

    /// Class codes of a classifier.
    fn codes<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (values, _) = self.judge(py, x, threads, decision_values)?;
        let codes = self.look(|any| match any {
            AnyModel::Svc(model) => model.codes_from_decisions(&values).into_iter().map(i64::from).collect(),
            AnyModel::FeatureInduction(model) => model.codes(&values).into_iter().map(i64::from).collect(),
            AnyModel::LinearSvc(model) => model.codes_from_decisions(&values).into_iter().map(i64::from).collect(),
            AnyModel::Pareto(model) => model.classifier.codes_from_decisions(&values).into_iter().map(i64::from).collect(),
            _ => values.iter().map(|&value| if value >= 0.0 { 1 } else { -1 }).collect::<Vec<i64>>(),
        });
        Ok(codes.into_pyarray(py))
    }

    /// Decision values after 1, 2, ... rounds of a boosted classifier.
    fn staged<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let (values, rows) = self.judge(py, x, threads, |any, x, context| match any {
            AnyModel::Boosted(model) => model.staged_decision_values_in(x, context).map(|stages| stages.concat()),
            _ => Err(Error::data("only boosted classifiers have stages")),
        })?;
        boosted::stages(py, self.look(boosted::shape), values, rows)
    }

    /// Whether probabilities are there.
    #[getter]
    fn calibrated(&self) -> bool {
        self.look(|any| match any {
            AnyModel::Svc(model) => model.calibration.is_some(),
            AnyModel::FeatureInduction(model) => model.calibration.is_some(),
            AnyModel::MultiSample(model) => model.machines.iter().all(|machine| machine.calibration.is_some()),
            AnyModel::LinearSvc(model) => model.calibration.is_some(),
            AnyModel::MultiTaskSelection(model) => model.calibration.is_some(),
            AnyModel::Boosted(model) => model.calibration.is_some(),
            AnyModel::Pareto(model) => model.classifier.calibration.is_some(),
            _ => false,
        })
    }

    /// Slopes and shifts of the sigmoids, where probabilities are there.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn sigmoids<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let sigmoids = self.look(|any| match any {
            AnyModel::Svc(model) => model.calibration.as_ref().map(|calibration| calibration.sigmoids.clone()),
            AnyModel::LinearSvc(model) => model.calibration.as_ref().map(|calibration| calibration.sigmoids.clone()),
            AnyModel::Pareto(model) => model.classifier.calibration.as_ref().map(|calibration| calibration.sigmoids.clone()),
            _ => None,
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
        let (calibrated, raised) = border::run(py, &limits, large, |context| {
            match &mut model {
                AnyModel::Svc(model) => model.calibrate_in(&data, context)?,
                AnyModel::FeatureInduction(model) => model.calibrate_in(&data, context)?,
                AnyModel::LinearSvc(model) => model.calibrate_in(&data, context)?,
                AnyModel::Boosted(model) => model.calibrate_in(&data, context)?,
                AnyModel::Pareto(model) => model.calibrate_in(&data, context)?,
                other => return Err(Error::data(format!("models of kind `{}` have no probabilities", other.kind()))),
            }
            Ok(model)
        })?;
        if let Some(raised) = raised {
            return Err(raised);
        }
        self.replace(calibrated);
        Ok(())
    }

    /// Class probabilities, one column per class.
    fn probabilities<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, rows) = self.judge(py, x, threads, |any, x, context| match any {
            AnyModel::Svc(model) => model.probabilities(x, context),
            AnyModel::FeatureInduction(model) => model.probabilities(x, context),
            AnyModel::LinearSvc(model) => model.probabilities(x, context),
            AnyModel::MultiTaskSelection(model) => model.probabilities_from(&model.decision_values_in(x, context)?),
            AnyModel::Boosted(model) => model.probabilities(x, context),
            AnyModel::Pareto(model) => model.classifier.probabilities(x, context),
            _ => Err(Error::data("only classifiers have probabilities")),
        })?;
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
        let (values, _) = self.judge(py, x, threads, |any, x, context| match any {
            AnyModel::MultiTaskSelection(model) => model.task_values(x, task, context),
            _ => Err(Error::data("only multi-task models have tasks")),
        })?;
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
