//! Every kernel, by every path, against its plain formula.

use std::sync::Arc;

use super::*;
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::Context;
use crate::random::Random;
use crate::simd::{Isa, Real};

fn table(rows: usize, columns: usize, seed: u64) -> Matrix<'static> {
    let mut random = Random::new(seed, 0);
    // Not negative (for chi-squared), about half zeros (for sparse rows).
    let values: Vec<f64> = (0..rows * columns).map(|_| if random.uniform() < 0.5 { 0.0 } else { random.uniform() * 2.0 }).collect();
    Matrix::dense(values, rows, columns).unwrap()
}

fn kernels() -> Vec<Kernel> {
    vec![
        Kernel::Linear,
        Kernel::poly(3, 0.5, 1.0),
        Kernel::poly(0, 0.5, 1.0),
        Kernel::rbf(0.7),
        Kernel::sigmoid(0.1, -0.5),
        Kernel::Laplacian { gamma: 0.3.into() },
        Kernel::Epanechnikov { gamma: 0.1.into(), degree: 2 },
        Kernel::Multiquadric { gamma: 0.5.into(), coef0: 1.0 },
        Kernel::InverseMultiquadric { gamma: 0.5.into(), coef0: 1.0 },
        Kernel::ChiSquared { gamma: 0.4.into() },
        Kernel::Sum { terms: vec![(0.5, Kernel::rbf(0.2)), (2.0, Kernel::Linear)] },
        Kernel::Normalized { kernel: Box::new(Kernel::poly(2, 1.0, 1.0)) },
    ]
}

fn matrix<T: Real>(block: &dyn KernelRows<T>, isa: Isa) -> Vec<Vec<f64>> {
    let width = block.columns().next_multiple_of(isa.lanes::<T>());
    let order: Vec<usize> = (0..block.rows()).collect();
    let mut buffer = vec![T::default(); block.rows() * width];
    let mut out: Vec<&mut [T]> = buffer.chunks_exact_mut(width).collect();
    block.fill(&order, 0..block.columns(), &mut out);
    out.iter().map(|row| row[..block.columns()].iter().map(|v| v.to_f64()).collect()).collect()
}

fn agree<T: Real>(kernel: &Kernel, a: &Matrix<'_>, b: &Matrix<'_>, isa: Isa) {
    let context = Context { isa, ..Context::single() };
    let block = cross::<T>(kernel, a, &[], b, &context).unwrap();
    let values = matrix(&*block, isa);
    let bound = block.accuracy() + if T::DOUBLE { 1e-13 } else { 1e-6 };
    let (mut x, mut z) = (vec![0.0; a.columns()], vec![0.0; a.columns()]);
    for (i, row) in values.iter().enumerate() {
        for (j, &value) in row.iter().enumerate() {
            a.copy_row(i, &mut x);
            b.copy_row(j, &mut z);
            let exact = kernel.evaluate(&x, &z).unwrap();
            assert!(
                (value - exact).abs() <= bound * exact.abs().max(1.0),
                "{kernel:?} {isa:?} ({i}, {j}): {value} for {exact}, bound {bound}"
            );
        }
    }
    // Weighted sums agree with the values, and rows in other company have the same bits.
    let stride = block.columns().next_multiple_of(isa.lanes::<T>());
    let weights: Vec<f64> = (0..2 * block.rows()).map(|i| (i as f64).sin()).collect();
    let order: Vec<usize> = (0..block.rows()).collect();
    let mut sums = vec![0.0; 2 * stride];
    block.weigh(&order, &weights, 2, 0..block.columns(), &mut sums);
    for o in 0..2 {
        for c in 0..block.columns() {
            let expected: f64 = (0..block.rows()).map(|r| weights[o * block.rows() + r] * values[r][c]).sum();
            let scale: f64 = (0..block.rows()).map(|r| values[r][c].abs()).sum::<f64>() + 1.0;
            assert!((sums[o * stride + c] - expected).abs() <= scale * 20.0 * T::ROUNDING, "{kernel:?} {isa:?} weigh");
        }
    }
    let mut alone = vec![T::default(); stride];
    block.fill(&[3], 0..block.columns(), &mut [&mut alone]);
    assert!(alone.iter().zip(&values[3]).all(|(a, b)| a.to_f64() == *b), "{kernel:?} {isa:?}: alone and in a batch");
}

#[test]
fn every_path_agrees_with_the_formula() {
    let (a, b) = (table(9, 5, 1), table(131, 5, 2));
    for kernel in kernels() {
        for isa in Isa::available() {
            agree::<f32>(&kernel, &a, &b, isa);
            agree::<f64>(&kernel, &a, &b, isa);
        }
    }
}

#[test]
fn a_sample_that_is_judged_alone_has_the_bits_that_it_has_in_company() {
    // More rows than are summed at a time.
    let (a, b) = (table(600, 5, 1), table(70, 5, 2));
    fn check<T: Real>(kernel: &Kernel, a: &Matrix<'_>, b: &Matrix<'_>, isa: Isa) {
        let context = Context { isa, ..Context::single() };
        let order: Vec<usize> = (0..a.rows()).rev().collect();
        let weights: Vec<f64> = (0..3 * a.rows()).map(|i| (i as f64).sin()).collect();
        let sums = |b: &Matrix<'_>| {
            let block = cross::<T>(kernel, a, &[], b, &context).unwrap();
            let stride = block.columns().next_multiple_of(isa.lanes::<T>());
            let mut sums = vec![0.25; 3 * stride];
            block.weigh(&order, &weights, 3, 0..block.columns(), &mut sums);
            (0..3).map(|o| sums[o * stride..o * stride + block.columns()].to_vec()).collect::<Vec<_>>()
        };
        let together = sums(b);
        for c in [0, 1, 33, 69] {
            let alone = sums(&b.select(&[c]));
            assert!((0..3).all(|o| alone[o][0] == together[o][c]), "{kernel:?} {isa:?} column {c}");
        }
    }
    for kernel in kernels() {
        for isa in Isa::available() {
            check::<f32>(&kernel, &a, &b, isa);
            check::<f64>(&kernel, &a, &b, isa);
        }
    }
}

#[test]
fn sparse_rows_agree_with_the_formula() {
    let wide = |rows: usize, seed| {
        let mut random = Random::new(seed, 0);
        let values = (0..rows * 700).map(|_| if random.uniform() < 0.99 { 0.0 } else { random.uniform() }).collect::<Vec<_>>();
        Matrix::dense(values, rows, 700).unwrap().to_sparse()
    };
    let (a, b) = (wide(9, 3), wide(70, 4));
    for kernel in kernels() {
        agree::<f32>(&kernel, &a, &b, Isa::detect());
        agree::<f64>(&kernel, &a, &b, Isa::detect());
    }
}

#[test]
fn a_kernel_matrix_is_symmetric_to_the_bit_with_its_exact_diagonal() {
    let x = table(70, 6, 5);
    for kernel in kernels() {
        let block = rows::<f32>(&kernel, &x, &Context::single()).unwrap();
        let values = matrix(&*block, Isa::detect());
        let diagonal = diagonal(&kernel, &x).unwrap();
        for i in 0..70 {
            assert!((values[i][i] - diagonal[i]).abs() <= 1e-5 * diagonal[i].abs().max(1.0), "{kernel:?} diagonal {i}");
            for j in 0..i {
                assert!(values[i][j] == values[j][i] || matches!(kernel, Kernel::Normalized { .. }), "{kernel:?} ({i}, {j})");
            }
        }
    }
}

#[test]
fn restricted_columns_have_the_same_bits() {
    let x = table(90, 4, 6);
    let keep: Vec<usize> = (0..90).filter(|i| i % 3 != 0).collect();
    for kernel in kernels() {
        for x in [&x, &x.to_sparse()] {
            let whole = rows::<f32>(&kernel, x, &Context::single()).unwrap();
            let some = whole.restrict(&keep);
            let (all, part) = (matrix(&*whole, Isa::detect()), matrix(&*some, Isa::detect()));
            for (i, row) in part.iter().enumerate() {
                assert!(row.iter().zip(&keep).all(|(value, &j)| *value == all[i][j]), "{kernel:?}");
            }
        }
    }
}

#[test]
fn a_kernel_of_ones_own_is_asked_in_blocks() {
    struct Product;
    impl KernelFunction for Product {
        fn block(&self, a: &Matrix<'_>, b: &Matrix<'_>) -> Result<Vec<f64>> {
            Ok((0..a.rows()).flat_map(|i| (0..b.rows()).map(move |j| (i, j))).map(|(i, j)| a.get(i, 0) * b.get(j, 0)).collect())
        }
    }
    let x = table(10, 1, 7);
    let own = rows::<f64>(&Kernel::Custom(Custom(Arc::new(Product))), &x, &Context::single()).unwrap();
    let linear = rows::<f64>(&Kernel::Linear, &x, &Context::single()).unwrap();
    assert_eq!(matrix(&*own, Isa::detect()), matrix(&*linear, Isa::detect()));
}

#[test]
fn a_given_matrix_must_be_square() {
    let x = table(3, 2, 8);
    assert!(rows::<f64>(&Kernel::Precomputed, &x, &Context::single()).is_err());
}

/// Cut by columns, sums keep their bits: pieces are whole panels.
#[test]
fn sums_in_pieces_of_columns_have_the_same_bits() {
    let (n, d) = (1503, 21);
    let mut random = Random::new(8, 0);
    let x = Matrix::dense((0..n * d).map(|_| random.normal()).collect::<Vec<_>>(), n, d).unwrap();
    let weights: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let order: Vec<usize> = (0..n).collect();
    let context = Context::single();
    for kernel in [Kernel::rbf(0.1), Kernel::poly(3, 0.1, 1.0)] {
        let rows = super::rows::<f64>(&kernel, &x, &context).unwrap();
        assert!(n * n > 4 * crate::observe::PIECE / rows.work(), "more than one piece");
        let whole = rows.weighted_sum(&order, &weights, 0..n);
        let pieces = weighted_sum_watched(&*rows, &order, &weights, 0..n, &context).unwrap();
        assert!(whole.iter().zip(&pieces).all(|(a, b)| a.to_bits() == b.to_bits()) && whole.len() == pieces.len());
    }
}

/// Blocks of a pair of classes park rows of a subset: its columns are then fewer than its rows.
#[test]
fn a_subset_of_a_subset_has_the_columns_that_were_asked_for() {
    let x = table(300, 4, 6);
    let whole = rows::<f32>(&Kernel::rbf(0.3), &x, &Context::single()).unwrap();
    let all = matrix(&*whole, Isa::detect());
    let (samples, keep): (Vec<usize>, Vec<usize>) = ((0..300).step_by(2).collect(), (0..150).step_by(3).collect());
    let subset = SubsetRows::new(&*whole, &samples);
    let some = subset.restrict(&keep);
    assert_eq!((some.rows(), some.columns()), (150, 50));
    let mut sums = [0.0; 128];
    some.weigh(&[7], &[1.0], 1, 0..some.columns(), &mut sums);
    assert!((0..50).all(|c| sums[c] == all[samples[7]][samples[keep[c]]]));
}

/// Where no digit of a distance is left, rows of a fit are refused; a sample that is judged may lie anywhere.
#[test]
fn distances_without_digits_are_refused() {
    let context = Context::single();
    let x = Matrix::dense(vec![0.0, 1.0, 2.0, 4.0], 4, 1).unwrap();
    let far = Matrix::dense(vec![1e20], 1, 1).unwrap();
    for gamma in [1e18, 1e100] {
        let Err(refused) = rows::<f64>(&Kernel::rbf(gamma), &x, &context) else { panic!("{gamma}") };
        assert!(refused.to_string().contains("smaller gamma"), "{refused}");
        assert!(rows::<f32>(&Kernel::rbf(gamma), &x, &context).is_err());
    }
    assert!(rows::<f64>(&Kernel::rbf(1e10), &x, &context).is_ok());
    let apart = cross::<f64>(&Kernel::rbf(1.0), &x, &[], &far, &context).unwrap();
    let mut values = [1.0; 64];
    apart.fill(&[0], 0..1, &mut [&mut values]);
    // The smallest number there is, not zero.
    assert!(values[0] < 1e-300, "{}", values[0]);
}
