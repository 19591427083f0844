//! ARFF, Weka's attribute-relation format: a header that declares every attribute, then dense rows `1,2,yes` or sparse rows `{0 1, 2 yes}`.
//!
//! Multi-label files follow MEKA: `@relation 'name: -C 6'` makes the first six attributes labels, `-C -6` the last six. For MULAN files,
//! whose labels are listed elsewhere, name the labels in the options.

mod read;
mod tokens;
mod write;

pub(super) use read::read;
pub(super) use write::write;
