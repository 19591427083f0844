//! The native format: a safetensors container with flat arrays, and one JSON text in its metadata.
//!
//! ```text
//! {"format":"boulevard model","version":1,"kind":"svc","model":{parameters, classes, layout, names, report, ...},"note":"...","sha256":"..."}
//! ```
//! The checksum covers the JSON before it and the name, type, shape and bytes of every array, so that any flipped bit that could change
//! a number is found. It guards against damage, not against forgery. Any safetensors reader can look at the arrays.
//!
//! The note is a text of whoever saved the model, for themselves: nothing here reads it, and without one the entry is absent.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::arrays::{Array, ArrayReader, ArrayWriter};
use crate::any::Kind;
use crate::atomic_file;
use crate::error::{Error, Result};

/// The version this library writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;
const FORMAT: &str = "boulevard model";
/// The one key of the container's metadata: with two, their order (and so the file) would change from run to run.
const KEY: &str = "boulevard";
const CHECKSUM: &str = ",\"sha256\":\"";
const CHECKSUM_END: &str = "\"}";
const CHECKSUM_DIGITS: usize = 64;

/// A model with a place in the native format. `record` and arrays together are the whole model.
pub(super) trait Stored: Kind {
    /// Everything that is not an array.
    type Record: Serialize + DeserializeOwned;

    /// Takes the model apart. Fails if it could not be put together again.
    fn store(&self, arrays: &mut ArrayWriter) -> Result<Self::Record>;

    /// Puts it together, checking everything that prediction relies on.
    fn restore(record: Self::Record, arrays: &ArrayReader<'_>) -> Result<Self>;
}

/// What every version of the format says first.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    kind: String,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Header<R> {
    format: String,
    version: u32,
    kind: String,
    model: R,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The whole file of one model.
pub(super) fn to_bytes<M: Stored>(model: &M, note: Option<&str>) -> Result<Vec<u8>> {
    let mut arrays = ArrayWriter::default();
    let header = header(model, note, &mut arrays)?;
    let cannot = |why: &dyn std::fmt::Display| Error::data(format!("the model cannot be saved: {why}"));
    let mut json = serde_json::to_string(&header).map_err(|error| cannot(&error))?;
    // JSON has no NaN and no infinity: better no file than one that cannot be read.
    serde_json::from_str::<Header<M::Record>>(&json).map_err(|error| cannot(&format!("a parameter is not finite ({error})")))?;
    json.pop();
    pack(json, arrays)
}

/// What a model's file says besides its arrays, which it puts into `arrays`.
fn header<M: Stored>(model: &M, note: Option<&str>, arrays: &mut ArrayWriter) -> Result<Header<M::Record>> {
    let (kind, note) = (M::KIND.into(), note.map(str::to_owned));
    Ok(Header { format: FORMAT.into(), version: FORMAT_VERSION, kind, model: model.store(arrays)?, note })
}

/// The container around a header (without its closing brace) and arrays.
fn pack(mut json: String, arrays: ArrayWriter) -> Result<Vec<u8>> {
    let cannot = |why: &dyn std::fmt::Display| Error::data(format!("the model cannot be saved: {why}"));
    let arrays = arrays.arrays;
    let digest = checksum(&json, arrays.iter().map(|(name, a)| (name.as_str(), a.kind, a.shape.as_slice(), a.bytes.as_slice())));
    json.push_str(CHECKSUM);
    json.push_str(&digest);
    json.push_str(CHECKSUM_END);
    let mut views = Vec::with_capacity(arrays.len());
    for (name, Array { kind, shape, bytes }) in &arrays {
        views.push((name, TensorView::new(*kind, shape.clone(), bytes).map_err(|error| cannot(&error))?));
    }
    serialize(views, Some(HashMap::from([(KEY.to_owned(), json)]))).map_err(|error| cannot(&error))
}

/// An opened file: its checksum was right.
pub(super) struct Opened<'a> {
    json: String,
    arrays: ArrayReader<'a>,
    pub(super) kind: String,
    pub(super) note: Option<String>,
}

/// Checks everything that does not depend on the kind of model.
pub(super) fn open(bytes: &[u8]) -> Result<Opened<'_>> {
    let damaged = |why: &dyn std::fmt::Display| Error::data(format!("not a model file, or a damaged one: {why}"));
    check_offsets(bytes).map_err(|why| damaged(&why))?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| damaged(&error))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| damaged(&error))?;
    let Some(text) = metadata.metadata().as_ref().and_then(|metadata| metadata.get(KEY)) else {
        return Err(damaged(&"it is a safetensors file, but its metadata has no entry `boulevard`"));
    };
    // The version comes first: a newer one may have another checksum.
    let head: Head = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    if head.format != FORMAT {
        return Err(damaged(&format!("its format is `{}` instead of `{FORMAT}`", head.format.escape_debug())));
    }
    if head.version == 0 || head.version > FORMAT_VERSION {
        let version = head.version;
        return Err(Error::data(format!(
            "the file has format version {version}, but this version of Boulevard reads up to {FORMAT_VERSION}: use a newer one"
        )));
    }
    let (covered, stored) = split_checksum(text).ok_or_else(|| damaged(&"its header has no checksum"))?;
    let mut all = tensors.tensors();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let digest = checksum(covered, all.iter().map(|(name, view)| (name.as_str(), view.dtype(), view.shape(), view.data())));
    if digest != stored {
        return Err(Error::data("the file is damaged: its checksum does not match its contents"));
    }
    Ok(Opened { json: format!("{covered}}}"), arrays: ArrayReader::new(tensors), kind: head.kind, note: head.note })
}

impl Opened<'_> {
    /// The model, if it is of this kind.
    pub(super) fn model<M: Stored>(self) -> Result<M> {
        if self.kind != M::KIND {
            return Err(Error::data(format!("the file holds a model of kind `{}`, not `{}`", self.kind.escape_debug(), M::KIND)));
        }
        let header: Header<M::Record> =
            serde_json::from_str(&self.json).map_err(|error| Error::data(format!("the model's header is wrong: {error}")))?;
        M::restore(header.model, &self.arrays).map_err(|error| Error::data(format!("the model is inconsistent: {error}")))
    }
}

/// The kind of model that a file holds. Reads and checks the whole file.
pub fn read_kind(path: impl AsRef<Path>) -> Result<String> {
    read(path.as_ref(), |bytes| open(bytes).map(|opened| opened.kind))
}

/// Writes a file, whole or not at all.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write;
    atomic_file::replace(path, |file| file.write_all(bytes).map_err(|error| Error::io(path, error)))
}

/// Reads a file through `parse`; errors name the file.
pub(super) fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    parse(&bytes).map_err(|error| Error::file(path, error.to_string()))
}

fn checksum<'a>(json: &str, arrays: impl Iterator<Item = (&'a str, Dtype, &'a [usize], &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    // Every part is led by its length: no two different files hash the same bytes.
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(json.as_bytes());
    for (name, kind, shape, bytes) in arrays {
        part(name.as_bytes());
        part(format!("{kind:?}").as_bytes());
        part(&shape.iter().flat_map(|&size| (size as u64).to_le_bytes()).collect::<Vec<u8>>());
        part(bytes);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text that the checksum covers, and the checksum.
fn split_checksum(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_suffix(CHECKSUM_END)?;
    let digits = text.len().checked_sub(CHECKSUM_DIGITS)?;
    let stored = text.get(digits..)?;
    let covered = text.get(..digits)?.strip_suffix(CHECKSUM)?;
    Some((covered, stored))
}

/// Refuses arrays that end beyond the file before the container's reader adds their sizes up, because its sum may overflow.
fn check_offsets(bytes: &[u8]) -> std::result::Result<(), String> {
    let size = bytes.get(..8).ok_or("it is shorter than 8 bytes")?;
    let size = u64::from_le_bytes(size.try_into().expect("8 bytes"));
    let rest = &bytes[8..];
    let header = usize::try_from(size).ok().and_then(|size| rest.get(..size)).ok_or("its header is longer than the file")?;
    let entries: HashMap<String, serde_json::Value> = serde_json::from_slice(header).map_err(|error| error.to_string())?;
    for (name, entry) in &entries {
        if let Some(end) = entry.get("data_offsets").and_then(|offsets| offsets.get(1)).and_then(serde_json::Value::as_u64)
            && end > rest.len() as u64
        {
            return Err(format!("array `{}` ends at byte {end} of {}", name.escape_debug(), rest.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests_only {
    //! Files that the writer would never make, with a right checksum.

    use super::*;

    /// A file without arrays; `json` lacks its closing brace.
    pub(in super::super) fn with_header(json: &str) -> Vec<u8> {
        pack(json.into(), ArrayWriter::default()).unwrap()
    }

    /// A model's file with other arrays.
    pub(in super::super) fn with_arrays<M: Stored>(model: &M, change: &dyn Fn(&mut ArrayWriter)) -> Vec<u8> {
        let mut arrays = ArrayWriter::default();
        let header = header(model, None, &mut arrays).unwrap();
        change(&mut arrays);
        let mut json = serde_json::to_string(&header).unwrap();
        json.pop();
        pack(json, arrays).unwrap()
    }
}
