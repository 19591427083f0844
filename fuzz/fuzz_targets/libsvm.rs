//! LIBSVM text, as data and as a precomputed kernel.
#![no_main]

use boulevard::data::io::{Format, PrecomputedUse, ReadOptions, TargetKind, read_precomputed_from, scan_from};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for target in [TargetKind::Auto, TargetKind::Classes, TargetKind::Real, TargetKind::Labels] {
        let options = ReadOptions { format: Some(Format::Libsvm), target, ..Default::default() };
        if let Ok(scan) = scan_from(bytes, "fuzz", &options, &mut |_| {}) {
            assert!(scan.data.target.len().is_none_or(|rows| rows == scan.data.len()));
        }
    }
    let _ = read_precomputed_from(bytes, "fuzz", &ReadOptions::default(), PrecomputedUse::Train);
});
