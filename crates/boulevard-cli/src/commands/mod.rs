//! One file per verb: what was asked is checked, done, and reported.

pub mod check;
pub mod convert;
pub mod demo;
pub mod evaluate;
pub mod generated;
pub mod inspect;
pub mod libsvm_words;
pub mod predict;
pub mod reproduce;
pub mod scale;
pub mod svm_predict;
pub mod svm_train;
mod svm_train_report;
pub mod train;
pub mod tune;
mod tune_select;
