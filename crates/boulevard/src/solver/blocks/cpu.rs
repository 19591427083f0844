//! Rows in this machine's memory: kernel values are computed by tiles when they are needed and never kept.
//!
//! Memory is the table, a few numbers per row and the set's kernel matrix. Active rows are packed next to each other, so that a pass reads
//! memory in order whatever is parked.

#[cfg(test)]
mod systems;

use std::sync::Mutex;
use std::time::Instant;

use super::engine::{Answer, BlockEngine, Drift, Halt, Load, Moved, Narrow, Outcome, Recheck, Set, SetSolution, Want};
use super::gram::{Gram, Spare};
use super::local;
use super::select::{self, TAKEN, group, may, slopes};
use super::sums::{Watch, Weighted, add, weigh};
use crate::kernel::KernelRows;
use crate::observe::{Context, Progress};
use crate::parallel::Crew;
use crate::simd::Real;
use crate::solver::source::KernelSource;

const PARKED: u32 = u32::MAX;
/// Rows per part of a look at all of them.
const LOOK: usize = 8192;
/// Rows at most on either side of a block of kernel values in double precision: whole groups of the sums in tiles, whole panels.
const EXACT_ROWS: usize = 32 * 252;
const EXACT_COLUMNS: usize = 8192;
/// One in so many rows is computed anew in double precision though nothing says that it matters.
const SAMPLED: usize = 128;

/// Bytes of the tables in double precision on either side of such a block.
pub(in super::super) fn exact_bytes(context: &Context<'_>) -> usize {
    const MOST: usize = 8 << 20;
    context.memory.map_or(MOST, |allowed| (allowed / 32).clamp(MOST / 32, MOST))
}

/// The rows of one problem in this machine's memory, in precision `T`.
pub(crate) struct CpuBlocks<'a, T: Real> {
    source: &'a dyn KernelSource,
    rows: &'a dyn KernelRows<T>,
    linear: &'a [f64],
    crew: &'a mut Crew,
    watch: Watch<'a>,
    /// The rows against the active columns, while some are parked.
    restricted: Option<Box<dyn KernelRows<T> + 'a>>,
    /// Active variables, rising, and the place of every variable among them.
    active: Vec<u32>,
    place: Vec<u32>,
    /// By place.
    gradient: Vec<f64>,
    status: Vec<u8>,
    /// Whether the gradient is one of double precision that nothing moved since.
    exact: Vec<bool>,
    /// By variable, of the time when the first rows were parked.
    parked_gradient: Vec<f64>,
    parked_status: Vec<u8>,
    kink: f64,
    sums: Vec<f64>,
    diagonal: Vec<f64>,
    spare: Spare<T>,
    /// Kernel values in double precision and the seconds they took.
    pace: (f64, f64),
    /// Whether Newton's systems are solved, the plain way.
    #[cfg(test)]
    pub(super) has_newton: bool,
    #[cfg(test)]
    remembered: Option<systems::Remembered>,
}

impl<'a, T: Real> CpuBlocks<'a, T> {
    pub(crate) fn new(
        source: &'a dyn KernelSource,
        rows: &'a dyn KernelRows<T>,
        linear: &'a [f64],
        crew: &'a mut Crew,
        context: &Context<'a>,
    ) -> Self {
        Self {
            source,
            rows,
            linear,
            crew,
            watch: Watch::new(context),
            restricted: None,
            active: Vec::new(),
            place: Vec::new(),
            gradient: Vec::new(),
            status: Vec::new(),
            exact: Vec::new(),
            parked_gradient: Vec::new(),
            parked_status: Vec::new(),
            kink: 0.0,
            sums: Vec::new(),
            diagonal: Vec::new(),
            spare: Spare::default(),
            pace: (0.0, 0.0),
            #[cfg(test)]
            has_newton: false,
            #[cfg(test)]
            remembered: None,
        }
    }

    /// Adds `K(:, ids) steps` to the gradients of active rows.
    fn add(&mut self, moved: Moved<'_>, progress: &Progress<'_>) -> Outcome<()> {
        if moved.ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<usize> = moved.ids.iter().map(|&id| id as usize).collect();
        let kernel = self.restricted.as_deref().unwrap_or(self.rows);
        let of = Weighted { rows: &ids, weights: moved.steps };
        let stopped = weigh(kernel, of, self.source.dimensions(), &mut self.sums, self.crew, &mut self.watch, progress);
        if let Some(reason) = stopped {
            return Err(Halt::Stop(reason));
        }
        self.gradient.iter_mut().zip(&self.sums).for_each(|(g, sum)| *g += sum);
        self.exact.fill(false);
        for (&id, &status) in moved.ids.iter().zip(moved.status) {
            let place = self.place[id as usize] as usize;
            self.status[place] = status;
            self.parked_status[id as usize] = status;
        }
        Ok(())
    }

    fn look(&mut self, want: &Want<'_>) -> Answer {
        for &id in want.kept {
            self.status[self.place[id as usize] as usize] |= TAKEN;
        }
        let (kink, count) = (self.kink, want.count);
        let parts = self.active.len().div_ceil(LOOK);
        let offers: Vec<Mutex<Option<select::Offer>>> = (0..parts).map(|_| Mutex::new(None)).collect();
        let (active, status, gradient) = (&self.active, &self.status, &self.gradient);
        self.crew.share(parts, &|p| {
            let range = p * LOOK..((p + 1) * LOOK).min(active.len());
            let offer = select::offer(&active[range.clone()], &status[range.clone()], &gradient[range], kink, count);
            *offers[p].lock().expect("every part is taken once") = Some(offer);
        });
        let offers = offers.into_iter().filter_map(|offer| offer.into_inner().expect("no thread panicked"));
        let found = select::merge(offers, count);
        let mut kept = Vec::with_capacity(want.kept.len());
        for &id in want.kept {
            let place = self.place[id as usize] as usize;
            self.status[place] &= !TAKEN;
            kept.push(self.gradient[place]);
        }
        Answer { extremes: found.extremes, up: found.up, low: found.low, kept }
    }

    /// Active rows that [`Recheck::Near`] means.
    fn near(&self, support: &[u32], extremes: &[super::engine::Extremes; 2], slack: f64) -> Vec<usize> {
        let mut chosen = vec![false; self.active.len()];
        support.iter().for_each(|&id| chosen[self.place[id as usize] as usize] = true);
        for (place, chosen) in chosen.iter_mut().enumerate() {
            let (status, (grow, fall)) = (self.status[place], may(self.status[place]));
            let (up, low) = slopes(status, self.gradient[place], self.kink);
            let bounds = &extremes[group(status)];
            *chosen |= (grow && up <= bounds.least_up + slack) || (fall && low >= bounds.most_low - slack);
            *chosen |= place.is_multiple_of(SAMPLED);
            *chosen &= !self.exact[place];
        }
        (0..chosen.len()).filter(|&place| chosen[place]).collect()
    }
}

impl<T: Real> BlockEngine for CpuBlocks<'_, T> {
    fn load(&mut self, state: &Load<'_>) -> Outcome<()> {
        let n = state.gradient.len();
        self.restricted = None;
        self.active = (0..n as u32).collect();
        self.place = self.active.clone();
        self.gradient = state.gradient.to_vec();
        self.status = state.status.to_vec();
        self.exact = vec![false; n];
        self.parked_status = self.status.clone();
        self.kink = state.kink;
        Ok(())
    }

    fn step(&mut self, moved: Moved<'_>, want: &Want<'_>) -> Outcome<Answer> {
        self.add(moved, &want.progress)?;
        Ok(self.look(want))
    }

    fn solve_set(&mut self, set: &Set<'_>) -> Outcome<SetSolution> {
        if self.diagonal.is_empty() {
            self.diagonal = self.source.diagonal()?;
        }
        let diagonal: Vec<f64> = set.ids.iter().map(|&id| self.diagonal[id as usize]).collect();
        let context = self.watch.context;
        let gram = Gram::new(self.rows, set.ids, &diagonal, context.isa.lanes::<T>(), &self.spare);
        gram.ahead_of(self.crew, || local::solve(&gram, &diagonal, set, &context))
    }

    fn narrow(&mut self, rule: Narrow<'_>) -> Outcome<usize> {
        let mut keep = vec![false; self.active.len()];
        match rule {
            Narrow::To(ids) => ids.iter().for_each(|&id| keep[self.place[id as usize] as usize] = true),
            Narrow::Unsettled { extremes, margin, kept, .. } => {
                for (place, keep) in keep.iter_mut().enumerate() {
                    let (status, (grow, fall)) = (self.status[place], may(self.status[place]));
                    let (up, low) = slopes(status, self.gradient[place], self.kink);
                    let bounds = &extremes[group(status)];
                    *keep = (grow && up <= bounds.most_low + margin) || (fall && low >= bounds.least_up - margin);
                }
                kept.iter().for_each(|&id| keep[self.place[id as usize] as usize] = true);
            }
        }
        let left = keep.iter().filter(|keep| **keep).count();
        if left == 0 || matches!(rule, Narrow::Unsettled { at_most, .. } if left > at_most) {
            return Ok(self.active.len());
        }
        if self.restricted.is_none() {
            self.parked_gradient = self.gradient.clone();
        }
        let places: Vec<usize> = (0..keep.len()).filter(|&place| keep[place]).collect();
        self.gradient = places.iter().map(|&place| self.gradient[place]).collect();
        self.status = places.iter().map(|&place| self.status[place]).collect();
        self.exact = places.iter().map(|&place| self.exact[place]).collect();
        self.active = places.iter().map(|&place| self.active[place]).collect();
        self.place.fill(PARKED);
        self.active.iter().enumerate().for_each(|(place, &id)| self.place[id as usize] = place as u32);
        // The old packing goes before the new one comes.
        self.restricted = None;
        self.restricted = Some(self.rows.restrict(&self.active.iter().map(|&id| id as usize).collect::<Vec<_>>()));
        Ok(left)
    }

    fn widen(&mut self, moved: Moved<'_>) -> Outcome<()> {
        if self.restricted.is_none() {
            return Ok(());
        }
        let parked: Vec<usize> = (0..self.place.len()).filter(|&id| self.place[id] == PARKED).collect();
        let ids: Vec<usize> = moved.ids.iter().map(|&id| id as usize).collect();
        if !ids.is_empty() && !parked.is_empty() {
            let kernel = self.rows.restrict(&parked);
            let progress = Progress { stage: "solve", done: 0, total: None, violation: None, tolerance: None };
            let of = Weighted { rows: &ids, weights: moved.steps };
            let stopped = weigh(&*kernel, of, self.source.dimensions(), &mut self.sums, self.crew, &mut self.watch, &progress);
            if let Some(reason) = stopped {
                return Err(Halt::Stop(reason));
            }
            parked.iter().zip(&self.sums).for_each(|(&id, sum)| self.parked_gradient[id] += sum);
        }
        let n = self.place.len();
        let mut exact = vec![false; n];
        for (place, &id) in self.active.iter().enumerate() {
            self.parked_gradient[id as usize] = self.gradient[place];
            exact[id as usize] = self.exact[place];
        }
        self.gradient = std::mem::take(&mut self.parked_gradient);
        self.status = self.parked_status.clone();
        self.exact = exact;
        self.active = (0..n as u32).collect();
        self.place = self.active.clone();
        self.restricted = None;
        Ok(())
    }

    fn recheck(&mut self, support: Moved<'_>, rule: Recheck) -> Outcome<Drift> {
        let places: Vec<usize> = match rule {
            Recheck::Active => (0..self.active.len()).collect(),
            Recheck::Near { extremes, slack } => self.near(support.ids, &extremes, slack),
        };
        if places.is_empty() {
            return Ok(Drift::default());
        }
        let samples: Vec<usize> = places.iter().map(|&place| self.active[place] as usize).collect();
        let ids: Vec<usize> = support.ids.iter().map(|&id| id as usize).collect();
        let progress = Progress { stage: "exact gradient", done: 0, total: None, violation: None, tolerance: None };
        let (mut all, mut stopped, start) = (Vec::with_capacity(samples.len()), None, Instant::now());
        let Self { source, sums, crew, watch, .. } = self;
        // As they are, packed and, for columns, in panels: sixteen and twenty-four bytes for every value of a row.
        let of_row = (source.table_bytes() / source.len().max(1) / 24).max(1) * 20;
        let room = exact_bytes(&watch.context) / of_row;
        let (most_rows, most_columns) = (room / 252 * 252, room / 64 * 64);
        let (most_rows, most_columns) = (most_rows.clamp(252, EXACT_ROWS), most_columns.clamp(64, EXACT_COLUMNS));
        for samples in samples.chunks(most_columns) {
            sums.clear();
            for (ids, steps) in ids.chunks(most_rows).zip(support.steps.chunks(most_rows)) {
                source.exact(ids, samples, &mut |kernel, rows| {
                    let of = Weighted { rows, weights: steps };
                    stopped = add(kernel, of, source.dimensions(), sums, crew, watch, &progress);
                })?;
                if let Some(reason) = stopped {
                    return Err(Halt::Stop(reason));
                }
            }
            sums.resize(samples.len(), 0.0);
            all.extend_from_slice(sums);
        }
        self.pace.0 += ids.len() as f64 * samples.len() as f64;
        self.pace.1 += start.elapsed().as_secs_f64();
        let mut drift = Drift { largest: 0.0, rows: places.len() };
        for ((&place, &sample), sum) in places.iter().zip(&samples).zip(&all) {
            let exact = sum + self.linear[sample];
            drift.largest = drift.largest.max((exact - self.gradient[place]).abs());
            self.gradient[place] = exact;
            self.exact[place] = true;
        }
        Ok(drift)
    }

    fn gradient(&mut self) -> Outcome<Vec<f64>> {
        if self.restricted.is_none() {
            return Ok(self.gradient.clone());
        }
        let mut all = self.parked_gradient.clone();
        self.active.iter().zip(&self.gradient).for_each(|(&id, &g)| all[id as usize] = g);
        Ok(all)
    }

    fn active_gradient(&mut self) -> Option<(Vec<u32>, Vec<f64>)> {
        Some((self.active.clone(), self.gradient.clone()))
    }

    fn set_active(&mut self, gradient: &[f64], status: &[u8]) {
        self.gradient.copy_from_slice(gradient);
        self.status.copy_from_slice(status);
        self.active.iter().zip(status).for_each(|(&id, &status)| self.parked_status[id as usize] = status);
        self.exact.fill(false);
    }

    fn unwatch(&mut self) {
        (self.watch.context.observer, self.watch.context.deadline) = (None, None);
    }

    fn seconds_for(&self, values: f64) -> f64 {
        // Before anything was measured: what cores of today do, by their vectors.
        let vectors = 32.0 / self.watch.context.isa.lanes::<f64>() as f64 / self.crew.threads() as f64;
        let usual = 3.5e-11 * (self.source.dimensions() as f64 + 20.0) * vectors;
        let each = if self.pace.0 > 1e6 { self.pace.1 / self.pace.0 } else { usual };
        values * each
    }

    #[cfg(test)]
    fn newton(&mut self) -> Option<&mut dyn super::engine::Newton> {
        if self.has_newton { Some(self) } else { None }
    }
}
