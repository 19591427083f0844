//! Large blocks of memory straight from the system, for processes that live long. With `unsafe` code (docs/architecture.md).
//!
//! glibc keeps up to 64 MB of freed memory for every thread there ever was at a time, and does not give it back: a Python process that fits
//! one model after the other grows by some hundred MB before it stays as it is. Blocks from [`LARGE`] on are therefore mapped and unmapped
//! by themselves. Some of them wait for the next fit, because touching fresh memory costs more than filling it: the pairs of ten classes, a
//! few megabytes each and all of slightly different sizes, took 1.6 times as long while every one was mapped anew.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Blocks from here on come from the system.
const LARGE: usize = 1 << 19;
/// Bytes that wait at most, and in how many blocks.
const MOST_KEPT: usize = 64 << 20;
const MOST_BLOCKS: usize = 32;
/// Used blocks up to here are filled with zeros where zeros are asked for: five times as fast as fresh pages. Larger ones are often touched
/// in part only, and are exchanged for fresh pages.
const CLEARED: usize = 16 << 20;
/// Mappings are multiples of this, at least as large as a page on every machine we know.
const PAGE: usize = 1 << 16;
/// A block begins so many bytes into its mapping; before it stands how long the mapping is, because a waiting one may be longer than what is
/// asked for. Larger alignments than this are left to the system's allocator.
const HEAD: usize = 64;
/// But not more than so many times as long.
const LONGEST: usize = 4;
/// How often somebody who finds the waiting mappings locked tries again (a microsecond or two; a new mapping takes longer).
const TRIES: usize = 64;

/// Bytes that [`Heap::prepare`] makes ready, those that are mapped for it, because vectors ask for more than they fill at first, and those of
/// one step.
const READY: usize = 16 << 20;
const READY_MAPPED: usize = READY + READY / 4;
const READY_STEP: usize = 1 << 18;
/// Pieces that the system's allocator has ready, and how long they are.
const READY_PIECES: usize = 32;
const READY_PIECE: usize = 1 << 16;

/// Bytes that are ready, and the process that they are ready for: a fork has to copy every page before it writes it.
static READY_LEFT: AtomicUsize = AtomicUsize::new(0);
static READY_FOR: AtomicU32 = AtomicU32::new(0);

/// Whether the next block of so many bytes has memory that was touched before.
pub(crate) fn is_ready(bytes: usize) -> bool {
    bytes >= LARGE && bytes <= READY_LEFT.load(Ordering::Relaxed) && READY_FOR.load(Ordering::Relaxed) == std::process::id()
}

/// How many pieces of work have a limit of memory now.
static LIMITED: AtomicUsize = AtomicUsize::new(0);

/// While one of these lives no freed block waits, and none is longer than what was asked for: what waits counts against a limit too.
pub struct Sparing(());

impl Sparing {
    /// Whoever has a limit holds this as long as it works.
    pub fn begin() -> Self {
        LIMITED.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Sparing {
    fn drop(&mut self) {
        LIMITED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The allocator, to be made a program's own with `#[global_allocator]`.
pub struct Heap {
    kept: Mutex<Kept>,
}

/// Mappings that wait, the one used last at the end: address and bytes. An array, because an allocator must not allocate.
struct Kept {
    blocks: [(usize, usize); MOST_BLOCKS],
    count: usize,
    bytes: usize,
    /// What is left of the mapping that was made ready: address and bytes.
    ready: (usize, usize),
}

impl Heap {
    /// Nothing waits yet.
    pub const fn new() -> Self {
        Self { kept: Mutex::new(Kept { blocks: [(0, 0); MOST_BLOCKS], count: 0, bytes: 0, ready: (0, 0) }) }
    }

    /// The mappings that wait, unless somebody else has them for long: it may be a thread that a fork left behind.
    fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        (0..TRIES).find_map(|_| {
            let kept = self.kept.try_lock().ok();
            if kept.is_none() {
                std::hint::spin_loop();
            }
            kept
        })
    }

    /// A mapping of at least so many bytes from those that wait: the shortest, and of equal ones that used last, whose pages are most likely there.
    fn take(&self, bytes: usize) -> Option<*mut u8> {
        let mut kept = self.lock()?;
        if LIMITED.load(Ordering::Relaxed) > 0 {
            kept.clear();
            return None;
        }
        let allowed = bytes..=bytes.saturating_mul(LONGEST);
        let fits = (0..kept.count).rev().filter(|&at| allowed.contains(&kept.blocks[at].1));
        let found = fits.min_by_key(|&at| kept.blocks[at].1);
        if found.is_none() && bytes > MOST_KEPT / 2 {
            kept.clear(); // A large fit begins: memory does not add up.
        }
        found.map(|at| kept.remove(at) as *mut u8)
    }

    /// A mapping full of zeros: of what was made ready, or a new one, which costs nothing until it is touched.
    fn take_new(&self, bytes: usize) -> *mut u8 {
        if READY_LEFT.load(Ordering::Relaxed) > 0
            && let Some(start) = self.lock().and_then(|mut kept| kept.cut(bytes))
        {
            return Self::head(start, bytes);
        }
        Self::head(system::map(bytes), bytes)
    }

    /// Makes some memory ready for the first blocks that are asked for: found, cleared and mapped, as later ones find it. Where nobody waits
    /// for it, that is two thirds of the time of a first fit of 2000 rows. Without effect where the system cannot do it. To be called from a
    /// thread of its own.
    pub fn prepare(&self) {
        // Small blocks: glibc hands what a thread had when it ended to the next thread that begins.
        let pieces: Vec<Vec<u8>> = (0..READY_PIECES).map(|_| vec![1; READY_PIECE]).collect();
        drop(std::hint::black_box(pieces));
        let start = system::map(READY_MAPPED);
        if start.is_null() {
            return;
        }
        let made = (0..READY).step_by(READY_STEP).all(|from| system::populate(start.wrapping_add(from), READY_STEP));
        match self.lock().filter(|kept| made && kept.ready.1 == 0 && LIMITED.load(Ordering::Relaxed) == 0) {
            Some(mut kept) => {
                READY_FOR.store(std::process::id(), Ordering::Relaxed);
                kept.set_ready(start as usize, READY_MAPPED);
            }
            None => system::unmap(start, READY_MAPPED),
        }
    }

    /// Writes down how long a mapping is; its block.
    fn head(mapping: *mut u8, bytes: usize) -> *mut u8 {
        if mapping.is_null() {
            return mapping;
        }
        // SAFETY: a mapping of our own, longer than its head.
        unsafe {
            mapping.cast::<usize>().write(bytes);
            mapping.add(HEAD)
        }
    }

    /// The mapping of a block, and how long it is.
    ///
    /// # Safety
    ///
    /// The block is one of [`mapped`]'s.
    unsafe fn mapping(block: *mut u8) -> (*mut u8, usize) {
        // SAFETY: every such block has its head before it.
        unsafe {
            let mapping = block.sub(HEAD);
            (mapping, mapping.cast::<usize>().read())
        }
    }

    /// Keeps a mapping for the next one who asks; those that wait longest go.
    fn give(&self, mapping: *mut u8, bytes: usize) {
        if bytes <= MOST_KEPT
            && LIMITED.load(Ordering::Relaxed) == 0
            && let Some(mut kept) = self.lock()
        {
            kept.leave_room(bytes);
            let at = kept.count;
            kept.blocks[at] = (mapping as usize, bytes);
            kept.count += 1;
            kept.bytes += bytes;
        } else {
            system::unmap(mapping, bytes);
        }
    }
}

impl Kept {
    /// Takes a mapping out of the row; its address.
    fn remove(&mut self, at: usize) -> usize {
        let (address, length) = self.blocks[at];
        self.blocks.copy_within(at + 1..self.count, at);
        self.count -= 1;
        self.bytes -= length;
        address
    }

    fn set_ready(&mut self, start: usize, bytes: usize) {
        self.ready = (start, bytes);
        READY_LEFT.store(bytes.saturating_sub(READY_MAPPED - READY), Ordering::Relaxed);
    }

    /// A mapping of so many bytes from what was made ready.
    fn cut(&mut self, bytes: usize) -> Option<*mut u8> {
        let (start, left) = self.ready;
        if bytes > left {
            return None;
        }
        self.set_ready(start + bytes, left - bytes);
        Some(start as *mut u8)
    }

    /// Gives everything back.
    fn clear(&mut self) {
        self.leave_room(MOST_KEPT);
        let (start, bytes) = self.ready;
        if bytes > 0 {
            system::unmap(start as *mut u8, bytes);
            self.set_ready(0, 0);
        }
    }

    /// Gives mappings back, those that wait longest first, until one more of so many bytes may wait.
    fn leave_room(&mut self, bytes: usize) {
        while self.count > 0 && (self.count == MOST_BLOCKS || self.bytes + bytes > MOST_KEPT) {
            let length = self.blocks[0].1;
            system::unmap(self.remove(0) as *mut u8, length);
        }
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a block is one of ours, and the bytes its mapping has at least. It depends on the layout alone, so that it is the same when it is
/// freed.
fn mapped(layout: Layout) -> Option<usize> {
    if !system::HAS || layout.size() < LARGE || layout.align() > HEAD {
        return None;
    }
    layout.size().checked_add(HEAD)?.checked_next_multiple_of(PAGE)
}

// SAFETY: blocks are either the system allocator's or lie in mappings that nobody else has; which of the two is decided by the layout, which
// callers must give back as it was.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match mapped(layout) {
            // SAFETY: a mapping that waits has its head.
            Some(bytes) => self.take(bytes).map_or_else(|| self.take_new(bytes), |mapping| unsafe { mapping.add(HEAD) }),
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(bytes) = mapped(layout) else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        };
        let Some(mapping) = self.take(bytes) else { return self.take_new(bytes) };
        // SAFETY: the mapping is ours, and as long as its head says.
        unsafe {
            let block = mapping.add(HEAD);
            let (_, length) = Self::mapping(block);
            let by_hand = if bytes <= CLEARED { layout.size() } else { PAGE - HEAD };
            if bytes > CLEARED && !system::clear(mapping.add(PAGE), length - PAGE) {
                system::unmap(mapping, length);
                return self.take_new(bytes);
            }
            std::ptr::write_bytes(block, 0, by_hand);
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match mapped(layout) {
            Some(_) => {
                // SAFETY: the layout says that the block is one of ours.
                let (mapping, length) = unsafe { Self::mapping(block) };
                self.give(mapping, length);
            }
            // SAFETY: the caller's promise.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is one that layouts may have.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (mapped(layout), mapped(new)) {
            (Some(_), Some(bytes)) => {
                // SAFETY: the layout says that the block is one of ours.
                let (mapping, length) = unsafe { Self::mapping(block) };
                let longest = if LIMITED.load(Ordering::Relaxed) > 0 { 1 } else { LONGEST };
                if (bytes..=bytes.saturating_mul(longest)).contains(&length) {
                    return block;
                }
                Self::head(system::remap(mapping, length, bytes), bytes)
            }
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

    /// Makes pages ready to be written, with what is in them; whether the system did (Linux does since 5.14).
    pub(super) fn populate(block: *mut u8, bytes: usize) -> bool {
        const MADV_POPULATE_WRITE: i32 = 23;
        // SAFETY: the advice takes no page away and changes no byte.
        unsafe { libc::madvise(block.cast(), bytes, MADV_POPULATE_WRITE) == 0 }
    }

    pub(super) fn unmap(block: *mut u8, bytes: usize) {
        // SAFETY: callers own these pages and forget them. (That it fails is only possible where they do not exist.)
        unsafe { libc::munmap(block.cast(), bytes) };
    }

    /// Makes pages zero again by giving them back; whether that worked.
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

    pub(super) fn populate(_: *mut u8, _: usize) -> bool {
        false
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

    const MEGABYTE: usize = 1 << 20;

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
            assert_eq!(waiting(), 8 * LARGE + PAGE);
            let second = heap.alloc(layout(3 * LARGE));
            assert_eq!((first, waiting()), (second, 0), "longer than asked for");
            let third = heap.alloc(layout(8 * LARGE));
            heap.dealloc(second, layout(3 * LARGE));
            heap.dealloc(third, layout(8 * LARGE));
            assert_eq!(waiting(), 2 * (8 * LARGE + PAGE));
            let (fourth, other) = (heap.alloc(layout(8 * LARGE)), heap.alloc(layout(2 * LARGE - PAGE)));
            assert_eq!((third, waiting()), (fourth, 8 * LARGE + PAGE), "the one used last, and not far too long ones");
            heap.dealloc(fourth, layout(8 * LARGE));
            heap.dealloc(other, layout(2 * LARGE - PAGE));
            let large = heap.alloc(layout(MOST_KEPT - PAGE));
            assert_eq!(waiting(), 0, "nothing waits beside a large one");
            heap.dealloc(large, layout(MOST_KEPT - PAGE));
            assert_eq!(waiting(), MOST_KEPT);
            let blocks: Vec<*mut u8> = (0..100).map(|_| heap.alloc(layout(2 * LARGE))).collect();
            blocks.into_iter().for_each(|block| heap.dealloc(block, layout(2 * LARGE)));
        }
        assert!(waiting() > 0 && waiting() <= MOST_KEPT);
        assert!(heap.kept.lock().expect("nobody panics").count <= MOST_BLOCKS);
        heap.prepare();
        assert!(is_ready(READY) && !is_ready(READY + 1) && !is_ready(100), "{READY_LEFT:?}");
        // SAFETY: as above.
        unsafe {
            let (first, second) = (heap.alloc_zeroed(layout(9 * MEGABYTE)), heap.alloc(layout(6 * MEGABYTE)));
            assert_eq!(second as usize - first as usize, 9 * MEGABYTE + PAGE, "one after the other");
            assert!(std::slice::from_raw_parts(first, 9 * MEGABYTE).iter().all(|&byte| byte == 0));
            std::ptr::write_bytes(first, 1, 9 * MEGABYTE);
            std::ptr::write_bytes(second, 2, 6 * MEGABYTE);
            assert!(!is_ready(MEGABYTE), "what is left was never touched");
            let third = heap.alloc(layout(8 * MEGABYTE));
            assert!(third < first || third > second, "there is no room");
            for (block, size) in [(first, 9), (second, 6), (third, 8)] {
                heap.dealloc(block, layout(size * MEGABYTE));
            }
        }
        heap.prepare();
        assert!(!is_ready(READY), "a part of the first is left, and that is enough");
        let _sparing = Sparing::begin();
        // SAFETY: as above.
        unsafe {
            let block = heap.alloc(layout(2 * LARGE));
            assert_eq!(waiting(), 0, "what waits counts against a limit");
            heap.dealloc(block, layout(2 * LARGE));
            assert_eq!(waiting(), 0);
        }
    }
}
