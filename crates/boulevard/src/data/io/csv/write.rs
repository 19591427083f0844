//! The writer.

use std::io::{self, Write};

use super::super::number;
use super::super::writing::{Extra, Layout};
use crate::data::Dataset;

/// Writes a header and one row per sample.
pub(in super::super) fn write(data: &Dataset<'_>, layout: &Layout<'_>, separator: u8, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    for name in layout.features.iter().chain(layout.extras.iter().map(|(name, _)| name)) {
        text(&mut line, name, separator);
    }
    finish(&mut line, out)?;
    let mut values = vec![0.0; data.x.columns()];
    for row in 0..data.len() {
        data.x.copy_row(row, &mut values);
        for &value in &values {
            number::write(&mut line, value)?;
            line.push(separator);
        }
        for (_, extra) in &layout.extras {
            match extra {
                Extra::Names(names) => text(&mut line, &names.names()[names.codes()[row] as usize], separator),
                Extra::Numbers(numbers) => {
                    number::write(&mut line, numbers[row])?;
                    line.push(separator);
                }
                Extra::Label(labels, label) => line.extend_from_slice(&[b'0' + u8::from(labels.row(row)[*label]), separator]),
            }
        }
        finish(&mut line, out)?;
    }
    Ok(())
}

/// Turns the last separator into a line end and hands the line over.
fn finish(line: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    line.pop();
    line.push(b'\n');
    out.write_all(line)?;
    line.clear();
    Ok(())
}

/// A text field. Any of the three separators is quoted, not only ours, so that readers which guess the separator guess right.
fn text(line: &mut Vec<u8>, field: &str, separator: u8) {
    if field.bytes().any(|byte| matches!(byte, b',' | b';' | b'\t' | b'"' | b'\n' | b'\r')) {
        line.push(b'"');
        line.extend_from_slice(field.replace('"', "\"\"").as_bytes());
        line.push(b'"');
    } else {
        line.extend_from_slice(field.as_bytes());
    }
    line.push(separator);
}
