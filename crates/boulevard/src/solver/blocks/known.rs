//! A kernel matrix that is known.

use std::ops::Range;

use crate::kernel::KernelRows;
use crate::simd::Real;

/// A kernel matrix that is known, rows padded to whole panels.
pub(super) struct Known<T> {
    pub values: Vec<T>,
    pub size: usize,
    pub width: usize,
}

impl<T: Real> Known<T> {
    /// Some columns of a matrix whose rows are in memory.
    pub(super) fn restricted(of: &dyn KernelRows<T>, columns: &[usize]) -> Self {
        let (size, width) = (of.rows(), columns.len().next_multiple_of(64));
        let mut values = vec![T::default(); size * width];
        for (row, out) in values.chunks_exact_mut(width.max(1)).enumerate() {
            let row = of.resident(row).expect("rows are in memory");
            out.iter_mut().zip(columns).for_each(|(to, &c)| *to = row[c]);
        }
        Self { values, size, width }
    }

    fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.width..(row + 1) * self.width]
    }
}

impl<T: Real> KernelRows<T> for Known<T> {
    fn rows(&self) -> usize {
        self.size
    }

    fn columns(&self) -> usize {
        self.size
    }

    fn work(&self) -> usize {
        // Values are copied.
        1
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        for (&row, out) in rows.iter().zip(out) {
            out[..columns.len()].copy_from_slice(&self.row(row)[columns.clone()]);
        }
    }

    fn resident(&self, row: usize) -> Option<&[T]> {
        Some(self.row(row))
    }

    fn accuracy(&self) -> f64 {
        T::ROUNDING * (0..self.size).map(|i| self.row(i)[i].to_f64().abs()).fold(0.0, f64::max)
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        Box::new(Self::restricted(self, columns))
    }
}
