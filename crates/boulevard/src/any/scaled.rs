//! A model with what happens to its columns first: what was learnt on filled and scaled data must be asked with data filled and scaled the
//! same way.

use serde_json::{Map, Value, json};

use super::model::AnyModel;
use crate::data::{Dataset, Fill, Imputer, Matrix, Scaler, Scaling, Sets, Target};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{Answers, Decisions, Fact, FitReport, KernelMachine, Model, Pull, Rows};
use crate::words::g;

/// A model that was fitted on columns without holes, or on scaled ones, with the imputer and the scaler.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledModel {
    /// What takes the place of missing values, if they may be missing.
    pub imputer: Option<Imputer>,
    /// What happens to every column then, if anything does.
    pub scaler: Option<Scaler>,
    /// The model of the filled and scaled columns.
    pub model: Box<AnyModel>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
}

impl ScaledModel {
    /// Puts a scaler in front of a model; fails if their columns differ or the model has a scaler already.
    pub fn new(scaler: Scaler, model: AnyModel) -> Result<Self> {
        Self::prepared(None, Some(scaler), model)
    }

    /// Puts an imputer, a scaler or both in front of a model; fails as [`ScaledModel::new`] does.
    pub fn prepared(imputer: Option<Imputer>, scaler: Option<Scaler>, model: AnyModel) -> Result<Self> {
        if matches!(model, AnyModel::Scaled(_)) {
            return Err(Error::data("the model is scaled already"));
        }
        if let Some(scaler) = &scaler
            && scaler.columns() != model.features()
        {
            return Err(Error::shape("columns of the scaler", model.features(), scaler.columns()));
        }
        if let Some(imputer) = &imputer
            && imputer.columns() != model.features()
        {
            return Err(Error::shape("columns of the imputer", model.features(), imputer.columns()));
        }
        Ok(Self { imputer, scaler, feature_names: model.feature_names().map(<[String]>::to_vec), model: Box::new(model) })
    }

    /// The table as the model wants it. A sparse one whose zeros move becomes dense: the user asked for it.
    pub fn prepare(&self, x: &Matrix<'_>) -> Result<Matrix<'static>> {
        let filled = match &self.imputer {
            Some(imputer) => imputer.table(x)?,
            None => None,
        };
        match (&self.scaler, filled) {
            (Some(scaler), Some(filled)) => scaler.table(&filled),
            (Some(scaler), None) => scaler.table(x),
            (None, Some(filled)) => Ok(filled),
            (None, None) => Ok(x.clone().into_owned()),
        }
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
        let scaling = self.scaler.as_ref().map(|scaler| match scaler.scaling() {
            Scaling::Standard => "every column to mean 0, standard deviation 1".to_owned(),
            Scaling::MinMax { low, high } => format!("every column to {} .. {}", g(low), g(high)),
            Scaling::MaxAbs => "every column to largest absolute value 1".to_owned(),
        });
        let mut facts = self.model.own_facts();
        facts.extend(self.imputer.as_ref().map(|imputer| {
            let text = match imputer.fill() {
                Fill::Drop => "rows that have any are left out",
                Fill::Median => "the column's median takes their place",
                Fill::MostFrequent => "the column's most frequent value takes their place",
            };
            ("missing values", text.to_owned())
        }));
        facts.extend(self.model.common_facts(scaling));
        facts
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = self.model.details();
        if let Some(scaler) = &self.scaler {
            details.insert("scaling".to_owned(), json!(scaler.scaling()));
        }
        if let Some(imputer) = &self.imputer {
            details.insert("missing".to_owned(), json!(imputer.fill()));
        }
        details
    }

    fn pictures(&self, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
        let scaled = match data {
            Some(data) => Some(Dataset { x: self.prepare(&data.x)?, ..data.clone() }),
            None => None,
        };
        let mut pictures = self.model.pictures(scaled.as_ref(), context)?;
        // Weights are those of columns as the machine saw them.
        if self.scaler.is_some() {
            pictures
                .iter_mut()
                .filter(|picture| picture.id == "weights")
                .for_each(|picture| picture.x.label.push_str(" of the scaled column"));
        }
        Ok(pictures)
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
