//! Thresholds and the number of rounds, chosen on scores of rows that the scoring machines did not learn from.
//!
//! A threshold is where the measure of those scores, pooled over all splits, is largest. Labels are tuned in turn, each with the others'
//! thresholds in force, because a row that no label claims may go to its best label ([`super::AtLeastOne`]): then every threshold moves
//! rows of all labels. A measure as a function of one threshold is ragged, the more so the fewer carriers a label has: it is smoothed over
//! neighboring thresholds ([`super::smooth`]).

use super::smooth;
use crate::metrics::classification::average_precision;
use crate::svm::argmax;

/// Average precision that may be lost where a measure is gained.
const SAME_RANKING: f64 = 0.005;
/// A class with no more than this share of the rows' weight is rare.
const RARE: f64 = 0.25;
/// Turns over all labels.
const PASSES: usize = 2;
/// Differences of a measure below this are rounding: the threshold nearest to zero and the fewer rounds win.
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

/// What predictions are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Worth {
    /// F1; of two classes that of a rare one, or the mean over both.
    F1,
    /// Mean recall of both sides.
    BalancedAccuracy,
    /// Minus the mean cost of a row.
    Cost {
        /// Of a carrier that is missed.
        miss: f64,
        /// Of another row that is claimed.
        alarm: f64,
    },
    /// Precision where recall is large enough.
    Precision {
        /// Large enough.
        recall: f64,
    },
}

/// How scores become predictions, and what those are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Goal {
    pub(super) rule: Rule,
    pub(super) worth: Worth,
}

/// Scores of all rows, and the truth.
pub(super) struct Scores<'a> {
    /// By label: one score per row, or nothing where the label is not tuned.
    pub(super) columns: Vec<Option<Vec<f64>>>,
    /// By label: +1 and -1.
    pub(super) signs: &'a [Vec<f64>],
    /// How much rows count.
    pub(super) weights: &'a [f64],
    /// The split that held each row out.
    split_of: &'a [usize],
    /// How scores become predictions, and what those are worth.
    goal: Goal,
    /// By label: weight of the rows that carry it.
    carriers: Vec<f64>,
    /// Weight of all rows.
    all: f64,
    /// Share of the first label's carriers among the rows, whatever a class is worth to the user.
    share: f64,
}

/// Weighted counts of one label.
#[derive(Clone, Copy, Default)]
struct Counts {
    hits: f64,
    alarms: f64,
}

/// Which of two classes is rare, the one with this share of the rows' weight (true) or the other; none where neither is.
fn rare_side(share: f64) -> Option<bool> {
    match share {
        share if share <= RARE => Some(true),
        share if 1.0 - share <= RARE => Some(false),
        _ => None,
    }
}

/// Which of two classes (0 or 1) misses, recall and F1 are about: a rare one; else for costs and recalls the second, and for F1 none.
pub(super) fn sought(goal: Goal, signs: &[f64], weights: &[f64]) -> Option<usize> {
    if goal.rule != Rule::TwoClasses || goal.worth == Worth::BalancedAccuracy {
        return None;
    }
    let rare = rare_side(carried(signs, weights) / weights.iter().sum::<f64>()).map(usize::from);
    rare.or((goal.worth != Worth::F1).then_some(1))
}

/// Weight of the rows with a positive sign.
fn carried(signs: &[f64], weights: &[f64]) -> f64 {
    signs.iter().zip(weights).filter(|(y, _)| **y > 0.0).map(|(_, w)| w).sum()
}

impl<'a> Scores<'a> {
    pub(super) fn new(
        columns: Vec<Option<Vec<f64>>>,
        signs: &'a [Vec<f64>],
        weights: &'a [f64],
        split_of: &'a [usize],
        goal: Goal,
    ) -> Self {
        let carriers: Vec<f64> = signs.iter().map(|signs| carried(signs, weights)).collect();
        let all = weights.iter().sum();
        let share = carriers.first().map_or(0.0, |carriers| carriers / all);
        Self { columns, signs, weights, split_of, goal, carriers, all, share }
    }

    /// The same, with what is rare told by the rows' own weights: those that count for measures have the user's class weights in them.
    pub(super) fn rare_by(self, weights: &[f64]) -> Self {
        let share = self.signs.first().map_or(0.0, |signs| carried(signs, weights) / weights.iter().sum::<f64>());
        Self { share, ..self }
    }

    /// The best thresholds (0 for labels that are not tuned) and what they are worth. Thresholds stay 0 unless `tune`.
    pub(super) fn tuned(&self, tune: bool) -> (Vec<f64>, f64) {
        let mut thresholds = vec![0.0; self.columns.len()];
        if tune && self.goal.rule != Rule::Largest {
            let passes = if matches!(self.goal.rule, Rule::Labels { at_least_one: true }) { PASSES } else { 1 };
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
        let worth = self.worth(&thresholds, None);
        (thresholds, worth)
    }

    fn tune_label(&self, label: usize, thresholds: &mut [f64]) {
        let Some(scores) = &self.columns[label] else { return };
        let rare = self.rare();
        let flipped = rare == Some(false);
        let places = if flipped {
            let turned = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<f64>>();
            smooth::places(&turned(scores), &turned(&self.signs[label]), self.weights).turned()
        } else {
            smooth::places(scores, &self.signs[label], self.weights)
        };
        let candidates = &places.thresholds;
        if candidates.is_empty() {
            return;
        }
        let view = Turn::new(self, label, thresholds);
        let values: Vec<f64> = candidates.iter().map(|&t| view.worth(scores, t)).collect();
        // A limit of recall is a cliff: a wide window would stay far away from it.
        let part = if matches!(self.goal.worth, Worth::Precision { .. }) { 0.1 } else { 1.0 };
        let smoothed = match rare {
            Some(true) => smooth::smoothed(&places.sizes, &values, part * smooth::bandwidth(self.carriers[label])),
            Some(false) => smooth::smoothed(&places.sizes, &values, part * smooth::bandwidth(self.all - self.carriers[label])),
            None => smooth::smoothed(candidates, &values, part * smooth::bandwidth_of_scores(scores, &self.signs[label], self.weights)),
        };
        let most = smoothed.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Of several that are equally good, the one that changes least.
        let good = (0..candidates.len()).filter(|&k| smoothed[k] >= most - TIE);
        let Some(best) = good.min_by(|&a, &b| candidates[a].abs().total_cmp(&candidates[b].abs())) else { return };
        thresholds[label] = candidates[best];
    }

    /// What the predictions at these thresholds are worth, on all rows or on those of one split.
    fn worth(&self, thresholds: &[f64], split: Option<usize>) -> f64 {
        let labels = self.columns.len();
        let mut counts = vec![Counts::default(); labels];
        let mut scores = vec![0.0; labels];
        let (mut carriers, mut all) = (vec![0.0; labels], 0.0);
        for row in (0..self.weights.len()).filter(|&row| split.is_none_or(|split| self.split_of[row] == split)) {
            if split.is_some() {
                all += self.weights[row];
                (0..labels).filter(|&label| self.signs[label][row] > 0.0).for_each(|label| carriers[label] += self.weights[row]);
            }
            for (label, score) in scores.iter_mut().enumerate() {
                *score = self.margin(label, row, thresholds[label]);
            }
            let best = argmax(&scores);
            let claimed = scores.iter().any(|&s| s > 0.0);
            for label in 0..labels {
                let said = match self.goal.rule {
                    Rule::Largest => label == best,
                    Rule::Labels { at_least_one: true } => scores[label] > 0.0 || (!claimed && label == best),
                    _ => scores[label] > 0.0,
                };
                if said {
                    self.count(label, row, &mut counts[label]);
                }
            }
        }
        match split {
            Some(_) => self.mean_worth(&counts, &carriers, all),
            None => self.mean_worth(&counts, &self.carriers, self.all),
        }
    }

    /// Average precision, the mean over splits and labels that have carriers: how well rows are ranked, whatever the thresholds. Scores of
    /// different splits come from different machines and are not ranked against each other. Where the first of two classes is rare, its
    /// rows are the carriers: a frequent class is ranked well by anything.
    pub(super) fn ranking(&self) -> Option<f64> {
        let splits = self.split_of.iter().max().map_or(0, |&last| last + 1);
        let side = if self.rare() == Some(false) { -1.0 } else { 1.0 };
        let mut each = Vec::new();
        for (scores, signs) in self.columns.iter().zip(self.signs).filter_map(|(scores, signs)| Some((scores.as_ref()?, signs))) {
            for split in 0..splits {
                let rows = (0..self.weights.len()).filter(|&row| self.weights[row] > 0.0 && self.split_of[row] == split);
                let rows: Vec<usize> = rows.collect();
                let of = |values: &[f64], factor: f64| rows.iter().map(|&row| factor * values[row]).collect::<Vec<f64>>();
                let truth: Vec<bool> = rows.iter().map(|&row| side * signs[row] > 0.0).collect();
                each.extend(average_precision(&truth, &of(scores, side), Some(&of(self.weights, 1.0))).ok());
            }
        }
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// Which side of two classes is rare, the carriers (true) or the others; none where neither is, and for label matrices. The same for
    /// all rows and for those of one split.
    ///
    /// A rare class is what thresholds are made for: its F1 counts, smoothed over the number of rows claimed. Where classes are about as
    /// frequent, F1 of one side would be largest with all rows claimed, so that of both counts; label matrices, whose labels give each other
    /// rows, were better with a window over scores.
    fn rare(&self) -> Option<bool> {
        if self.goal.rule == Rule::TwoClasses { rare_side(self.share) } else { None }
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

    /// The mean worth over labels. A rare class of two is the one that counts, whichever comes first; where none is, F1 is the mean of both.
    fn mean_worth(&self, counts: &[Counts], carriers: &[f64], all: f64) -> f64 {
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let f1 = |hits: f64, alarms: f64, carriers: f64| ratio(2.0 * hits, hits + alarms + carriers);
        let (rare, two) = (self.rare(), self.goal.rule == Rule::TwoClasses);
        let one = |(counts, &carriers): (&Counts, &f64)| {
            let turned = (all - carriers - counts.alarms, carriers - counts.hits, all - carriers);
            let (hits, alarms, carriers) = if rare == Some(false) { turned } else { (counts.hits, counts.alarms, carriers) };
            let others = all - carriers;
            match self.goal.worth {
                Worth::F1 if two && rare.is_none() => 0.5 * (f1(hits, alarms, carriers) + f1(others - alarms, carriers - hits, others)),
                Worth::F1 => f1(hits, alarms, carriers),
                Worth::BalancedAccuracy => 0.5 * (ratio(hits, carriers) + ratio(others - alarms, others)),
                Worth::Cost { miss, alarm } => -ratio(miss * (carriers - hits) + alarm * alarms, all),
                // Too few found: the more the better, and always worse than enough.
                Worth::Precision { recall } if ratio(hits, carriers) < recall => ratio(hits, carriers) - 1.0,
                Worth::Precision { .. } => ratio(hits, hits + alarms),
            }
        };
        counts.iter().zip(carriers).map(one).sum::<f64>() / counts.len().max(1) as f64
    }
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

    fn worth(&self, column: &[f64], threshold: f64) -> f64 {
        let mut counts = self.counts.clone();
        let given = matches!(self.scores.goal.rule, Rule::Labels { at_least_one: true });
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
        self.scores.mean_worth(&counts, &self.scores.carriers, self.scores.all)
    }
}

/// What was chosen, and how every number of rounds did.
pub(super) struct Choice {
    /// The number of rounds whose scores are worth most.
    pub(super) best: usize,
    /// Rounds to keep: the best, if it is better than the first by more than chance, else the first.
    pub(super) rounds: usize,
    /// One threshold per label.
    pub(super) thresholds: Vec<f64>,
    /// What the predictions are worth by number of rounds, from the first that was looked at.
    pub(super) scores: Vec<f64>,
}

/// The number of rounds among `stages` whose scores are worth most with their own thresholds; the fewest where several are.
///
/// More rounds than the first number are kept only if they are worth more by half a standard error over the splits, and rank rows no worse
/// (by [`SAME_RANKING`]): the largest of many is large by chance.
pub(super) fn choose<'a>(stages: std::ops::RangeInclusive<usize>, tune: bool, scores: impl Fn(usize) -> Scores<'a>) -> Choice {
    let first = *stages.start();
    let mut choice = Choice { best: *stages.end(), rounds: *stages.end(), thresholds: Vec::new(), scores: Vec::new() };
    let mut most = f64::NEG_INFINITY;
    let mut start = Vec::new();
    for stage in stages {
        let (thresholds, worth) = scores(stage).tuned(tune);
        choice.scores.push(worth);
        if stage == first {
            start.clone_from(&thresholds);
        }
        if worth > most + TIE {
            (most, choice.best, choice.thresholds) = (worth, stage, thresholds);
        }
    }
    choice.rounds = choice.best;
    if choice.best > first {
        let (before, after) = (scores(first), scores(choice.best));
        let worse = |(a, b): (f64, f64)| b < a - SAME_RANKING;
        if !is_gain(&before, &start, &after, &choice.thresholds) || before.ranking().zip(after.ranking()).is_some_and(worse) {
            (choice.rounds, choice.thresholds) = (first, start);
        }
    }
    choice
}

/// Whether one prediction is worth more than another by half a standard error of the difference over the splits.
fn is_gain(before: &Scores<'_>, thresholds: &[f64], after: &Scores<'_>, later: &[f64]) -> bool {
    let splits = before.split_of.iter().max().map_or(0, |&last| last + 1);
    let gains: Vec<f64> = (0..splits).map(|k| after.worth(later, Some(k)) - before.worth(thresholds, Some(k))).collect();
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    mean > 0.5 * (variance / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores<'a>(columns: &[&[f64]], signs: &'a [Vec<f64>], weights: &'a [f64], rule: Rule) -> Scores<'a> {
        let all = Box::leak(vec![0; weights.len()].into_boxed_slice());
        Scores::new(columns.iter().map(|c| Some(c.to_vec())).collect(), signs, weights, all, Goal { rule, worth: Worth::F1 })
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
            let value = turn.worth(columns[1], 0.6);
            thresholds[1] = 0.6;
            assert!((value - all.worth(&thresholds, None)).abs() < 1e-12);
        }
    }

    /// Two overlapping heaps of scores, one row in twenty a carrier.
    fn overlapping(n: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut random = crate::random::Random::new(7, 0);
        let signs: Vec<f64> = (0..n).map(|i| if i % 20 == 0 { 1.0 } else { -1.0 }).collect();
        let score = signs.iter().map(|y| 1.2 * y + random.normal()).collect();
        (score, vec![signs])
    }

    #[test]
    fn a_rare_class_counts_whichever_comes_first() {
        let (score, signs) = overlapping(2000);
        let (weights, splits) = (vec![1.0; 2000], vec![0; 2000]);
        let turned = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<f64>>();
        let worths = [Worth::F1, Worth::BalancedAccuracy, Worth::Cost { miss: 20.0, alarm: 1.0 }, Worth::Precision { recall: 0.9 }];
        for worth in worths {
            let goal = Goal { rule: Rule::TwoClasses, worth };
            let (plain, mirrored) = (signs.clone(), vec![turned(&signs[0])]);
            let second = Scores::new(vec![Some(score.clone())], &plain, &weights, &splits, goal);
            let first = Scores::new(vec![Some(turned(&score))], &mirrored, &weights, &splits, goal);
            let ((a, one), (b, other)) = (second.tuned(true), first.tuned(true));
            assert!((a[0] + b[0]).abs() < 1e-9 && (one - other).abs() < 1e-12, "{worth:?}: {a:?} {one}, {b:?} {other}");
            assert!((second.ranking().unwrap() - first.ranking().unwrap()).abs() < 1e-12);
            let named = [sought(goal, &plain[0], &weights), sought(goal, &mirrored[0], &weights)];
            assert_eq!(named, if worth == Worth::BalancedAccuracy { [None, None] } else { [Some(1), Some(0)] });
            let even: Vec<f64> = (0..2000).map(|row| if row % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let told = matches!(worth, Worth::Cost { .. } | Worth::Precision { .. });
            assert_eq!(sought(goal, &even, &weights), told.then_some(1));
        }
    }

    #[test]
    fn every_measure_has_its_own_threshold() {
        let (score, signs) = overlapping(4000);
        let (weights, splits) = (vec![1.0; 4000], vec![0; 4000]);
        let tuned = |worth: Worth| {
            let goal = Goal { rule: Rule::TwoClasses, worth };
            let (thresholds, value) = Scores::new(vec![Some(score.clone())], &signs, &weights, &splits, goal).tuned(true);
            let count = |y: f64| score.iter().zip(&signs[0]).filter(|(s, sign)| **s > thresholds[0] && **sign == y).count() as f64;
            (count(1.0) / 200.0, count(-1.0) / 3800.0, value)
        };
        let (f1, balanced) = (tuned(Worth::F1), tuned(Worth::BalancedAccuracy));
        // Balanced accuracy counts a carrier nineteen times as much as another row: normal heaps part in the middle.
        assert!((balanced.0 - 0.885).abs() < 0.1 && (balanced.1 - 0.115).abs() < 0.1, "{balanced:?}");
        assert!(f1.1 < balanced.1 && f1.0 < balanced.0);
        let dear = tuned(Worth::Cost { miss: 50.0, alarm: 1.0 });
        let cheap = tuned(Worth::Cost { miss: 1.0, alarm: 1.0 });
        assert!(dear.0 > 0.88 && cheap.0 < 0.7 && cheap.1 < 0.02, "{dear:?} {cheap:?}");
        assert!(cheap.2 > -0.05 && cheap.2 < 0.0, "better than missing all carriers: {cheap:?}");
        for recall in [0.5, 0.8, 0.95] {
            let found = tuned(Worth::Precision { recall });
            assert!((recall..recall + 0.1).contains(&found.0) && found.2 > 0.0, "{recall}: {found:?}");
        }
    }

    #[test]
    fn rounds_that_do_not_help_are_not_kept() {
        let (score, signs) = overlapping(1000);
        let (weights, splits): (Vec<f64>, Vec<usize>) = (vec![1.0; 1000], (0..1000).map(|row| row / 200).collect());
        let mut random = crate::random::Random::new(8, 0);
        let noisy: Vec<f64> = score.iter().map(|s| s + 0.02 * random.normal()).collect();
        let clear: Vec<f64> = score.iter().zip(&signs[0]).map(|(s, y)| s + 1.5 * y).collect();
        let goal = Goal { rule: Rule::TwoClasses, worth: Worth::F1 };
        let of = |columns: [Vec<f64>; 2]| {
            choose(1..=2, true, |rounds| Scores::new(vec![Some(columns[rounds - 1].clone())], &signs, &weights, &splits, goal)).rounds
        };
        assert_eq!(of([score.clone(), score.clone()]), 1);
        assert_eq!(of([clear.clone(), noisy]), 1);
        assert_eq!(of([score, clear]), 2);
    }
}
