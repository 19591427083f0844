//! Looking for better minima where the kernel is not positive semi-definite.
//!
//! There a slot's problem has many local minima, and a descent ends in one of them. Each slot is tried again from other starts, the way
//! an evolution would: solutions of other slots brought to this slot's sum (selection), mixtures of two of them (crossover), random
//! corners and random points of the box (mutation), each followed by a descent. What is better replaces what was there. Rounds go on
//! while they help, up to a fixed number: the search always ends.

use super::exact::slots::{Slot, SlotTask};
use crate::error::Result;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::random::Random;

/// Rounds over all slots at most, and random starts per slot and round.
const ROUNDS: usize = 4;
const STARTS: usize = 4;
/// Draws of this search are apart from those of the evolution.
const STREAM: u64 = 0x72_65_73_74 << 32;
/// A relative improvement below this is none.
const WORTH: f64 = 1e-9;

/// Improves `slots` in place; tells why it stopped.
pub(super) fn improve(
    task: &SlotTask<'_>,
    slots: &mut [Slot],
    seed: u64,
    cache: Option<usize>,
    context: &Context<'_>,
) -> Result<StopReason> {
    let count = slots.len();
    // Slots are independent within a round: they look at the last round's solutions only.
    let inner = if count > 1 { context.with_threads(1) } else { *context };
    let inner = Context { memory: context.memory.map(|memory| memory / context.threads.max(1)), ..inner };
    for round in 0..ROUNDS {
        let before: &[Slot] = slots;
        let found = parallel::map(context.threads, count, |k| -> Result<(Slot, StopReason)> {
            let mut best = before[k].clone();
            if let Some(reason) = context.step("restarts", round * count + k, ROUNDS * count) {
                return Ok((best, reason));
            }
            let mut random = Random::new(seed, STREAM + (round * count + k) as u64);
            let sum: f64 = best.alpha.iter().sum();
            let mut solver = task.solver(cache, &inner)?;
            let mut stop = StopReason::Converged;
            for start in starts(task, before, k, sum, &mut random) {
                let slot = task.descend(&mut solver, start, None)?;
                if matches!(slot.stop, StopReason::TimeLimit | StopReason::Interrupted) {
                    stop = slot.stop;
                    break;
                }
                let steps = best.iterations + slot.iterations;
                if slot.quadratic < best.quadratic - WORTH * best.quadratic.abs() {
                    best = slot;
                }
                best.iterations = steps;
            }
            Ok((best, stop))
        });
        let (mut helped, mut stop) = (false, StopReason::Converged);
        for (slot, found) in slots.iter_mut().zip(found) {
            let (better, reason) = found?;
            helped |= better.quadratic < slot.quadratic;
            stop = stop.worst(reason);
            *slot = better;
        }
        if !helped || stop != StopReason::Converged {
            return Ok(stop);
        }
    }
    Ok(StopReason::Converged)
}

/// Other places to start slot `k` from.
fn starts(task: &SlotTask<'_>, slots: &[Slot], k: usize, sum: f64, random: &mut Random) -> Vec<Vec<f64>> {
    let n = task.signs.len();
    let mut starts = Vec::new();
    for neighbor in [k.wrapping_sub(1), k + 1] {
        if let Some(slot) = slots.get(neighbor) {
            starts.push(task.fill(&slot.alpha, sum));
        }
    }
    if slots.len() > 2 {
        let (a, b, u) = (random.below(slots.len()), random.below(slots.len()), random.uniform());
        let mixed: Vec<f64> = slots[a].alpha.iter().zip(&slots[b].alpha).map(|(a, b)| u * a + (1.0 - u) * b).collect();
        starts.push(task.fill(&mixed, sum));
    }
    for _ in 0..STARTS / 2 {
        // A corner: all room in random order until the sum is used up (the last gets what is left).
        let order = random.permutation(n);
        let mut corner = vec![0.0; n];
        let mut left = sum;
        for &i in &order {
            corner[i] = task.room[i].min(left.max(0.0));
            left -= task.room[i];
        }
        starts.push(task.fill(&corner, sum));
        // An edge of random weights: exponential ones are uniform on the simplex.
        let inside: Vec<f64> = (0..n).map(|_| -(1.0 - random.uniform()).ln()).collect();
        starts.push(task.fill(&inside, sum));
    }
    starts
}
