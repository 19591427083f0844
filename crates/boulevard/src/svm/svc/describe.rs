//! A classifier in words.

use super::{Penalty, SvcModel};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::describe::{class_weights, classes, probabilities_of, tolerance};
use crate::svm::machine::KernelMachine;
use crate::svm::model::Fact;
use crate::svm::multiclass::Multiclass;
use crate::words::{g, share};

pub(super) fn facts(model: &SvcModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let kind = match settings.penalty {
        Penalty::C(c) => format!("classifier, C = {}", g(c)),
        Penalty::Nu(nu) => format!("classifier, nu = {}", g(nu)),
    };
    let count = model.classes.len();
    let mut facts = vec![("kind", kind), ("kernel", model.machine.kernel.in_words()), classes(&model.classes)];
    if count > 2 {
        let how = match settings.multiclass {
            Multiclass::OneVsOne => format!("votes of {} machines, one per pair of classes", model.machine.outputs()),
            Multiclass::OneVsRest => format!("the largest of {count} machines, one per class against the rest"),
        };
        facts.push(("decides by", how));
    }
    facts.extend(class_weights(&settings.class_weight));
    let counts: Vec<String> = model.classes.iter().zip(&model.support_counts).map(|(name, n)| format!("{n} of {name}")).collect();
    let shown = if counts.len() <= 5 { format!(" ({})", counts.join(", ")) } else { String::new() };
    facts.push(("support vectors", format!("{}{}{shown}", model.machine.len(), share(model.machine.len(), model.report.rows))));
    if count == 2
        && let Some(norm) = norm(&model.machine)
    {
        facts.push(("margin", format!("{} wide in the kernel's space (2 / |w|)", g(2.0 / norm))));
    }
    facts.push(probabilities_of(model.calibration.as_ref()));
    facts.push(tolerance(&settings.solver));
    facts
}

/// `|w|` of a machine with one output: `|w|^2 = sum_i b_i (f(x_i) - intercept)` over its support vectors.
fn norm(machine: &KernelMachine) -> Option<f64> {
    if matches!(machine.kernel, Kernel::Precomputed | Kernel::Custom(_)) || machine.outputs() != 1 || machine.is_empty() {
        return None;
    }
    let values = machine.evaluate(&machine.vectors, &Context::default()).ok()?;
    let square: f64 = machine.coefficients.iter().zip(values).map(|(b, f)| b * (f - machine.intercepts[0])).sum();
    (square > 0.0).then(|| square.sqrt())
}
