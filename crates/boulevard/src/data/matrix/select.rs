//! Copies of some rows of a table.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use super::{Csr, Dense, Matrix};
use crate::error::Result;
use crate::observe::Context;
use crate::parallel;

impl Matrix<'_> {
    /// The rows in `rows`, as an owned table of the same kind.
    pub fn select(&self, rows: &[usize]) -> Matrix<'static> {
        fn gather<T: Clone>(dense: &Dense<'_, T>, rows: &[usize]) -> Dense<'static, T> {
            let mut values: Vec<T> = Vec::with_capacity(rows.len() * dense.columns);
            rows.iter().for_each(|&row| values.extend_from_slice(dense.row(row)));
            Dense { values: Cow::Owned(values), rows: rows.len(), columns: dense.columns }
        }
        match self {
            Self::F64(dense) => Matrix::F64(gather(dense, rows)),
            Self::F32(dense) => Matrix::F32(gather(dense, rows)),
            Self::Sparse(csr) => {
                let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
                for &row in rows {
                    let (row_indices, row_values) = csr.row(row);
                    indices.extend_from_slice(row_indices);
                    values.extend_from_slice(row_values);
                    offsets.push(values.len());
                }
                Matrix::Sparse(Csr { offsets: offsets.into(), indices: indices.into(), values: values.into(), columns: csr.columns })
            }
        }
    }

    /// [`Matrix::select`] in pieces between which somebody may stop: a copy of a large table takes a while.
    pub fn select_in(&self, rows: &[usize], context: &Context<'_>) -> Result<Matrix<'static>> {
        fn gather<T: Clone>(dense: &Dense<'_, T>, rows: &[usize], context: &Context<'_>) -> Result<Dense<'static, T>> {
            let mut meter = context.meter("copy rows");
            let mut values: Vec<T> = Vec::with_capacity(rows.len() * dense.columns);
            for &row in rows {
                // Fresh memory takes longer than a multiplication.
                meter.spend(8 * dense.columns)?;
                values.extend_from_slice(dense.row(row));
            }
            Ok(Dense { values: Cow::Owned(values), rows: rows.len(), columns: dense.columns })
        }
        Ok(match self {
            Self::F64(dense) => Matrix::F64(gather(dense, rows, context)?),
            Self::F32(dense) => Matrix::F32(gather(dense, rows, context)?),
            Self::Sparse(_) => {
                context.go_on("copy rows")?;
                self.select(rows)
            }
        })
    }

    /// [`Matrix::select`] by several threads where that is a lot: fresh memory takes its time.
    pub fn select_by(&self, rows: &[usize], threads: usize) -> Matrix<'static> {
        /// Values that are worth a thread.
        const PIECE: usize = 1 << 18;
        fn gather<T: Copy + Default + Send + Sync>(dense: &Dense<'_, T>, rows: &[usize], threads: usize) -> Dense<'static, T> {
            let columns = dense.columns;
            let mut values = vec![T::default(); rows.len() * columns];
            let each = (PIECE / columns.max(1)).max(1);
            let pieces: Vec<Mutex<&mut [T]>> = values.chunks_mut(each * columns.max(1)).map(Mutex::new).collect();
            parallel::map(threads, pieces.len(), |piece| {
                let mut to = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
                let rows = rows[piece * each..].iter();
                to.chunks_exact_mut(columns.max(1)).zip(rows).for_each(|(to, &row)| to.copy_from_slice(dense.row(row)));
            });
            drop(pieces);
            Dense { values: Cow::Owned(values), rows: rows.len(), columns }
        }
        match self {
            Self::F64(dense) => Matrix::F64(gather(dense, rows, threads)),
            Self::F32(dense) => Matrix::F32(gather(dense, rows, threads)),
            Self::Sparse(_) => self.select(rows),
        }
    }
}
