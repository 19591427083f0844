//! Whole matrices of set kernels between sets that share no samples: member values are computed where they are used and never stored.

use std::sync::Mutex;

use super::rows::{Work, panel_order};
use super::{Normalization, Rule, check_size, factorial, log_permanent, ranks, rule, sort_members, value};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::{self, Gamma, Kernel, KernelRows};
use crate::observe::Context;
use crate::parallel;

/// Sets of rows computed together: their members are whole tiles whatever K is.
const BATCH: usize = 4;
/// Bytes of member values at a time.
const BUFFER: usize = 128 << 10;
/// Side of the squares in which a matrix is mirrored.
const SQUARE: usize = 32;

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
    let (kernel, rows, columns) = check(kernel, a, b, k)?;
    let other = b.unwrap_or(a);
    let (rule, base) = rule(&kernel, normalization);
    let mut values = match rule {
        Rule::Power { degree: 1, coef0 } => by_sums(&base, coef0, a, other, k, context)?,
        _ => by_members(rule, &base, a, b, k, context)?,
    };
    if let Some(place) = values.iter().position(|v| !v.is_finite()) {
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
    Ok(values)
}

/// Natural logarithms of [`set_kernel`] with [`Normalization::Mean`], for kernels so narrow that the values underflow.
///
/// Fails where a base value is negative.
pub fn log_set_kernel(kernel: &Kernel, a: &Matrix<'_>, b: Option<&Matrix<'_>>, k: usize, context: &Context<'_>) -> Result<Vec<f64>> {
    let (kernel, rows, columns) = check(kernel, a, b, k)?;
    let (rule, _) = rule(&kernel, Normalization::Mean);
    if rule != Rule::Permanent {
        return Err(Error::data(format!("logarithms are for kernels that are products over samples, not for the {} kernel", kernel.name())));
    }
    let (a, b) = (in_order(a, k).to_dense(), in_order(b.unwrap_or(a), k).to_dense());
    let row_of = |x: &Matrix<'_>, row: usize| {
        let mut values = vec![0.0; x.columns()];
        x.copy_row(row, &mut values);
        values
    };
    let parts = parallel::map(context.threads, rows, |i| -> Result<Vec<f64>> {
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
    Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

/// `ln k(x, z)`, without computing `k` where it is an exponential.
fn logarithm(kernel: &Kernel, x: &[f64], z: &[f64]) -> Result<f64> {
    let gamma = kernel.gamma().and_then(Gamma::value).unwrap_or(1.0);
    let pairs = || x.iter().zip(z);
    Ok(match kernel {
        Kernel::Rbf { .. } => -gamma * pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>(),
        Kernel::Laplacian { .. } => -gamma * pairs().map(|(a, b)| (a - b).abs()).sum::<f64>(),
        other => {
            let value = other.evaluate(x, z)?;
            if value < 0.0 {
                return Err(Error::data(format!("a kernel value of {value} has no logarithm")));
            }
            value.ln()
        }
    })
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
            return Err(Error::shape(format!("rows of whole sets of {k} (rows modulo {k})"), 0, if x.rows() == 0 { k } else { x.rows() % k }));
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
fn by_sums(base: &Kernel, coef0: f64, a: &Matrix<'_>, b: &Matrix<'_>, k: usize, context: &Context<'_>) -> Result<Vec<f64>> {
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
    let mut values = Vec::with_capacity(a.rows() * b.rows());
    for i in 0..a.rows() {
        rows.fill(&[i], 0..b.rows(), &mut [&mut row]);
        values.extend_from_slice(&row[..b.rows()]);
    }
    Ok(values)
}

/// Everything else: panels of sets of columns against batches of sets of rows.
fn by_members(rule: Rule, base: &Kernel, a: &Matrix<'_>, b: Option<&Matrix<'_>>, k: usize, context: &Context<'_>) -> Result<Vec<f64>> {
    let lanes = context.isa.lanes::<f64>();
    let left = in_order(a, k);
    let other = b.unwrap_or(a);
    let right = select(other, &panel_order(&tuples(other, k), k, lanes));
    let base: Box<dyn KernelRows<f64>> = kernel::cross(base, &left, &[], &right, context)?;
    let (rows, columns) = (a.rows() / k, other.rows() / k);
    let panels = columns.div_ceil(lanes);
    let chunk = (BUFFER / size_of::<f64>() / (BATCH * k * k * lanes)).clamp(1, panels);
    let mut values = vec![0.0; rows * columns];
    let slots: Vec<Mutex<&mut [f64]>> = values.chunks_mut(BATCH * columns).map(Mutex::new).collect();
    let stopped = parallel::map(context.threads, slots.len(), |batch| {
        if context.step("set kernel", batch, slots.len()).is_some() {
            return true;
        }
        let mut slot = slots[batch].lock().expect("only one thread has this batch");
        let sets = slot.len() / columns;
        let members: Vec<usize> = (batch * BATCH * k..(batch * BATCH + sets) * k).collect();
        let mut work = Work::new(rule, k, context.isa);
        let mut buffer = vec![0.0; members.len() * chunk * k * lanes];
        let mut done = vec![0.0; chunk * lanes];
        // A matrix of sets with themselves is symmetric: what lies left of the diagonal's panel is mirrored below.
        let first_panel = if b.is_none() { batch * BATCH / lanes } else { 0 };
        for first in (first_panel..panels).step_by(chunk) {
            let last = (first + chunk).min(panels);
            let stride = (last - first) * k * lanes;
            let mut out: Vec<&mut [f64]> = buffer.chunks_exact_mut(stride).take(members.len()).collect();
            base.fill(&members, first * k * lanes..last * k * lanes, &mut out);
            for (set, row) in slot.chunks_exact_mut(columns).enumerate() {
                work.finish(&buffer[set * k * stride..(set + 1) * k * stride], stride, &mut done[..(last - first) * lanes]);
                let to = &mut row[first * lanes..(last * lanes).min(columns)];
                to.copy_from_slice(&done[..to.len()]);
            }
        }
        false
    });
    drop(slots);
    if stopped.contains(&true) {
        return Err(Error::data("the set kernel was stopped before it was complete"));
    }
    if b.is_none() {
        mirror(&mut values, rows);
    }
    Ok(values)
}

/// Copies what is above the diagonal below it, in squares that stay in cache.
fn mirror(values: &mut [f64], n: usize) {
    for top in (0..n).step_by(SQUARE) {
        for left in (0..=top).step_by(SQUARE) {
            for i in top..(top + SQUARE).min(n) {
                for j in left..(left + SQUARE).min(i) {
                    values[i * n + j] = values[j * n + i];
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
