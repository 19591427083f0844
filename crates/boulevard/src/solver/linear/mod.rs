//! Linear machines solved in the primal and certified by their duality gap.
//!
//! ```text
//! min  1/2 |w|^2 + sum_i loss_i(target_i - x_i'w - b)        (or |w|_1 instead of 1/2 |w|^2)
//! ```
//! [`solve_linear`] chooses the algorithm by the shape of the table: see the table in `docs/concepts/linear.md` and the head of each file
//! for the method, its source and its cost. All of them accept a start and stop on the relative duality gap.

mod crammer_singer;
mod descent;
mod interior;
mod lagrangian;
mod lasso;
mod lasso_model;
mod lasso_state;
mod loss;
mod newton;
mod reduce;
mod solve;
mod squared;
mod table;
#[cfg(test)]
mod tests;

pub use crammer_singer::{ClassesProblem, ClassesSolution, solve_classes};
use loss::{Certificate, Samples};
use newton::Point;
pub use solve::solve_linear;
pub(in crate::solver) use table::LinearTable;

use crate::data::Matrix;
use crate::observe::{Context, StopReason};

/// How residuals outside the tube are priced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinearLoss {
    /// By their size: hinge loss, epsilon-insensitive loss.
    Absolute,
    /// By their square.
    #[default]
    Squared,
}

/// What keeps the weights small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Regularizer {
    /// Half the sum of squares.
    #[default]
    L2,
    /// The sum of absolute values: many weights become zero.
    L1,
}

/// How the bias is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bias {
    /// Free of charge, as in kernel machines.
    #[default]
    Free,
    /// The weight of a constant column of this value, regularised like the others, as in LIBLINEAR.
    Column(f64),
    /// There is none.
    None,
}

/// A linear problem. Prices are per sample; a sample with both prices zero takes no part.
#[derive(Clone, Copy, Debug)]
pub struct LinearProblem<'a> {
    /// One row per sample.
    pub x: &'a Matrix<'a>,
    /// What `x'w + b` should be.
    pub target: &'a [f64],
    /// Price of residuals above the tube (the value is too small).
    pub up: &'a [f64],
    /// Price of residuals below it.
    pub down: &'a [f64],
    /// Residuals up to this size are free.
    pub tube: f64,
    /// The loss.
    pub loss: LinearLoss,
    /// The regularizer.
    pub regularizer: Regularizer,
    /// The bias.
    pub bias: Bias,
}

/// A point to begin with: the solution of a similar problem. Its weights may be fewer than the columns (new columns start at zero).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearStart {
    /// Weights.
    pub weights: Vec<f64>,
    /// Bias.
    pub bias: f64,
    /// Dual variables, one per sample; may be empty.
    pub dual: Vec<f64>,
}

/// A solved problem with its certificate.
#[derive(Clone, Debug)]
pub struct LinearSolution {
    /// Weights, one per column.
    pub weights: Vec<f64>,
    /// Bias.
    pub bias: f64,
    /// Dual variables, one per sample: the loss's slopes.
    pub dual: Vec<f64>,
    /// The primal objective.
    pub primal: f64,
    /// The dual objective.
    pub objective: f64,
    /// Relative duality gap.
    pub gap: f64,
    /// Steps.
    pub iterations: u64,
    /// Why it stopped.
    pub stop: StopReason,
    /// The algorithm that was chosen.
    pub method: &'static str,
}

/// What the algorithms are asked: to bring the relative gap of samples on a table below `tolerance`.
#[derive(Clone, Copy)]
struct Task<'a> {
    table: &'a LinearTable<'a>,
    samples: &'a Samples<'a>,
    free_bias: bool,
    tolerance: f64,
    context: &'a Context<'a>,
}

/// What the algorithms return.
struct LinearOutcome {
    point: Point,
    certificate: Certificate,
    iterations: u64,
    stop: StopReason,
    method: &'static str,
}
