//! Newton's steps on an engine that solves systems the plain way: the optimum of pair steps in fewer of them.

use super::*;
use crate::observe::{Observer, Progress, StopReason};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn newton(case: &Case, tolerance: f64, has_newton: bool, context: &Context<'_>) -> Found {
    let source = TableKernel::new(&case.kernel, &case.x, context);
    let (problem, options) = (case.problem(), options(tolerance));
    let mut crew = Crew::new(context.threads);
    let mut engine = CpuBlocks::new(&source, source.single().unwrap(), problem.linear, &mut crew, context);
    engine.has_newton = has_newton;
    let (mut b, mut gradient) = (problem.start.map_or_else(|| vec![0.0; problem.len()], <[f64]>::to_vec), problem.linear.to_vec());
    let (unknown, mut steps) = (problem.start.is_some(), 0);
    let verdict = solve(&mut engine, &problem, &options, small_sets(), unknown, &mut b, &mut gradient, &mut steps).unwrap();
    let certificate = certify(&problem, &b, &gradient);
    Found { verdict, b, gradient, objective: certificate.objective, violation: certificate.violation, steps }
}

fn same_optimum(name: &str, case: &Case) -> (u64, u64) {
    let context = Context::default();
    let wanted = case.by_pairs(1e-6);
    let [without, with] = [false, true].map(|has_newton| newton(case, 1e-3, has_newton, &context));
    for found in [&without, &with] {
        assert_eq!(found.verdict, Verdict::Done(StopReason::Converged), "{name}");
        assert!(found.violation <= 1e-3, "{name}: {:e}", found.violation);
        check(case, found);
        let apart = (found.objective - wanted.objective) / wanted.objective.abs().max(1e-3);
        assert!((-1e-9..1e-4).contains(&apart), "{name}: {} for {}", found.objective, wanted.objective);
    }
    (without.steps, with.steps)
}

#[test]
fn systems_save_steps_at_a_large_price() {
    let case = Case { kernel: Kernel::rbf(0.05), ..Case::classes(600, 4, |_| 100.0) };
    let (without, with) = same_optimum("C = 100", &case);
    assert!(with < without / 2, "{with} steps instead of {without}");
}

#[test]
fn every_kind_of_problem_has_the_same_optimum_with_systems() {
    same_optimum("C = 1", &Case::classes(500, 3, |_| 1.0));
    same_optimum("prices of their own", &Case::classes(500, 3, |i| 1.0 + (i % 7) as f64));
    same_optimum("regression", &Case::regression(500, 30.0, 0.1));
    same_optimum("regression without a tube", &Case::regression(300, 30.0, 0.0));
    same_optimum("one class", &Case::one_class(500, 0.3));
    same_optimum("nu", &Case::nu(500, 0.4));
}

/// Duplicates make the matrix singular but for the ridge.
#[test]
fn duplicates_do_no_harm() {
    let case = Case { kernel: Kernel::rbf(0.05), ..Case::classes(400, 3, |_| 50.0) };
    let values: Vec<f64> = (0..400).flat_map(|i| (0..3).map(|j| case.x.get(i / 4 * 4, j)).collect::<Vec<_>>()).collect();
    same_optimum("four of each", &Case { x: Matrix::dense(values, 400, 3).unwrap(), ..case });
}

/// A fit that is stopped anywhere leaves a point that the constraints allow, with its own gradient.
#[test]
fn a_stop_in_between_leaves_a_point() {
    struct After(AtomicUsize, usize);
    impl Observer for After {
        fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
            if self.0.fetch_add(1, Ordering::Relaxed) < self.1 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    let case = Case { kernel: Kernel::rbf(0.05), ..Case::classes(600, 4, |_| 100.0) };
    for calls in [0, 1, 2, 3] {
        let observer = After(AtomicUsize::new(0), calls);
        let context = Context { observer: Some(&observer), ..Context::default() };
        let found = newton(&case, 1e-3, true, &context);
        if !matches!(found.verdict, Verdict::Unchecked) {
            check(&case, &found);
        }
    }
}
