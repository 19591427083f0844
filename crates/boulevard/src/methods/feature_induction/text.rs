//! The model as text: what was chosen and why, the rules, the columns' own weights, and one decision in sentences.

use std::fmt::Write;

use super::model::{FeatureInductionModel, Final};
use super::rules::{Contribution, Rule};
use crate::words::counted;

/// Columns whose weights are shown.
const COLUMNS: usize = 20;
/// Contributions that get a sentence of their own.
const SENTENCES: usize = 6;
/// Characters of a line with a number per class, and how far it stands in below a rule and below a column.
const LINE: usize = 100;
const BELOW_RULE: usize = 36;
const BELOW_COLUMN: usize = 4;

impl FeatureInductionModel {
    /// The model as text: how it came about, the errors, up to `most_rules` rules (the weightiest first) and the columns' own weights. A
    /// list of rules shows the whole model: a constant, what the rules add where they hold, and a weight per column.
    pub fn export_text(&self, most_rules: usize) -> String {
        let reason = self.list.as_ref().map_or(String::new(), |list| format!("{}\n", list.reason));
        reason + &self.text_after_reason(most_rules)
    }

    /// [`FeatureInductionModel::export_text`] without the reason for a list, for those who have said it already.
    pub(super) fn text_after_reason(&self, most_rules: usize) -> String {
        let mut text = String::new();
        match &self.list {
            Some(_) => {
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
        // Classes that share their rules are told below each what it adds to them.
        let shared = rules.first().is_some_and(|rule| !rule.adds_by_class.is_empty());
        if !rules.is_empty() {
            let adds = if shared { String::new() } else { format!(" {:>8}", "adds") };
            let below = if shared { ", and what it adds to each class where it holds" } else { "" };
            let _ = writeln!(text, "\n{:>8}{adds} {:>8} {:>6}  {:<8} rule{below}", "weight", "support", "edge", "round");
        }
        for rule in rules.iter().take(most_rules) {
            let rounds = rule.rounds.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let adds = if shared { String::new() } else { format!(" {:>+8.4}", rule.adds) };
            let class = if self.classes.len() > 2 && !shared { format!("[{}] ", rule.class) } else { String::new() };
            let _ = writeln!(
                text,
                "{:>8.4}{adds} {:>7.1}% {:>6.2}  {rounds:<8} {class}{}",
                rule.weight,
                100.0 * rule.support,
                rule.edge,
                rule.text
            );
            self.by_class(&rule.adds_by_class, BELOW_RULE, text);
        }
        if rules.len() > most_rules {
            let _ = writeln!(text, "... and {}", counted(rules.len() - most_rules, "more rule"));
        }
    }

    /// A number per class with its name, over as many lines as they need; nothing for no numbers.
    fn by_class(&self, values: &[f64], indent: usize, text: &mut String) {
        let mut line = String::new();
        for (output, value) in values.iter().enumerate() {
            let part = format!("{} {value:+.4}", self.class_of(output));
            if !line.is_empty() && line.len() + part.len() > LINE {
                let _ = writeln!(text, "{:indent$}{line},", "");
                line.clear();
            }
            line += if line.is_empty() { "" } else { ", " };
            line += &part;
        }
        if !line.is_empty() {
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
    }

    /// The columns' own weights, per standard deviation of the column, and the constant.
    fn columns_text(&self, text: &mut String) {
        let Final::Linear(machine) = &self.machine else {
            let _ = writeln!(text, "\nthe last machine has a kernel: weights are those of the linear machine that the rules were made for");
            return;
        };
        let others = if self.list.is_some() { " + what rules add" } else { " + what trees add" };
        let outputs = machine.outputs();
        if outputs == 1 {
            let (class, constant) = (self.class_of(0), self.constant(0));
            let _ = writeln!(text, "\ncolumns for class {class}: decision = {constant:+.4}{others} + weight x (value - mean) / spread");
        } else {
            let _ = writeln!(
                text,
                "\ncolumns for each class: decision = constant{others} + weight x (value - mean) / spread; the largest decision wins"
            );
            let _ = writeln!(text, "constant:");
            // A class without training rows has a constant that no row gets over.
            self.by_class(&(0..outputs).map(|output| self.constant(output)).collect::<Vec<_>>(), BELOW_COLUMN, text);
        }
        let original = self.standard.center.len();
        let weights = |j: usize| (0..outputs).map(move |output| machine.output(output)[j]);
        let size = |j: usize| weights(j).map(|weight| weight * weight).sum::<f64>().sqrt();
        let mut order: Vec<usize> = (0..original).collect();
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        for &j in order.iter().take(COLUMNS) {
            let name = self.feature_name(j);
            let scale = format!("(mean {}, spread {})", super::short(self.standard.center[j]), super::short(self.standard.spread[j]));
            if outputs == 1 {
                let _ = writeln!(text, "{:>+8.4}  {name} {scale}", machine.output(0)[j]);
            } else {
                let _ = writeln!(text, "{name} {scale}:");
                self.by_class(&weights(j).collect::<Vec<_>>(), BELOW_COLUMN, text);
            }
        }
        if let Some(rest) = order.get(COLUMNS..).filter(|rest| !rest.is_empty()) {
            let largest = rest.iter().flat_map(|&j| weights(j)).map(f64::abs).fold(0.0, f64::max);
            let _ = writeln!(text, "... and {} with weights up to {largest:.4}", counted(original - COLUMNS, "more column"));
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
