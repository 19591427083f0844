//! Facts that models of several kinds state in the same words.

use serde_json::{Map, Value, json};

use super::model::Fact;
use super::{Calibration, CalibrationMethod, ClassWeight, FitReport, SolverSettings};
use crate::observe::StopReason;
use crate::words::{g, general, listed, seconds};

/// Named values as an object.
pub(crate) fn details<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Facts as text, one per line, values under each other.
pub fn facts_text(facts: &[Fact]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// Their number and names.
pub(crate) fn classes(names: &[String]) -> Fact {
    ("classes", format!("{}: {}", names.len(), listed(names)))
}

/// Class weights, where they are not equal.
pub(crate) fn class_weights(weights: &ClassWeight) -> Option<Fact> {
    match weights {
        ClassWeight::Equal => None,
        ClassWeight::Balanced => Some(("class weights", "balanced".into())),
        ClassWeight::Given(given) => {
            let text: Vec<String> = given.iter().map(|(name, factor)| format!("{name} x {}", g(*factor))).collect();
            Some(("class weights", text.join(", ")))
        }
    }
}

/// Whether there are probabilities.
pub(crate) fn probabilities(calibrated: bool) -> Fact {
    ("probabilities", if calibrated { "calibrated".into() } else { "none (train with --calibrate)".into() })
}

/// Probabilities, how they are made, and why so.
pub(crate) fn probabilities_of(calibration: Option<&Calibration>) -> Fact {
    let Some(calibration) = calibration else { return probabilities(false) };
    let how = match (&calibration.sharpening, calibration.method()) {
        (Some(sharpening), CalibrationMethod::Vector) => {
            format!("calibrated: coupled sigmoids, to the power {}, with a factor per class", general(sharpening.power, 3))
        }
        (Some(sharpening), _) => format!("calibrated: coupled sigmoids, to the power {}", general(sharpening.power, 3)),
        (None, _) => "calibrated".to_owned(),
    };
    let why = calibration.losses.map_or(String::new(), |losses| {
        let each = CalibrationMethod::FITTED.iter().zip(losses).map(|(method, loss)| format!("{} {}", method.name(), general(loss, 3)));
        format!(" (log loss on rows left out: {})", each.collect::<Vec<_>>().join(", "))
    });
    ("probabilities", format!("{how}{why}"))
}

/// The same for machines.
pub(crate) fn calibration_details(calibration: Option<&Calibration>) -> Value {
    calibration.map_or(Value::Null, |calibration| {
        json!({
            "method": calibration.method().name(),
            "power": calibration.sharpening.as_ref().map(|sharpening| sharpening.power),
            "shifts": calibration.sharpening.as_ref().map(|sharpening| &sharpening.shifts),
            "log_losses": calibration.losses.map(|losses| {
                CalibrationMethod::FITTED.iter().zip(losses).map(|(method, loss)| (method.name().to_owned(), json!(loss))).collect::<Map<_, _>>()
            }),
        })
    })
}

/// The tolerance of the kernel machines' solver.
pub(crate) fn tolerance(settings: &SolverSettings) -> Fact {
    ("tolerance", g(settings.tolerance))
}

/// How the fit went.
pub(crate) fn fit(report: &FitReport) -> Vec<Fact> {
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

/// Why a solver stopped, in words.
pub fn stop(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Converged => "converged",
        StopReason::MaxIterations => "stopped at the iteration limit",
        StopReason::TimeLimit => "stopped at the time limit",
        StopReason::Interrupted => "interrupted",
        StopReason::Rounding => "stopped at rounding: the tolerance asks for more digits than there are",
    }
}
