//! The fitted classifier.

use serde_json::{Map, Value, json};

use super::{Svc, describe};
use crate::data::{Categories, Dataset, Matrix};
use crate::error::Result;
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::calibration::Calibration;
use crate::svm::classifier::{Classifier, Outputs};
use crate::svm::describe::calibration_details;
use crate::svm::learner::FitReport;
use crate::svm::machine::{KernelMachine, Layout, pair_index};
use crate::svm::model::{Answers, Decisions, Fact, Model, Rows};
use crate::svm::pictures;

/// A fitted classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct SvcModel {
    /// What it was fitted with.
    pub parameters: Svc,
    /// Class names; codes in predictions are places in this list.
    pub classes: Vec<String>,
    /// The machine: one output per pair of classes (positive for the first), or one per class for one-vs-rest.
    pub machine: KernelMachine,
    /// Support vectors of each class.
    pub support_counts: Vec<usize>,
    /// Steps of each output's problem.
    pub iterations: Vec<u64>,
    /// Probabilities, where they were fitted.
    pub calibration: Option<Calibration>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

impl SvcModel {
    /// The place of pair `(i, j)`, `i < j`, among the outputs.
    pub fn pair_output(&self, i: usize, j: usize) -> usize {
        pair_index(i, j, self.classes.len())
    }
}

impl Classifier for SvcModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn outputs(&self) -> Outputs {
        if matches!(self.machine.layout, Layout::Pairs(_)) { Outputs::Pairs } else { Outputs::Classes }
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    fn outputs_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input_by(x, context.threads)?;
        self.machine.evaluate(x, context)
    }
}

impl Model for SvcModel {
    type Prediction = Categories;

    fn report(&self) -> &FitReport {
        &self.report
    }

    fn features(&self) -> usize {
        self.machine.features
    }

    fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    fn parameters(&self) -> Value {
        json!(self.parameters)
    }

    fn answers(&self) -> Answers<'_> {
        Answers::Classes(&self.classes)
    }

    /// Two classes: one value, positive for the second. More: one value per class, the largest of which is the prediction (for
    /// one-vs-one: votes plus a confidence that breaks ties).
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
        let plain = self.parameters.without_calibration();
        self.calibration = Some(self.fit_calibration(&plain, data, plain.seed, plain.calibration, context)?);
        Ok(())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::facts(self)
    }

    fn details(&self) -> Map<String, Value> {
        crate::svm::details([
            ("kernel", json!(self.machine.kernel)),
            ("classes", json!(self.classes)),
            ("support_per_class", json!(self.support_counts)),
            ("calibration", calibration_details(self.calibration.as_ref())),
        ])
    }

    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        Ok(pictures::support(&self.classes, &self.support_counts, self.report.rows))
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        vec![&self.machine]
    }
}
