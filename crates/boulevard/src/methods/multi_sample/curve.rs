//! Error against the number of samples per decision.

use serde::{Deserialize, Serialize};

use super::model::MultiSampleModel;
use super::tuples::Tuples;
use crate::check;
use crate::data::Dataset;
use crate::data::Sets;
use crate::error::Result;
use crate::observe::Context;

/// The error at one size of sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Samples per decision.
    pub size: usize,
    /// Mean share of sets judged wrongly.
    pub error: f64,
    /// Standard deviation over repeats.
    pub deviation: f64,
    /// Sets judged in all.
    pub sets: usize,
}

impl MultiSampleModel {
    /// Errors on new labeled data for sets of every size in `sizes`: each of `repeats` repeats cuts the rows of every class, in random
    /// order, into sets that share no row. Sizes for which no class has enough rows are left out.
    pub fn error_by_size(
        &self,
        data: &Dataset<'_>,
        sizes: &[usize],
        repeats: usize,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Vec<CurvePoint>> {
        check::at_least("error_by_size", "repeats", repeats, 1)?;
        data.validate()?;
        let classes = data.expect_classes()?;
        let counts = classes.counts();
        let mut curve = Vec::new();
        for (done, &size) in sizes.iter().enumerate() {
            check::at_least("error_by_size", "sizes", size, 1)?;
            if context.step("error by size", done, sizes.len()).is_some() {
                break;
            }
            let rows: Vec<usize> = (0..data.len()).filter(|&row| counts[classes.codes()[row] as usize] >= size).collect();
            if rows.is_empty() {
                continue;
            }
            let codes: Vec<u32> = rows.iter().map(|&row| classes.codes()[row]).collect();
            let (mut errors, mut judged) = (Vec::with_capacity(repeats), 0);
            for repeat in 0..repeats as u64 {
                let tuples = Tuples::draw(&rows, &codes, counts.len(), size, Some(1), seed.wrapping_add(repeat));
                let sets: Vec<Vec<usize>> =
                    tuples.members.chunks_exact(size).map(|set| set.iter().map(|&row| row as usize).collect()).collect();
                let predicted = self.predict_sets(&data.x, &Sets::new(&sets)?, context)?;
                let wrong = predicted.codes().iter().zip(&tuples.codes).filter(|(a, b)| a != b).count();
                errors.push(wrong as f64 / sets.len() as f64);
                judged += sets.len();
            }
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let square: f64 = errors.iter().map(|error| (error - mean) * (error - mean)).sum();
            curve.push(CurvePoint { size, error: mean, deviation: (square / (errors.len() - 1).max(1) as f64).sqrt(), sets: judged });
        }
        Ok(curve)
    }
}

/// The smallest size on a curve whose error is at most `target`.
pub fn samples_until(curve: &[CurvePoint], target: f64) -> Option<usize> {
    curve.iter().filter(|point| point.error <= target).map(|point| point.size).min()
}
