//! Bytes that were never meant to be data: any answer will do, except a panic.

use proptest::prelude::*;

use super::*;
use crate::data::io::{Missing, PrecomputedUse, TargetKind, read_precomputed_from};

fn feed(bytes: &[u8]) {
    for format in [None, Some(Format::Libsvm), Some(Format::Csv), Some(Format::Arff), Some(Format::Parquet)] {
        for one_hot in [false, true] {
            for target in [TargetKind::Auto, TargetKind::Real, TargetKind::Labels, TargetKind::None] {
                let options = ReadOptions { format, one_hot, target, missing: Missing::DropRow, ..Default::default() };
                if let Ok(scan) = scan_from(bytes, "file", &options, &mut |_| {}) {
                    assert!(scan.data.target.count().is_none_or(|rows| rows == scan.data.len()));
                }
            }
        }
    }
    let _ = read_precomputed_from(bytes, "file", &ReadOptions::default(), PrecomputedUse::Train);
}

#[test]
fn nasty_bytes() {
    for bytes in [
        &b"\x1f\x8b"[..],
        b"\x1f\x8b\x08\0\0\0\0\0\0\0",
        b"\xef\xbb\xbf",
        b"\xef\xbb",
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1\xff\xff\xff\x7fPAR1",
        b"\0\0\0\0",
        b"\"",
        b"a,b\n\"",
        b"@relation '\\",
        b"@attribute {",
        b"@attribute a {'\n@data\n",
        b"@relation x\n@attribute a{\n@data",
        b"@relation x\n@attribute {a} real\n@data\n{",
        b"@relation x\n@attribute a real\n@data\n{0",
        b"@relation x\n@attribute a real\n@data\n{18446744073709551616 1}",
        b"1 18446744073709551616:1",
        b"1 1:1 :",
        b", 1:1",
        b"1,,2 1:1",
        b"qid: 1:1",
        b"1 qid:\xff cost: 1:1",
    ] {
        feed(bytes);
    }
}

#[test]
fn small_files_cannot_ask_for_much_memory() {
    // Many labels on one line, many rows without: the matrix would have 10^10 entries.
    let labels: Vec<String> = (0..60_000).map(|i| i.to_string()).collect();
    let text = format!("{} 1:1\n{}", labels.join(","), " 1:1\n".repeat(60_000));
    assert!(message(Format::Libsvm, &text, &ReadOptions::default()).contains("entries a label matrix may have"));
    // Many attributes with a default that is not zero, many rows that leave them out.
    let attributes: String = (0..20_000).map(|i| format!("@attribute a{i} {{1,0}}\n")).collect();
    let text = format!("@relation r\n{attributes}@attribute y {{a,b}}\n@data\n{}", "{}\n".repeat(20_000));
    assert!(message(Format::Arff, &text, &ReadOptions::default()).contains("too many attributes"));
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        feed(&bytes);
    }

    #[test]
    fn almost_libsvm(text in "([-+]?[0-9a]{1,2}(,[0-9])? ?([0-9]{1,2}:[-0-9.e]{0,4} ?){0,4}(#|\n|\r\n| qid:)){0,6}") {
        feed(text.as_bytes());
    }

    #[test]
    fn almost_csv(text in "([a-c\"]{1,3}[,;\t]){1,3}[a-c]\n([-0-9.a?\"]{0,3}[,;\t\n]){0,20}") {
        feed(text.as_bytes());
    }

    #[test]
    fn almost_arff(text in "@relation ('a: -C -?[0-3]'|b)\n(@attribute [a-d] ?(real|\\{[0-2a'],[0-2]\\}|string)\n){1,4}@data\n((\\{([0-3] [0-2a'],?){0,3}\\}?|([0-2a?']{1,2},?){1,4})\n){0,6}") {
        feed(text.as_bytes());
    }
}
