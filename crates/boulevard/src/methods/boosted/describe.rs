//! A boosted classifier in words and for machines.

use serde_json::{Value, json};

use super::learner::Sampling;
use super::model::{BoostedModel, Ending, Kind, LabelEnsemble, Round};
use super::reasons::chosen;
use crate::svm::{Fact, Model, probabilities, tolerance};
use crate::words::{g, general, listed, percent, share};

/// What it answers with, and every label's ensemble.
// long: one line of the description after the other.
pub(super) fn facts(model: &BoostedModel) -> Vec<Fact> {
    /// Ensembles that are listed.
    const MOST: usize = 30;
    let settings = model.settings();
    let names = &model.names;
    let what = if model.kind == Kind::Labels { "labels" } else { "classes" };
    let rows = match settings.sampling {
        Sampling::All => "all rows, weighted".to_owned(),
        Sampling::Stratified => format!("{} of the rows from hard to easy, weighted", percent(settings.sampling_ratio)),
        Sampling::Trimming => format!("the heaviest {} of the rows", percent(settings.sampling_ratio)),
    };
    let mut facts = vec![
        ("kind", format!("boosted classifier, C = {}", g(settings.c))),
        (what, format!("{}: {}", names.len(), listed(names))),
        ("a round", rows),
        ("rounds", rounds(model)),
        ("support vectors", format!("{}{}", model.support_vectors(), share(model.support_vectors(), model.report.rows))),
        probabilities(model.calibration.is_some()),
    ];
    facts.extend(chosen(model).map(|text| ("chosen", text)));
    if model.at_least_one {
        facts.push(("every row", "gets its best label if no label claims it".into()));
    }
    for (place, label) in model.labels.iter().enumerate().take(MOST) {
        let name = if model.kind == Kind::TwoClasses { &model.names[1] } else { &model.names[place] };
        let ending = match label.ending {
            Ending::MaxRounds => "as many as allowed",
            Ending::Perfect => "the last missed no row",
            Ending::EarlyStop if model.stage_scores.is_empty() => "too few rows to hold some out and judge more",
            Ending::EarlyStop => "held-out rows want no more",
            Ending::Committee => "the best trials, averaged",
            Ending::SigmaMin => "the kernel became too narrow",
            Ending::Refused => "twenty were refused in a row",
            Ending::Stopped => "stopped",
            Ending::Never => "no training row has it: never predicted",
            Ending::Always => "every training row has it: always predicted",
        };
        let (Some(first), Some(last)) = (label.rounds.first(), label.rounds.last()) else {
            facts.push(("label", format!("{name}: {ending}")));
            continue;
        };
        facts.push((
            "label",
            format!(
                "{name}: {} ({ending}), {}, {}, threshold {:.3}",
                match (label.rounds.len(), label.ending) {
                    (count, Ending::Committee) => format!("{count} machines"),
                    (1, _) => "1 round".to_owned(),
                    (count, _) => format!("{count} rounds"),
                },
                span("error", format!("{:.3}", first.error), format!("{:.3}", last.error)),
                span("sigma", general(first.sigma, 3), general(last.sigma, 3)),
                label.threshold
            ),
        ));
    }
    facts.push(tolerance(&settings.solver));
    facts
}

/// A quantity of the first and of the last round: one number where both are the same.
fn span(what: &str, first: String, last: String) -> String {
    if first == last { format!("{what} {first}") } else { format!("{what}s {first} .. {last}").replace("sigmas", "sigma") }
}

/// How many rounds there are, and whether that is boosting.
fn rounds(model: &BoostedModel) -> String {
    let total = model.labels.iter().map(|label| label.rounds.len()).sum::<usize>();
    let early = model.labels.iter().any(|label| label.ending == Ending::EarlyStop);
    if model.labels.iter().any(|label| label.ending == Ending::Committee) {
        return format!("{total} machines side by side, averaged, no boosting; more rounds did not serve held-out rows better");
    }
    match (model.rounds(), early) {
        (1, true) if model.stage_scores.is_empty() => {
            "1: one weighted machine per label, no boosting; too few rows to hold some out and judge more".to_owned()
        }
        (1, true) => "1: one weighted machine per label, no boosting; more rounds did not serve held-out rows better".to_owned(),
        (most, _) => format!("{most} at most, {total} in all"),
    }
}

/// Every label's ensemble in numbers.
pub(super) fn ensembles(model: &BoostedModel) -> Value {
    model.labels.iter().map(ensemble).collect()
}

fn ensemble(label: &LabelEnsemble) -> Value {
    let numbers = |part: fn(&Round) -> f64| label.rounds.iter().map(part).collect::<Vec<f64>>();
    json!({
        "ending": label.ending, "threshold": label.threshold, "alphas": numbers(|round| round.alpha),
        "errors": numbers(|round| round.error), "sigmas": numbers(|round| round.sigma),
    })
}
