//! Threads that live as long as one fit: coarse tasks, and a crew for passes of a few microseconds.
//!
//! No thread works beyond the call that made it (a process may fork at any time), and nothing depends on which thread does which part.
//! With `unsafe` code (docs/architecture.md).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

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

type Task = *const (dyn Fn(usize) + Sync);

/// Parts per round fit into this many bits of the ticket.
const PART_BITS: u32 = 16;
/// A helper that found nothing to do for this long goes to sleep.
const PATIENCE: Duration = Duration::from_micros(60);
/// Longest wait for helpers to begin.
const GREETING: Duration = Duration::from_micros(500);
/// Rounds of waiting for helpers after which the caller sleeps in between.
const LONG: u32 = 1 << 18;
/// Rounds over which splitting and working alone are timed against each other.
const WINDOW: usize = 128;
/// Rounds between two looks at the clock.
const LOOK: usize = 8;
/// Windows of splitting before working alone is timed again.
const KEEP_SPLIT: usize = 64;
/// Windows of working alone before splitting is tried again: few at first, because one loss may be an accident, and doubled each time
/// splitting loses, up to the second number.
const KEEP_ALONE: [usize; 2] = [8, 1024];

/// Whether splitting pays, found out by measuring: on a machine whose cores are busy with other things it may not.
struct Pace {
    split: bool,
    rounds: usize,
    start: Instant,
    /// Time of the last window alone.
    alone: Option<Duration>,
    /// Windows left before the other way is tried.
    left: usize,
    keep: usize,
}

impl Pace {
    fn new() -> Self {
        Self { split: false, rounds: 0, start: Instant::now(), alone: None, left: 0, keep: KEEP_ALONE[0] }
    }

    /// Called after every round.
    fn tick(&mut self) {
        self.rounds += 1;
        if !self.rounds.is_multiple_of(LOOK) {
            return;
        }
        let elapsed = self.start.elapsed();
        let lost = self.split && self.alone.is_some_and(|alone| elapsed >= alone);
        if self.rounds < WINDOW && !lost {
            return;
        }
        (self.rounds, self.start) = (0, Instant::now());
        match (self.split, self.left) {
            // Splitting was tried and is slower: work alone, and longer each time.
            (true, _) if lost => {
                (self.split, self.left) = (false, self.keep);
                self.keep = (2 * self.keep).min(KEEP_ALONE[1]);
            }
            // It is faster: go on, and forget how long working alone took.
            (true, 0) if self.alone.is_some() => {
                (self.alone, self.left, self.keep) = (None, KEEP_SPLIT, KEEP_ALONE[0]);
            }
            (true, 0) => (self.split, self.alone) = (false, None),
            // Every core is taken: a helper would lose its own in the middle of a part, and everybody would wait for it.
            (false, 0) if free_cores(LOOKS) < 2 => self.left = KEEP_ALONE[0],
            // Time one window alone, then try to split.
            (false, 0) => (self.split, self.alone) = (true, Some(elapsed)),
            _ => self.left -= 1,
        }
    }
}

/// Looks at the load before a piece of work: threads of our own that are about to end or to sleep are gone after a few.
const LOOKS: usize = 5;

/// Cores free of other work, the caller's own among them; very many where the system does not say. What only flickers up is gone at one of
/// the next `looks`; the first take a tenth of a millisecond, later ones up to half of one.
pub(crate) fn free_cores(looks: usize) -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| match std::fs::read_to_string("/sys/devices/system/cpu/online") {
        // For machines whose numbers mislead, and for tests, which want their threads whatever else runs.
        _ if std::env::var_os("BOULEVARD_IGNORE_LOAD").is_some() => usize::MAX,
        Ok(text) => listed(&text),
        Err(_) => usize::MAX,
    });
    if cores == usize::MAX {
        return cores;
    }
    let mut free = 1;
    for look in 0..looks {
        if look > 0 {
            std::thread::sleep(Duration::from_micros(if look < LOOKS { 30 } else { 400 }));
        }
        // "0.20 0.18 0.12 1/80 11206": the fourth word begins with the number of tasks that run or want to, the caller among them.
        let running = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| text.split([' ', '/']).nth(3)?.parse::<usize>().ok());
        let Some(running) = running else { return usize::MAX };
        free = free.max(cores.saturating_sub(running.saturating_sub(1)));
        if free >= cores {
            break;
        }
    }
    free
}

/// How many numbers a list such as `0-3,8` names.
fn listed(text: &str) -> usize {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    text.trim().split(',').map(count).sum::<Option<usize>>().unwrap_or(usize::MAX)
}

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
        while shared.begun.load(Ordering::Acquire) < helpers.len() && start.elapsed() < GREETING {
            std::thread::sleep(Duration::from_micros(10));
        }
        Self { shared, helpers, round: 0, pace: Pace::new() }
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

    fn split(&mut self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
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
        for parts in 1..500 {
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
            for round in 1..=20_000 {
                crew.run(4, &|part| {
                    counts[part].fetch_add(1, Ordering::Relaxed);
                });
                if round % 1000 == 0 {
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                }
            }
        }
    }

    #[test]
    fn lists_of_cores_are_counted() {
        assert_eq!([listed("0\n"), listed("0-1"), listed("0-3,8"), listed("2,4-5\n")], [1, 2, 5, 3]);
        assert_eq!([listed(""), listed("3-1"), listed("many")], [usize::MAX; 3], "what is not understood hinders nobody");
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
            for _ in 0..100 {
                crew.run(2, &|part| assert!(part == 0, "part one fails"));
            }
        });
        assert!(outcome.is_err());
    }
}
