//! Boosted sample-weighted support vector machines for imbalanced labels (SAB-WSVM; Guo, Ma and Li).
//!
//! **The question.** Some labels are rare: a plain machine gives them up, because missing them costs little. Can rounds that look harder
//! at the rows missed so far find them?
//!
//! **When, and when not.** Use it for label matrices whose labels have few carriers, and for rare classes. Boosting itself changes little
//! on the sets we measured; what helps is what surrounds it: balanced first weights, decision values instead of votes, thresholds tuned on
//! held-out rows, and a label for every row where every training row has one. If one machine and its speed are what you need, use
//! [`crate::svm::Svc`] with class weights. The paper's own advantage over a plain machine comes from the two having different kernel
//! widths; `reproduce sab/table1` shows it.
//!
//! **The problem.** Each label is a two-class problem of its own, `y = +1, -1`, on all N rows. Weights `W` sum to 1. A round solves
//! ```text
//! min  1/2 |w|^2 + sum_i C_i xi_i      C_i = C N W_i                                                                        eq. (2)
//!      y_i (<w, phi(x_i)> + b) >= 1 - xi_i,  xi_i >= 0,      k(x, z) = exp(-|x - z|^2 / (2 sigma^2))
//! ```
//! on the rows it draws, and judges every row by `h(x) = sign f(x)`, `sign(0) = -1`.
//!
//! **The algorithm** (Algorithm 1, its holes filled):
//! 1. `W` uniform or balanced, `sigma = sigma_init`.
//! 2. Draw rows: all, or one of each of `floor(ratio N + 1/2)` groups of the list from hard to easy ([`rank`], [`pick`]); the first round,
//!    which knows no hyperplane, breaks ties at random. A draw of one class is repeated, at most twenty times, then mended.
//! 3. Solve, and take `e`, the weight of all rows that `h` misses ([`Verdict`]).
//! 4. If `e >= 1/2`, refuse the round: `sigma -= sigma_step`, `W` unchanged, back to 2.
//! 5. Else `a = 1/2 ln((1 - e) / e)` with `e` at least `1 / (2 N)`, `W_i *= exp(-a y_i h(x_i))`, normalise.
//! 6. Stop after `max_rounds`; when `sigma` would reach `sigma_min`; after twenty refusals in a row; when a round on all rows misses none.
//! 7. The score is the mean of `h_t` (hard votes) or `f_t` (soft), weighted by `a_t`; a label is predicted where it exceeds its threshold.
//!
//! If no round is accepted, the least bad machine answers alone; a label that never (always) occurs is never (always) predicted; a label
//! too rare to hold out keeps threshold 0. [`Ending`] says which.
//!
//! **Cost.** Distances of all pairs once, `O(N^2 d)` time and `20 N^2` bytes (beyond the cache size rows are computed anew), shared by all
//! labels, folds, rounds and widths; then one solve per label and round, times one more per fold where thresholds are tuned. Labels and
//! folds run in parallel; the result does not depend on the number of threads.
//!
//! **Departures from the paper.** The defaults ([`BoostedSvc::default`]); [`BoostedSvc::paper`] is the published algorithm. The paper's
//! step 3d says "go to (d)" for "go to (e)", has no limit on rounds, allows `e = 1/2` (nothing would change) and `e = 0` (an infinite
//! vote): decided as above.
//!
//! ```
//! use boulevard::data::generate;
//! use boulevard::data::{LabelMatrix, Target};
//! use boulevard::prelude::*;
//!
//! // Two labels of different size on the same plane.
//! let mut data = generate::two_gaussians(200, 1, 2, 2.0);
//! let on = (0..200).flat_map(|i| [data.x.get(i, 0) > 0.0, data.x.get(i, 1) > 1.6]).collect();
//! data.target = Target::Labels(LabelMatrix::new(on, vec!["right".into(), "high".into()])?);
//! let model = BoostedSvc { max_rounds: 5, ..Default::default() }.fit(&data)?;
//! let margins = model.decision_values(&data.x)?;
//! let wrong = (0..200).filter(|&i| (margins[2 * i + 1] > 0.0) != (data.x.get(i, 1) > 1.6)).count();
//! assert!(wrong < 10);
//! # Ok::<(), boulevard::Error>(())
//! ```
//!
//! **Reference.** Guo, Ma, Li: boosted sample-weighted SVM for imbalanced multi-label classification (SAB-WSVM).

mod assemble;
mod committee;
mod describe;
mod ensemble;
mod fits;
mod gram;
mod held_out;
mod learner;
mod model;
mod pictures;
mod problems;
mod reasons;
mod sampling;
mod search;
mod smooth;
mod tuning;
mod update;

#[cfg(test)]
mod tests;

pub use learner::{AtLeastOne, BoostedSvc, InitialWeights, Measure, Preset, Sampling, Thresholds, Validation, Voting, WeightScale};
pub use model::{BoostedModel, Ending, Kind, LabelEnsemble, Round};
pub use sampling::{draw_size, groups, pick, rank};
pub use search::{Chosen, Trial};
pub use update::Verdict;
