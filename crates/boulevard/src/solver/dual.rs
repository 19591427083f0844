//! The dual problem, its solution, and what a solver is asked to do.

use super::route::Route;
use crate::error::{Error, Result};
use crate::observe::StopReason;

/// The linear constraint of a [`DualProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality<'a> {
    /// None: a machine without bias.
    Free,
    /// `sum b = sum start`
    Sum,
    /// The sum over the samples marked `true` and the sum over the others are both kept (the nu machines).
    TwoSums(&'a [bool]),
}

/// ```text
/// min  1/2 b'K b + linear'b + kink |b|_1     subject to   lower <= b <= upper   and the equality
/// ```
///
/// In the usual notation `b_i = y_i alpha_i`: the signs of the labels are in the bounds, so that `K` is the plain kernel matrix and its
/// rows can be shared by all problems on the same samples. A sample with `lower = upper = 0` takes no part, but its gradient is still
/// computed: that is its decision value, which is what cross-validation wants.
#[derive(Clone, Copy, Debug)]
pub struct DualProblem<'a> {
    /// Linear term.
    pub linear: &'a [f64],
    /// Lower bounds, finite, at most zero unless the start says otherwise.
    pub lower: &'a [f64],
    /// Upper bounds, finite.
    pub upper: &'a [f64],
    /// Price of the absolute value (the epsilon of regression).
    pub kink: f64,
    /// The linear constraint.
    pub equality: Equality<'a>,
    /// Where to start; it must satisfy the bounds, and it defines the sums. Zero if absent.
    pub start: Option<&'a [f64]>,
}

impl DualProblem<'_> {
    /// Number of variables.
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// Checks sizes, bounds and the start.
    pub fn validate(&self) -> Result<()> {
        let n = self.len();
        for (what, found) in [("lower bounds", self.lower.len()), ("upper bounds", self.upper.len())] {
            if found != n {
                return Err(Error::shape(what, n, found));
            }
        }
        if let Equality::TwoSums(second) = self.equality
            && second.len() != n
        {
            return Err(Error::shape("group marks", n, second.len()));
        }
        let start = self.start.unwrap_or(&[]);
        if !start.is_empty() && start.len() != n {
            return Err(Error::shape("start values", n, start.len()));
        }
        for i in 0..n {
            let (low, high, at) = (self.lower[i], self.upper[i], start.get(i).copied().unwrap_or(0.0));
            if !(low.is_finite() && high.is_finite() && self.linear[i].is_finite() && low <= at && at <= high) {
                return Err(Error::data(format!("variable {i}: bounds {low} and {high} and start {at} must be finite and in order")));
            }
        }
        Ok(())
    }

    /// Whether `sample` belongs to the second of two groups.
    pub(super) fn in_second_group(&self, sample: usize) -> bool {
        matches!(self.equality, Equality::TwoSums(second) if second[sample])
    }
}

/// What [`super::Solver::solve`] found.
#[derive(Clone, Debug)]
pub struct DualSolution {
    /// The variables `b`.
    pub coefficients: Vec<f64>,
    /// `K b + linear` for every sample: its decision value is `gradient - linear - offset`. Blocks know the samples that are neither
    /// support vectors nor near the margin to single precision only.
    pub gradient: Vec<f64>,
    /// How wrong a value of the gradient may be, four standard deviations, by the steps in single precision since it was last computed;
    /// infinite where blocks know some samples to single precision only.
    pub gradient_error: f64,
    /// The multiplier of the equality; of each group's where there are two (else both the same).
    pub offsets: [f64; 2],
    /// Value of the objective.
    pub objective: f64,
    /// Largest KKT violation `max over falling - min over growing` of the gradient.
    pub violation: f64,
    /// Duality gap divided by the larger of the two objectives' sizes. Infinite, like the violation, if the fit of a large table was
    /// interrupted and computing it would have kept the caller waiting.
    pub gap: f64,
    /// Steps taken.
    pub iterations: u64,
    /// Why the solver stopped.
    pub stop: StopReason,
    /// Which way it went, and why.
    pub route: Route,
}

/// How a problem is to be solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The KKT violation to reach.
    pub tolerance: f64,
    /// Steps at most; none means ten million, or 10 000 per sample if that is more.
    pub max_iterations: Option<u64>,
    /// Whether to leave out samples that seem to have reached their bounds while the rest is solved.
    pub shrinking: bool,
    /// Whether to solve for the free variables exactly at the end where that is cheap.
    pub polish: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 1e-3, max_iterations: None, shrinking: true, polish: true }
    }
}
