//! A model for one row at a time: nothing is converted, no thread is asked, no signal is looked at.

use boulevard::any::AnyModel;
use boulevard::data::{Matrix, Target};
use boulevard::observe::Context;
use boulevard::svm::{Answers, Model as _};
use boulevard::{Error, Result};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::convert;

/// A fitted model that answers about single rows in a few microseconds.
///
/// Made by ``estimator.freeze()``. It takes one row, an array of float64 or a list of numbers, and gives one answer.
#[pyclass(frozen, name = "FrozenModel", module = "boulevard")]
pub struct Frozen {
    any: AnyModel,
    /// What class codes stand for.
    labels: Vec<Py<PyAny>>,
}

/// A row as the library reads it: borrowed where it is an array, else read number by number.
enum Row<'py> {
    Array(PyReadonlyArray1<'py, f64>),
    Numbers(Vec<f64>),
}

impl<'py> Row<'py> {
    fn read(row: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = row.extract::<PyReadonlyArray1<'py, f64>>() {
            if array.as_slice().is_ok() {
                return Ok(Self::Array(array));
            }
            return Ok(Self::Numbers(array.as_array().to_vec()));
        }
        let numbers = row.extract::<Vec<f64>>();
        numbers.map(Self::Numbers).map_err(|_| PyTypeError::new_err("a frozen model takes one row: a 1-D array or a list of numbers"))
    }

    fn values(&self) -> &[f64] {
        match self {
            Self::Array(array) => array.as_slice().unwrap_or(&[]),
            Self::Numbers(numbers) => numbers,
        }
    }
}

impl Frozen {
    fn ask<T>(&self, row: &Bound<'_, PyAny>, question: impl FnOnce(&AnyModel, &Matrix<'_>, &Context<'_>) -> Result<T>) -> PyResult<T> {
        let held = Row::read(row)?;
        let matrix = Matrix::dense(held.values(), 1, held.values().len());
        matrix.and_then(|x| question(&self.any, &x, &Context::single())).map_err(|error| convert(row.py(), error))
    }
}

#[pymethods]
impl Frozen {
    /// From the bytes of a model file and what its class codes stand for.
    #[new]
    fn new(py: Python<'_>, model: &[u8], labels: Vec<Py<PyAny>>) -> PyResult<Self> {
        let any = AnyModel::from_bytes(model).map_err(|error| convert(py, error))?;
        match any.answers() {
            Answers::Classes(names) if labels.len() != names.len() => {
                Err(convert(py, Error::shape("labels of the classes", names.len(), labels.len())))
            }
            Answers::Tasks { .. } => {
                Err(convert(py, Error::data("a model of several tasks cannot be frozen: ask the estimator about a task")))
            }
            _ => {
                any.make_ready(&Context::single()).map_err(|error| convert(py, error))?;
                Ok(Self { any, labels })
            }
        }
    }

    /// For pickles: what `__new__` is called with.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Vec<Py<PyAny>>)> {
        let bytes = self.any.to_bytes().map_err(|error| convert(py, error))?;
        Ok((PyBytes::new(py, &bytes), self.labels.iter().map(|label| label.clone_ref(py)).collect()))
    }

    /// Number of values that a row has.
    #[getter]
    fn n_features_in_(&self) -> usize {
        self.any.features()
    }

    /// The answer about one row: a class label, a number, 1 (inside) or -1, or a row of 0 and 1 for several labels.
    fn predict(&self, py: Python<'_>, row: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match self.ask(row, |any, x, context| any.predict_in(x, context))? {
            Target::Classes(said) if self.any.answers() == Answers::Inside => (2 * i64::from(said.codes()[0]) - 1).into_py_any(py),
            Target::Classes(said) => Ok(self.labels[said.codes()[0] as usize].clone_ref(py)),
            Target::Real(numbers) if numbers.len() == 1 => numbers[0].into_py_any(py),
            Target::Real(numbers) => numbers.into_pyarray(py).into_py_any(py),
            Target::Labels(labels) => {
                let row: Vec<i64> = labels.row(0).iter().map(|&on| i64::from(on)).collect();
                row.into_pyarray(py).into_py_any(py)
            }
            Target::None => Err(convert(py, Error::data("this model answers nothing"))),
        }
    }

    /// The decision value of one row, or an array of them where there are several.
    fn decision_function(&self, py: Python<'_>, row: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let values = self.ask(row, |any, x, context| any.decision_values_in(x, context))?;
        if let [value] = values[..] { value.into_py_any(py) } else { values.into_pyarray(py).into_py_any(py) }
    }

    fn __repr__(&self) -> String {
        format!("FrozenModel({}, {} features)", self.any.inner().kind(), self.any.features())
    }
}
