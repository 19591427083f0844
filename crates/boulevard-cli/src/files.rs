//! Files in and out: one clear sentence when that fails, and nothing half-written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

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

/// Writes a whole file: a temporary one beside it, synced, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let named = || path.display().to_string();
    if fs::metadata(path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        // A device or a pipe cannot be replaced.
        return fs::OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes)).with_context(named);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = temporary_name(&target)?;
    let written = fs::File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.with_context(named)
}

fn temporary_name(target: &Path) -> Result<PathBuf> {
    let Some(name) = target.file_name() else { bail!("{}: is not a file name", target.display()) };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(target.with_file_name(hidden))
}
