//! The table of a grid search: points, scores, the best of them.

use super::Score;
use crate::data::split::Split;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::metrics::comparison;
use crate::observe::{Context, StopReason};
use crate::svm::{Learner, Model};

/// One point of the grid and how it did.
#[derive(Clone, Debug, PartialEq)]
pub struct GridPoint {
    /// C.
    pub c: f64,
    /// The kernel's gamma, where it has one.
    pub gamma: Option<f64>,
    /// The tube's epsilon, for epsilon-regression.
    pub epsilon: Option<f64>,
    /// The score of every fold.
    pub scores: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (divisor n - 1).
    pub standard_deviation: f64,
    /// The solver's steps over all folds.
    pub iterations: u64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct GridResult<M> {
    /// The points for which all folds are finished: by gamma, then epsilon, then C.
    pub points: Vec<GridPoint>,
    /// The place of the best point: best mean, among equals the smallest C, then the smallest gamma, then the smallest epsilon.
    pub best: Option<usize>,
    /// The best point's parameters fitted on all rows, if that was asked for and the search came to its end.
    pub model: Option<M>,
    /// What the points were judged by.
    pub score: Score,
    /// [`StopReason::TimeLimit`] and [`StopReason::Interrupted`] mean that points are missing; [`StopReason::MaxIterations`] that some
    /// problem was not solved to its tolerance.
    pub stop: StopReason,
}

impl<M> GridResult<M> {
    /// The best point.
    pub fn best_point(&self) -> Option<&GridPoint> {
        self.best.map(|best| &self.points[best])
    }
}

/// Parameters of one point. Gamma and epsilon are `None` where the learner's own are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) c: f64,
    pub(super) gamma: Option<f64>,
    pub(super) epsilon: Option<f64>,
}

impl Setting {
    /// The learner's kernel at this point.
    pub(super) fn kernel(&self, kernel: &Kernel) -> Kernel {
        self.gamma.map_or_else(|| kernel.clone(), |gamma| kernel.clone().with_gamma(gamma))
    }
}

/// A point's predictions in one fold.
pub(super) struct Outcome {
    /// Place in the list of settings.
    pub(super) setting: usize,
    pub(super) fold: usize,
    pub(super) predictions: Target,
    pub(super) iterations: u64,
    pub(super) stop: StopReason,
}

/// Finished points with their settings.
#[derive(Default)]
pub(super) struct Table {
    points: Vec<GridPoint>,
    settings: Vec<Setting>,
    worst: StopReason,
}

impl Table {
    /// Notes why something ended.
    pub(super) fn note(&mut self, reason: StopReason) {
        self.worst = self.worst.worst(reason);
    }

    /// Adds a point whose folds are all finished.
    pub(super) fn add(&mut self, setting: &Setting, kernel: &Kernel, scores: Vec<f64>, iterations: u64) {
        self.points.push(GridPoint {
            c: setting.c,
            gamma: setting.kernel(kernel).gamma().and_then(|gamma| gamma.value()),
            epsilon: setting.epsilon,
            mean: comparison::mean(&scores),
            standard_deviation: comparison::standard_deviation(&scores),
            scores,
            iterations,
        });
        self.settings.push(*setting);
    }

    /// Scores outcomes and adds the points that have one in every fold.
    pub(super) fn add_outcomes(
        &mut self,
        outcomes: &[Outcome],
        settings: &[Setting],
        kernel: &Kernel,
        score: Score,
        data: &Dataset<'_>,
        splits: &[Split],
    ) -> Result<()> {
        let part = |split: &Split| {
            let weights = data.weights.as_ref().map(|all| split.test.iter().map(|&row| all[row]).collect::<Vec<f64>>());
            (data.target.select(&split.test), weights)
        };
        let parts: Vec<(Target, Option<Vec<f64>>)> = splits.iter().map(part).collect();
        let mut scores = vec![vec![None; splits.len()]; settings.len()];
        let mut iterations = vec![0; settings.len()];
        for outcome in outcomes {
            let (truth, weights) = &parts[outcome.fold];
            scores[outcome.setting][outcome.fold] = Some(score.evaluate(truth, &outcome.predictions, None, weights.as_deref())?);
            iterations[outcome.setting] += outcome.iterations;
            self.note(outcome.stop);
        }
        for ((setting, scores), iterations) in settings.iter().zip(scores).zip(iterations) {
            if let Some(scores) = scores.into_iter().collect::<Option<Vec<f64>>>() {
                self.add(setting, kernel, scores, iterations);
            }
        }
        Ok(())
    }

    fn best(&self, score: Score) -> Option<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        // A stable sort: within one C, gamma and then epsilon rise already.
        order.sort_by(|&a, &b| self.points[a].c.total_cmp(&self.points[b].c));
        let mut best: Option<usize> = None;
        for i in order {
            let mean = self.points[i].mean;
            if !mean.is_nan() && best.is_none_or(|best| score.is_better(mean, self.points[best].mean)) {
                best = Some(i);
            }
        }
        best
    }

    /// The result, with the best point fitted on all rows if `refit` and nothing stopped the search.
    pub(super) fn finish<L: Learner>(
        self,
        refit: bool,
        score: Score,
        data: &Dataset<'_>,
        context: &Context<'_>,
        at: impl Fn(&Setting) -> L,
    ) -> Result<GridResult<L::Model>> {
        let best = self.best(score);
        let cut = matches!(self.worst, StopReason::Interrupted | StopReason::TimeLimit);
        let model = match best {
            Some(best) if refit && !cut => Some(at(&self.settings[best]).fit_in(data, context)?),
            _ => None,
        };
        let stop = model.as_ref().map_or(self.worst, |model| self.worst.worst(model.report().stop));
        Ok(GridResult { points: self.points, best, model, score, stop })
    }
}
