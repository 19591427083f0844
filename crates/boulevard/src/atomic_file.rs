//! Files that appear whole or not at all: a temporary file beside the target, synced and then renamed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Replaces the file at `path` by what `fill` writes. If `fill` fails, the old file stays and nothing else is left.
pub(crate) fn replace(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let failed = |source| Error::io(path, source);
    // A link is followed, so that the rename replaces the file and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // A device or a pipe cannot be replaced: write straight into it.
    if fs::metadata(&target).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        let mut device = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return fill(&mut device);
    }
    let (temporary, mut file) = Temporary::create(&target).map_err(failed)?;
    fill(&mut file)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    temporary.rename(&target).map_err(failed)
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
    use std::io::Write;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "old").unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(Error::data("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&path, |file| file.write_all(b"new").map_err(|error| Error::io(&path, error))).unwrap();
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
