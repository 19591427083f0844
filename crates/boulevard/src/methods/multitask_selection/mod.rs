//! Multi-task feature and kernel selection by maximum entropy discrimination (Jebara, ICML 2004).
//!
//! # The question
//!
//! Which features (or base kernels) matter, when several tasks are to be learnt that may all depend on the same few?
//!
//! # The problem
//!
//! Every group `d` (an input feature, or a kernel) has a switch that is on with prior probability `rho` and shared by all tasks. Integrating
//! weights and switches out leaves one strictly concave problem in the multipliers `0 <= v < c`:
//!
//! ```text
//! J   = sum_i a_i v_i + g(v_i)  -  sum_d ln(1 - rho + rho exp(q_d / 2))  -  sum_m variance / 2 (sum_t alpha_mt)^2
//! q_d = sum_m | sum_t alpha_mt phi_d(x_mt) |^2
//! ```
//!
//! The probability that a group is on is then `s_d = sigmoid(q_d / 2 - ln((1 - rho) / rho))`, its weight `w_d = s_d sum alpha phi_d`. In the
//! primal this is a group penalty that is a lasso for small weights and a ridge for large ones (`problem/switch.rs`); `rho = 1` is a support vector
//! machine with a logarithmic barrier instead of a hinge. The duality gap separates over samples (`problem/objective.rs`) and certifies every answer.
//!
//! # Steps
//!
//! 1. Tables are padded (features) or become kernel matrices, which are checked to be positive semi-definite (`problem/training.rs`).
//! 2. Small problems and kernels: a primal-dual interior point method, 10 to 30 steps (`solvers/interior.rs`).
//! 3. Large tables of features: reweighted coordinate ascent to a rough solution (`solvers/ascent.rs`).
//! 4. Newton's method on the primal (`solvers/descent.rs`) ends it where ascent began or a tight tolerance is asked for, with a gap at rounding.
//!    Multipliers that vanish are exact zeros either way.
//! 5. If one of them stalls, another takes over (`solvers/mod.rs`).
//!
//! # Cost
//!
//! A pass of coordinate ascent and an iteration of conjugate gradients cost one reading of the table; an interior point step costs
//! `n d min(n, d)` multiplications per task. Kernels need their matrices in memory, eight bytes per pair of samples and kernel.
//!
//! # Departures from the paper
//!
//! The paper solves `J` with general-purpose tools and shows curves; the primal, the gap, the interior point method and the curve that
//! switches move on (`solvers/newton.rs`) are ours. Its flat bias comes out of the optimality conditions with the margin `1 - 1 / (c - v)`, not 1. With
//! `c <= 1` classification has only the trivial solution, which is returned with a note. Multiplying features by a constant is not absorbed by
//! `c`: features should have unit scale. Where `c` or `rho` is left open, columns and targets are therefore standardized inside, rho is one
//! in as many as there are features (the square of that where they are many more than rows), and c and the set of features that is kept are chosen on held-out rows ([`SelectionChoice`]).
//!
//! # Example
//!
//! ```
//! use boulevard::prelude::*;
//! # use boulevard::internal::random::Random;
//!
//! // Two tasks on rows of their own; both depend on the first column of six only.
//! let mut random = Random::new(0, 0);
//! let x: Vec<f64> = (0..120 * 6).map(|_| random.normal()).collect();
//! let sign = |row: usize| (x[row * 6] > 0.0) == (row < 60);
//! let names: Vec<&str> = (0..120).map(|row| if sign(row) { "yes" } else { "no" }).collect();
//! let tasks: Vec<&str> = (0..120).map(|row| if row < 60 { "first" } else { "second" }).collect();
//! let mut data = Dataset::classes(Matrix::dense(x.clone(), 120, 6)?, Categories::from_names(&names));
//! data.tasks = Some(Categories::from_names(&tasks));
//!
//! let model = MultiTaskSelection { rho: Some(0.01), c: Some(3.0), ..Default::default() }.fit(&data)?;
//! assert!(model.report.gap < 1e-6);
//! assert!(model.switches[0] > 0.5 && model.switches[1..].iter().all(|&on| on < 0.2));
//! # Ok::<(), boulevard::Error>(())
//! ```
//!
//! Reference: T. Jebara, Multi-task feature and kernel selection for SVMs, ICML 2004.

mod automatic;
mod describe;
mod folds;
mod judged;
mod learner;
mod model;
mod pictures;
mod problem;
mod scaling;
mod search;
mod solvers;
mod wide;

#[cfg(test)]
mod tests;

pub use automatic::{SelectionChoice, SelectionTrial};
pub use learner::{BiasPrior, Keep, MultiTaskSelection, Select};
pub use model::MultiTaskSelectionModel;
pub use problem::prior::MarginPrior;
pub use problem::tasks::{Outputs, TaskSet, TaskSplit, TaskTarget};
pub use search::{SelectionPoint, SelectionResult, SelectionSearch, TransferReport, task_error, transfer};
