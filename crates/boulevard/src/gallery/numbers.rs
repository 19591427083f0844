//! Predicted numbers beside the true ones, and the rows that are farthest off.

use super::MOST_ROWS;
use crate::error::Result;
use crate::metrics::regression;
use crate::picture::{Axis, Layer, Mark, Picture, Role, thinned};
use crate::words::general;

/// Rows that are shown as farthest off.
const SHOWN: usize = 12;

/// True value against prediction; `held_out`: rows that were not learnt from.
pub fn agreement(truth: &[f64], said: &[f64], held_out: bool) -> Result<Picture> {
    let which = if held_out { "rows that were not learnt from" } else { "the training rows" };
    let rows = thinned(truth.len(), MOST_ROWS);
    let ends = truth.iter().chain(said).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let role = if held_out { Role::Holdout } else { Role::Training };
    let layer = Layer::new(Mark::Points, "rows", role)
        .points(rows.iter().map(|&row| (truth[row], said[row])))
        .numbers("row", rows.iter().map(|&row| (row + 1) as f64).collect());
    let error = regression::root_mean_squared_error(truth, said, None)?;
    let r2 = regression::r2(truth, said, None)?;
    Ok(Picture::new("agreement", "Predictions beside the truth", Axis::linear("true value"), Axis::linear("prediction"))
        .squared()
        .with(layer)
        .with(Layer::new(Mark::Line, "as it is", Role::Baseline).points([(ends.0, ends.0), (ends.1, ends.1)]))
        .saying(format!("Typical error {} (root of the mean square), R² = {} on {which}.", general(error, 3), general(r2, 3))))
}

/// The rows whose prediction is farthest off, and their places in the given lists; `rows` are their places in the table.
pub fn farthest(truth: &[f64], said: &[f64], rows: &[usize], held_out: bool) -> (Picture, Vec<usize>) {
    let off = |place: usize| said[place] - truth[place];
    let mut places: Vec<usize> = (0..truth.len()).collect();
    places.sort_by(|&a, &b| off(b).abs().total_cmp(&off(a).abs()));
    places.truncate(SHOWN);
    let name = |&place: &usize| format!("row {}: is {}, said {}", rows[place] + 1, general(truth[place], 4), general(said[place], 4));
    let names: Vec<String> = places.iter().map(name).collect();
    let layer = Layer::new(Mark::Bars, "", Role::Neutral)
        .numbers("x", places.iter().map(|&place| off(place)).collect())
        .texts("y", names.clone())
        .numbers("row", places.iter().map(|&place| (rows[place] + 1) as f64).collect());
    let which = if held_out { "rows that were not learnt from" } else { "the training rows" };
    let sentence = places.first().map_or_else(String::new, |&first| {
        format!("Of {which}, row {} is farthest off, by {}: look at its value first.", rows[first] + 1, general(off(first).abs(), 3))
    });
    let picture = Picture::new("hardest", "The hardest rows", Axis::linear("prediction minus true value"), Axis::names("row", names));
    (picture.with(layer).saying(sentence), places)
}
