//! A front in words and for machines.

use serde_json::{Value, json};

use super::model::ParetoModel;
use super::point::FrontPoint;
use super::{Bias, Mode, Pick};
use crate::svm::{Fact, classes, probabilities_of};
use crate::words::{g, general, percent, share};

pub(super) fn facts(model: &ParetoModel) -> Vec<Fact> {
    let (settings, point) = (&model.parameters, &model.front[model.picked]);
    let mode = match settings.mode {
        Mode::Evolve => "evolved",
        _ => "exact",
    };
    let mut facts = vec![
        ("kind", format!("{mode} front of {} classifiers", model.front.len())),
        ("kernel", model.kernel.in_words()),
        classes(&model.classes),
    ];
    if model.classes.len() > 2 {
        facts.push(("decides by", format!("the largest of {} machines at one common position", model.machines.len())));
    }
    let third = if settings.balanced() { "with intercept" } else { "without intercept" };
    let why = match settings.bias {
        Bias::Auto if settings.mode == Mode::Evolve => " (as in the paper)",
        Bias::Auto => " (the default of exact fronts)",
        _ => "",
    };
    facts.push(("machines", format!("{third}{why}")));
    if let Some(chosen) = model.chosen_width() {
        let each = model.family.iter().map(|own| format!("{} {}", general(own.gamma, 3), percent(own.lowest())));
        let text = format!(
            "gamma = {} of {} compared by their lowest estimated error ({})",
            general(model.family[chosen].gamma, 4),
            model.family.len(),
            each.collect::<Vec<_>>().join(", ")
        );
        facts.push(("width", text));
    }
    if let Ok(volume) = model.hypervolume() {
        facts.push(("hypervolume", g(volume)));
    }
    let held = if model.holdout_rows == 0 { "none".to_owned() } else { format!("{} rows", model.holdout_rows) };
    let repeats = if model.holdout_rows > 0 && settings.mode != Mode::Evolve { settings.holdout_repeats } else { 1 };
    let held = if repeats > 1 { format!("{held}, {repeats} times for the choice") } else { held };
    facts.push(("hold-out", held));
    let rule = match settings.pick {
        Pick::Index(_) => "as asked",
        _ if model.holdout_rows == 0 => "the knee",
        Pick::Holdout => "lowest estimated error",
        Pick::Knee if model.marks().knee.is_none() => "lowest estimated error: there is no knee",
        Pick::Knee => "the knee",
        Pick::OneSe => "largest margin within one standard error",
    };
    let estimate = model.estimates[model.picked];
    let error = if estimate.is_nan() { String::new() } else { format!(", estimated error {}", percent(estimate)) };
    if model.is_no_better_than_constant() {
        let constant = percent(model.constant_error());
        facts.push(("no better than", format!("a constant answer, whose error is {constant}: nothing was learnt")));
    }
    facts.push(("picked", format!("point {} ({rule}): {}{error}", model.picked, equal_c(point, g(point.equivalent_c)))));
    facts.extend(chosen(model).map(|text| ("chosen", text)));
    let support = model.classifier.machine.len();
    let rows = model.classifier.report.rows;
    let of = if model.refitted() { ", solved again on all rows" } else { "" };
    facts.push(("support vectors", format!("{support}{}{of}", share(support, rows))));
    facts.push(probabilities_of(model.classifier.calibration.as_ref()));
    facts.push(("tolerance", format!("{} (relative KKT gap)", g(settings.tolerance))));
    facts
}

/// The C of the machine that a point is a multiple of; a point whose multiplier is not above zero has none.
fn equal_c(point: &FrontPoint, c: String) -> String {
    if point.equivalent_c.is_finite() { format!("C = {c}") } else { "no equivalent C".to_owned() }
}

/// What was left open and how it was settled, each with the setting that overrides it; none where nothing was left open.
pub(super) fn chosen(model: &ParetoModel) -> Option<String> {
    let (settings, point) = (&model.parameters, &model.front[model.picked]);
    let mut parts = Vec::new();
    if let Some(place) = model.chosen_width() {
        let own = &model.family[place];
        parts.push(format!(
            "gamma = {}, {} ({}) of {} widths over {} hold-outs (`gamma` as a number overrides it)",
            general(own.gamma, 4),
            if model.has_lowest(place) { "the lowest estimated error" } else { "the kernel's own, within a standard error of the lowest" },
            percent(own.lowest()),
            model.family.len(),
            own.holdouts
        ));
    }
    let c = equal_c(point, general(point.equivalent_c, 4));
    match settings.pick {
        Pick::Index(_) => {}
        Pick::Holdout if model.holdout_rows > 0 => parts.push(format!(
            "{c}, the point of {} with the lowest estimated error ({}) on {} held-out rows (`pick` overrides it)",
            model.front.len(),
            percent(model.estimates[model.picked]),
            model.estimate_rows
        )),
        Pick::OneSe if model.holdout_rows > 0 => parts.push(format!(
            "{c}, the largest margin within one standard error of the lowest estimated error on {} held-out rows (`pick` overrides it)",
            model.estimate_rows
        )),
        _ => {
            let marks = model.marks();
            let how = match (marks.knee, marks.lowest) {
                (Some(_), _) => "the corner of slack against norm",
                (None, Some(_)) => "the lowest estimated error on held-out rows: the curve has no corner",
                (None, None) => "nearest to 1: the curve has no corner",
            };
            parts.push(format!("{c}, {how} (`pick` overrides it)"));
        }
    }
    if settings.bias == Bias::Auto {
        let (with, why) = match settings.mode {
            Mode::Evolve => ("no", "as in the paper"),
            _ if model.kernel.is_positive_semidefinite() == Some(true) => {
                ("an", "without one a narrow kernel gives everything far from the rows to one class")
            }
            _ => ("an", "without one an indefinite kernel may put all rows on one side"),
        };
        parts.push(format!("{with} intercept: {why} (`bias` overrides it)"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Everything for machines; numbers that do not exist are null.
pub(super) fn front(model: &ParetoModel) -> Value {
    let finite = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    let points: Vec<Value> = model
        .front
        .iter()
        .map(|p| {
            json!({
                "quadratic": p.quadratic, "sum_alpha": p.sum_alpha, "train_error": p.train_error, "holdout_error": finite(p.holdout_error),
                "n_support": p.n_support, "equivalent_c": finite(p.equivalent_c), "margin": finite(p.margin), "gap": finite(p.gap),
            })
        })
        .collect();
    let marks = model.marks();
    json!({
        "points": points,
        "picked": model.picked,
        "lowest": marks.lowest, "knee": marks.knee, "one_se": marks.one_se, "parting": marks.parting,
        "hypervolume": model.hypervolume().ok(),
        "estimates": model.estimates.iter().map(|&value| finite(value)).collect::<Vec<_>>(),
        "holdout_rows": model.holdout_rows,
        "intercept": model.parameters.balanced(),
        "constant_error": model.constant_error(),
        "no_better_than_constant": model.is_no_better_than_constant(),
        "width": model.chosen_width().map(|place| model.family[place].gamma),
        "family": model.family.iter().map(|own| {
            json!({ "gamma": own.gamma, "lowest": own.lowest(), "holdouts": own.holdouts, "hypervolume": own.hypervolume })
        }).collect::<Vec<_>>(),
    })
}
