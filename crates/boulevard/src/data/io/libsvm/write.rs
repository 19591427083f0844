//! The writer.

use std::io::{self, Write};

use super::super::number;
use super::super::writing::target_names;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};

/// What LIBSVM text cannot hold.
pub(in super::super) fn check(data: &Dataset<'_>) -> Result<()> {
    if data.tasks.is_some() {
        return Err(Error::data("LIBSVM text has no place for tasks; write CSV, ARFF or Parquet, or leave the tasks out"));
    }
    for (what, names) in [("class", target_names(data)), ("group", data.groups.as_ref().map_or(&[][..], |groups| groups.names()))] {
        for name in names {
            let infinite = what == "class" && number::parse(name.as_bytes()).is_some_and(|value| !value.is_finite());
            if infinite || name.chars().any(|letter| letter.is_ascii_whitespace() || matches!(letter, ',' | ':' | '#')) {
                return Err(Error::data(format!(
                    "{what} `{}` cannot be written to LIBSVM text: blanks, `,`, `:`, `#` and infinities have a meaning there",
                    name.escape_debug()
                )));
            }
        }
    }
    Ok(())
}

/// Writes one line per row; zeros are left out, groups become `qid:` and weights `cost:`.
///
/// The width would be lost if no row has a value in the last column, so the first row then spells out that zero. The same is done for a
/// row that would be an empty line.
pub(in super::super) fn write(data: &Dataset<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (width, sparse) = (data.x.columns(), data.x.is_sparse());
    let last_is_used = (0..data.len()).any(|row| {
        let mut used = false;
        data.x.for_each(row, |column, value| used |= column + 1 == width && (sparse || value.to_bits() != 0));
        used
    });
    let mut line = Vec::new();
    for row in 0..data.len() {
        line.clear();
        write_row(data, row, &mut line)?;
        if row == 0 && !last_is_used {
            write!(line, " {width}:0")?;
        } else if line.is_empty() {
            line.extend_from_slice(b" 1:0");
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

fn write_row(data: &Dataset<'_>, row: usize, line: &mut Vec<u8>) -> io::Result<()> {
    match &data.target {
        Target::None => {}
        Target::Classes(classes) => line.extend_from_slice(classes.names()[classes.codes()[row] as usize].as_bytes()),
        Target::Real(values) => number::write(line, values[row])?,
        Target::Labels(labels) => {
            let mut names = labels.names().iter().zip(labels.row(row)).filter(|(_, on)| **on).map(|(name, _)| name);
            if let Some(first) = names.next() {
                line.extend_from_slice(first.as_bytes());
            }
            for name in names {
                line.push(b',');
                line.extend_from_slice(name.as_bytes());
            }
        }
    }
    if let Some(groups) = &data.groups {
        write!(line, " qid:{}", groups.names()[groups.codes()[row] as usize])?;
    }
    if let Some(weights) = &data.weights {
        line.extend_from_slice(b" cost:");
        number::write(line, weights[row])?;
    }
    let sparse = data.x.is_sparse();
    let mut result = Ok(());
    data.x.for_each(row, |column, value| {
        if result.is_ok() && (sparse || value.to_bits() != 0) {
            result = write!(line, " {}:", column + 1).and_then(|()| number::write(line, value));
        }
    });
    result
}
