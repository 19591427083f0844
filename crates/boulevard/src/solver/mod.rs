//! One exact solver for the dual problem of every support vector machine.
//!
//! [`DualProblem`] states the problem, [`Solver`] solves it from kernel rows and keeps the rows for the next problem on the same
//! samples (another C, fold, label or round). The doors in [`crate::svm`] fill in the problem; they know nothing of the algorithm.

mod blocked;
mod blocks;
mod certificate;
mod doubled;
mod dual;
mod estimate;
pub mod linear;
mod newton;
mod pairs;
mod polish;
mod route;
mod single;
mod small;
mod smo;
mod solve;
mod source;
mod start;
mod weights;

/// Gives back the memory that fits keep for the next one; returns how many bytes that was.
///
/// Large kernel row caches (above 32 MiB, 1 GiB in all at most) stay in the process when a fit ends, because fresh memory costs as much as
/// the values that go there. The system may take their pages whenever it needs them, so that this is a matter of tidy figures, of memory
/// limits that count such pages, and of programs that will not fit again. A fit uses no
/// more of a kept cache than [`crate::observe::Context::memory`] allows.
///
/// ```
/// boulevard::release_memory();
/// assert_eq!(boulevard::release_memory(), 0);
/// ```
pub fn release_memory() -> usize {
    smo::arena::release()
}

#[cfg(test)]
mod tests;

pub use blocks::CardCopy;
#[cfg(feature = "card-times")]
pub use blocks::card_times;
pub(crate) use blocks::shards::ShardedSolver;
pub use blocks::shards::{Cluster, Fleet, Piece, RoundReport, Shard, VERSION as SHARD_VERSION};
pub(crate) use blocks::{CardLanes, Job, PairTask, card_for_pairs, card_sums, solve_pairs};
pub use doubled::DoubledKernel;
pub use dual::{DualProblem, DualSolution, Equality, Options};
pub use route::Route;
#[doc(hidden)]
pub use route::force_route;
pub use solve::Solver;
pub(crate) use solve::{SolveDual, automatic_cache};
pub use source::{ExactWork, KernelSource, SubsetKernel, TableKernel, TableView};
pub(crate) use source::{GroupMatrices, SMALL};
pub use start::Known;
pub(crate) use start::{Start, along_ray, fill_up};
