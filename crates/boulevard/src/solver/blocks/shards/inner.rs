//! A set's own problem at the driver: small sets at once, large ones by the same loop with smaller sets.

use crate::data::Matrix;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::parallel::Crew;
use crate::simd::Real;
use crate::solver::blocks::cpu::CpuBlocks;
use crate::solver::blocks::engine::{BlockEngine, Outcome, Set, SetSolution};
use crate::solver::blocks::run::{End, Loop, Plan};
use crate::solver::blocks::set::WorkingSet;
use crate::solver::dual::{DualProblem, Equality, Options};
use crate::solver::source::{KernelSource, TableKernel};

/// Sets up to this size are solved by pair steps on their kernel matrix.
const AT_ONCE: usize = 1024;
/// Sets of the inner loop.
const INNER: usize = 1024;

/// Solves a set whose rows are `x`.
pub(super) fn solve(kernel: &Kernel, x: &Matrix<'_>, set: &Set<'_>, double: bool, context: &Context<'_>) -> Outcome<SetSolution> {
    // Packing some thousand rows takes milliseconds: nobody need be asked.
    let source = TableKernel::new(kernel, x, &context.undisturbed());
    let mut crew = Crew::new(context.threads);
    let linear = vec![0.0; set.ids.len()];
    if double {
        by(CpuBlocks::new(&source, source.double()?, &linear, &mut crew, context), set)
    } else {
        by(CpuBlocks::new(&source, source.single()?, &linear, &mut crew, context), set)
    }
}

fn by<T: Real>(mut engine: CpuBlocks<'_, T>, set: &Set<'_>) -> Outcome<SetSolution> {
    let ids: Vec<u32> = (0..set.ids.len() as u32).collect();
    if ids.len() <= AT_ONCE {
        return engine.solve_set(&Set { ids: &ids, progress: set.progress.clone(), ..*set });
    }
    // The linear term is nowhere used: gradients are given, and checked by the shards.
    let linear = vec![0.0; ids.len()];
    let equality = if set.second.is_empty() { Equality::Sum } else { Equality::TwoSums(set.second) };
    let problem = DualProblem { linear: &linear, lower: set.lower, upper: set.upper, kink: set.kink, equality, start: None };
    let options = Options { tolerance: set.stop, max_iterations: Some(set.max_steps), shrinking: true, polish: false };
    let (mut b, mut steps) = (set.start.to_vec(), 0);
    let plan = Plan {
        set: INNER,
        small_set: INNER,
        outer: None,
        rounding: T::ROUNDING,
        eased: None,
        diagonal: 1.0,
        thinned: 1,
        ahead: false,
        most_columns: None,
    };
    let mut inner = Loop::new(std::slice::from_ref(&problem), &options, &mut engine, &mut b, set.gradient, false, &mut steps, plan)?;
    inner.refreshed = true;
    let mut members = WorkingSet::new(INNER);
    let answer = inner.look(&members)?;
    // Parked rows need not come back: only the point is wanted, and every step keeps it feasible.
    let (_, end) = inner.descend(&mut members, answer, set.stop, true)?;
    Ok(SetSolution { b, steps, stuck: end == End::Stalled })
}
