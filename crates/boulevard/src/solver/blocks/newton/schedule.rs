//! When Newton's steps are worth a try.

use super::super::engine::Costs;
use super::system::AT_FIRST;

/// Face steps below this violation, and the active set below that one, for targets whose slopes differ by 2 at the start. Further away a
/// third of the variables and more would be cut: rounds are faster there.
const FACE_FROM: f64 = 0.4;
const ACTIVE_SET_FROM: f64 = 0.1;
/// Solutions of systems that a step takes, about, and seconds that it takes besides.
const SOLVES: f64 = 1.8;
const BESIDES: f64 = 1e-3;
/// Newton's steps may take this many times the time of rounds.
const SHARE: f64 = 2.0;
/// Rounds between two of them take this many times a system's solution.
const BURST: f64 = 0.5;
/// The active set is tried again at this share of the violation of the last try.
const AGAIN: f64 = 0.4;
/// After so many faces that led nowhere, the next waits for this share of the violation.
const PATIENCE: usize = 2;
const WAIT: f64 = 0.5;
/// Variables that change sides within a step, as a share of those of the factor, about.
const MORE: f64 = 0.03;
/// Fewer free variables than this are left to rounds.
const FEWEST: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Face,
    ActiveSet,
}

/// How far the free variables are from those of the last factor, which can be used again where that is not far.
#[derive(Default)]
pub(in super::super) struct Factored {
    /// By variable; empty where there is no factor.
    inside: Vec<bool>,
    free: Vec<bool>,
    size: usize,
    differing: usize,
    /// How many differed when the last step ended.
    before: usize,
}

impl Factored {
    /// A factor of `ids`, or none.
    pub(super) fn begin(&mut self, ids: &[u32], variables: usize, is_free: impl Fn(u32) -> bool) {
        *self = Self::default();
        if ids.is_empty() {
            return;
        }
        self.inside = vec![false; variables];
        ids.iter().for_each(|&id| self.inside[id as usize] = true);
        self.free = (0..variables).map(|id| is_free(id as u32)).collect();
        self.size = ids.len();
        self.differing = self.inside.iter().zip(&self.free).filter(|(inside, free)| inside != free).count();
        self.before = self.differing;
    }

    /// A variable moved, and is free now or not.
    pub(in super::super) fn moved(&mut self, id: u32, is_free: bool) {
        let id = id as usize;
        if self.size > 0 && self.free[id] != is_free {
            self.free[id] = is_free;
            if self.inside[id] == is_free { self.differing -= 1 } else { self.differing += 1 }
        }
    }

    /// What the first solution with the free variables takes, in new factors; none where it takes a new one.
    fn again(&self) -> Option<f64> {
        let share = |variables: usize| variables as f64 / self.size.max(1) as f64;
        // Rows that the last step had are there, and some more change on the way.
        let new = share(self.differing.saturating_sub(self.before));
        (self.size > 0 && share(self.differing) <= AT_FIRST).then_some(3.0 * (new + MORE))
    }
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

    /// Which step to try now.
    pub(super) fn due(&self, gap: f64, free: usize, factored: &Factored) -> Option<Kind> {
        let costs = self.costs.as_ref()?;
        let kind = match gap {
            gap if gap <= self.active_set_below => Kind::ActiveSet,
            gap if gap <= self.face_below => Kind::Face,
            _ => return None,
        };
        if free < FEWEST || free > costs.most {
            return None;
        }
        let one = match factored.again() {
            Some(share) => share * costs.system(factored.size),
            None => costs.system(free),
        };
        if self.newton + SOLVES * one + BESIDES > SHARE * self.rounds || self.rounds < self.last + BURST * one {
            return None;
        }
        Some(kind)
    }

    /// A step that took so many seconds on paper.
    pub(super) fn tried(&mut self, kind: Kind, gap: f64, seconds: f64, moved: bool) {
        self.newton += seconds + BESIDES;
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
        let (mut schedule, none) = (Schedule::new(Some(costs), 1.0), Factored::default());
        assert_eq!(schedule.due(0.2, 1000, &none), None, "nothing was spent on rounds yet");
        (0..100).for_each(|_| schedule.round(1024, 500, 800, 20_000));
        assert_eq!(schedule.due(2.0, 1000, &none), None, "too far away");
        assert_eq!(schedule.due(0.2, 6000, &none), None, "too many");
        assert_eq!(schedule.due(0.2, 10, &none), None, "too few");
        assert_eq!(schedule.due(0.2, 1000, &none), Some(Kind::Face));
        assert_eq!(schedule.due(0.05, 1000, &none), Some(Kind::ActiveSet));
        schedule.tried(Kind::ActiveSet, 0.05, 3.0 * costs.system(1000), false);
        assert_eq!(schedule.due(0.04, 1000, &none), None, "rounds first");
        (0..100).for_each(|_| schedule.round(1024, 500, 800, 20_000));
        assert_eq!(schedule.due(0.04, 1000, &none), Some(Kind::Face), "again only much nearer");
        assert_eq!(schedule.due(0.01, 1000, &none), Some(Kind::ActiveSet));
        schedule.tried(Kind::Face, 0.04, 3.0 * costs.system(1000), false);
        schedule.tried(Kind::Face, 0.04, 3.0 * costs.system(1000), false);
        (0..100).for_each(|_| schedule.round(1024, 500, 800, 20_000));
        assert_eq!(schedule.due(0.03, 1000, &none), None, "faces wait");
        assert_eq!(Schedule::new(None, 1.0).due(0.5, 1000, &none), None, "an engine without systems");
    }

    #[test]
    fn a_factor_of_nearly_the_same_variables_is_cheap() {
        let mut factored = Factored::default();
        assert_eq!(factored.again(), None);
        let ids: Vec<u32> = (0..100).collect();
        // Two of the factor's are bound now, one other is free.
        factored.begin(&ids, 1000, |id| (2..101).contains(&id));
        assert_eq!((factored.differing, factored.again()), (3, Some(3.0 * MORE)));
        factored.moved(0, true);
        factored.moved(0, true);
        (200..205).for_each(|id| factored.moved(id, true));
        assert_eq!(factored.differing, 7);
        assert!((factored.again().unwrap() - 3.0 * (0.04 + MORE)).abs() < 1e-12);
        (200..220).for_each(|id| factored.moved(id, true));
        assert_eq!(factored.again(), None, "too many differ");
    }
}
