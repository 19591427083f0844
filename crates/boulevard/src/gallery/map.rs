//! The decision map: which answer rules where, with the rows on top.

use std::collections::HashSet;

use super::MOST_ROWS;
use super::asked::{Asked, Importance};
use super::plane::Plane;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::observe::Context;
use crate::picture::{Axis, Layer, Mark, Picture, Role, thinned};
use crate::svm::{Answers, Model, Rows};

/// Cells along each side.
const CELLS: usize = 72;

/// The map of a classifier or a one-class machine in the plane that `importance` says; `None` for other models.
pub fn decision_map<M: Model>(
    model: &M,
    data: &Dataset<'_>,
    importance: Option<&Importance>,
    context: &Context<'_>,
) -> Result<Option<Picture>> {
    let classes: Vec<String> = match model.answers() {
        Answers::Classes(names) => names.to_vec(),
        Answers::Inside => vec!["outside".to_owned(), "inside".to_owned()],
        _ => return Ok(None),
    };
    if Asked::new(model, data, context).is_none() || data.x.columns() < 2 || data.tasks.is_some() {
        return Ok(None);
    }
    let plane = Plane::of(data, importance);
    let shown = thinned(data.len(), MOST_ROWS);
    let places: Vec<(f64, f64)> = shown.iter().map(|&row| plane.place(&data.x, row)).collect();
    let span = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let margin = if high > low { 0.05 * (high - low) } else { 1.0 };
        (low - margin, high + margin)
    };
    let (xs, ys) = (span(&mut places.iter().map(|p| p.0)), span(&mut places.iter().map(|p| p.1)));
    let at = |i: usize, (low, high): (f64, f64)| low + (i as f64 + 0.5) / CELLS as f64 * (high - low);
    let cells: Vec<(f64, f64)> = (0..CELLS * CELLS).map(|i| (at(i % CELLS, xs), at(i / CELLS, ys))).collect();
    let (said, sure) = ground(model, &plane, &cells, classes.len(), context)?;
    let ground = Layer::new(Mark::Ground, "what is said there", Role::Neutral)
        .numbers("class", said.iter().map(|&class| f64::from(class)).collect())
        .numbers("value", sure.iter().map(|sure| (100.0 * sure).round() / 100.0).collect())
        .wide(CELLS);
    let mut picture = Picture::new(
        "map",
        "Where it decides what",
        Axis::linear(&plane.labels[0]).within(xs.0, xs.1),
        Axis::linear(&plane.labels[1]).within(ys.0, ys.1),
    )
    .squared()
    .with(ground);
    let own = model.decide(&Rows { x: &data.x.select(&shown), sets: None, tasks: None }, context)?;
    let answers: Target = model.predictions_from(&own)?.into();
    let Target::Classes(answers) = answers else { return Ok(None) };
    let truth: Vec<u32> = match &data.target {
        Target::Classes(truth) => shown.iter().map(|&row| truth.codes()[row]).collect(),
        _ => answers.codes().to_vec(),
    };
    // Rings belong to rows of the table: machines of sets and ensembles have support vectors of another kind.
    let machines = if model.decides_sets() { Vec::new() } else { model.kernel_machines() };
    let support: HashSet<usize> = machines.iter().filter(|_| machines.len() == 1).flat_map(|one| one.support.iter().copied()).collect();
    for (class, name) in classes.iter().enumerate() {
        let own: Vec<usize> = (0..shown.len()).filter(|&i| truth[i] as usize == class).collect();
        let wrong = |&i: &usize| f64::from(u8::from(answers.codes()[i] != truth[i]));
        let layer = Layer::new(Mark::Points, name, Role::Class(class))
            .points(own.iter().map(|&i| places[i]))
            .numbers("row", own.iter().map(|&i| (shown[i] + 1) as f64).collect())
            .texts("said", own.iter().map(|&i| classes[answers.codes()[i] as usize].clone()).collect())
            .numbers("wrong", own.iter().map(wrong).collect())
            .numbers("ring", own.iter().map(|&i| f64::from(u8::from(support.contains(&shown[i])))).collect());
        picture = picture.with(layer);
    }
    let wrong = (0..shown.len()).filter(|&i| answers.codes()[i] != truth[i]).count();
    let rings = if support.is_empty() { String::new() } else { format!(" {} support vectors have a ring.", support.len()) };
    let words = if plane.words.is_empty() { String::new() } else { format!(" It is a cut: {}.", plane.words) };
    let rows =
        if shown.len() < data.len() { format!("{} of {} rows are drawn", shown.len(), data.len()) } else { format!("{} rows", data.len()) };
    let mistakes = match &data.target {
        Target::Classes(_) if wrong == 0 => "none of them on the wrong side".to_owned(),
        Target::Classes(_) => format!("{wrong} of them on the wrong side (crossed)"),
        _ => format!("{} of them outside", answers.codes().iter().filter(|&&code| code == 0).count()),
    };
    let ground = if matches!(data.target, Target::Classes(_)) { "which class is chosen there" } else { "what lies inside and outside" };
    Ok(Some(picture.saying(format!("The ground says {ground}, the stronger the surer; {rows}, {mistakes}.{rings}{words}"))))
}

/// The class of every cell, and how sure it is, from 0 to 1.
fn ground<M: Model>(model: &M, plane: &Plane, cells: &[(f64, f64)], classes: usize, context: &Context<'_>) -> Result<(Vec<u32>, Vec<f64>)> {
    let table = plane.rows(cells)?;
    let decisions = model.decide(&Rows { x: &table, sets: None, tasks: None }, context)?;
    let said: Target = model.predictions_from(&decisions)?.into();
    let Target::Classes(said) = said else { return Ok((vec![0; cells.len()], vec![0.0; cells.len()])) };
    let codes = said.codes().to_vec();
    let probabilities = if model.has_probabilities() { model.probabilities_from(&decisions)? } else { None };
    let sure = (0..cells.len()).map(|i| match &probabilities {
        Some(all) => {
            let chance = 1.0 / classes as f64;
            ((all[i * classes + codes[i] as usize] - chance) / (1.0 - chance)).clamp(0.0, 1.0)
        }
        None => {
            let own = &decisions.values[i * decisions.columns..(i + 1) * decisions.columns];
            let mut sorted = own.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let ahead = if sorted.len() == 1 { sorted[0].abs() } else { sorted[0] - sorted[1] };
            if ahead.is_finite() { ahead.tanh() } else { 1.0 }
        }
    });
    Ok((codes.clone(), sure.collect()))
}
