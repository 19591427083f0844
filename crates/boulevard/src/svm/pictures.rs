//! What a plain machine can show of itself: the weights of a linear one, the support vectors of one with kernels.

use super::linear::LinearMachine;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::words::{general, share};

/// Weights that are drawn, and classes that have their own.
const SHOWN: usize = 20;
const CLASSES: usize = 8;

/// The largest weights of a linear machine; `classes` are those of its outputs, none for a number.
pub(super) fn weights(machine: &LinearMachine, names: Option<&[String]>, classes: &[String]) -> Vec<Picture> {
    let largest = |column: usize| (0..machine.outputs()).map(|output| machine.output(output)[column].abs()).fold(0.0, f64::max);
    let mut order: Vec<(usize, f64)> = (0..machine.features).map(|column| (column, largest(column))).filter(|one| one.1 > 0.0).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let used = order.len();
    order.truncate(SHOWN);
    let Some(&(first, _)) = order.first() else { return Vec::new() };
    let name = |column: usize| names.and_then(|names| names.get(column)).cloned().unwrap_or_else(|| format!("x{}", column + 1));
    let shown: Vec<String> = order.iter().map(|&(column, _)| name(column)).collect();
    let one = machine.outputs() == 1;
    let label = match classes {
        [_, second] if one => format!("weight, added to the decision for {second} per unit"),
        [] => "weight, added to the prediction per unit".to_owned(),
        _ => "weight, added to the class's decision per unit".to_owned(),
    };
    let mut picture = Picture::new("weights", "The largest weights", Axis::linear(&label), Axis::names("column", shown.clone()));
    for output in 0..machine.outputs().min(CLASSES) {
        let values = order.iter().map(|&(column, _)| machine.output(output)[column]).collect();
        let (mark, role) = if one { (Mark::Bars, Role::Neutral) } else { (Mark::Points, Role::Class(output)) };
        let own = if one { "" } else { classes.get(output).map_or("", String::as_str) };
        picture = picture.with(Layer::new(mark, own, role).numbers("x", values).texts("y", shown.clone()));
    }
    let output =
        (0..machine.outputs()).fold(0, |best, i| if machine.output(i)[first].abs() > machine.output(best)[first].abs() { i } else { best });
    let weight = machine.output(output)[first];
    let class = if one { classes.get(1) } else { classes.get(output) };
    let speaks = class.map_or_else(
        || format!("every unit of it moves the prediction by {}", general(weight, 3)),
        |class| format!("more of it speaks {} `{class}` ({} per unit)", if weight > 0.0 { "for" } else { "against" }, general(weight, 3)),
    );
    let drawn = if used > SHOWN { format!(", of which {SHOWN} are drawn") } else { String::new() };
    vec![picture.saying(format!(
        "{used} of {} columns have a weight{drawn}; the largest is that of `{}`: {speaks}.",
        machine.features,
        name(first)
    ))]
}

/// Support vectors of each class, of `rows` that were learnt from.
pub(super) fn support(classes: &[String], counts: &[usize], rows: usize) -> Vec<Picture> {
    let all: usize = counts.iter().sum();
    let Some(most) = (0..counts.len()).max_by_key(|&class| counts[class]).filter(|_| all > 0) else { return Vec::new() };
    let layer = Layer::new(Mark::Bars, "", Role::Neutral)
        .numbers("x", counts.iter().map(|&count| count as f64).collect())
        .texts("y", classes.to_vec());
    let advice = if 2 * all > rows { " Where most rows are needed, the kernel may be too narrow or the classes overlap." } else { "" };
    let sentence = format!(
        "{all} support vectors{} carry the border, {} of them of class `{}`.{advice}",
        share(all, rows),
        counts[most],
        classes[most]
    );
    let axes = (Axis::linear("support vectors"), Axis::names("class", classes.to_vec()));
    vec![Picture::new("support", "Which rows carry the border", axes.0, axes.1).with(layer).saying(sentence)]
}
