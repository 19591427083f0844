//! Induced rules in words and for machines.

use serde_json::{Value, json};

use super::limits::Amount;
use super::model::{FeatureInductionModel, Final};
use crate::svm::{Fact, class_weights, classes, probabilities};
use crate::words::{counted, g};

/// Rules that are shown.
const SHOWN: usize = 20;

pub(super) fn facts(model: &FeatureInductionModel) -> Vec<Fact> {
    let settings = model.parameters.resolved();
    let mut facts = vec![("kind", format!("linear classifier with induced rules, C = {}", g(settings.c))), classes(&model.classes)];
    facts.extend(class_weights(&settings.class_weight));
    if let Final::Kernel(svc) = &model.machine {
        let kernel = svc.machine.kernel.in_words();
        facts.push(("last machine", format!("{kernel}, C = {}, {} support vectors", g(settings.kernel_c), svc.machine.len())));
    }
    facts.push(probabilities(model.calibration.is_some()));
    facts.extend(chosen(model).map(|text| ("chosen", text)));
    facts.push(("rules", indented(&model.text_after_reason(SHOWN))));
    if let Some(list) = model.list.as_ref().filter(|list| !list.errors.is_empty()) {
        let row = |(count, (error, by)): (usize, (&f64, &f64))| {
            let mark = if count == list.chosen { "  chosen" } else { "" };
            let rules = if count == 1 { "rule " } else { "rules" };
            format!("{count:>3} {rules} {:>7.2} % +- {:.2}{mark}", 100.0 * error, 100.0 * by)
        };
        let path: Vec<String> = list.errors.iter().zip(&list.uncertainties).enumerate().map(row).collect();
        facts.push((
            "held-out error by number of rules",
            format!("(+- one standard error of the difference from the lowest)\n  {}", path.join("\n  ")),
        ));
    }
    facts
}

/// What was left open and how it was settled, with the setting that overrides it; none where nothing was left open.
fn chosen(model: &FeatureInductionModel) -> Option<String> {
    if let Some(list) = &model.list {
        return Some(format!("{} (`max_rules` as a number or none overrides it)", list.reason));
    }
    let choices: Vec<String> = (0..model.inductions.len())
        .filter_map(|output| {
            let induction = &model.inductions[output];
            let class = model.class_of(output);
            let linear = |why: &str| Some(format!("class {class}: linear, because {why}"));
            let Some(choice) = &induction.choice else {
                return if model.parameters.resolved().n_induced == Amount::Auto { linear(induction.declined.as_ref()?) } else { None };
            };
            let (lowest, alone) = (100.0 * choice.error, 100.0 * choice.linear_error);
            if choice.rounds == 0 {
                return linear(&format!("no number of rounds lowered the held-out error, {alone:.2} %, by more than its uncertainty"));
            }
            let depth = choice.depth.map_or("unlimited".to_owned(), |depth| depth.to_string());
            let rounds = counted(choice.rounds, "round");
            Some(format!("class {class}: depth {depth} and {rounds}, held-out error {lowest:.2} % (linear machine {alone:.2} %)"))
        })
        .collect();
    (!choices.is_empty()).then(|| format!("{} (`n_induced` and `max_depth` override it)", choices.join("; ")))
}

/// Lines after the first stand below it.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n  ")
}

/// Stages, choices and rules.
pub(super) fn induced(model: &FeatureInductionModel) -> Value {
    let classes: Vec<Value> = model
        .inductions
        .iter()
        .enumerate()
        .map(|(output, induction)| {
            json!({
                "class": model.class_of(output),
                "features": induction.features.len(),
                "training_errors": induction.stages.iter().map(|stage| stage.error).collect::<Vec<_>>(),
                "objectives": induction.stages.iter().map(|stage| stage.objective).collect::<Vec<_>>(),
                "gammas": induction.features.iter().map(|f| f.gamma).collect::<Vec<_>>(),
                "edges": induction.features.iter().map(|f| f.edge.edge).collect::<Vec<_>>(),
                "edge_bounds": induction.features.iter().map(|f| f.edge.decrease).collect::<Vec<_>>(),
                "choice": induction.choice,
                "ending": induction.ending,
                "declined": induction.declined,
            })
        })
        .collect();
    json!({ "classes": classes, "rules": model.rules(), "list": model.list })
}
