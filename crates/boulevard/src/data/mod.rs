//! Tables: samples, targets, weights, and how they are read, scaled, split and generated.

mod dataset;
pub mod generate;
mod impute;
pub mod io;
mod matrix;
mod range_file;
mod scale;
mod sets;
pub mod split;
mod target;
pub(crate) mod weights;

pub use dataset::Dataset;
pub use impute::{Fill, Imputer};
pub use matrix::{Csr, Dense, Matrix};
pub(crate) use matrix::{all_finite, largest_absolute};
pub use range_file::{RangeFile, TargetRange};
pub use scale::{Scaler, Scaling};
pub use sets::Sets;
pub use target::{Categories, LabelMatrix, Target};
