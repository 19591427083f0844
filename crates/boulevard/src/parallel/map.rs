//! Coarse tasks: whole fits, folds, blocks of a matrix.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::crew::Crew;
use super::load::{LOOKS, free_cores};
use crate::error::Result;

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

/// [`map`] of work that may fail or be stopped: after an error nothing new is begun, and the first one comes back.
pub(crate) fn try_map<R: Send>(threads: usize, count: usize, work: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    let failed = AtomicBool::new(false);
    let results = map(threads, count, |i| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(i);
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        Some(result)
    });
    // Whatever was not begun has an error somewhere beside it.
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_keeps_the_order() {
        assert_eq!(map(3, 100, |i| i * i), (0..100).map(|i| i * i).collect::<Vec<_>>());
        assert!(map(4, 0, |i| i).is_empty());
    }

    #[test]
    fn nothing_is_begun_after_an_error() {
        for threads in [1, 3] {
            let (begun, count) = (AtomicUsize::new(0), if cfg!(miri) { 100 } else { 10_000 });
            let outcome = try_map(threads, count, |i| {
                begun.fetch_add(1, Ordering::Relaxed);
                if i == 5 { Err(crate::error::Error::data("no")) } else { Ok(std::thread::yield_now()) }
            });
            assert!(outcome.is_err() && begun.into_inner() < count);
            assert_eq!(try_map(threads, 5, |i| Ok(i + 1)).unwrap(), [1, 2, 3, 4, 5]);
        }
    }

    /// Helpers that come early, late or not at all to the first round of a crew.
    #[test]
    fn short_work_is_complete_when_map_returns() {
        for size in 0..if cfg!(miri) { 30 } else { 2000 } {
            assert_eq!(map(3, size % 7, |i| i + size), (size..size + size % 7).collect::<Vec<_>>());
        }
    }
}
