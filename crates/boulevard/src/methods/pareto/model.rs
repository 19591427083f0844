//! The fitted front: a table, a classifier for every row of it, and the one that was picked.

use serde_json::{Map, Value, json};

use super::calibrate::AtPosition;
use super::choose::{Marks, marks};
use super::describe;
use super::family::WidthFront;
use super::family_pictures;
use super::parameters::ParetoSvc;
use super::pictures;
use super::point::FrontPoint;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::metrics::pareto::hypervolume;
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{
    Answers, Classifier, Decisions, Fact, FitReport, KernelMachine, Layout, Model, Multiclass, Penalty, Ready, Rows, SolverSettings, Svc,
    SvcModel, calibration_details, crowded, details, support_by_class,
};

/// The front of one two-class problem: a class against the others.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassFront {
    /// The class that counts as positive.
    pub class: usize,
    /// By rising sum; errors are those of the two-class problem.
    pub points: Vec<FrontPoint>,
    /// Row-major: points x training rows.
    pub alphas: Vec<f64>,
    /// Multiplier of the sum at every point, `1 / C`; NaN where there is none.
    pub lambdas: Vec<f64>,
    /// Intercept at every point, in the scale of `alpha`.
    pub biases: Vec<f64>,
    /// `q` of `alpha = 1`: the worst corner, from which the hypervolume is measured.
    pub reference: f64,
}

impl ClassFront {
    /// The area that the front covers, from `s = 0` and `q` of `alpha = 1`.
    pub fn hypervolume(&self) -> Result<f64> {
        let points: Vec<[f64; 2]> = self.points.iter().map(|point| [point.sum_alpha, -point.quadratic]).collect();
        hypervolume(&points, &[0.0, -self.reference])
    }

    /// The point at `position` of `positions` along the common table.
    pub(super) fn place(&self, position: usize, positions: usize) -> usize {
        let (last, common) = (self.points.len().saturating_sub(1), positions.saturating_sub(1).max(1));
        (position * last + common / 2) / common
    }

    pub(super) fn alpha(&self, place: usize) -> &[f64] {
        let rows = self.alphas.len() / self.points.len().max(1);
        &self.alphas[place * rows..(place + 1) * rows]
    }

    /// What brings the machine to functional margin 1, as a plain machine has it.
    pub(super) fn scale(&self, place: usize) -> f64 {
        if self.lambdas[place] > 0.0 { 1.0 / self.lambdas[place] } else { 1.0 }
    }
}

/// A fitted front.
#[derive(Clone, Debug, PartialEq)]
pub struct ParetoModel {
    /// What it was fitted with.
    pub parameters: ParetoSvc,
    /// Class names; codes in predictions are places in this list.
    pub classes: Vec<String>,
    /// The table, by rising sum. For two classes it is the front's own.
    pub front: Vec<FrontPoint>,
    /// One front (two classes) or one per class.
    pub machines: Vec<ClassFront>,
    /// The kernel, all parameters numbers.
    pub kernel: Kernel,
    /// Rows of the table that the front was computed from; the others were held out.
    pub rows: Vec<usize>,
    /// What these rows weigh.
    pub weights: Vec<f64>,
    /// Coarse fronts of all widths that were compared, by rising gamma; none where there was one width only.
    pub family: Vec<WidthFront>,
    /// Classes of these rows.
    pub codes: Vec<u32>,
    /// These rows. Empty (no columns) for a precomputed kernel.
    pub vectors: Matrix<'static>,
    /// Estimates of the hold-out error that picks and marks go by, one per row of the table: the measured ones, or on exact fronts their
    /// mean over several hold-outs and over neighboring points.
    pub estimates: Vec<f64>,
    /// Number of held-out rows.
    pub holdout_rows: usize,
    /// Number of held-out rows behind the estimates: those of all hold-outs, but never more than there are rows.
    pub estimate_rows: usize,
    /// The row of the table that was picked.
    pub picked: usize,
    /// The classifier that predicts: the picked point, solved again on all rows if that was asked for.
    pub classifier: SvcModel,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// How the fit went; the gap is the largest of the front.
    pub report: FitReport,
}

/// The samples behind a classifier.
pub(super) struct Samples<'a> {
    pub kernel: &'a Kernel,
    /// Places in the training table.
    pub rows: &'a [usize],
    pub codes: &'a [u32],
    pub vectors: &'a Matrix<'a>,
    /// Columns of the training table.
    pub features: usize,
    pub classes: &'a [String],
    pub feature_names: &'a Option<Vec<String>>,
}

/// One output of a classifier; `scale` brings `alpha` and the intercept to functional margin 1.
pub(super) struct Output<'a> {
    pub class: usize,
    pub alpha: &'a [f64],
    pub scale: f64,
    pub bias: f64,
}

impl Samples<'_> {
    /// An ordinary classifier from `alpha`s.
    pub(super) fn classifier(&self, outputs: &[Output<'_>], solver: SolverSettings, c: f64, report: FitReport) -> SvcModel {
        let classes = self.classes.len();
        let is_support = |sample: usize| outputs.iter().any(|output| output.alpha[sample] != 0.0);
        let (order, counts) = support_by_class(self.codes, classes, is_support);
        let pairwise = classes == 2;
        let mut coefficients = Vec::new();
        let mut intercepts = Vec::new();
        for class in 0..if pairwise { 1 } else { classes } {
            let output = if pairwise { outputs.first() } else { outputs.iter().find(|output| output.class == class) };
            let Some(output) = output else {
                // A class without rows can never win.
                coefficients.extend(order.iter().map(|_| 0.0));
                intercepts.push(f64::NEG_INFINITY);
                continue;
            };
            // The one output of two classes is positive for the first, while the front's positive class is the second.
            let sign = if pairwise { -output.scale } else { output.scale };
            let label = |i: usize| if self.codes[i] as usize == output.class { sign } else { -sign };
            coefficients.extend(order.iter().map(|&i| label(i) * output.alpha[i]));
            intercepts.push(sign * output.bias);
        }
        let machine = KernelMachine {
            kernel: self.kernel.clone(),
            support: order.iter().map(|&i| self.rows[i]).collect(),
            vectors: self.kernel.vectors(self.vectors, &order),
            coefficients,
            layout: if pairwise { Layout::Pairs(counts.clone()) } else { Layout::Full },
            intercepts,
            features: self.features,
            tolerance: solver.tolerance,
            ready: Ready::default(),
        };
        let parameters = Svc {
            kernel: self.kernel.clone(),
            penalty: Penalty::C(if c > 0.0 && c.is_finite() { c } else { 1.0 }),
            multiclass: if pairwise { Multiclass::OneVsOne } else { Multiclass::OneVsRest },
            solver,
            ..Svc::default()
        };
        SvcModel {
            parameters,
            classes: self.classes.to_vec(),
            iterations: vec![report.iterations; machine.outputs()],
            machine,
            support_counts: counts,
            calibration: None,
            feature_names: self.feature_names.clone(),
            report,
        }
    }
}

impl ParetoModel {
    /// Whether the classifier was solved again on all rows after the choice.
    pub fn refitted(&self) -> bool {
        self.classifier.report.rows > self.rows.len()
    }

    /// Whether the machines have an intercept.
    pub fn has_intercept(&self) -> bool {
        self.parameters.balanced()
    }

    /// Points worth a mark.
    pub fn marks(&self) -> Marks {
        marks(&self.front, &self.estimates, self.estimate_rows)
    }

    /// The area the front covers (the mean over classes where there are several).
    pub fn hypervolume(&self) -> Result<f64> {
        let mut sum = 0.0;
        for machine in &self.machines {
            sum += machine.hypervolume()?;
        }
        Ok(sum / self.machines.len().max(1) as f64)
    }

    /// The error of answering the most frequent class always, on the rows the front was computed from.
    pub fn constant_error(&self) -> f64 {
        let mut totals = vec![0.0; self.classes.len()];
        self.codes.iter().zip(&self.weights).for_each(|(&code, weight)| totals[code as usize] += weight);
        1.0 - totals.iter().copied().fold(0.0, f64::max) / totals.iter().sum::<f64>()
    }

    /// Whether the chosen point is estimated to be no better than a constant answer.
    pub fn is_no_better_than_constant(&self) -> bool {
        self.estimates[self.picked] >= self.constant_error() - 1e-12
    }

    /// Point `index` of the table as an ordinary classifier: the one that was picked as it predicts (solved again on all rows, if that was
    /// asked for), all others as they stand on the front (learnt from the rows that were not held out).
    pub fn select(&self, index: usize) -> Result<SvcModel> {
        if index == self.picked && self.refitted() {
            return Ok(self.classifier.clone());
        }
        let Some(point) = self.front.get(index) else {
            return Err(Error::data(format!("the front has {} points, there is no point {index}", self.front.len())));
        };
        let outputs: Vec<Output<'_>> = self
            .machines
            .iter()
            .map(|machine| {
                let place = machine.place(index, self.front.len());
                let (alpha, scale) = (machine.alpha(place), machine.scale(place));
                Output { class: machine.class, alpha, scale, bias: machine.biases[place] }
            })
            .collect();
        let samples = Samples {
            kernel: &self.kernel,
            rows: &self.rows,
            codes: &self.codes,
            vectors: &self.vectors,
            features: self.classifier.machine.features,
            classes: &self.classes,
            feature_names: &self.feature_names,
        };
        let report = FitReport { gap: point.gap, violation: point.gap, rows: self.rows.len(), ..self.report };
        Ok(samples.classifier(&outputs, self.parameters.settings(), point.equivalent_c, report))
    }
}

impl Model for ParetoModel {
    type Prediction = Categories;

    fn report(&self) -> &FitReport {
        &self.report
    }

    fn features(&self) -> usize {
        self.classifier.machine.features
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

    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        self.classifier.decide(rows, context)
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Categories> {
        self.classifier.predictions_from(decisions)
    }

    fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        self.classifier.probabilities_from(decisions)
    }

    fn has_probabilities(&self) -> bool {
        self.classifier.has_probabilities()
    }

    /// Five folds, each solved at the picked position; Platt's sigmoid per output on the decisions of the rows left out. Probabilities
    /// of an evolved point rest on exact points at the same sum.
    fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        let learner = AtPosition { parameters: &self.parameters, kernel: &self.kernel, position: self.position() };
        let (kinds, places) = self.parameters.kinds(data, context)?;
        // Few kinds of rows: equal ones are spread over the folds, see there.
        let data = if places.is_some_and(|places| crowded(data.len(), places.len())) { data } else { &*kinds };
        self.classifier.calibration =
            Some(self.classifier.fit_calibration(&learner, data, self.parameters.seed, self.parameters.calibration, context)?);
        Ok(())
    }

    fn facts(&self) -> Vec<Fact> {
        describe::facts(self)
    }

    fn pictures(&self, _data: Option<&Dataset<'_>>, _context: &Context<'_>) -> Result<Vec<Picture>> {
        let mut all = pictures::pictures(&[self.named()]);
        all.extend(family_pictures::pictures(self)?);
        Ok(all)
    }

    fn details(&self) -> Map<String, Value> {
        details([
            ("kernel", json!(self.kernel)),
            ("classes", json!(self.classes)),
            ("support_per_class", json!(self.classifier.support_counts)),
            ("calibration", calibration_details(self.classifier.calibration.as_ref())),
            ("front", describe::front(self)),
        ])
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        vec![&self.classifier.machine]
    }
}
