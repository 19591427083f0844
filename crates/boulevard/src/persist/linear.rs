//! Linear models in a file.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::check_bound;
use super::native::Stored;
use super::parts::{
    Report, all_equal, check_calibration, check_class_names, check_finite, check_offsets, read_calibration, write_calibration,
};
use crate::check;
use crate::error::Result;
use crate::svm::{FitReport, Learner, LinearMachine, LinearSvc, LinearSvcModel, LinearSvr, LinearSvrModel};

/// A linear classifier's header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinearSvcRecord {
    parameters: LinearSvc,
    classes: Vec<String>,
    feature_names: Option<Vec<String>>,
    #[serde(with = "Report")]
    report: FitReport,
}

/// A linear regressor's header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinearSvrRecord {
    parameters: LinearSvr,
    feature_names: Option<Vec<String>>,
    #[serde(with = "Report")]
    report: FitReport,
}

impl Stored for LinearSvcModel {
    type Record = LinearSvcRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<LinearSvcRecord> {
        check_svc(self)?;
        write_machine(&self.machine, arrays);
        write_calibration(self.calibration.as_ref(), "", arrays);
        Ok(LinearSvcRecord {
            parameters: self.parameters.clone(),
            classes: self.classes.clone(),
            feature_names: self.feature_names.clone(),
            report: self.report,
        })
    }

    fn restore(record: LinearSvcRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let model = Self {
            parameters: record.parameters,
            classes: record.classes,
            machine: read_machine(arrays)?,
            calibration: read_calibration("", arrays)?,
            feature_names: record.feature_names,
            report: record.report,
        };
        check_svc(&model)?;
        Ok(model)
    }
}

impl Stored for LinearSvrModel {
    type Record = LinearSvrRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<LinearSvrRecord> {
        self.parameters.validate()?;
        check_machine(&self.machine, 1, &self.feature_names)?;
        write_machine(&self.machine, arrays);
        Ok(LinearSvrRecord { parameters: self.parameters.clone(), feature_names: self.feature_names.clone(), report: self.report })
    }

    fn restore(record: LinearSvrRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let machine = read_machine(arrays)?;
        record.parameters.validate()?;
        check_machine(&machine, 1, &record.feature_names)?;
        Ok(Self { parameters: record.parameters, machine, feature_names: record.feature_names, report: record.report })
    }
}

pub(super) fn write_machine(machine: &LinearMachine, arrays: &mut ArrayWriter) {
    arrays.put_f64("weights".into(), vec![machine.outputs(), machine.features], &machine.weights);
    arrays.put_f64("biases".into(), vec![machine.outputs()], &machine.biases);
}

pub(super) fn read_machine(arrays: &ArrayReader<'_>) -> Result<LinearMachine> {
    let (weights, [_, features]) = arrays.table_f64("weights")?;
    Ok(LinearMachine { weights, biases: arrays.list_f64("biases")?, features })
}

fn check_svc(model: &LinearSvcModel) -> Result<()> {
    model.parameters.validate()?;
    check_class_names(&model.classes)?;
    let outputs = if model.classes.len() == 2 { 1 } else { model.classes.len() };
    check_machine(&model.machine, outputs, &model.feature_names)?;
    check_calibration(model.calibration.as_ref(), outputs, model.classes.len())
}

/// Everything that evaluation relies on.
fn check_machine(machine: &LinearMachine, outputs: usize, names: &Option<Vec<String>>) -> Result<()> {
    check::at_least("LinearMachine", "features", machine.features, 1)?;
    let named = names.as_ref().map_or(machine.features, Vec::len);
    all_equal(&[
        ("outputs of the machine", outputs, machine.outputs()),
        ("weights", machine.features.saturating_mul(outputs), machine.weights.len()),
        ("feature names, one per column", machine.features, named),
    ])?;
    check_finite("the weights", &machine.weights, machine.features)?;
    // A class that was never seen has minus infinity.
    check_offsets("the biases", &machine.biases, |row| outputs > 1 && machine.output(row).iter().all(|w| *w == 0.0))?;
    let offset = machine.biases.iter().filter(|v| v.is_finite()).fold(0.0, |a: f64, v| a.max(v.abs()));
    check_bound("weights and biases", machine.weights.iter().map(|w| w.abs()).sum::<f64>() + offset)
}
