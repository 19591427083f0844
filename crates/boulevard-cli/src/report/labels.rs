//! Predictions of several labels in one table, the rarest label first.

use boulevard::data::LabelMatrix;
use boulevard::metrics::multilabel::{LabelConfusion, LabelImbalance, LabelScore};
use serde_json::{Value, json};

use super::number;
use super::table::Table;

/// Per label and on average.
pub fn table(counts: &LabelConfusion) -> Table {
    let mut table = Table::new(["label", "rows", "precision", "recall", "F1", "G-mean", "accuracy"]);
    let mut scores: Vec<(&String, LabelScore)> = counts.names().iter().zip(counts.label_scores()).collect();
    scores.sort_by(|a, b| a.1.support.total_cmp(&b.1.support));
    let mut row = |name: &str, score: &LabelScore| {
        let shares = [score.precision, score.recall, score.f1, score.g_mean, score.accuracy];
        let cells = [name.to_owned(), number::g(score.support)];
        table.row(cells.into_iter().chain(shares.iter().map(|share| format!("{share:.3}"))));
    };
    scores.iter().for_each(|(name, score)| row(name, score));
    row("macro", &counts.macro_average());
    row("micro", &counts.micro_average());
    table
}

/// What the table does not say.
pub fn summary(counts: &LabelConfusion) -> String {
    format!(
        "macro F1 {:.4}, micro F1 {:.4}, Hamming loss {:.4}, rows with every label right {}",
        counts.macro_average().f1,
        counts.micro_average().f1,
        counts.hamming_loss(),
        number::percent(counts.subset_accuracy())
    )
}

/// The same for machines.
pub fn json(counts: &LabelConfusion) -> Value {
    let one = |score: &LabelScore| {
        json!({
            "rows": score.support, "precision": score.precision, "recall": score.recall, "f1": score.f1, "g_mean": score.g_mean,
            "accuracy": score.accuracy,
        })
    };
    let labels: serde_json::Map<String, Value> =
        counts.names().iter().zip(counts.label_scores()).map(|(name, score)| (name.clone(), one(&score))).collect();
    json!({
        "labels": labels, "macro": one(&counts.macro_average()), "micro": one(&counts.micro_average()),
        "hamming_loss": counts.hamming_loss(), "subset_accuracy": counts.subset_accuracy(),
    })
}

/// How unevenly labels are spread, in a line.
pub fn imbalance(labels: &LabelMatrix) -> Option<String> {
    let facts = LabelImbalance::new(labels).ok()?;
    Some(format!(
        "{:.2} labels per row; the rarest has 1 row for {:.1} of the most frequent (mean ratio {:.1}); SCUMBLE {:.3}",
        facts.cardinality,
        facts.ratios.iter().copied().filter(|ratio| ratio.is_finite()).fold(0.0, f64::max),
        facts.mean_ratio,
        facts.scumble
    ))
}
