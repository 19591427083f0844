//! Newton steps between pair steps, where many problems share kernel rows.
//!
//! Pair steps need more and more of each other where bounds are wide and rows alike (large C, small gamma): then the free variables are
//! few and their optimality conditions are cheaper to solve as linear equations, as in `polish`, from the rows that are in memory in single
//! precision. What comes out is a better point to take pair steps from, no more: they decide when the tolerance is reached.
//!
//! A primal-dual active set iteration: solve, send back what left its box, let in what wants to leave its bound, until nothing changes; a
//! point that is not reached in some rounds is dropped. The wishes are read before anything is sent back: read afterwards, they are those
//! of a point at which no condition holds, and the iteration never ended (12 rounds with 600 changes each on 2000 x 20 at C = 100).
//!
//! A try waits until the steps have cost about as much as it will, so that a problem takes at most twice what the better way takes.

use super::certificate::violation;
use super::dual::{DualProblem, Equality, Options};
use super::polish::solve_free;
use super::smo::PassOutcome;
use super::solve::Solver;
use crate::error::Result;
use crate::observe::{Progress, StopReason};

/// Free variables at the most: a factor of so many takes 32 MB.
const MOST_FREE: usize = 2000;
/// Rounds of a try.
const MOST_ROUNDS: usize = 12;
/// Tries of a problem.
const MOST_TRIES: usize = 6;
/// Multiplications of a factor that take as long as a step takes for one column.
const PER_COLUMN: f64 = 30.0;
/// Slopes of variables at a bound may be wrong by this share of the tolerance: they count as right.
const SLACK: f64 = 0.3;
/// Relative size of what is added to the diagonal.
const RIDGE: f64 = 1e-9;

impl Solver<'_> {
    /// Pair steps in single precision to `target`, with Newton steps in between where they help.
    pub(super) fn approach(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        target: f64,
        leave_crowded: bool,
        b: &mut [f64],
        gradient: &mut Vec<f64>,
        iterations: &mut u64,
    ) -> Result<PassOutcome> {
        let (n, most) = (problem.len() as u64, options.max_iterations.unwrap_or(u64::MAX));
        let applies = self.shared
            && matches!(problem.equality, Equality::Sum)
            && problem.kink == 0.0
            && self.source.is_positive_semidefinite() == Some(true);
        let (mut tries, mut patience, mut since) = (0, 1.0, *iterations);
        while applies && tries < MOST_TRIES {
            let free = (0..b.len()).filter(|&i| problem.lower[i] < b[i] && b[i] < problem.upper[i]).count();
            let wait = n + (patience * (free as f64).powi(3) / (3.0 * PER_COLUMN * n as f64)) as u64;
            if *iterations - since >= wait {
                let helped = self.newton(problem, target, b, gradient)?;
                patience *= if helped { 1.0 } else { 2.0 };
                (tries, since) = (tries + 1, *iterations);
            }
            let until = (since + wait).max(*iterations + n).min(most);
            let outcome = self.run_single(
                problem,
                &Options { max_iterations: Some(until), ..*options },
                target,
                leave_crowded,
                b,
                gradient,
                iterations,
            )?;
            if outcome != PassOutcome::Stopped(StopReason::MaxIterations) || *iterations >= most {
                return Ok(outcome);
            }
            if !self.single.as_mut().expect("it just ran").read_gradient(gradient) {
                break;
            }
            let progress = Progress { stage: "solve", done: *iterations, total: None, violation: None, tolerance: Some(target) };
            if let Some(reason) = self.context.check(&progress) {
                return Ok(PassOutcome::Stopped(reason));
            }
        }
        self.run_single(problem, options, target, leave_crowded, b, gradient, iterations)
    }

    /// Moves to the point where the conditions of all free variables hold, if it is found; whether it was.
    fn newton(&mut self, problem: &DualProblem<'_>, target: f64, b: &mut [f64], gradient: &mut Vec<f64>) -> Result<bool> {
        let ridge = RIDGE * self.largest_diagonal();
        let Some(engine) = &mut self.single else { return Ok(false) };
        let start = violation(problem, b, gradient);
        let (mut point, mut g) = (b.to_vec(), gradient.clone());
        let room = |i: usize| problem.lower[i] < problem.upper[i];
        let inside = |i: usize, value: f64| problem.lower[i] < value && value < problem.upper[i];
        let mut free: Vec<usize> = (0..b.len()).filter(|&i| inside(i, point[i])).collect();
        for _ in 0..MOST_ROUNDS {
            if free.is_empty() || free.len() > MOST_FREE || !engine.can_hold(free.len()) {
                return Ok(false);
            }
            engine.fetch(&free, &mut self.crew, &self.context)?;
            let mut matrix = engine.gather(&free);
            (0..free.len()).for_each(|f| matrix[f * (free.len() + 1)] += ridge);
            let Some((moves, [offset, _])) = solve_free(problem, matrix, &free, &point, &g, b) else { return Ok(false) };
            engine.add_rows(&free, &moves, &mut g, self.context.isa);
            // What wants to leave its bound is seen where the conditions of the free ones hold, before those that left their box go back.
            let slack = SLACK * target;
            let wants_in = |i: &usize| {
                let (up, down) = (point[*i] < problem.upper[*i], point[*i] > problem.lower[*i]);
                room(*i) && up != down && ((up && g[*i] < offset - slack) || (down && g[*i] > offset + slack))
            };
            let mut next: Vec<usize> = (0..b.len()).filter(wants_in).collect();
            let freed = next.len();
            let (mut back, mut corrections) = (Vec::new(), Vec::new());
            for (&i, step) in free.iter().zip(&moves) {
                point[i] += step;
                if inside(i, point[i]) {
                    next.push(i);
                } else {
                    let bound = point[i].clamp(problem.lower[i], problem.upper[i]);
                    back.push(i);
                    corrections.push(bound - point[i]);
                    point[i] = bound;
                }
            }
            engine.add_rows(&back, &corrections, &mut g, self.context.isa);
            next.sort_unstable();
            if back.len() + freed == 0 {
                let better = violation(problem, &point, &g) < start;
                if better {
                    b.copy_from_slice(&point);
                    *gradient = g;
                }
                return Ok(better);
            }
            free = next;
        }
        Ok(false)
    }
}
