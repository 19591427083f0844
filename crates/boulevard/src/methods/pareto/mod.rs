//! placeholder
mod calibrate;
mod choose;
mod evolve;
mod face;
mod judge;
mod learner;
mod model;
mod point;
mod population;
mod restart;
mod signed;
mod slots;
mod variation;

#[cfg(test)]
mod tests;

pub use choose::{Marks, Pick, by_training_error, marks};
pub use evolve::Variant;
pub use learner::{Bias, Mode, ParetoSvc};
pub use model::{ClassFront, ParetoModel};
pub use point::FrontPoint;
pub use variation::{Crossover, Mutation};
