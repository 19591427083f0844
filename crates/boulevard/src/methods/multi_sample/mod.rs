//! One decision for several samples that share a label.
//!
//! **The question.** K measurements of one thing (echoes of one target, photographs of one part, records of one person) are known to have
//! the same class. Which? Judging each and voting throws evidence away; this room has two better ways and the vote to compare with.
//!
//! **When to use it.** When samples come in sets of known membership, at prediction at least. Not when labels within a set differ
//! (multiple-instance learning), nor when one sample is all there ever is.
//!
//! **In maths.** Samples of a set are independent given the class.
//! ```text
//! consensus  L_c = sum_k log p(c | x_k) - (K - 1) log prior_c                      the largest wins            (eq. 4)
//! vote       the class that most samples are given; ties by the sum of decisions
//! direct     min 1/2 b'S b - y'b,  sum b = 0,  0 <= y_i b_i <= C                   f(T) = sum_i b_i S(z_i, T) + bias
//! ```
//! where `z_i` are tuples of K training samples of one class and `S` is the kernel of sets of [`crate::kernel::permanent`], which does not
//! depend on the order within a set. Posteriors come from Platt's sigmoid on held-out decision values.
//!
//! **The direct algorithm.**
//! 1. The kernel matrix of single samples is computed once.
//! 2. Tuples are drawn: the rows of each class are shuffled and cut into tuples that share no row, again and again, until there are about
//!    `n_extended` (K times the rows). A tuple is K row numbers; no features are copied.
//! 3. Rows of `S` are gathered from the base matrix: K x K values and a permanent for each pair of tuples.
//! 4. The one solver solves the dual problem (one per pair of classes, or per class).
//! 5. A set of K samples is judged by its kernel values with the support tuples. Sets of other sizes are judged by consensus, or by
//!    machines of their own ([`OtherSizes`]).
//!
//! C and gamma of the direct machine must be searched for it ([`MultiSample::search`]): those of the plain machine can be far off, because
//! an RBF kernel of K times the dimensions needs all K samples close. Folds cut the original rows before tuples are drawn.
//!
//! **Cost.** For n rows and N tuples: `n^2` base values, `N^2 K 2^(K-1)` products at most (only rows the solver asks for), memory `12 n^2`
//! bytes for the base matrix (computed anew where that exceeds 2 GiB or half the memory limit) and the solver's cache.
//!
//! **Departures from the paper.** The mean over permutations instead of `K!` times their sum (it only rescales C). The last line of the
//! paper's eq. (3) loses the priors; eq. (4) is what is computed, in log space. Classes smaller than K, which the construction leaves empty,
//! give one tuple per repeat with rows repeated as rarely as possible. More than two classes, weights, sequential decisions and sets of any
//! size are ours.
//!
//! ```
//! use boulevard::prelude::*;
//! use boulevard::data::generate;
//!
//! let (train, test) = (generate::two_gaussians(120, 0, 2, 1.5), generate::two_gaussians(3000, 1, 2, 1.5));
//! let model = MultiSample { n_samples_per_decision: 3, ..Default::default() }.fit(&train)?;
//! assert!(model.chosen.is_some()); // which method, C and width, and why
//!
//! // Three samples of one class at a time.
//! let (sets, truth) = Sets::of_classes(test.expect_classes()?, 3);
//! let said = model.predict_sets(&test.x, &sets, &Context::default())?;
//! let wrong = said.codes().iter().zip(&truth).filter(|(a, b)| a != b).count();
//! assert!((wrong as f64) < 0.14 * truth.len() as f64); // single samples: about 0.23
//!
//! // One at a time, until 99 % sure.
//! let scores = model.scores(&test.x.select(&[0, 1, 2, 3, 4, 5, 6, 7]), &Context::default())?;
//! let mut decision = model.sequential(0.99)?;
//! for sample in scores.chunks_exact(2) {
//!     if decision.add(sample)?.decided { break; }
//! }
//! # Ok::<(), boulevard::Error>(())
//! ```
//!
//! **Reference.** R. Santiago-Mozos, F. Perez-Cruz and A. Artes-Rodriguez, Extended Input Space Support Vector Machine, IEEE Transactions on
//! Neural Networks, 2011. <https://doi.org/10.1109/TNN.2010.2090668>

mod choose;
mod consensus;
mod curve;
mod describe;
mod direct;
mod learner;
mod model;
mod pictures;
mod search;
mod source;
mod tuples;

pub use choose::{SetChoice, SetTrial};
pub use consensus::{Consensus, Sequential, Standing, majority, softmax};
pub use curve::{CurvePoint, samples_until};
pub use direct::SetMachine;
pub use learner::{Method, MultiSample, OtherSizes};
pub use model::MultiSampleModel;
pub use pictures::curve_picture;
pub use search::{FoldTuples, SetPoint, SetSearch, best_point};
pub use tuples::Tuples;

pub use crate::data::Sets;
