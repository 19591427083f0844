//! Classes and what they weigh: the rows a classifier learns from, with their costs.

use serde::{Deserialize, Serialize};

use crate::check;
use crate::data::{Categories, Dataset};
use crate::error::{Error, Result};

/// How much classes count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeight {
    /// All the same.
    #[default]
    Equal,
    /// Inversely to their (weighted) frequency: `total / (classes * count)`.
    Balanced,
    /// These factors by class name; classes that are not named count 1.
    Given(Vec<(String, f64)>),
}

/// From what users write: `balanced`, `equal`, or factors as in `a=2,b=0.5`.
impl std::str::FromStr for ClassWeight {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "balanced" => return Ok(Self::Balanced),
            "equal" => return Ok(Self::Equal),
            _ => {}
        }
        let pair = |part: &str| {
            let (name, factor) = part.rsplit_once('=').ok_or_else(|| Error::data(format!("`{part}` is not NAME=FACTOR")))?;
            let factor = check::number(factor).ok_or_else(|| Error::data(format!("`{factor}` is not a number")))?;
            Ok((name.to_owned(), factor))
        };
        let given: Vec<(String, f64)> = text.split(',').map(pair).collect::<Result<_>>()?;
        match given.iter().enumerate().find(|(i, (name, _))| given[..*i].iter().any(|(before, _)| before == name)) {
            Some((_, (name, _))) => Err(Error::data(format!("`{name}` is named twice"))),
            None => Ok(Self::Given(given)),
        }
    }
}

/// The rows a fit learns from, with their classes and costs.
pub(crate) struct Classes {
    /// Rows with a weight above zero.
    pub rows: Vec<usize>,
    /// Their class codes.
    pub codes: Vec<u32>,
    /// Their weights, class weights not included.
    pub weights: Vec<f64>,
    /// Factor per class.
    pub factors: Vec<f64>,
}

impl Classes {
    pub(crate) fn new(data: &Dataset<'_>, class_weight: &ClassWeight, owner: &'static str) -> Result<Self> {
        let classes = data.expect_classes()?;
        let all = data.weights_or_ones();
        let rows: Vec<usize> = (0..data.len()).filter(|&row| all[row] > 0.0).collect();
        let codes: Vec<u32> = rows.iter().map(|&row| classes.codes()[row]).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| all[row]).collect();
        let mut totals = vec![0.0; classes.names().len()];
        for (&code, weight) in codes.iter().zip(&weights) {
            totals[code as usize] += weight;
        }
        two_classes(classes.names(), &totals)?;
        let factors = class_factors(class_weight, classes, &totals, owner)?;
        Ok(Self { rows, codes, weights, factors })
    }

    /// Positions (within `rows`) of the samples of every class.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        by_class(&self.codes, self.factors.len(), |_| true)
    }
}

/// Fails unless at least two classes weigh something; `totals` are their weights.
pub(crate) fn two_classes(names: &[String], totals: &[f64]) -> Result<()> {
    let mut present = totals.iter().zip(names).filter(|(total, _)| **total > 0.0).map(|(_, name)| name);
    match (present.next(), present.next()) {
        (Some(_), Some(_)) => Ok(()),
        (Some(only), None) => Err(Error::data(format!("classification needs at least two classes, found only `{only}`"))),
        _ => Err(Error::data("classification needs at least two classes, found none")),
    }
}

/// Support vectors ordered by class, as machines keep them, and how many each class has. `codes` are the samples' classes.
pub(crate) fn support_by_class(codes: &[u32], classes: usize, is_support: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<usize>) {
    let of_class = by_class(codes, classes, is_support);
    (of_class.concat(), of_class.iter().map(Vec::len).collect())
}

/// The samples of every class, those that are `wanted`.
fn by_class(codes: &[u32], classes: usize, wanted: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut of_class = vec![Vec::new(); classes];
    for (sample, &code) in codes.iter().enumerate() {
        if wanted(sample) {
            of_class[code as usize].push(sample);
        }
    }
    of_class
}

/// The factor of every class; `totals` are the weights of the classes in the training rows.
pub(crate) fn class_factors(class_weight: &ClassWeight, classes: &Categories, totals: &[f64], owner: &'static str) -> Result<Vec<f64>> {
    Ok(match class_weight {
        ClassWeight::Equal => vec![1.0; totals.len()],
        ClassWeight::Balanced => {
            let (sum, present) = (totals.iter().sum::<f64>(), totals.iter().filter(|&&t| t > 0.0).count());
            totals.iter().map(|&total| if total > 0.0 { sum / (present as f64 * total) } else { 1.0 }).collect()
        }
        ClassWeight::Given(given) => {
            let mut factors = vec![1.0; totals.len()];
            for (name, factor) in given {
                let Some(class) = classes.names().iter().position(|n| n == name) else {
                    return Err(check::complaint(
                        owner,
                        "class_weight",
                        format!("given for known classes ({})", classes.names().join(", ")),
                        name,
                    ));
                };
                check::positive(owner, "class_weight", *factor)?;
                factors[class] = *factor;
            }
            factors
        }
    })
}
