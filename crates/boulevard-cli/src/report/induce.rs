//! Induced rules as a table, and the error over the number of features as a picture.

use std::fmt::Write;

use boulevard::methods::feature_induction::FeatureInductionModel;

use super::picture;

/// Error over the number of features for every depth that was tried on held-out rows, the linear error as a dashed line.
pub fn curves(model: &FeatureInductionModel) -> Option<String> {
    let induction = model.inductions.first()?;
    let choice = induction.choice.as_ref()?;
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for curve in &choice.curves {
        let name = curve.depth.map_or("no limit".to_owned(), |depth| format!("depth {depth}"));
        lines.push((name, curve.errors.iter().enumerate().map(|(i, e)| (i as f64, 100.0 * e)).collect()));
    }
    Some(picture::lines("held-out error in % over the number of rounds", &lines, Some(100.0 * choice.linear_error)))
}

/// The held-out error over the number of rules, what whole trees reach as a dashed line.
pub fn path(model: &FeatureInductionModel) -> Option<String> {
    let list = model.list.as_ref().filter(|list| !list.errors.is_empty())?;
    let line = list.errors.iter().enumerate().map(|(count, error)| (count as f64, 100.0 * error)).collect();
    let title = format!("held-out error in % over the number of rules ({} chosen; dashed: whole trees)", list.chosen);
    Some(picture::lines(&title, &[("rules".to_owned(), line)], list.unlimited_error.map(|error| 100.0 * error)))
}

/// The rule table as HTML.
pub fn table(model: &FeatureInductionModel) -> String {
    let mut table = super::table::Table::new(["weight", "adds", "support", "edge", "round", "class", "rule"]);
    for rule in model.rules().iter().take(100) {
        let rounds = rule.rounds.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let mut adds = String::new();
        let _ = write!(adds, "{:+.4}", rule.adds);
        table.row([
            format!("{:.4}", rule.weight),
            adds,
            format!("{:.1} %", 100.0 * rule.support),
            format!("{:.2}", rule.edge),
            rounds,
            rule.class.clone(),
            rule.text.clone(),
        ]);
    }
    table.html()
}
