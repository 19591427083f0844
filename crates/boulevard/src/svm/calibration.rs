//! Probabilities from decision values: Platt's sigmoid, fitted by Newton's method, and the coupling of pairs.
//!
//! `P(first class of a pair | f) = 1 / (1 + exp(A f + B))`, with A and B fitted by maximum likelihood on cross-validated decision values
//! and slightly smoothed targets (Platt 2000; the method and its constants: Lin, Lin and Weng 2007). Pairs are coupled as in Wu, Lin and
//! Weng (2004), second approach.

use serde::{Deserialize, Serialize};

use super::classifier::Outputs;
use super::learner::Learner;
use super::machine::pairs;
use super::model::Model;
use super::sharpening::{CalibrationMethod, Sharpening};
use crate::data::split::Split;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::observe::{Context, Meter, StopReason};

/// Folds of the cross-validation behind a calibration.
const FOLDS: usize = 5;
/// Rows per kind of equal rows from which these are spread over the folds.
const CROWD: usize = 10;
/// Pairwise probabilities stay this far from 0 and 1.
const LEAST: f64 = 1e-7;

/// One fitted sigmoid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sigmoid {
    /// Slope; negative when larger values speak for the first class.
    pub a: f64,
    /// Shift.
    pub b: f64,
}

impl Sigmoid {
    /// Fits on decision values and whether each sample is of the first class; `weights` count as repeated samples.
    pub fn fit(values: &[f64], positive: &[bool], weights: Option<&[f64]>) -> Self {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let count = |side: bool| (0..values.len()).filter(|&i| positive[i] == side).map(weight).sum::<f64>();
        let (plus, minus) = (count(true), count(false));
        let target = |i: usize| if positive[i] { (plus + 1.0) / (plus + 2.0) } else { 1.0 / (minus + 2.0) };
        let loss = |a: f64, b: f64| {
            (0..values.len())
                .map(|i| {
                    let z = values[i] * a + b;
                    weight(i) * if z >= 0.0 { target(i) * z + (-z).exp().ln_1p() } else { (target(i) - 1.0) * z + z.exp().ln_1p() }
                })
                .sum::<f64>()
        };
        let (mut a, mut b) = (0.0, ((minus + 1.0) / (plus + 1.0)).ln());
        let mut value = loss(a, b);
        for _ in 0..100 {
            // A tiny ridge keeps the Hessian definite when all values are the same.
            let (mut h11, mut h22, mut h21, mut g1, mut g2) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
            for i in 0..values.len() {
                let z = values[i] * a + b;
                let (p, q) = if z >= 0.0 {
                    let e = (-z).exp();
                    (e / (1.0 + e), 1.0 / (1.0 + e))
                } else {
                    let e = z.exp();
                    (1.0 / (1.0 + e), e / (1.0 + e))
                };
                let (curvature, slope) = (weight(i) * p * q, weight(i) * (target(i) - p));
                h11 += values[i] * values[i] * curvature;
                h22 += curvature;
                h21 += values[i] * curvature;
                g1 += values[i] * slope;
                g2 += slope;
            }
            if g1.abs() < 1e-5 && g2.abs() < 1e-5 {
                break;
            }
            let determinant = h11 * h22 - h21 * h21;
            let (da, db) = (-(h22 * g1 - h21 * g2) / determinant, -(-h21 * g1 + h11 * g2) / determinant);
            let descent = g1 * da + g2 * db;
            let mut step = 1.0;
            while step >= 1e-10 {
                let (new_a, new_b) = (a + step * da, b + step * db);
                let new_value = loss(new_a, new_b);
                if new_value < value + 1e-4 * step * descent {
                    (a, b, value) = (new_a, new_b, new_value);
                    break;
                }
                step /= 2.0;
            }
            if step < 1e-10 {
                break;
            }
        }
        Self { a, b }
    }

    /// Probability of the first class at decision value `f`.
    pub fn probability(&self, f: f64) -> f64 {
        let z = f * self.a + self.b;
        if z >= 0.0 {
            let e = (-z).exp();
            e / (1.0 + e)
        } else {
            1.0 / (1.0 + z.exp())
        }
    }
}

/// A sigmoid per output of the machine, and what is done to the probabilities of several classes after that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// One per pair of classes (or per class for one-vs-rest).
    pub sigmoids: Vec<Sigmoid>,
    /// A power of the coupled probabilities, with or without a shift per class.
    pub sharpening: Option<Sharpening>,
    /// Log losses on rows left out of sigmoids alone, a power, and a power with shifts; where they were compared.
    pub losses: Option<[f64; 3]>,
}

impl Calibration {
    /// Sigmoids and nothing else, as LIBSVM has them.
    pub fn plain(sigmoids: Vec<Sigmoid>) -> Self {
        Self { sigmoids, sharpening: None, losses: None }
    }

    /// Class probabilities from the machine's outputs of one sample.
    pub(crate) fn probabilities(&self, raw: &[f64], classes: usize, pairwise: bool) -> Vec<f64> {
        let mut row = self.coupled(raw, classes, pairwise);
        if let Some(sharpening) = &self.sharpening {
            sharpening.apply(&mut row);
        }
        row
    }

    /// The sigmoids' answers made to one distribution.
    fn coupled(&self, raw: &[f64], classes: usize, pairwise: bool) -> Vec<f64> {
        let clip = |p: f64| p.clamp(LEAST, 1.0 - LEAST);
        if !pairwise {
            let each: Vec<f64> =
                self.sigmoids.iter().zip(raw).map(|(s, &f)| if f.is_finite() { clip(s.probability(f)) } else { LEAST }).collect();
            let total: f64 = each.iter().sum();
            return each.iter().map(|p| p / total).collect();
        }
        if classes == 2 {
            let first = self.sigmoids[0].probability(raw[0]);
            return vec![first, 1.0 - first];
        }
        let mut r = vec![0.0; classes * classes];
        for ((i, j), (sigmoid, &f)) in pairs(classes).into_iter().zip(self.sigmoids.iter().zip(raw)) {
            let p = clip(sigmoid.probability(f));
            r[i * classes + j] = p;
            r[j * classes + i] = 1.0 - p;
        }
        couple(&r, classes)
    }
}

/// Class probabilities from pairwise ones: minimises `sum over pairs (r_ji p_i - r_ij p_j)^2`, `sum p = 1` (Wu, Lin and Weng 2004,
/// algorithm 2). `r[i * k + j]` is the probability of class `i` when only `i` and `j` are possible.
pub fn couple(r: &[f64], k: usize) -> Vec<f64> {
    let mut q = vec![0.0; k * k];
    for t in 0..k {
        for j in (0..k).filter(|&j| j != t) {
            q[t * k + t] += r[j * k + t] * r[j * k + t];
            q[t * k + j] = -r[j * k + t] * r[t * k + j];
        }
    }
    let mut p = vec![1.0 / k as f64; k];
    for _ in 0..100.max(k) {
        let mut qp: Vec<f64> = (0..k).map(|t| (0..k).map(|j| q[t * k + j] * p[j]).sum()).collect();
        let mut pqp: f64 = p.iter().zip(&qp).map(|(a, b)| a * b).sum();
        if qp.iter().all(|v| (v - pqp).abs() < 0.005 / k as f64) {
            break;
        }
        for t in 0..k {
            let difference = (pqp - qp[t]) / q[t * k + t];
            p[t] += difference;
            pqp = (pqp + difference * (difference * q[t * k + t] + 2.0 * qp[t])) / (1.0 + difference) / (1.0 + difference);
            for j in 0..k {
                qp[j] = (qp[j] + difference * q[t * k + j]) / (1.0 + difference);
                p[j] /= 1.0 + difference;
            }
        }
    }
    p
}

/// Moves probabilities as little as possible so that the largest one belongs to `predicted`: it and the leader meet halfway.
///
/// A sigmoid crosses one half where the training classes balance, not where the decision changes sign, and coupling may disagree with
/// the votes; users rightly expect the most probable class to be the predicted one.
pub(crate) fn consistent(probabilities: &mut [f64], predicted: usize) {
    let leader = super::multiclass::argmax(probabilities);
    if leader == predicted {
        return;
    }
    let middle = 0.5 * (probabilities[leader] + probabilities[predicted]);
    // Every class between the two comes down to the middle as well.
    let mut freed = probabilities[predicted] - middle;
    for (class, p) in probabilities.iter_mut().enumerate() {
        if class != predicted && *p >= middle {
            let lowered = middle * (1.0 - 4.0 * f64::EPSILON);
            freed += *p - lowered;
            *p = lowered;
        }
    }
    probabilities[predicted] = middle + freed.max(0.0);
}

/// Fits sigmoids on `data` for a learner that does not calibrate itself: decision values of every sample from a model that did not see
/// it. `raw` evaluates a model.
pub(crate) fn calibrate<L: Learner>(
    learner: &L,
    data: &Dataset<'_>,
    seed: u64,
    outputs: Outputs,
    method: CalibrationMethod,
    raw: impl Fn(&L::Model, &Matrix<'_>) -> Result<Vec<f64>>,
    context: &Context<'_>,
) -> Result<Calibration> {
    let classes = data.expect_classes()?;
    // A class with a single sample cannot be left out and learnt: judge it by the model that saw it.
    let folds = folds_by_content(data, classes, seed, context)?.unwrap_or_default();
    let values = held_out_values(learner, data, &folds, outputs, raw, context)?;
    Calibration::fit(classes, data.weights.as_deref(), &values, outputs, method)
}

/// Outputs for every sample, row-major, from a model that did not see it, or from one that did where no fold could judge it. Samples that
/// weigh nothing may have none (NaN).
pub(crate) fn held_out_values<L: Learner>(
    learner: &L,
    data: &Dataset<'_>,
    folds: &[Split],
    outputs: Outputs,
    raw: impl Fn(&L::Model, &Matrix<'_>) -> Result<Vec<f64>>,
    context: &Context<'_>,
) -> Result<Vec<f64>> {
    let width = outputs.count(data.expect_classes()?.names().len());
    let mut values = vec![f64::NAN; data.len() * width];
    for (done, fold) in folds.iter().enumerate() {
        // Folds whose fits are cut short say nothing about what the model says of new rows.
        if let Some(reason) = context.step("calibrate", done, folds.len()) {
            return Err(Error::Stopped { reason });
        }
        let train = learner.training_part(data, &fold.train, context)?;
        let fit = context.beside(train.x.bytes(), "the rows that probabilities are fitted on", |context| learner.fit_in(&train, context));
        let model = match fit {
            Ok(model) => model,
            Err(error @ (Error::Stopped { .. } | Error::Memory { .. } | Error::FreeMemory { .. })) => return Err(error),
            Err(_) => continue,
        };
        let reason = model.report().stop;
        if matches!(reason, StopReason::TimeLimit | StopReason::Interrupted) {
            return Err(Error::Stopped { reason });
        }
        let judged = raw(&model, &learner.test_part(data, &fold.train, &fold.test))?;
        for (row, judged) in fold.test.iter().zip(judged.chunks_exact(width)) {
            values[row * width..(row + 1) * width].copy_from_slice(judged);
        }
    }
    let weighs = |row: usize| data.weights.as_ref().is_none_or(|weights| weights[row] > 0.0);
    if values.iter().enumerate().any(|(i, v)| v.is_nan() && weighs(i / width)) {
        let judged = raw(&learner.fit_in(data, context)?, &data.x)?;
        values.iter_mut().zip(judged).filter(|(v, _)| v.is_nan()).for_each(|(v, judged)| *v = judged);
    }
    Ok(values)
}

/// Stratified folds that depend on what rows hold, not on their order or number: equal rows of a class share a fold, rows that weigh
/// nothing have none. So a weight of 2 means the same as having the row twice. `None` if a class has a single distinct row.
///
/// Tables of few distinct rows (crossed categories) are an exception: leaving out all rows of one kind would judge them by models that
/// never saw their like, and the sigmoid may turn around. Their equal rows are spread over the folds.
fn folds_by_content(data: &Dataset<'_>, classes: &Categories, seed: u64, context: &Context<'_>) -> Result<Option<Vec<Split>>> {
    let mut meter = context.meter("calibrate");
    let weighs = |row: usize| data.weights.as_ref().is_none_or(|weights| weights[row] > 0.0);
    let mut keys: Vec<(u32, u64, usize)> = (0..data.len())
        .filter(|&row| weighs(row))
        .map(|row| Ok((classes.codes()[row], content_key(&data.x, row, seed, &mut meter)?, row)))
        .collect::<Result<_>>()?;
    keys.sort_unstable();
    let kinds = 1 + keys.windows(2).filter(|pair| (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1)).count();
    let crowded = crowded(keys.len(), kinds);
    let mut fold_of = vec![None; data.len()];
    let (mut next, mut distinct) = (0, vec![0; classes.names().len()]);
    for (place, &(class, key, row)) in keys.iter().enumerate() {
        if place == 0 || (keys[place - 1].0, keys[place - 1].1) != (class, key) {
            next += 1;
            distinct[class as usize] += 1;
        }
        fold_of[row] = Some(if crowded { place } else { next - 1 } % FOLDS);
    }
    if distinct.contains(&1) && !crowded {
        return Ok(None);
    }
    let part = |fold: usize, inside: bool| (0..data.len()).filter(|&row| fold_of[row].is_some_and(|f| (f == fold) == inside)).collect();
    let folds = if crowded { FOLDS } else { FOLDS.min(next) };
    Ok(Some((0..folds).map(|fold| Split { train: part(fold, false), test: part(fold, true) }).collect()))
}

/// Whether so many rows of so few kinds are spread over folds one by one.
pub(crate) fn crowded(rows: usize, kinds: usize) -> bool {
    rows > CROWD * kinds
}

/// A number that stands for a row's values, the same for dense and sparse rows. Tables have many rows: between them somebody may stop.
pub(crate) fn content_key(x: &Matrix<'_>, row: usize, seed: u64, meter: &mut Meter<'_>) -> Result<u64> {
    // Two rounds of mixing per value.
    meter.spend(16 * x.stored(row))?;
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut mix = |word: u64| {
        // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
        state = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    };
    x.for_each(row, |column, value| {
        if value != 0.0 {
            mix(column as u64);
            mix(value.to_bits());
        }
    });
    Ok(state)
}

/// One sigmoid per output from outputs of samples (or sets) with known classes.
pub(crate) fn fit_sigmoids(classes: &Categories, weights: Option<&[f64]>, values: &[f64], outputs: Outputs) -> Vec<Sigmoid> {
    let (codes, count) = (classes.codes(), classes.names().len());
    let width = outputs.count(count);
    // Sigmoids speak of the first class of a pair.
    let sign = if outputs == Outputs::Second { -1.0 } else { 1.0 };
    let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
    let fit = |output: usize, side: &dyn Fn(usize) -> Option<bool>| {
        let rows: Vec<usize> = (0..codes.len()).filter(|&row| side(codes[row] as usize).is_some() && weight(row) > 0.0).collect();
        let f: Vec<f64> = rows.iter().map(|&row| sign * values[row * width + output]).collect();
        let positive: Vec<bool> = rows.iter().map(|&row| side(codes[row] as usize) == Some(true)).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| weight(row)).collect();
        Sigmoid::fit(&f, &positive, Some(&weights))
    };
    if outputs == Outputs::Classes {
        return (0..count).map(|class| fit(class, &|code| Some(code == class))).collect();
    }
    let pair_side = |i: usize, j: usize, code: usize| {
        if code == i {
            Some(true)
        } else if code == j {
            Some(false)
        } else {
            None
        }
    };
    pairs(count).into_iter().enumerate().map(|(p, (i, j))| fit(p, &|code| pair_side(i, j, code))).collect()
}
