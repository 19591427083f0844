//! Symmetric matrices of which the lower triangle counts: products with vectors, weighted sums.

use super::cholesky::dot;
use super::padded::total;
use crate::simd::{Isa, Job, Real, Simd};

/// A symmetric matrix.
pub(crate) enum Symmetric {
    /// A symmetric matrix, of which the lower triangle counts.
    Full(Vec<f64>),
    /// Nothing off the diagonal that could change a sum: narrow kernels are the identity up to rounding, and common among base kernels.
    Diagonal(Vec<f64>),
}

impl Symmetric {
    /// The row-major `n x n` matrix, of which only the lower triangle is looked at.
    pub fn new(matrix: Vec<f64>, n: usize) -> Self {
        let diagonal: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
        // A row's other values together stay below the last bit of its own.
        let least = diagonal.iter().fold(f64::INFINITY, |least, value| least.min(value.abs()));
        let limit = 1e-17 * least / n as f64;
        let negligible = (1..n).all(|i| matrix[i * n..i * n + i].iter().all(|value| value.abs() <= limit));
        if negligible { Self::Diagonal(diagonal) } else { Self::Full(matrix) }
    }
}

/// The lower triangle of `sum_d weights_d K_d + sum_d spread_d g_d g_d'`, where `g_d` is image `d`; every row is finished at once.
pub(crate) fn sum_weighted_symmetric(isa: Isa, grams: &[Symmetric], weights: &[f64], images: &[f64], spread: &[f64], out: &mut [f64]) {
    struct Form<'a> {
        grams: &'a [Symmetric],
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
                        Symmetric::Full(gram) => terms.push((weight, &gram[i * n..(i + 1) * n])),
                        Symmetric::Diagonal(diagonal) => own += weight * diagonal[i],
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
pub(crate) fn add_symmetric(isa: Isa, a: &[f64], x: &[f64], out: &mut [f64]) {
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
                self.out[i] += dot(row, &self.x[..i]) + self.a[i * n + i] * factor;
                for (to, value) in self.out[..i].iter_mut().zip(row) {
                    *to += factor * value;
                }
            }
        }
    }
    f64::dispatch(isa, Product { a, x, out });
}
