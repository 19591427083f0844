//! One 0/1 column per name of a text column.

use super::names::NameColumn;
use crate::data::{Categories, Csr, Matrix};
use crate::error::Result;

/// A dense result may be this much wider than the file; beyond it most entries are zeros, and a column of identifiers would fill the memory.
const WIDEST: usize = 16;

/// Replaces the columns that hold codes into names; each becomes the columns `column=name`, names in the order of [`Categories`].
pub(super) fn expand(
    x: Matrix<'static>,
    feature_names: Vec<String>,
    names: Vec<Option<NameColumn>>,
) -> Result<(Matrix<'static>, Vec<String>)> {
    if names.iter().all(Option::is_none) {
        return Ok((x, feature_names));
    }
    // Where each old column starts, and for codes, which of its new columns each code is.
    let (mut starts, mut ranks, mut wide_names) = (Vec::new(), Vec::new(), Vec::new());
    for (name, column) in feature_names.iter().zip(names) {
        starts.push(wide_names.len());
        match column {
            None => {
                wide_names.push(name.clone());
                ranks.push(None);
            }
            Some(column) => {
                let order = Categories::from_names(&column.names);
                wide_names.extend(order.names().iter().map(|value| format!("{name}={value}")));
                ranks.push(Some(order.codes().to_vec()));
            }
        }
    }
    let width = wide_names.len();
    let place = |column: usize, value: f64| match &ranks[column] {
        None => (starts[column], value),
        Some(ranks) => (starts[column] + ranks[value as usize] as usize, 1.0),
    };
    let rows = x.rows();
    if !x.is_sparse() && width < WIDEST * feature_names.len().max(1) {
        let mut values = vec![0.0; rows * width];
        for row in 0..rows {
            x.for_each(row, |column, value| {
                let (column, value) = place(column, value);
                values[row * width + column] = value;
            });
        }
        return Ok((Matrix::dense(values, rows, width)?, wide_names));
    }
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        x.for_each(row, |column, value| {
            let (column, value) = place(column, value);
            if value.to_bits() != 0 {
                indices.push(column as u32);
                values.push(value);
            }
        });
        offsets.push(values.len());
    }
    Ok((Matrix::Sparse(Csr::new(offsets, indices, values, width)?), wide_names))
}
