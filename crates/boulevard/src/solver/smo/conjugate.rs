//! Conjugate steps: a pair's step along a direction that does not undo what the steps before it gained.
//!
//! After an exact step along `p` the gradient is orthogonal to it. A plain step along the next pair `s = e_up - e_down` spoils that; a step
//! along `q = s - (s'Kp / p'Kp) p` keeps it, and falls further at the same slope because `q'Kq = s'Ks - (s'Kp)^2 / p'Kp` is smaller. It
//! pays far from the bounds, where a large C leaves most variables: a fifth fewer steps at C = 100 (Torres-Barran, Alaiz and Dorronsoro
//! 2021 have the method).

use super::moves::{Pair, inside};
use crate::solver::dual::DualProblem;

/// Pairs in a direction: with more of them a step costs more than it saves.
const MOST_PAIRS: usize = 10;
/// A direction that the last one contains almost entirely says nothing new.
const FRESH: f64 = 0.05;

/// A direction along which the last step was exact.
pub(super) struct Direction {
    /// Variables and how far they move per unit of step.
    moves: Vec<(usize, f64)>,
    /// `p'Kp`
    curvature: f64,
    pairs: usize,
}

impl Direction {
    pub(super) fn along(pair: &Pair) -> Self {
        let mut moves = Vec::with_capacity(2 * MOST_PAIRS);
        moves.extend([(pair.up, 1.0), (pair.down, -1.0)]);
        Self { moves, curvature: pair.curvature, pairs: 1 }
    }

    /// None once it has become too long to follow.
    pub(super) fn if_short(self) -> Option<Self> {
        (self.pairs < MOST_PAIRS).then_some(self)
    }

    /// Moves `b` along what `pair` adds to this direction, `across` being `s'Kp`. Gives the new direction, the step and the share of this
    /// direction that was taken out; nothing moves if a variable would reach a bound, or zero where there is a kink.
    pub(super) fn follow(mut self, problem: &DualProblem<'_>, b: &mut [f64], pair: &Pair, across: f64) -> Option<(Self, f64, f64)> {
        let share = across / self.curvature;
        let curvature = pair.curvature - across * share;
        if curvature < FRESH * pair.curvature {
            return None;
        }
        let step = pair.fall / curvature;
        self.moves.iter_mut().for_each(|(_, size)| *size *= -share);
        for (sample, size) in [(pair.up, 1.0), (pair.down, -1.0)] {
            match self.moves.iter_mut().find(|(other, _)| *other == sample) {
                Some((_, own)) => *own += size,
                None => self.moves.push((sample, size)),
            }
        }
        let allowed = |&(sample, size): &(usize, f64)| {
            let (from, to) = (b[sample], b[sample] + step * size);
            inside(problem, sample, to) && (problem.kink == 0.0 || from * to >= 0.0)
        };
        if !self.moves.iter().all(allowed) {
            return None;
        }
        self.moves.iter().for_each(|&(sample, size)| b[sample] += step * size);
        Some((Self { moves: self.moves, curvature, pairs: self.pairs + 1 }, step, share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::dual::Equality;

    const K: [[f64; 3]; 3] = [[2.0, 0.5, 0.3], [0.5, 1.0, -0.2], [0.3, -0.2, 1.5]];
    const LINEAR: [f64; 3] = [-1.0, 0.4, 0.7];

    fn gradient(b: &[f64]) -> [f64; 3] {
        std::array::from_fn(|i| LINEAR[i] + (0..3).map(|j| K[i][j] * b[j]).sum::<f64>())
    }

    fn pair(b: &[f64], up: usize, down: usize) -> Pair {
        let g = gradient(b);
        Pair { up, down, fall: g[down] - g[up], curvature: K[up][up] + K[down][down] - 2.0 * K[up][down] }
    }

    /// Three variables with a fixed sum: two conjugate steps are the optimum, two plain ones are not.
    #[test]
    fn two_steps_solve_a_problem_of_two_dimensions() {
        let problem = |[lower, upper]: &'static [[f64; 3]; 2]| DualProblem {
            linear: &LINEAR,
            lower,
            upper,
            kink: 0.0,
            equality: Equality::Sum,
            start: None,
        };
        let mut b = [0.0; 3];
        let first = pair(&b, 0, 2);
        let step = first.fall / first.curvature;
        (b[0], b[2]) = (b[0] + step, b[2] - step);
        let second = pair(&b, 1, 2);
        let trail: [f64; 3] = std::array::from_fn(|i| K[i][0] - K[i][2]);
        let across = trail[1] - trail[2];
        let narrow = problem(&[[-10.0, -0.001, -10.0], [10.0, 0.001, 10.0]]);
        let before = b;
        assert!(Direction::along(&first).follow(&narrow, &mut b, &second, across).is_none() && b == before, "a bound is in the way");
        let (direction, _, _) = Direction::along(&first).follow(&problem(&[[-10.0; 3], [10.0; 3]]), &mut b, &second, across).unwrap();
        let g = gradient(&b);
        assert!((g[0] - g[1]).abs() < 1e-12 && (g[0] - g[2]).abs() < 1e-12, "{g:?}");
        assert!(b.iter().sum::<f64>().abs() < 1e-12);
        assert_eq!((direction.moves.len(), direction.pairs), (3, 2));
    }
}
