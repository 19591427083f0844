//! When to give up: points that rounding keeps from their solution, and problems that have none.
//!
//! A set whose own steps are lost in rounding is solved as far as it can be; the next one usually is not, and the violation goes on
//! falling. Where it does not, set after set, the kernel has directions whose curvature this precision cannot tell from zero (equal rows in
//! different classes, and a C so large that a step along them never comes to a bound), or coefficients are so large that gradients are
//! rounding and nothing else. The next precision does better than patience then. Without bounds worth the name coefficients may grow for
//! ever; the test for that is the one of the pair steps.

use super::ease::unit;
use super::run::{End, Loop};
use crate::solver::smo::{CLOSER, Endless, grow_for_ever, is_endless};

/// Lost rounds in a row, and times as many as all rows are sets, without a violation clearly below the least one before.
const LOST_ROUNDS: usize = 10;
const LOST_SWEEPS: usize = 2;
/// Gradients are lost when they drift by so many times the range of slopes at zero.
const LOST: f64 = 100.0;

/// What tells rounds that come closer from rounds that do not.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// The least violation so far, and lost rounds since it was found.
    least: f64,
    lost: usize,
    most: usize,
    /// Drift from which on gradients are lost.
    drift: f64,
    endless: Option<Endless>,
}

impl Patience {
    /// For one descent.
    pub(super) fn new(run: &Loop<'_>) -> Self {
        let endless = is_endless(run.problem).then(|| Endless::from(*run.iterations));
        let unit = unit(run.problem.linear);
        let drift = if unit > 0.0 { LOST * unit } else { f64::INFINITY };
        Self { least: f64::INFINITY, lost: 0, most: LOST_ROUNDS + LOST_SWEEPS * run.b.len() / run.plan.set.max(1), drift, endless }
    }

    /// After a set that rounding kept from its stop (`stuck`) or not: whether to end, and how.
    pub(super) fn round(&mut self, run: &Loop<'_>, gap: f64, stuck: bool) -> Option<End> {
        if gap < CLOSER * self.least {
            (self.least, self.lost) = (gap, 0);
        } else {
            self.lost = if stuck || run.drift() >= self.drift { self.lost + 1 } else { 0 };
        }
        if self.lost >= self.most {
            return Some(End::Stalled);
        }
        let endless = self.endless.as_mut()?;
        let over = endless.is_tired(gap, *run.iterations, run.b.len()) && grow_for_ever(run.b, run.plan.diagonal);
        over.then_some(End::Endless)
    }
}
