//! Every error of the library has its own Python exception, defined in `boulevard.exceptions`.

use boulevard::Error;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

/// An instance of class `name` of `boulevard.exceptions`.
pub fn exception(py: Python<'_>, name: &str, message: &str) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("boulevard.exceptions").map(Bound::unbind));
    match module.and_then(|module| module.bind(py).getattr(name)).and_then(|class| class.call1((message,))) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// The Python exception for an error of the library.
pub fn convert(py: Python<'_>, error: Error) -> PyErr {
    let name = match &error {
        Error::Parameter { .. } => "ParameterError",
        Error::NotFinite { .. } => "NotFiniteError",
        Error::Shape { .. } => "ShapeError",
        Error::Memory { .. } => "MemoryLimitError",
        Error::Parse { .. } | Error::File { .. } => "FileFormatError",
        // The system's number lets Python pick FileNotFoundError, PermissionError and the like.
        Error::Io { path, source } => {
            let path = path.display().to_string();
            return match source.raw_os_error() {
                Some(code) => PyOSError::new_err((code, source.to_string(), path)),
                None => PyOSError::new_err(error.to_string()),
            };
        }
        _ => "DataError",
    };
    exception(py, name, &error.to_string())
}
