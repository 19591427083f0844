//! Problems on a cluster, one after the other, with the same face as the solver of one machine.

use super::{Cluster, Shards};
use crate::error::Result;
use crate::observe::{Context, StopReason};
use crate::simd::Real;
use crate::solver::blocks::{self, Plan, Verdict};
use crate::solver::certificate::{Certificate, certify};
use crate::solver::dual::{DualProblem, DualSolution, Equality, Options};
use crate::solver::route::Route;
use crate::solver::solve::SolveDual;
use crate::solver::start::Known;

/// Variables in a set: larger sets need fewer rounds, and their own problems grow.
const SETS: std::ops::RangeInclusive<usize> = 1024..=16_384;
const SET_SHARE: usize = 5;
/// A kernel whose values are wrong by more than this many times the tolerance is not tried in single precision.
const HOPELESS: f64 = 30.0;

/// Solves problems on some rows of a cluster.
pub(crate) struct ShardedSolver<'a, 'c> {
    cluster: &'a mut Cluster<'c>,
    /// Rows of the whole table by variable, rising; none if all take part.
    samples: Option<Vec<u32>>,
    /// Set size, for tests.
    pub(crate) set: Option<usize>,
}

impl<'a, 'c> ShardedSolver<'a, 'c> {
    /// On these rows, rising, or on all.
    pub(crate) fn new(cluster: &'a mut Cluster<'c>, samples: Option<&[usize]>) -> Self {
        let samples = samples.map(|samples| samples.iter().map(|&row| row as u32).collect());
        Self { cluster, samples, set: None }
    }
}

/// What the rows in reach say: the offsets of a model that is better than none.
fn partial(problem: &DualProblem<'_>, b: &[f64], gradient: &[f64], reached: &[usize]) -> Certificate {
    let of = |values: &[f64]| -> Vec<f64> { reached.iter().map(|&i| values[i]).collect() };
    let second: Vec<bool> = reached.iter().map(|&i| problem.in_second_group(i)).collect();
    let equality = if matches!(problem.equality, Equality::TwoSums(_)) { Equality::TwoSums(&second) } else { Equality::Sum };
    let (linear, lower, upper) = (of(problem.linear), of(problem.lower), of(problem.upper));
    let rest = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: problem.kink, equality, start: None };
    certify(&rest, &of(b), &of(gradient))
}

impl SolveDual for ShardedSolver<'_, '_> {
    fn solve(&mut self, problem: &DualProblem<'_>, _: Option<Known>, options: &Options) -> Result<DualSolution> {
        problem.validate()?;
        let n = problem.len();
        let mut b = problem.start.map_or_else(|| vec![0.0; n], <[f64]>::to_vec);
        let mut unknown = b.iter().any(|&value| value != 0.0);
        let (mut gradient, mut iterations) = (problem.linear.to_vec(), 0);
        let (mut stop, mut known) = (StopReason::Rounding, true);
        let watched: Context<'_> = self.cluster.context;
        let set = self.set.unwrap_or((n / SET_SHARE).clamp(*SETS.start(), *SETS.end()));
        for double in [false, true] {
            if !double && self.cluster.accuracy() > HOPELESS * options.tolerance {
                continue;
            }
            let rounding = if double { f64::ROUNDING } else { self.cluster.rounding() };
            let plan = Plan {
                set,
                small_set: set,
                outer: None,
                rounding,
                eased: None,
                diagonal: 1.0,
                thinned: 1,
                ahead: false,
                most_columns: None,
            };
            let nothing = vec![0.0; n];
            let at = if unknown { &nothing } else { &b };
            let mut engine = Shards::new(self.cluster, self.samples.as_deref(), problem.linear, double, at);
            let verdict = blocks::solve(&mut engine, problem, options, plan, unknown, &mut b, &mut gradient, &mut iterations);
            // Whoever was told to look away for the last check watches the next problem again.
            self.cluster.context = watched;
            unknown = false;
            match verdict? {
                Verdict::Done(reason) => stop = reason,
                Verdict::Unchecked | Verdict::Incomplete => (stop, known) = (StopReason::Interrupted, false),
                Verdict::Exhausted => continue,
            }
            break;
        }
        let reached: Vec<usize> = (0..n).filter(|&i| !gradient[i].is_nan()).collect();
        let mut certificate = if reached.len() == n { certify(problem, &b, &gradient) } else { partial(problem, &b, &gradient, &reached) };
        if !known || reached.len() < n {
            (certificate.objective, certificate.violation, certificate.gap) = (f64::NAN, f64::NAN, f64::NAN);
            stop = StopReason::Interrupted;
        }
        Ok(DualSolution {
            coefficients: b,
            gradient,
            gradient_error: f64::INFINITY,
            offsets: certificate.offsets,
            objective: certificate.objective,
            violation: certificate.violation,
            gap: certificate.gap,
            iterations,
            stop,
            route: Route::Shards,
        })
    }

    fn largest_diagonal(&self) -> f64 {
        // Only the size of things is wanted: where a machine counts as zero.
        1.0
    }
}
