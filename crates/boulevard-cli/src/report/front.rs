//! Fronts as tables.

use boulevard::any::AnyModel;
use boulevard::methods::pareto::{Marks, ParetoModel};

use super::table::Table;
use boulevard::words::{general, percent};

/// Rows of the front that are shown at most, besides marked ones.
const SHOWN: usize = 12;

/// The front, where a model is one.
pub fn of(model: &AnyModel) -> Option<&ParetoModel> {
    model.get()
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
        (marks.knee, "knee"),
        (marks.one_se, "widest within one s.e."),
        (marks.parting, "errors part"),
    ];
    all.iter().filter(|(place, _)| *place == Some(i)).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}
