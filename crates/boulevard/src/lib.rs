//! Boulevard: support vector machines that are fast, exact to a certificate, and explain themselves.
//!
//! A boulevard is a wide street; a support vector machine looks for the widest street between classes.
//!
//! ```
//! use boulevard::prelude::*;
//!
//! let data = boulevard::data::generate::banana(200, 0);
//! let model = Svc { kernel: Kernel::rbf(1.0), ..Default::default() }.fit(&data)?;
//! assert!(model.report().gap < 1e-6);
//! let predicted = model.predict(&data.x)?;
//! let right = predicted.codes().iter().zip(data.expect_classes()?.codes()).filter(|(a, b)| a == b).count();
//! assert!(right > 170);
//! # Ok::<(), boulevard::Error>(())
//! ```
//!
//! Tables are in [`data`], kernels in [`kernel`], the machines in [`svm`]. Every fit can be watched and stopped through an
//! [`observe::Context`]. The rooms and the reasons behind them are described in `docs/architecture.md`.

pub mod any;
mod atomic_file;
mod check;
pub mod data;
pub mod error;
pub mod gallery;
mod heap;
pub mod kernel;
mod linalg;
mod memory;
pub mod methods;
pub mod metrics;
pub mod observe;
mod parallel;
pub mod persist;
pub mod picture;
mod random;
mod simd;
pub mod solver;
pub mod svm;
pub mod validation;
pub mod words;

pub use error::{Error, Result};
pub use solver::release_memory;

/// Not part of the API: what the program, the Python package, the benchmarks and the tests of this repository share. May change at any time.
#[doc(hidden)]
pub mod internal {
    pub mod atomic_file {
        pub use crate::atomic_file::replace;
    }
    pub mod check {
        pub use crate::check::*;
    }
    pub mod heap {
        pub use crate::heap::{Heap, Sparing};
    }
    pub mod linear {
        pub use crate::svm::linear::{Place, SideBySide, SparseRows};
    }
    pub mod parallel {
        pub use crate::parallel::map;
    }
    pub mod route {
        pub use crate::solver::force_route;
    }
    pub mod random {
        pub use crate::random::Random;
    }
}

/// What most programs need.
pub mod prelude {
    pub use crate::data::{Categories, Dataset, Matrix, Target};
    pub use crate::error::{Error, Result};
    pub use crate::kernel::{Gamma, Kernel};
    pub use crate::methods::boosted::{BoostedModel, BoostedSvc};
    pub use crate::methods::feature_induction::{FeatureInduction, FeatureInductionModel};
    pub use crate::methods::multi_sample::{MultiSample, MultiSampleModel, Sets};
    pub use crate::methods::multitask_selection::{MultiTaskSelection, MultiTaskSelectionModel};
    pub use crate::methods::pareto::{ParetoModel, ParetoSvc};
    pub use crate::observe::{Context, StopReason};
    pub use crate::svm::{
        ClassWeight, Learner, LinearSvc, LinearSvr, Model, Multiclass, OneClass, Penalty, SolverSettings, Svc, Svr, Tube,
    };
}
