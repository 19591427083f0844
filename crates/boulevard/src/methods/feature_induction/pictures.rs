//! Rules by what they add, and the error over their number.

use super::model::FeatureInductionModel;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::words::percent;

/// Rules that are drawn.
const SHOWN: usize = 20;

pub(super) fn pictures(model: &FeatureInductionModel) -> Vec<Picture> {
    let mut pictures = Vec::new();
    pictures.extend(rules(model));
    pictures.extend(path(model));
    pictures.extend(curves(model));
    pictures
}

fn rules(model: &FeatureInductionModel) -> Option<Picture> {
    let rules = model.rules();
    let first = rules.first()?;
    let several = model.classes.len() > 2;
    let name = |rule: &super::Rule| if several { format!("{}: {}", rule.class, rule.text) } else { rule.text.clone() };
    let shown = &rules[..rules.len().min(SHOWN)];
    let names: Vec<String> = shown.iter().map(name).collect();
    let label =
        if several { "added to the class's decision value".to_owned() } else { format!("added to the decision for {}", first.class) };
    let layer = Layer::new(Mark::Bars, "", Role::Neutral)
        .numbers("x", shown.iter().map(|rule| rule.adds).collect())
        .texts("y", names.clone())
        .numbers("rows it holds for (%)", shown.iter().map(|rule| 100.0 * rule.support).collect())
        .numbers("weight", shown.iter().map(|rule| rule.weight).collect())
        .numbers("edge", shown.iter().map(|rule| rule.edge).collect());
    let direction = if first.adds > 0.0 { "for" } else { "against" };
    let sentence = format!(
        "{} rules; the weightiest {}speaks {direction} {} where {} ({} of the rows).",
        rules.len(),
        if rules.len() > SHOWN { format!("{SHOWN} are drawn, and the first ") } else { String::new() },
        first.class,
        first.text,
        percent(first.support)
    );
    Some(Picture::new("rules", "What each rule adds", Axis::linear(&label), Axis::names("rule", names)).saying(sentence).with(layer))
}

/// The held-out error over the number of rules of a list.
fn path(model: &FeatureInductionModel) -> Option<Picture> {
    let list = model.list.as_ref().filter(|list| !list.errors.is_empty())?;
    let points = list.errors.iter().enumerate().map(|(count, error)| (count as f64, 100.0 * error));
    let keys = (0..list.errors.len()).map(|count| count as f64).collect();
    let mut picture =
        Picture::new("rules-path", "Error against the number of rules kept", Axis::linear("rules"), Axis::percent("held-out error"))
            .choosing("max-rules")
            .with(Layer::new(Mark::Line, "rules", Role::Class(0)).points(points).numbers("key", keys));
    if let Some(error) = list.unlimited_error {
        picture = picture.with(Layer::new(Mark::Rule, "whole trees", Role::Baseline).numbers("y", vec![100.0 * error]));
    }
    picture = picture.with(Layer::new(Mark::Rule, "chosen", Role::Chosen).numbers("x", vec![list.chosen as f64]));
    let at = list.errors.get(list.chosen).or(list.errors.last()).copied().unwrap_or(f64::NAN);
    let whole = list.unlimited_error.map_or(String::new(), |error| format!("; whole trees have {}", percent(error)));
    Some(picture.saying(match list.chosen {
        0 => format!("No rule is worth keeping: without any, {} of the held-out rows are wrong{whole}.", percent(at)),
        1 => format!("One rule errs on {} of the held-out rows{whole}.", percent(at)),
        kept => format!("{kept} rules err on {} of the held-out rows{whole}.", percent(at)),
    }))
}

/// Error over the number of rounds for every depth that was tried on held-out rows.
fn curves(model: &FeatureInductionModel) -> Option<Picture> {
    let leader = model.inductions.iter().filter(|induction| induction.choice.is_some()).max_by_key(|induction| induction.features.len())?;
    let choice = leader.choice.as_ref()?;
    let mut picture =
        Picture::new("error-by-rules", "Error against the number of rules grown", Axis::linear("rounds"), Axis::percent("held-out error"))
            .choosing("n-induced");
    for (place, curve) in choice.curves.iter().enumerate() {
        let name = curve.depth.map_or("any depth".to_owned(), |depth| format!("depth {depth}"));
        let points = curve.errors.iter().enumerate().map(|(i, error)| (i as f64, 100.0 * error));
        let keys = (0..curve.errors.len()).map(|i| i as f64).collect();
        picture = picture.with(Layer::new(Mark::Line, &name, Role::Class(place)).points(points).numbers("key", keys));
    }
    picture = picture
        .with(Layer::new(Mark::Rule, "linear machine", Role::Baseline).numbers("y", vec![100.0 * choice.linear_error]))
        .with(Layer::new(Mark::Rule, "chosen", Role::Chosen).numbers("x", vec![choice.rounds as f64]));
    let gain = choice.linear_error - choice.error;
    let sentence = if choice.rounds == 0 {
        format!("Rules do not help here: the linear machine's {} on held-out rows is as good.", percent(choice.linear_error))
    } else {
        format!(
            "{} rounds bring the held-out error from {} to {} ({} points).",
            choice.rounds,
            percent(choice.linear_error),
            percent(choice.error),
            crate::words::general(100.0 * gain, 2)
        )
    };
    Some(picture.saying(sentence))
}
