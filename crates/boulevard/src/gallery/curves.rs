//! Confusion matrix, ROC, precision against recall, calibration.

use super::judged::Judged;
use super::threshold::{Curve, Step};
use crate::error::Result;
use crate::metrics::classification::{average_precision, roc_auc};
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::words::percent;

/// Bins of probabilities.
const BINS: usize = 10;

/// Counts of what is against what was said.
pub fn confusion(judged: &Judged) -> Result<Picture> {
    let counts = judged.counts()?;
    let names = counts.names().to_vec();
    let (mut x, mut y, mut value, mut count) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut worst = (0.0, String::new());
    for truth in 0..counts.classes() {
        let all: f64 = (0..counts.classes()).map(|said| counts.count(truth, said)).sum();
        for said in 0..counts.classes() {
            let share = counts.count(truth, said) / all.max(1.0);
            if truth != said && counts.count(truth, said) > worst.0 {
                let words = format!(
                    "{} of class `{}` ({}) were taken for `{}`",
                    counts.count(truth, said),
                    names[truth],
                    percent(share),
                    names[said]
                );
                worst = (counts.count(truth, said), words);
            }
            x.push(names[said].clone());
            y.push(names[truth].clone());
            value.push(100.0 * share);
            count.push(counts.count(truth, said));
        }
    }
    let (error, deviation) = judged.error();
    let most = if worst.1.is_empty() { "no row is wrong".to_owned() } else { format!("most often {}", worst.1) };
    let layer = Layer::new(Mark::Cells, "share of the true class (%)", Role::Neutral).texts("x", x).texts("y", y).numbers("value", value);
    let picture = Picture::new("confusion", "Right and wrong", Axis::names("said", names.clone()), Axis::names("true", names));
    Ok(picture.squared().with(layer.numbers("rows", count)).saying(format!(
        "{} wrong (standard error {}) on {}; {most}.",
        percent(error),
        percent(deviation),
        judged.which()
    )))
}

/// A layer per class that occurs on both sides.
fn per_class(judged: &Judged, mut draw: impl FnMut(usize, &[bool], &[f64], Role) -> Result<()>) -> Result<()> {
    for (place, class) in judged.curves().into_iter().enumerate() {
        let truth: Vec<bool> = judged.truth.iter().map(|&code| code as usize == class).collect();
        let scores: Vec<f64> = (0..judged.len()).map(|row| judged.score(row, class)).collect();
        if truth.iter().any(|&own| own) && truth.iter().any(|&own| !own) && scores.iter().all(|score| !score.is_nan()) {
            let role = if judged.classes.len() == 2 { Role::Holdout } else { Role::Class(place) };
            draw(class, &truth, &scores, role)?;
        }
    }
    Ok(())
}

/// Where the decisions themselves lie on the curves.
fn as_said(picture: Picture, places: &[(f64, f64)]) -> Picture {
    picture.with(Layer::new(Mark::Points, "as it is decided", Role::Chosen).points(places.iter().copied()))
}

/// The ROC curve of every class against the rest.
pub fn roc(judged: &Judged) -> Result<Picture> {
    let mut picture = Picture::new(
        "roc",
        "ROC: finding a class against false alarms",
        Axis::percent("false alarms").within(0.0, 100.0),
        Axis::percent("found").within(0.0, 100.0),
    )
    .squared()
    .with(Layer::new(Mark::Line, "guessing", Role::Baseline).points([(0.0, 0.0), (100.0, 100.0)]));
    let mut areas: Vec<(f64, String)> = Vec::new();
    let mut said = Vec::new();
    per_class(judged, |class, truth, scores, role| {
        let curve = Curve::new(truth, scores, &judged.taken_for(class));
        let (own, others) = curve.totals;
        let place = |step: &Step| (100.0 * step.alarms / others, 100.0 * step.found / own);
        picture.layers.push(curve.layer(&judged.classes[class], role, Some((0.0, 0.0)), place));
        said.push(place(&curve.said));
        areas.push((roc_auc(truth, scores, None)?, judged.classes[class].clone()));
        Ok(())
    })?;
    picture = as_said(picture, &said);
    let sentence = match areas.as_slice() {
        [] => "One class only: there is nothing to rank.".to_owned(),
        [(area, name)] => {
            format!(
                "A {0} of class `{name}` scores above a {0} of the other class {1:.1} times in 100 (area under the curve {area:.3}).",
                judged.one(),
                100.0 * area
            )
        }
        several => {
            let (area, name) = several.iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("not empty");
            format!("Hardest to rank is `{name}` (area under the curve {area:.3}).")
        }
    };
    Ok(picture.saying(sentence))
}

/// Precision against recall of every class.
pub fn precision_recall(judged: &Judged) -> Result<Picture> {
    let mut picture = Picture::new(
        "precision-recall",
        "How many alarms are right",
        Axis::percent("found (recall)").within(0.0, 100.0),
        Axis::percent("right among those said (precision)").within(0.0, 100.0),
    )
    .squared();
    // The sentence is about the class for which finding most rows costs the most alarms.
    let mut worst: Option<(f64, f64, usize)> = None;
    let mut said = Vec::new();
    per_class(judged, |class, truth, scores, role| {
        let curve = Curve::new(truth, scores, &judged.taken_for(class));
        let precision = |step: &Step| if step.found > 0.0 { 100.0 * step.found / (step.found + step.alarms) } else { 0.0 };
        let place = |step: &Step| (100.0 * step.found / curve.totals.0, precision(step));
        picture.layers.push(curve.layer(&judged.classes[class], role, None, place));
        if curve.said.found + curve.said.alarms > 0.0 {
            said.push(place(&curve.said));
        }
        if let Some((_, precision)) = curve.steps.iter().map(place).find(|(recall, _)| *recall >= 90.0)
            && worst.is_none_or(|(least, ..)| precision < least)
        {
            worst = Some((precision, average_precision(truth, scores, None)?, class));
        }
        Ok(())
    })?;
    let sentence = worst.map_or_else(String::new, |(precision, average, class)| {
        format!(
            "When nine in ten {}s of `{}` are to be found, {precision:.0} % of the alarms are right (average precision {average:.3}).",
            judged.one(),
            judged.classes[class]
        )
    });
    picture = as_said(picture, &said);
    if judged.classes.len() == 2 {
        let share = 100.0 * judged.truth.iter().filter(|&&code| code == 1).count() as f64 / judged.len().max(1) as f64;
        picture = picture.with(Layer::new(Mark::Rule, "guessing", Role::Baseline).numbers("y", vec![share]));
    }
    Ok(picture.saying(sentence))
}

/// Said probability against what happened; `None` without probabilities.
pub fn calibration(judged: &Judged) -> Option<Picture> {
    let probabilities = judged.probabilities.as_ref()?;
    let classes = judged.classes.len();
    let mut picture = Picture::new(
        "calibration",
        "Whether probabilities can be believed",
        Axis::percent("said probability").within(0.0, 100.0),
        Axis::percent("happened").within(0.0, 100.0),
    )
    .squared()
    .with(Layer::new(Mark::Line, "as said", Role::Baseline).points([(0.0, 0.0), (100.0, 100.0)]));
    let (mut off, mut weight) = (0.0, 0.0);
    for (place, class) in judged.curves().into_iter().enumerate() {
        let mut bins = vec![(0.0, 0.0, 0.0); BINS];
        for row in 0..judged.len() {
            let said = probabilities[row * classes + class];
            let bin = &mut bins[((said * BINS as f64) as usize).min(BINS - 1)];
            *bin = (bin.0 + 1.0, bin.1 + said, bin.2 + f64::from(u8::from(judged.truth[row] as usize == class)));
        }
        bins.retain(|bin| bin.0 > 0.0);
        off += bins.iter().map(|(_, said, happened)| (said - happened).abs()).sum::<f64>();
        weight += judged.len() as f64;
        let role = if classes == 2 { Role::Holdout } else { Role::Class(place) };
        let points = bins.iter().map(|(count, said, happened)| (100.0 * said / count, 100.0 * happened / count));
        let counts = bins.iter().map(|bin| bin.0).collect();
        picture = picture.with(Layer::new(Mark::Line, &judged.classes[class], role).points(points).numbers("rows", counts));
    }
    let off = off / weight.max(1.0);
    let verdict = if off < 0.05 { "can be believed" } else { "should be taken with care" };
    Some(picture.saying(format!(
        "Probabilities {verdict}: on average they are off by {:.1} percentage points on {}.",
        100.0 * off,
        judged.which()
    )))
}
