//! Looking for better minima where the kernel is not positive semi-definite.
//!
//! There a slot's problem has many local minima, and a descent ends in one of them. Some slots, the scouts, are tried again from other
//! starts, the way an evolution would: mixtures of two solutions (crossover), random corners and random points of the box (mutation), each
//! followed by a descent. What a scout finds is handed on along the front, up and down, from neighbor to neighbor brought to its sum
//! (selection), as far as it is better than what was there: neighbors lie in the same valley, and a start close to a minimum costs far
//! less than one from anywhere. Of few samples every slot is a scout. Rounds go on while they help, up to a fixed number: the search
//! always ends.

use super::exact::slots::{Slot, SlotTask};
use crate::error::Result;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::random::Random;

/// Rounds at most, and random starts per scout and round.
const ROUNDS: usize = 4;
const STARTS: usize = 4;
/// Scouts per round where there are many samples.
const SCOUTS: usize = 8;
/// Samples up to which every slot is a scout: its descents take microseconds.
const FEW: usize = 60;
/// Draws of this search are apart from those of the evolution.
const STREAM: u64 = 0x72_65_73_74 << 32;
/// A relative improvement below this is none.
const WORTH: f64 = 1e-9;

/// Whether `slot` is better than what was there.
fn better(slot: &Slot, there: &Slot) -> bool {
    slot.quadratic < there.quadratic - WORTH * there.quadratic.abs()
}

/// Improves `slots` in place; tells why it stopped.
pub(super) fn improve(
    task: &SlotTask<'_>,
    slots: &mut [Slot],
    seed: u64,
    cache: Option<usize>,
    context: &Context<'_>,
) -> Result<StopReason> {
    let count = slots.len();
    let stride = if task.signs.len() <= FEW { 1 } else { count.div_ceil(SCOUTS).max(1) };
    // The sweep went down from the largest sum: nothing has been handed up yet.
    let mut stop = hand_on(task, slots, vec![true; count], vec![false; count], cache, context)?;
    for round in 0..ROUNDS {
        if stop != StopReason::Converged {
            break;
        }
        // Other slots in every round.
        let scouts: Vec<usize> = (0..count).filter(|k| (k + round * stride / ROUNDS) % stride == stride / 2).collect();
        let (fresh, found) = scout(task, slots, &scouts, (seed, round), cache, context)?;
        stop = stop.worst(found);
        if !fresh.contains(&true) || stop != StopReason::Converged {
            break;
        }
        stop = stop.worst(hand_on(task, slots, fresh.clone(), fresh, cache, context)?);
    }
    Ok(stop)
}

/// Tries `scouts` from other starts; which slots that helped. Scouts see each other's solutions of before only, on as many threads as there are.
fn scout(
    task: &SlotTask<'_>,
    slots: &mut [Slot],
    scouts: &[usize],
    (seed, round): (u64, usize),
    cache: Option<usize>,
    context: &Context<'_>,
) -> Result<(Vec<bool>, StopReason)> {
    let inner = if scouts.len() > 1 { context.with_threads(1) } else { *context };
    let inner = Context { memory: context.memory.map(|memory| memory / context.threads.max(1)), ..inner };
    let (before, count): (&[Slot], usize) = (slots, slots.len());
    let found = parallel::map(context.threads, scouts.len(), |place| -> Result<(Slot, StopReason)> {
        let k = scouts[place];
        let mut best = before[k].clone();
        if let Some(reason) = context.step("restarts", round * scouts.len() + place, ROUNDS * scouts.len()) {
            return Ok((best, reason));
        }
        let mut random = Random::new(seed, STREAM + (round * count + k) as u64);
        let sum: f64 = best.alpha.iter().sum();
        let mut solver = task.solver(cache, &inner)?;
        let mut stop = StopReason::Converged;
        for start in starts(task, before, sum, &mut random) {
            let slot = task.descend(&mut solver, start, None)?;
            if matches!(slot.stop, StopReason::TimeLimit | StopReason::Interrupted) {
                stop = slot.stop;
                break;
            }
            let steps = best.iterations + slot.iterations;
            if better(&slot, &best) {
                best = slot;
            }
            best.iterations = steps;
        }
        Ok((best, stop))
    });
    let (mut fresh, mut stop) = (vec![false; count], StopReason::Converged);
    for (&k, found) in scouts.iter().zip(found) {
        let (slot, reason) = found?;
        fresh[k] = slot.quadratic < slots[k].quadratic;
        stop = stop.worst(reason);
        slots[k] = slot;
    }
    Ok((fresh, stop))
}

/// Hands the solutions of the slots in `up` to the next larger sum and of those in `down` to the next smaller one, and on from there while
/// they are better.
fn hand_on(
    task: &SlotTask<'_>,
    slots: &mut [Slot],
    mut up: Vec<bool>,
    mut down: Vec<bool>,
    cache: Option<usize>,
    context: &Context<'_>,
) -> Result<StopReason> {
    let count = slots.len();
    let mut solver = task.solver(cache, context)?;
    for upward in [true, false] {
        for place in 1..count {
            let (from, to) = if upward { (place - 1, place) } else { (count - place, count - place - 1) };
            if !(if upward { &up } else { &down })[from] {
                continue;
            }
            if let Some(reason) = context.step("restarts", place, count) {
                return Ok(reason);
            }
            let sum: f64 = slots[to].alpha.iter().sum();
            let slot = task.descend(&mut solver, task.fill(&slots[from].alpha, sum), None)?;
            if matches!(slot.stop, StopReason::TimeLimit | StopReason::Interrupted) {
                return Ok(slot.stop);
            }
            let steps = slots[to].iterations + slot.iterations;
            if better(&slot, &slots[to]) {
                slots[to] = slot;
                (up[to], down[to]) = (true, true);
            }
            slots[to].iterations = steps;
        }
    }
    Ok(StopReason::Converged)
}

/// Other places to start a slot of the given sum from.
fn starts(task: &SlotTask<'_>, slots: &[Slot], sum: f64, random: &mut Random) -> Vec<Vec<f64>> {
    let n = task.signs.len();
    let mut starts = Vec::new();
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
