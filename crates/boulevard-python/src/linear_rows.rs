//! Sparse rows in front of a linear machine, as Python has them: the generic way copies, sorts and checks what is read only once here.

use boulevard::any::AnyModel;
use boulevard::data::Matrix;
use boulevard::svm::{LinearMachine, LinearSvcModel, LinearSvrModel};
use boulevard::{Error, Result};
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::convert;

/// A number that says a place: what is negative becomes too large.
trait Place: Element + Copy + Sync {
    fn place(self) -> usize;
}

impl Place for i32 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

impl Place for i64 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

/// Decision values and the number of rows, where the model is linear and the rows are sparse; none where the generic way has to be taken,
/// also for whatever is wrong with the table: it has the words.
pub fn decisions<'py>(py: Python<'py>, any: &AnyModel, x: &Bound<'py, PyAny>) -> Option<PyResult<(Vec<f64>, usize)>> {
    let machine =
        any.get::<LinearSvcModel>().map(|model| &model.machine).or_else(|| any.get::<LinearSvrModel>().map(|model| &model.machine))?;
    type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize);
    let (offsets, columns, values, width) = x.extract::<Parts<'py>>().ok()?;
    if width != machine.features {
        return None;
    }
    let values = values.extract::<PyReadonlyArray1<'_, f64>>().ok()?;
    let values = values.as_slice().ok()?;
    let narrow = (offsets.extract::<PyReadonlyArray1<'_, i32>>(), columns.extract::<PyReadonlyArray1<'_, i32>>());
    let found = if let (Ok(offsets), Ok(columns)) = &narrow {
        let (offsets, columns) = (offsets.as_slice().ok()?, columns.as_slice().ok()?);
        py.detach(|| evaluate(machine, offsets, columns, values))
    } else {
        let offsets = offsets.extract::<PyReadonlyArray1<'_, i64>>().ok()?;
        let columns = columns.extract::<PyReadonlyArray1<'_, i64>>().ok()?;
        let (offsets, columns) = (offsets.as_slice().ok()?, columns.as_slice().ok()?);
        py.detach(|| evaluate(machine, offsets, columns, values))
    };
    Some(found.map_err(|error| convert(py, error)))
}

/// All outputs of all rows, row-major.
fn evaluate<I: Place>(machine: &LinearMachine, offsets: &[I], columns: &[I], values: &[f64]) -> Result<(Vec<f64>, usize)> {
    let (rows, k, d) = (offsets.len().saturating_sub(1), machine.outputs(), machine.features);
    if values.len() != columns.len() || offsets.last().is_none_or(|end| end.place() > values.len()) {
        return Err(Error::shape("values of a sparse table", columns.len(), values.len()));
    }
    let outside = || Error::data("a sparse table with a column or row offset outside of it");
    // Side by side where they are read often enough to pay for it.
    let turned = k > 1 && values.len() >= d;
    let mut side_by_side = Vec::new();
    if turned {
        side_by_side = vec![0.0; d * k];
        for m in 0..k {
            machine.output(m).iter().enumerate().for_each(|(j, w)| side_by_side[j * k + m] = *w);
        }
    }
    let mut out = Vec::with_capacity(rows * k);
    for ends in offsets.windows(2) {
        let range = ends[0].place()..ends[1].place();
        let (columns, values) = columns.get(range.clone()).zip(values.get(range)).ok_or_else(outside)?;
        let first = out.len();
        out.extend_from_slice(&machine.biases);
        if turned {
            let sums = &mut out[first..];
            for (column, value) in columns.iter().zip(values) {
                let at = column.place().checked_mul(k).ok_or_else(outside)?;
                let weights = side_by_side.get(at..at.saturating_add(k)).ok_or_else(outside)?;
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w * value);
            }
            continue;
        }
        for m in 0..k {
            let weights = machine.output(m);
            let mut sum = 0.0;
            for (column, value) in columns.iter().zip(values) {
                sum += weights.get(column.place()).ok_or_else(outside)? * value;
            }
            out[first + m] += sum;
        }
    }
    if out.iter().any(|value| value.is_nan()) {
        // Says which value it is.
        let of = |numbers: &[I]| numbers.iter().map(|n| n.place()).collect::<Vec<usize>>();
        let table = boulevard::data::Csr::from_unordered(of(offsets), of(columns), values.to_vec(), d)?;
        Matrix::Sparse(table).check_finite("the table")?;
    }
    Ok((out, rows))
}
