//! Two Gaussians: Table I (two samples per decision) and Figure 2 (one to ten).

use anyhow::{Result, bail};
use boulevard::data::{Dataset, generate};
use boulevard::kernel::Kernel;
use boulevard::methods::multi_sample::{Method, MultiSample, SetSearch, Sets, best_point};
use boulevard::metrics::comparison::normal_tail;
use boulevard::svm::{Learner, Svc};
use boulevard::validation::GridSearch;
use serde::{Deserialize, Serialize};

use super::{FOLDS, SOURCE};
use crate::papers::{Bench, Entry, Spec, side_by_side};

/// Distance of the means: the best error of two samples is then .2196, as printed.
const DISTANCE: f64 = 1.094;
const COLUMNS: usize = 2;
const TRIALS: usize = 100;
const QUICK_TRIALS: usize = 10;
/// Test sets per trial.
const TEST_SETS: usize = 2000;
/// Seeds of test sets lie apart from those of training sets.
const TEST_SEED: u64 = 1 << 32;

pub const TABLE_1: Spec = Spec {
    name: "esvm/table1",
    title: "Two Gaussians, two samples per decision, 20, 50 and 200 training samples per class (Table I)",
    source: SOURCE,
    data: "none (generated)",
    protocol: "Two Gaussians in the plane with unit covariance, means 1.094 apart: the best possible error of two samples is .2196, as in the \
               paper. 100 trials with training sets of their own and 2000 test sets each. RBF kernel; C in 2^{-2, 0, 2, 4, 6} and gamma x \
               columns in 2^{-6, -4, -2, 0} by 5-fold cross-validation over rows in every trial, for single samples (SVM^2) and for tuples \
               (ESVM^2, 2 n tuples). An entry agrees if the published mean lies within 2 of our standard deviations over trials. --quick: \
               10 trials.",
    measure: "test error",
    rows: &["n=20", "n=50", "n=200"],
    run: table_1,
};

pub const FIGURE_2: Spec = Spec {
    name: "esvm/figure2",
    title: "Two Gaussians, 20 training samples per class: error against the samples per decision (Figure 2)",
    source: SOURCE,
    data: "none (generated)",
    protocol: "As Table I with 20 training samples per class and K = 1 to 10 samples per decision. The figure's numbers are not printed in the \
               paper; the best possible error, Phi(-1.094 sqrt(K) / 2), stands in the last column.",
    measure: "test error",
    rows: &["K=1", "K=2", "K=3", "K=4", "K=5", "K=6", "K=8", "K=10"],
    run: figure_2,
};

/// SVM^2 and ESVM^2.
const PUBLISHED: [[f64; 2]; 3] = [[0.333, 0.264], [0.249, 0.237], [0.240, 0.225]];

/// Errors of all trials.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Errors {
    consensus: Vec<f64>,
    direct: Vec<f64>,
}

fn number(row: &str) -> Result<usize> {
    match row.rsplit('=').next().and_then(|word| word.parse().ok()) {
        Some(number) => Ok(number),
        None => bail!("`{row}` does not end with a number"),
    }
}

fn grids() -> (Vec<f64>, Vec<f64>) {
    let powers = |list: &[i32], factor: f64| list.iter().map(|&p| 2f64.powi(p) * factor).collect();
    (powers(&[-2, 0, 2, 4, 6], 1.0), powers(&[-6, -4, -2, 0], 1.0 / COLUMNS as f64))
}

/// Errors of consensus and of the direct machine for `k` samples per decision.
fn errors(bench: &Bench<'_>, key: &str, per_class: usize, k: usize) -> Result<Errors> {
    bench.state.cell(key, || {
        let trials = if bench.quick { QUICK_TRIALS } else { TRIALS };
        let results = side_by_side(&bench.context, "trials", trials, |trial, inner| {
            let seed = trial as u64;
            let train = generate::two_gaussians(2 * per_class, seed, COLUMNS, DISTANCE);
            let test = generate::two_gaussians(TEST_SETS * k, TEST_SEED + seed, COLUMNS, DISTANCE);
            let (sets, codes) = Sets::of_classes(test.expect_classes()?, k);
            let judge = |learner: MultiSample| -> Result<f64> {
                let predicted = learner.fit_in(&train, inner)?.predict_sets(&test.x, &sets, inner)?;
                Ok(predicted.codes().iter().zip(&codes).filter(|(a, b)| a != b).count() as f64 / codes.len() as f64)
            };
            Ok([judge(single(&train, seed, k, inner)?)?, judge(direct(&train, seed, k, inner)?)?])
        })?;
        Ok(Errors { consensus: results.iter().map(|e| e[0]).collect(), direct: results.iter().map(|e| e[1]).collect() })
    })
}

fn single(train: &Dataset<'_>, seed: u64, k: usize, context: &boulevard::observe::Context<'_>) -> Result<MultiSample> {
    let (c, gamma) = grids();
    let search = GridSearch { c, gamma, folds: FOLDS, seed, refit: false, ..GridSearch::default() };
    let best = search.svc(&Svc { kernel: Kernel::rbf(1.0), ..Svc::default() }, train, context)?;
    let Some(best) = best.best_point() else { bail!("the grid is empty") };
    let kernel = Kernel::rbf(best.gamma.unwrap_or(1.0));
    Ok(MultiSample { method: Method::Consensus, kernel, c: best.c, n_samples_per_decision: k, ..MultiSample::default() })
}

fn direct(train: &Dataset<'_>, seed: u64, k: usize, context: &boulevard::observe::Context<'_>) -> Result<MultiSample> {
    let (c, gamma) = grids();
    let learner = MultiSample { method: Method::Direct, n_samples_per_decision: k, seed, ..MultiSample::default() };
    let points = learner.search(train, &SetSearch { c, gamma, folds: FOLDS, seed }, context)?;
    let Some(best) = best_point(&points) else { bail!("the grid is empty") };
    Ok(MultiSample { kernel: Kernel::rbf(best.gamma.unwrap_or(1.0)), c: best.c, ..learner })
}

fn table_1(bench: &Bench<'_>, row: &str) -> Result<Vec<Entry>> {
    let per_class = number(row)?;
    let errors = errors(bench, &format!("n{per_class}"), per_class, 2)?;
    let published = TABLE_1.rows.iter().position(|&name| name == row).map(|place| PUBLISHED[place]);
    let note = || "chosen in every trial".to_owned();
    Ok(vec![
        Entry::new(row, "SVM^2", published.map(|p| p[0]), &errors.consensus, note(), true),
        Entry::new(row, "ESVM^2", published.map(|p| p[1]), &errors.direct, note(), true),
    ])
}

fn figure_2(bench: &Bench<'_>, row: &str) -> Result<Vec<Entry>> {
    let k = number(row)?;
    let errors = errors(bench, &format!("k{k}"), 20, k)?;
    let note = || format!("best possible {:.4}", normal_tail(DISTANCE * (k as f64).sqrt() / 2.0));
    Ok(vec![
        Entry::new(row, "SVM^K", None, &errors.consensus, note(), false),
        Entry::new(row, "ESVM^K", None, &errors.direct, note(), false),
    ])
}
