//! The confusion matrix and everything that follows from it.

use crate::data::Categories;
use crate::error::{Error, Result};
use crate::metrics::{paired, ratio};

/// How scores of several classes become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The plain mean over the classes that occur as truth or as prediction.
    Macro,
    /// From the summed counts of all classes. With one class per row all three scores are then the accuracy.
    Micro,
    /// The mean weighted by how often a class is true.
    Weighted,
}

/// How well one class (or an average of classes) is found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassScore {
    /// Of the rows said to be of the class, the share that are; 0 if none were.
    pub precision: f64,
    /// Of the rows of the class, the share that were found; 0 if there are none.
    pub recall: f64,
    /// Harmonic mean of precision and recall; 0 if both are.
    pub f1: f64,
    /// Weight of the rows of the class.
    pub support: f64,
}

impl ClassScore {
    /// From the weight of rows found, said and true.
    fn from_counts(hits: f64, said: f64, truth: f64) -> Self {
        Self { precision: ratio(hits, said), recall: ratio(hits, truth), f1: ratio(2.0 * hits, said + truth), support: truth }
    }
}

/// Weights of rows by true and predicted class.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    names: Vec<String>,
    /// Row-major: true class, predicted class.
    counts: Vec<f64>,
}

impl Confusion {
    /// From class codes below `classes`; the classes are named by their codes.
    pub fn new(truth: &[u32], predicted: &[u32], classes: usize, weights: Option<&[f64]>) -> Result<Self> {
        Self::with_names(truth, predicted, (0..classes).map(|class| class.to_string()).collect(), weights)
    }

    /// From named classes. They are matched by name, because a test file may hold fewer or other classes than the model knows; names
    /// that only the predictions have come last.
    pub fn from_categories(truth: &Categories, predicted: &Categories, weights: Option<&[f64]>) -> Result<Self> {
        let mut names = truth.names().to_vec();
        let place: Vec<u32> = predicted
            .names()
            .iter()
            .map(|name| {
                let known = names.iter().position(|other| other == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                });
                known as u32
            })
            .collect();
        let predicted: Vec<u32> = predicted.codes().iter().map(|&code| place[code as usize]).collect();
        Self::with_names(truth.codes(), &predicted, names, weights)
    }

    fn with_names(truth: &[u32], predicted: &[u32], names: Vec<String>, weights: Option<&[f64]>) -> Result<Self> {
        let weights = paired(truth.len(), predicted.len(), weights)?;
        let classes = names.len();
        let mut counts = vec![0.0; classes * classes];
        for (row, ((&truth, &predicted), &weight)) in truth.iter().zip(predicted).zip(weights.as_ref()).enumerate() {
            let (truth, predicted) = (truth as usize, predicted as usize);
            if truth.max(predicted) >= classes {
                return Err(Error::data(format!("class code {} at row {row} is outside the {classes} classes", truth.max(predicted))));
            }
            counts[truth * classes + predicted] += weight;
        }
        Ok(Self { names, counts })
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.names.len()
    }

    /// The class names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Weight of the rows of class `truth` that were said to be of class `predicted`.
    pub fn count(&self, truth: usize, predicted: usize) -> f64 {
        self.counts[truth * self.classes() + predicted]
    }

    fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    fn hits(&self) -> f64 {
        (0..self.classes()).map(|class| self.count(class, class)).sum()
    }

    fn truth(&self, class: usize) -> f64 {
        (0..self.classes()).map(|other| self.count(class, other)).sum()
    }

    fn said(&self, class: usize) -> f64 {
        (0..self.classes()).map(|other| self.count(other, class)).sum()
    }

    /// Recalls of the classes that occur as truth.
    fn recalls(&self) -> Vec<f64> {
        (0..self.classes()).filter(|&class| self.truth(class) > 0.0).map(|class| self.count(class, class) / self.truth(class)).collect()
    }

    /// Share of rows with the right class.
    pub fn accuracy(&self) -> f64 {
        ratio(self.hits(), self.total())
    }

    /// Mean recall over the classes that occur as truth: accuracy as if all classes were equally frequent.
    pub fn balanced_accuracy(&self) -> f64 {
        let recalls = self.recalls();
        ratio(recalls.iter().sum(), recalls.len() as f64)
    }

    /// Geometric mean of the recalls of the classes that occur as truth: 0 as soon as one class is never found.
    pub fn g_mean(&self) -> f64 {
        let recalls = self.recalls();
        // One root per factor: a product of many small recalls would underflow.
        recalls.iter().map(|recall| recall.powf(1.0 / recalls.len() as f64)).product()
    }

    /// Matthews' correlation, for any number of classes (Gorodkin 2004); 0 where it is not defined.
    pub fn matthews(&self) -> f64 {
        let total = self.total();
        // Shares, not counts: squares of large weights would overflow.
        let (mut agree, mut truth_squares, mut said_squares) = (0.0, 0.0, 0.0);
        for class in 0..self.classes() {
            let (truth, said) = (self.truth(class) / total, self.said(class) / total);
            agree += truth * said;
            truth_squares += truth * truth;
            said_squares += said * said;
        }
        // A side that names one class only has no spread; rounding must not invent one.
        let occurring = |side: &dyn Fn(usize) -> f64| (0..self.classes()).filter(|&class| side(class) > 0.0).count();
        if occurring(&|class| self.truth(class)) < 2 || occurring(&|class| self.said(class)) < 2 {
            return 0.0;
        }
        ratio(self.hits() / total - agree, ((1.0 - truth_squares) * (1.0 - said_squares)).sqrt())
    }

    /// Precision, recall and F1 of one class.
    pub fn class_score(&self, class: usize) -> ClassScore {
        ClassScore::from_counts(self.count(class, class), self.said(class), self.truth(class))
    }

    /// Precision, recall and F1 of every class.
    pub fn class_scores(&self) -> Vec<ClassScore> {
        (0..self.classes()).map(|class| self.class_score(class)).collect()
    }

    /// Precision, recall and F1 averaged over classes; the support is that of all rows.
    pub fn average(&self, average: Average) -> ClassScore {
        let total = self.total();
        let weight = |class: usize| match average {
            Average::Macro => f64::from(u8::from(self.truth(class) + self.said(class) > 0.0)),
            Average::Weighted => self.truth(class),
            Average::Micro => 0.0,
        };
        if average == Average::Micro {
            return ClassScore::from_counts(self.hits(), total, total);
        }
        let weights: f64 = (0..self.classes()).map(weight).sum();
        let mut sum = ClassScore { support: total, ..ClassScore::default() };
        for (class, score) in self.class_scores().into_iter().enumerate() {
            let share = ratio(weight(class), weights);
            sum.precision += share * score.precision;
            sum.recall += share * score.recall;
            sum.f1 += share * score.f1;
        }
        sum
    }
}

/// Share of rows with the right class.
pub fn accuracy(truth: &[u32], predicted: &[u32], weights: Option<&[f64]>) -> Result<f64> {
    let weights = paired(truth.len(), predicted.len(), weights)?;
    let hits: f64 = truth.iter().zip(predicted).zip(weights.as_ref()).filter(|((t, p), _)| t == p).map(|(_, weight)| weight).sum();
    Ok(hits / weights.iter().sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn two_classes_by_hand() {
        // TP 3, FN 1, FP 2, TN 4.
        let truth = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0];
        let said = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0];
        let confusion = Confusion::new(&truth, &said, 2, None).unwrap();
        assert_eq!(confusion.counts, [4.0, 2.0, 1.0, 3.0]);
        assert_eq!((confusion.accuracy(), accuracy(&truth, &said, None).unwrap()), (0.7, 0.7));
        let score = confusion.class_score(1);
        assert!(near(score.precision, 0.6) && near(score.recall, 0.75) && near(score.f1, 2.0 / 3.0) && score.support == 4.0);
        assert!(near(confusion.balanced_accuracy(), (0.75 + 4.0 / 6.0) / 2.0));
        assert!(near(confusion.g_mean(), 0.5f64.sqrt()));
        // (TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)) = 10 / sqrt(5 * 4 * 6 * 5).
        assert!(near(confusion.matthews(), 10.0 / 600f64.sqrt()));
    }

    #[test]
    fn three_classes_by_hand() {
        let confusion = Confusion::new(&[0, 0, 1, 1, 2, 2], &[0, 1, 1, 1, 2, 0], 4, None).unwrap();
        let (macro_, weighted, micro) =
            (confusion.average(Average::Macro), confusion.average(Average::Weighted), confusion.average(Average::Micro));
        // Precisions 1/2, 2/3, 1; recalls 1/2, 1, 1/2; F1 1/2, 4/5, 2/3; class 3 never occurs and does not count.
        assert!(near(macro_.precision, (0.5 + 2.0 / 3.0 + 1.0) / 3.0) && near(macro_.recall, 2.0 / 3.0));
        assert!(near(macro_.f1, (0.5 + 0.8 + 2.0 / 3.0) / 3.0));
        assert!(near(weighted.f1, macro_.f1) && near(micro.f1, 4.0 / 6.0) && micro.support == 6.0);
        // (c s - sum t p) / sqrt((s^2 - sum p^2)(s^2 - sum t^2)) with c = 4, s = 6, t = (2,2,2), p = (2,3,1).
        assert!(near(confusion.matthews(), 12.0 / (22.0f64 * 24.0).sqrt()));
    }

    #[test]
    fn undefined_scores_are_zero() {
        let confusion = Confusion::new(&[0, 0], &[1, 1], 2, None).unwrap();
        assert_eq!((confusion.matthews(), confusion.g_mean(), confusion.class_score(1)), (0.0, 0.0, ClassScore::default()));
        assert_eq!(Confusion::new(&[0, 0, 0], &[0, 0, 0], 1, Some(&[0.1; 3])).unwrap().matthews(), 0.0);
    }

    #[test]
    fn classes_are_matched_by_name() {
        let truth = Categories::from_names(&["b", "c", "c"]);
        let said = Categories::from_names(&["b", "a", "c"]);
        let confusion = Confusion::from_categories(&truth, &said, None).unwrap();
        assert_eq!(confusion.names(), ["b", "c", "a"]);
        assert_eq!((confusion.count(0, 0), confusion.count(1, 2), confusion.count(1, 1)), (1.0, 1.0, 1.0));
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(Confusion::new(&[0], &[0, 1], 2, None).is_err());
        assert!(Confusion::new(&[], &[], 2, None).is_err());
        assert_eq!(Confusion::new(&[0, 2], &[0, 1], 2, None).unwrap_err().to_string(), "class code 2 at row 1 is outside the 2 classes");
        assert!(accuracy(&[0], &[0], Some(&[-1.0])).is_err());
    }

    proptest! {
        #[test]
        fn weights_are_repeated_rows_in_any_order(rows in prop::collection::vec((0u32..3, 0u32..3, 0usize..3), 1..20)) {
            prop_assume!(rows.iter().any(|row| row.2 > 0));
            let truth: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let said: Vec<u32> = rows.iter().map(|row| row.1).collect();
            let weights: Vec<f64> = rows.iter().map(|row| row.2 as f64).collect();
            let many: Vec<_> = rows.iter().rev().flat_map(|row| std::iter::repeat_n((row.0, row.1), row.2)).collect();
            let (truth_many, said_many): (Vec<u32>, Vec<u32>) = many.into_iter().unzip();
            let weighted = Confusion::new(&truth, &said, 3, Some(&weights)).unwrap();
            prop_assert_eq!(&weighted, &Confusion::new(&truth_many, &said_many, 3, None).unwrap());
            prop_assert!(near(weighted.accuracy(), accuracy(&truth, &said, Some(&weights)).unwrap()));
            prop_assert!(near(weighted.average(Average::Weighted).recall, weighted.accuracy()));
            prop_assert!((-1.0 - 1e-12..=1.0 + 1e-12).contains(&weighted.matthews()));
        }
    }
}
