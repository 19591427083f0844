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

use super::dual::{DualProblem, DualSolution, Equality, Options};
use super::linear::{Bias, LinearLoss, LinearProblem, Regularizer, solve_linear};
use super::polish::finish;
use super::route::Route;
use super::solve::Solver;
use super::start::Known;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::StopReason;

/// Pair steps per sample before the other way is taken, and columns up to which its systems are small.
const STEPS: u64 = 100;
const MOST_COLUMNS: usize = 1000;
/// Kernel values of the free variables' rows up to which these are solved for exactly: 256 MB.
const MOST_VALUES: usize = 1 << 25;
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
        let fits = linear && around_zero && matches!(problem.equality, Equality::Sum) && sum.abs() <= 1e-9 * most;
        (fits && self.card.is_none() && columns <= MOST_COLUMNS && 2 * columns < n).then_some(STEPS * n as u64)
    }

    /// Goes on from pair steps that ran out of patience.
    pub(super) fn through_weights(&mut self, problem: &DualProblem<'_>, before: DualSolution, options: &Options) -> Result<DualSolution> {
        let mut b = match self.by_weights(problem)? {
            Ok(b) => b,
            Err(stop) => return Ok(DualSolution { stop, ..before }),
        };
        let mut gradient = problem.linear.to_vec();
        if let Some(stop) = self.exact_gradient(problem, &b, &mut gradient)? {
            return Ok(DualSolution { stop, ..before });
        }
        if b.len().saturating_mul(self.source.dimensions()) <= MOST_VALUES {
            finish(self.source, &self.diagonal, problem, &mut b, &mut gradient)?;
        }
        let objective = |b: &[f64], gradient: &[f64]| -> f64 {
            (0..b.len()).map(|i| 0.5 * b[i] * (gradient[i] + problem.linear[i]) + problem.kink * b[i].abs()).sum()
        };
        if objective(&b, &gradient) > objective(&before.coefficients, &before.gradient) {
            (b, gradient) = (before.coefficients, before.gradient);
        }
        let problem = DualProblem { start: Some(&b), ..*problem };
        let left = options.max_iterations.map(|most| most.saturating_sub(before.iterations));
        let known = Some(Known { gradient, error: 0.0 });
        let solution = self.solve_by_steps(&problem, known, &Options { max_iterations: left, ..*options })?;
        Ok(DualSolution { iterations: solution.iterations + before.iterations, route: solution.route.max(Route::Weights), ..solution })
    }

    /// The variables that the weights' solution gives, feasible; or why it was stopped.
    fn by_weights(&self, problem: &DualProblem<'_>) -> Result<std::result::Result<Vec<f64>, StopReason>> {
        let table = self.source.table().expect("there is one, or no patience");
        let x = table.rows.as_ref().map(|rows| table.x.select(rows));
        let target: Vec<f64> = problem.linear.iter().map(|v| -v).collect();
        let down: Vec<f64> = problem.lower.iter().map(|v| -v).collect();
        let weights = LinearProblem {
            x: x.as_ref().unwrap_or(table.x),
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
            return Ok(Err(solution.stop));
        }
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
        Ok(Ok(b))
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
    use crate::data::Matrix;
    use crate::observe::Context;
    use crate::random::Random;
    use crate::solver::TableKernel;

    /// Two classes that overlap; column `j` has the scale `scale^j`.
    fn solve(n: usize, c: f64, kink: f64, scale: f64, context: &Context<'_>) -> DualSolution {
        let mut random = Random::new(5, 0);
        let values: Vec<f64> = (0..5 * n).map(|k| random.normal() * scale.powi((k % 5) as i32)).collect();
        let targets: Vec<f64> = (0..n).map(|i| values[5 * i] + random.normal()).collect();
        let x = Matrix::dense(values, n, 5).unwrap();
        let target = |i: usize| if kink > 0.0 { targets[i] } else { targets[i].signum() };
        let linear: Vec<f64> = (0..n).map(|i| -target(i)).collect();
        let room = |i: usize, sign: f64| if kink > 0.0 || target(i) == sign { c * (1.0 + (i % 2) as f64) } else { 0.0 };
        let lower: Vec<f64> = (0..n).map(|i| -room(i, -1.0)).collect();
        let upper: Vec<f64> = (0..n).map(|i| room(i, 1.0)).collect();
        let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink, equality: Equality::Sum, start: None };
        let source = TableKernel::new(&Kernel::Linear, &x, context);
        Solver::new(&source, None, context).unwrap().solve(&problem, &Options::default()).unwrap()
    }

    #[test]
    fn steps_that_creep_end_by_way_of_the_weights() {
        let context = Context { threads: 2, ..Context::default() };
        for (n, c, kink, scale) in
            [(800, 1e6, 0.0, 1.0), (500, 1e7, 0.0, 1.0), (900, 1.0, 0.0, 8.0), (800, 1e5, 0.3, 3.0), (6000, 1e4, 0.0, 1.0)]
        {
            let solution = solve(n, c, kink, scale, &context);
            assert_eq!((solution.stop, solution.route), (StopReason::Converged, Route::Weights), "{n}, {c}, {kink}, {scale}");
            assert!(solution.violation <= 1e-3 && solution.gap < 1e-4, "{n}, {c}: {} {}", solution.violation, solution.gap);
            assert!(solution.coefficients.iter().sum::<f64>().abs() < 1e-9 * c * n as f64);
            assert!(solution.iterations < 150 * n as u64, "{}", solution.iterations);
        }
    }

    #[test]
    fn easy_problems_keep_their_way_and_stops_are_kept() {
        let easy = solve(800, 1.0, 0.0, 1.0, &Context::default());
        assert_eq!((easy.stop, easy.route), (StopReason::Converged, Route::Small));
        let context = Context { deadline: Some(std::time::Instant::now()), ..Context::default() };
        assert_eq!(solve(800, 1e6, 0.0, 1.0, &context).stop, StopReason::TimeLimit);
    }
}
