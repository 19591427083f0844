//! Regression: epsilon-SVR and nu-SVR.
//!
//! ```text
//! epsilon-SVR  min 1/2 b'Kb - y'b + epsilon |b|_1,   sum b = 0,   -C_i <= b_i <= C_i
//! nu-SVR       the same with epsilon chosen so that sum |b| <= C nu W; solved with b = p - q, sum p = sum q = C nu W / 2
//! ```
//! (Vapnik 1995; Schoelkopf et al. 2000.) The usual formulation has two variables per sample; with the absolute value in the objective one
//! is enough, which halves the work.

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
use crate::solver::{DoubledKernel, DualProblem, DualSolution, Equality, SolveDual, Solver, Start, TableKernel, fill_up};
use crate::words::g;

/// How wide the tube without loss is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tube {
    /// This far to either side.
    Epsilon(f64),
    /// As wide as needed for this share of the samples to lie outside.
    Nu(f64),
}

/// Parameters of a support vector regressor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Svr {
    /// The kernel.
    pub kernel: Kernel,
    /// The price of one unit of error outside the tube.
    pub c: f64,
    /// The tube.
    pub tube: Tube,
    /// The solver's settings.
    pub solver: SolverSettings,
}

impl Default for Svr {
    fn default() -> Self {
        Self { kernel: Kernel::default(), c: 1.0, tube: Tube::Epsilon(0.1), solver: SolverSettings::default() }
    }
}

impl Svr {
    /// The problem of epsilon-SVR on prepared costs.
    pub(crate) fn solve_epsilon(
        &self,
        solver: &mut dyn SolveDual,
        y: &[f64],
        costs: &[f64],
        epsilon: f64,
        start: Option<Start>,
    ) -> Result<DualSolution> {
        let linear: Vec<f64> = y.iter().map(|y| -y).collect();
        let lower: Vec<f64> = costs.iter().map(|c| -c).collect();
        let (point, known) = Start::parts(start);
        let start = point.as_deref();
        let problem = DualProblem { linear: &linear, lower: &lower, upper: costs, kink: epsilon, equality: Equality::Sum, start };
        solver.solve(&problem, known, &self.solver.options())
    }

    /// nu-SVR: both halves of every sample as variables of their own. Returns the combined coefficients, the intercept and epsilon.
    fn solve_nu(
        &self,
        source: &TableKernel<'_>,
        y: &[f64],
        costs: &[f64],
        nu: f64,
        context: &Context<'_>,
    ) -> Result<(Vec<f64>, f64, DualSolution)> {
        let n = y.len();
        let doubled = DoubledKernel::new(source, context);
        let linear: Vec<f64> = y.iter().chain(y).map(|y| -y).collect();
        let zeros = vec![0.0; n];
        let lower: Vec<f64> = zeros.iter().copied().chain(costs.iter().map(|c| -c)).collect();
        let upper: Vec<f64> = costs.iter().copied().chain(zeros.iter().copied()).collect();
        let second: Vec<bool> = (0..2 * n).map(|i| i >= n).collect();
        let half = fill_up(costs, |_| false, nu * costs.iter().sum::<f64>() / 2.0);
        let start: Vec<f64> = half.iter().copied().chain(half.iter().map(|v| -v)).collect();
        let problem = DualProblem {
            linear: &linear,
            lower: &lower,
            upper: &upper,
            kink: 0.0,
            equality: Equality::TwoSums(&second),
            start: Some(&start),
        };
        let solution = Solver::new(&doubled, self.solver.cache_bytes(), context)?.solve(&problem, &self.solver.options())?;
        let b = (0..n).map(|i| solution.coefficients[i] + solution.coefficients[n + i]).collect();
        Ok((b, -0.5 * (solution.offsets[0] + solution.offsets[1]), solution))
    }
}

impl Learner for Svr {
    type Model = SvrModel;

    fn validate(&self) -> Result<()> {
        self.kernel.validate()?;
        self.solver.validate("Svr")?;
        check::positive("Svr", "c", self.c)?;
        match self.tube {
            Tube::Epsilon(epsilon) => check::not_negative("Svr", "epsilon", epsilon),
            Tube::Nu(nu) => check::in_range("Svr", "nu", nu, 0.0, 1.0),
        }
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(&mut self.kernel)
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.c)
    }

    fn target(&self) -> TargetKind {
        TargetKind::Real
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<SvrModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let y = data.expect_real()?;
        let costs: Vec<f64> = data.weights_or_ones().iter().map(|w| w * self.c).collect();
        let kernel = self.kernel.resolve(&data.x, data.weights.as_deref())?.similarity();
        let source = self.solver.source(&kernel, &data.x, context);
        let (coefficients, intercept, solution) = match self.tube {
            Tube::Epsilon(epsilon) => {
                let mut solver = Solver::new(&source, self.solver.cache_bytes(), context)?;
                let solution = self.solve_epsilon(&mut solver, y, &costs, epsilon, None)?;
                (solution.coefficients.clone(), -solution.offsets[0], solution)
            }
            Tube::Nu(nu) => self.solve_nu(&source, y, &costs, nu, context)?,
        };
        let machine = KernelMachine::single(data, kernel, &coefficients, intercept, self.solver.tolerance);
        let report = FitReport::of_one(&solution, start, &costs, &machine)?;
        Ok(SvrModel { parameters: self.clone(), machine, feature_names: data.feature_names.clone(), report })
    }
}

/// A fitted regressor.
#[derive(Clone, Debug, PartialEq)]
pub struct SvrModel {
    /// What it was fitted with.
    pub parameters: Svr,
    /// The machine; its one output is the prediction.
    pub machine: KernelMachine,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

impl Model for SvrModel {
    type Prediction = Vec<f64>;

    kept_facts!();

    fn features(&self) -> usize {
        self.machine.features
    }

    fn answers(&self) -> Answers<'_> {
        Answers::Numbers(1)
    }

    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        self.check_input(rows.x)?;
        Ok(Decisions::plain(self.machine.evaluate(rows.x, context)?, 1))
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Vec<f64>> {
        Ok(decisions.values.clone())
    }

    fn facts(&self) -> Vec<Fact> {
        let tube = match self.parameters.tube {
            Tube::Epsilon(epsilon) => format!("epsilon = {}", g(epsilon)),
            Tube::Nu(nu) => format!("nu = {}", g(nu)),
        };
        let kind = format!("regressor, C = {}, {tube}", g(self.parameters.c));
        self.machine.facts(kind, self.report.rows, &self.parameters.solver)
    }

    fn details(&self) -> Map<String, Value> {
        details([("kernel", json!(self.machine.kernel))])
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        vec![&self.machine]
    }
}
