//! Fronts in words, as tables and as the paper's two pictures.

use boulevard::methods::pareto::{Bias, FrontPoint, Marks, Mode, ParetoModel, Pick, by_training_error};
use serde_json::{Value, json};

use super::describe::{Fact, kernel, share};
use super::html;
use super::number::{g, general, percent};
use super::picture::{Curve, Spot, curves};
use super::table::Table;
use crate::model::listed;

/// Rows of the front that are shown at most, besides marked ones.
const SHOWN: usize = 12;

pub fn facts(model: &ParetoModel) -> Vec<Fact> {
    let (settings, point) = (&model.parameters, &model.front[model.picked]);
    let mode = match settings.mode {
        Mode::Evolve => "evolved",
        _ => "exact",
    };
    let names: Vec<&str> = model.classes.iter().map(String::as_str).collect();
    let mut facts = vec![
        ("kind", format!("{mode} front of {} classifiers", model.front.len())),
        ("kernel", kernel(&model.kernel)),
        ("classes", format!("{}: {}", names.len(), listed(&names))),
    ];
    if names.len() > 2 {
        facts.push(("decides by", format!("the largest of {} machines at one common position", model.machines.len())));
    }
    let third = if settings.bias == Bias::Objective { "with intercept" } else { "without intercept" };
    facts.push(("machines", third.to_owned()));
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
        Pick::Knee => "the knee",
        Pick::OneSe => "largest margin within one standard error",
    };
    let estimate = model.estimates[model.picked];
    let error = if estimate.is_nan() { String::new() } else { format!(", estimated error {}", percent(estimate)) };
    facts.push(("picked", format!("point {} ({rule}): C = {}{error}", model.picked, g(point.equivalent_c))));
    let refitted = settings.refit && settings.mode != Mode::Evolve && model.holdout_rows > 0;
    let support = model.classifier.machine.len();
    let rows = model.classifier.report.rows;
    let of = if refitted { ", solved again on all rows" } else { "" };
    facts.push(("support vectors", format!("{support}{}{of}", share(support, rows))));
    let calibrated = model.classifier.calibration.is_some();
    facts.push(("probabilities", if calibrated { "calibrated".into() } else { "none (train with --calibrate)".into() }));
    facts.push(("tolerance", format!("{} (relative KKT gap)", g(settings.tolerance))));
    facts
}

/// The front as a table (hold-out: the first one's; estimate: what picks go by): evenly chosen rows, and all that are marked.
pub fn table(model: &ParetoModel) -> Table {
    let (points, marks) = (&model.front, model.marks());
    let marked = |i: usize| words(&marks, model.picked, i);
    let mut table = Table::new(["point", "sum", "q", "training", "hold-out", "estimate", "support", "C", "margin", "gap", "mark"]);
    let step = points.len().div_ceil(SHOWN).max(1);
    for (i, point) in points.iter().enumerate() {
        if i % step != 0 && i + 1 != points.len() && marked(i).is_empty() {
            continue;
        }
        table.row([
            i.to_string(),
            general(point.sum_alpha, 4),
            general(point.quadratic, 4),
            percent(point.train_error),
            number(point.holdout_error, percent),
            number(model.estimates[i], percent),
            point.n_support.to_string(),
            number(point.equivalent_c, |v| general(v, 3)),
            number(point.margin, |v| general(v, 3)),
            format!("{:.0e}", point.gap),
            marked(i),
        ]);
    }
    table
}

fn number(value: f64, show: impl Fn(f64) -> String) -> String {
    if value.is_nan() { "-".to_owned() } else { show(value) }
}

fn words(marks: &Marks, picked: usize, i: usize) -> String {
    let all = [
        (Some(picked), "picked"),
        (marks.lowest, "lowest estimate"),
        (Some(marks.knee), "knee"),
        (marks.one_se, "widest within one s.e."),
        (marks.parting, "errors part"),
    ];
    all.iter().filter(|(place, _)| *place == Some(i)).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

/// A front with a name, for pictures.
pub struct Named<'a> {
    pub name: &'a str,
    pub points: &'a [FrontPoint],
    /// What the hold-out error is estimated to be.
    pub estimates: &'a [f64],
    pub marks: Marks,
}

/// The paper's two drawings: the front, and both errors by falling training error. Marks are those of the first front.
pub fn drawings(fronts: &[Named<'_>]) -> [String; 2] {
    let mut left = Vec::new();
    let mut right = Vec::new();
    let (mut spots, mut lines) = (Vec::new(), Vec::new());
    for (color, front) in fronts.iter().enumerate() {
        let along: Vec<(f64, f64)> = front.points.iter().map(|point| (point.sum_alpha, -point.quadratic)).collect();
        left.push(Curve { name: front.name.to_owned(), points: along, color, dashed: false });
        let order = by_training_error(front.points);
        let last = order.len().saturating_sub(1).max(1) as f64;
        let curve = |value: &dyn Fn(&FrontPoint) -> f64| -> Vec<(f64, f64)> {
            order.iter().enumerate().map(|(place, &i)| (place as f64 / last, 100.0 * value(&front.points[i]))).collect()
        };
        let label = |what: &str| if fronts.len() == 1 { what.to_owned() } else { format!("{}: {what}", front.name) };
        right.push(Curve { name: label("training"), points: curve(&|point| point.train_error), color, dashed: false });
        if front.points.iter().all(|point| !point.holdout_error.is_nan()) {
            right.push(Curve { name: label("hold-out"), points: curve(&|point| point.holdout_error), color, dashed: true });
        }
        if front.points.iter().zip(front.estimates).any(|(point, estimate)| point.holdout_error != *estimate) {
            let averaged: Vec<(f64, f64)> =
                order.iter().enumerate().map(|(place, &i)| (place as f64 / last, 100.0 * front.estimates[i])).collect();
            if averaged.iter().all(|(_, value)| !value.is_nan()) {
                right.push(Curve { name: label("hold-out, averaged"), points: averaged, color: color + 1, dashed: true });
            }
        }
        if color > 0 {
            continue;
        }
        let marks =
            [(front.marks.lowest, "lowest estimated error"), (Some(front.marks.knee), "knee"), (front.marks.one_se, "within one s.e.")];
        for (place, name) in marks {
            let Some(i) = place else { continue };
            spots.push(Spot { at: (front.points[i].sum_alpha, -front.points[i].quadratic), name: name.to_owned() });
        }
        if let Some(parting) = front.marks.parting
            && let Some(place) = order.iter().position(|&i| i == parting)
        {
            lines.push((place as f64 / last, "errors part".to_owned()));
        }
    }
    let front = curves("the front", &left, &spots, &[], "sum of alphas", "minus the quadratic term");
    let errors = curves("errors along the front", &right, &[], &lines, "solutions, by falling training error", "% wrong");
    [front, errors]
}

/// The two drawings with captions.
pub fn pictures(fronts: &[Named<'_>]) -> String {
    let [front, errors] = drawings(fronts);
    html::figure(&front, "The front.", "Up and to the right is better; no point is better than another in both.")
        + &html::figure(
            &errors,
            "Errors along it.",
            "Sorted by measured training error, as in the paper: where the lower curve goes on falling alone, the machine learns by heart.",
        )
}

/// Table and pictures for a page.
pub fn section(model: &ParetoModel) -> String {
    let name = if model.parameters.mode == Mode::Evolve { "evolved" } else { "exact" };
    let named = Named { name, points: &model.front, estimates: &model.estimates, marks: model.marks() };
    format!("<h2>The front</h2>\n{}{}", table(model).html(), html::cards(&pictures(&[named])))
}

/// Everything for machines; numbers that do not exist are null.
pub fn json(model: &ParetoModel) -> Value {
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
    })
}
