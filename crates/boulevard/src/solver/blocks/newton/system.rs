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

/// Solves for the members `open`, whose slopes are `slopes`.
pub(super) fn direction(
    newton: &mut dyn Newton,
    members: &Members,
    open: &[usize],
    slopes: &[f64],
    missing: [f64; 2],
    progress: &Progress<'_>,
) -> Outcome<Option<Direction>> {
    let ids: Vec<u32> = open.iter().map(|&k| members.ids[k]).collect();
    let slope: Vec<f64> = open.iter().map(|&k| slopes[k]).collect();
    let marks = [0, 1].map(|group| open.iter().map(|&k| f64::from(u8::from(members.group[k] == group))).collect::<Vec<f64>>());
    let present: Vec<usize> = [0, 1].into_iter().filter(|&group| marks[group].contains(&1.0)).collect();
    let mut sides: Vec<&[f64]> = vec![&slope];
    sides.extend(present.iter().map(|&group| &marks[group][..]));
    let Some(mut solved) = newton.solve(&ids, RIDGE, &sides, progress)? else { return Ok(None) };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut even: [Vec<f64>; 2] = Default::default();
    for &group in present.iter().rev() {
        even[group] = solved.pop().unwrap_or_default();
    }
    let of_slopes = solved.pop().unwrap_or_default();
    let right = |group: usize| missing[group] + dot(&marks[group], &of_slopes);
    let mut multipliers = [0.0; 2];
    match present[..] {
        [group] => multipliers[group] = right(group) / dot(&marks[group], &even[group]),
        [first, second] => {
            let [a, b, c] = [(first, first), (first, second), (second, second)].map(|(r, e): (usize, usize)| dot(&marks[r], &even[e]));
            let determinant = a * c - b * b;
            multipliers = [(c * right(0) - b * right(1)) / determinant, (a * right(1) - b * right(0)) / determinant];
        }
        _ => return Ok(None),
    }
    let d: Vec<f64> = (0..open.len())
        .map(|k| present.iter().fold(-of_slopes[k], |d, &group| d + multipliers[group] * even[group][k]))
        .collect();
    let finite = d.iter().chain(&multipliers).all(|v| v.is_finite());
    Ok(finite.then_some(Direction { d, multipliers, even }))
}
