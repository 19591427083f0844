//! A short list of rules instead of whole trees: what a person can read.
//!
//! Trees are grown as ever, but only as a source of conjunctions ([`pool`]). A path adds one conjunction after the other, the same for all
//! classes ([`path`]). How many are kept is decided on held-out rows ([`choose`]), where every part goes through all of it: trees, rounding,
//! path. The model is then the linear machine over the original columns and the chosen rules, each a column that is 1 or -1 before it is
//! standardized, and what it gives up against whole trees is said beside it ([`RuleList`]).

mod choose;
mod path;
mod pool;

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use self::choose::{Held, hold_out};
use self::path::{Settings, stepwise};
pub(super) use self::pool::Bounds;
use self::pool::candidates;
use super::auto::Choice;
use super::learner::FeatureInduction;
use super::limits::{Amount, Depth, RuleLimit};
use super::model::Induction;
use super::rounds::{Ending, Induced, Plan, run};
use super::table::TrainingTable;
use super::tree::{MOST_DEPTH, TreeSettings};
use crate::error::Result;
use crate::observe::{Context, StopReason, stopped};
use crate::parallel;
use crate::solver::linear::LinearLoss;
use crate::svm::{FitReport, LinearMachine, worse};
use crate::words::counted;

/// Rules at most where their number is chosen: what fits on a page.
pub const SHOWN: usize = 20;
/// Depths of the trees that offer conjunctions, where none is asked for.
const DEPTHS: [usize; 2] = [1, 3];
/// Conditions of a rule at most, where no depth is asked for.
const LONGEST: usize = 3;
/// Trees per depth that offer conjunctions: for all classes together, and bounds for one class.
const TREES: usize = 90;
const TREES_OF_A_CLASS: (usize, usize) = (4, 30);

/// What a class list or a rule list gives up against trees without a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleList {
    /// The held-out error with 0, 1, 2, ... rules; empty where no rows were held out. With 0 it is the linear machine's.
    pub errors: Vec<f64>,
    /// The standard error of each one's difference from the lowest, both judged on the same rows.
    pub uncertainties: Vec<f64>,
    /// How many rules the model has.
    pub chosen: usize,
    /// The number of rules with the lowest error.
    pub best: usize,
    /// The held-out error of whole trees, depth and number chosen on the same rows.
    pub unlimited_error: Option<f64>,
    /// Conjunctions there were to choose from.
    pub candidates: usize,
    /// What was chosen and why, in words.
    pub reason: String,
}

/// A fitted list: everything that a model is made of.
pub(super) struct Listed {
    pub inductions: Vec<Induction>,
    pub machine: LinearMachine,
    pub list: RuleList,
    pub report: FitReport,
}

impl FeatureInduction {
    /// Whether the model is to be a short list. `auto` says yes where the number of features is left open too: who asks for a number of
    /// trees, for the paper's settings or for a kernel over the trees gets them.
    pub fn lists_rules(&self) -> bool {
        match self.max_rules {
            RuleLimit::Unlimited => false,
            RuleLimit::AtMost(_) | RuleLimit::Exactly(_) => true,
            RuleLimit::Auto => self.preset.is_none() && self.n_induced == Amount::Auto && self.kernel == crate::kernel::Kernel::Linear,
        }
    }

    /// How paths of up to `most` rules are fitted. Without a rule the machine is the linear one that whole trees start from, hinge loss and
    /// all: who declines rules gets the same machine either way.
    fn path_settings(&self, most: usize) -> Settings {
        // Newton's last steps are cheap with the squared hinge, and lists should not depend on how rows are arranged.
        let (loss, tighter) = if most == 0 { (LinearLoss::Absolute, 1e-3) } else { (LinearLoss::Squared, 1e-6) };
        Settings { c: self.c, output: self.output, loss, rough: (100.0 * self.tolerance).min(1e-2), tolerance: tighter * self.tolerance }
    }

    /// Depths of the trees that offer conjunctions, and conditions of a rule at most.
    fn sources(&self) -> (Vec<usize>, usize) {
        match self.max_depth {
            Depth::Auto => (DEPTHS.to_vec(), LONGEST),
            Depth::Unlimited => (vec![MOST_DEPTH], LONGEST),
            Depth::AtMost(depth) => (vec![depth], depth),
        }
    }

    /// Trees per depth and class that offer conjunctions.
    fn trees(&self, classes: usize) -> usize {
        let asked = if let Amount::Exactly(count) = self.n_induced { count } else { self.max_induced };
        (TREES / classes.max(1)).clamp(TREES_OF_A_CLASS.0, TREES_OF_A_CLASS.1).min(asked)
    }
}

/// The trees of all classes and source depths on a table.
fn source_trees(
    settings: &FeatureInduction,
    table: &TrainingTable,
    outputs: &[u32],
    context: &Context<'_>,
) -> Result<(Vec<Induced>, StopReason)> {
    let (depths, _) = settings.sources();
    let jobs = outputs.len() * depths.len();
    let inner = if jobs > 1 { context.with_threads(1) } else { *context };
    let results = parallel::map(context.threads, jobs, |job| {
        let class = outputs[job / depths.len()];
        if !table.codes.contains(&class) {
            return Ok((Vec::new(), StopReason::Converged));
        }
        let plan = settings.plan(class as usize);
        let plan = Plan {
            rounds: settings.trees(outputs.len()),
            tree: TreeSettings { max_depth: depths[job % depths.len()], ..plan.tree },
            finish: false,
            ..plan
        };
        let run = run(table, class, &plan, &inner, &mut |_, _| ControlFlow::Continue(()))?;
        Ok((run.features, run.stop))
    });
    let (mut trees, mut stop) = (Vec::new(), StopReason::Converged);
    for result in results {
        let (features, why) = result?;
        trees.extend(features);
        stop = stop.worst(why);
    }
    Ok((trees, stop))
}

/// Fits a list for the classes `outputs` (one for two classes, else all).
pub(super) fn fit(settings: &FeatureInduction, table: &TrainingTable, outputs: &[u32], context: &Context<'_>) -> Result<Listed> {
    let start = Instant::now();
    let (held, mut stop) = match stopped(hold_out(settings, table, outputs, context))? {
        Ok((held, stop)) => (held, stop),
        Err(reason) => (Held::Stopped, reason),
    };
    let (count, mut list, choice) = decide(settings, table, &held);
    let halted = |stop: StopReason| matches!(stop, StopReason::TimeLimit | StopReason::Interrupted);
    let mut pool = Vec::new();
    if count > 0 && !halted(stop) {
        let (trees, why) = source_trees(settings, table, outputs, context)?;
        stop = stop.worst(why);
        let (_, longest) = settings.sources();
        match stopped(candidates(table, &trees, longest, settings.min_samples_leaf, context))? {
            Ok(found) => pool = found,
            Err(reason) => stop = stop.worst(reason),
        }
    }
    let tree_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let most = if halted(stop) { 0 } else { count.min(pool.len()) };
    let path = stepwise(table, outputs, &pool, most, &settings.path_settings(most), context)?;
    let refit_seconds = start.elapsed().as_secs_f64();
    // By the tolerance that was asked for.
    let reached = path.solutions.iter().flatten().all(|solution| solution.gap <= settings.tolerance);
    stop = stop.worst(if reached && !halted(path.stop) { StopReason::Converged } else { path.stop });
    list.chosen = path.features.len();
    list.candidates = pool.len();
    if list.chosen < count {
        let why = if halted(stop) { "the fit was stopped" } else { "no further rule promised anything" };
        list.reason = format!("{}; found: {}, because {why}", list.reason, counted(list.chosen, "rule"));
    }
    let mut report = FitReport { stop, iterations: path.iterations, ..FitReport::default() };
    for solution in path.solutions.iter().flatten() {
        report.objective -= solution.objective;
        report.gap = worse(report.gap, solution.gap);
        report.violation = worse(report.violation, solution.gap);
    }
    let machine = machine(&path, table.original());
    let declined = (list.chosen == 0).then(|| list.reason.clone());
    let ending = if halted(stop) { Ending::Stopped } else { Ending::Enough };
    let mut inductions: Vec<Induction> = path
        .stages
        .into_iter()
        .map(|stages| {
            if stages.is_empty() {
                return Induction::unseen();
            }
            let (choice, declined) = (choice.clone(), declined.clone());
            Induction { features: Vec::new(), stages, ending, choice, declined, tree_seconds: 0.0, refit_seconds: 0.0 }
        })
        .collect();
    // The rules are all classes': they are kept once.
    inductions[0].features = path.features;
    (inductions[0].tree_seconds, inductions[0].refit_seconds) = (tree_seconds, refit_seconds);
    Ok(Listed { inductions, machine, list, report })
}

/// How many rules, and why.
fn decide(settings: &FeatureInduction, table: &TrainingTable, held: &Held) -> (usize, RuleList, Option<Choice>) {
    let plain = |chosen: usize, reason: String| RuleList {
        errors: Vec::new(),
        uncertainties: Vec::new(),
        chosen,
        best: chosen,
        unlimited_error: None,
        candidates: 0,
        reason,
    };
    match (held, settings.max_rules) {
        (Held::Found { list, choice }, _) => (list.chosen, list.clone(), Some(choice.clone())),
        (_, RuleLimit::Exactly(count)) => (count, plain(count, format!("{}, as asked for", counted(count, "rule"))), None),
        (Held::Stopped, _) => (0, plain(0, "stopped before held-out rows had been judged".into()), None),
        (Held::TooFew, RuleLimit::AtMost(count)) => {
            let reason = format!(
                "{} rows are too few, or a class has too few different ones, to hold some out: all rules that were asked for",
                table.rows()
            );
            (count, plain(count, reason), None)
        }
        (Held::TooFew, _) => {
            let reason = format!(
                "{} rows are too few, or a class has too few different ones, to hold some out: give a number of rules (or of features) to induce anyway",
                table.rows()
            );
            (0, plain(0, reason), None)
        }
    }
}

/// The last stage of every class as one machine over the original columns and the rules.
fn machine(path: &path::Path, original: usize) -> LinearMachine {
    let features = original + path.features.len();
    let mut machine = LinearMachine { weights: Vec::with_capacity(features * path.stages.len()), biases: Vec::new(), features };
    for stages in &path.stages {
        match stages.last() {
            Some(stage) => {
                machine.weights.extend_from_slice(&stage.weights);
                machine.biases.push(stage.bias);
            }
            None => {
                machine.weights.resize(machine.weights.len() + features, 0.0);
                machine.biases.push(f64::NEG_INFINITY);
            }
        }
    }
    machine
}
