//! What each kind of model writes besides its arrays.

use serde::{Deserialize, Serialize};

use super::arrays::{ArrayReader, ArrayWriter};
use super::machine::{self, MachineRecord, check_machine, check_no_custom, check_single};
use super::native::Stored;
use crate::check;
use crate::error::{Error, Result};
use crate::observe::StopReason;
use crate::solver::Route;
use crate::svm::{Calibration, FitReport, KernelMachine, Layout, Learner, OneClass, OneClassModel, Sigmoid, Svc, SvcModel, Svr, SvrModel};

/// Twin of [`FitReport`] for files: a gap may be infinite, which JSON cannot say.
#[derive(Serialize, Deserialize)]
#[serde(remote = "FitReport", deny_unknown_fields)]
pub(super) struct Report {
    #[serde(with = "any_number")]
    objective: f64,
    #[serde(with = "any_number")]
    violation: f64,
    #[serde(with = "any_number")]
    gap: f64,
    iterations: u64,
    stop: StopReason,
    #[serde(with = "any_number")]
    seconds: f64,
    rows: usize,
    #[serde(default, skip_serializing_if = "Route::is_default")]
    route: Route,
}

/// Finite numbers as numbers, others as text.
mod any_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() { out.serialize_f64(*value) } else { out.collect_str(value) }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Text(String),
        }
        match Either::deserialize(from)? {
            Either::Number(value) => Ok(value),
            Either::Text(text) => text.parse().map_err(|_| D::Error::custom(format!("`{}` is not a number", text.escape_debug()))),
        }
    }
}

fn check_names(names: &Option<Vec<String>>, machine: &KernelMachine) -> Result<()> {
    match names {
        Some(names) if names.len() != machine.features => Err(Error::shape("feature names, one per column", machine.features, names.len())),
        _ => Ok(()),
    }
}

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
    const KIND: &'static str = "svc";
    type Record = SvcRecord;

    fn store(&self, arrays: &mut ArrayWriter) -> Result<SvcRecord> {
        check_no_custom(&self.parameters.kernel)?;
        check_machine(&self.machine)?;
        check_svc(self)?;
        write_sigmoids(self.calibration.as_ref(), arrays);
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
            calibration: read_sigmoids(arrays)?,
            feature_names: record.feature_names,
            report: record.report,
        };
        check_svc(&model)?;
        Ok(model)
    }
}

fn check_svc(model: &SvcModel) -> Result<()> {
    model.parameters.validate()?;
    check_names(&model.feature_names, &model.machine)?;
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
    let facts = [
        ("support counts, one per class", classes, model.support_counts.len()),
        ("support vectors of all classes", model.machine.len(), sum.unwrap_or(usize::MAX)),
        ("outputs of the machine", outputs, model.machine.outputs()),
        ("step counts, one per output", outputs, model.iterations.len()),
    ];
    for (what, expected, found) in facts {
        if expected != found {
            return Err(Error::shape(what, expected, found));
        }
    }
    check_sigmoids(model.calibration.as_ref(), outputs)
}

/// Two or more classes, each named once.
pub(super) fn check_class_names(classes: &[String]) -> Result<()> {
    check::at_least("model", "classes", classes.len(), 2)?;
    match classes.iter().enumerate().find(|(i, name)| classes[..*i].contains(name)) {
        Some((_, name)) => Err(Error::data(format!("class `{}` is named twice", name.escape_debug()))),
        None => Ok(()),
    }
}

pub(super) fn write_sigmoids(calibration: Option<&Calibration>, arrays: &mut ArrayWriter) {
    if let Some(calibration) = calibration {
        let values: Vec<f64> = calibration.sigmoids.iter().flat_map(|s| [s.a, s.b]).collect();
        arrays.put_f64("sigmoids".into(), vec![calibration.sigmoids.len(), 2], &values);
    }
}

pub(super) fn read_sigmoids(arrays: &ArrayReader<'_>) -> Result<Option<Calibration>> {
    if !arrays.contains("sigmoids") {
        return Ok(None);
    }
    let (values, [_, two]) = arrays.table_f64("sigmoids")?;
    if two != 2 {
        return Err(Error::shape("numbers per sigmoid", 2, two));
    }
    Ok(Some(Calibration { sigmoids: values.chunks_exact(2).map(|pair| Sigmoid { a: pair[0], b: pair[1] }).collect() }))
}

/// One finite sigmoid per output, where there are any.
pub(super) fn check_sigmoids(calibration: Option<&Calibration>, outputs: usize) -> Result<()> {
    let Some(calibration) = calibration else { return Ok(()) };
    if calibration.sigmoids.len() != outputs {
        return Err(Error::shape("sigmoids, one per output", outputs, calibration.sigmoids.len()));
    }
    match calibration.sigmoids.iter().enumerate().find(|(_, s)| !(s.a.is_finite() && s.b.is_finite())) {
        Some((row, s)) => Err(Error::NotFinite { what: "the calibration", found: format!("{} and {}", s.a, s.b), row, column: 0 }),
        None => Ok(()),
    }
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
    ($model:ident, $learner:ident, $kind:literal) => {
        impl Stored for $model {
            const KIND: &'static str = $kind;
            type Record = SingleRecord<$learner>;

            fn store(&self, arrays: &mut ArrayWriter) -> Result<Self::Record> {
                check_no_custom(&self.parameters.kernel)?;
                self.parameters.validate()?;
                check_single(&self.machine)?;
                check_names(&self.feature_names, &self.machine)?;
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
                check_names(&record.feature_names, &machine)?;
                Ok($model { parameters: record.parameters, machine, feature_names: record.feature_names, report: record.report })
            }
        }
    };
}

stored_single!(SvrModel, Svr, "svr");
stored_single!(OneClassModel, OneClass, "one_class");
