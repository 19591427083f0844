//! A model with the scaling of its columns: what was learnt on scaled data must be asked with data scaled the same way.

use serde_json::{Map, Value, json};

use super::model::AnyModel;
use crate::data::{Dataset, Matrix, Scaler, Scaling, Sets, Target};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{Answers, Decisions, Fact, FitReport, KernelMachine, Model, Pull, Rows};
use crate::words::g;

/// A model that was fitted on scaled columns, with the scaler.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledModel {
    /// What happens to every column first.
    pub scaler: Scaler,
    /// The model of the scaled columns.
    pub model: Box<AnyModel>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
}

impl ScaledModel {
    /// Puts a scaler in front of a model; fails if their columns differ or the model has a scaler already.
    pub fn new(scaler: Scaler, model: AnyModel) -> Result<Self> {
        if matches!(model, AnyModel::Scaled(_)) {
            return Err(Error::data("the model is scaled already"));
        }
        if scaler.columns() != model.features() {
            return Err(Error::shape("columns of the scaler", model.features(), scaler.columns()));
        }
        Ok(Self { scaler, feature_names: model.feature_names().map(<[String]>::to_vec), model: Box::new(model) })
    }

    /// The table as the model wants it. A sparse one whose zeros move becomes dense: the user asked for it.
    pub fn prepare(&self, x: &Matrix<'_>) -> Result<Matrix<'static>> {
        self.scaler.table(x)
    }
}

impl Model for ScaledModel {
    type Prediction = Target;

    fn report(&self) -> &FitReport {
        self.model.report()
    }

    fn features(&self) -> usize {
        self.model.features()
    }

    fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    fn parameters(&self) -> Value {
        self.model.parameters()
    }

    fn answers(&self) -> Answers<'_> {
        self.model.answers()
    }

    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        self.model.decide(&Rows { x: &self.prepare(rows.x)?, ..*rows }, context)
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Target> {
        self.model.predictions_from(decisions)
    }

    fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        self.model.probabilities_from(decisions)
    }

    fn has_probabilities(&self) -> bool {
        self.model.has_probabilities()
    }

    fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        let scaled = Dataset { x: self.prepare(&data.x)?, ..data.clone() };
        self.model.calibrate_in(&scaled, context)
    }

    fn facts(&self) -> Vec<Fact> {
        let scaling = match self.scaler.scaling() {
            Scaling::Standard => "every column to mean 0, standard deviation 1".to_owned(),
            Scaling::MinMax { low, high } => format!("every column to {} .. {}", g(low), g(high)),
            Scaling::MaxAbs => "every column to largest absolute value 1".to_owned(),
        };
        let mut facts = self.model.own_facts();
        facts.extend(self.model.common_facts(Some(scaling)));
        facts
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = self.model.details();
        details.insert("scaling".to_owned(), json!(self.scaler.scaling()));
        details
    }

    fn pictures(&self, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
        let scaled = match data {
            Some(data) => Some(Dataset { x: self.prepare(&data.x)?, ..data.clone() }),
            None => None,
        };
        self.model.pictures(scaled.as_ref(), context)
    }

    fn pulls(&self, x: &Matrix<'_>, row: usize) -> Result<Vec<Pull>> {
        self.model.pulls(&self.prepare(&x.select(&[row]))?, 0)
    }

    fn notes(&self) -> &[String] {
        self.model.notes()
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        self.model.kernel_machines()
    }

    fn support_vectors(&self) -> usize {
        self.model.support_vectors()
    }

    fn decision_names(&self) -> Vec<String> {
        self.model.decision_names()
    }

    fn judged_sets(&self, data: &Dataset<'_>) -> Result<Option<Sets>> {
        self.model.judged_sets(data)
    }

    fn decides_sets(&self) -> bool {
        self.model.decides_sets()
    }
}
