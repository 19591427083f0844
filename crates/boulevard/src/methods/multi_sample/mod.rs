//! One decision for several samples that share a label.
//!
//! docs follow
mod consensus;
mod direct;
mod learner;
mod model;
mod sets;
mod source;

pub use consensus::{Consensus, Sequential, Standing, majority, softmax};
pub use direct::SetMachine;
pub use learner::{Method, MultiSample, OtherSizes};
pub use model::MultiSampleModel;
pub use sets::{Sets, Tuples};
