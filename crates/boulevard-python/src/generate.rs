//! The library's artificial data sets, by name.

use boulevard::data::generate as sets;
use boulevard::data::{Dataset, Matrix};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::table;

type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>);

/// Samples and class codes (0 and 1) of the set `name`; `options` are its own numbers, in the order of the Rust function.
#[pyfunction]
pub fn generate<'py>(py: Python<'py>, name: &str, n: usize, seed: u64, options: Vec<f64>) -> PyResult<Pair<'py>> {
    let option = |i: usize| options.get(i).copied().ok_or_else(|| PyValueError::new_err(format!("`{name}` needs option {i}")));
    let data: Dataset<'static> = match name {
        "banana" => sets::banana(n, seed),
        "ringnorm" => sets::ringnorm(n, seed),
        "twonorm" => sets::twonorm(n, seed),
        "waveform" => sets::waveform(n, seed),
        "spiral" => sets::spiral(n, seed, option(0)?, option(1)?),
        "checkerboard" => sets::checkerboard(n, seed, option(0)? as usize, option(1)?),
        "two_gaussians" => sets::two_gaussians(n, seed, option(0)? as usize, option(1)?),
        _ => return Err(PyValueError::new_err(format!("no data set is called `{name}`"))),
    };
    let codes = data.expect_classes().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let codes: Vec<i64> = codes.codes().iter().map(|&code| i64::from(code)).collect();
    let (rows, columns) = (data.x.rows(), data.x.columns());
    let values = match data.x {
        Matrix::F64(dense) => dense.values().to_vec(),
        _ => unreachable!("the generators make dense tables"),
    };
    Ok((table(py, values, rows, columns)?, codes.into_pyarray(py)))
}
