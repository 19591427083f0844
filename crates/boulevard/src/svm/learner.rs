//! What every learner and every model can do, and the settings and report they share.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::check;
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

    /// The part of `data` to learn from when only `rows` may be used, as in cross-validation.
    ///
    /// Learners whose table is not one row per sample and one column per feature (precomputed kernels) override it.
    fn training_part(&self, data: &Dataset<'_>, rows: &[usize]) -> Dataset<'static> {
        data.select(rows)
    }

    /// The table of `rows` for a model that learnt from the rows `train` of the same data.
    fn test_part(&self, data: &Dataset<'_>, _train: &[usize], rows: &[usize]) -> Matrix<'static> {
        data.x.select(rows)
    }

    /// Learns from `data` with all threads and no limits.
    fn fit(&self, data: &Dataset<'_>) -> Result<Self::Model> {
        self.fit_in(data, &Context::default())
    }
}

/// A fitted model.
pub trait Model {
    /// What [`Model::predict`] returns.
    type Prediction;

    /// How the fit went.
    fn report(&self) -> &FitReport;

    /// Features per sample that the model expects.
    fn features(&self) -> usize;

    /// Decision values, row-major: one or more per sample.
    fn decision_values_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>>;

    /// Predictions.
    fn predict_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Self::Prediction>;

    /// Class probabilities, row-major, one column per class, where the model has them.
    fn class_probabilities_in(&self, _x: &Matrix<'_>, _context: &Context<'_>) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// [`Model::decision_values_in`] with all threads.
    fn decision_values(&self, x: &Matrix<'_>) -> Result<Vec<f64>> {
        self.decision_values_in(x, &Context::default())
    }

    /// [`Model::predict_in`] with all threads.
    fn predict(&self, x: &Matrix<'_>) -> Result<Self::Prediction> {
        self.predict_in(x, &Context::default())
    }

    /// Fails if `x` cannot be judged by this model.
    fn check_input(&self, x: &Matrix<'_>) -> Result<()> {
        if x.columns() != self.features() {
            return Err(Error::shape("feature columns", self.features(), x.columns()));
        }
        x.check_finite("X")
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
    /// Steps at most; none means no limit.
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

/// How a fit went: the certificate, the effort, and why it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Value of the dual objective; the sum over all problems where several were solved.
    pub objective: f64,
    /// Largest KKT violation of any problem.
    pub violation: f64,
    /// Largest relative duality gap of any problem.
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
        self.objective += solution.objective;
        self.violation = self.violation.max(solution.violation);
        self.gap = self.gap.max(solution.gap);
        self.iterations += solution.iterations;
        self.stop = self.stop.worst(solution.stop);
        self.route = self.route.max(solution.route);
    }

    pub(crate) fn finish(mut self, start: Instant, rows: usize) -> Self {
        self.seconds = start.elapsed().as_secs_f64();
        self.rows = rows;
        self
    }
}
