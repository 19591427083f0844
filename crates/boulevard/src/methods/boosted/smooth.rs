//! Places where a threshold may lie, and a measure smoothed over them.
//!
//! Both follow the carriers of a label, not all rows: where two rows in a hundred carry it, quantiles of all rows leave one or two places
//! among the scores that matter.

/// Quantiles that are taken of every list of scores.
const QUANTILES: usize = 100;
/// Share of the carriers' scores below which other rows are of no interest.
const TAIL: f64 = 0.02;
/// The window: the standard deviation of the logarithm of how many rows are claimed.
const WINDOW: f64 = 0.4;
/// Above so many carriers windows shrink with their fifth root, as those of densities do.
const MANY: f64 = 100.0;
/// A window over scores as a share of the carriers' standard deviation, and the number of carriers below which it shrinks: a few scores
/// leave nothing to average. (Chosen by simulation with normal scores, 14 to 100 carriers among 400 to 4000.)
const WINDOW_OF_SCORES: f64 = 0.3;
const FEW: f64 = 30.0;
/// Differences below this are rounding.
const TIE: f64 = 1e-9;

/// Places where a threshold may lie, rising, and how they are told apart.
pub(super) struct Places {
    pub(super) thresholds: Vec<f64>,
    /// Minus the logarithm of the weight of the rows above: rising too. A window over scores pulls thresholds up, because the others' scores
    /// crowd below the carriers' and a measure falls faster there; over logarithms of how many rows are claimed both sides are about alike.
    pub(super) sizes: Vec<f64>,
}

impl Places {
    /// The same for scores of the other sign.
    pub(super) fn turned(mut self) -> Self {
        for values in [&mut self.thresholds, &mut self.sizes] {
            values.reverse();
            values.iter_mut().for_each(|value| *value = -*value);
        }
        self
    }
}

/// All candidates with their sizes.
pub(super) fn places(scores: &[f64], signs: &[f64], weights: &[f64]) -> Places {
    let thresholds = candidates(scores, signs, weights);
    let mut order: Vec<usize> = (0..scores.len()).filter(|&row| weights[row] > 0.0).collect();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut next, mut above) = (0, 0.0);
    let mut sizes: Vec<f64> = Vec::with_capacity(thresholds.len());
    for &threshold in thresholds.iter().rev() {
        while next < order.len() && scores[order[next]] > threshold {
            above += weights[order[next]];
            next += 1;
        }
        sizes.push(-f64::ln(above));
    }
    sizes.reverse();
    Places { thresholds, sizes }
}

/// Middles between neighbors among the weighted quantiles of all scores, of the carriers', and of the other rows' that lie among them;
/// rising. Repeating a row is the same as raising its weight.
fn candidates(scores: &[f64], signs: &[f64], weights: &[f64]) -> Vec<f64> {
    let sorted = |keep: &dyn Fn(usize) -> bool| {
        let mut order: Vec<usize> = (0..scores.len()).filter(|&row| weights[row] > 0.0 && keep(row)).collect();
        order.sort_unstable_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        order
    };
    let carriers = quantiles(&sorted(&|row| signs[row] > 0.0), scores, weights);
    let start = carriers.get((TAIL * carriers.len() as f64) as usize).copied().unwrap_or(f64::NEG_INFINITY);
    let mut places = quantiles(&sorted(&|_| true), scores, weights);
    places.extend(quantiles(&sorted(&|row| signs[row] <= 0.0 && scores[row] >= start), scores, weights));
    places.extend(carriers);
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    places.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect()
}

/// Weighted quantiles of rows in rising order of their scores: all scores where there are few.
fn quantiles(order: &[usize], scores: &[f64], weights: &[f64]) -> Vec<f64> {
    let total: f64 = order.iter().map(|&row| weights[row]).sum();
    let (mut found, mut sum, mut known) = (Vec::new(), 0.0, 0);
    for &row in order {
        sum += weights[row];
        // Quantile number k is the first score with at least k / QUANTILES of the weight up to it.
        let reached = (sum / total * QUANTILES as f64 + TIE).floor() as usize;
        if found.is_empty() || reached > known {
            found.push(scores[row]);
        }
        known = reached;
    }
    found
}

/// The standard deviation of a window over scores: a share of the carriers' standard deviation, smaller for few and for many of them.
pub(super) fn bandwidth_of_scores(scores: &[f64], signs: &[f64], weights: &[f64]) -> f64 {
    let carriers = || (0..scores.len()).filter(|&row| signs[row] > 0.0);
    let total: f64 = carriers().map(|row| weights[row]).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mean = carriers().map(|row| weights[row] * scores[row]).sum::<f64>() / total;
    let variance = carriers().map(|row| weights[row] * (scores[row] - mean) * (scores[row] - mean)).sum::<f64>() / total;
    WINDOW_OF_SCORES * variance.sqrt() * (total / FEW).min(1.0) * (MANY / total).min(1.0).powf(0.2)
}

/// The standard deviation of the window for so many carriers. (Window, shrinking and scale were chosen on eight sets that are not those of
/// the benchmarks, with 15 to 160 carriers among 150 to 2000 rows.)
pub(super) fn bandwidth(carriers: f64) -> f64 {
    WINDOW * (MANY / carriers).min(1.0).powf(0.2)
}

/// The mean of `values` around every place under a Gaussian window, places counting with the room they have.
pub(super) fn smoothed(candidates: &[f64], values: &[f64], bandwidth: f64) -> Vec<f64> {
    let n = candidates.len();
    if !(bandwidth > 0.0 && bandwidth.is_finite()) || n < 2 {
        return values.to_vec();
    }
    let room = |k: usize| 0.5 * (candidates[(k + 1).min(n - 1)] - candidates[k.saturating_sub(1)]);
    let at = |k: usize| {
        let (mut sum, mut total) = (0.0, 0.0);
        for j in 0..n {
            let z = (candidates[j] - candidates[k]) / bandwidth;
            let weight = (-0.5 * z * z).exp() * room(j);
            sum += weight * values[j];
            total += weight;
        }
        if total > 0.0 { sum / total } else { values[k] }
    };
    (0..n).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_repeated_rows() {
        let score = [0.3, -1.0, 0.8, 0.1, -0.4, 1.3];
        let signs = [1.0, -1.0, 1.0, -1.0, -1.0, 1.0];
        let weights = [1.0, 2.0, 3.0, 1.0, 2.0, 1.0];
        let repeat =
            |values: &[f64]| -> Vec<f64> { values.iter().zip(weights).flat_map(|(&s, w)| std::iter::repeat_n(s, w as usize)).collect() };
        let (many, many_signs) = (repeat(&score), repeat(&signs));
        assert_eq!(candidates(&score, &signs, &weights), candidates(&many, &many_signs, &[1.0; 10]));
        let (a, b) = (places(&score, &signs, &weights), places(&many, &many_signs, &[1.0; 10]));
        assert_eq!(a.sizes, b.sizes);
        assert!(a.sizes.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", a.sizes);
        let turned = a.turned();
        assert!(turned.thresholds.windows(2).chain(turned.sizes.windows(2)).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_rare_label_has_places_among_its_carriers() {
        let score: Vec<f64> = (0..3000).map(|i| if i < 40 { 1.0 + 0.05 * f64::from(i) } else { -1.0 + 1e-4 * f64::from(i) }).collect();
        let signs: Vec<f64> = (0..3000).map(|i| if i < 40 { 1.0 } else { -1.0 }).collect();
        let places = candidates(&score, &signs, &vec![1.0; 3000]);
        assert!(places.iter().filter(|&&t| t > 1.0).count() >= 39);
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn smoothing_flattens_a_spike_and_keeps_a_plateau() {
        let places: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
        let values: Vec<f64> = (0..50).map(|i| if i == 5 { 1.0 } else { f64::from(u8::from((20..40).contains(&i))) * 0.8 }).collect();
        let smooth = smoothed(&places, &values, 0.3);
        let best = (0..50).max_by(|&a, &b| smooth[a].total_cmp(&smooth[b])).unwrap();
        assert!((24..36).contains(&best), "{best}");
        assert_eq!(smoothed(&places, &values, 0.0), values);
    }
}
