//! What the library has by name: kernels, and methods with their parameters. Python keeps no lists of its own.

use boulevard::any::METHODS;
use boulevard::kernel::Kernel;
use pyo3::prelude::*;

/// The kernels as JSON: name, title, parameters with their defaults, formula, note.
#[pyfunction]
pub fn kernels() -> String {
    serde_json::json!(Kernel::CATALOGUE).to_string()
}

/// The methods: name, kind, and the names of the parameters.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, Vec<String>)> {
    METHODS.iter().map(|method| (method.name, method.kind, method.fields())).collect()
}
