//! One-class machines: where the data are dense.
//!
//! ```text
//! min 1/2 b'Kb,   sum b = nu W,   0 <= b_i <= w_i        (Schoelkopf et al. 2001; W the sum of the sample weights w)
//! ```

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::learner::{FitReport, Learner, Model, SolverSettings};
use super::machine::{KernelMachine, Layout};
use crate::check;
use crate::data::{Dataset, Matrix};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::solver::{DualProblem, Equality, Solver};

/// Parameters of a one-class machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OneClass {
    /// The kernel.
    pub kernel: Kernel,
    /// A bound on the share of outliers, and from below on the share of support vectors.
    pub nu: f64,
    /// The solver's settings.
    pub solver: SolverSettings,
}

impl Default for OneClass {
    fn default() -> Self {
        Self { kernel: Kernel::default(), nu: 0.5, solver: SolverSettings::default() }
    }
}

impl Learner for OneClass {
    type Model = OneClassModel;

    fn validate(&self) -> Result<()> {
        self.kernel.validate()?;
        self.solver.validate("OneClass")?;
        check::in_range("OneClass", "nu", self.nu, 0.0, 1.0)
    }

    fn training_part(&self, data: &Dataset<'_>, rows: &[usize]) -> Dataset<'static> {
        self.kernel.part_of(data, rows)
    }

    fn test_part(&self, data: &Dataset<'_>, train: &[usize], rows: &[usize]) -> Matrix<'static> {
        self.kernel.new_rows_of(&data.x, train, rows)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<OneClassModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let weights = data.weights_or_ones();
        let kernel = self.kernel.resolve(&data.x, data.weights.as_deref())?;
        let source = self.solver.source(&kernel, &data.x, context);
        let (linear, lower) = (vec![0.0; data.len()], vec![0.0; data.len()]);
        // Any feasible start will do: fill the first samples to their bounds.
        let mut left = self.nu * weights.iter().sum::<f64>();
        let first: Vec<f64> = weights
            .iter()
            .map(|w| {
                let take = w.min(left);
                left -= take;
                take
            })
            .collect();
        let problem =
            DualProblem { linear: &linear, lower: &lower, upper: &weights, kink: 0.0, equality: Equality::Sum, start: Some(&first) };
        let solution = Solver::new(&source, self.solver.cache_bytes(), context)?.solve(&problem, &self.solver.options())?;
        let mut report = FitReport::default();
        report.add(&solution);
        let machine = KernelMachine::single(data, kernel, &solution.coefficients, -solution.offsets[0], self.solver.tolerance);
        let rows = weights.iter().filter(|&&w| w > 0.0).count();
        let report = report.finish(start, rows, &[&machine.coefficients], &[&machine.intercepts])?;
        Ok(OneClassModel { parameters: self.clone(), machine, feature_names: data.feature_names.clone(), report })
    }
}

/// Decision values below this share of the offset are rounding: the sample lies on the border.
const ROUNDING: f64 = 1e-12;

/// A fitted one-class machine.
#[derive(Clone, Debug, PartialEq)]
pub struct OneClassModel {
    /// What it was fitted with.
    pub parameters: OneClass,
    /// The machine; its one output is positive inside.
    pub machine: KernelMachine,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

impl Model for OneClassModel {
    /// Whether each sample lies inside.
    type Prediction = Vec<bool>;

    fn report(&self) -> &FitReport {
        &self.report
    }

    fn features(&self) -> usize {
        self.machine.features
    }

    fn decision_values_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        let mut values = self.machine.evaluate(x, context)?;
        // Support vectors lie on the border: rounding must not decide which side they are on.
        let rounding = ROUNDING * self.machine.intercepts[0].abs();
        values.iter_mut().filter(|value| value.abs() <= rounding).for_each(|value| *value = 0.0);
        Ok(values)
    }

    fn predict_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<bool>> {
        // A sample exactly on the border counts as inside.
        Ok(self.decision_values_in(x, context)?.iter().map(|&value| value >= 0.0).collect())
    }
}

impl KernelMachine {
    /// A machine with one output from one coefficient per training row.
    pub(crate) fn single(data: &Dataset<'_>, kernel: Kernel, coefficients: &[f64], intercept: f64, tolerance: f64) -> Self {
        let support: Vec<usize> = (0..data.len()).filter(|&i| coefficients[i] != 0.0).collect();
        let vectors = kernel.vectors(&data.x, &support);
        Self {
            kernel,
            vectors,
            coefficients: support.iter().map(|&i| coefficients[i]).collect(),
            layout: Layout::Full,
            intercepts: vec![intercept],
            features: data.x.columns(),
            support,
            tolerance,
        }
    }
}
