//! Dense linear algebra in double precision: what the exact finish, the linear machines and the methods need, and no more.
//!
//! Matrices are row-major slices. Instructions are chosen at run time.

mod cholesky;
mod gram;
mod product;
mod transpose;

pub use cholesky::{cholesky, cholesky_in, dot, solve};
pub use gram::weighted_gram;
pub use product::{Part, Shape, View, add_product, add_product_in};
pub use transpose::{mirror, mirror_on, transpose};
