//! Looking ahead: the optimum of pair steps, the same bits for any number of threads, fewer steps.

use super::*;
use crate::observe::StopReason;

fn plans() -> [Plan; 2] {
    [Plan { ahead: false, ..small_sets() }, small_sets()]
}

#[test]
fn the_optimum_is_that_of_pair_steps() {
    let wide = |case: Case| Case { kernel: Kernel::rbf(0.02), ..case };
    let cases = [
        ("classes", wide(Case::classes(1200, 4, |_| 20.0))),
        ("prices of their own, some of them nothing", wide(Case::classes(700, 3, |i| 5.0 * (i % 7) as f64))),
        ("regression", wide(Case::regression(700, 10.0, 0.1))),
        ("one class", wide(Case::one_class(700, 0.3))),
        ("two sums", wide(Case::nu(700, 0.4))),
        ("wide bounds", wide(Case::classes(300, 4, |_| 200.0))),
    ];
    for (name, case) in &cases {
        let wanted = case.by_pairs(1e-6);
        let found = case.by_blocks(small_sets(), 1e-3, &Context::default());
        assert_eq!(found.verdict, Verdict::Done(StopReason::Converged), "{name}");
        check(case, &found);
        assert!(found.violation <= 1e-3, "{name}: {:e}", found.violation);
        let apart = (found.objective - wanted.objective) / wanted.objective.abs().max(1e-3);
        assert!((-1e-9..1e-3).contains(&apart), "{name}: {} for {}", found.objective, wanted.objective);
        let again = case.by_blocks(small_sets(), 1e-3, &Context::default().with_threads(3));
        assert_eq!(found.b, again.b, "{name}: the same bits");
    }
}

#[test]
fn sweeps_are_saved() {
    let cases = [Case::classes(1500, 10, |_| 100.0), Case::classes(1500, 10, |_| 10.0), Case::classes(1500, 6, |_| 30.0)];
    let cases = cases.map(|case| Case { kernel: Kernel::rbf(0.05), ..case });
    let steps = plans().map(|plan| cases.iter().map(|case| case.by_blocks(plan, 1e-4, &Context::default()).steps).sum::<u64>());
    assert!(steps[1] < steps[0] / 10 * 9, "{} steps instead of {}", steps[1], steps[0]);
}
