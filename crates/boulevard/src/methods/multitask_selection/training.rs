//! Tables prepared for the solvers: padded features, or kernel matrices with their checks.

use super::learner::{BiasPrior, MultiTaskSelection, Select};
use super::problem::Task;
use super::table::Table;
use super::tasks::TaskSet;
use crate::data::{Matrix, all_finite};
use crate::error::{Error, Result};
use crate::kernel::{self, Kernel};
use crate::linalg::{self, Part, Shape, View};
use crate::observe::Context;
use crate::simd::tile::{self, Finish};

/// Below this ratio of off-diagonal to diagonal values a kernel matrix counts as the identity.
const IDENTITY: f64 = 0.01;
/// A matrix with this ridge (relative to its diagonal) must have a Cholesky factor.
const DEFINITE: f64 = 1e-9;

/// What a fit works on; serves every rho and c.
pub(super) struct Training<'a> {
    pub tasks: &'a TaskSet<'a>,
    pub tables: Vec<Table>,
    pub units: Vec<Task>,
    /// The kernels, all parameters numbers, normalised where that was asked for.
    pub kernels: Vec<Kernel>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl<'a> Training<'a> {
    pub fn new(learner: &MultiTaskSelection, tasks: &'a TaskSet<'a>, context: &Context<'_>) -> Result<Self> {
        tasks.check()?;
        check_memory(learner, tasks, context)?;
        let mut meter = context.meter("prepare");
        let values = 4 * tasks.tables.iter().map(|x| x.rows().saturating_mul(x.columns())).fold(0, usize::saturating_add);
        meter.spend(values)?;
        let mut notes = Vec::new();
        notes.extend(offset_note(learner, tasks));
        if tasks.outputs.classify() && learner.c <= 1.0 {
            notes.push(format!(
                "c = {} gives the trivial solution: with c <= 1 the margin prior asks for no margin at all, every multiplier is zero and every \
                 decision is the bias; use c > 1",
                learner.c
            ));
        }
        let mut kernels = Vec::new();
        let tables = match learner.select {
            Select::Features => tasks
                .tables
                .iter()
                .map(|x| match x {
                    Matrix::F64(dense) => Table::features(dense.values(), x.rows(), x.columns(), context.isa),
                    _ => Table::features(&dense_values(x), x.rows(), x.columns(), context.isa),
                })
                .collect(),
            Select::Kernels => {
                kernels = resolve(learner, tasks)?;
                let mut tables = Vec::new();
                for (t, x) in tasks.tables.iter().enumerate() {
                    let mut grams = Vec::new();
                    let mut products = None;
                    for (place, kernel) in kernels.iter().enumerate() {
                        let gram = match from_products(kernel, x, &mut products, context)? {
                            Some(gram) => gram,
                            None => gram(kernel, x, context)?,
                        };
                        check_definite(kernel, place, &gram, x.rows(), context)?;
                        if t == 0
                            && let Some(share) = identity_share(&gram, x.rows())
                        {
                            notes.push(format!(
                                "kernel {} ({}) is close to the identity on these samples (values off the diagonal are {share:.1e} of those on \
                                 it): it remembers samples instead of generalising, and this method keeps such kernels",
                                place + 1,
                                in_words(kernel)
                            ));
                        }
                        grams.push(gram);
                    }
                    tables.push(Table::kernels(grams, x.rows(), context.isa));
                }
                tables
            }
        };
        meter.spend(values)?;
        let units = tasks.targets.iter().map(|target| Task { table: target.table, y: target.y.clone() }).collect();
        Ok(Self { tasks, tables, units, kernels, notes })
    }
}

/// What to say about a target that the prior of the bias keeps out of reach: the bias starts at zero and pays for every unit of distance,
/// while the features explain differences, not the level.
fn offset_note(learner: &MultiTaskSelection, tasks: &TaskSet<'_>) -> Option<String> {
    /// Standard deviations of the prior beyond which a mean counts as out of reach.
    const FAR: f64 = 3.0;
    if tasks.outputs.classify() || learner.bias != BiasPrior::Gaussian {
        return None;
    }
    let reach = FAR * learner.bias_variance.sqrt();
    tasks.targets.iter().enumerate().find_map(|(task, target)| {
        let n = target.y.len().max(1) as f64;
        let mean = target.y.iter().sum::<f64>() / n;
        let spread = (target.y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n).sqrt();
        (mean.abs() > reach && mean.abs() > FAR * spread).then(|| {
            format!(
                "the targets of task {} lie around {mean:.3e}, but the prior of the bias has mean 0 and standard deviation {:.3e}: predictions \
                 will fall short of them; use a flat bias, subtract the mean, or raise bias_variance",
                task + 1,
                learner.bias_variance.sqrt()
            )
        })
    })
}

fn check_memory(learner: &MultiTaskSelection, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<()> {
    let Some(allowed) = context.memory else { return Ok(()) };
    let of = |x: &Matrix<'_>| match learner.select {
        Select::Features => x.rows().saturating_mul(x.columns()).saturating_mul(2),
        Select::Kernels => x.rows().saturating_mul(x.rows()).saturating_mul(learner.kernels.len() + 3),
    };
    let numbers = tasks.tables.iter().fold(0usize, |sum, x| sum.saturating_add(of(x)));
    let needed = numbers.saturating_mul(size_of::<f64>());
    if needed > allowed {
        return Err(Error::Memory { what: "multi-task selection", needed, allowed });
    }
    Ok(())
}

fn dense_values(x: &Matrix<'_>) -> Vec<f64> {
    let mut values = vec![0.0; x.rows() * x.columns()];
    for (row, to) in values.chunks_exact_mut(x.columns()).enumerate() {
        x.copy_row(row, to);
    }
    values
}

/// The kernels with numbers for all parameters, the same for every task.
fn resolve(learner: &MultiTaskSelection, tasks: &TaskSet<'_>) -> Result<Vec<Kernel>> {
    let rule = |kernel: &Kernel| kernel.gamma().is_some_and(|gamma| gamma.value().is_none());
    let joined = if tasks.tables.len() > 1 && learner.kernels.iter().any(rule) {
        let values: Vec<f64> = tasks.tables.iter().flat_map(dense_values).collect();
        Some(Matrix::dense(values, tasks.rows(), tasks.features())?)
    } else {
        None
    };
    let x = joined.as_ref().unwrap_or(&tasks.tables[0]);
    learner
        .kernels
        .iter()
        .map(|kernel| {
            let kernel = kernel.resolve(x, None)?;
            let plain = learner.normalize_kernels && !matches!(kernel, Kernel::Normalized { .. });
            Ok(if plain { Kernel::Normalized { kernel: Box::new(kernel) } } else { kernel })
        })
        .collect()
}

/// Inner products of the rows of a dense table, as they are and between rows shifted to mean zero: what distances are had from without
/// cancelling. One product of matrices gives both.
struct Products {
    plain: Vec<f64>,
    centred: Vec<f64>,
}

impl Products {
    fn new(x: &Matrix<'_>, context: &Context<'_>) -> Result<Self> {
        let (n, d) = (x.rows(), x.columns());
        let mut values = dense_values(x);
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
        let mut centred = vec![0.0; n * n];
        let view = View::new(&values, d);
        let shape = Shape { rows: n, columns: n, depth: d };
        linalg::add_product_in(&mut centred, n, shape, 1.0, [view, view.transposed()], Part::Lower, context)?;
        let mut plain = vec![0.0; n * n];
        let mut meter = context.meter("kernels");
        for (i, (to, from)) in plain.chunks_exact_mut(n).zip(centred.chunks_exact(n)).enumerate() {
            meter.spend(8 * i)?;
            to[..=i].iter_mut().zip(from).zip(&along).for_each(|((to, from), other)| *to = from + (along[i] + other));
        }
        Ok(Self { plain, centred })
    }
}

/// The lower triangle of the kernel matrix of a dense table, from the inner products of its rows, which all kernels that can be had from them share.
fn from_products(kernel: &Kernel, x: &Matrix<'_>, products: &mut Option<Products>, context: &Context<'_>) -> Result<Option<Vec<f64>>> {
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
    let Some(Products { plain, centred }) = products else { return Ok(None) };
    let mut meter = context.meter("kernels");
    let mut gram = vec![0.0; n * n];
    let mut norms: Vec<f64> = Vec::with_capacity(n);
    for (i, row) in gram.chunks_exact_mut(n).enumerate() {
        let row = &mut row[..=i];
        meter.spend(16 * row.len())?;
        if let Finish::Exp2 = finish {
            // 2^(-gamma log2(e) |x_i - x_j|^2)
            let (from, scale) = (&centred[i * n..=i * n + i], -gamma * std::f64::consts::LOG2_E);
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

/// The whole kernel matrix of a table.
fn gram(kernel: &Kernel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    let rows = kernel::rows::<f64>(kernel, x, context)?;
    let n = x.rows();
    let width = n.next_multiple_of(context.isa.lanes::<f64>());
    let mut padded = vec![0.0; n * width];
    let order: Vec<usize> = (0..n).collect();
    let lanes = context.isa.lanes::<f64>();
    kernel::fill_watched(&*rows, &order, 0..n, &mut padded.chunks_exact_mut(width).collect::<Vec<_>>(), lanes, context)?;
    let mut values = Vec::with_capacity(n * n);
    padded.chunks_exact(width).for_each(|row| values.extend_from_slice(&row[..n]));
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite { what: "a kernel matrix", found: values[place].to_string(), row: place / n, column: place % n });
    }
    Ok(values)
}

/// Whether a kernel is positive semi-definite whatever the samples.
fn always_definite(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Linear | Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::InverseMultiquadric { .. } | Kernel::ChiSquared { .. } => {
            true
        }
        Kernel::Poly { coef0, .. } => *coef0 >= 0.0,
        Kernel::Normalized { kernel } => always_definite(kernel),
        Kernel::Sum { terms } => terms.iter().all(|(weight, kernel)| *weight >= 0.0 && always_definite(kernel)),
        _ => false,
    }
}

fn check_definite(kernel: &Kernel, place: usize, gram: &[f64], n: usize, context: &Context<'_>) -> Result<()> {
    if always_definite(kernel) {
        return Ok(());
    }
    let largest = (0..n).map(|i| gram[i * n + i]).fold(0.0, f64::max);
    let mut matrix = gram.to_vec();
    (0..n).for_each(|i| matrix[i * n + i] += DEFINITE * largest.max(f64::MIN_POSITIVE));
    if linalg::cholesky_in(&mut matrix, n, context)? {
        return Ok(());
    }
    Err(Error::data(format!(
        "kernel {} ({}) is not positive semi-definite on these samples: only kernels that are inner products can be selected",
        place + 1,
        in_words(kernel)
    )))
}

/// The ratio of mean absolute values off and on the diagonal, where it is small enough to warn.
fn identity_share(gram: &[f64], n: usize) -> Option<f64> {
    if n < 2 {
        return None;
    }
    let below: f64 = (0..n).map(|i| absolute_sum(&gram[i * n..i * n + i])).sum();
    let diagonal: f64 = (0..n).map(|i| gram[i * n + i].abs()).sum();
    let share = 2.0 * below / (n - 1) as f64 / diagonal;
    (diagonal > 0.0 && share < IDENTITY).then_some(share)
}

/// The sum of absolute values, as eight sums that do not wait for each other.
fn absolute_sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    chunks.iter().for_each(|chunk| (0..8).for_each(|k| sums[k] += chunk[k].abs()));
    sums.iter().chain(rest).map(|value| value.abs()).sum()
}

/// A kernel as users write it.
pub(super) fn in_words(kernel: &Kernel) -> String {
    let inner = if let Kernel::Normalized { kernel } = kernel { kernel } else { kernel };
    let gamma = inner.gamma().and_then(|gamma| gamma.value()).map(|gamma| format!(", gamma {gamma}")).unwrap_or_default();
    match inner {
        Kernel::Poly { degree, coef0, .. } => format!("{} of degree {degree}, coef0 {coef0}{gamma}", inner.name()),
        _ => format!("{}{gamma}", inner.name()),
    }
}
