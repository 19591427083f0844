//! Support vector machines: thin doors to the one solver.
//!
//! [`Svc`] (C- and nu-classification), [`Svr`] (epsilon- and nu-regression) and [`OneClass`] each fill in a
//! [`crate::solver::DualProblem`]; [`KernelMachine`] evaluates what comes out.

mod calibration;
mod learner;
mod linear;
mod machine;
mod multiclass;
mod one_class;
mod svc;
mod svr;

#[cfg(test)]
mod tests;

pub use calibration::{Calibration, Sigmoid, couple};
pub(crate) use calibration::{Outputs, calibrate, consistent, content_key, fit_sigmoids, held_out_values};
pub(crate) use learner::worse;
pub use learner::{FitReport, Learner, Model, SolverSettings};
pub use linear::{LinearMachine, LinearSvc, LinearSvcModel, LinearSvr, LinearSvrModel, WarmStart};
pub(crate) use machine::pairs;
pub use machine::{KernelMachine, Layout};
pub use multiclass::Multiclass;
pub(crate) use multiclass::{argmax, votes};
pub use one_class::{OneClass, OneClassModel};
pub use svc::{ClassWeight, Penalty, Svc, SvcModel};
pub(crate) use svc::{Classes, class_factors};
pub use svr::{Svr, SvrModel, Tube};
