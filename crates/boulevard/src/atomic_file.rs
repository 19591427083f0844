//! Files that appear whole or not at all: a temporary file beside the target, synced and then renamed.
//!
//! A program that is killed leaves its temporary file behind. Writers hold a lock on theirs, so that the next save into the same folder can
//! tell such leftovers from files in use, on this machine or another one, and removes them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, Result};

/// How temporary names end; they begin with a dot and the target's name.
const MARK: &str = ".boulevard-";
const ENDING: &str = ".tmp";
/// Younger files are left alone: their writer may be about to lock them.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Replaces the file at `path` by what `fill` writes, with the old file's permissions if there was one. If `fill` fails, the old file stays
/// and nothing else is left.
pub fn replace(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let failed = |source| Error::io(path, source);
    // A link is followed, so that the rename replaces the file and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target);
    // A device or a pipe cannot be replaced: write straight into it.
    if old.as_ref().is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        let mut device = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return fill(&mut device);
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut temporary = create(folder, &target).map_err(failed)?;
    remove_left_behind(folder);
    fill(temporary.as_file_mut())?;
    if let Ok(facts) = old
        && facts.is_file()
    {
        // A file system without permissions refuses; the new file then has its usual ones.
        let _ = temporary.as_file().set_permissions(facts.permissions());
    }
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|refused| failed(refused.error))?;
    // The folder is synced too, where the system lets one open it: else the new name may not survive a power cut.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A locked file in the folder of `target`: a rename is atomic only within one file system.
fn create(folder: &Path, target: &Path) -> io::Result<NamedTempFile> {
    let name = target.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(MARK);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(ENDING);
    // As any new file, not for the owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temporary = builder.tempfile_in(folder)?;
    // Where there are no locks, leftovers are not removed either: the sweep needs one as well.
    let _ = temporary.as_file().try_lock();
    Ok(temporary)
}

/// Removes temporary files whose writers are gone. Whatever goes wrong here concerns nobody: they only take up room.
fn remove_left_behind(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let named = name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(ENDING) && name.contains(MARK));
        let old = || entry.metadata().and_then(|facts| facts.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT_BEHIND));
        if named
            && old()
            && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::SystemTime;

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

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
        assert_eq!(files(folder.path()), 1);
        replace(&path, |file| file.write_all(b"new").map_err(|error| Error::io(&path, error))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(files(folder.path()), 1);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("a.csv");
        assert!(replace(&path, |_| Ok(())).unwrap_err().to_string().contains("a.csv"));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_the_old_file_or_of_any_new_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, usual) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
        fs::write(&usual, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        replace(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), mode(&usual));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path) & 0o777, 0o640);
    }

    #[test]
    fn what_a_killed_writer_left_goes_with_the_next_save() {
        let folder = tempfile::tempdir().unwrap();
        let aged = |name: &str| {
            let file = File::create_new(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - 2 * LEFT_BEHIND).unwrap();
            file
        };
        let held = aged(".a.csv.boulevard-aaaaaa.tmp");
        held.lock().unwrap();
        drop(aged(".b.csv.boulevard-bbbbbb.tmp"));
        drop(aged(".c.csv.other.tmp"));
        drop(File::create_new(folder.path().join(".d.csv.boulevard-dddddd.tmp")).unwrap());
        replace(&folder.path().join("e.csv"), |_| Ok(())).unwrap();
        let mut left: Vec<String> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, [".a.csv.boulevard-aaaaaa.tmp", ".c.csv.other.tmp", ".d.csv.boulevard-dddddd.tmp", "e.csv"]);
    }
}
