//! Gathered rows against the plain formula, in both precisions and from both kinds of base.

use std::sync::Arc;

use proptest::prelude::*;

use super::rows::{Base, BaseGram, SetRows};
use super::*;
use crate::kernel::{KernelRows, rows};
use crate::observe::Context;
use crate::random::Random;
use crate::simd::{Isa, Real};

/// The plain value of two sets.
fn plain(kernel: &Kernel, normalization: Normalization, x: &Matrix<'_>, a: &[u32], b: &[u32]) -> f64 {
    let (rule, base) = rule(kernel, normalization);
    let row = |i: u32| {
        let mut values = vec![0.0; x.columns()];
        x.copy_row(i as usize, &mut values);
        values
    };
    let between = |a: &[u32], b: &[u32]| {
        let m: Vec<f64> =
            a.iter().flat_map(|&i| b.iter().map(move |&j| (i, j))).map(|(i, j)| base.evaluate(&row(i), &row(j)).unwrap()).collect();
        value(rule, &m, a.len())
    };
    match normalization {
        Normalization::Mean => between(a, b),
        Normalization::Cosine => between(a, b) / (between(a, a) * between(b, b)).sqrt(),
    }
}

fn check<T: Real>(kernel: &Kernel, normalization: Normalization, k: usize, isa: Isa) {
    let mut random = Random::new(k as u64, 1);
    let n = 40;
    let x = Matrix::dense((0..n * 3).map(|_| random.normal()).collect::<Vec<_>>(), n, 3).unwrap();
    let sets: Arc<Vec<u32>> = Arc::new((0..70 * k).map(|_| random.below(n) as u32).collect());
    let context = Context { isa, ..Context::single() };
    let (rule, base_kernel) = rule(kernel, normalization);
    let base = rows::<T>(&base_kernel, &x, &context).unwrap();
    let bounds = [base.accuracy(), crate::kernel::diagonal(&base_kernel, &x).unwrap().iter().fold(0.0, |a: f64, v| a.max(v.abs()))];
    let gram = Base::Gram(Arc::new(BaseGram::new(&*base, &context).unwrap()));
    let on_demand = Base::Rows(Arc::from(base));
    let mut first: Option<Vec<T>> = None;
    for base in [gram, on_demand] {
        let mut made = SetRows::new(base, rule, k, Arc::clone(&sets), Arc::clone(&sets), bounds, isa);
        if normalization == Normalization::Cosine {
            let own: Vec<f64> = sets.chunks(k).map(|set| plain(kernel, Normalization::Mean, &x, set, set)).collect();
            // Own values of the base that the cosine uses.
            let own = if base_kernel == *kernel {
                own
            } else {
                sets.chunks(k).map(|set| plain(&base_kernel, Normalization::Mean, &x, set, set)).collect()
            };
            made = made.cosine(&own, &own);
        }
        let lanes = isa.lanes::<T>();
        let width = 70usize.next_multiple_of(lanes);
        let mut values = vec![T::default(); 3 * width];
        made.fill(&[0, 33, 69], 0..70, &mut values.chunks_exact_mut(width).collect::<Vec<_>>());
        for (r, row) in [0usize, 33, 69].into_iter().enumerate() {
            for column in 0..70 {
                let exact = plain(kernel, normalization, &x, &sets[row * k..(row + 1) * k], &sets[column * k..(column + 1) * k]);
                let error = (values[r * width + column].to_f64() - exact).abs();
                assert!(error <= made.accuracy() + 1e-13, "{} K = {k}: {error} beyond {}", kernel.name(), made.accuracy());
            }
        }
        // Some columns only, and the two bases, give the same bits.
        let restricted = made.restrict(&[5, 69, 0]);
        let mut few = vec![T::default(); lanes];
        restricted.fill(&[33], 0..3, &mut [&mut few]);
        for (place, column) in [5, 69, 0].into_iter().enumerate() {
            assert!(few[place] == values[width + column]);
        }
        match &first {
            None => first = Some(values),
            Some(known) => assert!(known.iter().zip(&values).all(|(a, b)| a == b)),
        }
    }
}

#[test]
fn gathered_rows_are_the_plain_values_within_their_bound() {
    for isa in Isa::available() {
        for k in 1..=6 {
            for kernel in [Kernel::rbf(0.3), Kernel::Linear, Kernel::poly(2, 0.4, 1.0), Kernel::poly(3, 0.4, 0.5)] {
                check::<f64>(&kernel, Normalization::Mean, k, isa);
                check::<f32>(&kernel, Normalization::Mean, k, isa);
            }
            for kernel in [Kernel::rbf(0.3), Kernel::InverseMultiquadric { gamma: 1.0.into(), coef0: 0.1 }] {
                check::<f64>(&kernel, Normalization::Cosine, k, isa);
                check::<f32>(&kernel, Normalization::Cosine, k, isa);
            }
        }
    }
}

#[test]
fn ranks_order_rows_by_value_dense_or_sparse() {
    let x = Matrix::from_rows(&[[0.0, 2.0], [-1.0, 5.0], [0.0, -3.0], [0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]).unwrap();
    assert_eq!(ranks(&x), [3, 0, 1, 4, 5, 2]);
    assert_eq!(ranks(&x.to_sparse()), ranks(&x));
    let mut tuples = [4, 1, 5, 2, 3, 0];
    sort_members(&mut tuples, 3, &ranks(&x));
    assert_eq!(tuples, [1, 5, 4, 2, 0, 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Permanents are symmetric, linear in every row, and equal for any order of rows and columns, up to rounding.
    #[test]
    fn permanents_behave(k in 1usize..7, seed in 0u64..1000, factor in 0.1f64..10.0) {
        let mut random = Random::new(seed, 2);
        let m: Vec<f64> = (0..k * k).map(|_| random.uniform()).collect();
        let value = permanent(&m, k);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
        let transposed: Vec<f64> = (0..k * k).map(|i| m[i % k * k + i / k]).collect();
        prop_assert!(close(value, permanent(&transposed, k)));
        let (rows, columns) = (random.permutation(k), random.permutation(k));
        let mixed: Vec<f64> = (0..k * k).map(|i| m[rows[i / k] * k + columns[i % k]]).collect();
        prop_assert!(close(value, permanent(&mixed, k)));
        let scaled: Vec<f64> = m.iter().enumerate().map(|(i, v)| if i / k == 0 { v * factor } else { *v }).collect();
        prop_assert!(close(value * factor, permanent(&scaled, k)));
        let logarithms: Vec<f64> = m.iter().map(|v| v.max(1e-300).ln()).collect();
        prop_assert!((log_permanent(&logarithms, k) - value.ln()).abs() < 1e-10);
    }
}
