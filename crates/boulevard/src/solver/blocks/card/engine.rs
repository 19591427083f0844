//! The card as the blocked loop sees it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boulevard_cuda::{Buffer, Card, CudaError};

use super::active::State;
use super::formula::CardKernel;
use super::lanes::CardCopy;
use super::newton::Factors;
use super::partial::Sums;
use super::refusal;
use super::table::CardTable;
use super::times::timed;
use crate::error::{Error, Result};
use crate::observe::{Context, Device, Progress};
use crate::solver::blocks::Plan;
use crate::solver::blocks::engine::{
    Answer, BlockEngine, Candidate, Drift, Extremes, Halt, Load, Moved, Narrow, Newton, Outcome, Recheck, Set, SetSolution, Want,
};
use crate::solver::source::KernelSource;

/// How often the context is asked.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// Steps of one set at most, per variable: more would be a fight against rounding, and nobody could stop it.
const STEPS_PER_VARIABLE: u64 = 32;
/// Seconds of one launch in double precision, about, so that a stop is noticed soon.
const EXACT_PIECE: f64 = 0.02;
/// Seconds per kernel value and feature in double precision before anything was measured: a card with fast double precision.
const USUAL_PACE: f64 = 5e-14;
/// Pair steps are taken by fours until a set needs more of them per variable than this, then by twos until one needs fewer than that.
const BY_TWOS: f64 = 1.25;
const BY_FOURS: f64 = 0.75;
/// Bytes of shared memory per variable of a set: value and bounds in double precision.
const SET_BYTES: usize = 24;
/// Problems from this size begin with small bounds: sets of smaller ones hold a good part of the rows, and settle them without.
const EASED_FROM: usize = 60_000;
/// With so many rows per variable of a set, the steepest candidates are much alike: every second one says as much.
const ALIKE_FROM: usize = 128;
/// Relative error of sums of halves, in units of the values.
pub(crate) const ROUNDING: f64 = 2.4e-7;

/// The rows of one problem on a card.
pub(crate) struct CardBlocks<'a> {
    context: Context<'a>,
    asked: Instant,
    pub(super) card: Arc<Card>,
    pub(super) table: CardTable,
    pub(super) sums: Sums,
    pub(super) linear: Buffer<f64>,
    pub(super) state: State,
    matrix: Buffer<f32>,
    /// Variables of the set whose matrix is there or on its way.
    announced: Vec<u32>,
    /// Parts of sums that are on their way.
    pushed: usize,
    /// Whether the kernel is positive semi-definite, as far as anybody knows.
    definite: bool,
    /// Whether pair steps are taken by fours.
    by_fours: bool,
    pub(super) factors: Factors,
    /// Kernel values in double precision and the seconds they took.
    pace: (f64, f64),
}

impl<'a> CardBlocks<'a> {
    /// Copies the table to the card, unless `copy` is there; an error of the card is one of [`Error::Device`].
    pub(crate) fn new(card: Arc<Card>, source: &dyn KernelSource, copy: &CardCopy, linear: &[f64], context: &Context<'a>) -> Result<Self> {
        let view = source.table().ok_or_else(|| Error::data("a kernel without a table"))?;
        let kernel = CardKernel::new(view.kernel).ok_or_else(|| Error::data("a kernel that cards do not compute"))?;
        let definite = view.kernel.is_positive_semidefinite() != Some(false);
        let make = || -> std::result::Result<Self, CudaError> {
            let table = timed(&card, "table", || card.enter().and_then(|()| copy.get(&card, kernel, &view)))?;
            Ok(Self {
                context: *context,
                asked: Instant::now(),
                sums: Sums::new(&card)?,
                linear: card.upload(linear)?,
                state: State::new(&card, linear.len())?,
                matrix: card.allocate(0)?,
                announced: Vec::new(),
                pushed: 0,
                definite,
                by_fours: definite,
                factors: Factors::new(&card, &table)?,
                pace: (0.0, 0.0),
                card: card.clone(),
                table,
            })
        };
        make().map_err(|error| refusal(context.device, &error))
    }

    /// Sizes of sets: large ones save columns, but their matrix and their steps have a price.
    pub(crate) fn plan(&self) -> Plan {
        let n = self.table.rows;
        let most = self.card.shared_bytes() / SET_BYTES / 1024 * 1024;
        let set = if n < 12_000 { 1024 } else { 2048 };
        let set = set.min(most.max(1024));
        let eased = self.factors.diagonal().filter(|_| n >= EASED_FROM);
        let thinned = if n >= ALIKE_FROM * set { 2 } else { 1 };
        Plan {
            set,
            small_set: set.min(2048),
            outer: None,
            rounding: ROUNDING,
            eased,
            diagonal: self.factors.diagonal().unwrap_or(1.0),
            thinned,
            ahead: false,
            most_columns: None,
        }
    }

    pub(super) fn device(&self) -> Device {
        self.context.device
    }

    pub(super) fn failed(&self, error: &CudaError) -> Halt {
        Halt::Failed(refusal(self.context.device, error))
    }

    /// Makes the card this thread's and asks whether to go on.
    pub(super) fn enter(&mut self, progress: &Progress<'_>) -> Outcome<()> {
        self.card.enter().map_err(|error| self.failed(&error))?;
        if self.asked.elapsed() >= ASK_EVERY {
            self.asked = Instant::now();
            if let Some(reason) = self.context.check(progress) {
                return Err(Halt::Stop(reason));
            }
        }
        Ok(())
    }

    fn add(&mut self, moved: Moved<'_>) -> std::result::Result<usize, CudaError> {
        if moved.ids.is_empty() {
            return Ok(0);
        }
        let Self { card, table, state, sums, .. } = self;
        timed(card, "update", || {
            let columns = table.columns_of(moved.ids, moved.steps)?;
            let splits = table.weigh(state.rows(table), state.active, &columns, sums)?;
            state.set_status(card, moved.ids, moved.status)?;
            Ok(splits)
        })
    }

    fn look(&mut self, splits: usize, want: &Want<'_>) -> std::result::Result<Answer, CudaError> {
        let Self { card, state, sums, .. } = self;
        let found = timed(card, "select", || state.select(card, sums, splits, want.count, want.kept))?;
        let extremes = found.extremes;
        let mut answer = Answer { extremes, up: Default::default(), low: Default::default(), kept: found.kept };
        for (list, mut entries) in found.lists.into_iter().enumerate() {
            let Extremes { least_up, most_low } = extremes[list % 2];
            let falling = list >= 2;
            entries.retain(|entry: &Candidate| if falling { entry.slope > least_up } else { entry.slope < most_low });
            entries.sort_unstable_by(|a, b| {
                let order = a.slope.total_cmp(&b.slope);
                (if falling { order.reverse() } else { order }).then(a.id.cmp(&b.id))
            });
            entries.truncate(want.count);
            let lists = if falling { &mut answer.low } else { &mut answer.up };
            lists[list % 2] = entries;
        }
        Ok(answer)
    }

    /// The kernel matrix of a set, on its way.
    fn gram(&mut self, ids: &[u32]) -> std::result::Result<(), CudaError> {
        let (card, q, stride) = (self.card.clone(), ids.len(), most_for(ids.len()));
        if self.matrix.len() < q * stride {
            self.matrix = card.allocate(0)?;
            self.matrix = card.allocate(stride * stride)?;
        }
        self.announced = ids.to_vec();
        timed(&card, "gram", || self.table.store(&card.upload(ids)?, q, &self.matrix, stride))
    }

    fn local(&mut self, set: &Set<'_>) -> std::result::Result<SetSolution, CudaError> {
        let (card, q) = (self.card.clone(), set.ids.len());
        let stride = most_for(q);
        if self.announced != set.ids {
            self.gram(set.ids)?;
        }
        self.announced.clear();
        let numbers = card.upload(&[set.gradient, set.start, set.lower, set.upper].concat())?;
        let two = !set.second.is_empty();
        let second = card.upload(&set.second.iter().map(|&second| u8::from(second)).collect::<Vec<_>>())?;
        let out = card.allocate::<f64>(q + 2)?;
        let (kernel, threads) = match (two, stride, self.by_fours) {
            (false, 1024, true) => ("local_one_1024_by_4", 256),
            (false, 1024, false) => ("local_one_1024_by_2", 256),
            (false, 2048, true) => ("local_one_2048_by_4", 256),
            (false, 2048, false) => ("local_one_2048_by_2", 256),
            (false, ..) => ("local_one_4096_by_2", 512),
            (true, 1024, _) => ("local_two_1024_by_2", 256),
            (true, 2048, _) => ("local_two_2048_by_2", 256),
            (true, ..) => ("local_two_4096_by_2", 512),
        };
        let launch = card.launch(kernel).threads(threads).shared(stride * SET_BYTES).buffer(&self.matrix).count(q).count(stride);
        let launch = (0..4).fold(launch, |launch, part| launch.part(&numbers, part * q)).buffer(&second);
        let launch = launch.number(set.kink).number(set.stop).long(set.max_steps.min(STEPS_PER_VARIABLE * q as u64));
        let mut b = timed(&card, "local", || launch.buffer(&out).part(&out, q).run().and_then(|()| out.read(q + 2)))?;
        let steps = b[q].to_bits();
        // Four at a time creep where curvatures may be negative: on an emulated card a set of 300 did not end.
        self.by_fours = self.definite && steps as f64 <= if self.by_fours { BY_TWOS } else { BY_FOURS } * q as f64;
        b.truncate(q);
        Ok(SetSolution { b, steps, stuck: false })
    }

    fn exactly(&mut self, support: Moved<'_>, rule: Recheck) -> Outcome<Drift> {
        let device = self.context.device;
        let failed = move |error: CudaError| Halt::Failed(refusal(device, &error));
        let chosen = self.state.recheck_rows(&self.card, support.ids, rule).map_err(failed)?;
        if chosen.count == 0 {
            return Ok(Drift::default());
        }
        let progress = Progress { stage: "exact gradient", done: 0, total: None, violation: None, tolerance: None };
        let columns = self.table.exact_columns(support.ids, support.steps).map_err(failed)?;
        let (mut drift, mut from) = (Drift { largest: 0.0, rows: chosen.count }, 0);
        while from < chosen.count {
            self.enter(&progress)?;
            // By the usual pace, not by the clock: pieces decide in which order sums are added.
            let each = USUAL_PACE * (self.table.columns as f64 + 40.0) * support.ids.len().max(1) as f64;
            let count = ((EXACT_PIECE / each) as usize).clamp(64 * self.card.processors(), usize::MAX).min(chosen.count - from);
            let start = Instant::now();
            let Self { table, sums, state, card, linear, .. } = self;
            let piece = || {
                let splits = table.weigh_exactly(&chosen.ids, from, count, &columns, sums)?;
                state.correct(card, &chosen, from, count, sums, splits, linear)
            };
            let largest = timed(card, "exact", piece).map_err(failed)?;
            drift.largest = drift.largest.max(largest);
            self.pace.0 += count as f64 * columns.count as f64;
            self.pace.1 += start.elapsed().as_secs_f64();
            from += count;
        }
        Ok(drift)
    }
}

/// The most variables of a set like this, by which the kernel that solves it is called.
fn most_for(variables: usize) -> usize {
    [1024, 2048].into_iter().find(|&most| most >= variables).unwrap_or(4096)
}

impl BlockEngine for CardBlocks<'_> {
    fn load(&mut self, state: &Load<'_>) -> Outcome<()> {
        self.card.enter().and_then(|()| self.state.load(&self.card, state)).map_err(|error| self.failed(&error))
    }

    fn announce(&mut self, ids: &[u32]) -> Outcome<()> {
        self.card.enter().and_then(|()| self.gram(ids)).map_err(|error| self.failed(&error))
    }

    fn push(&mut self, moved: Moved<'_>, progress: &Progress<'_>) -> Outcome<bool> {
        self.enter(progress)?;
        self.pushed = self.add(moved).map_err(|error| self.failed(&error))?;
        Ok(true)
    }

    fn step(&mut self, moved: Moved<'_>, want: &Want<'_>) -> Outcome<Answer> {
        let splits = match std::mem::take(&mut self.pushed) {
            0 => {
                self.enter(&want.progress)?;
                self.add(moved).map_err(|error| self.failed(&error))?
            }
            pushed => pushed,
        };
        self.look(splits, want).map_err(|error| self.failed(&error))
    }

    fn solve_set(&mut self, set: &Set<'_>) -> Outcome<SetSolution> {
        self.enter(&set.progress)?;
        self.local(set).map_err(|error| self.failed(&error))
    }

    fn narrow(&mut self, rule: Narrow<'_>) -> Outcome<usize> {
        let Self { card, table, state, .. } = self;
        timed(card, "park", || card.enter().and_then(|()| state.narrow(card, table, rule))).map_err(|error| self.failed(&error))
    }

    fn widen(&mut self, moved: Moved<'_>) -> Outcome<()> {
        self.enter(&Progress { stage: "solve", done: 0, total: None, violation: None, tolerance: None })?;
        let Self { card, table, state, sums, .. } = self;
        let back = || {
            if !state.is_narrow() {
                return Ok(());
            }
            let splits = match moved.ids {
                [] => 0,
                ids => table.weigh(&table.all, table.rows, &table.columns_of(ids, moved.steps)?, sums)?,
            };
            state.widen(card, sums, splits)
        };
        timed(card, "widen", back).map_err(|error| self.failed(&error))
    }

    fn recheck(&mut self, support: Moved<'_>, rule: Recheck) -> Outcome<Drift> {
        self.card.enter().map_err(|error| self.failed(&error))?;
        self.exactly(support, rule)
    }

    fn gradient(&mut self) -> Outcome<Vec<f64>> {
        self.card.enter().and_then(|()| self.state.read_gradient()).map_err(|error| self.failed(&error))
    }

    fn unwatch(&mut self) {
        (self.context.observer, self.context.deadline) = (None, None);
    }

    fn seconds_for(&self, values: f64) -> f64 {
        let usual = USUAL_PACE * (self.table.columns as f64 + 40.0);
        let each = if self.pace.0 > 1e9 { self.pace.1 / self.pace.0 } else { usual };
        values * each
    }

    fn newton(&mut self) -> Option<&mut dyn Newton> {
        if self.factors.has_newton() { Some(self) } else { None }
    }
}
