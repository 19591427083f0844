//! What each kind of model writes besides its arrays.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{self, MachineRecord, check_machine, check_no_custom, check_single};
use super::native::Stored;
use super::parts::{Report, all_equal, check_calibration, check_class_names, check_feature_names, read_calibration, write_calibration};
use crate::error::{Error, Result};
use crate::svm::{FitReport, Layout, Learner, OneClass, OneClassModel, Svc, SvcModel, Svr, SvrModel};

/// A classifier's header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SvcRecord {
    parameters: Svc,
    classes: Vec<String>,
    support_counts: Vec<usize>,
    iterations: Vec<u64>,
    machine: MachineRecord,
    feature_names: Option<Vec<String>>,
    #[serde(with = "Report")]
    report: FitReport,
}

impl Stored for SvcModel {
    type Record = SvcRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<SvcRecord> {
        check_no_custom(&self.parameters.kernel)?;
        check_machine(&self.machine)?;
        check_svc(self)?;
        write_calibration(self.calibration.as_ref(), "", arrays);
        Ok(SvcRecord {
            parameters: self.parameters.clone(),
            classes: self.classes.clone(),
            support_counts: self.support_counts.clone(),
            iterations: self.iterations.clone(),
            machine: machine::store(&self.machine, "", arrays)?,
            feature_names: self.feature_names.clone(),
            report: self.report,
        })
    }

    fn restore(record: SvcRecord, arrays: &ArrayReader<'_>) -> Result<Self> {
        let model = SvcModel {
            parameters: record.parameters,
            classes: record.classes,
            machine: machine::restore(record.machine, "", arrays)?,
            support_counts: record.support_counts,
            iterations: record.iterations,
            calibration: read_calibration("", arrays)?,
            feature_names: record.feature_names,
            report: record.report,
        };
        check_svc(&model)?;
        Ok(model)
    }
}

fn check_svc(model: &SvcModel) -> Result<()> {
    model.parameters.validate()?;
    check_feature_names(model.feature_names.as_deref(), model.machine.features)?;
    let classes = model.classes.len();
    check_class_names(&model.classes)?;
    let outputs = match &model.machine.layout {
        Layout::Full => classes,
        Layout::Pairs(counts) if *counts == model.support_counts => classes.saturating_mul(classes - 1) / 2,
        Layout::Pairs(counts) => {
            return Err(Error::data(format!(
                "support vectors per class: {counts:?} in the machine, {:?} in the model",
                model.support_counts
            )));
        }
    };
    let sum = model.support_counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
    all_equal(&[
        ("support counts, one per class", classes, model.support_counts.len()),
        ("support vectors of all classes", model.machine.len(), sum.unwrap_or(usize::MAX)),
        ("outputs of the machine", outputs, model.machine.outputs()),
        ("step counts, one per output", outputs, model.iterations.len()),
    ])?;
    check_calibration(model.calibration.as_ref(), outputs, classes)
}

/// The header of a model that is one machine with one output.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SingleRecord<P> {
    parameters: P,
    machine: MachineRecord,
    feature_names: Option<Vec<String>>,
    #[serde(with = "Report")]
    report: FitReport,
}

/// Regression and one-class learning have the same parts.
macro_rules! stored_single {
    ($model:ident, $learner:ident) => {
        impl Stored for $model {
            type Record = SingleRecord<$learner>;

            fn store(&self, arrays: &mut ArrayWriter) -> Result<Self::Record> {
                check_no_custom(&self.parameters.kernel)?;
                self.parameters.validate()?;
                check_machine(&self.machine)?;
                check_single(&self.machine)?;
                check_feature_names(self.feature_names.as_deref(), self.machine.features)?;
                Ok(SingleRecord {
                    parameters: self.parameters.clone(),
                    machine: machine::store(&self.machine, "", arrays)?,
                    feature_names: self.feature_names.clone(),
                    report: self.report,
                })
            }

            fn restore(record: Self::Record, arrays: &ArrayReader<'_>) -> Result<Self> {
                let machine = machine::restore(record.machine, "", arrays)?;
                record.parameters.validate()?;
                check_single(&machine)?;
                check_feature_names(record.feature_names.as_deref(), machine.features)?;
                Ok($model { parameters: record.parameters, machine, feature_names: record.feature_names, report: record.report })
            }
        }
    };
}

stored_single!(SvrModel, Svr);
stored_single!(OneClassModel, OneClass);
