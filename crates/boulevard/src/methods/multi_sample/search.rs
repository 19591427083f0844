//! C and gamma by cross-validation over the original rows.
//!
//! Folds cut the rows (whole groups, where there are groups) before any tuple is drawn: training tuples come from the training rows of a
//! fold, validation tuples from its test rows. Cutting tuples instead would put the same row on both sides and choose a kernel far too
//! narrow (heart: error 0.014 in such folds, 0.083 on new data).

use serde::{Deserialize, Serialize};

use super::direct;
use super::learner::{Method, MultiSample};
use super::source::BaseKernel;
use super::tuples::Tuples;
use crate::check;
use crate::data::Sets;
use crate::data::{Categories, Dataset};
use crate::error::{Error, Result};
use crate::kernel::permanent::{ranks, sort_members};
use crate::observe::Context;
use crate::parallel;
use crate::svm::Learner;

/// What is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetSearch {
    /// Prices of slack.
    pub c: Vec<f64>,
    /// Inverse widths; the learner's own kernel if empty.
    pub gamma: Vec<f64>,
    /// Folds.
    pub folds: usize,
    /// Seed of folds and validation tuples.
    pub seed: u64,
}

impl Default for SetSearch {
    fn default() -> Self {
        Self { c: [-2, 0, 2, 4, 6, 8].iter().map(|&p| 2f64.powi(p)).collect(), gamma: Vec::new(), folds: 5, seed: 0 }
    }
}

/// One point of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetPoint {
    /// Price of slack.
    pub c: f64,
    /// Inverse width, where the kernel has one.
    pub gamma: Option<f64>,
    /// Mean share of validation sets judged wrongly.
    pub error: f64,
    /// Standard deviation over folds.
    pub deviation: f64,
    /// Error of every fold.
    pub errors: Vec<f64>,
}

/// The tuples of one fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldTuples {
    /// To learn from.
    pub train: Tuples,
    /// To judge: they share no row with `train`.
    pub test: Tuples,
}

impl MultiSample {
    /// The tuples of every fold, which are all that a search learns from and judges.
    pub fn fold_tuples(&self, data: &Dataset<'_>, folds: usize, seed: u64) -> Result<Vec<FoldTuples>> {
        self.fold_tuples_in(data, folds, seed, &Context::default())
    }

    pub(super) fn fold_tuples_in(&self, data: &Dataset<'_>, folds: usize, seed: u64, context: &Context<'_>) -> Result<Vec<FoldTuples>> {
        let training = self.training(data)?;
        let (ranks, k, classes) = (ranks(&data.x), self.n_samples_per_decision, training.factors.len());
        let codes = data.expect_classes()?.codes();
        let folds = self.folds(data, folds, seed)?;
        let tuples = folds.iter().enumerate().map(|(place, fold)| {
            let rows: Vec<usize> = fold.test.iter().copied().filter(|&row| training.weights[row] > 0.0).collect();
            let of_rows: Vec<u32> = rows.iter().map(|&row| codes[row]).collect();
            let mut test = Tuples::draw(&rows, &of_rows, classes, k, None, seed.wrapping_add(place as u64 + 1));
            if self.symmetric {
                sort_members(&mut test.members, k, &ranks);
            }
            Ok(FoldTuples { train: self.tuples(&training, &fold.train, k, &ranks, self.seed, context)?, test })
        });
        tuples.collect()
    }

    /// Errors of all points of the grid, gamma outside, C inside; see [`best_point`]. Points are judged by the learner's method, by direct
    /// machines where that is left open.
    pub fn search(&self, data: &Dataset<'_>, search: &SetSearch, context: &Context<'_>) -> Result<Vec<SetPoint>> {
        self.validate()?;
        check::at_least("SetSearch", "folds", search.folds, 2)?;
        if search.c.is_empty() {
            return Err(check::complaint("SetSearch", "c", "a list of at least one number", "none"));
        }
        let gammas: Vec<Option<f64>> =
            if search.gamma.is_empty() { vec![None] } else { search.gamma.iter().map(|&gamma| Some(gamma)).collect() };
        let folds = self.fold_tuples_in(data, search.folds, search.seed, context)?;
        let count = gammas.len() * folds.len();
        let inner = Context { observer: context.observer, ..context.with_threads(1) };
        let parts = parallel::try_map(context.threads, count, |task| -> Result<Vec<f64>> {
            if context.step("search", task, count).is_some() {
                return Err(Error::data("the search was stopped before it was complete"));
            }
            let (gamma, fold) = (gammas[task / folds.len()], &folds[task % folds.len()]);
            let kernel = gamma.map_or_else(|| self.kernel.clone(), |gamma| self.kernel.clone().with_gamma(gamma));
            let learner = Self { kernel, calibrate: false, ..self.clone() };
            learner.fold_errors(data, fold, &search.c, &inner)
        });
        let parts = parts?;
        let mut points = Vec::with_capacity(gammas.len() * search.c.len());
        for (gamma, parts) in gammas.iter().zip(parts.chunks_exact(folds.len())) {
            for (place, &c) in search.c.iter().enumerate() {
                let errors: Vec<f64> = parts.iter().map(|errors| errors[place]).collect();
                let mean = errors.iter().sum::<f64>() / errors.len() as f64;
                let square = errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>();
                let deviation = (square / (errors.len() - 1).max(1) as f64).sqrt();
                points.push(SetPoint { c, gamma: *gamma, error: mean, deviation, errors });
            }
        }
        Ok(points)
    }

    /// Errors of one fold for every C.
    pub(super) fn fold_errors(&self, data: &Dataset<'_>, fold: &FoldTuples, cs: &[f64], context: &Context<'_>) -> Result<Vec<f64>> {
        let share = |codes: &[u32]| {
            let wrong = codes.iter().zip(&fold.test.codes).filter(|(a, b)| a != b).count();
            wrong as f64 / codes.len().max(1) as f64
        };
        if matches!(self.method, Method::Consensus | Method::Vote) {
            return cs.iter().map(|&c| Ok(share(&self.judged_by_samples(data, fold, c, context)?))).collect();
        }
        let training = self.training(data)?;
        let kernel = self.set_kernel(&data.x, data.weights.as_deref(), fold.train.k)?;
        let base = BaseKernel::new(&kernel, self.normalization, self.symmetric, &data.x, context)?;
        let fits = direct::solve_path(self, &base, &fold.train, &training.factors, &training.weights, cs, context)?;
        let judge = base.judge_block(&fold.train, &fold.test)?;
        Ok(fits.iter().map(|fit| share(&fit.winners(fit.weigh_block(&judge), training.factors.len()))).collect())
    }

    /// Votes and consensus: an ordinary fit on the rows of the training tuples.
    fn judged_by_samples(&self, data: &Dataset<'_>, fold: &FoldTuples, c: f64, context: &Context<'_>) -> Result<Vec<u32>> {
        let rows_of = |tuples: &Tuples| {
            let mut rows: Vec<usize> = tuples.members.iter().map(|&row| row as usize).collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let (train, test) = (rows_of(&fold.train), rows_of(&fold.test));
        let learner = Self { c, ..self.clone() };
        let model = learner.fit_in(&Dataset { groups: None, ..learner.training_part(data, &train, context)? }, context)?;
        let place = |row: u32| test.binary_search(&(row as usize)).expect("it was collected");
        let sets: Vec<Vec<usize>> =
            fold.test.members.chunks_exact(fold.test.k).map(|set| set.iter().map(|&row| place(row)).collect()).collect();
        let x = learner.test_part(data, &train, &test);
        let predicted: Categories = model.predict_sets(&x, &Sets::new(&sets)?, context)?;
        Ok(predicted.codes().to_vec())
    }
}

/// The point with the smallest error; of several the smallest C, then the smallest gamma.
pub fn best_point(points: &[SetPoint]) -> Option<&SetPoint> {
    let key = |point: &SetPoint| (point.c, point.gamma.unwrap_or(0.0));
    points.iter().min_by(|a, b| {
        let ((c, gamma), (other_c, other_gamma)) = (key(a), key(b));
        a.error.total_cmp(&b.error).then(c.total_cmp(&other_c)).then(gamma.total_cmp(&other_gamma))
    })
}
