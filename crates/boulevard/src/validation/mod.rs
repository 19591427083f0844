//! How well a learner does on samples it has not seen, and which parameters do best.
//!
//! [`cross_validate`] works for every learner, [`crate::any::Plan`]s among them. [`GridSearch`] looks for the parameters of [`crate::svm::Svc`] and [`crate::svm::Svr`] and
//! shares kernel rows over folds, values of C and pairs of classes.
//!
//! ```
//! use boulevard::data::{generate, split};
//! use boulevard::observe::Context;
//! use boulevard::svm::Svc;
//! use boulevard::validation::{GridSearch, Score, cross_validate};
//!
//! let data = generate::banana(120, 0);
//! let context = Context::default();
//! let folds = split::stratified_k_fold(data.expect_classes()?, 5, 0)?;
//! let result = cross_validate(&Svc::default(), &data, &folds, &context)?;
//! assert!(result.mean(&data, Score::Accuracy)? > 0.7);
//!
//! let search = GridSearch { c: vec![0.1, 1.0, 10.0], gamma: vec![0.1, 1.0], ..GridSearch::default() };
//! let found = search.svc(&Svc::default(), &data, &context)?;
//! assert_eq!(found.points.len(), 6);
//! assert!(found.best_point().unwrap().mean > 0.7);
//! # Ok::<(), boulevard::Error>(())
//! ```

mod cross_validate;
mod folds;
mod grid_around;
mod grid_classes;
mod grid_numbers;
mod grid_search;
mod grid_table;
mod grid_units;
mod loss;
mod score;
mod share;

#[cfg(test)]
mod tests;

pub use cross_validate::{CrossValidation, FoldResult, SetAnswers, cross_validate};
pub use folds::default_folds;
pub use grid_around::{AutomaticGrid, around};
pub use grid_search::{GridPick, GridSearch};
pub use grid_table::{GridPoint, GridResult, GridSetting};
pub use loss::{loss, loss_name};
pub use score::Score;
