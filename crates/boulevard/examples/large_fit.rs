//! One fit of a large table, with what it claims and what it took.
//!
//! ```text
//! cargo run --release -p boulevard --example large_fit -- FILE C GAMMA [TOLERANCE [CACHE_MB [pairs|blocks]]]
//! ```
//! The last column of the file is the label; `bench/large.py write ROWS FILE` makes one.

#![allow(clippy::print_stdout, reason = "an example says what it found")]

use std::time::Instant;

use boulevard::prelude::*;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, numbers @ ..] = &words[..] else { return Err(Error::data("say FILE C GAMMA [TOLERANCE [CACHE_MB [pairs|blocks]]]")) };
    let number = |place: usize, default: f64| {
        numbers.get(place).map_or(Ok(default), |text| text.parse().map_err(|_| Error::data(format!("`{text}` is not a number"))))
    };
    let data = Dataset::read(file)?;
    let mut solver = SolverSettings { tolerance: number(2, 1e-3)?, ..SolverSettings::default() };
    if numbers.len() > 3 {
        solver.cache_megabytes = Some(number(3, 0.0)?);
    }
    match numbers.get(4).map(String::as_str) {
        None => {}
        Some("pairs") => boulevard::internal::route::force_route(false),
        Some("blocks") => boulevard::internal::route::force_route(true),
        Some(other) => return Err(Error::data(format!("`{other}` is neither pairs nor blocks"))),
    }
    let svc = Svc { kernel: Kernel::rbf(number(1, 0.05)?), penalty: Penalty::C(number(0, 1.0)?), solver, ..Svc::default() };
    let start = Instant::now();
    let model = svc.fit(&data)?;
    let (seconds, report) = (start.elapsed().as_secs_f64(), &model.report);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).and_then(|line| line.split_whitespace().nth(1)).unwrap_or("?");
    println!(
        "{} x {}: {seconds:.4} s, {} steps, {} support vectors, objective {:.4}, violation {:.2e}, gap {:.1e}, peak {peak} kB; {}",
        data.len(),
        data.x.columns(),
        report.iterations,
        model.machine.len(),
        report.objective,
        report.violation,
        report.gap,
        report.route
    );
    Ok(())
}
