//! CSV: a header row, then one sample per row; separated by commas, semicolons or tabs, whichever the header has most of.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;
