//! Searches and comparisons: errors over a grid, methods side by side, our numbers beside published ones.

use std::cmp::Ordering;

use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::words::general;

/// One point of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// The value of the first parameter, C for example.
    pub first: f64,
    /// The value of the second one, where there is one.
    pub second: Option<f64>,
    /// Mean error; NaN where it could not be fitted.
    pub error: f64,
    /// Its standard deviation over folds.
    pub deviation: f64,
}

/// The errors of a search over one or two parameters, the best of those that share both values; `share`: errors are shares and are shown
/// in percent.
pub fn search(tried: &[GridCell], names: [&str; 2], best: usize, share: bool) -> Picture {
    let chosen = &tried[best];
    let mut cells: Vec<&GridCell> = tried.iter().collect();
    let rank = |cell: &GridCell| (!std::ptr::eq(cell, chosen), if cell.error.is_nan() { f64::INFINITY } else { cell.error });
    cells.sort_by(|a, b| {
        let ends = |cell: &GridCell| (cell.first, cell.second.unwrap_or(0.0));
        ends(a).partial_cmp(&ends(b)).unwrap_or(Ordering::Equal).then(rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal))
    });
    cells.dedup_by(|a, b| a.first == b.first && a.second == b.second);
    let factor = if share { 100.0 } else { 1.0 };
    let unit = if share { " %" } else { "" };
    let (mut firsts, mut seconds): (Vec<f64>, Vec<f64>) =
        (cells.iter().map(|cell| cell.first).collect(), cells.iter().filter_map(|cell| cell.second).collect());
    for list in [&mut firsts, &mut seconds] {
        list.sort_by(f64::total_cmp);
        list.dedup();
    }
    let at = |cell: &GridCell| {
        format!(
            "{} = {}{}",
            names[0],
            general(cell.first, 4),
            cell.second.map_or(String::new(), |v| format!(", {} = {}", names[1], general(v, 4)))
        )
    };
    let reach = chosen.error + chosen.deviation;
    let close = cells.iter().filter(|cell| cell.error <= reach).count();
    let sentence = format!(
        "Lowest error {}{unit} at {}; {close} of {} points lie within one standard deviation over folds of it.",
        general(factor * chosen.error, 4),
        at(chosen),
        cells.len()
    );
    let errors = cells.iter().map(|cell| factor * cell.error).collect::<Vec<f64>>();
    let deviations = cells.iter().map(|cell| factor * cell.deviation).collect::<Vec<f64>>();
    if seconds.len() < 2 {
        let axis = if share { Axis::percent("error") } else { Axis::linear("mean squared error") };
        let x = || cells.iter().map(|cell| cell.first).collect::<Vec<f64>>();
        let band = |sign: f64| errors.iter().zip(&deviations).map(|(e, d)| (e + sign * d).max(0.0)).collect::<Vec<f64>>();
        return Picture::new("search", "Error over the search", Axis::log(names[0]), axis)
            .with(
                Layer::new(Mark::Area, "one standard deviation", Role::Holdout)
                    .numbers("x", x())
                    .numbers("y1", band(-1.0))
                    .numbers("y2", band(1.0)),
            )
            .with(Layer::new(Mark::Line, "error over folds", Role::Holdout).numbers("x", x()).numbers("y", errors.clone()))
            .with(Layer::new(Mark::Rule, "best", Role::Chosen).numbers("x", vec![chosen.first]))
            .saying(sentence);
    }
    if cells.len() < firsts.len() * seconds.len() {
        return scattered(&cells, chosen, names, factor, share).saying(sentence);
    }
    let word = |value: f64| general(value, 3);
    let label = if share { "error (%)" } else { "mean squared error" };
    let layer = Layer::new(Mark::Cells, label, Role::Neutral)
        .texts("x", cells.iter().map(|cell| word(cell.first)).collect())
        .texts("y", cells.iter().map(|cell| word(cell.second.unwrap_or(f64::NAN))).collect())
        .numbers("value", errors)
        .numbers("sd over folds", deviations)
        .numbers("ring", cells.iter().map(|cell| f64::from(u8::from(std::ptr::eq(*cell, chosen)))).collect());
    let list = |values: &[f64]| values.iter().map(|&value| word(value)).collect::<Vec<String>>();
    Picture::new("search", "Error over the search", Axis::names(names[0], list(&firsts)), Axis::names(names[1], list(&seconds)))
        .with(layer)
        .saying(sentence)
}

/// Points that are no full grid, because some were added where it was worth it: each a mark, by how near it comes to the chosen one.
fn scattered(cells: &[&GridCell], chosen: &GridCell, names: [&str; 2], factor: f64, share: bool) -> Picture {
    let told = if share { "error (%)" } else { "mean squared error" };
    let reach = chosen.error + chosen.deviation;
    let layer = |name: &str, role: Role, which: &dyn Fn(&GridCell) -> bool| {
        let own: Vec<&&GridCell> = cells.iter().filter(|cell| cell.second.is_some() && !cell.error.is_nan() && which(cell)).collect();
        Layer::new(Mark::Points, name, role)
            .points(own.iter().map(|cell| (cell.first, cell.second.unwrap_or(f64::NAN))))
            .numbers(told, own.iter().map(|cell| factor * cell.error).collect())
            .numbers("sd over folds", own.iter().map(|cell| factor * cell.deviation).collect())
    };
    let is_chosen = |cell: &GridCell| std::ptr::eq(cell, chosen);
    Picture::new("search", "Error over the search", Axis::log(names[0]), Axis::log(names[1]))
        .with(layer("worse", Role::Class(0), &|cell| cell.error > reach && !is_chosen(cell)))
        .with(layer("within one standard deviation of the chosen", Role::Class(1), &|cell| cell.error <= reach && !is_chosen(cell)))
        .with(layer("chosen", Role::Chosen, &is_chosen))
}

/// Methods side by side: mean error over folds with one standard deviation.
pub fn comparison(methods: &[(String, f64, f64)], share: bool, sentence: &str) -> Picture {
    let factor = if share { 100.0 } else { 1.0 };
    let names: Vec<String> = methods.iter().map(|(name, ..)| name.clone()).collect();
    let axis = if share { Axis::percent("error over folds") } else { Axis::linear("mean squared error over folds") };
    let layer = Layer::new(Mark::Bars, "", Role::Holdout)
        .numbers("x", methods.iter().map(|(_, error, _)| factor * error).collect())
        .texts("y", names.clone())
        .numbers("x1", methods.iter().map(|(_, error, deviation)| factor * (error - deviation).max(0.0)).collect())
        .numbers("x2", methods.iter().map(|(_, error, deviation)| factor * (error + deviation)).collect())
        .numbers("sd over folds", methods.iter().map(|(.., deviation)| factor * deviation).collect());
    Picture::new("methods", "The methods side by side", axis, Axis::names("method", names)).with(layer).saying(sentence)
}

/// Our numbers as bars, published ones as marks; `share`: they are shares and are shown in percent.
pub fn published(rows: &[(String, f64, Option<f64>)], measure: &str, share: bool, sentence: &str) -> Picture {
    let factor = if share { 100.0 } else { 1.0 };
    let names: Vec<String> = rows.iter().map(|(name, ..)| name.clone()).collect();
    let known: Vec<&(String, f64, Option<f64>)> = rows.iter().filter(|(.., number)| number.is_some()).collect();
    let title = if known.is_empty() { "Our numbers" } else { "Our numbers beside the published ones" };
    let axis = if share { Axis::percent(measure) } else { Axis::linear(measure) };
    let ours = rows.iter().map(|(_, ours, _)| factor * ours).collect();
    Picture::new("published", title, axis, Axis::names("entry", names.clone()))
        .with(Layer::new(Mark::Bars, "ours", Role::Holdout).numbers("x", ours).texts("y", names))
        .with(
            Layer::new(Mark::Points, "published", Role::Chosen)
                .numbers("x", known.iter().filter_map(|(.., number)| number.map(|number| factor * number)).collect())
                .texts("y", known.iter().map(|(name, ..)| name.clone()).collect()),
        )
        .saying(sentence)
}
