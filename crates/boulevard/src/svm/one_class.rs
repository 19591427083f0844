//! One-class machines: where the data are dense.
//!
//! ```text
//! min 1/2 b'Kb,   sum b = nu W,   0 <= b_i <= w_i        (Schoelkopf et al. 2001; W the sum of the sample weights w)
//! ```

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::describe::details;
use super::learner::{FitReport, Learner, SolverSettings};
use super::machine::KernelMachine;
use super::model::{Answers, Decisions, Fact, Model, Rows, kept_facts};
use crate::check;
use crate::data::Dataset;
use crate::data::io::TargetKind;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::solver::{DualProblem, DualSolution, Equality, SolveDual, Solver, fill_up};
use crate::words::g;

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

impl OneClass {
    /// The problem of rows that weigh so much.
    pub(super) fn solve(&self, solver: &mut impl SolveDual, weights: &[f64]) -> Result<DualSolution> {
        let zeros = vec![0.0; weights.len()];
        let first = fill_up(weights, |_| false, self.nu * weights.iter().sum::<f64>());
        let problem =
            DualProblem { linear: &zeros, lower: &zeros, upper: weights, kink: 0.0, equality: Equality::Sum, start: Some(&first) };
        solver.solve(&problem, None, &self.solver.options())
    }
}

impl Learner for OneClass {
    type Model = OneClassModel;

    fn validate(&self) -> Result<()> {
        self.kernel.validate()?;
        self.solver.validate("OneClass")?;
        check::in_range("OneClass", "nu", self.nu, 0.0, 1.0)
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(&mut self.kernel)
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.nu)
    }

    fn target(&self) -> TargetKind {
        TargetKind::None
    }

    fn no_search(&self) -> Option<&'static str> {
        Some("has no error to tune by: its data have no labels")
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<OneClassModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let weights = data.weights_or_ones();
        let kernel = self.kernel.resolve(&data.x, data.weights.as_deref())?.similarity();
        let source = self.solver.source(&kernel, &data.x, context);
        let solution = self.solve(&mut Solver::new(&source, self.solver.cache_bytes(), context)?, &weights)?;
        let machine = KernelMachine::single(data, kernel, &solution.coefficients, -solution.offsets[0], self.solver.tolerance);
        let report = FitReport::of_one(&solution, start, &weights, &machine)?;
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

    kept_facts!();

    fn features(&self) -> usize {
        self.machine.features
    }

    fn answers(&self) -> Answers<'_> {
        Answers::Inside
    }

    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        self.check_input(rows.x)?;
        let mut values = self.machine.evaluate(rows.x, context)?;
        // Support vectors lie on the border: rounding must not decide which side they are on.
        let rounding = ROUNDING * self.machine.intercepts[0].abs();
        values.iter_mut().filter(|value| value.abs() <= rounding).for_each(|value| *value = 0.0);
        Ok(Decisions::plain(values, 1))
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Vec<bool>> {
        // A sample exactly on the border counts as inside.
        Ok(decisions.values.iter().map(|&value| value >= 0.0).collect())
    }

    fn facts(&self) -> Vec<Fact> {
        let kind = format!("one-class machine, nu = {}", g(self.parameters.nu));
        self.machine.facts(kind, self.report.rows, &self.parameters.solver)
    }

    fn details(&self) -> Map<String, Value> {
        details([("kernel", json!(self.machine.kernel))])
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        vec![&self.machine]
    }
}
