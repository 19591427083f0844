//! Linear models in words: their weights can be read.

use super::{LinearMachine, LinearMulticlass, LinearSvcModel, LinearSvrModel};
use crate::solver::linear::{Bias, LinearLoss, Regularizer};
use crate::svm::describe::{class_weights, classes, probabilities_of};
use crate::svm::model::Fact;
use crate::words::g;

/// Weights that are shown.
const SHOWN: usize = 8;

pub(super) fn classifier(model: &LinearSvcModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let loss = if settings.loss == LinearLoss::Absolute { "hinge" } else { "squared hinge" };
    let penalty = if settings.regularizer == Regularizer::L1 { "L1" } else { "L2" };
    let names = &model.classes;
    let mut facts = vec![
        match settings.multiclass {
            LinearMulticlass::OneVsRest => ("kind", format!("linear classifier, C = {}, {loss} loss, {penalty} penalty", g(settings.c))),
            LinearMulticlass::CrammerSinger => ("kind", format!("linear classifier of Crammer and Singer, C = {}", g(settings.c))),
        },
        ("bias", bias(settings.bias)),
        classes(names),
    ];
    facts.extend(class_weights(&settings.class_weight));
    if names.len() == 2 {
        facts.push(("margin", format!("{} wide (2 / |w|)", g(2.0 / norm(model.machine.output(0))))));
        facts.push(("weights", format!("towards {}: {}", names[1], weights(&model.machine, 0, model.feature_names.as_deref()))));
    } else {
        facts.push((
            "decides by",
            match settings.multiclass {
                LinearMulticlass::OneVsRest => format!("the largest of {} machines, one per class against the rest", names.len()),
                LinearMulticlass::CrammerSinger => format!("the largest of {} machines, found together", names.len()),
            },
        ));
    }
    facts.push(("nonzero weights", used(&model.machine)));
    facts.push(probabilities_of(model.calibration.as_ref()));
    facts.push(("tolerance", format!("{} (relative duality gap)", g(settings.tolerance))));
    facts
}

pub(super) fn regressor(model: &LinearSvrModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let loss = if settings.loss == LinearLoss::Absolute { "absolute" } else { "squared" };
    vec![
        ("kind", format!("linear regressor, C = {}, epsilon = {}, {loss} loss", g(settings.c), g(settings.epsilon))),
        ("bias", bias(settings.bias)),
        ("weights", weights(&model.machine, 0, model.feature_names.as_deref())),
        ("nonzero weights", used(&model.machine)),
        ("tolerance", format!("{} (relative duality gap)", g(settings.tolerance))),
    ]
}

fn bias(bias: Bias) -> String {
    match bias {
        Bias::Free => "free".into(),
        Bias::Column(value) => format!("penalised, a constant column of {}", g(value)),
        Bias::None => "none".into(),
    }
}

fn norm(weights: &[f64]) -> f64 {
    weights.iter().map(|w| w * w).sum::<f64>().sqrt()
}

fn used(machine: &LinearMachine) -> String {
    format!("{} of {}", machine.weights.iter().filter(|w| **w != 0.0).count(), machine.weights.len())
}

/// The largest weights of an output with the names of their columns, and the bias.
fn weights(machine: &LinearMachine, output: usize, names: Option<&[String]>) -> String {
    let values = machine.output(output);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()).then(a.cmp(&b)));
    let name = |j: usize| names.map_or_else(|| format!("column {}", j + 1), |names| names[j].clone());
    let mut parts: Vec<String> = order.iter().take(SHOWN).map(|&j| format!("{} {}", g(values[j]), name(j))).collect();
    if values.len() > SHOWN {
        parts.push(format!("{} smaller ones", values.len() - SHOWN));
    }
    parts.push(format!("bias {}", g(machine.biases[output])));
    parts.join(", ")
}
