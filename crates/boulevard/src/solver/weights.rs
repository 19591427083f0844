//! Linear kernels whose pair steps creep: the same problem in the space of weights.
//!
//! ```text
//! min 1/2 |X'b|^2 + linear'b + kink |b|_1,    lower <= b <= upper,  1'b = 0,    lower <= 0 <= upper
//! ```
//! is the dual of an absolute loss with a free bias ([`LinearProblem`]: targets `-linear`, prices `upper` and `-lower`, a tube `kink`). Pair
//! steps need more and more of each other where C is large and classes overlap, or where columns have different scales; an interior point
//! method needs 10 to 50 steps of `rows * columns^2` whatever these are. (2000 x 20, columns with scales from 1 to 1000, C = 1: not
//! solved after eight million pair steps.)
//!
//! What it gives is right to some digits of the objective, not of the slopes. So variables next to a bound are put there, the few free ones
//! (one more than columns, if no rows lie in the same place) are solved for exactly, and pair steps go on from there: they decide when
//! the tolerance is reached, and the certificate is theirs.

use super::certificate::{Certificate, certify};
use super::dual::{DualProblem, DualSolution, Equality, Options};
use super::linear::{Bias, LinearLoss, LinearProblem, LinearTable, Regularizer, solve_linear};
use super::polish::{ExactRows, finish};
use super::route::Route;
use super::smo::arena;
use super::solve::Solver;
use super::start::Known;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason, stopped};

/// Pair steps per sample before the other way is taken, and columns up to which its systems are small.
const STEPS: u64 = 100;
/// As many times as many after a solution that is not what was asked for. (Three constant columns of 1e6 beside ten others: 4600 per sample.)
const LAST: u64 = 100;
const MOST_COLUMNS: usize = 1000;
/// Kernel values of the free variables' rows up to which these are solved for exactly: 256 MB, or this share of a memory limit.
const MOST_VALUES: usize = 1 << 25;
const SHARE: usize = 8;
/// Bytes per sample that the other way takes beside the table: steps, slopes, prices, of one side and of two.
const PER_SAMPLE: [usize; 2] = [400, 800];
/// Relative gap that is asked of the weights.
const GAP: f64 = 1e-11;
/// Variables within this share of their room from a bound are put there.
const NEAR: f64 = 1e-6;

impl Solver<'_> {
    /// Pair steps after which a problem is solved in the space of weights instead; none where it cannot be.
    pub(super) fn patience(&self, problem: &DualProblem<'_>) -> Option<u64> {
        let (n, columns) = (self.source.len(), self.source.dimensions());
        let linear = self.source.table().is_some_and(|table| matches!(table.kernel, Kernel::Linear));
        let around_zero = problem.lower.iter().all(|v| *v <= 0.0) && problem.upper.iter().all(|v| *v >= 0.0);
        let sum: f64 = problem.start.unwrap_or(&[]).iter().sum();
        let most = problem.upper.iter().fold(0.0, |most: f64, v| most.max(*v));
        // Prices without an end are none.
        let prices: f64 = problem.upper.iter().zip(problem.lower).map(|(upper, lower)| upper - lower).sum();
        let fits = linear && around_zero && matches!(problem.equality, Equality::Sum) && sum.abs() <= 1e-9 * most && prices.is_finite();
        let small = self.card.is_none() && columns <= MOST_COLUMNS && 2 * columns < n && self.may_take_weights(problem);
        (fits && small).then_some(STEPS * n as u64)
    }

    /// Whether there is memory for it: tables may be copied without the rows that take no part, and sparse ones be spread out.
    fn may_take_weights(&self, problem: &DualProblem<'_>) -> bool {
        let (n, columns) = (self.source.len(), self.source.dimensions());
        let table = 2 * n * columns * size_of::<f64>();
        let needed = table + PER_SAMPLE[usize::from(problem.kink > 0.0)] * n + 4 * columns * columns * size_of::<f64>();
        self.context.memory.is_none_or(|allowed| self.source.table_bytes().saturating_add(needed) < allowed - allowed / SHARE)
    }

    /// Goes on from pair steps that ran out of patience.
    pub(super) fn through_weights(&mut self, problem: &DualProblem<'_>, before: DualSolution, options: &Options) -> Result<DualSolution> {
        if self.context.memory.is_some() {
            // Kernel rows may have all that is allowed.
            (self.single, self.double) = (None, None);
            arena::release();
        }
        let (b, gradient, reached) = match stopped(self.by_weights(problem))? {
            Ok(found) => found,
            Err(stop) => return Ok(DualSolution { stop, ..before }),
        };
        let found = certify(problem, &b, &gradient);
        let better = found.objective <= before.objective;
        let (b, gradient) = if better { (b, gradient) } else { (before.coefficients, before.gradient) };
        let start = DualProblem { start: Some(&b), ..*problem };
        let left = options.max_iterations.unwrap_or(u64::MAX).saturating_sub(before.iterations);
        // Beside a point that is right to so many digits, steps that creep on are lost in rounding; and so they are where there is none.
        let patience = STEPS * b.len() as u64;
        let most = left.min(if reached && better { patience } else { LAST * patience });
        let known = Some(Known { gradient: gradient.clone(), error: if better { 0.0 } else { before.gradient_error } });
        let mut solution = self.solve_by_steps(&start, known, &Options { max_iterations: Some(most), ..*options })?;
        if most < left && solution.stop == StopReason::MaxIterations {
            solution.stop = StopReason::Rounding;
        }
        if better && solution.stop != StopReason::Converged && (solution.objective.is_nan() || solution.objective > found.objective) {
            // Steps that are lost in rounding may lead away.
            let Certificate { offsets, objective, violation, gap } = found;
            solution = DualSolution { coefficients: b, gradient, gradient_error: 0.0, offsets, objective, violation, gap, ..solution };
        }
        Ok(DualSolution { iterations: solution.iterations + before.iterations, route: solution.route.max(Route::Weights), ..solution })
    }

    /// The variables that the weights' solution gives, feasible, their gradient, and whether it is as good as was asked.
    fn by_weights(&self, problem: &DualProblem<'_>) -> Result<(Vec<f64>, Vec<f64>, bool)> {
        let table = self.source.table().expect("there is one, or no patience");
        let x = table.rows.as_ref().map(|rows| table.x.select(rows));
        let target: Vec<f64> = problem.linear.iter().map(|v| -v).collect();
        let down: Vec<f64> = problem.lower.iter().map(|v| -v).collect();
        let x = x.as_ref().unwrap_or(table.x);
        let weights = LinearProblem {
            x,
            target: &target,
            up: problem.upper,
            down: &down,
            tube: problem.kink,
            loss: LinearLoss::Absolute,
            regularizer: Regularizer::L2,
            bias: Bias::Free,
        };
        let solution = solve_linear(&weights, GAP, None, &self.context)?;
        if matches!(solution.stop, StopReason::Interrupted | StopReason::TimeLimit) {
            return Err(Error::Stopped { reason: solution.stop });
        }
        let reached = solution.gap <= GAP;
        let mut b = solution.dual;
        for i in 0..b.len() {
            let (low, high) = (problem.lower[i], problem.upper[i]);
            // Zero is an end of the room where there is a kink.
            let ends = if problem.kink > 0.0 { [low, 0.0, high] } else { [low, low, high] };
            b[i] = b[i].clamp(low, high);
            if let Some(end) = ends.into_iter().find(|end| (b[i] - end).abs() <= NEAR * (high - low)) {
                b[i] = end;
            }
        }
        balance(problem, &mut b);
        let rows = LinearRows::new(x, &self.context)?;
        let mut gradient = rows.product(&b)?;
        gradient.iter_mut().zip(problem.linear).for_each(|(g, q)| *g += q);
        let most_values = MOST_VALUES.min(self.context.memory.map_or(usize::MAX, |allowed| allowed / SHARE / size_of::<f64>()));
        finish(&rows, most_values, &self.diagonal, problem, &mut b, &mut gradient)?;
        Ok((b, gradient, reached))
    }
}

/// Rows of the linear kernel's matrix, from the table: a product with all of it costs two passes.
struct LinearRows<'a>(LinearTable<'a>);

impl<'a> LinearRows<'a> {
    fn new(x: &'a Matrix<'a>, context: &Context<'a>) -> Result<Self> {
        LinearTable::new(x, false, None, context).map(Self)
    }
}

impl ExactRows for LinearRows<'_> {
    fn resident(&self, _: usize) -> Option<&[f64]> {
        None
    }

    fn fill(&self, rows: &[usize], n: usize, out: &mut [&mut [f64]]) -> Result<()> {
        let mut w = vec![0.0; self.0.columns()];
        for (&row, out) in rows.iter().zip(out) {
            self.0.copy_row(row, &mut w);
            out[..n].copy_from_slice(&self.0.forward(&w)?);
        }
        Ok(())
    }

    fn product(&self, b: &[f64]) -> Result<Vec<f64>> {
        self.0.forward(&self.0.backward(b)?)
    }
}

/// Moves free variables, then others, until the sum is zero again.
fn balance(problem: &DualProblem<'_>, b: &mut [f64]) {
    let mut total: f64 = b.iter().sum();
    let free = |i: &usize, b: &[f64]| problem.lower[*i] < b[*i] && b[*i] < problem.upper[*i] && b[*i] != 0.0;
    let (inner, others): (Vec<usize>, Vec<usize>) = (0..b.len()).partition(|i| free(i, b));
    for i in inner.into_iter().chain(others) {
        if total == 0.0 {
            return;
        }
        let moved = (b[i] - total).clamp(problem.lower[i], problem.upper[i]);
        total += moved - b[i];
        b[i] = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Csr;
    use crate::random::Random;
    use crate::solver::TableKernel;

    /// A problem on a table of five columns.
    struct Case {
        x: Matrix<'static>,
        linear: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        kink: f64,
    }

    impl Case {
        /// Two classes that overlap, or a target where there is a kink; column `j` has the scale `scale^j`.
        fn new(n: usize, c: f64, kink: f64, scale: f64) -> Self {
            let mut random = Random::new(5, 0);
            let values: Vec<f64> = (0..5 * n).map(|k| random.normal() * scale.powi((k % 5) as i32)).collect();
            let targets: Vec<f64> = (0..n).map(|i| values[5 * i] + random.normal()).collect();
            let x = Matrix::dense(values, n, 5).unwrap();
            let target = |i: usize| if kink > 0.0 { targets[i] } else { targets[i].signum() };
            let linear: Vec<f64> = (0..n).map(|i| -target(i)).collect();
            let room = |i: usize, sign: f64| if kink > 0.0 || target(i) == sign { c * (1.0 + (i % 2) as f64) } else { 0.0 };
            let lower: Vec<f64> = (0..n).map(|i| -room(i, -1.0)).collect();
            let upper: Vec<f64> = (0..n).map(|i| room(i, 1.0)).collect();
            Self { x, linear, lower, upper, kink }
        }

        fn problem(&self) -> DualProblem<'_> {
            let (linear, lower, upper) = (&self.linear[..], &self.lower[..], &self.upper[..]);
            DualProblem { linear, lower, upper, kink: self.kink, equality: Equality::Sum, start: None }
        }

        fn solve(&self, context: &Context<'_>) -> DualSolution {
            let source = TableKernel::new(&Kernel::Linear, &self.x, context);
            Solver::new(&source, None, context).unwrap().solve(&self.problem(), &Options::default()).unwrap()
        }

        fn patience(&self, problem: &DualProblem<'_>, kernel: &Kernel, context: &Context<'_>) -> Option<u64> {
            let source = TableKernel::new(kernel, &self.x, context);
            Solver::new(&source, None, context).unwrap().patience(problem)
        }
    }

    /// Violation and gap in double precision from scratch are those that the solution claims.
    fn check(case: &Case, solution: &DualSolution) {
        let (b, n) = (&solution.coefficients, case.x.rows());
        assert!((0..n).all(|i| case.lower[i] <= b[i] && b[i] <= case.upper[i]));
        let mut w = [0.0; 5];
        (0..5 * n).for_each(|k| w[k % 5] += b[k / 5] * case.x.get(k / 5, k % 5));
        let gradient: Vec<f64> = (0..n).map(|i| case.linear[i] + (0..5).map(|j| w[j] * case.x.get(i, j)).sum::<f64>()).collect();
        let exact = certify(&case.problem(), b, &gradient);
        let longest = (0..n).map(|i| (0..5).map(|j| case.x.get(i, j).powi(2)).sum::<f64>()).fold(0.0, f64::max);
        let size = 1e-9 + 1e-16 * longest * b.iter().map(|b| b.abs()).sum::<f64>();
        assert!((exact.violation - solution.violation).abs() <= size, "{:e} for {:e}", solution.violation, exact.violation);
        // Gradients are sums of numbers as large as the bounds that cancel.
        assert!((exact.objective / solution.objective - 1.0).abs() < 1e-7, "{} for {}", solution.objective, exact.objective);
    }

    #[test]
    fn steps_that_creep_end_by_way_of_the_weights() {
        let context = Context { threads: 2, ..Context::default() };
        for (n, c, kink, scale) in
            [(800, 1e6, 0.0, 1.0), (500, 1e7, 0.0, 1.0), (900, 1.0, 0.0, 8.0), (800, 1e5, 0.3, 3.0), (6000, 1e4, 0.0, 1.0)]
        {
            let case = Case::new(n, c, kink, scale);
            let solution = case.solve(&context);
            assert_eq!((solution.stop, solution.route), (StopReason::Converged, Route::Weights), "{n}, {c}, {kink}, {scale}");
            assert!(solution.violation <= 1e-3 && solution.gap < 1e-4, "{n}, {c}: {} {}", solution.violation, solution.gap);
            assert!(solution.coefficients.iter().sum::<f64>().abs() < 1e-9 * c * n as f64);
            assert!(solution.iterations < 150 * n as u64, "{}", solution.iterations);
            check(&case, &solution);
            let one = case.solve(&Context::single());
            assert_eq!((one.coefficients, one.iterations), (solution.coefficients, solution.iterations), "one thread");
        }
    }

    #[test]
    fn rows_without_a_price_and_sparse_tables_go_the_same_way() {
        let context = Context::single();
        let mut case = Case::new(900, 1e6, 0.0, 1.0);
        for i in (0..900).step_by(7) {
            (case.lower[i], case.upper[i]) = (0.0, 0.0);
        }
        let dense = case.solve(&context);
        check(&case, &dense);
        let offsets: Vec<usize> = (0..=900).map(|i| 5 * i).collect();
        let values: Vec<f64> = (0..4500).map(|k| case.x.get(k / 5, k % 5)).collect();
        case.x = Matrix::Sparse(Csr::new(offsets, (0..4500).map(|k| k % 5).collect::<Vec<u32>>(), values, 5).unwrap());
        let sparse = case.solve(&context);
        check(&case, &sparse);
        assert_eq!((dense.route, sparse.route), (Route::Weights, Route::Weights));
        assert!((dense.objective / sparse.objective - 1.0).abs() < 1e-9, "{} {}", dense.objective, sparse.objective);
    }

    #[test]
    fn only_what_can_be_solved_so_is() {
        let (context, case) = (Context::single(), Case::new(700, 10.0, 0.0, 1.0));
        let of = |problem: &DualProblem<'_>, kernel: &Kernel, context: &Context<'_>| case.patience(problem, kernel, context).is_some();
        let problem = case.problem();
        assert!(of(&problem, &Kernel::Linear, &context));
        assert!(!of(&problem, &Kernel::rbf(1.0), &context), "another kernel");
        assert!(!of(&problem, &Kernel::Linear, &Context { memory: Some(400_000), ..context }), "copies need memory");
        assert!(of(&problem, &Kernel::Linear, &Context { memory: Some(1_000_000), ..context }));
        let second = vec![false; 700];
        assert!(!of(&DualProblem { equality: Equality::TwoSums(&second), ..problem }, &Kernel::Linear, &context), "nu");
        let (start, upper) = (vec![1.0; 700], vec![f64::MAX; 700]);
        assert!(!of(&DualProblem { start: Some(&start), ..problem }, &Kernel::Linear, &context), "the sum is that of one class");
        assert!(!of(&DualProblem { upper: &upper, ..problem }, &Kernel::Linear, &context), "prices without an end");
        assert!(!of(&DualProblem { lower: &start, ..problem }, &Kernel::Linear, &context), "zero is not allowed");
    }

    /// Bounds beyond all digits: whatever comes back is no worse than nothing.
    #[test]
    fn a_price_beyond_all_digits() {
        for c in [1e14, 1e20, 1e100] {
            let case = Case::new(800, c, 0.0, 1.0);
            let solution = case.solve(&Context::single());
            assert_eq!(solution.stop, StopReason::Rounding, "{c:e}");
            assert!(solution.objective <= 0.0 && solution.violation.is_finite(), "{c:e}: {}", solution.objective);
        }
    }

    #[test]
    fn easy_problems_keep_their_way_and_stops_are_kept() {
        let easy = Case::new(800, 1.0, 0.0, 1.0).solve(&Context::default());
        assert_eq!((easy.stop, easy.route), (StopReason::Converged, Route::Small));
        let context = Context { deadline: Some(std::time::Instant::now()), ..Context::default() };
        assert_eq!(Case::new(800, 1e6, 0.0, 1.0).solve(&context).stop, StopReason::TimeLimit);
    }
}
