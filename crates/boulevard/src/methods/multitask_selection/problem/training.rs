//! Tables prepared for the solvers: padded features, or kernel matrices with their checks.

use super::super::learner::{BiasPrior, MultiTaskSelection, Select};
use super::objective::Task;
use super::table::TaskTable;
use super::tasks::TaskSet;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::{self, Kernel};
use crate::linalg;
use crate::observe::Context;

/// Below this ratio of off-diagonal to diagonal values a kernel matrix counts as the identity.
const IDENTITY: f64 = 0.01;
/// A matrix with this ridge (relative to its diagonal) must have a Cholesky factor.
const DEFINITE: f64 = 1e-9;

/// What a fit works on; serves every rho and c.
pub(in super::super) struct Training<'a> {
    pub tasks: &'a TaskSet<'a>,
    pub tables: Vec<TaskTable>,
    pub units: Vec<Task>,
    /// The kernels, all parameters numbers, normalised where that was asked for.
    pub kernels: Vec<Kernel>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl<'a> Training<'a> {
    pub fn new(learner: &MultiTaskSelection, tasks: &'a TaskSet<'a>, context: &Context<'_>) -> Result<Self> {
        tasks.check_in(context)?;
        check_memory(learner, tasks, context)?;
        let mut meter = context.meter("prepare");
        let values = 4 * tasks.tables.iter().map(|x| x.rows().saturating_mul(x.columns())).fold(0, usize::saturating_add);
        meter.spend(values)?;
        let mut notes = Vec::new();
        notes.extend(offset_note(learner, tasks));
        let c = learner.c.unwrap_or(2.0);
        if tasks.outputs.classify() && c <= 1.0 {
            notes.push(format!(
                "c = {} gives the trivial solution: with c <= 1 the margin prior asks for no margin at all, every multiplier is zero and every \
                 decision is the bias; use c > 1",
                c
            ));
        }
        let mut kernels = Vec::new();
        let tables = match learner.select {
            Select::Features => tasks.tables.iter().map(|x| TaskTable::of(x, context)).collect::<Result<_>>()?,
            Select::Kernels => {
                kernels = resolve(learner, tasks)?;
                let mut tables = Vec::new();
                for (t, x) in tasks.tables.iter().enumerate() {
                    let mut grams = Vec::new();
                    let mut products = None;
                    for (place, kernel) in kernels.iter().enumerate() {
                        let gram = match kernel::whole_from_products(kernel, x, &mut products, context)? {
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
                                kernel.in_brief()
                            ));
                        }
                        grams.push(gram);
                    }
                    tables.push(TaskTable::kernels(grams, x.rows(), context.isa));
                }
                tables
            }
        };
        meter.spend(values)?;
        let unit = |target: &super::tasks::TaskTarget| Task {
            table: target.table,
            y: target.y.clone(),
            weights: (0..target.y.len()).map(|row| tasks.weight(target.table, row)).collect(),
        };
        let units = tasks.targets.iter().map(unit).collect();
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

/// The whole kernel matrix of a table, checked to be finite.
fn gram(kernel: &Kernel, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    let values = kernel::whole(&*kernel::rows::<f64>(kernel, x, context)?, 1, context)?;
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        let n = x.rows();
        return Err(Error::NotFinite { what: "a kernel matrix", found: values[place].to_string(), row: place / n, column: place % n });
    }
    Ok(values)
}

fn check_definite(kernel: &Kernel, place: usize, gram: &[f64], n: usize, context: &Context<'_>) -> Result<()> {
    if kernel.is_positive_semidefinite() == Some(true) {
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
        kernel.in_brief()
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
