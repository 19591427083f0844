//! A target as two-class problems, one per label: binary relevance. No label looks at another.

use super::model::Kind;
use crate::check;
use crate::data::{Categories, Dataset, LabelMatrix, Matrix, Target};
use crate::error::{Error, Result};
use crate::svm::{ClassWeight, class_factors, two_classes};

/// The two-class problems of a data set, on its rows with weight.
pub(super) struct Problems {
    pub(super) kind: Kind,
    /// Class or label names.
    pub(super) names: Vec<String>,
    /// Rows of the data that have weight.
    pub(super) rows: Vec<usize>,
    /// Rows of the data in all.
    pub(super) all_rows: usize,
    /// Their weights.
    pub(super) weights: Vec<f64>,
    /// By label: +1 and -1. Two classes are one label, positive for the second.
    pub(super) signs: Vec<Vec<f64>>,
    /// By label: factors of C.
    pub(super) factors: Vec<Vec<f64>>,
    /// By label: what it always is, where it never changes.
    pub(super) constant: Vec<Option<bool>>,
}

impl Problems {
    pub(super) fn new(data: &Dataset<'_>, class_weight: &ClassWeight) -> Result<Self> {
        let all = data.weights_or_ones();
        let rows: Vec<usize> = (0..data.len()).filter(|&row| all[row] > 0.0).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| all[row]).collect();
        let (kind, names, signs, factors) = match &data.target {
            Target::Classes(classes) => of_classes(&classes.select(&rows), &weights, class_weight)?,
            Target::Labels(labels) => of_labels(&labels.select(&rows), &weights, class_weight)?,
            other => return Err(Error::data(format!("BoostedSvc needs classes or a label matrix as target, found {}", other.kind()))),
        };
        let constant = constants(&signs);
        Ok(Self { kind, names, rows, all_rows: data.len(), weights, signs, factors, constant })
    }

    /// Weight of the carriers of a label, or of the others if they are fewer.
    pub(super) fn smaller_side(&self, label: usize) -> f64 {
        let carriers: f64 = self.signs[label].iter().zip(&self.weights).filter(|(y, _)| **y > 0.0).map(|(_, w)| w).sum();
        carriers.min(self.weights.iter().sum::<f64>() - carriers)
    }

    /// The same problems on some of the rows.
    pub(super) fn part(&self, chosen: &[usize]) -> Self {
        let of = |values: &[f64]| chosen.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        let signs: Vec<Vec<f64>> = self.signs.iter().map(|signs| of(signs)).collect();
        Self {
            kind: self.kind,
            names: self.names.clone(),
            rows: chosen.iter().map(|&row| self.rows[row]).collect(),
            all_rows: self.all_rows,
            weights: of(&self.weights),
            factors: self.factors.iter().map(|factors| of(factors)).collect(),
            constant: constants(&signs),
            signs,
        }
    }

    /// The table of the rows with weight, where that is not all of them.
    pub(super) fn table(&self, data: &Dataset<'_>) -> Option<Matrix<'static>> {
        if self.rows.len() == data.len() { None } else { Some(data.x.select(&self.rows)) }
    }

    /// Whether some of these rows are positive and some negative.
    pub(super) fn both_signs(&self, label: usize, rows: &[usize]) -> bool {
        let signs = &self.signs[label];
        rows.iter().any(|&row| signs[row] > 0.0) && rows.iter().any(|&row| signs[row] < 0.0)
    }

    /// Whether every row has a label.
    pub(super) fn every_row_labeled(&self) -> bool {
        (0..self.rows.len()).all(|row| self.signs.iter().any(|signs| signs[row] > 0.0))
    }
}

/// By label: what it always is, where it never changes.
fn constants(signs: &[Vec<f64>]) -> Vec<Option<bool>> {
    let one = |signs: &Vec<f64>| match (signs.contains(&1.0), signs.contains(&-1.0)) {
        (true, true) => None,
        (positive, _) => Some(positive),
    };
    signs.iter().map(one).collect()
}

type Parts = (Kind, Vec<String>, Vec<Vec<f64>>, Vec<Vec<f64>>);

fn sign(on: bool) -> f64 {
    if on { 1.0 } else { -1.0 }
}

fn of_classes(classes: &Categories, weights: &[f64], class_weight: &ClassWeight) -> Result<Parts> {
    let names = classes.names().to_vec();
    let mut totals = vec![0.0; names.len()];
    classes.codes().iter().zip(weights).for_each(|(&code, weight)| totals[code as usize] += weight);
    two_classes(&names, &totals)?;
    let by_class = class_factors(class_weight, classes, &totals, "BoostedSvc")?;
    let factors: Vec<f64> = classes.codes().iter().map(|&code| by_class[code as usize]).collect();
    let against = |class: usize| classes.codes().iter().map(|&code| sign(code as usize == class)).collect::<Vec<f64>>();
    if names.len() == 2 {
        return Ok((Kind::TwoClasses, names, vec![against(1)], vec![factors]));
    }
    let signs: Vec<Vec<f64>> = (0..names.len()).map(against).collect();
    let factors = vec![factors; signs.len()];
    Ok((Kind::Classes, names, signs, factors))
}

fn of_labels(labels: &LabelMatrix, weights: &[f64], class_weight: &ClassWeight) -> Result<Parts> {
    let names = labels.names().to_vec();
    if let ClassWeight::Given(given) = class_weight {
        for (name, factor) in given {
            if !names.contains(name) {
                return Err(check::complaint("BoostedSvc", "class_weight", format!("given for known labels ({})", names.join(", ")), name));
            }
            check::positive("BoostedSvc", "class_weight", *factor)?;
        }
    }
    let all: f64 = weights.iter().sum();
    let (mut signs, mut factors) = (Vec::new(), Vec::new());
    for (label, name) in names.iter().enumerate() {
        let own: Vec<f64> = labels.label(label).map(sign).collect();
        let carriers: f64 = own.iter().zip(weights).filter(|(y, _)| **y > 0.0).map(|(_, w)| w).sum();
        let (plus, minus) = match class_weight {
            ClassWeight::Equal => (1.0, 1.0),
            ClassWeight::Balanced if carriers > 0.0 && carriers < all => (0.5 * all / carriers, 0.5 * all / (all - carriers)),
            ClassWeight::Balanced => (1.0, 1.0),
            ClassWeight::Given(given) => (given.iter().find(|(known, _)| known == name).map_or(1.0, |(_, factor)| *factor), 1.0),
        };
        factors.push(own.iter().map(|&y| if y > 0.0 { plus } else { minus }).collect());
        signs.push(own);
    }
    Ok((Kind::Labels, names, signs, factors))
}
