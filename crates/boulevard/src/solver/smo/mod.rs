//! Sequential minimal optimisation: two variables at a time.
//!
//! ```text
//! grow  i = argmin of the slope over variables that may grow
//! lower j = argmax of (slope_j - slope_i)^2 / (K_ii + K_jj - 2 K_ij) over variables that may fall
//! step    = (slope_j - slope_i) / (K_ii + K_jj - 2 K_ij), cut at the bounds (and at zero where there is a kink)
//! ```
//! The second-order choice of `j` is that of Fan, Chen and Lin (2005). An iteration costs two passes over the columns: one chooses `j`,
//! the other updates the gradient and already finds the next `i`. Each pass is cut into one segment per thread. A missing kernel row is
//! computed inside the pass that needs it, together with three rows that are likely to be needed soon.
//!
//! In single precision, steps that stay away from the bounds are made conjugate to the steps before them (`conjugate`).
//!
//! Where the curvature is not positive (equal rows, or a kernel that is not positive semi-definite) the step goes to the next bound; the
//! objective still falls with every step, so the loop ends for every kernel.

pub(super) mod arena;
mod cache;
mod conjugate;
mod endless;
mod moves;
mod segment;

// long: the engine's state is one struct, and every function here changes most of it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::cache::Cache;
use self::conjugate::Direction;
pub(super) use self::endless::{CLOSER, Endless, grow_for_ever, is_endless};
use self::moves::{Pair, move_pair};
pub(super) use self::moves::{inside, status};
use self::segment::{Block, Row, Segment};
use super::certificate::slopes;
use super::dual::{DualProblem, Equality};
use crate::error::{Error, Result};
use crate::kernel::KernelRows;
use crate::observe::{Context, PIECE, Progress, StopReason};
use crate::parallel::Crew;
use crate::simd::sweep::{Candidates, LOW, Motion, UP, add_scaled};
use crate::simd::{Isa, Real};

/// Rows computed together: the one that is missing and likely next ones. One tile's worth.
const BLOCK_ROWS: usize = 4;
/// The same where a thread's share of the table is larger than this and comes from far away for every block: 20 000 x 100 takes a tenth less
/// time at C = 1 and a fifth less at C = 10. Twice as many gain nothing more.
const LONG_BLOCK_ROWS: usize = 8;
const NEAR_BYTES: usize = 1 << 20;
/// Below this many values per row block, rows are computed in their order while there is room.
const AHEAD_FROM: usize = 1 << 17;
/// Columns from which a pass is worth cutting between threads.
const SPLIT_FROM: usize = 3000;
/// Fewest rows a cache can work with: the pair, and blocks for both.
const FEWEST_SLOTS: usize = 2 * BLOCK_ROWS + 2;
/// Compaction is worth its cost when at least this share of the columns goes.
const SHRINK_SHARE: f64 = 0.25;

/// How often the context is asked whether to go on, and the steps between two looks at the clock.
const ASK_EVERY: Duration = Duration::from_millis(10);
const CLOCK_EVERY: u64 = 64;
/// Work after which every step is followed by a look.
const LONG_STEP: usize = PIECE / 16;

/// Steps, and steps per sample, without a smaller violation after which it is asked whether rounding is all that is left: a violation
/// below so many rounding errors of the numbers in play. Exact steps never need to be asked: each lowers the objective.
const PATIENCE: u64 = 1000;
const PATIENCE_PER_SAMPLE: u64 = 20;
const ROUNDINGS: f64 = 64.0;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassOutcome {
    /// The violation is within the tolerance.
    Reached,
    /// No pair promises progress at this precision.
    Stuck,
    /// The cache is too small for this problem, and there is another way.
    Crowded,
    /// It came to [`Limits::pause_at`]; another run goes on from there.
    Paused,
    /// Something else ended it.
    Stopped(StopReason),
}

/// What a run may do.
pub(super) struct Limits {
    pub tolerance: f64,
    pub max_iterations: u64,
    /// Iterations at which the caller wants to look at the point; none never.
    pub pause_at: Option<u64>,
    /// Iterations before samples are left out; none never.
    pub shrink_after: Option<u64>,
    /// Whether to give up when kernel rows are computed again and again.
    pub leave_crowded: bool,
}

pub(super) struct Engine<'a, T: Real> {
    kernel: &'a dyn KernelRows<T>,
    /// The same rows against the columns that are left, while shrunk.
    restricted: Option<Box<dyn KernelRows<T> + 'a>>,
    /// Whether rows may be in the kernel's own memory: asking it five times a step took a twentieth of the step.
    resident: bool,
    /// The sample at every position.
    samples: Vec<usize>,
    segments: Vec<Mutex<Segment<T>>>,
    /// First position of every segment.
    starts: Vec<usize>,
    cache: Cache,
    clock: u64,
    direction: Option<Direction>,
    watch: Option<Watch>,
    lanes: usize,
    floor: f64,
    dimensions: usize,
    budget: Budget,
}

/// What tells steps that come closer from steps that are lost in rounding; it outlives pauses.
#[derive(Clone, Copy)]
struct Watch {
    /// Where the steps from the loaded state began.
    first_iteration: u64,
    /// The smallest violation so far, and the step that had it.
    progress_at: (f64, u64),
    /// The same where only a violation clearly below the last one counts.
    endless: Endless,
    /// Steps along a direction with a curvature above rounding, since the violation last fell below all before.
    curved: u64,
}

impl Watch {
    fn from(iteration: u64) -> Self {
        Self { first_iteration: iteration, progress_at: (f64::INFINITY, iteration), endless: Endless::from(iteration), curved: 0 }
    }
}

/// Bytes for kernel rows.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// To begin with.
    pub first: usize,
    /// When rows have to be computed again too often.
    pub most: usize,
}

impl<'a, T: Real> Engine<'a, T> {
    pub(super) fn new(
        kernel: &'a dyn KernelRows<T>,
        diagonal: &[f64],
        dimensions: usize,
        budget: Budget,
        threads: usize,
        context: &Context<'_>,
    ) -> Self {
        let n = kernel.columns();
        let lanes = context.isa.lanes::<T>();
        // Segments are fixed by the number of threads, but no result depends on where they are cut.
        let parts = if n < SPLIT_FROM { 1 } else { threads };
        let part = n.div_ceil(parts).next_multiple_of(lanes);
        let row = (n.next_multiple_of(lanes) * size_of::<T>()).max(1);
        let slots = |bytes: usize| (bytes / row).clamp(FEWEST_SLOTS, n.max(FEWEST_SLOTS));
        let (first_slots, slots) = (slots(budget.first), slots(budget.most));
        let (mut segments, mut at_hand) = (Vec::new(), false);
        for first in (0..n).step_by(part.max(1)) {
            let columns = first..(first + part).min(n);
            let mut segment = Segment::new(columns.clone(), lanes, slots);
            at_hand |= segment.is_at_hand();
            segment.constant_diagonal = diagonal.iter().all(|v| *v == diagonal[0]);
            segment.diagonal.iter_mut().zip(&diagonal[columns]).for_each(|(to, &v)| *to = T::from_f64(v));
            segments.push(Mutex::new(segment));
        }
        let largest = diagonal.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        Self {
            kernel,
            restricted: None,
            resident: has_rows(kernel),
            samples: (0..n).collect(),
            starts: (0..n).step_by(part.max(1)).collect(),
            segments,
            // Whoever fits again and again pays for fresh memory once.
            cache: Cache::new(n, if at_hand { slots } else { first_slots }, slots),
            clock: 0,
            direction: None,
            watch: None,
            lanes,
            floor: (T::ROUNDING * 8.0 * largest).max(1e-12),
            dimensions,
            budget,
        }
    }

    /// A row in the kernel's own memory.
    fn resident(&self, sample: usize) -> Option<&[T]> {
        if self.resident { self.restricted.as_deref().unwrap_or(self.kernel).resident(sample) } else { None }
    }

    fn segment(&mut self, position: usize) -> &mut Segment<T> {
        self.segments[segment_of(&self.starts, position)].get_mut().expect("not poisoned")
    }

    /// Sets the state to the point `b` with gradient `gradient`; kernel rows stay unless columns were left out.
    pub(super) fn load(&mut self, problem: &DualProblem<'_>, b: &[f64], gradient: &[f64], diagonal: &[f64], context: &Context<'_>) {
        if self.restricted.is_some() {
            let threads = self.segments.len();
            let (clock, kernel) = (self.clock, self.kernel);
            *self = Self::new(kernel, diagonal, self.dimensions, self.budget, threads, context);
            self.clock = clock;
        }
        (self.direction, self.watch) = (None, None);
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            for (place, sample) in segment.columns.clone().enumerate() {
                segment.gradient[place] = T::from_f64(gradient[sample]);
                segment.status[place] = status(problem, sample, b[sample]);
            }
        }
    }

    /// Writes the gradient as the run left it; `false` if samples were left out, whose entries stay as they were.
    pub(super) fn read_gradient(&mut self, gradient: &mut [f64]) -> bool {
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            for (place, position) in segment.columns.clone().enumerate() {
                gradient[self.samples[position]] = segment.gradient[place].to_f64();
            }
        }
        self.restricted.is_none()
    }

    /// Whether so many rows can be in memory at once, for all columns; makes room for them if so.
    pub(super) fn can_hold(&mut self, rows: usize) -> bool {
        self.restricted.is_none() && self.cache.make_room(rows)
    }

    /// Computes those of these rows that are missing, for which there must be room ([`Engine::can_hold`]).
    pub(super) fn fetch(&mut self, samples: &[usize], crew: &mut Crew, context: &Context<'_>) -> Result<()> {
        self.clock += 1;
        let missing: Vec<usize> =
            samples.iter().copied().filter(|&s| self.resident(s).is_none() && self.cache.find(s, self.clock).is_none()).collect();
        for some in missing.chunks(BLOCK_ROWS) {
            let mut block = Block::default();
            for &sample in some {
                block.push(sample, self.cache.insert(sample, self.clock));
            }
            self.compute(&block, crew, context)?;
        }
        Ok(())
    }

    /// The kernel values of `samples` with each other, lower triangle, row-major; their rows must have been fetched.
    pub(super) fn gather(&mut self, samples: &[usize]) -> Vec<f64> {
        let m = samples.len();
        let mut values = vec![0.0; m * m];
        for (f, &sample) in samples.iter().enumerate() {
            let slot = self.cache.find(sample, self.clock).unwrap_or(0);
            let row = row(self.kernel, self.resident, slot, sample);
            let mut first = 0;
            for segment in &mut self.segments {
                let segment = segment.get_mut().expect("not poisoned");
                let last = first + samples[first..].partition_point(|&s| s < segment.columns.end);
                let (part, start) = (segment.part(row), segment.columns.start);
                for (value, &column) in values[f * m + first..].iter_mut().zip(&samples[first..last.min(f + 1).max(first)]) {
                    *value = part[column - start].to_f64();
                }
                first = last;
            }
        }
        values
    }

    /// `to += sum of weights times rows`, in double precision; the rows must have been fetched.
    pub(super) fn add_rows(&mut self, samples: &[usize], weights: &[f64], to: &mut [f64], isa: Isa) {
        let places: Vec<usize> = samples.iter().map(|&sample| self.cache.find(sample, self.clock).unwrap_or(0)).collect();
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            let to = &mut to[segment.columns.clone()];
            let part = |k: usize| segment.part(row(self.kernel, self.resident, places[k], samples[k]));
            for k in (0..samples.len() / 4).map(|quad| 4 * quad) {
                let quad = [part(k), part(k + 1), part(k + 2), part(k + 3)];
                add_scaled(isa, to, [weights[k], weights[k + 1], weights[k + 2], weights[k + 3]], quad);
            }
            for k in samples.len() / 4 * 4..samples.len() {
                add_scaled(isa, to, [weights[k]], [part(k)]);
            }
        }
    }

    /// Takes steps from the loaded state until the tolerance, a limit or a dead end; `b` follows.
    // long: the loop of steps with everything that may end it.
    pub(super) fn run(
        &mut self,
        problem: &DualProblem<'_>,
        b: &mut [f64],
        limits: &Limits,
        iterations: &mut u64,
        crew: &mut Crew,
        context: &Context<'_>,
    ) -> PassOutcome {
        let groups = if matches!(problem.equality, Equality::TwoSums(_)) { 2 } else { 1 };
        let kink = T::from_f64(problem.kink);
        let isa = context.isa;
        let mut asked = Instant::now();
        let shrink_every = (self.samples.len() as u64).clamp(1, 1000) * 4;
        let mut watch = self.watch.take().unwrap_or_else(|| Watch::from(*iterations));
        // A step that computes rows of many values is long enough to look at the clock after every one.
        let work = self.samples.len().saturating_mul(self.kernel.work()).saturating_mul(LONG_BLOCK_ROWS);
        let clock_every = if work > LONG_STEP { 1 } else { CLOCK_EVERY };
        // Without bounds worth the name the problem may have no end at all.
        let endless = is_endless(problem);
        each(&mut self.segments, crew, |segment| segment.look(isa, kink, groups));
        loop {
            let Some(choice) = self.choose(groups) else { return PassOutcome::Reached };
            if choice.violation <= limits.tolerance {
                return PassOutcome::Reached;
            }
            // Gains are squares of slopes: where these overflow, no partner is better than another.
            if !T::from_f64(choice.violation * choice.violation).to_f64().is_finite() {
                return PassOutcome::Stuck;
            }
            if choice.violation < watch.progress_at.0 {
                watch.progress_at = (choice.violation, *iterations);
                watch.curved = 0;
            } else if *iterations - watch.progress_at.1 > PATIENCE + PATIENCE_PER_SAMPLE * b.len() as u64 {
                // Nor is there anything to gain where all steps went along directions whose curvature is lost in rounding.
                if watch.curved == 0 || choice.violation <= ROUNDINGS * T::ROUNDING * self.size(problem, b) {
                    return PassOutcome::Stuck;
                }
                (watch.progress_at.1, watch.curved) = (*iterations, 0);
            }
            if endless && watch.endless.is_tired(choice.violation, *iterations, b.len()) && grow_for_ever(b, self.diagonal()) {
                return PassOutcome::Stuck;
            }
            if *iterations >= limits.max_iterations {
                return PassOutcome::Stopped(StopReason::MaxIterations);
            }
            if limits.pause_at.is_some_and(|at| *iterations >= at) {
                self.watch = Some(watch);
                return PassOutcome::Paused;
            }
            let done = *iterations - watch.first_iteration;
            if limits.leave_crowded && self.cache.is_crowded() {
                return PassOutcome::Crowded;
            }
            if done % clock_every == clock_every - 1 && asked.elapsed() >= ASK_EVERY {
                asked = Instant::now();
                let progress = Progress {
                    stage: "solve",
                    done: *iterations,
                    total: None,
                    violation: Some(choice.violation),
                    tolerance: Some(limits.tolerance),
                };
                if let Some(reason) = context.check(&progress) {
                    return PassOutcome::Stopped(reason);
                }
            }
            if let Some(after) = limits.shrink_after
                && done >= after
                && done.is_multiple_of(shrink_every)
                && self.shrink(problem, b, groups)
            {
                each(&mut self.segments, crew, |segment| segment.look(isa, kink, groups));
                continue;
            }
            *iterations += 1;
            self.clock += 1;
            match self.step(problem, b, &choice, groups, &mut watch.curved, crew, context) {
                Ok(true) => {}
                Ok(false) => return PassOutcome::Stuck,
                Err(Error::Stopped { reason }) => {
                    // Nothing moved.
                    *iterations -= 1;
                    return PassOutcome::Stopped(reason);
                }
                Err(_) => return PassOutcome::Stuck,
            }
        }
    }

    /// The variable to grow, in the group with the larger violation.
    fn choose(&mut self, groups: usize) -> Option<PairChoice<T>> {
        let mut best: Option<PairChoice<T>> = None;
        for group in 0..groups {
            let nothing = T::from_f64(f64::NEG_INFINITY);
            let (mut up, mut low) = (None::<(T, usize)>, nothing);
            for segment in &mut self.segments {
                let segment = segment.get_mut().expect("not poisoned");
                if let Some((value, place)) = segment.extremes[group].up.best()
                    && up.is_none_or(|best| value <= best.0)
                {
                    up = Some((value, segment.columns.start + place));
                }
                if segment.extremes[group].low > low {
                    low = segment.extremes[group].low;
                }
            }
            let Some((up, position)) = up else { continue };
            if low == nothing {
                continue;
            }
            let violation = low.to_f64() - up.to_f64();
            if best.as_ref().is_none_or(|best| violation > best.violation) {
                best = Some(PairChoice { group, position, slope: up, violation, least_up: up.to_f64(), most_low: low.to_f64() });
            }
        }
        best
    }

    /// The largest value of the kernel's diagonal.
    fn diagonal(&mut self) -> f64 {
        let mut diagonal = 0.0f64;
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            diagonal = segment.diagonal.iter().fold(diagonal, |a, v| a.max(v.to_f64().abs()));
        }
        diagonal
    }

    /// The size of the numbers that a gradient is made of: rounding errors are small shares of it.
    fn size(&mut self, problem: &DualProblem<'_>, b: &[f64]) -> f64 {
        let (mut slope, mut diagonal) = (problem.kink, 0.0f64);
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            slope = segment.gradient.iter().fold(slope, |a, v| a.max(v.to_f64().abs()));
            diagonal = segment.diagonal.iter().fold(diagonal, |a, v| a.max(v.to_f64().abs()));
        }
        slope + diagonal * b.iter().map(|b| b.abs()).sum::<f64>()
    }

    /// Computes missing rows before anything depends on them; if that is stopped, they are not there.
    fn compute(&mut self, block: &Block, crew: &mut Crew, context: &Context<'_>) -> Result<()> {
        let kernel = self.restricted.as_deref().unwrap_or(self.kernel);
        let outcome = Mutex::new(Ok(()));
        each(&mut self.segments, crew, |segment| {
            if let Err(error) = segment.compute(kernel, block, context) {
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
            }
        });
        let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        if outcome.is_err() {
            block.samples().iter().for_each(|&sample| self.cache.forget(sample));
        }
        outcome
    }

    /// Whether computing a block takes so long that somebody may want to stop it.
    fn is_long(&self, block: &Block) -> bool {
        if block.samples().is_empty() {
            return false;
        }
        let columns = self.samples.len().saturating_mul(block.samples().len());
        columns.saturating_mul(self.kernel.work()) > PIECE * self.segments.len()
    }

    /// One step with the variable of `choice`; `false` if no partner promises progress.
    // long: one pass of a microsecond; every part reads what the one before it found.
    fn step(
        &mut self,
        problem: &DualProblem<'_>,
        b: &mut [f64],
        choice: &PairChoice<T>,
        groups: usize,
        curved: &mut u64,
        crew: &mut Crew,
        context: &Context<'_>,
    ) -> Result<bool> {
        let (isa, kink) = (context.isa, T::from_f64(problem.kink));
        let floor = T::from_f64(self.floor);
        let i = choice.position;
        let sample_i = self.samples[i];

        let (place_i, mut block) = self.request(sample_i, |segment| &segment.extremes[choice.group].up, true);
        if self.is_long(&block) {
            self.compute(&block, crew, context)?;
            block = Block::default();
        }
        // Short blocks are computed inside the passes, where nobody stops them.
        let nobody = context.undisturbed();
        let (diagonal_i, trail_i) = {
            let segment = self.segment(i);
            let place = i - segment.columns.start;
            (segment.diagonal[place], segment.trail[place].to_f64())
        };
        let kernel = self.restricted.as_deref().unwrap_or(self.kernel);
        let row_i = row(kernel, self.resident, place_i, sample_i);
        each(&mut self.segments, crew, |segment| {
            segment.compute(kernel, &block, &nobody).expect("nobody stops it");
            segment.partner(isa, kink, choice.group, row_i, diagonal_i, choice.slope, floor);
        });
        let mut best = None::<(T, usize)>;
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            if let Some((gain, place)) = segment.partners.best()
                && best.is_none_or(|best| gain >= best.0)
            {
                best = Some((gain, segment.columns.start + place));
            }
        }
        let Some((_, j)) = best else { return Ok(false) };
        let sample_j = self.samples[j];

        let (place_j, mut block) = self.request(sample_j, |segment| &segment.partners, false);
        if self.is_long(&block) {
            self.compute(&block, crew, context)?;
            block = Block::default();
        }
        // Looked up again: asking for row j needed the engine.
        let kernel = self.restricted.as_deref().unwrap_or(self.kernel);
        let row_i = row(kernel, self.resident, place_i, sample_i);
        let row_j = row(kernel, self.resident, place_j, sample_j);
        let at = [segment_of(&self.starts, i), segment_of(&self.starts, j)];
        let (k_ij, k_jj, g_j, trail_j) = {
            let segment = self.segments[at[1]].get_mut().expect("not poisoned");
            let place = j - segment.columns.start;
            let [diagonal, gradient, trail] = [&segment.diagonal, &segment.gradient, &segment.trail].map(|values| values[place].to_f64());
            (segment.value(row_i, j).to_f64(), diagonal, gradient, trail)
        };
        let (_, slope_j) = slopes(problem, b[sample_j], g_j);
        let curvature = (diagonal_i.to_f64() + k_jj - 2.0 * k_ij).max(self.floor);
        *curved += u64::from(curvature > self.floor);
        let fall = slope_j - choice.slope.to_f64();
        let pair = Pair { up: sample_i, down: sample_j, fall, curvature };
        let followed = self.direction.take().and_then(|last| last.follow(problem, b, &pair, trail_i - trail_j));
        let (motion, moved) = match followed {
            Some((direction, step, share)) => {
                self.direction = direction.if_short();
                (Motion::Follow { step: T::from_f64(step), share: T::from_f64(share) }, true)
            }
            None => {
                let wanted = fall / curvature;
                let (step_i, step_j) = move_pair(problem, b, sample_i, sample_j, wanted);
                // Double precision is for small and for delicate problems: their path is LIBSVM's.
                let whole = !T::DOUBLE && curvature > self.floor && pair.is_inside(problem, b);
                self.direction = whole.then(|| Direction::along(&pair));
                let steps = [T::from_f64(step_i), T::from_f64(step_j)];
                (if whole { Motion::Begin(steps[0]) } else { Motion::Pair(steps) }, step_i != 0.0 || step_j != 0.0)
            }
        };
        for (at, position, sample) in [(at[0], i, sample_i), (at[1], j, sample_j)] {
            let segment = self.segments[at].get_mut().expect("not poisoned");
            let place = position - segment.columns.start;
            segment.status[place] = status(problem, sample, b[sample]);
        }
        each(&mut self.segments, crew, |segment| {
            segment.compute(kernel, &block, &nobody).expect("nobody stops it");
            segment.update(isa, kink, groups, motion, [row_i, row_j]);
        });
        // A step lost in rounding would be chosen again for ever.
        Ok(moved)
    }

    /// The slot of a row, and the rows to compute first if it is not there: it and the best of `candidates`.
    fn request(&mut self, sample: usize, candidates: impl Fn(&Segment<T>) -> &Candidates<T>, smallest: bool) -> (usize, Block) {
        let mut block = Block::default();
        if self.resident(sample).is_some() {
            return (0, block);
        }
        if let Some(slot) = self.cache.find(sample, self.clock) {
            return (slot, block);
        }
        let slot = self.cache.insert(sample, self.clock);
        block.push(sample, slot);
        if self.samples.len() * self.dimensions >= AHEAD_FROM || !self.cache.has_room(BLOCK_ROWS) {
            for other in self.likely(candidates, smallest, self.block_rows() - 1) {
                let slot = self.cache.insert(other, self.clock);
                block.push(other, slot);
            }
        } else {
            // The kernel's tiles compute four rows at the price of one: small problems need most rows sooner or later.
            for other in self.cache.missing_after(sample, BLOCK_ROWS - 1) {
                let slot = self.cache.insert(other, self.clock);
                block.push(other, slot);
            }
        }
        (slot, block)
    }

    /// Rows that a block of a large problem has.
    fn block_rows(&self) -> usize {
        let bytes = self.samples.len().saturating_mul(self.dimensions).saturating_mul(size_of::<T>()) / self.segments.len().max(1);
        if bytes > NEAR_BYTES && self.cache.slots() > 2 * LONG_BLOCK_ROWS { LONG_BLOCK_ROWS } else { BLOCK_ROWS }
    }

    /// Samples of the best lanes whose rows are missing, `count` at most.
    fn likely(&mut self, candidates: impl Fn(&Segment<T>) -> &Candidates<T>, smallest: bool, count: usize) -> Vec<usize> {
        let mut found: Vec<(f64, usize)> = Vec::new();
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            for (value, place) in candidates(segment).iter() {
                let sample = self.samples[segment.columns.start + place];
                if !self.cache.contains(sample) {
                    found.push((if smallest { value.to_f64() } else { -value.to_f64() }, sample));
                }
            }
        }
        found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.into_iter().take(count).map(|(_, sample)| sample).collect()
    }

    /// Leaves out columns at a bound whose slope says that they stay there. `true` if columns went.
    fn shrink(&mut self, problem: &DualProblem<'_>, b: &[f64], groups: usize) -> bool {
        if groups == 2 || problem.kink != 0.0 {
            return false;
        }
        let Some(choice) = self.choose(groups) else { return false };
        let (mut kept, mut present, mut keep) = (0, 0, Vec::new());
        for segment in &mut self.segments {
            let segment = segment.get_mut().expect("not poisoned");
            let mut of_segment = Vec::new();
            for (place, position) in segment.columns.clone().enumerate() {
                let sample = self.samples[position];
                let (up, low) = slopes(problem, b[sample], segment.gradient[place].to_f64());
                let settled = match segment.status[place] & (UP | LOW) {
                    UP => up > choice.most_low,
                    LOW => low < choice.least_up,
                    0 => true,
                    _ => false,
                };
                if !settled {
                    of_segment.push(place);
                }
            }
            present += segment.columns.len();
            kept += of_segment.len();
            keep.push(of_segment);
        }
        if kept == 0 || (kept as f64) > (1.0 - SHRINK_SHARE) * present as f64 {
            return false;
        }
        // Segments begin at panels: fill them up with columns that stay out of play.
        let mut samples = Vec::new();
        let mut ranges = Vec::new();
        for (segment, places) in self.segments.iter_mut().zip(&keep) {
            let segment = segment.get_mut().expect("not poisoned");
            let first = samples.len();
            samples.extend(places.iter().map(|&place| self.samples[segment.columns.start + place]));
            ranges.push(first..samples.len());
            let padding = samples.len().next_multiple_of(self.lanes) - samples.len();
            samples.extend(std::iter::repeat_n(self.samples[0], padding));
        }
        let restricted = self.kernel.restrict(&samples);
        let filled = self.cache.filled();
        let starts = ranges.iter().map(|range: &std::ops::Range<usize>| range.start).collect();
        for ((segment, places), range) in self.segments.iter_mut().zip(&keep).zip(ranges) {
            segment.get_mut().expect("not poisoned").compact(places, range, self.lanes, filled);
        }
        let slots = self.segments.iter_mut().map(|s| s.get_mut().expect("not poisoned").slots()).min().unwrap_or(0);
        self.cache.grow(slots);
        self.direction = None;
        self.starts = starts;
        self.samples = samples;
        self.resident = has_rows(&*restricted);
        self.restricted = Some(restricted);
        true
    }
}

/// The segment that holds a position.
fn segment_of(starts: &[usize], position: usize) -> usize {
    starts.iter().rposition(|&start| start <= position).expect("the first starts at zero")
}

/// Works on every segment, each on a thread of its own. A single one needs no lock: small problems would spend a tenth of their time on it.
fn each<T: Real>(segments: &mut [Mutex<Segment<T>>], crew: &mut Crew, work: impl Fn(&mut Segment<T>) + Sync) {
    if let [only] = segments {
        return work(only.get_mut().expect("not poisoned"));
    }
    let segments = &*segments;
    crew.run(segments.len(), &|s| work(&mut segments[s].lock().expect("not poisoned")));
}

/// Whether a kernel may have rows in memory; the last one may be missing all the same.
fn has_rows<T: Real>(kernel: &dyn KernelRows<T>) -> bool {
    kernel.resident(0).is_some()
}

/// A row where the kernel keeps it, if it keeps any, or in its slot.
fn row<T: Real>(kernel: &dyn KernelRows<T>, resident: bool, slot: usize, sample: usize) -> Row<'_, T> {
    if !resident {
        return Row::Slot(slot);
    }
    kernel.resident(sample).map_or(Row::Slot(slot), Row::Resident)
}

/// The variable to grow.
struct PairChoice<T> {
    group: usize,
    position: usize,
    slope: T,
    violation: f64,
    least_up: f64,
    most_low: f64,
}
