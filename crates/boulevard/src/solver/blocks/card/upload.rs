//! Tables on their way to the card: copied in pieces, then centered there.

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use crate::data::Matrix;
use crate::solver::source::TableView;

/// Values copied to the card at once.
const PIECE: usize = 1 << 22;
/// Rows per partial sum of a column.
const COLUMN_PIECE: usize = 512;

/// Copies rows of a table to the card, from row `at` on.
pub(super) fn upload_rows(to: &mut Buffer<f64>, at: usize, x: &Matrix<'_>, rows: std::ops::Range<usize>) -> Result<(), CudaError> {
    let columns = x.columns();
    if let Matrix::F64(dense) = x {
        return to.write(at * columns, &dense.values()[rows.start * columns..rows.end * columns]);
    }
    let each = (PIECE / columns.max(1)).max(1);
    let mut piece = vec![0.0; each.min(rows.len()) * columns];
    for first in rows.clone().step_by(each) {
        let count = each.min(rows.end - first);
        for (row, out) in piece.chunks_exact_mut(columns.max(1)).take(count).enumerate() {
            x.copy_row(first + row, out);
        }
        to.write((at + first - rows.start) * columns, &piece[..count * columns])?;
    }
    Ok(())
}

/// Copies the rows of a view to the card, in pieces.
pub(super) fn upload(to: &mut Buffer<f64>, view: &TableView<'_>) -> Result<(), CudaError> {
    let (rows, columns) = (view.len(), view.x.columns());
    if view.rows.is_none() {
        return upload_rows(to, 0, view.x, 0..rows);
    }
    let each = (PIECE / columns.max(1)).max(1);
    let mut piece = vec![0.0; each.min(rows) * columns];
    for first in (0..rows).step_by(each) {
        let count = each.min(rows - first);
        for (row, out) in piece.chunks_exact_mut(columns.max(1)).take(count).enumerate() {
            view.x.copy_row(view.sample(first + row), out);
        }
        to.write(first * columns, &piece[..count * columns])?;
    }
    Ok(())
}

/// Means of the columns.
pub(super) fn column_means(card: &Arc<Card>, table: &Buffer<f64>, rows: usize, columns: usize) -> Result<Buffer<f64>, CudaError> {
    let means = card.allocate::<f64>(columns)?;
    let pieces = rows.div_ceil(COLUMN_PIECE);
    let partial = card.allocate::<f64>(pieces * columns)?;
    let launch = card.launch("column_sums").grid(pieces, 1).threads(128);
    launch.buffer(table).count(rows).count(columns).count(COLUMN_PIECE).buffer(&partial).run()?;
    let launch = card.launch("column_means").items(columns);
    launch.buffer(&partial).count(pieces).count(rows).count(columns).buffer(&means).run()?;
    Ok(means)
}

/// Takes the means off, if there are any; answers the largest absolute value.
pub(super) fn center(
    card: &Arc<Card>,
    table: &mut Buffer<f64>,
    rows: usize,
    columns: usize,
    means: Option<&Buffer<f64>>,
) -> Result<f64, CudaError> {
    let largest = card.upload(&[0u64])?;
    let launch = card.launch("center").grid(8 * card.processors(), 1).buffer(&*table).long((rows * columns) as u64).count(columns);
    let launch = match means {
        Some(means) => launch.buffer(means),
        None => launch.null(),
    };
    launch.buffer(&largest).run()?;
    Ok(f64::from_bits(largest.read(1)?[0]))
}
