//! Coarse tasks: whole fits, folds, blocks of a matrix.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::crew::Crew;
use super::load::{LOOKS, free_cores};

/// Runs `work(i)` for every `i` in `0..count` on up to `threads` threads; results come back in order.
pub fn map<R: Send>(threads: usize, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    // A thread whose core is taken keeps the others waiting for its last piece.
    let threads = if threads > 1 && count > 1 { threads.min(count).min(free_cores(LOOKS)) } else { 1 };
    if threads == 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let run = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                break;
            }
            let result = work(i);
            *results[i].lock().expect("only one thread has this index") = Some(result);
        }
    };
    // Not a scope, which waits for all its threads: one whose core has to wake up first may begin when everything is done.
    Crew::new(threads).split(threads, &|_| run());
    results.into_iter().map(|slot| slot.into_inner().expect("no thread panicked").expect("every index was taken")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_keeps_the_order() {
        assert_eq!(map(3, 100, |i| i * i), (0..100).map(|i| i * i).collect::<Vec<_>>());
        assert!(map(4, 0, |i| i).is_empty());
    }

    /// Helpers that come early, late or not at all to the first round of a crew.
    #[test]
    fn short_work_is_complete_when_map_returns() {
        for size in 0..2000 {
            assert_eq!(map(3, size % 7, |i| i + size), (size..size + size % 7).collect::<Vec<_>>());
        }
    }
}
