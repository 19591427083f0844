//! Where problems begin that do not begin at zero.

use super::dual::DualSolution;

/// The gradient `K b + linear` of a start `b`, as far as it is known.
#[derive(Clone, Debug)]
pub struct Known {
    /// One value per sample.
    pub gradient: Vec<f64>,
    /// How wrong a value may be; infinite if that is not known.
    pub error: f64,
}

/// A feasible point and its gradient.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub point: Vec<f64>,
    pub known: Known,
}

impl Start {
    /// The point and what is known of it, each on its own.
    pub(crate) fn parts(start: Option<Self>) -> (Option<Vec<f64>>, Option<Known>) {
        start.map_or((None, None), |start| (Some(start.point), Some(start.known)))
    }
}

/// Relative distance from a bound that is rounding.
const SNAP: f64 = 1e-12;
/// A step along the ray within this of 1 is rounding.
const NEAR: f64 = 1e-4;

/// A start for a larger C from the solution `last` of a smaller one: a point `t b` on the ray through it, which is feasible up to
/// `t = ratio` because all costs grow by that much, and keeps the sum at zero. Its gradient needs no kernel row.
///
/// If most variables are at their bounds, they stay there: `t = ratio` (alpha seeding, DeCoste and Wagstaff 2000). Otherwise that was
/// measured worse than no warm start at all, and `t` minimises the objective `1/2 t^2 b'Kb + t (linear'b + kink |b|_1)`. It is 1 where no
/// variable is at a bound: then nothing is left to do.
///
/// What reaches a bound (or zero) must be exactly there: a value one rounding away would count as free, and free variables define the
/// offset.
pub(crate) fn along_ray(
    last: &DualSolution,
    linear: impl Fn(usize) -> f64,
    kink: f64,
    ratio: f64,
    bounds: impl Fn(usize) -> (f64, f64),
) -> Start {
    let (mut square, mut slope, mut support, mut bounded) = (0.0, 0.0, 0usize, 0usize);
    for (i, b) in last.coefficients.iter().enumerate().filter(|(_, b)| **b != 0.0) {
        let (low, high) = bounds(i);
        square += b * (last.gradient[i] - linear(i));
        slope += b * linear(i) + kink * b.abs();
        support += 1;
        bounded += usize::from(b * ratio >= high * (1.0 - SNAP) || b * ratio <= low * (1.0 - SNAP));
    }
    let t = if 2 * bounded > support || square <= 0.0 { ratio } else { (-slope / square).clamp(0.0, ratio) };
    // Optimal up to the tolerance: exactly 1 is the better guess.
    let t = if (t - 1.0).abs() < NEAR { 1.0 } else { t };
    let mut on_ray = true;
    let place = |(i, b): (usize, &f64)| {
        let (b, (low, high)) = (b * t, bounds(i));
        let placed = if b >= high * (1.0 - SNAP) && high > 0.0 {
            high
        } else if b <= low * (1.0 - SNAP) && low < 0.0 {
            low
        } else if b.abs() <= SNAP * (high - low) {
            0.0
        } else {
            b.clamp(low, high)
        };
        on_ray &= (placed - b).abs() <= 2.0 * SNAP * (high - low);
        placed
    };
    let point = last.coefficients.iter().enumerate().map(place).collect();
    let gradient = last.gradient.iter().enumerate().map(|(i, g)| t * (g - linear(i)) + linear(i)).collect();
    Start { point, known: Known { gradient, error: if on_ray { t * last.gradient_error } else { f64::INFINITY } } }
}

/// Multipliers filled to their bounds in order until each side's `share` is used up, for the nu machines: their sums are given, so zero is
/// not feasible. Any feasible start would do; this one has the fewest samples whose kernel rows are needed.
pub(crate) fn fill_up(bounds: &[f64], in_second: impl Fn(usize) -> bool, share: f64) -> Vec<f64> {
    let mut left = [share, share];
    bounds
        .iter()
        .enumerate()
        .map(|(i, bound)| {
            let left = &mut left[usize::from(in_second(i))];
            let take = bound.min(*left);
            *left -= take;
            take
        })
        .collect()
}
