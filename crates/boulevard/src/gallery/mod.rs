//! Pictures that any model and its rows can have: how good it is, what it looks at, where it decides what, and why it decided so.
//!
//! What only one method has is described by the method itself ([`Model::pictures`](crate::svm::Model::pictures)).

mod asked;
mod curves;
mod dependence;
mod explain;
mod grid;
mod hardest;
mod judged;
mod labels;
mod map;
mod numbers;
mod plane;
mod threshold;

pub use asked::{Asked, Importance};
pub use curves::{calibration, confusion, precision_recall, roc};
pub use dependence::dependence;
pub use explain::{Explanation, explain};
pub use grid::{GridCell, comparison, published, search};
pub use hardest::{hardest, hardest_rows};
pub use judged::Judged;
pub use labels::{label_bars, label_curves};
pub use map::decision_map;
pub use numbers::{agreement, farthest};

#[cfg(test)]
mod tests;

/// Rows that a picture shows at most.
const MOST_ROWS: usize = 1500;
