//! Input that has no good solution still has an end, and a certificate.

use super::*;
use crate::observe::StopReason;
use crate::solver::Route;

fn ends(name: &str, case: &Case, tolerance: f64) -> Found {
    let found = case.by_blocks(small_sets(), tolerance, &Context::default());
    assert_eq!(found.verdict, Verdict::Done(StopReason::Converged), "{name}");
    assert!(found.violation <= tolerance, "{name}: {:e}", found.violation);
    check(case, &found);
    found
}

#[test]
fn rows_that_are_there_by_the_thousand() {
    let n = 3000;
    let values: Vec<f64> = (0..n).flat_map(|i| [(i % 5) as f64, (i % 2) as f64]).collect();
    let x = Matrix::dense(values, n, 2).unwrap();
    ends("ten kinds of rows, labels at odds", &Case { x, ..Case::classes(n, 1, |_| 10.0) }, 1e-3);
}

#[test]
fn all_rows_equal() {
    let n = 2000;
    let x = Matrix::dense(vec![1.5; 2 * n], n, 2).unwrap();
    let found = ends("all equal", &Case { x, ..Case::classes(n, 1, |_| 1.0) }, 1e-3);
    // Equal rows of both classes cancel: the smaller class is used up.
    assert!((found.b.iter().filter(|v| **v > 0.0).sum::<f64>() - 667.0).abs() < 1e-9);
}

#[test]
fn a_class_of_two_rows() {
    let case = Case::classes(2000, 4, |_| 100.0);
    let mut few = Case { linear: vec![1.0; 2000], lower: vec![-100.0; 2000], upper: vec![0.0; 2000], ..case };
    for row in [17, 1203] {
        (few.linear[row], few.lower[row], few.upper[row]) = (-1.0, 0.0, 100.0);
    }
    ends("two against all", &few, 1e-3);
}

#[test]
fn a_huge_price() {
    ends("C = 1e6", &Case { kernel: Kernel::rbf(1.0), ..Case::classes(700, 4, |_| 1e6) }, 1e-3);
    ends("C = 1e6, separable", &Case { kernel: Kernel::rbf(30.0), ..Case::classes(700, 8, |_| 1e6) }, 1e-3);
}

/// Through the front door: the way is chosen, and what comes back is certified.
#[test]
fn the_solver_chooses_blocks_and_says_so() {
    let case = Case { kernel: Kernel::rbf(0.1), ..Case::classes(6000, 8, |_| 10.0) };
    let context = Context::default();
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    let mut solver = Solver::new(&source, None, &context).unwrap();
    let blocked = solver.solve(&case.problem(), &options(1e-3)).unwrap();
    assert_eq!(blocked.route, Route::Cheap);
    assert!(blocked.violation <= 1e-3 && blocked.gap < 1e-2);
    let exact = certify(&case.problem(), &blocked.coefficients, &exact_gradient(&case, &blocked.coefficients));
    assert!((exact.violation - blocked.violation).abs() < 1e-9 && (exact.objective / blocked.objective - 1.0).abs() < 1e-9);
    let mut sharing = Solver::new(&source, None, &context).unwrap().shared();
    let paired = sharing.solve(&case.problem(), &options(1e-3)).unwrap();
    assert_eq!(paired.route, Route::Cached);
    assert!((blocked.objective / paired.objective - 1.0).abs() < 1e-5, "{} {}", blocked.objective, paired.objective);
}

/// A cache that turns out to be too small: pair steps begin, blocks finish.
#[test]
fn a_crowded_cache_hands_over_to_blocks() {
    let case = Case { kernel: Kernel::rbf(0.1), ..Case::classes(4000, 8, |_| 100.0) };
    let context = Context::default();
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    let mut solver = Solver::new(&source, Some(50_000_000), &context).unwrap();
    let (mut b, mut gradient, mut steps) = (vec![0.0; 4000], case.linear.clone(), 0);
    // Far too little for this many support vectors, though the rule of thumb would have let it pass.
    solver.set_cache(4_000_000);
    let mut error = 0.0;
    let ended = solver.pairs(&case.problem(), &options(1e-4), true, &mut b, &mut gradient, &mut steps, &mut error).unwrap();
    assert_eq!(ended, None, "left after {steps} steps");
    let ended = solver.blocks(&case.problem(), &options(1e-4), false, &mut b, &mut gradient, &mut steps).unwrap();
    assert_eq!(ended.stop, StopReason::Converged);
    let exact = certify(&case.problem(), &b, &exact_gradient(&case, &b));
    assert!(exact.violation <= 1e-4, "{:e}", exact.violation);
}

/// Values so large that single precision cannot tell: double precision takes over.
#[test]
fn single_precision_that_is_not_enough() {
    let case = Case::classes(3500, 3, |_| 1.0);
    let values: Vec<f64> = (0..3500).flat_map(|i| (0..3).map(|j| 300.0 + 40.0 * case.x.get(i, j)).collect::<Vec<_>>()).collect();
    let x = Matrix::dense(values, 3500, 3).unwrap();
    let case = Case { x, kernel: Kernel::rbf(1e-3), ..case };
    let context = Context::default();
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    let mut solver = Solver::new(&source, None, &context).unwrap();
    let (mut b, mut gradient, mut steps) = (vec![0.0; 3500], case.linear.clone(), 0);
    let ended = solver.blocks(&case.problem(), &options(1e-9), false, &mut b, &mut gradient, &mut steps).unwrap();
    assert_eq!((ended.stop, ended.route), (StopReason::Converged, Route::Delicate));
    let exact = certify(&case.problem(), &b, &exact_gradient(&case, &b));
    assert!(exact.violation <= 1e-8, "{:e}", exact.violation);
}

/// Equal rows in different classes, and bounds that no step along them comes to in single precision: sets are lost in rounding one after
/// the other, and the loop says so.
#[test]
fn bounds_beyond_single_precision() {
    let n = 1200;
    let values: Vec<f64> = (0..n).flat_map(|i| [(i % 5) as f64, (i % 2) as f64]).collect();
    let x = Matrix::dense(values, n, 2).unwrap();
    let case = Case { x, ..Case::classes(n, 1, |_| 1e20) };
    let found = case.by_blocks(small_sets(), 1e-3, &Context::default());
    assert_eq!(found.verdict, Verdict::Exhausted, "after {} steps", found.steps);
    assert!(found.steps < 500_000, "{}", found.steps);
}

/// Bounds that cannot hold anything do not keep a problem with a solution from it.
#[test]
fn no_bounds() {
    let case = Case { kernel: Kernel::rbf(30.0), ..Case::classes(600, 8, |_| 1e100) };
    let found = case.by_blocks(Plan { eased: Some(1.0), ..small_sets() }, 1e-3, &Context::default());
    assert_eq!(found.verdict, Verdict::Done(StopReason::Converged));
    check(&case, &found);
}

/// Through the front door: double precision, whose steps are longer, comes to bounds that single precision does not.
#[test]
fn what_rounding_hides_is_left_to_double_precision() {
    let n = 5200;
    let values: Vec<f64> = (0..n).flat_map(|i| [(i % 5) as f64, (i % 2) as f64]).collect();
    let x = Matrix::dense(values, n, 2).unwrap();
    let context = Context::default();
    for (c, expected) in [(1e10, StopReason::Converged), (1e20, StopReason::Rounding)] {
        let case = Case { x: x.clone(), ..Case::classes(n, 1, |_| c) };
        let source = TableKernel::new(&case.kernel, &case.x, &context);
        let solution = Solver::new(&source, None, &context).unwrap().solve(&case.problem(), &options(1e-3)).unwrap();
        assert_eq!(solution.stop, expected, "C = {c:e}");
        assert!(solution.iterations < 10_000_000, "{}", solution.iterations);
    }
    // Classes that no plane separates, and no bounds: multipliers would grow for ever.
    let case = Case { kernel: Kernel::Linear, ..Case::classes(n, 2, |_| 1e100) };
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    let solution = Solver::new(&source, None, &context).unwrap().solve(&case.problem(), &options(1e-3)).unwrap();
    assert_eq!(solution.stop, StopReason::Rounding);
    assert!(solution.violation > 1e-3 && solution.violation.is_finite());
}
