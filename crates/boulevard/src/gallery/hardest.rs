//! The rows that are farthest on the wrong side.

use super::judged::Judged;
use crate::picture::{Axis, Layer, Mark, Picture, Role};

/// Rows that are shown.
const SHOWN: usize = 12;

/// Places (in the judged rows) of the rows with the smallest margins, the smallest first.
pub fn hardest_rows(judged: &Judged, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..judged.len()).collect();
    order.sort_by(|&a, &b| judged.margin(a).total_cmp(&judged.margin(b)));
    order.truncate(most);
    order
}

/// The hardest rows by their margin.
pub fn hardest(judged: &Judged) -> Picture {
    let places = hardest_rows(judged, SHOWN);
    let class = |code: u32| &judged.classes[code as usize];
    // Row numbers as people count: from one.
    let name =
        |&place: &usize| format!("row {}: is {}, said {}", judged.rows[place] + 1, class(judged.truth[place]), class(judged.said[place]));
    let names: Vec<String> = places.iter().map(name).collect();
    let layer = Layer::new(Mark::Bars, "", Role::Neutral)
        .numbers("x", places.iter().map(|&place| judged.margin(place)).collect())
        .texts("y", names.clone())
        .numbers("row", places.iter().map(|&place| (judged.rows[place] + 1) as f64).collect());
    let wrong = judged.truth.iter().zip(&judged.said).filter(|(a, b)| a != b).count();
    let sentence = match places.first() {
        Some(&first) if judged.margin(first) < 0.0 => format!(
            "{wrong} of {} rows are wrong; row {} is the farthest on the wrong side: look at its label and values first.",
            judged.len(),
            judged.rows[first] + 1
        ),
        _ => "No row is on the wrong side; these are the nearest to the border.".to_owned(),
    };
    Picture::new(
        "hardest",
        "The hardest rows",
        Axis::linear("distance to the right side of the border (negative: wrong)"),
        Axis::names("row", names),
    )
    .with(layer)
    .saying(sentence)
}
