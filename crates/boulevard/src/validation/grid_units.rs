//! A grid search cut into pieces that run side by side: some folds of one gamma each, with kernel rows of their own.

use std::ops::Range;

use super::grid_table::{Outcome, Setting};
use super::share::share;
use crate::data::Matrix;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::parallel;
use crate::solver::TableKernel;
use crate::svm::SolverSettings;

/// Pieces per thread: gammas differ in cost, and the last piece should not keep one thread alone for long.
const PIECES: usize = 4;

/// One piece.
pub(super) struct Unit {
    /// Settings that differ in C and epsilon only.
    pub(super) settings: Range<usize>,
    pub(super) folds: Range<usize>,
}

/// Runs `work` on every piece; outcomes come back in a fixed order.
pub(super) fn run_units(
    kernel: &Kernel,
    solver: &SolverSettings,
    x: &Matrix<'_>,
    folds: usize,
    settings: &[Setting],
    context: &Context<'_>,
    work: impl Fn(&Unit, &TableKernel<'_>, &SolverSettings, &Context<'_>) -> Result<Vec<Outcome>> + Sync,
) -> Result<Vec<Outcome>> {
    let units = cut(settings, folds, x.rows(), context);
    let (at_once, inner) = share(context, x.rows(), units.len());
    let mut solver = *solver;
    solver.cache_megabytes /= at_once as f64;
    // Scores do not need the last digits; the refit gets them.
    solver.polish = false;
    // Leaving samples out gives up the rows that the next problem needs: not where all of them fit.
    let whole = (x.rows() as f64).powi(2) * size_of::<f32>() as f64;
    solver.shrinking &= whole > solver.cache_megabytes * 1e6;
    let results = parallel::map(at_once, units.len(), |u| {
        let source = TableKernel::new(&settings[units[u].settings.start].kernel(kernel), x, &inner);
        work(&units[u], &source, &solver, &inner)
    });
    let mut outcomes = Vec::new();
    for result in results {
        outcomes.extend(result?);
    }
    Ok(outcomes)
}

fn cut(settings: &[Setting], folds: usize, samples: usize, context: &Context<'_>) -> Vec<Unit> {
    let mut gammas = Vec::new();
    let mut first = 0;
    for same in settings.chunk_by(|a, b| a.gamma == b.gamma) {
        gammas.push(first..first + same.len());
        first += same.len();
    }
    let (at_once, _) = share(context, samples, gammas.len() * folds);
    let parts = if at_once == 1 { 1 } else { (PIECES * at_once).div_ceil(gammas.len()).min(folds) };
    let bounds: Vec<usize> = (0..=parts).map(|p| p * folds / parts).collect();
    let of_gamma = |settings: Range<usize>| bounds.windows(2).map(move |b| Unit { settings: settings.clone(), folds: b[0]..b[1] });
    gammas.into_iter().flat_map(of_gamma).collect()
}

/// The last solution scaled from one C to another and put into its box: a start for the next problem. The sum stays zero because all
/// costs grow by the same factor.
pub(super) fn scaled(last: &[f64], ratio: f64, lower: impl Fn(usize) -> f64, upper: impl Fn(usize) -> f64) -> Vec<f64> {
    last.iter().enumerate().map(|(i, b)| (b * ratio).clamp(lower(i), upper(i))).collect()
}
