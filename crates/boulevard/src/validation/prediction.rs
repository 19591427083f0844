//! Predictions of any kind of learner, for scoring.

use crate::data::{Categories, LabelMatrix};

/// What a model said about some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Predictions {
    /// One class per row.
    Classes(Categories),
    /// One number per row.
    Real(Vec<f64>),
    /// Whether each row lies inside.
    Inside(Vec<bool>),
    /// Any number of labels per row.
    Labels(LabelMatrix),
}

impl Predictions {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Real(values) => values.len(),
            Self::Inside(values) => values.len(),
            Self::Labels(labels) => labels.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What kind it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Classes(_) => "classes",
            Self::Real(_) => "real numbers",
            Self::Inside(_) => "inside or outside",
            Self::Labels(_) => "a label matrix",
        }
    }

    /// Strings parts together, row `k` of all of them moving to place `places[k]`. `None` if the parts are of different kinds or do not
    /// know the same classes.
    pub(super) fn gather(parts: &[&Self], places: &[usize]) -> Option<Self> {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|&k| places[k]);
        let (mut reals, mut bools, mut codes, mut rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match (part, parts[0]) {
                (Self::Real(values), Self::Real(_)) => reals.extend_from_slice(values),
                (Self::Inside(values), Self::Inside(_)) => bools.extend_from_slice(values),
                (Self::Classes(part), Self::Classes(first)) if part.names() == first.names() => codes.extend_from_slice(part.codes()),
                (Self::Labels(part), Self::Labels(first)) if part.names() == first.names() => {
                    rows.extend((0..part.len()).map(|row| part.row(row)));
                }
                _ => return None,
            }
        }
        let order = order.into_iter();
        Some(match *parts.first()? {
            Self::Real(_) => Self::Real(order.map(|k| reals[k]).collect()),
            Self::Inside(_) => Self::Inside(order.map(|k| bools[k]).collect()),
            Self::Classes(first) => Self::Classes(Categories::new(order.map(|k| codes[k]).collect(), first.names().to_vec()).ok()?),
            Self::Labels(first) => {
                Self::Labels(LabelMatrix::new(order.flat_map(|k| rows[k].iter().copied()).collect(), first.names().to_vec()).ok()?)
            }
        })
    }
}

impl From<Categories> for Predictions {
    fn from(classes: Categories) -> Self {
        Self::Classes(classes)
    }
}

impl From<Vec<f64>> for Predictions {
    fn from(values: Vec<f64>) -> Self {
        Self::Real(values)
    }
}

impl From<Vec<bool>> for Predictions {
    fn from(values: Vec<bool>) -> Self {
        Self::Inside(values)
    }
}

impl From<LabelMatrix> for Predictions {
    fn from(labels: LabelMatrix) -> Self {
        Self::Labels(labels)
    }
}
