//! Where bytes of data files go: packed if the name says so, and into a file that appears whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::options::is_gzip_name;
use crate::atomic_file;
use crate::error::{Error, Result};

/// Writes a file through `fill`; gzip if the name ends in `.gz`.
pub(super) fn replace(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    atomic_file::replace(path, |file| pack(path, file, fill))
}

fn pack(path: &Path, file: &mut File, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    let failed = |source| Error::io(path, source);
    let mut out = BufWriter::with_capacity(1 << 16, file);
    if is_gzip_name(path) {
        let mut gzip = GzEncoder::new(out, Compression::default());
        fill(&mut gzip).map_err(failed)?;
        out = gzip.finish().map_err(failed)?;
    } else {
        fill(&mut out).map_err(failed)?;
    }
    out.flush().map_err(failed)
}
