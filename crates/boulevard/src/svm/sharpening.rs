//! Probabilities of many classes made sharper: a power of the coupled ones, with or without a shift per class.
//!
//! With many classes and few rows, sigmoids of pairs are fitted on a handful of rows each and kept away from 0 and 1; coupled, they say
//! 0.6 where 0.95 is true. With `p` the coupled probabilities of a row, one number mends that (temperature scaling, Guo et al. 2017, here
//! of `ln p`), and one more per class what classes have in common (vector scaling):
//! ```text
//! q_k  proportional to  exp(power ln p_k + shift_k),
//! min  sum over rows of -w ln q_class  +  (power - 1)^2 / (2 spread^2)  +  sum shift_k^2
//! ```
//! Both are convex and fitted by Newton's method on decisions about rows that were left out. Which of the three is used is decided by
//! their log loss on rows that were left out of this fit too.

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::classifier::Outputs;
use crate::data::Categories;
use crate::error::{Error, Result};
use crate::linalg;

/// How outputs become probabilities of more than two classes; two classes always have one sigmoid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum CalibrationMethod {
    /// The one with the lowest log loss on rows left out
    #[default]
    Auto,
    /// A sigmoid per output, coupled: as LIBSVM does
    Sigmoid,
    /// The same, then a power for all classes
    Temperature,
    /// The same, then a power for all classes and a factor for each
    Vector,
}

impl CalibrationMethod {
    /// Those that are fitted, in the order of [`Calibration::losses`].
    pub const FITTED: [Self; 3] = [Self::Sigmoid, Self::Temperature, Self::Vector];

    /// Its name, as in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Sigmoid => "sigmoid",
            Self::Temperature => "temperature",
            Self::Vector => "vector",
        }
    }
}

/// A power of probabilities, and shifts of their logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharpening {
    /// The power: above 1 it makes probabilities sharper. One over the temperature.
    pub power: f64,
    /// One per class, or none.
    pub shifts: Vec<f64>,
}

/// Parts of the rows for the choice.
const PARTS: usize = 5;
/// Fewest kinds of rows for which a choice means something.
const FEWEST: usize = 10;
/// How far from 1 a power may be before the data have to say so.
const SPREAD: f64 = 3.0;
/// Least power: probabilities never turn around.
const LEAST_POWER: f64 = 0.05;
/// Logarithms of probabilities are cut here.
const FLOOR: f64 = 1e-12;
/// How much lower a log loss must be, relative to that of the simpler way.
const WORTH: f64 = 1e-3;

impl Sharpening {
    /// Sharpens one row of probabilities.
    pub(crate) fn apply(&self, row: &mut [f64]) {
        let shift = |class: usize| self.shifts.get(class).copied().unwrap_or(0.0);
        row.iter_mut().enumerate().for_each(|(class, p)| *p = self.power * p.max(FLOOR).ln() + shift(class));
        softmax(row);
    }

    /// Fits on rows of logarithms of probabilities; a row is its place, its class and its weight.
    fn fit(logs: &[f64], classes: usize, rows: &[(usize, usize, f64)], with_shifts: bool) -> Self {
        let size = if with_shifts { 1 + classes } else { 1 };
        let mut at = vec![0.0; size];
        at[0] = 1.0;
        let mut value = objective(logs, classes, rows, &at, None);
        for _ in 0..50 {
            let (mut slope, mut curvature) = (vec![0.0; size], vec![0.0; size * size]);
            objective(logs, classes, rows, &at, Some((&mut slope, &mut curvature)));
            if slope.iter().all(|g| g.abs() < 1e-7) || !linalg::cholesky(&mut curvature, size) {
                break;
            }
            let mut step: Vec<f64> = slope.iter().map(|g| -g).collect();
            solve(&curvature, size, &mut step);
            let descent: f64 = step.iter().zip(&slope).map(|(d, g)| d * g).sum();
            let mut length = 1.0;
            let moved = loop {
                let next: Vec<f64> = at.iter().zip(&step).map(|(a, d)| a + length * d).collect();
                let there = objective(logs, classes, rows, &next, None);
                if there < value + 1e-4 * length * descent {
                    break Some((next, there));
                }
                length /= 2.0;
                if length < 1e-8 {
                    break None;
                }
            };
            let Some((next, there)) = moved else { break };
            (at, value) = (next, there);
        }
        Self { power: at[0].max(LEAST_POWER), shifts: at[1..].to_vec() }
    }
}

/// Exponentials that sum to one.
fn softmax(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|z| *z = (*z - most).exp());
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|z| *z /= total);
}

/// The objective at `at` (power, then shifts); its slope and the lower half of its curvature are added where asked for.
fn objective(
    logs: &[f64],
    classes: usize,
    rows: &[(usize, usize, f64)],
    at: &[f64],
    mut derivatives: Option<(&mut [f64], &mut [f64])>,
) -> f64 {
    let (power, shifts, size) = (at[0], &at[1..], at.len());
    let mut value = 0.5 * ((power - 1.0) / SPREAD).powi(2) + shifts.iter().map(|b| b * b).sum::<f64>();
    if let Some((slope, curvature)) = &mut derivatives {
        slope[0] += (power - 1.0) / (SPREAD * SPREAD);
        curvature[0] += 1.0 / (SPREAD * SPREAD);
        for k in 1..size {
            slope[k] += 2.0 * shifts[k - 1];
            curvature[k * size + k] += 2.0;
        }
    }
    let mut q = vec![0.0; classes];
    for &(row, class, weight) in rows {
        let l = &logs[row * classes..(row + 1) * classes];
        q.iter_mut().enumerate().for_each(|(k, z)| *z = power * l[k] + shifts.get(k).copied().unwrap_or(0.0));
        softmax(&mut q);
        value -= weight * q[class].max(f64::MIN_POSITIVE).ln();
        let Some((slope, curvature)) = &mut derivatives else { continue };
        let mean: f64 = q.iter().zip(l).map(|(q, l)| q * l).sum();
        slope[0] += weight * (mean - l[class]);
        curvature[0] += weight * q.iter().zip(l).map(|(q, l)| q * (l - mean) * (l - mean)).sum::<f64>();
        if size == 1 {
            continue;
        }
        for k in 0..classes {
            slope[1 + k] += weight * (q[k] - f64::from(u8::from(k == class)));
            curvature[(1 + k) * size] += weight * q[k] * (l[k] - mean);
            for j in 0..=k {
                let own = if j == k { q[k] } else { 0.0 };
                curvature[(1 + k) * size + 1 + j] += weight * (own - q[k] * q[j]);
            }
        }
    }
    value
}

/// Solves with a Cholesky factor in the lower half.
fn solve(factor: &[f64], size: usize, x: &mut [f64]) {
    for i in 0..size {
        let sum: f64 = (0..i).map(|j| factor[i * size + j] * x[j]).sum();
        x[i] = (x[i] - sum) / factor[i * size + i];
    }
    for i in (0..size).rev() {
        let sum: f64 = (i + 1..size).map(|j| factor[j * size + i] * x[j]).sum();
        x[i] = (x[i] - sum) / factor[i * size + i];
    }
}

impl Calibration {
    /// Fits sigmoids and what `method` puts on top of them, from outputs about rows that were left out (row-major).
    pub(crate) fn fit(
        classes: &Categories,
        weights: Option<&[f64]>,
        values: &[f64],
        outputs: Outputs,
        method: CalibrationMethod,
    ) -> Result<Self> {
        let sigmoids = super::calibration::fit_sigmoids(classes, weights, values, outputs);
        let mut calibration = Self { sigmoids, sharpening: None, losses: None };
        let count = classes.names().len();
        if count < 3 || method == CalibrationMethod::Sigmoid {
            return Ok(calibration);
        }
        let width = outputs.count(count);
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let mut rows: Vec<(usize, usize, f64)> =
            (0..classes.len()).filter(|&row| weight(row) > 0.0).map(|row| (row, classes.codes()[row] as usize, weight(row))).collect();
        let mut logs = Vec::with_capacity(classes.len() * count);
        for output in values.chunks_exact(width) {
            let base = calibration.probabilities(output, count, outputs != Outputs::Classes);
            logs.extend(base.iter().map(|p| p.max(FLOOR).ln()));
        }
        if let Some(place) = logs.iter().enumerate().position(|(i, l)| l.is_nan() && weight(i / count) > 0.0) {
            return Err(Error::data(format!("the probabilities of row {} are not numbers", place / count)));
        }
        // By class and outputs: parts do not depend on the order of rows, and rows that are the same share one, so that a weight of 2 is
        // having the row twice.
        let key = |row: usize| &values[row * width..(row + 1) * width];
        let order = |a: usize, b: usize| key(a).iter().zip(key(b)).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
        rows.sort_by(|a, b| a.1.cmp(&b.1).then(order(a.0, b.0).unwrap_or(std::cmp::Ordering::Equal)).then(a.0.cmp(&b.0)));
        let mut part = vec![0; rows.len()];
        let mut kinds = 1;
        for i in 1..rows.len() {
            let same = rows[i].1 == rows[i - 1].1 && order(rows[i].0, rows[i - 1].0).is_none();
            kinds += usize::from(!same);
            part[i] = (kinds - 1) % PARTS;
        }
        let chosen = match method {
            CalibrationMethod::Auto if kinds < FEWEST.max(2 * count) => CalibrationMethod::Sigmoid,
            CalibrationMethod::Auto => {
                let losses = held_out_losses(&logs, count, &rows, &part);
                calibration.losses = Some(losses);
                let mut best = 0;
                for i in 1..losses.len() {
                    if losses[i] < losses[best] * (1.0 - WORTH) {
                        best = i;
                    }
                }
                CalibrationMethod::FITTED[best]
            }
            given => given,
        };
        if chosen != CalibrationMethod::Sigmoid {
            calibration.sharpening = Some(Sharpening::fit(&logs, count, &rows, chosen == CalibrationMethod::Vector));
        }
        Ok(calibration)
    }

    /// What was put on top of the sigmoids, if anything.
    pub fn method(&self) -> CalibrationMethod {
        match &self.sharpening {
            None => CalibrationMethod::Sigmoid,
            Some(sharpening) if sharpening.shifts.is_empty() => CalibrationMethod::Temperature,
            Some(_) => CalibrationMethod::Vector,
        }
    }
}

/// Mean log losses of [`CalibrationMethod::FITTED`], each row judged by what was fitted without its part.
fn held_out_losses(logs: &[f64], classes: usize, rows: &[(usize, usize, f64)], part: &[usize]) -> [f64; 3] {
    let total: f64 = rows.iter().map(|(.., weight)| weight).sum();
    let mut losses = [0.0; 3];
    for left_out in 0..PARTS {
        let pick = |inside: bool| -> Vec<(usize, usize, f64)> {
            rows.iter().zip(part).filter(|(_, p)| (**p == left_out) == inside).map(|(row, _)| *row).collect()
        };
        let (train, test) = (pick(false), pick(true));
        let plain = Sharpening { power: 1.0, shifts: Vec::new() };
        let candidates = [plain, Sharpening::fit(logs, classes, &train, false), Sharpening::fit(logs, classes, &train, true)];
        for (loss, candidate) in losses.iter_mut().zip(&candidates) {
            for &(row, class, weight) in &test {
                let mut q: Vec<f64> = logs[row * classes..(row + 1) * classes].iter().map(|l| l.exp()).collect();
                candidate.apply(&mut q);
                *loss -= weight * q[class].max(1e-15).ln() / total;
            }
        }
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outputs of six one-vs-rest machines that are right nine times in ten; their sigmoids are too cautious.
    fn outputs() -> (Categories, Vec<f64>) {
        let (mut codes, mut values) = (Vec::new(), Vec::new());
        for row in 0..120u32 {
            let class = row % 6;
            let said = if row % 10 == 3 { (class + 1) % 6 } else { class };
            codes.push(class);
            values.extend((0..6).map(|k| (if k == said { 1.0 } else { -1.0 }) + 0.01 * f64::from((row * (k + 3)) % 17)));
        }
        let names = (0..6).map(|k| k.to_string()).collect();
        (Categories::new(codes, names).unwrap(), values)
    }

    #[test]
    fn the_lowest_loss_on_rows_left_out_is_chosen() {
        let (classes, values) = outputs();
        let fit = |method| Calibration::fit(&classes, None, &values, Outputs::Classes, method).unwrap();
        let auto = fit(CalibrationMethod::Auto);
        let losses = auto.losses.unwrap();
        let best = CalibrationMethod::FITTED.iter().zip(losses).find(|(method, _)| **method == auto.method()).unwrap().1;
        assert!(losses.iter().all(|&loss| best <= loss * (1.0 + 2.0 * WORTH)), "{losses:?}, chosen {best}");
        for method in CalibrationMethod::FITTED {
            assert_eq!(fit(method).method(), method);
            assert!(fit(method).losses.is_none(), "nothing is compared where a method is given");
        }
        // Probabilities stay probabilities, and a power keeps their order.
        let (plain, sharp) = (fit(CalibrationMethod::Sigmoid), fit(CalibrationMethod::Temperature));
        for row in values.chunks_exact(6) {
            let (p, q) = (plain.probabilities(row, 6, false), sharp.probabilities(row, 6, false));
            assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!((0..6).all(|a| (0..6).all(|b| p[a] <= p[b] || q[a] >= q[b])));
        }
    }

    #[test]
    fn a_weight_of_two_is_the_row_twice_in_any_order() {
        let (classes, values) = outputs();
        let weights: Vec<f64> = (0..120).map(|row| f64::from(u8::from(row % 3 == 0)) + 1.0).collect();
        let rows: Vec<usize> = (0..120).rev().flat_map(|row| vec![row; weights[row] as usize]).collect();
        let codes = rows.iter().map(|&row| classes.codes()[row]).collect();
        let twice = Categories::new(codes, classes.names().to_vec()).unwrap();
        let repeated: Vec<f64> = rows.iter().flat_map(|&row| values[row * 6..(row + 1) * 6].to_vec()).collect();
        let a = Calibration::fit(&classes, Some(&weights), &values, Outputs::Classes, CalibrationMethod::Auto).unwrap();
        let b = Calibration::fit(&twice, None, &repeated, Outputs::Classes, CalibrationMethod::Auto).unwrap();
        assert_eq!(a.method(), b.method());
        for (a, b) in a.losses.unwrap().iter().zip(b.losses.unwrap()) {
            assert!((a - b).abs() < 1e-9, "{a} and {b}");
        }
    }
}
