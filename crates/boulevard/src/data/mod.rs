//! Tables: samples, targets, weights, and how they are read, scaled, split and generated.

mod dataset;
pub mod generate;
pub mod io;
mod matrix;
mod scale;
pub mod split;
mod target;

pub use dataset::Dataset;
pub use matrix::{Csr, Dense, Matrix};
pub use scale::{Scaler, Scaling};
pub use target::{Categories, LabelMatrix, Target};
