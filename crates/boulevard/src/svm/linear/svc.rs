//! Linear classification, two classes or one against the rest.
//!
//! `min 1/2 |w|^2 + C sum_i weight_i loss(1 - y_i (x_i'w + b))` with the hinge or its square (or `|w|_1` and the square). With the hinge
//! and a free bias this is the machine of `Svc` with the linear kernel.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{LinearMachine, WarmStart, report};
use crate::check;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::observe::{Context, stopped};
use crate::parallel;
use crate::solver::linear::{Bias, LinearLoss, LinearProblem, LinearSolution, Regulariser, solve_linear};
use crate::svm::calibration::{Calibration, Outputs, calibrate, consistent};
use crate::svm::learner::{FitReport, Learner, Model};
use crate::svm::multiclass::argmax;
use crate::svm::svc::{ClassWeight, Classes};

/// Parameters of a linear classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearSvc {
    /// The price of one unit of loss.
    pub c: f64,
    /// The hinge ([`LinearLoss::Absolute`]) or its square.
    pub loss: LinearLoss,
    /// What keeps the weights small. L1 goes with the squared loss.
    pub regulariser: Regulariser,
    /// How the bias is treated.
    pub bias: Bias,
    /// Class weights: factors of the samples' own.
    pub class_weight: ClassWeight,
    /// The relative duality gap to reach.
    pub tolerance: f64,
    /// Whether to fit probabilities with the model (they cost five more fits).
    pub calibrate: bool,
    /// Seed of the calibration's folds.
    pub seed: u64,
}

impl Default for LinearSvc {
    fn default() -> Self {
        Self {
            c: 1.0,
            loss: LinearLoss::Squared,
            regulariser: Regulariser::L2,
            bias: Bias::Free,
            class_weight: ClassWeight::Equal,
            tolerance: 1e-4,
            calibrate: false,
            seed: 0,
        }
    }
}

impl LinearSvc {
    /// Learns from `data`, beginning at the solutions of an earlier fit and leaving the new ones there.
    ///
    /// The earlier fit may have had another C, other weights, or fewer columns (new ones come last), but the same rows and classes.
    pub fn fit_warm(&self, data: &Dataset<'_>, warm: &mut WarmStart, context: &Context<'_>) -> Result<LinearSvcModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let classes = Classes::new(data, &self.class_weight)?;
        let names = data.expect_classes()?.names().to_vec();
        let codes = data.expect_classes()?.codes();
        let mut prices = vec![0.0; data.len()];
        for (place, &row) in classes.rows.iter().enumerate() {
            prices[row] = self.c * classes.weights[place] * classes.factors[classes.codes[place] as usize];
        }
        // Two classes need one machine, positive for the second.
        let count = names.len();
        let outputs: Vec<usize> = if count == 2 { vec![1] } else { (0..count).collect() };
        let inner = if outputs.len() > 1 { context.with_threads(1) } else { *context };
        let solutions = parallel::map(context.threads, outputs.len(), |place| -> Result<Option<LinearSolution>> {
            let class = outputs[place];
            if !classes.codes.contains(&(class as u32)) {
                return Ok(None);
            }
            let solution = self.solve(&data.x, codes, class as u32, &prices, warm.starts.get(place), &inner);
            if outputs.len() > 1 {
                context.step("fit classes", place, outputs.len());
            }
            solution.map(Some)
        });
        let solutions: Vec<Option<LinearSolution>> = solutions.into_iter().collect::<Result<_>>()?;
        let features = data.x.columns();
        let mut machine = LinearMachine { weights: Vec::new(), biases: Vec::new(), features };
        for solution in &solutions {
            // A class that was never seen is never chosen.
            machine.biases.push(solution.as_ref().map_or(f64::NEG_INFINITY, |s| s.bias));
            match solution {
                Some(solution) => machine.weights.extend_from_slice(&solution.weights),
                None => machine.weights.resize(machine.weights.len() + features, 0.0),
            }
        }
        let solved: Vec<LinearSolution> = solutions.into_iter().flatten().collect();
        let mut model = LinearSvcModel {
            parameters: self.clone(),
            classes: names,
            machine,
            calibration: None,
            feature_names: data.feature_names.clone(),
            report: report(&solved),
        };
        *warm = if solved.len() == outputs.len() { WarmStart::keep(&solved) } else { WarmStart::default() };
        if self.calibrate {
            // A calibration that was stopped leaves a model without probabilities, and says so.
            if let Err(reason) = stopped(model.calibrate_in(data, context))? {
                model.report.stop = model.report.stop.worst(reason);
            }
        }
        model.report = model.report.finish(start, classes.rows.len(), &[&model.machine.weights], &[&model.machine.biases])?;
        Ok(model)
    }

    fn solve(
        &self,
        x: &Matrix<'_>,
        codes: &[u32],
        class: u32,
        prices: &[f64],
        start: Option<&crate::solver::linear::LinearStart>,
        context: &Context<'_>,
    ) -> Result<LinearSolution> {
        let target: Vec<f64> = codes.iter().map(|&code| if code == class { 1.0 } else { -1.0 }).collect();
        let side = |sign: f64| target.iter().zip(prices).map(|(&y, &price)| if y == sign { price } else { 0.0 }).collect::<Vec<f64>>();
        let (up, down) = (side(1.0), side(-1.0));
        let problem = LinearProblem {
            x,
            target: &target,
            up: &up,
            down: &down,
            tube: 0.0,
            loss: self.loss,
            regulariser: self.regulariser,
            bias: self.bias,
        };
        solve_linear(&problem, self.tolerance, start, context)
    }
}

impl Learner for LinearSvc {
    type Model = LinearSvcModel;

    fn validate(&self) -> Result<()> {
        check::positive("LinearSvc", "c", self.c)?;
        check::positive("LinearSvc", "tolerance", self.tolerance)?;
        if let Bias::Column(value) = self.bias {
            check::positive("LinearSvc", "bias column", value)?;
        }
        if self.regulariser == Regulariser::L1 && self.loss == LinearLoss::Absolute {
            return Err(check::complaint("LinearSvc", "loss", "the squared hinge with the L1 penalty", "the hinge"));
        }
        Ok(())
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<LinearSvcModel> {
        self.fit_warm(data, &mut WarmStart::default(), context)
    }
}

/// A fitted linear classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvcModel {
    /// What it was fitted with.
    pub parameters: LinearSvc,
    /// Class names.
    pub classes: Vec<String>,
    /// The machine: for two classes one output, positive for the second, else one per class.
    pub machine: LinearMachine,
    /// Probabilities, where they were fitted.
    pub calibration: Option<Calibration>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

impl LinearSvcModel {
    /// Outputs with the sign that calibration expects: positive for the first of two classes.
    fn raw_values(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let mut values = self.decision_values_in(x, context)?;
        if self.classes.len() == 2 {
            values.iter_mut().for_each(|v| *v = -*v);
        }
        Ok(values)
    }

    /// Class codes from decision values.
    pub fn codes_from_decisions(&self, decisions: &[f64]) -> Vec<u32> {
        if self.classes.len() == 2 {
            return decisions.iter().map(|&v| u32::from(v > 0.0)).collect();
        }
        decisions.chunks_exact(self.classes.len()).map(|values| argmax(values) as u32).collect()
    }

    /// Fits probabilities to a model that was fitted without them; `data` is the table it learnt from.
    pub fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        data.validate()?;
        self.check_input(&data.x)?;
        if data.expect_classes()?.names() != self.classes {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: the classes differ"));
        }
        let plain = LinearSvc { calibrate: false, ..self.parameters.clone() };
        let outputs = if self.classes.len() == 2 { Outputs::Pairs } else { Outputs::Classes };
        let raw = |model: &Self, x: &Matrix<'_>| model.raw_values(x, context);
        self.calibration = Some(calibrate(&plain, data, self.parameters.seed, outputs, raw, context)?);
        Ok(())
    }

    /// Class probabilities, row-major, one column per class; their largest is the predicted class. Fails if the model was not
    /// calibrated.
    pub fn probabilities(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let Some(calibration) = &self.calibration else {
            return Err(Error::data("this model has no probabilities: fit it with `calibrate`"));
        };
        let raw = self.raw_values(x, context)?;
        let classes = self.classes.len();
        let predicted = self.codes_from_decisions(&self.decision_values_in(x, context)?);
        let mut result = Vec::with_capacity(predicted.len() * classes);
        for (raw, &code) in raw.chunks_exact(self.machine.outputs()).zip(&predicted) {
            let mut row = calibration.probabilities(raw, classes, classes == 2);
            consistent(&mut row, code as usize);
            result.extend(row);
        }
        Ok(result)
    }
}

impl Model for LinearSvcModel {
    type Prediction = Categories;

    fn report(&self) -> &FitReport {
        &self.report
    }

    fn features(&self) -> usize {
        self.machine.features
    }

    /// Two classes: one value, positive for the second. More: one value per class, the largest of which is the prediction.
    fn decision_values_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        Ok(self.machine.evaluate(x, context))
    }

    fn predict_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Categories> {
        Categories::new(self.codes_from_decisions(&self.decision_values_in(x, context)?), self.classes.clone())
    }

    fn class_probabilities_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Option<Vec<f64>>> {
        self.calibration.as_ref().map(|_| self.probabilities(x, context)).transpose()
    }
}
