//! The model in words: rules with their weight, and what each of them added to one decision.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::model::{FeatureInductionModel, Final};
use super::rounds::Induced;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::svm::Model;

/// A rule: a leaf of one tree, or of several whose leaves say the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// The conditions, `AND` between them; several bounds on one feature are one interval.
    pub text: String,
    /// The class that the rule speaks for or against.
    pub class: String,
    /// What it adds to the class's decision value where it holds.
    pub adds: f64,
    /// The standard deviation of its contribution over the training rows: `|adds| sqrt(support (1 - support))`.
    pub weight: f64,
    /// Share of the training rows (by weight) for which it holds.
    pub support: f64,
    /// The largest weighted edge of its trees.
    pub edge: f64,
    /// The rounds of its trees.
    pub rounds: Vec<usize>,
}

/// One summand of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// A feature with its value, or the rule that holds.
    pub text: String,
    /// What it added.
    pub adds: f64,
    /// The round of the tree; none for an original feature.
    pub round: Option<usize>,
}

/// Why a row got its decision value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The class that positive values speak for.
    pub class: String,
    /// The decision value: the bias and all contributions together.
    pub decision: f64,
    /// The bias.
    pub bias: f64,
    /// Contributions, largest first.
    pub contributions: Vec<Contribution>,
}

/// A number as short as it can be without moving a row across it in print: six digits.
pub fn short(value: f64) -> String {
    let text = format!("{value:.5e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    let plain = format!("{rounded}");
    if plain.len() <= 12 { plain } else { text }
}

/// Lower and upper bound per feature along the path to a leaf.
type Bounds = BTreeMap<u32, (Option<f64>, Option<f64>)>;

fn in_words(bounds: &Bounds, name: &dyn Fn(usize) -> String) -> String {
    let literal = |(&feature, &(low, high)): (&u32, &(Option<f64>, Option<f64>))| {
        let name = name(feature as usize);
        match (low, high) {
            (Some(low), Some(high)) => format!("{} < {name} <= {}", short(low), short(high)),
            (Some(low), None) => format!("{name} > {}", short(low)),
            (None, Some(high)) => format!("{name} <= {}", short(high)),
            (None, None) => name,
        }
    };
    if bounds.is_empty() { "always".into() } else { bounds.iter().map(literal).collect::<Vec<_>>().join(" AND ") }
}

impl Induced {
    /// Every leaf's place and bounds, from left to right.
    fn paths(&self) -> Vec<(usize, Bounds)> {
        let mut found = Vec::new();
        let mut waiting = vec![(0usize, Bounds::new())];
        while let Some((place, bounds)) = waiting.pop() {
            let node = &self.tree.nodes[place];
            let Some([left, right]) = node.children() else {
                found.push((place, bounds));
                continue;
            };
            let (mut below, mut above) = (bounds.clone(), bounds);
            let high = below.entry(node.feature).or_default();
            high.1 = Some(high.1.map_or(node.threshold, |old| old.min(node.threshold)));
            let low = above.entry(node.feature).or_default();
            low.0 = Some(low.0.map_or(node.threshold, |old| old.max(node.threshold)));
            waiting.push((right, above));
            waiting.push((left, below));
        }
        found
    }

    /// Every leaf in words, with its value and weight.
    pub fn leaf_rules(&self, output: super::tree::Output, name: &dyn Fn(usize) -> String) -> Vec<(String, f64, f64)> {
        let leaf = |(place, bounds): &(usize, Bounds)| {
            let node = &self.tree.nodes[*place];
            (in_words(bounds, name), node.value(output), node.weight())
        };
        self.paths().iter().map(leaf).collect()
    }

    /// The leaves as text with the value of each: what the feature is called.
    pub fn text(&self, output: super::tree::Output, name: &dyn Fn(usize) -> String) -> String {
        let leaf = |(text, value, _): &(String, f64, f64)| format!("{text} -> {value:+.2}");
        self.leaf_rules(output, name).iter().map(leaf).collect::<Vec<_>>().join("; ")
    }
}

impl FeatureInductionModel {
    /// The weight of every induced feature in its own class's machine.
    fn induced_weights(&self) -> Vec<f64> {
        let original = self.standard.center.len();
        let last = |induction: &super::Induction| induction.stages.last().map_or(Vec::new(), |stage| stage.weights[original..].to_vec());
        self.inductions.iter().flat_map(last).collect()
    }

    /// Names of the columns of [`FeatureInductionModel::transform`]: the features, then `rule 1: ...` with the leaves of each tree.
    pub fn column_names(&self) -> Vec<String> {
        let output = self.parameters.resolved().output;
        let name = |column: usize| self.feature_name(column);
        let mut names: Vec<String> = (0..self.standard.center.len()).map(name).collect();
        for (place, (class, feature)) in self.induced().enumerate() {
            let class = if self.classes.len() > 2 { format!(" for {}", self.class_of(class)) } else { String::new() };
            names.push(format!("rule {}{class}: {}", place + 1, feature.text(output, &name)));
        }
        names
    }

    /// All rules, the weightiest first; leaves of different trees with the same conditions are one rule.
    ///
    /// With a kernel machine at the end the weights are those of the linear machine that the features were made for.
    pub fn rules(&self) -> Vec<Rule> {
        let output = self.parameters.resolved().output;
        let name = |column: usize| self.feature_name(column);
        let mut rules: Vec<Rule> = Vec::new();
        let mut place_of: BTreeMap<(usize, String), usize> = BTreeMap::new();
        for ((class, feature), weight) in self.induced().zip(self.induced_weights()) {
            for (leaf, bounds) in feature.paths() {
                let node = &feature.tree.nodes[leaf];
                let text = in_words(&bounds, &name);
                let adds = weight * (node.value(output) - feature.mean) / feature.spread;
                let support = feature.shares[leaf];
                match place_of.get(&(class, text.clone())) {
                    Some(&place) => {
                        let rule = &mut rules[place];
                        rule.adds += adds;
                        // Texts round their numbers: two trees may mean slightly different rows.
                        rule.support = rule.support.max(support);
                        rule.edge = if feature.edge.edge.abs() > rule.edge.abs() { feature.edge.edge } else { rule.edge };
                        rule.rounds.push(feature.round);
                    }
                    None => {
                        place_of.insert((class, text.clone()), rules.len());
                        let class = self.class_of(class).to_owned();
                        let (edge, rounds) = (feature.edge.edge, vec![feature.round]);
                        rules.push(Rule { text, class, adds, weight: 0.0, support, edge, rounds });
                    }
                }
            }
        }
        rules.iter_mut().for_each(|rule| rule.weight = rule.adds.abs() * (rule.support * (1.0 - rule.support)).max(0.0).sqrt());
        rules.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        rules
    }

    /// What every original feature and every rule added to the decisions about one row, one explanation per output.
    pub fn explain(&self, x: &Matrix<'_>, row: usize) -> Result<Vec<Explanation>> {
        self.check_input(x)?;
        if row >= x.rows() {
            return Err(Error::data(format!("row {row} is outside the {} rows", x.rows())));
        }
        let Final::Linear(machine) = &self.machine else {
            return Err(Error::data("a decision can be taken apart only with the linear kernel"));
        };
        let (original, kind) = (self.standard.center.len(), self.parameters.resolved().output);
        let name = |column: usize| self.feature_name(column);
        let mut explanations = Vec::new();
        for output in 0..machine.outputs() {
            let weights = machine.output(output);
            let mut contributions: Vec<Contribution> = (0..original)
                .map(|j| {
                    let value = x.get(row, j);
                    let adds = weights[j] * self.standard.apply(j, value);
                    Contribution { text: format!("{} = {}", name(j), short(value)), adds, round: None }
                })
                .collect();
            for ((class, feature), &weight) in self.induced().zip(&weights[original..]) {
                if class != output {
                    continue;
                }
                let leaf = feature.tree.leaf(|j| x.get(row, j));
                let adds = weight * (feature.tree.nodes[leaf].value(kind) - feature.mean) / feature.spread;
                let text = feature.paths().iter().find(|(place, _)| *place == leaf).map_or_else(String::new, |(_, b)| in_words(b, &name));
                contributions.push(Contribution { text, adds, round: Some(feature.round) });
            }
            let decision = machine.biases[output] + contributions.iter().map(|c| c.adds).sum::<f64>();
            contributions.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()));
            let class = self.class_of(output).to_owned();
            explanations.push(Explanation { class, decision, bias: machine.biases[output], contributions });
        }
        Ok(explanations)
    }

    /// The model as text: how it came about, the errors, the weightiest rules and the original features' weights.
    pub fn export_text(&self, most_rules: usize) -> String {
        let mut text = String::new();
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
        let rules = self.rules();
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
        text
    }
}
