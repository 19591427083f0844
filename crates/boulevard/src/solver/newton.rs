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
//! A try waits until the steps since the last one have cost about as much as one of its rounds, twice as much after each that failed. Where
//! all fail, that is some rounds for every such share of the steps; no problem has more than a few tries.

use super::certificate::violation;
use super::dual::{DualProblem, Equality, Options};
use super::polish::solve_free;
use super::smo::PassOutcome;
use super::solve::Solver;
use crate::error::Result;
use crate::observe::{Progress, StopReason, stopped as stopped_by};

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

/// How a try ended.
enum Try {
    /// At a better point, with its gradient.
    Moved,
    /// Nowhere: the point is as it was.
    Failed,
    /// The same, because somebody stopped it.
    Stopped(StopReason),
}

impl Solver<'_> {
    /// Pair steps in single precision to `target`, with Newton steps in between where they help.
    pub(super) fn approach(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        target: f64,
        leave_crowded: bool,
        b: &mut [f64],
        gradient: &mut [f64],
        iterations: &mut u64,
    ) -> Result<PassOutcome> {
        let n = problem.len() as u64;
        // Where samples are left out their rows and gradients are not at hand.
        let applies = self.shared
            && !options.shrinking
            && matches!(problem.equality, Equality::Sum)
            && problem.kink == 0.0
            && self.source.is_positive_semidefinite() == Some(true);
        let (mut tries, mut patience, mut since) = (0, 1.0, *iterations);
        let wait = |b: &[f64], patience: f64| {
            let free = (0..b.len()).filter(|&i| problem.lower[i] < b[i] && b[i] < problem.upper[i]).count();
            n + (patience * (free as f64).powi(3) / (3.0 * PER_COLUMN * n as f64)) as u64
        };
        self.load_single(problem, b, gradient)?;
        loop {
            let pause_at = (applies && tries < MOST_TRIES).then(|| (since + wait(b, patience)).max(*iterations + n));
            let outcome = self.run_single(problem, options, target, leave_crowded, pause_at, b, iterations);
            if outcome != PassOutcome::Paused {
                return Ok(outcome);
            }
            // More variables may have become free meanwhile.
            if *iterations - since < wait(b, patience) {
                continue;
            }
            self.single.as_mut().expect("it just ran").read_gradient(gradient);
            match self.newton(problem, target, b, gradient, *iterations)? {
                Try::Moved => self.load_single(problem, b, gradient)?,
                Try::Failed => patience *= 2.0,
                Try::Stopped(reason) => return Ok(PassOutcome::Stopped(reason)),
            }
            (tries, since) = (tries + 1, *iterations);
        }
    }

    /// Moves to the point where the conditions of all free variables hold, if it is found.
    fn newton(&mut self, problem: &DualProblem<'_>, target: f64, b: &mut [f64], gradient: &mut [f64], done: u64) -> Result<Try> {
        let ridge = RIDGE * self.largest_diagonal();
        let Some(engine) = &mut self.single else { return Ok(Try::Failed) };
        let start = violation(problem, b, gradient);
        let progress = Progress { stage: "solve", done, total: None, violation: Some(start), tolerance: Some(target) };
        let (mut point, mut g) = (b.to_vec(), gradient.to_vec());
        let room = |i: usize| problem.lower[i] < problem.upper[i];
        let inside = |i: usize, value: f64| problem.lower[i] < value && value < problem.upper[i];
        let mut free: Vec<usize> = (0..b.len()).filter(|&i| inside(i, point[i])).collect();
        for _ in 0..MOST_ROUNDS {
            if let Some(reason) = self.context.check(&progress) {
                return Ok(Try::Stopped(reason));
            }
            if free.is_empty() || free.len() > MOST_FREE || !engine.can_hold(free.len()) {
                return Ok(Try::Failed);
            }
            if let Err(reason) = stopped_by(engine.fetch(&free, &mut self.crew, &self.context))? {
                return Ok(Try::Stopped(reason));
            }
            let mut matrix = engine.gather(&free);
            (0..free.len()).for_each(|f| matrix[f * (free.len() + 1)] += ridge);
            let Some((moves, [offset, _])) = solve_free(problem, matrix, &free, &point, &g, b) else { return Ok(Try::Failed) };
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
                if violation(problem, &point, &g) >= start {
                    return Ok(Try::Failed);
                }
                b.copy_from_slice(&point);
                gradient.copy_from_slice(&g);
                self.newton_moves += 1;
                return Ok(Try::Moved);
            }
            free = next;
        }
        Ok(Try::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;
    use crate::kernel::Kernel;
    use crate::observe::Context;
    use crate::parallel::Crew;
    use crate::random::Random;
    use crate::solver::{DualSolution, TableKernel};

    /// Two overlapping clouds; every `held_out`th row takes no part, and weights differ.
    struct Clouds {
        x: Matrix<'static>,
        linear: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    }

    impl Clouds {
        fn new(n: usize, c: f64) -> Self {
            let mut random = Random::new(3, 0);
            let sign = |i: usize| if i % 5 == 4 { 0.0 } else { f64::from(i.is_multiple_of(2)) * 2.0 - 1.0 };
            let values: Vec<f64> = (0..n * 6).map(|k| random.normal() + 0.4 * sign(k / 6)).collect();
            let cost = |i: usize| c * (1.0 + (i % 3) as f64) * sign(i);
            Self {
                x: Matrix::dense(values, n, 6).unwrap(),
                linear: (0..n).map(|i| -sign(i)).collect(),
                lower: (0..n).map(|i| cost(i).min(0.0)).collect(),
                upper: (0..n).map(|i| cost(i).max(0.0)).collect(),
            }
        }

        fn problem(&self) -> DualProblem<'_> {
            DualProblem { linear: &self.linear, lower: &self.lower, upper: &self.upper, kink: 0.0, equality: Equality::Sum, start: None }
        }

        /// The solution, and how many points Newton steps found.
        fn solve(&self, shared: bool, threads: usize, context: &Context<'_>) -> (DualSolution, u64) {
            let source = TableKernel::new(&Kernel::rbf(0.02), &self.x, context);
            let mut solver = Solver::new(&source, None, context).unwrap();
            (solver.crew, solver.shared) = (Crew::new(threads), shared);
            let options = Options { shrinking: false, polish: false, ..Options::default() };
            let solution = solver.solve(&self.problem(), &options).unwrap();
            (solution, solver.newton_moves)
        }
    }

    #[test]
    fn newton_steps_end_at_the_same_optimum_sooner() {
        let clouds = Clouds::new(1500, 300.0);
        let ((plain, none), (shared, moves)) = (clouds.solve(false, 1, &Context::single()), clouds.solve(true, 1, &Context::single()));
        assert_eq!(none, 0, "a single fit takes pair steps only");
        assert!(moves > 0, "no Newton step was kept");
        assert!(shared.iterations < plain.iterations, "{} and {} steps", shared.iterations, plain.iterations);
        assert_eq!((plain.stop, shared.stop), (StopReason::Converged, StopReason::Converged));
        assert!((shared.objective - plain.objective).abs() < 1e-6 * plain.objective.abs(), "{} {}", shared.objective, plain.objective);
        // The certificate is that of the exact gradient, whichever way the steps came.
        let source = TableKernel::new(&Kernel::rbf(0.02), &clouds.x, &Context::single());
        let mut exact = Vec::new();
        let solver = Solver::new(&source, None, &Context::single()).unwrap();
        solver.exact_gradient(&clouds.problem(), &shared.coefficients, &mut exact).unwrap();
        assert!(violation(&clouds.problem(), &shared.coefficients, &exact) <= Options::default().tolerance);
        assert!(shared.coefficients.iter().sum::<f64>().abs() < 1e-7);
    }

    /// From 3000 rows on, passes are cut between threads.
    #[test]
    fn newton_steps_have_the_same_bits_on_two_threads() {
        let clouds = Clouds::new(3200, 100.0);
        let [(one, moves), (two, _)] = [1, 2].map(|threads| clouds.solve(true, threads, &Context::default()));
        assert!(moves > 0, "no Newton step was kept");
        assert_eq!(one.coefficients, two.coefficients);
        assert_eq!(one.gradient, two.gradient);
        assert_eq!(one.iterations, two.iterations);
    }

    #[test]
    fn a_stopped_try_leaves_the_point_and_says_why() {
        let clouds = Clouds::new(1500, 300.0);
        let context = Context::single();
        let source = TableKernel::new(&Kernel::rbf(0.02), &clouds.x, &context);
        let mut solver = Solver::new(&source, None, &context).unwrap().shared();
        let problem = clouds.problem();
        let (mut b, mut gradient) = (vec![0.0; 1500], clouds.linear.clone());
        (b[0], b[1]) = (0.5, -0.5);
        solver.exact_gradient(&problem, &b, &mut gradient).unwrap();
        solver.load_single(&problem, &b, &gradient).unwrap();
        solver.context.deadline = Some(std::time::Instant::now());
        let before = (b.clone(), gradient.clone());
        let ended = solver.newton(&problem, 1e-3, &mut b, &mut gradient, 0).unwrap();
        assert!(matches!(ended, Try::Stopped(StopReason::TimeLimit)));
        assert_eq!((b, gradient), before);
    }
}
