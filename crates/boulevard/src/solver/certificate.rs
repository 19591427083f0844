//! How good a point is: objective, KKT violation, duality gap. Needs nothing but the point and its gradient.
//!
//! With multiplier `rho` of the equality, weak duality gives for a convex problem
//! ```text
//! objective(b) - optimum  <=  sum_i  [ (g_i - rho) b_i + kink |b_i| ]  -  min over lower <= t <= upper of [ (g_i - rho) t + kink |t| ]
//! ```
//! a sum of terms that are never negative, so nothing cancels.

use super::dual::DualProblem;

pub(super) struct Certificate {
    pub offsets: [f64; 2],
    pub objective: f64,
    pub violation: f64,
    pub gap: f64,
}

/// Judges `b` with gradient `g = K b + linear`.
pub(super) fn certify(problem: &DualProblem<'_>, b: &[f64], g: &[f64]) -> Certificate {
    let (offsets, violation) = multipliers(problem, b, g);
    let mut objective = 0.0;
    let mut gap = 0.0;
    for i in 0..b.len() {
        objective += 0.5 * b[i] * (g[i] + problem.linear[i]) + problem.kink * b[i].abs();
        let slope = g[i] - offsets[usize::from(problem.in_second_group(i))];
        let cost = |t: f64| slope * t + problem.kink * t.abs();
        // A piecewise linear cost is least at a bound or at the kink.
        let mut least = cost(problem.lower[i]).min(cost(problem.upper[i]));
        if problem.lower[i] <= 0.0 && problem.upper[i] >= 0.0 {
            least = least.min(0.0);
        }
        gap += cost(b[i]) - least;
    }
    // The primal objective is the dual one plus the gap, up to sign conventions: compare with the larger of the two.
    let scale = objective.abs().max((objective - gap).abs()).max(f64::MIN_POSITIVE);
    Certificate { offsets, objective, violation, gap: gap / scale }
}

/// Roundings of the largest variable within which a bound is meant.
const MEANT: f64 = 64.0 * f64::EPSILON;

/// Puts variables that only roundings keep from a bound, or from the kink, exactly there.
///
/// Steps keep the sum of all variables up to roundings, which gather in whichever variable the last step cut. It would count as free, and where
/// no other is, it alone would say where the offset lies: at one end or the other of its interval, by the last bit.
pub(super) fn settle(problem: &DualProblem<'_>, b: &mut [f64]) {
    // A bound that nobody comes near says nothing about the size of roundings.
    let largest = b.iter().fold(0.0, |most: f64, b| most.max(b.abs()));
    for (b, (&lower, &upper)) in b.iter_mut().zip(problem.lower.iter().zip(problem.upper)) {
        let near = MEANT * largest.min(upper - lower);
        if *b - lower <= near {
            *b = lower;
        } else if upper - *b <= near {
            *b = upper;
        } else if problem.kink > 0.0 && b.abs() <= near {
            *b = 0.0;
        }
    }
}

/// Draws a point that is worse than zero back to the best one on the way there. Steps at bounds beyond all digits may be lost in rounding, and
/// nothing is better than what they leave. Whether it was one.
pub(super) fn draw_back(problem: &DualProblem<'_>, b: &mut [f64], g: &mut [f64]) -> bool {
    let (mut square, mut rest) = (0.0, 0.0);
    for i in 0..b.len() {
        square += b[i] * (g[i] - problem.linear[i]);
        rest += b[i] * problem.linear[i] + problem.kink * b[i].abs();
    }
    let objective = 0.5 * square + rest;
    // What is no number at all is an error, and others say so.
    if objective <= 0.0 || !objective.is_finite() {
        return false;
    }
    let share = (-rest / square).max(0.0);
    for i in 0..b.len() {
        (b[i], g[i]) = (share * b[i], problem.linear[i] + share * (g[i] - problem.linear[i]));
    }
    true
}

/// Derivatives of the objective when a variable at `b` with gradient `g` grows and when it falls.
pub(super) fn slopes(problem: &DualProblem<'_>, b: f64, g: f64) -> (f64, f64) {
    let up = if b >= 0.0 { g + problem.kink } else { g - problem.kink };
    let low = if b > 0.0 { g + problem.kink } else { g - problem.kink };
    (up, low)
}

/// The largest violation of the KKT conditions alone.
pub(super) fn violation(problem: &DualProblem<'_>, b: &[f64], g: &[f64]) -> f64 {
    multipliers(problem, b, g).1
}

/// The multiplier of each sum and the largest violation of the KKT conditions.
fn multipliers(problem: &DualProblem<'_>, b: &[f64], g: &[f64]) -> ([f64; 2], f64) {
    let mut offsets = [0.0; 2];
    let mut violation = 0.0f64;
    let groups = if matches!(problem.equality, super::Equality::TwoSums(_)) { 2 } else { 1 };
    for group in 0..groups {
        let (mut least_up, mut most_low) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut free_sum, mut free_count) = (0.0, 0usize);
        let bounds = problem.lower.iter().zip(problem.upper);
        for (i, ((&b, &g), (&lower, &upper))) in b.iter().zip(g).zip(bounds).enumerate() {
            if groups == 2 && usize::from(problem.in_second_group(i)) != group {
                continue;
            }
            // Which of the cases a variable is hardly follows a pattern: values that do not count are better than branches.
            let (up, low) = slopes(problem, b, g);
            let (can_grow, can_fall) = (b < upper, b > lower);
            least_up = least_up.min(if can_grow { up } else { f64::INFINITY });
            most_low = most_low.max(if can_fall { low } else { f64::NEG_INFINITY });
            let free = can_grow & can_fall & ((b != 0.0) | (problem.kink == 0.0));
            free_sum += if free { up } else { 0.0 };
            free_count += usize::from(free);
        }
        match problem.equality {
            super::Equality::Free => {
                // Without an equality the multiplier is zero and every slope must point out of the box.
                violation = violation.max(-least_up).max(most_low);
            }
            _ => {
                // Bounds of the multiplier; free variables agree on it up to the tolerance.
                offsets[group] = if free_count > 0 {
                    free_sum / free_count as f64
                } else if least_up.is_finite() && most_low.is_finite() {
                    0.5 * (least_up + most_low)
                } else if least_up.is_finite() {
                    least_up
                } else if most_low.is_finite() {
                    most_low
                } else {
                    0.0
                };
                if least_up.is_finite() && most_low.is_finite() {
                    violation = violation.max(most_low - least_up);
                }
            }
        }
    }
    if groups == 1 {
        offsets[1] = offsets[0];
    }
    (offsets, violation.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::dual::Equality;

    #[test]
    fn a_point_worse_than_zero_is_drawn_back() {
        let (lower, upper) = ([0.0, -1e9], [1e9, 0.0]);
        let problem = DualProblem { linear: &[-1.0, 1.0], lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: None };
        // K is the identity: the objective b^2 - 2 b of (b, -b) is least at 1.
        for (b, expected) in [(4.0, 1.0), (1.5, 1.5), (2f64.powi(500), 1.0)] {
            let (mut point, mut gradient) = ([b, -b], [b - 1.0, 1.0 - b]);
            assert_eq!(draw_back(&problem, &mut point, &mut gradient), b != expected);
            assert_eq!((point, gradient), ([expected, -expected], [expected - 1.0, 1.0 - expected]), "{b}");
        }
    }
}
