//! A classifier of sets in words.

use super::learner::Method;
use super::model::MultiSampleModel;
use crate::kernel::Gamma;
use crate::svm::{Fact, tolerance};
use crate::words::{g, general};

/// A classifier of sets.
pub(super) fn facts(model: &MultiSampleModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let how = match model.method() {
        Method::Direct => format!("one machine on sets of {}", settings.n_samples_per_decision),
        Method::Auto | Method::Consensus => "consensus of single samples".to_owned(),
        Method::Vote => "votes of single samples".to_owned(),
    };
    let c = match (&model.chosen, model.method()) {
        (Some(chosen), Method::Direct) => chosen.direct.map_or(settings.c, |direct| direct.c),
        (Some(chosen), _) => chosen.single.c,
        _ => settings.c,
    };
    let mut facts = vec![("kind", format!("classifier of sets, C = {}", g(c))), ("decides by", how)];
    facts.push(("chosen", model.chosen.as_ref().map_or_else(|| as_asked(model), |chosen| chosen.why.clone())));
    facts.push(("kernel", model.single.machine.kernel.in_words()));
    let classes: Vec<String> =
        model.classes.iter().zip(&model.priors).map(|(name, prior)| format!("{name} (prior {})", g(*prior))).collect();
    facts.push(("classes", format!("{}: {}", classes.len(), classes.join(", "))));
    for machine in &model.machines {
        let calibrated = if machine.calibration.is_some() { ", calibrated" } else { "" };
        let share = 100.0 * machine.len() as f64 / machine.columns.max(1) as f64;
        facts.push((
            "support sets",
            format!("{} of {} samples, {share:.1} % of {} tuples{calibrated}", machine.len(), machine.size, machine.columns),
        ));
    }
    facts.push(("single samples", format!("{} support vectors, calibrated", model.single.machine.len())));
    if let Ok(samples) = model.expected_samples(0.99) {
        let each: Vec<String> =
            model.classes.iter().zip(samples).map(|(name, n)| format!("{} for {name}", g((10.0 * n).round() / 10.0))).collect();
        facts.push(("samples until 99 % sure", format!("about {} (consensus)", each.join(", "))));
    }
    facts.push(tolerance(&settings.solver));
    facts
}

/// What decides and how wide its kernel is, where no trials chose it.
fn as_asked(model: &MultiSampleModel) -> String {
    let settings = &model.parameters;
    let method = match model.method() {
        Method::Direct => "direct",
        Method::Vote => "vote",
        Method::Auto | Method::Consensus => "consensus",
    };
    let why = if settings.method == Method::Auto {
        "too few rows of a class to hold some out and compare methods; `method` says otherwise"
    } else {
        "as asked by `method`"
    };
    let alone = model.single.machine.kernel.gamma().and_then(Gamma::value);
    let width = match (model.gamma(), alone, settings.kernel.gamma()) {
        (Some(gamma), Some(alone), Some(Gamma::Rule(_))) if gamma != alone => {
            let k = settings.n_samples_per_decision;
            format!("; gamma = {}, the rule's {} over {k}, because {k} samples stand side by side", general(gamma, 3), general(alone, 3))
        }
        (Some(gamma), _, Some(Gamma::Rule(_))) => format!("; gamma = {} by the rule for single samples", general(gamma, 3)),
        (Some(gamma), ..) => format!("; gamma = {}, as given", general(gamma, 3)),
        _ => String::new(),
    };
    format!("{method}, {why}; C = {}{width}", g(settings.c))
}
