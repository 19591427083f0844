//! Sparse rows in front of a linear machine, as Python has them: the generic way copies, sorts and checks what is read only once here.

use std::ops::Range;
use std::sync::OnceLock;

use boulevard::Result;
use boulevard::any::AnyModel;
use boulevard::internal::linear::{Place, SideBySide, SparseRows};
use boulevard::svm::{LinearMachine, LinearSvcModel, LinearSvrModel};
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::convert;

/// Rows after which somebody looks at signals.
const ROWS_AT_ONCE: usize = 1 << 20;

/// A kind of number that may be asked for, one or several per row.
pub trait Answer: Send + Sized {
    /// The numbers of the rows in `range`, and whether all sums behind them are finite.
    fn of<I: Place, V: Copy + Into<f64> + Sync>(
        rows: &SparseRows<'_, I, I, V>,
        machine: &LinearMachine,
        turned: Option<&SideBySide>,
        range: Range<usize>,
        threads: usize,
    ) -> Result<(Vec<Self>, bool)>;
}

/// Decision values.
impl Answer for f64 {
    fn of<I: Place, V: Copy + Into<f64> + Sync>(
        rows: &SparseRows<'_, I, I, V>,
        machine: &LinearMachine,
        turned: Option<&SideBySide>,
        range: Range<usize>,
        threads: usize,
    ) -> Result<(Vec<Self>, bool)> {
        rows.outputs(machine, turned, range, threads)
    }
}

/// Class codes.
impl Answer for i64 {
    fn of<I: Place, V: Copy + Into<f64> + Sync>(
        rows: &SparseRows<'_, I, I, V>,
        machine: &LinearMachine,
        turned: Option<&SideBySide>,
        range: Range<usize>,
        threads: usize,
    ) -> Result<(Vec<Self>, bool)> {
        rows.codes(machine, turned, range, threads)
    }
}

/// The machine behind a model that is linear and takes its rows as they are.
fn machine(any: &AnyModel) -> Option<&LinearMachine> {
    if any.scaler().is_some() || any.imputer().is_some() {
        return None;
    }
    any.get::<LinearSvcModel>().map(|model| &model.machine).or_else(|| any.get::<LinearSvrModel>().map(|model| &model.machine))
}

/// Numbers about all rows and how many rows there are, where the model is linear and the rows are sparse; none where the generic way has to
/// be taken, also where a value is not finite: it has the words. `turned` keeps the weights side by side from call to call.
pub fn judge<'py, T: Answer>(
    py: Python<'py>,
    any: &AnyModel,
    turned: &OnceLock<SideBySide>,
    x: &Bound<'py, PyAny>,
    threads: usize,
) -> Option<PyResult<(Vec<T>, usize)>> {
    let machine = machine(any)?;
    type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize);
    let (offsets, columns, values, width) = x.extract::<Parts<'py>>().ok()?;
    if width != machine.features {
        return None;
    }
    let task = Task { py, machine, turned, threads };
    if offsets.extract::<PyReadonlyArray1<'_, i32>>().is_ok() {
        task.numbers::<i32, T>(&offsets, &columns, &values)
    } else {
        task.numbers::<i64, T>(&offsets, &columns, &values)
    }
}

struct Task<'a, 'py> {
    py: Python<'py>,
    machine: &'a LinearMachine,
    turned: &'a OnceLock<SideBySide>,
    threads: usize,
}

impl Task<'_, '_> {
    fn numbers<I: Place + Element, T: Answer>(
        &self,
        offsets: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> Option<PyResult<(Vec<T>, usize)>> {
        let offsets = offsets.extract::<PyReadonlyArray1<'_, I>>().ok()?;
        let columns = columns.extract::<PyReadonlyArray1<'_, I>>().ok()?;
        let (offsets, columns) = (offsets.as_slice().ok()?, columns.as_slice().ok()?);
        if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
            return self.ask(&SparseRows { offsets, columns, values: values.as_slice().ok()? });
        }
        let values = values.extract::<PyReadonlyArray1<'_, f32>>().ok()?;
        self.ask(&SparseRows { offsets, columns, values: values.as_slice().ok()? })
    }

    fn ask<I: Place, V: Copy + Into<f64> + Sync, T: Answer>(&self, rows: &SparseRows<'_, I, I, V>) -> Option<PyResult<(Vec<T>, usize)>> {
        let Self { py, machine, turned, threads } = *self;
        let mut answers = Vec::new();
        for first in (0..rows.len()).step_by(ROWS_AT_ONCE) {
            if first > 0
                && let Err(raised) = py.check_signals()
            {
                return Some(Err(raised));
            }
            let range = first..(first + ROWS_AT_ONCE).min(rows.len());
            let found = py.detach(|| {
                let pays = SideBySide::pays(machine, rows.values.len());
                let turned = if pays { Some(turned.get_or_init(|| SideBySide::new(machine))) } else { turned.get() };
                T::of(rows, machine, turned, range, threads)
            });
            match found {
                Ok((part, true)) if first == 0 => answers = part,
                Ok((part, true)) => answers.extend(part),
                Ok((_, false)) => return None,
                Err(error) => return Some(Err(convert(py, error))),
            }
        }
        Some(Ok((answers, rows.len())))
    }
}
