//! Support vector machines: thin doors to the one solver.
//!
//! [`Svc`] (C- and nu-classification), [`Svr`] (epsilon- and nu-regression) and [`OneClass`] each fill in a
//! [`crate::solver::DualProblem`]; [`KernelMachine`] evaluates what comes out.

mod calibration;
mod classifier;
mod cluster;
mod describe;
mod learner;
pub(crate) mod linear;
mod machine;
mod model;
mod multiclass;
mod one_class;
mod pictures;
mod ready;
mod sharpening;
mod svc;
mod svr;

#[cfg(test)]
mod tests;

pub use calibration::{Calibration, Sigmoid, couple};
pub(crate) use calibration::{consistent, content_key, crowded, fit_sigmoids, held_out_values};
pub use classifier::{Classifier, Outputs, codes};
pub use cluster::Spread;
pub(crate) use describe::{calibration_details, class_weights, classes, details, fit, probabilities, probabilities_of, tolerance};
pub use describe::{facts_text, stop};
pub(crate) use learner::worse;
pub use learner::{FitReport, Learner, SolverSettings};
pub use linear::{LinearMachine, LinearMulticlass, LinearSvc, LinearSvcModel, LinearSvr, LinearSvrModel, WarmStart};
pub(crate) use machine::pairs;
pub use machine::{KernelMachine, Layout, ROWS_AT_ONCE};
pub(crate) use model::kept_facts;
pub use model::{Answers, Decisions, Fact, Model, Pull, Rows};
pub use multiclass::Multiclass;
pub(crate) use multiclass::{argmax, tie_break};
pub use one_class::{OneClass, OneClassModel};
pub use ready::Ready;
pub use sharpening::{CalibrationMethod, Sharpening};
pub use svc::{ClassWeight, Penalty, Svc, SvcModel};
pub(crate) use svc::{Classes, class_factors, support_by_class, two_classes};
pub use svr::{Svr, SvrModel, Tube};
