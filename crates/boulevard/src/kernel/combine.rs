//! Kernel rows made from others: a given matrix, weighted sums, normalised values.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;

use super::padded;
use super::rows::{KernelRows, fill_watched};
use crate::data::{Matrix, largest_absolute};
use crate::error::{Error, Result};
use crate::linalg;
use crate::observe::Context;
use crate::simd::{Isa, Job, Real, Simd, sweep};

/// A matrix of kernel values that is already there.
#[derive(Clone)]
pub(super) struct GivenRows<'a> {
    values: Values<'a>,
    rows: usize,
    columns: usize,
    /// The matrix' columns to show, all of them if none are named.
    chosen: Option<Vec<usize>>,
    /// The largest absolute value, once somebody asked.
    largest: OnceLock<f64>,
    threads: usize,
}

#[derive(Clone)]
enum Values<'a> {
    /// Row `r` of the kernel is row `r` of the table.
    Rows(&'a Matrix<'a>),
    /// Row `r` of the kernel is column `support[r]` of the table.
    Columns(&'a Matrix<'a>, Vec<usize>),
    /// Row-major values.
    Block(Cow<'a, [f64]>),
}

impl<'a> GivenRows<'a> {
    pub(super) fn square(x: &'a Matrix<'_>, threads: usize) -> Self {
        Self { values: Values::Rows(x), rows: x.rows(), columns: x.columns(), chosen: None, largest: OnceLock::new(), threads }
    }

    pub(super) fn transposed(x: &'a Matrix<'_>, support: &[usize]) -> Self {
        let values = Values::Columns(x, support.to_vec());
        Self { values, rows: support.len(), columns: x.rows(), chosen: None, largest: OnceLock::new(), threads: 1 }
    }

    pub(super) fn block(values: Vec<f64>, rows: usize, columns: usize) -> Result<Self> {
        if values.len() != rows * columns {
            return Err(Error::shape(format!("values of a {rows} x {columns} kernel block"), rows * columns, values.len()));
        }
        match values.iter().position(|v| !v.is_finite()) {
            Some(place) => {
                let (row, column) = (place / columns, place % columns);
                Err(Error::NotFinite { what: "the kernel matrix", found: values[place].to_string(), row, column })
            }
            None => {
                let (values, largest) = (Values::Block(values.into()), OnceLock::new());
                Ok(Self { values, rows, columns, chosen: None, largest, threads: 1 })
            }
        }
    }
}

impl GivenRows<'_> {
    fn get(&self, row: usize, column: usize) -> f64 {
        let column = self.chosen.as_ref().map_or(column, |chosen| chosen[column]);
        match &self.values {
            Values::Rows(x) => x.get(row, column),
            Values::Columns(x, support) => x.get(column, support[row]),
            Values::Block(values) => values[row * self.columns + column],
        }
    }
}

impl<T: Real> KernelRows<T> for GivenRows<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.chosen.as_ref().map_or(self.columns, Vec::len)
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        for (&row, out) in rows.iter().zip(out) {
            match (&self.values, &self.chosen) {
                (Values::Rows(Matrix::F64(dense)), None) => {
                    out.iter_mut().zip(&dense.row(row)[columns.clone()]).for_each(|(to, &v)| *to = T::from_f64(v));
                }
                _ => out.iter_mut().zip(columns.clone()).for_each(|(to, c)| *to = T::from_f64(self.get(row, c))),
            }
        }
    }

    fn resident(&self, row: usize) -> Option<&[T]> {
        let values = match (&self.values, &self.chosen) {
            (Values::Rows(Matrix::F64(dense)), None) => dense.values(),
            (Values::Block(values), None) => values,
            _ => return None,
        };
        // The next row's values are as good a padding as any; behind the last row there may be none.
        let first = row * self.columns;
        T::borrow(values.get(first..first + padded(self.columns))?)
    }

    fn work(&self) -> usize {
        // A value of a sparse matrix is looked for.
        16
    }

    fn accuracy(&self) -> f64 {
        let largest = self.largest.get_or_init(|| match &self.values {
            Values::Rows(x) | Values::Columns(x, _) => x.largest_by(self.threads),
            Values::Block(values) => largest_absolute(values),
        });
        T::ROUNDING * largest
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let chosen = columns.iter().map(|&c| self.chosen.as_ref().map_or(c, |chosen| chosen[c])).collect();
        Box::new(Self { chosen: Some(chosen), ..self.clone() })
    }
}

thread_local! {
    /// The memory of the last matrix on this thread: fresh memory for every one of a thousand small fits costs as much as filling it.
    static SPARE: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

impl Drop for GramRows {
    fn drop(&mut self) {
        /// More is for few fits, and not worth keeping.
        const MOST: usize = 64 << 20;
        if self.values.capacity() * size_of::<f64>() <= MOST {
            SPARE.set(std::mem::take(&mut self.values));
        }
    }
}

/// A whole kernel matrix, computed at once. For small problems that is cheaper than asking for rows one by one.
pub(crate) struct GramRows {
    values: Vec<f64>,
    rows: usize,
    columns: usize,
    width: usize,
    lanes: usize,
    isa: Isa,
    accuracy: f64,
}

impl GramRows {
    /// Evaluates all of `kernel`, rounded to single precision if asked. Of a matrix that is symmetric by its formula only the lower triangle
    /// is computed; one that was given is taken as it is.
    pub(crate) fn new(kernel: &dyn KernelRows<f64>, symmetric: bool, rounded: bool, context: &Context<'_>) -> Result<Self> {
        let mut gram = Self::empty(kernel, context.isa);
        let (rows, columns, lanes, width) = (gram.rows, gram.columns, gram.lanes, gram.width);
        let order: Vec<usize> = (0..rows).collect();
        if symmetric {
            // Blocks that are too small for questions inside add up, and their memory is touched for the first time.
            let mut meter = context.meter("kernel");
            for (block, out) in order.chunks(lanes).zip(gram.values.chunks_mut(lanes * width)) {
                let end = block[block.len() - 1] + 1;
                meter.spend(block.len() * end * (kernel.work() + 8))?;
                fill_watched(kernel, block, 0..end, &mut out.chunks_exact_mut(width).collect::<Vec<_>>(), lanes, context)?;
                if rounded {
                    // While they are at hand, and before the other triangle is a copy of them.
                    out.chunks_exact_mut(width).for_each(|row| round(context.isa, &mut row[..end]));
                }
            }
            linalg::mirror_in(&mut gram.values, rows, width, context)?;
        } else {
            fill_watched(kernel, &order, 0..columns, &mut gram.values.chunks_exact_mut(width).collect::<Vec<_>>(), lanes, context)?;
            if rounded {
                round(context.isa, &mut gram.values);
            }
        }
        Ok(gram)
    }

    /// The symmetric matrix of two groups of samples, one after the other, whose own matrices are known: only what is between them is
    /// computed.
    pub(crate) fn of_groups(kernel: &dyn KernelRows<f64>, groups: [&Self; 2], context: &Context<'_>) -> Result<Self> {
        let mut gram = Self::empty(kernel, context.isa);
        let lanes = gram.lanes;
        let (width, first) = (gram.width, groups[0].rows);
        let (above, below) = gram.values.split_at_mut(first * width);
        for (row, to) in above.chunks_exact_mut(width).enumerate() {
            to[..first].copy_from_slice(&groups[0].row(row)[..first]);
        }
        let order: Vec<usize> = (first..gram.rows).collect();
        fill_watched(kernel, &order, 0..first, &mut below.chunks_exact_mut(width).collect::<Vec<_>>(), lanes, context)?;
        for (row, to) in below.chunks_exact_mut(width).enumerate() {
            to[first..gram.columns].copy_from_slice(&groups[1].row(row)[..groups[1].rows]);
        }
        linalg::mirror(&mut gram.values, gram.rows, width);
        Ok(gram)
    }

    /// Room for a matrix. Every value is written later, padding too where tiles write it; what it holds before is finite.
    fn empty(kernel: &dyn KernelRows<f64>, isa: Isa) -> Self {
        let (rows, columns, lanes) = (kernel.rows(), kernel.columns(), isa.lanes::<f64>());
        let width = columns.next_multiple_of(lanes);
        let mut values = SPARE.take();
        if values.capacity() < rows * width {
            // Fresh zeros cost nothing until they are touched, which happens in pieces.
            values = vec![0.0; rows * width];
        }
        values.resize(rows * width, 0.0);
        Self { values, rows, columns, width, lanes, isa, accuracy: kernel.accuracy() }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }
}

impl KernelRows<f64> for GramRows {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [f64]]) {
        for (&row, out) in rows.iter().zip(out) {
            out[..columns.len()].copy_from_slice(&self.row(row)[columns.clone()]);
        }
    }

    fn resident(&self, row: usize) -> Option<&[f64]> {
        Some(self.row(row))
    }

    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        let stride = sums.len() / outputs;
        let values = |row: usize| &self.row(row)[columns.clone()];
        for (o, sums) in sums.chunks_exact_mut(stride).enumerate() {
            let (sums, weights) = (&mut sums[..columns.len()], &weights[o * rows.len()..(o + 1) * rows.len()]);
            let ((fours, rest), (of_fours, of_rest)) = (rows.as_chunks::<4>(), weights.as_chunks::<4>());
            for (four, factors) in fours.iter().zip(of_fours) {
                sweep::add_scaled(self.isa, sums, *factors, four.map(values));
            }
            for (&row, &factor) in rest.iter().zip(of_rest) {
                sweep::add_scaled(self.isa, sums, [factor], [values(row)]);
            }
        }
    }

    fn accuracy(&self) -> f64 {
        self.accuracy
    }

    fn work(&self) -> usize {
        1
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<f64> + 's> {
        let width = columns.len().next_multiple_of(self.lanes);
        let mut values = vec![0.0; self.rows * width];
        for (row, to) in values.chunks_exact_mut(width).enumerate() {
            to.iter_mut().zip(columns).for_each(|(to, &c)| *to = self.row(row)[c]);
        }
        Box::new(Self { values, rows: self.rows, columns: columns.len(), width, lanes: self.lanes, isa: self.isa, accuracy: self.accuracy })
    }
}

/// Rounds to single precision: a plain loop, compiled for every instruction set.
fn round(isa: Isa, values: &mut [f64]) {
    struct Round<'a>(&'a mut [f64]);
    impl Job<f64> for Round<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, _: S) {
            self.0.iter_mut().for_each(|value| *value = f64::from(*value as f32));
        }
    }
    f64::dispatch(isa, Round(values));
}

/// Values rounded to single precision, as LIBSVM keeps them.
pub(crate) struct RoundedRows<'a> {
    inner: Box<dyn KernelRows<f64> + 'a>,
}

impl<'a> RoundedRows<'a> {
    pub(crate) fn new(inner: Box<dyn KernelRows<f64> + 'a>) -> Self {
        Self { inner }
    }
}

impl KernelRows<f64> for RoundedRows<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.inner.columns()
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [f64]]) {
        self.inner.fill(rows, columns, out);
        out.iter_mut().for_each(|row| round(Isa::detect(), row));
    }

    fn accuracy(&self) -> f64 {
        self.inner.accuracy()
    }

    fn work(&self) -> usize {
        self.inner.work()
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<f64> + 's> {
        Box::new(RoundedRows::new(self.inner.restrict(columns)))
    }
}

/// `sum_k weight_k K_k`
pub(super) struct SumRows<'a, T> {
    parts: Vec<(f64, Box<dyn KernelRows<T> + 'a>)>,
}

impl<'a, T: Real> SumRows<'a, T> {
    pub(super) fn new(parts: Vec<(f64, Box<dyn KernelRows<T> + 'a>)>) -> Self {
        Self { parts }
    }
}

impl<T: Real> KernelRows<T> for SumRows<'_, T> {
    fn rows(&self) -> usize {
        self.parts[0].1.rows()
    }

    fn columns(&self) -> usize {
        self.parts[0].1.columns()
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        let width = out.iter().map(|row| row.len()).max().unwrap_or(0);
        let mut buffer = vec![T::default(); rows.len() * width];
        let mut sums = vec![0.0; rows.len() * width];
        for (weight, part) in &self.parts {
            let mut slices: Vec<&mut [T]> = buffer.chunks_exact_mut(width.max(1)).collect();
            part.fill(rows, columns.clone(), &mut slices);
            sums.iter_mut().zip(&buffer).for_each(|(sum, value)| *sum += weight * value.to_f64());
        }
        for (out, sums) in out.iter_mut().zip(sums.chunks_exact(width.max(1))) {
            out.iter_mut().zip(sums).for_each(|(to, &sum)| *to = T::from_f64(sum));
        }
    }

    fn work(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.work()).sum()
    }

    fn accuracy(&self) -> f64 {
        self.parts.iter().map(|(weight, part)| weight.abs() * (part.accuracy() + T::ROUNDING)).sum()
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        Box::new(SumRows::new(self.parts.iter().map(|(weight, part)| (*weight, part.restrict(columns))).collect()))
    }
}

/// `K_ij / sqrt(K_ii K_jj)`
pub(super) struct NormalizedRows<'a, T> {
    inner: Box<dyn KernelRows<T> + 'a>,
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
}

impl<'a, T: Real> NormalizedRows<'a, T> {
    pub(super) fn new(inner: Box<dyn KernelRows<T> + 'a>, row_diagonal: &[f64], column_diagonal: &[f64]) -> Self {
        // A sample with k(x, x) = 0 is similar to nothing: its values become 0 instead of NaN.
        let scale = |diagonal: &[f64]| diagonal.iter().map(|&v| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 }).collect();
        Self { inner, row_scale: scale(row_diagonal), column_scale: scale(column_diagonal) }
    }
}

impl<T: Real> KernelRows<T> for NormalizedRows<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.inner.columns()
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        self.inner.fill(rows, columns.clone(), out);
        for (&row, out) in rows.iter().zip(out) {
            for (to, scale) in out.iter_mut().zip(&self.column_scale[columns.clone()]) {
                *to = T::from_f64(to.to_f64() * scale * self.row_scale[row]);
            }
        }
    }

    fn work(&self) -> usize {
        self.inner.work() + 4
    }

    fn accuracy(&self) -> f64 {
        let largest = |scale: &[f64]| scale.iter().fold(0.0, |a: f64, b| a.max(*b));
        self.inner.accuracy() * largest(&self.row_scale) * largest(&self.column_scale) + 2.0 * T::ROUNDING
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let column_scale = columns.iter().map(|&c| self.column_scale[c]).collect();
        Box::new(NormalizedRows { inner: self.inner.restrict(columns), row_scale: self.row_scale.clone(), column_scale })
    }
}
