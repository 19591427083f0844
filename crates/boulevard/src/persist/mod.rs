//! Models in files.
//!
//! [`AnyModel`] holds a fitted model of any kind and is what a file holds; every model also has `save` and `load` of its own. The native
//! format keeps everything to the bit. [`libsvm_text`] exchanges models with LIBSVM.
//!
//! ```
//! use boulevard::data::generate;
//! use boulevard::persist::AnyModel;
//! use boulevard::svm::{Learner, Svc};
//!
//! let model = Svc::default().fit(&generate::banana(60, 0))?;
//! let bytes = AnyModel::from(model.clone()).to_bytes()?;
//! assert_eq!(AnyModel::from_bytes(&bytes)?, AnyModel::Svc(model));
//! # Ok::<(), boulevard::Error>(())
//! ```

mod any_model;
mod arrays;
mod boosted;
mod induction;
pub mod libsvm_text;
mod linear;
mod machine;
mod multi_sample;
mod multitask_selection;
mod native;
mod pareto;
mod parts;
mod records;
mod scaled;

#[cfg(test)]
mod tests;

pub use native::{FORMAT_VERSION, read_kind};

pub use crate::any::{AnyModel, ScaledModel};
