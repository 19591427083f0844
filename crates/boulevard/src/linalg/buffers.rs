//! Memory of large temporary matrices, kept per thread from one step of a method to the next.

use std::cell::RefCell;

thread_local! {
    /// Large buffers for reuse: every step needs the same few, and fresh memory costs more than filling it.
    static SPARE: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// Buffers kept per thread at most.
const MOST_SPARE: usize = 4;

/// Room for so many numbers, in memory that was used before where there is some; what it holds is of no meaning.
pub(crate) fn buffer(len: usize) -> Vec<f64> {
    let mut buffer = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    buffer.resize(len, 0.0);
    buffer
}

/// Gives a buffer back.
pub(crate) fn give_back(buffer: Vec<f64>) {
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < MOST_SPARE {
            spare.push(buffer);
        }
    });
}

/// Forgets all buffers of this thread.
pub(crate) fn release() {
    SPARE.with_borrow_mut(Vec::clear);
}
