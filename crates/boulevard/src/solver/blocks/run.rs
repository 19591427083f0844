//! The loop: sets, their solutions, the gradient after them.

use super::ahead::Trail;
use super::ease::unit;
use super::engine::{Answer, BlockEngine, Load, Moved, Narrow, Outcome, Set, Want};
use super::newton::{Factored, Schedule};
use super::patience::Patience;
use super::set::WorkingSet;
use crate::observe::Progress;
use crate::solver::dual::{DualProblem, Equality, Options};
use crate::solver::smo::{inside, status};

/// A set is solved to this share of the violation it starts with: more is undone by the next set.
const LOCAL_STOP: f64 = 0.3;
/// And never further than this share of the tolerance.
const LOCAL_LEAST: f64 = 0.5;
/// Rows are parked that are settled by this share of the violation.
const PARK_MARGIN: f64 = 0.5;
/// Parking must leave at most this share of the rows: packing them anew has its price.
const PARK_SHARE: f64 = 0.85;
/// The first time below this many times the violation at the start, then whenever it halves.
const PARK_FROM: f64 = 4.0;
/// Above these shares of free ones among the support vectors, and of support vectors among the rows, the kernel is so narrow that a set
/// has little to do with the last one: it keeps its newest half and is smaller. (A large C alone frees most support vectors, but then
/// they are few.)
const MOSTLY_FREE: f64 = 0.95;
const MOSTLY_SUPPORT: f64 = 0.4;
/// The loop looks after its rounding at this multiple of the tolerance.
const REFRESH_AT: f64 = 100.0;

/// Sizes for a problem and an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Variables in a set.
    pub set: usize,
    /// Variables in a set where most support vectors are free.
    pub small_set: usize,
    /// Variables in an outer set, while the violation is large.
    pub outer: Option<usize>,
    /// Relative error of the engine's sums.
    pub rounding: f64,
    /// The kernel's diagonal, where cold fits begin with small bounds.
    pub eased: Option<f64>,
    /// The size of the kernel's diagonal.
    pub diagonal: f64,
    /// So many times as many candidates are looked at as a set takes: every so manieth of them comes first.
    pub thinned: usize,
    /// Whether points of the last sweeps may be remembered: some 200 bytes for every active row.
    pub ahead: bool,
    /// Columns after which the loop gives up, for kernels that are not positive semi-definite: every set lowers the objective, but sets may
    /// take turns in corners, and nobody knows for how long.
    pub most_columns: Option<u64>,
}

/// How a descent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The violation of the active rows is small enough.
    Reached,
    /// A set did not move, or sets have moved more than they ever should: the engine has given what it has.
    Stalled,
    /// The limit on steps.
    Cut,
    /// Coefficients without bounds grow, and nothing comes closer.
    Endless,
}

pub(super) struct Loop<'a> {
    pub problem: &'a DualProblem<'a>,
    /// The same problem with larger bounds, in this order.
    pub later: &'a [DualProblem<'a>],
    pub options: &'a Options,
    pub engine: &'a mut dyn BlockEngine,
    pub b: &'a mut [f64],
    pub iterations: &'a mut u64,
    pub plan: Plan,
    pub groups: usize,
    /// Whether there were stages before the last.
    pub eased: bool,
    /// The point when the first rows were parked.
    since: Option<Vec<f64>>,
    /// Whether the engine's gradient is still that of zero.
    unknown: bool,
    pub support: usize,
    pub free: usize,
    pub schedule: Schedule,
    /// Points of the last sweeps.
    pub trail: Trail,
    /// The factor of the last of Newton's steps.
    pub factored: Factored,
    /// Violation below which rows are parked next.
    pub park_at: f64,
    pub active: usize,
    /// Variables that moved, round by round.
    columns: u64,
    /// Whether rounding was looked after in this descent.
    pub refreshed: bool,
}

impl<'a> Loop<'a> {
    /// Loads the engine with the point and its gradient. Of several stages of a problem the last is the one to solve.
    pub(super) fn new(
        stages: &'a [DualProblem<'a>],
        options: &'a Options,
        engine: &'a mut dyn BlockEngine,
        b: &'a mut [f64],
        gradient: &[f64],
        unknown: bool,
        iterations: &'a mut u64,
        plan: Plan,
    ) -> Outcome<Self> {
        let (problem, later) = stages.split_first().expect("a problem has a stage");
        let groups = if matches!(problem.equality, Equality::TwoSums(_)) { 2 } else { 1 };
        let status: Vec<u8> = (0..b.len()).map(|i| status(problem, i, b[i])).collect();
        engine.load(&Load { gradient, status: &status, kink: problem.kink })?;
        let support = b.iter().filter(|&&v| v != 0.0).count();
        let free = (0..b.len()).filter(|&i| inside(problem, i, b[i]) && b[i] != 0.0).count();
        let active = b.len();
        let schedule = Schedule::new(engine.newton().map(|newton| newton.costs()), unit(problem.linear));
        Ok(Self {
            problem,
            later,
            options,
            engine,
            b,
            iterations,
            plan,
            groups,
            eased: !later.is_empty(),
            since: None,
            unknown,
            support,
            free,
            schedule,
            trail: Trail::default(),
            factored: Factored::default(),
            park_at: f64::INFINITY,
            active,
            columns: 0,
            refreshed: false,
        })
    }

    fn is_free(&self, id: u32) -> bool {
        inside(self.problem, id as usize, self.b[id as usize])
    }

    fn mostly_free(&self) -> bool {
        self.support as f64 > MOSTLY_SUPPORT * self.b.len() as f64 && self.free as f64 > MOSTLY_FREE * self.support as f64
    }

    pub(super) fn progress(&self, gap: Option<f64>) -> Progress<'static> {
        let tolerance = Some(self.options.tolerance);
        Progress { stage: "solve", done: *self.iterations, total: None, violation: gap, tolerance }
    }

    /// Candidates for a set among the active rows, nothing having moved.
    pub(super) fn look(&mut self, set: &WorkingSet) -> Outcome<Answer> {
        let want = Want { count: self.plan.thinned * set.wanted(self.groups), kept: set.kept(), progress: self.progress(None) };
        self.engine.step(Moved::NONE, &want)
    }

    /// Gives the engine the gradient of the start, if it has none.
    pub(super) fn begin(&mut self) -> Outcome<()> {
        if self.unknown {
            let (ids, steps) = self.support();
            let status: Vec<u8> = ids.iter().map(|&id| status(self.problem, id as usize, self.b[id as usize])).collect();
            let want = Want { count: 0, kept: &[], progress: self.progress(None) };
            self.engine.step(Moved { ids: &ids, steps: &steps, status: &status }, &want)?;
            self.unknown = false;
        }
        Ok(())
    }

    /// Rounds on the active rows until their violation is at most `target`. With `park`, settled rows are parked on the way.
    pub(super) fn descend(&mut self, set: &mut WorkingSet, mut answer: Answer, target: f64, park: bool) -> Outcome<(Answer, End)> {
        if self.park_at == f64::INFINITY {
            self.park_at = PARK_FROM * answer.gap();
        }
        let mut patience = Patience::new(self);
        loop {
            let gap = answer.gap();
            if gap <= target || self.is_loose() {
                return Ok((answer, End::Reached));
            }
            if *self.iterations >= self.options.max_iterations.unwrap_or(u64::MAX) {
                return Ok((answer, End::Cut));
            }
            if self.plan.most_columns.is_some_and(|most| self.columns >= most) {
                return Ok((answer, End::Stalled));
            }
            if park && !self.refreshed && self.later.is_empty() && gap <= REFRESH_AT * self.options.tolerance {
                self.refreshed = true;
                if self.refresh()? {
                    self.trail.forget();
                    self.schedule.refreshed();
                    answer = self.look(set)?;
                    continue;
                }
            }
            if park && self.options.shrinking && gap < self.park_at {
                self.park_at = 0.5 * gap;
                self.park(set, &answer)?;
            }
            if park && let Some(next) = self.newton(set, &answer)? {
                answer = next;
                continue;
            }
            if park && let Some(next) = self.look_ahead(set, gap)? {
                answer = next;
                continue;
            }
            let Some((next, stuck)) = self.round(set, &answer)? else { return Ok((answer, End::Stalled)) };
            answer = next;
            if let Some(end) = patience.round(self, answer.gap(), stuck) {
                return Ok((answer, end));
            }
        }
    }

    /// One set: solved, moved, and the next candidates, with whether rounding kept the set from its stop; none if nothing moved.
    fn round(&mut self, set: &mut WorkingSet, answer: &Answer) -> Outcome<Option<(Answer, bool)>> {
        let gap = answer.gap();
        let (ids, mut gradient) = set.renew(answer, self.plan.thinned);
        self.engine.announce(&ids)?;
        let second: Vec<bool> =
            if self.groups == 2 { ids.iter().map(|&id| self.problem.in_second_group(id as usize)).collect() } else { Vec::new() };
        // Only differences matter within a group: around zero single precision has the most digits for them.
        for (place, g) in gradient.iter_mut().enumerate() {
            let of_group = &answer.extremes[usize::from(second.get(place).copied().unwrap_or(false))];
            let middle = 0.5 * (of_group.least_up + of_group.most_low);
            if middle.is_finite() {
                *g -= middle;
            }
        }
        let of = |values: &[f64]| -> Vec<f64> { ids.iter().map(|&id| values[id as usize]).collect() };
        let (start, lower, upper) = (of(self.b), of(self.problem.lower), of(self.problem.upper));
        let solution = self.engine.solve_set(&Set {
            ids: &ids,
            gradient: &gradient,
            start: &start,
            lower: &lower,
            upper: &upper,
            kink: self.problem.kink,
            second: &second,
            stop: (LOCAL_STOP * gap).max(LOCAL_LEAST * self.options.tolerance),
            max_steps: self.options.max_iterations.unwrap_or(u64::MAX) - *self.iterations,
            progress: self.progress(Some(gap)),
        })?;
        let moved: Vec<usize> = (0..ids.len()).filter(|&k| solution.b[k] != start[k]).collect();
        if moved.is_empty() {
            return Ok(None);
        }
        let moved_ids: Vec<u32> = moved.iter().map(|&k| ids[k]).collect();
        let steps: Vec<f64> = moved.iter().map(|&k| solution.b[k] - start[k]).collect();
        self.place(&moved, &ids, &solution.b);
        let status: Vec<u8> = moved_ids.iter().map(|&id| status(self.problem, id as usize, self.b[id as usize])).collect();
        let moved_there = Moved { ids: &moved_ids, steps: &steps, status: &status };
        // What follows is the caller's own work, while the sums are on their way.
        let outcome = self.engine.push(moved_there, &self.progress(Some(gap)));
        *self.iterations += solution.steps;
        self.trail.round(moved.len());
        self.columns += moved.len() as u64;
        self.schedule.round(ids.len(), solution.steps, moved.len(), self.active);
        let mostly_free = self.mostly_free();
        set.size = if mostly_free { self.plan.small_set } else { self.plan.set };
        set.keep(|id| inside(self.problem, id as usize, self.b[id as usize]), mostly_free);
        let want = Want { count: self.plan.thinned * set.wanted(self.groups), kept: set.kept(), progress: self.progress(Some(gap)) };
        let outcome = outcome.and_then(|pushed| self.engine.step(if pushed { Moved::NONE } else { moved_there }, &want));
        if outcome.is_err() {
            // The gradient did not follow: the last point whose gradient is known stays.
            self.place(&moved, &ids, &start);
        }
        outcome.map(|answer| Some((answer, solution.stuck)))
    }

    /// Sets variables of a set, counting support vectors and free ones.
    pub(super) fn place(&mut self, moved: &[usize], ids: &[u32], values: &[f64]) {
        for &k in moved {
            let id = ids[k];
            let count = |b: f64, free: bool| (isize::from(b != 0.0), isize::from(free && b != 0.0));
            let before = count(self.b[id as usize], self.is_free(id));
            self.b[id as usize] = values[k];
            let after = count(values[k], self.is_free(id));
            self.support = self.support.wrapping_add_signed(after.0 - before.0);
            self.free = self.free.wrapping_add_signed(after.1 - before.1);
            self.factored.moved(id, self.is_free(id));
        }
    }

    fn park(&mut self, set: &WorkingSet, answer: &Answer) -> Outcome<()> {
        let rule = Narrow::Unsettled {
            extremes: answer.extremes,
            margin: PARK_MARGIN * answer.gap(),
            kept: set.kept(),
            at_most: (PARK_SHARE * self.active as f64) as usize,
        };
        self.narrow(rule)
    }

    pub(super) fn narrow(&mut self, rule: Narrow<'_>) -> Outcome<()> {
        let left = self.engine.narrow(rule)?;
        if left != self.active {
            self.trail.forget();
        }
        if left < self.active && self.since.is_none() {
            self.since = Some(self.b.to_vec());
        }
        self.active = left;
        Ok(())
    }

    /// Whether rows are parked.
    pub(super) fn is_narrow(&self) -> bool {
        self.since.is_some()
    }

    /// Makes every row active again, with the net change since the first was parked.
    pub(super) fn widen(&mut self) -> Outcome<()> {
        let Some(since) = &self.since else { return Ok(()) };
        let ids: Vec<u32> = (0..self.b.len()).filter(|&i| self.b[i] != since[i]).map(|i| i as u32).collect();
        let steps: Vec<f64> = ids.iter().map(|&id| self.b[id as usize] - since[id as usize]).collect();
        self.trail.forget();
        self.engine.widen(Moved { ids: &ids, steps: &steps, status: &[] })?;
        self.since = None;
        self.active = self.b.len();
        // What is settled by the violation there is now may be parked at once.
        self.park_at = f64::INFINITY;
        Ok(())
    }
}
