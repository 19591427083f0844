//! What the blocked loop asks of whoever holds the rows.
//!
//! The loop holds the point `b` and decides; an engine holds the rows and their gradient `g = K b + linear`, wherever that is: this
//! machine, a graphics card, many machines. Variables are named by their number in the problem. Every method may be a round over a
//! network, so there are few of them and each does a lot. An engine may leave rows out for a while ("parked"): the others are active.

use crate::error::Error;
use crate::observe::{Progress, StopReason};

/// Why a call did not come to its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The caller of the fit, or its clock, wants it to end. The engine is as it was before the call.
    Stop(StopReason),
    /// It cannot be done.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Result of a call to an engine.
pub(crate) type Outcome<T> = std::result::Result<T, Halt>;

/// The state to begin with: everything is active.
pub(crate) struct Load<'a> {
    /// `K b + linear`
    pub gradient: &'a [f64],
    /// Which way every variable may move (see [`crate::simd::sweep`]).
    pub status: &'a [u8],
    /// Price of the absolute value.
    pub kink: f64,
}

/// Variables that moved, how far, and which way they may move now.
#[derive(Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub ids: &'a [u32],
    pub steps: &'a [f64],
    pub status: &'a [u8],
}

impl Moved<'_> {
    /// Nothing moved.
    pub(crate) const NONE: Self = Self { ids: &[], steps: &[], status: &[] };
}

/// What to look for after a move.
pub(crate) struct Want<'a> {
    /// Candidates per group and direction.
    pub count: usize,
    /// Variables that stay in the set anyway: no candidates, but their gradients are wanted.
    pub kept: &'a [u32],
    /// How far the solver is, for whoever watches.
    pub progress: Progress<'a>,
}

/// A variable that may enter the set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub id: u32,
    /// Slope of the objective in the direction it was asked for.
    pub slope: f64,
    pub gradient: f64,
}

/// The two slopes of a group whose difference is its violation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes {
    /// Smallest slope of a variable that may grow.
    pub least_up: f64,
    /// Largest slope of a variable that may fall.
    pub most_low: f64,
}

impl Extremes {
    pub(crate) const NONE: Self = Self { least_up: f64::INFINITY, most_low: f64::NEG_INFINITY };

    /// The violation; negative where nothing can move.
    pub(crate) fn gap(&self) -> f64 {
        self.most_low - self.least_up
    }

    pub(crate) fn merge(self, other: Self) -> Self {
        Self { least_up: self.least_up.min(other.least_up), most_low: self.most_low.max(other.most_low) }
    }
}

/// What an engine found among its active rows.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub extremes: [Extremes; 2],
    /// Per group: the variables that may grow with the smallest slopes, best first.
    pub up: [Vec<Candidate>; 2],
    /// Per group: the variables that may fall with the largest slopes, best first.
    pub low: [Vec<Candidate>; 2],
    /// Gradients of the kept variables, in their order; not a number for those whose rows are out of reach.
    pub kept: Vec<f64>,
}

impl Answer {
    /// The largest violation of a group.
    pub(crate) fn gap(&self) -> f64 {
        self.extremes[0].gap().max(self.extremes[1].gap())
    }
}

/// Which rows stay active.
#[derive(Clone, Copy)]
pub(crate) enum Narrow<'a> {
    /// These.
    To(&'a [u32]),
    /// `kept`, and all but those that no step among the active ones would move, by this margin; nothing happens if more than `at_most`
    /// would stay.
    Unsettled { extremes: [Extremes; 2], margin: f64, kept: &'a [u32], at_most: usize },
}

/// Which active rows to compute anew in double precision.
#[derive(Clone, Copy)]
pub(crate) enum Recheck {
    /// All of them.
    Active,
    /// Those that were not since the last move and are support vectors, or whose slopes are within `slack` of the extremes, and a few others
    /// here and there, to see how far the rest may be off.
    Near { extremes: [Extremes; 2], slack: f64 },
}

/// How wrong gradients were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drift {
    /// Largest correction.
    pub largest: f64,
    /// Rows that were computed anew.
    pub rows: usize,
}

/// Variables of a set, to be solved with all others fixed.
pub(crate) struct Set<'a> {
    pub ids: &'a [u32],
    /// Gradients, shifted per group so that they are small.
    pub gradient: &'a [f64],
    pub start: &'a [f64],
    pub lower: &'a [f64],
    pub upper: &'a [f64],
    pub kink: f64,
    /// Which variables belong to the second of two groups; empty if there is one.
    pub second: &'a [bool],
    /// The violation to reach.
    pub stop: f64,
    /// Steps at most.
    pub max_steps: u64,
    pub progress: Progress<'a>,
}

/// A set's solution.
pub(crate) struct SetSolution {
    pub b: Vec<f64>,
    pub steps: u64,
    /// Whether rounding kept it from its own stop.
    pub stuck: bool,
}

/// Rows of one problem, wherever they live.
pub(crate) trait BlockEngine {
    /// Sets the state.
    fn load(&mut self, state: &Load<'_>) -> Outcome<()>;

    /// `g += K(:, ids) steps` on all active rows, then the next candidates. Moved variables are active.
    fn step(&mut self, moved: Moved<'_>, want: &Want<'_>) -> Outcome<Answer>;

    /// Begins the next set, of which nothing but the variables is known yet: an engine that works beside its caller may.
    fn announce(&mut self, _ids: &[u32]) -> Outcome<()> {
        Ok(())
    }

    /// Begins `g += K(:, ids) steps`, where the engine works beside its caller: true if it has, and the next step, which follows at once,
    /// moves nothing more and asks nobody whether to stop.
    fn push(&mut self, _moved: Moved<'_>, _progress: &Progress<'_>) -> Outcome<bool> {
        Ok(false)
    }

    /// Solves a set from its kernel matrix.
    fn solve_set(&mut self, set: &Set<'_>) -> Outcome<SetSolution>;

    /// Parks rows; answers how many are active now.
    fn narrow(&mut self, rule: Narrow<'_>) -> Outcome<usize>;

    /// Makes every row active again; `moved` since the first of them was parked.
    fn widen(&mut self, moved: Moved<'_>) -> Outcome<()>;

    /// Computes gradients of active rows anew in double precision from all support vectors, their coefficients given as steps.
    fn recheck(&mut self, support: Moved<'_>, rule: Recheck) -> Outcome<Drift>;

    /// The gradients of all variables; those of parked rows are of the time they were parked.
    fn gradient(&mut self) -> Outcome<Vec<f64>>;

    /// Waits for rows that left without being asked to (their machine died) until they are back; false if some will not come.
    fn settle(&mut self) -> Outcome<bool> {
        Ok(true)
    }

    /// Active variables and their gradients, where these are at hand.
    fn active_gradient(&mut self) -> Option<(Vec<u32>, Vec<f64>)> {
        None
    }

    /// Sets gradients and statuses of all active variables, in the order of [`Self::active_gradient`]; asked only of engines that have it.
    fn set_active(&mut self, _gradient: &[f64], _status: &[u8]) {}

    /// From now on nobody is asked whether to stop, and the clock does not count: what follows is the final check.
    fn unwatch(&mut self);

    /// Seconds that `values` kernel values take in double precision, about.
    fn seconds_for(&self, values: f64) -> f64;

    /// What Newton's steps need, where the engine has it.
    fn newton(&mut self) -> Option<&mut dyn Newton> {
        None
    }
}

/// What an engine's work takes, in seconds, about. It must depend on nothing but the machine and the problem: the loop decides by it, and
/// equal input must lead to equal decisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// A round, whatever is in it.
    pub round: f64,
    /// A pair step of a set.
    pub step: f64,
    /// A kernel value in sums, and one in double precision.
    pub value: f64,
    pub exact: f64,
    /// An addition or multiplication of a factor, and what every variable of it takes besides.
    pub operation: f64,
    pub variable: f64,
    /// Variables that a factor may have.
    pub most: usize,
}

impl Costs {
    /// Seconds of a new system of this size.
    pub(crate) fn system(&self, size: usize) -> f64 {
        let n = size as f64;
        n * n * (n / 3.0 * self.operation + self.exact) + n * self.variable
    }
}

/// An engine that can solve with the kernel matrix of many variables.
pub(crate) trait Newton {
    fn costs(&self) -> Costs;

    /// Solves `(K(ids, ids) + ridge I) x = side` for every side, in double precision; `ridge` counts in units of the diagonal and is the same
    /// every time. None where the matrix is not positive definite to the digits there are. The factor of an earlier system may be used
    /// again if the variables differ by at most the share `differing`. What it takes on paper is added to `cost`, in seconds.
    fn solve(
        &mut self,
        ids: &[u32],
        ridge: f64,
        sides: &[&[f64]],
        differing: f64,
        cost: &mut f64,
        progress: &Progress<'_>,
    ) -> Outcome<Option<Vec<Vec<f64>>>>;

    /// The variables of the factor that may be used again; none if there is no such factor.
    fn factored(&self) -> &[u32];

    /// `K(rows, ids) steps` in double precision. Nothing moves.
    fn product(&mut self, rows: &[u32], of: Moved<'_>) -> Outcome<Vec<f64>>;

    /// Active variables and their gradients.
    fn active(&mut self) -> Outcome<(Vec<u32>, Vec<f64>)>;

    /// Remembers gradients and statuses; the last ones remembered come back. Rows are neither parked nor brought back in between.
    fn remember(&mut self) -> Outcome<()>;
    fn restore(&mut self) -> Outcome<()>;
}
