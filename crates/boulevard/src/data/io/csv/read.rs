//! The reader, on top of the `csv` crate: it knows quotes, we know what the cells mean.

use std::io::{self, BufRead, Read};

use ::csv::{ByteRecord, Reader, ReaderBuilder};

use super::super::complaint::{Complaints, Fault, excerpt};
use super::super::names::is_missing;
use super::super::number;
use super::super::options::ReadOptions;
use super::super::roles::{Column, Kind};
use super::super::source::Source;
use super::super::table::Table;
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Reads a whole file.
pub(in super::super) fn read(mut source: Source<'_>, options: &ReadOptions, complaints: &mut Complaints<'_>) -> Result<Dataset<'static>> {
    let head = source.fill_buf().map_err(|error| Error::io(complaints.path(), error))?;
    let separator = separator(head);
    let crlf = head.iter().position(|&byte| byte == b'\n').is_some_and(|end| end > 0 && head[end - 1] == b'\r');
    if !options.one_hot {
        let mut reader = reader(source, separator, crlf);
        let header = header(&mut reader, complaints)?;
        check_header(&header, options, complaints)?;
        return rows(reader, header, options, complaints);
    }
    // Whether a column is text is known only at its end, so the bytes are kept and read twice. Turning a column of numbers into text on
    // the way would lose how they were written (`01` and `1`).
    let bytes = complaints.room.read_to_end(&mut source)?.map_err(|error| Error::io(complaints.path(), error))?;
    let mut first = reader(&bytes[..], separator, crlf);
    let (mut columns, line) = header(&mut first, complaints)?;
    check_header(&(columns.clone(), line), options, complaints)?;
    let mut record = ByteRecord::new();
    while first.read_byte_record(&mut record).map_err(|error| failed(error, complaints))? {
        for (column, field) in columns.iter_mut().zip(&record) {
            let field = field.trim_ascii();
            if column.kind == Kind::Number && number::parse(field).is_none() && !is_missing(field) {
                column.kind = Kind::Text;
            }
        }
    }
    let mut second = reader(&bytes[..], separator, crlf);
    header(&mut second, complaints)?;
    rows(second, (columns, line), options, complaints)
}

fn reader<R: Read>(source: R, separator: u8, crlf: bool) -> Reader<Tail<R>> {
    let source = Tail { source, total: 0, last: [b'\n'; 2], crlf };
    // Rows of the wrong length are ours to complain about, with their line.
    ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(source)
}

/// The separator the first line has most of, outside quotes.
fn separator(head: &[u8]) -> u8 {
    let mut counts = [0usize; 3];
    let mut quoted = false;
    for &byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted && counts.iter().any(|&count| count > 0) => break,
            b',' if !quoted => counts[0] += 1,
            b';' if !quoted => counts[1] += 1,
            b'\t' if !quoted => counts[2] += 1,
            _ => {}
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    match counts.iter().position(|&count| count == most) {
        Some(1) => b';',
        Some(2) => b'\t',
        _ => b',',
    }
}

/// The column names, and the line they are on.
fn header<R: Read>(reader: &mut Reader<Tail<R>>, complaints: &Complaints<'_>) -> Result<(Vec<Column>, usize)> {
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(|error| failed(error, complaints))? {
        return Err(complaints.file("is empty; a CSV file starts with a header row of column names"));
    }
    let line = line_of(reader, &record);
    if record.iter().all(|field| number::parse(field.trim_ascii()).is_some()) {
        return Err(complaints.fatal(line, "the first row holds only numbers; a CSV file starts with a header row of column names"));
    }
    let mut columns = Vec::with_capacity(record.len());
    for (place, field) in record.iter().enumerate() {
        let name = std::str::from_utf8(field.trim_ascii())
            .map_err(|_| complaints.fatal(line, format!("the name of column {} is not valid UTF-8", place + 1)))?;
        columns.push(Column { name: name.to_owned(), kind: Kind::Number });
    }
    Ok((columns, line))
}

/// Fails where the first row looks like data: all names but one are numbers that do not rise. (Rising ones may be years or wavelengths.)
/// Taken for a header it would be lost without a word.
fn check_header((columns, line): &(Vec<Column>, usize), options: &ReadOptions, complaints: &Complaints<'_>) -> Result<()> {
    let named = options.label.is_some() || !options.labels.is_empty();
    let numbers: Vec<f64> = columns.iter().filter_map(|column| number::parse(column.name.as_bytes())).collect();
    if named || numbers.len() < 2 || numbers.len() + 1 < columns.len() || numbers.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let shown: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let shown = excerpt(shown.join(",").as_bytes());
    Err(complaints.fatal(*line, format!("the first row `{shown}` looks like data; a CSV file starts with a header row of column names")))
}

fn rows<R: Read>(
    mut reader: Reader<Tail<R>>,
    (columns, line): (Vec<Column>, usize),
    options: &ReadOptions,
    complaints: &mut Complaints<'_>,
) -> Result<Dataset<'static>> {
    // Labels, tasks and groups are told from their text; a kind is declared for features only.
    let mut table = Table::new(columns, options, false).map_err(|message| complaints.fatal(line, message))?;
    let width = table.width();
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(|error| failed(error, complaints))? {
        table.make_room(&complaints.room)?;
        table.begin_row();
        let row = if record.len() == width {
            record.iter().enumerate().try_for_each(|(column, field)| table.cell(column, field.trim_ascii()))
        } else {
            Err(Fault::Bad(format!("{} fields; the header has {width}", record.len())))
        };
        if let Err(fault) = row.and_then(|()| table.commit_row()) {
            complaints.judge(line_of(&reader, &record), Err(fault))?;
        }
    }
    table.finish()
}

/// A source that remembers where it ended, which the line numbers need.
struct Tail<R> {
    source: R,
    total: u64,
    /// The last two bytes.
    last: [u8; 2],
    /// Whether lines end in `\r\n`.
    crlf: bool,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.total += count as u64;
        match buffer[..count] {
            [] => {}
            [only] => self.last = [self.last[1], only],
            [.., before, last] => self.last = [before, last],
        }
        Ok(count)
    }
}

/// The line a record starts on. The position `csv` gives is that of the blank lines it skipped before it, so we count back from the end:
/// over the record's own line end (of `\r\n` it leaves the `\n` to the next record) and the line ends inside quotes.
fn line_of<R: Read>(reader: &Reader<Tail<R>>, record: &ByteRecord) -> usize {
    let tail = reader.get_ref();
    let at_end = reader.position().byte() == tail.total;
    // A quote that was never closed takes the file's last line end into the record.
    let open = record.as_slice().ends_with(b"\n") && tail.last[0] != b'"';
    let at_end = at_end && (tail.last[1] != b'\n' || open);
    let own = u64::from(!tail.crlf && !at_end);
    let inside = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
    (reader.position().line().saturating_sub(own + inside)).max(1) as usize
}

fn failed(error: ::csv::Error, complaints: &Complaints<'_>) -> Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => Error::io(complaints.path(), error),
        other => complaints.file(format!("cannot be read as CSV: {other:?}")),
    }
}
