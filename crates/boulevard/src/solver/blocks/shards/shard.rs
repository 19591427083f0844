//! One shard: some rows, their gradients, and the rows it was sent.

use std::time::Instant;

use super::message::{Anew, Features, Reply, Request, Stay};
use super::store::RowStore;
use super::weigh::Of;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::{self, Kernel};
use crate::observe::{Context, Device, Isa};
use crate::simd::Real;
use crate::solver::blocks::engine::{Candidate, Drift, Extremes};
use crate::solver::blocks::select::{self, TAKEN, group, may, slopes};
use crate::solver::blocks::{CARD_DRIFT, FarRows};

/// Rows whose gradients are computed at once: bounds the memory beside the tables.
pub(super) const COLUMNS_AT_ONCE: usize = 1 << 15;
/// One in so many rows is computed anew in double precision though nothing says that it matters.
const SAMPLED: usize = 128;
/// This share of the candidates asked for is offered whatever they violate.
const ALWAYS: usize = 4;

/// Some rows of a table on one machine, and what a driver elsewhere knows and asks about them.
///
/// ```
/// use boulevard::data::Matrix;
/// use boulevard::solver::Shard;
/// let mut shard = Shard::new(Matrix::dense(vec![0.0, 1.0], 2, 1)?, 1)?;
/// assert_eq!((shard.rows(), shard.columns()), (2, 1));
/// // Whatever is asked, there is an answer: here that this is no message.
/// assert!(!shard.call(b"hello").is_empty());
/// # Ok::<(), boulevard::Error>(())
/// ```
pub struct Shard {
    pub(super) x: Matrix<'static>,
    pub(super) threads: usize,
    pub(super) device: Device,
    pub(super) kernel: Option<Kernel>,
    /// The rows on a graphics card, for as long as one is used.
    pub(super) far: Option<FarRows>,
    /// Runs of rows: first number in the whole table, first row here, length.
    runs: Vec<(u32, u32, u32)>,
    pub(super) guests: RowStore,
    /// Whether the driver has a row's features.
    told: Vec<bool>,
    pub(super) state: State,
}

/// The problem at hand, by row of the shard.
#[derive(Default)]
pub(super) struct State {
    double: bool,
    kink: f64,
    linear: Vec<f64>,
    gradient: Vec<f64>,
    status: Vec<u8>,
    exact: Vec<bool>,
    takes_part: Vec<bool>,
    /// Active rows, rising, and whether a row is among them.
    pub(super) active: Vec<u32>,
    is_active: Vec<bool>,
    /// Features of the active rows, where these are not all and the processor needed them.
    pub(super) packed: Option<Matrix<'static>>,
    /// Gradients when the first rows were parked.
    at_first: Option<Vec<f64>>,
    /// It came late, while others had parked rows already: it parks none until all are back.
    exempt: bool,
}

impl Shard {
    /// A shard of these rows; fails where a value is not a finite number.
    pub fn new(x: Matrix<'static>, threads: usize) -> Result<Self> {
        x.check_finite("X")?;
        let told = vec![false; x.rows()];
        let (guests, state) = (RowStore::new(), State::default());
        let (threads, device) = (threads.max(1), Device::Cpu);
        Ok(Self { x, threads, device, kernel: None, far: None, runs: Vec::new(), guests, told, state })
    }

    /// The same rows with sums computed on `device`. A card is looked for when a fit begins. `auto` takes one for large shards, and the
    /// processor where that does not work; a card that is asked for by name and cannot be used ends the fit with an error.
    pub fn on(mut self, device: Device) -> Self {
        (self.device, self.far) = (device, None);
        self
    }

    /// Whether a graphics card computes its sums: known once a fit has begun.
    pub fn is_on_card(&self) -> bool {
        self.far.is_some()
    }

    /// Its rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Their features.
    pub fn columns(&self) -> usize {
        self.x.columns()
    }

    /// Answers a message of the driver.
    pub fn call(&mut self, message: &[u8]) -> Vec<u8> {
        let start = Instant::now();
        let reply = Request::from_bytes(message).and_then(|request| self.answer(request));
        let reply = reply.unwrap_or_else(|error| match error {
            Error::Device { device, reason } => Reply::Refused { device, reason },
            other => Reply::Failed { why: other.to_string() },
        });
        reply.to_bytes(start.elapsed().as_secs_f64())
    }

    fn answer(&mut self, request: Request) -> Result<Reply> {
        match request {
            Request::Open { kernel, runs } => self.open(&kernel, &runs),
            Request::Moments { weights } => self.moments(&weights),
            Request::Load { rows, linear, gradient, status, kink, double, exempt } => {
                self.load(&rows, &linear, &gradient, &status)?;
                (self.state.kink, self.state.double, self.state.exempt) = (kink, double, exempt);
                Ok(Reply::Done)
            }
            Request::Step { features, ids, steps, status, count, hint, kept } => {
                if let Some(rows) = &features.rows {
                    self.guests.append(&features.ids, rows)?;
                }
                self.step(&ids, &steps, &status)?;
                self.offer(count as usize, &hint, &kept)
            }
            Request::Features { ids } => {
                let locals = ids.iter().map(|&id| self.local(id)).collect::<Result<Vec<_>>>()?;
                locals.iter().for_each(|&row| self.told[row] = true);
                let rows = if ids.is_empty() { None } else { Some(self.x.select(&locals)) };
                Ok(Reply::Features { features: Features { ids, rows } })
            }
            Request::Narrow { stay, apply } => self.narrow(&stay, apply),
            Request::Widen { ids, steps } => self.widen(&ids, &steps),
            Request::Recheck { ids, steps, anew } => self.recheck(&ids, &steps, &anew),
            Request::Gradient => {
                let state = &self.state;
                let rows = (0..state.takes_part.len()).filter(|&row| state.takes_part[row]);
                Ok(Reply::Gradient { values: rows.map(|row| state.gradient[row]).collect() })
            }
        }
    }

    fn open(&mut self, kernel: &str, runs: &[(u32, u32)]) -> Result<Reply> {
        let kernel: Kernel = serde_json::from_str(kernel).map_err(|error| Error::data(format!("kernel: {error}")))?;
        let (mut runs_here, mut first) = (Vec::new(), 0);
        for &(number, count) in runs {
            runs_here.push((number, first, count));
            first += count;
        }
        if first as usize != self.x.rows() {
            return Err(Error::shape("rows of a shard", self.x.rows(), first as usize));
        }
        runs_here.sort_unstable();
        self.runs = runs_here;
        let (mut accuracy, mut rounding) = (0.0f64, f32::ROUNDING);
        // What an earlier fit had there goes first.
        self.far = None;
        // A gamma that is still a rule comes first, for the moments; the kernel itself follows.
        if kernel.gamma().is_none_or(|gamma| gamma.value().is_some()) {
            kernel.resolve(&self.x, None)?;
            self.far = FarRows::choose(&kernel, &self.x, self.device)?;
            if self.far.is_some() {
                rounding = CARD_DRIFT;
            }
            for first in (0..self.x.rows()).step_by(COLUMNS_AT_ONCE) {
                let rows: Vec<usize> = (first..(first + COLUMNS_AT_ONCE).min(self.x.rows())).collect();
                let part = self.x.select(&rows);
                accuracy = accuracy.max(kernel::rows::<f32>(&kernel, &part, &self.context())?.accuracy());
            }
        }
        self.kernel = Some(kernel);
        self.told.fill(false);
        self.guests = RowStore::new();
        Ok(Reply::Opened { rows: self.x.rows() as u64, columns: self.x.columns() as u64, accuracy, rounding })
    }

    pub(super) fn context(&self) -> Context<'static> {
        Context { observer: None, threads: self.threads, deadline: None, memory: None, isa: Isa::detect(), device: Device::Cpu }
    }

    /// The row here that has this number in the whole table.
    pub(super) fn own(&self, id: u32) -> Option<usize> {
        let run = self.runs.partition_point(|&(number, _, _)| number <= id).checked_sub(1)?;
        let (number, first, count) = self.runs[run];
        (id - number < count).then(|| (first + id - number) as usize)
    }

    fn local(&self, id: u32) -> Result<usize> {
        self.own(id).ok_or_else(|| Error::data(format!("row {id} does not belong to this shard")))
    }

    /// The number of a row in the whole table.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers = vec![0; self.x.rows()];
        for &(number, first, count) in &self.runs {
            (0..count).for_each(|k| numbers[(first + k) as usize] = number + k);
        }
        numbers
    }

    fn moments(&self, weights: &[f64]) -> Result<Reply> {
        if !weights.is_empty() && weights.len() != self.x.rows() {
            return Err(Error::shape("weights of a shard", self.x.rows(), weights.len()));
        }
        let weight = |row: usize| weights.get(row).copied().unwrap_or(1.0);
        let columns = self.x.columns();
        let count = (0..self.x.rows()).map(weight).sum::<f64>() * columns as f64;
        let mut sum = 0.0;
        for row in 0..self.x.rows() {
            let mut of_row = 0.0;
            self.x.for_each(row, |_, value| of_row += value);
            sum += weight(row) * of_row;
        }
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        let mut squares = 0.0;
        for row in 0..self.x.rows() {
            let (mut of_row, mut stored) = (0.0, 0);
            self.x.for_each(row, |_, value| {
                of_row += (value - mean) * (value - mean);
                stored += 1;
            });
            squares += weight(row) * (of_row + (columns - stored) as f64 * mean * mean);
        }
        Ok(Reply::Moments { count, mean, squares })
    }

    fn load(&mut self, ids: &[u32], linear: &[f64], gradient: &[f64], status: &[u8]) -> Result<()> {
        let n = self.x.rows();
        let rows: Vec<usize> = match ids.is_empty() && !linear.is_empty() {
            true => (0..n).collect(),
            false => ids.iter().map(|&id| self.local(id)).collect::<Result<_>>()?,
        };
        let gradient = if gradient.is_empty() { linear } else { gradient };
        for found in [linear.len(), gradient.len(), status.len()] {
            if found != rows.len() {
                return Err(Error::shape("numbers of a problem on a shard", rows.len(), found));
            }
        }
        let state = &mut self.state;
        *state = State { linear: vec![0.0; n], gradient: vec![0.0; n], status: vec![0; n], ..State::default() };
        (state.exact, state.takes_part) = (vec![false; n], vec![false; n]);
        for (k, &row) in rows.iter().enumerate() {
            (state.linear[row], state.gradient[row], state.status[row]) = (linear[k], gradient[k], status[k]);
            state.takes_part[row] = true;
        }
        let all: Vec<u32> = (0..n as u32).filter(|&row| self.state.takes_part[row as usize]).collect();
        self.activate(all);
        Ok(())
    }

    fn activate(&mut self, rows: Vec<u32>) {
        let state = &mut self.state;
        state.is_active = vec![false; self.x.rows()];
        rows.iter().for_each(|&row| state.is_active[row as usize] = true);
        state.packed = None;
        state.active = rows;
    }

    fn step(&mut self, ids: &[u32], steps: &[f64], status: &[u8]) -> Result<()> {
        if !ids.is_empty() && !self.state.active.is_empty() {
            let sums = self.sums(ids, steps, Of::Active, self.state.double)?;
            let state = &mut self.state;
            for (&row, sum) in state.active.iter().zip(&sums) {
                state.gradient[row as usize] += sum;
                state.exact[row as usize] = false;
            }
        }
        for (&id, &status) in ids.iter().zip(status) {
            if let Some(row) = self.own(id) {
                self.state.status[row] = status;
            }
        }
        Ok(())
    }

    fn offer(&mut self, count: usize, hint: &[Extremes; 2], kept: &[u32]) -> Result<Reply> {
        let kept = kept.iter().map(|&id| self.local(id)).collect::<Result<Vec<_>>>()?;
        let (numbers, state) = (self.numbers(), &mut self.state);
        kept.iter().for_each(|&row| state.status[row] |= TAKEN);
        let of = |values: &[f64]| -> Vec<f64> { state.active.iter().map(|&row| values[row as usize]).collect() };
        let ids: Vec<u32> = state.active.iter().map(|&row| numbers[row as usize]).collect();
        let status: Vec<u8> = state.active.iter().map(|&row| state.status[row as usize]).collect();
        let mut offer = select::offer(&ids, &status, &of(&state.gradient), state.kink, count);
        kept.iter().for_each(|&row| state.status[row] &= !TAKEN);
        // What violates nothing, as far as can be seen from here, is not worth its way; a few go anyway, because others may have moved.
        for (group, hint) in hint.iter().enumerate() {
            let seen = offer.extremes[group].merge(*hint);
            let better = |a: &Candidate, b: &Candidate| a.slope.total_cmp(&b.slope);
            offer.up[group].sort_unstable_by(|a, b| better(a, b).then(a.id.cmp(&b.id)));
            offer.low[group].sort_unstable_by(|a, b| better(b, a).then(a.id.cmp(&b.id)));
            let always = count.div_ceil(ALWAYS);
            let up = offer.up[group].partition_point(|candidate| candidate.slope < seen.most_low).max(always);
            let low = offer.low[group].partition_point(|candidate| candidate.slope > seen.least_up).max(always);
            offer.up[group].truncate(up);
            offer.low[group].truncate(low);
        }
        let mut fresh = Vec::new();
        for candidate in offer.up.iter().chain(&offer.low).flatten() {
            let row = self.own(candidate.id).expect("it is one of the shard's own");
            if !std::mem::replace(&mut self.told[row], true) {
                fresh.push((candidate.id, row));
            }
        }
        let (ids, rows): (Vec<u32>, Vec<usize>) = fresh.into_iter().unzip();
        let rows = if ids.is_empty() { None } else { Some(self.x.select(&rows)) };
        let kept = kept.iter().map(|&row| self.state.gradient[row]).collect();
        Ok(Reply::Offer { offer, kept, features: Features { ids, rows } })
    }

    fn narrow(&mut self, stay: &Stay, apply: bool) -> Result<Reply> {
        let state = &self.state;
        if state.exempt {
            return Ok(Reply::Count { count: state.active.len() as u64 });
        }
        let mut keep = vec![false; self.x.rows()];
        let named = match stay {
            Stay::To { ids } => ids,
            Stay::Unsettled { extremes, margin, kept } => {
                for &row in &state.active {
                    let (status, gradient) = (state.status[row as usize], state.gradient[row as usize]);
                    let ((grow, fall), (up, low)) = (may(status), slopes(status, gradient, state.kink));
                    let bounds = &extremes[group(status)];
                    keep[row as usize] = (grow && up <= bounds.most_low + margin) || (fall && low >= bounds.least_up - margin);
                }
                kept
            }
        };
        for &id in named {
            let row = self.local(id)?;
            keep[row] = state.is_active[row];
        }
        let rows: Vec<u32> = state.active.iter().copied().filter(|&row| keep[row as usize]).collect();
        let count = rows.len() as u64;
        if apply {
            if self.state.at_first.is_none() {
                self.state.at_first = Some(self.state.gradient.clone());
            }
            self.activate(rows);
        }
        Ok(Reply::Count { count })
    }

    fn widen(&mut self, ids: &[u32], steps: &[f64]) -> Result<Reply> {
        self.state.exempt = false;
        let Some(at_first) = self.state.at_first.take() else { return Ok(Reply::Done) };
        let parked: Vec<usize> = (0..self.x.rows()).filter(|&row| self.state.takes_part[row] && !self.state.is_active[row]).collect();
        let sums = if parked.is_empty() { Vec::new() } else { self.sums(ids, steps, Of::Rows(&parked), self.state.double)? };
        for (&row, sum) in parked.iter().zip(sums) {
            self.state.gradient[row] = at_first[row] + sum;
            self.state.exact[row] = false;
        }
        let all: Vec<u32> = (0..self.x.rows() as u32).filter(|&row| self.state.takes_part[row as usize]).collect();
        self.activate(all);
        Ok(Reply::Done)
    }

    fn recheck(&mut self, ids: &[u32], steps: &[f64], anew: &Anew) -> Result<Reply> {
        let state = &self.state;
        let rows: Vec<usize> = match anew {
            Anew::Active => state.active.iter().map(|&row| row as usize).collect(),
            Anew::Near { extremes, slack } => {
                let mut chosen = vec![false; self.x.rows()];
                ids.iter().filter_map(|&id| self.own(id)).for_each(|row| chosen[row] = true);
                for (place, &row) in state.active.iter().enumerate() {
                    let (status, gradient) = (state.status[row as usize], state.gradient[row as usize]);
                    let ((grow, fall), (up, low)) = (may(status), slopes(status, gradient, state.kink));
                    let bounds = &extremes[group(status)];
                    let near = (grow && up <= bounds.least_up + slack) || (fall && low >= bounds.most_low - slack);
                    chosen[row as usize] |= near || place.is_multiple_of(SAMPLED);
                }
                let active = state.active.iter().map(|&row| row as usize);
                active.filter(|&row| chosen[row] && !state.exact[row]).collect()
            }
        };
        if rows.is_empty() {
            return Ok(Reply::Drift { drift: Drift::default() });
        }
        let mut drift = Drift { largest: 0.0, rows: rows.len() };
        for rows in rows.chunks(COLUMNS_AT_ONCE) {
            let sums = self.sums(ids, steps, Of::Rows(rows), true)?;
            for (&row, sum) in rows.iter().zip(sums) {
                let exact = sum + self.state.linear[row];
                drift.largest = drift.largest.max((exact - self.state.gradient[row]).abs());
                self.state.gradient[row] = exact;
                self.state.exact[row] = true;
            }
        }
        Ok(Reply::Drift { drift })
    }
}
