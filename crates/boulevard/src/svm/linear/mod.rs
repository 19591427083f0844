//! Linear machines: classification and regression without a kernel, for many rows or many columns.
//!
//! The learners fill in a [`crate::solver::linear::LinearProblem`]; which algorithm solves it follows from the shape of the table.

mod describe;
mod sparse_rows;
mod svc;
mod svr;
#[cfg(test)]
mod tests;

pub use sparse_rows::{Place, SideBySide, SparseRows};
pub use svc::{LinearMulticlass, LinearSvc, LinearSvcModel};
pub use svr::{LinearSvr, LinearSvrModel};

use super::learner::{FitReport, worse};
use crate::data::Matrix;
use crate::linalg;
use crate::observe::Context;
use crate::parallel;
use crate::solver::linear::{LinearSolution, LinearStart};

/// Rows below which predictions stay on one thread.
const WORTH_THREADS: usize = 1 << 16;
/// Rows that a thread takes at a time.
const STRIDE: usize = 4096;

/// Weights and biases of one or more outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearMachine {
    /// Row-major: one row of `features` weights per output.
    pub weights: Vec<f64>,
    /// One per output.
    pub biases: Vec<f64>,
    /// Columns.
    pub features: usize,
}

impl LinearMachine {
    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.biases.len()
    }

    /// The weights of one output.
    pub fn output(&self, output: usize) -> &[f64] {
        &self.weights[output * self.features..(output + 1) * self.features]
    }

    /// All outputs of all rows, row-major.
    pub fn evaluate(&self, x: &Matrix<'_>, context: &Context<'_>) -> Vec<f64> {
        if let Matrix::Sparse(x) = x {
            let turned = SideBySide::pays(self, x.values().len()).then(|| SideBySide::new(self));
            let rows = SparseRows { offsets: x.offsets(), columns: x.indices(), values: x.values() };
            return rows.outputs(self, turned.as_ref(), 0..rows.len(), context.threads).expect("a table that was checked").0;
        }
        let (n, outputs) = (x.rows(), self.outputs());
        let threads = if n * self.features < WORTH_THREADS { 1 } else { context.threads };
        let parts = parallel::map(threads, n.div_ceil(STRIDE).max(1), |part| {
            let mut values = Vec::with_capacity(STRIDE.min(n) * outputs);
            let mut dense = vec![0.0; if matches!(x, Matrix::F32(_)) { self.features } else { 0 }];
            for row in part * STRIDE..((part + 1) * STRIDE).min(n) {
                if matches!(x, Matrix::F32(_)) {
                    x.copy_row(row, &mut dense);
                }
                for output in 0..outputs {
                    let weights = self.output(output);
                    let sum = match x {
                        Matrix::F64(x) => linalg::dot(x.row(row), weights),
                        Matrix::F32(_) | Matrix::Sparse(_) => linalg::dot(&dense, weights),
                    };
                    values.push(sum + self.biases[output]);
                }
            }
            values
        });
        parts.concat()
    }
}

/// Solutions to begin with, one per output, kept from fit to fit: see [`LinearSvc::fit_warm`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmStart {
    /// One per output; empty before the first fit.
    pub starts: Vec<LinearStart>,
}

impl WarmStart {
    fn keep(solutions: &[LinearSolution]) -> Self {
        let start = |s: &LinearSolution| LinearStart { weights: s.weights.clone(), bias: s.bias, dual: s.dual.clone() };
        Self { starts: solutions.iter().map(start).collect() }
    }
}

/// Sums up solutions. Objectives have the sign of the kernel machines' (the dual as a minimisation).
fn report(solutions: &[LinearSolution]) -> FitReport {
    let mut report = FitReport::default();
    for solution in solutions {
        report.objective -= solution.objective;
        report.violation = worse(report.violation, solution.gap);
        report.gap = worse(report.gap, solution.gap);
        report.iterations += solution.iterations;
        report.stop = report.stop.worst(solution.stop);
    }
    report
}
