//! The system of free variables under the equality.
//!
//! ```text
//! K d = -slopes + multiplier of the group,    sum of d per group = what is missing
//! ```
//! One factor, a right side for the slopes and one per group.

use super::super::engine::{Newton, Outcome};
use crate::observe::Progress;

/// On the diagonal, in units of it: duplicates would make the matrix singular.
const RIDGE: f64 = 1e-10;

/// Variables of a system.
pub(super) struct Members {
    pub ids: Vec<u32>,
    pub group: Vec<usize>,
    pub b: Vec<f64>,
    /// Where slopes are those below: the bounds, or zero where there is a kink.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub slope: Vec<f64>,
}

impl Members {
    pub(super) fn new() -> Self {
        Self { ids: Vec::new(), group: Vec::new(), b: Vec::new(), low: Vec::new(), high: Vec::new(), slope: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Sums of `values` per group.
    pub(super) fn sums(&self, values: &[f64]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        self.group.iter().zip(values).for_each(|(&group, v)| sums[group] += v);
        sums
    }

    /// Gives what is missing to per-group sums of `values` by rounding to the member with most room.
    pub(super) fn balance(&self, values: &mut [f64], missing: [f64; 2]) {
        for (group, &missing) in missing.iter().enumerate() {
            let room = |k: usize| (values[k] - self.low[k]).min(self.high[k] - values[k]);
            let most = (0..values.len()).filter(|&k| self.group[k] == group).max_by(|&a, &b| room(a).total_cmp(&room(b)));
            if let Some(k) = most
                && missing != 0.0
            {
                values[k] = (values[k] + missing).clamp(self.low[k], self.high[k]);
            }
        }
    }
}

/// A solution.
pub(super) struct Direction {
    pub d: Vec<f64>,
    pub multipliers: [f64; 2],
    /// `K^-1 1` per group: how a sum changes most cheaply.
    pub even: [Vec<f64>; 2],
}

/// By how much of them the variables of a system may differ from those of an earlier one whose factor is used again: at the beginning of a
/// step, when more changes will follow, and on its way.
pub(super) const AT_FIRST: f64 = 0.15;
pub(super) const ON_THE_WAY: f64 = 0.25;

/// Solves for the members `open`. `d` and `even` are in their order.
pub(super) fn direction(
    newton: &mut dyn Newton,
    members: &Members,
    open: &[usize],
    slopes: &[f64],
    missing: [f64; 2],
    differing: f64,
    cost: &mut f64,
    progress: &Progress<'_>,
) -> Outcome<Option<Direction>> {
    let present: Vec<usize> = [0, 1].into_iter().filter(|&group| open.iter().any(|&k| members.group[k] == group)).collect();
    let ids: Vec<u32> = open.iter().map(|&k| members.ids[k]).collect();
    let sides = sides(members, open, slopes, &present);
    let sides: Vec<&[f64]> = sides.iter().map(|side| &side[..]).collect();
    let solved = newton.solve(&ids, RIDGE, &sides, differing, cost, progress)?;
    Ok(solved.and_then(|solved| under_sums(members, open, solved, &present, missing)))
}

/// Slopes and marks of groups, for some members.
fn sides(members: &Members, of: &[usize], slopes: &[f64], present: &[usize]) -> Vec<Vec<f64>> {
    let mark = |group: usize| of.iter().map(|&k| f64::from(u8::from(members.group[k] == group))).collect();
    let mut sides = vec![of.iter().map(|&k| slopes[k]).collect::<Vec<f64>>()];
    sides.extend(present.iter().map(|&group| mark(group)));
    sides
}

/// Puts solutions for slopes and marks together so that sums come out right.
fn under_sums(members: &Members, open: &[usize], mut solved: Vec<Vec<f64>>, present: &[usize], missing: [f64; 2]) -> Option<Direction> {
    let sum = |group: usize, x: &[f64]| open.iter().zip(x).filter(|(k, _)| members.group[**k] == group).map(|(_, x)| x).sum::<f64>();
    let mut even: [Vec<f64>; 2] = Default::default();
    for &group in present.iter().rev() {
        even[group] = solved.pop()?;
    }
    let of_slopes = solved.pop()?;
    let right = |group: usize| missing[group] + sum(group, &of_slopes);
    let mut multipliers = [0.0; 2];
    match present[..] {
        [group] => multipliers[group] = right(group) / sum(group, &even[group]),
        [_, _] => {
            let [a, b, c] = [sum(0, &even[0]), sum(0, &even[1]), sum(1, &even[1])];
            let determinant = a * c - b * b;
            multipliers = [(c * right(0) - b * right(1)) / determinant, (a * right(1) - b * right(0)) / determinant];
        }
        _ => return None,
    }
    let of_member = |k: usize| present.iter().fold(-of_slopes[k], |d, &group| d + multipliers[group] * even[group][k]);
    let d: Vec<f64> = (0..open.len()).map(of_member).collect();
    d.iter().chain(&multipliers).all(|v| v.is_finite()).then_some(Direction { d, multipliers, even })
}
