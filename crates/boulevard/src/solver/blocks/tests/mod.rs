//! The loop's promises: the optimum of pair steps, a true certificate, the same bits for any number of threads, an end for every input.

mod ahead;
mod certificate;
mod ease;
mod fleet;
mod hard;
mod indefinite;
mod newton;
mod optimum;
mod shards;

use super::{CpuBlocks, Plan, Verdict, solve};
use crate::data::Matrix;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::parallel::Crew;
use crate::random::Random;
use crate::simd::Real;
use crate::solver::certificate::certify;
use crate::solver::{DualProblem, DualSolution, Equality, KernelSource, Options, Solver, TableKernel};

/// A problem with its table.
pub(super) struct Case {
    pub x: Matrix<'static>,
    pub kernel: Kernel,
    pub linear: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub start: Option<Vec<f64>>,
    pub kink: f64,
    pub second: Option<Vec<bool>>,
}

impl Case {
    /// Two overlapping clouds; a bound per sample.
    pub(super) fn classes(n: usize, d: usize, cost: impl Fn(usize) -> f64) -> Self {
        let mut random = Random::new(11, 0);
        let y: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let values = (0..n * d).map(|i| random.normal() + 0.5 * y[i / d]).collect::<Vec<_>>();
        Self {
            x: Matrix::dense(values, n, d).unwrap(),
            kernel: Kernel::rbf(0.2),
            linear: y.iter().map(|y| -y).collect(),
            lower: (0..n).map(|i| if y[i] < 0.0 { -cost(i) } else { 0.0 }).collect(),
            upper: (0..n).map(|i| if y[i] > 0.0 { cost(i) } else { 0.0 }).collect(),
            start: None,
            kink: 0.0,
            second: None,
        }
    }

    pub(super) fn regression(n: usize, c: f64, kink: f64) -> Self {
        let case = Self::classes(n, 2, |_| c);
        let mut random = Random::new(5, 0);
        let target = |i: usize| case.x.get(i, 0).sin() + 0.3 * case.x.get(i, 1);
        let linear = (0..n).map(|i| -(target(i) + 0.2 * random.normal())).collect();
        Self { linear, lower: vec![-c; n], upper: vec![c; n], kink, kernel: Kernel::rbf(1.0), ..case }
    }

    /// Density of one class: the sum is `nu n`.
    pub(super) fn one_class(n: usize, nu: f64) -> Self {
        let start = (0..n).map(|i| if (i as f64) < nu * n as f64 { 1.0 } else { 0.0 }).collect();
        let case = Self::classes(n, 3, |_| 1.0);
        Self { linear: vec![0.0; n], lower: vec![0.0; n], upper: vec![1.0; n], start: Some(start), ..case }
    }

    /// Both classes keep their sums.
    pub(super) fn nu(n: usize, share: f64) -> Self {
        let case = Self::classes(n, 3, |_| 1.0);
        let start = (0..n).map(|i| share * (case.lower[i] + case.upper[i])).collect();
        let second = case.linear.iter().map(|q| *q > 0.0).collect();
        Self { linear: vec![0.0; n], start: Some(start), second: Some(second), ..case }
    }

    pub(super) fn problem(&self) -> DualProblem<'_> {
        let equality = self.second.as_deref().map_or(Equality::Sum, Equality::TwoSums);
        let (linear, lower, upper) = (&self.linear[..], &self.lower[..], &self.upper[..]);
        DualProblem { linear, lower, upper, kink: self.kink, equality, start: self.start.as_deref() }
    }

    /// Pair steps in double precision, far below the tolerance of anything compared with them.
    pub(super) fn by_pairs(&self, tolerance: f64) -> DualSolution {
        let context = Context::default();
        let source = TableKernel::new(&self.kernel, &self.x, &context);
        Solver::new(&source, None, &context).unwrap().solve(&self.problem(), &options(tolerance)).unwrap()
    }

    /// The blocked loop in precision `T`.
    pub(super) fn by_blocks(&self, plan: Plan, tolerance: f64, context: &Context<'_>) -> Found {
        let source = TableKernel::new(&self.kernel, &self.x, context);
        run(&source, source.single().unwrap(), &self.problem(), plan, &options(tolerance), context)
    }
}

pub(super) fn options(tolerance: f64) -> Options {
    Options { tolerance, polish: false, ..Options::default() }
}

/// Small sets, so that small problems take many rounds.
pub(super) fn small_sets() -> Plan {
    Plan {
        set: 64,
        small_set: 48,
        outer: None,
        rounding: f32::ROUNDING,
        eased: None,
        diagonal: 1.0,
        thinned: 1,
        ahead: true,
        most_columns: None,
    }
}

/// What a run left.
pub(super) struct Found {
    pub verdict: Verdict,
    pub b: Vec<f64>,
    pub gradient: Vec<f64>,
    pub objective: f64,
    pub violation: f64,
    pub steps: u64,
}

pub(super) fn run<T: Real>(
    source: &dyn KernelSource,
    rows: &dyn crate::kernel::KernelRows<T>,
    problem: &DualProblem<'_>,
    plan: Plan,
    options: &Options,
    context: &Context<'_>,
) -> Found {
    let mut crew = Crew::new(context.threads);
    let mut engine = CpuBlocks::new(source, rows, problem.linear, &mut crew, context);
    let (mut b, mut gradient) = (problem.start.map_or_else(|| vec![0.0; problem.len()], <[f64]>::to_vec), problem.linear.to_vec());
    let (unknown, mut steps) = (problem.start.is_some(), 0);
    let verdict = solve(&mut engine, problem, options, plan, unknown, &mut b, &mut gradient, &mut steps).unwrap();
    let certificate = certify(problem, &b, &gradient);
    Found { verdict, b, gradient, objective: certificate.objective, violation: certificate.violation, steps }
}

/// The gradient in double precision from all coefficients.
pub(super) fn exact_gradient(case: &Case, b: &[f64]) -> Vec<f64> {
    let (context, n) = (Context::default(), b.len());
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    let support: Vec<usize> = (0..n).filter(|&i| b[i] != 0.0).collect();
    let weights: Vec<f64> = support.iter().map(|&i| b[i]).collect();
    let mut sums = vec![0.0; n.next_multiple_of(context.isa.lanes::<f64>())];
    source.double().unwrap().weigh(&support, &weights, 1, 0..n, &mut sums);
    (0..n).map(|i| sums[i] + case.linear[i]).collect()
}

/// Bounds and sums hold, and violation and objective are those of a gradient computed from scratch.
pub(super) fn check(case: &Case, found: &Found) {
    let (b, n) = (&found.b, found.b.len());
    assert!((0..n).all(|i| case.lower[i] <= b[i] && b[i] <= case.upper[i]), "bounds");
    let nothing = vec![0.0; n];
    let start = case.start.as_ref().unwrap_or(&nothing);
    let size = 1.0 + b.iter().map(|v| v.abs()).sum::<f64>();
    for group in [false, true] {
        let sum = |values: &[f64]| {
            (0..n).filter(|&i| case.second.as_ref().is_some_and(|second| second[i]) == group).map(|i| values[i]).sum::<f64>()
        };
        assert!((sum(b) - sum(start)).abs() < 1e-9 * size, "sum {} for {}", sum(b), sum(start));
    }
    let exact = certify(&case.problem(), b, &exact_gradient(case, b));
    let close = 1e-9 * exact.violation.max(1e-3) * size;
    assert!((exact.violation - found.violation).abs() <= close.max(1e-9), "violation {:e} for {:e}", found.violation, exact.violation);
    assert!((exact.objective - found.objective).abs() <= 1e-9 * exact.objective.abs().max(1.0), "{} {}", found.objective, exact.objective);
}
