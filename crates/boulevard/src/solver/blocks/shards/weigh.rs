//! Sums of kernel values on a shard: the work of its rounds, on its threads or on a graphics card.

use super::shard::{COLUMNS_AT_ONCE, Shard};
use super::store::Gathered;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel;
use crate::observe::{Device, Progress};
use crate::parallel::Crew;
use crate::simd::Real;
use crate::solver::blocks::sums::{Watch, Weighted, weigh};

/// Rows that are summed over at once: bounds the memory beside the tables.
const ROWS_AT_ONCE: usize = 1 << 13;

/// The rows of the shard that sums are for.
#[derive(Clone, Copy)]
pub(super) enum Of<'a> {
    /// The active ones.
    Active,
    /// These.
    Rows(&'a [usize]),
}

impl Shard {
    /// `sum_k steps[k] k(ids[k], row)` for every row of `of`, in double precision throughout if `double`.
    pub(super) fn sums(&mut self, ids: &[u32], steps: &[f64], of: Of<'_>, double: bool) -> Result<Vec<f64>> {
        match self.on_card(ids, steps, of, double) {
            Ok(Some(sums)) => return Ok(sums),
            Ok(None) => {}
            // Nobody asked for it by name: from here on the processor does its work.
            Err(Error::Device { .. }) if self.device == Device::Auto => self.far = None,
            Err(error) => return Err(error),
        }
        let chosen;
        let x = match of {
            Of::Rows(rows) => {
                chosen = self.x.select(rows);
                &chosen
            }
            Of::Active => {
                let state = &mut self.state;
                if state.packed.is_none() && state.active.len() != self.x.rows() {
                    let rows: Vec<usize> = state.active.iter().map(|&row| row as usize).collect();
                    state.packed = Some(self.x.select(&rows));
                }
                self.state.packed.as_ref().unwrap_or(&self.x)
            }
        };
        if double { self.by_processor::<f64>(ids, steps, x) } else { self.by_processor::<f32>(ids, steps, x) }
    }

    /// None if the rows are not on a card.
    fn on_card(&self, ids: &[u32], steps: &[f64], of: Of<'_>, double: bool) -> Result<Option<Vec<f64>>> {
        let Some(far) = &self.far else { return Ok(None) };
        let numbers: Vec<u32>;
        let rows = match of {
            Of::Active => &self.state.active,
            Of::Rows(rows) => {
                numbers = rows.iter().map(|&row| row as u32).collect();
                &numbers
            }
        };
        let mut all = vec![0.0; rows.len()];
        for (ids, steps) in ids.chunks(ROWS_AT_ONCE).zip(steps.chunks(ROWS_AT_ONCE)) {
            let sums = far.sums(rows, &self.gather(ids)?, steps, double)?;
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        Ok(Some(all))
    }

    fn by_processor<T: Real>(&self, ids: &[u32], steps: &[f64], x: &Matrix<'_>) -> Result<Vec<f64>> {
        let kernel = self.kernel.as_ref().ok_or_else(|| Error::data("a shard was asked before it was told its kernel"))?;
        let context = self.context();
        let (mut crew, mut watch) = (Crew::new(self.threads), Watch::new(&context));
        let progress = Progress { stage: "solve", done: 0, total: None, violation: None, tolerance: None };
        let (mut all, mut sums) = (vec![0.0; x.rows()], Vec::new());
        for (ids, steps) in ids.chunks(ROWS_AT_ONCE).zip(steps.chunks(ROWS_AT_ONCE)) {
            let training = self.gather(ids)?;
            let order: Vec<usize> = (0..ids.len()).collect();
            for first in (0..x.rows()).step_by(COLUMNS_AT_ONCE) {
                let last = (first + COLUMNS_AT_ONCE).min(x.rows());
                let whole = last - first == x.rows();
                let part = if whole { None } else { Some(x.select(&(first..last).collect::<Vec<_>>())) };
                let values = kernel::cross::<T>(kernel, &training, &[], part.as_ref().unwrap_or(x), &context)?;
                let of = Weighted { rows: &order, weights: steps };
                weigh(&*values, of, x.columns(), &mut sums, &mut crew, &mut watch, &progress);
                all[first..last].iter_mut().zip(&sums).for_each(|(all, sum)| *all += sum);
            }
        }
        Ok(all)
    }

    /// Features of rows from here and elsewhere.
    fn gather(&self, ids: &[u32]) -> Result<Matrix<'static>> {
        let mut rows = Gathered::new();
        for &id in ids {
            match (self.own(id), self.guests.place(id)) {
                (Some(row), _) => rows.push(&self.x, row)?,
                (None, Some(place)) => rows.push_kept(&self.guests, place)?,
                (None, None) => return Err(Error::data(format!("row {id} is not known to this shard: it was never sent"))),
            }
        }
        rows.finish()
    }
}
