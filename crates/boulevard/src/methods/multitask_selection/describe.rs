//! Models of multi-task selection in words.

use super::learner::BiasPrior;
use super::model::MultiTaskSelectionModel;
use crate::svm::Fact;
use crate::words::{g, general, listed};

/// What is on, and how sparse the weights are.
pub(super) fn facts(model: &MultiTaskSelectionModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let kind = if model.outputs.classify() { "classifier" } else { "regressor" };
    let what = if model.kernels.is_empty() { "features" } else { "kernels" };
    let chosen = model.choice.as_ref();
    let rho = match (settings.ln_rho, settings.rho, chosen) {
        (Some(ln_rho), ..) => format!("ln rho = {}", g(ln_rho)),
        (None, Some(rho), _) => format!("rho = {}", g(rho)),
        (None, None, Some(choice)) => format!("rho = {} (auto)", general(choice.ln_rho.exp(), 3)),
        (None, None, None) => "rho = auto".to_owned(),
    };
    let c = match (settings.c, chosen) {
        (Some(c), _) => g(c),
        (None, Some(choice)) => format!("{} (auto)", g(choice.c)),
        (None, None) => "auto".to_owned(),
    };
    let mut facts = vec![("kind", format!("{kind} that selects {what}, {rho}, c = {c}"))];
    facts.extend(chosen.map(|choice| ("chosen", format!("{} (`rho`, `c` and `keep` override it)", choice.reason))));
    let names: Vec<String> = (0..model.tasks()).map(|task| model.outputs.name(task)).collect();
    let sharing = match (model.tasks(), settings.share) {
        (1, _) => "",
        (_, true) => ", sharing one set of switches",
        (_, false) => ", each with switches of its own",
    };
    facts.push(("tasks", format!("{}{sharing}: {}", names.len(), listed(&names))));
    let shown: Vec<String> = model.largest_switches(8).iter().map(|(name, on)| format!("{name} {}", general(*on, 3))).collect();
    facts.push(("largest switches", shown.join(", ")));
    if model.kernels.is_empty() {
        let carrying = model.carrying();
        if let Some(kept) = chosen.and_then(|choice| choice.kept.as_ref()) {
            let shown: Vec<String> = kept
                .iter()
                .map(|&j| match chosen.and_then(|choice| choice.frequencies.get(j)) {
                    Some(share) => format!("{} ({:.0} %)", model.group_name(j), 100.0 * share),
                    None => model.group_name(j),
                })
                .collect();
            facts.push(("kept", format!("{} of {} (share of the folds that keep each): {}", kept.len(), model.features, listed(&shown))));
        }
        facts.push(("sparsity", format!("{carrying} of {} features carry 99 % of the squared weight", model.features)));
    }
    let bias = match settings.bias {
        BiasPrior::Gaussian => format!("Gaussian prior of variance {}", g(settings.bias_variance)),
        BiasPrior::Flat => "flat prior".to_owned(),
    };
    facts.push(("bias", bias));
    facts.push(("tolerance", format!("{} (relative duality gap)", g(settings.tolerance))));
    facts.extend(model.notes.iter().map(|note| ("note", note.clone())));
    facts
}

impl MultiTaskSelectionModel {
    /// Names and values of the largest switches of any task.
    pub fn largest_switches(&self, most: usize) -> Vec<(String, f64)> {
        let groups = self.groups();
        let mut all: Vec<(usize, f64)> =
            (0..groups).map(|d| (d, self.switches.iter().skip(d).step_by(groups).copied().fold(0.0, f64::max))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.into_iter().take(most).map(|(d, on)| (self.group_name(d), on)).collect()
    }

    /// How many features carry 99 % of the squared weight.
    pub fn carrying(&self) -> usize {
        let mut squares: Vec<f64> =
            (0..self.features).map(|d| self.weights.iter().skip(d).step_by(self.features).map(|w| w * w).sum()).collect();
        squares.sort_by(|a, b| b.total_cmp(a));
        let total: f64 = squares.iter().sum();
        let mut sum = 0.0;
        let mut before = |square: &f64| {
            let before = sum;
            sum += square;
            before < 0.99 * total
        };
        squares.iter().take_while(|square| before(square)).count()
    }
}
