//! Many classes from machines that tell two apart.

use serde::{Deserialize, Serialize};

use super::machine::pairs;

/// How many classes are reduced to two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Multiclass {
    /// One machine per pair of classes, which vote.
    ///
    /// One machine per pair of classes; classes collect votes, ties go to the larger sum of confidences.
    #[default]
    OneVsOne,
    /// One machine per class against the others.
    ///
    /// One machine per class against all others; the largest value wins.
    OneVsRest,
}

/// One value per class from the pairs' values of one sample: votes, plus a confidence between -1/3 and 1/3 that only breaks ties.
///
/// `pair_values` are in pair order, positive for the first class of a pair. A value of exactly zero votes for the second.
pub(crate) fn votes(pair_values: &[f64], classes: usize, out: &mut [f64]) {
    out.fill(0.0);
    let mut confidence = vec![0.0; classes];
    for ((i, j), &value) in pairs(classes).into_iter().zip(pair_values) {
        out[if value > 0.0 { i } else { j }] += 1.0;
        confidence[i] += value;
        confidence[j] -= value;
    }
    for (vote, sum) in out.iter_mut().zip(confidence) {
        *vote += tie_break(sum);
    }
}

/// A sum of confidences between -1/3 and 1/3: added to votes it only breaks ties.
pub(crate) fn tie_break(sum: f64) -> f64 {
    sum / (3.0 * (sum.abs() + 1.0))
}

/// The first of the largest values.
pub(crate) fn argmax(values: &[f64]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}
