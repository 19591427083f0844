//! Precision, recall and F1 of every label, the rarest first, and what other thresholds would give.

use super::threshold::{Curve, Step};
use crate::data::LabelMatrix;
use crate::error::Result;
use crate::metrics::classification::average_precision;
use crate::metrics::multilabel::LabelConfusion;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::validation::FoldResult;

/// Labels that are drawn.
const SHOWN: usize = 30;
/// Labels that get a curve.
const CURVES: usize = 8;

/// Precision against recall of the rarest labels on rows that were not learnt from; `None` where folds have no score per label.
pub fn label_curves(folds: &[FoldResult], truth: &LabelMatrix) -> Result<Option<Picture>> {
    let labels = truth.names().len();
    let (mut rows, mut scores, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for fold in folds {
        let (Some(decisions), crate::data::Target::Labels(answers)) = (&fold.decisions, &fold.predictions) else { return Ok(None) };
        if decisions.len() != fold.test.len() * labels || answers.names() != truth.names() {
            return Ok(None);
        }
        rows.extend_from_slice(&fold.test);
        scores.extend_from_slice(decisions);
        (0..answers.len()).for_each(|row| said.extend_from_slice(answers.row(row)));
    }
    let having = |label: usize| rows.iter().filter(|&&row| truth.row(row)[label]).count();
    let mut order: Vec<usize> = (0..labels).filter(|&label| (1..rows.len()).contains(&having(label))).collect();
    order.sort_by_key(|&label| (having(label), label));
    order.truncate(CURVES);
    let mut picture = Picture::new(
        "label-curves",
        "How many alarms are right, by label",
        Axis::percent("found (recall)").within(0.0, 100.0),
        Axis::percent("right among those said (precision)").within(0.0, 100.0),
    )
    .squared();
    let (mut decided, mut worst) = (Vec::new(), None::<(f64, usize)>);
    for (place, &label) in order.iter().enumerate() {
        let own: Vec<bool> = rows.iter().map(|&row| truth.row(row)[label]).collect();
        let column: Vec<f64> = scores.iter().skip(label).step_by(labels).copied().collect();
        let taken: Vec<bool> = said.iter().skip(label).step_by(labels).copied().collect();
        if column.iter().any(|score| !score.is_finite()) {
            continue;
        }
        let curve = Curve::new(&own, &column, &taken);
        let place_of = |step: &Step| (100.0 * step.found / curve.totals.0, 100.0 * step.found / (step.found + step.alarms).max(1.0));
        picture.layers.push(curve.layer(&truth.names()[label], Role::Class(place), None, place_of));
        decided.extend((curve.said.found + curve.said.alarms > 0.0).then(|| place_of(&curve.said)));
        let average = average_precision(&own, &column, None)?;
        if worst.is_none_or(|(least, _)| average < least) {
            worst = Some((average, label));
        }
    }
    let Some((average, label)) = worst else { return Ok(None) };
    let share = having(label) as f64 / rows.len() as f64;
    let rest = if labels > order.len() { format!(" The {} rarest labels are drawn.", order.len()) } else { String::new() };
    Ok(Some(picture.with(Layer::new(Mark::Points, "as it is decided", Role::Chosen).points(decided)).saying(format!(
        "Hardest to find is `{}`: average precision {average:.3}, where guessing has {share:.3}. A higher threshold goes to the left: fewer are found, more of them rightly.{rest}",
        truth.names()[label]
    ))))
}

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
