//! Whole kernel matrices as plain row-major values, for methods that keep them.
//!
//! [`super::GramRows`] is the solver's own: padded, mirrored, and gone with the fit.

use super::rows::{fill_watched, padded};
use super::{Kernel, KernelRows};
use crate::data::{Matrix, all_finite};
use crate::error::Result;
use crate::linalg::{self, Part, Shape, View};
use crate::observe::Context;
use crate::parallel;
use crate::simd::tile::{self, Finish};

/// Rows computed at a time.
const BLOCK: usize = 64;

/// All values of a kernel, row-major, without padding.
pub(crate) fn whole(kernel: &dyn KernelRows<f64>, threads: usize, context: &Context<'_>) -> Result<Vec<f64>> {
    let (rows, columns) = (kernel.rows(), kernel.columns());
    let width = padded(columns);
    let lanes = context.isa.lanes::<f64>();
    let block = |b: usize, values: &mut Vec<f64>, buffer: &mut Vec<f64>| -> Result<()> {
        let chosen: Vec<usize> = (b * BLOCK..((b + 1) * BLOCK).min(rows)).collect();
        let resident: Option<Vec<&[f64]>> = chosen.iter().map(|&row| kernel.resident(row)).collect();
        match resident {
            Some(resident) => {
                // Small tables are copied without a question: a fit that is stopped should still find its matrix.
                context.meter("kernel").spend(chosen.len() * columns)?;
                resident.iter().for_each(|row| values.extend_from_slice(&row[..columns]));
            }
            None => {
                buffer.resize(BLOCK * width, 0.0);
                let mut out: Vec<&mut [f64]> = buffer.chunks_exact_mut(width).take(chosen.len()).collect();
                fill_watched(kernel, &chosen, 0..columns, &mut out, lanes, context)?;
                buffer.chunks_exact(width).take(chosen.len()).for_each(|row| values.extend_from_slice(&row[..columns]));
            }
        }
        Ok(())
    };
    let blocks = rows.div_ceil(BLOCK);
    if threads < 2 || blocks < 2 {
        let (mut values, mut buffer) = (Vec::with_capacity(rows * columns), Vec::new());
        (0..blocks).try_for_each(|b| block(b, &mut values, &mut buffer))?;
        return Ok(values);
    }
    let parts = parallel::try_map(threads, blocks, |b| {
        let mut values = Vec::with_capacity(BLOCK * columns);
        block(b, &mut values, &mut Vec::new()).map(|()| values)
    });
    Ok(parts?.concat())
}

/// Inner products of the rows of a dense table, as they are and between rows shifted to mean zero: what distances are had from without
/// cancelling. One product of matrices gives both.
pub(crate) struct Products {
    plain: Vec<f64>,
    centered: Vec<f64>,
}

impl Products {
    fn new(x: &Matrix<'_>, context: &Context<'_>) -> Result<Self> {
        let (n, d) = (x.rows(), x.columns());
        let mut values = vec![0.0; n * d];
        values.chunks_exact_mut(d).enumerate().for_each(|(row, to)| x.copy_row(row, to));
        let mut mean = vec![0.0; d];
        for row in values.chunks_exact(d) {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
        }
        mean.iter_mut().for_each(|mean| *mean /= n as f64);
        // <x_i, x_j> = <c_i, c_j> + (a_i + a_j), a_i = <c_i, mean> + |mean|^2 / 2
        let half = 0.5 * linalg::dot(&mean, &mean);
        let mut along = Vec::with_capacity(n);
        for row in values.chunks_exact_mut(d) {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
            along.push(linalg::dot(row, &mean) + half);
        }
        let mut centered = vec![0.0; n * n];
        let view = View::new(&values, d);
        let shape = Shape { rows: n, columns: n, depth: d };
        linalg::add_product_in(&mut centered, n, shape, 1.0, [view, view.transposed()], Part::Lower, context)?;
        let mut plain = vec![0.0; n * n];
        let mut meter = context.meter("kernels");
        for (i, (to, from)) in plain.chunks_exact_mut(n).zip(centered.chunks_exact(n)).enumerate() {
            meter.spend(8 * i)?;
            to[..=i].iter_mut().zip(from).zip(&along).for_each(|((to, from), other)| *to = from + (along[i] + other));
        }
        Ok(Self { plain, centered })
    }
}

/// The lower triangle of the kernel matrix of a dense table, from the inner products of its rows, which all kernels that can be had from them share.
pub(crate) fn whole_from_products(
    kernel: &Kernel,
    x: &Matrix<'_>,
    products: &mut Option<Products>,
    context: &Context<'_>,
) -> Result<Option<Vec<f64>>> {
    let (inner, normalize) = match kernel {
        Kernel::Normalized { kernel } => (&**kernel, true),
        _ => (kernel, false),
    };
    let gamma = inner.gamma().and_then(|gamma| gamma.value()).unwrap_or(0.0);
    let n = x.rows();
    let finish = match inner {
        _ if x.is_sparse() => return Ok(None),
        Kernel::Linear => Finish::Identity,
        Kernel::Poly { degree, coef0, .. } => Finish::Power { scale: gamma, shift: *coef0, degree: *degree },
        Kernel::Rbf { .. } => Finish::Exp2,
        _ => return Ok(None),
    };
    if products.is_none() {
        *products = Some(Products::new(x, context)?);
    }
    let Some(Products { plain, centered }) = products else { return Ok(None) };
    let mut meter = context.meter("kernels");
    let mut gram = vec![0.0; n * n];
    let mut norms: Vec<f64> = Vec::with_capacity(n);
    for (i, row) in gram.chunks_exact_mut(n).enumerate() {
        let row = &mut row[..=i];
        meter.spend(16 * row.len())?;
        if let Finish::Exp2 = finish {
            // 2^(-gamma log2(e) |x_i - x_j|^2)
            let (from, scale) = (&centered[i * n..=i * n + i], -gamma * std::f64::consts::LOG2_E);
            norms.push(from[i]);
            row.iter_mut().zip(from).zip(&norms).for_each(|((to, from), other)| *to = scale * (norms[i] + other - 2.0 * from));
        } else {
            row.copy_from_slice(&plain[i * n..=i * n + i]);
        }
        tile::apply(context.isa, &finish, row);
        if normalize && !matches!(finish, Finish::Exp2) {
            // A sample with k(x, x) = 0 is similar to nothing.
            norms.push(if row[i] > 0.0 { 1.0 / row[i].sqrt() } else { 0.0 });
            row.iter_mut().zip(&norms).for_each(|(to, other)| *to *= norms[i] * other);
        }
    }
    Ok(all_finite(&gram).then_some(gram))
}
