//! LIBSVM's own verbs, with its options, messages and model files.

pub mod predict;
mod report;
pub mod train;
mod words;
