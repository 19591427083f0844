//! A model in words: the same facts for `train`, `inspect` and the HTML report.

use boulevard::data::{Matrix, Scaling};
use boulevard::kernel::Kernel;
use boulevard::methods::boosted::{BoostedModel, Ending, Kind, Sampling};
use boulevard::observe::{Context, StopReason};
use boulevard::persist::AnyModel;
use boulevard::svm::{ClassWeight, FitReport, KernelMachine, Multiclass, Penalty, SolverSettings, Tube};
use serde_json::{Value, json};

use super::number::{g, seconds};
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
            match &settings.class_weight {
                ClassWeight::Equal => {}
                ClassWeight::Balanced => facts.push(("class weights", "balanced".into())),
                ClassWeight::Given(given) => {
                    let text: Vec<String> = given.iter().map(|(name, factor)| format!("{name} x {}", g(*factor))).collect();
                    facts.push(("class weights", text.join(", ")));
                }
            }
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
        AnyModel::Boosted(model) => boosted(model),
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

/// A boosted classifier: what it answers with, and every label's ensemble.
fn boosted(model: &BoostedModel) -> Vec<Fact> {
    /// Ensembles that are listed.
    const MOST: usize = 30;
    let settings = model.parameters.resolved();
    let names: Vec<&str> = model.names.iter().map(String::as_str).collect();
    let what = if model.kind == Kind::Labels { "labels" } else { "classes" };
    let rows = match settings.sampling {
        Sampling::All => "all rows, weighted".to_owned(),
        Sampling::Stratified => format!("{} of the rows from hard to easy, weighted", super::number::percent(settings.sampling_ratio)),
        Sampling::Trimming => format!("the heaviest {} of the rows", super::number::percent(settings.sampling_ratio)),
    };
    let mut facts = vec![
        ("kind", format!("boosted classifier, C = {}", g(settings.c))),
        (what, format!("{}: {}", names.len(), listed(&names))),
        ("a round", rows),
        ("rounds", format!("{} at most, {} in all", model.rounds(), model.labels.iter().map(|label| label.rounds.len()).sum::<usize>())),
        ("support vectors", format!("{}{}", model.support_vectors(), share(model.support_vectors(), model.report.rows))),
        ("probabilities", if model.calibration.is_some() { "calibrated".into() } else { "none (train with --calibrate)".into() }),
    ];
    if model.at_least_one {
        facts.push(("every row", "gets its best label if no label claims it".into()));
    }
    for (place, label) in model.labels.iter().enumerate().take(MOST) {
        let name = if model.kind == Kind::TwoClasses { &model.names[1] } else { &model.names[place] };
        let ending = match label.ending {
            Ending::MaxRounds => "as many as allowed",
            Ending::Perfect => "the last missed no row",
            Ending::EarlyStop => "held-out rows want no more",
            Ending::SigmaMin => "the kernel became too narrow",
            Ending::Refused => "twenty were refused in a row",
            Ending::Stopped => "stopped",
            Ending::Never => "no training row has it: never predicted",
            Ending::Always => "every training row has it: always predicted",
        };
        let (Some(first), Some(last)) = (label.rounds.first(), label.rounds.last()) else {
            facts.push(("-", format!("{name}: {ending}")));
            continue;
        };
        facts.push((
            "-",
            format!(
                "{name}: {} rounds ({ending}), errors {:.3} .. {:.3}, sigma {} .. {}, threshold {:.3}",
                label.rounds.len(),
                first.error,
                last.error,
                super::number::general(first.sigma, 3),
                super::number::general(last.sigma, 3),
                label.threshold
            ),
        ));
    }
    facts.extend(solver(&settings.solver));
    facts
}

/// How the fit went.
fn fit(report: &FitReport) -> Vec<Fact> {
    // Models from LIBSVM files say nothing about their fit.
    if report.gap.is_infinite() {
        return vec![("trained", "elsewhere: the file says nothing about the fit".into())];
    }
    vec![
        ("trained on", format!("{} rows in {}, {} steps", report.rows, seconds(report.seconds), report.iterations)),
        ("optimality", format!("{}; relative duality gap {:.1e}, violation {:.1e}", stop(report.stop), report.gap, report.violation)),
        ("objective", g(report.objective)),
    ]
}

fn solver(settings: &SolverSettings) -> Vec<Fact> {
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

fn share(part: usize, whole: usize) -> String {
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

fn ensemble_json(label: &boulevard::methods::boosted::LabelEnsemble) -> Value {
    let numbers = |part: fn(&boulevard::methods::boosted::Round) -> f64| label.rounds.iter().map(part).collect::<Vec<f64>>();
    json!({
        "ending": label.ending, "threshold": label.threshold, "alphas": numbers(|round| round.alpha),
        "errors": numbers(|round| round.error), "sigmas": numbers(|round| round.sigma),
    })
}

/// The facts for machines.
pub fn json(fitted: &Fitted) -> Value {
    let report = fitted.model.report();
    let (parameters, kernel, classes, support) = match &fitted.model {
        AnyModel::Svc(m) => (json!(m.parameters), json!(m.machine.kernel), json!(m.classes), json!(m.support_counts)),
        AnyModel::Svr(m) => (json!(m.parameters), json!(m.machine.kernel), Value::Null, Value::Null),
        AnyModel::OneClass(m) => (json!(m.parameters), json!(m.machine.kernel), Value::Null, Value::Null),
        AnyModel::Boosted(m) => {
            (json!(m.parameters), json!(m.machines.iter().map(|one| &one.kernel).collect::<Vec<_>>()), json!(m.names), Value::Null)
        }
        _ => (Value::Null, Value::Null, Value::Null, Value::Null),
    };
    let ensembles = match &fitted.model {
        AnyModel::Boosted(model) => model.labels.iter().map(ensemble_json).collect(),
        _ => Value::Null,
    };
    json!({
        "ensembles": ensembles,
        "kind": fitted.model.kind(),
        "parameters": parameters,
        "kernel": kernel,
        "classes": classes,
        "features": fitted.model.features(),
        "feature_names": fitted.model.feature_names(),
        "scaling": fitted.scaler.as_ref().map(|scaler| json!(scaler.scaling())),
        "support_vectors": fitted.support(),
        "support_per_class": support,
        "fit": json!(report),
    })
}
