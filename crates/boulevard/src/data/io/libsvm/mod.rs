//! LIBSVM and svmlight text: one sample per line, `label index:value index:value ...`.
//!
//! Indices start at 1 and rise. `#` starts a comment. Several labels are separated by commas (`1,3 2:0.5`); a line that starts with a blank
//! or with a pair has none. `qid:` (a group) and `cost:` (a weight) may stand before the first pair; they are skipped unless asked for.

mod precomputed;
mod read;
mod rows;
mod write;

pub use precomputed::{Precomputed, PrecomputedUse, read_precomputed, read_precomputed_from};
pub(super) use read::read;
pub(super) use write::{check, write};
