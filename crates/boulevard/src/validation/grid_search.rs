//! Grid search for C, gamma and epsilon by cross-validation.
//!
//! Every fold is a problem on *all* rows in which the held-out rows have no room to move ([`crate::solver::DualProblem`]): their decision
//! values come out of the solver for nothing, and kernel rows are shared by folds, values of C and epsilon, and pairs of classes. Along a
//! rising C every problem starts from the last solution, scaled as far as that helps (`solver/start.rs`).
//!
//! The nu machines and [`Score::LogLoss`] have no such short cut and are cross-validated point by point.

use serde::{Deserialize, Serialize};

use super::cross_validate::{check_splits, cross_validate};
use super::folds::default_folds;
use super::grid_table::{GridResult, GridSetting, Table};
use super::{Score, grid_around, grid_classes, grid_numbers};
use crate::check;
use crate::data::Dataset;
use crate::data::split::Split;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::{Learner, Penalty, Svc, SvcModel, Svr, SvrModel, Tube};

const OWNER: &str = "GridSearch";

/// What to try, and how to judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GridSearch {
    /// Values of C.
    pub c: Vec<f64>,
    /// Values of the kernel's gamma; none keeps the learner's own (a rule is then applied to all rows once, not to each fold).
    pub gamma: Vec<f64>,
    /// Values of regression's epsilon; none keeps the learner's own.
    pub epsilon: Vec<f64>,
    /// Folds of the cross-validation: stratified for classes, whole groups where the data have groups.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// What to judge by; the usual measure of the target if none is given.
    pub score: Option<Score>,
    /// Whether to fit the chosen point on all rows.
    pub refit: bool,
    /// Whether points half a step around the best are tried too; where it lies at an edge of the grid, a whole step beyond.
    pub refine: bool,
    /// Which point is chosen.
    pub pick: GridPick,
}

/// Which point of a grid is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum GridPick {
    /// The best mean over the folds
    #[default]
    Best,
    /// The smoothest machine (smallest C, then smallest gamma) within one standard error of the best
    OneSe,
}

impl GridPick {
    /// What it does, in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Best => "the best mean over the folds",
            Self::OneSe => "the smallest C, then the smallest gamma, within one standard error of the best",
        }
    }
}

impl Default for GridSearch {
    fn default() -> Self {
        let c = vec![0.1, 1.0, 10.0, 100.0, 1000.0];
        Self { c, gamma: Vec::new(), epsilon: Vec::new(), folds: 5, seed: 0, score: None, refit: true, refine: false, pick: GridPick::Best }
    }
}

impl GridSearch {
    /// Checks all lists and numbers.
    pub fn validate(&self) -> Result<()> {
        if self.c.is_empty() {
            return Err(check::complaint(OWNER, "c", "a list of at least one value", "none"));
        }
        self.c.iter().try_for_each(|&c| check::positive(OWNER, "c", c))?;
        self.gamma.iter().try_for_each(|&gamma| check::not_negative(OWNER, "gamma", gamma))?;
        self.epsilon.iter().try_for_each(|&epsilon| check::not_negative(OWNER, "epsilon", epsilon))?;
        check::at_least(OWNER, "folds", self.folds, 2)
    }

    /// The folds that a search on `data` uses.
    pub fn splits(&self, data: &Dataset<'_>) -> Result<Vec<Split>> {
        default_folds(data, self.folds, self.seed)
    }

    /// Searches for the best C and gamma of a classifier.
    pub fn svc(&self, learner: &Svc, data: &Dataset<'_>, context: &Context<'_>) -> Result<GridResult<SvcModel>> {
        self.svc_on(learner, data, &self.splits(data)?, context)
    }

    /// [`GridSearch::svc`] on splits of the caller's own.
    pub fn svc_on(&self, learner: &Svc, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<GridResult<SvcModel>> {
        let kernel = self.prepare(learner, &learner.kernel, data, splits)?;
        data.expect_classes()?;
        if let Penalty::Nu(nu) = learner.penalty {
            return Err(check::complaint("Svc", "penalty", "C in a grid search: nu-classification has no C", format!("nu = {nu}")));
        }
        if !self.epsilon.is_empty() {
            return Err(check::complaint(OWNER, "epsilon", "empty for a classifier", format!("{:?}", self.epsilon)));
        }
        let score = self.score.unwrap_or(Score::usual(&data.target));
        let at = |setting: &GridSetting| Svc {
            kernel: setting.kernel(&kernel),
            penalty: Penalty::C(setting.c),
            calibrate: learner.calibrate || score == Score::LogLoss,
            ..learner.clone()
        };
        let table = self.run(None, score, &kernel, |table, settings| {
            if score == Score::LogLoss {
                return point_by_point(table, score, &kernel, settings, data, splits, context, &at);
            }
            let (outcomes, stop) = grid_classes::run(learner, &kernel, data, splits, settings, context)?;
            table.note(stop);
            table.add_outcomes(&outcomes, settings, &kernel, score, data, splits)
        })?;
        table.finish(self, score, data, context, at)
    }

    /// Searches for the best C, gamma and epsilon of a regressor (C and gamma only for nu-regression).
    pub fn svr(&self, learner: &Svr, data: &Dataset<'_>, context: &Context<'_>) -> Result<GridResult<SvrModel>> {
        self.svr_on(learner, data, &self.splits(data)?, context)
    }

    /// [`GridSearch::svr`] on splits of the caller's own.
    pub fn svr_on(&self, learner: &Svr, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<GridResult<SvrModel>> {
        let kernel = self.prepare(learner, &learner.kernel, data, splits)?;
        data.expect_real()?;
        let score = self.score.unwrap_or(Score::usual(&data.target));
        let at = |setting: &GridSetting| Svr {
            kernel: setting.kernel(&kernel),
            c: setting.c,
            tube: setting.epsilon.map_or(learner.tube, Tube::Epsilon),
            ..learner.clone()
        };
        let own = match learner.tube {
            Tube::Nu(_) if !self.epsilon.is_empty() => {
                return Err(check::complaint(OWNER, "epsilon", "empty for nu-regression", format!("{:?}", self.epsilon)));
            }
            Tube::Nu(_) => None,
            Tube::Epsilon(own) => Some(own),
        };
        let table = self.run(own, score, &kernel, |table, settings| {
            if own.is_none() {
                return point_by_point(table, score, &kernel, settings, data, splits, context, &at);
            }
            let (outcomes, stop) = grid_numbers::run(learner, &kernel, data, splits, settings, context)?;
            table.note(stop);
            table.add_outcomes(&outcomes, settings, &kernel, score, data, splits)
        })?;
        table.finish(self, score, data, context, at)
    }

    /// The grid, and the points around its best if they are asked for; `judge` adds points to the table.
    fn run(
        &self,
        epsilon: Option<f64>,
        score: Score,
        kernel: &Kernel,
        mut judge: impl FnMut(&mut Table, &[GridSetting]) -> Result<()>,
    ) -> Result<Table> {
        let settings = self.settings(epsilon);
        let mut table = Table::default();
        judge(&mut table, &settings)?;
        if self.refine
            && !table.cut_short()
            && let Some(best) = table.best(score, GridPick::Best)
        {
            let around = grid_around::around(&settings, &table.settings()[best]);
            if !around.is_empty() {
                let before = table.settings().len();
                judge(&mut table, &around)?;
                table.sort(kernel, table.settings().len() - before);
            }
        }
        Ok(table)
    }

    /// Checks everything and resolves the kernel's rules.
    fn prepare(&self, learner: &impl Learner, kernel: &Kernel, data: &Dataset<'_>, splits: &[Split]) -> Result<Kernel> {
        self.validate()?;
        learner.validate()?;
        data.validate()?;
        check_splits(splits, data.len())?;
        if !self.gamma.is_empty() && kernel.gamma().is_none() {
            let allowed = format!("empty for a {} kernel", kernel.name());
            return Err(check::complaint(OWNER, "gamma", allowed, format!("{:?}", self.gamma)));
        }
        kernel.resolve(&data.x, data.weights.as_deref())
    }

    /// All points: gamma outermost, C innermost, all rising.
    fn settings(&self, epsilon: Option<f64>) -> Vec<GridSetting> {
        let rising = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let or =
            |values: &[f64], own: Option<f64>| if values.is_empty() { vec![own] } else { rising(values).into_iter().map(Some).collect() };
        let mut settings = Vec::new();
        for &gamma in &or(&self.gamma, None) {
            for &epsilon in &or(&self.epsilon, epsilon) {
                settings.extend(rising(&self.c).into_iter().map(|c| GridSetting { c, gamma, epsilon }));
            }
        }
        settings
    }
}

/// The plain way: every point cross-validated on its own.
fn point_by_point<L>(
    table: &mut Table,
    score: Score,
    kernel: &Kernel,
    settings: &[GridSetting],
    data: &Dataset<'_>,
    splits: &[Split],
    context: &Context<'_>,
    at: &impl Fn(&GridSetting) -> L,
) -> Result<()>
where
    L: Learner + Sync,
{
    for (done, setting) in settings.iter().enumerate() {
        if let Some(reason) = context.step("grid search", done, settings.len()) {
            table.note(reason);
            break;
        }
        let result = cross_validate(&at(setting), data, splits, context)?;
        table.note(result.stop);
        if result.folds.len() < splits.len() {
            break;
        }
        let iterations = result.folds.iter().map(|fold| fold.report.iterations).sum();
        table.add(setting, kernel, result.scores(data, score)?, iterations);
    }
    Ok(())
}
