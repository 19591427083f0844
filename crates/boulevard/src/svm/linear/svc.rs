//! Linear classification: two classes, one against the rest, or all in one problem.
//!
//! `min 1/2 |w|^2 + C sum_i weight_i loss(1 - y_i (x_i'w + b))` with the hinge or its square (or `|w|_1` and the square). With the hinge
//! and a free bias this is the machine of `Svc` with the linear kernel. Crammer and Singer's problem of all classes has the hinge and the L2
//! penalty, whatever `loss` and `regularizer` say.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{LinearMachine, WarmStart, describe, report};
use crate::check;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, stopped};
use crate::parallel;
use crate::picture::Picture;
use crate::solver::linear::{Bias, ClassesProblem, LinearLoss, LinearProblem, LinearSolution, Regularizer, solve_classes, solve_linear};
use crate::svm::calibration::Calibration;
use crate::svm::classifier::{Classifier, Outputs};
use crate::svm::describe::{calibration_details, details};
use crate::svm::learner::{FitReport, Learner};
use crate::svm::model::{Answers, Decisions, Fact, Model, Rows, kept_facts};
use crate::svm::pictures;
use crate::svm::sharpening::CalibrationMethod;
use crate::svm::svc::{ClassWeight, Classes};

const OWNER: &str = "LinearSvc";

/// How a linear classifier tells more than two classes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinearMulticlass {
    /// One machine per class against the others.
    #[default]
    OneVsRest,
    /// All classes in one problem (Crammer and Singer 2001), with the hinge and the L2 penalty.
    CrammerSinger,
}

/// Parameters of a linear classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearSvc {
    /// The price of one unit of loss.
    pub c: f64,
    /// The hinge ([`LinearLoss::Absolute`]) or its square.
    pub loss: LinearLoss,
    /// What keeps the weights small. L1 goes with the squared loss.
    /// Files and JSON keep the name of the first format, `regulariser`.
    #[serde(rename = "regulariser", alias = "regularizer")]
    pub regularizer: Regularizer,
    /// How the bias is treated.
    pub bias: Bias,
    /// How more than two classes are told apart.
    pub multiclass: LinearMulticlass,
    /// Class weights: factors of the samples' own.
    pub class_weight: ClassWeight,
    /// The relative duality gap to reach.
    pub tolerance: f64,
    /// Whether to fit probabilities with the model (they cost five more fits).
    pub calibrate: bool,
    /// How probabilities of more than two classes are made.
    pub calibration: CalibrationMethod,
    /// Seed of the calibration's folds.
    pub seed: u64,
}

impl Default for LinearSvc {
    fn default() -> Self {
        Self {
            c: 1.0,
            loss: LinearLoss::Squared,
            regularizer: Regularizer::L2,
            bias: Bias::Free,
            multiclass: LinearMulticlass::OneVsRest,
            class_weight: ClassWeight::Equal,
            tolerance: 1e-4,
            calibrate: false,
            calibration: CalibrationMethod::default(),
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
        let classes = Classes::new(data, &self.class_weight, OWNER)?;
        let names = data.expect_classes()?.names().to_vec();
        let mut prices = vec![0.0; data.len()];
        for (place, &row) in classes.rows.iter().enumerate() {
            prices[row] = self.c * classes.weights[place] * classes.factors[classes.codes[place] as usize];
        }
        let (machine, summary) = match self.multiclass {
            LinearMulticlass::OneVsRest => self.against_rest(data, &classes, &prices, warm, context)?,
            LinearMulticlass::CrammerSinger => {
                *warm = WarmStart::default();
                self.all_at_once(data, &prices, context)?
            }
        };
        let mut model = LinearSvcModel {
            parameters: self.clone(),
            classes: names,
            machine,
            calibration: None,
            feature_names: data.feature_names.clone(),
            report: summary,
        };
        if self.calibrate {
            // A calibration that was stopped leaves a model without probabilities, and says so.
            if let Err(reason) = stopped(model.calibrate_in(data, context))? {
                model.report.stop = model.report.stop.worst(reason);
            }
        }
        model.report = model.report.finish(start, classes.rows.len(), &[&model.machine.weights], &[&model.machine.biases])?;
        Ok(model)
    }

    /// One machine per class; two classes need one machine, positive for the second.
    fn against_rest(
        &self,
        data: &Dataset<'_>,
        classes: &Classes,
        prices: &[f64],
        warm: &mut WarmStart,
        context: &Context<'_>,
    ) -> Result<(LinearMachine, FitReport)> {
        let count = data.expect_classes()?.names().len();
        let codes = data.expect_classes()?.codes();
        let outputs: Vec<usize> = if count == 2 { vec![1] } else { (0..count).collect() };
        let inner = if outputs.len() > 1 { context.with_threads(1) } else { *context };
        let solutions = parallel::try_map(context.threads, outputs.len(), |place| -> Result<Option<LinearSolution>> {
            let class = outputs[place];
            if !classes.codes.contains(&(class as u32)) {
                return Ok(None);
            }
            let solution = self.solve(&data.x, codes, class as u32, prices, warm.starts.get(place), &inner);
            if outputs.len() > 1 {
                context.step("fit classes", place, outputs.len());
            }
            solution.map(Some)
        });
        let solutions: Vec<Option<LinearSolution>> = solutions?;
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
        *warm = if solved.len() == outputs.len() { WarmStart::keep(&solved) } else { WarmStart::default() };
        Ok((machine, report(&solved)))
    }

    /// All classes in one problem; for two the difference of their machines, positive for the second.
    fn all_at_once(&self, data: &Dataset<'_>, prices: &[f64], context: &Context<'_>) -> Result<(LinearMachine, FitReport)> {
        let classes = data.expect_classes()?;
        let (count, features) = (classes.names().len(), data.x.columns());
        let mut present = vec![false; count];
        classes.codes().iter().zip(prices).filter(|(_, price)| **price > 0.0).for_each(|(&code, _)| present[code as usize] = true);
        let seen: Vec<usize> = (0..count).filter(|&class| present[class]).collect();
        let place = |code: u32| seen.iter().position(|&class| class == code as usize).unwrap_or(0) as u32;
        let codes: Vec<u32> = classes.codes().iter().map(|&code| place(code)).collect();
        let problem = ClassesProblem { x: &data.x, codes: &codes, classes: seen.len(), prices, bias: self.bias };
        let solution = solve_classes(&problem, self.tolerance, context)?;
        // A class that was never seen is never chosen.
        let mut machine = LinearMachine { weights: vec![0.0; count * features], biases: vec![f64::NEG_INFINITY; count], features };
        for (place, &class) in seen.iter().enumerate() {
            machine.biases[class] = solution.biases[place];
            let from = &solution.weights[place * features..(place + 1) * features];
            machine.weights[class * features..(class + 1) * features].copy_from_slice(from);
        }
        if count == 2 {
            let weights = (0..features).map(|j| machine.weights[features + j] - machine.weights[j]).collect();
            machine = LinearMachine { weights, biases: vec![machine.biases[1] - machine.biases[0]], features };
        }
        let report = FitReport {
            objective: -solution.objective,
            violation: solution.gap,
            gap: solution.gap,
            iterations: solution.iterations,
            stop: solution.stop,
            ..FitReport::default()
        };
        Ok((machine, report))
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
            regularizer: self.regularizer,
            bias: self.bias,
        };
        solve_linear(&problem, self.tolerance, start, context)
    }
}

impl Learner for LinearSvc {
    type Model = LinearSvcModel;

    fn validate(&self) -> Result<()> {
        check::positive(OWNER, "c", self.c)?;
        check::positive(OWNER, "tolerance", self.tolerance)?;
        if let Bias::Column(value) = self.bias {
            check::positive(OWNER, "bias column", value)?;
        }
        let one_by_one = self.multiclass == LinearMulticlass::OneVsRest;
        if one_by_one && self.regularizer == Regularizer::L1 && self.loss == LinearLoss::Absolute {
            return Err(check::complaint(OWNER, "loss", "the squared hinge with the L1 penalty", "the hinge"));
        }
        Ok(())
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.c)
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
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

impl Classifier for LinearSvcModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn outputs(&self) -> Outputs {
        Outputs::against_rest(self.classes.len())
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    fn outputs_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        Ok(self.machine.evaluate(x, context))
    }
}

impl Model for LinearSvcModel {
    type Prediction = Categories;

    kept_facts!();

    fn features(&self) -> usize {
        self.machine.features
    }

    fn answers(&self) -> Answers<'_> {
        Answers::Classes(&self.classes)
    }

    /// Two classes: one value, positive for the second. More: one value per class, the largest of which is the prediction.
    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        self.class_decisions(rows.x, context)
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Categories> {
        self.categories(decisions)
    }

    fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        Ok(self.class_probabilities(decisions))
    }

    fn has_probabilities(&self) -> bool {
        self.calibration.is_some()
    }

    fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        let plain = LinearSvc { calibrate: false, ..self.parameters.clone() };
        self.calibration = Some(self.fit_calibration(&plain, data, plain.seed, plain.calibration, context)?);
        Ok(())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::classifier(self)
    }

    fn details(&self) -> Map<String, Value> {
        details([
            ("kernel", json!(Kernel::Linear)),
            ("classes", json!(self.classes)),
            ("calibration", calibration_details(self.calibration.as_ref())),
        ])
    }

    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        Ok(pictures::weights(&self.machine, self.feature_names.as_deref(), &self.classes))
    }

    fn linear_machine(&self) -> Option<&LinearMachine> {
        Some(&self.machine)
    }
}
