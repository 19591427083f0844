//! A machine with a fixed kernel matrix: Newton's method in the coefficients of its samples.

use super::super::problem::Problem;
use super::block::conjugate_gradients;
use crate::linalg::{add_symmetric, dot};

/// Newton steps at most, and halvings of each.
const STEPS: usize = 12;
const HALVINGS: usize = 20;
/// Sufficient decrease of the line search.
const DECREASE: f64 = 1e-4;
/// What of the primal is rounding.
const ROUNDING: f64 = 1e-13;
/// Steps of conjugate gradients per Newton step at most.
const KRYLOV_STEPS: usize = 200;

/// What came out.
pub(super) struct Machine {
    pub alpha: Vec<f64>,
    pub scores: Vec<f64>,
    pub primal: f64,
}

impl Machine {
    /// The machine of one task at a fixed kernel matrix: Newton's method on `sum phi(f) + a' K a / 2` with `f = K a`, the bias inside K.
    pub fn solve(problem: &Problem<'_>, m: usize, kernel: &[f64], mut alpha: Vec<f64>, accuracy: f64) -> Self {
        let (task, isa, n) = (&problem.tasks[m], problem.table(m).isa(), problem.table(m).rows);
        let variance = problem.variance.unwrap_or(0.0);
        let image = |x: &[f64]| {
            let mut out = vec![variance * x.iter().sum::<f64>(); n];
            add_symmetric(isa, kernel, x, &mut out);
            out
        };
        let look = |alpha: &[f64], scores: &[f64]| {
            let (mut primal, mut wanted, mut omega) = (0.5 * dot(alpha, scores), vec![0.0; n], vec![0.0; n]);
            for i in 0..n {
                let (loss, a) = problem.loss(task.y[i], task.weights[i], scores[i]);
                primal += loss.value;
                (wanted[i], omega[i]) = (a, loss.curvature);
            }
            (primal, wanted, omega)
        };
        let mut scores = image(&alpha);
        let (mut primal, mut wanted, mut omega) = look(&alpha, &scores);
        for _ in 0..STEPS {
            // d = wanted - alpha - omega K d, in unknowns that make it symmetric; samples without curvature go where they want to be.
            let mut idle = vec![0.0; n];
            (0..n).filter(|&i| omega[i] <= 0.0).for_each(|i| idle[i] = wanted[i] - alpha[i]);
            let at_idle = if idle.iter().any(|&d| d != 0.0) { image(&idle) } else { vec![0.0; n] };
            let roots: Vec<f64> = omega.iter().map(|omega| omega.max(0.0).sqrt()).collect();
            let right: Vec<f64> =
                (0..n).map(|i| if roots[i] > 0.0 { (wanted[i] - alpha[i]) / roots[i] - roots[i] * at_idle[i] } else { 0.0 }).collect();
            let diagonal: Vec<f64> = (0..n).map(|i| 1.0 + omega[i] * (kernel[i * n + i] + variance)).collect();
            let apply = |x: &[f64]| {
                let scaled: Vec<f64> = x.iter().zip(&roots).map(|(x, root)| x * root).collect();
                let mut out = image(&scaled);
                out.iter_mut().zip(&roots).zip(x).for_each(|((out, root), x)| *out = x + root * *out);
                out
            };
            let solved =
                conjugate_gradients(&right, Some(&diagonal), accuracy.sqrt().min(0.1), KRYLOV_STEPS, || problem.halted_after_pass(), apply);
            let step: Vec<f64> = (0..n).map(|i| if roots[i] > 0.0 { roots[i] * solved[i] } else { idle[i] }).collect();
            let moved = image(&step);
            let slope: f64 = -(0..n).map(|i| (wanted[i] - alpha[i]) * moved[i]).sum::<f64>();
            // Where the kernel matrix is next to nothing the primal hardly hears of the coefficients; the features' sums do.
            let (far, size) = (0..n).fold((0.0, 0.0), |(far, size), i| (far + (wanted[i] - alpha[i]).powi(2), size + wanted[i].powi(2)));
            if !slope.is_finite() || (slope >= -accuracy * primal.abs() && far <= accuracy * size) {
                break;
            }
            let rounding = ROUNDING * primal.abs();
            let mut part = 1.0;
            let mut found = None;
            for _ in 0..HALVINGS {
                let next: Vec<f64> = alpha.iter().zip(&step).map(|(a, d)| a + part * d).collect();
                let at: Vec<f64> = scores.iter().zip(&moved).map(|(f, d)| f + part * d).collect();
                let seen = look(&next, &at);
                if seen.0 <= primal + DECREASE * part * slope + rounding {
                    found = Some((next, at, seen));
                    break;
                }
                part *= 0.5;
            }
            let Some((next, at, seen)) = found else { break };
            (alpha, scores) = (next, at);
            (primal, wanted, omega) = seen;
            if problem.halted_after_pass() {
                break;
            }
        }
        Machine { alpha, scores, primal }
    }
}
