//! What every fitted model can do, whatever its kind.
//!
//! A model decides in one pass ([`Model::decide`]); predictions and probabilities are made from those decisions without another look at
//! the rows. It also says what it is, in words ([`Model::facts`]) and for machines ([`Model::details`]), so that the program, Python and
//! reports all say the same.

use serde_json::{Map, Value};

use super::learner::FitReport;
use super::linear::LinearMachine;
use super::machine::KernelMachine;
use crate::data::{Categories, Dataset, Matrix, Sets, Target};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::picture::Picture;

/// Rows to decide about, with what is known of them besides their features.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The table.
    pub x: &'a Matrix<'a>,
    /// Which rows get one decision together, for models that decide about sets. None: every row for itself.
    pub sets: Option<&'a Sets>,
    /// The task of every row, for models of tasks with rows of their own.
    pub tasks: Option<&'a Categories>,
}

impl<'a> From<&'a Matrix<'a>> for Rows<'a> {
    fn from(x: &'a Matrix<'a>) -> Self {
        Self { x, sets: None, tasks: None }
    }
}

/// Decision values, and what else a model needs to make predictions and probabilities from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions {
    /// Row-major, [`Decisions::columns`] per row (or set).
    pub values: Vec<f64>,
    /// Values per row.
    pub columns: usize,
    /// What the values were made from where they are not enough: the outputs of pairs of classes, or probabilities of sets.
    pub(crate) behind: Option<Vec<f64>>,
}

impl Decisions {
    /// Decisions that say everything themselves.
    pub fn plain(values: Vec<f64>, columns: usize) -> Self {
        Self { values, columns, behind: None }
    }

    /// Fails where a number overflowed on the way: the model's or the table's are too large. Minus infinity is the answer for a class that
    /// was never seen, beside others.
    pub(crate) fn check_finite(&self) -> Result<()> {
        let wrong = |v: &f64| v.is_nan() || *v == f64::INFINITY;
        let columns = self.columns.max(1);
        let place = self.values.iter().position(wrong).or_else(|| {
            let silent = |row: &[f64]| row.iter().all(|v| *v == f64::NEG_INFINITY);
            self.values.chunks(columns).position(silent).map(|row| row * columns)
        });
        let behind = || self.behind.as_ref().is_some_and(|values| values.iter().any(wrong));
        match place {
            Some(place) => Err(Error::overflow(format!(
                "the decision about row {} overflows: numbers of the model or of the table are too large",
                place / columns
            ))),
            None if behind() => Err(Error::overflow("decisions overflow: numbers of the model or of the table are too large")),
            None => Ok(()),
        }
    }

    /// The machine's own outputs: for several classes one per pair where the machine has pairs, else the values.
    pub fn outputs(&self) -> &[f64] {
        self.behind.as_ref().unwrap_or(&self.values)
    }
}

/// What a model answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers<'a> {
    /// One of these classes.
    Classes(&'a [String]),
    /// Any of these labels.
    Labels(&'a [String]),
    /// So many numbers.
    Numbers(usize),
    /// Whether a row lies inside.
    Inside,
    /// For every row the answer of its own task: one of two classes, or a number.
    Tasks {
        /// The tasks' names.
        names: &'a [String],
        /// The classes they tell apart; none: numbers.
        classes: Option<&'a [String; 2]>,
    },
}

impl Answers<'_> {
    /// Whether answers are numbers.
    pub fn are_numbers(&self) -> bool {
        matches!(self, Self::Numbers(_) | Self::Tasks { classes: None, .. })
    }

    /// What the columns of decision values are called.
    pub fn decision_names(&self) -> Vec<String> {
        let each = |names: &[String]| names.iter().map(|name| format!("decision:{name}")).collect();
        match self {
            Self::Classes([_, second]) => vec![format!("decision:{second}")],
            Self::Classes(names) | Self::Labels(names) => each(names),
            Self::Numbers(1) => vec!["value".to_owned()],
            Self::Numbers(count) => (1..=*count).map(|place| format!("decision:y{place}")).collect(),
            Self::Inside | Self::Tasks { .. } => vec!["decision".to_owned()],
        }
    }
}

/// What one part of a model added to one decision.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Pull {
    /// The class that positive values speak for.
    pub class: String,
    /// The part: a feature with its value, or a rule.
    pub text: String,
    /// What it added.
    pub adds: f64,
}

/// A named fact about a model, in the order to be read.
pub type Fact = (&'static str, String);

/// A fitted model.
pub trait Model {
    /// What [`Model::predict`] returns.
    type Prediction: Into<Target>;

    /// How the fit went.
    fn report(&self) -> &FitReport;

    /// Features per sample that the model expects.
    fn features(&self) -> usize;

    /// Feature names, where the training table had them.
    fn feature_names(&self) -> Option<&[String]>;

    /// What it was fitted with.
    fn parameters(&self) -> Value;

    /// What it answers with.
    fn answers(&self) -> Answers<'_>;

    /// Decisions about rows, or about the sets they form.
    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions>;

    /// Predictions from decisions.
    fn predictions_from(&self, decisions: &Decisions) -> Result<Self::Prediction>;

    /// Probabilities from decisions, row-major: a column per class (their largest is the prediction) or per label. `None` where the model
    /// has none.
    fn probabilities_from(&self, _decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Whether probabilities were fitted.
    fn has_probabilities(&self) -> bool {
        false
    }

    /// Fits probabilities to a model that was fitted without them; `data` is the table it learnt from.
    fn calibrate_in(&mut self, _data: &Dataset<'_>, _context: &Context<'_>) -> Result<()> {
        Err(Error::data("this model has no probabilities: only classifiers have them"))
    }

    /// What the model says about itself, besides its features and its fit.
    fn facts(&self) -> Vec<Fact>;

    /// The same for machines, by name.
    fn details(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Pictures of what it learnt. `data` is the table it learnt from, for those that need its rows.
    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        Ok(Vec::new())
    }

    /// What each readable part added to the decision about one row, for models that are sums of such parts.
    fn pulls(&self, _x: &Matrix<'_>, _row: usize) -> Result<Vec<Pull>> {
        Ok(Vec::new())
    }

    /// What the user should know about the fit.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// The kernel machines it decides with.
    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        Vec::new()
    }

    /// Makes its kernel machines ready for tables of one row: see [`KernelMachine::make_ready`].
    fn make_ready(&self, context: &Context<'_>) -> Result<()> {
        self.kernel_machines().into_iter().try_for_each(|machine| machine.make_ready(context))
    }

    /// The linear machine it decides with on the columns as they are, if it is one.
    fn linear_machine(&self) -> Option<&LinearMachine> {
        None
    }

    /// Support vectors in all.
    fn support_vectors(&self) -> usize {
        self.kernel_machines().iter().map(|machine| machine.len()).sum()
    }

    /// What the columns of decision values are called.
    fn decision_names(&self) -> Vec<String> {
        self.answers().decision_names()
    }

    /// Which labelled rows are decided about together when the model is judged; `None` for models that decide row by row.
    fn judged_sets(&self, _data: &Dataset<'_>) -> Result<Option<Sets>> {
        Ok(None)
    }

    /// Whether it decides about sets of rows.
    fn decides_sets(&self) -> bool {
        false
    }

    /// Decision values, row-major: one or more per sample.
    fn decision_values_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        Ok(self.decide(&x.into(), context)?.values)
    }

    /// Predictions.
    fn predict_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Self::Prediction> {
        self.predictions_from(&self.decide(&x.into(), context)?)
    }

    /// Probabilities, row-major: see [`Model::probabilities_from`]. Fails if there are none.
    fn probabilities(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let found = if self.has_probabilities() { self.probabilities_from(&self.decide(&x.into(), context)?)? } else { None };
        found.ok_or_else(|| Error::data("this model has no probabilities: fit it with `calibrate`"))
    }

    /// [`Model::decision_values_in`] with all threads.
    fn decision_values(&self, x: &Matrix<'_>) -> Result<Vec<f64>> {
        self.decision_values_in(x, &Context::default())
    }

    /// [`Model::predict_in`] with all threads.
    fn predict(&self, x: &Matrix<'_>) -> Result<Self::Prediction> {
        self.predict_in(x, &Context::default())
    }

    /// Fails if `x` cannot be judged by this model.
    fn check_input(&self, x: &Matrix<'_>) -> Result<()> {
        self.check_input_by(x, 1)
    }

    /// [`Model::check_input`] by several threads.
    fn check_input_by(&self, x: &Matrix<'_>, threads: usize) -> Result<()> {
        if x.columns() != self.features() {
            return Err(Error::shape("feature columns", self.features(), x.columns()));
        }
        if threads > 1 { x.check_finite_by("X", threads) } else { x.check_finite("X") }
    }
}

/// What every model keeps in fields of these names.
macro_rules! kept_facts {
    () => {
        fn report(&self) -> &$crate::svm::FitReport {
            &self.report
        }

        fn feature_names(&self) -> Option<&[String]> {
            self.feature_names.as_deref()
        }

        fn parameters(&self) -> serde_json::Value {
            serde_json::json!(self.parameters)
        }
    };
}
pub(crate) use kept_facts;
