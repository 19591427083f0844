//! Precision, recall and F1 of every label, the rarest first.

use crate::metrics::multilabel::LabelConfusion;
use crate::picture::{Axis, Layer, Mark, Picture, Role};

/// Labels that are drawn.
const SHOWN: usize = 30;

/// Scores by label; `which` says whose rows they are.
pub fn label_bars(counts: &LabelConfusion, which: &str) -> Picture {
    let scores = counts.label_scores();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].support.total_cmp(&scores[b].support).then(a.cmp(&b)));
    order.truncate(SHOWN);
    let names: Vec<String> = order.iter().map(|&label| counts.names()[label].clone()).collect();
    let column = |value: &dyn Fn(usize) -> f64| order.iter().map(|&label| value(label)).collect::<Vec<f64>>();
    let mut picture = Picture::new(
        "labels",
        "How well each label is found",
        Axis::linear("score, 1 is best").within(0.0, 1.0),
        Axis::names("label", names.clone()),
    );
    let rows = || column(&|label| scores[label].support);
    let bars = Layer::new(Mark::Bars, "F1", Role::Holdout).numbers("x", column(&|label| scores[label].f1)).texts("y", names.clone());
    picture = picture.with(bars.numbers("rows with the label", rows()));
    for (name, role, value) in [
        ("precision", Role::Class(0), column(&|label| scores[label].precision)),
        ("recall", Role::Class(2), column(&|label| scores[label].recall)),
    ] {
        picture = picture.with(Layer::new(Mark::Points, name, role).numbers("x", value).texts("y", names.clone()));
    }
    let worst = (0..scores.len()).min_by(|&a, &b| scores[a].f1.total_cmp(&scores[b].f1));
    let average = counts.macro_average().f1;
    picture.saying(match worst {
        Some(worst) => format!(
            "Macro F1 {average:.3} on {which}; the weakest label is `{}` with {:.3} ({} rows have it).",
            counts.names()[worst],
            scores[worst].f1,
            scores[worst].support
        ),
        None => "There are no labels.".to_owned(),
    })
}
