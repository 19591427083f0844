//! Whole matrices of set kernels.

use std::sync::Mutex;

use super::gathered::{Distinct, Gathered};
use super::rows::{Work, panel_order};
use super::{Normalization, Rule, check_size, factorial, log_permanent, ranks, rule, sort_members, value};
use crate::data::{Matrix, all_finite};
use crate::error::{Error, Result};
use crate::kernel::{self, Gamma, Kernel, KernelRows};
use crate::linalg;
use crate::observe::Context;
use crate::parallel;
use crate::simd::Isa;

/// Sets of rows computed together: their members are whole tiles whatever K is.
const BATCH: usize = 4;
/// Bytes of member values at a time.
const BUFFER: usize = 128 << 10;

/// Kernel values of every set of `a` with every set of `b` (of `a` itself if there is none), row-major. Rows `i k .. (i + 1) k` of a table
/// are the members of set `i`, in any order.
///
/// ```
/// use boulevard::prelude::*;
/// use boulevard::kernel::permanent::{Normalization, set_kernel};
///
/// let sets = Matrix::from_rows(&[[0.0], [1.0], [1.0], [0.0]])?; // {0, 1} and {1, 0}
/// let values = set_kernel(&Kernel::rbf(1.0), &sets, None, 2, Normalization::Mean, &Context::default())?;
/// assert_eq!(values[0].to_bits(), values[1].to_bits());
/// # Ok::<(), boulevard::Error>(())
/// ```
pub fn set_kernel(
    kernel: &Kernel,
    a: &Matrix<'_>,
    b: Option<&Matrix<'_>>,
    k: usize,
    normalization: Normalization,
    context: &Context<'_>,
) -> Result<Vec<f64>> {
    let (_, rows, columns) = check(kernel, a, b, k)?;
    let mut values = vec![0.0; rows * columns];
    set_kernel_into(kernel, a, b, k, normalization, context, &mut values)?;
    Ok(values)
}

/// [`set_kernel`] into memory of the caller's own, one value per pair of sets.
pub fn set_kernel_into(
    kernel: &Kernel,
    a: &Matrix<'_>,
    b: Option<&Matrix<'_>>,
    k: usize,
    normalization: Normalization,
    context: &Context<'_>,
    values: &mut [f64],
) -> Result<()> {
    let (kernel, rows, columns) = check(kernel, a, b, k)?;
    if values.len() != rows * columns {
        return Err(Error::shape("room for kernel values, one per pair of sets", rows * columns, values.len()));
    }
    let other = b.unwrap_or(a);
    let (rule, base) = rule(&kernel, normalization);
    let finite = match rule {
        Rule::Power { degree: 1, coef0 } => by_sums(&base, coef0, a, other, k, context, values)?,
        _ => by_members(rule, &base, a, b, k, context, values)?,
    };
    if !finite && let Some(place) = values.iter().position(|v| !v.is_finite()) {
        let found = values[place].to_string();
        return Err(Error::NotFinite { what: "the set kernel", found, row: place / columns, column: place % columns });
    }
    if normalization == Normalization::Cosine {
        let scale = |diagonal: Vec<f64>| diagonal.into_iter().map(|v| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 }).collect::<Vec<_>>();
        let row_scale = scale(own_values(rule, &base, a, k)?);
        let column_scale = if b.is_some() { scale(own_values(rule, &base, other, k)?) } else { row_scale.clone() };
        for (row, scale) in values.chunks_exact_mut(columns).zip(&row_scale) {
            row.iter_mut().zip(&column_scale).for_each(|(value, other)| *value *= scale * other);
        }
        // Rounding aside, a set is as similar to itself as anything can be.
        if b.is_none() {
            (0..rows).filter(|&i| row_scale[i] > 0.0).for_each(|i| values[i * columns + i] = 1.0);
        }
    }
    Ok(())
}

/// Natural logarithms of [`set_kernel`] with [`Normalization::Mean`], for kernels so narrow that the values underflow.
///
/// Fails where a base value is negative.
pub fn log_set_kernel(kernel: &Kernel, a: &Matrix<'_>, b: Option<&Matrix<'_>>, k: usize, context: &Context<'_>) -> Result<Vec<f64>> {
    let (kernel, rows, columns) = check(kernel, a, b, k)?;
    let (rule, _) = rule(&kernel, Normalization::Mean);
    if rule != Rule::Permanent {
        return Err(Error::data(format!(
            "logarithms are for kernels that are products over samples, not for the {} kernel",
            kernel.name()
        )));
    }
    let (a, b) = (in_order(a, k).to_dense(), in_order(b.unwrap_or(a), k).to_dense());
    let row_of = |x: &Matrix<'_>, row: usize| {
        let mut values = vec![0.0; x.columns()];
        x.copy_row(row, &mut values);
        values
    };
    let parts = parallel::try_map(context.threads, rows, |i| -> Result<Vec<f64>> {
        let members: Vec<Vec<f64>> = (i * k..(i + 1) * k).map(|row| row_of(&a, row)).collect();
        (0..columns)
            .map(|j| {
                let mut logarithms = Vec::with_capacity(k * k);
                let others: Vec<Vec<f64>> = (j * k..(j + 1) * k).map(|row| row_of(&b, row)).collect();
                for member in &members {
                    for other in &others {
                        logarithms.push(logarithm(&kernel, member, other)?);
                    }
                }
                Ok(log_permanent(&logarithms, k) - factorial(k).ln())
            })
            .collect()
    });
    Ok(parts?.concat())
}

/// `ln k(x, z)`, without computing `k` where it is an exponential.
fn logarithm(kernel: &Kernel, x: &[f64], z: &[f64]) -> Result<f64> {
    let form = kernel.form();
    if form.log_is_linear
        && let (Some(gamma), Some(argument)) = (form.gamma.and_then(Gamma::value), form.argument.of(x, z))
    {
        return Ok(-gamma * argument);
    }
    let value = kernel.evaluate(x, z)?;
    if value < 0.0 {
        return Err(Error::data(format!("a kernel value of {value} has no logarithm")));
    }
    Ok(value.ln())
}

/// The kernel with numbers for its parameters, and the number of sets on both sides.
fn check(kernel: &Kernel, a: &Matrix<'_>, b: Option<&Matrix<'_>>, k: usize) -> Result<(Kernel, usize, usize)> {
    check_size("set_kernel", "k", k)?;
    kernel.validate()?;
    if matches!(kernel, Kernel::Precomputed) {
        return Err(Error::data("a precomputed kernel has no sets of samples"));
    }
    for x in [Some(a), b].into_iter().flatten() {
        if x.rows() == 0 || !x.rows().is_multiple_of(k) {
            return Err(Error::shape(
                format!("rows of whole sets of {k} (rows modulo {k})"),
                0,
                if x.rows() == 0 { k } else { x.rows() % k },
            ));
        }
        if x.columns() == 0 {
            return Err(Error::data("samples in sets need at least one feature"));
        }
        if x.columns() != a.columns() {
            return Err(Error::shape("feature columns", a.columns(), x.columns()));
        }
        x.check_finite("X")?;
    }
    let resolved = kernel.resolve(a, None)?;
    if let Some(b) = b {
        resolved.resolve(b, None)?;
    }
    Ok((resolved, a.rows() / k, b.unwrap_or(a).rows() / k))
}

/// Tuples of all rows, members of every set in their order of values.
fn tuples(x: &Matrix<'_>, k: usize) -> Vec<u32> {
    let mut tuples: Vec<u32> = (0..x.rows() as u32).collect();
    sort_members(&mut tuples, k, &ranks(x));
    tuples
}

fn select(x: &Matrix<'_>, rows: &[u32]) -> Matrix<'static> {
    x.select(&rows.iter().map(|&row| row as usize).collect::<Vec<_>>())
}

/// The table with every set's members in their order of values.
fn in_order(x: &Matrix<'_>, k: usize) -> Matrix<'static> {
    select(x, &tuples(x, k))
}

/// Linear kernels see only the sum of a set's members: one inner product per pair of sets.
fn by_sums(base: &Kernel, coef0: f64, a: &Matrix<'_>, b: &Matrix<'_>, k: usize, context: &Context<'_>, values: &mut [f64]) -> Result<bool> {
    let sums = |x: &Matrix<'_>| {
        let (x, width) = (in_order(x, k), x.columns());
        let mut values = vec![0.0; x.rows() / k * width];
        for row in 0..x.rows() {
            let to = &mut values[row / k * width..(row / k + 1) * width];
            x.for_each(row, |j, v| to[j] += v);
        }
        Matrix::dense(values, x.rows() / k, width)
    };
    let (a, b) = (sums(a)?, sums(b)?);
    let gamma = base.gamma().and_then(Gamma::value).unwrap_or(1.0) / k as f64;
    let kernel = Kernel::Poly { degree: 1, gamma: gamma.into(), coef0 };
    let rows = kernel::cross::<f64>(&kernel, &a, &[], &b, context)?;
    let width = b.rows().next_multiple_of(context.isa.lanes::<f64>());
    let mut row = vec![0.0; width];
    for (i, to) in values.chunks_exact_mut(b.rows()).enumerate() {
        rows.fill(&[i], 0..b.rows(), &mut [&mut row]);
        to.copy_from_slice(&row[..b.rows()]);
    }
    Ok(values.iter().all(|v| v.is_finite()))
}

/// Everything else: rows of sets in batches, in parallel. Whether all values are finite.
fn by_members(
    rule: Rule,
    base: &Kernel,
    a: &Matrix<'_>,
    b: Option<&Matrix<'_>>,
    k: usize,
    context: &Context<'_>,
    values: &mut [f64],
) -> Result<bool> {
    let other = b.unwrap_or(a);
    let (rows, columns) = (a.rows() / k, other.rows() / k);
    let (left, right) = (Distinct::new(a), b.map(Distinct::new));
    let right = right.as_ref().unwrap_or(&left);
    // Sets that share samples, as tuples of a training set do: a matrix of the distinct samples is small, and the rest is gathering.
    if left.rows.len().saturating_mul(right.rows.len()) <= a.rows() * other.rows() / 4 {
        return Gathered::new(rule, base, (a, &left), (other, right), k, context)?.fill(b.is_none(), context, values);
    }
    let kernel_rows = select(a, &left.tuples(k));
    let kernel_columns = select(other, &panel_order(&right.tuples(k), k, context.isa.lanes::<f64>()));
    let kernel = kernel::cross(base, &kernel_rows, &[], &kernel_columns, context)?;
    fill_batches(&Streamed { kernel, rule, k, columns, isa: context.isa }, rows, b.is_none(), context, values)
}

/// Rows of the matrix in batches, in parallel. Whether all values are finite.
fn fill_batches(streamed: &Streamed<'_>, rows: usize, symmetric: bool, context: &Context<'_>, values: &mut [f64]) -> Result<bool> {
    let (lanes, columns) = (context.isa.lanes::<f64>(), streamed.columns);
    let slots: Vec<Mutex<&mut [f64]>> = values.chunks_mut(BATCH * columns).map(Mutex::new).collect();
    // `None` if the work was stopped, else whether what was computed is finite.
    let done = parallel::map(context.threads, slots.len(), |batch| {
        if context.step("set kernel", batch, slots.len()).is_some() {
            return None;
        }
        let mut slot = slots[batch].lock().expect("only one thread has this batch");
        // A matrix of sets with themselves is symmetric: what lies right of the diagonal's panel is its mirror image.
        let end = if symmetric { (batch * BATCH + slot.len() / columns).next_multiple_of(lanes).min(columns) } else { columns };
        streamed.fill(batch * BATCH, end, &mut slot);
        Some(slot.chunks_exact(columns).all(|row| all_finite(&row[..end])))
    });
    drop(slots);
    if symmetric {
        linalg::mirror_on(context.threads, values, rows, rows);
    }
    all_done(&done)
}

pub(super) fn all_done(done: &[Option<bool>]) -> Result<bool> {
    if done.contains(&None) {
        return Err(Error::data("the set kernel was stopped before it was complete"));
    }
    Ok(!done.contains(&Some(false)))
}

/// Members' values computed where they are used, and never stored.
struct Streamed<'a> {
    /// Rows: members of the sets of rows. Columns: members of the sets of columns, panel by panel.
    kernel: Box<dyn KernelRows<f64> + 'a>,
    rule: Rule,
    k: usize,
    columns: usize,
    isa: Isa,
}

impl Streamed<'_> {
    /// The first `filled` columns of rows from set `first` on into `out`.
    fn fill(&self, first: usize, filled: usize, out: &mut [f64]) {
        let (k, lanes, columns) = (self.k, self.isa.lanes::<f64>(), self.columns);
        let panels = filled.div_ceil(lanes);
        let chunk = (BUFFER / size_of::<f64>() / (BATCH * k * k * lanes)).clamp(1, panels);
        let sets = out.len() / columns;
        let members: Vec<usize> = (first * k..(first + sets) * k).collect();
        let mut work = Work::new(self.rule, k, self.isa);
        let mut buffer = vec![0.0; members.len() * chunk * k * lanes];
        let mut done = vec![0.0; chunk * lanes];
        for start in (0..panels).step_by(chunk) {
            let end = (start + chunk).min(panels);
            let stride = (end - start) * k * lanes;
            let mut slices: Vec<&mut [f64]> = buffer.chunks_exact_mut(stride).take(members.len()).collect();
            self.kernel.fill(&members, start * k * lanes..end * k * lanes, &mut slices);
            for (set, row) in out.chunks_exact_mut(columns).enumerate() {
                let to = &mut row[start * lanes..(end * lanes).min(columns)];
                let values = &buffer[set * k * stride..(set + 1) * k * stride];
                if to.len() == (end - start) * lanes {
                    work.finish(values, stride, to);
                } else {
                    work.finish(values, stride, &mut done[..(end - start) * lanes]);
                    to.copy_from_slice(&done[..to.len()]);
                }
            }
        }
    }
}

/// Every set's value with itself, from its own members alone: it does not depend on what else is in the table.
pub(crate) fn own_values(rule: Rule, base: &Kernel, x: &Matrix<'_>, k: usize) -> Result<Vec<f64>> {
    let x = in_order(x, k);
    let context = Context::single();
    (0..x.rows() / k)
        .map(|set| {
            let members = x.select(&(set * k..(set + 1) * k).collect::<Vec<_>>());
            let rows = kernel::rows::<f64>(base, &members, &context)?;
            let width = k.next_multiple_of(context.isa.lanes::<f64>());
            let mut block = vec![0.0; k * width];
            rows.fill(&(0..k).collect::<Vec<_>>(), 0..k, &mut block.chunks_exact_mut(width).collect::<Vec<_>>());
            let m: Vec<f64> = block.chunks_exact(width).flat_map(|row| row[..k].iter().copied()).collect();
            Ok(value(rule, &m, k))
        })
        .collect()
}
