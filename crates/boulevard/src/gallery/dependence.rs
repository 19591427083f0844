//! What one column does: the answer while it changes and everything else stays, with the rows' own values below.

use super::asked::{Asked, Importance, dense, quantile, sorted_column};
use crate::data::{Dataset, Matrix};
use crate::error::Result;
use crate::picture::{Axis, Layer, Mark, Picture, Role, thinned};
use crate::svm::Model;
use crate::words::general;

/// Values of the column that are tried, and strokes of the rug.
const STEPS: usize = 24;
const STROKES: usize = 200;

/// The `most` columns that move the answer most, one picture each.
pub fn dependence<M: Model>(asked: &Asked<'_, M>, data: &Dataset<'_>, importance: &Importance, most: usize) -> Result<Vec<Picture>> {
    let width = data.x.columns();
    let rows = asked.sample(data, STEPS * most.max(1), 60);
    let table = dense(&data.x, &rows);
    let mut pictures = Vec::new();
    for (place, &(column, moved)) in importance.columns.iter().take(most).enumerate() {
        let sorted = sorted_column(&data.x, column);
        let (low, high) = (quantile(&sorted, 0.02), quantile(&sorted, 0.98));
        if low >= high || moved == 0.0 {
            continue;
        }
        let steps: Vec<f64> = (0..STEPS).map(|step| low + (high - low) * step as f64 / (STEPS - 1) as f64).collect();
        let mut changed = Vec::with_capacity(STEPS * table.len());
        for &step in &steps {
            let start = changed.len();
            changed.extend_from_slice(&table);
            (0..rows.len()).for_each(|row| changed[start + row * width + column] = step);
        }
        let values = asked.values(&Matrix::dense(changed, STEPS * rows.len(), width)?)?;
        let mut mean = Vec::new();
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for part in values.chunks_exact(rows.len()) {
            let mut part = part.to_vec();
            part.sort_by(f64::total_cmp);
            mean.push(part.iter().sum::<f64>() / part.len() as f64);
            from.push(quantile(&part, 0.1));
            to.push(quantile(&part, 0.9));
        }
        let name = data.feature_name(column);
        let measure = asked.measure();
        let y = if asked.in_percent() { Axis::percent(&measure) } else { Axis::linear(&measure) };
        let strokes: Vec<f64> =
            thinned(sorted.len(), STROKES).into_iter().map(|row| sorted[row]).filter(|v| (low..=high).contains(v)).collect();
        let (first, last) = (mean[0], mean[STEPS - 1]);
        let (least, largest) = mean.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        let rises = if (last - first).abs() < 0.5 * (largest - least) {
            "bends"
        } else if last > first {
            "rises"
        } else {
            "falls"
        };
        let unit = if asked.in_percent() { " %" } else { "" };
        let show = |value: f64| format!("{}{unit}", general(value, 3));
        // A line that bends has no two ends to go by, only a lowest and a highest place.
        let way = match rises {
            "bends" => format!("between {} and {}", show(least), show(largest)),
            _ => format!("from {} to {}", show(first), show(last)),
        };
        let sentence = format!(
            "The {measure} {rises} with `{name}`, on average {way} (number {} of {width} columns by how much it moves the answer).",
            place + 1
        );
        pictures.push(
            Picture::new(&format!("dependence-{}", column + 1), &format!("What {name} does"), Axis::linear(&name), y)
                .with(
                    Layer::new(Mark::Area, "eight in ten rows", Role::Neutral)
                        .numbers("x", steps.clone())
                        .numbers("y1", from)
                        .numbers("y2", to),
                )
                .with(Layer::new(Mark::Line, "average", Role::Neutral).numbers("x", steps).numbers("y", mean))
                .with(Layer::new(Mark::Rug, "rows", Role::Baseline).numbers("x", strokes))
                .saying(sentence),
        );
    }
    Ok(pictures)
}
