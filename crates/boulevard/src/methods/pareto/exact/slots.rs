//! The exact front: one slot per target sum, each solved to a certified KKT gap.
//!
//! ```text
//! q(s) = min  alpha' Q alpha    subject to   sum alpha = s,   0 <= alpha <= room       (no intercept)
//!                               or sum over each class = s / 2                        (with intercept)
//! ```
//! The room of a sample is its weight, 1 without weights, and 0 for a row that is held out: it takes no part, and its gradient is what the
//! point says about it.
//!
//! The sums are swept downwards from the largest, where the solution is known (all room is used). Along the front `alpha` is piecewise linear
//! in `s`: the next start goes on in the direction of the last step, cut at the box. Its gradient needs the rows of the samples that
//! moved, which are the free ones. What is left to do are the samples that change sides.
//!
//! It is the epsilon-constraint form of the two objectives, so it also reaches the parts of a front that no weighted sum reaches
//! (kernels that are not positive semi-definite); there every slot is a local minimum, and `restart.rs` looks for better ones.

// long: one slot, its descent and its start are read together; weights of rows added a few lines to each.

use super::super::point::{Facts, facts};
use super::face;
use crate::error::Result;
use crate::kernel::{self, weighted_sum_watched};
use crate::observe::{Context, Progress, StopReason, stopped as stopped_by};
use crate::solver::{DualProblem, Equality, KernelSource, Known, Options, Solver};

/// The stage that progress is told of.
pub(in super::super) const POINTS: &str = "front";

/// Attempts to reach the relative tolerance: its scale is known only afterwards.
const ATTEMPTS: usize = 6;

/// `q` per unit of sum, relative to the kernel's largest value, that cannot be told from zero: gradients are known to about 1e-14,
/// and a point whose gap cannot be seen is not certified.
const VANISHED: f64 = 2e-10;
/// Newton steps in a row without a gain after which pair steps go on alone.
const PATIENCE: usize = 8;
/// Share of the tolerance below which a point is as good as one step more would make it.
const NOTHING_LEFT: f64 = 1e-3;
/// Newton steps in a row that gain, and let join what wants to leave its bound, before pair steps have another look.
const ALONE: usize = 6;
/// Samples up to which Newton steps work alone and others may join them: a factor follows what joins and leaves at `O(m^2)` each, and with many
/// free samples pair steps are the cheaper way to find out which ones are (4000 rows 2.6 s without and 4.3 s with, 8000 rows 15 and 42).
const FEW: usize = 2000;
/// Slots after which the gradient is computed anew: followed from slot to slot, its rounding adds up.
const REFRESH: usize = 25;

/// The tolerance from which a point is only judged: then the gap decides at once, and no exact finish follows.
const COARSE: f64 = 1e-3;

/// Samples from which a table counts as large: the second slot starts from a drained first one, not from a scaled one.
pub(in super::super) const MANY: usize = 2000;

/// Parts in which a sum is taken away from samples at their bounds: gradients change as it goes.
const DRAIN_PARTS: usize = 4;

/// What all slots of one machine share.
pub(in super::super) struct SlotTask<'a> {
    pub source: &'a dyn KernelSource,
    pub signs: &'a [f64],
    /// The largest `alpha` of every sample.
    pub room: &'a [f64],
    /// Whether each class keeps half of the sum.
    pub balanced: bool,
    /// Relative KKT gap to reach.
    pub tolerance: f64,
    /// Steps per slot at most.
    pub max_iterations: u64,
    /// Asked whether to go on.
    pub context: Context<'a>,
}

/// Which sums a sweep covers, as shares of the largest.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct SumRange {
    /// Where equally spaced sums begin.
    pub floor: f64,
    /// Sums below this are left out.
    pub least: f64,
}

/// A solved slot.
#[derive(Clone, Debug)]
pub(in super::super) struct Slot {
    pub alpha: Vec<f64>,
    pub gradient: Vec<f64>,
    pub quadratic: f64,
    pub iterations: u64,
    pub stop: StopReason,
}

impl<'a> SlotTask<'a> {
    /// The largest sum there is.
    pub(in super::super) fn largest(&self) -> f64 {
        let of =
            |positive: bool| self.signs.iter().zip(self.room).filter(|(y, _)| (**y > 0.0) == positive).map(|(_, room)| room).sum::<f64>();
        let (plus, minus) = (of(true), of(false));
        if self.balanced { 2.0 * plus.min(minus) } else { plus + minus }
    }

    /// A solver that keeps its kernel rows from slot to slot.
    pub(in super::super) fn solver<'s>(&'s self, cache: Option<usize>, context: &Context<'s>) -> Result<Solver<'s>> {
        Solver::new(self.source, cache, context)
    }

    /// Descends from `start`, which must be feasible for its own sum; `gradient` is `Q start` where that is known.
    ///
    /// Newton steps on the face of free samples and a few pair steps, which say which samples are free, take turns until the gap is small
    /// enough. Without a factor (too many free samples, an indefinite kernel) pair steps do it alone.
    pub(in super::super) fn descend(&self, solver: &mut Solver<'_>, start: Vec<f64>, gradient: Option<Vec<f64>>) -> Result<Slot> {
        self.descend_with(solver, start, gradient, &mut None)
    }

    /// [`SlotTask::descend`] with the factor of a neighboring slot's free samples, which is left for the next.
    // long: the two kinds of steps take turns in one loop, and share what they know.
    fn descend_with(
        &self,
        solver: &mut Solver<'_>,
        start: Vec<f64>,
        gradient: Option<Vec<f64>>,
        kept: &mut Option<face::Face>,
    ) -> Result<Slot> {
        let n = start.len();
        let (linear, lower, upper) = (vec![0.0; n], vec![0.0; n], self.room);
        let second: Vec<bool> = self.signs.iter().map(|&y| y < 0.0).collect();
        let equality = if self.balanced { Equality::TwoSums(&second) } else { Equality::Sum };
        let sides: Vec<u8> = (0..n).map(|i| self.side(i) as u8).collect();
        let largest = solver.largest_diagonal();
        let most = face::most_free(self.context.memory);
        let floor = 1e-14 * largest * start.iter().sum::<f64>().min(1.0);
        let (mut alpha, mut known, mut iterations) = (start, gradient, 0);
        let mut aim = self.tolerance;
        // Whether Newton steps are any good here, and how often in a row they were not.
        let (mut faces, mut idle, mut failures) = (true, 0, 0);
        // Newton steps since the last pair steps, and whether samples may join them.
        let few = alpha.len() <= FEW;
        let (mut alone, mut joins) = (0, few);
        let coarse = self.tolerance >= COARSE;
        loop {
            let before = known.as_ref().map(|gradient| facts(&alpha, gradient, self.signs, self.room, self.balanced));
            // On the line through the last two points, where no sample changes sides, nothing is left to do.
            let enough = if coarse { self.tolerance } else { NOTHING_LEFT * self.tolerance };
            if before.is_some_and(|found| found.gap <= enough) {
                return Ok(self.slot(alpha, known, iterations, StopReason::Converged));
            }
            let mut gained = false;
            if let Some(gradient) = &mut known
                && faces
            {
                let joining = before.filter(|_| joins && !coarse).map_or(Vec::new(), |found| self.joining(&alpha, gradient, found));
                let mut point = face::Point { alpha: &mut alpha, gradient, sides: &sides, room: self.room };
                match face::descend(self.source.double()?, largest, &mut point, &joining, kept, most, &|| self.stopped().is_some()) {
                    face::FaceStep::Gained => (idle, gained) = (0, true),
                    face::FaceStep::Best => idle += 1,
                    // The face without them may well have a factor.
                    face::FaceStep::NoFactor if !joining.is_empty() => joins = false,
                    face::FaceStep::NoFactor => faces = false,
                }
                faces &= idle < PATIENCE;
            }
            let mut options = Options { tolerance: 1e-3 * largest, max_iterations: None, shrinking: false, polish: false };
            let mut budget = self.max_iterations.saturating_sub(iterations);
            if let Some(gradient) = &known {
                let found = facts(&alpha, gradient, self.signs, self.room, self.balanced);
                if found.gap <= self.tolerance || found.violation <= floor {
                    return Ok(self.slot(alpha, known, iterations, StopReason::Converged));
                }
                if let Some(reason) = self.stopped() {
                    return Ok(self.slot(alpha, known, iterations, reason));
                }
                if gained && few && !coarse && alone < ALONE {
                    alone += 1;
                    continue;
                }
                alone = 0;
                options.tolerance = (aim * found.violation / found.gap).max(floor);
                options.polish = !coarse;
                if faces {
                    budget = budget.min(20 + 2 * self.violators(&alpha, gradient, found.lambda, found.bias, options.tolerance));
                }
            }
            let unlimited = budget == self.max_iterations.saturating_sub(iterations);
            options.max_iterations = Some(budget);
            let problem = DualProblem { linear: &linear, lower: &lower, upper, kink: 0.0, equality, start: Some(&alpha) };
            let first = known.is_none();
            let begin = known.take().map(|gradient| Known { gradient, error: 0.0 });
            let solution = solver.solve_from(&problem, begin, &options)?;
            iterations += solution.iterations;
            (alpha, known) = (solution.coefficients, Some(solution.gradient));
            match solution.stop {
                StopReason::Converged if !first => {
                    // The gradient's scale may have fallen on the way; otherwise the next look at the gap ends it.
                    aim *= 0.5;
                    failures += 1;
                    if failures > ATTEMPTS {
                        return Ok(self.slot(alpha, known, iterations, StopReason::Converged));
                    }
                }
                StopReason::MaxIterations if !unlimited => {}
                StopReason::Converged => {}
                stop => {
                    if first {
                        // The solver may have been stopped before it had a gradient.
                        known = Some(self.product(&alpha)?);
                    }
                    // Pair steps may find no better point where the relative gap has long been reached.
                    let gap = known.as_ref().map(|gradient| facts(&alpha, gradient, self.signs, self.room, self.balanced).gap);
                    let reached = stop == StopReason::Rounding && gap.is_some_and(|gap| gap <= self.tolerance);
                    return Ok(self.slot(alpha, known, iterations, if reached { StopReason::Converged } else { stop }));
                }
            }
        }
    }

    /// Why to stop, if so. Without a total: the count of slots is told elsewhere.
    fn stopped(&self) -> Option<StopReason> {
        self.context.check(&Progress { stage: POINTS, done: 0, total: None, violation: None, tolerance: None })
    }

    /// `Q alpha`, computed anew.
    fn product(&self, alpha: &[f64]) -> Result<Vec<f64>> {
        let (rows, weights) = kernel::support(alpha);
        weighted_sum_watched(self.source.double()?, &rows, &weights, 0..alpha.len(), &self.context)
    }

    fn slot(&self, alpha: Vec<f64>, gradient: Option<Vec<f64>>, iterations: u64, stop: StopReason) -> Slot {
        let gradient = gradient.unwrap_or_default();
        let quadratic = alpha.iter().zip(&gradient).map(|(a, g)| a * g).sum();
        Slot { alpha, gradient, quadratic, iterations, stop }
    }

    /// The samples at a bound that most want to leave it, as many as a factor follows: they join the next Newton step.
    fn joining(&self, alpha: &[f64], gradient: &[f64], found: Facts) -> Vec<usize> {
        if found.gap <= self.tolerance {
            return Vec::new();
        }
        let tolerance = self.tolerance * found.violation / found.gap;
        let mut free = 0;
        let mut wishes: Vec<(f64, usize)> = Vec::new();
        for i in (0..alpha.len()).filter(|&i| self.room[i] > 0.0) {
            let rest = gradient[i] - if self.balanced { found.lambda - self.signs[i] * found.bias } else { found.lambda };
            match (alpha[i] <= 0.0, alpha[i] >= self.room[i]) {
                (true, _) if rest < -tolerance => wishes.push((-rest, i)),
                (_, true) if rest > tolerance => wishes.push((rest, i)),
                (false, false) => free += 1,
                _ => {}
            }
        }
        wishes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        wishes.truncate(free / 8 + 2);
        let mut joining: Vec<usize> = wishes.into_iter().map(|(_, i)| i).collect();
        joining.sort_unstable();
        joining
    }

    /// Samples at a bound that want to leave it.
    fn violators(&self, alpha: &[f64], gradient: &[f64], lambda: f64, bias: f64, tolerance: f64) -> u64 {
        let wants = |i: usize| {
            // With an intercept each class has its own multiplier.
            let rest = gradient[i] - if self.balanced { lambda - self.signs[i] * bias } else { lambda };
            self.room[i] > 0.0 && ((alpha[i] <= 0.0 && rest < -tolerance) || (alpha[i] >= self.room[i] && rest > tolerance))
        };
        (0..alpha.len()).filter(|&i| wants(i)).count() as u64
    }

    /// Solves `points` slots, by rising sum. Fewer come back if the work was stopped, but at least one.
    ///
    /// Sums are equally spaced. Where the kernel is rich enough for `q` to vanish (up to rounding) at some sum, it vanishes at all smaller
    /// ones, which are then no better in anything: the slots meant for them halve the steps above instead, from the small end on, where
    /// the equivalent C changes fastest.
    /// Sums below the share `range.least` of the largest are left out; those above the share `range.floor` are all there are.
    pub(in super::super) fn sweep(&self, points: usize, range: SumRange, cache: Option<usize>, context: &Context<'_>) -> Result<Vec<Slot>> {
        let mut solver = self.solver(cache, context)?;
        let (n, largest) = (self.signs.len(), self.largest());
        let spacing = (1.0 - range.floor) * largest / points as f64;
        let mut slots: Vec<Slot> = Vec::with_capacity(points);
        let (mut stopped, mut kept) = (false, None);
        for k in 0..points {
            let sum = range.floor * largest + spacing * (points - k) as f64;
            if sum < range.least * largest {
                stopped = true;
                break;
            }
            let begin = || -> Result<(Vec<f64>, Option<Vec<f64>>)> {
                Ok(match slots.as_slice() {
                    [] => (self.fill(self.room, sum), None),
                    // Scaled, all samples of a large table would be free, and leave the face one by one.
                    [.., last] if k % REFRESH == 0 || (k == 1 && n > MANY) => {
                        let start = self.drain(last, sum)?.0;
                        let gradient = self.product(&start)?;
                        (start, Some(gradient))
                    }
                    [.., before, last] => self.extrapolate(before, last, sum)?,
                    [last] => {
                        let factor = sum / (range.floor * largest + spacing * (points - k + 1) as f64);
                        let scale = |values: &[f64]| values.iter().map(|v| v * factor).collect::<Vec<_>>();
                        (scale(&last.alpha), Some(scale(&last.gradient)))
                    }
                })
            };
            let (start, gradient) = match stopped_by(begin())? {
                Ok(begun) => begun,
                // The slots so far are a front too.
                Err(reason) => {
                    slots.iter_mut().for_each(|slot| slot.stop = slot.stop.worst(reason));
                    stopped = true;
                    break;
                }
            };
            slots.push(self.descend_with(&mut solver, start, gradient, &mut kept)?);
            let last = slots.last_mut().expect("just pushed");
            if self.ended(last, k, points, context) {
                stopped = true;
                break;
            }
            if self.vanished(last, sum, &solver) && k > 0 {
                slots.pop();
                break;
            }
        }
        slots.reverse();
        let (mut below, missing) = (0, points - slots.len());
        for extra in 0..if stopped { 0 } else { missing } {
            // Halves the interval above `below`, then goes on to the next one; at the top it starts again.
            if below + 2 >= slots.len() {
                below = 0;
            }
            if slots.len() < 3 {
                break;
            }
            let at = |slot: &Slot| slot.alpha.iter().sum::<f64>();
            let sum = 0.5 * (at(&slots[below]) + at(&slots[below + 1]));
            let (start, gradient) = match stopped_by(self.extrapolate(&slots[below + 2], &slots[below + 1], sum))? {
                Ok(begun) => begun,
                Err(reason) => {
                    slots[below].stop = slots[below].stop.worst(reason);
                    break;
                }
            };
            let mut slot = self.descend_with(&mut solver, start, gradient, &mut kept)?;
            let ended = self.ended(&mut slot, points - missing + extra, points, context);
            slots.insert(below + 1, slot);
            below += 2;
            if ended {
                break;
            }
        }
        Ok(slots)
    }

    /// Solves slots at the given shares of the largest sum, which fall; by rising sum. It ends where `q` vanishes, or where it is stopped.
    ///
    /// Beyond `most_c` it does not go on: there points differ in what no held-out row shows, and cost more than all others. Nor where
    /// `go_on`, which sees every slot, has seen enough.
    pub(in super::super) fn sweep_at(
        &self,
        shares: &[f64],
        most_c: f64,
        go_on: &mut dyn FnMut(&Slot) -> bool,
        cache: Option<usize>,
        context: &Context<'_>,
    ) -> Result<Vec<Slot>> {
        let mut solver = self.solver(cache, context)?;
        let largest = self.largest();
        let mut slots: Vec<Slot> = Vec::with_capacity(shares.len());
        let mut kept = None;
        for (k, share) in shares.iter().enumerate() {
            let sum = share * largest;
            let begin = || match slots.as_slice() {
                [] => Ok((self.fill(self.room, sum), None)),
                [last] => self.drain(last, sum),
                [.., before, last] => self.extrapolate(before, last, sum),
            };
            let (start, gradient) = match stopped_by(begin())? {
                Ok(begun) => begun,
                Err(reason) => {
                    slots.iter_mut().for_each(|slot| slot.stop = slot.stop.worst(reason));
                    break;
                }
            };
            slots.push(self.descend_with(&mut solver, start, gradient, &mut kept)?);
            let last = slots.last_mut().expect("just pushed");
            if self.ended(last, k, shares.len(), context) {
                break;
            }
            if self.vanished(last, sum, &solver) && k > 0 {
                slots.pop();
                break;
            }
            let lambda = facts(&last.alpha, &last.gradient, self.signs, self.room, self.balanced).lambda;
            if (lambda > 0.0 && lambda * most_c < 1.0) || !go_on(last) {
                break;
            }
        }
        slots.reverse();
        Ok(slots)
    }

    /// Whether `q` cannot be told from zero.
    pub(in super::super) fn vanished(&self, slot: &Slot, sum: f64, solver: &Solver<'_>) -> bool {
        slot.quadratic.abs() <= VANISHED * sum * solver.largest_diagonal()
    }

    /// Reports progress; whether a slot was stopped, or the caller wants to stop after it.
    fn ended(&self, slot: &mut Slot, done: usize, points: usize, context: &Context<'_>) -> bool {
        if let Some(reason) = context.step(POINTS, done + 1, points) {
            slot.stop = slot.stop.worst(reason);
        }
        matches!(slot.stop, StopReason::TimeLimit | StopReason::Interrupted)
    }

    /// The side of a sample: 0 for all, or its class where classes keep their own sums.
    fn sides(&self) -> usize {
        if self.balanced { 2 } else { 1 }
    }

    fn side(&self, i: usize) -> usize {
        usize::from(self.balanced && self.signs[i] < 0.0)
    }

    /// `alpha` scaled (each side for itself) so that its sum is `sum`, cut at the box; what does not fit goes evenly to the others.
    pub(in super::super) fn fill(&self, alpha: &[f64], sum: f64) -> Vec<f64> {
        let mut filled = vec![0.0; alpha.len()];
        let share = sum / self.sides() as f64;
        for side in 0..self.sides() {
            let mut members: Vec<usize> = (0..alpha.len()).filter(|&i| self.side(i) == side && self.room[i] > 0.0).collect();
            // Fullest first: the values that the box cuts are then a prefix.
            let full = |i: usize| alpha[i] / self.room[i];
            members.sort_by(|&i, &j| full(j).total_cmp(&full(i)).then(i.cmp(&j)));
            let support = members.iter().take_while(|&&i| alpha[i] > 0.0).count();
            let mut rest: f64 = members.iter().map(|&i| alpha[i].max(0.0)).sum();
            let (mut cut, mut used) = (0, 0.0);
            while cut < support && alpha[members[cut]] * (share - used) > rest * self.room[members[cut]] {
                rest -= alpha[members[cut]];
                used += self.room[members[cut]];
                cut += 1;
            }
            let missing = (share - used).max(0.0);
            let (few, others) = (cut == support, members[support..].iter().map(|&i| self.room[i]).sum::<f64>());
            for (place, &i) in members.iter().enumerate() {
                filled[i] = match place {
                    place if place < cut => self.room[i],
                    place if place < support => (alpha[i] * missing / rest).clamp(0.0, self.room[i]),
                    _ if few => (missing * self.room[i] / others).clamp(0.0, self.room[i]),
                    _ => 0.0,
                };
            }
        }
        filled
    }

    /// A start for `sum` on the line through the last two solutions, and its gradient.
    fn extrapolate(&self, before: &Slot, last: &Slot, sum: f64) -> Result<(Vec<f64>, Option<Vec<f64>>)> {
        let n = last.alpha.len();
        // Samples that stay where they are do not enter: free ones are few.
        let moving: Vec<(usize, f64)> =
            (0..n).map(|i| (i, last.alpha[i] - before.alpha[i])).filter(|(_, direction)| *direction != 0.0).collect();
        let at = |t: f64, (i, direction): (usize, f64)| (last.alpha[i] + t * direction).clamp(0.0, self.room[i]);
        let goal = sum - last.alpha.iter().sum::<f64>() + moving.iter().map(|&(i, _)| last.alpha[i]).sum::<f64>();
        let total = |t: f64| moving.iter().map(|&item| at(t, item)).sum::<f64>();
        // The sum along the cut line falls, if not everywhere: steps along its slope, between bounds that close in on a place where it is right.
        let (mut near, mut far) = (0.0, 8.0);
        if total(far) > goal {
            return self.drain(last, sum);
        }
        let mut t = 1.0;
        for _ in 0..60 {
            let excess = total(t) - goal;
            if excess.abs() <= 1e-14 * sum {
                break;
            }
            if excess > 0.0 {
                near = t
            } else {
                far = t
            }
            let inside = |&&(i, direction): &&(usize, f64)| (0.0..=self.room[i]).contains(&(last.alpha[i] + t * direction));
            let slope: f64 = moving.iter().filter(inside).map(|(_, direction)| direction).sum();
            let next = t - excess / slope;
            t = if next > near && next < far { next } else { 0.5 * (near + far) };
        }
        let mut start = last.alpha.clone();
        moving.iter().for_each(|&item| start[item.0] = at(t, item));
        self.settle(&mut start, sum);
        // Only free samples move. Extrapolating the gradient as well would be cheaper still, but differences of gradients keep every
        // rounding error and add it once per slot.
        let mut gradient = last.gradient.clone();
        let (mut rows, mut steps) = (Vec::new(), Vec::new());
        for i in (0..n).filter(|&i| start[i] != last.alpha[i]) {
            rows.push(i);
            steps.push(start[i] - last.alpha[i]);
        }
        let sums = weighted_sum_watched(self.source.double()?, &rows, &steps, 0..n, &self.context)?;
        gradient.iter_mut().zip(&sums).for_each(|(g, s)| *g += s);
        Ok((start, Some(gradient)))
    }

    /// A start for a smaller `sum` where the line through the last two solutions leads nowhere (nearly all samples at a bound): takes from
    /// the samples with the steepest gradients, a part of the sum at a time, and follows the gradient. All others stay at their bounds.
    fn drain(&self, last: &Slot, sum: f64) -> Result<(Vec<f64>, Option<Vec<f64>>)> {
        let (mut alpha, mut gradient) = (last.alpha.clone(), last.gradient.clone());
        let n = alpha.len();
        let kernel = self.source.double()?;
        let total: f64 = alpha.iter().sum();
        for part in 1..=DRAIN_PARTS {
            let goal = total + (sum - total) * part as f64 / DRAIN_PARTS as f64;
            let before = alpha.clone();
            for side in 0..self.sides() {
                let mut members: Vec<usize> = (0..n).filter(|&i| alpha[i] > 0.0 && self.side(i) == side).collect();
                members.sort_by(|&i, &j| gradient[j].total_cmp(&gradient[i]).then(i.cmp(&j)));
                let mut excess = members.iter().map(|&i| alpha[i]).sum::<f64>() - goal / self.sides() as f64;
                for i in members {
                    if excess <= 0.0 {
                        break;
                    }
                    let step = excess.min(alpha[i]);
                    alpha[i] -= step;
                    excess -= step;
                }
            }
            if part == DRAIN_PARTS {
                self.settle(&mut alpha, sum);
            }
            let rows: Vec<usize> = (0..n).filter(|&i| alpha[i] != before[i]).collect();
            let steps: Vec<f64> = rows.iter().map(|&i| alpha[i] - before[i]).collect();
            let sums = weighted_sum_watched(kernel, &rows, &steps, 0..n, &self.context)?;
            gradient.iter_mut().zip(&sums).for_each(|(g, s)| *g += s);
        }
        Ok((alpha, Some(gradient)))
    }

    /// Brings each side's sum to its share exactly, through as few samples as possible: those with most room.
    pub(in super::super) fn settle(&self, alpha: &mut [f64], sum: f64) {
        let share = sum / self.sides() as f64;
        for side in 0..self.sides() {
            let members: Vec<usize> = (0..alpha.len()).filter(|&i| self.side(i) == side).collect();
            let mut missing = share - members.iter().map(|&i| alpha[i]).sum::<f64>();
            let room = |alpha: &[f64], i: usize, up: bool| if up { self.room[i] - alpha[i] } else { alpha[i] };
            let up = missing > 0.0;
            let mut roomy: Vec<usize> = members.into_iter().filter(|&i| room(alpha, i, up) > 0.0).collect();
            // Samples at a bound come last: they are likely to stay there. Mostly rounding is missing, and the first is enough.
            let bound = |alpha: &[f64], i: usize| alpha[i] <= 0.0 || alpha[i] >= self.room[i];
            while missing != 0.0 {
                let order = |&a: &usize, &b: &usize| {
                    let (i, j) = (roomy[a], roomy[b]);
                    let by_room = room(alpha, j, up).total_cmp(&room(alpha, i, up));
                    bound(alpha, i).cmp(&bound(alpha, j)).then(by_room).then(i.cmp(&j))
                };
                let Some(first) = (0..roomy.len()).min_by(order) else { break };
                let i = roomy.swap_remove(first);
                let step = missing.abs().min(room(alpha, i, up));
                alpha[i] = if up { (alpha[i] + step).min(self.room[i]) } else { (alpha[i] - step).max(0.0) };
                missing -= if up { step } else { -step };
            }
        }
    }
}
