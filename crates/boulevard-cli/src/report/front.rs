//! Fronts as tables and as the paper's two pictures.

use boulevard::methods::pareto::{FrontPoint, Marks, Mode, ParetoModel, by_training_error};

use super::html;
use super::picture::{Curve, Spot, curves};
use super::table::Table;
use boulevard::words::{general, percent};

/// Rows of the front that are shown at most, besides marked ones.
const SHOWN: usize = 12;

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
