//! Apache Parquet: flat columns of numbers, booleans and text, plain or packed with Snappy or Zstandard.
//!
//! The reader needs the cargo feature `parquet`, because the crate behind it is larger than the rest of our dependencies together. Without
//! it, a Parquet file is recognised and refused with a sentence that says so.

#[cfg(not(feature = "parquet"))]
mod absent;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod write;

#[cfg(not(feature = "parquet"))]
pub(super) use absent::{check, read, write};
#[cfg(feature = "parquet")]
pub(super) use read::read;
#[cfg(feature = "parquet")]
pub(super) use write::{check, write};
