//! Cholesky factors and what is solved with them.

use crate::simd::{Isa, Job, Real, Simd};

/// Cholesky factor of a symmetric positive definite matrix, in place: the lower triangle of the row-major `n x n` matrix becomes `L`.
///
/// `false` where a pivot is not positive beyond rounding; the matrix is then spoilt.
pub fn cholesky(a: &mut [f64], n: usize) -> bool {
    /// Plain loops, compiled for every instruction set.
    struct Factor<'a>(&'a mut [f64], usize);
    impl Job<f64> for Factor<'_> {
        type Output = bool;
        #[inline(always)]
        fn run<S: Simd<f64>>(self, _: S) -> bool {
            factor(self.0, self.1)
        }
    }
    f64::dispatch(Isa::detect(), Factor(a, n))
}

#[inline(always)]
fn factor(a: &mut [f64], n: usize) -> bool {
    let largest = (0..n).map(|i| a[i * n + i]).fold(0.0, f64::max);
    for j in 0..n {
        let (head, tail) = a.split_at_mut((j + 1) * n);
        let row_j = &mut head[j * n..];
        let pivot = row_j[j] - dot(&row_j[..j], &row_j[..j]);
        if pivot.is_nan() || pivot <= 1e-14 * largest {
            return false;
        }
        let root = pivot.sqrt();
        row_j[j] = root;
        let (row_j, inverse) = (&row_j[..j], 1.0 / root);
        for row in tail.chunks_exact_mut(n) {
            row[j] = (row[j] - dot(&row[..j], row_j)) * inverse;
        }
    }
    true
}

/// Solves `L L' x = b` in place.
pub fn solve(l: &[f64], n: usize, x: &mut [f64]) {
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
        for n in [1, 2, 7, 33] {
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
