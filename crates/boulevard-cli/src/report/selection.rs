//! Models of multi-task selection in words.

use boulevard::methods::multitask_selection::{BiasPrior, MultiTaskSelectionModel};

use super::describe::Fact;
use super::number::{g, general};
use crate::model::listed;

/// What is on, and how sparse the weights are.
pub fn facts(model: &MultiTaskSelectionModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let kind = if model.outputs.classify() { "classifier" } else { "regressor" };
    let what = if model.kernels.is_empty() { "features" } else { "kernels" };
    let rho = settings.ln_rho.map_or_else(|| format!("rho = {}", g(settings.rho)), |ln_rho| format!("ln rho = {}", g(ln_rho)));
    let mut facts = vec![("kind", format!("{kind} that selects {what}, {rho}, c = {}", g(settings.c)))];
    let names: Vec<String> = (0..model.tasks()).map(|task| model.outputs.name(task)).collect();
    let sharing = match (model.tasks(), settings.share) {
        (1, _) => "",
        (_, true) => ", sharing one set of switches",
        (_, false) => ", each with switches of its own",
    };
    facts.push(("tasks", format!("{}{sharing}: {}", names.len(), listed(&names.iter().map(String::as_str).collect::<Vec<_>>()))));
    let shown: Vec<String> = largest_switches(model, 8).iter().map(|(name, on)| format!("{name} {}", general(*on, 3))).collect();
    facts.push(("largest switches", shown.join(", ")));
    if model.kernels.is_empty() {
        let mut squares: Vec<f64> =
            (0..model.features).map(|d| model.weights.iter().skip(d).step_by(model.features).map(|w| w * w).sum()).collect();
        squares.sort_by(|a, b| b.total_cmp(a));
        let total: f64 = squares.iter().sum();
        let mut sum = 0.0;
        let carrying = squares
            .iter()
            .take_while(|&&square| {
                let before = sum;
                sum += square;
                before < 0.99 * total
            })
            .count();
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

/// Names and values of the largest switches of any task.
pub fn largest_switches(model: &MultiTaskSelectionModel, most: usize) -> Vec<(String, f64)> {
    let groups = model.groups();
    let mut all: Vec<(usize, f64)> =
        (0..groups).map(|d| (d, model.switches.iter().skip(d).step_by(groups).copied().fold(0.0, f64::max))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.into_iter().take(most).map(|(d, on)| (model.group_name(d), on)).collect()
}
