//! NumPy's files: what is read, and what is refused in words.

use super::super::{Format, ReadOptions};
use crate::data::{Dataset, Matrix, Target};

/// A file of version 1 with this header and body.
fn file(header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

fn read(bytes: &[u8]) -> crate::Result<Dataset<'static>> {
    Dataset::read_from(bytes, "table.npy", &ReadOptions::default())
}

#[test]
fn single_precision_stays_and_the_last_column_is_the_label() {
    let body: Vec<u8> = [1.5f32, -2.0, 0.0, 3.25, 4.0, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let data = read(&file(&header("<f4", "(2, 3)"), &body)).unwrap();
    let Matrix::F32(x) = &data.x else { panic!("{:?}", data.x) };
    assert_eq!(x.values(), [1.5, -2.0, 3.25, 4.0]);
    let Target::Classes(classes) = &data.target else { panic!("{:?}", data.target) };
    assert_eq!((classes.names(), classes.codes()), (&["0".to_owned(), "1".to_owned()][..], &[0u32, 1][..]));
    assert_eq!(data.feature_names.as_deref().unwrap(), ["1", "2"]);
}

#[test]
fn other_numbers_are_read_in_either_byte_order() {
    let values = [-1i64, 2, 300, 1];
    let cases: [(&str, Vec<u8>); 4] = [
        ("<f8", values.iter().flat_map(|&v| (v as f64).to_le_bytes()).collect()),
        (">f8", values.iter().flat_map(|&v| (v as f64).to_be_bytes()).collect()),
        ("<i2", values.iter().flat_map(|&v| (v as i16).to_le_bytes()).collect()),
        (">i8", values.iter().flat_map(|&v| v.to_be_bytes()).collect()),
    ];
    for (descr, body) in cases {
        let data = read(&file(&header(descr, "(2, 2)"), &body)).unwrap();
        assert_eq!((data.x.get(0, 0), data.x.get(1, 0)), (-1.0, 300.0), "{descr}");
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let body = [0u8; 16];
    let complaint = |bytes: Vec<u8>| read(&bytes).unwrap_err().to_string();
    for (bytes, words) in [
        (file(&header("<f8", "(2, 2)"), &body), "ends before its 2 rows"),
        (file(&header("<f8", "(1, 1)"), &body), "goes on after its 1 rows"),
        (file(&header("<f8", "(2,)"), &body), "two dimensions"),
        (file(&header("<c16", "(1, 1)"), &body), "only float32"),
        (file(&header("<f8", "(99999999999999, 2)"), &body), "ends before"),
        (file(&header("<f8", "(1, 99999999999)"), &body), "at most"),
        (file("{'descr': '<f8'}", &body), "no `fortran_order`"),
        (file(&header("<f8", "(1, 2)").replace("False", "True"), &body), "column by column"),
        (b"\x93NUMPY\x01".to_vec(), "ends in the middle"),
        (b"hello, world".to_vec(), "does not begin with"),
    ] {
        let found = complaint(bytes);
        assert!(found.contains(words), "{found}");
    }
    let nan: Vec<u8> = [f64::NAN, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(complaint(file(&header("<f8", "(1, 2)"), &nan)).contains("column `1`"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_table_larger_than_memory_is_refused_at_its_first_rows() {
    let bytes = file(&header("<f4", "(9999999999999, 20)"), &vec![0; 2 << 20]);
    let Err(crate::Error::FreeMemory { needed, free, .. }) = read(&bytes) else { panic!("there is no such memory") };
    assert_eq!(needed, 9_999_999_999_999 * 80);
    assert!((1..needed).contains(&free));
}

#[test]
fn the_first_bytes_tell() {
    let bytes = file(&header("<f4", "(1, 2)"), &[0; 8]);
    let scan = super::super::read_whole_from(&bytes[..], "table", &ReadOptions::default()).unwrap();
    assert_eq!(scan.format, Format::Npy);
}

#[test]
fn other_formats_are_kept_in_single_precision_where_asked() {
    let options = ReadOptions { single: true, ..ReadOptions::default() };
    let data = Dataset::read_from("a,b,label\n0.1,2,x\n3,4,y\n".as_bytes(), "t.csv", &options).unwrap();
    let Matrix::F32(x) = &data.x else { panic!("{:?}", data.x) };
    assert_eq!(x.values(), [0.1, 2.0, 3.0, 4.0]);
    let too_large = Dataset::read_from("a,label\n1e300,x\n".as_bytes(), "t.csv", &options).unwrap_err().to_string();
    assert!(too_large.contains("column `a`") && too_large.contains("single precision"), "{too_large}");
}

#[test]
fn full_libsvm_files_become_dense_in_single_precision_and_sparse_ones_stay_sparse() {
    let options = ReadOptions { single: true, ..ReadOptions::default() };
    let read = |text: &str| Dataset::read_from(text.as_bytes(), "t.svm", &options).unwrap().x;
    let x = read("1 1:0.1 3:2\n2 2:4\n");
    let Matrix::F32(dense) = &x else { panic!("{x:?}") };
    assert_eq!(dense.values(), [0.1, 0.0, 2.0, 0.0, 4.0, 0.0]);
    assert!(matches!(read("1 1:1\n2 1000:1\n"), Matrix::Sparse(_)));

    // Decided after many rows; a wider row later makes room, a very wide one leads back to sparse rows.
    let full: String = (0..3000).map(|row| format!("1 1:{row} 2:1\n")).collect();
    for (last, columns, sparse) in [("2 2:5\n", 2, false), ("2 4:5\n", 4, false), ("2 100000:5\n", 100_000, true)] {
        let (x, plain) =
            (read(&(full.clone() + last)), Dataset::read_from((full.clone() + last).as_bytes(), "t.svm", &ReadOptions::default()));
        assert_eq!((x.rows(), x.columns(), matches!(x, Matrix::Sparse(_))), (3001, columns, sparse));
        let plain = plain.unwrap().x;
        for (row, column) in [(0, 0), (1500, 0), (2999, 1), (3000, 0), (3000, columns - 1)] {
            assert_eq!(x.get(row, column), plain.get(row, column), "row {row}, column {column}");
        }
    }
    let too_large = Dataset::read_from("1 1:1e300\n".as_bytes(), "t.svm", &options).unwrap_err().to_string();
    assert!(too_large.contains("t.svm:1") && too_large.contains("single precision"), "{too_large}");
}
