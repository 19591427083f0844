//! How variables move: which way they may, and how far.

use crate::simd::sweep::{KINK_LOW, KINK_UP, LOW, SECOND_GROUP_SHIFT, UP};
use crate::solver::dual::DualProblem;

/// Two variables about to move against each other.
pub(super) struct Pair {
    pub up: usize,
    pub down: usize,
    /// How steep the objective falls along the pair.
    pub fall: f64,
    /// `s'Ks`
    pub curvature: f64,
}

impl Pair {
    /// Whether both variables are away from their bounds, and from zero where there is a kink: a step that got them there was exact.
    pub(super) fn is_inside(&self, problem: &DualProblem<'_>, b: &[f64]) -> bool {
        [self.up, self.down].iter().all(|&sample| inside(problem, sample, b[sample]))
    }
}

/// Whether a value is away from a variable's bounds, and from zero where there is a kink.
pub(in crate::solver) fn inside(problem: &DualProblem<'_>, sample: usize, value: f64) -> bool {
    // Which of them are inside follows no pattern: three comparisons are better than a wrong guess.
    (problem.lower[sample] < value) & (value < problem.upper[sample]) & ((problem.kink == 0.0) | (value != 0.0))
}

/// Which way a variable may move.
pub(in crate::solver) fn status(problem: &DualProblem<'_>, sample: usize, b: f64) -> u8 {
    let mut byte = 0;
    if b < problem.upper[sample] {
        byte |= UP;
    }
    if b > problem.lower[sample] {
        byte |= LOW;
    }
    if problem.in_second_group(sample) {
        byte <<= SECOND_GROUP_SHIFT;
    }
    if b >= 0.0 {
        byte |= KINK_UP;
    }
    if b > 0.0 {
        byte |= KINK_LOW;
    }
    byte
}

/// Grows `i` and lowers `j` by `wanted`, cut at bounds and at the kink. Values that reach a limit are set to it exactly.
pub(super) fn move_pair(problem: &DualProblem<'_>, b: &mut [f64], i: usize, j: usize, wanted: f64) -> (f64, f64) {
    let stops_at_zero = problem.kink != 0.0;
    let limit_i = if stops_at_zero && b[i] < 0.0 { problem.upper[i].min(0.0) } else { problem.upper[i] };
    let limit_j = if stops_at_zero && b[j] > 0.0 { problem.lower[j].max(0.0) } else { problem.lower[j] };
    let (room_i, room_j) = (limit_i - b[i], b[j] - limit_j);
    let step = wanted.min(room_i).min(room_j);
    let (old_i, old_j) = (b[i], b[j]);
    b[i] = if step == room_i { limit_i } else { old_i + step };
    b[j] = if step == room_j { limit_j } else { old_j - step };
    (b[i] - old_i, b[j] - old_j)
}
