//! CSV, with and without one-hot encoding.
#![no_main]

use boulevard::data::io::{Format, Missing, ReadOptions, scan_from};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for one_hot in [false, true] {
        let options = ReadOptions { format: Some(Format::Csv), one_hot, missing: Missing::DropRow, ..Default::default() };
        if let Ok(scan) = scan_from(bytes, "fuzz", &options, &mut |_| {}) {
            assert!(scan.data.target.len().is_none_or(|rows| rows == scan.data.len()));
        }
    }
});
