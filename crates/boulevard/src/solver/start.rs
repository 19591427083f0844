//! Where the nu machines begin: their sums are given, so zero is not feasible.

/// Multipliers filled to their bounds in order until each side's `share` is used up. Any feasible start would do; this one has the fewest
/// samples whose kernel rows are needed.
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
