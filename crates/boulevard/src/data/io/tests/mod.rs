//! Tests of the readers and writers from outside: text in, data set or message out.

mod arff;
mod csv;
mod hostile;
mod libsvm;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod round_trip;

use super::{Format, ReadOptions, scan_from};
use crate::data::{Dataset, Matrix, Target};
use crate::error::Result;

/// Reads text as a format.
fn read(format: Format, text: &str, options: &ReadOptions) -> Result<Dataset<'static>> {
    Dataset::read_from(text.as_bytes(), "file", &ReadOptions { format: Some(format), ..options.clone() })
}

/// The message about text that must not be read.
fn message(format: Format, text: &str, options: &ReadOptions) -> String {
    match read(format, text, options) {
        // Not `expect_err`: a data set that should have been refused for its size must not be printed.
        Ok(data) => panic!("a mistake in {} rows", data.len()),
        Err(error) => error.to_string(),
    }
}

/// All problems of a text, and the number of sound rows.
fn problems(format: Format, text: &str, options: &ReadOptions) -> (Vec<(usize, String)>, usize) {
    let mut found = Vec::new();
    let options = ReadOptions { format: Some(format), ..options.clone() };
    let scan = scan_from(text.as_bytes(), "file", &options, &mut |problem| found.push((problem.line, problem.message))).unwrap();
    assert_eq!(scan.problems, found.len());
    assert!(scan.data.target.count().is_none_or(|rows| rows == scan.data.len()));
    (found, scan.data.len())
}

/// Dense rows of a data set.
fn rows(data: &Dataset<'_>) -> Vec<Vec<f64>> {
    let Matrix::F64(dense) = data.x.to_dense() else { panic!("dense") };
    (0..data.len()).map(|row| dense.row(row).to_vec()).collect()
}

/// Class names, row by row.
fn classes(data: &Dataset<'_>) -> Vec<String> {
    let Target::Classes(classes) = &data.target else { panic!("classes, found {}", data.target.kind()) };
    classes.codes().iter().map(|&code| classes.names()[code as usize].clone()).collect()
}
