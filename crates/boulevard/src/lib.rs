//! Boulevard: support vector machines that are fast, exact to a certificate, and explain themselves.
//!
//! A boulevard is a wide street; a support vector machine looks for the widest street between classes.

mod atomic_file;
pub mod check;
pub mod data;
pub mod error;
pub mod kernel;
pub mod metrics;
pub mod observe;
pub mod parallel;
pub mod persist;
pub mod random;
pub mod simd;
pub mod solver;
pub mod svm;
pub mod validation;

pub use error::{Error, Result};
