//! Small pieces of work whose machine instructions are counted, so that a slow-down is seen on any machine, however busy.
//!
//! ```text
//! cargo run -p boulevard --example counts              names of the pieces
//! cargo run -p boulevard --example counts -- NAME      does one of them; `nothing` is what a start costs
//! cargo run -p boulevard --example counts -- NAME 2    does it twice: a planted slow-down
//! ```
//! `scripts/test-counts` runs them under valgrind and compares with `bench/counts.json`. Everything runs on one thread.

#![allow(clippy::print_stdout, reason = "an example says what it did")]

use boulevard::data::generate::{Clusters, classification};
use boulevard::data::io::{Format, ReadOptions};
use boulevard::methods::pareto::{ParetoSvc, Widths};
use boulevard::prelude::*;

type Piece = fn() -> Result<f64>;

const PIECES: [(&str, Piece); 10] = [
    ("nothing", || Ok(0.0)),
    ("tiny_fits", tiny_fits),
    ("fit_1500", || fit(1500, 10.0)),
    ("fit_blocks", || fit(5200, 1.0)),
    ("fit_sparse", fit_sparse),
    ("regression", regression),
    ("linear", linear),
    ("prediction", prediction),
    ("parsing", parsing),
    ("front", front),
];

fn clusters(rows: usize, columns: usize) -> Result<Dataset<'static>> {
    classification(rows, 1, &Clusters { columns, ..Clusters::default() })
}

fn machine(gamma: f64, c: f64) -> Svc {
    Svc { kernel: Kernel::rbf(gamma), penalty: Penalty::C(c), ..Svc::default() }
}

fn tiny_fits() -> Result<f64> {
    let data = clusters(4000, 10)?;
    let pieces = (0..20).map(|k| machine(0.1, 1.0).fit_in(&data.select(&(k * 200..(k + 1) * 200).collect::<Vec<_>>()), &Context::single()));
    pieces.map(|model| Ok(model?.report.objective)).sum()
}

fn fit(rows: usize, c: f64) -> Result<f64> {
    Ok(machine(0.05, c).fit_in(&clusters(rows, 20)?, &Context::single())?.report.objective)
}

/// One column in ten of every row is kept.
fn fit_sparse() -> Result<f64> {
    let data = clusters(800, 100)?;
    let values: Vec<f64> =
        (0..data.len() * 100).map(|at| if (at * 7 + at / 100) % 10 == 0 { data.x.get(at / 100, at % 100) } else { 0.0 }).collect();
    let x = Matrix::dense(values, data.len(), 100)?.to_sparse();
    Ok(machine(0.05, 1.0).fit_in(&Dataset { x, ..data }, &Context::single())?.report.objective)
}

fn regression() -> Result<f64> {
    let data = clusters(800, 10)?;
    let y = (0..data.len()).map(|row| data.x.get(row, 0) * data.x.get(row, 1)).collect();
    let learner = Svr { kernel: Kernel::rbf(0.1), ..Svr::default() };
    Ok(learner.fit_in(&Dataset { target: Target::Real(y), ..data }, &Context::single())?.report.objective)
}

fn linear() -> Result<f64> {
    Ok(LinearSvc::default().fit_in(&clusters(4000, 30)?, &Context::single())?.report.objective)
}

fn prediction() -> Result<f64> {
    let model = machine(0.05, 1.0).fit_in(&clusters(500, 20)?, &Context::single())?;
    let codes = model.predict_in(&clusters(8000, 20)?.x, &Context::single())?.codes().to_vec();
    Ok(codes.into_iter().map(f64::from).sum())
}

fn parsing() -> Result<f64> {
    let (data, mut sum) = (clusters(1000, 20)?, 0.0);
    for format in [Format::Csv, Format::Libsvm] {
        let mut bytes = Vec::new();
        data.write_to(&mut bytes, "memory", format)?;
        let read = Dataset::read_from(&bytes[..], "memory", &ReadOptions { format: Some(format), ..ReadOptions::default() })?;
        sum += read.x.get(999, 19);
    }
    Ok(sum)
}

fn front() -> Result<f64> {
    let learner = ParetoSvc { n_points: 20, holdout_repeats: 1, widths: Widths::Kernel, ..ParetoSvc::default() };
    Ok(learner.fit_in(&clusters(150, 8)?, &Context::single())?.report().objective)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = words.first() else {
        PIECES.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    };
    let Some((_, piece)) = PIECES.iter().find(|(known, _)| known == name) else {
        return Err(Error::data(format!("`{name}` is none of the pieces: run without a name for a list")));
    };
    let times = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    for _ in 0..times {
        println!("{name} {:.9e}", piece()?);
    }
    Ok(())
}
