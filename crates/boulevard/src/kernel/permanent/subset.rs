//! Permanents by dynamic programming over subsets of columns.
//!
//! ```text
//! f[0] = 1,   f[A] = sum over c in A of M[|A| - 1, c] f[A \ c],   perm M = f[all]
//! ```
//!
//! `K 2^(K-1)` products and no subtraction: for entries that are not negative the relative error stays near `2 K` roundings whatever the
//! range of the entries. Ryser's and Glynn's formulas were rejected: they need more operations, they cancel, and they can give negative
//! values for narrow kernels.

use crate::simd::{Isa, Job, Real, Simd};

/// The permanent of a row-major `k x k` matrix.
///
/// ```
/// use boulevard::kernel::permanent::permanent;
/// assert_eq!(permanent(&[1.0, 2.0, 3.0, 4.0], 2), 10.0);
/// ```
pub fn permanent(m: &[f64], k: usize) -> f64 {
    assert_eq!(m.len(), k * k, "a square matrix");
    assert!(k <= super::MAX_SET, "at most {} rows", super::MAX_SET);
    let mut table = vec![0.0; 1 << k];
    table[0] = 1.0;
    for mask in 1..1usize << k {
        let row = &m[(mask.count_ones() as usize - 1) * k..];
        let (mut sum, mut left) = (0.0, mask);
        while left != 0 {
            let c = left.trailing_zeros() as usize;
            left &= left - 1;
            sum += row[c] * table[mask ^ (1 << c)];
        }
        table[mask] = sum;
    }
    table[(1 << k) - 1]
}

/// The logarithm of the permanent of a matrix of logarithms: neither entries nor products can underflow.
///
/// Every row is scaled by its largest entry, and the logarithms of the scales are added back.
///
/// ```
/// use boulevard::kernel::permanent::log_permanent;
/// let tiny = log_permanent(&[-800.0, -900.0, -950.0, -700.0], 2);
/// assert!((tiny + 1500.0).abs() < 1e-12);
/// ```
pub fn log_permanent(logarithms: &[f64], k: usize) -> f64 {
    assert_eq!(logarithms.len(), k * k, "a square matrix");
    let mut scaled = logarithms.to_vec();
    let mut scale = 0.0;
    // Rows first, then columns: a column far below the others in every row would underflow as a whole.
    for (step, stride) in [(k, 1), (1, k)] {
        for line in 0..k {
            let places = || (0..k).map(|i| line * step + i * stride);
            let largest = places().map(|i| scaled[i]).fold(f64::NEG_INFINITY, f64::max);
            if largest == f64::NEG_INFINITY {
                return f64::NEG_INFINITY;
            }
            scale += largest;
            places().for_each(|i| scaled[i] -= largest);
        }
    }
    scaled.iter_mut().for_each(|value| *value = value.exp());
    permanent(&scaled, k).ln() + scale
}

/// The permanents of whole panels of matrices.
///
/// Entry `(r, c)` of the matrices of panel `p` is the panel of lanes at `values[starts[r] + (p * k + c) * lanes]`; `table` has room for
/// `2^k` panels, `out` for one panel per panel. Every value is multiplied by `factor`.
pub(super) fn permanents<T: Real>(isa: Isa, values: &[T], starts: &[usize], table: &mut [T], factor: T, out: &mut [T]) {
    struct Permanents<'a, T> {
        values: &'a [T],
        starts: &'a [usize],
        table: &'a mut [T],
        factor: T,
        out: &'a mut [T],
    }
    impl<T: Real> Job<T> for Permanents<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            let Self { values, starts, table, factor, out } = self;
            let (k, factor) = (starts.len(), simd.splat(factor));
            for (p, out) in out.chunks_exact_mut(S::LANES).enumerate() {
                let panel = &values[p * k * S::LANES..];
                let value = match *starts {
                    [a] => simd.load(&panel[a..]),
                    [a, b] => two(simd, &panel[a..], &panel[b..]),
                    [a, b, c] => three(simd, &panel[a..], &panel[b..], &panel[c..]),
                    _ => by_subsets(simd, panel, starts, table),
                };
                simd.store(simd.mul(value, factor), out);
            }
        }
    }
    T::dispatch(isa, Permanents { values, starts, table, factor, out });
}

#[inline(always)]
fn entry<T: Real, S: Simd<T>>(simd: S, row: &[T], c: usize) -> S::V {
    simd.load(&row[c * S::LANES..])
}

#[inline(always)]
fn two<T: Real, S: Simd<T>>(simd: S, first: &[T], second: &[T]) -> S::V {
    simd.fma(entry(simd, first, 0), entry(simd, second, 1), simd.mul(entry(simd, first, 1), entry(simd, second, 0)))
}

/// Expansion by the first row: nine products.
#[inline(always)]
fn three<T: Real, S: Simd<T>>(simd: S, first: &[T], second: &[T], third: &[T]) -> S::V {
    let (d, e, f) = (entry(simd, second, 0), entry(simd, second, 1), entry(simd, second, 2));
    let (g, h, i) = (entry(simd, third, 0), entry(simd, third, 1), entry(simd, third, 2));
    let sum = simd.mul(entry(simd, first, 0), simd.fma(e, i, simd.mul(f, h)));
    let sum = simd.fma(entry(simd, first, 1), simd.fma(d, i, simd.mul(f, g)), sum);
    simd.fma(entry(simd, first, 2), simd.fma(d, h, simd.mul(e, g)), sum)
}

#[inline(always)]
fn by_subsets<T: Real, S: Simd<T>>(simd: S, panel: &[T], starts: &[usize], table: &mut [T]) -> S::V {
    let all = (1usize << starts.len()) - 1;
    simd.store(simd.splat(T::from_f64(1.0)), table);
    for mask in 1..=all {
        let row = &panel[starts[mask.count_ones() as usize - 1]..];
        let (mut sum, mut left) = (simd.splat(T::default()), mask);
        while left != 0 {
            let c = left.trailing_zeros() as usize;
            left &= left - 1;
            sum = simd.fma(simd.load(&row[c * S::LANES..]), simd.load(&table[(mask ^ (1 << c)) * S::LANES..]), sum);
        }
        simd.store(sum, &mut table[mask * S::LANES..]);
    }
    simd.load(&table[all * S::LANES..])
}
