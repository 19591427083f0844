//! Decisions from single samples: evidence added up in log space, hard votes, and the test that stops when it knows enough.

use serde::{Deserialize, Serialize};

use crate::check;
use crate::error::{Error, Result};
use crate::svm::{argmax, tie_break};

/// What single samples say, and how it is added up.
///
/// ```text
/// L_c = sum_k log p(c | x_k) - (K - 1) log prior_c          p(c | x_1 ... x_K) = exp(L_c) / sum_d exp(L_d)
/// ```
/// (Eq. 4 of the paper; its eq. 3 loses the priors in the last line.) Scores may be shifted by any number per sample: for two classes they
/// are the log odds `-(A f + B)` and zero, so that no probability is ever formed and none saturates.
///
/// Where classes are expected in other shares than the posteriors were learnt with (`rates`), their ratio to the rates counts once:
/// `L_c = log prior_c + sum_k (log p(c | x_k) - log rate_c)`, which is the same for equal priors and rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Consensus {
    log_priors: Vec<f64>,
    log_rates: Vec<f64>,
}

impl Consensus {
    /// Priors must lie strictly between 0 and 1 and add up to 1.
    pub fn new(priors: &[f64]) -> Result<Self> {
        Self::with_rates(priors, priors)
    }

    /// For priors that differ from the classes' shares among the samples that posteriors were learnt from.
    pub fn with_rates(priors: &[f64], rates: &[f64]) -> Result<Self> {
        check_priors(priors)?;
        check_priors(rates)?;
        if priors.len() != rates.len() {
            return Err(Error::shape("rates, one per prior", priors.len(), rates.len()));
        }
        let logarithms = |values: &[f64]| values.iter().map(|p| p.ln()).collect();
        Ok(Self { log_priors: logarithms(priors), log_rates: logarithms(rates) })
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.log_priors.len()
    }

    /// Logarithms of the priors.
    pub fn log_priors(&self) -> &[f64] {
        &self.log_priors
    }

    /// Logarithms of the rates.
    pub fn log_rates(&self) -> &[f64] {
        &self.log_rates
    }

    /// One score per class for a set: `scores` has one row of scores per sample. The same to the bit for any order of the samples.
    pub fn set_scores(&self, scores: &[f64]) -> Vec<f64> {
        let classes = self.classes();
        let samples = (scores.len() / classes) as f64;
        let sum = |class: usize| sorted_sum(scores.iter().skip(class).step_by(classes).copied());
        (0..classes).map(|class| sum(class) - (samples * self.log_rates[class] - self.log_priors[class])).collect()
    }

    /// The decision for a set of samples of two classes from log odds of the first class.
    pub fn set_log_odds(&self, log_odds: &[f64]) -> f64 {
        let (prior, rate) = (self.log_priors[0] - self.log_priors[1], self.log_rates[0] - self.log_rates[1]);
        sorted_sum(log_odds.iter().copied()) - (log_odds.len() as f64 * rate - prior)
    }
}

/// Fails unless priors are usable.
pub(super) fn check_priors(priors: &[f64]) -> Result<()> {
    for &prior in priors {
        if !(prior > 0.0 && prior < 1.0) {
            return Err(check::complaint("MultiSample", "priors", "above 0 and below 1", prior));
        }
    }
    let sum: f64 = priors.iter().sum();
    if (sum - 1.0).abs() > 1e-6 {
        return Err(check::complaint("MultiSample", "priors", "numbers that add up to 1", sum));
    }
    Ok(())
}

/// The sum in ascending order of the terms: it does not depend on the order they came in.
pub(super) fn sorted_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut terms: Vec<f64> = terms.collect();
    terms.sort_unstable_by(f64::total_cmp);
    terms.iter().sum()
}

/// Probabilities from scores that are logarithms up to a common shift.
pub fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let each: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let total: f64 = each.iter().sum();
    each.iter().map(|value| value / total).collect()
}

/// Hard votes: one value per class, votes plus a confidence between -1/3 and 1/3 that only breaks ties.
///
/// `codes` are the samples' own classes; `values` hold, per sample, one value for each class (only sums of them break ties).
pub fn majority(codes: &[u32], values: &[f64], classes: usize) -> Vec<f64> {
    (0..classes)
        .map(|class| {
            let votes = codes.iter().filter(|&&code| code as usize == class).count() as f64;
            let sum = sorted_sum(values.iter().skip(class).step_by(classes).copied());
            votes + tie_break(sum)
        })
        .collect()
}

/// A decision that is made while samples come in.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequential {
    log_rates: Vec<f64>,
    scores: Vec<f64>,
    confidence: f64,
    samples: usize,
}

/// Where a sequential decision stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Probability of every class after the samples so far.
    pub posterior: Vec<f64>,
    /// The most probable class.
    pub code: u32,
    /// Samples so far.
    pub samples: usize,
    /// Whether the confidence is reached.
    pub decided: bool,
}

impl Sequential {
    pub(super) fn new(consensus: &Consensus, confidence: f64) -> Result<Self> {
        let log_priors = consensus.log_priors();
        if !(confidence > 1.0 / log_priors.len() as f64 && confidence < 1.0) {
            let allowed = format!("above {} (chance for {} classes) and below 1", 1.0 / log_priors.len() as f64, log_priors.len());
            return Err(check::complaint("decide", "confidence", allowed, confidence));
        }
        Ok(Self { log_rates: consensus.log_rates.clone(), scores: log_priors.to_vec(), confidence, samples: 0 })
    }

    /// Adds one sample's scores (log posteriors up to a shift).
    pub fn add(&mut self, scores: &[f64]) -> Result<Standing> {
        if scores.len() != self.scores.len() {
            return Err(Error::shape("scores, one per class", self.scores.len(), scores.len()));
        }
        for ((total, score), rate) in self.scores.iter_mut().zip(scores).zip(&self.log_rates) {
            *total += score - rate;
        }
        self.samples += 1;
        Ok(self.standing())
    }

    /// Where it stands; before the first sample these are the priors.
    pub fn standing(&self) -> Standing {
        let posterior = softmax(&self.scores);
        let code = argmax(&self.scores);
        Standing { decided: self.samples > 0 && posterior[code] >= self.confidence, code: code as u32, samples: self.samples, posterior }
    }
}

/// The expected number of samples until a class of every kind is recognized with `confidence`, one number per class.
///
/// `separation[c * classes + d]` is the mean over samples of class `c` of `log p(c|x) - log p(d|x)`, the rates' own ratio taken off. The
/// sum of such terms has to climb from the priors' ratio to the logarithm of the odds asked for (Wald's approximation, without the
/// overshoot); the slowest rival decides. Infinite where samples do not tell the two classes apart.
pub(super) fn expected_samples(separation: &[f64], log_priors: &[f64], confidence: f64) -> Vec<f64> {
    let classes = log_priors.len();
    let goal = (confidence / (1.0 - confidence)).ln();
    (0..classes)
        .map(|c| {
            let needed = |d: usize| {
                let gain = separation[c * classes + d];
                if gain > 0.0 { ((goal - (log_priors[c] - log_priors[d])) / gain).max(1.0) } else { f64::INFINITY }
            };
            (0..classes).filter(|&d| d != c).map(needed).fold(1.0, f64::max)
        })
        .collect()
}
