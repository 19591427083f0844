//! Multi-task feature and kernel selection by maximum entropy discrimination (Jebara, ICML 2004).

mod ascent;
mod descent;
mod interior;
mod learner;
mod model;
mod newton;
mod prior;
mod problem;
mod search;
mod solve;
mod switch;
mod table;
mod tasks;
mod training;
mod vector;

#[cfg(test)]
mod tests;

pub use learner::{BiasPrior, MultiTaskSelection, Select};
pub use model::MultiTaskSelectionModel;
pub use prior::MarginPrior;
pub use search::{SelectionPoint, SelectionResult, SelectionSearch, TransferReport, task_error, transfer};
pub use tasks::{Outputs, TaskSet, TaskTarget};
