//! What stands in when the feature is off.

use std::io::{self, Write};
use std::path::Path;

use super::super::complaint::Complaints;
use super::super::options::ReadOptions;
use super::super::source::Source;
use super::super::writing::Layout;
use crate::data::Dataset;
use crate::error::{Error, Result};

const CURE: &str = "this build cannot handle Parquet files; build it with `--features parquet`, or convert the file to CSV";

/// Refuses.
pub(in super::super) fn read(
    _: Source<'_>,
    _: Option<&Path>,
    _: &ReadOptions,
    complaints: &mut Complaints<'_>,
) -> Result<Dataset<'static>> {
    Err(complaints.file(CURE))
}

/// Refuses.
pub(in super::super) fn check() -> Result<()> {
    Err(Error::data(CURE))
}

/// Refuses.
pub(in super::super) fn write(_: &Dataset<'_>, _: &Layout<'_>, _: &mut (dyn Write + Send)) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, CURE))
}
