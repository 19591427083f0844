//! The whole trade-off between margin and error in one run: the Pareto front of a support vector machine (Mierswa 2007).
//!
//! # The question
//! How wide can the street be, and what does it cost? A plain machine answers for one `C`. Here every answer is computed at once, its
//! errors are measured on rows held out, and one is picked afterwards.
//!
//! # When to use it, and when not
//! Instead of a search over `C` on small and medium data (up to some ten thousand rows), to see where training and hold-out error part,
//! and with kernels that are not positive semi-definite. Several widths of the kernel are compared by coarse fronts first.
//!
//! # The problem
//! ```text
//! Q_ij = y_i y_j k(x_i, x_j),    0 <= alpha <= 1 (or the samples' weights)
//! maximize  s = sum alpha     and     -q = -alpha' Q alpha     (and, with an intercept, -|sum alpha y|)
//! ```
//! For a positive semi-definite kernel the front is `q(s) = min { q : sum alpha = s }`, convex and piecewise quadratic; its slope is
//! `2 lambda`, and the point is the plain machine without intercept with `C = 1 / lambda`, `C alpha` its coefficients. With the third
//! objective at zero each class has half of the sum, and the point is the ordinary machine with intercept.
//!
//! # The algorithm
//! * [`Mode::Exact`]: one slot per sum, swept from the largest down; Newton steps on the face of free samples and pair steps take turns
//!   until the relative KKT gap is below the tolerance. Every point carries its gap.
//! * [`Mode::Evolve`]: NSGA-II with cached `Q alpha`, in the paper's form or Deb's, with the paper's mutation and crossover or others.
//! * [`Mode::Hybrid`] (default): exact slots, and where the kernel is indefinite restarts, mixtures and descents from them.
//! * [`Widths`]: coarse fronts of several widths on the same hold-outs; the one with the lowest estimate gets the fine front.
//!
//! # Cost
//! Exact: about as many kernel values as one matrix, then `O(n m)` to `O(m^3)` per slot with `m` free samples. An evolution holds the
//! matrix and needs `O(n)` per changed gene. Memory: the matrix if it fits the cache, else its most used rows.
//!
//! # Departures from the paper
//! * The box `alpha <= 1` is kept: without it the printed problem is unbounded, and every optimum is one ray (the same classifier).
//!   Another box only rescales the front.
//! * Sorted by `s`, training error *rises* along the true front; the paper's opposite reading holds for unconverged populations only.
//!   The second picture sorts by measured training error.
//! * The intercept comes from both classes' multipliers; the paper's formula assumes a unit margin that a point of the front has not.
//! * Crowding is divided by each objective's range, and repeated objectives are dropped.
//! * The hold-out takes its share of every class. Before a point is picked, hold-out errors of exact fronts are averaged over several
//!   hold-outs and over neighboring points: the lowest of a hundred noisy numbers is one that was lucky.
//!
//! # Example
//! ```
//! use boulevard::prelude::*;
//!
//! let data = boulevard::data::generate::banana(200, 0);
//! let model = ParetoSvc { kernel: Kernel::rbf(1.0), n_points: 40, ..Default::default() }.fit(&data)?;
//! assert!(model.front.iter().all(|point| point.gap < 1e-4));
//! assert!(model.front.windows(2).all(|pair| pair[0].quadratic < pair[1].quadratic));
//! let best = model.front[model.picked];
//! let wide = model.select(39)?; // the widest street, as an ordinary classifier
//! assert!(best.holdout_error <= model.front[39].holdout_error + 0.1);
//! assert_eq!(wide.predict(&data.x)?.len(), 200);
//! # Ok::<(), boulevard::Error>(())
//! ```
//!
//! # References
//! I. Mierswa: Controlling Overfitting with Multi-Objective Support Vector Machines. GECCO 2007.
//! K. Deb, A. Pratap, S. Agarwal, T. Meyarivan: A fast and elitist multiobjective genetic algorithm: NSGA-II. IEEE TEC, 2002.

mod calibrate;
mod choose;
mod describe;
mod evolve;
mod exact;
mod family;
mod family_pictures;
mod fronts;
mod judge;
mod kinds;
mod learner;
mod model;
mod parameters;
mod pictures;
mod point;
mod refit;
mod restart;
mod rise;
mod survey;

#[cfg(test)]
mod tests;

pub use choose::{Marks, Pick, by_training_error, marks};
pub use evolve::Variant;
pub use evolve::variation::{Crossover, Mutation};
pub use family::{CommonPoint, WidthFront};

pub use model::{ClassFront, ParetoModel};
pub use parameters::{Bias, Mode, ParetoSvc, Widths};
pub use pictures::{NamedFront, pictures};
pub use point::FrontPoint;
