//! The solver's whole view of a kernel matrix: blocks of rows.

use std::ops::Range;

use super::combine::{GivenRows, NormalizedRows, SumRows};
use super::pack::{PackedRows, ROWS_TOGETHER, recipe};
use super::sparse::{SparseRows, is_better_dense};
use super::{Custom, Kernel};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::observe::{Context, PIECE};
use crate::simd::Real;

/// Values of a kernel between the samples of its rows and the samples of its columns. Values are plain `k(x, z)` in the tables' own
/// order, so that one set of rows serves every pair of classes, label, fold and round. The same value has the same bits however it is
/// asked for.
pub trait KernelRows<T: Real>: Send + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Writes rows `rows`, columns `columns` into `out`, one slice per row.
    ///
    /// `columns.start` must be a multiple of [`crate::simd::Isa::lanes`], and every slice must have room for `columns` rounded up to
    /// that multiple; what is written into the padding is finite and without meaning.
    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]);

    /// Adds weighted sums of rows: `sums[o * stride + c] += sum_r weights[o * rows.len() + r] K[rows[r], columns.start + c]`, where
    /// `stride` is `columns` rounded up to whole panels.
    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        const BLOCK: usize = 16;
        let stride = sums.len() / outputs;
        let mut buffer = vec![T::default(); BLOCK * stride];
        for (block, chunk) in rows.chunks(BLOCK).enumerate() {
            let mut out: Vec<&mut [T]> = buffer.chunks_exact_mut(stride).take(chunk.len()).collect();
            self.fill(chunk, columns.clone(), &mut out);
            for (r, row) in out.iter().enumerate() {
                for (o, sums) in sums.chunks_exact_mut(stride).enumerate() {
                    let weight = weights[o * rows.len() + block * BLOCK + r];
                    if weight != 0.0 {
                        sums.iter_mut().zip(row.iter()).for_each(|(sum, value)| *sum += weight * value.to_f64());
                    }
                }
            }
        }
    }

    /// Weighted sums of rows at `columns`, into new memory and without padding: [`KernelRows::weigh`] with one output.
    fn weighted_sum(&self, rows: &[usize], weights: &[f64], columns: Range<usize>) -> Vec<f64> {
        let mut sums = vec![0.0; padded(columns.len())];
        self.weigh(rows, weights, 1, columns.clone(), &mut sums);
        sums.truncate(columns.len());
        sums
    }

    /// `K b` for a symmetric matrix; rows where `b` is zero are not computed.
    fn product(&self, b: &[f64]) -> Vec<f64> {
        let (rows, weights) = support(b);
        self.weighted_sum(&rows, &weights, 0..self.columns())
    }

    /// A row that is in memory anyway, padded to whole panels; then nobody needs to keep a copy.
    fn resident(&self, _row: usize) -> Option<&[T]> {
        None
    }

    /// A bound on the error of a value by rounding.
    fn accuracy(&self) -> f64;

    /// Multiplications per value, about: long work is cut into pieces by it.
    fn work(&self) -> usize;

    /// The same rows against some of the columns only. Only for kernels whose rows are its columns.
    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's>;
}

/// Length of a slice with room for so many columns padded to whole panels, whatever the precision and the instruction set.
pub(crate) fn padded(columns: usize) -> usize {
    /// A multiple of every number of lanes there is.
    const PANELS: usize = 64;
    columns.next_multiple_of(PANELS)
}

/// Where a vector is not zero, and its values there.
pub(crate) fn support(b: &[f64]) -> (Vec<usize>, Vec<f64>) {
    b.iter().enumerate().filter(|(_, value)| **value != 0.0).map(|(i, value)| (i, *value)).unzip()
}

/// [`KernelRows::fill`] in pieces, asking in between whether to go on. `lanes` are the columns of a panel.
pub(crate) fn fill_watched<T: Real>(
    kernel: &dyn KernelRows<T>,
    rows: &[usize],
    columns: Range<usize>,
    out: &mut [&mut [T]],
    lanes: usize,
    context: &Context<'_>,
) -> Result<()> {
    let values = (PIECE / kernel.work().max(1)).max(1);
    if rows.len().saturating_mul(columns.len()) <= values {
        kernel.fill(rows, columns, out);
        return Ok(());
    }
    // Rows that read every column together stay together.
    let height = (values / columns.len().max(1) / ROWS_TOGETHER * ROWS_TOGETHER).max(ROWS_TOGETHER.min(rows.len()));
    let width = (values / height).max(1).next_multiple_of(lanes);
    for (rows, out) in rows.chunks(height).zip(out.chunks_mut(height)) {
        for first in columns.clone().step_by(width) {
            context.go_on("kernel")?;
            let part = first..(first + width).min(columns.end);
            let from = first - columns.start;
            let room = part.len().next_multiple_of(lanes);
            let mut slices: Vec<&mut [T]> = out
                .iter_mut()
                .map(|row| {
                    let end = (from + room).min(row.len());
                    &mut row[from..end]
                })
                .collect();
            kernel.fill(rows, part, &mut slices);
        }
    }
    Ok(())
}

/// [`KernelRows::weigh`] for one output in pieces of rows, asking in between whether to go on; sums as if it were one call.
pub(crate) fn weigh_watched<T: Real>(
    kernel: &dyn KernelRows<T>,
    rows: &[usize],
    weights: &[f64],
    columns: Range<usize>,
    sums: &mut [f64],
    context: &Context<'_>,
) -> Result<()> {
    // Kernels sum in blocks of rows that divide this number: cut elsewhere, the sums would have other bits.
    const BLOCK: usize = 16;
    let values = (PIECE / kernel.work().max(1)).max(1);
    let height = if rows.len().saturating_mul(columns.len()) <= 8 * values {
        rows.len().max(1)
    } else {
        (values / columns.len().max(1) / BLOCK * BLOCK).max(BLOCK)
    };
    for (rows, weights) in rows.chunks(height).zip(weights.chunks(height)) {
        context.go_on("kernel")?;
        kernel.weigh(rows, weights, 1, columns.clone(), sums);
    }
    Ok(())
}

/// [`KernelRows::weighted_sum`] in pieces of columns, asking in between whether to go on: for kernels whose sums may not be cut by rows.
pub(crate) fn weighted_sum_watched(
    kernel: &dyn KernelRows<f64>,
    rows: &[usize],
    weights: &[f64],
    columns: Range<usize>,
    context: &Context<'_>,
) -> Result<Vec<f64>> {
    // Whole panels, so that a column is computed as it would be among all.
    const PANEL: usize = 64;
    let values = (PIECE / kernel.work().max(1)).max(1);
    if rows.len().saturating_mul(columns.len()) <= 4 * values {
        return Ok(kernel.weighted_sum(rows, weights, columns));
    }
    let width = (values / rows.len().max(1) / PANEL * PANEL).max(PANEL);
    let mut sums = Vec::with_capacity(columns.len());
    for first in columns.clone().step_by(width) {
        context.go_on("kernel")?;
        sums.extend(kernel.weighted_sum(rows, weights, first..(first + width).min(columns.end)));
    }
    Ok(sums)
}

/// The kernel matrix of a table with itself. `kernel` must be resolved ([`Kernel::resolve`]).
pub fn rows<'a, T: Real>(kernel: &Kernel, x: &'a Matrix<'_>, context: &Context<'_>) -> Result<Box<dyn KernelRows<T> + 'a>> {
    square(kernel, x, false, context)
}

/// [`rows`] that are asked for against some of the columns at a time ([`KernelRows::restrict`]): the whole table's columns are not made ready
/// unless somebody asks after all.
pub(crate) fn rows_in_parts<'a, T: Real>(kernel: &Kernel, x: &'a Matrix<'_>, context: &Context<'_>) -> Result<Box<dyn KernelRows<T> + 'a>> {
    square(kernel, x, true, context)
}

fn square<'a, T: Real>(kernel: &Kernel, x: &'a Matrix<'_>, in_parts: bool, context: &Context<'_>) -> Result<Box<dyn KernelRows<T> + 'a>> {
    if let Kernel::Precomputed = kernel {
        if x.rows() != x.columns() {
            return Err(Error::shape(format!("columns of a precomputed kernel matrix with {} rows", x.rows()), x.rows(), x.columns()));
        }
        return Ok(Box::new(GivenRows::square(x, context.threads)));
    }
    between(kernel, x, None, in_parts, context)
}

/// Kernel values between training rows (the rows) and new samples (the columns).
///
/// With [`Kernel::Precomputed`] the new table holds one column per training row of the fit; `support` says which of them `training` are.
pub fn cross<'a, T: Real>(
    kernel: &Kernel,
    training: &'a Matrix<'_>,
    support: &[usize],
    x: &'a Matrix<'_>,
    context: &Context<'_>,
) -> Result<Box<dyn KernelRows<T> + 'a>> {
    match kernel {
        Kernel::Precomputed => Ok(Box::new(GivenRows::transposed(x, support))),
        _ => between(kernel, training, Some(x), false, context),
    }
}

fn between<'a, T: Real>(
    kernel: &Kernel,
    rows: &'a Matrix<'_>,
    columns: Option<&'a Matrix<'_>>,
    in_parts: bool,
    context: &Context<'_>,
) -> Result<Box<dyn KernelRows<T> + 'a>> {
    let other = columns.unwrap_or(rows);
    Ok(match kernel {
        Kernel::Precomputed => return Err(Error::data("a precomputed kernel cannot be part of another kernel")),
        Kernel::Custom(Custom(function)) => {
            let values = function.block(rows, other)?;
            Box::new(GivenRows::block(values, rows.rows(), other.rows())?)
        }
        Kernel::Sum { terms } => {
            let mut parts = Vec::with_capacity(terms.len());
            for (weight, kernel) in terms {
                parts.push((*weight, between(kernel, rows, columns, in_parts, context)?));
            }
            Box::new(SumRows::new(parts))
        }
        Kernel::Normalized { kernel } => {
            let inner = between(kernel, rows, columns, in_parts, context)?;
            Box::new(NormalizedRows::new(inner, &diagonal(kernel, rows)?, &diagonal(kernel, other)?))
        }
        _ => {
            let recipe = recipe::<T>(kernel).expect("all others have a formula");
            match (rows, other) {
                (Matrix::Sparse(a), Matrix::Sparse(b)) if !is_better_dense(a) => {
                    Box::new(SparseRows::new(&recipe, a, columns.map(|_| b), context)?)
                }
                _ => Box::new(PackedRows::new(&recipe, rows, columns, in_parts, context)?),
            }
        }
    })
}

/// Some of the samples as rows and as columns.
pub(crate) struct SubsetRows<'a, T> {
    whole: &'a dyn KernelRows<T>,
    columns: Box<dyn KernelRows<T> + 'a>,
    samples: Vec<usize>,
}

impl<'a, T: Real> SubsetRows<'a, T> {
    pub(crate) fn new(whole: &'a dyn KernelRows<T>, samples: &[usize]) -> Self {
        Self { whole, columns: whole.restrict(samples), samples: samples.to_vec() }
    }

    fn samples(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().map(|&row| self.samples[row]).collect()
    }
}

impl<T: Real> KernelRows<T> for SubsetRows<'_, T> {
    fn rows(&self) -> usize {
        self.samples.len()
    }

    fn columns(&self) -> usize {
        // Of a subset's subset there may be fewer.
        self.columns.columns()
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        self.columns.fill(&self.samples(rows), columns, out);
    }

    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        self.columns.weigh(&self.samples(rows), weights, outputs, columns, sums);
    }

    fn accuracy(&self) -> f64 {
        self.columns.accuracy()
    }

    fn work(&self) -> usize {
        self.columns.work()
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let chosen = Self { whole: self.whole, columns: self.whole.restrict(&self.samples(columns)), samples: self.samples.clone() };
        Box::new(chosen)
    }
}

/// `k(x, x)` for every row of a table.
pub fn diagonal(kernel: &Kernel, x: &Matrix<'_>) -> Result<Vec<f64>> {
    match kernel {
        _ if kernel.form().unit_diagonal => Ok(vec![1.0; x.rows()]),
        Kernel::Precomputed => Ok((0..x.rows()).map(|i| x.get(i, i)).collect()),
        Kernel::Custom(Custom(function)) => (0..x.rows())
            .map(|i| {
                let row = x.select(&[i]);
                let value = function.block(&row, &row)?;
                value.first().copied().ok_or_else(|| Error::shape("kernel values of one pair", 1, 0))
            })
            .collect(),
        _ => {
            let mut row = Vec::new();
            (0..x.rows())
                .map(|i| {
                    // Zeros add nothing to any kernel of a row with itself: those of sparse rows are left out but for one.
                    row.clear();
                    x.for_each(i, |_, v| row.push(v));
                    row.extend(x.is_sparse().then_some(0.0));
                    kernel.evaluate(&row, &row)
                })
                .collect()
        }
    }
}
