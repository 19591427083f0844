//! Hostile input for every parser: the functions that cargo-fuzz calls (`fuzz/fuzz_targets`), and a driver of our own that calls the same
//! functions on the stable toolchain, with a seed instead of a clock.
//!
//! A target takes bytes and panics where the library broke a promise; whatever it returns says only which way the input went, so that
//! the driver can keep inputs that went a new way.

pub mod drive;
pub mod forge;
pub mod judge;
pub mod models;
pub mod mutate;
pub mod targets;
