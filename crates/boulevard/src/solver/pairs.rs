//! Pair steps: single precision as far as it goes, an exact gradient, double precision where needed.

use super::certificate::violation;
use super::dual::{DualProblem, Options};
use super::smo::{Engine, Limits, PassOutcome};
use super::solve::Solver;
use super::source::SMALL;
use crate::error::Result;
use crate::observe::{StopReason, stopped as stopped_by};
use crate::simd::Real;

/// Single precision stops this much below the tolerance, to make up for its rounding.
const MARGIN: f64 = 0.97;
/// The estimated rounding error may be at most this share of the tolerance; beyond it the gradient is computed anew.
const WIDEST_MARGIN: f64 = 0.1;
/// The kernel's rounding error in single precision may be at most this share of the tolerance.
const SINGLE_SHARE: f64 = 0.02;
/// Steps per sample on rows in double precision before they are copied in single: with C = 1 5000 samples take one and end there. With
/// wider bounds (times the largest diagonal value) they take many, and copies pay from the first one on.
const RESIDENT_STEPS: f64 = 1.25;
const WIDE: f64 = 4.0;
/// Share of the tolerance by which the gradient of a start may be wrong: the steps from it lead nearly to the end, and an exact gradient is
/// needed once, after them.
const ROUGH: f64 = 0.5;
/// Exact gradients after which single precision is given up.
const CORRECTIONS: usize = 4;

impl Solver<'_> {
    /// Pair steps until the true violation is within the tolerance; none if `leave_crowded` and rows were computed again and again. `error`
    /// is how wrong the gradient may be, before and after: infinite if it ends as that of another point.
    pub(super) fn pairs(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        leave_crowded: bool,
        b: &mut [f64],
        gradient: &mut Vec<f64>,
        iterations: &mut u64,
        error: &mut f64,
    ) -> Result<Option<StopReason>> {
        let unsolved = self.on_resident_rows(problem, options, b, gradient, iterations);
        let enough = match stopped_by(unsolved.and_then(|unsolved| Ok(unsolved && self.single_is_enough(problem, options)?)))? {
            Ok(enough) => enough,
            Err(reason) => return Ok(Some(reason)),
        };
        if enough {
            let mut target = MARGIN * options.tolerance;
            // Since the last exact gradient, only what moved can have gone wrong.
            let (mut exact_at, mut exact_since, mut carried) = (b.to_vec(), *iterations, *error);
            for _ in 0..CORRECTIONS {
                let before = *iterations;
                let outcome = self.approach(problem, options, target, leave_crowded, b, gradient, iterations)?;
                let whole = self.single.as_mut().expect("it just ran").read_gradient(gradient);
                *error = if whole { carried + rounding(b, &exact_at, gradient, *iterations - exact_since) } else { f64::INFINITY };
                if let PassOutcome::Stopped(reason) = outcome {
                    return if whole { Ok(Some(reason)) } else { self.stop_for(reason, problem, b, gradient, error) };
                }
                if outcome == PassOutcome::Crowded {
                    // Their memory is better used otherwise.
                    self.single = None;
                    return if whole { Ok(None) } else { self.renew(problem, b, gradient, error) };
                }
                if whole && outcome == PassOutcome::Reached {
                    if target + *error <= options.tolerance {
                        return Ok(Some(StopReason::Converged));
                    }
                    if *error <= WIDEST_MARGIN * options.tolerance {
                        // A few more steps are cheaper than the exact gradient.
                        target = options.tolerance - *error;
                        continue;
                    }
                }
                if let Some(reason) = self.renew(problem, b, gradient, error)? {
                    return Ok(Some(reason));
                }
                carried = 0.0;
                if violation(problem, b, gradient) <= options.tolerance {
                    return Ok(Some(StopReason::Converged));
                }
                exact_at.copy_from_slice(b);
                exact_since = *iterations;
                // No step was taken: single precision cannot improve the point any more.
                if *iterations == before {
                    break;
                }
            }
        }
        self.in_double(problem, options, b, gradient, iterations, error)
    }

    /// The same in double precision, to the end.
    fn in_double(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        b: &mut [f64],
        gradient: &mut Vec<f64>,
        iterations: &mut u64,
        error: &mut f64,
    ) -> Result<Option<StopReason>> {
        let mut options = *options;
        loop {
            let outcome = match stopped_by(self.run_double(problem, &options, None, b, gradient, iterations))? {
                Ok(outcome) => outcome,
                Err(reason) => return Ok(Some(reason)),
            };
            let whole = self.double.as_mut().expect("it just ran").read_gradient(gradient);
            if !whole {
                *error = f64::INFINITY;
            }
            if let PassOutcome::Stopped(reason) = outcome {
                return if whole { Ok(Some(reason)) } else { self.stop_for(reason, problem, b, gradient, error) };
            }
            if !whole && let Some(reason) = self.renew(problem, b, gradient, error)? {
                return Ok(Some(reason));
            }
            let reached = violation(problem, b, gradient) <= options.tolerance;
            if whole || reached {
                return Ok(Some(if reached || outcome == PassOutcome::Reached { StopReason::Converged } else { StopReason::Rounding }));
            }
            // What is left is as exact as it gets, but samples that were left out may want to move by now: to the end with all of them.
            options.shrinking &= outcome != PassOutcome::Stuck;
        }
    }

    /// First steps on rows that are in memory in double precision: few steps do not pay for copies in single. Whether more are needed.
    fn on_resident_rows(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        b: &mut [f64],
        gradient: &mut [f64],
        iterations: &mut u64,
    ) -> Result<bool> {
        let widest = problem.lower.iter().zip(problem.upper).fold(0.0, |most: f64, (low, high)| most.max(high - low));
        if problem.len() <= SMALL || widest * self.largest_diagonal() > WIDE || self.source.double()?.resident(0).is_none() {
            return Ok(true);
        }
        let pause_at = *iterations + (RESIDENT_STEPS * problem.len() as f64) as u64;
        let outcome = self.run_double(problem, options, Some(pause_at), b, gradient, iterations)?;
        let whole = self.double.as_mut().expect("it just ran").read_gradient(gradient);
        debug_assert!(whole, "samples are left out later");
        Ok(outcome == PassOutcome::Paused)
    }

    /// The exact gradient, with no error then; the reason if it was stopped.
    fn renew(&self, problem: &DualProblem<'_>, b: &[f64], gradient: &mut Vec<f64>, error: &mut f64) -> Result<Option<StopReason>> {
        let stopped = self.exact_gradient(problem, b, gradient)?;
        if stopped.is_none() {
            *error = 0.0;
        }
        Ok(stopped)
    }

    /// Ends for `reason` while samples are left out: where steps ran out there is time for the gradient of all.
    fn stop_for(
        &self,
        reason: StopReason,
        problem: &DualProblem<'_>,
        b: &[f64],
        gradient: &mut Vec<f64>,
        error: &mut f64,
    ) -> Result<Option<StopReason>> {
        if reason == StopReason::MaxIterations {
            self.renew(problem, b, gradient, error)?;
        }
        Ok(Some(reason))
    }

    /// Whether pair steps may begin with a gradient that may be wrong by `error`: where they go on in single precision, as they did before.
    pub(super) fn may_begin_with(&self, error: f64, problem: &DualProblem<'_>, options: &Options) -> Result<bool> {
        let most = ROUGH * options.tolerance;
        Ok(error == 0.0 || (error <= most && self.single_is_enough(problem, options)? && self.source.double()?.resident(0).is_none()))
    }

    fn single_is_enough(&self, problem: &DualProblem<'_>, options: &Options) -> Result<bool> {
        // Passes count samples in the precision they compute in.
        const MOST: usize = 1 << 24;
        if problem.len() <= SMALL || problem.len() >= MOST {
            return Ok(false);
        }
        let largest = problem.linear.iter().fold(0.0, |a: f64, v| a.max(v.abs())) + problem.kink;
        let allowed = SINGLE_SHARE * options.tolerance;
        Ok(largest * f32::ROUNDING <= allowed && self.source.single()?.accuracy() <= allowed)
    }

    fn limits(&self, problem: &DualProblem<'_>, options: &Options, tolerance: f64) -> Limits {
        Limits {
            tolerance,
            max_iterations: options.max_iterations.unwrap_or(u64::MAX),
            // Leaving samples out pays when there are many more steps than samples.
            shrink_after: options.shrinking.then(|| 3 * problem.len() as u64),
            leave_crowded: false,
            pause_at: None,
        }
    }

    /// Sets single precision to the point `b` with this gradient.
    pub(super) fn load_single(&mut self, problem: &DualProblem<'_>, b: &[f64], gradient: &[f64]) -> Result<()> {
        let budget = self.budget(problem, size_of::<f32>());
        let (rows, threads) = (self.source.single()?, self.crew.threads());
        let engine =
            self.single.get_or_insert_with(|| Engine::new(rows, &self.diagonal, self.source.dimensions(), budget, threads, &self.context));
        engine.load(problem, b, gradient, &self.diagonal, &self.context);
        Ok(())
    }

    /// Steps from where single precision was loaded or paused.
    pub(super) fn run_single(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        target: f64,
        leave_crowded: bool,
        pause_at: Option<u64>,
        b: &mut [f64],
        iterations: &mut u64,
    ) -> PassOutcome {
        let limits = Limits { leave_crowded, pause_at, ..self.limits(problem, options, target) };
        let engine = self.single.as_mut().expect("it was loaded");
        engine.run(problem, b, &limits, iterations, &mut self.crew, &self.context)
    }

    fn run_double(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        pause_at: Option<u64>,
        b: &mut [f64],
        gradient: &[f64],
        iterations: &mut u64,
    ) -> Result<PassOutcome> {
        let limits = Limits { pause_at, ..self.limits(problem, options, options.tolerance) };
        // Rows in single precision are not needed any more.
        self.single = None;
        let budget = self.budget(problem, size_of::<f64>());
        let (rows, threads) = (self.source.double()?, self.crew.threads());
        let engine =
            self.double.get_or_insert_with(|| Engine::new(rows, &self.diagonal, self.source.dimensions(), budget, threads, &self.context));
        engine.load(problem, b, gradient, &self.diagonal, &self.context);
        Ok(engine.run(problem, b, &limits, iterations, &mut self.crew, &self.context))
    }
}

/// How wrong the gradient may be after `iterations` steps in single precision from a point with an exact one.
///
/// Roundings of the steps add up like a random walk with the gradient's typical size (the factor is four standard deviations of a uniform
/// rounding error), those of the kernel like one with the size of the move.
fn rounding(b: &[f64], exact_at: &[f64], gradient: &[f64], iterations: u64) -> f64 {
    let size = b.iter().zip(exact_at).map(|(v, w)| (v - w) * (v - w)).sum::<f64>().sqrt();
    let typical = (gradient.iter().map(|v| v * v).sum::<f64>() / gradient.len() as f64).sqrt();
    // The start is rounded, too.
    f32::ROUNDING * (2.3 * (iterations as f64 + 1.0).sqrt() * typical + 2.0 * size)
}
