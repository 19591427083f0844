//! Classification: C-SVC and nu-SVC, two or more classes.
//!
//! For two classes with `y = +1, -1` and `b_i = y_i alpha_i`:
//! ```text
//! C-SVC    min 1/2 b'Kb - y'b,   sum b = 0,                       0 <= y_i b_i <= C_i        C_i = C * sample weight * class weight
//! nu-SVC   min 1/2 b'Kb,         sum over each class = nu W / 2,  0 <= y_i b_i <= w_i        then divided by the margin found
//! ```
//! With class weights nu-SVC is the C-SVC whose C is that of the nu-SVC without them (one over the margin found).
//! (Cortes and Vapnik 1995; Schoelkopf et al. 2000; the form with per-sample bounds as in LIBSVM.)

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::calibration::{Calibration, Outputs, calibrate, consistent};
use super::learner::{FitReport, Learner, Model, SolverSettings};
use super::machine::{KernelMachine, Layout, pair_index, pairs};
use super::multiclass::{Multiclass, argmax, votes};
use crate::check;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::parallel;
use crate::solver::{DualProblem, DualSolution, Equality, GroupMatrices, KernelSource, Solver, TableKernel};

/// How errors are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Penalty {
    /// The price of one unit of slack.
    C(f64),
    /// A bound on the share of margin errors, and from below on the share of support vectors.
    Nu(f64),
}

/// How much classes count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeight {
    /// All the same.
    #[default]
    Equal,
    /// Inversely to their (weighted) frequency: `total / (classes * count)`.
    Balanced,
    /// These factors by class name; classes that are not named count 1.
    Given(Vec<(String, f64)>),
}

/// Parameters of a support vector classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Svc {
    /// The kernel.
    pub kernel: Kernel,
    /// C or nu.
    pub penalty: Penalty,
    /// Class weights.
    pub class_weight: ClassWeight,
    /// How more than two classes are handled.
    pub multiclass: Multiclass,
    /// The solver's settings.
    pub solver: SolverSettings,
    /// Whether to fit probabilities with the model (they cost five more fits).
    pub calibrate: bool,
    /// Seed of the calibration's folds.
    pub seed: u64,
}

impl Default for Svc {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            penalty: Penalty::C(1.0),
            class_weight: ClassWeight::default(),
            multiclass: Multiclass::default(),
            solver: SolverSettings::default(),
            calibrate: false,
            seed: 0,
        }
    }
}

/// The rows a fit learns from, with their classes and costs.
pub(crate) struct Classes {
    /// Rows with a weight above zero.
    pub rows: Vec<usize>,
    /// Their class codes.
    pub codes: Vec<u32>,
    /// Their weights, class weights not included.
    pub weights: Vec<f64>,
    /// Factor per class.
    pub factors: Vec<f64>,
}

impl Classes {
    pub(crate) fn new(data: &Dataset<'_>, class_weight: &ClassWeight) -> Result<Self> {
        let classes = data.expect_classes()?;
        let all = data.weights_or_ones();
        let rows: Vec<usize> = (0..data.len()).filter(|&row| all[row] > 0.0).collect();
        let codes: Vec<u32> = rows.iter().map(|&row| classes.codes()[row]).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| all[row]).collect();
        let mut totals = vec![0.0; classes.names().len()];
        for (&code, weight) in codes.iter().zip(&weights) {
            totals[code as usize] += weight;
        }
        let present = totals.iter().filter(|&&total| total > 0.0).count();
        if present < 2 {
            return Err(match totals.iter().position(|&total| total > 0.0) {
                Some(only) => Error::data(format!("classification needs at least two classes, found only `{}`", classes.names()[only])),
                None => Error::data("classification needs at least two classes, found none"),
            });
        }
        let factors = class_factors(class_weight, classes, &totals)?;
        Ok(Self { rows, codes, weights, factors })
    }

    /// Positions (within `rows`) of the samples of a class.
    pub(crate) fn members(&self, class: usize) -> Vec<usize> {
        (0..self.rows.len()).filter(|&i| self.codes[i] as usize == class).collect()
    }
}

/// The factor of every class; `totals` are the weights of the classes in the training rows.
pub(crate) fn class_factors(class_weight: &ClassWeight, classes: &Categories, totals: &[f64]) -> Result<Vec<f64>> {
    Ok(match class_weight {
        ClassWeight::Equal => vec![1.0; totals.len()],
        ClassWeight::Balanced => {
            let (sum, present) = (totals.iter().sum::<f64>(), totals.iter().filter(|&&t| t > 0.0).count());
            totals.iter().map(|&total| if total > 0.0 { sum / (present as f64 * total) } else { 1.0 }).collect()
        }
        ClassWeight::Given(given) => {
            let mut factors = vec![1.0; totals.len()];
            for (name, factor) in given {
                let Some(class) = classes.names().iter().position(|n| n == name) else {
                    return Err(check::complaint(
                        "Svc",
                        "class_weight",
                        format!("given for known classes ({})", classes.names().join(", ")),
                        name,
                    ));
                };
                check::positive("Svc", "class_weight", *factor)?;
                factors[class] = *factor;
            }
            factors
        }
    })
}

/// Bounds of `b` for costs and signs: `[0, c]` for `+1`, `[-c, 0]` for `-1`.
pub(crate) fn sample_bounds(signs: &[f64], costs: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let lower = signs.iter().zip(costs).map(|(&y, &c)| if y < 0.0 { -c } else { 0.0 }).collect();
    let upper = signs.iter().zip(costs).map(|(&y, &c)| if y > 0.0 { c } else { 0.0 }).collect();
    (lower, upper)
}

/// A two-class machine: coefficients per sample and the intercept.
pub(crate) struct Binary {
    pub coefficients: Vec<f64>,
    pub intercept: f64,
    pub solution: DualSolution,
}

impl Svc {
    /// Solves one two-class problem; `signs` are +1 and -1, `weights` the samples' own, `factors` their classes'.
    pub(crate) fn solve_binary(
        &self,
        solver: &mut Solver<'_>,
        signs: &[f64],
        weights: &[f64],
        factors: &[f64],
        start: Option<&[f64]>,
    ) -> Result<Binary> {
        let options = self.solver.options();
        match self.penalty {
            Penalty::C(c) => {
                let costs: Vec<f64> = weights.iter().zip(factors).map(|(w, f)| c * w * f).collect();
                let (lower, upper) = sample_bounds(signs, &costs);
                let linear: Vec<f64> = signs.iter().map(|y| -y).collect();
                let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start };
                let solution = solver.solve(&problem, &options)?;
                Ok(Binary { coefficients: solution.coefficients.clone(), intercept: -solution.offsets[0], solution })
            }
            Penalty::Nu(nu) => {
                let side = |sign: f64| signs.iter().zip(weights).filter(|(y, _)| **y == sign).map(|(_, w)| w).sum::<f64>();
                let (plus, minus) = (side(1.0), side(-1.0));
                // `fit_in` refused what is not feasible for two classes; one nu for many pairs means the largest that is.
                let share = (nu * (plus + minus) / 2.0).min(plus).min(minus);
                let (lower, upper) = sample_bounds(signs, weights);
                let linear = vec![0.0; signs.len()];
                let second: Vec<bool> = signs.iter().map(|y| *y < 0.0).collect();
                let start = fill_up(signs, weights, share);
                let problem = DualProblem {
                    linear: &linear,
                    lower: &lower,
                    upper: &upper,
                    kink: 0.0,
                    equality: Equality::TwoSums(&second),
                    start: Some(&start),
                };
                let solution = solver.solve(&problem, &options)?;
                // On the margin the decision is +r and -r: r scales the machine to the usual 1.
                let [plus, minus] = solution.offsets;
                let r = 0.5 * (plus - minus);
                // A nu too small for the data leaves no margin: the machine is zero, and dividing by rounding would make noise of it.
                let scale = if r > 1e-12 * share * solver.largest_diagonal() { 1.0 / r } else { 1.0 };
                if factors.iter().any(|&f| f != 1.0) {
                    // The same machine is the C-SVC with C = 1 / r: class weights are factors of that C.
                    let equivalent = Self { penalty: Penalty::C(scale), ..self.clone() };
                    return equivalent.solve_binary(solver, signs, weights, factors, None);
                }
                let coefficients = solution.coefficients.iter().map(|b| b * scale).collect();
                Ok(Binary { coefficients, intercept: -0.5 * (plus + minus) * scale, solution })
            }
        }
    }

    /// One machine per pair of classes, pairs in parallel. Pairs without samples get a zero machine.
    fn fit_pairs(
        &self,
        classes: &Classes,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<(Vec<Option<PairFit>>, FitReport)> {
        let members = GroupMatrices::new((0..count).map(|class| classes.members(class)).collect());
        let all = pairs(count);
        let inner = if all.len() > 1 { context.with_threads(1) } else { *context };
        let inner = Context { memory: context.memory.map(|m| m / context.threads.min(all.len()).max(1)), ..inner };
        let fits = parallel::map(context.threads, all.len(), |p| -> Result<Option<PairFit>> {
            let (i, j) = all[p];
            let of_both = [members.samples(i), members.samples(j)];
            if of_both[0].is_empty() || of_both[1].is_empty() {
                return Ok(None);
            }
            let mut samples = of_both.concat();
            let whole = samples.len() == source.len();
            if whole {
                samples.sort_unstable();
            }
            let of_class = |&s: &usize| classes.codes[s] as usize == i;
            let signs: Vec<f64> = samples.iter().map(|s| if of_class(s) { 1.0 } else { -1.0 }).collect();
            let weights: Vec<f64> = samples.iter().map(|&s| classes.weights[s]).collect();
            let factors: Vec<f64> = samples.iter().map(|&s| classes.factors[classes.codes[s] as usize]).collect();
            let subset = if whole { None } else { Some(source.subset(&samples)?.of_groups(&members, [i, j])) };
            let source: &dyn KernelSource = subset.as_ref().map_or(source, |subset| subset);
            let at_once = if all.len() > 1 { context.threads.min(all.len()) } else { 1 };
            let mut solver = Solver::new(source, Some(self.solver.cache_bytes_of(source.len(), at_once)), &inner)?;
            let fit = self.solve_binary(&mut solver, &signs, &weights, &factors, None)?;
            if all.len() > 1 {
                context.step("fit pairs", p, all.len());
            }
            Ok(Some(PairFit { samples, fit }))
        });
        let mut report = FitReport::default();
        let mut done = Vec::with_capacity(fits.len());
        for fit in fits {
            let fit = fit?;
            if let Some(pair) = &fit {
                report.add(&pair.fit.solution);
            }
            done.push(fit);
        }
        Ok((done, report))
    }

    fn one_vs_one(
        &self,
        data: &Dataset<'_>,
        classes: &Classes,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<(KernelMachine, Vec<usize>, Vec<u64>, FitReport)> {
        let (fits, report) = self.fit_pairs(classes, count, source, context)?;
        let n = classes.rows.len();
        // Coefficients of every sample against every other class; support vectors are those with one that is not zero.
        let mut table = vec![0.0; (count - 1) * n];
        let mut intercepts = vec![0.0; fits.len()];
        for ((p, (i, j)), fit) in pairs(count).into_iter().enumerate().zip(&fits) {
            let Some(pair) = fit else { continue };
            intercepts[p] = pair.fit.intercept;
            for (&sample, &b) in pair.samples.iter().zip(&pair.fit.coefficients) {
                let other = if classes.codes[sample] as usize == i { j - 1 } else { i };
                table[other * n + sample] = b;
            }
        }
        let is_support = |sample: &usize| (0..count - 1).any(|o| table[o * n + sample] != 0.0);
        let by_class: Vec<Vec<usize>> = (0..count).map(|class| classes.members(class).into_iter().filter(is_support).collect()).collect();
        let counts: Vec<usize> = by_class.iter().map(Vec::len).collect();
        let order = by_class.concat();
        let coefficients = (0..count - 1).flat_map(|o| order.iter().map(|&s| table[o * n + s]).collect::<Vec<_>>()).collect();
        let machine = self.machine(data, classes, &order, coefficients, Layout::Pairs(counts.clone()), intercepts, source);
        let iterations = fits.iter().map(|fit| fit.as_ref().map_or(0, |pair| pair.fit.solution.iterations)).collect();
        Ok((machine, counts, iterations, report))
    }

    fn one_vs_rest(
        &self,
        data: &Dataset<'_>,
        classes: &Classes,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<(KernelMachine, Vec<usize>, Vec<u64>, FitReport)> {
        let n = classes.rows.len();
        let mut iterations = vec![0; count];
        let mut report = FitReport::default();
        let (mut table, mut intercepts) = (vec![0.0; count * n], vec![0.0; count]);
        // One solver for all classes: they share its kernel rows.
        let mut solver = Solver::new(source, self.solver.cache_bytes(), context)?;
        let factors: Vec<f64> = classes.codes.iter().map(|&code| classes.factors[code as usize]).collect();
        for class in 0..count {
            let signs: Vec<f64> = classes.codes.iter().map(|&code| if code as usize == class { 1.0 } else { -1.0 }).collect();
            if !signs.contains(&1.0) {
                intercepts[class] = f64::NEG_INFINITY;
                continue;
            }
            let fit = self.solve_binary(&mut solver, &signs, &classes.weights, &factors, None)?;
            table[class * n..(class + 1) * n].copy_from_slice(&fit.coefficients);
            intercepts[class] = fit.intercept;
            iterations[class] = fit.solution.iterations;
            report.add(&fit.solution);
        }
        let is_support = |sample: &usize| (0..count).any(|o| table[o * n + sample] != 0.0);
        let by_class: Vec<Vec<usize>> = (0..count).map(|class| classes.members(class).into_iter().filter(is_support).collect()).collect();
        let order = by_class.concat();
        let coefficients = (0..count).flat_map(|o| order.iter().map(|&s| table[o * n + s]).collect::<Vec<_>>()).collect();
        let machine = self.machine(data, classes, &order, coefficients, Layout::Full, intercepts, source);
        Ok((machine, by_class.iter().map(Vec::len).collect(), iterations, report))
    }

    /// Probabilities from cross-validated outputs.
    fn sigmoids(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<Calibration> {
        let plain = Self { calibrate: false, ..self.clone() };
        let per_class = self.multiclass == Multiclass::OneVsRest && data.expect_classes()?.names().len() > 2;
        let outputs = if per_class { Outputs::Classes } else { Outputs::Pairs };
        calibrate(&plain, data, self.seed, outputs, |model: &SvcModel, x| model.raw_values(x, context), context)
    }

    fn machine(
        &self,
        data: &Dataset<'_>,
        classes: &Classes,
        order: &[usize],
        coefficients: Vec<f64>,
        layout: Layout,
        intercepts: Vec<f64>,
        source: &TableKernel<'_>,
    ) -> KernelMachine {
        let support: Vec<usize> = order.iter().map(|&s| classes.rows[s]).collect();
        let vectors = source.kernel().vectors(&data.x, &support);
        KernelMachine {
            kernel: source.kernel().clone(),
            support,
            vectors,
            coefficients,
            layout,
            intercepts,
            features: data.x.columns(),
            tolerance: self.solver.tolerance,
        }
    }
}

struct PairFit {
    samples: Vec<usize>,
    fit: Binary,
}

/// Fails if the smaller of two classes cannot hold half of `nu`, class weights aside.
fn feasible(nu: f64, classes: &Classes) -> Result<()> {
    let side = |class: u32| classes.codes.iter().zip(&classes.weights).filter(|(code, _)| **code == class).map(|(_, w)| w).sum::<f64>();
    let (first, second) = (side(0), side(1));
    let allowed = 2.0 * first.min(second) / (first + second);
    if nu > allowed * (1.0 + 1e-12) {
        return Err(check::complaint("Svc", "nu", format!("at most {allowed:.6} for these class sizes"), nu));
    }
    Ok(())
}

/// A feasible start for the nu machines: each side's samples in order, filled to their bounds until the share is used up.
fn fill_up(signs: &[f64], weights: &[f64], share: f64) -> Vec<f64> {
    let mut left = [share, share];
    signs
        .iter()
        .zip(weights)
        .map(|(&y, &w)| {
            let left = &mut left[usize::from(y < 0.0)];
            let take = w.min(*left);
            *left -= take;
            y * take
        })
        .collect()
}

impl Learner for Svc {
    type Model = SvcModel;

    fn validate(&self) -> Result<()> {
        self.kernel.validate()?;
        self.solver.validate("Svc")?;
        match self.penalty {
            Penalty::C(c) => check::positive("Svc", "c", c),
            Penalty::Nu(nu) => check::in_range("Svc", "nu", nu, 0.0, 1.0),
        }
    }

    fn training_part(&self, data: &Dataset<'_>, rows: &[usize]) -> Dataset<'static> {
        self.kernel.part_of(data, rows)
    }

    fn test_part(&self, data: &Dataset<'_>, train: &[usize], rows: &[usize]) -> Matrix<'static> {
        self.kernel.new_rows_of(&data.x, train, rows)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<SvcModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let names = data.expect_classes()?.names().to_vec();
        let classes = Classes::new(data, &self.class_weight)?;
        if let Penalty::Nu(nu) = self.penalty
            && names.len() == 2
        {
            feasible(nu, &classes)?;
        }
        let kernel = self.kernel.resolve(&data.x, data.weights.as_deref())?;
        let all = classes.rows.len() == data.len();
        let x = if all { None } else { Some(kernel.rows_of(&data.x, &classes.rows)) };
        let x = x.as_ref().unwrap_or(&data.x);
        let source = self.solver.source(&kernel, x, context);
        let (machine, support_counts, iterations, report) = match self.multiclass {
            // Two classes are one machine either way.
            Multiclass::OneVsRest if names.len() > 2 => self.one_vs_rest(data, &classes, names.len(), &source, context)?,
            _ => self.one_vs_one(data, &classes, names.len(), &source, context)?,
        };
        let mut model = SvcModel {
            parameters: self.clone(),
            classes: names,
            machine,
            support_counts,
            iterations,
            calibration: None,
            feature_names: data.feature_names.clone(),
            report: report.finish(start, classes.rows.len()),
        };
        if self.calibrate {
            model.calibration = Some(self.sigmoids(data, context)?);
            model.report = model.report.finish(start, classes.rows.len());
        }
        Ok(model)
    }
}

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
    fn is_pairwise(&self) -> bool {
        matches!(self.machine.layout, Layout::Pairs(_))
    }

    /// The machine's own outputs, row-major: one per pair of classes, positive for the first (or one per class for one-vs-rest).
    pub fn raw_values(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        self.machine.evaluate(x, context)
    }

    /// Decision values from the machine's outputs: see [`Model::decision_values_in`].
    pub fn decisions_from_raw(&self, raw: &[f64]) -> Vec<f64> {
        let classes = self.classes.len();
        if classes == 2 && self.is_pairwise() {
            return raw.iter().map(|value| -value).collect();
        }
        if !self.is_pairwise() {
            return raw.to_vec();
        }
        let outputs = self.machine.outputs();
        let mut values = vec![0.0; raw.len() / outputs * classes];
        for (raw, out) in raw.chunks_exact(outputs).zip(values.chunks_exact_mut(classes)) {
            votes(raw, classes, out);
        }
        values
    }

    /// Class codes from decision values.
    pub fn codes_from_decisions(&self, values: &[f64]) -> Vec<u32> {
        if self.classes.len() == 2 && self.is_pairwise() {
            return values.iter().map(|&value| u32::from(value > 0.0)).collect();
        }
        values.chunks_exact(self.classes.len()).map(|values| argmax(values) as u32).collect()
    }

    /// Class probabilities, row-major, one column per class; their largest is the predicted class.
    ///
    /// Fails if the model was not calibrated.
    pub fn probabilities(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let Some(calibration) = &self.calibration else {
            return Err(Error::data("this model has no probabilities: fit it with `calibrate`"));
        };
        let raw = self.raw_values(x, context)?;
        let predicted = self.codes_from_decisions(&self.decisions_from_raw(&raw));
        let classes = self.classes.len();
        let mut result = Vec::with_capacity(predicted.len() * classes);
        for (raw, &code) in raw.chunks_exact(self.machine.outputs()).zip(&predicted) {
            let mut row = calibration.probabilities(raw, classes, self.is_pairwise());
            consistent(&mut row, code as usize);
            result.extend(row);
        }
        Ok(result)
    }

    /// Fits probabilities to a model that was fitted without them; `data` is the table it learnt from.
    pub fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        data.validate()?;
        self.check_input(&data.x)?;
        if data.expect_classes()?.names() != self.classes {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: the classes differ"));
        }
        self.calibration = Some(self.parameters.sigmoids(data, context)?);
        Ok(())
    }

    /// The place of pair `(i, j)`, `i < j`, among the outputs.
    pub fn pair_output(&self, i: usize, j: usize) -> usize {
        pair_index(i, j, self.classes.len())
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

    /// Two classes: one value, positive for the second. More: one value per class, the largest of which is the prediction (for
    /// one-vs-one: votes plus a confidence that breaks ties).
    fn decision_values_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        Ok(self.decisions_from_raw(&self.raw_values(x, context)?))
    }

    fn predict_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Categories> {
        let codes = self.codes_from_decisions(&self.decision_values_in(x, context)?);
        Categories::new(codes, self.classes.clone())
    }

    fn class_probabilities_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Option<Vec<f64>>> {
        self.calibration.as_ref().map(|_| self.probabilities(x, context)).transpose()
    }
}
