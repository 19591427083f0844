//! Large pages of memory: rows that are read in any order miss the translation of addresses once per page, and every page costs a visit
//! to the system when it is first written. Both are a tenth of a long fit with the usual pages of 4 KB.

/// Slices below this many bytes are left alone: large pages come in 2 MB.
const WORTH_IT: usize = 8 << 20;

/// Asks for large pages under the memory of a large, not yet written slice. A hint: where it is not understood nothing changes.
pub fn ask_for_large<T>(slice: &mut [T]) {
    if size_of_val(slice) < WORTH_IT {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};
        // Of the C library, which the standard library links anyway.
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        const MADV_HUGEPAGE: c_int = 14;
        const PAGE: usize = 1 << 16;
        let start = slice.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        let length = size_of_val(slice).saturating_sub(skip) / PAGE * PAGE;
        if length > 0 {
            // SAFETY: the range lies inside the slice, which is borrowed mutably; the advice changes how the system backs it, not what
            // it holds.
            unsafe { madvise(start.add(skip).cast(), length, MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = slice;
}

#[cfg(test)]
mod tests {
    #[test]
    fn advice_changes_no_values() {
        let mut values: Vec<f32> = (0..3_000_000).map(|i| i as f32).collect();
        super::ask_for_large(&mut values);
        super::ask_for_large(&mut values[..10]);
        super::ask_for_large::<f64>(&mut []);
        assert!(values.iter().enumerate().all(|(i, v)| *v == i as f32));
    }
}
