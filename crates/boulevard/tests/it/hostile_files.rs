//! Valid files of each format, cut short at every byte and damaged at every byte: the readers answer or refuse, and never panic.

use boulevard::data::Dataset;
use boulevard::data::io::{Format, Missing, PrecomputedUse, ReadOptions, read_precomputed_from, scan_from};

/// Bytes that mean something to at least one parser, and some that mean nothing to any.
const DAMAGE: [u8; 16] = [0, b'\n', b' ', b',', b':', b';', b'"', b'\'', b'{', b'}', b'\\', b'9', b'-', b'?', b'%', 0xff];

const LIBSVM: &str = "# sample\n+1 qid:1 1:0.5 3:-2e-3\n-1 2:1.25\n1,2 1:1 # multi\n\n 4:4\n";
const PRECOMPUTED: &str = "1 0:1 1:4 2:0.5\n-1 0:2 1:0.5 2:9\n";
const CSV: &str = "a,\"b \"\"c\"\"\",w,label\n1,2.5,1,yes\n-3e1,.5,2,\"n,o\"\n?,1,1,yes\n";
const ARFF: &str = "% c\n@relation 'r: -C -1'\n@attribute 'a b' real\n@attribute c {0,1}\n@attribute d {x,'y z'}\n@attribute l {0,1}\n@data\n1.5,1,'y z',0\n2,0,x,1\n";
const SPARSE_ARFF: &str = "@relation r\n@attribute a real\n@attribute c {1,2}\n@attribute y {p,q}\n@data\n{0 1.5, 2 q}\n{}\n{1 2}\n";

fn feed(bytes: &[u8], format: Option<Format>) {
    for one_hot in [false, true] {
        let options = ReadOptions { format, one_hot, ..Default::default() };
        let strict = Dataset::read_from(bytes, "file", &options);
        let mut problems = 0;
        let scan = scan_from(bytes, "file", &options, &mut |_| problems += 1);
        match (strict, scan) {
            (Ok(data), Ok(scan)) => {
                assert_eq!(problems, 0, "a file that is read has no problems");
                assert_eq!(data.len(), scan.data.len());
            }
            (Ok(_), Err(error)) => panic!("read, but not scanned: {error}"),
            (Err(error), Ok(_)) => assert!(problems > 0, "scanned without a problem, but not read: {error}"),
            (Err(_), Err(_)) => {}
        }
        let _ = Dataset::read_from(bytes, "file", &ReadOptions { missing: Missing::DropRow, ..options });
    }
}

fn damage(bytes: &[u8], format: Format, feed: impl Fn(&[u8], Option<Format>)) {
    feed(bytes, Some(format));
    feed(bytes, None);
    let mut copy = bytes.to_vec();
    for place in 0..bytes.len() {
        feed(&bytes[..place], Some(format));
        for byte in DAMAGE.into_iter().chain([bytes[place] ^ 1, bytes[place] ^ 0x80]) {
            copy[place] = byte;
            feed(&copy, Some(format));
        }
        copy[place] = bytes[place];
        feed(&copy[place..], None);
    }
}

#[test]
fn libsvm() {
    damage(LIBSVM.as_bytes(), Format::Libsvm, feed);
}

#[test]
fn precomputed() {
    damage(PRECOMPUTED.as_bytes(), Format::Libsvm, |bytes, _| {
        for purpose in [PrecomputedUse::Train, PrecomputedUse::Predict] {
            let _ = read_precomputed_from(bytes, "file", &ReadOptions::default(), purpose);
        }
    });
}

#[test]
fn csv() {
    damage(CSV.as_bytes(), Format::Csv, feed);
}

#[test]
fn arff() {
    damage(ARFF.as_bytes(), Format::Arff, feed);
    damage(SPARSE_ARFF.as_bytes(), Format::Arff, feed);
}

#[test]
fn gzip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv.gz");
    Dataset::read_from(&b"a,label\n1,x\n2,y\n"[..], "a.csv", &ReadOptions::default()).unwrap().write(&path).unwrap();
    damage(&std::fs::read(path).unwrap(), Format::Csv, feed);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet() {
    let data = Dataset::read_from(&b"a,label\n1,x\n2,y\n"[..], "a.csv", &ReadOptions::default()).unwrap();
    let mut bytes = Vec::new();
    data.write_to(&mut bytes, "out", Format::Parquet).unwrap();
    damage(&bytes, Format::Parquet, |bytes, format| {
        let _ = Dataset::read_from(bytes, "file", &ReadOptions { format, ..Default::default() });
    });
}

/// A header of a hundred bytes that names millions of columns, or none: refused at once.
#[test]
fn numpy_headers_without_data_cost_nothing() {
    for shape in ["(2, 2097152)", "(5, 0)", "(0, 2097152)", "(99999999999, 3)", "(1, 2)"] {
        let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend([0; 11]);
        for target in [boulevard::data::io::TargetKind::Auto, boulevard::data::io::TargetKind::None] {
            let start = std::time::Instant::now();
            let options = ReadOptions { format: Some(Format::Npy), target, ..Default::default() };
            assert!(Dataset::read_from(&bytes[..], "a.npy", &options).is_err(), "{shape}");
            assert!(start.elapsed().as_secs_f64() < 1.0, "{shape}");
        }
    }
}
