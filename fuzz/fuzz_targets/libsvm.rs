//! `boulevard_fuzz::targets::libsvm` for libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    boulevard_fuzz::targets::libsvm(bytes);
});
