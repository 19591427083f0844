//! `boulevard-fuzz`: fires random bytes at the parsers; see `scripts/fuzz`.
//!
//! ```text
//! boulevard-fuzz run [TARGET...] [--seconds S] [--executions N] [--seed N]     per target; all targets by default
//! boulevard-fuzz replay TARGET FILE...
//! boulevard-fuzz seeds FOLDER
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

mod bounded;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use boulevard_fuzz::drive::{self, Limits};
use boulevard_fuzz::targets::{self, Target};

/// Memory that one execution may hold: inputs have kilobytes.
const MEMORY: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: bounded::Bounded = bounded::Bounded::new(MEMORY);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.split_first() {
        Some((&"run", rest)) => run(rest),
        Some((&"replay", [name, files @ ..])) => replay(name, files),
        Some((&"seeds", [folder])) => seeds(Path::new(folder)),
        _ => {
            Err("usage: boulevard-fuzz run [TARGET...] [--seconds S] [--executions N] [--seed N] | replay TARGET FILE... | seeds FOLDER"
                .into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn find(name: &str) -> Result<Target, String> {
    targets::all().into_iter().find(|target| target.name == name).ok_or_else(|| format!("no target `{name}`"))
}

fn run(words: &[&str]) -> Result<(), String> {
    let mut limits = Limits { seconds: f64::INFINITY, executions: u64::MAX, seed: 1, failures: PathBuf::from("fuzz/failures") };
    let mut names = Vec::new();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| format!("{word} needs a value"));
        let bad = |text: &str| format!("{word}: `{text}` is no number");
        match word {
            "--seconds" => limits.seconds = value().and_then(|text| text.parse().map_err(|_| bad(text)))?,
            "--executions" => limits.executions = value().and_then(|text| text.parse().map_err(|_| bad(text)))?,
            "--seed" => limits.seed = value().and_then(|text| text.parse().map_err(|_| bad(text)))?,
            name => names.push(find(name)?),
        }
    }
    if limits.seconds.is_infinite() && limits.executions == u64::MAX {
        limits.seconds = 5.0;
    }
    let chosen = if names.is_empty() { targets::all() } else { names };
    println!("{:<14} {:>11} {:>11} {:>6} {:>8} {:>9} {:>9}", "target", "executions", "taken", "ways", "seconds", "slowest", "peak");
    for target in chosen {
        bounded::reset_peak();
        let record = drive::run(&target, &["seeds", "corpus"].map(|folder| Path::new("fuzz").join(folder).join(target.name)), &limits)?;
        println!(
            "{:<14} {:>11} {:>11} {:>6} {:>8.1} {:>6.1} ms {:>6} MB",
            target.name,
            record.executions,
            record.taken,
            record.ways,
            record.seconds,
            1e3 * record.slowest,
            bounded::peak() >> 20,
        );
    }
    Ok(())
}

fn replay(name: &str, files: &[&str]) -> Result<(), String> {
    let target = find(name)?;
    for file in files {
        let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        println!("{file}: {:?}", (target.run)(&bytes));
    }
    Ok(())
}

/// Writes the seeds of every target as files, for fuzzers that want a corpus: `fuzz/seeds` has them as they were.
fn seeds(folder: &Path) -> Result<(), String> {
    for target in targets::all() {
        let own = folder.join(target.name);
        std::fs::create_dir_all(&own).map_err(|error| error.to_string())?;
        for (place, bytes) in (target.seeds)().iter().enumerate() {
            std::fs::write(own.join(format!("seed-{place:02}")), bytes).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
