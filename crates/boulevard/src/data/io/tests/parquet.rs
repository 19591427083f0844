//! Types of column that our own writer does not make.

use std::sync::Arc;

use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use super::*;
use crate::data::io::{Missing, TargetKind};

fn file() -> Vec<u8> {
    let schema =
        "message m { required INT32 i; optional FLOAT f; required INT64 u (UINT_64); required INT32 day (DATE); required BOOLEAN b;
        optional BYTE_ARRAY t (UTF8); }";
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().set_compression(::parquet::basic::Compression::SNAPPY).build());
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(parse_message_type(schema).unwrap()), properties).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        let mut place = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            match place {
                0 => column.typed::<Int32Type>().write_batch(&[1, -2, 3], None, None).unwrap(),
                1 => column.typed::<FloatType>().write_batch(&[0.5, 1.5], Some(&[1, 0, 1]), None).unwrap(),
                2 => column.typed::<Int64Type>().write_batch(&[1, -1, 3], None, None).unwrap(),
                3 => column.typed::<Int32Type>().write_batch(&[1, 2, 3], None, None).unwrap(),
                4 => column.typed::<BoolType>().write_batch(&[true, false, true], None, None).unwrap(),
                _ => column
                    .typed::<ByteArrayType>()
                    .write_batch(&[ByteArray::from("x"), ByteArray::from("y"), ByteArray::from("z")], Some(&[1, 1, 1]), None)
                    .unwrap(),
            };
            column.close().unwrap();
            place += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

#[test]
fn all_flat_types() {
    let bytes = file();
    let get = |options: &ReadOptions| Dataset::read_from(&bytes[..], "f.parquet", options);
    let found = get(&ReadOptions::default()).unwrap_err().to_string();
    assert!(found.contains("column `day` has type INT32 DATE"), "{found}");
    let options = ReadOptions { ignore: vec!["day".into()], ..Default::default() };
    let found = get(&options).unwrap_err().to_string();
    assert!(found.starts_with("f.parquet:2: column `f` is missing"), "{found}");
    let options = ReadOptions { missing: Missing::DropRow, ..options };
    let data = get(&options).unwrap();
    assert_eq!(rows(&data)[..2], [[1.0, 0.5, 1.0, 1.0], [3.0, 1.5, 3.0, 1.0]]);
    assert_eq!(classes(&data), ["x", "z", "x", "z"]);
    // A whole number keeps all its digits as a class, and all its bits as unsigned.
    let options = ReadOptions { ignore: vec!["day".into(), "f".into(), "t".into()], label: Some("u".into()), ..Default::default() };
    assert_eq!(classes(&get(&options).unwrap())[1], u64::MAX.to_string());
    let options = ReadOptions { ignore: vec!["day".into(), "f".into()], one_hot: true, target: TargetKind::None, ..Default::default() };
    assert_eq!(get(&options).unwrap().feature_names.unwrap(), ["i", "u", "b", "t=x", "t=y", "t=z"]);
}
