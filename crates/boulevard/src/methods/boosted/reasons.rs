//! What a boosted classifier chose by itself, in one sentence: C, width and first weights, the rounds, the thresholds, and what overrides it.

use super::learner::{BoostedSvc, InitialWeights, Measure, Thresholds};
use super::model::{BoostedModel, Ending, Kind};
use super::search::{Chosen, Trial};
use crate::words::{counted, g, general};

/// All choices; none where nothing was left open.
pub(super) fn chosen(model: &BoostedModel) -> Option<String> {
    let settings = model.settings();
    let trials = model.chosen.as_ref().map(|chosen| of_trials(model, &settings, chosen));
    let parts: Vec<String> = [trials, of_rounds(model, &settings), of_thresholds(model, &settings)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The measure in words, with the class that it is about.
fn measure(model: &BoostedModel, settings: &BoostedSvc) -> String {
    let sought = model.sought.and_then(|class| model.names.get(class));
    let of = sought.map_or(String::new(), |name| format!(" of `{name}`"));
    match settings.measure {
        Measure::F1 => format!("F1{of}"),
        Measure::BalancedAccuracy => "balanced accuracy".to_owned(),
        Measure::Cost => format!("cost ({} a miss{of}, {} a false alarm)", g(settings.miss_cost), g(settings.alarm_cost)),
        Measure::PrecisionAtRecall => format!("precision{of} with recall of at least {}", g(settings.least_recall)),
    }
}

/// The measure's value for people: costs are kept with a minus, so that larger is better.
fn value(settings: &BoostedSvc, score: f64) -> String {
    let score = if settings.measure == Measure::Cost { -score } else { score };
    // Not "-0.000".
    format!("{:.3}", if score == 0.0 { 0.0 } else { score })
}

fn of_trials(model: &BoostedModel, settings: &BoostedSvc, chosen: &Chosen) -> String {
    let Trial { c, sigma_init, initial_weights, score } = chosen.best;
    let start = if initial_weights == InitialWeights::Uniform { "uniform" } else { "balanced" };
    // Several classes have no thresholds and are judged by the measure alone; others by how their rows are ranked as well.
    let (by, worth) = match (model.kind, settings.measure, settings.thresholds) {
        (Kind::Classes, ..) => (format!("{}, mean over the classes,", measure(model, settings)), value(settings, score)),
        (_, Measure::F1 | Measure::BalancedAccuracy, Thresholds::Tuned) => {
            (format!("average precision and {}", measure(model, settings)), format!("{score:.3}"))
        }
        _ => ("average precision".to_owned(), format!("{score:.3}")),
    };
    format!(
        "C = {}, sigma = {}, {start} first weights: best of {} by {by} of held-out rows ({worth} on {} rows); `tune` off keeps C, width and \
         weights",
        g(c),
        general(sigma_init, 3),
        counted(chosen.trials.len(), "trial"),
        chosen.rows
    )
}

/// Why there are so many rounds, or machines beside each other.
fn of_rounds(model: &BoostedModel, settings: &BoostedSvc) -> Option<String> {
    let by = measure(model, settings);
    if let Some(label) = model.labels.iter().find(|label| label.ending == Ending::Committee) {
        return Some(format!(
            "{} of the best trials, averaged, no boosting: more rounds of the best one did not serve held-out rows better{} (`early_stopping` \
             off keeps boosting)",
            counted(label.rounds.len(), "machine"),
            model.stage_scores.first().map_or(String::new(), |&score| format!(", whose {by} is {}", value(settings, score)))
        ));
    }
    if !settings.early_stopping || model.rounds() == 0 {
        return None;
    }
    let kept = counted(model.rounds(), "round");
    let off = "(`early_stopping` off keeps all)";
    // The fewest rounds that were looked at come first.
    let Some((&first, more)) = model.stage_scores.split_first().filter(|(_, more)| !more.is_empty()) else {
        let early = model.labels.iter().any(|label| label.ending == Ending::EarlyStop);
        if early && model.stage_scores.is_empty() {
            return Some(format!("{kept}, no boosting: too few rows of a class to hold some out and judge more {off}"));
        }
        return early.then(|| format!("{kept}: on a part of the rows more did not have a better {by} on held-out rows {off}"));
    };
    let (place, best) = more.iter().enumerate().fold((0, first), |top, (k, &score)| if score > top.1 { (k + 1, score) } else { top });
    let (one, most) = (value(settings, first), value(settings, best));
    Some(match (model.rounds(), place) {
        (1, 0) => format!("{kept}, no boosting: {by} of held-out rows is {one} and no more rounds have a better one {off}"),
        (1, _) => format!(
            "{kept}, no boosting: {by} of held-out rows is {one}; {most} with {} is no gain beyond chance, or ranks rows worse {off}",
            counted(place + 1, "round")
        ),
        _ => format!("{kept} at most: {by} of held-out rows is {most}, with one {one} {off}"),
    })
}

fn of_thresholds(model: &BoostedModel, settings: &BoostedSvc) -> Option<String> {
    if model.kind == Kind::Classes || settings.thresholds != Thresholds::Tuned || model.stage_scores.is_empty() {
        return None;
    }
    let what = match &model.labels[..] {
        [label] => format!("threshold {:.3}", label.threshold),
        _ => "a threshold per label".to_owned(),
    };
    Some(format!("{what}: the best {} of held-out rows, smoothed (`thresholds` zero leaves it at 0)", measure(model, settings)))
}
