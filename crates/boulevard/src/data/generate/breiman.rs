//! Breiman's artificial sets (Bias, variance, and arcing classifiers, 1996): twonorm, ringnorm and waveform.

use super::{Stream, balanced_codes, two_classes};
use crate::data::Dataset;

const NORM_COLUMNS: usize = 20;
const WAVE_COLUMNS: usize = 21;

/// Two Gaussians with unit covariance in 20 dimensions: class `1` around `(a, ..., a)`, class `-1` around `(-a, ..., -a)`,
/// `a = 2 / sqrt(20)`.
pub fn twonorm(n: usize, seed: u64) -> Dataset<'static> {
    let a = 2.0 / (NORM_COLUMNS as f64).sqrt();
    norms(n, seed, Stream::Twonorm, |positive| if positive { (a, 1.0) } else { (-a, 1.0) })
}

/// A Gaussian inside another in 20 dimensions: class `1` is `N(0, 4 I)`, class `-1` is `N((a, ..., a), I)`, `a = 2 / sqrt(20)`.
pub fn ringnorm(n: usize, seed: u64) -> Dataset<'static> {
    let a = 2.0 / (NORM_COLUMNS as f64).sqrt();
    norms(n, seed, Stream::Ringnorm, |positive| if positive { (0.0, 2.0) } else { (a, 1.0) })
}

/// Gaussians with the same mean and standard deviation in every column, given per class.
fn norms(n: usize, seed: u64, stream: Stream, shape: impl Fn(bool) -> (f64, f64)) -> Dataset<'static> {
    let mut random = stream.open(seed);
    let codes = balanced_codes(n, 2, &mut random);
    let mut values = Vec::with_capacity(n * NORM_COLUMNS);
    for &code in &codes {
        let (mean, deviation) = shape(code == 1);
        values.extend((0..NORM_COLUMNS).map(|_| mean + deviation * random.normal()));
    }
    two_classes(values, NORM_COLUMNS, codes)
}

/// Random mixtures `u h + (1 - u) h'` of two of three triangular waves at positions 1 to 21, plus unit noise, `u` uniform:
///
/// `h1(i) = max(6 - |i - 11|, 0)`, `h2(i) = h1(i - 4)`, `h3(i) = h1(i + 4)`.
///
/// Class `1` is the first of Breiman's three classes (h1 with h2), class `-1` the other two together (h1 with h3, h2 with h3), as in
/// the IDA benchmark collection. Each of the three makes up a third of the rows.
pub fn waveform(n: usize, seed: u64) -> Dataset<'static> {
    let mut random = Stream::Waveform.open(seed);
    let kinds = balanced_codes(n, 3, &mut random);
    let wave = |center: f64, i: usize| (6.0 - (i as f64 - center).abs()).max(0.0);
    let mut values = Vec::with_capacity(n * WAVE_COLUMNS);
    for &kind in &kinds {
        let (first, second) = [(11.0, 15.0), (11.0, 7.0), (15.0, 7.0)][kind as usize];
        let share = random.uniform();
        values.extend((1..=WAVE_COLUMNS).map(|i| share * wave(first, i) + (1.0 - share) * wave(second, i) + random.normal()));
    }
    two_classes(values, WAVE_COLUMNS, kinds.into_iter().map(|kind| u32::from(kind == 0)).collect())
}
