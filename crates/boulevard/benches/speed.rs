//! What can only be measured from Rust:
//!
//! ```text
//! cargo bench -p boulevard --bench speed -- tiny FILE       fits of 200 rows each, cut from a table (bench/speed.py tiny --export FILE)
//! cargo bench -p boulevard --bench speed -- large FILE C GAMMA [TOLERANCE]   one fit of a large table (bench/large.py writes it)
//! cargo bench -p boulevard --bench speed -- refits FILE     50 linear refits with one more column each, warm against cold (spambase)
//! ```
//! The last column of a file is the label.

use std::time::{Duration, Instant};

use boulevard::data::{Scaler, Scaling};
use boulevard::prelude::*;
use boulevard::random::Random;
use boulevard::solver::linear::LinearLoss;
use boulevard::svm::WarmStart;

/// Rows of a tiny fit.
const TINY: usize = 200;
const REPEATS: usize = 5;
const REFITS: usize = 50;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tiny", file] => tiny(file),
        ["refits", file] => refits(file),
        ["large", file, c, gamma] => large(file, c, gamma, "1e-3"),
        ["large", file, c, gamma, tolerance] => large(file, c, gamma, tolerance),
        _ => println!("nothing measured; ask for `tiny FILE`, `refits FILE` or `large FILE C GAMMA`"),
    }
}

fn read(file: &str) -> Dataset<'static> {
    Dataset::read(file).unwrap_or_else(|error| panic!("{error}"))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// One fit of a standardised table, with what it claims and what it took.
fn large(file: &str, c: &str, gamma: &str, tolerance: &str) {
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("`{text}` is not a number"));
    let data = read(file);
    let solver = SolverSettings { tolerance: number(tolerance), ..SolverSettings::default() };
    let svc = Svc { kernel: Kernel::rbf(number(gamma)), penalty: Penalty::C(number(c)), solver, ..Svc::default() };
    let start = Instant::now();
    let model = svc.fit(&data).unwrap_or_else(|error| panic!("{error}"));
    let (seconds, report) = (start.elapsed().as_secs_f64(), &model.report);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).and_then(|line| line.split_whitespace().nth(1)).unwrap_or("?");
    println!(
        "{} x {}: {seconds:.3} s, {} steps, {} support vectors, objective {:.4}, violation {:.2e}, gap {:.1e}, peak {peak} kB; {}",
        data.len(),
        data.x.columns(),
        report.iterations,
        model.machine.len(),
        report.objective,
        report.violation,
        report.gap,
        report.route
    );
}

fn tiny(file: &str) {
    let data = read(file);
    let pieces: Vec<Dataset<'_>> = (0..data.len() / TINY).map(|k| data.select(&(k * TINY..(k + 1) * TINY).collect::<Vec<_>>())).collect();
    let learner = Svc { kernel: Kernel::rbf(0.1), ..Default::default() };
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        for piece in &pieces {
            learner.fit(piece).expect("two classes");
        }
        times.push(start.elapsed());
    }
    println!("{} fits of {TINY} x {}: {:?}, median of {REPEATS}", pieces.len(), data.x.columns(), median(times));
}

/// The table with `count` more columns, each whether two of its columns lie on given sides of given values.
fn grown(data: &Dataset<'_>, rules: &[[(usize, f64); 2]]) -> Dataset<'static> {
    let (n, d) = (data.len(), data.x.columns());
    let mut values = Vec::with_capacity(n * (d + rules.len()));
    for i in 0..n {
        values.extend((0..d).map(|j| data.x.get(i, j)));
        values.extend(rules.iter().map(|[a, b]| if data.x.get(i, a.0) > a.1 && data.x.get(i, b.0) <= b.1 { 1.0 } else { -1.0 }));
    }
    let x = Matrix::dense(values, n, d + rules.len()).expect("whole rows");
    Dataset { x, feature_names: None, ..data.select(&(0..n).collect::<Vec<_>>()) }
}

fn refits(file: &str) {
    let mut data = read(file);
    let scaler = Scaler::fit(&data.x, None, Scaling::Standard).expect("finite columns");
    data.x = scaler.transform(&data.x).expect("the same columns");
    let mut random = Random::new(5, 0);
    let mut side = || (random.below(data.x.columns()), 0.5 * random.normal());
    let rules: Vec<[(usize, f64); 2]> = (0..REFITS).map(|_| [side(), side()]).collect();
    let context = Context::single();
    for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
        for c in [1.0, 0.01] {
            let learner = LinearSvc { c, loss, tolerance: 1e-3, ..Default::default() };
            let (mut cold, mut warm, mut start) = (Duration::ZERO, Duration::ZERO, WarmStart::default());
            learner.fit_warm(&data, &mut start, &context).expect("two classes");
            for k in 1..=REFITS {
                let table = grown(&data, &rules[..k]);
                let began = Instant::now();
                learner.fit_in(&table, &context).expect("two classes");
                cold += began.elapsed();
                let began = Instant::now();
                let model = learner.fit_warm(&table, &mut start, &context).expect("two classes");
                warm += began.elapsed();
                assert!(model.report().gap <= 1e-3);
            }
            let ratio = REFITS as f64 * warm.as_secs_f64() / cold.as_secs_f64();
            println!("{loss:?}, C = {c}: {REFITS} warm refits cost {ratio:.1} cold fits ({:?} each)", cold / REFITS as u32);
        }
    }
}
