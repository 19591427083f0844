//! Where the time on the card goes: for developers, and only where the feature `card-times` compiles it in. Kernels run while the program
//! goes on, so whoever times them waits for them: fits take a little longer then.

use boulevard_cuda::Card;

/// Does `work` as part of `phase`.
#[cfg(not(feature = "card-times"))]
pub(super) fn timed<T>(_card: &Card, _phase: &'static str, work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(feature = "card-times")]
pub(super) fn timed<T>(card: &Card, phase: &'static str, work: impl FnOnce() -> T) -> T {
    counting::timed(card, phase, work)
}

#[cfg(feature = "card-times")]
pub use counting::card_times;

#[cfg(feature = "card-times")]
mod counting {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};
    use std::time::Instant;

    use boulevard_cuda::Card;

    static WANTED: AtomicBool = AtomicBool::new(false);
    static TIMES: Mutex<BTreeMap<&'static str, (f64, u64)>> = Mutex::new(BTreeMap::new());

    /// Seconds and calls by phase since the last question; from now on phases are timed, or not.
    pub fn card_times(wanted: bool) -> BTreeMap<&'static str, (f64, u64)> {
        WANTED.store(wanted, Ordering::Relaxed);
        std::mem::take(&mut TIMES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(in super::super) fn timed<T>(card: &Card, phase: &'static str, work: impl FnOnce() -> T) -> T {
        if !WANTED.load(Ordering::Relaxed) {
            return work();
        }
        let _ = card.synchronize();
        let start = Instant::now();
        let done = work();
        let _ = card.synchronize();
        let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = times.entry(phase).or_insert((0.0, 0));
        *entry = (entry.0 + start.elapsed().as_secs_f64(), entry.1 + 1);
        done
    }
}
