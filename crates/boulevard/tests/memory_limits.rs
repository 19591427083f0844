//! A memory limit holds for every method: what a fit adds to the process at its peak is at most a tenth more than was allowed, or the fit
//! is refused with what it needs. `bench/trust/memory.py` asks the same of every estimator on more shapes.
//!
//! The peak belongs to a process, so this test runs itself again, once per case.

use std::process::Command;
use std::time::Duration;

use boulevard::data::generate::{Clusters, classification};
use boulevard::prelude::*;

const CASE: &str = "BOULEVARD_TEST_CASE";
const ADDED: &str = "added bytes: ";

/// Learner, rows, columns, megabytes allowed.
const CASES: [(&str, usize, usize, usize); 6] = [
    ("svc", 6_000, 20, 30),
    ("linear", 20_000, 40, 60),
    ("pareto", 1_500, 20, 40),
    ("boosted", 1_500, 20, 60),
    ("induction", 600, 100, 40),
    ("selection", 600, 200, 40),
];

/// A line of this process' status, in bytes.
fn status(name: &str) -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

fn fit(name: &str, data: &boulevard::data::Dataset<'_>, context: &Context<'_>) -> boulevard::Result<()> {
    match name {
        "svc" => Svc::default().fit_in(data, context).map(drop),
        "linear" => LinearSvc::default().fit_in(data, context).map(drop),
        "pareto" => ParetoSvc { n_points: 5, ..ParetoSvc::default() }.fit_in(data, context).map(drop),
        "boosted" => BoostedSvc { max_rounds: 3, ..BoostedSvc::default() }.fit_in(data, context).map(drop),
        "induction" => FeatureInduction { max_induced: 2, ..FeatureInduction::default() }.fit_in(data, context).map(drop),
        _ => MultiTaskSelection::default().fit_in(data, context).map(drop),
    }
}

/// One case, in a process of its own.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
fn measure((name, rows, columns, megabytes): (&str, usize, usize, usize)) {
    let shape = Clusters { columns, ..Clusters::default() };
    // What a first fit loads and keeps is not the second one's.
    let _ = fit(name, &classification(40, 1, &shape).unwrap(), &Context::single());
    let data = classification(rows, 1, &shape).unwrap();
    let context = Context { memory: Some(megabytes << 20), ..Context::single() }.with_time_limit(Duration::from_secs(5));
    // "5" sets the peak back to what is resident now.
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        return println!("{ADDED}0 unknown");
    }
    let before = status("VmRSS:").unwrap();
    let word = match fit(name, &data, &context) {
        Ok(()) | Err(boulevard::Error::Stopped { .. }) => "fitted".to_owned(),
        Err(boulevard::Error::Memory { .. }) => "refused".to_owned(),
        Err(error) => format!("failed: {error}"),
    };
    println!("{ADDED}{} {word}", status("VmHWM:").unwrap().saturating_sub(before));
}

#[test]
fn fits_of_every_method_keep_to_their_memory() {
    if let Ok(case) = std::env::var(CASE) {
        return measure(CASES[case.parse::<usize>().unwrap()]);
    }
    if status("VmHWM:").is_none() {
        return;
    }
    let mut fitted = 0;
    for (case, &(name, rows, columns, megabytes)) in CASES.iter().enumerate() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "fits_of_every_method_keep_to_their_memory", "--nocapture"])
            .env(CASE, case.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout).into_owned();
        let said = text.split(ADDED).nth(1).unwrap_or_else(|| panic!("{name}: {text}{}", String::from_utf8_lossy(&child.stderr)));
        let (added, word) = said.lines().next().unwrap().split_once(' ').unwrap();
        assert!(["fitted", "refused", "unknown"].contains(&word), "{name}: {word}");
        fitted += usize::from(word == "fitted");
        let (added, allowed) = (added.parse::<usize>().unwrap(), megabytes << 20);
        assert!(added <= allowed + allowed / 10, "{name}, {rows} x {columns}: {} MB added, {megabytes} allowed", added >> 20);
    }
    assert!(fitted >= 3, "limits that nothing fits in prove little: {fitted} fitted");
}
