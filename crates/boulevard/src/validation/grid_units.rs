//! A grid search cut into pieces that run side by side: some folds of one gamma each, with kernel rows of their own.

use std::ops::Range;

use super::grid_table::{GridSetting, Outcome};
use super::share::share;
use crate::data::Matrix;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::parallel;
use crate::solver::{CardCopy, CardLanes, TableKernel};
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
    settings: &[GridSetting],
    context: &Context<'_>,
    work: impl Fn(&Unit, &TableKernel<'_>, &SolverSettings, &Context<'_>) -> Result<Vec<Outcome>> + Sync,
) -> Result<Vec<Outcome>> {
    let problems = folds * settings.chunk_by(|a, b| a.gamma == b.gamma).count();
    let similarity = kernel.clone().similarity();
    let lanes = CardLanes::choose(Some(&similarity), x.rows(), x.columns(), 0, problems, context);
    let shared = |units: usize| share(context, x.rows(), units, lanes.as_ref());
    let units = cut(settings, folds, |units| shared(units).0);
    let (at_once, inner) = shared(units.len());
    let copy = CardCopy::default();
    let mut solver = *solver;
    let megabytes =
        solver.cache_megabytes.map_or_else(|| solver.cache_bytes_of(x.rows(), at_once) as f64 / 1e6, |given| given / at_once as f64);
    solver.cache_megabytes = Some(megabytes);
    // Scores do not need the last digits; the refit gets them.
    solver.polish = false;
    // Leaving samples out gives up the rows that the next problem needs: not where all of them fit. A card keeps no rows.
    let whole = (x.rows() as f64).powi(2) * size_of::<f32>() as f64;
    solver.shrinking &= whole > megabytes * 1e6 || lanes.is_some();
    let results = parallel::map(at_once, units.len(), |u| {
        let _lane = lanes.as_ref().map(CardLanes::enter).transpose()?;
        let source = TableKernel::new(&settings[units[u].settings.start].kernel(kernel).similarity(), x, &inner).sharing(&copy);
        work(&units[u], &source, &solver, &inner)
    });
    let mut outcomes = Vec::new();
    for result in results {
        outcomes.extend(result?);
    }
    Ok(outcomes)
}

fn cut(settings: &[GridSetting], folds: usize, at_once: impl Fn(usize) -> usize) -> Vec<Unit> {
    let mut gammas = Vec::new();
    let mut first = 0;
    for same in settings.chunk_by(|a, b| a.gamma == b.gamma) {
        gammas.push(first..first + same.len());
        first += same.len();
    }
    let at_once = at_once(gammas.len() * folds);
    let parts = if at_once == 1 { 1 } else { (PIECES * at_once).div_ceil(gammas.len()).min(folds) };
    let bounds: Vec<usize> = (0..=parts).map(|p| p * folds / parts).collect();
    let of_gamma = |settings: Range<usize>| bounds.windows(2).map(move |b| Unit { settings: settings.clone(), folds: b[0]..b[1] });
    gammas.into_iter().flat_map(of_gamma).collect()
}
