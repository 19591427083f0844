//! Helpers for passes of a few microseconds: they spin for work while a solver iterates.
//!
//! With `unsafe` code (docs/architecture.md).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::load::AtWork;
use super::pace::Pace;

type Task = *const (dyn Fn(usize) + Sync);

/// Parts per round fit into this many bits of the ticket.
const PART_BITS: u32 = 16;
/// A helper that found nothing to do for this long goes to sleep.
const PATIENCE: Duration = Duration::from_micros(60);
/// Longest wait for helpers to begin.
const LONGEST_START: Duration = Duration::from_micros(500);
/// Rounds of waiting for helpers after which the caller sleeps in between.
const LONG: u32 = 1 << 18;

struct Shared {
    /// Round number, its number of parts and the next unclaimed part, in one word so that a claim is always one of its round.
    ticket: AtomicU64,
    finished: AtomicUsize,
    task: Mutex<Option<SendTask>>,
    sleeping: AtomicUsize,
    panicked: AtomicBool,
    quit: AtomicBool,
    /// Helpers that have begun.
    begun: AtomicUsize,
}

#[derive(Clone, Copy)]
struct SendTask(Task);
// SAFETY: the pointer is only followed by a helper that holds a claimed part; `Crew::run` does not return before that part is finished,
// so the closure, which is `Sync`, is still alive.
unsafe impl Send for SendTask {}

impl Shared {
    /// Claims a part of the current round, if one is left.
    fn claim(&self) -> Option<usize> {
        let mut ticket = self.ticket.load(Ordering::Acquire);
        loop {
            let low = |bits: u64| (bits & ((1 << PART_BITS) - 1)) as usize;
            let (part, parts) = (low(ticket), low(ticket >> PART_BITS));
            if part >= parts {
                return None;
            }
            match self.ticket.compare_exchange_weak(ticket, ticket + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(part),
                Err(now) => ticket = now,
            }
        }
    }
}

/// Helpers that spin for work while a solver iterates.
///
/// A round is cut into parts that are claimed one by one by whoever is free, the caller included. The caller never waits for a part
/// that nobody started, and the crew times itself: where another process holds the cores it works alone until that changes.
pub struct Crew {
    shared: Arc<Shared>,
    helpers: Vec<Thread>,
    round: u64,
    pace: Pace,
    /// Others of this process are told that somebody works.
    _at_work: AtWork,
}

impl Crew {
    /// A crew of `threads`, the caller included.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            ticket: AtomicU64::new(0),
            finished: AtomicUsize::new(0),
            task: Mutex::new(None),
            sleeping: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            begun: AtomicUsize::new(0),
        });
        let mut helpers = Vec::new();
        for number in 1..threads {
            let shared = Arc::clone(&shared);
            // A system that refuses threads gets the same result from fewer.
            match std::thread::Builder::new().name(format!("boulevard-{number}")).spawn(move || help(&shared)) {
                Ok(handle) => helpers.push(handle.thread().clone()),
                Err(_) => break,
            }
        }
        // Linux may put a new thread behind its maker on the same core, where it waits for the next tick though another core idles. A maker
        // that sleeps for a moment lets it begin and go to sleep in turn; woken for work, it finds the idle core.
        let start = Instant::now();
        while shared.begun.load(Ordering::Acquire) < helpers.len() && start.elapsed() < LONGEST_START {
            std::thread::sleep(Duration::from_micros(10));
        }
        Self { shared, helpers, round: 0, pace: Pace::new(), _at_work: AtWork::begin() }
    }

    /// Threads in the crew.
    pub fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Runs `work(part)` for every part in `0..parts`, each exactly once, and waits for all of them.
    pub fn run(&mut self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        assert!(parts < 1 << PART_BITS, "few parts");
        if parts > 1 && !self.helpers.is_empty() {
            if self.pace.split {
                self.split(parts, work);
            } else {
                (0..parts).for_each(work);
            }
            self.pace.tick();
        } else {
            (0..parts).for_each(work);
        }
    }

    /// [`Crew::run`] for parts of a millisecond or so: worth splitting without a trial.
    pub(crate) fn share(&mut self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        if parts > 1 && !self.helpers.is_empty() {
            self.split(parts, work);
        } else {
            (0..parts).for_each(work);
        }
    }

    /// [`Crew::run`] whatever the pace says.
    pub(super) fn split(&mut self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        let shared = &*self.shared;
        self.round += 1;
        // SAFETY: only the lifetime is erased; see `SendTask` for why nobody follows the pointer after this call.
        let task: Task = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Task>(std::ptr::from_ref(work)) };
        *shared.task.lock().expect("helpers do not panic while they hold it") = Some(SendTask(task));
        shared.finished.store(0, Ordering::Relaxed);
        shared.ticket.store((self.round << PART_BITS | parts as u64) << PART_BITS, Ordering::SeqCst);
        if shared.sleeping.load(Ordering::SeqCst) > 0 {
            self.helpers.iter().for_each(Thread::unpark);
        }
        // Whatever happens in `work`, the helpers must be done before the closure's borrow ends.
        let guard = Wait { shared, parts };
        while let Some(part) = shared.claim() {
            work(part);
            shared.finished.fetch_add(1, Ordering::Release);
        }
        drop(guard);
        assert!(!shared.panicked.load(Ordering::Relaxed), "a helper thread panicked");
    }
}

/// Waits until every claimed part is finished, also when the caller's own part panics.
struct Wait<'a> {
    shared: &'a Shared,
    parts: usize,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Claim what is left, so that only parts in other hands are waited for; the caller's own part counts as finished.
            while self.shared.claim().is_some() {
                self.shared.finished.fetch_add(1, Ordering::Release);
            }
            self.shared.finished.fetch_add(1, Ordering::Release);
        }
        let mut spins = 0u32;
        while self.shared.finished.load(Ordering::Acquire) < self.parts {
            spins = spins.saturating_add(1);
            match spins {
                // A millisecond or so: this is no short pass.
                LONG.. => std::thread::sleep(Duration::from_micros(20)),
                // The helper may have lost its core: give it ours.
                _ if spins.is_multiple_of(4096) => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // They hold nothing of the caller's and end by themselves; waiting for one that sleeps can take longer than the work did.
        self.shared.quit.store(true, Ordering::SeqCst);
        self.helpers.iter().for_each(Thread::unpark);
    }
}

fn help(shared: &Shared) {
    let rest = |round: u64| {
        shared.sleeping.fetch_add(1, Ordering::SeqCst);
        // A round published before the line above is seen here; one published after it unparks us.
        if shared.ticket.load(Ordering::SeqCst) >> (2 * PART_BITS) == round && !shared.quit.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        shared.sleeping.fetch_sub(1, Ordering::SeqCst);
    };
    shared.begun.fetch_add(1, Ordering::Release);
    rest(0);
    let mut idle_since = Instant::now();
    let mut spins = 0u32;
    loop {
        if shared.quit.load(Ordering::Relaxed) {
            return;
        }
        let round = shared.ticket.load(Ordering::Acquire) >> (2 * PART_BITS);
        if let Some(part) = shared.claim() {
            let task = shared.task.lock().expect("the caller does not panic while it holds it").expect("a claimed part has a task");
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                // SAFETY: this part is claimed and not finished, so `Crew::run` is still waiting and the closure alive.
                unsafe { (*task.0)(part) }
            }));
            if outcome.is_err() {
                shared.panicked.store(true, Ordering::Relaxed);
            }
            shared.finished.fetch_add(1, Ordering::Release);
            (idle_since, spins) = (Instant::now(), 0);
            continue;
        }
        spins += 1;
        if spins.is_multiple_of(64) && idle_since.elapsed() > PATIENCE {
            rest(round);
            (idle_since, spins) = (Instant::now(), 0);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Helpers that come early, late or not at all to the first round of a crew.
    #[test]
    fn a_first_round_is_complete_when_it_returns() {
        // An interpreter that watches every access takes a thousand times as long.
        for parts in 1..if cfg!(miri) { 6 } else { 500 } {
            let count = AtomicUsize::new(0);
            Crew::new(3).split(parts, &|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), parts);
        }
    }

    #[test]
    fn every_part_runs_exactly_once_per_round() {
        for threads in [1, 2, 3] {
            let mut crew = Crew::new(threads);
            let counts: Vec<AtomicUsize> = (0..4).map(|_| AtomicUsize::new(0)).collect();
            for round in 1..=if cfg!(miri) { 30 } else { 20_000 } {
                crew.run(4, &|part| {
                    counts[part].fetch_add(1, Ordering::Relaxed);
                });
                if round % 1000 == 0 || cfg!(miri) {
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                }
            }
        }
    }

    #[test]
    fn work_after_a_pause_is_still_done() {
        let mut crew = Crew::new(2);
        let sum = AtomicUsize::new(0);
        for _ in 0..3 {
            crew.run(2, &|part| {
                sum.fetch_add(part + 1, Ordering::Relaxed);
            });
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(sum.into_inner(), 9);
    }

    #[test]
    fn a_panic_in_a_part_reaches_the_caller() {
        let outcome = std::panic::catch_unwind(|| {
            let mut crew = Crew::new(2);
            for _ in 0..if cfg!(miri) { 10 } else { 100 } {
                crew.run(2, &|part| assert!(part == 0, "part one fails"));
            }
        });
        assert!(outcome.is_err());
    }
}
