//! The program as its users meet it, tested as one binary.

mod common;
mod defects;
mod errors;
mod gather;
mod help;
mod libsvm;
mod missing;
mod models;
mod tour;
