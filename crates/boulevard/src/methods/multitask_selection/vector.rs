//! Inner loops over long rows, compiled for every instruction set.
//!
//! Rows are padded with zeros to whole panels (`stride`), so that no loop has a tail.

use std::cell::RefCell;

use super::table::Gram;
use crate::simd::{Isa, Job, Real, Simd};

thread_local! {
    /// Large buffers for reuse: every step needs the same few, and fresh memory costs more than filling it.
    static SPARE: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// Buffers kept per thread at most.
const MOST_SPARE: usize = 4;

/// Room for so many numbers, in memory that was used before where there is some; what it holds is of no meaning.
pub(super) fn room(len: usize) -> Vec<f64> {
    let mut buffer = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    buffer.resize(len, 0.0);
    buffer
}

/// Gives a buffer back.
pub(super) fn give_back(buffer: Vec<f64>) {
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < MOST_SPARE {
            spare.push(buffer);
        }
    });
}

/// Forgets all buffers of this thread.
pub(super) fn release() {
    SPARE.with_borrow_mut(Vec::clear);
}

/// Rows of a table in panels: `out_i = <row_i, w>` for every `i`.
pub(super) fn rows_dot(isa: Isa, x: &[f64], stride: usize, w: &[f64], out: &mut [f64]) {
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
pub(super) fn rows_sum(isa: Isa, x: &[f64], stride: usize, factors: &[f64], out: &mut [f64]) {
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
pub(super) fn rows_norm(isa: Isa, x: &[f64], stride: usize, weights: &[f64], out: &mut [f64]) {
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
pub(super) fn dot<S: Simd<f64>>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let mut sum = simd.splat(0.0);
    for (a, b) in a.chunks_exact(S::LANES).zip(b.chunks_exact(S::LANES)) {
        sum = simd.fma(simd.load(a), simd.load(b), sum);
    }
    total(simd, sum)
}

/// `to += factor * from` for padded rows.
#[inline(always)]
pub(super) fn add<S: Simd<f64>>(simd: S, to: &mut [f64], factor: f64, from: &[f64]) {
    let factor = simd.splat(factor);
    for (to, from) in to.chunks_exact_mut(S::LANES).zip(from.chunks_exact(S::LANES)) {
        simd.store(simd.fma(factor, simd.load(from), simd.load(to)), to);
    }
}

/// `to += factor * weights * from` for padded rows.
#[inline(always)]
pub(super) fn add_weighted<S: Simd<f64>>(simd: S, to: &mut [f64], factor: f64, weights: &[f64], from: &[f64]) {
    let factor = simd.splat(factor);
    for ((to, from), weight) in to.chunks_exact_mut(S::LANES).zip(from.chunks_exact(S::LANES)).zip(weights.chunks_exact(S::LANES)) {
        simd.store(simd.fma(simd.mul(factor, simd.load(weight)), simd.load(from), simd.load(to)), to);
    }
}

#[inline(always)]
fn total<S: Simd<f64>>(simd: S, panel: S::V) -> f64 {
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

/// The lower triangle of `sum_d weights_d K_d + sum_d spread_d g_d g_d'`, where `g_d` is image `d`; every row is finished at once.
pub(super) fn kernel_system(isa: Isa, grams: &[Gram], weights: &[f64], images: &[f64], spread: &[f64], out: &mut [f64]) {
    struct Form<'a> {
        grams: &'a [Gram],
        weights: &'a [f64],
        images: &'a [f64],
        spread: &'a [f64],
        out: &'a mut [f64],
    }
    impl Job<f64> for Form<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) {
            let n = self.images.len() / self.grams.len();
            let mut terms: Vec<(f64, &[f64])> = Vec::new();
            for (i, row) in self.out.chunks_exact_mut(n).enumerate() {
                terms.clear();
                let mut own = 0.0;
                for (gram, &weight) in self.grams.iter().zip(self.weights) {
                    match gram {
                        Gram::Full(gram) => terms.push((weight, &gram[i * n..(i + 1) * n])),
                        Gram::Diagonal(diagonal) => own += weight * diagonal[i],
                    }
                }
                terms.extend(self.images.chunks_exact(n).zip(self.spread).map(|(image, &spread)| (spread * image[i], image)));
                // A panel of columns stays in registers while all terms pass. Panels that hold the diagonal are computed whole.
                let whole = (i / S::LANES * S::LANES + S::LANES).min(n / S::LANES * S::LANES);
                for (c, to) in row[..whole].chunks_exact_mut(S::LANES).enumerate() {
                    let mut sum = simd.splat(0.0);
                    for &(factor, values) in &terms {
                        sum = simd.fma(simd.splat(factor), simd.load(&values[c * S::LANES..]), sum);
                    }
                    simd.store(sum, to);
                }
                for (j, to) in row.iter_mut().enumerate().take(i + 1).skip(whole) {
                    *to = terms.iter().map(|(factor, values)| factor * values[j]).sum();
                }
                row[i] += own;
            }
        }
    }
    f64::dispatch(isa, Form { grams, weights, images, spread, out });
}

/// What rows `first` to `first + 3` of a lower triangle add to `A x`: every value is read once and used on both sides of the diagonal, and
/// four rows share each visit of `x` and `out`.
#[inline(always)]
fn four_rows<S: Simd<f64>>(simd: S, rows: &[f64], n: usize, first: usize, x: &[f64], out: &mut [f64]) {
    let (r0, rest) = rows.split_at(n);
    let (r1, rest) = rest.split_at(n);
    let (r2, r3) = rest.split_at(n);
    let x4: [f64; 4] = x[first..first + 4].try_into().expect("four");
    let zero = simd.splat(0.0);
    let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
    let (x0, x1, x2, x3) = (simd.splat(x4[0]), simd.splat(x4[1]), simd.splat(x4[2]), simd.splat(x4[3]));
    let whole = first / S::LANES * S::LANES;
    for (c, out) in out[..whole].chunks_exact_mut(S::LANES).enumerate() {
        let at = c * S::LANES;
        let (a0, a1, a2, a3) = (simd.load(&r0[at..]), simd.load(&r1[at..]), simd.load(&r2[at..]), simd.load(&r3[at..]));
        let x = simd.load(&x[at..]);
        s0 = simd.fma(a0, x, s0);
        s1 = simd.fma(a1, x, s1);
        s2 = simd.fma(a2, x, s2);
        s3 = simd.fma(a3, x, s3);
        let left = simd.fma(x0, a0, simd.fma(x1, a1, simd.load(out)));
        simd.store(simd.add(left, simd.fma(x2, a2, simd.mul(x3, a3))), out);
    }
    for (r, (row, sums)) in [(r0, s0), (r1, s1), (r2, s2), (r3, s3)].into_iter().enumerate() {
        let mut own = total(simd, sums) + row[first + r] * x4[r];
        for j in whole..first + r {
            own += row[j] * x[j];
            out[j] += x4[r] * row[j];
        }
        out[first + r] += own;
    }
}

/// `out += A x` for a symmetric matrix of which the lower triangle is given.
pub(super) fn add_symmetric(isa: Isa, a: &[f64], x: &[f64], out: &mut [f64]) {
    struct Product<'a> {
        a: &'a [f64],
        x: &'a [f64],
        out: &'a mut [f64],
    }
    impl Job<f64> for Product<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, simd: S) {
            let n = self.x.len();
            let blocks = n / 4;
            for (block, rows) in self.a.chunks_exact(4 * n).enumerate() {
                four_rows(simd, rows, n, 4 * block, self.x, self.out);
            }
            for i in 4 * blocks..n {
                let (row, factor) = (&self.a[i * n..i * n + i], self.x[i]);
                self.out[i] += crate::linalg::dot(row, &self.x[..i]) + self.a[i * n + i] * factor;
                for (to, value) in self.out[..i].iter_mut().zip(row) {
                    *to += factor * value;
                }
            }
        }
    }
    f64::dispatch(isa, Product { a, x, out });
}

/// `out = sum over chosen rows of weight_i <row_i, w> row_i`, one reading of every row: the product of a weighted Gram matrix with a vector.
/// `shift` is added to every inner product; returns `sum weight_i (<row_i, w> + shift)`.
pub(super) fn gram_product(isa: Isa, x: &[f64], stride: usize, chosen: &[(usize, f64)], w: &[f64], shift: f64, out: &mut [f64]) -> f64 {
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
pub(super) fn gram_diagonal(isa: Isa, x: &[f64], stride: usize, chosen: &[(usize, f64)], out: &mut [f64]) {
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
