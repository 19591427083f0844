//! Parameters, and the fit.

// long: parameters with the documentation of every one, and the fit that reads them in order.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::consensus::check_priors;
use super::direct::{self, SetMachine};
use super::model::{MultiSampleModel, sample_scores};
use super::source::BaseKernel;
use super::tuples::Tuples;
use crate::check;
use crate::data::Sets;
use crate::data::split::{self, Split};
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::permanent::{Normalization, check_size, ranks, sort_members};
use crate::kernel::{Gamma, Kernel};
use crate::observe::{Context, StopReason, stopped as stopped_by};
use crate::svm::{
    Calibration, CalibrationMethod, ClassWeight, Classifier, FitReport, Learner, Multiclass, Outputs, Penalty, Sigmoid, SolverSettings,
    Svc, SvcModel, class_factors, fit_sigmoids, held_out_values,
};

/// Folds of the calibration.
const FOLDS: usize = 5;
/// Orders of a tuple that may be written out when the kernel is not symmetric: up to four samples.
const MOST_ORDERED: usize = 4;
/// Tuples that may be asked for: a machine on as many rows takes days.
const MOST_EXTENDED: usize = 1 << 24;
/// Tuples that are drawn if nothing is said: more cost time and memory, and change little.
const MOST_UNASKED: usize = 20_000;
/// Bytes per tuple beside its members: class, weight, bounds, gradient and statuses of the solver, an index or two.
const TUPLE_BYTES: usize = 160;

/// How K samples become one decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Method {
    /// Whichever errs least on held-out sets.
    ///
    /// Direct, consensus or vote, whichever errs least on sets of rows that were held out ([`super::SetChoice`]).
    #[default]
    Auto,
    /// One machine on whole sets.
    ///
    /// One machine on sets (ESVM): sees what samples say together.
    Direct,
    /// Posteriors of single samples multiplied.
    ///
    /// Posteriors of single samples multiplied, in log space and with priors (SVM^K).
    Consensus,
    /// The majority of hard decisions.
    ///
    /// The majority of hard decisions (HSVM^K).
    Vote,
}

/// What a direct classifier does with sets of another size than it was fitted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum OtherSizes {
    /// Consensus of single samples.
    #[default]
    Consensus,
    /// A machine for every size from 2 up to the one asked for.
    ///
    /// A machine of its own for every smaller size from 2 on; consensus for single samples and for larger sets.
    Family,
}

/// Parameters of a classifier of sets of samples that share a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiSample {
    /// How decisions are made.
    pub method: Method,
    /// Whether [`Method::Auto`] chooses C (1, 10 or 100 times `c`) and the kernel's width (a quarter, once or four times a `gamma` that
    /// is a rule) as well. Other methods take both as they are.
    pub tune: bool,
    /// K, the samples per decision that a direct machine is fitted for; the other methods judge sets of any size.
    pub n_samples_per_decision: usize,
    /// The kernel of single samples. Where gamma is a rule, a direct machine takes a K-th of it: its samples have K times the columns.
    pub kernel: Kernel,
    /// Price of one unit of slack (for the mean kernel: the paper's C is `c / (K!)^2`).
    pub c: f64,
    /// Whether the direct machine's kernel is symmetric. Otherwise all orders of every tuple are written out (K at most 4): the same
    /// machine at K! times the size, for comparison.
    pub symmetric: bool,
    /// Tuples of the extended training set, about; if absent K times the rows, and 20,000 at most.
    pub n_extended: Option<usize>,
    /// Scale of the set kernel.
    pub normalization: Normalization,
    /// Sets of other sizes.
    pub other_sizes: OtherSizes,
    /// Class weights.
    pub class_weight: ClassWeight,
    /// How more than two classes are handled.
    pub multiclass: Multiclass,
    /// Shares in which classes are expected, in their order; those of the training rows (class weights included) if absent.
    pub priors: Option<Vec<f64>>,
    /// Whether a sigmoid that came out falling on held-out values (chance, in tiny sets) is fitted again on the training values.
    pub platt_guard: bool,
    /// Whether to fit the direct machine's probabilities too (five more fits).
    pub calibrate: bool,
    /// The solver's settings.
    pub solver: SolverSettings,
    /// Seed of tuples and folds.
    pub seed: u64,
}

impl Default for MultiSample {
    fn default() -> Self {
        Self {
            method: Method::default(),
            tune: true,
            n_samples_per_decision: 3,
            kernel: Kernel::default(),
            c: 1.0,
            symmetric: true,
            n_extended: None,
            normalization: Normalization::default(),
            other_sizes: OtherSizes::default(),
            class_weight: ClassWeight::default(),
            multiclass: Multiclass::default(),
            priors: None,
            platt_guard: false,
            calibrate: false,
            solver: SolverSettings::default(),
            seed: 0,
        }
    }
}

/// The rows a fit learns from.
pub(super) struct Training {
    pub rows: Vec<usize>,
    pub codes: Vec<u32>,
    /// Weight of every row of the table.
    pub weights: Vec<f64>,
    /// Factor per class.
    pub factors: Vec<f64>,
    pub priors: Vec<f64>,
    /// Shares of the classes, weights and class weights included.
    pub rates: Vec<f64>,
}

impl MultiSample {
    /// The machine of single samples behind consensus and votes.
    pub fn single(&self) -> Svc {
        Svc {
            kernel: self.kernel.clone(),
            penalty: Penalty::C(self.c),
            class_weight: self.class_weight.clone(),
            multiclass: self.multiclass,
            solver: self.solver,
            calibrate: false,
            // Sets are judged by sums of the sigmoids' logarithms: there is nothing to sharpen.
            calibration: CalibrationMethod::Sigmoid,
            seed: self.seed,
        }
    }

    /// What the machines' outputs stand for.
    pub(super) fn outputs(&self, classes: usize) -> Outputs {
        if classes > 2 && self.multiclass == Multiclass::OneVsRest { Outputs::Classes } else { Outputs::Pairs }
    }

    /// Checks the data and collects what all parts of the fit need.
    pub(super) fn training(&self, data: &Dataset<'_>) -> Result<Training> {
        data.validate()?;
        let classes = data.expect_classes()?;
        if let Some(groups) = &data.groups {
            Sets::of_groups(groups).0.shared_classes(classes)?;
        }
        let weights = data.weights_or_ones();
        let rows: Vec<usize> = (0..data.len()).filter(|&row| weights[row] > 0.0).collect();
        let codes: Vec<u32> = rows.iter().map(|&row| classes.codes()[row]).collect();
        let mut totals = vec![0.0; classes.names().len()];
        rows.iter().zip(&codes).for_each(|(&row, &code)| totals[code as usize] += weights[row]);
        if let Some(empty) = totals.iter().position(|&total| total == 0.0) {
            return Err(Error::data(format!("class `{}` has no samples to learn from", classes.names()[empty])));
        }
        if totals.len() < 2 {
            return Err(Error::data(format!("classification needs at least two classes, found only `{}`", classes.names()[0])));
        }
        let factors = class_factors(&self.class_weight, classes, &totals, "MultiSample")?;
        let counted: Vec<f64> = totals.iter().zip(&factors).map(|(total, factor)| total * factor).collect();
        let sum: f64 = counted.iter().sum();
        // Weights may be so uneven that a share is 1 after rounding; evidence needs both sides.
        let rates: Vec<f64> = counted.iter().map(|part| (part / sum).clamp(1e-12, 1.0 - 1e-12)).collect();
        let priors = match &self.priors {
            Some(priors) if priors.len() != totals.len() => return Err(Error::shape("priors, one per class", totals.len(), priors.len())),
            Some(priors) => priors.clone(),
            None => rates.clone(),
        };
        Ok(Training { rows, codes, weights, factors, priors, rates })
    }

    /// An extended set of some of the training rows, in the form the kernel wants.
    pub(super) fn tuples(
        &self,
        training: &Training,
        rows: &[usize],
        k: usize,
        ranks: &[u32],
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Tuples> {
        let place: std::collections::HashMap<usize, u32> = training.rows.iter().copied().zip(training.codes.iter().copied()).collect();
        let kept: Vec<usize> = rows.iter().copied().filter(|row| place.contains_key(row)).collect();
        let codes: Vec<u32> = kept.iter().map(|row| place[row]).collect();
        // The size asked for is that of the whole table: a part of it gets its share.
        let columns = match self.n_extended {
            Some(n) => Some((n as f64 * kept.len() as f64 / training.rows.len() as f64).round().max(1.0) as usize),
            None => Some(k.saturating_mul(kept.len()).min(MOST_UNASKED)),
        };
        let count = Tuples::count(&codes, training.factors.len(), k, columns);
        let orders = if self.symmetric { 1 } else { crate::kernel::permanent::factorial(k) as usize };
        let needed = count.saturating_mul(orders).saturating_mul(TUPLE_BYTES + k * size_of::<u32>());
        if let Some(allowed) = context.memory
            && needed > allowed
        {
            return Err(Error::Memory { what: "the extended training set (`n_extended` tuples)", needed, allowed });
        }
        let mut tuples = Tuples::draw(&kept, &codes, training.factors.len(), k, columns, seed);
        if self.n_extended.is_none() && tuples.len() > MOST_UNASKED {
            // One repeat is too many already: of every class its share.
            tuples = tuples.thinned(MOST_UNASKED, training.factors.len());
        }
        if self.symmetric {
            sort_members(&mut tuples.members, k, ranks);
            Ok(tuples)
        } else {
            Ok(tuples.permuted())
        }
    }

    /// Folds over the original rows: whole groups where there are groups, else every class in its share.
    pub(super) fn folds(&self, data: &Dataset<'_>, folds: usize, seed: u64) -> Result<Vec<Split>> {
        match &data.groups {
            Some(groups) => split::group_k_fold(groups, folds, seed),
            None => split::stratified_k_fold(data.expect_classes()?, folds, seed),
        }
    }

    /// The kernel of single samples behind a direct machine for sets of `k`, all parameters numbers.
    ///
    /// A rule for gamma is that of the concatenated samples, which have `k` times the columns.
    pub(super) fn set_kernel(&self, x: &Matrix<'_>, weights: Option<&[f64]>, k: usize) -> Result<Kernel> {
        let kernel = self.kernel.resolve(x, weights)?;
        Ok(match (self.kernel.gamma(), kernel.gamma().and_then(Gamma::value)) {
            (Some(Gamma::Rule(_)), Some(gamma)) => kernel.with_gamma(gamma / k as f64),
            _ => kernel,
        })
    }

    /// The sizes that get a direct machine.
    fn sizes(&self) -> Vec<usize> {
        match (self.method, self.other_sizes) {
            (Method::Direct, OtherSizes::Consensus) => vec![self.n_samples_per_decision],
            (Method::Direct, OtherSizes::Family) => (2..self.n_samples_per_decision).chain([self.n_samples_per_decision]).collect(),
            _ => Vec::new(),
        }
    }

    /// Fits on given tuples of rows instead of drawn ones. Tuples of more than one class are refused.
    pub fn fit_tuples(&self, data: &Dataset<'_>, tuples: &[Vec<usize>], context: &Context<'_>) -> Result<MultiSampleModel> {
        let sets = Sets::new(tuples)?;
        sets.check(data.len())?;
        let k = self.n_samples_per_decision;
        if let Some(set) = (0..sets.len()).find(|&set| sets.size(set) != k) {
            return Err(Error::shape(format!("samples of tuple {set}"), k, sets.size(set)));
        }
        let codes = sets.shared_classes(data.expect_classes()?)?;
        let members = (0..sets.len()).flat_map(|set| sets.rows(set).iter().copied()).collect();
        self.fit_with(data, Some(Tuples { k, members, codes }), context)
    }

    fn fit_with(&self, data: &Dataset<'_>, given: Option<Tuples>, context: &Context<'_>) -> Result<MultiSampleModel> {
        self.validate()?;
        // Beside a machine under way there are the rows of its trial, the machine of single samples and the tuples.
        context.in_share(0.35, |context| self.fit_valid(data, given, context))
    }

    fn fit_valid(&self, data: &Dataset<'_>, given: Option<Tuples>, context: &Context<'_>) -> Result<MultiSampleModel> {
        let start = Instant::now();
        let training = self.training(data)?;
        let plan = self.plan(data, given.is_some(), context)?;
        let (single, separation) = plan.single.fit_single(data, &training, context)?;
        let mut report = single.report;
        let mut machines = Vec::new();
        let sizes = plan.direct.sizes();
        if !sizes.is_empty() {
            let ranks = ranks(&data.x);
            report = FitReport { stop: single.report.stop, ..FitReport::default() };
            for k in sizes {
                let tuples = match &given {
                    Some(given) if given.k == k => {
                        let mut tuples = given.clone();
                        if self.symmetric {
                            sort_members(&mut tuples.members, k, &ranks);
                        }
                        tuples
                    }
                    _ => self.tuples(&training, &training.rows, k, &ranks, self.seed, context)?,
                };
                let (mut machine, fitted) = plan.direct.fit_machine(data, &training, &tuples, context)?;
                report.include(&fitted);
                if self.calibrate && !stopped(&report) {
                    machine.calibration = Some(plan.direct.calibrate_direct(data, &training, k, &ranks, context)?);
                }
                machines.push(machine);
            }
        }
        let single_numbers = [&single.machine.coefficients[..]];
        let weights: Vec<&[f64]> = single_numbers.into_iter().chain(machines.iter().map(|machine| &machine.coefficients[..])).collect();
        let offsets: Vec<&[f64]> =
            [&single.machine.intercepts[..]].into_iter().chain(machines.iter().map(|machine| &machine.intercepts[..])).collect();
        let report = report.finish(start, training.rows.len(), &weights, &offsets)?;
        // Tuples that were given are for a direct machine.
        let method = if given.is_some() && self.method == Method::Auto { Method::Direct } else { self.method };
        Ok(MultiSampleModel {
            parameters: Self { method, ..self.clone() },
            classes: data.expect_classes()?.names().to_vec(),
            priors: training.priors,
            rates: training.rates,
            single: Box::new(single),
            separation,
            machines,
            chosen: plan.chosen,
            feature_names: data.feature_names.clone(),
            report,
        })
    }

    /// A direct machine on these tuples. Only the rows that are in tuples take part: of a large table that may be few.
    fn fit_machine(
        &self,
        data: &Dataset<'_>,
        training: &Training,
        tuples: &Tuples,
        context: &Context<'_>,
    ) -> Result<(SetMachine, FitReport)> {
        let kernel = self.set_kernel(&data.x, data.weights.as_deref(), tuples.k)?;
        let fit_on = |x: &Matrix<'_>, tuples: &Tuples, weights: &[f64]| -> Result<(SetMachine, FitReport)> {
            let base = BaseKernel::new(&kernel, self.normalization, self.symmetric, x, context)?;
            let fit = direct::solve(self, &base, tuples, &training.factors, weights, context)?;
            Ok((fit.machine(&base, &kernel, x, tuples)?, fit.report))
        };
        let mut used = vec![false; data.len()];
        tuples.members.iter().for_each(|&row| used[row as usize] = true);
        let rows: Vec<usize> = (0..data.len()).filter(|&row| used[row]).collect();
        if rows.len() == data.len() || kernel == Kernel::Precomputed {
            return fit_on(&data.x, tuples, &training.weights);
        }
        let mut places = vec![0u32; data.len()];
        rows.iter().enumerate().for_each(|(place, &row)| places[row] = place as u32);
        let moved = Tuples { members: tuples.members.iter().map(|&row| places[row as usize]).collect(), ..tuples.clone() };
        let weights: Vec<f64> = rows.iter().map(|&row| training.weights[row]).collect();
        let (mut machine, report) = fit_on(&data.x.select(&rows), &moved, &weights)?;
        machine.support.iter_mut().for_each(|row| *row = rows[*row]);
        Ok((machine, report))
    }

    /// The machine of single samples with its sigmoids, and how far its held-out evidence tells classes apart per sample.
    fn fit_single(&self, data: &Dataset<'_>, training: &Training, context: &Context<'_>) -> Result<(SvcModel, Vec<f64>)> {
        let svc = self.single();
        let mut single = svc.fit_in(data, context)?;
        let classes = data.expect_classes()?;
        // Folds of rows as they come: where rows repeat (a few patterns only), leaving out a pattern whole would turn its evidence round.
        let folds = self.folds(data, FOLDS.min(data.len()), self.seed).unwrap_or_default();
        let outputs = self.outputs(training.factors.len());
        let raw = |model: &SvcModel, x: &Matrix<'_>| model.outputs_in(x, context);
        let held_out = stopped_by(held_out_values(&svc, data, &folds, outputs, raw, context))?;
        let mut values = match held_out {
            Ok(values) => values,
            // Stopped: no better than a sigmoid without slope beyond the sign, and no evidence.
            Err(reason) => {
                let count = outputs.count(training.factors.len());
                single.report.stop = single.report.stop.worst(reason);
                single.calibration = Some(Calibration::plain(vec![Sigmoid { a: -1.0, b: 0.0 }; count]));
                let separation = separation(&single, &vec![f64::NAN; data.len() * count], count, training);
                return Ok((single, separation));
            }
        };
        // Class weights count as more samples, here as in the machine: otherwise the sigmoid would take them back.
        let weights: Vec<f64> =
            classes.codes().iter().zip(&training.weights).map(|(&code, w)| w * training.factors[code as usize]).collect();
        let mut sigmoids = fit_sigmoids(classes, Some(&weights), &values, outputs);
        let width = sigmoids.len();
        if self.platt_guard && sigmoids.iter().any(|sigmoid| sigmoid.a > 0.0) {
            let raw = single.outputs_in(&data.x, context)?;
            let again = fit_sigmoids(classes, Some(&weights), &raw, outputs);
            for (output, (sigmoid, again)) in sigmoids.iter_mut().zip(again).enumerate().filter(|(_, (sigmoid, _))| sigmoid.a > 0.0) {
                *sigmoid = again;
                values.iter_mut().skip(output).step_by(width).zip(raw.iter().skip(output).step_by(width)).for_each(|(v, r)| *v = *r);
            }
        }
        single.calibration = Some(Calibration::plain(sigmoids));
        let separation = separation(&single, &values, width, training);
        Ok((single, separation))
    }

    /// Sigmoids of a direct machine: folds over the original rows, tuples inside the training rows and inside the held-out rows.
    pub(super) fn calibrate_direct(
        &self,
        data: &Dataset<'_>,
        training: &Training,
        k: usize,
        ranks: &[u32],
        context: &Context<'_>,
    ) -> Result<Calibration> {
        let kernel = self.set_kernel(&data.x, data.weights.as_deref(), k)?;
        let base = &BaseKernel::new(&kernel, self.normalization, self.symmetric, &data.x, context)?;
        let names = data.expect_classes()?.names().to_vec();
        let outputs = self.outputs(names.len());
        let (mut values, mut codes) = (Vec::new(), Vec::new());
        let folds = self.folds(data, FOLDS.min(training.rows.len()), self.seed)?;
        for (done, fold) in folds.iter().enumerate() {
            if context.step("calibrate sets", done, folds.len()).is_some() {
                break;
            }
            let train = self.tuples(training, &fold.train, k, ranks, self.seed, context)?;
            let held_out = self.judged(self.tuples(training, &fold.test, k, ranks, self.seed.wrapping_add(1), context)?);
            if held_out.is_empty() || (0..names.len() as u32).any(|class| !train.codes.contains(&class)) {
                continue;
            }
            let fit = direct::solve(self, base, &train, &training.factors, &training.weights, context)?;
            values.extend(fit.judge(base, &train, &held_out, context)?);
            codes.extend(held_out.codes);
        }
        if codes.is_empty() {
            // Nothing could be held out: no better than a sigmoid without slope beyond the sign.
            return Ok(Calibration::plain(vec![Sigmoid { a: -1.0, b: 0.0 }; outputs.count(names.len())]));
        }
        let weights: Vec<f64> = codes.iter().map(|&code| training.factors[code as usize]).collect();
        Ok(Calibration::plain(fit_sigmoids(&Categories::new(codes, names)?, Some(&weights), &values, outputs)))
    }

    /// Tuples to be judged: one order of each is enough.
    fn judged(&self, tuples: Tuples) -> Tuples {
        if self.symmetric {
            return tuples;
        }
        let orders = crate::kernel::permanent::factorial(tuples.k) as usize;
        tuples.select(&(0..tuples.len()).step_by(orders).collect::<Vec<_>>())
    }
}

/// Mean log ratios between classes, the training shares' own taken off: row `c`, column `d` over the samples of class `c`.
fn separation(single: &SvcModel, values: &[f64], outputs: usize, training: &Training) -> Vec<f64> {
    let classes = training.rates.len();
    let (mut sums, mut counts) = (vec![0.0; classes * classes], vec![0.0; classes]);
    for (&row, &code) in training.rows.iter().zip(&training.codes) {
        let raw = &values[row * outputs..(row + 1) * outputs];
        if raw.iter().any(|value| value.is_nan()) {
            continue;
        }
        let (scores, c) = (sample_scores(single, raw), code as usize);
        counts[c] += training.weights[row];
        for d in 0..classes {
            let ratio = scores[c] - scores[d] - (training.rates[c].ln() - training.rates[d].ln());
            sums[c * classes + d] += training.weights[row] * ratio;
        }
    }
    sums.chunks_exact(classes).zip(counts).flat_map(|(row, count)| row.iter().map(move |sum| sum / f64::max(count, 1e-300))).collect()
}

fn stopped(report: &FitReport) -> bool {
    matches!(report.stop, StopReason::TimeLimit | StopReason::Interrupted)
}

impl MultiSampleModel {
    /// Fits the probabilities of direct machines that have none; `data` is the table the model learnt from.
    pub fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        let learner = self.direct_learner();
        if data.expect_classes()?.names() != self.classes {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: the classes differ"));
        }
        if self.machines.iter().all(|machine| machine.calibration.is_some()) {
            return Ok(());
        }
        let training = learner.training(data)?;
        let ranks = ranks(&data.x);
        for machine in self.machines.iter_mut().filter(|machine: &&mut SetMachine| machine.calibration.is_none()) {
            machine.calibration = Some(learner.calibrate_direct(data, &training, machine.size, &ranks, context)?);
        }
        Ok(())
    }
}

impl Learner for MultiSample {
    type Model = MultiSampleModel;

    fn validate(&self) -> Result<()> {
        const OWNER: &str = "MultiSample";
        self.kernel.validate()?;
        self.solver.validate(OWNER)?;
        check::positive(OWNER, "c", self.c)?;
        check_size(OWNER, "n_samples_per_decision", self.n_samples_per_decision)?;
        if let Some(n) = self.n_extended {
            check::at_least(OWNER, "n_extended", n, 1)?;
            if n > MOST_EXTENDED {
                return Err(check::complaint(OWNER, "n_extended", format!("at most {MOST_EXTENDED}"), n));
            }
        }
        if !self.symmetric && self.n_samples_per_decision > MOST_ORDERED {
            let allowed = format!("at most {MOST_ORDERED} where the kernel is not symmetric");
            return Err(check::complaint(OWNER, "n_samples_per_decision", allowed, self.n_samples_per_decision));
        }
        if self.normalization == Normalization::Cosine
            && self.kernel == Kernel::Precomputed
            && matches!(self.method, Method::Direct | Method::Auto)
        {
            return Err(check::complaint(
                OWNER,
                "normalization",
                "`mean` for a precomputed kernel (the values of new samples with themselves are not given)",
                "cosine",
            ));
        }
        match &self.priors {
            Some(priors) => check_priors(priors),
            None => Ok(()),
        }
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(&mut self.kernel)
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.c)
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<MultiSampleModel> {
        self.fit_with(data, None, context)
    }
}
