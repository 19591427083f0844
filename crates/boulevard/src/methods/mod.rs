//! The five published methods, each in a room of its own on the one core. No method imports another.

pub mod boosted;
pub mod feature_induction;
pub mod multi_sample;
pub mod multitask_selection;
pub mod pareto;
