//! Dense linear algebra in double precision: what the exact finish, the linear machines and the methods need, and no more.
//!
//! Matrices are row-major slices. Instructions are chosen at run time.

mod bordered;
pub(crate) mod buffers;
mod cholesky;
mod gram;
pub(crate) mod padded;
mod product;
mod symmetric;
mod transpose;
mod updated_factor;

pub(crate) use bordered::Bordered;
pub use cholesky::{cholesky, cholesky_in, dot, solve};
pub use gram::weighted_gram;
pub(crate) use product::add_weighted_in;
pub use product::{Part, Shape, View, add_product, add_product_in};
pub(crate) use symmetric::{Symmetric, add_symmetric, sum_weighted_symmetric};
pub use transpose::{mirror, mirror_in, mirror_on, transpose};
pub(crate) use updated_factor::UpdatedFactor;
