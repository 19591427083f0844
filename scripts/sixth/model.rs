//! The model: one mean per class.

use super::learner::NearestMean;
use crate::data::{Categories, Matrix};
use crate::error::Result;
use crate::observe::Context;
use crate::svm::{Answers, Calibration, Classifier, Decisions, Fact, FitReport, Model, Outputs, Rows, kept_facts};

/// The toy, fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestMeanModel {
    /// What it was fitted with.
    pub parameters: NearestMean,
    /// Class names.
    pub classes: Vec<String>,
    /// Row-major: classes x columns.
    pub means: Vec<f64>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went.
    pub report: FitReport,
}

impl Classifier for NearestMeanModel {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn outputs(&self) -> Outputs {
        Outputs::Classes
    }

    fn calibration(&self) -> Option<&Calibration> {
        None
    }

    fn outputs_in(&self, x: &Matrix<'_>, _context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        let mut row = vec![0.0; self.features()];
        let mut values = Vec::with_capacity(x.rows() * self.classes.len());
        for i in 0..x.rows() {
            x.copy_row(i, &mut row);
            values.extend(self.means.chunks_exact(self.features()).map(|mean| {
                -mean.iter().zip(&row).map(|(m, v)| (m - v) * (m - v)).sum::<f64>()
            }));
        }
        Ok(values)
    }
}

impl Model for NearestMeanModel {
    type Prediction = Categories;

    kept_facts!();

    fn features(&self) -> usize {
        self.means.len() / self.classes.len().max(1)
    }

    fn answers(&self) -> Answers<'_> {
        Answers::Classes(&self.classes)
    }

    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        self.class_decisions(rows.x, context)
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Categories> {
        self.categories(decisions)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![("kind", format!("nearest mean of {} classes", self.classes.len()))]
    }
}
