//! The kernel machine in a file: its arrays under a common prefix, so that a model may hold several.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::parts::{check_finite, check_offsets, equal};
use crate::check;
use crate::data::{Csr, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::svm::{KernelMachine, Layout, Ready};

/// Everything of a machine that is not an array.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineRecord {
    kernel: Kernel,
    layout: Layout,
    features: usize,
    tolerance: f64,
    storage: Storage,
}

/// How the support vectors are stored: as the training table was.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Storage {
    F64,
    F32,
    Sparse,
}

/// Takes a machine apart.
pub(super) fn store(machine: &KernelMachine, prefix: &str, arrays: &mut ArrayWriter) -> Result<MachineRecord> {
    let (count, rows) = (machine.len(), machine.coefficients.len() / machine.len().max(1));
    let name = |part: &str| format!("{prefix}{part}");
    arrays.put_f64(name("coefficients"), vec![rows, count], &machine.coefficients);
    arrays.put_f64(name("intercepts"), vec![machine.outputs()], &machine.intercepts);
    arrays.put_usize(name("support"), &machine.support);
    let storage = store_table(&machine.vectors, &name("vectors"), arrays);
    Ok(MachineRecord {
        kernel: machine.kernel.clone(),
        layout: machine.layout.clone(),
        features: machine.features,
        tolerance: machine.tolerance,
        storage,
    })
}

/// Writes a table under `name`, in its own precision.
pub(super) fn store_table(table: &Matrix<'_>, name: &str, arrays: &mut ArrayWriter) -> Storage {
    let shape = vec![table.rows(), table.columns()];
    match table {
        Matrix::F64(dense) => {
            arrays.put_f64(name.to_owned(), shape, dense.values());
            Storage::F64
        }
        Matrix::F32(dense) => {
            arrays.put_f32(name.to_owned(), shape, dense.values());
            Storage::F32
        }
        Matrix::Sparse(csr) => {
            arrays.put_usize(format!("{name}.offsets"), csr.offsets());
            arrays.put_numbers(format!("{name}.columns"), csr.indices());
            arrays.put_f64(format!("{name}.values"), vec![csr.values().len()], csr.values());
            Storage::Sparse
        }
    }
}

/// Reads the table `name`; a sparse one has `columns` columns.
pub(super) fn restore_table(storage: Storage, name: &str, columns: usize, arrays: &ArrayReader<'_>) -> Result<Matrix<'static>> {
    match storage {
        Storage::F64 => {
            let (values, [rows, columns]) = arrays.table_f64(name)?;
            Matrix::dense(values, rows, columns)
        }
        Storage::F32 => {
            let (values, [rows, columns]) = arrays.table_f32(name)?;
            Matrix::dense_f32(values, rows, columns)
        }
        Storage::Sparse => {
            let (offsets, indices) = (arrays.list_usize(&format!("{name}.offsets"))?, arrays.list_u32(&format!("{name}.columns"))?);
            Ok(Matrix::Sparse(Csr::new(offsets, indices, arrays.list_f64(&format!("{name}.values"))?, columns)?))
        }
    }
}

/// Puts a machine together.
pub(super) fn restore(record: MachineRecord, prefix: &str, arrays: &ArrayReader<'_>) -> Result<KernelMachine> {
    let name = |part: &str| format!("{prefix}{part}");
    let columns = if record.kernel == Kernel::Precomputed { 0 } else { record.features };
    let vectors = restore_table(record.storage, &name("vectors"), columns, arrays)?;
    let (coefficients, [_, count]) = arrays.table_f64(&name("coefficients"))?;
    let machine = KernelMachine {
        kernel: record.kernel,
        support: arrays.list_usize(&name("support"))?,
        vectors,
        coefficients,
        layout: record.layout,
        intercepts: arrays.list_f64(&name("intercepts"))?,
        features: record.features,
        tolerance: record.tolerance,
        ready: Ready::default(),
    };
    equal("coefficients per output, one per support vector", machine.len(), count)?;
    check_machine(&machine)?;
    Ok(machine)
}

/// Everything that evaluation relies on. Saving asks the same questions as loading: what is written can be read.
pub(super) fn check_machine(machine: &KernelMachine) -> Result<()> {
    check_kernel(&machine.kernel)?;
    let (count, outputs) = (machine.len(), machine.outputs());
    let precomputed = machine.kernel == Kernel::Precomputed;
    equal("support vectors, one per support row", count, machine.vectors.rows())?;
    equal("columns of the support vectors", if precomputed { 0 } else { machine.features }, machine.vectors.columns())?;
    check::at_least("KernelMachine", "features", machine.features, 1)?;
    // Column numbers of sparse kernels have 32 bits.
    if u32::try_from(machine.features).is_err() {
        return Err(check::complaint("KernelMachine", "features", "below 2^32", machine.features));
    }
    if precomputed && let Some(row) = machine.support.iter().find(|&&row| row >= machine.features) {
        return Err(Error::data(format!("support row {row} is outside the {} training rows", machine.features)));
    }
    let per_vector = match &machine.layout {
        Layout::Full => outputs,
        Layout::Pairs(counts) => {
            let classes = counts.len();
            check::at_least("KernelMachine", "classes", classes, 2)?;
            let sum = counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count)).unwrap_or(usize::MAX);
            equal("support vectors of all classes", count, sum)?;
            equal("intercepts, one per pair of classes", (classes - 1).saturating_mul(classes) / 2, outputs)?;
            classes - 1
        }
    };
    equal("coefficients", per_vector.saturating_mul(count), machine.coefficients.len())?;
    check_finite("the coefficients", &machine.coefficients, count)?;
    // One-vs-rest gives minus infinity to a class that was never seen.
    check_offsets("the intercepts", &machine.intercepts, |row| {
        machine.layout == Layout::Full && outputs > 1 && machine.coefficients[row * count..(row + 1) * count].iter().all(|v| *v == 0.0)
    })?;
    machine.vectors.check_finite("the support vectors")?;
    check_size(machine)?;
    check::positive("KernelMachine", "tolerance", machine.tolerance)
}

/// Fails where a machine could not even judge its own support vectors: the largest value that its numbers allow there overflows.
fn check_size(machine: &KernelMachine) -> Result<()> {
    let largest = match machine.kernel {
        Kernel::Precomputed => 1.0,
        _ => crate::kernel::diagonal(&machine.kernel, &machine.vectors)?
            .iter()
            .fold(1.0, |a: f64, v| if v.is_finite() { a.max(v.abs()) } else { f64::INFINITY }),
    };
    let sum: f64 = machine.coefficients.iter().map(|v| v.abs()).sum();
    let offset = machine.intercepts.iter().filter(|v| v.is_finite()).fold(0.0, |a: f64, v| a.max(v.abs()));
    check_bound("coefficients, intercepts and kernel values", sum * largest + offset)
}

/// Fails for a bound on decision values that overflows, or nearly does.
pub(super) fn check_bound(what: &str, bound: f64) -> Result<()> {
    const MOST: f64 = 1e300;
    if bound <= MOST { Ok(()) } else { Err(Error::data(format!("{what} are so large that decision values overflow"))) }
}

/// A machine with one output, as regression and one-class learning have it.
pub(super) fn check_single(machine: &KernelMachine) -> Result<()> {
    if machine.outputs() != 1 || machine.layout != Layout::Full {
        return Err(Error::shape("outputs of the machine", 1, machine.outputs()));
    }
    Ok(())
}

/// Fails for kernels that a file cannot hold or a machine cannot evaluate.
pub(super) fn check_kernel(kernel: &Kernel) -> Result<()> {
    match kernel {
        Kernel::Sum { terms } => terms.iter().try_for_each(|(_, kernel)| check_kernel(kernel))?,
        Kernel::Normalized { kernel } => check_kernel(kernel)?,
        _ => {}
    }
    check_no_custom(kernel)?;
    if kernel.gamma().is_some_and(|gamma| gamma.value().is_none()) {
        return Err(Error::data("the kernel's gamma is a rule that was not resolved on training data"));
    }
    kernel.validate()
}

/// Fails for a kernel of the caller's own, wherever it is.
pub(super) fn check_no_custom(kernel: &Kernel) -> Result<()> {
    match kernel {
        Kernel::Custom(_) => Err(Error::data(
            "a model with a custom kernel cannot be saved: the kernel is a function of the caller's own and has no file format",
        )),
        Kernel::Sum { terms } => terms.iter().try_for_each(|(_, kernel)| check_no_custom(kernel)),
        Kernel::Normalized { kernel } => check_no_custom(kernel),
        _ => Ok(()),
    }
}
