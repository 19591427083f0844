//! An allocator that counts, and refuses more than a bound: a file of a few bytes that asks for gigabytes ends the program with a message
//! instead of filling the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a bound.
pub struct Bounded {
    most: usize,
}

impl Bounded {
    /// At most so many bytes at a time.
    pub const fn new(most: usize) -> Self {
        Self { most }
    }

    fn take(&self, size: usize) -> bool {
        let held = HELD.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        PEAK.fetch_max(held, Ordering::Relaxed);
        if held > self.most {
            HELD.fetch_sub(size, Ordering::Relaxed);
            return false;
        }
        true
    }
}

/// Bytes held at most since the last [`reset_peak`].
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// Forgets the peak.
pub fn reset_peak() {
    PEAK.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
}

// SAFETY: every request goes to the system's allocator unchanged, or is refused with a null pointer, which callers must expect.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's own promise about `layout` is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the pointer came from `System` with this layout.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        HELD.fetch_sub(if moved.is_null() { size } else { layout.size() }, Ordering::Relaxed);
        moved
    }
}
