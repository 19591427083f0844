//! Reading and writing data files: LIBSVM text, CSV, ARFF and Parquet, gzip included; NumPy's files are read.
//!
//! [`Dataset::read`] stops at the first mistake and says where it is; [`scan`] reports every one and goes on. Nothing in a file can make
//! the readers panic, and memory grows with the bytes that were read, not with the numbers a file claims.
//!
//! ```
//! use boulevard::data::Dataset;
//! use boulevard::data::io::ReadOptions;
//!
//! let text = "length,width,label\n1.5,2,yes\n0.5,3,no\n";
//! let data = Dataset::read_from(text.as_bytes(), "example.csv", &ReadOptions::default())?;
//! assert_eq!((data.len(), data.x.columns()), (2, 2));
//! # Ok::<(), boulevard::Error>(())
//! ```

mod arff;
mod cells;
mod complaint;
mod csv;
mod libsvm;
mod names;
mod npy;
pub(crate) mod number;
mod onehot;
mod options;
mod parquet;
mod roles;
mod room;
mod sink;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod writing;

use std::io::{self, Read, Write};
use std::path::Path;

pub use complaint::Problem;
pub use libsvm::{Precomputed, PrecomputedUse, read_precomputed, read_precomputed_from};
pub use options::{Format, Missing, ReadOptions, TargetKind};

use crate::data::Dataset;
use crate::error::{Error, Result};
use complaint::Complaints;
pub(crate) use complaint::excerpt;
use room::{Place, Room};
use source::Source;
use writing::Layout;

/// What [`scan`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The rows that are sound.
    pub data: Dataset<'static>,
    /// The format it was read as.
    pub format: Format,
    /// Number of rows with a mistake, all of which were reported.
    pub problems: usize,
    /// Number of rows left out because a value is missing ([`Missing::DropRow`]).
    pub dropped: usize,
    /// Their lines (rows, in formats without lines).
    pub dropped_lines: Vec<usize>,
}

impl Dataset<'static> {
    /// Reads a file (`-` is standard input); the format is guessed and the last column is the label.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_with(path, &ReadOptions::default())
    }

    /// Reads a file as the options say. The first mistake ends it, with its line.
    pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        read_whole(path, options).map(|scan| scan.data)
    }

    /// Reads bytes from anywhere. The `name` stands in messages, and its extension tells the format as that of a file would.
    pub fn read_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Self> {
        read_whole_from(reader, name, options).map(|scan| scan.data)
    }
}

impl Dataset<'_> {
    /// Writes a file in the format its extension names, gzip if it ends in `.gz`. The file appears whole or not at all.
    ///
    /// Columns are written features first, then `task`, `group`, `weight`, and the label or labels last.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let Some(format) = Format::from_path(path) else {
            let known = ".svm, .libsvm, .svmlight, .txt, .dat, .csv, .tsv, .arff, .parquet, each also with .gz";
            return Err(Error::file(path, format!("the extension does not say which format to write; it must be one of {known}")));
        };
        let name = path.to_string_lossy().to_ascii_lowercase();
        let separator = if name.trim_end_matches(".gz").ends_with(".tsv") { b'\t' } else { b',' };
        let plan = Plan::new(self, format)?;
        sink::replace(path, |out| plan.write(separator, out))
    }

    /// Writes to anything that takes bytes. Nothing is written if the data do not fit the format; `name` stands in messages.
    pub fn write_to(&self, mut writer: impl Write + Send, name: &str, format: Format) -> Result<()> {
        let plan = Plan::new(self, format)?;
        plan.write(b',', &mut writer).and_then(|()| writer.flush()).map_err(|error| Error::io(name, error))
    }
}

/// [`Dataset::read_with`], with what was left out: the first mistake ends it.
pub fn read_whole(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    let (source, place) = source::open(path)?;
    read_source(source, place, path, Some(path), options, None)
}

/// [`read_whole`] for bytes from anywhere; `name` as in [`Dataset::read_from`].
pub fn read_whole_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Scan> {
    let source = source::unpack(reader).map_err(|error| Error::io(name, error))?;
    read_source(source, Place::default(), Path::new(name), None, options, None)
}

/// Reads a file to its end and calls `report` for every bad line; what is sound is returned.
///
/// An error is returned only where there is no going on: the file cannot be read, its header is wrong, or it has no rows at all.
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions, report: &mut dyn FnMut(Problem)) -> Result<Scan> {
    let path = path.as_ref();
    let (source, place) = source::open(path)?;
    read_source(source, place, path, Some(path), options, Some(report))
}

/// [`scan`] for bytes from anywhere; `name` as in [`Dataset::read_from`].
pub fn scan_from(reader: impl Read, name: &str, options: &ReadOptions, report: &mut dyn FnMut(Problem)) -> Result<Scan> {
    let source = source::unpack(reader).map_err(|error| Error::io(name, error))?;
    read_source(source, Place::default(), Path::new(name), None, options, Some(report))
}

/// `file` is where the source comes from, if it is a file: formats that are read from their end look there.
fn read_source(
    mut source: Source<'_>,
    place: Place,
    path: &Path,
    file: Option<&Path>,
    options: &ReadOptions,
    report: Option<&mut dyn FnMut(Problem)>,
) -> Result<Scan> {
    let format = match options.format.or_else(|| Format::surely_from_path(path)) {
        Some(format) => format,
        None => source::sniff(&mut source).map_err(|error| Error::io(path, error))?,
    };
    let mut complaints = Complaints::new(path, options.missing, report).within(Room::new(place));
    let data = match format {
        Format::Libsvm => libsvm::read(source, options, &mut complaints)?,
        Format::Csv => csv::read(source, options, &mut complaints)?,
        Format::Arff => arff::read(source, options, &mut complaints)?,
        Format::Parquet => parquet::read(source, file, options, &mut complaints)?,
        Format::Npy => npy::read(source, options, &mut complaints)?,
    };
    let (problems, dropped_lines) = (complaints.problems, std::mem::take(&mut complaints.dropped));
    let dropped = dropped_lines.len();
    if data.is_empty() && problems == 0 {
        let why = if dropped > 0 { format!("; all {dropped} have missing values") } else { String::new() };
        return Err(complaints.file(format!("there are no data rows{why}")));
    }
    Ok(Scan { data, format, problems, dropped, dropped_lines })
}

/// A data set that was found to fit a format.
struct Plan<'a> {
    data: &'a Dataset<'a>,
    format: Format,
    layout: Option<Layout<'a>>,
}

impl<'a> Plan<'a> {
    fn new(data: &'a Dataset<'a>, format: Format) -> Result<Self> {
        writing::check(data)?;
        let layout = match format {
            Format::Libsvm => libsvm::check(data).map(|()| None)?,
            Format::Csv | Format::Arff => Some(Layout::new(data)?),
            Format::Parquet => parquet::check().and_then(|()| Layout::new(data)).map(Some)?,
            Format::Npy => return Err(Error::data("NumPy files can be read, not written; write CSV or Parquet")),
        };
        Ok(Self { data, format, layout })
    }

    fn write(&self, separator: u8, out: &mut (dyn Write + Send)) -> io::Result<()> {
        match (&self.layout, self.format) {
            (None, _) => libsvm::write(self.data, out),
            (Some(layout), Format::Arff) => arff::write(self.data, layout, out),
            (Some(layout), Format::Parquet) => parquet::write(self.data, layout, out),
            (Some(layout), _) => csv::write(self.data, layout, separator, out),
        }
    }
}
