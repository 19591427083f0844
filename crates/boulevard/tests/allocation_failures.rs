//! A process that runs out of memory: its nth large request is refused while it trains and saves over an older model. It may end with an
//! error or be ended by the allocator, but the file is the old one or the new one.
//!
//! A test of its own process, because it brings an allocator along and is run again by itself as the process that fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicIsize, Ordering};

use boulevard::data::generate;
use boulevard::persist::AnyModel;
use boulevard::prelude::*;

/// Requests from this size on are counted.
const LARGE: usize = 2048;
const COUNTDOWN: &str = "BOULEVARD_TEST_REFUSE";
const MODEL: &str = "BOULEVARD_TEST_MODEL";

/// Large requests until one is refused; below zero nothing is refused any more.
static LEFT: AtomicIsize = AtomicIsize::new(isize::MAX);

struct Refusing;

impl Refusing {
    fn refuses(size: usize) -> bool {
        size >= LARGE && LEFT.fetch_sub(1, Ordering::Relaxed) == 0
    }
}

// SAFETY: requests go to the system's allocator unchanged or are answered with a null pointer, which callers must expect.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about `layout` are handed on.
        if Self::refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        if Self::refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the pointer came from `System` with this layout.
        if Self::refuses(size) { std::ptr::null_mut() } else { unsafe { System.realloc(pointer, layout, size) } }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// What the failing process does: trains and saves.
fn train_and_save(path: &Path) {
    let data = generate::two_gaussians(120, 7, 12, 1.0);
    let refuse = std::env::var(COUNTDOWN).ok().and_then(|text| text.parse().ok()).unwrap_or(isize::MAX);
    LEFT.store(refuse, Ordering::Relaxed);
    let saved = Svc { kernel: Kernel::rbf(0.05), ..Svc::default() }.fit_in(&data, &Context::single()).and_then(|model| model.save(path));
    LEFT.store(isize::MAX, Ordering::Relaxed);
    saved.expect("whatever is not refused by the allocator works");
}

#[test]
fn a_refused_request_never_leaves_half_a_model() {
    if let Ok(path) = std::env::var(MODEL) {
        return train_and_save(Path::new(&path));
    }
    let folder = std::env::temp_dir().join(format!("boulevard-allocations-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model");
    let old = LinearSvc::default().fit(&generate::two_gaussians(40, 1, 3, 1.0)).unwrap();
    let old = AnyModel::from(old).to_bytes().unwrap();
    let (mut ended, mut done) = (0, 0);
    // Further apart as it goes on: most requests are of the fit's beginning.
    let mut refuse = 0;
    while done == 0 && refuse < 100_000 {
        std::fs::write(&path, &old).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_refused_request_never_leaves_half_a_model", "--nocapture"])
            .env(MODEL, &path)
            .env(COUNTDOWN, refuse.to_string())
            .output()
            .unwrap();
        if child.status.success() {
            // Fewer requests than that: nothing was refused, and the new model is there.
            done += 1;
            assert!(AnyModel::load(&path).is_ok_and(|model| model.kind() == "svc"));
        } else {
            ended += 1;
            let found = std::fs::read(&path).unwrap();
            let whole = found == old || AnyModel::from_bytes(&found).is_ok();
            assert!(whole, "request {refuse} refused: the file is damaged\n{}", String::from_utf8_lossy(&child.stderr));
        }
        refuse += 1 + refuse / 8;
    }
    assert!(ended > 3 && done == 1, "{ended} processes ended, {done} finished");
    std::fs::remove_dir_all(&folder).unwrap();
}
