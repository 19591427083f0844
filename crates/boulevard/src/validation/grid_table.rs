//! The table of a grid search: points, scores, the best of them.

use super::{GridPick, GridSearch, Score};
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
    /// The place of the chosen point: best mean, among equals the smallest C, then the smallest gamma, then the smallest epsilon; or what
    /// [`GridPick::OneSe`] prefers.
    pub best: Option<usize>,
    /// Points that were added around the best of the grid.
    pub refined: usize,
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridSetting {
    /// C.
    pub c: f64,
    /// Gamma.
    pub gamma: Option<f64>,
    /// Epsilon.
    pub epsilon: Option<f64>,
}

impl GridSetting {
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
    settings: Vec<GridSetting>,
    worst: StopReason,
    /// Points that were added around the best.
    refined: usize,
}

impl Table {
    /// Whether points are missing.
    pub(super) fn cut_short(&self) -> bool {
        matches!(self.worst, StopReason::Interrupted | StopReason::TimeLimit)
    }

    /// The settings of the points.
    pub(super) fn settings(&self) -> &[GridSetting] {
        &self.settings
    }

    /// Puts points that were added into their places: by gamma, then epsilon, then C.
    pub(super) fn sort(&mut self, kernel: &Kernel, added: usize) {
        self.refined += added;
        let own = |setting: &GridSetting| {
            let gamma = setting.kernel(kernel).gamma().and_then(|gamma| gamma.value());
            (gamma.unwrap_or(0.0), setting.epsilon.unwrap_or(0.0), setting.c)
        };
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (own(&self.settings[a]), own(&self.settings[b]));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
        });
        self.points = order.iter().map(|&i| self.points[i].clone()).collect();
        self.settings = order.iter().map(|&i| self.settings[i]).collect();
    }

    /// Notes why something ended.
    pub(super) fn note(&mut self, reason: StopReason) {
        self.worst = self.worst.worst(reason);
    }

    /// Adds a point whose folds are all finished.
    pub(super) fn add(&mut self, setting: &GridSetting, kernel: &Kernel, scores: Vec<f64>, iterations: u64) {
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
        settings: &[GridSetting],
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

    /// The chosen point.
    pub(super) fn best(&self, score: Score, pick: GridPick) -> Option<usize> {
        let best = self.lowest(score)?;
        if pick == GridPick::Best {
            return Some(best);
        }
        let (point, folds) = (&self.points[best], self.points[best].scores.len().max(1));
        let room = point.standard_deviation / (folds as f64).sqrt();
        let room = if room.is_finite() { room } else { 0.0 };
        let close = |i: &usize| {
            let (mean, reach) = (self.points[*i].mean, if score.larger_is_better() { point.mean - room } else { point.mean + room });
            if score.larger_is_better() { mean >= reach } else { mean <= reach }
        };
        self.by_c().into_iter().find(close)
    }

    /// Places by rising C, then gamma, then epsilon.
    fn by_c(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        let or_zero = |value: Option<f64>| value.unwrap_or(0.0);
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.points[a], &self.points[b]);
            a.c.total_cmp(&b.c).then(or_zero(a.gamma).total_cmp(&or_zero(b.gamma))).then(or_zero(a.epsilon).total_cmp(&or_zero(b.epsilon)))
        });
        order
    }

    fn lowest(&self, score: Score) -> Option<usize> {
        let mut best: Option<usize> = None;
        for i in self.by_c() {
            let mean = self.points[i].mean;
            if !mean.is_nan() && best.is_none_or(|best| score.is_better(mean, self.points[best].mean)) {
                best = Some(i);
            }
        }
        best
    }

    /// The result, with the chosen point fitted on all rows if `search` asks for that and nothing stopped the search.
    pub(super) fn finish<L: Learner>(
        self,
        search: &GridSearch,
        score: Score,
        data: &Dataset<'_>,
        context: &Context<'_>,
        at: impl Fn(&GridSetting) -> L,
    ) -> Result<GridResult<L::Model>> {
        let best = self.best(score, search.pick);
        let model = match best {
            Some(best) if search.refit && !self.cut_short() => Some(at(&self.settings[best]).fit_in(data, context)?),
            _ => None,
        };
        let stop = model.as_ref().map_or(self.worst, |model| self.worst.worst(model.report().stop));
        Ok(GridResult { refined: self.refined, points: self.points, best, model, score, stop })
    }
}
