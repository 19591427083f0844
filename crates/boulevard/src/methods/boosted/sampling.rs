//! Which rows a round learns from.
//!
//! Rows are ranked hardest first: weight descending, then distance to the last accepted hyperplane ascending, then row number. Stratified
//! sampling cuts that list into as many contiguous groups as rows are wanted and takes one of each; trimming takes the head of the list.
//! Ties in weight are common in the first rounds (rows with the same hits and misses have the same bits), so the distance does act.

use std::ops::Range;

use crate::random::Random;

/// Draws that showed one class only before the other is brought in by hand.
const MOST_DRAWS: usize = 20;

/// Number of rows to draw: `floor(ratio n + 1/2)`, at least 2 and at most all.
pub fn draw_size(rows: usize, ratio: f64) -> usize {
    ((ratio * rows as f64 + 0.5).floor() as usize).max(2).min(rows)
}

/// Places `0..weights.len()` hardest first: weight descending, then `closeness` ascending (where it is known), then place.
pub fn rank(weights: &[f64], closeness: Option<&[f64]>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let close = |i: usize| closeness.map_or(0.0, |values| values[i]);
    order.sort_unstable_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(close(a).total_cmp(&close(b))).then(a.cmp(&b)));
    order
}

/// `0..length` in `count` contiguous groups; the first `length mod count` are one longer.
pub fn groups(length: usize, count: usize) -> Vec<Range<usize>> {
    let (size, longer) = (length / count, length % count);
    let start = |j: usize| j * size + j.min(longer);
    (0..count).map(|j| start(j)..start(j + 1)).collect()
}

/// One element of each of `uniforms.len()` groups of `order`: number `floor(u_j size_j)` of group `j`.
pub fn pick(order: &[usize], uniforms: &[f64]) -> Vec<usize> {
    let element = |(group, u): (Range<usize>, &f64)| {
        let place = (u * group.len() as f64) as usize;
        order[group.start + place.min(group.len() - 1)]
    };
    groups(order.len(), uniforms.len()).into_iter().zip(uniforms).map(element).collect()
}

/// How a round draws.
pub(super) enum Draw<'a> {
    /// One row of each group; `Some` gives the distances to the last accepted hyperplane.
    Stratified(Option<&'a [f64]>),
    /// The heaviest rows, ties at random.
    Trimming,
}

/// Draws `count` places with both classes among them, rising. `signs` are +1 and -1.
pub(super) fn draw(how: &Draw<'_>, weights: &[f64], signs: &[f64], count: usize, random: &mut Random) -> Vec<usize> {
    let mut chosen = Vec::new();
    for _ in 0..MOST_DRAWS {
        chosen = match how {
            Draw::Stratified(Some(distances)) => stratified(&rank(weights, Some(distances)), count, random),
            // No hyperplane yet: files are often sorted by class, so ties must not go by row number.
            Draw::Stratified(None) => stratified(&rank(weights, Some(&random_ranks(weights.len(), random))), count, random),
            Draw::Trimming => {
                let mut order = rank(weights, Some(&random_ranks(weights.len(), random)));
                order.truncate(count);
                order
            }
        };
        if absent(&chosen, signs).is_none() {
            chosen.sort_unstable();
            return chosen;
        }
    }
    // The heaviest row of the absent class takes the last place.
    if let Some(sign) = absent(&chosen, signs)
        && let Some(&heaviest) = rank(weights, None).iter().find(|&&i| signs[i] == sign)
        && let Some(last) = chosen.last_mut()
    {
        *last = heaviest;
    }
    chosen.sort_unstable();
    chosen
}

fn stratified(order: &[usize], count: usize, random: &mut Random) -> Vec<usize> {
    let uniforms: Vec<f64> = (0..count).map(|_| random.uniform()).collect();
    pick(order, &uniforms)
}

fn random_ranks(n: usize, random: &mut Random) -> Vec<f64> {
    let mut ranks = vec![0.0; n];
    for (rank, place) in random.permutation(n).into_iter().enumerate() {
        ranks[place] = rank as f64;
    }
    ranks
}

/// The sign that none of the chosen places has.
fn absent(chosen: &[usize], signs: &[f64]) -> Option<f64> {
    [1.0, -1.0].into_iter().find(|&sign| !chosen.iter().any(|&i| signs[i] == sign))
}
