//! Grid search for classification: all folds, values of C and pairs of classes on the same kernel rows.
//!
//! With few classes every pair is a problem on all rows, in which rows of other classes (and held-out rows) have no room. A step sweeps
//! all rows, so with many classes most of the sweep would be wasted: then every pair gets a solver on its own rows, shared by folds and
//! values of C, and held-out rows of other classes are judged by a weighted sum of kernel rows.

use super::grid_table::{GridSetting, Outcome};
use super::grid_units::{Unit, run_units};
use super::share::Counter;
use crate::data::split::Split;
use crate::data::{Categories, Dataset, Target};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelRows};
use crate::observe::{Context, StopReason};
use crate::solver::{DualSolution, KernelSource, Solver, TableKernel, along_ray};
use crate::svm::{Multiclass, Penalty, SolverSettings, Svc, argmax, class_factors, pairs, tie_break};
use crate::words::counted;

/// One-vs-one with more classes than this gets a solver per pair.
const MOST_ON_ALL_ROWS: usize = 4;

/// The held-out predictions of every setting in every fold, as far as it came, and why it stopped.
pub(super) fn run(
    learner: &Svc,
    kernel: &Kernel,
    data: &Dataset<'_>,
    splits: &[Split],
    settings: &[GridSetting],
    context: &Context<'_>,
) -> Result<(Vec<Outcome>, StopReason)> {
    let classes = data.expect_classes()?;
    let count = classes.names().len();
    let rest = learner.multiclass == Multiclass::OneVsRest && count > 2;
    let tasks: Vec<Task> = if rest { (0..count).map(Task::Rest).collect() } else { pairs(count).into_iter().map(Task::Pair).collect() };
    let folds = splits.iter().map(|split| Fold::new(learner, data, classes, split)).collect::<Result<Vec<_>>>()?;
    let total = settings.len() * splits.len() * tasks.len();
    let search = Search { learner, classes, folds, tasks, settings, counter: Counter::new(context, "grid search", total) };
    let outcomes = run_units(kernel, &learner.solver, &data.x, splits.len(), settings, context, |unit, source, options, inner| {
        if !rest && count > MOST_ON_ALL_ROWS {
            search.pair_by_pair(unit, source, options, inner)
        } else {
            search.on_all_rows(unit, source, options, inner)
        }
    })?;
    Ok((outcomes, search.counter.reason()))
}

/// One two-class problem.
#[derive(Clone, Copy)]
enum Task {
    /// These two classes.
    Pair((usize, usize)),
    /// This class against all others.
    Rest(usize),
}

impl Task {
    /// Which side a class is on; 0 for neither.
    fn sign(self, class: usize) -> f64 {
        match self {
            Self::Pair((i, _)) if class == i => 1.0,
            Self::Pair((_, j)) if class == j => -1.0,
            Self::Pair(_) => 0.0,
            Self::Rest(own) if class == own => 1.0,
            Self::Rest(_) => -1.0,
        }
    }

    /// The output of a machine with an empty side, as [`Svc`] has it.
    fn without_a_side(self) -> f64 {
        match self {
            Self::Pair(_) => 0.0,
            Self::Rest(_) => f64::NEG_INFINITY,
        }
    }
}

/// What a fold learns from.
struct Fold<'a> {
    split: &'a Split,
    /// Weight of every row; 0 for held-out ones.
    weights: Vec<f64>,
    /// Factor of every class.
    factors: Vec<f64>,
    /// Whether every class has training rows.
    present: Vec<bool>,
}

impl<'a> Fold<'a> {
    fn new(learner: &Svc, data: &Dataset<'_>, classes: &Categories, split: &'a Split) -> Result<Self> {
        let all = data.weights_or_ones();
        let mut weights = vec![0.0; data.len()];
        let mut totals = vec![0.0; classes.names().len()];
        for &row in &split.train {
            weights[row] = all[row];
            totals[classes.codes()[row] as usize] += all[row];
        }
        let present: Vec<bool> = totals.iter().map(|&total| total > 0.0).collect();
        if present.iter().filter(|&&present| present).count() < 2 {
            let missing = (0..present.len()).filter(|&class| !present[class]);
            let few = missing.map(|class| format!("`{}` {}", classes.names()[class], counted(classes.counts()[class], "row")));
            return Err(Error::data(format!(
                "classification needs at least two classes, but the training part of a fold has fewer: of all rows {}",
                few.collect::<Vec<_>>().join(", ")
            )));
        }
        Ok(Self { split, weights, factors: class_factors(&learner.class_weight, classes, &totals, "Svc")?, present })
    }

    fn has_both_sides(&self, task: Task) -> bool {
        let has = |side: f64| self.present.iter().enumerate().any(|(class, present)| *present && task.sign(class) == side);
        has(1.0) && has(-1.0)
    }
}

struct Search<'a> {
    learner: &'a Svc,
    classes: &'a Categories,
    folds: Vec<Fold<'a>>,
    tasks: Vec<Task>,
    settings: &'a [GridSetting],
    counter: Counter<'a>,
}

/// A solved problem: what the next C starts from.
struct Solved {
    c: f64,
    intercept: f64,
    solution: DualSolution,
}

impl Search<'_> {
    /// Solves one problem on `rows` (positions in the solver), from the last solution if there is one. `None` if it was stopped.
    fn solve(
        &self,
        solver: &mut Solver<'_>,
        options: &SolverSettings,
        rows: &[usize],
        fold: &Fold<'_>,
        task: Task,
        c: f64,
        last: Option<&Solved>,
    ) -> Result<Option<Solved>> {
        if !self.counter.go_on() {
            return Ok(None);
        }
        let svc = Svc { penalty: Penalty::C(c), solver: *options, ..self.learner.clone() };
        let class = |row: usize| self.classes.codes()[row] as usize;
        let weights: Vec<f64> = rows.iter().map(|&row| fold.weights[row]).collect();
        let factors: Vec<f64> = rows.iter().map(|&row| fold.factors[class(row)]).collect();
        // Held-out rows are on no side: no room, and a gradient that is their decision value.
        let signs: Vec<f64> = rows.iter().map(|&row| if fold.weights[row] > 0.0 { task.sign(class(row)) } else { 0.0 }).collect();
        let start = last.map(|last| {
            let cost = |i: usize| c * weights[i] * factors[i];
            let bounds = |i: usize| (if signs[i] < 0.0 { -cost(i) } else { 0.0 }, if signs[i] > 0.0 { cost(i) } else { 0.0 });
            along_ray(&last.solution, |i| -signs[i], 0.0, c / last.c, bounds)
        });
        let fit = svc.solve_binary(solver, &signs, &weights, &factors, start)?;
        if !self.counter.finish(fit.solution.stop) {
            return Ok(None);
        }
        Ok(Some(Solved { c, intercept: fit.intercept, solution: fit.solution }))
    }

    fn on_all_rows(&self, unit: &Unit, source: &TableKernel<'_>, options: &SolverSettings, inner: &Context<'_>) -> Result<Vec<Outcome>> {
        let mut solver = Solver::new(source, options.cache_bytes(), inner)?.shared();
        let rows: Vec<usize> = (0..source.len()).collect();
        let mut last: Vec<Option<Solved>> = Vec::new();
        last.resize_with(unit.folds.len() * self.tasks.len(), || None);
        let mut outcomes = Vec::new();
        for setting in unit.settings.clone() {
            for (number, last) in unit.folds.clone().zip(last.chunks_mut(self.tasks.len())) {
                let fold = &self.folds[number];
                let mut tally = Tally::new(self.classes.names().len(), fold.split.test.len());
                for (&task, last) in self.tasks.iter().zip(last) {
                    if !fold.has_both_sides(task) {
                        tally.add(task, |_| task.without_a_side());
                        continue;
                    }
                    let solved = self.solve(&mut solver, options, &rows, fold, task, self.settings[setting].c, last.as_ref())?;
                    let Some(solved) = solved else { return Ok(outcomes) };
                    tally.add(task, |k| solved.solution.gradient[fold.split.test[k]] + solved.intercept);
                    tally.note(&solved);
                    *last = Some(solved);
                }
                outcomes.push(tally.outcome(setting, number, self.classes)?);
            }
        }
        Ok(outcomes)
    }

    fn pair_by_pair(&self, unit: &Unit, source: &TableKernel<'_>, options: &SolverSettings, inner: &Context<'_>) -> Result<Vec<Outcome>> {
        let whole = source.double()?;
        let tests: Vec<Box<dyn KernelRows<f64> + '_>> =
            unit.folds.clone().map(|number| whole.restrict(&self.folds[number].split.test)).collect();
        let tally = |number: usize| Tally::new(self.classes.names().len(), self.folds[number].split.test.len());
        let mut tallies: Vec<Vec<Tally>> =
            unit.folds.clone().map(|number| unit.settings.clone().map(|_| tally(number)).collect()).collect();
        for &task in &self.tasks {
            let of_pair = |&row: &usize| task.sign(self.classes.codes()[row] as usize) != 0.0;
            let rows: Vec<usize> = (0..source.len()).filter(of_pair).collect();
            let subset = source.subset(&rows)?;
            let mut solver = Solver::new(&subset, options.cache_bytes(), inner)?.shared();
            for ((number, test), tallies) in unit.folds.clone().zip(&tests).zip(&mut tallies) {
                let fold = &self.folds[number];
                if !fold.has_both_sides(task) {
                    tallies.iter_mut().for_each(|tally| tally.add(task, |_| task.without_a_side()));
                    continue;
                }
                let mut last = None;
                for (setting, tally) in unit.settings.clone().zip(tallies) {
                    let c = self.settings[setting].c;
                    let Some(solved) = self.solve(&mut solver, options, &rows, fold, task, c, last.as_ref())? else {
                        // Every point lacks pairs now.
                        return Ok(Vec::new());
                    };
                    let support: Vec<usize> = (0..rows.len()).filter(|&i| solved.solution.coefficients[i] != 0.0).collect();
                    let weights: Vec<f64> = support.iter().map(|&i| solved.solution.coefficients[i]).collect();
                    let support: Vec<usize> = support.iter().map(|&i| rows[i]).collect();
                    let sums = test.weighted_sum(&support, &weights, 0..test.columns());
                    tally.add(task, |k| sums[k] + solved.intercept);
                    tally.note(&solved);
                    last = Some(solved);
                }
            }
        }
        let mut outcomes = Vec::new();
        for (number, tallies) in unit.folds.clone().zip(tallies) {
            for (setting, tally) in unit.settings.clone().zip(tallies) {
                outcomes.push(tally.outcome(setting, number, self.classes)?);
            }
        }
        Ok(outcomes)
    }
}

/// Collects the problems' outputs for the held-out rows of one fold, and decides as [`crate::svm::SvcModel`] does. Sums per class instead
/// of all outputs: there may be hundreds of pairs.
struct Tally {
    classes: usize,
    /// Row-major: votes of every class, or its own output for one-vs-rest.
    votes: Vec<f64>,
    /// Row-major: sums of the pair outputs for (or against) every class.
    confidence: Vec<f64>,
    iterations: u64,
    stop: StopReason,
}

impl Tally {
    fn new(classes: usize, rows: usize) -> Self {
        let zeros = vec![0.0; rows * classes];
        Self { classes, votes: zeros.clone(), confidence: zeros, iterations: 0, stop: StopReason::Converged }
    }

    /// Adds a problem's outputs.
    fn add(&mut self, task: Task, value: impl Fn(usize) -> f64) {
        let rows = self.votes.chunks_exact_mut(self.classes).zip(self.confidence.chunks_exact_mut(self.classes));
        for (row, (votes, confidence)) in rows.enumerate() {
            let value = value(row);
            match task {
                Task::Rest(class) => votes[class] = value,
                Task::Pair((i, j)) => {
                    votes[if value > 0.0 { i } else { j }] += 1.0;
                    confidence[i] += value;
                    confidence[j] -= value;
                }
            }
        }
    }

    fn note(&mut self, solved: &Solved) {
        self.iterations += solved.solution.iterations;
        self.stop = self.stop.worst(solved.solution.stop);
    }

    fn outcome(self, setting: usize, fold: usize, classes: &Categories) -> Result<Outcome> {
        let decide = |(votes, confidence): (&[f64], &[f64])| {
            let values: Vec<f64> = votes.iter().zip(confidence).map(|(vote, sum)| vote + tie_break(*sum)).collect();
            // Two classes: a value of exactly zero is the first, as the sign of the decision value says.
            if values.len() == 2 { u32::from(confidence[0] < 0.0) } else { argmax(&values) as u32 }
        };
        let rows = self.votes.chunks_exact(self.classes).zip(self.confidence.chunks_exact(self.classes));
        let predictions = Target::Classes(Categories::new(rows.map(decide).collect(), classes.names().to_vec())?);
        Ok(Outcome { setting, fold, predictions, iterations: self.iterations, stop: self.stop })
    }
}
