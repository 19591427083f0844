//! The best candidates of a part of the rows, and of parts together.
//!
//! Order is by slope, then by number: the choice does not depend on how rows are cut into parts.

use std::cmp::Ordering;

use super::engine::{Candidate, Extremes};
use crate::simd::sweep::{KINK_LOW, KINK_UP, LOW, SECOND_GROUP_SHIFT, UP};

/// Mark of a variable that is in the set already, beside the bits of [`crate::simd::sweep`].
pub(super) const TAKEN: u8 = 128;

/// What one part of the rows offers: per group extremes and both lists.
#[derive(Debug)]
pub(super) struct Offer {
    pub extremes: [Extremes; 2],
    pub up: [Vec<Candidate>; 2],
    pub low: [Vec<Candidate>; 2],
}

impl Default for Offer {
    fn default() -> Self {
        Self { extremes: [Extremes::NONE; 2], up: Default::default(), low: Default::default() }
    }
}

fn rising(a: &Candidate, b: &Candidate) -> Ordering {
    a.slope.total_cmp(&b.slope).then(a.id.cmp(&b.id))
}

fn falling(a: &Candidate, b: &Candidate) -> Ordering {
    b.slope.total_cmp(&a.slope).then(a.id.cmp(&b.id))
}

/// Keeps the first `count` in this order, themselves in no order.
fn cut(list: &mut Vec<Candidate>, count: usize, order: fn(&Candidate, &Candidate) -> Ordering) {
    if count == 0 {
        list.clear();
    } else if list.len() > count {
        list.select_nth_unstable_by(count - 1, order);
        list.truncate(count);
    }
}

/// Slopes of a variable: when it grows and when it falls.
pub(super) fn slopes(status: u8, gradient: f64, kink: f64) -> (f64, f64) {
    let side = |bit: u8| if status & bit != 0 { gradient + kink } else { gradient - kink };
    (side(KINK_UP), side(KINK_LOW))
}

/// Whether a variable may grow and whether it may fall, in whichever group.
pub(super) fn may(status: u8) -> (bool, bool) {
    (status & (UP | UP << SECOND_GROUP_SHIFT) != 0, status & (LOW | LOW << SECOND_GROUP_SHIFT) != 0)
}

/// The group of a variable that may move.
pub(super) fn group(status: u8) -> usize {
    usize::from(status & ((UP | LOW) << SECOND_GROUP_SHIFT) != 0)
}

/// Looks through a part of the rows.
pub(super) fn offer(ids: &[u32], status: &[u8], gradient: &[f64], kink: f64, count: usize) -> Offer {
    let mut found = Offer::default();
    for ((&id, &status), &gradient) in ids.iter().zip(status).zip(gradient) {
        let (group, (grow, fall)) = (group(status), may(status));
        let (up, low) = slopes(status, gradient, kink);
        let (extremes, free) = (&mut found.extremes[group], status & TAKEN == 0);
        if grow {
            extremes.least_up = extremes.least_up.min(up);
            if free {
                found.up[group].push(Candidate { id, slope: up, gradient });
            }
        }
        if fall {
            extremes.most_low = extremes.most_low.max(low);
            if free {
                found.low[group].push(Candidate { id, slope: low, gradient });
            }
        }
    }
    for group in 0..2 {
        cut(&mut found.up[group], count, rising);
        cut(&mut found.low[group], count, falling);
    }
    found
}

/// The best of several parts, in order. Candidates that violate nothing are left out.
pub(super) fn merge(parts: impl IntoIterator<Item = Offer>, count: usize) -> Offer {
    let mut all = Offer::default();
    for part in parts {
        for group in 0..2 {
            all.extremes[group] = all.extremes[group].merge(part.extremes[group]);
        }
        let lists = all.up.iter_mut().zip(part.up).chain(all.low.iter_mut().zip(part.low));
        lists.for_each(|(all, part)| all.extend(part));
    }
    for group in 0..2 {
        let Extremes { least_up, most_low } = all.extremes[group];
        all.up[group].retain(|candidate| candidate.slope < most_low);
        all.low[group].retain(|candidate| candidate.slope > least_up);
        cut(&mut all.up[group], count, rising);
        cut(&mut all.low[group], count, falling);
        all.up[group].sort_unstable_by(rising);
        all.low[group].sort_unstable_by(falling);
    }
    all
}
