//! What happens over the rounds: errors, weights on hard rows, and the score of held-out rows.

use super::model::BoostedModel;
use crate::picture::{Axis, Layer, Mark, Picture, Role};

/// Labels that get a line.
const LINES: usize = 8;

/// The share of the weight on the heaviest tenth of the rows.
fn heaviest(weights: &[f64]) -> f64 {
    let mut sorted = weights.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted[..sorted.len().div_ceil(10)].iter().sum::<f64>() / sorted.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

pub(super) fn pictures(model: &BoostedModel) -> Vec<Picture> {
    let name = |label: usize| if model.labels.len() == 1 { String::new() } else { model.names[label].clone() };
    let mut errors = Picture::new(
        "round-errors",
        "Errors over the rounds",
        Axis::linear("round"),
        Axis::percent("weight of the rows a round misses").within(0.0, 50.0),
    );
    let mut heavy = Picture::new(
        "round-weights",
        "Weight on hard rows over the rounds",
        Axis::linear("rounds done"),
        Axis::percent("weight of the heaviest tenth of the rows"),
    );
    let drawn: Vec<usize> = (0..model.labels.len()).filter(|&label| !model.labels[label].rounds.is_empty()).take(LINES).collect();
    let (mut gain, mut hardest) = (f64::NEG_INFINITY, String::new());
    for (place, &label) in drawn.iter().enumerate() {
        let ensemble = &model.labels[label];
        let role = if drawn.len() == 1 { Role::Training } else { Role::Class(place) };
        let points = ensemble.rounds.iter().enumerate().map(|(i, round)| ((i + 1) as f64, 100.0 * round.error));
        let line = Layer::new(Mark::Line, &name(label), role).points(points);
        errors = errors.with(line.numbers("kernel width", ensemble.rounds.iter().map(|round| round.sigma).collect()));
        let shares: Vec<f64> = ensemble.weights().iter().map(|weights| heaviest(weights)).collect();
        let rise = shares.last().unwrap_or(&0.0) - shares.first().unwrap_or(&0.0);
        if rise > gain {
            (gain, hardest) = (rise, name(label));
        }
        let points = shares.iter().enumerate().map(|(i, share)| (i as f64, 100.0 * share));
        heavy = heavy.with(Layer::new(Mark::Line, &name(label), role).points(points));
    }
    errors = errors
        .with(Layer::new(Mark::Rule, "chance", Role::Baseline).numbers("y", vec![50.0]))
        .saying("A round counts while it misses less than half of the weight; later rounds fight for the rows that are hard.");
    let of = if hardest.is_empty() { String::new() } else { format!(" of `{hardest}`") };
    heavy = heavy.saying(format!(
        "Over the rounds the heaviest tenth of the rows{of} gains {:.0} percentage points of the weight.",
        100.0 * gain.max(0.0)
    ));
    // Of a single round there is nothing to follow.
    let mut pictures: Vec<Picture> = if model.rounds() < 2 { Vec::new() } else { vec![errors, heavy] };
    if model.stage_scores.len() > 1 {
        let best = (0..model.stage_scores.len()).fold(0, |best, i| if model.stage_scores[i] > model.stage_scores[best] { i } else { best });
        let kept = model.rounds();
        let rounds = |count: usize| if count == 1 { "one round".to_owned() } else { format!("{count} rounds") };
        let score = |count: usize| model.stage_scores.get(count.saturating_sub(1)).copied();
        let sentence = match score(kept) {
            Some(own) if kept != best + 1 => format!(
                "Held-out rows are served best by {} (macro F1 {:.3}); the model keeps {} ({own:.3}): more have to be better by half a standard error.",
                rounds(best + 1),
                model.stage_scores[best],
                rounds(kept)
            ),
            _ => format!("Held-out rows are served best by {} (macro F1 {:.3}).", rounds(best + 1), model.stage_scores[best]),
        };
        let points = model.stage_scores.iter().enumerate().map(|(i, score)| ((i + 1) as f64, *score));
        let keys = (1..=model.stage_scores.len()).map(|round| round as f64).collect();
        pictures.push(
            Picture::new("rounds", "Held-out score over the rounds", Axis::linear("rounds"), Axis::linear("macro F1 of held-out rows"))
                .choosing("max-rounds")
                .with(Layer::new(Mark::Line, "held-out rows", Role::Holdout).points(points).numbers("key", keys))
                .with(Layer::new(Mark::Rule, "rounds that were kept", Role::Chosen).numbers("x", vec![kept as f64]))
                .saying(sentence),
        );
    }
    pictures
}
