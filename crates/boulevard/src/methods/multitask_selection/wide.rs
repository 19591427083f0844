//! The trials of an automatic choice on tables with many more columns than rows: all of a fold's work with all columns happens in the space
//! of its rows, from inner products that are computed once for all folds.

use super::automatic::{Fold, Plan, largest};
use super::judged::Said;
use super::learner::{BiasPrior, MultiTaskSelection, Select};
use super::problem::prior::Margin;
use super::problem::switch::Switch;
use super::problem::tasks::{Outputs, TaskSet, TaskSplit};
use super::problem::training::Training;
use super::problem::{Problem, Samples, Task};
use super::solvers::sampled::{Sampled, is_wide, most_moves};
use crate::error::{Error, Result};
use crate::observe::{Context, StopReason};
use crate::parallel;

/// A trial ends when its switches can gain no more than this share of the primal: what is left is some times as much.
const SETTLED: f64 = 1e-3;
/// Or after this many turns.
const TURNS: usize = 30;
/// Accuracy of the machines between, as a share of the primal.
const ACCURACY: f64 = 1e-3;
/// The relative gap of a set's own fit.
const ROUGH: f64 = 1e-2;

impl MultiTaskSelection {
    /// What the trials and the fit after them share, where the tables are of that kind.
    pub(super) fn wide_training<'a>(&self, tasks: &'a TaskSet<'a>, context: &Context<'_>) -> Result<Option<Training<'a>>> {
        let one = self.share || tasks.targets.len() == 1;
        let shapes: Vec<(usize, usize)> = tasks.tables.iter().map(|table| (table.rows(), table.columns())).collect();
        let plain = self.select == Select::Features && self.bias == BiasPrior::Gaussian && self.threshold == 0.0;
        if !(plain && one && is_wide(&shapes, context)) {
            return Ok(None);
        }
        Training::new(self, tasks, context).map(Some)
    }

    /// The trials on such tables.
    pub(super) fn judge_wide(
        &self,
        training: &Training<'_>,
        folds: &[TaskSplit],
        plan: &Plan<'_>,
        context: &Context<'_>,
    ) -> Result<Vec<Fold>> {
        let rough = Self { tolerance: self.tolerance.max(ROUGH), calibrate: false, ..self.clone() };
        for table in &training.tables {
            table.inner_products(context)?;
        }
        let inner = context.with_threads(1);
        parallel::try_map(context.threads, folds.len(), |place| {
            rough.judge_wide_fold(training, &folds[place], place * plan.cs.len(), folds.len() * plan.cs.len(), plan, &inner)
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn judge_wide_fold(
        &self,
        training: &Training<'_>,
        split: &TaskSplit,
        done: usize,
        total: usize,
        plan: &Plan<'_>,
        context: &Context<'_>,
    ) -> Result<Fold> {
        let tasks = training.tasks;
        // Held-out rows count nothing and still get their scores.
        let mut units: Vec<Task> = Vec::new();
        for unit in &training.units {
            let mut weights = unit.weights.clone();
            split.test[unit.table].iter().for_each(|&row| weights[row] = 0.0);
            units.push(Task { table: unit.table, y: unit.y.clone(), weights });
        }
        let held = |m: usize, values: &[f64]| split.test[tasks.targets[m].table].iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let y: Samples = tasks.targets.iter().enumerate().map(|(m, target)| held(m, &target.y)).collect();
        let classify = tasks.outputs.classify();
        let problem = |c: f64| Problem {
            tables: &training.tables,
            tasks: &units,
            switch: Switch::new(plan.ln_rho),
            margin: if classify { Margin::classification(c) } else { Margin::regression(c, self.epsilon, self.margin_prior) },
            classify,
            variance: Some(self.bias_variance),
            coupling: 0.0, // nothing is solved for several tasks at once here
            threads: 1,
            context: *context,
        };
        let (mut said, mut ranks) = (Vec::new(), Vec::new());
        let most = training.tables.iter().map(|table| most_moves(table.rows)).max();
        let mut sampled = Sampled::new(&problem(plan.cs[0]))?;
        for (step, &c) in plan.cs.iter().enumerate() {
            if let Some(stop @ (StopReason::Interrupted | StopReason::TimeLimit)) =
                context.step("choose c and features", done + step, total)
            {
                return Err(Error::Stopped { reason: stop });
            }
            let problem = problem(c);
            sampled.restart();
            for _ in 0..TURNS {
                context.go_on("solve")?;
                let turn = sampled.turn(&problem, ACCURACY, most);
                if turn.progress <= SETTLED {
                    break;
                }
                sampled.follow(&problem, &turn)?;
            }
            let values: Samples = sampled.scores.iter().enumerate().map(|(m, scores)| held(m, scores)).collect();
            said.push(Said::of_values(&tasks.outputs, &y, &values));
            let size = sampled.sizes(&problem);
            if let Some(&most) = plan.sizes.last() {
                let set = largest(&size, most);
                let columns = tasks.columns(&set)?;
                let (train, test) = (columns.select_in(&split.train, context)?, columns.select_in(&split.test, context)?);
                let size: Vec<f64> = set.iter().map(|&d| size[d]).collect();
                self.judge_sets(&train, &test, &size, c, plan, &mut said, context)?;
            }
            ranks.push(size);
        }
        Ok(Fold { said, weights: self.held_weights(tasks, split), sizes: ranks })
    }

    /// What held-out rows count, in the order of their losses.
    fn held_weights(&self, tasks: &TaskSet<'_>, split: &TaskSplit) -> Vec<f64> {
        let several = matches!(&tasks.outputs, Outputs::Classes(names) if names.len() > 2);
        let targets = &tasks.targets[..if several { 1 } else { tasks.targets.len() }];
        let of = |table: usize| split.test[table].iter().map(move |&row| tasks.weight(table, row));
        targets.iter().flat_map(|target| of(target.table)).collect()
    }
}
