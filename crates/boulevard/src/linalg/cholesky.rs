//! Cholesky factors and what is solved with them.

use std::ops::Range;

use super::product::{Part, Shape, View, add_product, add_product_in};
use crate::error::Result;
use crate::observe::Context;
use crate::simd::{Isa, Job, Real, Simd};

/// Columns factored at a time; the rest of the matrix follows by one product.
const BLOCK: usize = 32;

/// Cholesky factor of a symmetric positive definite matrix, in place: the lower triangle of the row-major `n x n` matrix becomes `L`.
/// What lies above the diagonal is not read and is left undefined.
///
/// `false` where a pivot is not positive beyond rounding; the matrix is then spoilt.
pub fn cholesky(a: &mut [f64], n: usize) -> bool {
    cholesky_in(a, n, &Context::single()).expect("nobody stops it")
}

/// [`cholesky`] that may be stopped: an error, and the matrix spoilt.
pub fn cholesky_in(a: &mut [f64], n: usize, context: &Context<'_>) -> Result<bool> {
    let smallest = 1e-14 * (0..n).map(|i| a[i * n + i]).fold(0.0, f64::max);
    let mut inverse = [0.0; BLOCK * BLOCK];
    let mut below_block = vec![0.0; n.saturating_sub(BLOCK) * BLOCK];
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        if !f64::dispatch(Isa::detect(), Factor { a, n, columns: start..end, smallest, inverse: &mut inverse }) {
            return Ok(false);
        }
        // The rows below: L21 = A21 inv(L11)', then A22 -= L21 L21'.
        let (width, below) = (end - start, n - end);
        if below == 0 {
            break;
        }
        let offset = end * n + start;
        let block = &mut below_block[..below * width];
        block.fill(0.0);
        let shape = Shape { rows: below, columns: width, depth: width };
        add_product(block, width, shape, 1.0, View::new(&a[offset..], n), View::new(&inverse, BLOCK).transposed(), Part::All);
        a[offset..].chunks_mut(n).zip(block.chunks_exact(width)).for_each(|(row, new)| row[..width].copy_from_slice(new));
        let (shape, left) = (Shape { rows: below, columns: below, depth: width }, View::new(block, width));
        add_product_in(&mut a[end * n + end..], n, shape, -1.0, [left, left.transposed()], Part::Lower, context)?;
    }
    Ok(true)
}

/// Factors the diagonal block of some columns and inverts the factor: plain loops, compiled for every instruction set. Updating whole rows
/// of a block of fixed size instead of taking inner products was slower.
struct Factor<'a> {
    a: &'a mut [f64],
    n: usize,
    columns: Range<usize>,
    smallest: f64,
    inverse: &'a mut [f64; BLOCK * BLOCK],
}

impl Job<f64> for Factor<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) -> bool {
        let Range { start, end } = self.columns;
        for j in start..end {
            let (head, tail) = self.a.split_at_mut((j + 1) * self.n);
            let row_j = &mut head[j * self.n..];
            let pivot = row_j[j] - dot(&row_j[start..j], &row_j[start..j]);
            if pivot.is_nan() || pivot <= self.smallest {
                return false;
            }
            let root = pivot.sqrt();
            row_j[j] = root;
            let (row_j, inverse) = (&row_j[start..j], 1.0 / root);
            for row in tail.chunks_exact_mut(self.n).take(end - j - 1) {
                row[j] = (row[j] - dot(&row[start..j], row_j)) * inverse;
            }
        }
        // Row `i` of the inverse: the unit row minus the rows above, times L's values.
        let inverse = self.inverse.as_chunks_mut::<BLOCK>().0;
        for i in 0..end - start {
            let row = &self.a[(start + i) * self.n + start..][..=i];
            let (above, own) = inverse.split_at_mut(i);
            let own = &mut own[0];
            own.fill(0.0);
            for (k, above) in above.iter().enumerate() {
                let value = row[k];
                own[..=k].iter_mut().zip(above).for_each(|(own, above)| *own -= value * above);
            }
            own[i] = 1.0;
            let scale = 1.0 / row[i];
            own[..=i].iter_mut().for_each(|own| *own *= scale);
        }
        true
    }
}

/// Solves `L L' x = b` in place.
pub fn solve(l: &[f64], n: usize, x: &mut [f64]) {
    f64::dispatch(Isa::detect(), Substitute { l, n, x });
}

/// Forward and backward substitution: plain loops, compiled for every instruction set.
struct Substitute<'a> {
    l: &'a [f64],
    n: usize,
    x: &'a mut [f64],
}

impl Job<f64> for Substitute<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) {
        let Self { l, n, x } = self;
        for i in 0..n {
            let row = &l[i * n..i * n + i];
            x[i] = (x[i] - dot(row, &x[..i])) / l[i * n + i];
        }
        for i in (0..n).rev() {
            x[i] /= l[i * n + i];
            let value = x[i];
            let row = &l[i * n..i * n + i];
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= value * l);
        }
    }
}

/// Inner product with eight running sums, which the compiler can vectorise.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((a8, a_rest), (b8, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (x, y) in a8.iter().zip(b8) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_factor_solves_its_system() {
        let mut random = Random::new(0, 0);
        for n in [1, 2, 7, 33, 64, 101] {
            let half: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    a[i * n + j] = dot(&half[i * n..(i + 1) * n], &half[j * n..(j + 1) * n]) + if i == j { 1.0 } else { 0.0 };
                }
            }
            let x: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let mut b: Vec<f64> = (0..n).map(|i| dot(&a[i * n..(i + 1) * n], &x)).collect();
            assert!(cholesky(&mut a, n));
            solve(&a, n, &mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-9), "n = {n}");
        }
        assert!(!cholesky(&mut [1.0, 0.0, 1.0, 1.0], 2), "singular");
    }
}
