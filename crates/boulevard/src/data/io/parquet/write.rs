//! The writer: one column per feature, packed with Zstandard.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use super::super::writing::{Extra, Layout};
use crate::data::Dataset;
use crate::error::Result;

/// Cells of a row group: it is held in memory, dense, while its columns are written.
const GROUP_CELLS: usize = 1 << 22;

/// This build can write Parquet.
pub(in super::super) fn check() -> Result<()> {
    Ok(())
}

/// Writes all columns.
pub(in super::super) fn write(data: &Dataset<'_>, layout: &Layout<'_>, out: &mut (dyn Write + Send)) -> io::Result<()> {
    write_file(data, layout, out).map_err(io::Error::other)
}

fn write_file(data: &Dataset<'_>, layout: &Layout<'_>, out: &mut (dyn Write + Send)) -> ParquetResult<()> {
    let packed = Compression::ZSTD(ZstdLevel::default());
    // Dictionaries would grow to the size of the column: measurements hardly repeat.
    let properties = WriterProperties::builder().set_compression(packed).set_dictionary_enabled(false).build();
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema(layout)?), Arc::new(properties))?;
    let width = layout.features.len();
    let most = (GROUP_CELLS / width.max(1)).max(1);
    let mut start = 0;
    while start < data.len() {
        let end = data.len().min(start + most);
        let mut values = vec![0.0; (end - start) * width];
        for row in start..end {
            data.x.copy_row(row, &mut values[(row - start) * width..(row - start + 1) * width]);
        }
        let mut group = writer.next_row_group()?;
        let mut place = 0;
        while let Some(mut column) = group.next_column()? {
            if place < width {
                let numbers: Vec<f64> = values.iter().skip(place).step_by(width).copied().collect();
                column.typed::<DoubleType>().write_batch(&numbers, None, None)?;
            } else {
                match layout.extras[place - width].1 {
                    Extra::Numbers(numbers) => {
                        column.typed::<DoubleType>().write_batch(&numbers[start..end], None, None)?;
                    }
                    Extra::Names(names) => {
                        let texts: Vec<ByteArray> =
                            names.codes()[start..end].iter().map(|&code| ByteArray::from(names.names()[code as usize].as_str())).collect();
                        column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                    }
                    Extra::Label(labels, label) => {
                        let flags: Vec<bool> = (start..end).map(|row| labels.row(row)[label]).collect();
                        column.typed::<BoolType>().write_batch(&flags, None, None)?;
                    }
                }
            }
            column.close()?;
            place += 1;
        }
        group.close()?;
        start = end;
    }
    writer.close()?;
    Ok(())
}

fn schema(layout: &Layout<'_>) -> ParquetResult<Type> {
    let column = |name: &str, physical: Physical, logical: Option<LogicalType>| {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED).with_logical_type(logical).build().map(Arc::new)
    };
    let mut fields = Vec::new();
    for name in &layout.features {
        fields.push(column(name, Physical::DOUBLE, None)?);
    }
    for (name, extra) in &layout.extras {
        fields.push(match extra {
            Extra::Numbers(_) => column(name, Physical::DOUBLE, None)?,
            Extra::Names(_) => column(name, Physical::BYTE_ARRAY, Some(LogicalType::String))?,
            Extra::Label(..) => column(name, Physical::BOOLEAN, None)?,
        });
    }
    Type::group_type_builder("boulevard").with_fields(fields).build()
}
