//! The native half of the Python package: `boulevard._core`.
//!
//! Users meet the classes in `python/boulevard`; this module only takes arrays and one JSON string of parameters, and gives arrays back.
//! All long work goes through `border`, the one gate.

mod arrays;
mod boosted;
mod border;
mod catalogue;
mod errors;
mod front;
mod frozen;
mod generate;
mod induction;
mod linear_rows;
mod models;
mod parts;
mod request;
mod search;
mod selection;
mod sets;
mod shards;

use pyo3::prelude::*;

/// Large blocks go back to the system when a fit is over.
#[global_allocator]
static HEAP: boulevard::internal::heap::Heap = boulevard::internal::heap::Heap::new();

/// Native part of `boulevard`; not meant to be used directly.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::arrays::encode;
    #[pymodule_export]
    use super::catalogue::{kernels, methods};
    #[pymodule_export]
    use super::front::{front, front_alphas, select};
    #[pymodule_export]
    use super::frozen::Frozen;
    #[pymodule_export]
    use super::generate::generate;
    #[pymodule_export]
    use super::induction::{grow_tree, induced_explain, induced_stages, induced_table, induced_text};
    #[pymodule_export]
    use super::models::{Learner, Model, fit};
    #[pymodule_export]
    use super::search::grid_search;
    #[pymodule_export]
    use super::selection::{selection_path, selection_search, selection_transfer};
    #[pymodule_export]
    use super::sets::{error_by_size, expected_samples, judge_sets, sample_scores, search_sets, symmetric_kernel};
    #[pymodule_export]
    use super::shards::{Shard, calibrate_shards, fit_shards};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // What is found once of numpy's interface is found now: in the first fit a Ctrl-C could come between, which its crate answers with a
        // panic.
        let array = numpy::PyArray1::<f64>::zeros(module.py(), 1, false);
        drop(numpy::PyArrayMethods::try_readonly(&array));
        // While the rest is imported, another core makes memory ready for the first fit. (Whoever forks meanwhile does without.)
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
            let _ = std::thread::Builder::new().name("boulevard-memory".into()).spawn(|| HEAP.prepare());
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
