//! The samples as the linear solvers see them: products with the table, from either side, without a copy of it.
//!
//! Dense columns are centered on the fly where the bias is free (which changes nothing but the bias, and makes every system better
//! conditioned); LIBLINEAR's penalised bias is a constant column.

use crate::data::Matrix;
use crate::error::Result;
use crate::linalg::weighted_gram;
use crate::observe::{Context, PIECE};
use crate::parallel;
use crate::simd::{Isa, Job, Real, Simd};

/// Values of the table below which threads cost more than they bring.
const WORTH_THREADS: usize = 1 << 18;
/// Pieces that rows are cut into where threads are used: fixed, so that sums do not depend on the threads.
const PIECES: usize = 8;

/// The caller's rows, or rows made on the way. (A `Cow` would fix the lifetime.)
enum TableRows<'a> {
    Given(&'a Matrix<'a>),
    Made(Matrix<'static>),
}

/// A table of samples with its center and constant column.
pub(in crate::solver) struct LinearTable<'a> {
    x: TableRows<'a>,
    /// What is subtracted from every row; empty for nothing.
    center: Vec<f64>,
    /// The value of an extra, last column.
    constant: Option<f64>,
    /// Long passes ask it whether to go on.
    context: Context<'a>,
}

impl<'a> LinearTable<'a> {
    /// `centered`: subtract the columns' means (dense tables only).
    pub(in crate::solver) fn new(x: &'a Matrix<'a>, centered: bool, constant: Option<f64>, context: &Context<'a>) -> Result<Self> {
        let mut table = Self { x: TableRows::Given(x), center: Vec::new(), constant, context: *context };
        if centered && !x.is_sparse() {
            let mut center = table.backward(&vec![1.0 / x.rows() as f64; x.rows()])?;
            center.truncate(x.columns());
            table.center = center;
        }
        Ok(table)
    }

    /// A table of owned rows, as they are.
    pub(super) fn plain(x: Matrix<'static>, context: Context<'a>) -> Self {
        Self { x: TableRows::Made(x), center: Vec::new(), constant: None, context }
    }

    /// The same rows, with nobody to stop a pass: for the last one, which makes a result of what there is.
    pub(super) fn undisturbed(&self) -> LinearTable<'_> {
        let context = self.context.undisturbed();
        LinearTable { x: TableRows::Given(self.x()), center: self.center.clone(), constant: self.constant, context }
    }

    pub(super) fn context(&self) -> &Context<'a> {
        &self.context
    }

    /// The rows as they were given: neither centered nor with the constant.
    pub(super) fn x(&self) -> &Matrix<'_> {
        match &self.x {
            TableRows::Given(x) => x,
            TableRows::Made(x) => x,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.x().rows()
    }

    /// Weights that a solution has, the constant column's included.
    pub(in crate::solver) fn columns(&self) -> usize {
        self.x().columns() + usize::from(self.constant.is_some())
    }

    /// The value of the constant column, where there is one.
    pub(super) fn constant(&self) -> Option<f64> {
        self.constant
    }

    /// Values that are read for a row, on average.
    pub(super) fn values_per_row(&self) -> usize {
        match self.x() {
            Matrix::Sparse(x) => x.values().len() / self.rows().max(1),
            x => x.columns(),
        }
    }

    /// The centered mean's share of the bias: the bias for the rows as they are is `bias - shift(w)`.
    pub(super) fn shift(&self, w: &[f64]) -> f64 {
        self.center.iter().zip(w).map(|(m, w)| m * w).sum()
    }

    fn pieces(&self) -> Vec<std::ops::Range<usize>> {
        let n = self.rows();
        let pieces = if n * self.x().columns() < WORTH_THREADS { 1 } else { PIECES };
        let size = n.div_ceil(pieces).max(1);
        (0..n.div_ceil(size).max(1)).map(|p| p * size..((p + 1) * size).min(n)).collect()
    }

    /// A piece cut into runs of rows that are read between two questions whether to go on.
    fn runs(&self, piece: std::ops::Range<usize>) -> impl Iterator<Item = Result<std::ops::Range<usize>>> {
        let values = match self.x() {
            Matrix::Sparse(x) => 4 * x.values().len() / self.rows().max(1),
            x => x.columns(),
        };
        let height = (PIECE / values.max(1)).max(1);
        let several = piece.len() > height;
        piece.clone().step_by(height).map(move |from| {
            if several {
                self.context.go_on("solve")?;
            }
            Ok(from..(from + height).min(piece.end))
        })
    }

    /// A question whether to go on before work on all columns, where there are so many that fresh memory for them takes milliseconds.
    pub(super) fn between_wide(&self, columns: usize) -> Result<()> {
        if columns < PIECE >> 6 { Ok(()) } else { self.context.go_on("solve") }
    }

    /// `X w`
    pub(in crate::solver) fn forward(&self, w: &[f64]) -> Result<Vec<f64>> {
        let pieces = self.pieces();
        let parts = parallel::try_map(self.context.threads, pieces.len(), |p| {
            let mut all = vec![0.0; pieces[p].len()];
            let base = self.constant.map_or(0.0, |c| c * w[self.x().columns()]);
            let (center, plain) = (&self.center[..], &w[..self.x().columns()]);
            for run in self.runs(pieces[p].clone()) {
                let run = run?;
                let out = &mut all[run.start - pieces[p].start..run.end - pieces[p].start];
                match self.x() {
                    Matrix::F64(x) => dispatch(Dots { x: x.values(), center, w: plain, from: run.start, out }),
                    Matrix::F32(x) => dispatch(Dots { x: x.values(), center, w: plain, from: run.start, out }),
                    Matrix::Sparse(x) => {
                        for (row, out) in run.zip(out) {
                            let (indices, values) = x.row(row);
                            *out = indices.iter().zip(values).map(|(&j, v)| w[j as usize] * v).sum();
                        }
                    }
                }
            }
            all.iter_mut().for_each(|out| *out += base);
            Ok(all)
        });
        Ok(parts?.concat())
    }

    /// `X' v`; rows with `v = 0` are not read.
    pub(in crate::solver) fn backward(&self, v: &[f64]) -> Result<Vec<f64>> {
        let [mut up, down] = self.backward_sides(v)?;
        up.iter_mut().zip(down).for_each(|(up, down)| *up += down);
        Ok(up)
    }

    /// `X' v` in two parts: from the rows with positive `v`, and from those with negative `v`. One pass serves both.
    pub(super) fn backward_sides(&self, v: &[f64]) -> Result<[Vec<f64>; 2]> {
        let (pieces, d) = (self.pieces(), self.x().columns());
        let parts = parallel::map(self.context.threads, pieces.len(), |p| {
            self.between_wide(d)?;
            let (mut up, mut down) = (vec![0.0; d], vec![0.0; d]);
            let center = &self.center[..];
            for run in self.runs(pieces[p].clone()) {
                let run = run?;
                let (v, from) = (&v[run.clone()], run.start);
                match self.x() {
                    Matrix::F64(x) => dispatch(Sums { x: x.values(), center, v, from, up: &mut up, down: &mut down }),
                    Matrix::F32(x) => dispatch(Sums { x: x.values(), center, v, from, up: &mut up, down: &mut down }),
                    Matrix::Sparse(x) => {
                        for (row, &v) in run.zip(v).filter(|(_, v)| **v != 0.0) {
                            let (indices, values) = x.row(row);
                            let out = if v > 0.0 { &mut up } else { &mut down };
                            indices.iter().zip(values).for_each(|(&j, x)| out[j as usize] += v * x);
                        }
                    }
                }
            }
            Ok([up, down])
        });
        let mut total = [vec![0.0; d], vec![0.0; d]];
        for part in parts {
            for (total, part) in total.iter_mut().zip(part?) {
                self.between_wide(d)?;
                total.iter_mut().zip(part).for_each(|(total, value)| *total += value);
            }
        }
        if let Some(constant) = self.constant {
            let sum = |side: fn(f64) -> f64| constant * v.iter().map(|&v| side(v)).sum::<f64>();
            total[0].push(sum(|v| v.max(0.0)));
            total[1].push(sum(|v| v.min(0.0)));
        }
        Ok(total)
    }

    /// `sum_i h_i z_i z_i'` with `z_i` the row, and a 1 after it where `bias`.
    pub(super) fn gram(&self, h: &[f64], bias: bool) -> Result<Vec<f64>> {
        let size = self.columns() + usize::from(bias);
        if let Matrix::Sparse(x) = self.x() {
            return self.sparse_gram(x, h, bias, size);
        }
        let fetch = |rows: &[usize], block: &mut [f64]| {
            for (&row, to) in rows.iter().zip(block.chunks_exact_mut(size)) {
                self.copy_row(row, to);
                if bias {
                    to[size - 1] = 1.0;
                }
            }
        };
        let threads = if self.rows() * self.x().columns() < WORTH_THREADS { 1 } else { self.context.threads };
        weighted_gram(self.rows(), size, |i| h[i], fetch, &self.context.with_threads(threads))
    }

    fn sparse_gram(&self, x: &crate::data::Csr<'_>, h: &[f64], bias: bool, size: usize) -> Result<Vec<f64>> {
        let mut gram = vec![0.0; size * size];
        let mut done = 0;
        let mut row: Vec<(usize, f64)> = Vec::new();
        for (i, &h) in h.iter().enumerate().filter(|(_, h)| **h != 0.0) {
            let (indices, values) = x.row(i);
            done += indices.len() * indices.len();
            if done > PIECE {
                done = 0;
                self.context.go_on("solve")?;
            }
            row.clear();
            row.extend(indices.iter().map(|&j| j as usize).zip(values.iter().copied()));
            row.extend(self.constant.map(|c| (x.columns(), c)));
            row.extend(bias.then_some((size - 1, 1.0)));
            for (place, &(j, a)) in row.iter().enumerate() {
                let line = &mut gram[j * size..(j + 1) * size];
                row[..=place].iter().for_each(|&(k, b)| line[k] += h * a * b);
            }
        }
        crate::linalg::mirror_in(&mut gram, size, size, &self.context)?;
        Ok(gram)
    }

    /// Writes one row, centered, with its constant, into the start of `to`.
    pub(in crate::solver) fn copy_row(&self, row: usize, to: &mut [f64]) {
        let d = self.x().columns();
        match self.x() {
            Matrix::F64(x) if !self.center.is_empty() => {
                to.iter_mut().zip(x.row(row)).zip(&self.center).for_each(|((to, x), m)| *to = x - m);
            }
            Matrix::F64(x) => to[..d].copy_from_slice(x.row(row)),
            _ => {
                self.x().copy_row(row, &mut to[..d]);
                to.iter_mut().zip(&self.center).for_each(|(to, m)| *to -= m);
            }
        }
        if let Some(constant) = self.constant {
            to[d] = constant;
        }
    }

    /// Some columns of one row, as [`LinearTable::copy_row`] writes them, into the start of `to`, which has room for a row. Sparse rows are
    /// written whole first.
    pub(super) fn copy_part(&self, row: usize, columns: std::ops::Range<usize>, to: &mut [f64]) {
        let d = self.x().columns();
        let given = columns.start.min(d)..columns.end.min(d);
        match self.x() {
            Matrix::F64(x) => to.iter_mut().zip(&x.row(row)[given.clone()]).for_each(|(to, &x)| *to = x),
            Matrix::F32(x) => to.iter_mut().zip(&x.row(row)[given.clone()]).for_each(|(to, &x)| *to = f64::from(x)),
            Matrix::Sparse(x) => {
                to[..columns.len()].fill(0.0);
                let (indices, values) = x.row(row);
                let first = indices.partition_point(|&j| (j as usize) < columns.start);
                for (&j, &v) in indices[first..].iter().zip(&values[first..]).take_while(|(j, _)| (**j as usize) < columns.end) {
                    to[j as usize - columns.start] = v;
                }
            }
        }
        if !self.center.is_empty() {
            to.iter_mut().zip(&self.center[given]).for_each(|(to, m)| *to -= m);
        }
        if let Some(constant) = self.constant
            && columns.end > d
        {
            to[d - columns.start] = constant;
        }
    }

    /// Some rows as a dense table of their own, centered and with the constant column.
    pub(super) fn gather(&self, rows: &[usize]) -> Result<Self> {
        let d = self.columns();
        let mut values = vec![0.0; rows.len() * d];
        let height = (PIECE / d.max(1)).max(1);
        for (place, (to, &row)) in values.chunks_exact_mut(d.max(1)).zip(rows).enumerate() {
            if place % height == height - 1 {
                self.context.go_on("solve")?;
            }
            self.copy_row(row, to);
        }
        Ok(Self::plain(Matrix::dense(values, rows.len(), d).expect("as many values as it says"), self.context))
    }

    /// Some columns as a table of their own, centered (where the table is).
    pub(super) fn columns_of(&self, columns: &[usize]) -> Result<Self> {
        let (n, size) = (self.rows(), columns.len());
        let matrix = if let Matrix::Sparse(x) = self.x() {
            self.between_wide(self.columns())?;
            let mut place = vec![u32::MAX; self.columns()];
            columns.iter().enumerate().for_each(|(k, &j)| place[j] = k as u32);
            let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            let height = (PIECE / (1 + x.values().len() / n.max(1))).max(1);
            for i in 0..n {
                if i % height == height - 1 {
                    self.context.go_on("solve")?;
                }
                let (row, row_values) = x.row(i);
                let constant = self.constant.map(|c| (x.columns(), c));
                for (j, v) in row.iter().map(|&j| j as usize).zip(row_values.iter().copied()).chain(constant) {
                    if place[j] != u32::MAX {
                        indices.push(place[j]);
                        values.push(v);
                    }
                }
                offsets.push(indices.len());
            }
            crate::data::Csr::new(offsets, indices, values, size).map(Matrix::Sparse)
        } else {
            let mut row = vec![0.0; self.columns()];
            let mut values = Vec::with_capacity(n * size);
            let height = (PIECE / self.columns().max(1)).max(1);
            for i in 0..n {
                if i % height == height - 1 {
                    self.context.go_on("solve")?;
                }
                self.copy_row(i, &mut row);
                values.extend(columns.iter().map(|&j| row[j]));
            }
            Matrix::dense(values, n, size)
        };
        Ok(Self::plain(matrix.expect("rows were well formed"), self.context))
    }
}

fn dispatch<J: Job<f64, Output = ()>>(job: J) {
    f64::dispatch(Isa::detect(), job);
}

/// Values summed side by side.
const LANES: usize = 16;

struct Dots<'a, E> {
    x: &'a [E],
    center: &'a [f64],
    w: &'a [f64],
    from: usize,
    out: &'a mut [f64],
}

impl<E: Copy + Into<f64>> Job<f64> for Dots<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) {
        let (d, w) = (self.w.len(), self.w);
        let zeros = vec![0.0; if self.center.is_empty() { d } else { 0 }];
        let center = if self.center.is_empty() { &zeros[..] } else { self.center };
        for (out, row) in self.out.iter_mut().zip(self.x[self.from * d..].chunks_exact(d.max(1))) {
            let mut sums = [0.0; LANES];
            let ((xs, x_rest), (ms, m_rest), (ws, w_rest)) =
                (row.as_chunks::<LANES>(), center.as_chunks::<LANES>(), w.as_chunks::<LANES>());
            for ((x, m), w) in xs.iter().zip(ms).zip(ws) {
                for k in 0..LANES {
                    let value: f64 = x[k].into();
                    sums[k] += (value - m[k]) * w[k];
                }
            }
            let mut total = 0.0;
            for ((x, m), w) in x_rest.iter().zip(m_rest).zip(w_rest) {
                let value: f64 = (*x).into();
                total += (value - m) * w;
            }
            *out = total + sums.iter().sum::<f64>();
        }
    }
}

struct Sums<'a, E> {
    x: &'a [E],
    center: &'a [f64],
    v: &'a [f64],
    from: usize,
    up: &'a mut [f64],
    down: &'a mut [f64],
}

impl<E: Copy + Into<f64>> Job<f64> for Sums<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) {
        let d = self.up.len();
        let zeros = vec![0.0; if self.center.is_empty() { d } else { 0 }];
        let center = if self.center.is_empty() { &zeros[..] } else { self.center };
        for (&v, row) in self.v.iter().zip(self.x[self.from * d..].chunks_exact(d.max(1))) {
            if v == 0.0 {
                continue;
            }
            let out = if v > 0.0 { &mut *self.up } else { &mut *self.down };
            for ((out, x), m) in out.iter_mut().zip(row).zip(center) {
                let value: f64 = (*x).into();
                *out += v * (value - m);
            }
        }
    }
}
