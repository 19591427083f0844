//! Every error of the library has its own Python exception, defined in `boulevard.exceptions`, with the facts as attributes.

use boulevard::Error;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};
use serde::de::DeserializeOwned;

/// An instance of class `name` of `boulevard.exceptions`.
pub fn exception(py: Python<'_>, name: &str, message: &str) -> PyErr {
    with_facts(py, name, message, &[])
}

/// The same with facts about it.
fn with_facts(py: Python<'_>, name: &str, message: &str, facts: &[(&str, &str)]) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let make = || {
        let class = MODULE.get_or_try_init(py, || py.import("boulevard.exceptions").map(Bound::unbind))?.bind(py).getattr(name)?;
        let named = PyDict::new(py);
        for (fact, value) in facts {
            named.set_item(fact, value)?;
        }
        class.call((message,), Some(&named))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// The Python exception for an error of the library.
pub fn convert(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    let name = match &error {
        Error::Parameter { name, owner, allowed, found } => {
            return with_facts(py, "ParameterError", &text, &[("name", name), ("owner", owner), ("allowed", allowed), ("found", found)]);
        }
        Error::NotFinite { .. } => "NotFiniteError",
        Error::Overflow(_) => "TooLargeError",
        Error::Shape { .. } => "ShapeError",
        Error::Memory { .. } | Error::FreeMemory { .. } => "MemoryLimitError",
        Error::Device { .. } => "DeviceError",
        Error::Parse { .. } | Error::File { .. } => "FileFormatError",
        // The system's number lets Python pick FileNotFoundError, PermissionError and the like.
        Error::Io { path, source } => {
            let path = path.display().to_string();
            return match source.raw_os_error() {
                Some(code) => PyOSError::new_err((code, source.to_string(), path)),
                None => PyOSError::new_err(text),
            };
        }
        _ => "DataError",
    };
    exception(py, name, &text)
}

/// What a JSON text of the Python half stands for.
pub fn read<T: DeserializeOwned>(py: Python<'_>, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| {
        // The text is ours: its lines and columns say nothing to anybody.
        let message = error.to_string();
        let said = message.rsplit_once(" at line ").map_or(message.as_str(), |(said, _)| said);
        exception(py, "ParameterError", &format!("parameters: {said}"))
    })
}
