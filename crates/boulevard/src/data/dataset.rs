//! A table with its target, weights and names.

use super::{Categories, Matrix, Target, weights};
use crate::error::{Error, Result};
use crate::observe::Context;

/// Samples with what is known about them. Columns that do not apply are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset<'a> {
    /// The samples.
    pub x: Matrix<'a>,
    /// What is to be predicted.
    pub target: Target,
    /// How much each sample counts; 2 is the same as having the row twice, 0 as not having it.
    pub weights: Option<Vec<f64>>,
    /// Which rows belong together (folds never cut a group; multi-sample decisions are made per group).
    pub groups: Option<Categories>,
    /// Which task each row belongs to, for multi-task learning.
    pub tasks: Option<Categories>,
    /// One name per feature.
    pub feature_names: Option<Vec<String>>,
}

impl<'a> Dataset<'a> {
    /// A table with a target and nothing else.
    pub fn new(x: Matrix<'a>, target: Target) -> Self {
        Self { x, target, weights: None, groups: None, tasks: None, feature_names: None }
    }

    /// A classification table.
    pub fn classes(x: Matrix<'a>, classes: Categories) -> Self {
        Self::new(x, Target::Classes(classes))
    }

    /// A regression table.
    pub fn regression(x: Matrix<'a>, values: Vec<f64>) -> Self {
        Self::new(x, Target::Real(values))
    }

    /// The same table with sample weights.
    pub fn with_weights(self, weights: Vec<f64>) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The weight of every sample, 1 where none were given.
    pub fn weights_or_ones(&self) -> Vec<f64> {
        self.weights.clone().unwrap_or_else(|| vec![1.0; self.len()])
    }

    /// The classes, or an error that says what was found instead.
    pub fn expect_classes(&self) -> Result<&Categories> {
        match &self.target {
            Target::Classes(classes) => Ok(classes),
            other => Err(Error::data(format!("a classifier needs classes as target, found {}", other.kind()))),
        }
    }

    /// The target numbers, or an error that says what was found instead.
    pub fn expect_real(&self) -> Result<&[f64]> {
        match &self.target {
            Target::Real(values) => Ok(values),
            other => Err(Error::data(format!("a regressor needs real numbers as target, found {}", other.kind()))),
        }
    }

    /// The name of a feature: its own, or `x1`, `x2`, ... by position.
    pub fn feature_name(&self, column: usize) -> String {
        match &self.feature_names {
            Some(names) => names[column].clone(),
            None => format!("x{}", column + 1),
        }
    }

    /// Everything a learner relies on: sizes agree, values are finite, weights are sound, there is something to learn from.
    pub fn validate(&self) -> Result<()> {
        self.validate_with_holes()?;
        self.x.check_finite("X")
    }

    /// [`Dataset::validate`] by several threads where the table is large.
    pub fn validate_by(&self, threads: usize) -> Result<()> {
        self.validate_with_holes()?;
        self.x.check_finite_by("X", threads)
    }

    /// The same for a learner that fills missing values in: what the table holds is looked at when they are.
    pub fn validate_with_holes(&self) -> Result<()> {
        let rows = self.len();
        if rows == 0 {
            return Err(Error::data("the data have no rows"));
        }
        if self.x.columns() == 0 {
            return Err(Error::data("the data have no feature columns"));
        }
        if let Some(found) = self.target.count()
            && found != rows
        {
            return Err(Error::shape("targets, one per row", rows, found));
        }
        for (what, column) in [("groups", &self.groups), ("tasks", &self.tasks)] {
            if let Some(column) = column
                && column.len() != rows
            {
                return Err(Error::shape(format!("{what}, one per row"), rows, column.len()));
            }
        }
        if let Some(names) = &self.feature_names
            && names.len() != self.x.columns()
        {
            return Err(Error::shape("feature names, one per column", self.x.columns(), names.len()));
        }
        if let Target::Real(values) = &self.target
            && let Some((row, value)) = values.iter().enumerate().find(|(_, v)| !v.is_finite())
        {
            return Err(Error::NotFinite { what: "y", found: value.to_string(), row, column: 0 });
        }
        if let Some(weights) = &self.weights {
            weights::resolve(Some(weights), self.len())?;
        }
        Ok(())
    }

    /// The rows in `rows`, with everything that belongs to them.
    pub fn select(&self, rows: &[usize]) -> Dataset<'static> {
        self.beside(self.x.select(rows), rows)
    }

    /// [`Dataset::select`] in pieces between which somebody may stop: a copy of a large table takes a while.
    pub fn select_in(&self, rows: &[usize], context: &Context<'_>) -> Result<Dataset<'static>> {
        Ok(self.beside(self.x.select_in(rows, context)?, rows))
    }

    /// What belongs to some rows beside their table.
    fn beside(&self, x: Matrix<'static>, rows: &[usize]) -> Dataset<'static> {
        Dataset {
            x,
            target: self.target.select(rows),
            weights: self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect()),
            groups: self.groups.as_ref().map(|groups| groups.select(rows)),
            tasks: self.tasks.as_ref().map(|tasks| tasks.select(rows)),
            feature_names: self.feature_names.clone(),
        }
    }
}
