//! The exact finish of [`super`]: a primal-dual active set iteration as in `polish`, for the commonest problem in its shortest form.

use crate::kernel::KernelRows;
use crate::linalg::Bordered;
use crate::simd::{Isa, sweep};
use crate::solver::dual::DualProblem;

/// Free variables up to which the small system is the quicker one; their number may grow from round to round.
const MOST_FREE: usize = 150;
/// Two are usual.
const MOST_ROUNDS: usize = 8;

/// The point with exact conditions near `b`, whose gradient is known, and its gradient computed anew; none if it was not found.
pub(super) fn finish(
    rows: &dyn KernelRows<f64>,
    problem: &DualProblem<'_>,
    b: &[f64],
    gradient: &[f64],
    isa: Isa,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let n = b.len();
    let row = |i: usize| rows.resident(i).map(|row| &row[..n]);
    let (mut point, mut g) = (b.to_vec(), gradient.to_vec());
    let mut free: Vec<usize> = (0..n).filter(|&i| problem.lower[i] < b[i] && b[i] < problem.upper[i]).collect();
    let (mut next, mut clipped) = (Vec::with_capacity(n), Vec::new());
    let mut system = Bordered::new();
    for _ in 0..MOST_ROUNDS {
        if free.is_empty() || free.len() > MOST_FREE {
            return None;
        }
        system.clear(free.len());
        for (f, &i) in free.iter().enumerate() {
            let row = row(i)?;
            system.set(f, free[f..].iter().map(|&e| row[e]), -g[i]);
        }
        // What the fixed variables took out of the sum must come back.
        let missing: f64 = b.iter().zip(&point).map(|(before, now)| before - now).sum();
        let (moves, rho) = system.solve(missing)?;
        let left = (missing - moves.iter().sum::<f64>()) / free.len() as f64;
        free.iter().zip(&moves).for_each(|(&i, step)| point[i] += step + left);
        add_rows(isa, &mut g, &free, &moves, row)?;
        // Fix what left its box, free what wants to leave its bound.
        let mut was_free = free.iter().copied().peekable();
        next.clear();
        clipped.clear();
        let mut changed = false;
        for i in 0..n {
            let (low, high, at) = (problem.lower[i], problem.upper[i], point[i]);
            if was_free.next_if_eq(&i).is_some() {
                if low < at && at < high {
                    next.push(i);
                } else {
                    point[i] = at.clamp(low, high);
                    clipped.push((i, point[i] - at));
                }
            } else {
                let tiny = 1e-12 * (1.0 + g[i].abs());
                if (at < high && g[i] < rho - tiny) || (at > low && g[i] > rho + tiny) {
                    next.push(i);
                    changed = true;
                }
            }
        }
        if !changed && clipped.is_empty() {
            let mut exact = rows.product(&point);
            exact.iter_mut().zip(problem.linear).for_each(|(sum, linear)| *sum += linear);
            return Some((point, exact));
        }
        let (places, steps): (Vec<usize>, Vec<f64>) = clipped.iter().copied().unzip();
        add_rows(isa, &mut g, &places, &steps, row)?;
        std::mem::swap(&mut free, &mut next);
    }
    None
}

/// `to += sum of steps times rows`, four rows in one visit.
fn add_rows<'r>(isa: Isa, to: &mut [f64], places: &[usize], steps: &[f64], row: impl Fn(usize) -> Option<&'r [f64]>) -> Option<()> {
    let ((fours, rest), (of_fours, of_rest)) = (places.as_chunks::<4>(), steps.as_chunks::<4>());
    for ([a, b, c, d], factors) in fours.iter().zip(of_fours) {
        sweep::add_scaled(isa, to, *factors, [row(*a)?, row(*b)?, row(*c)?, row(*d)?]);
    }
    for (&place, &factor) in rest.iter().zip(of_rest) {
        sweep::add_scaled(isa, to, [factor], [row(place)?]);
    }
    Some(())
}
