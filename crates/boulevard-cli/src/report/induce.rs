//! Induced rules in words, as JSON, and the error over the number of features as a picture.

use std::fmt::Write;

use boulevard::methods::feature_induction::{FeatureInductionModel, Final};
use serde_json::{Value, json};

use super::describe::{Fact, class_weights};
use super::number::g;
use super::picture;
use crate::model::listed;

/// Rules that are shown.
const SHOWN: usize = 20;

pub fn facts(model: &FeatureInductionModel) -> Vec<Fact> {
    let settings = model.parameters.resolved();
    let names: Vec<&str> = model.classes.iter().map(String::as_str).collect();
    let mut facts = vec![
        ("kind", format!("linear classifier with induced rules, C = {}", g(settings.c))),
        ("classes", format!("{}: {}", names.len(), listed(&names))),
    ];
    facts.extend(class_weights(&settings.class_weight));
    if let Final::Kernel(svc) = &model.machine {
        let kernel = super::describe::kernel(&svc.machine.kernel);
        facts.push(("last machine", format!("{kernel}, C = {}, {} support vectors", g(settings.kernel_c), svc.machine.len())));
    }
    facts.push(("probabilities", if model.calibration.is_some() { "calibrated".into() } else { "none (train with --calibrate)".into() }));
    facts.push(("rules", indented(&model.export_text(SHOWN))));
    facts
}

/// Lines after the first stand below it.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n  ")
}

pub fn json(model: &FeatureInductionModel) -> Value {
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
    json!({ "classes": classes, "rules": model.rules() })
}

/// Error over the number of features for every depth that was tried on held-out rows, the linear error as a dashed line.
pub fn curves(model: &FeatureInductionModel) -> Option<String> {
    let induction = model.inductions.first()?;
    let choice = induction.choice.as_ref()?;
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for curve in &choice.curves {
        let name = curve.depth.map_or("no limit".to_owned(), |depth| format!("depth {depth}"));
        lines.push((name, curve.errors.iter().enumerate().map(|(i, e)| (i as f64, 100.0 * e)).collect()));
    }
    Some(picture::lines("held-out error in % over the number of rounds", &lines, Some(100.0 * choice.linear_error)))
}

/// The rule table as HTML.
pub fn table(model: &FeatureInductionModel) -> String {
    let mut table = super::table::Table::new(["weight", "adds", "support", "edge", "round", "class", "rule"]);
    for rule in model.rules().iter().take(100) {
        let rounds = rule.rounds.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let mut adds = String::new();
        let _ = write!(adds, "{:+.4}", rule.adds);
        table.row([
            format!("{:.4}", rule.weight),
            adds,
            format!("{:.1} %", 100.0 * rule.support),
            format!("{:.2}", rule.edge),
            rounds,
            rule.class.clone(),
            rule.text.clone(),
        ]);
    }
    table.html()
}
