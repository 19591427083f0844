//! The fitted model: standardized columns, induced columns, and a machine over both.

use serde_json::{Map, Value, json};

use super::auto::{Choice, standardized};
use super::describe;
use super::learner::{ClassRun, FeatureInduction};
use super::pictures;
use super::rounds::{Ending, Induced, Stage};
use super::rule_list::RuleList;
use super::table::Standard;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::linalg;
use crate::observe::Context;
use crate::parallel;
use crate::picture::Picture;
use crate::svm::{
    Answers, Calibration, CalibrationMethod, Classifier, Decisions, Fact, FitReport, Learner, LinearMachine, Model, Outputs, Pull, Rows,
    SvcModel, details, kept_facts,
};

/// Rows that a thread takes at a time.
const STRIDE: usize = 2048;

/// One class against the rest: its features and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Induction {
    /// The features, in the order they were made.
    pub features: Vec<Induced>,
    /// The machine with 0, 1, 2, ... features. Empty for a class that was never seen.
    pub stages: Vec<Stage>,
    /// Why no further feature was made.
    pub ending: Ending,
    /// What the hold-out found, where it was asked.
    pub choice: Option<Choice>,
    /// Why there is no feature, where some were wanted.
    pub declined: Option<String>,
    /// Seconds spent on trees in the last run (the choice not included).
    pub tree_seconds: f64,
    /// Seconds spent on fitting the machine again, the first fit not included.
    pub refit_seconds: f64,
}

impl Induction {
    pub(super) fn unseen() -> Self {
        Self {
            features: Vec::new(),
            stages: Vec::new(),
            ending: Ending::Enough,
            choice: None,
            declined: Some("the class has no rows".into()),
            tree_seconds: 0.0,
            refit_seconds: 0.0,
        }
    }

    pub(super) fn from_run((run, choice, declined): ClassRun) -> Self {
        Self {
            features: run.features,
            stages: run.stages,
            ending: run.ending,
            choice,
            declined,
            tree_seconds: run.tree_seconds,
            refit_seconds: run.refit_seconds,
        }
    }

    /// The training error of the linear machine.
    pub fn linear_error(&self) -> f64 {
        self.stages.first().map_or(f64::NAN, |stage| stage.error)
    }
}

/// The machine that decides.
#[derive(Clone, Debug, PartialEq)]
pub enum Final {
    /// One weight per original and induced column, for every output.
    Linear(LinearMachine),
    /// A kernel machine over the same columns.
    Kernel(Box<SvcModel>),
}

/// A fitted feature induction.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureInductionModel {
    /// What it was fitted with.
    pub parameters: FeatureInduction,
    /// Class names.
    pub classes: Vec<String>,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How original columns are standardized.
    pub standard: Standard,
    /// One for two classes (the second against the first), else one per class against the rest.
    pub inductions: Vec<Induction>,
    /// Where the model is a list of rules: how many and why. Its rules are features of the first induction and count for every output.
    pub list: Option<RuleList>,
    /// The machine over all columns: the original ones, then each induction's.
    pub machine: Final,
    /// Probabilities, where they were fitted.
    pub calibration: Option<Calibration>,
    /// How the fit went.
    pub report: FitReport,
}

impl FeatureInductionModel {
    /// Columns of [`FeatureInductionModel::transform`]: original and induced ones.
    pub fn columns(&self) -> usize {
        self.standard.center.len() + self.induced().count()
    }

    /// All induced features with the place of their induction.
    pub fn induced(&self) -> impl Iterator<Item = (usize, &Induced)> {
        self.inductions.iter().enumerate().flat_map(|(output, induction)| induction.features.iter().map(move |f| (output, f)))
    }

    /// The name of an original column.
    pub fn feature_name(&self, column: usize) -> String {
        self.feature_names.as_ref().map_or_else(|| format!("x{}", column + 1), |names| names[column].clone())
    }

    /// The class that an induction's positive decisions stand for.
    pub fn class_of(&self, output: usize) -> &str {
        &self.classes[if self.classes.len() == 2 { 1 } else { output }]
    }

    /// The table the machine sees: standardized original columns, then the induced ones. With the linear machine its product with the
    /// weights, plus the bias, is the decision value.
    pub fn transform(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Matrix<'static>> {
        self.check_input(x)?;
        let (rows, columns) = (x.rows(), self.columns());
        let parts = parallel::map(context.threads, rows.div_ceil(STRIDE).max(1), |part| {
            let chosen: Vec<usize> = (part * STRIDE..((part + 1) * STRIDE).min(rows)).collect();
            let x = if chosen.len() == rows && matches!(x, Matrix::F64(_)) { x.clone() } else { x.select(&chosen).to_dense() };
            let plain = self.standard.table(&x);
            let induced: Vec<Vec<f64>> =
                self.induced().map(|(_, feature)| standardized(feature, &x, self.parameters.resolved().output)).collect();
            let original = self.standard.center.len();
            let mut values = Vec::with_capacity(chosen.len() * columns);
            for place in 0..chosen.len() {
                values.extend_from_slice(&plain[place * original..(place + 1) * original]);
                values.extend(induced.iter().map(|column| column[place]));
            }
            values
        });
        Matrix::dense(parts.concat(), rows, columns)
    }

    /// Decision values of the linear machine with the first `count` features of every induction; row-major, one value per output.
    pub fn staged_decisions(&self, x: &Matrix<'_>, count: usize, context: &Context<'_>) -> Result<Vec<f64>> {
        self.staged_from(&self.transform(x, context)?, count)
    }

    /// [`FeatureInductionModel::staged_decisions`] of a table that was transformed already.
    pub fn staged_from(&self, z: &Matrix<'_>, count: usize) -> Result<Vec<f64>> {
        let Matrix::F64(z) = z else { return Err(Error::data("a transformed table is dense")) };
        let (original, columns) = (self.standard.center.len(), self.columns());
        let rows = z.values().len() / columns.max(1);
        let mut values = vec![f64::NEG_INFINITY; rows * self.inductions.len()];
        for (output, induction) in self.inductions.iter().enumerate() {
            let (features, first) = self.own_features(output);
            if let Some(stage) = induction.stages.get(count.min(features.len())) {
                let used = stage.weights.len() - original;
                for row in 0..rows {
                    let z = z.row(row);
                    values[row * self.inductions.len() + output] = stage.bias
                        + linalg::dot(&z[..original], &stage.weights[..original])
                        + linalg::dot(&z[first..first + used], &stage.weights[original..]);
                }
            }
        }
        Ok(values)
    }

    /// The features that an output's machine uses, and the column of the first: in a list all outputs use the same.
    pub fn own_features(&self, output: usize) -> (&[Induced], usize) {
        let original = self.standard.center.len();
        if self.list.is_some() {
            return (self.inductions.first().map_or(&[], |first| &first.features), original);
        }
        let before: usize = self.inductions[..output].iter().map(|induction| induction.features.len()).sum();
        (&self.inductions[output].features, original + before)
    }

    /// The most features of any induction.
    pub fn most_features(&self) -> usize {
        self.inductions.iter().map(|induction| induction.features.len()).max().unwrap_or(0)
    }

    /// The parameters with the hold-out's choice (that of the class with the most features) in place of `auto`.
    fn settled(&self) -> FeatureInduction {
        use super::limits::{Amount, Depth, RuleLimit};
        let mut plain = FeatureInduction { calibrate: false, preset: None, ..self.parameters.resolved() };
        if let Some(list) = &self.list {
            plain.max_rules = RuleLimit::Exactly(list.chosen);
            return plain;
        }
        plain.max_rules = RuleLimit::Unlimited;
        let leader = self.inductions.iter().max_by_key(|induction| induction.features.len());
        if plain.n_induced == Amount::Auto {
            let rounds = leader.map_or(0, |i| i.choice.as_ref().map_or(i.features.len(), |choice| choice.rounds));
            plain.n_induced = Amount::Exactly(rounds);
        }
        if plain.max_depth == Depth::Auto {
            let depth = leader.and_then(|i| i.choice.as_ref()).map_or(Some(3), |choice| choice.depth);
            plain.max_depth = depth.map_or(Depth::Unlimited, Depth::AtMost);
        }
        plain
    }
}

impl Classifier for FeatureInductionModel {
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
        let z = self.transform(x, context)?;
        match &self.machine {
            Final::Linear(machine) => Ok(machine.evaluate(&z, context)),
            Final::Kernel(svc) => svc.decision_values_in(&z, context),
        }
    }
}

impl Model for FeatureInductionModel {
    type Prediction = Categories;

    kept_facts!();

    fn features(&self) -> usize {
        self.standard.center.len()
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

    /// The folds use the number of features and the depth that this model has: choosing anew in every fold would cost as much again.
    fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        self.calibration = Some(self.fit_calibration(&self.settled(), data, self.parameters.seed, CalibrationMethod::Sigmoid, context)?);
        Ok(())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::facts(self)
    }

    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        Ok(pictures::pictures(self))
    }

    fn pulls(&self, x: &Matrix<'_>, row: usize) -> Result<Vec<Pull>> {
        if matches!(self.machine, Final::Kernel(_)) {
            return Ok(Vec::new());
        }
        let pull = |class: &str, part: super::Contribution| Pull { class: class.to_owned(), text: part.text, adds: part.adds };
        let of = |one: super::Explanation| one.contributions.into_iter().map(|part| pull(&one.class, part)).collect::<Vec<_>>();
        Ok(self.explain(x, row)?.into_iter().flat_map(of).collect())
    }

    fn details(&self) -> Map<String, Value> {
        details([("kernel", json!(self.parameters.kernel)), ("classes", json!(self.classes)), ("induced", describe::induced(self))])
    }
}

/// How the learner is checked again when a model comes from a file.
impl FeatureInductionModel {
    /// Fails unless everything that evaluation relies on holds.
    // long: one question after another.
    pub fn check(&self) -> Result<()> {
        self.parameters.validate()?;
        let original = self.standard.center.len();
        let outputs = if self.classes.len() == 2 { 1 } else { self.classes.len() };
        let named = self.feature_names.as_ref().map_or(original, Vec::len);
        for (what, expected, found) in [
            ("inductions", outputs, self.inductions.len()),
            ("spreads, one per column", original, self.standard.spread.len()),
            ("feature names, one per column", original, named),
        ] {
            if expected != found {
                return Err(Error::shape(what, expected, found));
            }
        }
        if original == 0 {
            return Err(Error::data("a model of no columns"));
        }
        let sound = self.standard.center.iter().all(|v| v.is_finite()) && self.standard.spread.iter().all(|v| v.is_finite() && *v > 0.0);
        if !sound {
            return Err(Error::data("the columns' means and spreads must be finite, and spreads positive"));
        }
        for (output, induction) in self.inductions.iter().enumerate() {
            let stages = induction.stages.len();
            let (features, _) = self.own_features(output);
            let unseen = stages == 0 && outputs > 1 && (induction.features.is_empty() || self.list.is_some());
            if stages != features.len() + 1 && !unseen {
                return Err(Error::shape(format!("stages of induction {output}"), features.len() + 1, stages));
            }
            if self.list.is_some() && output > 0 && !induction.features.is_empty() {
                return Err(Error::shape(format!("features of induction {output}: a list keeps them once"), 0, induction.features.len()));
            }
            for feature in &induction.features {
                feature.tree.check(original).map_err(|message| Error::data(format!("induction {output}: {message}")))?;
                if feature.shares.len() != feature.tree.nodes.len() {
                    let what = format!("shares of induction {output}, one per node");
                    return Err(Error::shape(what, feature.tree.nodes.len(), feature.shares.len()));
                }
                if !feature.shares.iter().all(|share| (0.0..=1.0 + 1e-9).contains(share)) {
                    return Err(Error::data(format!("induction {output}: a node's share of the rows is not between 0 and 1")));
                }
                if !(feature.mean.is_finite() && feature.spread.is_finite() && feature.spread > 0.0) {
                    return Err(Error::data(format!(
                        "induction {output}: a feature with mean {}, spread {}",
                        feature.mean, feature.spread
                    )));
                }
            }
            for (count, stage) in induction.stages.iter().enumerate() {
                if stage.weights.len() != original + count {
                    return Err(Error::shape(format!("weights of stage {count}"), original + count, stage.weights.len()));
                }
                if !(stage.bias.is_finite() && stage.weights.iter().all(|w| w.is_finite())) {
                    return Err(Error::data(format!("stage {count} of induction {output} holds a number that is not finite")));
                }
            }
        }
        match &self.machine {
            Final::Linear(machine) => {
                let facts = [
                    ("outputs of the machine", outputs, machine.outputs()),
                    ("columns of the machine", self.columns(), machine.features),
                    ("weights of the machine", self.columns().saturating_mul(outputs), machine.weights.len()),
                ];
                for (what, expected, found) in facts {
                    if expected != found {
                        return Err(Error::shape(what, expected, found));
                    }
                }
                let unseen = |b: f64| b == f64::NEG_INFINITY && outputs > 1;
                if !(machine.weights.iter().all(|w| w.is_finite()) && machine.biases.iter().all(|&b| b.is_finite() || unseen(b))) {
                    return Err(Error::data("the machine holds a number that is not finite"));
                }
                Ok(())
            }
            Final::Kernel(svc) if svc.features() != self.columns() => {
                Err(Error::shape("columns of the machine", self.columns(), svc.features()))
            }
            Final::Kernel(svc) if svc.classes != self.classes => Err(Error::data("the machine has other classes than the model")),
            Final::Kernel(_) => Ok(()),
        }
    }
}
