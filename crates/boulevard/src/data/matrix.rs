//! Sample tables: dense `f32` or `f64`, or sparse rows. Each may own its values or borrow them from the caller.

use std::borrow::Cow;
use std::ops::{Add, Mul};

use crate::error::{Error, Result};
use crate::observe::Context;
use crate::parallel;

mod select;

/// Values of a pass over a table that are worth a thread.
const PIECE: usize = 1 << 20;

/// A dense table in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<'a, T: Clone> {
    values: Cow<'a, [T]>,
    rows: usize,
    columns: usize,
}

impl<'a, T: Clone> Dense<'a, T> {
    /// Takes or borrows `rows * columns` values.
    pub fn new(values: impl Into<Cow<'a, [T]>>, rows: usize, columns: usize) -> Result<Self> {
        let values = values.into();
        match rows.checked_mul(columns) {
            Some(size) if size == values.len() => Ok(Self { values, rows, columns }),
            size => Err(Error::shape(format!("values of a {rows} x {columns} table"), size.unwrap_or(usize::MAX), values.len())),
        }
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// All values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// Sparse rows (CSR): 64-bit offsets, 32-bit column numbers, `f64` values; columns rise within a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<'a> {
    offsets: Cow<'a, [usize]>,
    indices: Cow<'a, [u32]>,
    values: Cow<'a, [f64]>,
    columns: usize,
}

impl<'a> Csr<'a> {
    /// Checks and takes (or borrows) the three arrays. Row `i` is `offsets[i]..offsets[i + 1]`.
    pub fn new(
        offsets: impl Into<Cow<'a, [usize]>>,
        indices: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f64]>>,
        columns: usize,
    ) -> Result<Self> {
        let csr = Self { offsets: offsets.into(), indices: indices.into(), values: values.into(), columns };
        csr.check_offsets()?;
        csr.check_columns()?;
        Ok(csr)
    }

    /// The same for rows whose columns come in any order, some of them several times: rows are sorted, repeated columns summed.
    pub fn from_unordered(offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f64>, columns: usize) -> Result<Csr<'static>> {
        let mut csr = Csr { offsets: offsets.into(), indices: indices.into(), values: values.into(), columns };
        csr.check_offsets()?;
        csr.order();
        csr.check_columns()?;
        Ok(csr)
    }

    /// A view of the same rows.
    pub fn view(&self) -> Csr<'_> {
        let Self { offsets, indices, values, columns } = self;
        Csr { offsets: Cow::Borrowed(offsets), indices: Cow::Borrowed(indices), values: Cow::Borrowed(values), columns: *columns }
    }

    fn check_offsets(&self) -> Result<()> {
        let Self { offsets, indices, values, .. } = self;
        if offsets.first() != Some(&0) {
            return Err(Error::data("sparse offsets must start with 0"));
        }
        if indices.len() != values.len() {
            return Err(Error::shape("sparse column numbers, one per value", values.len(), indices.len()));
        }
        if *offsets.last().expect("not empty, checked above") != values.len() {
            return Err(Error::shape("last sparse offset", values.len(), offsets[offsets.len() - 1]));
        }
        for (row, pair) in offsets.windows(2).enumerate() {
            if pair[0] > pair[1] || pair[1] > values.len() {
                return Err(Error::data(format!("sparse offsets must not fall: row {row} spans {}..{}", pair[0], pair[1])));
            }
        }
        Ok(())
    }

    fn check_columns(&self) -> Result<()> {
        for (row, pair) in self.offsets.windows(2).enumerate() {
            let row_indices = &self.indices[pair[0]..pair[1]];
            if let Some(pair) = row_indices.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(Error::data(format!("sparse row {row}: column {} follows column {}; columns must rise", pair[1], pair[0])));
            }
            if let Some(&last) = row_indices.last()
                && last as usize >= self.columns
            {
                return Err(Error::data(format!("sparse row {row}: column {last} is outside the {} columns", self.columns)));
            }
        }
        Ok(())
    }

    /// Sorts every row by column and sums repeated columns. Products of sparse matrices often leave rows in falling order, which only
    /// need to be turned round.
    fn order(&mut self) {
        let (offsets, indices, values) = (self.offsets.to_mut(), self.indices.to_mut(), self.values.to_mut());
        let mut pairs: Vec<(u32, f64)> = Vec::new();
        let (mut kept, mut start) = (0, 0);
        for end in offsets.iter_mut().skip(1) {
            let row = start..*end;
            start = *end;
            let columns = &mut indices[row.clone()];
            if columns.is_sorted_by(|a, b| a > b) {
                columns.reverse();
                values[row.clone()].reverse();
            } else if !columns.is_sorted_by(|a, b| a < b) {
                pairs.clear();
                pairs.extend(columns.iter().copied().zip(values[row.clone()].iter().copied()));
                pairs.sort_by_key(|&(column, _)| column);
                pairs.dedup_by(|next, first| {
                    let same = next.0 == first.0;
                    first.1 += if same { next.1 } else { 0.0 };
                    same
                });
                for (place, &(column, value)) in pairs.iter().enumerate() {
                    (indices[kept + place], values[kept + place]) = (column, value);
                }
                kept += pairs.len();
                *end = kept;
                continue;
            }
            if kept != row.start {
                indices.copy_within(row.clone(), kept);
                values.copy_within(row.clone(), kept);
            }
            kept += row.len();
            *end = kept;
        }
        indices.truncate(kept);
        values.truncate(kept);
    }

    /// Column numbers and values of one row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row offsets.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Column numbers of all values.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// All stored values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The samples: one row each, one column per feature.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix<'a> {
    /// Double precision, dense.
    F64(Dense<'a, f64>),
    /// Single precision, dense.
    F32(Dense<'a, f32>),
    /// Sparse rows.
    Sparse(Csr<'a>),
}

impl<'a> Matrix<'a> {
    /// A dense `f64` table from row-major values, owned or borrowed.
    pub fn dense(values: impl Into<Cow<'a, [f64]>>, rows: usize, columns: usize) -> Result<Self> {
        Dense::new(values, rows, columns).map(Self::F64)
    }

    /// A dense `f32` table from row-major values, owned or borrowed.
    pub fn dense_f32(values: impl Into<Cow<'a, [f32]>>, rows: usize, columns: usize) -> Result<Self> {
        Dense::new(values, rows, columns).map(Self::F32)
    }

    /// A dense table from rows of equal length.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self> {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let mut values = Vec::with_capacity(rows.len() * columns);
        for (i, row) in rows.iter().enumerate() {
            if row.as_ref().len() != columns {
                return Err(Error::shape(format!("columns of row {i}"), columns, row.as_ref().len()));
            }
            values.extend_from_slice(row.as_ref());
        }
        Self::dense(values, rows.len(), columns)
    }

    /// Number of samples.
    pub fn rows(&self) -> usize {
        match self {
            Self::F64(dense) => dense.rows,
            Self::F32(dense) => dense.rows,
            Self::Sparse(csr) => csr.offsets.len() - 1,
        }
    }

    /// Number of features.
    pub fn columns(&self) -> usize {
        match self {
            Self::F64(dense) => dense.columns,
            Self::F32(dense) => dense.columns,
            Self::Sparse(csr) => csr.columns,
        }
    }

    /// Whether rows are stored sparsely.
    pub fn is_sparse(&self) -> bool {
        matches!(self, Self::Sparse(_))
    }

    /// Calls `visit(column, value)` for every stored value of a row (for dense rows: all of them), in column order.
    pub fn for_each(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        match self {
            Self::F64(dense) => dense.row(row).iter().enumerate().for_each(|(j, &v)| visit(j, v)),
            Self::F32(dense) => dense.row(row).iter().enumerate().for_each(|(j, &v)| visit(j, f64::from(v))),
            Self::Sparse(csr) => {
                let (indices, values) = csr.row(row);
                indices.iter().zip(values).for_each(|(&j, &v)| visit(j as usize, v));
            }
        }
    }

    /// How many values of a row are stored.
    pub(crate) fn stored(&self, row: usize) -> usize {
        match self {
            Self::F64(_) | Self::F32(_) => self.columns(),
            Self::Sparse(csr) => csr.row(row).1.len(),
        }
    }

    /// The largest absolute value.
    pub(crate) fn largest(&self) -> f64 {
        self.largest_by(1)
    }

    /// The same by several threads where the table is large.
    pub(crate) fn largest_by(&self, threads: usize) -> f64 {
        let of = |values: &[f64]| {
            let piece = |at: usize| largest_absolute(&values[at * PIECE..((at + 1) * PIECE).min(values.len())]);
            parallel::map(threads, values.len().div_ceil(PIECE), piece).into_iter().fold(0.0, f64::max)
        };
        match self {
            Self::F64(dense) => of(&dense.values),
            Self::F32(dense) => f64::from(dense.values.iter().fold(0.0, |most: f32, v| most.max(v.abs()))),
            Self::Sparse(csr) => of(&csr.values),
        }
    }

    /// One value; zero where a sparse row stores none.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        match self {
            Self::F64(dense) => dense.row(row)[column],
            Self::F32(dense) => f64::from(dense.row(row)[column]),
            Self::Sparse(csr) => {
                let (indices, values) = csr.row(row);
                indices.binary_search_by_key(&column, |&j| j as usize).map_or(0.0, |place| values[place])
            }
        }
    }

    /// Writes one row into `out`, zeros included.
    pub fn copy_row(&self, row: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.columns(), "room for one row");
        if self.is_sparse() {
            out.fill(0.0);
        }
        self.for_each(row, |j, v| out[j] = v);
    }

    /// Bytes of its values and, where it is sparse, of their places.
    pub fn bytes(&self) -> usize {
        match self {
            Self::F64(dense) => size_of_val(dense.values()),
            Self::F32(dense) => size_of_val(dense.values()),
            Self::Sparse(csr) => size_of_val(csr.values()) + size_of_val(csr.indices()) + size_of_val(csr.offsets()),
        }
    }

    /// The same table with the values of this one.
    pub fn borrowed(&self) -> Matrix<'_> {
        fn lend<'b, T: Clone>(dense: &'b Dense<'_, T>) -> Dense<'b, T> {
            Dense { values: Cow::Borrowed(&dense.values), rows: dense.rows, columns: dense.columns }
        }
        match self {
            Self::F64(dense) => Matrix::F64(lend(dense)),
            Self::F32(dense) => Matrix::F32(lend(dense)),
            Self::Sparse(csr) => Matrix::Sparse(csr.view()),
        }
    }

    /// The same table with values of its own.
    pub fn into_owned(self) -> Matrix<'static> {
        fn own<T: Clone>(dense: Dense<'_, T>) -> Dense<'static, T> {
            Dense { values: Cow::Owned(dense.values.into_owned()), rows: dense.rows, columns: dense.columns }
        }
        match self {
            Self::F64(dense) => Matrix::F64(own(dense)),
            Self::F32(dense) => Matrix::F32(own(dense)),
            Self::Sparse(csr) => Matrix::Sparse(Csr {
                offsets: Cow::Owned(csr.offsets.into_owned()),
                indices: Cow::Owned(csr.indices.into_owned()),
                values: Cow::Owned(csr.values.into_owned()),
                columns: csr.columns,
            }),
        }
    }

    /// The same values in a dense `f64` table.
    pub fn to_dense(&self) -> Matrix<'static> {
        let (rows, columns) = (self.rows(), self.columns());
        let mut values = vec![0.0; rows * columns];
        for row in 0..rows {
            self.copy_row(row, &mut values[row * columns..(row + 1) * columns]);
        }
        Matrix::F64(Dense { values: values.into(), rows, columns })
    }

    /// [`Matrix::to_dense`] in pieces between which somebody may stop.
    pub(crate) fn to_dense_in(&self, context: &Context<'_>) -> Result<Matrix<'static>> {
        let (rows, columns) = (self.rows(), self.columns());
        let mut values = vec![0.0; rows * columns];
        let mut meter = context.meter("prepare");
        for (row, to) in values.chunks_exact_mut(columns.max(1)).enumerate() {
            // Fresh memory takes longer than a multiplication.
            meter.spend(8 * columns)?;
            self.copy_row(row, to);
        }
        Ok(Matrix::F64(Dense { values: values.into(), rows, columns }))
    }

    /// The same values in sparse rows; zeros are dropped.
    pub fn to_sparse(&self) -> Matrix<'static> {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.rows() {
            self.for_each(row, |j, v| {
                if v != 0.0 {
                    indices.push(j as u32);
                    values.push(v);
                }
            });
            offsets.push(values.len());
        }
        Matrix::Sparse(Csr { offsets: offsets.into(), indices: indices.into(), values: values.into(), columns: self.columns() })
    }

    /// [`Matrix::check_finite`] by several threads where the table is large.
    pub fn check_finite_by(&self, what: &'static str, threads: usize) -> Result<()> {
        fn clean<T: Copy + Default + PartialEq + Add<Output = T> + Mul<Output = T> + Sync>(values: &[T], threads: usize) -> bool {
            let piece = |at: usize| all_finite(&values[at * PIECE..((at + 1) * PIECE).min(values.len())]);
            parallel::map(threads, values.len().div_ceil(PIECE), piece).into_iter().all(|clean| clean)
        }
        let clean = match self {
            Self::F64(dense) => clean(&dense.values, threads),
            Self::F32(dense) => clean(&dense.values, threads),
            Self::Sparse(csr) => clean(&csr.values, threads),
        };
        if clean { Ok(()) } else { self.check_finite(what) }
    }

    /// Fails with the first NaN or infinity, naming its row and column.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        let clean = match self {
            Self::F64(dense) => all_finite(&dense.values),
            Self::F32(dense) => all_finite(&dense.values),
            Self::Sparse(csr) => all_finite(&csr.values),
        };
        if clean {
            return Ok(());
        }
        for row in 0..self.rows() {
            let mut bad = None;
            self.for_each(row, |column, value| {
                if !value.is_finite() && bad.is_none() {
                    bad = Some((column, value));
                }
            });
            if let Some((column, value)) = bad {
                return Err(Error::NotFinite { what, found: value.to_string(), row, column });
            }
        }
        Ok(())
    }
}

/// Whether all values are finite: a sum of `0 * v` is zero exactly then. Sixteen sums, which do not wait for each other.
pub(crate) fn all_finite<T: Copy + Default + PartialEq + Add<Output = T> + Mul<Output = T>>(values: &[T]) -> bool {
    let zero = T::default();
    let (chunks, rest) = values.as_chunks::<16>();
    let mut sums = [zero; 16];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum = *sum + *value * zero;
        }
    }
    rest.iter().fold(sums.iter().fold(zero, |a, b| a + *b), |sum, value| sum + *value * zero) == zero
}

/// The largest absolute value, found in sixteen places at once that do not wait for each other.
pub(crate) fn largest_absolute(values: &[f64]) -> f64 {
    let larger = |most: f64, value: f64| if value.abs() > most { value.abs() } else { most };
    let (chunks, rest) = values.as_chunks::<16>();
    let mut most = [0.0; 16];
    for chunk in chunks {
        for (most, value) in most.iter_mut().zip(chunk) {
            *most = larger(*most, *value);
        }
    }
    rest.iter().chain(&most).fold(0.0, |most, value| larger(most, *value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unordered_rows_are_sorted_and_repeated_columns_summed() {
        let rows = Csr::from_unordered(vec![0, 3, 3, 7, 9], vec![2, 1, 0, 3, 0, 3, 0, 1, 4], (1..=9).map(f64::from).collect(), 5).unwrap();
        assert_eq!(rows.offsets(), [0, 3, 3, 5, 7]);
        assert_eq!(rows.indices(), [0, 1, 2, 0, 3, 1, 4]);
        assert_eq!(rows.values(), [3.0, 2.0, 1.0, 12.0, 10.0, 8.0, 9.0]);
        assert!(Csr::from_unordered(vec![0, 2], vec![7, 0], vec![1.0; 2], 5).is_err(), "a column outside");
        assert!(Csr::from_unordered(vec![0, 9], vec![0], vec![1.0], 5).is_err(), "offsets beyond the values");
    }

    #[test]
    fn one_value_that_is_not_finite_is_found_anywhere() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in [0, 15, 16, 47, 49] {
                let mut values = vec![1.0; 50];
                values[place] = bad;
                let error = Matrix::dense(values, 10, 5).unwrap().check_finite("X").unwrap_err();
                assert!(error.to_string().contains(&format!("row {}", place / 5)), "{error}");
            }
        }
    }

    #[test]
    fn dense_and_sparse_hold_the_same_values() {
        let dense = Matrix::from_rows(&[[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]).unwrap();
        let sparse = dense.to_sparse();
        assert_eq!(sparse.to_dense(), dense);
        assert_eq!((sparse.rows(), sparse.columns(), sparse.get(0, 1), sparse.get(1, 2)), (2, 3, 0.0, 3.0));
        assert_eq!(sparse.select(&[1, 0, 1]).to_dense(), dense.select(&[1, 0, 1]));
    }

    #[test]
    fn borrowed_values_are_not_copied() {
        let values = [1.0, 2.0];
        let Matrix::F64(dense) = Matrix::dense(&values[..], 1, 2).unwrap() else { panic!("dense f64") };
        assert!(std::ptr::eq(dense.values(), &values[..]));
    }

    #[test]
    fn bad_values_are_named_with_their_place() {
        let matrix = Matrix::from_rows(&[[1.0, 2.0], [3.0, f64::NAN]]).unwrap();
        let message = matrix.check_finite("X").unwrap_err().to_string();
        assert_eq!(message, "X contains NaN at row 1, column 1: only finite numbers are allowed");
        assert!(Matrix::from_rows(&[[1.0], [f64::MAX]]).unwrap().check_finite("X").is_ok());
    }

    #[test]
    fn malformed_sparse_tables_are_refused() {
        let csr = |offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f64>| Csr::new(offsets, indices, values, 3);
        assert!(csr(vec![0, 2], vec![0, 2], vec![1.0, 2.0]).is_ok());
        for bad in [
            csr(vec![], vec![], vec![]),
            csr(vec![1, 2], vec![0, 2], vec![1.0, 2.0]),
            csr(vec![0, 3], vec![0, 2], vec![1.0, 2.0]),
            csr(vec![0, 2], vec![2, 0], vec![1.0, 2.0]),
            csr(vec![0, 2], vec![0, 3], vec![1.0, 2.0]),
            csr(vec![0, 2, 1, 2], vec![0, 2], vec![1.0, 2.0]),
            csr(vec![0, 9, 2], vec![0, 2], vec![1.0, 2.0]),
        ] {
            assert!(bad.is_err());
        }
    }
}
