//! Weighted sums of kernels: what every fitted kernel machine evaluates.

use serde::{Deserialize, Serialize};

use super::describe::tolerance;
use super::learner::SolverSettings;
use super::model::Fact;
use super::ready::Ready;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::{self, Kernel, KernelRows};
use crate::observe::{Context, PIECE, StopReason};
use crate::parallel;
use crate::simd::Real;
use crate::solver::{Job, SMALL, card_sums};
use crate::words::share;

/// Samples judged at once; bounds the work space. Callers that judge a table in parts keep to it: then the parts are those of one call.
pub const ROWS_AT_ONCE: usize = 16_384;
/// Rows whose outputs are put together at once after a card has summed them.
const CACHED_ROWS: usize = 1024;
/// Prediction runs in single precision when its rounding is at most this share of the tolerance the model was solved to.
pub(super) const SINGLE_SHARE: f64 = 0.1;

/// How coefficients belong to outputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One coefficient per support vector and output.
    Full,
    /// One-vs-one as LIBSVM stores it: support vectors ordered by class (these many of each), and for each of them one coefficient per
    /// *other* class. Output `(i, j)`, `i < j`, is positive for class `i`.
    Pairs(Vec<usize>),
}

/// `f_o(x) = sum_s coefficient[o, s] k(x_s, x) + intercept_o`
#[derive(Clone, Debug, PartialEq)]
pub struct KernelMachine {
    /// The kernel, all parameters numbers.
    pub kernel: Kernel,
    /// Row of each support vector in the training table.
    pub support: Vec<usize>,
    /// The support vectors. Empty (no columns) for a precomputed kernel.
    pub vectors: Matrix<'static>,
    /// Row-major: outputs (or classes - 1, see [`Layout`]) x support vectors.
    pub coefficients: Vec<f64>,
    /// How coefficients belong to outputs.
    pub layout: Layout,
    /// One per output.
    pub intercepts: Vec<f64>,
    /// Columns of the training table.
    pub features: usize,
    /// Tolerance the coefficients were solved to: sets the precision of predictions.
    pub tolerance: f64,
    /// What makes single samples quick, once [`KernelMachine::make_ready`] was called.
    pub ready: Ready,
}

impl KernelMachine {
    /// A machine with one output from one coefficient per training row.
    pub(crate) fn single(data: &Dataset<'_>, kernel: Kernel, coefficients: &[f64], intercept: f64, tolerance: f64) -> Self {
        let support: Vec<usize> = (0..data.len()).filter(|&i| coefficients[i] != 0.0).collect();
        let vectors = kernel.vectors(&data.x, &support);
        Self {
            kernel,
            vectors,
            coefficients: support.iter().map(|&i| coefficients[i]).collect(),
            layout: Layout::Full,
            intercepts: vec![intercept],
            features: data.x.columns(),
            support,
            tolerance,
            ready: Ready::default(),
        }
    }

    /// Number of support vectors.
    pub fn len(&self) -> usize {
        self.support.len()
    }

    /// Whether there are no support vectors.
    pub fn is_empty(&self) -> bool {
        self.support.is_empty()
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    /// What a model that is one such machine says about itself.
    pub(crate) fn facts(&self, kind: String, rows: usize, solver: &SolverSettings) -> Vec<Fact> {
        vec![
            ("kind", kind),
            ("kernel", self.kernel.in_words()),
            ("support vectors", format!("{}{}", self.len(), share(self.len(), rows))),
            tolerance(solver),
        ]
    }

    /// All outputs for all rows of `x`, row-major.
    pub fn evaluate(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        if let Some(values) = self.evaluate_one(x, context)? {
            return Ok(values);
        }
        if self.len() > SMALL
            && let Some(values) = self.on_card(x, context)?
        {
            return Ok(values);
        }
        let mut values = Vec::with_capacity(x.rows() * self.outputs());
        for first in (0..x.rows()).step_by(ROWS_AT_ONCE) {
            let all = first == 0 && x.rows() <= ROWS_AT_ONCE;
            let rows: Vec<usize> = if all { Vec::new() } else { (first..(first + ROWS_AT_ONCE).min(x.rows())).collect() };
            let part = if all { None } else { Some(x.select(&rows)) };
            values.extend(self.evaluate_chunk(part.as_ref().unwrap_or(x), context)?);
        }
        Ok(values)
    }

    /// The same on a graphics card, where there is one and it is worth it.
    fn on_card(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Option<Vec<f64>>> {
        let (all, outputs) = (self.len(), self.outputs());
        let rows = self.coefficients.len() / all.max(1);
        let counts = match &self.layout {
            Layout::Full => vec![all],
            Layout::Pairs(counts) => counts.clone(),
        };
        let (mut first, mut parts) = (0, Vec::new());
        for &count in &counts {
            let of_part = |row: usize| self.coefficients[row * all + first..][..count].iter().copied();
            parts.push((first, count, (0..rows).flat_map(of_part).collect::<Vec<f64>>()));
            first += count;
        }
        let jobs: Vec<Job<'_>> =
            parts.iter().map(|(first, count, weights)| Job { first: *first, count: *count, outputs: rows, weights }).collect();
        let exactly = jobs.iter().any(|job| job.card_error() > SINGLE_SHARE * self.tolerance);
        // Outputs of some rows next to each other: few enough to stay in the cache while every class adds its part.
        let finish = |n: usize, sums: &[Vec<f64>]| {
            let mut values: Vec<f64> = self.intercepts.repeat(n);
            for (at, values) in values.chunks_mut(CACHED_ROWS * outputs).enumerate() {
                for (class, sums) in sums.iter().enumerate() {
                    for (row, sums) in sums.chunks_exact(n.max(1)).enumerate() {
                        let output = match self.layout {
                            Layout::Full => row,
                            Layout::Pairs(_) => {
                                let other = if row < class { row } else { row + 1 };
                                pair_index(class.min(other), class.max(other), counts.len())
                            }
                        };
                        let sums = &sums[at * CACHED_ROWS..];
                        values.iter_mut().skip(output).step_by(outputs).zip(sums).for_each(|(value, sum)| *value += sum);
                    }
                }
            }
            values
        };
        card_sums(&self.kernel, &self.vectors, x, &jobs, exactly, context, outputs, &finish)
    }

    /// The largest of the outputs' coefficients as vectors.
    pub(super) fn size(&self) -> f64 {
        let of_output = |row: &[f64]| row.iter().map(|c| c * c).sum::<f64>().sqrt();
        self.coefficients.chunks_exact(self.len().max(1)).map(of_output).fold(0.0, f64::max)
    }

    fn evaluate_chunk(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        // Cheap, and their solver was exact.
        if self.len() <= SMALL {
            return self.sum(&*kernel::cross::<f64>(&self.kernel, &self.vectors, &self.support, x, context)?, x.rows(), context);
        }
        let single = kernel::cross::<f32>(&self.kernel, &self.vectors, &self.support, x, context)?;
        // Roundings of many terms add up like a random walk.
        let error = (single.accuracy() + f32::ROUNDING) * self.size();
        if error <= SINGLE_SHARE * self.tolerance {
            self.sum(&*single, x.rows(), context)
        } else {
            drop(single);
            self.sum(&*kernel::cross::<f64>(&self.kernel, &self.vectors, &self.support, x, context)?, x.rows(), context)
        }
    }

    fn sum<T: Real>(&self, rows: &dyn KernelRows<T>, count: usize, context: &Context<'_>) -> Result<Vec<f64>> {
        let lanes = context.isa.lanes::<T>();
        let threads = if count * self.len() < 1 << 16 { 1 } else { context.threads };
        // Parts of some ten milliseconds at most, between which somebody may interrupt. (A time limit is for fits: what they need of
        // their machines afterwards is finished.)
        let (most, long) = (32 * PIECE / (self.len() * rows.work()).max(1), count * self.len() * rows.work() > PIECE);
        let part = count.div_ceil(threads * 4).min(most).max(1).next_multiple_of(lanes);
        let parts = parallel::try_map(threads, count.div_ceil(part), |p| {
            if long && context.step("evaluate", p, count.div_ceil(part)) == Some(StopReason::Interrupted) {
                return Err(Error::Stopped { reason: StopReason::Interrupted });
            }
            Ok(self.sum_columns(rows, p * part..((p + 1) * part).min(count), lanes))
        });
        Ok(parts?.concat())
    }

    /// The outputs for some columns, row-major.
    fn sum_columns<T: Real>(&self, rows: &dyn KernelRows<T>, columns: std::ops::Range<usize>, lanes: usize) -> Vec<f64> {
        let (width, outputs) = (columns.len().next_multiple_of(lanes), self.outputs());
        let mut values: Vec<f64> = self.intercepts.iter().copied().cycle().take(columns.len() * outputs).collect();
        match &self.layout {
            Layout::Full => {
                let order: Vec<usize> = (0..self.len()).collect();
                let mut sums = vec![0.0; outputs * width];
                rows.weigh(&order, &self.coefficients, outputs, columns.clone(), &mut sums);
                for (c, values) in values.chunks_exact_mut(outputs).enumerate() {
                    for (o, value) in values.iter_mut().enumerate() {
                        *value += sums[o * width + c];
                    }
                }
            }
            Layout::Pairs(counts) => {
                let (classes, mut first) = (counts.len(), 0);
                let mut sums = vec![0.0; (classes - 1) * width];
                for (class, &count) in counts.iter().enumerate() {
                    let order: Vec<usize> = (first..first + count).collect();
                    let weights: Vec<f64> = (0..classes - 1)
                        .flat_map(|o| self.coefficients[o * self.len() + first..o * self.len() + first + count].iter().copied())
                        .collect();
                    sums.fill(0.0);
                    rows.weigh(&order, &weights, classes - 1, columns.clone(), &mut sums);
                    for o in 0..classes - 1 {
                        let other = if o < class { o } else { o + 1 };
                        let pair = pair_index(class.min(other), class.max(other), classes);
                        for (c, sum) in sums[o * width..o * width + columns.len()].iter().enumerate() {
                            values[c * outputs + pair] += sum;
                        }
                    }
                    first += count;
                }
            }
        }
        values
    }
}

/// The place of pair `(i, j)`, `i < j`, in the order (0, 1), (0, 2), ..., (1, 2), ...
pub(crate) fn pair_index(i: usize, j: usize, classes: usize) -> usize {
    i * (2 * classes - i - 1) / 2 + (j - i - 1)
}

/// All pairs in that order.
pub(crate) fn pairs(classes: usize) -> Vec<(usize, usize)> {
    (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect()
}
