//! The model as text: what was chosen and why, the rules, the columns' own weights, and one decision in sentences.

use std::fmt::Write;

use super::model::{FeatureInductionModel, Final};
use super::rules::{Contribution, Rule};

/// Columns whose weights are shown.
const COLUMNS: usize = 20;
/// Contributions that get a sentence of their own.
const SENTENCES: usize = 6;

impl FeatureInductionModel {
    /// The model as text: how it came about, the errors, up to `most_rules` rules (the weightiest first) and the columns' own weights. A
    /// list of rules shows the whole model: a constant, what the rules add where they hold, and a weight per column.
    pub fn export_text(&self, most_rules: usize) -> String {
        let mut text = String::new();
        match &self.list {
            Some(list) => {
                let _ = writeln!(text, "{}", list.reason);
                for (output, induction) in self.inductions.iter().enumerate() {
                    let (error, linear) = (induction.stages.last().map_or(f64::NAN, |stage| stage.error), induction.linear_error());
                    let class = self.class_of(output);
                    let _ = writeln!(text, "class {class}: training error {:.2} % (linear {:.2} %)", 100.0 * error, 100.0 * linear);
                }
            }
            None => self.trees_text(&mut text),
        }
        let rules = self.rules();
        self.rules_text(&rules, most_rules, &mut text);
        self.columns_text(&mut text);
        text
    }

    fn trees_text(&self, text: &mut String) {
        for (output, induction) in self.inductions.iter().enumerate() {
            let class = self.class_of(output);
            let induced = induction.stages.last().map_or(f64::NAN, |stage| stage.error);
            let _ = writeln!(
                text,
                "class {class}: {} induced features; training error {:.2} % (linear {:.2} %)",
                induction.features.len(),
                100.0 * induced,
                100.0 * induction.linear_error()
            );
            if let Some(choice) = &induction.choice {
                let depth = choice.depth.map_or("unlimited".to_owned(), |depth| depth.to_string());
                let _ = writeln!(
                    text,
                    "  chosen on held-out rows: depth {depth}, {} rounds; error {:.2} % (linear {:.2} %)",
                    choice.rounds,
                    100.0 * choice.error,
                    100.0 * choice.linear_error
                );
            }
            if let Some(reason) = &induction.declined {
                let _ = writeln!(text, "  nothing was induced: {reason}");
            }
        }
    }

    fn rules_text(&self, rules: &[Rule], most_rules: usize, text: &mut String) {
        if !rules.is_empty() {
            let _ = writeln!(text, "\n{:>8} {:>8} {:>8} {:>6}  {:<8} rule", "weight", "adds", "support", "edge", "round");
        }
        for rule in rules.iter().take(most_rules) {
            let rounds = rule.rounds.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let class = if self.classes.len() > 2 { format!("[{}] ", rule.class) } else { String::new() };
            let _ = writeln!(
                text,
                "{:>8.4} {:>+8.4} {:>7.1}% {:>6.2}  {rounds:<8} {class}{}",
                rule.weight,
                rule.adds,
                100.0 * rule.support,
                rule.edge,
                rule.text
            );
        }
        if rules.len() > most_rules {
            let _ = writeln!(text, "... and {} more rules", rules.len() - most_rules);
        }
    }

    /// The columns' own weights, per standard deviation of the column, and the constant.
    fn columns_text(&self, text: &mut String) {
        let Final::Linear(machine) = &self.machine else {
            let _ = writeln!(text, "\nthe last machine has a kernel: weights are those of the linear machine that the rules were made for");
            return;
        };
        let original = self.standard.center.len();
        for output in 0..machine.outputs() {
            if !machine.biases[output].is_finite() {
                continue;
            }
            let weights = &machine.output(output)[..original];
            let mut order: Vec<usize> = (0..original).collect();
            order.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()));
            let constant = self.constant(output);
            let _ = writeln!(
                text,
                "\ncolumns for class {}: decision = {constant:+.4}{} + weight x (value - mean) / spread",
                self.class_of(output),
                if self.list.is_some() { " + what rules add" } else { " + what trees add" }
            );
            for &j in order.iter().take(COLUMNS) {
                let (mean, spread) = (self.standard.center[j], self.standard.spread[j]);
                let name = self.feature_name(j);
                let _ = writeln!(text, "{:>+8.4}  {name} (mean {}, spread {})", weights[j], super::short(mean), super::short(spread));
            }
            if original > COLUMNS {
                let rest = weights[order[COLUMNS]].abs();
                let _ = writeln!(text, "... and {} more columns with weights up to {rest:.4}", original - COLUMNS);
            }
        }
    }

    /// One decision in sentences: which class, by how much, and the largest reasons for and against.
    pub(super) fn sentences(&self, output: usize, decision: f64, bias: f64, contributions: &[Contribution]) -> Vec<String> {
        let class = self.class_of(output);
        let verdict = match (self.classes.len(), decision > 0.0) {
            (2, true) => format!("The row is taken for {class}: its decision value is {decision:+.3}, above 0."),
            (2, false) => format!("The row is taken for {}: its decision value is {decision:+.3}, not above 0.", self.classes[0]),
            _ => format!("The value of {class} is {decision:+.3}; the class with the largest value wins."),
        };
        let mut sentences = vec![verdict, format!("Every row starts at {bias:+.3}.")];
        let telling: Vec<&Contribution> = contributions.iter().filter(|part| part.adds != 0.0).collect();
        for part in telling.iter().take(SENTENCES) {
            let side = if part.adds > 0.0 { "for" } else { "against" };
            let what = if part.round.is_some() { format!("the rule {} holds", part.text) } else { part.text.clone() };
            sentences.push(format!("It speaks {side} {class} by {:.3} that {what}.", part.adds.abs()));
        }
        if telling.len() > SENTENCES {
            let rest: f64 = telling[SENTENCES..].iter().map(|part| part.adds).sum();
            sentences.push(format!("The other {} reasons together add {rest:+.3}.", telling.len() - SENTENCES));
        }
        sentences
    }

    /// What every row's decision starts from: the bias, and for a list also what its columns say where rules do not hold.
    fn constant(&self, output: usize) -> f64 {
        let Final::Linear(machine) = &self.machine else { return 0.0 };
        let mut bias = machine.biases[output];
        if self.list.is_some() {
            let (kind, original) = (self.parameters.resolved().output, self.standard.center.len());
            for ((_, feature), weight) in self.induced().zip(&machine.output(output)[original..]) {
                bias += weight * (feature.tree.nodes[1].value(kind) - feature.mean) / feature.spread;
            }
        }
        bias
    }
}
