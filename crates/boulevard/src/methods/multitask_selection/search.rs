//! Choosing rho and c by cross-validation, and what the tasks gain from each other.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering as Memory};

use serde::{Deserialize, Serialize};

use super::learner::{MultiTaskSelection, check_ln_rho, rising};
use super::model::MultiTaskSelectionModel;
use super::problem::Certificate;
use super::problem::tasks::{Outputs, TaskSet};
use super::problem::training::Training;
use crate::check;
use crate::error::{Error, Result};
use crate::metrics::comparison::{mean, standard_deviation};
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::random::Random;
use crate::svm::{Learner, argmax};

const OWNER: &str = "SelectionSearch";

/// A search over rho and c. In every fold each c is one path over rho, every fit starting from its neighbor's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionSearch {
    /// Values of `ln rho`.
    pub ln_rho: Vec<f64>,
    /// Values of c.
    pub c: Vec<f64>,
    /// Folds.
    pub folds: usize,
    /// How often to fold anew: on few rows one set of folds cannot tell neighboring cells apart.
    pub repeats: usize,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for SelectionSearch {
    /// The grid that works on data of unit scale: no selection at one end, hardly any feature on at the other.
    fn default() -> Self {
        let ln_rho = [1.0f64, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6].iter().map(|rho| rho.ln()).collect();
        Self { ln_rho, c: vec![1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0], folds: 5, repeats: 1, seed: 0 }
    }
}

/// One cell of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectionPoint {
    /// Its `ln rho`.
    pub ln_rho: f64,
    /// Its c.
    pub c: f64,
    /// Mean error over folds.
    pub error: f64,
    /// Standard deviation over folds.
    pub deviation: f64,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct SelectionResult {
    /// All cells; c varies slowest.
    pub points: Vec<SelectionPoint>,
    /// Place of the smallest error, half its own and half the mean of its neighborhood on the grid. Ties go to the larger rho, then to the
    /// smaller c: less selection, less fitting.
    pub best: usize,
    /// The model with the best parameters on all data.
    pub model: MultiTaskSelectionModel,
}

/// Errors of every task, learnt alone and together, each by cross-validation on the same folds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferReport {
    /// Task names.
    pub tasks: Vec<String>,
    /// Error of each task with switches of its own: share of wrong signs, or mean squared error.
    pub alone: Vec<f64>,
    /// Error of each task with shared switches.
    pub together: Vec<f64>,
    /// Rows each task was judged on.
    pub rows: Vec<usize>,
}

impl SelectionSearch {
    /// Searches and fits the best.
    pub fn run(&self, learner: &MultiTaskSelection, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<SelectionResult> {
        learner.validate()?;
        tasks.check()?;
        check::at_least(OWNER, "ln_rho", self.ln_rho.len(), 1)?;
        check::at_least(OWNER, "c", self.c.len(), 1)?;
        check::at_least(OWNER, "repeats", self.repeats, 1)?;
        self.ln_rho.iter().try_for_each(|&ln_rho| check_ln_rho(ln_rho))?;
        self.c.iter().try_for_each(|&c| check::positive(OWNER, "c", c))?;
        let errors = self.errors(learner, tasks, context)?;
        let mut points = Vec::new();
        for (i, &c) in self.c.iter().enumerate() {
            for (j, &ln_rho) in self.ln_rho.iter().enumerate() {
                let of: Vec<f64> = errors.iter().map(|fold| fold[i][j]).collect();
                points.push(SelectionPoint { ln_rho, c, error: mean(&of), deviation: standard_deviation(&of) });
            }
        }
        let around = self.neighborhood(&points);
        let key = |i: usize| (0.5 * (points[i].error + around[i]), -points[i].ln_rho, points[i].c);
        let best = (0..points.len()).fold(0, |best, i| if key(i).partial_cmp(&key(best)) == Some(Ordering::Less) { i } else { best });
        let chosen = MultiTaskSelection { ln_rho: Some(points[best].ln_rho), c: Some(points[best].c), ..learner.clone() };
        Ok(SelectionResult { model: chosen.fit_tasks(tasks, context)?, best, points })
    }

    /// Mean error of every cell and its neighbors on the grid.
    ///
    /// On few rows many cells tie, and a cell beside the cliff where everything is switched off may win by luck; its neighbors tell.
    fn neighborhood(&self, points: &[SelectionPoint]) -> Vec<f64> {
        let (rows, columns) = (rising(&self.c), rising(&self.ln_rho));
        let mut means = vec![0.0; points.len()];
        for i in 0..rows.len() {
            for j in 0..columns.len() {
                let near = |at: usize, most: usize| at.saturating_sub(1)..(at + 2).min(most);
                let cells = near(i, rows.len()).flat_map(|r| near(j, columns.len()).map(move |k| (r, k)));
                let errors: Vec<f64> = cells.map(|(r, k)| points[rows[r] * columns.len() + columns[k]].error).collect();
                means[rows[i] * columns.len() + columns[j]] = mean(&errors);
            }
        }
        means
    }

    /// Errors by fold, c and rho.
    fn errors(&self, learner: &MultiTaskSelection, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<Vec<Vec<Vec<f64>>>> {
        // Every fold has its rows to itself: a number of repeats must not ask for more memory than there is.
        const MOST: usize = 16 << 30;
        let numbers = tasks.tables.iter().fold(0usize, |sum, x| sum.saturating_add(x.rows().saturating_mul(x.columns())));
        let needed = numbers.saturating_mul(2 * size_of::<f64>()).saturating_mul(self.folds).saturating_mul(self.repeats);
        let allowed = context.memory.unwrap_or(MOST);
        if needed > allowed {
            return Err(Error::Memory { what: "the folds of a search (`folds` times `repeats` copies of the rows)", needed, allowed });
        }
        let mut random = Random::new(self.seed, 0);
        let mut folds = tasks.folds(self.folds, self.seed)?;
        for _ in 1..self.repeats {
            folds.extend(tasks.folds(self.folds, random.bits())?);
        }
        let parts: Vec<(TaskSet<'static>, TaskSet<'static>)> =
            folds.iter().map(|fold| (tasks.select(&fold.train), tasks.select(&fold.test))).collect();
        let trainings = parts.iter().map(|(train, _)| Training::new(learner, train, context)).collect::<Result<Vec<_>>>()?;
        let inner = context.with_threads(1);
        let (jobs, done) = (folds.len() * self.c.len(), AtomicUsize::new(0));
        let results = parallel::map(context.threads, jobs, |job| -> Result<Vec<f64>> {
            let (fold, c) = (job / self.c.len(), self.c[job % self.c.len()]);
            let training = &trainings[fold];
            let mut errors = vec![f64::NAN; self.ln_rho.len()];
            let mut last: Option<Vec<Certificate>> = None;
            for place in rising(&self.ln_rho) {
                if let Some(stop @ (StopReason::Interrupted | StopReason::TimeLimit)) =
                    context.step("choose rho and c", done.fetch_add(1, Memory::Relaxed), jobs * self.ln_rho.len())
                {
                    return Err(Error::data(format!("the search was stopped ({stop:?}) before it had an answer")));
                }
                let learner = MultiTaskSelection { ln_rho: Some(self.ln_rho[place]), c: Some(c), ..learner.clone() };
                let solved = learner.solve(training, self.ln_rho[place], c, last.as_deref(), &inner);
                last = Some(solved.iter().map(|solution| solution.certificate.clone()).collect());
                let model = learner.model(training, solved, std::time::Instant::now())?;
                errors[place] = overall_error(&model, &parts[fold].1, &inner)?;
            }
            Ok(errors)
        });
        let mut table = vec![Vec::new(); folds.len()];
        for (job, result) in results.into_iter().enumerate() {
            table[job / self.c.len()].push(result?);
        }
        Ok(table)
    }
}

/// What each task gains from the others: errors alone and together on the same folds.
pub fn transfer(
    learner: &MultiTaskSelection,
    tasks: &TaskSet<'_>,
    folds: usize,
    seed: u64,
    context: &Context<'_>,
) -> Result<TransferReport> {
    learner.validate()?;
    tasks.check()?;
    let count = tasks.targets.len();
    let mut sums = [vec![0.0; count], vec![0.0; count]];
    let mut rows = vec![0; count];
    let splits = tasks.folds(folds, seed)?;
    for (done, split) in splits.iter().enumerate() {
        if let Some(StopReason::Interrupted) = context.step("transfer", done, splits.len()) {
            return Err(Error::data("the transfer report was interrupted"));
        }
        let (train, test) = (tasks.select_in(&split.train, context)?, tasks.select_in(&split.test, context)?);
        for (share, sums) in [false, true].into_iter().zip(&mut sums) {
            let learner = MultiTaskSelection { share, calibrate: false, ..learner.clone() };
            let model = learner.fit_tasks(&train, context)?;
            for (m, sum) in sums.iter_mut().enumerate() {
                *sum += task_error(&model, &test, m, context)?;
            }
        }
        rows.iter_mut().zip(&test.targets).for_each(|(rows, target)| *rows += target.y.len());
    }
    let shares = |sums: &[f64]| sums.iter().zip(&rows).map(|(sum, &rows)| sum / rows.max(1) as f64).collect();
    Ok(TransferReport {
        tasks: (0..count).map(|m| tasks.outputs.name(m)).collect(),
        alone: shares(&sums[0]),
        together: shares(&sums[1]),
        rows,
    })
}

/// Wrong signs, or the sum of squared errors, of one task.
pub fn task_error(model: &MultiTaskSelectionModel, tasks: &TaskSet<'_>, task: usize, context: &Context<'_>) -> Result<f64> {
    let target = &tasks.targets[task];
    let values = model.task_values(&tasks.tables[target.table], task, context)?;
    let classify = tasks.outputs.classify();
    let error = |y: f64, f: f64| if classify { f64::from(u8::from((f > 0.0) != (y > 0.0))) } else { (y - f) * (y - f) };
    Ok(target.y.iter().zip(values).map(|(&y, f)| error(y, f)).sum())
}

/// Share of wrong classes; of wrong signs over all tasks where there is no one class; mean squared error in regression.
fn overall_error(model: &MultiTaskSelectionModel, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<f64> {
    if let Outputs::Classes(names) = &tasks.outputs
        && names.len() > 2
    {
        let values = crate::svm::Model::decision_values_in(model, &tasks.tables[0], context)?;
        let right =
            values.chunks_exact(names.len()).enumerate().filter(|(row, values)| tasks.targets[argmax(values)].y[*row] > 0.0).count();
        return Ok(1.0 - right as f64 / tasks.tables[0].rows() as f64);
    }
    let (mut sum, mut rows) = (0.0, 0);
    for (m, target) in tasks.targets.iter().enumerate() {
        sum += task_error(model, tasks, m, context)?;
        rows += target.y.len();
    }
    Ok(sum / rows.max(1) as f64)
}
