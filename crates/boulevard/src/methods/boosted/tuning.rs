//! Thresholds and the number of rounds, chosen on scores of rows that the scoring machines did not learn from.
//!
//! A threshold is where macro F1 of those scores is largest. Labels are tuned in turn, each with the others' thresholds in force, because
//! a row that no label claims may go to its best label ([`super::AtLeastOne`]): then every threshold moves rows of all labels. F1 as a
//! function of one threshold is ragged, so its moving average decides; of the thresholds that are nearly as good as the best, the one
//! nearest to zero is taken.

use crate::svm::argmax;

/// Thresholds looked at per label: the middles between weighted quantiles of its scores.
const CANDIDATES: usize = 100;
/// Candidates averaged on each side.
const SMOOTHING: usize = 3;
/// Turns over all labels.
const PASSES: usize = 2;
/// What a label's F1 may fall short of its best for a threshold nearer to zero. F1 is flat around its maximum: in five-fold
/// cross-validation on the training rows of yeast, this cost 0.006 of macro F1 and bought 0.044 of accuracy; on scene it cost nothing.
const SLACK: f64 = 0.03;
/// Differences of F1 below this are rounding: the smaller threshold and the fewer rounds win.
const TIE: f64 = 1e-9;

/// How scores become predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// One column; both of its sides are classes.
    TwoClasses,
    /// The largest column.
    Largest,
    /// Every column above its threshold.
    Labels {
        /// A row without labels gets its best one.
        at_least_one: bool,
    },
}

/// Scores of all rows, and the truth.
pub(super) struct Scores<'a> {
    /// By label: one score per row, or nothing where the label is not tuned.
    pub(super) columns: Vec<Option<Vec<f64>>>,
    /// By label: +1 and -1.
    pub(super) signs: &'a [Vec<f64>],
    /// How much rows count.
    pub(super) weights: &'a [f64],
    /// How scores become predictions.
    pub(super) rule: Rule,
    /// By label: weight of the rows that carry it.
    carriers: Vec<f64>,
    /// Weight of all rows.
    all: f64,
}

/// Weighted counts of one label.
#[derive(Clone, Copy, Default)]
struct Counts {
    hits: f64,
    alarms: f64,
}

impl<'a> Scores<'a> {
    pub(super) fn new(columns: Vec<Option<Vec<f64>>>, signs: &'a [Vec<f64>], weights: &'a [f64], rule: Rule) -> Self {
        let carriers = |signs: &Vec<f64>| signs.iter().zip(weights).filter(|(y, _)| **y > 0.0).map(|(_, w)| w).sum::<f64>();
        Self { columns, signs, weights, rule, carriers: signs.iter().map(carriers).collect(), all: weights.iter().sum() }
    }

    /// The best thresholds (0 for labels that are not tuned) and the macro F1 they give. Thresholds stay 0 unless `tune`.
    pub(super) fn tuned(&self, tune: bool) -> (Vec<f64>, f64) {
        let mut thresholds = vec![0.0; self.columns.len()];
        if tune && self.rule != Rule::Largest {
            let passes = if matches!(self.rule, Rule::Labels { at_least_one: true }) { PASSES } else { 1 };
            for _ in 0..passes {
                let before = thresholds.clone();
                for label in 0..self.columns.len() {
                    self.tune_label(label, &mut thresholds);
                }
                if thresholds == before {
                    break;
                }
            }
        }
        let f1 = self.macro_f1(&thresholds);
        (thresholds, f1)
    }

    fn tune_label(&self, label: usize, thresholds: &mut [f64]) {
        let Some(scores) = &self.columns[label] else { return };
        let candidates = candidates(scores, self.weights);
        if candidates.is_empty() {
            return;
        }
        let view = Turn::new(self, label, thresholds);
        let values: Vec<f64> = candidates.iter().map(|&t| view.macro_f1(scores, t)).collect();
        let smooth = |k: usize| {
            let near = &values[k.saturating_sub(SMOOTHING)..(k + SMOOTHING + 1).min(values.len())];
            near.iter().sum::<f64>() / near.len() as f64
        };
        let smoothed: Vec<f64> = (0..candidates.len()).map(smooth).collect();
        let most = smoothed.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Of the candidates that are nearly as good as the best, the one that changes least.
        let enough = most - SLACK / self.columns.len() as f64 - TIE;
        let good = (0..candidates.len()).filter(|&k| smoothed[k] >= enough);
        let Some(best) = good.min_by(|&a, &b| candidates[a].abs().total_cmp(&candidates[b].abs())) else { return };
        thresholds[label] = candidates[best];
    }

    /// Macro F1 of the predictions at these thresholds.
    fn macro_f1(&self, thresholds: &[f64]) -> f64 {
        let labels = self.columns.len();
        let mut counts = vec![Counts::default(); labels];
        let mut scores = vec![0.0; labels];
        for row in 0..self.weights.len() {
            for (label, score) in scores.iter_mut().enumerate() {
                *score = self.margin(label, row, thresholds[label]);
            }
            let best = argmax(&scores);
            let claimed = scores.iter().any(|&s| s > 0.0);
            for label in 0..labels {
                let said = match self.rule {
                    Rule::Largest => label == best,
                    Rule::Labels { at_least_one: true } => scores[label] > 0.0 || (!claimed && label == best),
                    _ => scores[label] > 0.0,
                };
                if said {
                    self.count(label, row, &mut counts[label]);
                }
            }
        }
        self.mean_f1(&counts)
    }

    fn margin(&self, label: usize, row: usize, threshold: f64) -> f64 {
        // A label that is not tuned has no scores of unseen rows: it claims nothing here.
        self.columns[label].as_ref().map_or(f64::NEG_INFINITY, |scores| scores[row] - threshold)
    }

    fn count(&self, label: usize, row: usize, counts: &mut Counts) {
        if self.signs[label][row] > 0.0 {
            counts.hits += self.weights[row];
        } else {
            counts.alarms += self.weights[row];
        }
    }

    /// Mean F1 over labels; for two classes the mean over both sides.
    fn mean_f1(&self, counts: &[Counts]) -> f64 {
        let f1 = |hits: f64, alarms: f64, carriers: f64| {
            let whole = hits + alarms + carriers;
            if whole == 0.0 { 0.0 } else { 2.0 * hits / whole }
        };
        let one = |(label, counts): (usize, &Counts)| {
            let carriers = self.carriers[label];
            let own = f1(counts.hits, counts.alarms, carriers);
            if self.rule != Rule::TwoClasses {
                return own;
            }
            let others = self.all - carriers;
            0.5 * (own + f1(others - counts.alarms, carriers - counts.hits, others))
        };
        counts.iter().enumerate().map(one).sum::<f64>() / counts.len().max(1) as f64
    }
}

/// Middles between weighted quantiles, rising. Repeating a row is the same as raising its weight.
fn candidates(scores: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&row| weights[row] > 0.0).collect();
    order.sort_unstable_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let total: f64 = order.iter().map(|&row| weights[row]).sum();
    let (mut quantiles, mut sum) = (Vec::new(), 0.0);
    for &row in &order {
        sum += weights[row];
        // Quantile number k is the first score with at least k / CANDIDATES of the weight up to it.
        let reached = (sum / total * CANDIDATES as f64 + TIE).floor() as usize;
        let known = quantiles.last().map_or(0, |&(k, _)| k);
        if quantiles.is_empty() || reached > known {
            quantiles.push((reached, scores[row]));
        }
    }
    quantiles.dedup_by(|a, b| a.1 == b.1);
    quantiles.windows(2).map(|pair| 0.5 * (pair[0].1 + pair[1].1)).collect()
}

/// One label's turn: what the other labels say stands still.
struct Turn<'a> {
    scores: &'a Scores<'a>,
    label: usize,
    /// Counts of the others on rows that one of them claims.
    counts: Vec<Counts>,
    /// By row: the best other label and its margin, where no other label claims the row.
    open: Vec<Option<(usize, f64)>>,
}

impl<'a> Turn<'a> {
    fn new(scores: &'a Scores<'a>, label: usize, thresholds: &[f64]) -> Self {
        let labels = scores.columns.len();
        let mut counts = vec![Counts::default(); labels];
        let mut open = vec![None; scores.weights.len()];
        for (row, open) in open.iter_mut().enumerate() {
            let mut best: Option<(usize, f64)> = None;
            let mut claimed = false;
            for other in (0..labels).filter(|&other| other != label) {
                let margin = scores.margin(other, row, thresholds[other]);
                if margin > 0.0 {
                    claimed = true;
                    scores.count(other, row, &mut counts[other]);
                }
                if best.is_none_or(|(_, most)| margin > most) {
                    best = Some((other, margin));
                }
            }
            *open = best.filter(|_| !claimed);
        }
        Self { scores, label, counts, open }
    }

    fn macro_f1(&self, column: &[f64], threshold: f64) -> f64 {
        let mut counts = self.counts.clone();
        let given = matches!(self.scores.rule, Rule::Labels { at_least_one: true });
        for (row, &score) in column.iter().enumerate() {
            let margin = score - threshold;
            let to = match self.open[row] {
                _ if margin > 0.0 => Some(self.label),
                Some((other, most)) if given => {
                    let own = margin > most || (margin == most && self.label < other);
                    Some(if own { self.label } else { other })
                }
                None if given && self.scores.columns.len() == 1 => Some(self.label),
                _ => None,
            };
            if let Some(to) = to {
                self.scores.count(to, row, &mut counts[to]);
            }
        }
        self.scores.mean_f1(&counts)
    }
}

/// What was chosen, and how every number of rounds did.
pub(super) struct Choice {
    /// Rounds to keep.
    pub(super) rounds: usize,
    /// One threshold per label.
    pub(super) thresholds: Vec<f64>,
    /// Macro F1 by number of rounds, from the first that was looked at.
    pub(super) scores: Vec<f64>,
}

/// The number of rounds among `stages` whose scores reach the largest macro F1 with its thresholds; the fewest where several do.
pub(super) fn choose<'a>(stages: std::ops::RangeInclusive<usize>, tune: bool, scores: impl Fn(usize) -> Scores<'a>) -> Choice {
    let mut choice = Choice { rounds: *stages.end(), thresholds: Vec::new(), scores: Vec::new() };
    let mut most = f64::NEG_INFINITY;
    for stage in stages {
        let (thresholds, f1) = scores(stage).tuned(tune);
        choice.scores.push(f1);
        if f1 > most + TIE {
            (most, choice.rounds, choice.thresholds) = (f1, stage, thresholds);
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores<'a>(columns: &[&[f64]], signs: &'a [Vec<f64>], weights: &'a [f64], rule: Rule) -> Scores<'a> {
        Scores::new(columns.iter().map(|c| Some(c.to_vec())).collect(), signs, weights, rule)
    }

    #[test]
    fn a_shifted_score_gets_its_shift_as_threshold() {
        let score: Vec<f64> = (0..200).map(|i| i as f64 / 100.0 - 1.7).collect();
        let signs = vec![score.iter().map(|&s| if s > -0.5 { 1.0 } else { -1.0 }).collect::<Vec<_>>()];
        let weights = vec![1.0; 200];
        for rule in [Rule::TwoClasses, Rule::Labels { at_least_one: false }] {
            let (thresholds, f1) = scores(&[&score], &signs, &weights, rule).tuned(true);
            assert!((thresholds[0] + 0.5).abs() < 0.12 && f1 > 0.94, "{thresholds:?} {f1}");
            assert_eq!(scores(&[&score], &signs, &weights, rule).tuned(false).0, [0.0]);
        }
    }

    #[test]
    fn a_turn_counts_as_the_whole_does() {
        let mut random = crate::random::Random::new(1, 0);
        let mut draw = |n: usize| (0..n).map(|_| random.normal()).collect::<Vec<f64>>();
        let columns = [draw(60), draw(60), draw(60)];
        let signs: Vec<Vec<f64>> = columns.iter().map(|c| c.iter().map(|&s| if s > 0.4 { 1.0 } else { -1.0 }).collect()).collect();
        let weights: Vec<f64> = draw(60).iter().map(|w| w.abs()).collect();
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        for at_least_one in [false, true] {
            let all = scores(&columns, &signs, &weights, Rule::Labels { at_least_one });
            let mut thresholds = vec![0.3, -0.2, 0.9];
            let turn = Turn::new(&all, 1, &thresholds);
            let value = turn.macro_f1(columns[1], 0.6);
            thresholds[1] = 0.6;
            assert!((value - all.macro_f1(&thresholds)).abs() < 1e-12);
        }
    }

    #[test]
    fn weights_are_repeated_rows() {
        let score = [0.3, -1.0, 0.8, 0.1, -0.4, 1.3];
        let weights = [1.0, 2.0, 3.0, 1.0, 2.0, 1.0];
        let many: Vec<f64> = score.iter().zip(weights).flat_map(|(&s, w)| std::iter::repeat_n(s, w as usize)).collect();
        assert_eq!(candidates(&score, &weights), candidates(&many, &[1.0; 10]));
    }
}
