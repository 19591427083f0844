//! Numbers at the ends of double precision: a finite model with a true certificate, or an error that says what overflowed. Never a panic,
//! a NaN that is called converged, or a fit without an end.

use std::time::{Duration, Instant};

use boulevard::data::split::{k_fold, repeated};
use boulevard::data::{Dataset, Matrix};
use boulevard::internal::random::Random;
use boulevard::methods::multi_sample::MultiSample;
use boulevard::observe::StopReason;
use boulevard::prelude::*;

const ROWS: usize = 60;
const COLUMNS: usize = 4;

fn table(scale: f64) -> Matrix<'static> {
    let mut random = Random::new(0, 0);
    Matrix::dense((0..ROWS * COLUMNS).map(|_| scale * random.normal()).collect::<Vec<_>>(), ROWS, COLUMNS).unwrap()
}

fn classes(scale: f64) -> Dataset<'static> {
    let plain = table(1.0);
    let codes = (0..ROWS).map(|row| u32::from(plain.get(row, 0) > 0.0)).collect();
    Dataset::new(table(scale), Target::Classes(Categories::new(codes, vec!["a".into(), "b".into()]).unwrap()))
}

fn reals(scale: f64) -> Dataset<'static> {
    let plain = table(1.0);
    let mut random = Random::new(1, 0);
    Dataset::new(table(scale), Target::Real((0..ROWS).map(|row| plain.get(row, 0) + 0.1 * random.normal()).collect()))
}

/// A fit gives a finite model with a certificate, or says what overflowed; within two seconds of work.
fn sound<L: Learner>(what: &str, learner: &L, data: &Dataset<'_>) -> Option<L::Model> {
    let start = Instant::now();
    let context = Context::single().with_time_limit(Duration::from_secs(20));
    let fit = learner.fit_in(data, &context);
    assert!(start.elapsed() < Duration::from_secs(10), "{what}: {:?}", start.elapsed());
    match fit {
        Ok(model) => {
            let report = model.report();
            assert!(report.objective.is_finite() && report.gap.is_finite() && report.violation.is_finite(), "{what}: {report:?}");
            assert!(model.decision_values(&data.x).unwrap().iter().all(|v| v.is_finite()), "{what}: decisions");
            Some(model)
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("NaN at row"), "{what}: {text}");
            None
        }
    }
}

#[test]
fn weights_of_1e300_do_not_panic_in_the_interior_point_method() {
    for weights in [vec![1e300; ROWS], [vec![1e300], vec![1.0; ROWS - 1]].concat(), vec![1.7e308; ROWS]] {
        let induction = FeatureInduction { max_induced: 3, ..FeatureInduction::default() };
        sound("induction", &induction, &classes(1.0).with_weights(weights.clone()));
        sound("linear regression", &LinearSvr::default(), &reals(1.0).with_weights(weights.clone()));
        sound("linear classification", &LinearSvc::default(), &classes(1.0).with_weights(weights));
    }
}

#[test]
fn a_model_of_nan_is_never_called_converged() {
    for scale in [1e160, 1e200, 1e300, 1e-160, 1e-300] {
        sound("linear regression", &LinearSvr::default(), &reals(scale));
        sound("linear classification", &LinearSvc::default(), &classes(scale));
        sound("hinge", &LinearSvc { loss: boulevard::solver::linear::LinearLoss::Absolute, ..LinearSvc::default() }, &classes(scale));
        sound("boosted", &BoostedSvc::default(), &classes(scale));
    }
    sound("narrow boosted", &BoostedSvc { sigma_init: Some(1e-300), ..BoostedSvc::default() }, &classes(1.0));
    let poly = Kernel::Poly { degree: 3, gamma: 1.0.into(), coef0: 1e300 };
    sound("induction", &FeatureInduction { kernel: poly.clone(), max_induced: 3, ..FeatureInduction::default() }, &classes(1.0));
    sound("poly", &Svc { kernel: poly, ..Svc::default() }, &classes(1.0));
    for c in [1e300, 1e-300] {
        sound("selection", &MultiTaskSelection { c: Some(c), rho: Some(0.01), ..MultiTaskSelection::default() }, &classes(1.0));
        sound("selection", &MultiTaskSelection { c: Some(c), rho: Some(0.01), ..MultiTaskSelection::default() }, &reals(1.0));
    }
}

#[test]
fn weights_of_1e300_and_tolerances_below_rounding_come_to_an_end() {
    let heavy = vec![1e300; ROWS];
    let nu = Svr { tube: Tube::Nu(0.5), ..Svr::default() };
    sound("nu regression", &nu, &reals(1.0).with_weights(heavy.clone()));
    sound("one class", &OneClass::default(), &reals(1.0).with_weights(heavy.clone()));
    sound("nu classification", &Svc { penalty: Penalty::Nu(0.5), ..Svc::default() }, &classes(1.0).with_weights(heavy));
    for tolerance in [1e-16, 1e-300] {
        let solver = SolverSettings { tolerance, ..SolverSettings::default() };
        let models = [
            sound("one class", &OneClass { solver, ..OneClass::default() }, &reals(1.0)).map(|m| m.report),
            sound("nu regression", &Svr { solver, ..nu.clone() }, &reals(1.0)).map(|m| m.report),
            sound("svc", &Svc { solver, ..Svc::default() }, &classes(1.0)).map(|m| m.report),
            sound("nu svc", &Svc { solver, penalty: Penalty::Nu(0.5), ..Svc::default() }, &classes(1.0)).map(|m| m.report),
            sound("sets", &MultiSample { solver, ..MultiSample::default() }, &classes(1.0)).map(|m| m.report),
        ];
        for report in models.iter().map(|report| report.as_ref().expect("ordinary data")) {
            // What cannot be reached is not said to be.
            assert!(report.violation <= tolerance || report.stop != StopReason::Converged, "{report:?}");
            assert!(report.gap < 1e-9, "{report:?}");
        }
    }
}

#[test]
fn a_huge_extended_set_is_refused_before_it_is_allocated() {
    let data = classes(1.0);
    let many =
        MultiSample { method: boulevard::methods::multi_sample::Method::Direct, n_extended: Some(1 << 40), ..MultiSample::default() };
    let message = many.fit(&data).unwrap_err().to_string();
    assert!(message.contains("`n_extended`") && message.contains("16777216"), "{message}");
    let context = Context { memory: Some(1 << 28), ..Context::single() };
    let message =
        MultiSample { method: boulevard::methods::multi_sample::Method::Direct, n_extended: Some(10_000_000), ..MultiSample::default() }
            .fit_in(&data, &context)
            .err()
            .unwrap()
            .to_string();
    assert!(message.contains("n_extended") && message.contains("memory limit is 268435456"), "{message}");
    let ordered = MultiSample {
        method: boulevard::methods::multi_sample::Method::Direct,
        n_extended: Some(200_000),
        symmetric: false,
        n_samples_per_decision: 4,
        ..MultiSample::default()
    };
    assert!(matches!(ordered.fit_in(&data, &context), Err(boulevard::Error::Memory { .. })));
}

#[test]
fn folds_and_repeats_without_number_are_refused() {
    let message = repeated(99_999_999_999, 0, |seed| k_fold(208, 2, seed)).unwrap_err().to_string();
    assert!(message.contains("`repeats`") && message.contains("99999999999"), "{message}");
    assert!(k_fold(1_000_000, 900_000, 0).unwrap_err().to_string().contains("`k`"));
    let start = Instant::now();
    let data = classes(1.0);
    let splits = repeated(20_000, 0, |seed| k_fold(data.len(), 2, seed)).unwrap();
    let made = start.elapsed();
    let context = Context::single().with_time_limit(Duration::from_millis(200));
    let result = boulevard::validation::cross_validate(&Svc::default(), &data, &splits, &context).unwrap();
    assert_eq!(result.stop, StopReason::TimeLimit);
    assert!(start.elapsed() - made < Duration::from_secs(2), "{:?} to make, {:?} in all", made, start.elapsed());
}

/// Seen with 180 rows: the dual of a hard margin on classes that overlap has no end, and neither had the fit.
#[test]
fn an_infinite_price_on_classes_that_overlap_came_to_no_end() {
    let mut random = Random::new(4, 0);
    let x = Matrix::dense((0..180 * 4).map(|_| random.normal()).collect::<Vec<_>>(), 180, 4).unwrap();
    let codes = (0..180).map(|row| u32::from(x.get(row, 0) + random.normal() > 0.5)).collect();
    let data = Dataset::new(x, Target::Classes(Categories::new(codes, vec!["a".into(), "b".into()]).unwrap()));
    for class_weight in [ClassWeight::Equal, ClassWeight::Balanced] {
        let svc = Svc { kernel: Kernel::Linear, penalty: Penalty::C(1e100), class_weight, ..Svc::default() };
        let model = svc.fit_in(&data, &Context::single().with_time_limit(Duration::from_secs(60))).unwrap();
        assert!(matches!(model.report.stop, StopReason::Rounding | StopReason::MaxIterations), "{:?}", model.report);
        assert!(model.report.gap > 1e-3, "and does not pretend: {:?}", model.report);
    }
    // Classes that can be separated still are.
    let apart = boulevard::data::generate::two_gaussians(180, 1, 4, 12.0);
    let model = Svc { kernel: Kernel::Linear, penalty: Penalty::C(1e100), ..Svc::default() }.fit(&apart).unwrap();
    assert_eq!(model.report.stop, StopReason::Converged);
}
