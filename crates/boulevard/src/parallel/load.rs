//! How many cores other programs leave free: threads that have to share a core keep the others waiting.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Looks at the load before a piece of work: threads of our own that are about to end or to sleep are gone after a few.
pub(super) const LOOKS: usize = 5;

/// Crews of this process that are alive.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Counts a crew as long as it lives.
pub(super) struct AtWork(());

impl AtWork {
    pub(super) fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

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
        let Some(mut running) = running else { return usize::MAX };
        // Where nobody else of this process works with us, its threads that run are on their way to sleep: linear algebra's may keep turning for a
        // while after a product, and a table that was just made would cost the whole fit a core.
        if running > 1 && AT_WORK.load(Ordering::Relaxed) == 0 {
            running -= own_running().saturating_sub(1).min(running - 1);
        }
        free = free.max(cores.saturating_sub(running.saturating_sub(1)));
        if free >= cores {
            break;
        }
    }
    free
}

/// Threads of this process that run or want to, the caller among them; none where the system does not say.
fn own_running() -> usize {
    /// Nobody waits for a look at more.
    const MOST: usize = 64;
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let runs = |task: std::io::Result<std::fs::DirEntry>| {
        // "4711 (a name) R 1 ...": the name may hold anything, the last bracket ends it.
        let text = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        text.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('R'))
    };
    tasks.take(MOST).filter_map(runs).filter(|runs| *runs).count()
}

/// How many numbers a list such as `0-3,8` names.
fn listed(text: &str) -> usize {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    text.trim().split(',').map(count).sum::<Option<usize>>().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn threads_of_this_process_are_seen() {
        use std::sync::atomic::AtomicBool;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            // It runs or waits for a core: either counts. Only before it has begun it may be missed.
            let seen = (0..200).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                own_running() >= 2
            });
            stop.store(true, Ordering::Relaxed);
            assert!(seen);
        });
    }

    #[test]
    fn lists_of_cores_are_counted() {
        assert_eq!([listed("0\n"), listed("0-1"), listed("0-3,8"), listed("2,4-5\n")], [1, 2, 5, 3]);
        assert_eq!([listed(""), listed("3-1"), listed("many")], [usize::MAX; 3], "what is not understood hinders nobody");
    }
}
