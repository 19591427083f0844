//! From the first set to the certificate: outer sets, parked rows brought back, gradients in double precision.
//!
//! Sums in single precision drift, by some 1e-3 after a hundred thousand columns at C = 10. So the loop never judges itself: before it ends,
//! the gradient of every row that could matter is computed anew in double precision (support vectors, because the objective and the
//! duality gap are sums over them, and rows whose slope is near the extremes). Rows far from both cannot change the violation unless they
//! drifted further than the margin; the corrections seen, a sample of far rows among them, say whether the margin was wide enough.

use super::engine::{Halt, Moved, Narrow, Outcome, Recheck};
use super::run::{End, Loop};
use super::set::WorkingSet;
use crate::observe::StopReason;
use crate::solver::smo::{grow_for_ever, is_endless};

/// The loop stops this much below the tolerance, to make up for what it drifts after the refresh.
const MARGIN: f64 = 0.95;
/// Outer sets are used down to this share of the violation at the start.
const OUTER_UNTIL: f64 = 0.5;
/// And solved to this share of theirs.
const OUTER_STOP: f64 = 0.3;
/// Outer rounds at most: beyond, plain rounds do better.
const OUTER_ROUNDS: usize = 40;
/// Sums drift by about this many times rounding and the size of the point.
const DRIFT: f64 = 20.0;
/// Drift that is looked after on the way, as a share of the tolerance.
const REFRESH_FROM: f64 = 0.3;
/// The margin around the extremes is this many times the largest correction.
const SAFETY: f64 = 4.0;
/// A check must bring the true violation below this share of the last one, or the precision is exhausted.
const PROGRESS: f64 = 0.7;
/// Checks without progress before that.
const PATIENCE: usize = 2;
/// Seconds that a final check may take after an interruption.
const INTERRUPTED: f64 = 0.12;

/// How the blocked loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As far as asked, or stopped for this reason. The gradient is checked in double precision where it matters.
    Done(StopReason),
    /// Interrupted, with a check that would have taken too long: violation and gap are unknown.
    Unchecked,
    /// Some rows were lost and did not come back: whatever is said of the others, violation and gap are unknown.
    Incomplete,
    /// This precision cannot reach the tolerance.
    Exhausted,
}

impl Loop<'_> {
    /// Solves the problem.
    pub(super) fn run(&mut self) -> Outcome<Verdict> {
        match self.solve() {
            Err(Halt::Stop(reason)) => self.stopped(reason),
            other => other,
        }
    }

    fn solve(&mut self) -> Outcome<Verdict> {
        self.begin()?;
        let mut set = WorkingSet::new(self.plan.set);
        self.ease(&mut set)?;
        let outer = self.outer_sets()?;
        let mut answer = self.look(&set)?;
        let mut best = f64::INFINITY;
        let mut failures = 0;
        if outer == End::Cut {
            return Ok(self.certify()?.map_or(Verdict::Incomplete, |_| Verdict::Done(StopReason::MaxIterations)));
        }
        loop {
            let target = MARGIN * self.options.tolerance;
            let (_, end) = self.descend(&mut set, answer, target, true)?;
            if self.is_narrow() {
                self.widen()?;
                answer = self.look(&set)?;
                if end == End::Reached && answer.gap() > self.options.tolerance {
                    continue;
                }
            }
            if end == End::Cut {
                self.settle_for()?;
            }
            let Some(gap) = self.certify()? else { return Ok(Verdict::Incomplete) };
            if gap <= self.options.tolerance {
                return Ok(Verdict::Done(StopReason::Converged));
            }
            if end == End::Endless {
                return Ok(Verdict::Done(StopReason::Rounding));
            }
            if end == End::Cut {
                return Ok(Verdict::Done(StopReason::MaxIterations));
            }
            failures += usize::from(gap > PROGRESS * best) + usize::from(end == End::Stalled);
            if failures > PATIENCE {
                // More digits do not help where there is no solution.
                let endless = is_endless(self.problem) && grow_for_ever(self.b, self.plan.diagonal);
                return Ok(if endless { Verdict::Done(StopReason::Rounding) } else { Verdict::Exhausted });
            }
            best = best.min(gap);
            self.schedule.refreshed();
            self.refreshed = true;
            answer = self.look(&set)?;
        }
    }

    /// Far from the solution one large set at a time, solved by smaller ones: what the others do to each other is settled before
    /// everybody hears of it.
    fn outer_sets(&mut self) -> Outcome<End> {
        let Some(size) = self.plan.outer else { return Ok(End::Reached) };
        let mut wide = WorkingSet::new(size);
        let mut answer = self.look(&wide)?;
        let first = answer.gap();
        for _ in 0..OUTER_ROUNDS {
            let gap = answer.gap();
            if gap <= OUTER_UNTIL * first || gap <= MARGIN * self.options.tolerance {
                break;
            }
            let (ids, _) = wide.renew(&answer, 1);
            self.narrow(Narrow::To(&ids))?;
            let mut set = WorkingSet::new(self.plan.set);
            let inner = self.look(&set)?;
            let target = (OUTER_STOP * gap).max(MARGIN * self.options.tolerance);
            let (_, end) = self.descend(&mut set, inner, target, false)?;
            self.widen()?;
            if end != End::Reached {
                return Ok(end);
            }
            let (problem, b) = (self.problem, &*self.b);
            wide.keep(|id| crate::solver::smo::inside(problem, id as usize, b[id as usize]), false);
            answer = self.look(&wide)?;
        }
        Ok(End::Reached)
    }

    /// All support vectors and their coefficients.
    pub(super) fn support(&self) -> (Vec<u32>, Vec<f64>) {
        let ids: Vec<u32> = (0..self.b.len()).filter(|&i| self.b[i] != 0.0).map(|i| i as u32).collect();
        let values = ids.iter().map(|&id| self.b[id as usize]).collect();
        (ids, values)
    }

    /// How far gradients may have drifted.
    pub(super) fn drift(&self) -> f64 {
        DRIFT * self.plan.rounding * self.b.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Active gradients in double precision, where drift can matter; whether that was so.
    pub(super) fn refresh(&mut self) -> Outcome<bool> {
        if self.drift() <= REFRESH_FROM * self.options.tolerance {
            return Ok(false);
        }
        let (ids, values) = self.support();
        self.engine.recheck(Moved { ids: &ids, steps: &values, status: &[] }, Recheck::Active)?;
        Ok(true)
    }

    /// The true violation; gradients that matter are those of double precision afterwards. Every row must be active. None if some rows are
    /// gone for good.
    fn certify(&mut self) -> Outcome<Option<f64>> {
        if !self.engine.settle()? {
            return Ok(None);
        }
        let (ids, values) = self.support();
        let support = Moved { ids: &ids, steps: &values, status: &[] };
        let nothing = WorkingSet::new(0);
        let mut slack = (2.0 * self.options.tolerance).max(2.0 * self.drift());
        loop {
            let answer = self.look(&nothing)?;
            let drift = self.engine.recheck(support, Recheck::Near { extremes: answer.extremes, slack })?;
            if SAFETY * drift.largest <= slack || drift.rows == 0 {
                return Ok(Some(self.look(&nothing)?.gap().max(0.0)));
            }
            slack = 2.0 * SAFETY * drift.largest;
        }
    }

    /// The last point whose gradient is known, and how good it is.
    fn stopped(&mut self, reason: StopReason) -> Outcome<Verdict> {
        self.engine.unwatch();
        let support = self.b.iter().filter(|&&v| v != 0.0).count() as f64;
        // Rows near the margin are support vectors for the most part; parked ones have to catch up first.
        let values = support * (1.5 * support + (self.b.len() - self.active) as f64);
        if reason == StopReason::Interrupted && self.engine.seconds_for(values) > INTERRUPTED {
            return Ok(Verdict::Unchecked);
        }
        self.begin()?;
        self.widen()?;
        // A point within small bounds would be judged by them.
        self.settle_for()?;
        Ok(self.certify()?.map_or(Verdict::Incomplete, |_| Verdict::Done(reason)))
    }
}
