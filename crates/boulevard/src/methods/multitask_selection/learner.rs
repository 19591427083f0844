//! The learner: parameters, their checks, and the fit.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::model::MultiTaskSelectionModel;
use super::problem::prior::{Margin, MarginPrior};
use super::problem::switch::Switch;
use super::problem::tasks::TaskSet;
use super::problem::training::Training;
use super::problem::{Certificate, Problem, Task};
use super::solvers::{Limits, Route, Solution, solve};
use crate::check;
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::svm::{FitReport, Learner, worse};

const OWNER: &str = "MultiTaskSelection";
/// Below this `ln rho` the switches of features without energy are no longer normal numbers.
pub(super) const LEAST_LN_RHO: f64 = -700.0;
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
    /// Prior probability that a feature (or kernel) is on, above 0 and at most 1. At 1 there is no selection.
    pub rho: f64,
    /// Its logarithm, down to -700; wins over `rho`.
    pub ln_rho: Option<f64>,
    /// Decay of the margin prior: multipliers stay below it. Classification needs more than 1.
    pub c: f64,
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
            rho: 0.01,
            ln_rho: None,
            c: 3.0,
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
    /// `ln rho`, from whichever parameter gives it.
    pub fn ln_prior(&self) -> f64 {
        self.ln_rho.unwrap_or_else(|| self.rho.ln())
    }

    /// Learns from tasks.
    pub fn fit_tasks(&self, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<MultiTaskSelectionModel> {
        let start = Instant::now();
        self.validate()?;
        let training = Training::new(self, tasks, context)?;
        let solved = self.solve(&training, self.ln_prior(), self.c, None, context);
        let mut model = self.model(&training, solved, start)?;
        if self.calibrate && tasks.outputs.classify() && model.report.stop != StopReason::Interrupted {
            model.calibrate(tasks, context)?;
            model.report.seconds = start.elapsed().as_secs_f64();
        }
        Ok(model)
    }

    /// Learns for several prior probabilities of a feature being on, each fit starting from its neighbor's. Models come in the order of
    /// `ln_rhos`.
    pub fn path(&self, tasks: &TaskSet<'_>, ln_rhos: &[f64], context: &Context<'_>) -> Result<Vec<MultiTaskSelectionModel>> {
        self.validate()?;
        for &ln_rho in ln_rhos {
            check_ln_rho(ln_rho)?;
        }
        let training = Training::new(self, tasks, context)?;
        let mut models: Vec<Option<MultiTaskSelectionModel>> = vec![None; ln_rhos.len()];
        let mut last: Option<Vec<Certificate>> = None;
        for (done, place) in rising(ln_rhos).into_iter().enumerate() {
            let start = Instant::now();
            if let Some(StopReason::Interrupted) = context.step("path", done, ln_rhos.len()) {
                break;
            }
            let learner = Self { ln_rho: Some(ln_rhos[place]), calibrate: false, ..self.clone() };
            let solved = learner.solve(&training, ln_rhos[place], self.c, last.as_deref(), context);
            last = Some(solved.iter().map(|solution| solution.certificate.clone()).collect());
            models[place] = Some(learner.model(&training, solved, start)?);
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
            let own = [Task { table: 0, y: unit.y.clone() }];
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
        check::positive(OWNER, "c", self.c)?;
        match self.ln_rho {
            Some(ln_rho) => check_ln_rho(ln_rho)?,
            None => check::in_range(OWNER, "rho", self.rho, 0.0, 1.0)?,
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
        Some(&mut self.c)
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<MultiTaskSelectionModel> {
        self.validate()?;
        self.fit_tasks(&TaskSet::from_dataset(data)?, context)
    }
}
