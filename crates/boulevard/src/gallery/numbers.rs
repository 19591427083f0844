//! Predicted numbers beside the true ones.

use super::MOST_ROWS;
use crate::error::Result;
use crate::metrics::regression;
use crate::picture::{Axis, Layer, Mark, Picture, Role, thinned};
use crate::words::general;

/// True value against prediction; `which` says whose rows they are.
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
        .saying(format!("Typical error {} (root of the mean square), R2 = {} on {which}.", general(error, 3), general(r2, 3))))
}
