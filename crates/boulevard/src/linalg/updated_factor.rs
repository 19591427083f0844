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

/// Solves `L x = b` in place for several right sides, rows of `L` so far apart: plain loops, compiled for every instruction set.
///
/// A large factor comes from memory: the right sides take each of its rows in turn, so that it comes once for all of them.
struct Forward<'a, 'x>(&'a [f64], usize, &'a mut [&'x mut [f64]]);

impl Job<f64> for Forward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) {
        let Forward(factor, stride, sides) = self;
        for i in 0..sides.first().map_or(0, |x| x.len()) {
            let row = &factor[i * stride..][..=i];
            for x in sides.iter_mut() {
                x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
            }
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

    /// Adds `count` rows, `value(row, f)` their values at the places `f` up to and including their own. `false` where what is left of a
    /// diagonal is below `least`: the rows before that one are added. There must be room.
    pub fn append(&mut self, count: usize, value: impl Fn(usize, usize) -> f64, least: f64) -> bool {
        let (m, stride) = (self.len, self.stride);
        let (head, tail) = self.values.split_at_mut(m * stride);
        let mut new: Vec<&mut [f64]> = tail.chunks_exact_mut(stride).take(count).collect();
        for (r, row) in new.iter_mut().enumerate() {
            row[..=m + r].iter_mut().enumerate().for_each(|(f, to)| *to = value(r, f));
        }
        let mut sides: Vec<&mut [f64]> = new.iter_mut().map(|row| &mut row[..m]).collect();
        f64::dispatch(Isa::detect(), Forward(head, stride, &mut sides));
        for r in 0..count {
            let (before, row) = new.split_at_mut(r);
            let row = &mut row[0];
            for (i, other) in (m..).zip(before.iter()) {
                row[i] = (row[i] - dot(&other[..i], &row[..i])) / other[i];
            }
            let pivot = row[m + r] - dot(&row[..m + r], &row[..m + r]);
            if pivot.is_nan() || pivot < least {
                return false;
            }
            row[m + r] = pivot.sqrt();
            self.len += 1;
        }
        true
    }

    /// Solves `L y = b` in place for several right sides: inner products of such `y` are those of `b` with the inverse of the matrix between.
    pub fn forward(&self, sides: &mut [&mut [f64]]) {
        f64::dispatch(Isa::detect(), Forward(&self.values, self.stride, sides));
    }

    /// Solves `L' x = y` in place.
    pub fn backward(&self, y: &mut [f64]) {
        /// Plain loops, compiled for every instruction set.
        struct Backward<'a>(&'a [f64], usize, &'a mut [f64]);
        impl Job<f64> for Backward<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd<f64>>(self, _: S) {
                let Backward(factor, stride, x) = self;
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
        f64::dispatch(Isa::detect(), Backward(&self.values, self.stride, y));
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
                kept.push(gone);
                assert!(factor.append(1, |_, f| entry(gone, kept[f]), 0.0));
            }
            assert_eq!(factor.len, kept.len());
            let row = |a: usize| &factor.values[a * factor.stride..];
            for (a, &i) in kept.iter().enumerate() {
                for (b, &j) in kept[..=a].iter().enumerate() {
                    let product: f64 = (0..=b).map(|k| row(a)[k] * row(b)[k]).sum();
                    assert!((product - entry(i, j)).abs() < 1e-12, "{gone}: {i}, {j}");
                }
            }
            // Forward and backward together solve the system of what is left.
            let right: Vec<f64> = (0..kept.len()).map(|_| random.normal()).collect();
            let mut x = right.clone();
            factor.forward(&mut [&mut x]);
            factor.backward(&mut x);
            for (&i, right) in kept.iter().zip(&right) {
                let product: f64 = kept.iter().zip(&x).map(|(&j, x)| entry(i, j) * x).sum();
                assert!((product - right).abs() < 1e-9, "{gone}: row {i}");
            }
        }
    }
}
