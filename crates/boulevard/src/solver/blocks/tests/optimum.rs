//! The same optimum as pair steps.

use super::*;
use crate::data::Csr;
use crate::solver::{DoubledKernel, KernelSource};

/// Objective to 1e-6 at tolerance 1e-5, and a certificate that holds.
fn same(name: &str, case: &Case) {
    let reference = case.by_pairs(1e-7);
    for plan in [small_sets(), Plan { outer: Some(200), ..small_sets() }, Plan { set: 256, ..small_sets() }] {
        let found = case.by_blocks(plan, 1e-5, &Context::default());
        assert_eq!(found.verdict, Verdict::Done(crate::observe::StopReason::Converged), "{name}");
        assert!(found.violation <= 1e-5, "{name}: {:e}", found.violation);
        let off = (found.objective / reference.objective - 1.0).abs();
        assert!(off < 1e-6, "{name}: {} for {}, off by {off:e}", found.objective, reference.objective);
        check(case, &found);
        assert!(found.steps > 100);
    }
}

#[test]
fn classification() {
    same("C = 1", &Case::classes(900, 4, |_| 1.0));
    same("C = 100", &Case::classes(900, 4, |_| 100.0));
    same("a bound per sample", &Case::classes(900, 4, |i| 0.1 + (i % 17) as f64));
    same("samples that take no part", &Case::classes(900, 4, |i| if i % 5 == 0 { 0.0 } else { 2.0 }));
    same("narrow kernel", &Case { kernel: Kernel::rbf(3.0), ..Case::classes(900, 4, |_| 10.0) });
}

#[test]
fn other_kernels() {
    same("polynomial", &Case { kernel: Kernel::poly(2, 0.3, 1.0), ..Case::classes(800, 3, |_| 1.0) });
    same("Laplacian", &Case { kernel: Kernel::Laplacian { gamma: 0.2.into() }, ..Case::classes(800, 4, |_| 3.0) });
}

#[test]
fn regression() {
    same("epsilon 0.1", &Case::regression(900, 2.0, 0.1));
    same("epsilon 0", &Case::regression(800, 1.0, 0.0));
    same("wide tube", &Case::regression(900, 20.0, 0.4));
}

#[test]
fn sums_that_are_kept() {
    same("one class", &Case::one_class(900, 0.3));
    same("two sums", &Case::nu(900, 0.4));
}

#[test]
fn sparse_rows() {
    let mut random = Random::new(3, 0);
    let (n, columns) = (800, 2000);
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..n {
        let mut row: Vec<usize> = (0..12).map(|_| random.below(columns)).collect();
        row.sort_unstable();
        row.dedup();
        values.extend(row.iter().map(|_| 0.5 * random.normal()));
        indices.extend(row.iter().map(|&j| j as u32));
        offsets.push(indices.len());
    }
    let x = Matrix::Sparse(Csr::new(offsets, indices, values, columns).unwrap());
    same("sparse", &Case { x, kernel: Kernel::rbf(0.1), ..Case::classes(n, 1, |_| 5.0) });
}

#[test]
fn a_given_matrix() {
    let case = Case::classes(700, 3, |_| 2.0);
    let rows: Vec<Vec<f64>> = (0..700).map(|i| (0..3).map(|j| case.x.get(i, j)).collect()).collect();
    let values: Vec<f64> = rows.iter().flat_map(|a| rows.iter().map(|b| case.kernel.evaluate(a, b).unwrap())).collect();
    same("precomputed", &Case { x: Matrix::dense(values, 700, 700).unwrap(), kernel: Kernel::Precomputed, ..case });
}

/// nu-regression has every sample twice.
#[test]
fn samples_that_are_there_twice() {
    let case = Case::regression(450, 1.0, 0.0);
    let (n, context) = (450, Context::default());
    let table = TableKernel::new(&case.kernel, &case.x, &context);
    let doubled = DoubledKernel::new(&table, &context);
    let linear = [&case.linear[..], &case.linear[..]].concat();
    let zeros = vec![0.0; n];
    let (lower, upper) = ([&zeros[..], &vec![-1.0; n]].concat(), [&vec![1.0; n][..], &zeros].concat());
    let second: Vec<bool> = (0..2 * n).map(|i| i >= n).collect();
    let start: Vec<f64> = (0..2 * n).map(|i| if i % n < 100 { if i < n { 1.0 } else { -1.0 } } else { 0.0 }).collect();
    let equality = Equality::TwoSums(&second);
    let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality, start: Some(&start) };
    let reference = Solver::new(&doubled, None, &context).unwrap().solve(&problem, &options(1e-7)).unwrap();
    let found = run(&doubled, doubled.single().unwrap(), &problem, small_sets(), &options(1e-5), &context);
    assert!(found.violation <= 1e-5, "{:e}", found.violation);
    assert!((found.objective / reference.objective - 1.0).abs() < 1e-6, "{} {}", found.objective, reference.objective);
    // Rows of all variables in one piece agree with rows of chosen ones.
    let rows = doubled.single().unwrap();
    let (mut whole, mut part) = (vec![0.0; 960], vec![0.0; 960]);
    rows.weigh(&[3, 460], &[1.0, -0.5], 1, 0..900, &mut whole);
    rows.restrict(&(0..900).collect::<Vec<_>>()).weigh(&[3, 460], &[1.0, -0.5], 1, 0..900, &mut part);
    assert_eq!(whole[..900], part[..900]);
}
