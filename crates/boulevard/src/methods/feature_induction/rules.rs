//! The model in words: rules with their weight, and what each of them added to one decision.

use std::collections::BTreeMap;

use serde::Serialize;

use super::model::{FeatureInductionModel, Final};
use super::rounds::Induced;
use super::rule_list::Bounds;
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
    /// What it adds to every class's decision value where it holds: more than two classes share the rules of a list. Empty otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adds_by_class: Vec<f64>,
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
    /// The same in sentences.
    pub sentences: Vec<String>,
}

/// A number as short as it can be without moving a row across it in print: six digits.
pub fn short(value: f64) -> String {
    let text = format!("{value:.5e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    let plain = format!("{rounded}");
    if plain.len() <= 12 { plain } else { text }
}

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

    /// The conditions of a listed rule: those of its last node.
    fn rule_bounds(&self) -> Bounds {
        let last = self.tree.nodes.len() - 1;
        self.paths().into_iter().find(|(place, _)| *place == last).map_or_else(Bounds::new, |(_, bounds)| bounds)
    }

    /// How much larger a listed rule's column is where the rule holds.
    fn step(&self, output: super::tree::Output) -> f64 {
        let nodes = &self.tree.nodes;
        (nodes[nodes.len() - 1].value(output) - nodes[1].value(output)) / self.spread
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
            let text = if self.list.is_some() { in_words(&feature.rule_bounds(), &name) } else { feature.text(output, &name) };
            let class = if self.list.is_some() { String::new() } else { class };
            names.push(format!("rule {}{class}: {text}", place + 1));
        }
        names
    }

    /// All rules, the weightiest first; leaves of different trees with the same conditions are one rule.
    ///
    /// With a kernel machine at the end the weights are those of the linear machine that the features were made for.
    pub fn rules(&self) -> Vec<Rule> {
        if self.list.is_some() {
            return self.listed_rules();
        }
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
                        rules.push(Rule { text, class, adds, weight: 0.0, support, edge, rounds, adds_by_class: Vec::new() });
                    }
                }
            }
        }
        rules.iter_mut().for_each(|rule| rule.weight = rule.adds.abs() * (rule.support * (1.0 - rule.support)).max(0.0).sqrt());
        rules.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        rules
    }

    /// The rules of a list: each with what it adds where it holds, against where it does not.
    fn listed_rules(&self) -> Vec<Rule> {
        let output = self.parameters.resolved().output;
        let name = |column: usize| self.feature_name(column);
        let original = self.standard.center.len();
        let (features, _) = self.own_features(0);
        let mut rules: Vec<Rule> = features
            .iter()
            .enumerate()
            .map(|(place, feature)| {
                let step = feature.step(output);
                let of = |induction: &super::Induction| {
                    induction.stages.last().map_or(0.0, |stage| stage.weights.get(original + place).map_or(0.0, |weight| weight * step))
                };
                let all: Vec<f64> = self.inductions.iter().map(of).collect();
                // With many classes it speaks loudest for or against this one.
                let (class, adds) =
                    all.iter().enumerate().fold((0, 0.0f64), |best, (k, &adds)| if adds.abs() > best.1.abs() { (k, adds) } else { best });
                let support = feature.shares[feature.shares.len() - 1];
                Rule {
                    text: in_words(&feature.rule_bounds(), &name),
                    class: self.class_of(class).to_owned(),
                    adds,
                    weight: all.iter().map(|adds| adds * adds).sum::<f64>().sqrt() * (support * (1.0 - support)).max(0.0).sqrt(),
                    support,
                    edge: feature.edge.edge,
                    rounds: vec![feature.round],
                    adds_by_class: if all.len() > 1 { all } else { Vec::new() },
                }
            })
            .collect();
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
            let mut bias = machine.biases[output];
            for ((class, feature), &weight) in self.induced().zip(&weights[original..]) {
                if self.list.is_some() {
                    // A rule adds something where it holds and nothing elsewhere; what the column says elsewhere is part of the bias.
                    let fails = feature.tree.nodes[1].value(kind);
                    bias += weight * (fails - feature.mean) / feature.spread;
                    let holds = feature.tree.leaf(|j| x.get(row, j)) + 1 == feature.tree.nodes.len();
                    let text = in_words(&feature.rule_bounds(), &name);
                    let (text, adds) = if holds { (text, weight * feature.step(kind)) } else { (format!("not ({text})"), 0.0) };
                    contributions.push(Contribution { text, adds, round: Some(feature.round) });
                    continue;
                }
                if class != output {
                    continue;
                }
                let leaf = feature.tree.leaf(|j| x.get(row, j));
                let adds = weight * (feature.tree.nodes[leaf].value(kind) - feature.mean) / feature.spread;
                let text = feature.paths().iter().find(|(place, _)| *place == leaf).map_or_else(String::new, |(_, b)| in_words(b, &name));
                contributions.push(Contribution { text, adds, round: Some(feature.round) });
            }
            let decision = bias + contributions.iter().map(|c| c.adds).sum::<f64>();
            contributions.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()));
            let class = self.class_of(output).to_owned();
            let sentences = self.sentences(output, decision, bias, &contributions);
            explanations.push(Explanation { class, decision, bias, contributions, sentences });
        }
        Ok(explanations)
    }
}
