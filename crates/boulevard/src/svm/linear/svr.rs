//! Linear regression with a tube: `min 1/2 |w|^2 + C sum_i weight_i loss(|y_i - x_i'w - b| - epsilon)`.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{LinearMachine, WarmStart, describe, report};
use crate::check;
use crate::data::Dataset;
use crate::data::io::TargetKind;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::picture::Picture;
use crate::solver::linear::{Bias, LinearLoss, LinearProblem, Regularizer, solve_linear};
use crate::svm::describe::details;
use crate::svm::learner::{FitReport, Learner};
use crate::svm::model::{Answers, Decisions, Fact, Model, Rows, kept_facts};
use crate::svm::pictures;

/// Parameters of a linear regressor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearSvr {
    /// The price of one unit of loss.
    pub c: f64,
    /// Errors up to this size are free.
    pub epsilon: f64,
    /// Errors beyond it are priced by their size or by their square.
    pub loss: LinearLoss,
    /// How the bias is treated.
    pub bias: Bias,
    /// The relative duality gap to reach.
    pub tolerance: f64,
}

impl Default for LinearSvr {
    fn default() -> Self {
        Self { c: 1.0, epsilon: 0.0, loss: LinearLoss::Absolute, bias: Bias::Free, tolerance: 1e-4 }
    }
}

impl LinearSvr {
    /// Learns from `data`, beginning at the solution of an earlier fit and leaving the new one there.
    pub fn fit_warm(&self, data: &Dataset<'_>, warm: &mut WarmStart, context: &Context<'_>) -> Result<LinearSvrModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let target = data.expect_real()?;
        let prices: Vec<f64> = data.weights_or_ones().iter().map(|w| w * self.c).collect();
        let problem = LinearProblem {
            x: &data.x,
            target,
            up: &prices,
            down: &prices,
            tube: self.epsilon,
            loss: self.loss,
            regularizer: Regularizer::L2,
            bias: self.bias,
        };
        let solution = solve_linear(&problem, self.tolerance, warm.starts.first(), context)?;
        let rows = prices.iter().filter(|&&c| c > 0.0).count();
        *warm = WarmStart::keep(std::slice::from_ref(&solution));
        let report = report(std::slice::from_ref(&solution));
        let machine = LinearMachine { weights: solution.weights, biases: vec![solution.bias], features: data.x.columns() };
        let report = report.finish(start, rows, &[&machine.weights], &[&machine.biases])?;
        Ok(LinearSvrModel { parameters: self.clone(), machine, feature_names: data.feature_names.clone(), report })
    }
}

impl Learner for LinearSvr {
    type Model = LinearSvrModel;

    fn validate(&self) -> Result<()> {
        check::positive("LinearSvr", "c", self.c)?;
        check::not_negative("LinearSvr", "epsilon", self.epsilon)?;
        check::positive("LinearSvr", "tolerance", self.tolerance)?;
        if let Bias::Column(value) = self.bias {
            check::positive("LinearSvr", "bias column", value)?;
        }
        Ok(())
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.c)
    }

    fn target(&self) -> TargetKind {
        TargetKind::Real
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<LinearSvrModel> {
        self.fit_warm(data, &mut WarmStart::default(), context)
    }
}

/// A fitted linear regressor.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvrModel {
    /// What it was fitted with.
    pub parameters: LinearSvr,
    /// The machine; its one output is the prediction.
    pub machine: LinearMachine,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

impl Model for LinearSvrModel {
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
        Ok(Decisions::plain(self.machine.evaluate(rows.x, context), 1))
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Vec<f64>> {
        Ok(decisions.values.clone())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::regressor(self)
    }

    fn details(&self) -> Map<String, Value> {
        details([("kernel", json!(Kernel::Linear))])
    }

    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        Ok(pictures::weights(&self.machine, self.feature_names.as_deref(), &[]))
    }

    fn linear_machine(&self) -> Option<&LinearMachine> {
        Some(&self.machine)
    }
}
