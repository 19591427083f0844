//! The learner: parameters, their checks, and the fit.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::automatic::{PLAIN_C, SelectionChoice, counting, largest, sizes};
use super::model::MultiTaskSelectionModel;
use super::problem::prior::{Margin, MarginPrior};
use super::problem::switch::Switch;
use super::problem::tasks::TaskSet;
use super::problem::training::Training;
use super::problem::{Certificate, Problem, Task};
use super::scaling::Scaling;
use super::solvers::{Limits, Route, Solution, solve};
use crate::check;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::svm::{FitReport, Learner, worse};

const OWNER: &str = "MultiTaskSelection";
/// Below this `ln rho` the switches of features without energy are no longer normal numbers.
pub(super) const LEAST_LN_RHO: f64 = -700.0;
/// Values in all tables and tasks up to which automatic fits are solved to rounding, and the gap that stands for it.
const SMALL: usize = 200_000;
const TIGHT: f64 = 1e-10;
/// Accuracy of the systems that couple tasks, and the same from tolerances on that only trials have.
const COUPLING: f64 = 1e-12;
const COARSE_COUPLING: f64 = 1e-6;
const COARSE: f64 = 1e-3;
/// Steps where no limit was given.
const STEPS: u64 = 1000;

/// What is switched on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Select {
    /// Input features.
    #[default]
    Features,
    /// Base kernels.
    Kernels,
}

/// The prior of every task's bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BiasPrior {
    /// Gaussian around zero.
    #[default]
    Gaussian,
    /// Flat: any bias is as good as another.
    Flat,
}

/// Which features the model keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Where c or rho is chosen automatically: a set chosen on held-out rows, fitted again. Otherwise all.
    #[default]
    Auto,
    /// All of them.
    All,
    /// This many, those with the largest weights, fitted again.
    Exactly(usize),
}

/// From what users write: a number, `all` or `auto`.
impl std::str::FromStr for Keep {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "all" => Ok(Self::All),
            number => number.parse().map(Self::Exactly).map_err(|_| Error::data("expected a number, `all` or `auto`")),
        }
    }
}

/// Parameters of multi-task feature and kernel selection. Whether it classifies or predicts numbers follows from the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiTaskSelection {
    /// What is switched on or off.
    pub select: Select,
    /// The base kernels, for [`Select::Kernels`].
    pub kernels: Vec<Kernel>,
    /// Whether kernels are brought to `k(x, x) = 1`.
    pub normalize_kernels: bool,
    /// Prior probability that a feature (or kernel) is on, above 0 and at most 1. At 1 there is no selection. None: one in as many as
    /// there are features (the square of that for two classes with ten columns per row or more), 0.01 for kernels.
    pub rho: Option<f64>,
    /// Its logarithm, down to -700; wins over `rho`.
    pub ln_rho: Option<f64>,
    /// Decay of the margin prior: multipliers stay below it. Classification needs more than 1. None: chosen on held-out rows.
    pub c: Option<f64>,
    /// Whether columns and targets are standardized inside; the model is about the data as they came. None: where c or rho is chosen.
    pub standardize: Option<bool>,
    /// Which features the model keeps.
    pub keep: Keep,
    /// The prior of every task's bias.
    pub bias: BiasPrior,
    /// Variance of a Gaussian bias.
    pub bias_variance: f64,
    /// Whether all tasks share one set of switches; otherwise each task has its own and is solved alone.
    pub share: bool,
    /// Switches at or below this are taken as off when predicting.
    pub threshold: f64,
    /// Relative duality gap to reach.
    pub tolerance: f64,
    /// Steps at most.
    pub max_iterations: Option<u64>,
    /// Half-width of the tube without loss, in regression.
    pub epsilon: f64,
    /// Margin prior of regression.
    pub margin_prior: MarginPrior,
    /// Whether to fit probabilities with a classifier; costs five more fits.
    pub calibrate: bool,
    /// Seed of the calibration's folds.
    pub seed: u64,
}

impl Default for MultiTaskSelection {
    fn default() -> Self {
        Self {
            select: Select::Features,
            kernels: Vec::new(),
            normalize_kernels: true,
            rho: None,
            ln_rho: None,
            c: None,
            standardize: None,
            keep: Keep::Auto,
            bias: BiasPrior::Gaussian,
            bias_variance: 1.0,
            share: true,
            threshold: 0.0,
            tolerance: 1e-6,
            max_iterations: None,
            epsilon: 0.1,
            margin_prior: MarginPrior::Exp,
            calibrate: false,
            seed: 0,
        }
    }
}

impl MultiTaskSelection {
    /// Learns from tasks.
    pub fn fit_tasks(&self, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<MultiTaskSelectionModel> {
        let start = Instant::now();
        self.validate()?;
        tasks.check_in(context)?;
        if !self.standardizes() {
            tasks.check_range()?;
        }
        if let Keep::Exactly(count) = self.keep
            && count > tasks.features()
        {
            return Err(check::complaint(OWNER, "keep", format!("at most the {} features there are", tasks.features()), count));
        }
        if let Some(rows) = tasks.counting() {
            // A row that counts nothing takes no part; it keeps its place among the coefficients.
            let mut model = self.fit_tasks(&tasks.select_in(&rows, context)?, context)?;
            for (target, coefficients) in tasks.targets.iter().zip(&mut model.coefficients) {
                let mut all = vec![0.0; target.y.len()];
                rows[target.table].iter().zip(&*coefficients).for_each(|(&row, &value)| all[row] = value);
                *coefficients = all;
            }
            let shared = tasks.tables.len() == 1;
            for (place, machine) in model.machines.iter_mut().enumerate() {
                let rows = &rows[if shared { 0 } else { place }];
                machine.support.iter_mut().for_each(|row| *row = rows[*row]);
            }
            return Ok(model);
        }
        let mut model = self.fit_scaled(tasks, start, context)?;
        if self.calibrate && tasks.outputs.classify() && model.report.stop != StopReason::Interrupted {
            model.calibrate(tasks, context)?;
            model.report.seconds = start.elapsed().as_secs_f64();
        }
        Ok(model)
    }

    /// The model of rows that all count: scaled, chosen, solved, cut to its set, and scaled back.
    fn fit_scaled(&self, tasks: &TaskSet<'_>, start: Instant, context: &Context<'_>) -> Result<MultiTaskSelectionModel> {
        let scaling = if self.standardizes() { Some(Scaling::fit(tasks, self.select, context)?) } else { None };
        let scaled = scaling.as_ref().map(|scaling| scaling.apply(tasks, context)).transpose()?;
        let copied = scaled.iter().filter(|_| self.select == Select::Features).flat_map(|tasks| &tasks.tables).map(Matrix::bytes).sum();
        context.beside(copied, "the standardized table", |context| {
            self.fit_standardized(tasks, scaling.as_ref(), scaled.as_ref(), start, context)
        })
    }

    fn fit_standardized(
        &self,
        raw: &TaskSet<'_>,
        scaling: Option<&Scaling>,
        scaled: Option<&TaskSet<'_>>,
        start: Instant,
        context: &Context<'_>,
    ) -> Result<MultiTaskSelectionModel> {
        let tasks = scaled.unwrap_or(raw);
        let wide = self.wide_training(tasks, context)?;
        let (mut choice, stop) = self.settle(raw, tasks, wide.as_ref(), context)?;
        // What is chosen should not depend on how rows are arranged: small problems are solved to rounding.
        let small = tasks.rows().saturating_mul(tasks.features()).saturating_mul(tasks.targets.len()) < SMALL;
        let tolerance = if small && self.standardizes() { self.tolerance.min(TIGHT) } else { self.tolerance };
        let settled = Self { c: Some(choice.c), ln_rho: Some(choice.ln_rho), tolerance, ..self.clone() };
        let training = wide.map_or_else(|| Training::new(&settled, tasks, context), Ok)?;
        let solved = settled.solve(&training, choice.ln_rho, choice.c, None, context);
        let mut model = settled.model(&training, solved, start)?;
        model.report.stop = self.judged(&model.report).worst(stop);
        let count = if let Keep::Exactly(count) = self.keep { Some(count) } else { choice.kept.as_ref().map(Vec::len) };
        if let (Some(count), Some(ln_rho), Select::Features) = (count, choice.refit_ln_rho, self.select) {
            let set = largest(&sizes(&model.weights, tasks.features()), count);
            let part = tasks.columns(&set)?;
            let training = Training::new(&settled, &part, context)?;
            let solved = settled.solve(&training, ln_rho, choice.c, None, context);
            let refit = settled.model(&training, solved, start)?;
            model.weights.fill(0.0);
            for task in 0..model.tasks() {
                for (place, &j) in set.iter().enumerate() {
                    model.weights[task * tasks.features() + j] = refit.weights[task * set.len() + place];
                }
            }
            model.intercepts = refit.intercepts;
            model.report.stop = model.report.stop.worst(self.judged(&refit.report));
            choice.refit_gap = Some(refit.report.gap);
            choice.kept = Some(set);
        }
        if let Some(scaling) = &scaling {
            if choice.kept.is_none() && self.select == Select::Features {
                // In the data's own units a column of large numbers has a small weight.
                choice.counting = Some(counting(&model.weights, tasks.features()));
            }
            scaling.restore(&mut model);
        }
        model.parameters = self.clone();
        model.choice = Some(choice);
        model.report.seconds = start.elapsed().as_secs_f64();
        Ok(model)
    }

    /// Why a fit stopped, by the tolerance that was asked for and not by a tighter one.
    fn judged(&self, report: &FitReport) -> StopReason {
        if report.gap <= self.tolerance { StopReason::Converged } else { report.stop }
    }

    /// The parameters with what a model's fit chose in the place of what was open: for fits that repeat it on other rows.
    pub(super) fn settled_by(&self, choice: Option<&SelectionChoice>) -> Self {
        let Some(choice) = choice else { return self.clone() };
        Self {
            c: Some(choice.c),
            ln_rho: Some(choice.ln_rho),
            standardize: Some(choice.standardized),
            keep: choice.kept.as_ref().map_or(Keep::All, |kept| Keep::Exactly(kept.len())),
            ..self.clone()
        }
    }

    /// Learns for several prior probabilities of a feature being on, each fit starting from its neighbor's. Models come in the order of
    /// `ln_rhos`.
    pub fn path(&self, tasks: &TaskSet<'_>, ln_rhos: &[f64], context: &Context<'_>) -> Result<Vec<MultiTaskSelectionModel>> {
        self.validate()?;
        for &ln_rho in ln_rhos {
            check_ln_rho(ln_rho)?;
        }
        tasks.check_in(context)?;
        if !self.standardizes() {
            tasks.check_range()?;
        }
        let reduced = tasks.counting().map(|rows| tasks.select_in(&rows, context)).transpose()?;
        let tasks = reduced.as_ref().unwrap_or(tasks);
        let scaling = if self.standardizes() { Some(Scaling::fit(tasks, self.select, context)?) } else { None };
        let scaled = scaling.as_ref().map(|scaling| scaling.apply(tasks, context)).transpose()?;
        let (raw, tasks) = (tasks, scaled.as_ref().unwrap_or(tasks));
        // The whole path has one c: the one that the fit itself would choose.
        let c = self.c.map_or_else(
            || self.settle(raw, tasks, self.wide_training(tasks, context)?.as_ref(), context).map(|(choice, _)| choice.c),
            Ok,
        )?;
        let settled = Self { c: Some(c), ..self.clone() };
        let training = Training::new(&settled, tasks, context)?;
        let mut models: Vec<Option<MultiTaskSelectionModel>> = vec![None; ln_rhos.len()];
        let mut last: Option<Vec<Certificate>> = None;
        for (done, place) in rising(ln_rhos).into_iter().enumerate() {
            let start = Instant::now();
            if let Some(StopReason::Interrupted) = context.step("path", done, ln_rhos.len()) {
                break;
            }
            let learner = Self { ln_rho: Some(ln_rhos[place]), calibrate: false, ..settled.clone() };
            let solved = learner.solve(&training, ln_rhos[place], c, last.as_deref(), context);
            last = Some(solved.iter().map(|solution| solution.certificate.clone()).collect());
            let mut model = learner.model(&training, solved, start)?;
            if let Some(scaling) = &scaling {
                scaling.restore(&mut model);
            }
            models[place] = Some(model);
        }
        Ok(models.into_iter().flatten().collect())
    }

    /// Solves the problem: one solution for tasks that share switches, else one per task.
    pub(super) fn solve(
        &self,
        training: &Training<'_>,
        ln_rho: f64,
        c: f64,
        start: Option<&[Certificate]>,
        context: &Context<'_>,
    ) -> Vec<Solution> {
        let classify = training.tasks.outputs.classify();
        let margin = if classify { Margin::classification(c) } else { Margin::regression(c, self.epsilon, self.margin_prior) };
        let limits = Limits { tolerance: self.tolerance, steps: self.max_iterations.unwrap_or(STEPS) };
        let run = |units: &[Task], tables: &[super::problem::table::TaskTable], start: Option<&Certificate>, context: &Context<'_>| {
            let problem = Problem {
                tables,
                tasks: units,
                switch: Switch::new(ln_rho),
                margin,
                classify,
                variance: (self.bias == BiasPrior::Gaussian).then_some(self.bias_variance),
                coupling: if self.tolerance < COARSE { COUPLING } else { COARSE_COUPLING },
                threads: context.threads,
                context: *context,
            };
            solve(&problem, limits, start, Route::Automatic, context)
        };
        if self.share || training.units.len() == 1 {
            return vec![run(&training.units, &training.tables, start.map(|all| &all[0]), context)];
        }
        let inner = context.with_threads(1);
        parallel::map(context.threads, training.units.len(), |m| {
            let unit = &training.units[m];
            let own = [Task { table: 0, y: unit.y.clone(), weights: unit.weights.clone() }];
            run(&own, std::slice::from_ref(&training.tables[unit.table]), start.map(|all| &all[m]), &inner)
        })
    }

    /// The model of solutions.
    pub(super) fn model(&self, training: &Training<'_>, solved: Vec<Solution>, start: Instant) -> Result<MultiTaskSelectionModel> {
        let mut report = FitReport::default();
        let mut gap = 0.0;
        for solution in &solved {
            report.objective += solution.certificate.objective;
            gap += solution.certificate.gap;
            report.violation = worse(report.violation, solution.certificate.violation);
            report.iterations += solution.steps;
            report.stop = report.stop.worst(solution.stop);
        }
        report.gap = match &solved[..] {
            [one] => one.certificate.relative(),
            _ => gap / report.objective.abs().max(f64::MIN_POSITIVE),
        };
        let rows = training.tasks.rows();
        let mut model =
            MultiTaskSelectionModel::build(self, training, solved.into_iter().map(|solution| solution.certificate).collect(), report)?;
        let weights: Vec<&[f64]> =
            [&model.weights[..], &model.switches].into_iter().chain(model.coefficients.iter().map(|values| &values[..])).collect();
        model.report = report.finish(start, rows, &weights, &[&model.intercepts])?;
        Ok(model)
    }
}

/// Fails unless `ln rho` can be used.
pub(super) fn check_ln_rho(ln_rho: f64) -> Result<()> {
    if (LEAST_LN_RHO..=0.0).contains(&ln_rho) {
        Ok(())
    } else {
        Err(check::complaint(OWNER, "ln_rho", format!("from {LEAST_LN_RHO} to 0"), ln_rho))
    }
}

/// Places of the values from the smallest on: small rho is the fast end of a path.
pub(super) fn rising(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

impl Learner for MultiTaskSelection {
    type Model = MultiTaskSelectionModel;

    fn validate(&self) -> Result<()> {
        if let Some(c) = self.c {
            check::positive(OWNER, "c", c)?;
        }
        match (self.ln_rho, self.rho) {
            (Some(ln_rho), _) => check_ln_rho(ln_rho)?,
            (None, Some(rho)) => check::in_range(OWNER, "rho", rho, 0.0, 1.0)?,
            (None, None) => {}
        }
        if let Keep::Exactly(count) = self.keep {
            check::at_least(OWNER, "keep", count, 1)?;
        }
        check::positive(OWNER, "bias_variance", self.bias_variance)?;
        check::positive(OWNER, "tolerance", self.tolerance)?;
        check::not_negative(OWNER, "threshold", self.threshold)?;
        check::not_negative(OWNER, "epsilon", self.epsilon)?;
        if self.select == Select::Kernels {
            check::at_least(OWNER, "kernels", self.kernels.len(), 1)?;
            for kernel in &self.kernels {
                if matches!(kernel, Kernel::Precomputed | Kernel::Custom(_)) {
                    return Err(check::complaint(OWNER, "kernels", "kernels with a formula", kernel.name()));
                }
                kernel.validate()?;
            }
        }
        Ok(())
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(self.c.get_or_insert(PLAIN_C))
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<MultiTaskSelectionModel> {
        self.validate()?;
        self.fit_tasks(&TaskSet::from_dataset(data)?, context)
    }
}
