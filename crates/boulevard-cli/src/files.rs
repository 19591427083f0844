//! Files in and out: one clear sentence when that fails, and nothing half-written.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use boulevard::internal::atomic_file;

/// Fails unless `path` is something that can be read as a file (`-` is).
pub fn expect_file(path: &Path) -> Result<()> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => bail!("{}: is a folder, not a file", path.display()),
        Ok(_) => Ok(()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Fails before the work starts if a file could not be written afterwards.
pub fn expect_writable(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => bail!("{}: is a folder, not a file", path.display()),
        Ok(facts) if facts.permissions().readonly() => bail!("{}: is read-only", path.display()),
        _ => {}
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => bail!("{}: `{}` is not a folder", path.display(), folder.display()),
        Err(error) => Err(error).with_context(|| format!("{}: the folder `{}`", path.display(), folder.display())),
    }
}

/// The same for all files that were asked for.
pub fn all_writable<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    paths.into_iter().try_for_each(|path| expect_writable(path))
}

/// Writes a whole file or none, as the library writes its own: what a killed program leaves behind goes with a later save.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Ok(atomic_file::replace(path, |file| file.write_all(bytes).map_err(|error| boulevard::Error::io(path, error)))?)
}

/// All of standard input.
pub fn standard_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).context("standard input")?;
    Ok(bytes)
}
