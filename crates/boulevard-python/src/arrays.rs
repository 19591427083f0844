//! numpy arrays in and out. Dense tables are borrowed, never copied; so are the column numbers and values of sparse ones where they are
//! 32-bit numbers in rising order and doubles.

use boulevard::data::{Csr, Matrix};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::errors::convert;

/// A table that Python owns.
pub enum Table<'py> {
    /// C-ordered `float64`.
    F64(PyReadonlyArray2<'py, f64>),
    /// C-ordered `float32`.
    F32(PyReadonlyArray2<'py, f32>),
    /// CSR, offsets already widened.
    Sparse { offsets: Vec<usize>, indices: Columns<'py>, values: Values<'py>, columns: usize },
}

const NEGATIVE: &str = "indices must not be negative";

/// The column numbers of a sparse table.
pub enum Columns<'py> {
    /// Python's own: `int32` without a sign. What was negative is far beyond all columns.
    Borrowed(PyReadonlyArray1<'py, u32>),
    /// A copy of other numbers.
    Copied(Vec<u32>),
}

impl Columns<'_> {
    fn extract<'py>(array: &Bound<'py, PyAny>) -> PyResult<Columns<'py>> {
        if array.extract::<PyReadonlyArray1<'py, i32>>().is_ok_and(|array| array.as_slice().is_ok()) {
            return Ok(Columns::Borrowed(array.call_method1(intern!(array.py(), "view"), (intern!(array.py(), "uint32"),))?.extract()?));
        }
        let narrow = |column: usize| {
            let outside = || PyValueError::new_err(format!("column {column} is too large: the last one that is allowed is {}", u32::MAX));
            u32::try_from(column).map_err(|_| outside())
        };
        counts(array)?.into_iter().map(narrow).collect::<PyResult<_>>().map(Columns::Copied)
    }

    fn as_slice(&self) -> &[u32] {
        match self {
            Self::Borrowed(array) => array.as_slice().unwrap_or_default(),
            Self::Copied(columns) => columns,
        }
    }
}

/// The stored values of a sparse table.
pub enum Values<'py> {
    /// Python's own.
    Borrowed(PyReadonlyArray1<'py, f64>),
    /// A copy in double precision.
    Copied(Vec<f64>),
}

impl Values<'_> {
    fn extract<'py>(array: &Bound<'py, PyAny>) -> PyResult<Values<'py>> {
        match array.extract::<PyReadonlyArray1<'py, f64>>() {
            Ok(array) if array.as_slice().is_ok() => Ok(Values::Borrowed(array)),
            _ => reals(array).map(Values::Copied),
        }
    }

    fn as_slice(&self) -> &[f64] {
        match self {
            Self::Borrowed(array) => array.as_slice().unwrap_or_default(),
            Self::Copied(values) => values,
        }
    }
}

impl<'py> Table<'py> {
    /// From a C-ordered 2-D array, or a tuple `(indptr, indices, data, columns)`.
    pub fn extract(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = x.extract::<PyReadonlyArray2<'py, f64>>() {
            return Ok(Self::F64(array));
        }
        if let Ok(array) = x.extract::<PyReadonlyArray2<'py, f32>>() {
            return Ok(Self::F32(array));
        }
        type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize);
        let Ok((offsets, indices, values, columns)) = x.extract::<Parts<'py>>() else {
            return Err(PyTypeError::new_err("X must be a 2-D float array or the parts of a CSR matrix"));
        };
        Ok(Self::Sparse { offsets: counts(&offsets)?, indices: Columns::extract(&indices)?, values: Values::extract(&values)?, columns })
    }

    /// The library's view of the same memory; a copy of sparse rows whose columns do not rise.
    pub fn matrix(&self) -> PyResult<Matrix<'_>> {
        let order = |_| PyValueError::new_err("X must be C-contiguous");
        let shape = |shape: &[usize]| (shape[0], shape[1]);
        let matrix = match self {
            Self::F64(array) => {
                let (rows, columns) = shape(array.shape());
                Matrix::dense(array.as_slice().map_err(order)?, rows, columns)
            }
            Self::F32(array) => {
                let (rows, columns) = shape(array.shape());
                Matrix::dense_f32(array.as_slice().map_err(order)?, rows, columns)
            }
            Self::Sparse { offsets, indices, values, columns } => {
                let signed = matches!(indices, Columns::Borrowed(_));
                let (indices, values) = (indices.as_slice(), values.as_slice());
                let ordered = Csr::new(offsets.as_slice(), indices, values, *columns);
                if signed && ordered.is_err() && indices.iter().any(|&column| i32::try_from(column).is_err()) {
                    return Err(PyValueError::new_err(NEGATIVE));
                }
                let csr = ordered.or_else(|_| Csr::from_unordered(offsets.clone(), indices.to_vec(), values.to_vec(), *columns));
                return csr.map(Matrix::Sparse).map_err(|error| Python::attach(|py| convert(py, error)));
            }
        };
        matrix.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Numbers that are not negative, from an `int32` or `int64` array.
pub fn counts(array: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    fn read<T: numpy::Element + Copy + PartialOrd + Default>(
        array: &PyReadonlyArray1<'_, T>,
        to: impl Fn(T) -> usize,
    ) -> PyResult<Vec<usize>> {
        let array = array.as_array();
        if array.iter().any(|&value| value < T::default()) {
            return Err(PyValueError::new_err(NEGATIVE));
        }
        Ok(array.iter().map(|&value| to(value)).collect())
    }
    // Class codes first: the refusal of a type takes as long as a small fit's labels.
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        return read(&array, |value| value as usize);
    }
    let array = array.extract::<PyReadonlyArray1<'_, i32>>().map_err(|_| PyTypeError::new_err("indices must be int32 or int64"))?;
    read(&array, |value| value as usize)
}

/// Classes up to which [`encode`] looks through a list of them for every label.
const FEW: usize = 32;

/// Classes, and the code of every label.
type Encoded<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);

/// The classes of `float64` or `int64` labels, rising, and the place of every label among them; none where there are many or one of them is
/// no whole number. (numpy's functions for it took 17 of the 255 microseconds of a small fit.)
#[pyfunction]
pub fn encode<'py>(y: &Bound<'py, PyAny>) -> PyResult<Option<Encoded<'py>>> {
    fn few<T: Copy + PartialOrd>(labels: impl Iterator<Item = T> + Clone, whole: impl Fn(T) -> bool) -> Option<(Vec<T>, Vec<i64>)> {
        let mut classes: Vec<T> = Vec::new();
        for label in labels.clone() {
            if !classes.contains(&label) {
                if classes.len() == FEW || !whole(label) {
                    return None;
                }
                classes.push(label);
            }
        }
        classes.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let codes = labels.map(|label| classes.iter().position(|class| *class == label).unwrap_or_default() as i64).collect();
        Some((classes, codes))
    }
    let py = y.py();
    if let Ok(labels) = y.extract::<PyReadonlyArray1<'_, f64>>() {
        let found = few(labels.as_array().iter().copied(), |label| label.is_finite() && label == label.floor());
        return Ok(found.map(|(classes, codes)| (classes.into_pyarray(py).into_any(), codes.into_pyarray(py))));
    }
    if let Ok(labels) = y.extract::<PyReadonlyArray1<'_, i64>>() {
        let found = few(labels.as_array().iter().copied(), |_| true);
        return Ok(found.map(|(classes, codes)| (classes.into_pyarray(py).into_any(), codes.into_pyarray(py))));
    }
    Ok(None)
}

/// Numbers from a `float64` or `float32` array.
pub fn reals(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(array.as_array().to_vec());
    }
    let array = array.extract::<PyReadonlyArray1<'_, f32>>().map_err(|_| PyTypeError::new_err("values must be float64 or float32"))?;
    Ok(array.as_array().iter().map(|&v| f64::from(v)).collect())
}

/// A 2-D array from row-major values.
pub fn table<'py, T: numpy::Element>(py: Python<'py>, values: Vec<T>, rows: usize, columns: usize) -> PyResult<Bound<'py, PyArray2<T>>> {
    values.into_pyarray(py).reshape([rows, columns])
}

/// 32-bit numbers, as scikit-learn stores rows and counts.
pub fn int32<'py, T: Copy>(py: Python<'py>, values: &[T]) -> Bound<'py, PyArray1<i32>>
where
    i32: TryFrom<T>,
{
    values.iter().map(|&v| i32::try_from(v).unwrap_or(i32::MAX)).collect::<Vec<i32>>().into_pyarray(py)
}

/// A table of the library: a dense array, or a tuple `(indptr, indices, data, columns)`.
pub fn give<'py>(py: Python<'py>, matrix: &Matrix<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match matrix {
        Matrix::F64(dense) => table(py, dense.values().to_vec(), matrix.rows(), matrix.columns())?.into_any(),
        Matrix::F32(dense) => table(py, dense.values().to_vec(), matrix.rows(), matrix.columns())?.into_any(),
        Matrix::Sparse(csr) => {
            let parts = (int32(py, csr.offsets()), int32(py, csr.indices()), csr.values().to_vec().into_pyarray(py), csr.columns());
            parts.into_pyobject(py)?.into_any()
        }
    })
}
