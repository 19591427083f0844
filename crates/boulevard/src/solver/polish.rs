//! The exact finish: solve the optimality conditions of the free variables as linear equations.
//!
//! With `F` the variables strictly between their bounds (and, where there is a kink, off zero), the optimum satisfies
//! ```text
//! K_FF d - rho 1 = -(g_F + kink sign b_F),    1'd = 0        for the move d of the free variables, per sum that is kept
//! ```
//! A primal-dual active set iteration: solve, fix the variables that left their box at its side, free those at a bound whose slope is
//! wrong, until nothing changes (1 or 2 rounds from a solution at the default tolerance). The result is kept only if it is feasible and
//! its violation is smaller; otherwise the point stays as it was. No line search: clipping undoes the progress.

use super::certificate::{slopes, violation};
use super::dual::{DualProblem, Equality};
use super::source::{KernelSource, SMALL};
use crate::error::Result;
use crate::kernel::{self, KernelRows};
use crate::linalg;
use crate::simd::{Isa, sweep};

/// Free variables up to which a factorisation is cheap beside the steps before it.
const MOST_FREE: usize = 700;
const MOST_ROUNDS: usize = 12;

/// Improves `b` and its gradient if it can.
pub(super) fn polish(
    source: &dyn KernelSource,
    diagonal: &[f64],
    problem: &DualProblem<'_>,
    b: &mut Vec<f64>,
    gradient: &mut Vec<f64>,
) -> Result<()> {
    if b.len() <= SMALL { finish(&source.double()?, usize::MAX, diagonal, problem, b, gradient) } else { Ok(()) }
}

/// Kernel rows in double precision, however they are made.
pub(super) trait ExactRows {
    /// A row that is in memory.
    fn resident(&self, row: usize) -> Option<&[f64]>;
    /// Writes rows of `n` values; there is room for whole panels.
    fn fill(&self, rows: &[usize], n: usize, out: &mut [&mut [f64]]) -> Result<()>;
    /// `K b`
    fn product(&self, b: &[f64]) -> Result<Vec<f64>>;
}

impl ExactRows for &dyn KernelRows<f64> {
    fn resident(&self, row: usize) -> Option<&[f64]> {
        KernelRows::resident(*self, row)
    }

    fn fill(&self, rows: &[usize], n: usize, out: &mut [&mut [f64]]) -> Result<()> {
        KernelRows::fill(*self, rows, 0..n, out);
        Ok(())
    }

    fn product(&self, b: &[f64]) -> Result<Vec<f64>> {
        Ok(KernelRows::product(*self, b))
    }
}

/// The same for any number of samples, where few variables are free; at most so many values of their rows are kept.
pub(super) fn finish(
    rows: &dyn ExactRows,
    most_values: usize,
    diagonal: &[f64],
    problem: &DualProblem<'_>,
    b: &mut Vec<f64>,
    gradient: &mut Vec<f64>,
) -> Result<()> {
    let n = b.len();
    let start = violation(problem, b, gradient);
    if start == 0.0 {
        return Ok(());
    }
    let mut rows = FreeRows::new(rows, most_values, n);
    let most = MOST_FREE.min(most_values / n.max(1));
    let mut point = b.clone();
    let mut free = free_set(problem, &point);
    // Followed through the steps of a small problem it is exact enough to start from; what is kept at the end is computed anew.
    let mut known = Some(gradient.clone());
    let largest = diagonal.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    for _ in 0..MOST_ROUNDS {
        if free.is_empty() || free.len() > most {
            break;
        }
        rows.load(&free)?;
        let mut g = match known.take() {
            Some(gradient) => gradient,
            None => rows.gradient(problem, &point)?,
        };
        let matrix = rows.matrix(&free, 1e-11 * largest);
        let Some((moves, offsets)) = solve_free(problem, matrix, &free, &point, &g, b) else { break };
        for (&i, step) in free.iter().zip(&moves) {
            point[i] += step;
        }
        for f in 0..free.len() {
            sweep::add_scaled(Isa::detect(), &mut g, [moves[f]], [&rows.row(f)[..n]]);
        }
        // Fix what left its box, free what wants to leave its bound.
        let mut changed = false;
        let mut next = Vec::new();
        for i in 0..n {
            let (low, high) = piece(problem, b, i);
            let was_free = free.binary_search(&i).is_ok();
            if was_free {
                if point[i] <= low || point[i] >= high {
                    point[i] = point[i].clamp(low, high);
                    changed = true;
                } else {
                    next.push(i);
                }
            } else if low < high {
                let offset = offsets[usize::from(problem.in_second_group(i))];
                let (up, down) = slopes(problem, point[i], g[i]);
                let tiny = 1e-12 * (1.0 + g[i].abs());
                if (point[i] < problem.upper[i] && up < offset - tiny) || (point[i] > problem.lower[i] && down > offset + tiny) {
                    next.push(i);
                    changed = true;
                }
            }
        }
        if !changed {
            let g = rows.gradient(problem, &point)?;
            if violation(problem, &point, &g) < start {
                (*b, *gradient) = (point, g);
            }
            return Ok(());
        }
        free = next;
    }
    Ok(())
}

/// The interval in which the objective is smooth around the current value.
fn piece(problem: &DualProblem<'_>, b: &[f64], i: usize) -> (f64, f64) {
    let (low, high) = (problem.lower[i], problem.upper[i]);
    if problem.kink == 0.0 {
        (low, high)
    } else if b[i] > 0.0 {
        (low.max(0.0), high)
    } else if b[i] < 0.0 {
        (low, high.min(0.0))
    } else {
        // A variable at the kink stays there; the next round of steps may move it.
        (0.0, 0.0)
    }
}

fn free_set(problem: &DualProblem<'_>, b: &[f64]) -> Vec<usize> {
    (0..b.len())
        .filter(|&i| {
            let (low, high) = piece(problem, b, i);
            low < b[i] && b[i] < high
        })
        .collect()
}

/// Rows of the free variables in double precision; rows computed before are kept.
struct FreeRows<'a> {
    kernel: &'a dyn ExactRows,
    most_values: usize,
    width: usize,
    n: usize,
    have: Vec<usize>,
    values: Vec<f64>,
    order: Vec<usize>,
}

impl<'a> FreeRows<'a> {
    fn new(kernel: &'a dyn ExactRows, most_values: usize, n: usize) -> Self {
        Self { kernel, most_values, width: kernel::padded(n), n, have: Vec::new(), values: Vec::new(), order: Vec::new() }
    }

    fn load(&mut self, free: &[usize]) -> Result<()> {
        if free.iter().all(|&i| self.kernel.resident(i).is_some()) {
            self.order = free.to_vec();
            return Ok(());
        }
        let missing = |have: &[usize]| free.iter().copied().filter(|i| !have.contains(i)).collect::<Vec<usize>>();
        if (self.have.len() + missing(&self.have).len()) * self.n > self.most_values {
            (self.have, self.values) = (Vec::new(), Vec::new());
        }
        let missing = missing(&self.have);
        let old = self.values.len();
        self.values.resize(old + missing.len() * self.width, 0.0);
        let mut out: Vec<&mut [f64]> = self.values[old..].chunks_exact_mut(self.width).collect();
        self.kernel.fill(&missing, self.n, &mut out)?;
        self.have.extend(missing);
        self.order = free.iter().map(|i| self.have.iter().position(|h| h == i).expect("just loaded")).collect();
        Ok(())
    }

    /// The row of the `f`th free variable.
    fn row(&self, f: usize) -> &[f64] {
        match self.kernel.resident(self.order[f]) {
            Some(row) if self.have.is_empty() => &row[..self.n],
            _ => &self.values[self.order[f] * self.width..self.order[f] * self.width + self.n],
        }
    }

    /// The lower triangle of the free variables' matrix, with a ridge.
    fn matrix(&self, free: &[usize], ridge: f64) -> Vec<f64> {
        let m = free.len();
        let mut a = vec![0.0; m * m];
        for f in 0..m {
            let row = self.row(f);
            for (e, &i) in free[..=f].iter().enumerate() {
                a[f * m + e] = row[i];
            }
            a[f * m + f] += ridge;
        }
        a
    }

    fn gradient(&self, problem: &DualProblem<'_>, b: &[f64]) -> Result<Vec<f64>> {
        let mut sums = self.kernel.product(b)?;
        sums.iter_mut().zip(problem.linear).for_each(|(s, q)| *s += q);
        Ok(sums)
    }
}

/// The moves of the free variables and the multipliers, from the lower triangle `a` of the free variables' kernel matrix; `None` where the
/// system is too singular.
pub(super) fn solve_free(
    problem: &DualProblem<'_>,
    mut a: Vec<f64>,
    free: &[usize],
    point: &[f64],
    g: &[f64],
    original: &[f64],
) -> Option<(Vec<f64>, [f64; 2])> {
    let m = free.len();
    if !linalg::cholesky(&mut a, m) {
        return None;
    }
    let sign = |i: usize| if original[i] > 0.0 { problem.kink } else { -problem.kink };
    let mut u: Vec<f64> = free.iter().map(|&i| -(g[i] + if problem.kink == 0.0 { 0.0 } else { sign(i) })).collect();
    linalg::solve(&a, m, &mut u);
    let mut offsets = [0.0; 2];
    let groups: &[bool] = match problem.equality {
        Equality::Free => return Some((u, offsets)),
        Equality::Sum => &[false],
        Equality::TwoSums(_) => &[false, true],
    };
    // One unknown multiplier per sum: d = u + rho v with v = K_FF^-1 1 over the group. With two groups the systems are coupled.
    let vs: Vec<Vec<f64>> = groups
        .iter()
        .map(|&group| {
            let mut v: Vec<f64> =
                free.iter().map(|&i| if groups.len() == 1 || problem.in_second_group(i) == group { 1.0 } else { 0.0 }).collect();
            linalg::solve(&a, m, &mut v);
            v
        })
        .collect();
    let in_group = |i: usize, group: bool| groups.len() == 1 || problem.in_second_group(i) == group;
    let total = |values: &[f64], group: bool| free.iter().zip(values).filter(|(i, _)| in_group(**i, group)).map(|(_, v)| v).sum::<f64>();
    // What the fixed variables took out of the sum must come back.
    let missing = |group: bool| (0..point.len()).filter(|&i| in_group(i, group)).map(|i| original[i] - point[i]).sum::<f64>();
    if groups.len() == 1 {
        let s = total(&vs[0], false);
        if s.is_nan() || s <= 0.0 {
            return None;
        }
        let rho = (missing(false) - total(&u, false)) / s;
        offsets = [rho, rho];
        u.iter_mut().zip(&vs[0]).for_each(|(u, v)| *u += rho * v);
    } else {
        let (a00, a01, a10, a11) = (total(&vs[0], false), total(&vs[1], false), total(&vs[0], true), total(&vs[1], true));
        let (r0, r1) = (missing(false) - total(&u, false), missing(true) - total(&u, true));
        let determinant = a00 * a11 - a01 * a10;
        if determinant.is_nan() || determinant.abs() < 1e-300 {
            return None;
        }
        offsets = [(r0 * a11 - r1 * a01) / determinant, (a00 * r1 - a10 * r0) / determinant];
        for ((u, v0), v1) in u.iter_mut().zip(&vs[0]).zip(&vs[1]) {
            *u += offsets[0] * v0 + offsets[1] * v1;
        }
    }
    // A nearly singular system leaves rounding in the sums: spread it out.
    for &group in groups {
        let members = free.iter().filter(|&&i| in_group(i, group)).count();
        if members > 0 {
            let error = (missing(group) - total(&u, group)) / members as f64;
            for (u, _) in u.iter_mut().zip(free).filter(|(_, i)| in_group(**i, group)) {
                *u += error;
            }
        }
    }
    Some((u, offsets))
}
