//! Judging a ranking: area under the ROC curve and average precision. Only the order of the scores matters; equal scores are one step.

use super::Average;
use crate::error::{Error, Result};
use crate::metrics::{check_numbers, paired};

/// Weights of negatives and positives scored at or above one value, summed from the highest score down.
struct Step {
    score: f64,
    negatives: f64,
    positives: f64,
}

fn steps(truth: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<Vec<Step>> {
    let weights = paired(truth.len(), scores.len(), weights)?;
    check_numbers("scores", scores, false)?;
    let mut order: Vec<usize> = (0..truth.len()).filter(|&row| weights[row] > 0.0).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut steps: Vec<Step> = Vec::new();
    let (mut negatives, mut positives) = (0.0, 0.0);
    for row in order {
        let side = if truth[row] { &mut positives } else { &mut negatives };
        *side += weights[row];
        match steps.last_mut() {
            Some(last) if last.score == scores[row] => (last.negatives, last.positives) = (negatives, positives),
            _ => steps.push(Step { score: scores[row], negatives, positives }),
        }
    }
    Ok(steps)
}

/// Steps of a ranking that must hold both classes.
fn two_sided(truth: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<(Vec<Step>, f64, f64)> {
    let steps = steps(truth, scores, weights)?;
    let (negatives, positives) = steps.last().map_or((0.0, 0.0), |step| (step.negatives, step.positives));
    if negatives == 0.0 || positives == 0.0 {
        let missing = if positives == 0.0 { "positive" } else { "negative" };
        return Err(Error::data(format!("the ROC curve needs rows of both classes, found no {missing} one")));
    }
    Ok((steps, negatives, positives))
}

/// The ROC curve: `(false positive rate, true positive rate)` from (0, 0) to (1, 1), one point per distinct score.
pub fn roc_curve(truth: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<Vec<(f64, f64)>> {
    let (steps, negatives, positives) = two_sided(truth, scores, weights)?;
    let points = steps.iter().map(|step| (step.negatives / negatives, step.positives / positives));
    Ok(std::iter::once((0.0, 0.0)).chain(points).collect())
}

/// Area under the ROC curve: the chance that a positive row scores above a negative one, ties counting half.
pub fn roc_auc(truth: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let (steps, negatives, positives) = two_sided(truth, scores, weights)?;
    let (mut area, mut before) = (0.0, (0.0, 0.0));
    for step in &steps {
        area += (step.negatives - before.0) * (step.positives + before.1) / 2.0;
        before = (step.negatives, step.positives);
    }
    Ok(area / negatives / positives)
}

/// Area under the ROC curve of every class against the rest, averaged (plainly, or weighted by how often a class is true).
///
/// `scores` is row-major with `classes` columns. Every class must occur. `Average::Micro` ranks all cells together.
pub fn roc_auc_one_vs_rest(truth: &[u32], scores: &[f64], classes: usize, average: Average, weights: Option<&[f64]>) -> Result<f64> {
    let weights = paired(truth.len(), truth.len(), weights)?;
    let expected = truth.len().saturating_mul(classes);
    if scores.len() != expected || classes == 0 {
        return Err(Error::shape(format!("scores of {} rows and {classes} classes", truth.len()), expected, scores.len()));
    }
    if let Some(row) = truth.iter().position(|&code| code as usize >= classes) {
        return Err(Error::data(format!("class code {} at row {row} is outside the {classes} classes", truth[row])));
    }
    if average == Average::Micro {
        let cells: Vec<bool> = truth.iter().flat_map(|&code| (0..classes).map(move |class| class == code as usize)).collect();
        let cell_weights: Vec<f64> = weights.iter().flat_map(|&weight| std::iter::repeat_n(weight, classes)).collect();
        return roc_auc(&cells, scores, Some(&cell_weights));
    }
    let (mut sum, mut shares) = (0.0, 0.0);
    for class in 0..classes {
        let is_class: Vec<bool> = truth.iter().map(|&code| code as usize == class).collect();
        let column: Vec<f64> = scores.iter().skip(class).step_by(classes).copied().collect();
        let area = roc_auc(&is_class, &column, Some(&weights)).map_err(|error| match error {
            Error::Data(message) => Error::data(format!("class {class} against the rest: {message}")),
            other => other,
        })?;
        let share = match average {
            Average::Weighted => is_class.iter().zip(weights.as_ref()).filter(|(is, _)| **is).map(|(_, weight)| weight).sum(),
            _ => 1.0,
        };
        sum += share * area;
        shares += share;
    }
    Ok(sum / shares)
}

/// Average precision: the sum over score steps of (rise in recall) x (precision there), without interpolation.
pub fn average_precision(truth: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let steps = steps(truth, scores, weights)?;
    let positives = steps.last().map_or(0.0, |step| step.positives);
    if positives == 0.0 {
        return Err(Error::data("average precision needs at least one positive row, found none"));
    }
    let (mut sum, mut before) = (0.0, 0.0);
    for step in &steps {
        sum += (step.positives - before) / positives * (step.positives / (step.positives + step.negatives));
        before = step.positives;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_areas() {
        let truth = [false, false, true, true];
        let scores = [0.1, 0.4, 0.35, 0.8];
        assert_eq!(roc_auc(&truth, &scores, None).unwrap(), 0.75);
        assert!((average_precision(&truth, &scores, None).unwrap() - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-15);
        assert_eq!(roc_auc(&truth, &[0.0, -0.0, 0.0, 0.0], None).unwrap(), 0.5);
        assert_eq!(roc_auc(&truth, &[f64::NEG_INFINITY, 0.0, 1.0, f64::INFINITY], None).unwrap(), 1.0);
        assert_eq!(roc_curve(&truth, &scores, None).unwrap(), [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]);
    }

    #[test]
    fn one_against_the_rest() {
        let truth = [0, 1, 2, 1];
        let scores = [0.9, 0.1, 0.0, 0.2, 0.7, 0.1, 0.3, 0.3, 0.4, 0.5, 0.2, 0.3];
        // Class 0: 1. Class 1: positives .7 and .2 against .1 and .3, 3 of 4. Class 2: .4 above all, 1.
        let found = |average| roc_auc_one_vs_rest(&truth, &scores, 3, average, None).unwrap();
        assert!((found(Average::Macro) - 2.75 / 3.0).abs() < 1e-15 && (found(Average::Weighted) - 3.5 / 4.0).abs() < 1e-15);
        assert!(found(Average::Micro) > 0.5);
        let message = roc_auc_one_vs_rest(&[0, 1], &[0.5; 6], 3, Average::Macro, None).unwrap_err().to_string();
        assert_eq!(message, "class 2 against the rest: the ROC curve needs rows of both classes, found no positive one");
        assert!(roc_auc_one_vs_rest(&[0, 1], &[0.5; 5], 3, Average::Macro, None).is_err());
        assert!(roc_auc_one_vs_rest(&[0, 1, 5], &[0.5; 6], 2, Average::Macro, None).is_err());
    }

    #[test]
    fn undefined_areas_are_errors() {
        assert!(roc_auc(&[true, true], &[0.1, 0.2], None).is_err());
        assert!(roc_auc(&[true, false], &[0.1, 0.2], Some(&[1.0, 0.0])).is_err());
        assert!(roc_auc(&[true, false], &[0.1, f64::NAN], None).is_err());
        assert!(average_precision(&[false], &[0.1], None).is_err());
    }

    proptest! {
        #[test]
        fn the_area_is_the_share_of_pairs_in_order(rows in prop::collection::vec((any::<bool>(), 0i32..6, 0usize..3), 2..25)) {
            let truth: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let weights: Vec<f64> = rows.iter().map(|row| row.2 as f64).collect();
            let counted = |positive| rows.iter().any(|row| row.0 == positive && row.2 > 0);
            prop_assume!(counted(true) && counted(false));
            let (mut good, mut all) = (0.0, 0.0);
            for i in (0..rows.len()).filter(|&i| truth[i]) {
                for j in (0..rows.len()).filter(|&j| !truth[j]) {
                    let pairs = weights[i] * weights[j];
                    all += pairs;
                    good += pairs * if scores[i] > scores[j] { 1.0 } else if scores[i] == scores[j] { 0.5 } else { 0.0 };
                }
            }
            let area = roc_auc(&truth, &scores, Some(&weights)).unwrap();
            prop_assert!((area - good / all).abs() < 1e-12);
            // Rows of weight 2 twice, in reverse order.
            let many: Vec<_> = rows.iter().rev().flat_map(|row| std::iter::repeat_n((row.0, f64::from(row.1)), row.2)).collect();
            let (truth_many, scores_many): (Vec<bool>, Vec<f64>) = many.into_iter().unzip();
            prop_assert!((roc_auc(&truth_many, &scores_many, None).unwrap() - area).abs() < 1e-12);
            let precision = average_precision(&truth, &scores, Some(&weights)).unwrap();
            prop_assert!((average_precision(&truth_many, &scores_many, None).unwrap() - precision).abs() < 1e-12);
        }
    }
}
