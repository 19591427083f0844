//! The loop: change, run, keep what went a new way; stop at the first broken promise with the input on disk.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::mutate::{Dice, mutated};
use crate::targets::{Target, Way};

/// How long to go on.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Seconds.
    pub seconds: f64,
    /// Executions.
    pub executions: u64,
    /// The dice's seed.
    pub seed: u64,
    /// Where inputs are saved that broke a promise.
    pub failures: PathBuf,
}

/// What a run saw.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Inputs tried.
    pub executions: u64,
    /// Inputs the parser took.
    pub taken: u64,
    /// Different ways that inputs went.
    pub ways: usize,
    /// The longest execution in seconds.
    pub slowest: f64,
    /// All seconds.
    pub seconds: f64,
}

/// An execution that takes longer is a broken promise too: inputs are small.
const PATIENCE: Duration = Duration::from_secs(20);
/// Inputs that are kept beside the seeds.
const MOST_KEPT: usize = 4000;

/// What runs at the moment, for the watchman.
static NOW: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

/// The last panic's words. Panics that the library catches itself (those of the Parquet reader's crate) concern nobody.
static WORDS: Mutex<String> = Mutex::new(String::new());

/// Runs one target until a limit is reached, from its seeds and the files of some folders. An error names the file with the input that
/// broke a promise.
pub fn run(target: &Target, folders: &[PathBuf], limits: &Limits) -> Result<Record, String> {
    let mut pool = (target.seeds)();
    pool.extend(folders.iter().flat_map(|folder| files_of(folder)));
    if pool.is_empty() {
        return Err(format!("{}: no seeds", target.name));
    }
    let seeds = pool.clone();
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut words) = WORDS.lock() {
            *words = panic.to_string();
        }
    }));
    let mut record = Record::default();
    let mut seen = HashSet::new();
    let mut dice = Dice::new(limits.seed);
    let start = Instant::now();
    let done = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| watch(target.name, &limits.failures, &done));
        let result = (|| {
            let mut next = seeds.iter();
            while record.executions < limits.executions && start.elapsed().as_secs_f64() < limits.seconds {
                // The seeds themselves come first.
                let input = next.next().cloned().unwrap_or_else(|| mutated(&mut dice, &pool, seeds.len(), target.words));
                let begin = Instant::now();
                *NOW.lock().expect("nobody panics holding it") = Some((begin, input.clone()));
                let way = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
                *NOW.lock().expect("nobody panics holding it") = None;
                record.executions += 1;
                record.slowest = record.slowest.max(begin.elapsed().as_secs_f64());
                let Ok(Way { taken, print }) = way else {
                    let words = WORDS.lock().map(|words| words.clone()).unwrap_or_default();
                    return Err(format!("{}: {words}\ninput in {}", target.name, save(target.name, &limits.failures, &input)));
                };
                record.taken += u64::from(taken);
                if seen.insert((taken, print)) && pool.len() < seeds.len() + MOST_KEPT && !input.is_empty() {
                    pool.push(input);
                }
            }
            Ok(())
        })();
        done.store(true, Ordering::Relaxed);
        result
    });
    let _ = std::panic::take_hook();
    outcome?;
    record.ways = seen.len();
    record.seconds = start.elapsed().as_secs_f64();
    Ok(record)
}

/// Ends the program when an execution does not end: nothing else can.
#[allow(clippy::print_stderr, reason = "the last words of a program")]
fn watch(name: &str, failures: &Path, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        let hangs = NOW.lock().map(|now| now.as_ref().filter(|(begin, _)| begin.elapsed() > PATIENCE).map(|(_, input)| input.clone()));
        if let Ok(Some(input)) = hangs {
            let file = save(name, failures, &input);
            eprintln!("error: {name}: no answer in {PATIENCE:?}; input in {file}");
            std::process::abort();
        }
    }
}

fn save(name: &str, folder: &Path, input: &[u8]) -> String {
    let print = input.iter().fold(0u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let path = folder.join(format!("{name}-{print:016x}"));
    match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, input)) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("(not saved: {error}) {input:?}"),
    }
}

/// The files of a folder in the order of their names; none if there is no such folder.
pub fn files_of(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}
