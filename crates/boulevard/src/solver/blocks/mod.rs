//! The blocked loop: tables of any size without a cache of kernel rows.
//!
//! ```text
//! repeat:  W = the free variables of the last set, and those with the steepest slopes both ways
//!          solve the problem over W with all others fixed, to 0.3 of its violation            (pair steps on K_WW)
//!          g += K(:, moved) d                                                                 (all threads, nothing is kept)
//! ```
//! Pair steps want the kernel rows of all free variables in memory; when these do not fit, every step pays for a row. A set's columns are
//! computed once per round instead, for all the steps its solution took. Rows that are settled are parked, and come back with the net
//! change of the point since. Each set keeps the sums, and its solution never raises the objective, so the loop is safe for every convex
//! problem of [`super::DualProblem`]. For kernels that are not positive semi-definite a set's solution may run to corners that the others
//! undo: pair steps stay in charge of those unless a card was asked for, where the loop ends at a stationary point as they do, without
//! Newton's steps, without small bounds first and without looking ahead, and hands over to them if it moves too many columns.
//!
//! `BlockEngine` is all that the loop knows of the rows: [`CpuBlocks`] has them in memory, [`CardBlocks`] on a graphics card, [`shards`] on
//! many machines.

mod ahead;
mod card;
mod cpu;
mod ease;
mod engine;
mod finish;
mod gram;
mod known;
mod local;
mod newton;
mod patience;
mod run;
mod select;
mod set;
pub(super) mod shards;
mod sums;

#[cfg(test)]
mod tests;

pub use card::CardCopy;
#[cfg(feature = "card-times")]
pub use card::card_times;
pub(super) use card::{CARD_DRIFT, CardBlocks, Choice, FarRows, choose as choose_card};
pub(crate) use card::{CardLanes, Job, PairTask, card_for_pairs, card_sums, solve_pairs};
pub(super) use cpu::{CpuBlocks, exact_bytes};
pub(super) use finish::Verdict;
pub(super) use run::Plan;

use self::engine::{BlockEngine, Halt};
use self::run::Loop;
use super::dual::{DualProblem, Options};
use crate::error::Result;

/// Solves `problem` from `b`, whose gradient is given, or that of zero if it is `unknown`; both are what the loop found afterwards.
pub(super) fn solve(
    engine: &mut dyn BlockEngine,
    problem: &DualProblem<'_>,
    options: &Options,
    plan: Plan,
    unknown: bool,
    b: &mut [f64],
    gradient: &mut Vec<f64>,
    iterations: &mut u64,
) -> Result<Verdict> {
    let unhalted = |halt: Halt| match halt {
        Halt::Failed(error) => error,
        Halt::Stop(reason) => unreachable!("an engine that nobody watches does not stop ({reason:?})"),
    };
    let eased = plan.eased.filter(|_| !unknown).map_or_else(Vec::new, |diagonal| ease::stages(problem, diagonal, b));
    let mut stages: Vec<DualProblem<'_>> = eased.iter().map(|[lower, upper]| DualProblem { lower, upper, ..*problem }).collect();
    stages.push(*problem);
    let verdict = Loop::new(&stages, options, engine, b, gradient, unknown, iterations, plan).and_then(|mut run| run.run());
    let verdict = verdict.map_err(unhalted)?;
    *gradient = engine.gradient().map_err(unhalted)?;
    Ok(verdict)
}
