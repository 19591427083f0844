//! All classes in one problem (Crammer and Singer 2001).
//!
//! ```text
//! min  1/2 sum_m |w_m|^2 + sum_i price_i max_m (cost_im + s_im - s_i,own)     s_im = x_i'w_m + b_m,  cost_im = 1 unless m is the own class
//! ```
//! The dual spreads the price of every row over the classes: `share_i >= 0` with sum `price_i`, and
//! `w_m = sum_i (price_i [m own] - share_im) x_i`. A free bias asks that every class receives as much as its own rows cost.
//! Small tables go to `interior`, which needs some twenty steps whatever scales and prices are; others to `descent`, which takes one row at a
//! time, and where that is stuck and the classes' weights are few enough for a dense system, `interior` follows. Both stop on the gap that
//! `certificate` proves.

mod certificate;
mod descent;
mod interior;
#[cfg(test)]
mod tests;

use super::Bias;
use super::table::LinearTable;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::observe::{Context, StopReason, stopped};
use certificate::Proof;

/// Weights and biases of all classes up to which a dense system is affordable.
const MOST_DENSE: usize = 2000;
/// Multiplications of one interior point step up to which the method, which needs some twenty steps whatever the data, comes first.
const SMALL_STEP: usize = 30_000_000;

/// A problem of Crammer and Singer. Every class must have a row with a price.
#[derive(Clone, Copy, Debug)]
pub struct ClassesProblem<'a> {
    /// One row per sample.
    pub x: &'a Matrix<'a>,
    /// The class of every row, below `classes`.
    pub codes: &'a [u32],
    /// How many classes there are.
    pub classes: usize,
    /// What a unit of loss costs, by row; rows of price zero take no part.
    pub prices: &'a [f64],
    /// The bias.
    pub bias: Bias,
}

/// A solved problem with its certificate.
#[derive(Clone, Debug)]
pub struct ClassesSolution {
    /// Weights, one row of columns per class.
    pub weights: Vec<f64>,
    /// Biases, one per class.
    pub biases: Vec<f64>,
    /// The primal objective.
    pub primal: f64,
    /// The dual objective.
    pub objective: f64,
    /// Relative duality gap.
    pub gap: f64,
    /// Epochs, or steps of the interior point method.
    pub iterations: u64,
    /// Why it stopped.
    pub stop: StopReason,
    /// The algorithm that gave the solution.
    pub method: &'static str,
}

/// The rows of a problem, prepared.
#[derive(Clone, Copy)]
struct Joint<'a> {
    table: &'a LinearTable<'a>,
    codes: &'a [u32],
    classes: usize,
    prices: &'a [f64],
    free_bias: bool,
}

impl Joint<'_> {
    fn rows(&self) -> usize {
        self.codes.len()
    }

    fn own(&self, row: usize) -> usize {
        self.codes[row] as usize
    }

    /// What being taken for a class costs a row.
    fn cost(&self, row: usize, class: usize) -> f64 {
        if self.own(row) == class { 0.0 } else { 1.0 }
    }
}

/// What the algorithms return.
struct Outcome {
    proof: Proof,
    iterations: u64,
    stop: StopReason,
    method: &'static str,
}

/// Solves a problem of Crammer and Singer to a relative duality gap of `tolerance`.
///
/// A solution that stopped early is a usable one; [`ClassesSolution::gap`] says how good it is.
pub fn solve_classes(problem: &ClassesProblem<'_>, tolerance: f64, context: &Context<'_>) -> Result<ClassesSolution> {
    let n = problem.x.rows();
    for (what, length) in [("class codes", problem.codes.len()), ("prices", problem.prices.len())] {
        if length != n {
            return Err(Error::shape(what, n, length));
        }
    }
    if !problem.prices.iter().sum::<f64>().is_finite() {
        return Err(Error::data("the sum of C times the sample weights overflows: use smaller weights, or a smaller C"));
    }
    let rows: Vec<usize> = (0..n).filter(|&row| problem.prices[row] > 0.0).collect();
    let mut seen = vec![false; problem.classes];
    for &row in &rows {
        match seen.get_mut(problem.codes[row] as usize) {
            Some(seen) => *seen = true,
            None => return Err(Error::data(format!("class code {} of {} classes", problem.codes[row], problem.classes))),
        }
    }
    if let Some(class) = seen.iter().position(|seen| !seen) {
        return Err(Error::data(format!("class {class} of {} has no row with a price", problem.classes)));
    }
    let chosen;
    let x = match rows.len() == n {
        true => problem.x,
        false => {
            chosen = problem.x.select(&rows);
            &chosen
        }
    };
    let codes: Vec<u32> = rows.iter().map(|&row| problem.codes[row]).collect();
    let prices: Vec<f64> = rows.iter().map(|&row| problem.prices[row]).collect();
    let free_bias = problem.bias == Bias::Free;
    let constant = if let Bias::Column(value) = problem.bias { Some(value) } else { None };
    let table = match stopped(LinearTable::new(x, free_bias, constant, context))? {
        Ok(table) => table,
        // Stopped while the columns' means were taken: there is nothing but the point zero, and without means nothing to subtract.
        Err(_) => LinearTable::new(x, false, constant, &context.undisturbed())?,
    };
    let joint = Joint { table: &table, codes: &codes, classes: problem.classes, prices: &prices, free_bias };
    let outcome = run(&joint, tolerance, context)?;
    Ok(finish(&joint, constant, outcome, tolerance))
}

fn run(joint: &Joint<'_>, tolerance: f64, context: &Context<'_>) -> Result<Outcome> {
    let size = (joint.table.columns() + 1).saturating_mul(joint.classes);
    let (dense, cheap) = (size <= MOST_DENSE, size.saturating_mul(size).saturating_mul(joint.rows()) <= SMALL_STEP);
    let first = if dense && cheap { interior::solve(joint, tolerance, context)? } else { descent::solve(joint, tolerance, context)? };
    if first.stop != StopReason::MaxIterations || !dense {
        return Ok(first);
    }
    let second = if cheap { descent::solve(joint, tolerance, context)? } else { interior::solve(joint, tolerance, context)? };
    let (iterations, stop) = (first.iterations + second.iterations, second.stop);
    let best = if second.proof.gap < first.proof.gap { second } else { first };
    Ok(Outcome { iterations, stop, ..best })
}

/// Back to the columns as they were given.
fn finish(joint: &Joint<'_>, constant: Option<f64>, outcome: Outcome, tolerance: f64) -> ClassesSolution {
    let (d, k) = (joint.table.x().columns(), joint.classes);
    let Proof { weights, biases, primal, gap, .. } = outcome.proof;
    let relative = certificate::relative(gap, primal);
    let mut rows = Vec::with_capacity(d * k);
    let mut offsets = Vec::with_capacity(k);
    for (class, own) in weights.chunks_exact(joint.table.columns().max(1)).enumerate() {
        rows.extend_from_slice(&own[..d]);
        offsets.push(match constant {
            Some(value) => value * own[d],
            None => biases[class] - joint.table.shift(own),
        });
    }
    if offsets.is_empty() {
        offsets = biases;
    }
    let stop = match outcome.stop {
        StopReason::MaxIterations if relative <= tolerance => StopReason::Converged,
        StopReason::Converged if relative > tolerance => StopReason::MaxIterations,
        stop => stop,
    };
    ClassesSolution {
        weights: rows,
        biases: offsets,
        primal,
        objective: primal - gap,
        gap: relative,
        iterations: outcome.iterations,
        stop,
        method: outcome.method,
    }
}
