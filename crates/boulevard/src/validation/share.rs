//! Who works on what: many small solvers side by side, or all threads inside one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::observe::{Context, StopReason};
use crate::solver::CardLanes;

/// Samples from which two threads inside one solver beat two solvers with a thread each.
const LARGE: usize = 5000;

/// How many of `units` pieces of work on `samples` samples run at once, and the context for each. No result depends on the choice.
///
/// On a card every lane has a thread that drives it.
pub(super) fn share<'a>(context: &Context<'a>, samples: usize, units: usize, lanes: Option<&CardLanes>) -> (usize, Context<'a>) {
    let at_once = match lanes {
        Some(lanes) => lanes.at_once.min(units).max(1),
        None if samples >= LARGE => 1,
        None => context.threads.min(units).max(1),
    };
    let inner = match lanes {
        Some(_) => context.with_threads(context.threads / at_once),
        None if at_once > 1 => context.with_threads(1),
        None => *context,
    };
    (at_once, Context { memory: context.memory.map(|bytes| bytes / at_once), ..inner })
}

/// Counts finished steps and remembers why the work has to stop: once one thread is told, all of them are.
pub(super) struct Counter<'a> {
    context: &'a Context<'a>,
    stage: &'static str,
    total: usize,
    done: AtomicUsize,
    stop: Mutex<Option<StopReason>>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(context: &'a Context<'a>, stage: &'static str, total: usize) -> Self {
        Self { context, stage, total, done: AtomicUsize::new(0), stop: Mutex::new(None) }
    }

    /// Whether to go on; asked before every step.
    pub(super) fn go_on(&self) -> bool {
        let mut stop = self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if stop.is_none() {
            *stop = self.context.step(self.stage, self.done.load(Ordering::Relaxed), self.total);
        }
        stop.is_none()
    }

    /// A step is finished, or was cut short for `reason`. `true` if its result counts.
    pub(super) fn finish(&self, reason: StopReason) -> bool {
        if reason.is_cut_short() {
            let mut stop = self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *stop = Some(stop.unwrap_or_default().worst(reason));
            return false;
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Why the work stopped early; [`StopReason::Converged`] if it did not.
    pub(super) fn reason(&self) -> StopReason {
        self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner).unwrap_or_default()
    }
}
