//! Classes predicted, probabilities predicted, rows ranked.
//!
//! Whatever follows from counts of true and predicted classes is a method of [`Confusion`]; probabilities are judged by [`log_loss`]
//! and [`brier`], rankings by [`roc_auc`] and [`average_precision`].

mod confusion;
mod probability;
mod ranking;

pub use confusion::{Average, ClassScore, Confusion, accuracy};
pub use probability::{brier, brier_multiclass, log_loss};
pub use ranking::{average_precision, roc_auc, roc_auc_one_vs_rest, roc_curve};
