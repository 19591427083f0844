//! The writer: sparse rows for sparse data, dense rows for the rest.

use std::io::{self, Write};

use super::super::number;
use super::super::writing::{Extra, Layout};
use super::tokens::quoted;
use crate::data::{Categories, Dataset, LabelMatrix, Target};

/// Writes header and rows. A label matrix is declared MEKA's way: `-C -k` says that the last `k` attributes are labels.
pub(in super::super) fn write(data: &Dataset<'_>, layout: &Layout<'_>, out: &mut dyn Write) -> io::Result<()> {
    match &data.target {
        Target::Labels(labels) => writeln!(out, "@relation 'boulevard: -C -{}'\n", labels.names().len())?,
        _ => writeln!(out, "@relation boulevard\n")?,
    }
    for name in &layout.features {
        writeln!(out, "@attribute {} numeric", quoted(name))?;
    }
    for (name, extra) in &layout.extras {
        match extra {
            Extra::Numbers(_) => writeln!(out, "@attribute {} numeric", quoted(name))?,
            Extra::Label(..) => writeln!(out, "@attribute {} {{0,1}}", quoted(name))?,
            Extra::Names(column) => {
                let names: Vec<_> = column.names().iter().map(|name| quoted(name)).collect();
                writeln!(out, "@attribute {} {{{}}}", quoted(name), names.join(","))?;
            }
        }
    }
    writeln!(out, "\n@data")?;
    let sparse = data.x.is_sparse();
    let width = data.x.columns();
    let mut line = Vec::new();
    for row in 0..data.len() {
        line.clear();
        // Every entry is written with a comma before it; the first of these becomes the opening brace or is cut off.
        let mut result = Ok(());
        data.x.for_each(row, |column, value| {
            if result.is_ok() {
                line.push(b',');
                if sparse {
                    result = write!(line, "{column} ");
                }
                if result.is_ok() {
                    result = number::write(&mut line, value);
                }
            }
        });
        result?;
        for (place, (_, extra)) in layout.extras.iter().enumerate() {
            line.push(b',');
            if sparse {
                write!(line, "{} ", width + place)?;
            }
            match extra {
                Extra::Names(column) => line.extend_from_slice(quoted(name_of(column, row)).as_bytes()),
                Extra::Numbers(values) => number::write(&mut line, values[row])?,
                Extra::Label(labels, label) => line.push(b'0' + u8::from(is_on(labels, row, *label))),
            }
        }
        let entries = line.strip_prefix(b",").unwrap_or(&line);
        if sparse {
            out.write_all(b"{")?;
            out.write_all(entries)?;
            out.write_all(b"}\n")?;
        } else {
            out.write_all(entries)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn name_of(column: &Categories, row: usize) -> &str {
    &column.names()[column.codes()[row] as usize]
}

fn is_on(labels: &LabelMatrix, row: usize, label: usize) -> bool {
    labels.row(row)[label]
}
