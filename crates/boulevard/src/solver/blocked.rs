//! The solver's door to the blocked loop: sizes, memory, precision.

use super::blocks::{self, CardBlocks, CpuBlocks, Plan, Verdict, exact_bytes};
use super::dual::{DualProblem, Options};
use super::route::{self, Route};
use super::solve::Solver;
use super::source::KernelSource;
use crate::error::{Error, Result};
use crate::observe::{Context, Device, StopReason};
use crate::simd::Real;

/// Variables in a set, for problems below and from [`LARGE`]; larger sets need fewer columns in all, but their steps leave the cache.
const SETS: [usize; 2] = [1024, 2048];
const LARGE: usize = 15_000;
/// Problems from this size begin with outer sets of a fifth of the samples.
const HUGE: usize = 40_000;
const OUTER: usize = 5;
/// The smallest set that makes sense, and the bytes of its kernel matrix.
const SMALLEST_SET: usize = 256;
pub(super) const SMALLEST_SET_BYTES: usize = SMALLEST_SET * SMALLEST_SET * size_of::<f32>();
/// A kernel whose values are wrong by more than this many times the tolerance is not tried in single precision.
const HOPELESS: f64 = 30.0;
/// Columns per row after which blocks of a kernel that is not positive semi-definite are given up: ten times what hard problems of others take.
const MOST_COLUMNS: u64 = 50;
/// Bytes per sample of gradients, bounds (small ones of a first stage too), statuses and numbers, and of the targets in the caller's hands.
const PER_SAMPLE: usize = 224;

/// Bytes of all but the set while a blocked fit solves: tables in single precision in both layouts, the active rows once more, a block of
/// the exact check, some numbers per sample.
pub(super) fn bytes_beside_set(source: &dyn KernelSource, context: &Context<'_>) -> usize {
    bytes_of_values(source, 12).saturating_add(2 * exact_bytes(context)).saturating_add(PER_SAMPLE * source.len())
}

/// Bytes that a blocked fit cannot do without: a small set while it solves, and later the support vectors that the model keeps.
pub(super) fn fewest_bytes(source: &dyn KernelSource, context: &Context<'_>) -> usize {
    let model = bytes_of_values(source, 8 + 8).saturating_add(PER_SAMPLE * source.len());
    bytes_beside_set(source, context).saturating_add(SMALLEST_SET_BYTES).max(model)
}

/// Bytes that a blocked fit takes where nothing limits it.
pub(super) fn usual_bytes(source: &dyn KernelSource, context: &Context<'_>) -> usize {
    let set = SETS[usize::from(source.len() >= LARGE)];
    bytes_beside_set(source, context).saturating_add(set * set * size_of::<f32>())
}

/// So many bytes for every value of the table; both packings in both precisions are 24.
fn bytes_of_values(source: &dyn KernelSource, bytes: usize) -> usize {
    (source.table_bytes() / 24).saturating_mul(bytes)
}

/// How the blocked loop ended.
pub(super) struct Ended {
    pub stop: StopReason,
    /// Whether violation and gap are known.
    pub checked: bool,
    pub route: Route,
}

impl Solver<'_> {
    /// The blocked loop until the true violation is within the tolerance. With `unknown` the gradient is that of zero, not that of `b`.
    pub(super) fn blocks(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        unknown: bool,
        b: &mut [f64],
        gradient: &mut Vec<f64>,
        iterations: &mut u64,
    ) -> Result<Ended> {
        let ended = |stop, checked, route| Ok(Ended { stop, checked, route });
        let mut unknown = unknown;
        let definite = route::may_block(self.source);
        if let Some(card) = self.card.clone() {
            let copy = self.source.card_copy().unwrap_or(&self.copy);
            let on_card = if definite { Route::Card } else { Route::CardIndefinite };
            let solved = CardBlocks::new(card, self.source, copy, problem.linear, &self.context).and_then(|mut engine| {
                let plan = Plan { most_columns: (!definite).then(|| MOST_COLUMNS * problem.len() as u64), ..engine.plan() };
                blocks::solve(&mut engine, problem, options, plan, unknown, b, gradient, iterations)
            });
            match solved {
                Ok(Verdict::Done(reason)) => return ended(reason, true, on_card),
                Ok(Verdict::Unchecked | Verdict::Incomplete) => return ended(StopReason::Interrupted, false, on_card),
                Ok(Verdict::Exhausted) if !definite => return self.pairs_after_card(problem, options, b, gradient, iterations),
                Ok(Verdict::Exhausted) => unknown = false,
                // The point is one that the constraints allow: the processor goes on from there.
                Err(Error::Device { reason, .. }) if self.context.device == Device::Auto => {
                    self.context.note(&format!("{reason}; going on with the processor"));
                    self.card = None;
                    unknown = b.iter().any(|&v| v != 0.0);
                    *gradient = problem.linear.to_vec();
                }
                Err(error) => return Err(error),
            }
        }
        for double in [false, true] {
            let (plan, verdict);
            if double {
                plan = self.plan::<f64>(problem);
                let mut engine = CpuBlocks::new(self.source, self.source.double()?, problem.linear, &mut self.crew, &self.context);
                verdict = blocks::solve(&mut engine, problem, options, plan, unknown, b, gradient, iterations)?;
            } else {
                if self.source.single()?.accuracy() > HOPELESS * options.tolerance {
                    continue;
                }
                plan = self.plan::<f32>(problem);
                let mut engine = CpuBlocks::new(self.source, self.source.single()?, problem.linear, &mut self.crew, &self.context);
                verdict = blocks::solve(&mut engine, problem, options, plan, unknown, b, gradient, iterations)?;
            }
            unknown = false;
            let route = if double { Route::Delicate } else { Route::default() };
            match verdict {
                Verdict::Done(reason) => return ended(reason, true, route),
                Verdict::Unchecked | Verdict::Incomplete => return ended(StopReason::Interrupted, false, route),
                Verdict::Exhausted => {}
            }
        }
        let mut error = 0.0;
        let stop = self.pairs(problem, options, false, b, gradient, iterations, &mut error)?;
        ended(stop.unwrap_or_default(), error.is_finite(), Route::Delicate)
    }

    /// Pair steps from where blocks of a kernel that is not positive semi-definite gave up.
    pub(super) fn pairs_after_card(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        b: &mut [f64],
        gradient: &mut Vec<f64>,
        iterations: &mut u64,
    ) -> Result<Ended> {
        // Gradients far from the extremes are still those of the card's sums.
        let (stop, checked) = match self.exact_gradient(problem, b, gradient)? {
            Some(reason) => (reason, false),
            None => {
                let mut error = 0.0;
                let stop = self.pairs(problem, options, false, b, gradient, iterations, &mut error)?;
                (stop.unwrap_or_default(), error.is_finite())
            }
        };
        Ok(Ended { stop, checked, route: Route::CardThenPairs })
    }

    /// Sizes for a problem, within the memory there is.
    fn plan<T: Real>(&self, problem: &DualProblem<'_>) -> Plan {
        let n = problem.len();
        let room = ((self.set_bytes / size_of::<T>()) as f64).sqrt() as usize / 64 * 64;
        let fit = |size: usize| size.min(room).max(SMALLEST_SET);
        let cold = problem.start.is_none();
        Plan {
            set: fit(SETS[usize::from(n >= LARGE)]),
            small_set: fit(SETS[0]),
            outer: (n >= HUGE && cold).then_some(n / OUTER),
            rounding: T::ROUNDING,
            eased: cold.then(|| self.largest_diagonal()),
            diagonal: self.largest_diagonal(),
            thinned: 1,
            ahead: self.context.memory.is_none(),
            most_columns: None,
        }
    }
}
