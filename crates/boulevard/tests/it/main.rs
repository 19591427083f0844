//! What the library promises to its users, as one program: one thing to link instead of many.
//!
//! Tests of private parts stand beside them (`mod tests`, or `tests.rs` in a folder of the module's name). A test that needs a process of
//! its own is a file beside this folder.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests say what they measured or why they were skipped")]

mod architecture;
mod defects_certificates;
mod defects_faults;
mod defects_files;
mod defects_numbers;
mod defects_property;
mod defects_wide_files;
mod device;
mod hostile_files;
mod libsvm_interop;
mod multi_sample;
mod real_files;
mod reference;
mod set_kernel;
