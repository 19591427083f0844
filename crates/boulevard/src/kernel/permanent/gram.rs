//! Whole matrices of set kernels.

use std::sync::Mutex;

use super::rows::{BaseGram, Work, panel_order};
use super::{MAX_SET, Normalization, Rule, check_size, compare, factorial, log_permanent, ranks, rule, sort_members, value};
use crate::data::{Matrix, all_finite};
use crate::error::{Error, Result};
use crate::kernel::{self, Gamma, Kernel, KernelRows};
use crate::observe::Context;
use crate::parallel;
use crate::simd::Isa;

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
    // Sets that share samples, as tuples of a training set do: a matrix of the distinct samples is small, and the rest is gathering.
    let repeated = left.rows.len().saturating_mul(right.as_ref().unwrap_or(&left).rows.len()) <= a.rows() * other.rows() / 4;
    if repeated {
        let gathered = Gathered::new(rule, base, (a, &left), (other, right.as_ref().unwrap_or(&left)), k, context)?;
        return gathered.fill_all(b.is_none(), context, values);
    }
    let left = in_order(a, k);
    let right = select(other, &panel_order(&tuples(other, k), k, context.isa.lanes::<f64>()));
    let kernel = kernel::cross(base, &left, &[], &right, context)?;
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
        // A matrix of sets with themselves is symmetric: what lies left of the diagonal's panel is mirrored below.
        let panel = if symmetric { batch * BATCH / lanes } else { 0 };
        streamed.fill(batch * BATCH, panel, &mut slot);
        Some(slot.chunks_exact(columns).all(|row| all_finite(&row[panel * lanes..])))
    });
    drop(slots);
    if symmetric {
        mirror(values, rows);
    }
    all_done(&done)
}

fn all_done(done: &[Option<bool>]) -> Result<bool> {
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
    /// Rows from set `first` on into `out`; columns before `panel` are left alone.
    fn fill(&self, first: usize, panel: usize, out: &mut [f64]) {
        let (k, lanes, columns) = (self.k, self.isa.lanes::<f64>(), self.columns);
        let panels = columns.div_ceil(lanes);
        let chunk = (BUFFER / size_of::<f64>() / (BATCH * k * k * lanes)).clamp(1, panels);
        let sets = out.len() / columns;
        let members: Vec<usize> = (first * k..(first + sets) * k).collect();
        let mut work = Work::new(self.rule, k, self.isa);
        let mut buffer = vec![0.0; members.len() * chunk * k * lanes];
        let mut done = vec![0.0; chunk * lanes];
        for start in (panel..panels).step_by(chunk) {
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

/// Members' values from a matrix of the distinct samples.
struct Gathered {
    gram: BaseGram<f64>,
    rule: Rule,
    k: usize,
    rows: Vec<u32>,
    columns: Vec<u32>,
    isa: Isa,
}

impl Gathered {
    fn new(
        rule: Rule,
        base: &Kernel,
        (a, left): (&Matrix<'_>, &Distinct),
        (b, right): (&Matrix<'_>, &Distinct),
        k: usize,
        context: &Context<'_>,
    ) -> Result<Self> {
        let (x, z) = (a.select(&left.rows), b.select(&right.rows));
        let gram = BaseGram::new(&*kernel::cross::<f64>(base, &x, &[], &z, context)?, context);
        let tuples = |of: &Distinct| {
            let mut tuples = of.places.clone();
            // Distinct samples are numbered by value.
            tuples.chunks_exact_mut(k).for_each(<[u32]>::sort_unstable);
            tuples
        };
        Ok(Self { gram, rule, k, rows: tuples(left), columns: tuples(right), isa: context.isa })
    }

    /// One panel of columns at a time: the base matrix's columns are gathered for it once, and every set of rows then reads its members'
    /// rows in one run. Whether all values are finite.
    fn fill_all(&self, symmetric: bool, context: &Context<'_>, values: &mut [f64]) -> Result<bool> {
        let (k, lanes) = (self.k, self.isa.lanes::<f64>());
        let (rows, columns) = (self.rows.len() / k, self.columns.len() / k);
        let index = panel_order(&self.columns, k, lanes);
        let samples = self.rows.iter().max().map_or(0, |&most| most as usize + 1);
        let panels = columns.div_ceil(lanes);
        let target = Mutex::new(values);
        let done = parallel::map(context.threads, panels, |panel| {
            if context.step("set kernel", panel, panels).is_some() {
                return None;
            }
            let index = &index[panel * k * lanes..(panel + 1) * k * lanes];
            let mut block = vec![0.0; samples * index.len()];
            for (sample, to) in block.chunks_exact_mut(index.len()).enumerate() {
                let from = self.gram.row(sample);
                to.iter_mut().zip(index).for_each(|(to, &place)| *to = from[place as usize]);
            }
            // Of a symmetric matrix only what is above the end of the panel; the rest is its mirror image.
            let count = if symmetric { rows.min((panel + 1) * lanes) } else { rows };
            let mut work = Work::new(self.rule, k, self.isa);
            let mut made = vec![0.0; count * lanes];
            let mut starts = [0; MAX_SET];
            for (set, to) in made.chunks_exact_mut(lanes).enumerate() {
                let members = &self.rows[set * k..(set + 1) * k];
                starts.iter_mut().zip(members).for_each(|(start, &sample)| *start = sample as usize * index.len());
                work.finish_at(&block, &starts[..k], to);
            }
            let (first, width) = (panel * lanes, lanes.min(columns - panel * lanes));
            let mut target = target.lock().expect("no holder panics");
            for (set, from) in made.chunks_exact(lanes).enumerate() {
                target[set * columns + first..set * columns + first + width].copy_from_slice(&from[..width]);
            }
            if symmetric {
                // A few sets at a time for all columns: what was made is read from the first cache.
                for block in (0..count).step_by(SQUARE) {
                    for column in 0..width {
                        // Within the diagonal's own square both halves were computed; the upper one stays.
                        let row = first + column;
                        let sets = block..(block + SQUARE).min(row).max(block);
                        let to = &mut target[row * columns + sets.start..row * columns + sets.end];
                        to.iter_mut().zip(sets).for_each(|(to, set)| *to = made[set * lanes + column]);
                    }
                }
            }
            Some(all_finite(&made))
        });
        all_done(&done)
    }
}

/// The distinct rows of a table, in the order of their values.
struct Distinct {
    /// One row of each kind.
    rows: Vec<usize>,
    /// The kind of every row.
    places: Vec<u32>,
}

impl Distinct {
    fn new(x: &Matrix<'_>) -> Self {
        let mut order = vec![0; x.rows()];
        ranks(x).into_iter().enumerate().for_each(|(row, rank)| order[rank as usize] = row);
        let (mut rows, mut places): (Vec<usize>, Vec<u32>) = (Vec::new(), vec![0; x.rows()]);
        for row in order {
            if rows.last().is_none_or(|&last| compare(x, last, row).is_ne()) {
                rows.push(row);
            }
            places[row] = rows.len() as u32 - 1;
        }
        Self { rows, places }
    }
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
