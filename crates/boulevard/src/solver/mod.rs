//! One exact solver for the dual problem of every support vector machine.
//!
//! [`DualProblem`] states the problem, [`Solver`] solves it from kernel rows and keeps the rows for the next problem on the same
//! samples (another C, fold, label or round). The doors in [`crate::svm`] fill in the problem; they know nothing of the algorithm.

mod blocked;
mod blocks;
mod certificate;
mod doubled;
mod dual;
pub mod linear;
mod memory;
mod pairs;
mod polish;
mod route;
mod single;
mod smo;
mod solve;
mod source;

#[cfg(test)]
mod tests;

pub use doubled::DoubledKernel;
pub use dual::{DualProblem, DualSolution, Equality, Options};
pub use route::Route;
pub use solve::Solver;
pub(crate) use solve::automatic_cache;
pub use source::{ExactWork, KernelSource, SubsetKernel, TableKernel};
pub(crate) use source::{GroupMatrices, SMALL};
