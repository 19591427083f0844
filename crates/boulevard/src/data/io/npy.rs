//! NumPy's own files: one two-dimensional array of numbers, read some rows at a time.
//!
//! Columns have no names in such a file: they are `1`, `2` and so on, and the last one is the label unless the options say otherwise.
//! Arrays of `float32` stay in single precision.

use std::io::Read;

use super::complaint::Complaints;
use super::options::ReadOptions;
use super::roles::{Column, Kind};
use super::source::Source;
use super::table::Table;
use crate::data::Dataset;
use crate::error::{Error, Result};

/// How every file begins.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// A longer header is none of ours.
const LONGEST_HEADER: usize = 1 << 16;
/// Bytes read at a time.
const PART: usize = 1 << 20;

/// What the header says.
#[derive(Debug, PartialEq)]
struct Header {
    number: Number,
    rows: usize,
    columns: usize,
}

/// Kind, width in bytes and byte order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number {
    kind: u8,
    width: usize,
    big: bool,
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let (order, rest) = text.split_at_checked(1)?;
        let (kind, width) = rest.split_at_checked(1)?;
        let number = Self { kind: kind.as_bytes()[0], width: width.parse().ok()?, big: order == ">" };
        let known = matches!((number.kind, number.width), (b'f', 4 | 8) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'b', 1));
        (known && matches!(order, "<" | ">" | "|")).then_some(number)
    }

    fn value(self, bytes: &[u8]) -> f64 {
        let mut all = [0; 8];
        all[..self.width].copy_from_slice(bytes);
        if self.big {
            all[..self.width].reverse();
        }
        let bits = u64::from_le_bytes(all);
        let unused = 64 - 8 * self.width as u32;
        match (self.kind, self.width) {
            (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
            (b'f', _) => f64::from_bits(bits),
            (b'i', _) => ((bits << unused) as i64 >> unused) as f64,
            _ => bits as f64,
        }
    }
}

/// The value of a key in the header, which is the text of a Python dictionary.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = header.split_once(&format!("'{key}'"))?.1.trim_start().strip_prefix(':')?.trim_start();
    let end = match rest.as_bytes().first()? {
        b'(' => rest.find(')')? + 1,
        b'\'' => rest[1..].find('\'')? + 2,
        _ => rest.find([',', '}'])?,
    };
    Some(&rest[..end])
}

impl Header {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let missing = |key: &str| format!("the header has no `{key}`");
        let descr = entry(text, "descr").ok_or_else(|| missing("descr"))?;
        let number = Number::parse(descr.trim_matches('\'')).ok_or_else(|| {
            format!("holds {descr}; only float32, float64, integers and booleans can be read (use `array.astype(numpy.float32)`)")
        })?;
        if entry(text, "fortran_order").ok_or_else(|| missing("fortran_order"))? != "False" {
            return Err("is stored column by column; save `numpy.ascontiguousarray(array)` instead".to_owned());
        }
        let shape = entry(text, "shape").ok_or_else(|| missing("shape"))?;
        let sizes: Option<Vec<usize>> = shape
            .trim_matches(['(', ')'])
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(|size| size.parse().ok())
            .collect();
        match sizes.as_deref() {
            Some(&[rows, columns]) => Ok(Self { number, rows, columns }),
            _ => Err(format!("has the shape {shape}; a table has two dimensions, rows and columns")),
        }
    }
}

/// Reads a whole file. Instead of lines, rows are counted in messages.
pub(super) fn read(mut source: Source<'_>, options: &ReadOptions, complaints: &mut Complaints<'_>) -> Result<Dataset<'static>> {
    let path = complaints.path().to_owned();
    let cut = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::file(&path, "ends in the middle"),
        _ => Error::io(&path, error),
    };
    let mut start = [0; 8];
    source.read_exact(&mut start).map_err(cut)?;
    if !start.starts_with(MAGIC) {
        return Err(complaints.file("is not a NumPy file: it does not begin with `\\x93NUMPY`"));
    }
    let mut length = [0; 4];
    let bytes = if start[6] == 1 { 2 } else { 4 };
    source.read_exact(&mut length[..bytes]).map_err(cut)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_HEADER {
        return Err(complaints.file(format!("has a header of {length} bytes; at most {LONGEST_HEADER} are read")));
    }
    let mut header = vec![0; length];
    source.read_exact(&mut header).map_err(cut)?;
    let header = Header::parse(&String::from_utf8_lossy(&header)).map_err(|message| complaints.file(message))?;
    let Header { number, rows, columns } = header;
    // Names are made for all columns.
    let most = ReadOptions::default().most_features(0);
    if columns > most {
        return Err(complaints.file(format!("has {columns} columns; at most {most} can be read")));
    }
    if rows == 0 || columns == 0 {
        return Err(complaints.file(format!("has {rows} rows of {columns} columns: there are no data rows")));
    }
    let options = ReadOptions { single: options.single || (number.kind, number.width) == (b'f', 4), ..options.clone() };
    let size = columns * number.width;
    let mut part = vec![0; size * (PART / size).max(1)];
    // Nothing is made for the columns before the first of their bytes are there: a header alone must not cost seconds.
    let mut table: Option<Table> = None;
    let mut done = 0;
    while done < rows {
        let count = (part.len() / size).min(rows - done);
        source.read_exact(&mut part[..count * size]).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::file(&path, format!("ends before its {rows} rows do")),
            _ => cut(error),
        })?;
        let table = match &mut table {
            Some(table) => table,
            none => {
                complaints.room.holds(rows, columns, options.single)?;
                let names = (1..=columns).map(|column| Column { name: column.to_string(), kind: Kind::Number }).collect();
                none.insert(Table::new(names, &options, false).map_err(|message| complaints.file(message))?)
            }
        };
        for row in part[..count * size].chunks_exact(size) {
            done += 1;
            table.begin_row();
            let mut cells = row.chunks_exact(number.width).enumerate();
            let result = cells.try_for_each(|(column, cell)| table.number(column, Some(number.value(cell))));
            complaints.judge(done, result.and_then(|()| table.commit_row()))?;
        }
    }
    if source.read(&mut [0]).map_err(cut)? != 0 {
        return Err(complaints.file(format!("goes on after its {rows} rows")));
    }
    table.expect("there is a row").finish()
}
