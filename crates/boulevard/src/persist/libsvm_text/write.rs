//! The writer.

use std::fmt::Write;

use super::WriteOptions;
use crate::check;
use crate::data::io::number;
use crate::error::{Error, Result};
use crate::kernel::{Gamma, Kernel};
use crate::persist::AnyModel;
use crate::persist::machine::check_machine;
use crate::svm::{KernelMachine, Layout, OneClassModel, Penalty, SvcModel, SvrModel, Tube};

pub(super) fn to_text(model: &AnyModel, options: &WriteOptions) -> Result<String> {
    // Kinds that LIBSVM does not know are added to `AnyModel` over time.
    #[allow(unreachable_patterns)]
    match model {
        AnyModel::Svc(model) => svc(model, options),
        AnyModel::Svr(SvrModel { parameters, machine, .. }) => {
            let kind = if matches!(parameters.tube, Tube::Epsilon(_)) { "epsilon_svr" } else { "nu_svr" };
            single(kind, machine, options)
        }
        AnyModel::OneClass(OneClassModel { machine, .. }) => single("one_class", machine, options),
        other => Err(Error::data(format!("LIBSVM has no models of kind `{}`", other.kind()))),
    }
}

fn svc(model: &SvcModel, options: &WriteOptions) -> Result<String> {
    let Layout::Pairs(counts) = &model.machine.layout else {
        return Err(Error::data("LIBSVM knows only one-vs-one classification: this model is one-vs-rest"));
    };
    let labels = labels(model, options)?;
    let kind = if matches!(model.parameters.penalty, Penalty::C(_)) { "c_svc" } else { "nu_svc" };
    let mut text = head(kind, &model.machine, model.classes.len())?;
    line(&mut text, "label", labels.iter().map(i32::to_string));
    if let Some(calibration) = &model.calibration {
        // Without the power LIBSVM would say other probabilities than this model, and nobody would notice.
        if calibration.sharpening.is_some() {
            return Err(Error::data(format!(
                "LIBSVM's files have no place for probabilities of the method `{}`: fit the model with calibration `sigmoid`, LIBSVM's own, or \
                 without probabilities",
                calibration.method().name()
            )));
        }
        line(&mut text, "probA", calibration.sigmoids.iter().map(|s| number::text(s.a)));
        line(&mut text, "probB", calibration.sigmoids.iter().map(|s| number::text(s.b)));
    }
    line(&mut text, "nr_sv", counts.iter().map(usize::to_string));
    vectors(&mut text, &model.machine);
    Ok(text)
}

fn single(kind: &str, machine: &KernelMachine, options: &WriteOptions) -> Result<String> {
    if options.labels.is_some() {
        return Err(Error::data(format!("labels are for classes, but a model of type {kind} has none")));
    }
    let mut text = head(kind, machine, 2)?;
    vectors(&mut text, machine);
    Ok(text)
}

/// The integers that stand for the classes.
fn labels(model: &SvcModel, options: &WriteOptions) -> Result<Vec<i32>> {
    let labels = match &options.labels {
        Some(labels) if labels.len() != model.classes.len() => {
            return Err(Error::shape("labels, one per class", model.classes.len(), labels.len()));
        }
        Some(labels) => labels.clone(),
        None => model.classes.iter().map(|name| integer(name)).collect::<Result<_>>()?,
    };
    match (0..labels.len()).find(|&i| labels[..i].contains(&labels[i])) {
        Some(i) => Err(Error::data(format!("class `{}` and another class both have the label {}", model.classes[i], labels[i]))),
        None => Ok(labels),
    }
}

/// `1`, `+1` and `1.0` are all 1.
fn integer(name: &str) -> Result<i32> {
    let value = number::parse(name.as_bytes()).filter(|v| v.fract() == 0.0 && *v >= f64::from(i32::MIN) && *v <= f64::from(i32::MAX));
    value.map(|v| v as i32).ok_or_else(|| {
        let name = name.escape_debug();
        Error::data(format!("class `{name}` is not an integer, and LIBSVM's model format has only integers: give a label for each class"))
    })
}

fn head(kind: &str, machine: &KernelMachine, classes: usize) -> Result<String> {
    check_machine(machine)?;
    let mut text = format!("svm_type {kind}\n");
    let (name, degree, gamma, coef0) = match &machine.kernel {
        Kernel::Linear => ("linear", None, None, None),
        Kernel::Poly { degree, gamma, coef0 } => ("polynomial", Some(degree), Some(gamma), Some(coef0)),
        Kernel::Rbf { gamma } => ("rbf", None, Some(gamma), None),
        Kernel::Sigmoid { gamma, coef0 } => ("sigmoid", None, Some(gamma), Some(coef0)),
        Kernel::Precomputed => ("precomputed", None, None, None),
        other => {
            let known = "a linear, poly, rbf, sigmoid or precomputed kernel (those that LIBSVM has)";
            return Err(check::complaint("a LIBSVM model", "kernel", known, other.name()));
        }
    };
    line(&mut text, "kernel_type", [name.to_owned()]);
    if let Some(degree) = degree {
        line(&mut text, "degree", [degree.to_string()]);
    }
    if let Some(gamma) = gamma.copied().and_then(Gamma::value) {
        line(&mut text, "gamma", [number::text(gamma)]);
    }
    if let Some(coef0) = coef0 {
        line(&mut text, "coef0", [number::text(*coef0)]);
    }
    line(&mut text, "nr_class", [classes.to_string()]);
    line(&mut text, "total_sv", [machine.len().to_string()]);
    line(&mut text, "rho", machine.intercepts.iter().map(|v| number::text(-v)));
    Ok(text)
}

fn line(text: &mut String, key: &str, values: impl IntoIterator<Item = String>) {
    text.push_str(key);
    for value in values {
        text.push(' ');
        text.push_str(&value);
    }
    text.push('\n');
}

fn vectors(text: &mut String, machine: &KernelMachine) {
    text.push_str("SV\n");
    let count = machine.len();
    for s in 0..count {
        // LIBSVM's reader wants the blank that its own writer leaves at the end of every entry.
        for row in machine.coefficients.chunks_exact(count) {
            text.push_str(&number::text(row[s]));
            text.push(' ');
        }
        let mut entry = |column: usize, value: &str| write!(text, "{column}:{value} ").expect("a string takes any text");
        if machine.kernel == Kernel::Precomputed {
            entry(0, &(machine.support[s] + 1).to_string());
        } else {
            machine.vectors.for_each(s, |column, value| {
                if value != 0.0 {
                    entry(column + 1, &number::text(value));
                }
            });
        }
        text.push('\n');
    }
}
