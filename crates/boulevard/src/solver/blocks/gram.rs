//! The kernel matrix of a set, computed while the set is being solved.
//!
//! Steps of a set are too short to be shared among threads. So one thread solves, and the others compute the rows it will need; a row that
//! is not there yet it computes itself (4 % of a fit of 40 000 rows on two cores). What a row holds does not depend on who computed it.
//! Half of a set is that of the last one, but keeping its values in place was no faster: putting the columns of the others between them
//! takes as long as computing all.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::known::Known;
use crate::kernel::KernelRows;
use crate::parallel::Crew;
use crate::simd::Real;
use crate::simd::tile::TILE_ROWS;

/// Memory for groups of rows, used again by the next set.
pub(super) type Spare<T> = Mutex<Vec<Vec<T>>>;

/// The kernel matrix of a set.
pub(super) struct Gram<'a, T> {
    /// The set's variables as rows and, restricted, as columns.
    variables: Vec<usize>,
    columns: Box<dyn KernelRows<T> + 'a>,
    /// Rows in groups that are computed together.
    groups: Vec<OnceLock<Vec<T>>>,
    width: usize,
    largest: f64,
    spare: &'a Spare<T>,
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, T: Real> Gram<'a, T> {
    /// Nothing is computed yet. `lanes` are the columns of a panel.
    pub(super) fn new(kernel: &'a dyn KernelRows<T>, ids: &[u32], diagonal: &[f64], lanes: usize, spare: &'a Spare<T>) -> Self {
        let variables: Vec<usize> = ids.iter().map(|&id| id as usize).collect();
        let columns = kernel.restrict(&variables);
        let groups = (0..ids.len().div_ceil(TILE_ROWS)).map(|_| OnceLock::new()).collect();
        let largest = diagonal.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        Self { variables, columns, groups, width: ids.len().next_multiple_of(lanes), largest, spare }
    }

    /// Runs `solve` on one thread while the others of the crew compute rows.
    pub(super) fn ahead_of<R: Send>(&self, crew: &mut Crew, solve: impl FnOnce() -> R + Send) -> R {
        let (solve, result) = (Mutex::new(Some(solve)), Mutex::new(None));
        let (next, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        crew.share(crew.threads(), &|_| {
            let solve = lock(&solve).take();
            if let Some(solve) = solve {
                let found = solve();
                done.store(true, Ordering::Relaxed);
                *lock(&result) = Some(found);
                return;
            }
            // From the end, where those are that have just joined: they move first.
            while !done.load(Ordering::Relaxed) {
                let Some(group) = self.groups.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed)) else { break };
                self.group(group);
            }
        });
        result.into_inner().unwrap_or_else(PoisonError::into_inner).expect("somebody solved")
    }

    fn group(&self, group: usize) -> &[T] {
        self.groups[group].get_or_init(|| {
            let rows = &self.variables[group * TILE_ROWS..((group + 1) * TILE_ROWS).min(self.variables.len())];
            let mut values = lock(self.spare).pop().unwrap_or_default();
            values.resize(TILE_ROWS * self.width, T::default());
            let mut out: Vec<&mut [T]> = values.chunks_exact_mut(self.width).take(rows.len()).collect();
            self.columns.fill(rows, 0..self.variables.len(), &mut out);
            values
        })
    }
}

impl<T> Drop for Gram<'_, T> {
    fn drop(&mut self) {
        lock(self.spare).extend(self.groups.drain(..).filter_map(OnceLock::into_inner));
    }
}

impl<T: Real> KernelRows<T> for Gram<'_, T> {
    fn rows(&self) -> usize {
        self.variables.len()
    }

    fn columns(&self) -> usize {
        self.variables.len()
    }

    fn work(&self) -> usize {
        // Values are copied.
        1
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        for (&row, out) in rows.iter().zip(out) {
            let row = self.resident(row).expect("every row is");
            out[..columns.len()].copy_from_slice(&row[columns.clone()]);
        }
    }

    fn resident(&self, row: usize) -> Option<&[T]> {
        Some(&self.group(row / TILE_ROWS)[row % TILE_ROWS * self.width..][..self.width])
    }

    fn accuracy(&self) -> f64 {
        T::ROUNDING * self.largest
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        Box::new(Known::restricted(self, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Case;
    use super::*;
    use crate::observe::Context;
    use crate::solver::{KernelSource, TableKernel};

    #[test]
    fn rows_are_the_same_whoever_computes_them() {
        let case = Case::classes(400, 5, |_| 1.0);
        let context = Context::single();
        let source = TableKernel::new(&case.kernel, &case.x, &context);
        let (kernel, lanes, spare) = (source.single().unwrap(), context.isa.lanes::<f32>(), Spare::default());
        let (all, mut row) = ((0..400).collect::<Vec<usize>>(), vec![0.0_f32; 512]);
        for threads in [1, 3] {
            let mut crew = Crew::new(threads);
            // The second set is smaller and finds memory of the first.
            for ids in [(0..203).rev().collect::<Vec<u32>>(), (100..170).collect()] {
                let gram = Gram::new(kernel, &ids, &[1.0], lanes, &spare);
                let last = gram.ahead_of(&mut crew, || gram.resident(ids.len() - 1).map(|row| row[ids.len() - 1]));
                assert!(last.is_some_and(|value| (value - 1.0).abs() < 1e-6));
                for (place, &id) in ids.iter().enumerate() {
                    kernel.restrict(&all).fill(&[id as usize], 0..400, &mut [&mut row[..]]);
                    let found = gram.resident(place).unwrap();
                    assert!(ids.iter().zip(found).all(|(&other, value)| *value == row[other as usize]), "row {id}");
                }
            }
        }
    }
}
