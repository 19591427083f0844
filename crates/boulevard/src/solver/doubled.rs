//! Every sample twice, for nu regression.

use std::ops::Range;
use std::sync::OnceLock;

use super::source::{ExactWork, KernelSource, TableView};
use crate::error::Result;
use crate::kernel::KernelRows;
use crate::observe::Context;
use crate::simd::Real;

/// Every sample twice, as nu regression needs it: variables `n..2 n` belong to the same samples again.
pub struct DoubledKernel<'a> {
    inner: &'a dyn KernelSource,
    single: OnceLock<Doubled<'a, f32>>,
    double: OnceLock<Doubled<'a, f64>>,
    lanes: [usize; 2],
}

impl<'a> DoubledKernel<'a> {
    /// Doubles `inner`.
    pub fn new(inner: &'a dyn KernelSource, context: &Context<'_>) -> Self {
        let lanes = [context.isa.lanes::<f32>(), context.isa.lanes::<f64>()];
        Self { inner, single: OnceLock::new(), double: OnceLock::new(), lanes }
    }
}

struct Doubled<'a, T> {
    rows: &'a dyn KernelRows<T>,
    lanes: usize,
    /// The samples of the variables that are shown as columns; none if all are.
    chosen: Option<Box<dyn KernelRows<T> + 'a>>,
}

impl<T: Real> Doubled<'_, T> {
    /// Samples of variables.
    fn samples(&self, variables: &[usize]) -> Vec<usize> {
        variables.iter().map(|&variable| variable % self.rows.rows()).collect()
    }

    /// The two runs of samples that a run of all variables is: the samples, and where they begin in the run.
    fn halves(&self, columns: &Range<usize>) -> [(Range<usize>, usize); 2] {
        let half = self.rows.columns();
        let first = columns.start.min(half)..columns.end.min(half);
        let second = columns.start.max(half) - half..columns.end.max(half) - half;
        [(first.clone(), 0), (second, first.len())]
    }
}

impl<T: Real> KernelRows<T> for Doubled<'_, T> {
    fn rows(&self) -> usize {
        2 * self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.chosen.as_ref().map_or(2 * self.rows.columns(), |chosen| chosen.columns())
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        let rows = self.samples(rows);
        if let Some(chosen) = &self.chosen {
            return chosen.fill(&rows, columns, out);
        }
        for (samples, at) in self.halves(&columns) {
            // A run may begin anywhere, a kernel's columns only at a panel.
            let first = samples.start - samples.start % self.lanes;
            let mut buffer = vec![T::default(); (samples.end - first).next_multiple_of(self.lanes)];
            for (&row, out) in rows.iter().zip(out.iter_mut()).filter(|_| !samples.is_empty()) {
                self.rows.fill(&[row], first..samples.end, &mut [&mut buffer]);
                out[at..at + samples.len()].copy_from_slice(&buffer[samples.start - first..samples.end - first]);
            }
        }
    }

    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        let rows = self.samples(rows);
        if let Some(chosen) = &self.chosen {
            return chosen.weigh(&rows, weights, outputs, columns, sums);
        }
        let stride = sums.len() / outputs.max(1);
        for (samples, at) in self.halves(&columns).into_iter().filter(|(samples, _)| !samples.is_empty()) {
            let first = samples.start - samples.start % self.lanes;
            let width = (samples.end - first).next_multiple_of(self.lanes);
            let mut buffer = vec![0.0; outputs * width];
            self.rows.weigh(&rows, weights, outputs, first..samples.end, &mut buffer);
            for (sums, buffer) in sums.chunks_exact_mut(stride).zip(buffer.chunks_exact(width)) {
                let part = sums[at..at + samples.len()].iter_mut();
                part.zip(&buffer[samples.start - first..]).for_each(|(sum, more)| *sum += more);
            }
        }
    }

    fn accuracy(&self) -> f64 {
        self.rows.accuracy()
    }

    fn work(&self) -> usize {
        // Asked for one row at a time, which wastes three quarters of a tile.
        4 * self.rows.work()
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        // Only the whole is ever restricted.
        debug_assert!(self.chosen.is_none(), "columns are named among all variables");
        Box::new(Self { chosen: Some(self.rows.restrict(&self.samples(columns))), ..*self })
    }
}

impl KernelSource for DoubledKernel<'_> {
    fn len(&self) -> usize {
        2 * self.inner.len()
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        let half = self.inner.diagonal()?;
        Ok([&half[..], &half[..]].concat())
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        let rows = self.inner.single()?;
        Ok(self.single.get_or_init(|| Doubled { rows, lanes: self.lanes[0], chosen: None }))
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        let rows = self.inner.double()?;
        Ok(self.double.get_or_init(|| Doubled { rows, lanes: self.lanes[1], chosen: None }))
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn is_positive_semidefinite(&self) -> Option<bool> {
        self.inner.is_positive_semidefinite()
    }

    fn table(&self) -> Option<TableView<'_>> {
        let n = self.inner.len();
        let twice: Vec<usize> = (0..2 * n).map(|variable| variable % n).collect();
        Some(self.inner.table()?.select(&twice))
    }

    fn exact(&self, rows: &[usize], columns: &[usize], work: &mut ExactWork<'_>) -> Result<()> {
        let samples = |chosen: &[usize]| -> Vec<usize> { chosen.iter().map(|&k| k % self.inner.len()).collect() };
        self.inner.exact(&samples(rows), &samples(columns), work)
    }

    fn table_bytes(&self) -> usize {
        self.inner.table_bytes()
    }
}
