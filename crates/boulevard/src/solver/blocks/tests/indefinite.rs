//! Kernels that are not positive semi-definite: the loop ends at a stationary point, never rises, and gives up in time.

use super::*;
use crate::observe::StopReason;
use crate::solver::Route;

/// As a card plans it for them, with small sets.
fn plan() -> Plan {
    Plan { ahead: false, most_columns: Some(50 * 1500), ..small_sets() }
}

fn cases() -> Vec<(&'static str, Case)> {
    let classes = |kernel, c: f64| Case { kernel, ..Case::classes(1500, 4, |_| c) };
    vec![
        ("a gentle tangent", classes(Kernel::sigmoid(0.01, 0.0), 1.0)),
        ("a steep tangent", classes(Kernel::sigmoid(0.3, 0.0), 1.0)),
        ("a tangent with a negative diagonal", classes(Kernel::sigmoid(0.1, -1.0), 1.0)),
        ("a tangent under wide bounds", classes(Kernel::sigmoid(0.2, -0.2), 100.0)),
        ("a cut parabola", classes(Kernel::Epanechnikov { gamma: 0.1.into(), degree: 1 }, 10.0)),
        ("a polynomial with a negative constant", classes(Kernel::poly(2, 0.1, -1.0), 1.0)),
        ("regression", Case { kernel: Kernel::sigmoid(0.1, -0.3), ..Case::regression(1500, 1.0, 0.1) }),
        ("one class", Case { kernel: Kernel::sigmoid(0.2, 0.1), ..Case::one_class(1500, 0.2) }),
        ("two sums", Case { kernel: Kernel::sigmoid(0.2, -0.1), ..Case::nu(1500, 0.3) }),
    ]
}

#[test]
fn sets_of_indefinite_kernels_end_at_a_stationary_point() {
    for (name, case) in cases() {
        let found = case.by_blocks(plan(), 1e-3, &Context::default());
        assert_eq!(found.verdict, Verdict::Done(StopReason::Converged), "{name}");
        assert!(found.violation <= 1e-3, "{name}: {:e}", found.violation);
        check(&case, &found);
        let start = case.start.clone().unwrap_or_else(|| vec![0.0; found.b.len()]);
        let before = certify(&case.problem(), &start, &exact_gradient(&case, &start)).objective;
        let pairs = case.by_pairs(1e-3);
        println!("{name}: {} by blocks, {} by pairs, {before} at the start", found.objective, pairs.objective);
        assert!(found.objective < before, "{name}: {} from {before}", found.objective);
        if name == "a gentle tangent" {
            // Nearly a plane: there is one optimum.
            assert!((found.objective / pairs.objective - 1.0).abs() < 1e-4, "{} {}", found.objective, pairs.objective);
        }
    }
}

/// Whoever cuts the loop off finds a point that is feasible and better than the one before.
#[test]
fn no_set_of_an_indefinite_kernel_raises_the_objective() {
    for (name, case) in cases() {
        let start = case.start.clone().unwrap_or_else(|| vec![0.0; case.linear.len()]);
        let mut last = certify(&case.problem(), &start, &exact_gradient(&case, &start)).objective;
        for most in [100, 400, 1600, 6400] {
            let found = case.by_blocks(Plan { most_columns: Some(most), ..plan() }, 1e-6, &Context::default());
            check(&case, &found);
            assert!(found.objective <= last + 1e-7 * last.abs().max(1.0), "{name}, {most}: {} after {last}", found.objective);
            last = found.objective;
        }
    }
}

/// Where sets are given up, pair steps finish what they began.
#[test]
fn pair_steps_go_on_where_sets_are_given_up() {
    let (_, case) = cases().swap_remove(1);
    let cut = Plan { most_columns: Some(500), ..plan() };
    let found = case.by_blocks(cut, 1e-3, &Context::default());
    assert_eq!(found.verdict, Verdict::Exhausted);
    let (context, mut steps) = (Context::default(), found.steps);
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    let mut solver = Solver::new(&source, None, &context).unwrap();
    let (mut b, mut gradient) = (found.b.clone(), found.gradient.clone());
    let ended = solver.pairs_after_card(&case.problem(), &options(1e-3), &mut b, &mut gradient, &mut steps).unwrap();
    assert_eq!((ended.stop, ended.checked, ended.route), (StopReason::Converged, true, Route::CardThenPairs));
    let exact = certify(&case.problem(), &b, &exact_gradient(&case, &b));
    assert!(exact.violation <= 1e-3 && exact.objective < found.objective && steps > found.steps, "{:e}", exact.violation);
}
