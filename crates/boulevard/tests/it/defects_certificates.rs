//! A certificate is computed from the solution that is returned, or it is absent: a fit that was stopped never says gap 0 and objective 0
//! about a point it knows nothing of.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use boulevard::data::{Dataset, generate};
use boulevard::observe::{Observer, Progress, StopReason};
use boulevard::prelude::*;

/// Stops at the nth question.
struct Nth(AtomicUsize);

impl Observer for Nth {
    fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1))) {
            Ok(0) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn data() -> Dataset<'static> {
    generate::two_gaussians(2500, 3, 20, 1.0)
}

/// `1/2 b'Kb` of a machine with one output, from its own decision values.
fn quadratic(machine: &boulevard::svm::KernelMachine) -> f64 {
    let values = machine.evaluate(&machine.vectors, &Context::single()).unwrap();
    0.5 * machine.coefficients.iter().zip(&values).map(|(b, f)| b * (f - machine.intercepts[0])).sum::<f64>()
}

fn check(what: &str, asked: usize, report: &boulevard::svm::FitReport, truth: f64) {
    if report.stop == StopReason::Converged {
        return;
    }
    let known = !report.objective.is_nan();
    assert_eq!([report.gap.is_nan(), report.violation.is_nan()], [!known; 2], "{what} stopped at question {asked}: {report:?}");
    assert!(!known || (report.objective - truth).abs() <= 1e-3 * truth.abs().max(1e-300), "{what} at {asked}: {truth}, {report:?}");
    assert!(report.gap != 0.0, "{what} stopped at question {asked}: {report:?}");
}

#[test]
fn a_stopped_fit_has_a_true_certificate_or_none() {
    let data = data();
    let (mut absent, mut known) = (0, 0);
    for asked in [0, 1, 2, 3, 5, 8, 12, 20, 40, 80] {
        let stop = Nth(AtomicUsize::new(asked));
        let context = Context::single().with_observer(&stop);
        if let Ok(model) = (OneClass { kernel: Kernel::rbf(0.05), ..OneClass::default() }).fit_in(&data, &context) {
            check("one class", asked, &model.report, quadratic(&model.machine));
            if model.report.gap.is_nan() { absent += 1 } else { known += 1 }
        }
        let stop = Nth(AtomicUsize::new(asked));
        let context = Context::single().with_observer(&stop);
        if let Ok(model) = (Svc { kernel: Kernel::rbf(0.05), penalty: Penalty::Nu(0.3), ..Svc::default() }).fit_in(&data, &context) {
            let report = model.report;
            assert!(report.stop == StopReason::Converged || report.gap != 0.0, "nu at {asked}: {report:?}");
            assert_eq!(report.gap.is_nan(), report.objective.is_nan(), "{report:?}");
        }
        let stop = Nth(AtomicUsize::new(asked));
        let context = Context::single().with_observer(&stop);
        if let Ok(model) = (LinearSvc { c: 100.0, ..LinearSvc::default() }).fit_in(&data, &context) {
            let report = model.report;
            assert!(report.stop == StopReason::Converged || report.gap != 0.0, "linear at {asked}: {report:?}");
            assert_eq!(report.gap.is_nan(), report.objective.is_nan(), "{report:?}");
        }
    }
    assert!(absent > 0 && known > 0, "both kinds were seen: {absent} absent, {known} known");
}

#[test]
fn a_certificate_that_is_absent_survives_a_file() {
    let data = data();
    let stop = Nth(AtomicUsize::new(0));
    let model = OneClass::default().fit_in(&data, &Context::single().with_observer(&stop)).unwrap();
    assert!(model.report.gap.is_nan());
    let any = boulevard::persist::AnyModel::from(model);
    let again = boulevard::persist::AnyModel::from_bytes(&any.to_bytes().unwrap()).unwrap();
    assert!(again.report().gap.is_nan() && again.report().stop == StopReason::Interrupted);
}
