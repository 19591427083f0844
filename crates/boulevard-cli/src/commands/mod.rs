//! One file or folder per verb: what was asked is checked, done, and reported.

pub mod check;
pub mod convert;
pub mod demo;
pub mod evaluate;
pub mod generated;
pub mod inspect;
pub mod libsvm;
pub mod predict;
pub mod reproduce;
pub mod scale;
pub mod train;
pub mod tune;
