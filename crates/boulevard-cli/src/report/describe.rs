//! A model in words: the same facts for `train`, `inspect` and the HTML report.

use boulevard::data::{Matrix, Scaling};
use boulevard::kernel::Kernel;
use boulevard::methods::multi_sample::{Method, MultiSampleModel};
use boulevard::observe::{Context, StopReason};
use boulevard::persist::AnyModel;
use boulevard::svm::{ClassWeight, FitReport, KernelMachine, Multiclass, Penalty, SolverSettings, Tube};
use serde_json::{Value, json};

use super::number::{g, seconds};
use super::{boosted, front, induce, linear, selection};
use crate::model::{Fitted, listed};

/// A named fact, in the order to be read.
pub type Fact = (&'static str, String);

/// Everything worth saying about a model.
pub fn facts(fitted: &Fitted) -> Vec<Fact> {
    let mut facts = match &fitted.model {
        AnyModel::Svc(model) => {
            let settings = &model.parameters;
            let kind = match settings.penalty {
                Penalty::C(c) => format!("classifier, C = {}", g(c)),
                Penalty::Nu(nu) => format!("classifier, nu = {}", g(nu)),
            };
            let mut facts = vec![("kind", kind), ("kernel", kernel(&model.machine.kernel))];
            let names: Vec<&str> = model.classes.iter().map(String::as_str).collect();
            facts.push(("classes", format!("{}: {}", names.len(), listed(&names))));
            if names.len() > 2 {
                facts.push((
                    "decides by",
                    match settings.multiclass {
                        Multiclass::OneVsOne => format!("votes of {} machines, one per pair of classes", model.machine.outputs()),
                        Multiclass::OneVsRest => format!("the largest of {} machines, one per class against the rest", names.len()),
                    },
                ));
            }
            facts.extend(class_weights(&settings.class_weight));
            let counts: Vec<String> = model.classes.iter().zip(&model.support_counts).map(|(name, n)| format!("{n} of {name}")).collect();
            let shown = if counts.len() <= 5 { format!(" ({})", counts.join(", ")) } else { String::new() };
            facts.push(("support vectors", format!("{}{}{shown}", model.machine.len(), share(model.machine.len(), model.report.rows))));
            if names.len() == 2
                && let Some(norm) = norm(&model.machine)
            {
                facts.push(("margin", format!("{} wide in the kernel's space (2 / |w|)", g(2.0 / norm))));
            }
            facts.push((
                "probabilities",
                if model.calibration.is_some() { "calibrated".into() } else { "none (train with --calibrate)".into() },
            ));
            facts.extend(solver(&settings.solver));
            facts
        }
        AnyModel::Svr(model) => {
            let tube = match model.parameters.tube {
                Tube::Epsilon(epsilon) => format!("epsilon = {}", g(epsilon)),
                Tube::Nu(nu) => format!("nu = {}", g(nu)),
            };
            let mut facts = vec![("kind", format!("regressor, C = {}, {tube}", g(model.parameters.c)))];
            facts.push(("kernel", kernel(&model.machine.kernel)));
            facts.push(("support vectors", format!("{}{}", model.machine.len(), share(model.machine.len(), model.report.rows))));
            facts.extend(solver(&model.parameters.solver));
            facts
        }
        AnyModel::OneClass(model) => {
            let mut facts = vec![("kind", format!("one-class machine, nu = {}", g(model.parameters.nu)))];
            facts.push(("kernel", kernel(&model.machine.kernel)));
            facts.push(("support vectors", format!("{}{}", model.machine.len(), share(model.machine.len(), model.report.rows))));
            facts.extend(solver(&model.parameters.solver));
            facts
        }
        AnyModel::MultiSample(model) => gathered(model),
        AnyModel::LinearSvc(model) => linear::classifier(model),
        AnyModel::LinearSvr(model) => linear::regressor(model),
        AnyModel::FeatureInduction(model) => induce::facts(model),
        AnyModel::MultiTaskSelection(model) => selection::facts(model),
        AnyModel::Boosted(model) => boosted::facts(model),
        AnyModel::Pareto(model) => front::facts(model),
        other => vec![("kind", other.kind().to_owned())],
    };
    let names = fitted.model.feature_names().map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
    let names = names.map_or("without names".to_owned(), |names| listed(&names));
    facts.push(("features", format!("{}: {names}", fitted.model.features())));
    if let Some(scaler) = &fitted.scaler {
        facts.push((
            "scaling",
            match scaler.scaling() {
                Scaling::Standard => "every column to mean 0, standard deviation 1".to_owned(),
                Scaling::MinMax { low, high } => format!("every column to {} .. {}", g(low), g(high)),
                Scaling::MaxAbs => "every column to largest absolute value 1".to_owned(),
            },
        ));
    }
    facts.extend(fit(fitted.model.report()));
    facts
}

/// A classifier of sets.
fn gathered(model: &MultiSampleModel) -> Vec<Fact> {
    let settings = &model.parameters;
    let how = match settings.method {
        Method::Direct => format!("one machine on sets of {}", settings.n_samples_per_decision),
        Method::Consensus => "consensus of single samples".to_owned(),
        Method::Vote => "votes of single samples".to_owned(),
    };
    let mut facts = vec![("kind", format!("classifier of sets, C = {}", g(settings.c))), ("decides by", how)];
    facts.push(("kernel", kernel(&model.single.machine.kernel)));
    let classes: Vec<String> =
        model.classes.iter().zip(&model.priors).map(|(name, prior)| format!("{name} (prior {})", g(*prior))).collect();
    facts.push(("classes", format!("{}: {}", classes.len(), classes.join(", "))));
    for machine in &model.machines {
        let calibrated = if machine.calibration.is_some() { ", calibrated" } else { "" };
        let share = 100.0 * machine.len() as f64 / machine.columns.max(1) as f64;
        facts.push((
            "support sets",
            format!("{} of {} samples, {share:.1} % of {} tuples{calibrated}", machine.len(), machine.size, machine.columns),
        ));
    }
    facts.push(("single samples", format!("{} support vectors, calibrated", model.single.machine.len())));
    if let Ok(samples) = model.expected_samples(0.99) {
        let each: Vec<String> =
            model.classes.iter().zip(samples).map(|(name, n)| format!("{} for {name}", g((10.0 * n).round() / 10.0))).collect();
        facts.push(("samples until 99 % sure", format!("about {} (consensus)", each.join(", "))));
    }
    facts.extend(solver(&settings.solver));
    facts
}

/// Class weights, where they are not equal.
pub(super) fn class_weights(weights: &ClassWeight) -> Option<Fact> {
    match weights {
        ClassWeight::Equal => None,
        ClassWeight::Balanced => Some(("class weights", "balanced".into())),
        ClassWeight::Given(given) => {
            let text: Vec<String> = given.iter().map(|(name, factor)| format!("{name} x {}", g(*factor))).collect();
            Some(("class weights", text.join(", ")))
        }
    }
}

/// How the fit went.
fn fit(report: &FitReport) -> Vec<Fact> {
    // Models from LIBSVM files say nothing about their fit.
    if report.gap.is_infinite() && report.stop != StopReason::Interrupted {
        return vec![("trained", "elsewhere: the file says nothing about the fit".into())];
    }
    let mut facts = vec![
        ("trained on", format!("{} rows in {}, {} steps", report.rows, seconds(report.seconds), report.iterations)),
        ("optimality", format!("{}; relative duality gap {:.1e}, violation {:.1e}", stop(report.stop), report.gap, report.violation)),
        ("objective", g(report.objective)),
    ];
    if !report.route.is_default() {
        facts.push(("solver", report.route.to_string()));
    }
    facts
}

pub(super) fn solver(settings: &SolverSettings) -> Vec<Fact> {
    vec![("tolerance", g(settings.tolerance))]
}

/// Why a solver stopped, in words.
pub fn stop(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Converged => "converged",
        StopReason::MaxIterations => "stopped at the iteration limit",
        StopReason::TimeLimit => "stopped at the time limit",
        StopReason::Interrupted => "interrupted",
    }
}

pub fn share(part: usize, whole: usize) -> String {
    if whole == 0 { String::new() } else { format!(", {:.1} % of the rows", 100.0 * part as f64 / whole as f64) }
}

/// A kernel as a formula with its numbers.
pub fn kernel(kernel: &Kernel) -> String {
    let gamma = kernel.gamma().and_then(|gamma| gamma.value()).map_or("gamma".to_owned(), g);
    match kernel {
        Kernel::Linear => "linear: <x, z>".to_owned(),
        Kernel::Poly { degree, coef0, .. } => format!("poly: ({gamma} <x, z> + {})^{degree}", g(*coef0)),
        Kernel::Rbf { .. } => format!("rbf: exp(-{gamma} |x - z|^2)"),
        Kernel::Sigmoid { coef0, .. } => format!("sigmoid: tanh({gamma} <x, z> + {})", g(*coef0)),
        Kernel::Laplacian { .. } => format!("laplacian: exp(-{gamma} |x - z|_1)"),
        Kernel::Epanechnikov { degree, .. } => format!("epanechnikov: max(0, 1 - {gamma} |x - z|^2)^{degree}"),
        Kernel::Multiquadric { coef0, .. } => format!("multiquadric: sqrt({gamma} |x - z|^2 + {}^2)", g(*coef0)),
        Kernel::InverseMultiquadric { coef0, .. } => format!("inverse multiquadric: 1 / sqrt({gamma} |x - z|^2 + {}^2)", g(*coef0)),
        Kernel::ChiSquared { .. } => format!("chi-squared: exp(-{gamma} sum (x - z)^2 / (x + z))"),
        other => other.name().to_owned(),
    }
}

/// `|w|` of a machine with one output: `|w|^2 = sum_i b_i (f(x_i) - intercept)` over its support vectors.
fn norm(machine: &KernelMachine) -> Option<f64> {
    if matches!(machine.kernel, Kernel::Precomputed | Kernel::Custom(_)) || machine.outputs() != 1 || machine.is_empty() {
        return None;
    }
    let x: &Matrix<'_> = &machine.vectors;
    let values = machine.evaluate(x, &Context::default()).ok()?;
    let square: f64 = machine.coefficients.iter().zip(values).map(|(b, f)| b * (f - machine.intercepts[0])).sum();
    (square > 0.0).then(|| square.sqrt())
}

/// The facts for a terminal.
pub fn text(facts: &[Fact]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// The facts for machines.
pub fn json(fitted: &Fitted) -> Value {
    let report = fitted.model.report();
    let (parameters, kernel, classes, support) = match &fitted.model {
        AnyModel::Svc(m) => (json!(m.parameters), json!(m.machine.kernel), json!(m.classes), json!(m.support_counts)),
        AnyModel::Svr(m) => (json!(m.parameters), json!(m.machine.kernel), Value::Null, Value::Null),
        AnyModel::OneClass(m) => (json!(m.parameters), json!(m.machine.kernel), Value::Null, Value::Null),
        AnyModel::MultiSample(m) => (json!(m.parameters), json!(m.single.machine.kernel), json!(m.classes), Value::Null),
        AnyModel::LinearSvc(m) => (json!(m.parameters), json!(Kernel::Linear), json!(m.classes), Value::Null),
        AnyModel::LinearSvr(m) => (json!(m.parameters), json!(Kernel::Linear), Value::Null, Value::Null),
        AnyModel::FeatureInduction(m) => (json!(m.parameters), json!(m.parameters.kernel), json!(m.classes), Value::Null),
        AnyModel::MultiTaskSelection(m) => (json!(m.parameters), json!(m.kernels), json!(m.outputs), Value::Null),
        AnyModel::Boosted(m) => {
            (json!(m.parameters), json!(m.machines.iter().map(|one| &one.kernel).collect::<Vec<_>>()), json!(m.names), Value::Null)
        }
        AnyModel::Pareto(m) => (json!(m.parameters), json!(m.kernel), json!(m.classes), json!(m.classifier.support_counts)),
        _ => (Value::Null, Value::Null, Value::Null, Value::Null),
    };
    let rules = if let AnyModel::FeatureInduction(m) = &fitted.model { induce::json(m) } else { Value::Null };
    let ensembles = match &fitted.model {
        AnyModel::Boosted(model) => boosted::json(model),
        _ => Value::Null,
    };
    let mut value = json!({
        "ensembles": ensembles,
        "kind": fitted.model.kind(),
        "induced": rules,
        "parameters": parameters,
        "kernel": kernel,
        "classes": classes,
        "features": fitted.model.features(),
        "feature_names": fitted.model.feature_names(),
        "scaling": fitted.scaler.as_ref().map(|scaler| json!(scaler.scaling())),
        "support_vectors": fitted.support(),
        "support_per_class": support,
        "fit": json!(report),
    });
    if let AnyModel::Pareto(model) = &fitted.model {
        value["front"] = front::json(model);
    }
    value
}
