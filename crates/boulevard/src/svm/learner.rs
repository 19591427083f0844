//! What every learner can do, and the settings and report that fits share.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::machine::KernelMachine;
use super::model::Model;
use crate::check;
use crate::data::io::TargetKind;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason};
use crate::solver::{DualSolution, Options, Route, SMALL, TableKernel, automatic_cache};

/// Parameters in, model out.
pub trait Learner {
    /// What it makes.
    type Model: Model;

    /// Checks the parameters alone.
    fn validate(&self) -> Result<()>;

    /// Learns from `data` with the threads, limits and observer of `context`.
    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<Self::Model>;

    /// What it learns to predict: how the label of a file is to be read.
    fn target(&self) -> TargetKind {
        TargetKind::Classes
    }

    /// Whether tables may have holes (`NaN`), because it fills them in first.
    fn fills_missing(&self) -> bool {
        false
    }

    /// The kernel of the rows it is given; none for learners that have no kernel, or choose it themselves.
    fn kernel(&self) -> Option<&Kernel> {
        None
    }

    /// The same, to be changed by a search.
    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        None
    }

    /// The price of errors, to be changed by a search: C, or nu where that is the parameter.
    fn price_mut(&mut self) -> Option<&mut f64> {
        None
    }

    /// Whether probabilities are fitted with the model, where that is a choice.
    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        None
    }

    /// Why a search over prices and widths makes no sense for it, if it does not, as the end of a sentence that begins with its name.
    fn no_search(&self) -> Option<&'static str> {
        None
    }

    /// The part of `data` to learn from when only `rows` may be used, as in cross-validation. For a precomputed kernel it has the same
    /// rows and columns.
    fn training_part(&self, data: &Dataset<'_>, rows: &[usize], context: &Context<'_>) -> Result<Dataset<'static>> {
        self.kernel().map_or_else(|| data.select_in(rows, context), |kernel| kernel.part_of(data, rows, context))
    }

    /// The table of `rows` for a model that learnt from the rows `train` of the same data.
    fn test_part(&self, data: &Dataset<'_>, train: &[usize], rows: &[usize]) -> Matrix<'static> {
        self.kernel().map_or_else(|| data.x.select(rows), |kernel| kernel.new_rows_of(&data.x, train, rows))
    }

    /// Learns from `data` with all threads and no limits.
    fn fit(&self, data: &Dataset<'_>) -> Result<Self::Model> {
        self.fit_in(data, &Context::default())
    }
}

/// Settings of the solver that all kernel machines share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverSettings {
    /// The KKT violation to reach.
    pub tolerance: f64,
    /// Megabytes of kernel rows to keep at most; none: what the fit can use, up to a quarter of the memory that is free.
    pub cache_megabytes: Option<f64>,
    /// Steps at most; none means ten million, or 10 000 per sample if that is more.
    pub max_iterations: Option<u64>,
    /// Whether to leave out samples that seem settled while the rest is solved.
    pub shrinking: bool,
    /// Whether to solve for the free variables exactly at the end where that is cheap.
    pub polish: bool,
    /// Whether small or tightly solved problems use kernel values rounded to single precision, as LIBSVM does. The solution is then
    /// LIBSVM's to many digits, and the certificate is that of the rounded problem; otherwise both are exact.
    pub libsvm_rounding: bool,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self { tolerance: 1e-3, cache_megabytes: None, max_iterations: None, shrinking: true, polish: true, libsvm_rounding: false }
    }
}

impl SolverSettings {
    pub(crate) fn validate(&self, owner: &'static str) -> Result<()> {
        check::positive(owner, "tolerance", self.tolerance)?;
        self.cache_megabytes.map_or(Ok(()), |megabytes| check::positive(owner, "cache_megabytes", megabytes))
    }

    pub(crate) fn options(&self) -> Options {
        Options { tolerance: self.tolerance, max_iterations: self.max_iterations, shrinking: self.shrinking, polish: self.polish }
    }

    /// The kernel of a table, rounded where that was asked for and can be seen: at loose tolerances exact rows are faster.
    pub(crate) fn source<'a>(&self, kernel: &Kernel, x: &'a Matrix<'a>, context: &Context<'a>) -> TableKernel<'a> {
        const VISIBLE: f64 = 1e-5;
        let visible = x.rows() <= SMALL || self.tolerance < VISIBLE;
        TableKernel::new(kernel, x, context).rounded(self.libsvm_rounding && visible)
    }

    pub(crate) fn cache_bytes(&self) -> Option<usize> {
        self.cache_megabytes.map(|megabytes| (megabytes * 1e6).min(1e15) as usize)
    }

    /// The cache of each of several fits of `samples` that run `at_once`.
    pub(crate) fn cache_bytes_of(&self, samples: usize, at_once: usize) -> usize {
        self.cache_bytes().unwrap_or_else(|| automatic_cache(samples, at_once))
    }
}

/// The larger of two values; one that is not known makes the larger one unknown (`f64::max` would forget it).
pub(crate) fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// How a fit went: the certificate, the effort, and why it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Value of the dual objective; the sum over all problems where several were solved. NaN where a fit was stopped so early that it is
    /// not known.
    pub objective: f64,
    /// Largest KKT violation of any problem; NaN where it is not known.
    pub violation: f64,
    /// Largest relative duality gap of any problem; NaN where it is not known: then nothing is certified.
    pub gap: f64,
    /// Steps in all.
    pub iterations: u64,
    /// The worst reason of any problem.
    pub stop: StopReason,
    /// Wall clock seconds.
    pub seconds: f64,
    /// Rows it learnt from (those with weight zero do not count).
    pub rows: usize,
    /// How the problems were solved, and why so; the most elaborate way of any of them.
    #[serde(default, skip_serializing_if = "Route::is_default")]
    pub route: Route,
}

impl FitReport {
    /// Adds one solved problem.
    pub(crate) fn add(&mut self, solution: &DualSolution) {
        self.include(&Self {
            objective: solution.objective,
            violation: solution.violation,
            gap: solution.gap,
            iterations: solution.iterations,
            stop: solution.stop,
            route: solution.route,
            ..Self::default()
        });
    }

    /// Of one machine from one problem; rows without a `price` do not count.
    pub(crate) fn of_one(solution: &DualSolution, start: Instant, prices: &[f64], machine: &KernelMachine) -> Result<Self> {
        let mut report = Self::default();
        report.add(solution);
        let rows = prices.iter().filter(|&&price| price > 0.0).count();
        report.finish(start, rows, &[&machine.coefficients], &[&machine.intercepts])
    }

    /// Adds what another report says about further problems.
    pub(crate) fn include(&mut self, other: &Self) {
        self.objective += other.objective;
        self.violation = worse(self.violation, other.violation);
        self.gap = worse(self.gap, other.gap);
        self.iterations += other.iterations;
        self.stop = self.stop.worst(other.stop);
        self.route = self.route.max(other.route);
    }

    /// Every fit ends here, with the numbers that its model predicts with: what is not finite is no model, and what was solved has a
    /// certificate. `offsets` may hold minus infinity, by which a class that was never seen is never chosen.
    pub(crate) fn finish(mut self, start: Instant, rows: usize, weights: &[&[f64]], offsets: &[&[f64]]) -> Result<Self> {
        let overflow = |what: &str, found: f64| {
            Error::overflow(format!(
                "the fit left the range of double precision: {what} is {found}; bring columns, weights and parameters to a smaller range"
            ))
        };
        if let Some(value) = weights.iter().copied().flatten().find(|value| !value.is_finite()) {
            return Err(overflow("a coefficient", *value));
        }
        if let Some(value) = offsets.iter().copied().flatten().find(|value| value.is_nan() || **value == f64::INFINITY) {
            return Err(overflow("an intercept", *value));
        }
        let stopped = self.stop.is_cut_short();
        if stopped && self.iterations == 0 && self.gap == 0.0 {
            // Nothing was solved: nothing is certified.
            (self.gap, self.violation) = (f64::NAN, f64::NAN);
        }
        for (what, value) in [("the objective", self.objective), ("the duality gap", self.gap), ("the KKT violation", self.violation)] {
            // Of what was stopped in the middle nobody may know how far it is from the solution.
            if !(value.is_finite() || (stopped && value != f64::NEG_INFINITY)) {
                return Err(overflow(what, value));
            }
        }
        self.seconds = start.elapsed().as_secs_f64();
        self.rows = rows;
        Ok(self)
    }
}
