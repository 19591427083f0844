//! Several labels per row: how well each is found, and how unevenly they are spread.
//!
//! Each label is a yes/no question of its own, judged by its four counts; 0/0 counts 0 throughout. *Macro* is the plain mean over
//! labels (rare ones count as much as frequent ones), *micro* comes from the summed counts.

use super::{paired, ratio};
use crate::data::LabelMatrix;
use crate::error::{Error, Result};

/// How well one label (or an average of labels) is found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelScore {
    /// Share of rows answered rightly.
    pub accuracy: f64,
    /// Of the rows said to carry the label, the share that do.
    pub precision: f64,
    /// Of the rows that carry the label, the share that were found.
    pub recall: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
    /// Geometric mean of the recall of carriers and the recall of the other rows.
    pub g_mean: f64,
    /// Weight of the rows that carry the label.
    pub support: f64,
}

/// The four counts (weights of rows) of one label.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelCounts {
    /// Carriers found.
    pub true_positives: f64,
    /// Others said to be carriers.
    pub false_positives: f64,
    /// Carriers missed.
    pub false_negatives: f64,
    /// Others left alone.
    pub true_negatives: f64,
}

impl LabelCounts {
    /// The scores that follow from the counts.
    pub fn score(&self) -> LabelScore {
        let Self { true_positives: tp, false_positives: fp, false_negatives: fn_, true_negatives: tn } = *self;
        let recall = ratio(tp, tp + fn_);
        LabelScore {
            accuracy: ratio(tp + tn, tp + fp + fn_ + tn),
            precision: ratio(tp, tp + fp),
            recall,
            f1: ratio(2.0 * tp, 2.0 * tp + fp + fn_),
            g_mean: (recall * ratio(tn, tn + fp)).sqrt(),
            support: tp + fn_,
        }
    }
}

/// The counts of every label, and how many rows are right as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelConfusion {
    names: Vec<String>,
    counts: Vec<LabelCounts>,
    /// Share of rows with every label right.
    whole_rows: f64,
}

impl LabelConfusion {
    /// Compares two label matrices with the same labels in the same order.
    pub fn new(truth: &LabelMatrix, predicted: &LabelMatrix, weights: Option<&[f64]>) -> Result<Self> {
        let weights = paired(truth.len(), predicted.len(), weights)?;
        let names = truth.names();
        if predicted.names().len() != names.len() {
            return Err(Error::shape("labels predicted", names.len(), predicted.names().len()));
        }
        if let Some((expected, found)) = names.iter().zip(predicted.names()).find(|(a, b)| a != b) {
            return Err(Error::data(format!("labels must be the same in truth and prediction: found `{found}` in place of `{expected}`")));
        }
        let mut counts = vec![LabelCounts::default(); names.len()];
        let mut whole_rows = 0.0;
        for (row, &weight) in weights.iter().enumerate() {
            let (truth, predicted) = (truth.row(row), predicted.row(row));
            for ((count, &truth), &predicted) in counts.iter_mut().zip(truth).zip(predicted) {
                let cell = match (truth, predicted) {
                    (true, true) => &mut count.true_positives,
                    (false, true) => &mut count.false_positives,
                    (true, false) => &mut count.false_negatives,
                    (false, false) => &mut count.true_negatives,
                };
                *cell += weight;
            }
            if truth == predicted {
                whole_rows += weight;
            }
        }
        Ok(Self { names: names.to_vec(), counts, whole_rows: whole_rows / weights.iter().sum::<f64>() })
    }

    /// The label names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The counts of every label.
    pub fn counts(&self) -> &[LabelCounts] {
        &self.counts
    }

    /// The scores of every label.
    pub fn label_scores(&self) -> Vec<LabelScore> {
        self.counts.iter().map(LabelCounts::score).collect()
    }

    /// The plain mean of every score over the labels; the support is the sum.
    pub fn macro_average(&self) -> LabelScore {
        let scores = self.label_scores();
        let mean = |part: fn(&LabelScore) -> f64| scores.iter().map(part).sum::<f64>() / scores.len() as f64;
        LabelScore {
            accuracy: mean(|score| score.accuracy),
            precision: mean(|score| score.precision),
            recall: mean(|score| score.recall),
            f1: mean(|score| score.f1),
            g_mean: mean(|score| score.g_mean),
            support: scores.iter().map(|score| score.support).sum(),
        }
    }

    /// The scores of the summed counts.
    pub fn micro_average(&self) -> LabelScore {
        let mut sum = LabelCounts::default();
        for count in &self.counts {
            sum.true_positives += count.true_positives;
            sum.false_positives += count.false_positives;
            sum.false_negatives += count.false_negatives;
            sum.true_negatives += count.true_negatives;
        }
        sum.score()
    }

    /// Share of cells answered wrongly. Always 1 - macro accuracy.
    pub fn hamming_loss(&self) -> f64 {
        let wrong = |count: &LabelCounts| {
            let all = count.true_positives + count.false_positives + count.false_negatives + count.true_negatives;
            ratio(count.false_positives + count.false_negatives, all)
        };
        self.counts.iter().map(wrong).sum::<f64>() / self.counts.len() as f64
    }

    /// Share of rows with every label right.
    pub fn subset_accuracy(&self) -> f64 {
        self.whole_rows
    }
}

/// How the labels of a data set are spread (Charte, Rivera, del Jesus and Herrera 2015; SCUMBLE 2014).
#[derive(Clone, Debug, PartialEq)]
pub struct LabelImbalance {
    /// Rows that carry each label.
    pub counts: Vec<usize>,
    /// Mean number of labels per row.
    pub cardinality: f64,
    /// Cardinality as a share of the number of labels.
    pub density: f64,
    /// IRLbl: how many times rarer each label is than the most frequent one; infinite for a label no row carries.
    pub ratios: Vec<f64>,
    /// MeanIR: the mean of the finite ratios; 0 if no row carries any label.
    pub mean_ratio: f64,
    /// SCUMBLE: how often frequent and rare labels stand in the same row, from 0 (never) towards 1.
    ///
    /// Per row, 1 - (geometric mean) / (arithmetic mean) of the ratios of the labels it carries, averaged over all rows; rows without
    /// labels count 0. (Taken over *all* labels, with 0 for those not carried, the product would vanish and nearly every row would
    /// score 1; hence the carried ones.)
    pub scumble: f64,
}

impl LabelImbalance {
    /// Measures a label matrix with at least one row.
    pub fn new(labels: &LabelMatrix) -> Result<Self> {
        if labels.is_empty() {
            return Err(Error::data("label imbalance needs at least one row"));
        }
        let (rows, n_labels) = (labels.len() as f64, labels.names().len());
        let counts: Vec<usize> = (0..n_labels).map(|label| labels.label(label).filter(|&on| on).count()).collect();
        let most = counts.iter().copied().max().unwrap_or(0) as f64;
        let ratios: Vec<f64> = counts.iter().map(|&count| if count == 0 { f64::INFINITY } else { most / count as f64 }).collect();
        let finite = || ratios.iter().filter(|ratio| ratio.is_finite());
        let cardinality = counts.iter().sum::<usize>() as f64 / rows;
        let scumble = (0..labels.len()).map(|row| concurrence(labels.row(row), &ratios)).sum::<f64>() / rows;
        Ok(Self {
            cardinality,
            density: cardinality / n_labels as f64,
            mean_ratio: ratio(finite().sum(), finite().count() as f64),
            counts,
            ratios,
            scumble,
        })
    }
}

/// 1 - geometric mean / arithmetic mean of the ratios of the labels that are on.
fn concurrence(row: &[bool], ratios: &[f64]) -> f64 {
    let carried = || row.iter().zip(ratios).filter(|(on, _)| **on).map(|(_, ratio)| *ratio);
    let count = carried().count() as f64;
    if count < 2.0 {
        return 0.0;
    }
    // Logarithms: a product of many ratios would overflow. Means of equal ratios may differ by rounding, hence the bound.
    let geometric = (carried().map(f64::ln).sum::<f64>() / count).exp();
    (1.0 - geometric / (carried().sum::<f64>() / count)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows as words of 0 and 1.
    fn matrix(text: &str) -> LabelMatrix {
        let columns = text.split(' ').next().unwrap().len();
        let values = text.chars().filter(|c| *c != ' ').map(|c| c == '1').collect();
        LabelMatrix::new(values, (0..columns).map(|label| format!("l{label}")).collect()).unwrap()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn reference_values_of_the_boosted_method() {
        let cases = [
            (
                "010 000 001 000 010 010 000 000 100 000 000 001 000 100 011 000 001 000 101",
                "011 000 001 010 000 001 000 010 010 000 001 000 000 000 000 000 001 001 010",
                [0.7017543859649122, 0.17777777777777778, 0.21666666666666667, 0.19528619528619529, 0.29824561403508776],
            ),
            (
                "000 100 010 101 100 010 100 100 010 000 001 001 101 010",
                "000 001 011 000 001 001 100 100 100 000 010 010 010 000",
                [0.5476190476190477, 0.3055555555555555, 0.19444444444444442, 0.23148148148148148, 0.45238095238095233],
            ),
        ];
        for (truth, said, [accuracy, precision, recall, f1, hamming]) in cases {
            let confusion = LabelConfusion::new(&matrix(truth), &matrix(said), None).unwrap();
            let score = confusion.macro_average();
            assert!(near(score.accuracy, accuracy) && near(score.precision, precision) && near(score.recall, recall));
            assert!(near(score.f1, f1) && near(confusion.hamming_loss(), hamming));
        }
    }

    #[test]
    fn averages_by_hand() {
        // Label 0: TP 1, FP 1, FN 1, TN 1. Label 1: never true, never said.
        let confusion = LabelConfusion::new(&matrix("10 00 10 00"), &matrix("10 10 00 00"), None).unwrap();
        assert_eq!(
            confusion.label_scores()[0],
            LabelScore { accuracy: 0.5, precision: 0.5, recall: 0.5, f1: 0.5, g_mean: 0.5, support: 2.0 }
        );
        assert_eq!(confusion.label_scores()[1], LabelScore { accuracy: 1.0, ..LabelScore::default() });
        assert_eq!((confusion.macro_average().f1, confusion.micro_average().f1), (0.25, 0.5));
        assert_eq!((confusion.micro_average().accuracy, confusion.hamming_loss(), confusion.subset_accuracy()), (0.75, 0.25, 0.5));
        let weighted = LabelConfusion::new(&matrix("10 00 10 00"), &matrix("10 10 00 00"), Some(&[1.0, 0.0, 0.0, 1.0])).unwrap();
        assert_eq!((weighted.subset_accuracy(), weighted.label_scores()[0].f1), (1.0, 1.0));
    }

    #[test]
    fn imbalance_by_hand() {
        // Counts 4, 1, 0: ratios 1, 4, infinite. One row carries both: 1 - sqrt(4) / 2.5 = 0.2.
        let found = LabelImbalance::new(&matrix("100 110 100 100 000")).unwrap();
        assert_eq!((found.counts, found.ratios), (vec![4, 1, 0], vec![1.0, 4.0, f64::INFINITY]));
        assert!(near(found.cardinality, 1.0) && near(found.density, 1.0 / 3.0) && near(found.mean_ratio, 2.5));
        assert!(near(found.scumble, 0.2 / 5.0));
        let none = LabelImbalance::new(&matrix("00 00")).unwrap();
        assert_eq!((none.mean_ratio, none.scumble, none.cardinality), (0.0, 0.0, 0.0));
    }

    #[test]
    fn bad_input_is_an_error() {
        let other = LabelMatrix::new(vec![true, false], vec!["l0".into(), "x".into()]).unwrap();
        let message = LabelConfusion::new(&matrix("10"), &other, None).unwrap_err().to_string();
        assert_eq!(message, "labels must be the same in truth and prediction: found `x` in place of `l1`");
        assert!(LabelConfusion::new(&matrix("10"), &matrix("1"), None).is_err());
        assert!(LabelConfusion::new(&matrix("10"), &matrix("10 10"), None).is_err());
        assert!(LabelImbalance::new(&matrix("1").select(&[])).is_err());
    }

    proptest! {
        #[test]
        fn weights_are_repeated_rows_in_any_order(rows in prop::collection::vec((any::<[bool; 3]>(), any::<[bool; 3]>(), 0usize..3), 1..20)) {
            prop_assume!(rows.iter().any(|row| row.2 > 0));
            let names = || vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
            let truth = LabelMatrix::new(rows.iter().flat_map(|row| row.0).collect(), names()).unwrap();
            let said = LabelMatrix::new(rows.iter().flat_map(|row| row.1).collect(), names()).unwrap();
            let weights: Vec<f64> = rows.iter().map(|row| row.2 as f64).collect();
            let many: Vec<usize> = (0..rows.len()).rev().flat_map(|row| std::iter::repeat_n(row, rows[row].2)).collect();
            let weighted = LabelConfusion::new(&truth, &said, Some(&weights)).unwrap();
            prop_assert_eq!(&weighted, &LabelConfusion::new(&truth.select(&many), &said.select(&many), None).unwrap());
            prop_assert!(near(weighted.hamming_loss(), 1.0 - weighted.macro_average().accuracy));
        }
    }
}
