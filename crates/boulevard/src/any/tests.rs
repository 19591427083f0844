//! Learners by name, by JSON and by flat parameters are the same learners.

use serde_json::{Map, Value, json};

use super::{AnyLearner, AnyModel, METHODS, Method, Plan};
use crate::data::{Scaling, generate};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::{Learner, Model as _, Penalty, Svc, facts_text};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn every_method_is_found_again() {
    for method in METHODS {
        let learner = method.learner();
        learner.validate().unwrap();
        assert_eq!((learner.method(), learner.kind()), (method, method.kind));
        assert_eq!(method.learner_with(&learner.flat()).unwrap(), learner, "{}", method.name);
        let tagged = serde_json::to_string(&learner).unwrap();
        assert!(tagged.starts_with(&format!("{{\"kind\":\"{}\"", method.kind)), "{tagged}");
        assert_eq!(serde_json::from_str::<AnyLearner>(&tagged).unwrap(), learner);
        assert_eq!(AnyLearner::from_json(method.kind, &learner.parameters().to_string()).unwrap(), learner);
        // Every flat name is one word that is not used twice.
        let fields = method.fields();
        assert!((1..fields.len()).all(|i| !fields[..i].contains(&fields[i])), "{fields:?}");
    }
    assert!(AnyLearner::KINDS.iter().all(|kind| AnyModel::KINDS.contains(kind)));
    assert!(AnyLearner::KINDS.iter().all(|kind| METHODS.iter().any(|method| method.kind == *kind)));
}

#[test]
fn flat_parameters_go_to_their_places() {
    let given =
        map(json!({ "nu": 0.25, "kernel": "poly", "degree": 2, "tolerance": 1e-5, "shrinking": false, "class_weight": "balanced" }));
    let AnyLearner::Svc(svc) = Method::named("nu_svc").unwrap().learner_with(&given).unwrap() else { panic!("a classifier") };
    assert_eq!(svc.penalty, Penalty::Nu(0.25));
    assert_eq!(svc.kernel.form().degree, Some(2));
    assert_eq!((svc.solver.tolerance, svc.solver.shrinking, svc.solver.polish), (1e-5, false, true));
    let induce = Method::named("feature_induction").unwrap();
    let AnyLearner::FeatureInduction(learner) = induce.learner_with(&map(json!({ "max_depth": { "at_most": 2 } }))).unwrap() else {
        panic!("an inducer")
    };
    assert_eq!(learner.kernel, Kernel::Linear);
    // A part alone changes the kernel there is.
    let learner = Method::named("svr").unwrap().learner_with(&map(json!({ "gamma": 0.5, "c": 2 }))).unwrap();
    assert_eq!(learner.kernel(), Some(&Kernel::rbf(0.5)));
}

#[test]
fn wrong_parameters_are_explained() {
    let refuse = |method: &str, value: Value| Method::named(method).unwrap().learner_with(&map(value)).unwrap_err().to_string();
    assert_eq!(refuse("svc", json!({ "nu": 0.5 })), "`nu` does not apply to svc: it belongs to nu_svc, nu_svr, one_class");
    assert!(refuse("svr", json!({ "color": 1 })).starts_with("`color` is not a parameter of svr: it has "));
    assert_eq!(
        refuse("boosted", json!({ "c": 2, "sampling": "resample" })),
        "parameter `sampling` of boosted cannot be \"resample\": unknown variant `resample`, expected one of `all`, `stratified`, `trimming`"
    );
    assert!(refuse("feature_induction", json!({ "gamma": 1 })).contains("does not apply to the linear kernel"));
    assert!(Method::named("svm").unwrap_err().to_string().contains("there is no method `svm`; there are svc, nu_svc"));
    assert!(AnyLearner::of_kind("svm").is_err() && AnyLearner::from_json("svc", "{").is_err());
    assert!(AnyLearner::from_json("svc", r#"{"color":1}"#).unwrap_err().to_string().contains("unknown field `color`"));
}

#[test]
fn a_learner_of_any_kind_is_the_learner_itself() {
    let data = generate::banana(60, 0);
    let svc = Svc { kernel: Kernel::rbf(1.0), calibrate: true, ..Svc::default() };
    let mut learner = AnyLearner::from(svc.clone()).without_calibration();
    *learner.price_mut().unwrap() = 3.0;
    *learner.kernel_mut().unwrap() = Kernel::rbf(0.5);
    let same = Svc { kernel: Kernel::rbf(0.5), penalty: Penalty::C(3.0), calibrate: false, ..svc };
    assert_eq!(learner, AnyLearner::from(same.clone()));
    let AnyModel::Svc(model) = learner.fit_in(&data, &Context::default()).unwrap() else { panic!("a classifier") };
    assert_eq!(model.machine, same.fit(&data).unwrap().machine);
    for method in METHODS {
        assert_eq!(method.learner().target(), method.learner().clone().target());
    }
}

#[test]
fn questions_to_the_model_behind_a_scaler_get_scaled_rows() {
    let data = generate::banana(60, 0);
    let plan = Plan { missing: None, scaling: Some(Scaling::Standard), learner: AnyLearner::of_kind("svc").unwrap() };
    let scaled = plan.fit_in(&data, &Context::default()).unwrap();
    let rows = scaled.prepare(&data.x).unwrap().unwrap();
    let inner = scaled.inner().clone();
    assert_eq!(inner.decision_values(&rows).unwrap(), scaled.decision_values(&data.x).unwrap());
    assert_eq!(scaled.with_inner(inner.clone()).unwrap(), scaled);
    assert!(inner.scaler().is_none() && inner.prepare(&data.x).unwrap().is_none());
    assert_eq!(inner.with_inner(inner.clone()).unwrap(), inner);
    assert!(facts_text(&scaled.facts()).contains("\nscaling "));
}
