//! A front in a file: every `alpha` of every point beside the rows they belong to, the tables, and the picked classifier.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{self, MachineRecord, check_no_custom};
use super::native::Stored;
use super::parts::{Report, all_equal, check_feature_names, equal};
use super::records::SvcRecord;
use crate::error::{Error, Result};
use crate::methods::pareto::{ClassFront, FrontPoint, ParetoModel, ParetoSvc};
use crate::svm::{FitReport, KernelMachine, Layout, Learner, SvcModel};

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
        let model = ParetoModel {
            parameters: record.parameters,
            classes: record.classes,
            front: table(arrays, "front.table")?,
            machines,
            kernel: machine.kernel,
            rows: machine.support,
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
