//! Feature induction in a file: trees and stages as flat arrays, everything else in the header.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::linear::{read_machine, write_machine};
use super::native::Stored;
use super::parts::{Report, check_calibration, check_class_names, read_calibration, write_calibration};
use super::records::SvcRecord;
use crate::error::{Error, Result};
use crate::methods::feature_induction::gamma::Edge;
use crate::methods::feature_induction::tree::{Node, Tree};
use crate::methods::feature_induction::{
    Choice, Ending, FeatureInduction, FeatureInductionModel, Final, Induced, Induction, RuleList, Stage, Standard,
};
use crate::svm::{FitReport, SvcModel};

/// A model's header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InductionRecord {
    parameters: FeatureInduction,
    classes: Vec<String>,
    feature_names: Option<Vec<String>>,
    inductions: Vec<ClassRecord>,
    /// Files from before there were lists have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    list: Option<RuleList>,
    kernel_machine: Option<SvcRecord>,
    #[serde(with = "Report")]
    report: FitReport,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassRecord {
    features: Vec<FeatureRecord>,
    stages: usize,
    ending: Ending,
    choice: Option<Choice>,
    declined: Option<String>,
    tree_seconds: f64,
    refit_seconds: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeatureRecord {
    nodes: usize,
    mean: f64,
    spread: f64,
    round: usize,
    gamma: f64,
    capped: bool,
    edge: Edge,
}

impl Stored for FeatureInductionModel {
    type Record = InductionRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<InductionRecord> {
        check(self)?;
        let all = |list: &[f64]| (vec![list.len()], list.to_vec());
        for (name, values) in [("center", &self.standard.center), ("spread", &self.standard.spread)] {
            let (shape, values) = all(values);
            arrays.put_f64(name.into(), shape, &values);
        }
        let nodes: Vec<&Node> = self.induced().flat_map(|(_, feature)| &feature.tree.nodes).collect();
        for (name, part) in [
            ("nodes.threshold", (|n: &Node| n.threshold) as fn(&Node) -> f64),
            ("nodes.negative", |n| n.negative),
            ("nodes.positive", |n| n.positive),
        ] {
            arrays.put_f64(name.into(), vec![nodes.len()], &nodes.iter().map(|n| part(n)).collect::<Vec<f64>>());
        }
        let shares: Vec<f64> = self.induced().flat_map(|(_, feature)| feature.shares.iter().copied()).collect();
        arrays.put_f64("nodes.share".into(), vec![shares.len()], &shares);
        for (name, part) in
            [("nodes.feature", (|n: &Node| n.feature) as fn(&Node) -> u32), ("nodes.left", |n| n.left), ("nodes.right", |n| n.right)]
        {
            arrays.put_usize(name.into(), &nodes.iter().map(|n| part(n) as usize).collect::<Vec<usize>>());
        }
        let stages: Vec<&Stage> = self.inductions.iter().flat_map(|induction| &induction.stages).collect();
        let numbers: Vec<f64> = stages.iter().flat_map(|stage| [stage.bias, stage.objective, stage.error]).collect();
        arrays.put_f64("stages.numbers".into(), vec![stages.len(), 3], &numbers);
        let weights: Vec<f64> = stages.iter().flat_map(|stage| stage.weights.iter().copied()).collect();
        arrays.put_f64("stages.weights".into(), vec![weights.len()], &weights);
        write_calibration(self.calibration.as_ref(), "", arrays);
        let kernel_machine = match &self.machine {
            Final::Linear(machine) => {
                write_machine(machine, arrays);
                None
            }
            Final::Kernel(svc) => Some(svc.store(arrays)?),
        };
        let feature = |f: &Induced| FeatureRecord {
            nodes: f.tree.nodes.len(),
            mean: f.mean,
            spread: f.spread,
            round: f.round,
            gamma: f.gamma,
            capped: f.capped,
            edge: f.edge,
        };
        let class = |induction: &Induction| ClassRecord {
            features: induction.features.iter().map(feature).collect(),
            stages: induction.stages.len(),
            ending: induction.ending,
            choice: induction.choice.clone(),
            declined: induction.declined.clone(),
            tree_seconds: induction.tree_seconds,
            refit_seconds: induction.refit_seconds,
        };
        Ok(InductionRecord {
            parameters: self.parameters.clone(),
            classes: self.classes.clone(),
            feature_names: self.feature_names.clone(),
            inductions: self.inductions.iter().map(class).collect(),
            list: self.list.clone(),
            kernel_machine,
            report: self.report,
        })
    }

    fn restore(record: InductionRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let standard = Standard { center: arrays.list_f64("center")?, spread: arrays.list_f64("spread")? };
        let original = standard.center.len();
        let mut nodes = nodes(arrays)?.into_iter();
        let shares = arrays.list_f64("nodes.share")?;
        if shares.len() != nodes.len() {
            return Err(Error::shape("shares, one per node", nodes.len(), shares.len()));
        }
        let mut shares = shares.into_iter();
        let (numbers, [_, three]) = arrays.table_f64("stages.numbers")?;
        if three != 3 {
            return Err(Error::shape("numbers per stage", 3, three));
        }
        let (mut numbers, weights) = (numbers.chunks_exact(3), arrays.list_f64("stages.weights")?);
        let mut weights = &weights[..];
        let short = |what: &str| Error::data(format!("the file holds fewer {what} than its header says"));
        let mut inductions = Vec::new();
        for class in record.inductions {
            let mut features = Vec::new();
            for f in class.features {
                let tree = Tree { nodes: nodes.by_ref().take(f.nodes).collect() };
                if tree.nodes.len() != f.nodes {
                    return Err(short("nodes"));
                }
                let shares = shares.by_ref().take(f.nodes).collect();
                let FeatureRecord { mean, spread, round, gamma, capped, edge, .. } = f;
                features.push(Induced { tree, shares, mean, spread, round, gamma, capped, edge });
            }
            let mut stages = Vec::new();
            for count in 0..class.stages {
                let [bias, objective, error] = *numbers.next().ok_or_else(|| short("stages"))? else { return Err(short("stages")) };
                let (own, rest) = weights.split_at_checked(original + count).ok_or_else(|| short("weights"))?;
                weights = rest;
                stages.push(Stage { weights: own.to_vec(), bias, objective, error });
            }
            inductions.push(Induction {
                features,
                stages,
                ending: class.ending,
                choice: class.choice,
                declined: class.declined,
                tree_seconds: class.tree_seconds,
                refit_seconds: class.refit_seconds,
            });
        }
        if nodes.next().is_some() || numbers.next().is_some() || !weights.is_empty() {
            return Err(Error::data("the file holds more nodes, stages or weights than its header says"));
        }
        let machine = match record.kernel_machine {
            None => Final::Linear(read_machine(arrays)?),
            // The sigmoids are the whole model's.
            Some(svc) => Final::Kernel(Box::new(SvcModel { calibration: None, ..SvcModel::restore(svc, arrays)? })),
        };
        let model = Self {
            parameters: record.parameters,
            classes: record.classes,
            feature_names: record.feature_names,
            standard,
            inductions,
            list: record.list,
            machine,
            calibration: read_calibration("", arrays)?,
            report: record.report,
        };
        check(&model)?;
        Ok(model)
    }
}

fn nodes(arrays: &ArrayReader<'_>) -> Result<Vec<Node>> {
    let list = |name: &str| -> Result<Vec<u32>> {
        let narrow = |v: usize| u32::try_from(v).map_err(|_| Error::data(format!("array `{name}` holds {v}, which is too large")));
        arrays.list_usize(name)?.into_iter().map(narrow).collect()
    };
    let (feature, left, right) = (list("nodes.feature")?, list("nodes.left")?, list("nodes.right")?);
    let threshold = arrays.list_f64("nodes.threshold")?;
    let (negative, positive) = (arrays.list_f64("nodes.negative")?, arrays.list_f64("nodes.positive")?);
    let count = feature.len();
    for (what, found) in [
        ("left children", left.len()),
        ("right children", right.len()),
        ("thresholds", threshold.len()),
        ("negative weights", negative.len()),
        ("positive weights", positive.len()),
    ] {
        if found != count {
            return Err(Error::shape(format!("{what}, one per node"), count, found));
        }
    }
    let node = |i: usize| Node {
        feature: feature[i],
        threshold: threshold[i],
        left: left[i],
        right: right[i],
        negative: negative[i],
        positive: positive[i],
    };
    Ok((0..count).map(node).collect())
}

fn check(model: &FeatureInductionModel) -> Result<()> {
    check_class_names(&model.classes)?;
    model.check()?;
    check_calibration(model.calibration.as_ref(), model.inductions.len(), model.classes.len())
}
