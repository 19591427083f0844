//! What a run reports is true: after convergence, a limit on steps, the clock, an interruption.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::observe::{Observer, Progress, StopReason};

#[test]
fn threads_do_not_change_a_bit() {
    for case in [Case::classes(1500, 5, |_| 10.0), Case::regression(1200, 3.0, 0.1)] {
        let plan = Plan { set: 128, outer: Some(300), ..small_sets() };
        let one = case.by_blocks(plan, 1e-4, &Context::single());
        for threads in [2, 3, 5] {
            let many = case.by_blocks(plan, 1e-4, &Context::default().with_threads(threads));
            assert_eq!((one.b.clone(), one.steps), (many.b, many.steps), "{threads} threads");
            assert_eq!(one.gradient, many.gradient);
        }
    }
}

#[test]
fn a_limit_on_steps_is_kept_and_the_violation_is_true() {
    let case = Case::classes(900, 4, |_| 10.0);
    let context = Context::default();
    let source = TableKernel::new(&case.kernel, &case.x, &context);
    for (limit, outer) in [(0, None), (7, None), (300, None), (300, Some(200))] {
        let options = Options { max_iterations: Some(limit), ..options(1e-4) };
        let plan = Plan { outer, ..small_sets() };
        let found = run(&source, source.single().unwrap(), &case.problem(), plan, &options, &context);
        assert_eq!((found.verdict, found.steps), (Verdict::Done(StopReason::MaxIterations), limit));
        assert!(found.violation > 1e-4);
        check(&case, &found);
    }
}

/// Stops at the so-manieth question.
struct Stopper(AtomicUsize);

impl Observer for Stopper {
    fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
        if self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1))).unwrap_or(0) == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn an_interrupted_run_leaves_a_feasible_point_with_its_true_violation() {
    let case = Case::classes(6000, 4, |_| 1e4);
    for questions in [0, 1, 2, 5] {
        let stopper = Stopper(AtomicUsize::new(questions));
        let plan = Plan { set: 512, small_set: 256, outer: Some(2000), ..small_sets() };
        let found = case.by_blocks(plan, 1e-7, &Context::default().with_observer(&stopper));
        assert_eq!(found.verdict, Verdict::Done(StopReason::Interrupted), "{questions} questions");
        check(&case, &found);
    }
}

#[test]
fn the_clock_ends_a_run_with_its_true_violation() {
    let case = Case::classes(4000, 4, |_| 1e4);
    for milliseconds in [0, 20, 60] {
        let context = Context::default().with_time_limit(Duration::from_millis(milliseconds));
        let found = case.by_blocks(Plan { set: 512, ..small_sets() }, 1e-9, &context);
        assert_eq!(found.verdict, Verdict::Done(StopReason::TimeLimit));
        check(&case, &found);
    }
    let warm = Case { start: Some((0..4000).map(|i| [3.0, -1.5, -1.5][i % 3]).collect()), ..case };
    let context = Context::default().with_time_limit(Duration::ZERO);
    let found = warm.by_blocks(small_sets(), 1e-9, &context);
    assert_eq!(found.verdict, Verdict::Done(StopReason::TimeLimit));
    check(&warm, &found);
}

#[test]
fn a_warm_start_ends_where_a_cold_one_does() {
    let half = Case::classes(900, 4, |_| 1.0).by_blocks(small_sets(), 1e-5, &Context::default());
    let cold = Case::classes(900, 4, |_| 2.0).by_blocks(small_sets(), 1e-5, &Context::default());
    let warm = Case { start: Some(half.b.iter().map(|v| 2.0 * v).collect()), ..Case::classes(900, 4, |_| 2.0) };
    let found = warm.by_blocks(small_sets(), 1e-5, &Context::default());
    assert!((found.objective / cold.objective - 1.0).abs() < 1e-6);
    assert!(found.steps < cold.steps, "{} {}", found.steps, cold.steps);
    check(&warm, &found);
}
