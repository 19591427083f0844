//! Small bounds first: the optimum of pair steps whatever the stages were, and a point of the whole problem wherever the fit ends.

use super::super::ease::stages;
use super::*;
use crate::observe::{Observer, Progress, StopReason};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn eased() -> Plan {
    Plan { eased: Some(1.0), ..small_sets() }
}

fn steep(c: f64) -> Case {
    Case { kernel: Kernel::rbf(0.05), ..Case::classes(900, 4, |_| c) }
}

#[test]
fn stages_are_powers_of_the_bounds_where_bounds_are_large() {
    let of = |case: &Case| stages(&case.problem(), 1.0, &vec![0.0; case.linear.len()]).len();
    assert_eq!([1.0, 7.0, 10.0, 63.0, 100.0, 1e6].map(|c| of(&steep(c))), [0, 0, 1, 1, 2, 2]);
    assert_eq!(of(&steep(f64::INFINITY)), 0, "nothing to divide");
    assert_eq!(of(&Case::nu(300, 0.4)) + of(&Case::one_class(300, 0.3)), 0, "sums are not zero");
    let prices = Case::classes(300, 3, |i| 20.0 + (i % 7) as f64);
    let b = vec![0.0; 300];
    let found = stages(&prices.problem(), 1.0, &b);
    assert_eq!(found.len(), 1);
    for ([lower, upper], i) in std::iter::repeat(&found[0]).zip(0..300) {
        assert_eq!([lower[i] * 8.0, upper[i] * 8.0].map(f64::to_bits), [prices.lower[i], prices.upper[i]].map(f64::to_bits));
    }
    let started = vec![1e-3; 300];
    assert!(stages(&prices.problem(), 1.0, &started).is_empty(), "a start is not thrown away");
}

#[test]
fn the_optimum_is_that_of_pair_steps() {
    let cases = [
        ("C = 100", steep(100.0)),
        ("C = 10", steep(10.0)),
        ("prices of their own", Case { kernel: Kernel::rbf(0.05), ..Case::classes(500, 3, |i| 20.0 + (i % 7) as f64) }),
        ("regression", Case::regression(500, 30.0, 0.1)),
        ("regression without a tube", Case::regression(300, 30.0, 0.0)),
        ("bounds that do not matter", Case { kernel: Kernel::rbf(5.0), ..Case::classes(900, 4, |_| 100.0) }),
        ("a sum that is kept", Case::one_class(400, 0.3)),
    ];
    for (name, case) in &cases {
        let wanted = case.by_pairs(1e-6);
        let found = case.by_blocks(eased(), 1e-3, &Context::default());
        assert_eq!(found.verdict, Verdict::Done(StopReason::Converged), "{name}");
        check(case, &found);
        assert!(found.violation <= 1e-3, "{name}: {:e}", found.violation);
        let apart = (found.objective - wanted.objective) / wanted.objective.abs().max(1e-3);
        assert!((-1e-9..1e-4).contains(&apart), "{name}: {} for {}", found.objective, wanted.objective);
        let again = case.by_blocks(eased(), 1e-3, &Context::default().with_threads(3));
        assert_eq!(found.b, again.b, "{name}: the same bits");
    }
}

#[test]
fn stages_save_steps_where_most_end_at_bounds() {
    let case = Case { kernel: Kernel::rbf(0.02), ..Case::classes(1500, 4, |_| 100.0) };
    let [plain, small_first] = [small_sets(), eased()].map(|plan| case.by_blocks(plan, 1e-3, &Context::default()).steps);
    assert!(small_first < plain, "{small_first} steps instead of {plain}");
}

/// Wherever a fit is stopped, violation and objective are those of the whole problem, not of a stage.
#[test]
fn a_stop_within_a_stage_leaves_a_point_of_the_whole_problem() {
    struct After(AtomicUsize, usize);
    impl Observer for After {
        fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
            if self.0.fetch_add(1, Ordering::Relaxed) < self.1 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    let case = steep(100.0);
    for calls in [0, 1, 2, 5] {
        let observer = After(AtomicUsize::new(0), calls);
        let found = case.by_blocks(eased(), 1e-3, &Context { observer: Some(&observer), ..Context::default() });
        if !matches!(found.verdict, Verdict::Unchecked) {
            check(&case, &found);
            assert!(found.objective <= 0.0, "worse than nothing after {calls}: {}", found.objective);
        }
    }
    let (context, source_context) = (Context::default(), Context::default());
    let source = TableKernel::new(&case.kernel, &case.x, &source_context);
    for most in [1, 20, 400] {
        let options = Options { max_iterations: Some(most), ..options(1e-3) };
        let found = run(&source, source.single().unwrap(), &case.problem(), eased(), &options, &context);
        assert_eq!(found.verdict, Verdict::Done(StopReason::MaxIterations));
        assert!(found.steps >= most && found.violation > 1e-3);
        check(&case, &found);
        assert!(found.objective < 0.0, "worse than nothing after {most} steps: {}", found.objective);
    }
}
