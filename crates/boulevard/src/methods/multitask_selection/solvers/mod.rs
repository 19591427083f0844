//! The portfolio: which method solves a problem, and what happens when one stalls.
//!
//! | problem | route |
//! |---|---|
//! | kernels, small tables | interior point to the tolerance, where that is tight Newton's method from 1e-6 on |
//! | many more features than samples | switches and machines in turns in the space of samples, Newton's method to the tolerance |
//! | large tables of features | coordinate ascent to a rough gap, Newton's method to the tolerance |
//! | a neighbor on a path is solved | Newton's method from its weights |
//!
//! Every route ends in the certificate; where Newton's method stalls, the interior point method takes over, first with the usual curve
//! parameter, then with a smaller one, which is slower and steadier; where that stalls too, a smaller c is solved and raised. Whatever
//! happens, the best certificate of all is the answer.

mod answer;
mod ascent;
mod block;
mod descent;
mod interior;
mod machine;
mod newton;
pub(super) mod sampled;

use self::ascent::Ascent;
use self::descent::{Descent, descend};
use self::interior::Interior;
use self::newton::Point;
use self::sampled::{Sampled, is_wide, most_moves};
use super::problem::{Certificate, Problem};
use crate::linalg;
use crate::observe::{Context, Progress, StopReason};

/// The relative gap at which Newton's method takes over from the interior point method, which is as fast until then.
const ROUGH: f64 = 1e-6;
/// Tolerances below this get Newton's method in any case.
const TIGHT: f64 = 1e-8;
/// Coordinate ascent hands over when a turn changes the primal by less than this share of it, time after time.
const SETTLED: [f64; 4] = [3e-3, 1e-4, 1e-6, 0.0];
/// The curve parameters of the interior point method, tried in order.
const CURVES: [f64; 3] = [0.05, 0.01, 0.3];
/// Above this c coordinate ascent stalls on noisy data.
const LARGE_C: f64 = 5.0;
/// Steps of one run of the interior point method.
const INTERIOR_STEPS: usize = 80;
/// Steps of one run of Newton's method.
const NEWTON_STEPS: usize = 30;
/// The same where coordinate ascent gets another chance.
const FEW_STEPS: usize = 10;
/// Turns of one run of coordinate ascent.
const TURNS: usize = 120;
/// Tolerances from here on are those of trials. Six tasks of 40 and of 160 rows took 0.62 and 0.75 of the time in the space of samples,
/// three of 160 rows 1.08.
const COARSE: f64 = 1e-3;
const MANY_TASKS: usize = 4;
const FEW_ROWS: usize = 400;
/// Turns in the space of samples, and the share of the primal that switches may still gain when the first certificate is asked for.
const SAMPLED_TURNS: usize = 100;
const SAMPLED_GOAL: f64 = 1e-3;
/// The c with which the last resort begins, by what it grows where that works, the smallest growth worth trying, and trials at most.
const GENTLE_C: f64 = 2.0;
const FACTOR: f64 = 1.5;
const SMALLEST_FACTOR: f64 = 1.0001;
const STAGES: usize = 60;
/// Multiplications of an interior point step up to which it is the first choice.
const SMALL_STEP: f64 = 4e6;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub tolerance: f64,
    pub steps: u64,
}

/// A solved problem.
pub(super) struct Solution {
    pub certificate: Certificate,
    pub steps: u64,
    pub stop: StopReason,
}

/// Which way to go first; the default decides by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Automatic,
    #[cfg(test)]
    Interior,
    #[cfg(test)]
    Ascent,
    #[cfg(test)]
    Sampled,
}

struct Run<'a, 'c> {
    problem: &'a Problem<'a>,
    limits: Limits,
    context: &'a Context<'c>,
    steps: u64,
    best: Option<Certificate>,
}

/// Solves a problem; `start` is the solution of a neighbor.
pub(super) fn solve(problem: &Problem<'_>, limits: Limits, start: Option<&Certificate>, route: Route, context: &Context<'_>) -> Solution {
    let mut run = Run { problem, limits, context, steps: 0, best: None };
    let stop = run.go(start, route);
    linalg::buffers::release();
    let certificate = run.best.expect("every route leaves a certificate");
    let stop = if certificate.relative() <= limits.tolerance { StopReason::Converged } else { stop };
    Solution { certificate, steps: run.steps, stop }
}

impl Run<'_, '_> {
    fn go(&mut self, start: Option<&Certificate>, route: Route) -> StopReason {
        let tasks = self.problem.tasks;
        let zeros = tasks.iter().map(|task| vec![0.0; task.y.len()]).collect();
        let sums = (0..tasks.len()).map(|m| self.problem.table(m).zero()).collect();
        let zero = self.problem.certify_sums(zeros, sums, &vec![0.0; tasks.len()]);
        let trivial = zero.gap <= 0.0;
        self.keep(zero);
        if trivial {
            return StopReason::Converged;
        }
        if let Some(start) = start {
            let point = Point::from_weights(self.problem, CURVES[0], &start.on, &start.sums, &start.bias);
            if let Some(stop) = self.newton(point, self.large(), NEWTON_STEPS) {
                return stop;
            }
        }
        let in_samples = match route {
            Route::Automatic => start.is_none() && self.in_samples(),
            #[cfg(test)]
            Route::Sampled => true,
            #[cfg(test)]
            _ => false,
        };
        if in_samples && let Some(stop) = self.sampled() {
            return stop;
        }
        let features = self.problem.table(0).padded().is_some();
        let first = match route {
            // Coordinates move slowly where multipliers may grow large.
            Route::Automatic => !self.large() || (self.problem.margin.c > LARGE_C && self.problem.tasks.len() == 1),
            #[cfg(test)]
            Route::Interior => true,
            #[cfg(test)]
            Route::Ascent | Route::Sampled => false,
        };
        if !first && let Some(stop) = self.ascend(if self.problem.tasks.len() == 1 { &SETTLED[..1] } else { &SETTLED }) {
            return stop;
        }
        for k in CURVES {
            if let Some(stop) = self.interior(k) {
                return stop;
            }
        }
        if features && let Some(stop) = self.ascend(&[0.0]) {
            return stop;
        }
        self.by_neighbors().unwrap_or(StopReason::MaxIterations)
    }

    /// The last resort: problems whose multipliers may grow less, one after the other, each the start of Newton's method for the next.
    fn by_neighbors(&mut self) -> Option<StopReason> {
        let goal = self.problem.margin.c;
        let (mut reached, mut start) = (GENTLE_C.min(goal), None);
        let (mut c, mut factor) = (reached, FACTOR);
        for _ in 0..STAGES {
            let mut neighbor = Problem { ..*self.problem };
            neighbor.margin.c = c;
            let mut run = Run { problem: &neighbor, limits: self.limits, context: self.context, steps: self.steps, best: None };
            let mut stop = None;
            for curve in CURVES {
                let point = match &start {
                    None => Point::zero(&neighbor, curve),
                    Some(Certificate { on, sums, bias, .. }) => Point::from_weights(&neighbor, curve, on, sums, bias),
                };
                stop = run.newton(point, false, NEWTON_STEPS);
                if stop.is_some() {
                    break;
                }
            }
            self.steps = run.steps;
            match stop {
                None if factor < SMALLEST_FACTOR => return None,
                None => factor = factor.sqrt(),
                Some(StopReason::Converged) if c == goal => {
                    self.keep(run.best?);
                    return stop;
                }
                Some(StopReason::Converged) => {
                    (reached, start) = (c, run.best);
                    factor = (factor * factor).min(FACTOR);
                }
                _ => return stop,
            }
            c = goal.min(reached * factor);
        }
        None
    }

    /// Whether the space of samples is the place to work in: there are many more features than samples, or a rough answer is asked for
    /// the signs of many tasks with few samples each, whose coupled systems cost more than some turns.
    fn in_samples(&self) -> bool {
        let problem = self.problem;
        if problem.table(0).padded().is_none() || problem.variance.is_none() {
            return false;
        }
        let rough = problem.classify && problem.tasks.len() >= MANY_TASKS && self.limits.tolerance >= COARSE;
        let shapes: Vec<(usize, usize)> = problem.tables.iter().map(|table| (table.rows, table.groups)).collect();
        (rough && shapes.iter().all(|&(rows, _)| rows <= FEW_ROWS)) || is_wide(&shapes, self.context)
    }

    /// Turns of switches and machines in the space of samples. One task's answer is finished by Newton's method; several are coupled by
    /// their switches, which makes its systems dear, and the turns go on to the end.
    fn sampled(&mut self) -> Option<StopReason> {
        let problem = self.problem;
        let Ok(mut sampled) = Sampled::new(problem) else {
            return watch(self.context, self.limits, &mut self.steps)(f64::INFINITY);
        };
        let alone = problem.tasks.len() == 1;
        let (mut progress, mut goal) = (f64::INFINITY, SAMPLED_GOAL.max(0.3 * self.limits.tolerance));
        for _ in 0..SAMPLED_TURNS {
            let most = alone.then(|| most_moves(problem.table(0).rows));
            let turn = sampled.turn(problem, (0.1 * progress).clamp(1e-12, 1e-3), most);
            progress = turn.progress;
            let stop = watch(self.context, self.limits, &mut self.steps)(progress);
            if progress <= goal || stop.is_some() {
                let certificate = sampled.certify(problem);
                let gap = certificate.relative();
                self.keep(certificate);
                if gap <= self.limits.tolerance && self.limits.tolerance >= TIGHT {
                    return Some(StopReason::Converged);
                }
                if stop.is_some() {
                    return stop;
                }
                // A tight tolerance asks for Newton's last steps, which take the optimality conditions down to rounding.
                if alone || (self.limits.tolerance < TIGHT && gap <= ROUGH) {
                    return self.newton(sampled.point(problem, CURVES[0]), true, NEWTON_STEPS);
                }
                goal = progress * (0.5 * self.limits.tolerance / gap).clamp(0.01, 0.7);
            }
            if sampled.follow(problem, &turn).is_err() {
                break;
            }
        }
        None
    }

    /// Multiplications of one interior point step, roughly.
    fn interior_cost(&self) -> f64 {
        let d = self.problem.groups() as f64;
        let of = |n: f64| n * d * n.min(d) + n.min(d).powi(3);
        self.problem.tasks.iter().map(|task| of(task.y.len() as f64)).sum()
    }

    fn keep(&mut self, certificate: Certificate) {
        let better = |best: &Certificate| {
            let (new, old) = (certificate.relative(), best.relative());
            new < old || (new <= self.limits.tolerance && old <= self.limits.tolerance && certificate.violation < best.violation)
        };
        // The first one counts whatever it is: somebody else will see that it is not finite.
        let sound = certificate.objective.is_finite() && certificate.gap.is_finite();
        if self.best.is_none() || (sound && self.best.as_ref().is_none_or(better)) {
            self.best = Some(certificate);
        }
    }

    /// Newton's method; a reason if the work is over.
    fn newton(&mut self, point: Point, krylov: bool, steps: usize) -> Option<StopReason> {
        let watch = watch(self.context, self.limits, &mut self.steps);
        let Descent { certificate, stop } = descend(self.problem, point, self.limits.tolerance, steps, krylov, watch);
        self.keep(certificate);
        stop
    }

    /// Whether conjugate gradients pay: matrices of this size cost more than many passes.
    fn large(&self) -> bool {
        self.problem.table(0).padded().is_some() && self.interior_cost() > SMALL_STEP
    }

    /// Coordinate ascent and Newton's method in turns. With many tasks the other methods cost much more, so it gets several chances, each
    /// with a point that is closer.
    fn ascend(&mut self, settled: &[f64]) -> Option<StopReason> {
        let problem = self.problem;
        let mut ascent = Ascent::new(problem, None);
        for (round, &progress) in settled.iter().enumerate() {
            let (certificate, stop) = ascent.run(progress, self.limits.tolerance, TURNS, watch(self.context, self.limits, &mut self.steps));
            let reached = certificate.as_ref().is_some_and(|certificate| certificate.relative() <= self.limits.tolerance);
            if let Some(certificate) = certificate {
                self.keep(certificate);
            }
            if reached || !matches!(stop, None | Some(StopReason::Converged)) {
                return stop;
            }
            let steps = if round + 1 < settled.len() { FEW_STEPS } else { NEWTON_STEPS };
            if let Some(stop) = self.newton(ascent.point(CURVES[0]), true, steps) {
                return Some(stop);
            }
        }
        None
    }

    /// The interior point method and Newton's method in turns, each taking over at a smaller gap.
    fn interior(&mut self, k: f64) -> Option<StopReason> {
        let problem = self.problem;
        let mut interior = Interior::new(problem, k);
        let mut rough = ROUGH.max(self.limits.tolerance);
        loop {
            let (certificate, stop) = interior.run(rough, INTERIOR_STEPS, watch(self.context, self.limits, &mut self.steps));
            let gap = certificate.relative();
            self.keep(certificate);
            match stop {
                Some(StopReason::Converged) if gap <= self.limits.tolerance && self.limits.tolerance >= ROUGH => {
                    // What is asked for is reached, if it still is without the multipliers that vanish. A tight tolerance gets the few
                    // Newton steps to rounding in any case.
                    let cleared = interior.with_zeros();
                    if cleared.relative() <= self.limits.tolerance {
                        self.best = Some(cleared);
                        return stop;
                    }
                }
                Some(StopReason::Converged) => {}
                Some(StopReason::MaxIterations) | None if self.steps < self.limits.steps => {
                    // Out of steps, or no step possible: Newton's method may still finish from here.
                    return if gap < 0.1 { self.newton(interior.point().clone(), false, NEWTON_STEPS) } else { None };
                }
                other => return other,
            }
            if let Some(stop) = self.newton(interior.point().clone(), false, FEW_STEPS) {
                return Some(stop);
            }
            if rough <= self.limits.tolerance {
                return None;
            }
            rough = (1e-3 * rough.min(gap)).max(self.limits.tolerance);
        }
    }
}

/// Counts a step, reports progress, and says when to stop.
fn watch<'w>(context: &'w Context<'_>, limits: Limits, steps: &'w mut u64) -> impl FnMut(f64) -> Option<StopReason> + 'w {
    move |gap| {
        if *steps >= limits.steps {
            return Some(StopReason::MaxIterations);
        }
        *steps += 1;
        let progress = Progress { stage: "solve", done: *steps, total: None, violation: Some(gap), tolerance: Some(limits.tolerance) };
        context.check(&progress)
    }
}
