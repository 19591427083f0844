//! The problem without an equality (a machine without bias): one variable at a time.
//!
//! ```text
//! i    = argmax of slope_i^2 / K_ii over variables that may move against their slope
//! step = -slope_i / K_ii, cut at the bounds and at the kink
//! ```
//! The best single coordinate by second order (Steinwart, Hush and Scovel 2011, section 2). Rows come one by one in double precision
//! and the last few hundred are kept.

use super::certificate::{certify, slopes};
use super::dual::{DualProblem, Options};
use crate::kernel::KernelRows;
use crate::observe::{Context, Progress, StopReason};

/// Rows kept at the most.
const KEPT_BYTES: usize = 64 << 20;

// long: one loop over coordinates; its bookkeeping changes together.
pub(super) fn descend(
    kernel: &dyn KernelRows<f64>,
    diagonal: &[f64],
    problem: &DualProblem<'_>,
    b: &mut [f64],
    gradient: &mut [f64],
    options: &Options,
    iterations: &mut u64,
    context: &Context<'_>,
) -> StopReason {
    let n = b.len();
    let width = n.next_multiple_of(context.isa.lanes::<f64>());
    let floor = diagonal.iter().fold(0.0, |a: f64, v| a.max(v.abs())) * 1e-15 + 1e-300;
    let slots = (KEPT_BYTES / (width * size_of::<f64>())).clamp(1, n);
    let mut rows = vec![0.0; slots * width];
    let mut owner: Vec<Option<usize>> = vec![None; slots];
    let row = (n as u64).saturating_mul(1 + kernel.work() as u64);
    let ask_every = ((1u64 << 24) / row.saturating_add(5_000)).max(1);
    // The smallest violation so far, and the step that had it.
    let mut progress_at = (f64::INFINITY, *iterations);
    loop {
        let (mut best, mut chosen, mut violation) = (0.0, None, 0.0f64);
        for i in 0..n {
            let (up, low) = slopes(problem, b[i], gradient[i]);
            let slope = if up < 0.0 && b[i] < problem.upper[i] {
                up
            } else if low > 0.0 && b[i] > problem.lower[i] {
                low
            } else {
                continue;
            };
            violation = violation.max(slope.abs());
            let gain = slope * slope / diagonal[i].max(floor);
            if gain > best {
                (best, chosen) = (gain, Some((i, slope)));
            }
        }
        let Some((i, slope)) = chosen.filter(|_| violation > options.tolerance) else { return StopReason::Converged };
        if !(violation * violation).is_finite() {
            return StopReason::Rounding;
        }
        if violation < progress_at.0 {
            progress_at = (violation, *iterations);
        } else if *iterations - progress_at.1 > 1000 + 20 * n as u64 {
            // As in `smo`: rounding errors of the numbers in play, moved about for ever.
            let slope = gradient.iter().fold(problem.kink, |a, v| a.max(v.abs()));
            let size = slope + 1e15 * floor * b.iter().map(|b| b.abs()).sum::<f64>();
            if violation <= 64.0 * f64::EPSILON * size {
                return StopReason::Rounding;
            }
            progress_at.1 = *iterations;
        }
        if options.max_iterations.is_some_and(|most| *iterations >= most) {
            return StopReason::MaxIterations;
        }
        if *iterations % ask_every == ask_every - 1 {
            let progress =
                Progress { stage: "solve", done: *iterations, total: None, violation: Some(violation), tolerance: Some(options.tolerance) };
            if let Some(reason) = context.check(&progress) {
                return reason;
            }
        }
        *iterations += 1;
        let old = b[i];
        let wanted = old - slope / diagonal[i].max(floor);
        let (mut low, mut high) = (problem.lower[i], problem.upper[i]);
        if problem.kink != 0.0 {
            // The slope changes at zero: stop there.
            if old > 0.0 {
                low = low.max(0.0);
            } else if old < 0.0 {
                high = high.min(0.0);
            }
        }
        b[i] = wanted.clamp(low, high);
        if b[i] == old {
            // The step was lost in rounding.
            return StopReason::Rounding;
        }
        let slot = i % slots;
        let row = &mut rows[slot * width..(slot + 1) * width];
        if owner[slot] != Some(i) {
            kernel.fill(&[i], 0..n, &mut [row]);
            owner[slot] = Some(i);
        }
        let step = b[i] - old;
        gradient.iter_mut().zip(row.iter()).for_each(|(g, k)| *g += step * k);
        debug_assert!(certify(problem, b, gradient).objective.is_finite());
    }
}
