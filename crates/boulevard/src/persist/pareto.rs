//! A front in a file: every `alpha` of every point beside the rows they belong to, the tables, and the picked classifier.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{self, MachineRecord, check_no_custom};
use super::native::Stored;
use super::parts::{Report, all_equal, check_feature_names, equal};
use super::records::SvcRecord;
use crate::error::{Error, Result};
use crate::methods::pareto::{ClassFront, FrontPoint, ParetoModel, ParetoSvc, WidthFront};
use crate::svm::{FitReport, KernelMachine, Layout, Learner, Ready, SvcModel};

/// Numbers per point in the tables.
const COLUMNS: usize = 8;

/// A front's header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParetoRecord {
    parameters: ParetoSvc,
    classes: Vec<String>,
    fronts: Vec<FrontRecord>,
    /// All points of all fronts as the outputs of one machine.
    machine: MachineRecord,
    holdout_rows: usize,
    estimate_rows: usize,
    picked: usize,
    /// Widths that were compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    family: Vec<WidthRecord>,
    classifier: SvcRecord,
    feature_names: Option<Vec<String>>,
    #[serde(with = "Report")]
    report: FitReport,
}

/// One class's front.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontRecord {
    class: usize,
    points: usize,
    reference: f64,
}

/// One width that was compared; its points and estimates are arrays.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WidthRecord {
    gamma: f64,
    holdouts: usize,
    hypervolume: f64,
}

impl Stored for ParetoModel {
    type Record = ParetoRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<ParetoRecord> {
        check_no_custom(&self.parameters.kernel)?;
        check(self)?;
        let machine = together(self);
        machine::check_machine(&machine)?;
        let points: Vec<FrontPoint> = self.machines.iter().flat_map(|front| front.points.iter().copied()).collect();
        arrays.put_f64("front.table".into(), vec![self.front.len(), COLUMNS], &flat(&self.front));
        arrays.put_f64("front.points".into(), vec![points.len(), COLUMNS], &flat(&points));
        let lambdas: Vec<f64> = self.machines.iter().flat_map(|front| front.lambdas.iter().copied()).collect();
        arrays.put_f64("front.lambdas".into(), vec![lambdas.len()], &lambdas);
        arrays.put_f64("front.estimates".into(), vec![self.estimates.len()], &self.estimates);
        // Rows without weights are the usual case, and older files have none.
        if self.weights.iter().any(|&weight| weight != 1.0) {
            arrays.put_f64("front.weights".into(), vec![self.weights.len()], &self.weights);
        }
        for (place, own) in self.family.iter().enumerate() {
            arrays.put_f64(format!("family.{place}.table"), vec![own.front.len(), COLUMNS], &flat(&own.front));
            arrays.put_f64(format!("family.{place}.estimates"), vec![own.estimates.len()], &own.estimates);
        }
        arrays.put_usize("front.codes".into(), &self.codes.iter().map(|&code| code as usize).collect::<Vec<_>>());
        Ok(ParetoRecord {
            parameters: self.parameters.clone(),
            classes: self.classes.clone(),
            fronts: self
                .machines
                .iter()
                .map(|front| FrontRecord { class: front.class, points: front.points.len(), reference: front.reference })
                .collect(),
            machine: machine::store(&machine, "front.", arrays)?,
            holdout_rows: self.holdout_rows,
            estimate_rows: self.estimate_rows,
            picked: self.picked,
            family: self
                .family
                .iter()
                .map(|own| WidthRecord { gamma: own.gamma, holdouts: own.holdouts, hypervolume: own.hypervolume })
                .collect(),
            classifier: self.classifier.store(arrays)?,
            feature_names: self.feature_names.clone(),
            report: self.report,
        })
    }

    fn restore(record: ParetoRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let machine = machine::restore(record.machine, "front.", arrays)?;
        let (points, lambdas) = (table(arrays, "front.points")?, arrays.list_f64("front.lambdas")?);
        let outputs = record.fronts.iter().try_fold(0usize, |sum, front| sum.checked_add(front.points)).unwrap_or(usize::MAX);
        for (what, found) in [("points", points.len()), ("multipliers", lambdas.len()), ("machines", machine.outputs())] {
            if found != outputs {
                return Err(Error::shape(format!("{what} of all fronts"), outputs, found));
            }
        }
        let rows = machine.len();
        let mut first = 0;
        let mut machines = Vec::new();
        for front in record.fronts {
            let own = first..first + front.points;
            machines.push(ClassFront {
                class: front.class,
                points: points[own.clone()].to_vec(),
                alphas: machine.coefficients[own.start * rows..own.end * rows].to_vec(),
                lambdas: lambdas[own.clone()].to_vec(),
                biases: machine.intercepts[own.clone()].to_vec(),
                reference: front.reference,
            });
            first = own.end;
        }
        let codes = arrays.list_usize("front.codes")?;
        let weights = if arrays.contains("front.weights") { arrays.list_f64("front.weights")? } else { vec![1.0; codes.len()] };
        let mut family = Vec::new();
        for (place, own) in record.family.iter().enumerate() {
            family.push(WidthFront {
                gamma: own.gamma,
                front: table(arrays, &format!("family.{place}.table"))?,
                estimates: arrays.list_f64(&format!("family.{place}.estimates"))?,
                holdouts: own.holdouts,
                hypervolume: own.hypervolume,
            });
        }
        let model = ParetoModel {
            parameters: record.parameters,
            classes: record.classes,
            front: table(arrays, "front.table")?,
            machines,
            kernel: machine.kernel,
            rows: machine.support,
            weights,
            family,
            codes: codes.into_iter().map(|code| u32::try_from(code).unwrap_or(u32::MAX)).collect(),
            vectors: machine.vectors,
            estimates: arrays.list_f64("front.estimates")?,
            holdout_rows: record.holdout_rows,
            estimate_rows: record.estimate_rows,
            picked: record.picked,
            classifier: SvcModel::restore(record.classifier, arrays)?,
            feature_names: record.feature_names,
            report: record.report,
        };
        check(&model)?;
        Ok(model)
    }
}

/// All points as outputs of one machine, which files know how to keep.
fn together(model: &ParetoModel) -> KernelMachine {
    KernelMachine {
        kernel: model.kernel.clone(),
        support: model.rows.clone(),
        vectors: model.vectors.clone(),
        coefficients: model.machines.iter().flat_map(|front| front.alphas.iter().copied()).collect(),
        layout: Layout::Full,
        intercepts: model.machines.iter().flat_map(|front| front.biases.iter().copied()).collect(),
        features: model.classifier.machine.features,
        tolerance: model.parameters.tolerance,
        ready: Ready::default(),
    }
}

fn flat(points: &[FrontPoint]) -> Vec<f64> {
    let row =
        |p: &FrontPoint| [p.quadratic, p.sum_alpha, p.train_error, p.holdout_error, p.n_support as f64, p.equivalent_c, p.margin, p.gap];
    points.iter().flat_map(row).collect()
}

fn table(arrays: &ArrayReader<'_>, name: &str) -> Result<Vec<FrontPoint>> {
    let (values, [_, columns]) = arrays.table_f64(name)?;
    equal("numbers per point of a front", COLUMNS, columns)?;
    let point = |row: &[f64]| FrontPoint {
        quadratic: row[0],
        sum_alpha: row[1],
        train_error: row[2],
        holdout_error: row[3],
        n_support: row[4] as usize,
        equivalent_c: row[5],
        margin: row[6],
        gap: row[7],
    };
    Ok(values.chunks_exact(COLUMNS).map(point).collect())
}

/// Everything that selecting a point and predicting rely on.
fn check(model: &ParetoModel) -> Result<()> {
    model.parameters.validate()?;
    let classes = model.classes.len();
    let machines = if classes == 2 { 1..=1 } else { 1..=classes };
    if model.classifier.classes != model.classes || !machines.contains(&model.machines.len()) {
        return Err(Error::data("the classifier and the fronts of a model must have the same classes"));
    }
    if model.picked >= model.front.len() {
        return Err(Error::shape("points of the front, more than the picked one", model.picked.saturating_add(1), model.front.len()));
    }
    equal("estimates, one per point of the front", model.front.len(), model.estimates.len())?;
    let rows = model.rows.len();
    equal("classes, one per row of the front", rows, model.codes.len())?;
    if let Some(code) = model.codes.iter().find(|&&code| code as usize >= classes) {
        return Err(Error::data(format!("class code {code} has no name: there are {classes} classes")));
    }
    equal("weights, one per row of the front", rows, model.weights.len())?;
    if model.weights.iter().any(|&weight| !(weight.is_finite() && weight > 0.0)) {
        return Err(Error::data("a row of a front has a weight that is not positive"));
    }
    for own in &model.family {
        equal("estimates, one per point of a width", own.front.len(), own.estimates.len())?;
        let objectives = own.front.iter().flat_map(|point| [point.quadratic, point.sum_alpha]);
        if !(own.gamma.is_finite() && own.hypervolume.is_finite())
            || objectives.chain(own.estimates.iter().copied()).any(|v| !v.is_finite())
        {
            return Err(Error::data("a width of a front holds a value that is not finite"));
        }
    }
    for front in &model.machines {
        all_equal(&[
            ("alphas of a front", front.points.len().saturating_mul(rows), front.alphas.len()),
            ("multipliers of a front", front.points.len(), front.lambdas.len()),
            ("intercepts of a front", front.points.len(), front.biases.len()),
        ])?;
        if front.points.is_empty() || front.class >= classes || !front.reference.is_finite() {
            return Err(Error::data("a front needs points, a class and a finite reference"));
        }
        let objectives = front.points.iter().flat_map(|point| [point.quadratic, point.sum_alpha]);
        if objectives.chain(front.alphas.iter().copied()).any(|value| !value.is_finite()) {
            return Err(Error::data("a front holds a value that is not finite"));
        }
    }
    check_feature_names(model.feature_names.as_deref(), model.classifier.machine.features)
}
