//! When Newton's steps are worth a try.

use super::super::engine::Costs;

/// Face steps below this violation, and the active set below that one, for targets whose slopes differ by 2 at the start.
const FACE_FROM: f64 = 1.0;
const ACTIVE_SET_FROM: f64 = 0.3;
/// Solutions of systems that a step takes, about, and seconds that it takes besides.
const SOLVES: f64 = 1.8;
const BESIDES: f64 = 1e-3;
/// Newton's steps may take this share of the time of rounds.
const SHARE: f64 = 0.5;
/// Rounds between two of them take this many times a system's solution.
const BURST: f64 = 2.0;
/// The active set is tried again at this share of the violation of the last try.
const AGAIN: f64 = 0.4;
/// After so many faces that led nowhere, the next waits for this share of the violation.
const PATIENCE: usize = 2;
const WAIT: f64 = 0.5;
/// Fewer free variables than this are left to rounds.
const FEWEST: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Face,
    ActiveSet,
}

/// What was spent on rounds and on Newton's steps, on paper, and what came of it.
pub(in super::super) struct Schedule {
    costs: Option<Costs>,
    /// Unit of violations.
    scale: f64,
    rounds: f64,
    newton: f64,
    /// Rounds at the last try.
    last: f64,
    failures: usize,
    face_below: f64,
    active_set_below: f64,
}

impl Schedule {
    /// `scale` is half the range of slopes at zero.
    pub(in super::super) fn new(costs: Option<Costs>, scale: f64) -> Self {
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let (face_below, active_set_below) = (FACE_FROM * scale, ACTIVE_SET_FROM * scale);
        Self { costs, scale, rounds: 0.0, newton: 0.0, last: 0.0, failures: 0, face_below, active_set_below }
    }

    /// A round with a set of `size`, so many pair steps, and so many columns that moved on `active` rows.
    pub(in super::super) fn round(&mut self, size: usize, steps: u64, moved: usize, active: usize) {
        let Some(costs) = &self.costs else { return };
        let values = moved as f64 * active as f64 + (size * size) as f64;
        self.rounds += costs.round + steps as f64 * costs.step + values * costs.value;
    }

    /// Seconds of one system of this size.
    fn system(costs: &Costs, size: usize) -> f64 {
        let n = size as f64;
        n * n * (n / 3.0 * costs.operation + costs.exact) + n * costs.variable
    }

    /// Which step to try now.
    pub(super) fn due(&self, gap: f64, free: usize) -> Option<Kind> {
        let costs = self.costs.as_ref()?;
        let kind = match gap {
            gap if gap <= self.active_set_below => Kind::ActiveSet,
            gap if gap <= self.face_below => Kind::Face,
            _ => return None,
        };
        if free < FEWEST || free > costs.most {
            return None;
        }
        let one = Self::system(costs, free);
        if self.newton + SOLVES * one + BESIDES > SHARE * self.rounds || self.rounds < self.last + BURST * one {
            return None;
        }
        Some(kind)
    }

    pub(super) fn tried(&mut self, kind: Kind, gap: f64, factors: f64, size: usize, moved: bool) {
        if let Some(costs) = &self.costs {
            self.newton += factors * Self::system(costs, size) + BESIDES;
        }
        self.last = self.rounds;
        match kind {
            Kind::ActiveSet => self.active_set_below = AGAIN * gap,
            Kind::Face if moved => self.failures = 0,
            Kind::Face => {
                self.failures += 1;
                if self.failures >= PATIENCE {
                    self.face_below = WAIT * gap;
                }
            }
        }
    }

    /// Double precision has spoken: what was tried on slopes that had drifted may work now.
    pub(in super::super) fn refreshed(&mut self) {
        self.active_set_below = ACTIVE_SET_FROM * self.scale;
    }

    /// Variables that a factor may have.
    pub(super) fn most(&self) -> usize {
        self.costs.as_ref().map_or(0, |costs| costs.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_waits_for_rounds_and_learns_from_failures() {
        let costs = Costs { round: 1e-3, step: 1e-6, value: 1e-12, exact: 1e-11, operation: 1e-13, variable: 1e-6, most: 5000 };
        let mut schedule = Schedule::new(Some(costs), 1.0);
        assert_eq!(schedule.due(0.5, 1000), None, "nothing was spent on rounds yet");
        (0..100).for_each(|_| schedule.round(1024, 500, 800, 20_000));
        assert_eq!(schedule.due(2.0, 1000), None, "too far away");
        assert_eq!(schedule.due(0.5, 6000), None, "too many");
        assert_eq!(schedule.due(0.5, 10), None, "too few");
        assert_eq!(schedule.due(0.5, 1000), Some(Kind::Face));
        assert_eq!(schedule.due(0.05, 1000), Some(Kind::ActiveSet));
        schedule.tried(Kind::ActiveSet, 0.05, 3.0, 1000, false);
        assert_eq!(schedule.due(0.04, 1000), None, "rounds first");
        (0..100).for_each(|_| schedule.round(1024, 500, 800, 20_000));
        assert_eq!(schedule.due(0.04, 1000), Some(Kind::Face), "again only much nearer");
        assert_eq!(schedule.due(0.01, 1000), Some(Kind::ActiveSet));
        schedule.tried(Kind::Face, 0.04, 3.0, 1000, false);
        schedule.tried(Kind::Face, 0.04, 3.0, 1000, false);
        (0..100).for_each(|_| schedule.round(1024, 500, 800, 20_000));
        assert_eq!(schedule.due(0.03, 1000), None, "faces wait");
        assert_eq!(Schedule::new(None, 1.0).due(0.5, 1000), None, "an engine without systems");
    }
}
