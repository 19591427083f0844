//! The rows of a LIBSVM file while it is read: sparse, or, where single precision is asked for and most places are filled, dense.

use super::super::complaint::Fault;
use super::super::room::Room;
use super::read::pairs;
use crate::data::{Csr, Matrix};
use crate::error::Result;

/// Rows after which it is known well enough how full a table is.
const ENOUGH: usize = 1024;
/// A sparse value takes 12 bytes, a dense one 4: dense pays from a third of the places on.
const WORTH: usize = 3;

/// How rows are kept.
enum Kept {
    Sparse {
        offsets: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f64>,
    },
    /// Whole rows of `width` numbers.
    Dense {
        width: usize,
        values: Vec<f32>,
    },
}

/// Rows under construction.
pub(super) struct Rows {
    kept: Kept,
    /// The row that is being read.
    indices: Vec<u32>,
    values: Vec<f64>,
    count: usize,
    /// Values that the file spells out.
    stored: usize,
    /// One more than the largest index.
    widest: usize,
    /// Whether the table may still become dense.
    undecided: bool,
}

impl Rows {
    pub(super) fn new(single: bool) -> Self {
        Self {
            kept: Kept::Sparse { offsets: vec![0], indices: Vec::new(), values: Vec::new() },
            indices: Vec::new(),
            values: Vec::new(),
            count: 0,
            stored: 0,
            widest: 0,
            undecided: single,
        }
    }

    /// Reads the pairs of a line; they join the table with [`Rows::commit`].
    pub(super) fn read(&mut self, text: &[u8]) -> std::result::Result<(), Fault> {
        self.indices.clear();
        self.values.clear();
        pairs(text, &mut self.indices, &mut self.values)?;
        if (self.undecided || matches!(self.kept, Kept::Dense { .. }))
            && let Some(place) = self.values.iter().position(|value| !(*value as f32).is_finite())
        {
            let (index, value) = (u64::from(self.indices[place]) + 1, self.values[place]);
            return Err(Fault::Bad(format!("the value of index {index}, {value:e}, is too large for single precision")));
        }
        Ok(())
    }

    /// One more than the largest index of the row that was read.
    pub(super) fn width(&self) -> usize {
        self.indices.last().map_or(0, |&last| last as usize + 1)
    }

    /// Makes room for the row that was read, or says what the whole table needs.
    pub(super) fn make_room(&mut self, room: &Room) -> Result<()> {
        let count = self.indices.len();
        match &mut self.kept {
            Kept::Sparse { indices, values, .. } => {
                let [of_index, of_value] = [size_of::<u32>(), size_of::<f64>()];
                room.reserve_beside(indices, count, of_value).and_then(|()| room.reserve_beside(values, count, of_index))
            }
            Kept::Dense { width, values } => room.reserve(values, *width),
        }
    }

    /// Adds the row that was read.
    pub(super) fn commit(&mut self) {
        self.widest = self.widest.max(self.width());
        self.stored += self.values.len();
        if matches!(&self.kept, Kept::Dense { width, .. } if self.widest > *width) {
            self.widen();
        }
        match &mut self.kept {
            Kept::Sparse { offsets, indices, values } => {
                indices.extend_from_slice(&self.indices);
                values.extend_from_slice(&self.values);
                offsets.push(values.len());
            }
            Kept::Dense { width, values } => {
                let start = values.len();
                values.resize(start + *width, 0.0);
                for (&index, &value) in self.indices.iter().zip(&self.values) {
                    values[start + index as usize] = value as f32;
                }
            }
        }
        self.count += 1;
        if self.undecided && self.count == ENOUGH {
            self.decide();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Values that the file spells out.
    pub(super) fn stored(&self) -> usize {
        self.stored
    }

    /// The table, at least so wide.
    pub(super) fn finish(mut self, least: usize) -> Result<Matrix<'static>> {
        self.widest = self.widest.max(least);
        if self.undecided {
            self.decide();
        } else if matches!(&self.kept, Kept::Dense { width, .. } if self.widest > *width) {
            self.widen();
        }
        match self.kept {
            Kept::Sparse { offsets, indices, values } => Ok(Matrix::Sparse(Csr::new(offsets, indices, values, self.widest)?)),
            Kept::Dense { width, values } => Matrix::dense_f32(values, self.count, width),
        }
    }

    fn is_full(&self) -> bool {
        self.count.saturating_mul(self.widest) <= self.stored.saturating_mul(WORTH)
    }

    /// Makes the table dense where that takes less memory.
    fn decide(&mut self) {
        self.undecided = false;
        if let Kept::Sparse { offsets, indices, values } = &self.kept
            && self.is_full()
        {
            let width = self.widest;
            let mut dense = vec![0.0; self.count * width];
            for (row, ends) in offsets.windows(2).enumerate() {
                for place in ends[0]..ends[1] {
                    dense[row * width + indices[place] as usize] = values[place] as f32;
                }
            }
            self.kept = Kept::Dense { width, values: dense };
        }
    }

    /// Makes room for a larger index; back to sparse rows if it leaves too many places empty.
    fn widen(&mut self) {
        let full = self.is_full();
        let Kept::Dense { width, values } = &mut self.kept else { return };
        let old = *width;
        if full {
            // From the last row on, so that nothing is overwritten before it has moved.
            values.resize(self.count * self.widest, 0.0);
            for row in (0..self.count).rev() {
                values.copy_within(row * old..(row + 1) * old, row * self.widest);
                values[row * self.widest + old..(row + 1) * self.widest].fill(0.0);
            }
            *width = self.widest;
            return;
        }
        let (mut offsets, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.count {
            for (index, &value) in values[row * old..(row + 1) * old].iter().enumerate().filter(|(_, value)| **value != 0.0) {
                indices.push(index as u32);
                kept.push(f64::from(value));
            }
            offsets.push(kept.len());
        }
        self.kept = Kept::Sparse { offsets, indices, values: kept };
    }
}
