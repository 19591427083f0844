//! Models of multi-task selection in files.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{self, MachineRecord, check_bound, check_machine, check_no_custom};
use super::native::Stored;
use super::parts::{Report, all_equal, check_calibration, check_finite, check_offsets, equal, read_calibration, write_calibration};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::methods::multitask_selection::{MultiTaskSelection, MultiTaskSelectionModel, Outputs, Select, SelectionChoice};
use crate::svm::{FitReport, Layout, Learner};

/// Everything that is not an array.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SelectionRecord {
    parameters: MultiTaskSelection,
    outputs: Outputs,
    kernels: Vec<Kernel>,
    machines: Vec<MachineRecord>,
    features: usize,
    feature_names: Option<Vec<String>>,
    notes: Vec<String>,
    /// Files from before anything was chosen have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choice: Option<SelectionChoice>,
    #[serde(with = "Report")]
    report: FitReport,
}

impl Stored for MultiTaskSelectionModel {
    type Record = SelectionRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<SelectionRecord> {
        check(self)?;
        let (groups, tasks) = (self.groups(), self.tasks());
        arrays.put_f64("switches".into(), vec![self.switches.len() / groups, groups], &self.switches);
        arrays.put_f64("intercepts".into(), vec![tasks], &self.intercepts);
        if self.kernels.is_empty() {
            arrays.put_f64("weights".into(), vec![tasks, self.features], &self.weights);
        }
        for (m, coefficients) in self.coefficients.iter().enumerate() {
            arrays.put_f64(format!("coefficients.{m}"), vec![coefficients.len()], coefficients);
        }
        write_calibration(self.calibration.as_ref(), "", arrays);
        let mut machines = Vec::new();
        for (k, of) in self.machines.iter().enumerate() {
            machines.push(machine::store(of, &format!("machine.{k}."), arrays)?);
        }
        Ok(SelectionRecord {
            parameters: self.parameters.clone(),
            outputs: self.outputs.clone(),
            kernels: self.kernels.clone(),
            machines,
            features: self.features,
            feature_names: self.feature_names.clone(),
            notes: self.notes.clone(),
            choice: self.choice.clone(),
            report: self.report,
        })
    }

    fn restore(record: SelectionRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let intercepts = arrays.list_f64("intercepts")?;
        let (switches, [_, groups]) = arrays.table_f64("switches")?;
        let expected = if record.kernels.is_empty() { record.features } else { record.kernels.len() };
        equal("switches in a row", expected, groups)?;
        let weights = if record.kernels.is_empty() {
            let (weights, [tasks, columns]) = arrays.table_f64("weights")?;
            if (tasks, columns) != (intercepts.len(), record.features) {
                return Err(Error::shape("weights of a task", record.features, columns));
            }
            weights
        } else {
            Vec::new()
        };
        let mut machines = Vec::new();
        for (k, machine) in record.machines.into_iter().enumerate() {
            machines.push(machine::restore(machine, &format!("machine.{k}."), arrays)?);
        }
        let model = Self {
            coefficients: (0..intercepts.len()).map(|m| arrays.list_f64(&format!("coefficients.{m}"))).collect::<Result<_>>()?,
            parameters: record.parameters,
            outputs: record.outputs,
            switches,
            weights,
            intercepts,
            kernels: record.kernels,
            machines,
            calibration: read_calibration("", arrays)?,
            features: record.features,
            feature_names: record.feature_names,
            notes: record.notes,
            choice: record.choice,
            report: record.report,
        };
        check(&model)?;
        Ok(model)
    }
}

/// Everything that prediction relies on.
fn check(model: &MultiTaskSelectionModel) -> Result<()> {
    model.parameters.validate()?;
    model.parameters.kernels.iter().try_for_each(check_no_custom)?;
    let tasks = model.intercepts.len();
    let kernels = model.parameters.select == Select::Kernels;
    let shared = kernels && model.machines.len() == 1;
    all_equal(&[
        ("tasks", model.outputs.tasks(), tasks),
        ("base kernels", if kernels { model.parameters.kernels.len() } else { 0 }, model.kernels.len()),
        ("kernel machines", if shared { 1 } else { usize::from(kernels) * tasks }, model.machines.len()),
        ("lists of coefficients, one per task", tasks, model.coefficients.len()),
        ("weights", if kernels { 0 } else { tasks.saturating_mul(model.features) }, model.weights.len()),
        ("feature names, one per column", model.features, model.feature_names.as_ref().map_or(model.features, Vec::len)),
    ])?;
    if tasks == 0 || model.features == 0 {
        return Err(Error::data("a model needs at least one task and one feature"));
    }
    if let Outputs::Classes(names) = &model.outputs
        && names.len() < 2
    {
        return Err(Error::data("a classifier needs at least two classes"));
    }
    let groups = model.groups();
    if let Some(choice) = &model.choice {
        if choice.kept.iter().chain(&choice.counting).flatten().any(|&j| j >= groups) {
            return Err(Error::data("a feature that is kept is none of the model's"));
        }
        let frequencies = choice.frequencies.len();
        equal("frequencies, one per feature", if frequencies == 0 { 0 } else { groups }, frequencies)?;
    }
    if model.switches.len() != groups && model.switches.len() != groups.saturating_mul(tasks) {
        return Err(Error::shape("switches", groups, model.switches.len()));
    }
    for machine in &model.machines {
        check_machine(machine)?;
        check_offsets("the intercepts", &machine.intercepts, |_| false)?;
        let outputs = if shared { tasks } else { 1 };
        if machine.outputs() != outputs || machine.layout != Layout::Full || machine.features != model.features {
            return Err(Error::shape("outputs of a kernel machine", outputs, machine.outputs()));
        }
    }
    check_calibration(model.calibration.as_ref(), tasks, 0)?;
    for (what, values) in [("the switches", &model.switches), ("the weights", &model.weights), ("the intercepts", &model.intercepts)] {
        check_finite(what, values, 1)?;
    }
    model.coefficients.iter().try_for_each(|values| check_finite("the coefficients", values, 1))?;
    let sum = |values: &[f64]| values.iter().map(|v| v.abs()).sum::<f64>();
    check_bound("weights and intercepts", sum(&model.weights) + sum(&model.intercepts))
}
