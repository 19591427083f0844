//! Classifiers of sets in files: the machine of single samples as a file of its own inside, and every direct machine's arrays.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{Storage, check_bound, check_kernel, check_no_custom, restore_table, store_table};
use super::native::{self, Stored};
use super::parts::{
    Report, check_calibration, check_feature_names, check_finite, check_offsets, equal, read_calibration, write_calibration,
};
use crate::check;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::kernel::permanent::MAX_SET;
use crate::methods::multi_sample::{Consensus, MultiSample, MultiSampleModel, SetChoice, SetMachine};
use crate::svm::{FitReport, Learner, SvcModel};

/// The header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiSampleRecord {
    parameters: MultiSample,
    classes: Vec<String>,
    machines: Vec<SetMachineRecord>,
    feature_names: Option<Vec<String>>,
    /// Absent where the method was given, and in files of versions that left no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<SetChoice>,
    #[serde(with = "Report")]
    report: FitReport,
}

/// Everything of a direct machine that is not an array.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetMachineRecord {
    size: usize,
    kernel: Kernel,
    pairwise: bool,
    columns: usize,
    features: usize,
    storage: Storage,
    calibrated: bool,
}

impl Stored for MultiSampleModel {
    type Record = MultiSampleRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<MultiSampleRecord> {
        check_no_custom(&self.parameters.kernel)?;
        check_model(self)?;
        arrays.put_f64("priors".into(), vec![self.priors.len()], &self.priors);
        arrays.put_f64("rates".into(), vec![self.rates.len()], &self.rates);
        arrays.put_f64("separation".into(), vec![self.separation.len()], &self.separation);
        arrays.put_bytes("single".into(), native::to_bytes(&*self.single, None)?);
        let machines = self.machines.iter().enumerate().map(|(place, machine)| {
            let name = |part: &str| format!("machine{place}.{part}");
            let per_output = machine.len();
            arrays.put_f64(name("coefficients"), vec![machine.outputs(), per_output], &machine.coefficients);
            arrays.put_f64(name("intercepts"), vec![machine.outputs()], &machine.intercepts);
            arrays.put_usize(name("support"), &machine.support);
            arrays.put_usize(name("sets"), &machine.sets);
            write_calibration(machine.calibration.as_ref(), &name(""), arrays);
            SetMachineRecord {
                size: machine.size,
                kernel: machine.kernel.clone(),
                pairwise: machine.pairwise,
                columns: machine.columns,
                features: machine.features,
                storage: store_table(&machine.vectors, &name("vectors"), arrays),
                calibrated: machine.calibration.is_some(),
            }
        });
        Ok(MultiSampleRecord {
            parameters: self.parameters.clone(),
            classes: self.classes.clone(),
            machines: machines.collect(),
            feature_names: self.feature_names.clone(),
            chosen: self.chosen.clone(),
            report: self.report,
        })
    }

    fn restore(record: MultiSampleRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let single: SvcModel = native::open(arrays.list_bytes("single")?)?.model()?;
        let mut machines = Vec::with_capacity(record.machines.len());
        for (place, head) in record.machines.into_iter().enumerate() {
            let name = |part: &str| format!("machine{place}.{part}");
            let columns = if head.kernel == Kernel::Precomputed { 0 } else { head.features };
            let calibration = read_calibration(&name(""), arrays)?;
            equal("machines with sigmoids", usize::from(head.calibrated), usize::from(calibration.is_some()))?;
            machines.push(SetMachine {
                size: head.size,
                support: arrays.list_usize(&name("support"))?,
                vectors: restore_table(head.storage, &name("vectors"), columns, arrays)?,
                sets: arrays.list_usize(&name("sets"))?,
                coefficients: arrays.table_f64(&name("coefficients"))?.0,
                intercepts: arrays.list_f64(&name("intercepts"))?,
                kernel: head.kernel,
                pairwise: head.pairwise,
                columns: head.columns,
                features: head.features,
                calibration,
            });
        }
        let model = Self {
            parameters: record.parameters,
            classes: record.classes,
            priors: arrays.list_f64("priors")?,
            rates: arrays.list_f64("rates")?,
            single: Box::new(single),
            separation: arrays.list_f64("separation")?,
            machines,
            feature_names: record.feature_names,
            chosen: record.chosen,
            report: record.report,
        };
        check_model(&model)?;
        Ok(model)
    }
}

/// Everything that prediction relies on.
fn check_model(model: &MultiSampleModel) -> Result<()> {
    model.parameters.validate()?;
    let (classes, features) = (model.classes.len(), model.single.machine.features);
    if model.single.classes != model.classes {
        return Err(Error::data("the classes of the sets and of single samples differ"));
    }
    Consensus::with_rates(&model.priors, &model.rates)?;
    equal("priors, one per class", classes, model.priors.len())?;
    equal("separations, one per pair of classes", classes * classes, model.separation.len())?;
    if let Some(place) = model.separation.iter().position(|v| v.is_nan()) {
        return Err(Error::NotFinite { what: "the separations", found: "NaN".into(), row: place / classes, column: place % classes });
    }
    if model.single.calibration.is_none() {
        return Err(Error::data("the machine of single samples has no sigmoids"));
    }
    check_feature_names(model.feature_names.as_deref(), features)?;
    for (place, machine) in model.machines.iter().enumerate() {
        check_set_machine(machine, classes, features)?;
        if model.machines[..place].iter().any(|before| before.size == machine.size) {
            return Err(Error::data(format!("two machines for sets of {}", machine.size)));
        }
    }
    Ok(())
}

fn check_set_machine(machine: &SetMachine, classes: usize, features: usize) -> Result<()> {
    check_kernel(&machine.kernel)?;
    if !(1..=MAX_SET).contains(&machine.size) {
        return Err(check::complaint("SetMachine", "size", format!("from 1 to {MAX_SET}"), machine.size));
    }
    let precomputed = machine.kernel == Kernel::Precomputed;
    let outputs = if classes == 2 || machine.pairwise { classes * (classes - 1) / 2 } else { classes };
    equal("columns of the table of sets", features, machine.features)?;
    equal("outputs of the machine for sets", outputs, machine.outputs())?;
    equal("support rows", machine.support.len(), machine.vectors.rows())?;
    equal("columns of the support rows", if precomputed { 0 } else { features }, machine.vectors.columns())?;
    if !machine.sets.len().is_multiple_of(machine.size) {
        return Err(Error::shape(
            format!("members of whole sets of {} (modulo {})", machine.size, machine.size),
            0,
            machine.sets.len() % machine.size,
        ));
    }
    equal("coefficients of the machine for sets", outputs.saturating_mul(machine.len()), machine.coefficients.len())?;
    if let Some(place) = machine.sets.iter().find(|&&place| place >= machine.support.len()) {
        return Err(Error::data(format!("a support set names row {place} of {}", machine.support.len())));
    }
    if precomputed && let Some(row) = machine.support.iter().find(|&&row| row >= features) {
        return Err(Error::data(format!("support row {row} is outside the {features} training rows")));
    }
    check_finite("the coefficients", &machine.coefficients, machine.len())?;
    // Minus infinity stands for a class that was never seen, which has no coefficients.
    check_offsets("the intercepts", &machine.intercepts, |row| {
        let own = &machine.coefficients[row * machine.len()..(row + 1) * machine.len()];
        !machine.pairwise && outputs > 1 && own.iter().all(|v| *v == 0.0)
    })?;
    let sum: f64 = machine.coefficients.iter().map(|v| v.abs()).sum();
    let offset = machine.intercepts.iter().filter(|v| v.is_finite()).fold(0.0, |a: f64, v| a.max(v.abs()));
    check_bound("coefficients and intercepts of the machine for sets", sum + offset)?;
    check_calibration(machine.calibration.as_ref(), outputs, 0)?;
    machine.vectors.check_finite("the support rows")
}
