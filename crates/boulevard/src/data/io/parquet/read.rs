//! The reader: a batch of rows at a time from every column, cell by cell into the shared table.

use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::basic::{ConvertedType, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescriptor;
use bytes::Bytes;

use super::super::complaint::{Complaints, Fault};
use super::super::options::ReadOptions;
use super::super::roles::{Column, Kind, Role, assign};
use super::super::source::Source;
use super::super::table::Table;
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Rows read from each column at a time: little memory, whatever the file says its row groups hold.
const BATCH: usize = 4096;

/// Reads a whole file. Instead of lines, rows are counted in messages.
///
/// A plain file is read where it lies, a page at a time; bytes from elsewhere are kept until the table is whole, because the format has
/// its table of contents at the end.
pub(in super::super) fn read(
    mut source: Source<'_>,
    file: Option<&Path>,
    options: &ReadOptions,
    complaints: &mut Complaints<'_>,
) -> Result<Dataset<'static>> {
    let path = complaints.path().to_owned();
    let failed = |error| Error::io(&path, error);
    let plain = file.map(plain_file).transpose().map_err(failed)?.flatten();
    let bytes = if plain.is_none() { complaints.room.read_to_end(&mut source)?.map_err(failed)? } else { Vec::new() };
    drop(source);
    // The crate asserts what it believes of a file; a damaged one can prove it wrong, and that is not our caller's end.
    let caught = catch_unwind(AssertUnwindSafe(|| match plain {
        Some(file) => read_chunks(file, options, complaints),
        None => read_chunks(Bytes::from(bytes), options, complaints),
    }));
    caught.unwrap_or_else(|_| Err(Error::file(path, "is damaged: the Parquet decoder gave up on it")))
}

/// The file, if it can be read at any place and is not packed.
fn plain_file(path: &Path) -> io::Result<Option<File>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    let regular = file.metadata()?.is_file();
    if regular {
        file.by_ref().take(4).read_to_end(&mut head)?;
    }
    Ok((head == b"PAR1").then_some(file))
}

fn read_chunks(chunks: impl ChunkReader + 'static, options: &ReadOptions, complaints: &mut Complaints<'_>) -> Result<Dataset<'static>> {
    let path = complaints.path().to_owned();
    let failed = |error: ParquetError| Error::file(&path, format!("cannot be read as Parquet: {error}"));
    let reader = SerializedFileReader::new(chunks).map_err(failed)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let kinds: Vec<Option<Kind>> = schema.columns().iter().map(|column| kind(column)).collect();
    let columns: Vec<Column> = schema
        .columns()
        .iter()
        .zip(&kinds)
        .map(|(column, kind)| Column { name: column.path().string(), kind: kind.clone().unwrap_or(Kind::Text) })
        .collect();
    // Columns that cannot be read are no harm as long as they are ignored.
    let roles = assign(&columns, options).map_err(|message| complaints.file(message))?;
    let used: Vec<usize> = (0..kinds.len()).filter(|&column| roles[column] != Role::Ignored).collect();
    if let Some(&column) = used.iter().find(|&&column| kinds[column].is_none()) {
        let (name, column) = (&columns[column].name, schema.column(column));
        let found = format!("{} {}", column.physical_type(), column.converted_type());
        return Err(
            complaints.file(format!("column `{name}` has type {found}; only flat numbers, booleans and texts can be read (ignore it)"))
        );
    }
    let mut table = Table::new(columns, options, false).map_err(|message| complaints.file(message))?;
    let mut number = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(failed)?;
        let mut cells = Vec::new();
        for &column in &used {
            // The crate panics on these; a sentence is better.
            let facts = group.metadata().column(column);
            if facts.data_page_offset() < 0
                || facts.compressed_size() < 0
                || facts.dictionary_page_offset().is_some_and(|offset| offset < 0)
            {
                return Err(complaints.file("is damaged: a column starts or ends before the file does"));
            }
            let unsigned = matches!(schema.column(column).converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
            cells.push((column, Cells::new(group.get_column_reader(column).map_err(failed)?, unsigned).map_err(failed)?));
        }
        loop {
            let mut rows = None;
            for (column, cells) in &mut cells {
                let found = cells.fill().map_err(failed)?;
                if *rows.get_or_insert(found) != found {
                    let name = schema.column(*column).path().string();
                    return Err(complaints.file(format!("column `{name}` has another number of rows than those before it")));
                }
            }
            let rows = rows.unwrap_or(0);
            if rows == 0 {
                break;
            }
            if number == 0 {
                // The file says how many rows it has, and some of them are there.
                let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
                complaints.room.holds(rows, table.features(), options.single)?;
            }
            for row in 0..rows {
                number += 1;
                table.make_room(&complaints.room)?;
                table.begin_row();
                let result = cells.iter_mut().try_for_each(|(column, cells)| cells.give(row, *column, &mut table));
                complaints.judge(number, result.and_then(|()| table.commit_row()))?;
            }
        }
    }
    table.finish()
}

/// How a column is read; `None` if it cannot be.
fn kind(column: &ColumnDescriptor) -> Option<Kind> {
    use ConvertedType as C;
    if column.max_rep_level() > 0 || column.path().parts().len() != 1 || column.max_def_level() > 1 {
        return None;
    }
    let plain = matches!(
        column.converted_type(),
        C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64 | C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64
    );
    match column.physical_type() {
        Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE if plain => Some(Kind::Number),
        Physical::BYTE_ARRAY if matches!(column.converted_type(), C::NONE | C::UTF8 | C::ENUM) => Some(Kind::Text),
        _ => None,
    }
}

/// A batch of one column, and where the next one comes from.
enum Cells {
    Bool(Typed<::parquet::data_type::BoolType>),
    Int32(Typed<::parquet::data_type::Int32Type>, bool),
    Int64(Typed<::parquet::data_type::Int64Type>, bool),
    Float(Typed<::parquet::data_type::FloatType>),
    Double(Typed<::parquet::data_type::DoubleType>),
    Text(Typed<::parquet::data_type::ByteArrayType>),
}

struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    levels: Vec<i16>,
    /// The place of each row's value among the values, of which nulls have none.
    places: Vec<Option<usize>>,
}

impl<T: DataType> Typed<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        Self { reader, values: Vec::new(), levels: Vec::new(), places: Vec::new() }
    }

    /// The next batch; returns its number of rows.
    fn fill(&mut self) -> ::parquet::errors::Result<usize> {
        self.values.clear();
        self.levels.clear();
        // A call may end with a page: go on until the batch is full or the column at its end, so that columns stay in step.
        let mut rows = 0;
        while rows < BATCH {
            let (records, _, _) = self.reader.read_records(BATCH - rows, Some(&mut self.levels), None, &mut self.values)?;
            if records == 0 {
                break;
            }
            rows += records;
        }
        self.places.clear();
        let mut next = 0;
        for &level in &self.levels {
            self.places.push((level > 0).then_some(next));
            next += usize::from(level > 0);
        }
        Ok(rows)
    }

    /// The value of a row, or `None` for a null.
    fn value(&self, row: usize) -> Option<&T::T> {
        // A column without nulls has no levels.
        let place = if self.places.is_empty() { row } else { (*self.places.get(row)?)? };
        self.values.get(place)
    }
}

impl Cells {
    fn new(reader: ColumnReader, unsigned: bool) -> ::parquet::errors::Result<Self> {
        Ok(match reader {
            ColumnReader::BoolColumnReader(reader) => Self::Bool(Typed::new(reader)),
            ColumnReader::Int32ColumnReader(reader) => Self::Int32(Typed::new(reader), unsigned),
            ColumnReader::Int64ColumnReader(reader) => Self::Int64(Typed::new(reader), unsigned),
            ColumnReader::FloatColumnReader(reader) => Self::Float(Typed::new(reader)),
            ColumnReader::DoubleColumnReader(reader) => Self::Double(Typed::new(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Self::Text(Typed::new(reader)),
            _ => return Err(ParquetError::General("a column has another type than the schema says".to_owned())),
        })
    }

    fn fill(&mut self) -> ::parquet::errors::Result<usize> {
        match self {
            Self::Bool(typed) => typed.fill(),
            Self::Int32(typed, _) => typed.fill(),
            Self::Int64(typed, _) => typed.fill(),
            Self::Float(typed) => typed.fill(),
            Self::Double(typed) => typed.fill(),
            Self::Text(typed) => typed.fill(),
        }
    }

    /// Hands one cell to the table.
    fn give(&mut self, row: usize, column: usize, table: &mut Table) -> std::result::Result<(), Fault> {
        match self {
            Self::Bool(typed) => table.whole(column, typed.value(row).map(|&value| i128::from(value))),
            Self::Int32(typed, false) => table.whole(column, typed.value(row).map(|&value| i128::from(value))),
            Self::Int32(typed, true) => table.whole(column, typed.value(row).map(|&value| i128::from(value as u32))),
            Self::Int64(typed, false) => table.whole(column, typed.value(row).map(|&value| i128::from(value))),
            Self::Int64(typed, true) => table.whole(column, typed.value(row).map(|&value| i128::from(value as u64))),
            Self::Float(typed) => table.number(column, typed.value(row).map(|&value| f64::from(value))),
            Self::Double(typed) => table.number(column, typed.value(row).copied()),
            Self::Text(typed) => table.cell(column, typed.value(row).map_or(&b""[..], ByteArray::data).trim_ascii()),
        }
    }
}
