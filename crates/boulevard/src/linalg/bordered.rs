//! Small linear systems with one condition on the sum of the unknowns: what the exact finish of small problems solves in every round.
//!
//! ```text
//! K d - rho 1 = r,   1'd = s        K = U'U,   z = U'^-1 r,   w = U'^-1 1,   rho = (s - w'z) / w'w,   U d = z + rho w
//! ```
//! The right sides `r` and `1` are two more columns of the matrix, so that factoring it solves for `z` and `w` on the way, and one
//! substitution is left. Rows are updated by vectors over their columns, four pivots at a time: with 48 unknowns in 4.4 us where a factor by
//! blocks with its four substitutions takes 7.4; from 150 on the factor by blocks is faster.

use crate::simd::{Isa, Job, Real, Simd};

/// Pivots whose share rows lose in one visit.
const TOGETHER: usize = 4;
/// Rows are padded to a multiple of every register's lanes.
const PADDED: usize = 16;
/// Where a pivot falls below this share of the largest diagonal value, fewer digits are left of the unknowns than anybody would call exact.
const LEAST: f64 = 1e-9;

/// The upper triangle of a symmetric matrix with two columns more, row-major.
pub(crate) struct Bordered {
    values: Vec<f64>,
    unknowns: usize,
    stride: usize,
}

impl Bordered {
    /// A system of so many unknowns, all zeros, in the memory of this one.
    pub(crate) fn clear(&mut self, unknowns: usize) {
        (self.unknowns, self.stride) = (unknowns, (unknowns + 2).next_multiple_of(PADDED));
        self.values.clear();
        self.values.resize(unknowns * self.stride, 0.0);
    }

    /// No unknowns yet.
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), unknowns: 0, stride: PADDED }
    }

    /// Sets a row: its values from the diagonal on, and its right side.
    pub(crate) fn set(&mut self, row: usize, from_diagonal: impl Iterator<Item = f64>, right: f64) {
        let values = &mut self.values[row * self.stride..][..self.stride];
        values[row..self.unknowns].iter_mut().zip(from_diagonal).for_each(|(to, value)| *to = value);
        (values[self.unknowns], values[self.unknowns + 1]) = (right, 1.0);
    }

    /// The unknowns with sum `sum`, and the multiplier `rho`; none where the matrix is nearly singular. The system is spoilt.
    pub(crate) fn solve(&mut self, sum: f64) -> Option<(Vec<f64>, f64)> {
        f64::dispatch(Isa::detect(), Solve { system: self, sum })
    }
}

struct Solve<'a> {
    system: &'a mut Bordered,
    sum: f64,
}

impl Job<f64> for Solve<'_> {
    type Output = Option<(Vec<f64>, f64)>;

    #[inline(always)]
    fn run<S: Simd<f64>>(self, simd: S) -> Self::Output {
        let Bordered { values, unknowns, stride } = self.system;
        let (simd, m, stride) = (simd.one(), *unknowns, *stride);
        let least = LEAST * (0..m).map(|i| values[i * stride + i]).fold(0.0, f64::max);
        for first in (0..m).step_by(TOGETHER) {
            let count = TOGETHER.min(m - first);
            let (head, tail) = values.split_at_mut((first + count) * stride);
            let block = &mut head[first * stride..];
            if !factor_rows(simd, block, first, stride, least) {
                return None;
            }
            if count == TOGETHER {
                let (pair, other) = block.split_at(2 * stride);
                let ((a, b), (c, d)) = (pair.split_at(stride), other.split_at(stride));
                for (i, row) in (first + count..m).zip(tail.chunks_exact_mut(stride)) {
                    subtract(simd, row, i, [a, b, c, d]);
                }
            }
        }
        let sums = values.chunks_exact(stride).fold((0.0, 0.0), |(mixed, ones), row| {
            let (z, w) = (row[m], row[m + 1]);
            (mixed + z * w, ones + w * w)
        });
        if sums.1.is_nan() || sums.1 <= 0.0 {
            return None;
        }
        let rho = (self.sum - sums.0) / sums.1;
        Some((substitute(simd, values, m, stride, rho), rho))
    }
}

/// The first column of the register that column `column` is in: what lies left of the diagonal means nothing and may be spoilt.
#[inline(always)]
fn register<S: Simd<f64>>(column: usize) -> usize {
    column / S::LANES * S::LANES
}

/// Factors some rows of which those before `first` have had their share; `false` where a pivot is too small.
#[inline(always)]
fn factor_rows<S: Simd<f64>>(simd: S, rows: &mut [f64], first: usize, stride: usize, least: f64) -> bool {
    let from = register::<S>(first);
    for j in 0..rows.len() / stride {
        let (above, own) = rows.split_at_mut(j * stride);
        let row = &mut own[..stride];
        for above in above.chunks_exact(stride) {
            let factor = simd.splat(-above[first + j]);
            for (to, from) in row[from..].chunks_exact_mut(S::LANES).zip(above[from..].chunks_exact(S::LANES)) {
                simd.store(simd.fma(factor, simd.load(from), simd.load(to)), to);
            }
        }
        let pivot = row[first + j];
        if pivot.is_nan() || pivot <= least {
            return false;
        }
        let factor = simd.splat(1.0 / pivot.sqrt());
        row[from..].chunks_exact_mut(S::LANES).for_each(|to| simd.store(simd.mul(factor, simd.load(to)), to));
    }
    true
}

/// Takes the share of four factored rows out of row `i`.
#[inline(always)]
fn subtract<S: Simd<f64>>(simd: S, row: &mut [f64], i: usize, above: [&[f64]; TOGETHER]) {
    let from = register::<S>(i);
    let [a, b, c, d] = above;
    let factors = [simd.splat(-a[i]), simd.splat(-b[i]), simd.splat(-c[i]), simd.splat(-d[i])];
    let pairs = a[from..].chunks_exact(S::LANES).zip(b[from..].chunks_exact(S::LANES));
    let others = c[from..].chunks_exact(S::LANES).zip(d[from..].chunks_exact(S::LANES));
    for ((to, (a, b)), (c, d)) in row[from..].chunks_exact_mut(S::LANES).zip(pairs).zip(others) {
        let value = simd.fma(factors[0], simd.load(a), simd.load(to));
        let value = simd.fma(factors[1], simd.load(b), value);
        let value = simd.fma(factors[2], simd.load(c), value);
        simd.store(simd.fma(factors[3], simd.load(d), value), to);
    }
}

/// Solves `U d = z + rho w`.
#[inline(always)]
fn substitute<S: Simd<f64>>(simd: S, factor: &[f64], m: usize, stride: usize, rho: f64) -> Vec<f64> {
    // Places that are not known yet are zero.
    let mut d = vec![0.0; stride];
    for (j, row) in factor.chunks_exact(stride).enumerate().rev() {
        let from = register::<S>(j);
        let mut sum = simd.splat(0.0);
        for (row, d) in row[from..].chunks_exact(S::LANES).zip(d[from..].chunks_exact(S::LANES)) {
            sum = simd.fma(simd.load(row), simd.load(d), sum);
        }
        d[j] = (row[m] + rho * row[m + 1] - total(simd, sum)) / row[j];
    }
    d.truncate(m);
    d
}

/// The sum of a register's values, halves by halves.
#[inline(always)]
fn total<S: Simd<f64>>(simd: S, register: S::V) -> f64 {
    let mut values = [0.0; PADDED];
    simd.store(register, &mut values);
    let mut half = S::LANES / 2;
    while half > 0 {
        for i in 0..half {
            values[i] += values[i + half];
        }
        half /= 2;
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_conditions_hold() {
        let mut random = Random::new(0, 0);
        for m in [1, 2, 3, 4, 5, 15, 16, 31, 48, 61] {
            let half: Vec<f64> = (0..m * m).map(|_| random.normal()).collect();
            let value =
                |i: usize, j: usize| (0..m).map(|k| half[i * m + k] * half[j * m + k]).sum::<f64>() + if i == j { 1.0 } else { 0.0 };
            let right: Vec<f64> = (0..m).map(|_| random.normal()).collect();
            let mut system = Bordered::new();
            system.clear(m + 3);
            system.clear(m);
            (0..m).for_each(|i| system.set(i, (i..m).map(|j| value(i, j)), right[i]));
            let (d, rho) = system.solve(0.7).expect("it is positive definite");
            assert!((d.iter().sum::<f64>() - 0.7).abs() < 1e-10, "m = {m}");
            for i in 0..m {
                let found = (0..m).map(|j| value(i, j) * d[j]).sum::<f64>() - rho;
                assert!((found - right[i]).abs() < 1e-9, "m = {m}");
            }
        }
    }

    #[test]
    fn equal_rows_are_refused() {
        let mut system = Bordered::new();
        system.clear(5);
        (0..5).for_each(|i| system.set(i, (i..5).map(|_| 1.0), 1.0));
        assert!(system.solve(0.0).is_none());
    }
}
