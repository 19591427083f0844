//! Problems without bounds worth the name, which may have no end at all.
//!
//! Where classes cannot be separated and C has no end, the multipliers grow with every step and nothing comes closer: of points with kernel
//! values up to `k` and multipliers of sum `s`, the squared distance of the classes' hulls is at most `4 / s`, a share of `4 / (s k)` of the
//! largest that there could be.

use crate::solver::dual::DualProblem;

/// Room between bounds that stands for no bounds at all.
const NO_BOUNDS: f64 = 1e30;
/// Steps without bounds, in all and per sample, in which the violation has to fall to this share of itself.
const PATIENCE: u64 = 500_000;
const PER_SAMPLE: u64 = 500;
pub(in crate::solver) const CLOSER: f64 = 0.9;
/// Sum of multipliers times the largest kernel value from which on hulls count as touching.
const SIZE: f64 = 1e6;

/// Whether a problem has no bounds worth the name.
pub(in crate::solver) fn is_endless(problem: &DualProblem<'_>) -> bool {
    problem.lower.iter().zip(problem.upper).any(|(low, high)| high - low > NO_BOUNDS)
}

/// When the violation last fell clearly below what it had been, and to what.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Endless(f64, u64);

impl Endless {
    pub(in crate::solver) fn from(iteration: u64) -> Self {
        Self(f64::INFINITY, iteration)
    }

    /// Whether nothing has come closer for long enough to ask [`grow_for_ever`].
    pub(in crate::solver) fn is_tired(&mut self, violation: f64, iteration: u64, samples: usize) -> bool {
        if violation < CLOSER * self.0 {
            *self = Self(violation, iteration);
        } else if iteration - self.1 > PATIENCE + PER_SAMPLE * samples as u64 {
            self.1 = iteration;
            return true;
        }
        false
    }
}

/// Whether the multipliers are far beyond those of any margin that matters.
pub(in crate::solver) fn grow_for_ever(b: &[f64], diagonal: f64) -> bool {
    diagonal * b.iter().map(|b| b.abs()).sum::<f64>() > SIZE
}
