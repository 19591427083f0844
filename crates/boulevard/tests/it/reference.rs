//! Reference numbers of the multi-sample methods.

use std::path::Path;

use serde_json::Value;

pub fn vectors(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/multi_sample").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn reals(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(reals).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(reals).collect()
}

pub fn numbers(value: &Value) -> Vec<Vec<usize>> {
    rows(value).into_iter().map(|row| row.into_iter().map(|v| v as usize).collect()).collect()
}
