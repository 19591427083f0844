//! Native model files with changed contents and a right checksum: what a stranger can write, not what an accident leaves.
//!
//! The container is the one of `persist/native.rs`: safetensors with one entry of metadata, JSON that ends in a SHA-256 over itself and
//! the arrays.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::mutate::{Dice, HOSTILE};

const KEY: &str = "boulevard";
const CHECKSUM: &str = ",\"sha256\":\"";

/// A model file taken apart.
#[derive(Clone)]
pub struct Parts {
    /// The header without its checksum.
    pub header: Value,
    /// Arrays by name.
    pub arrays: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Parts {
    /// Takes a file apart; none if it is no container of ours.
    pub fn open(bytes: &[u8]) -> Option<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
        let text = metadata.metadata().as_ref()?.get(KEY)?.clone();
        let covered = text.rsplit_once(CHECKSUM)?.0;
        let header = serde_json::from_str(&format!("{covered}}}")).ok()?;
        let tensors = SafeTensors::deserialize(bytes).ok()?;
        let array = |(name, view): (String, TensorView<'_>)| (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec()));
        Some(Self { header, arrays: tensors.tensors().into_iter().map(array).collect() })
    }

    /// The file, with the checksum of what is in it; none if the arrays are no arrays any more.
    pub fn seal(&self) -> Option<Vec<u8>> {
        let mut json = serde_json::to_string(&self.header).ok()?;
        json.pop();
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(json.as_bytes());
        let mut views = Vec::new();
        for (name, (kind, shape, bytes)) in &self.arrays {
            part(name.as_bytes());
            part(format!("{kind:?}").as_bytes());
            part(&shape.iter().flat_map(|&size| (size as u64).to_le_bytes()).collect::<Vec<u8>>());
            part(bytes);
            views.push((name, TensorView::new(*kind, shape.clone(), bytes).ok()?));
        }
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        json += &format!("{CHECKSUM}{digest}\"}}");
        serialize(views, Some(HashMap::from([(KEY.to_owned(), json)]))).ok()
    }
}

/// A valid model file with one to four hostile changes, and a right checksum.
pub fn forged(dice: &mut Dice, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut parts = Parts::open(bytes)?;
    for _ in 0..1 + dice.below(4) {
        change(dice, &mut parts);
    }
    parts.seal()
}

fn change(dice: &mut Dice, parts: &mut Parts) {
    if parts.arrays.is_empty() || dice.below(3) == 0 {
        let places = count(&parts.header);
        let at = dice.below(places.max(1));
        if let Some(value) = nth(&mut parts.header, &mut { at }) {
            change_value(dice, value);
        }
        return;
    }
    let name = (*dice.pick(&parts.arrays.keys().cloned().collect::<Vec<_>>())).clone();
    let (kind, shape, bytes) = parts.arrays.get_mut(&name).expect("one of its own names");
    match (*kind, dice.below(12)) {
        (Dtype::U8, _) => {
            // A file inside a file is forged itself.
            if let Some(inner) = forged(dice, bytes) {
                *shape = vec![inner.len()];
                *bytes = inner;
            }
        }
        (_, 0) => drop(parts.arrays.remove(&name)),
        (_, 1) => shape.reverse(),
        (_, 2) => {
            // Fewer rows than before.
            if let Some(first) = shape.first_mut()
                && *first > 0
            {
                let row = bytes.len() / *first;
                *first -= 1;
                bytes.truncate(row * *first);
            }
        }
        (Dtype::F64, way) => {
            let value = *dice.pick(&HOSTILE);
            fill(dice, bytes, &value.to_le_bytes(), way == 3);
        }
        (Dtype::F32, way) => {
            let value = *dice.pick(&HOSTILE) as f32;
            fill(dice, bytes, &value.to_le_bytes(), way == 3);
        }
        (_, way) => {
            let value = *dice.pick(&[0u64, 1, 2, 3, 1000, u64::from(u32::MAX), 1 << 32, i64::MAX as u64, u64::MAX]);
            fill(dice, bytes, &value.to_le_bytes(), way == 3);
        }
    }
}

/// One number of an array, or all of them.
fn fill(dice: &mut Dice, bytes: &mut [u8], value: &[u8], all: bool) {
    let count = bytes.len() / value.len();
    if count == 0 {
        return;
    }
    let first = if all { 0 } else { dice.below(count) };
    for place in first..if all { count } else { first + 1 } {
        bytes[place * value.len()..(place + 1) * value.len()].copy_from_slice(value);
    }
}

/// Values in a JSON text, lists and maps included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|inner| nth(inner, left)),
        Value::Object(map) => map.values_mut().find_map(|inner| nth(inner, left)),
        _ => None,
    }
}

fn change_value(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Number(_) if dice.below(3) > 0 => *value = Value::from(*dice.pick(&HOSTILE)),
        Value::Number(_) => *value = Value::from(*dice.pick(&[0u64, 1, 2, 17, 1 << 20, 1 << 32, i64::MAX as u64, u64::MAX])),
        Value::Array(list) if !list.is_empty() => {
            let at = dice.below(list.len());
            match dice.below(3) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                _ => list[at] = Value::Null,
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let key = dice.pick(&map.keys().cloned().collect::<Vec<_>>()).clone();
            if dice.below(2) == 0 {
                map.remove(&key);
            } else {
                map.insert("another".into(), Value::Bool(true));
            }
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::String(text) => text.push(*dice.pick(&['x', '\u{0}', '\n', '='])),
        Value::Null => *value = Value::from(1),
        _ => {}
    }
}
