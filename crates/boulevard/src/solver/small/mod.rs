//! Small problems with one sum: pair steps without a detour, and the exact finish as soon as it pays.
//!
//! The last digits of pair steps are dear: of 219 steps to the default tolerance (200 rows, C = 1) 77 come after a violation of 0.03. By then
//! nearly all variables are where they will be, and two systems of equations settle the rest. So where few variables are free the steps stop
//! early, and the point is taken if it is exact to all digits that count. Where it is not (equal rows, no end of rounds) or where many are
//! free, which makes a system dearer than the steps it saves, they go on to the tolerance, and `polish` ends as it does for every problem.

mod finish;
mod steps;

use self::finish::finish;
use self::steps::{PairSteps, descend};
use super::certificate::violation;
use super::dual::{DualProblem, Equality, Options};
use super::smo::inside;
use super::source::{KernelSource, SMALL};
use crate::error::Result;
use crate::observe::Context;

/// The violation to leave pair steps at, as a share of the largest linear term (which is 1 for classes). From 0.01 to 0.03 a fit takes the
/// same time; at 0.1 it needs three systems instead of two.
const EARLY: f64 = 0.03;
/// Free variables up to which that pays: two systems of 115 take 60 us, the steps they save 14.
const FEW_FREE: usize = 64;
/// Pair steps per sample after which the general loop goes on, which knows what to do about problems that take so long.
const MOST_STEPS: u64 = 4;

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The point is exact: its violation is at most what was asked for.
    Exact,
    /// The violation is within the tolerance.
    Reached,
    /// Neither; the point and its gradient are where the general loop may go on.
    Open,
}

/// Solves the problem from the point `b` with its gradient as far as it is small and easy; `exact` is the violation of an exact point.
pub(super) fn solve(
    source: &dyn KernelSource,
    diagonal: &[f64],
    problem: &DualProblem<'_>,
    options: &Options,
    exact: f64,
    b: &mut Vec<f64>,
    gradient: &mut Vec<f64>,
    iterations: &mut u64,
    context: &Context<'_>,
) -> Result<Progress> {
    let n = problem.len();
    let plain = problem.equality == Equality::Sum && problem.kink == 0.0;
    if n == 0 || n > SMALL || !(options.polish && plain) {
        return Ok(Progress::Open);
    }
    let rows = source.double()?;
    if rows.resident(0).is_none_or(|row| row.len() < n.next_multiple_of(context.isa.lanes::<f64>())) {
        return Ok(Progress::Open);
    }
    let mut left = (MOST_STEPS * n as u64).min(options.max_iterations.map_or(u64::MAX, |most| most.saturating_sub(*iterations)));
    let mut descend_to = |tolerance: f64, b: &mut [f64], gradient: &mut [f64]| {
        let (reached, taken) = descend(&PairSteps { rows, diagonal, problem, tolerance, most: left }, b, gradient, context.isa);
        *iterations += taken;
        left -= taken;
        reached
    };
    let early = EARLY * problem.linear.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    // Without a curvature in every direction the point depends on the path, which is LIBSVM's and is kept.
    if early > options.tolerance && source.is_positive_semidefinite() == Some(true) {
        if !descend_to(early, b, gradient) {
            return Ok(Progress::Open);
        }
        let free: usize = (0..n).map(|i| usize::from(inside(problem, i, b[i]))).sum();
        if free <= FEW_FREE
            && let Some((point, at_point)) = finish(rows, problem, b, gradient, context.isa)
            && violation(problem, &point, &at_point) <= exact.min(options.tolerance)
        {
            (*b, *gradient) = (point, at_point);
            return Ok(Progress::Exact);
        }
    }
    Ok(if descend_to(options.tolerance, b, gradient) { Progress::Reached } else { Progress::Open })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;
    use crate::kernel::Kernel;
    use crate::random::Random;
    use crate::simd::Isa;
    use crate::solver::{Route, Solver, TableKernel};

    /// Two overlapping clouds: table, linear terms, bounds.
    fn clouds(n: usize, c: f64) -> (Matrix<'static>, Vec<f64>, [Vec<f64>; 2]) {
        let mut random = Random::new(3, 0);
        let y: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let values = (0..4 * n).map(|k| random.normal() + 0.5 * y[k / 4]).collect::<Vec<_>>();
        let side = |sign: f64| y.iter().map(|&y| if y * sign > 0.0 { sign * c } else { 0.0 }).collect::<Vec<_>>();
        (Matrix::dense(values, n, 4).unwrap(), y.iter().map(|y| -y).collect(), [side(-1.0), side(1.0)])
    }

    #[test]
    fn steps_are_those_of_the_general_loop() {
        for (n, kernel) in [(97, Kernel::rbf(0.3)), (200, Kernel::rbf(0.1)), (130, Kernel::Linear)] {
            let (x, linear, [lower, upper]) = clouds(n, 2.0);
            let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: None };
            for isa in Isa::available() {
                let context = Context { isa, ..Context::single() };
                let source = TableKernel::new(&kernel, &x, &context);
                let options = Options { tolerance: EARLY, polish: false, ..Options::default() };
                let general = Solver::new(&source, None, &context).unwrap().solve(&problem, &options).unwrap();
                let (mut b, mut gradient) = (vec![0.0; n], linear.clone());
                let diagonal = source.diagonal().unwrap();
                let steps =
                    PairSteps { rows: source.double().unwrap(), diagonal: &diagonal, problem: &problem, tolerance: EARLY, most: 10_000 };
                assert_eq!(descend(&steps, &mut b, &mut gradient, isa), (true, general.iterations), "{isa:?}");
                assert!(general.iterations > n as u64 / 4, "there is a path to speak of");
                assert_eq!((b, gradient), (general.coefficients, general.gradient), "{isa:?}");
            }
        }
    }

    #[test]
    fn early_leave_ends_at_the_same_optimum() {
        let context = Context::single();
        for c in [0.5, 2.0, 50.0] {
            let (x, linear, [lower, upper]) = clouds(240, c);
            let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: None };
            let source = TableKernel::new(&Kernel::rbf(0.3), &x, &context);
            let long = Options { tolerance: 1e-11, polish: false, ..Options::default() };
            let exact = Solver::new(&source, None, &context).unwrap().solve(&problem, &long).unwrap();
            let found = Solver::new(&source, None, &context).unwrap().solve(&problem, &Options::default()).unwrap();
            assert!(found.violation < 1e-9 && found.gap < 1e-12, "c = {c}: {} {}", found.violation, found.gap);
            assert!(found.iterations < exact.iterations && found.route == Route::Small);
            let apart = found.coefficients.iter().zip(&exact.coefficients).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
            assert!(apart < 1e-7 * c, "c = {c}: {apart}");
        }
    }

    #[test]
    fn what_is_not_exact_is_left_to_pair_steps() {
        let context = Context::single();
        let (x, linear, [lower, upper]) = clouds(100, 1.0);
        // Every row twice: which of the two has a coefficient is open.
        let twice: Vec<usize> = (0..200).map(|i| i / 2).collect();
        let doubled = |values: &[f64]| twice.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let (x, linear, lower, upper) = (x.select(&twice), doubled(&linear), doubled(&lower), doubled(&upper));
        let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: None };
        let source = TableKernel::new(&Kernel::rbf(0.3), &x, &context);
        let diagonal = source.diagonal().unwrap();
        let (mut b, mut gradient, mut iterations) = (vec![0.0; 200], linear.clone(), 0);
        let options = Options::default();
        let reached = solve(&source, &diagonal, &problem, &options, 1e-9, &mut b, &mut gradient, &mut iterations, &context).unwrap();
        assert!(reached == Progress::Reached && iterations > 0 && violation(&problem, &b, &gradient) <= options.tolerance);
        let few = Options { max_iterations: Some(7), ..options };
        let (mut b, mut gradient, mut iterations) = (vec![0.0; 200], linear.clone(), 0);
        let open = solve(&source, &diagonal, &problem, &few, 1e-9, &mut b, &mut gradient, &mut iterations, &context).unwrap();
        assert_eq!((open, iterations), (Progress::Open, 7));
    }
}
