//! A Cholesky factor whose rows come and go: neighboring problems differ in a few variables, which cost `O(m^2)` each instead of the
//! `O(m^3)` of a new factor.

use super::cholesky::{cholesky, dot};
use crate::simd::{Isa, Job, Real, Simd};

/// The factor `L` of a symmetric positive definite matrix, with room for more rows.
#[derive(Clone, Debug)]
pub(crate) struct UpdatedFactor {
    /// Lower triangle, row-major, `stride` apart.
    values: Vec<f64>,
    stride: usize,
    len: usize,
}

/// Solves `L x = b` in place, rows of `L` so far apart: plain loops, compiled for every instruction set.
struct Forward<'a>(&'a [f64], usize, &'a mut [f64]);

impl Job<f64> for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) {
        let Forward(factor, stride, x) = self;
        for i in 0..x.len() {
            let row = &factor[i * stride..][..=i];
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
    }
}

impl UpdatedFactor {
    /// Factors the lower triangle of the row-major `m x m` matrix; `None` where it is not positive definite beyond rounding.
    pub fn new(mut matrix: Vec<f64>, m: usize) -> Option<Self> {
        if !cholesky(&mut matrix, m) {
            return None;
        }
        // Room for variables to come.
        let stride = m + m / 4 + 16;
        let mut wide = vec![0.0; stride * stride];
        wide.chunks_exact_mut(stride).zip(matrix.chunks_exact(m)).for_each(|(to, from)| to[..m].copy_from_slice(from));
        Some(Self { values: wide, stride, len: m })
    }

    /// Rows there is room for.
    pub fn capacity(&self) -> usize {
        self.stride
    }

    /// Adds a row: its values at the rows there are, by place, and on the diagonal. `false`, and nothing added, where what is left of the
    /// diagonal is below `least`. There must be room.
    pub fn append(&mut self, value: impl Fn(usize) -> f64, diagonal: f64, least: f64) -> bool {
        let m = self.len;
        let (head, tail) = self.values.split_at_mut(m * self.stride);
        let new = &mut tail[..=m];
        for f in 0..m {
            new[f] = value(f);
        }
        f64::dispatch(Isa::detect(), Forward(head, self.stride, &mut new[..m]));
        let pivot = diagonal - dot(&new[..m], &new[..m]);
        if pivot.is_nan() || pivot < least {
            return false;
        }
        new[m] = pivot.sqrt();
        self.len += 1;
        true
    }

    /// Solves `L L' x = b` in place.
    pub fn solve(&self, x: &mut [f64]) {
        /// Plain loops, compiled for every instruction set.
        struct Solve<'a>(&'a [f64], usize, &'a mut [f64]);
        impl Job<f64> for Solve<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd<f64>>(self, simd: S) {
                let Solve(factor, stride, x) = self;
                Forward(factor, stride, x).run(simd);
                for i in (0..x.len()).rev() {
                    let row = &factor[i * stride..][..=i];
                    let value = x[i] / row[i];
                    x[i] = value;
                    let (x, row) = (&mut x[..i], &row[..i]);
                    for j in 0..i {
                        x[j] -= value * row[j];
                    }
                }
            }
        }
        f64::dispatch(Isa::detect(), Solve(&self.values, self.stride, x));
    }

    /// Takes row `gone` out of the factor: what its column held below the diagonal is a rank-one update of the rows that follow.
    ///
    /// Each row takes the rotations of the rows before it, in order, and then makes its own. Four rows go side by side: their chains
    /// are independent, and one chain alone would wait for every product.
    pub fn remove(&mut self, gone: usize) {
        const SIDE_BY_SIDE: usize = 4;
        let (m, stride, values) = (self.len, self.stride, &mut self.values);
        let mut turns: Vec<(f64, f64)> = Vec::with_capacity(m - gone);
        let mut i = gone + 1;
        while i < m {
            let count = SIDE_BY_SIDE.min(m - i);
            let done = turns.len();
            let mut rests = [0.0; SIDE_BY_SIDE];
            for (r, rest) in rests.iter_mut().enumerate().take(count) {
                let row = (i + r) * stride;
                *rest = values[row + gone];
                values.copy_within(row..row + gone, row - stride);
            }
            if count == SIDE_BY_SIDE {
                // A row moves up by one and left by one: what is overwritten was read the step before.
                let block = &mut values[(i - 1) * stride..(i + SIDE_BY_SIDE) * stride];
                let (zero, block) = block.split_at_mut(stride);
                let (one, block) = block.split_at_mut(stride);
                let (two, block) = block.split_at_mut(stride);
                let (three, four) = block.split_at_mut(stride);
                let [mut a, mut b, mut c, mut d] = rests;
                for (&(cosine, sine), j) in turns.iter().zip(gone + 1..) {
                    let (x, y, z, w) = (one[j], two[j], three[j], four[j]);
                    zero[j - 1] = cosine * x + sine * a;
                    one[j - 1] = cosine * y + sine * b;
                    two[j - 1] = cosine * z + sine * c;
                    three[j - 1] = cosine * w + sine * d;
                    a = cosine * a - sine * x;
                    b = cosine * b - sine * y;
                    c = cosine * c - sine * z;
                    d = cosine * d - sine * w;
                }
                rests = [a, b, c, d];
            }
            // The rotations of this block's own rows, or all of them at the end.
            for r in 0..count {
                let (row, from) = ((i + r) * stride, if count == SIDE_BY_SIDE { done } else { 0 });
                let mut rest = rests[r];
                for (&(cosine, sine), j) in turns[from..].iter().zip(gone + 1 + from..i + r) {
                    let value = values[row + j];
                    values[row - stride + j - 1] = cosine * value + sine * rest;
                    rest = cosine * rest - sine * value;
                }
                let diagonal = values[row + i + r];
                let radius = diagonal.hypot(rest);
                values[row - stride + i + r - 1] = radius;
                turns.push((diagonal / radius, rest / radius));
            }
            i += count;
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_factor_without_a_row_is_the_factor_of_the_rest() {
        let m = 23;
        let mut random = Random::new(1, 0);
        let half: Vec<f64> = (0..m * m).map(|_| random.normal()).collect();
        let entry = |i: usize, j: usize| dot(&half[i * m..(i + 1) * m], &half[j * m..(j + 1) * m]) + if i == j { 0.1 } else { 0.0 };
        for gone in [0, 4, 17, 22] {
            let matrix: Vec<f64> = (0..m * m).map(|at| entry(at / m, at % m)).collect();
            let mut factor = UpdatedFactor::new(matrix, m).unwrap();
            factor.remove(gone);
            let mut kept: Vec<usize> = (0..m).filter(|&i| i != gone).collect();
            if gone == 4 {
                // And it comes back, at the end.
                assert!(factor.append(|f| entry(gone, kept[f]), entry(gone, gone), 0.0));
                kept.push(gone);
            }
            assert_eq!(factor.len, kept.len());
            let row = |a: usize| &factor.values[a * factor.stride..];
            for (a, &i) in kept.iter().enumerate() {
                for (b, &j) in kept[..=a].iter().enumerate() {
                    let product: f64 = (0..=b).map(|k| row(a)[k] * row(b)[k]).sum();
                    assert!((product - entry(i, j)).abs() < 1e-12, "{gone}: {i}, {j}");
                }
            }
        }
    }
}
