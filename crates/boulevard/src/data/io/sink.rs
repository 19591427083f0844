//! Where bytes go: a temporary file beside the target, synced and then renamed, so that nothing half-written is ever left or seen.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::options::is_gzip_name;
use crate::error::{Error, Result};

/// Writes a file through `fill`; gzip if the name ends in `.gz`.
pub(super) fn replace(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    let failed = |source| Error::io(path, source);
    // A link is followed, so that the rename replaces the file and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // A device or a pipe cannot be replaced: write straight into it.
    if fs::metadata(&target).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        let mut device = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return pack(path, &mut device, fill);
    }
    let (temporary, mut file) = Temporary::create(&target).map_err(failed)?;
    pack(path, &mut file, fill)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    temporary.rename(&target).map_err(failed)
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

/// A file that disappears unless it is renamed.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A new file in the folder of `target`: a rename is atomic only within one file system.
    fn create(target: &Path) -> io::Result<(Self, File)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{number}.tmp", std::process::id()));
            let path = target.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Self { path }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
        }
    }

    fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        // The folder is synced too, where the system lets one open it: else the new name may not survive a power cut.
        if let Some(folder) = target.parent()
            && let Ok(folder) = File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        {
            let _ = folder.sync_all();
        }
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "old").unwrap();
        let failed = replace(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("a.csv");
        assert!(replace(&path, |_| Ok(())).unwrap_err().to_string().contains("a.csv"));
    }
}
