//! Inner loops over long rows, compiled for every instruction set.
//!
//! Rows are padded with zeros to whole panels (`stride`), so that no loop has a tail.

use crate::simd::{Isa, Job, Real, Simd};

/// Rows of a table in panels: `out_i = <row_i, w>` for every `i`.
pub(crate) fn rows_dot(isa: Isa, x: &[f64], stride: usize, w: &[f64], out: &mut [f64]) {
    struct Dot<'a> {
        x: &'a [f64],
        stride: usize,
        w: &'a [f64],
        out: &'a mut [f64],
    }
    impl Job<f64> for Dot<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) {
            for (row, out) in self.x.chunks_exact(self.stride).zip(self.out) {
                *out = dot(simd, row, self.w);
            }
        }
    }
    f64::dispatch(isa, Dot { x, stride, w, out });
}

/// `out = sum_i factors_i row_i`; rows with factor zero are not read.
pub(crate) fn rows_sum(isa: Isa, x: &[f64], stride: usize, factors: &[f64], out: &mut [f64]) {
    struct Sum<'a> {
        x: &'a [f64],
        stride: usize,
        factors: &'a [f64],
        out: &'a mut [f64],
    }
    impl Job<f64> for Sum<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) {
            self.out.fill(0.0);
            for (row, &factor) in self.x.chunks_exact(self.stride).zip(self.factors) {
                if factor != 0.0 {
                    add(simd, self.out, factor, row);
                }
            }
        }
    }
    f64::dispatch(isa, Sum { x, stride, factors, out });
}

/// `out_i = sum_d weights_d row_id^2` for every `i`.
pub(crate) fn rows_norm(isa: Isa, x: &[f64], stride: usize, weights: &[f64], out: &mut [f64]) {
    struct Norm<'a> {
        x: &'a [f64],
        stride: usize,
        weights: &'a [f64],
        out: &'a mut [f64],
    }
    impl Job<f64> for Norm<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) {
            for (row, out) in self.x.chunks_exact(self.stride).zip(self.out) {
                let mut sum = simd.splat(0.0);
                for (row, weight) in row.chunks_exact(S::LANES).zip(self.weights.chunks_exact(S::LANES)) {
                    let row = simd.load(row);
                    sum = simd.fma(simd.mul(row, row), simd.load(weight), sum);
                }
                *out = total(simd, sum);
            }
        }
    }
    f64::dispatch(isa, Norm { x, stride, weights, out });
}

/// `<a, b>` of two padded rows.
#[inline(always)]
pub(crate) fn dot<S: Simd<f64>>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let mut sum = simd.splat(0.0);
    for (a, b) in a.chunks_exact(S::LANES).zip(b.chunks_exact(S::LANES)) {
        sum = simd.fma(simd.load(a), simd.load(b), sum);
    }
    total(simd, sum)
}

/// `to += factor * from` for padded rows.
#[inline(always)]
pub(crate) fn add<S: Simd<f64>>(simd: S, to: &mut [f64], factor: f64, from: &[f64]) {
    let factor = simd.splat(factor);
    for (to, from) in to.chunks_exact_mut(S::LANES).zip(from.chunks_exact(S::LANES)) {
        simd.store(simd.fma(factor, simd.load(from), simd.load(to)), to);
    }
}

/// `to += factor * weights * from` for padded rows.
#[inline(always)]
pub(crate) fn add_weighted<S: Simd<f64>>(simd: S, to: &mut [f64], factor: f64, weights: &[f64], from: &[f64]) {
    let factor = simd.splat(factor);
    for ((to, from), weight) in to.chunks_exact_mut(S::LANES).zip(from.chunks_exact(S::LANES)).zip(weights.chunks_exact(S::LANES)) {
        simd.store(simd.fma(simd.mul(factor, simd.load(weight)), simd.load(from), simd.load(to)), to);
    }
}

/// The sum of a panel.
#[inline(always)]
pub(super) fn total<S: Simd<f64>>(simd: S, panel: S::V) -> f64 {
    let mut values = [0.0; 32];
    simd.store(panel, &mut values);
    // Halves onto halves: short chains, and the same order on every run.
    let mut width = S::LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            values[i] += values[i + width];
        }
    }
    values[0]
}

/// `out = sum over chosen rows of weight_i <row_i, w> row_i`, one reading of every row: the product of a weighted Gram matrix with a vector.
/// `shift` is added to every inner product; returns `sum weight_i (<row_i, w> + shift)`.
pub(crate) fn gram_product(isa: Isa, x: &[f64], stride: usize, chosen: &[(usize, f64)], w: &[f64], shift: f64, out: &mut [f64]) -> f64 {
    struct Gram<'a> {
        x: &'a [f64],
        stride: usize,
        chosen: &'a [(usize, f64)],
        w: &'a [f64],
        shift: f64,
        out: &'a mut [f64],
    }
    impl Job<f64> for Gram<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) -> f64 {
            self.out.fill(0.0);
            let mut sum = 0.0;
            for &(row, weight) in self.chosen {
                let row = &self.x[row * self.stride..(row + 1) * self.stride];
                let value = weight * (dot(simd, row, self.w) + self.shift);
                sum += value;
                add(simd, self.out, value, row);
            }
            sum
        }
    }
    f64::dispatch(isa, Gram { x, stride, chosen, w, shift, out })
}

/// `out_d = sum over chosen rows of weight_i row_id^2`
pub(crate) fn gram_diagonal(isa: Isa, x: &[f64], stride: usize, chosen: &[(usize, f64)], out: &mut [f64]) {
    struct Diagonal<'a> {
        x: &'a [f64],
        stride: usize,
        chosen: &'a [(usize, f64)],
        out: &'a mut [f64],
    }
    impl Job<f64> for Diagonal<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) {
            self.out.fill(0.0);
            for &(row, weight) in self.chosen {
                let row = &self.x[row * self.stride..(row + 1) * self.stride];
                let weight = simd.splat(weight);
                for (out, row) in self.out.chunks_exact_mut(S::LANES).zip(row.chunks_exact(S::LANES)) {
                    let row = simd.load(row);
                    simd.store(simd.fma(simd.mul(row, row), weight, simd.load(out)), out);
                }
            }
        }
    }
    f64::dispatch(isa, Diagonal { x, stride, chosen, out });
}
