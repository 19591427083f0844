//! The kernel matrix with the labels' signs in it, `Q_ij = y_i y_j k(x_i, x_j)`, for the one solver.
//!
//! The plain machines put the signs into the bounds, because they keep `sum y_i alpha_i`. A front keeps `sum alpha_i`, which is a plain
//! sum only in the variables `alpha` themselves.

use std::ops::Range;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::kernel::{self, GramRows, KernelRows};
use crate::observe::Context;
use crate::simd::Real;
use crate::solver::KernelSource;

/// A kernel on a table, seen with signs. Always solved in double precision: near the hard margin the numbers that decide are many
/// orders of magnitude below the kernel's.
pub(in super::super) struct SignedKernel<'a> {
    inner: &'a dyn KernelSource,
    signs: &'a [f64],
    single: OnceLock<SignedRows<'a, f32>>,
    double: OnceLock<Box<dyn KernelRows<f64> + 'a>>,
    /// Whether the whole matrix is kept.
    whole: bool,
    context: Context<'a>,
}

impl<'a> SignedKernel<'a> {
    /// `cache` bytes decide whether the whole matrix is computed at once.
    pub(in super::super) fn new(inner: &'a dyn KernelSource, signs: &'a [f64], cache: usize, context: &Context<'a>) -> Self {
        let bytes = inner.len().saturating_mul(inner.len()).saturating_mul(size_of::<f64>());
        let allowed = context.memory.map_or(cache, |memory| cache.min(memory / 2));
        Self { inner, signs, single: OnceLock::new(), double: OnceLock::new(), whole: bytes <= allowed, context: *context }
    }

    /// The whole matrix, row-major.
    pub(in super::super) fn matrix(&self, context: &Context<'_>) -> Result<Vec<f64>> {
        /// Without a limit from the caller.
        const MOST: usize = 8 << 30;
        let n = self.len();
        let needed = n.saturating_mul(n).saturating_mul(2 * size_of::<f64>());
        let allowed = context.memory.unwrap_or(MOST);
        if needed > allowed {
            return Err(Error::Memory { what: "the kernel matrix that an evolution keeps", needed, allowed });
        }
        kernel::whole(self.double()?, 1, context)
    }
}

impl KernelSource for SignedKernel<'_> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        self.inner.diagonal()
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        let rows = self.inner.single()?;
        Ok(self.single.get_or_init(|| SignedRows { rows: PlainRows::Whole(rows), signs: self.signs, columns: self.signs.to_vec() }))
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        if self.double.get().is_none() {
            let signed = SignedRows { rows: PlainRows::Whole(self.inner.double()?), signs: self.signs, columns: self.signs.to_vec() };
            let rows: Box<dyn KernelRows<f64> + '_> =
                if self.whole { Box::new(GramRows::new(&signed, self.inner.symmetric(), false, &self.context)?) } else { Box::new(signed) };
            // Two threads may both make it; the first one's stays.
            let _ = self.double.set(rows);
        }
        Ok(&**self.double.get().expect("just set"))
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn table_bytes(&self) -> usize {
        self.inner.table_bytes()
    }
}

enum PlainRows<'a, T> {
    Whole(&'a dyn KernelRows<T>),
    Part(Box<dyn KernelRows<T> + 'a>),
}

struct SignedRows<'a, T> {
    rows: PlainRows<'a, T>,
    /// One sign per row.
    signs: &'a [f64],
    /// One sign per column.
    columns: Vec<f64>,
}

impl<T: Real> SignedRows<'_, T> {
    fn inner(&self) -> &dyn KernelRows<T> {
        match &self.rows {
            PlainRows::Whole(rows) => *rows,
            PlainRows::Part(rows) => &**rows,
        }
    }
}

impl<T: Real> KernelRows<T> for SignedRows<'_, T> {
    fn rows(&self) -> usize {
        self.inner().rows()
    }

    fn columns(&self) -> usize {
        self.inner().columns()
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        self.inner().fill(rows, columns.clone(), out);
        for (&row, out) in rows.iter().zip(out) {
            let of_row = self.signs[row];
            for (value, sign) in out.iter_mut().zip(&self.columns[columns.clone()]) {
                *value = T::from_f64(of_row * sign * value.to_f64());
            }
        }
    }

    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        let stride = sums.len() / outputs.max(1);
        let signed: Vec<f64> = weights.iter().enumerate().map(|(at, weight)| weight * self.signs[rows[at % rows.len()]]).collect();
        let mut plain = vec![0.0; sums.len()];
        self.inner().weigh(rows, &signed, outputs, columns.clone(), &mut plain);
        for (sums, plain) in sums.chunks_exact_mut(stride.max(1)).zip(plain.chunks_exact(stride.max(1))) {
            for ((sum, plain), sign) in sums.iter_mut().zip(plain).zip(&self.columns[columns.clone()]) {
                *sum += sign * plain;
            }
        }
    }

    fn work(&self) -> usize {
        self.inner().work()
    }

    fn accuracy(&self) -> f64 {
        // Nothing is solved in single precision: see `SignedKernel`.
        if size_of::<T>() == size_of::<f32>() { f64::INFINITY } else { self.inner().accuracy() }
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let signs = columns.iter().map(|&column| self.columns[column]).collect();
        Box::new(SignedRows { rows: PlainRows::Part(self.inner().restrict(columns)), signs: self.signs, columns: signs })
    }
}
