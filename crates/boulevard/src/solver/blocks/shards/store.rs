//! Rows that came from elsewhere, by their number in the whole table.

use std::collections::HashMap;

use crate::data::{Csr, Matrix};
use crate::error::{Error, Result};

enum Kept {
    Nothing,
    F64 { columns: usize, values: Vec<f64> },
    F32 { columns: usize, values: Vec<f32> },
    Sparse { columns: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f64> },
}

/// A table that grows row by row.
pub(super) struct RowStore {
    places: HashMap<u32, u32>,
    kept: Kept,
}

impl RowStore {
    pub(super) fn new() -> Self {
        Self { places: HashMap::new(), kept: Kept::Nothing }
    }

    pub(super) fn place(&self, id: u32) -> Option<usize> {
        self.places.get(&id).map(|&place| place as usize)
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        self.places.contains_key(&id)
    }

    /// Keeps rows; those that are there already stay as they are.
    pub(super) fn append(&mut self, ids: &[u32], rows: &Matrix<'_>) -> Result<()> {
        if ids.len() != rows.rows() {
            return Err(Error::shape("rows of a message between shards", ids.len(), rows.rows()));
        }
        for (k, &id) in ids.iter().enumerate() {
            if !self.contains(id) {
                self.push(rows, k)?;
                self.places.insert(id, self.places.len() as u32);
            }
        }
        Ok(())
    }

    fn push(&mut self, from: &Matrix<'_>, row: usize) -> Result<()> {
        if let Kept::Nothing = self.kept {
            let columns = from.columns();
            self.kept = match from {
                Matrix::F64(_) => Kept::F64 { columns, values: Vec::new() },
                Matrix::F32(_) => Kept::F32 { columns, values: Vec::new() },
                Matrix::Sparse(_) => Kept::Sparse { columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() },
            };
        }
        match (&mut self.kept, from) {
            (Kept::F64 { columns, values }, Matrix::F64(dense)) if *columns == from.columns() => values.extend_from_slice(dense.row(row)),
            (Kept::F32 { columns, values }, Matrix::F32(dense)) if *columns == from.columns() => values.extend_from_slice(dense.row(row)),
            (Kept::Sparse { columns, offsets, indices, values }, Matrix::Sparse(csr)) if *columns == from.columns() => {
                let (of_row, stored) = csr.row(row);
                indices.extend_from_slice(of_row);
                values.extend_from_slice(stored);
                offsets.push(values.len());
            }
            _ => return Err(Error::data("shards hold rows of different kinds: all must be dense of one precision, or all sparse")),
        }
        Ok(())
    }

    /// Some rows as a table, in the order asked for.
    pub(super) fn select(&self, ids: &[u32]) -> Result<Matrix<'static>> {
        let mut rows = Gathered::new();
        for &id in ids {
            let place = self.place(id).ok_or_else(|| Error::data(format!("row {id} is not known here: it was never sent")))?;
            rows.push_kept(self, place)?;
        }
        rows.finish()
    }
}

/// Rows from several tables, put together.
pub(super) struct Gathered(RowStore);

impl Gathered {
    pub(super) fn new() -> Self {
        Self(RowStore::new())
    }

    pub(super) fn push(&mut self, from: &Matrix<'_>, row: usize) -> Result<()> {
        self.0.push(from, row)
    }

    /// A row of a store.
    pub(super) fn push_kept(&mut self, from: &RowStore, place: usize) -> Result<()> {
        let (to, from) = (&mut self.0.kept, &from.kept);
        if let Kept::Nothing = to {
            *to = match from {
                Kept::F64 { columns, .. } => Kept::F64 { columns: *columns, values: Vec::new() },
                Kept::F32 { columns, .. } => Kept::F32 { columns: *columns, values: Vec::new() },
                Kept::Sparse { columns, .. } => {
                    Kept::Sparse { columns: *columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() }
                }
                Kept::Nothing => Kept::Nothing,
            };
        }
        match (to, from) {
            (Kept::F64 { columns, values }, Kept::F64 { values: all, .. }) => {
                values.extend_from_slice(&all[place * *columns..(place + 1) * *columns]);
            }
            (Kept::F32 { columns, values }, Kept::F32 { values: all, .. }) => {
                values.extend_from_slice(&all[place * *columns..(place + 1) * *columns]);
            }
            (
                Kept::Sparse { offsets, indices, values, .. },
                Kept::Sparse { offsets: ends, indices: all_indices, values: all_values, .. },
            ) => {
                let range = ends[place]..ends[place + 1];
                indices.extend_from_slice(&all_indices[range.clone()]);
                values.extend_from_slice(&all_values[range]);
                offsets.push(values.len());
            }
            _ => return Err(Error::data("shards hold rows of different kinds: all must be dense of one precision, or all sparse")),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Matrix<'static>> {
        match self.0.kept {
            Kept::Nothing => Matrix::dense(Vec::new(), 0, 0),
            Kept::F64 { columns, values } => {
                let rows = values.len() / columns.max(1);
                Matrix::dense(values, rows, columns)
            }
            Kept::F32 { columns, values } => {
                let rows = values.len() / columns.max(1);
                Matrix::dense_f32(values, rows, columns)
            }
            Kept::Sparse { columns, offsets, indices, values } => Csr::new(offsets, indices, values, columns).map(Matrix::Sparse),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_once_and_come_in_the_order_asked_for() {
        let dense = Matrix::dense((0..12).map(f64::from).collect::<Vec<_>>(), 4, 3).unwrap();
        for table in [dense.clone(), dense.to_sparse()] {
            let mut store = RowStore::new();
            store.append(&[7, 3], &table.select(&[0, 1])).unwrap();
            store.append(&[3, 9], &table.select(&[3, 2])).unwrap();
            assert_eq!(store.select(&[9, 7, 3]).unwrap(), table.select(&[2, 0, 1]), "3 stays what it was");
            assert!(store.select(&[4]).unwrap_err().to_string().contains("row 4"));
            assert!(store.append(&[1], &table).is_err());
        }
        let mut store = RowStore::new();
        store.append(&[0], &dense.select(&[0])).unwrap();
        assert!(store.append(&[1], &dense.to_sparse().select(&[1])).is_err(), "kinds do not mix");
    }
}
