//! One class against the rest: rounds of weighing rows, growing a tree, and fitting the machine again.

use std::ops::ControlFlow;
use std::time::Instant;

use super::gamma::{Edge, GammaRule, edge, row_weights, sharpness};
use super::limits::Sampling;
use super::table::TrainingTable;
use super::tree::{Output, Tree, TreeSettings, grow_in};
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::{Context, StopReason, stopped};
use crate::random::Random;
use crate::solver::linear::{Bias, LinearLoss, LinearProblem, LinearSolution, LinearStart, Regularizer, solve_linear};

/// A tree whose values spread less than this says nothing.
const LEAST_SPREAD: f64 = 1e-12;
/// Draws with a single class before the induction gives up.
const MOST_DRAWS: usize = 20;
/// The gap of fits between the first and the last, as a multiple of the one that is asked for: rows are weighed by them, nothing else.
/// Spambase's 50 refits took half the steps of refits to 1e-4, with the same errors.
const ROUGHER: f64 = 100.0;
/// That gap at most.
const ROUGH: f64 = 1e-2;
/// Folds of cross-fitting.
const FOLDS: usize = 5;

/// A tree as a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Induced {
    /// The tree; its tests are about the original, unscaled columns.
    pub tree: Tree,
    /// Share of the training rows' weight that ends in each node: nothing except in leaves. Not what the tree was grown on, which is
    /// drawn or weighted anew in every round.
    pub shares: Vec<f64>,
    /// Mean of the tree's values over the training rows.
    pub mean: f64,
    /// Their standard deviation: the column is `(value - mean) / spread`.
    pub spread: f64,
    /// The round it was made in, from 1.
    pub round: usize,
    /// The sharpness of that round.
    pub gamma: f64,
    /// Whether the sharpness was at its cap.
    pub capped: bool,
    /// What the feature promised.
    pub edge: Edge,
}

/// The machine after some number of features.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Weights of the original columns, then of the induced ones.
    pub weights: Vec<f64>,
    /// The bias.
    pub bias: f64,
    /// `1/2 |w|^2 + C sum hinge`, never larger than the stage before.
    pub objective: f64,
    /// Share of the training weight on the wrong side.
    pub error: f64,
}

/// Why no further feature was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As many rounds as asked for.
    Enough,
    /// The tree was pruned to its root, and the next would have been the same.
    NoTree,
    /// Every row is far outside the margin.
    NothingLeft,
    /// Draw after draw had rows of one class only.
    OneClass,
    /// The objective hardly fell any more.
    SmallGain,
    /// A limit of the caller's.
    Stopped,
}

impl Ending {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Enough => "all rounds were made",
            Self::NoTree => "no tree with more than a root was left",
            Self::NothingLeft => "every row is far outside the margin",
            Self::OneClass => "the weighted rows are of one class",
            Self::SmallGain => "the objective hardly fell any more",
            Self::Stopped => "the time limit or an interruption",
        }
    }
}

/// What a run needs to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub c: f64,
    pub rounds: usize,
    pub tree: TreeSettings,
    pub sampling: Sampling,
    pub output: Output,
    pub rule: GammaRule,
    pub cap: f64,
    pub cross_fit: bool,
    pub min_gain: f64,
    pub tolerance: f64,
    /// Whether the last machine is fitted to the full tolerance.
    pub finish: bool,
    pub seed: u64,
    pub stream: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub features: Vec<Induced>,
    /// One more than features: the first is the linear machine.
    pub stages: Vec<Stage>,
    pub ending: Ending,
    pub stop: StopReason,
    pub solution: LinearSolution,
    pub iterations: u64,
    pub tree_seconds: f64,
    pub refit_seconds: f64,
}

/// Runs the rounds for `class` against all others. `watch` sees every stage with its new feature (none for the linear machine, and none
/// for a round that made nothing) and may end the run.
// long: one round after another, with what is kept between rounds.
pub(super) fn run(
    table: &TrainingTable,
    class: u32,
    plan: &Plan,
    context: &Context<'_>,
    watch: &mut dyn FnMut(&Stage, Option<&Induced>) -> ControlFlow<()>,
) -> Result<Run> {
    let mut rounds = Rounds::new(table, class, plan, context);
    let (mut stage, mut solution) = rounds.fit(None, plan.tolerance)?;
    let mut go_on = watch(&stage, None).is_continue();
    let mut run = Run {
        features: Vec::new(),
        stages: vec![stage.clone()],
        ending: Ending::Enough,
        stop: solution.stop,
        iterations: solution.iterations,
        solution: solution.clone(),
        tree_seconds: 0.0,
        refit_seconds: 0.0,
    };
    let mut random = Random::new(plan.seed, plan.stream);
    for round in 1..=plan.rounds {
        if !go_on {
            break;
        }
        if let Some(stop) = context.step("induce features", round - 1, plan.rounds) {
            (run.stop, run.ending) = (run.stop.worst(stop), Ending::Stopped);
            break;
        }
        let start = Instant::now();
        let made = rounds.feature(&stage, round, &mut random);
        run.tree_seconds += start.elapsed().as_secs_f64();
        let (feature, column) = match made {
            Ok(made) => made,
            Err(Ending::NoTree) if plan.sampling == Sampling::Resample => {
                // Another draw may give another tree.
                run.ending = Ending::NoTree;
                go_on = watch(&stage, None).is_continue();
                continue;
            }
            Err(ending) => {
                run.ending = ending;
                if ending == Ending::Stopped {
                    let asked = context.step("induce features", round - 1, plan.rounds);
                    run.stop = run.stop.worst(asked.unwrap_or(StopReason::Interrupted));
                }
                break;
            }
        };
        run.ending = Ending::Enough;
        if let Err(reason) = stopped(rounds.append(&column))? {
            (run.stop, run.ending) = (run.stop.worst(reason), Ending::Stopped);
            break;
        }
        let start = Instant::now();
        let before = stage.objective;
        let rough = (ROUGHER * plan.tolerance).min(ROUGH).max(plan.tolerance);
        let tolerance = if round == plan.rounds { plan.tolerance } else { rough };
        (stage, solution) = rounds.fit(Some((&stage, &solution)), tolerance)?;
        run.refit_seconds += start.elapsed().as_secs_f64();
        run.iterations += solution.iterations;
        run.stop = run.stop.worst(solution.stop);
        go_on = watch(&stage, Some(&feature)).is_continue();
        run.features.push(feature);
        run.stages.push(stage.clone());
        run.solution = solution.clone();
        if before - stage.objective < plan.min_gain * before {
            run.ending = Ending::SmallGain;
            break;
        }
    }
    let interrupted = matches!(run.stop, StopReason::TimeLimit | StopReason::Interrupted);
    // A run that ended before its last round still owes the tight fit.
    if !interrupted && plan.finish && solution.gap > plan.tolerance && !run.features.is_empty() {
        let start = Instant::now();
        let (stage, solution) = rounds.fit(Some((&stage, &solution)), plan.tolerance)?;
        run.refit_seconds += start.elapsed().as_secs_f64();
        run.iterations += solution.iterations;
        run.stop = run.stop.worst(solution.stop);
        run.stages.pop();
        run.stages.push(stage);
        run.solution = solution;
    }
    if interrupted {
        run.ending = Ending::Stopped;
    }
    Ok(run)
}

struct Rounds<'a> {
    table: &'a TrainingTable,
    plan: &'a Plan,
    context: &'a Context<'a>,
    signs: Vec<f64>,
    positive: Vec<bool>,
    up: Vec<f64>,
    down: Vec<f64>,
    /// All columns of the machine, row-major: the table's own until a feature is appended.
    z: Matrix<'a>,
    folds: Vec<usize>,
}

impl<'a> Rounds<'a> {
    fn new(table: &'a TrainingTable, class: u32, plan: &'a Plan, context: &'a Context<'a>) -> Self {
        let positive: Vec<bool> = table.codes.iter().map(|&code| code == class).collect();
        let price =
            |side: bool| table.counts.iter().zip(&positive).map(|(s, &p)| if p == side { plan.c * s } else { 0.0 }).collect::<Vec<f64>>();
        Self {
            table,
            plan,
            context,
            signs: positive.iter().map(|&p| if p { 1.0 } else { -1.0 }).collect(),
            up: price(true),
            down: price(false),
            positive,
            z: Matrix::dense(&*table.z, table.rows(), table.original()).expect("one value per cell"),
            folds: if plan.cross_fit { table.folds(FOLDS) } else { Vec::new() },
        }
    }

    /// Fits the machine, from the machine before where there is one.
    fn fit(&self, before: Option<(&Stage, &LinearSolution)>, tolerance: f64) -> Result<(Stage, LinearSolution)> {
        let problem = LinearProblem {
            x: &self.z,
            target: &self.signs,
            up: &self.up,
            down: &self.down,
            tube: 0.0,
            loss: LinearLoss::Absolute,
            regularizer: Regularizer::L2,
            bias: Bias::Free,
        };
        let start = before.map(|(_, s)| LinearStart { weights: s.weights.clone(), bias: s.bias, dual: s.dual.clone() });
        let mut solution = solve_linear(&problem, tolerance, start.as_ref(), self.context)?;
        // The machine before, with weight 0 for the new column, is a solution too: rounding or an early stop must not make it worse.
        if let Some((stage, old)) = before
            && solution.primal > stage.objective
        {
            solution.weights = old.weights.clone();
            solution.weights.resize(self.z.columns(), 0.0);
            (solution.bias, solution.primal) = (old.bias, stage.objective);
        }
        let decisions = self.decisions(&solution.weights, solution.bias);
        let wrong: f64 =
            decisions.iter().zip(&self.positive).zip(&self.table.counts).filter(|((f, p), _)| (**f > 0.0) != **p).map(|(_, s)| s).sum();
        // An empty sum is -0: no row may be wrong.
        let error = (wrong + 0.0) / self.table.counts.iter().sum::<f64>();
        let stage = Stage { weights: solution.weights.clone(), bias: solution.bias, objective: solution.primal, error };
        Ok((stage, solution))
    }

    fn decisions(&self, weights: &[f64], bias: f64) -> Vec<f64> {
        let Matrix::F64(z) = &self.z else { return Vec::new() };
        (0..self.table.rows()).map(|row| crate::linalg::dot(z.row(row), weights) + bias).collect()
    }

    fn append(&mut self, column: &[f64]) -> Result<()> {
        let Matrix::F64(z) = &self.z else { return Ok(()) };
        let mut meter = self.context.meter("induce features");
        let columns = self.z.columns();
        let mut values = Vec::with_capacity(column.len() * (columns + 1));
        for (row, &value) in column.iter().enumerate() {
            meter.spend(2 * columns)?;
            values.extend_from_slice(z.row(row));
            values.push(value);
        }
        self.z = Matrix::dense(values, column.len(), columns + 1).expect("one value per cell");
        Ok(())
    }

    /// A tree for the rows the machine gets wrong, and its standardized column.
    fn feature(&self, stage: &Stage, round: usize, random: &mut Random) -> std::result::Result<(Induced, Vec<f64>), Ending> {
        let (table, plan) = (self.table, self.plan);
        let decisions = self.decisions(&stage.weights, stage.bias);
        let slacks: Vec<f64> = decisions.iter().zip(&self.signs).map(|(f, y)| y * f - 1.0).collect();
        let norm = stage.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let sharp = sharpness(&slacks, &table.counts, plan.rule.term(norm, plan.c), plan.cap);
        let mut weights = row_weights(&slacks, sharp.gamma);
        weights.iter_mut().zip(&table.counts).for_each(|(w, s)| *w *= s);
        let total: f64 = weights.iter().sum();
        if total <= f64::MIN_POSITIVE {
            return Err(Ending::NothingLeft);
        }
        let drawn = match plan.sampling {
            Sampling::Weight => weights.iter().map(|w| w / total * table.draws as f64).collect(),
            Sampling::Resample => {
                let both = |drawn: &[f64]| {
                    let side = |side: bool| drawn.iter().zip(&self.positive).any(|(&w, &p)| w > 0.0 && p == side);
                    side(true) && side(false)
                };
                (0..MOST_DRAWS).map(|_| table.draw(&weights, random)).find(|drawn| both(drawn)).ok_or(Ending::OneClass)?
            }
        };
        let tree = grow_in(&table.columns, &self.positive, &drawn, &plan.tree, self.context).map_err(|_| Ending::Stopped)?;
        if tree.is_constant() {
            return Err(Ending::NoTree);
        }
        let leaves: Vec<usize> = table.columns.leaves(&tree).collect();
        let g = if plan.cross_fit {
            self.cross_fitted(&drawn).map_err(|_| Ending::Stopped)?
        } else {
            let values: Vec<f64> = tree.nodes.iter().map(|node| node.value(plan.output)).collect();
            leaves.iter().map(|&leaf| values[leaf]).collect()
        };
        let all: f64 = table.counts.iter().sum();
        let mean = g.iter().zip(&table.counts).map(|(g, s)| g * s).sum::<f64>() / all;
        let square = g.iter().zip(&table.counts).map(|(g, s)| s * (g - mean) * (g - mean)).sum::<f64>() / all;
        let spread = square.sqrt();
        if spread <= LEAST_SPREAD {
            return Err(Ending::NoTree);
        }
        let mut shares = vec![0.0; tree.nodes.len()];
        leaves.iter().zip(&table.counts).for_each(|(&leaf, s)| shares[leaf] += s / all);
        let edge = edge(&weights, &self.signs, &g, sharp.gamma);
        let column = g.iter().map(|g| (g - mean) / spread).collect();
        Ok((Induced { tree, shares, mean, spread, round, gamma: sharp.gamma, capped: sharp.capped, edge }, column))
    }

    /// Every row's value from a tree that did not see it.
    fn cross_fitted(&self, drawn: &[f64]) -> Result<Vec<f64>> {
        let (table, plan) = (self.table, self.plan);
        let mut g = vec![0.0; table.rows()];
        for fold in 0..FOLDS {
            let seen: Vec<f64> = drawn.iter().zip(&self.folds).map(|(&w, &f)| if f == fold { 0.0 } else { w }).collect();
            let tree = grow_in(&table.columns, &self.positive, &seen, &plan.tree, self.context)?;
            let values: Vec<f64> = tree.nodes.iter().map(|node| node.value(plan.output)).collect();
            for row in (0..table.rows()).filter(|&row| self.folds[row] == fold) {
                g[row] = values[tree.leaf(|j| table.columns.column(j)[row])];
            }
        }
        Ok(g)
    }
}
