//! Problems with knobs: clustered classes, Friedman's regression function, and correlated labels.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use super::{Stream, balanced_codes, table};
use crate::check;
use crate::data::{Categories, Dataset, LabelMatrix, Target};
use crate::error::{Error, Result};
use crate::random::Random;

/// The shape of a [`classification`] problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// All columns: informative, redundant, then pure noise.
    pub columns: usize,
    /// Columns that carry the class.
    pub informative: usize,
    /// Columns that are random sums of the informative ones.
    pub redundant: usize,
    /// Number of classes.
    pub classes: usize,
    /// Gaussian clusters per class.
    pub clusters_per_class: usize,
    /// Half the side of the cube whose corners are the cluster centers.
    pub separation: f64,
    /// Share of rows that get a class drawn at random.
    pub label_noise: f64,
}

impl Default for Clusters {
    fn default() -> Self {
        Self { columns: 20, informative: 4, redundant: 2, classes: 2, clusters_per_class: 2, separation: 1.5, label_noise: 0.01 }
    }
}

impl Clusters {
    fn validate(&self) -> Result<()> {
        check::at_least("Clusters", "informative", self.informative, 1)?;
        check::at_least("Clusters", "classes", self.classes, 2)?;
        check::at_least("Clusters", "clusters_per_class", self.clusters_per_class, 1)?;
        check::not_negative("Clusters", "separation", self.separation)?;
        if !(0.0..=1.0).contains(&self.label_noise) {
            return Err(check::complaint("Clusters", "label_noise", "from 0 to 1", self.label_noise));
        }
        if self.informative.saturating_add(self.redundant) > self.columns {
            let least = self.informative.saturating_add(self.redundant);
            return Err(check::complaint("Clusters", "columns", format!("at least {least} (informative + redundant)"), self.columns));
        }
        let clusters = self.classes.saturating_mul(self.clusters_per_class);
        if self.informative < 63 && clusters > 1 << self.informative {
            let corners = 1u64 << self.informative;
            return Err(Error::data(format!(
                "{clusters} clusters need as many corners, but a cube of {} informative columns has {corners}",
                self.informative
            )));
        }
        Ok(())
    }
}

/// Classes made of Gaussian clusters at random corners of a cube, in the manner of Guyon's Madelon problem.
///
/// Each cluster has a covariance of its own (a random square matrix times standard normal numbers). Informative columns come first,
/// then redundant ones, then noise. Two classes are named `-1` and `1`, more are named `0`, `1`, ...
pub fn classification(n: usize, seed: u64, shape: &Clusters) -> Result<Dataset<'static>> {
    shape.validate()?;
    let mut random = Stream::Classification.open(seed);
    let informative = shape.informative;
    let clusters = shape.classes * shape.clusters_per_class;
    let centers = corners(clusters, informative, &mut random);
    let spreads: Vec<Vec<f64>> = (0..clusters).map(|_| signed_uniforms(informative * informative, &mut random)).collect();
    let sums = signed_uniforms(informative * shape.redundant, &mut random);

    let kinds = balanced_codes(n, clusters, &mut random);
    let (mut values, mut codes) = (Vec::with_capacity(n * shape.columns), Vec::with_capacity(n));
    for kind in kinds.into_iter().map(|kind| kind as usize) {
        let raw: Vec<f64> = (0..informative).map(|_| random.normal()).collect();
        let spread = spreads[kind].chunks_exact(informative);
        let row: Vec<f64> = spread.zip(&centers[kind]).map(|(mix, &sign)| shape.separation * sign + dot(mix, &raw)).collect();
        values.extend_from_slice(&row);
        values.extend(sums.chunks_exact(informative).map(|mix| dot(mix, &row)));
        values.extend((informative + shape.redundant..shape.columns).map(|_| random.normal()));
        // Both numbers are drawn for every row: changing the share of noise then changes no other value.
        let (chance, other) = (random.uniform(), random.below(shape.classes));
        codes.push(if chance < shape.label_noise { other } else { kind % shape.classes } as u32);
    }
    let names = match shape.classes {
        2 => vec!["-1".to_owned(), "1".to_owned()],
        more => (0..more).map(|class| class.to_string()).collect(),
    };
    Ok(Dataset::classes(table(values, n, shape.columns), Categories::new(codes, names)?))
}

/// Distinct corners of the cube `{-1, 1}^columns`.
fn corners(count: usize, columns: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut seen = BTreeSet::new();
    let mut corners = Vec::with_capacity(count);
    while corners.len() < count {
        let corner: Vec<bool> = (0..columns).map(|_| random.bits() >> 63 == 1).collect();
        if seen.insert(corner.clone()) {
            corners.push(corner.into_iter().map(|up| if up { 1.0 } else { -1.0 }).collect());
        }
    }
    corners
}

fn signed_uniforms(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| 2.0 * random.uniform() - 1.0).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Friedman's first function (Multivariate adaptive regression splines, 1991) of columns uniform on `[0, 1)`:
///
/// `y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise N(0, 1)`, with `irrelevant` more columns that do not enter.
pub fn regression(n: usize, seed: u64, irrelevant: usize, noise: f64) -> Dataset<'static> {
    let mut random = Stream::Regression.open(seed);
    let columns = 5 + irrelevant;
    let (mut values, mut targets) = (Vec::with_capacity(n * columns), Vec::with_capacity(n));
    for _ in 0..n {
        let row: Vec<f64> = (0..columns).map(|_| random.uniform()).collect();
        let signal = 10.0 * (PI * row[0] * row[1]).sin() + 20.0 * (row[2] - 0.5).powi(2) + 10.0 * row[3] + 5.0 * row[4];
        targets.push(signal + noise * random.normal());
        values.extend(row);
    }
    Dataset::regression(table(values, n, columns), targets)
}

/// The shape of a [`multilabel`] problem.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelShape {
    /// Feature columns, standard normal.
    pub features: usize,
    /// Number of labels.
    pub labels: usize,
    /// Share of rows that carry the first, most frequent label.
    pub frequency: f64,
    /// Each further label's share relative to the one before; small values make rare labels.
    pub decay: f64,
    /// How much of every label's direction is common to all, from 0 (independent) to 1 (nested labels).
    pub correlation: f64,
    /// Standard deviation of the noise on every label's score.
    pub noise: f64,
}

impl Default for LabelShape {
    fn default() -> Self {
        Self { features: 10, labels: 5, frequency: 0.4, decay: 0.7, correlation: 0.3, noise: 0.2 }
    }
}

impl LabelShape {
    fn validate(&self) -> Result<()> {
        check::at_least("LabelShape", "features", self.features, 1)?;
        check::at_least("LabelShape", "labels", self.labels, 1)?;
        check::in_range("LabelShape", "frequency", self.frequency, 0.0, 1.0)?;
        check::in_range("LabelShape", "decay", self.decay, 0.0, 1.0)?;
        check::not_negative("LabelShape", "noise", self.noise)?;
        if !(0.0..=1.0).contains(&self.correlation) {
            return Err(check::complaint("LabelShape", "correlation", "from 0 to 1", self.correlation));
        }
        Ok(())
    }
}

/// Correlated labels from frequent to rare.
///
/// Label l has the score `w_l'x + (v_l'x)^2 / 2 + noise`, with unit vectors `w_l` (partly common to all labels) and `v_l`: curved, so
/// that a kernel pays. The rows with the largest scores carry the label, exactly `round(n frequency decay^l)` of them.
pub fn multilabel(n: usize, seed: u64, shape: &LabelShape) -> Result<Dataset<'static>> {
    shape.validate()?;
    let mut random = Stream::Multilabel.open(seed);
    let unit = |random: &mut Random| {
        let vector: Vec<f64> = (0..shape.features).map(|_| random.normal()).collect();
        normalized(vector)
    };
    let common = unit(&mut random);
    let (shared, own) = (shape.correlation.sqrt(), (1.0 - shape.correlation).sqrt());
    let directions: Vec<(Vec<f64>, Vec<f64>)> = (0..shape.labels)
        .map(|_| {
            let mixed = unit(&mut random).into_iter().zip(&common).map(|(own_part, common)| own * own_part + shared * common);
            (normalized(mixed.collect()), unit(&mut random))
        })
        .collect();

    let values: Vec<f64> = (0..n * shape.features).map(|_| random.normal()).collect();
    let mut on = vec![false; n * shape.labels];
    for (label, (linear, curved)) in directions.iter().enumerate() {
        let rows = values.chunks_exact(shape.features);
        let scores: Vec<f64> = rows.map(|row| dot(linear, row) + dot(curved, row).powi(2) / 2.0 + shape.noise * random.normal()).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let count = (n as f64 * shape.frequency * shape.decay.powf(label as f64)).round() as usize;
        order[..count.min(n)].iter().for_each(|&row| on[row * shape.labels + label] = true);
    }
    let names = (1..=shape.labels).map(|label| format!("label{label}")).collect();
    Ok(Dataset::new(table(values, n, shape.features), Target::Labels(LabelMatrix::new(on, names)?)))
}

fn normalized(vector: Vec<f64>) -> Vec<f64> {
    let length = dot(&vector, &vector).sqrt().max(f64::MIN_POSITIVE);
    vector.into_iter().map(|v| v / length).collect()
}
