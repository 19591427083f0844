//! The set's own problem: pair steps on its kernel matrix, everything else fixed.

use std::ops::ControlFlow;

use super::engine::{Halt, Outcome, Set, SetSolution};
use crate::kernel::KernelRows;
use crate::observe::{Context, Observer, Progress, StopReason};
use crate::parallel::Crew;
use crate::simd::Real;
use crate::solver::dual::{DualProblem, Equality};
use crate::solver::smo::{self, Budget, Engine, Limits};

/// Tells whoever watches about the whole problem, not about the set.
struct Watcher<'a> {
    observer: &'a dyn Observer,
    progress: &'a Progress<'a>,
}

impl Observer for Watcher<'_> {
    fn on_progress(&self, of_set: &Progress<'_>) -> ControlFlow<()> {
        self.observer.on_progress(&Progress { done: self.progress.done + of_set.done, ..self.progress.clone() })
    }
}

/// Solves a set on one thread, from its kernel matrix: its passes are too short to be cut.
pub(super) fn solve<T: Real>(gram: &dyn KernelRows<T>, diagonal: &[f64], set: &Set<'_>, context: &Context<'_>) -> Outcome<SetSolution> {
    let q = set.ids.len();
    let linear = vec![0.0; q];
    let equality = if set.second.is_empty() { Equality::Sum } else { Equality::TwoSums(set.second) };
    let problem = DualProblem { linear: &linear, lower: set.lower, upper: set.upper, kink: set.kink, equality, start: None };
    let watcher = context.observer.map(|observer| Watcher { observer, progress: &set.progress });
    let observer = watcher.as_ref().map(|watcher| watcher as &dyn Observer);
    let context = Context { observer, threads: 1, ..*context };
    let mut engine = Engine::new(gram, diagonal, 0, Budget { first: 0, most: 0 }, 1, &context);
    let mut b = set.start.to_vec();
    engine.load(&problem, &b, set.gradient, diagonal, &context);
    let limits = Limits { tolerance: set.stop, max_iterations: set.max_steps, pause_at: None, shrink_after: None, leave_crowded: false };
    let mut steps = 0;
    match engine.run(&problem, &mut b, &limits, &mut steps, &mut Crew::new(1), &context) {
        // Out of steps: what was gained counts, and the loop sees for itself.
        smo::PassOutcome::Stopped(reason) if reason != StopReason::MaxIterations => Err(Halt::Stop(reason)),
        outcome => Ok(SetSolution { b, steps, stuck: outcome == smo::PassOutcome::Stuck }),
    }
}
