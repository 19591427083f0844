//! Finished cells on disk, one small JSON file each: what a run that was interrupted need not do again.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// A folder of finished cells.
pub struct State {
    folder: PathBuf,
}

impl State {
    /// The cells of one table in one mode; `fresh` forgets what is there.
    pub fn open(folder: PathBuf, fresh: bool) -> Result<Self> {
        if fresh && folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self { folder })
    }

    /// The cell `key`: read if it is there and sound, else computed and kept.
    pub fn cell<T: Serialize + DeserializeOwned>(&self, key: &str, compute: impl FnOnce() -> Result<T>) -> Result<T> {
        let path = self.folder.join(format!("{key}.json"));
        // A file that cannot be understood is computed again: it may be from another version.
        if let Ok(text) = fs::read_to_string(&path)
            && let Ok(value) = serde_json::from_str(&text)
        {
            return Ok(value);
        }
        let value = compute()?;
        files::write(&path, serde_json::to_string_pretty(&value)?.as_bytes())?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn a_cell_is_computed_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path().join("t"), false).unwrap();
        assert_eq!(state.cell("a", || Ok(vec![0.1, 2.0])).unwrap(), [0.1, 2.0]);
        let again: Vec<f64> = state.cell("a", || anyhow::bail!("must not run")).unwrap();
        assert_eq!(again, [0.1, 2.0]);
        std::fs::write(folder.path().join("t/a.json"), "half").unwrap();
        assert_eq!(state.cell("a", || Ok(vec![3.0])).unwrap(), [3.0]);
        let fresh = State::open(folder.path().join("t"), true).unwrap();
        assert_eq!(fresh.cell("a", || Ok(vec![4.0])).unwrap(), [4.0]);
    }
}
