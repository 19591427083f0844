//! Tables of published papers, regenerated: each paper is one file that lists its tables.
//!
//! To add a table: a [`Spec`] in the paper's file with a function that computes one row. The harness keeps finished cells, compares with
//! the published numbers and writes the results.

mod esvm;
mod evo;
pub mod ida;
mod induction;
mod med;
mod sab;
mod state;

use std::path::Path;

use anyhow::{Result, bail};
use boulevard::internal::parallel;
use boulevard::metrics::comparison::{mean, standard_deviation};
use boulevard::observe::{Context, StopReason};
use boulevard::picture::Picture;
use serde::{Deserialize, Serialize};

pub use state::State;

use crate::progress::Silent;

/// Every table there is.
pub fn all() -> Vec<Spec> {
    vec![
        esvm::TABLE_1,
        esvm::FIGURE_2,
        esvm::TABLE_2,
        esvm::TABLE_3,
        esvm::TABLE_4,
        esvm::FIGURE_3,
        evo::FIGURE_1,
        induction::TABLE_2,
        induction::TABLE_3,
        induction::FIGURE_2,
        med::FIGURE_1,
        med::FIGURE_2,
        med::FIGURE_3,
        med::FIGURE_4,
        sab::TABLE_1,
        sab::FIGURE_1,
    ]
}

/// Pictures of one row, for tables that stand for a figure.
pub fn figures(spec: &Spec, bench: &Bench<'_>, row: &str) -> Result<Vec<Picture>> {
    if spec.name == evo::FIGURE_1.name { evo::figures(bench, row) } else { Ok(Vec::new()) }
}

/// A table that can be regenerated.
#[derive(Clone, Copy)]
pub struct Spec {
    /// `paper/table`, as on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    /// What files under `--data` it needs.
    pub data: &'static str,
    /// How the numbers are made, and where that departs from the paper.
    pub protocol: &'static str,
    /// What the numbers are.
    pub measure: &'static str,
    pub rows: &'static [&'static str],
    /// Computes one row.
    pub run: fn(&Bench<'_>, &str) -> Result<Vec<Entry>>,
}

/// What a row's function may use.
pub struct Bench<'a> {
    pub data: &'a Path,
    pub quick: bool,
    pub state: &'a State,
    /// Cells that all tables of one paper share.
    pub shared: &'a State,
    pub context: Context<'a>,
}

/// One number beside the published one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub row: String,
    pub column: String,
    pub published: Option<f64>,
    pub ours: f64,
    /// Standard deviation over splits.
    pub deviation: f64,
    /// Number of splits.
    pub splits: usize,
    pub note: String,
    /// Whether the entry counts in the verdict (parts reported apart do not).
    pub counts: bool,
}

/// What `work` makes of every number below `count`, side by side, with a context of one thread for each.
pub fn side_by_side<T: Send>(
    context: &Context<'_>,
    stage: &'static str,
    count: usize,
    work: impl Fn(usize, &Context<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let inner = context.with_threads(1).with_observer(&Silent);
    let results = parallel::map(context.threads, count, |i| {
        if context.step(stage, i, count) == Some(StopReason::Interrupted) {
            bail!("interrupted");
        }
        work(i, &inner)
    });
    results.into_iter().collect()
}

impl Entry {
    /// The mean of some values, and their deviation.
    pub fn new(row: &str, column: impl Into<String>, published: Option<f64>, values: &[f64], note: String, counts: bool) -> Self {
        let (ours, deviation, splits) = (mean(values), standard_deviation(values), values.len());
        Self { row: row.to_owned(), column: column.into(), published, ours, deviation, splits, note, counts }
    }

    /// Distance from the published number in standard deviations over splits.
    pub fn distance(&self) -> Option<f64> {
        self.published.map(|published| match (self.ours - published, self.deviation) {
            (0.0, _) => 0.0,
            // All splits gave the same: any difference is beyond measure.
            (difference, 0.0) => f64::INFINITY.copysign(difference),
            (difference, deviation) => difference / deviation,
        })
    }

    /// Whether the published number lies within two standard deviations.
    pub fn agrees(&self) -> Option<bool> {
        self.distance().map(|distance| distance.abs() <= 2.0)
    }

    /// In words.
    pub fn verdict(&self) -> &'static str {
        match (self.agrees(), self.distance()) {
            (Some(true), _) => "agrees",
            (Some(false), Some(distance)) if distance < 0.0 => "lower",
            (Some(false), _) => "higher",
            (None, _) => "not published",
        }
    }
}
