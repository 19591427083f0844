//! Where kinds meet: models and learners of any kind behind one face, for files, the program and other languages.
//!
//! Everything outside this room asks a model or a learner what it can do; nothing outside matches on what it is.

mod fields;
mod learner;
mod plan;
#[cfg(test)]
mod tests;

pub use fields::{METHODS, Method};
pub use learner::AnyLearner;
pub use plan::{Plan, judged_sets};
