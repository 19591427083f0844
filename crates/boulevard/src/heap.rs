//! Large blocks of memory straight from the system, for processes that live long. With `unsafe` code (docs/architecture.md).
//!
//! glibc keeps up to 64 MB of freed memory for every thread there ever was at a time, and does not give it back: a Python process that fits
//! one model after the other grows by some hundred MB before it stays as it is. Blocks from [`LARGE`] on are therefore mapped and unmapped
//! by themselves. A few megabytes of them wait for the next fit, because touching fresh memory costs as much as filling it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;

/// Blocks from here on come from the system.
const LARGE: usize = 1 << 20;
/// Bytes that wait at most, and in how many blocks.
const MOST_KEPT: usize = 64 << 20;
const MOST_BLOCKS: usize = 32;
/// Mappings are multiples of this, at least as large as a page on every machine we know.
const PAGE: usize = 1 << 16;

/// The allocator, to be made a program's own with `#[global_allocator]`.
pub struct Heap {
    kept: Mutex<Kept>,
}

/// Blocks that wait: address and bytes. An array, because an allocator must not allocate.
struct Kept {
    blocks: [(usize, usize); MOST_BLOCKS],
    count: usize,
    bytes: usize,
}

impl Heap {
    /// Nothing waits yet.
    pub const fn new() -> Self {
        Self { kept: Mutex::new(Kept { blocks: [(0, 0); MOST_BLOCKS], count: 0, bytes: 0 }) }
    }

    /// The smallest block that waits and has room, cut to size. If there is none all go, so that memory does not add up.
    fn take(&self, bytes: usize) -> Option<*mut u8> {
        // Never waiting: whoever holds the lock may be a thread that a fork left behind.
        let mut kept = self.kept.try_lock().ok()?;
        let Some(fits) = (0..kept.count).filter(|&at| kept.blocks[at].1 >= bytes).min_by_key(|&at| kept.blocks[at].1) else {
            kept.blocks[..kept.count].iter().for_each(|&(address, length)| system::unmap(address as *mut u8, length));
            (kept.count, kept.bytes) = (0, 0);
            return None;
        };
        let (address, length) = kept.blocks[fits];
        kept.count -= 1;
        kept.blocks[fits] = kept.blocks[kept.count];
        kept.bytes -= length;
        drop(kept);
        if length > bytes {
            system::unmap((address + bytes) as *mut u8, length - bytes);
        }
        Some(address as *mut u8)
    }

    /// Keeps a block for the next one who asks, or gives it back.
    fn give(&self, block: *mut u8, bytes: usize) {
        if let Ok(mut kept) = self.kept.try_lock()
            && kept.bytes + bytes <= MOST_KEPT
            && kept.count < MOST_BLOCKS
        {
            let at = kept.count;
            kept.blocks[at] = (block as usize, bytes);
            kept.count += 1;
            kept.bytes += bytes;
            return;
        }
        system::unmap(block, bytes);
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a block is one of ours, and the bytes of its mapping. It depends on the layout alone, so that it is the same when it is freed.
fn mapped(layout: Layout) -> Option<usize> {
    let ours = system::HAS && layout.size() >= LARGE && layout.align() <= 4096;
    if ours { layout.size().checked_next_multiple_of(PAGE) } else { None }
}

// SAFETY: blocks are either the system allocator's or whole mappings that nobody else has; which of the two is decided by the layout, which
// callers must give back as it was.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match mapped(layout) {
            Some(bytes) => self.take(bytes).unwrap_or_else(|| system::map(bytes)),
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match mapped(layout) {
            // A fresh mapping is zero, and costs nothing until it is touched.
            Some(bytes) => match self.take(bytes) {
                Some(block) if system::clear(block, bytes) => block,
                Some(block) => {
                    system::unmap(block, bytes);
                    system::map(bytes)
                }
                None => system::map(bytes),
            },
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match mapped(layout) {
            Some(bytes) => self.give(block, bytes),
            // SAFETY: the caller's promise.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is one that layouts may have.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (mapped(layout), mapped(new)) {
            (Some(old), Some(bytes)) if old == bytes => block,
            (Some(old), Some(bytes)) => system::remap(block, old, bytes),
            // SAFETY: the caller's promise.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            // From the one kind to the other.
            _ => {
                // SAFETY: a new block, and the old one with the layout it came with; what both hold is copied between them.
                unsafe {
                    let to = self.alloc(new);
                    if !to.is_null() {
                        std::ptr::copy_nonoverlapping(block, to, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    to
                }
            }
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    /// Whether blocks can be mapped here.
    pub(super) const HAS: bool = true;

    pub(super) fn map(bytes: usize) -> *mut u8 {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping anywhere; it touches nothing that is there.
        let block = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if block == libc::MAP_FAILED { std::ptr::null_mut() } else { block.cast() }
    }

    pub(super) fn unmap(block: *mut u8, bytes: usize) {
        // SAFETY: callers own these pages and forget them. (That it fails is only possible where they do not exist.)
        unsafe { libc::munmap(block.cast(), bytes) };
    }

    /// Makes all of a block zero again by giving its pages back; whether that worked.
    pub(super) fn clear(block: *mut u8, bytes: usize) -> bool {
        // SAFETY: callers own these pages, and nobody has looked into them yet.
        unsafe { libc::madvise(block.cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }

    pub(super) fn remap(block: *mut u8, old: usize, bytes: usize) -> *mut u8 {
        // SAFETY: callers own the old pages and take the new ones for them.
        let new = unsafe { libc::mremap(block.cast(), old, bytes, libc::MREMAP_MAYMOVE) };
        if new == libc::MAP_FAILED { std::ptr::null_mut() } else { new.cast() }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    /// Whether blocks can be mapped here.
    pub(super) const HAS: bool = false;

    pub(super) fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub(super) fn unmap(_: *mut u8, _: usize) {}

    pub(super) fn clear(_: *mut u8, _: usize) -> bool {
        false
    }

    pub(super) fn remap(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("a size")
    }

    #[test]
    fn blocks_of_all_sizes_keep_what_is_written() {
        let heap = Heap::new();
        for size in [1, 1000, LARGE - 1, LARGE, LARGE + 1, 5 * LARGE + 77] {
            // SAFETY: every block is used within its size and freed with the layout it has.
            unsafe {
                let mut block = heap.alloc(layout(size));
                assert!(!block.is_null());
                std::ptr::write_bytes(block, 7, size);
                let mut old = size;
                for new in [3 * size, size / 2 + 1, 2 * LARGE + 5, 10] {
                    block = heap.realloc(block, layout(old), new);
                    assert!(!block.is_null());
                    let kept = std::slice::from_raw_parts(block, old.min(new).min(size));
                    assert!(kept[..kept.len().min(10)].iter().all(|&byte| byte == 7));
                    std::ptr::write_bytes(block, 7, new);
                    old = new;
                }
                heap.dealloc(block, layout(old));
                let zeros = heap.alloc_zeroed(layout(size));
                // An interpreter that watches every access takes a thousand times as long.
                let mut bytes = std::slice::from_raw_parts(zeros, size).iter().step_by(if cfg!(miri) { 4099 } else { 1 });
                assert!(bytes.all(|&byte| byte == 0), "though a used block waits");
                heap.dealloc(zeros, layout(size));
            }
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn little_waits_and_the_next_one_gets_it() {
        let heap = Heap::new();
        let waiting = || heap.kept.lock().expect("nobody panics").bytes;
        // SAFETY: blocks are freed with the layout they came with.
        unsafe {
            let first = heap.alloc(layout(8 * LARGE));
            heap.dealloc(first, layout(8 * LARGE));
            assert_eq!(waiting(), 8 * LARGE);
            let second = heap.alloc(layout(3 * LARGE));
            assert_eq!((first, waiting()), (second, 0), "cut to size");
            heap.dealloc(second, layout(3 * LARGE));
            assert_eq!(waiting(), 3 * LARGE);
            let third = heap.alloc(layout(4 * LARGE));
            assert_eq!(waiting(), 0, "what does not fit goes before more is asked for");
            heap.dealloc(third, layout(4 * LARGE));
            let blocks: Vec<*mut u8> = (0..100).map(|_| heap.alloc(layout(2 * LARGE))).collect();
            blocks.into_iter().for_each(|block| heap.dealloc(block, layout(2 * LARGE)));
        }
        assert!(waiting() <= MOST_KEPT);
        assert!(heap.kept.lock().expect("nobody panics").count <= MOST_BLOCKS);
    }
}
