//! Kernels: how similar two samples are.
//!
//! [`Kernel`] says which function and with which parameters. [`KernelRows`] computes its values in blocks; [`rows`] and [`cross`] choose
//! the fastest way for the kernel and the table at hand (packed tiles, sparse rows, a given matrix, combinations of these).

mod combine;
mod form;
mod function;
mod pack;
pub mod permanent;
mod rows;
mod sparse;
mod standing;
mod whole;

#[cfg(test)]
mod tests;

pub(crate) use combine::{GramRows, RoundedRows};
pub use form::{Argument, Form, KernelDefault, KernelInfo};
pub use function::{Custom, Gamma, GammaRule, Kernel, KernelFunction};
pub use rows::{KernelRows, cross, diagonal, rows};
pub(crate) use rows::{SubsetRows, fill_watched, padded, rows_in_parts, support, weigh_watched, weighted_sum_watched};
pub(crate) use standing::StandingRows;
pub(crate) use whole::{whole, whole_from_products};

pub use crate::simd::Real;
