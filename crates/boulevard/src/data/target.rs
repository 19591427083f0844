//! What is to be predicted: classes, numbers, or several labels at once.

use crate::error::{Error, Result};

/// A column of names, stored as codes into a list of distinct names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    codes: Vec<u32>,
    names: Vec<String>,
}

impl Categories {
    /// Codes into `names`; fails on a code without a name.
    pub fn new(codes: Vec<u32>, names: Vec<String>) -> Result<Self> {
        match codes.iter().find(|&&code| code as usize >= names.len()) {
            Some(code) => Err(Error::data(format!("class code {code} has no name: there are {} names", names.len()))),
            None => Ok(Self { codes, names }),
        }
    }

    /// From one name per row. Names are ordered as numbers if all of them are numbers, else as text.
    pub fn from_names<S: AsRef<str>>(rows: &[S]) -> Self {
        let mut names: Vec<&str> = rows.iter().map(AsRef::as_ref).collect();
        names.sort_unstable();
        names.dedup();
        let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse::<f64>().ok().filter(|v| v.is_finite())).collect();
        if let Some(numbers) = numbers {
            let mut order: Vec<usize> = (0..names.len()).collect();
            order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]).then_with(|| names[a].cmp(names[b])));
            names = order.into_iter().map(|i| names[i]).collect();
        }
        let place: std::collections::HashMap<&str, u32> = names.iter().enumerate().map(|(i, name)| (*name, i as u32)).collect();
        let codes = rows.iter().map(|row| place[row.as_ref()]).collect();
        Self { codes, names: names.into_iter().map(str::to_owned).collect() }
    }

    /// One code per row.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The distinct names, in code order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Rows of each category.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        for &code in &self.codes {
            counts[code as usize] += 1;
        }
        counts
    }

    /// The rows in `rows`, names kept.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { codes: rows.iter().map(|&row| self.codes[row]).collect(), names: self.names.clone() }
    }
}

/// A 0/1 table: one row per sample, one column per label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelMatrix {
    values: Vec<bool>,
    names: Vec<String>,
    rows: usize,
}

impl LabelMatrix {
    /// Row-major values with `names.len()` columns.
    pub fn new(values: Vec<bool>, names: Vec<String>) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::data("a label matrix needs at least one label"));
        }
        if !values.len().is_multiple_of(names.len()) {
            return Err(Error::shape("label matrix entries (a multiple of the number of labels)", names.len(), values.len() % names.len()));
        }
        let rows = values.len() / names.len();
        Ok(Self { values, names, rows })
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The label names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// One sample's labels.
    pub fn row(&self, row: usize) -> &[bool] {
        &self.values[row * self.names.len()..(row + 1) * self.names.len()]
    }

    /// One label over all samples.
    pub fn label(&self, label: usize) -> impl Iterator<Item = bool> + '_ {
        self.values.iter().skip(label).step_by(self.names.len()).copied()
    }

    /// The samples in `rows`.
    pub fn select(&self, rows: &[usize]) -> Self {
        let values = rows.iter().flat_map(|&row| self.row(row).iter().copied()).collect();
        Self { values, names: self.names.clone(), rows: rows.len() }
    }
}

/// What is to be predicted, or what a model predicted: one word for both, so that they can be compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Nothing, as for one-class learning.
    None,
    /// One class per sample.
    Classes(Categories),
    /// One number per sample.
    Real(Vec<f64>),
    /// Any number of labels per sample.
    Labels(LabelMatrix),
}

impl Target {
    /// Number of samples, or `None` where there is no target.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Classes(classes) => Some(classes.len()),
            Self::Real(values) => Some(values.len()),
            Self::Labels(labels) => Some(labels.len()),
        }
    }

    /// The samples in `rows`.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::None => Self::None,
            Self::Classes(classes) => Self::Classes(classes.select(rows)),
            Self::Real(values) => Self::Real(rows.iter().map(|&row| values[row]).collect()),
            Self::Labels(labels) => Self::Labels(labels.select(rows)),
        }
    }

    /// Strings parts together, row `k` of all of them moving to place `places[k]`. `None` if the parts are of different kinds or do not
    /// know the same classes.
    pub(crate) fn gather(parts: &[&Self], places: &[usize]) -> Option<Self> {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|&k| places[k]);
        let (mut reals, mut codes, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match (part, parts[0]) {
                (Self::Real(values), Self::Real(_)) => reals.extend_from_slice(values),
                (Self::Classes(part), Self::Classes(first)) if part.names() == first.names() => codes.extend_from_slice(part.codes()),
                (Self::Labels(part), Self::Labels(first)) if part.names() == first.names() => {
                    rows.extend((0..part.len()).map(|row| part.row(row)));
                }
                _ => return None,
            }
        }
        let order = order.into_iter();
        Some(match *parts.first()? {
            Self::None => return None,
            Self::Real(_) => Self::Real(order.map(|k| reals[k]).collect()),
            Self::Classes(first) => Self::Classes(Categories::new(order.map(|k| codes[k]).collect(), first.names().to_vec()).ok()?),
            Self::Labels(first) => {
                Self::Labels(LabelMatrix::new(order.flat_map(|k| rows[k].iter().copied()).collect(), first.names().to_vec()).ok()?)
            }
        })
    }

    /// What kind it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "no target",
            Self::Classes(_) => "classes",
            Self::Real(_) => "real numbers",
            Self::Labels(_) => "a label matrix",
        }
    }
}

impl From<Categories> for Target {
    fn from(classes: Categories) -> Self {
        Self::Classes(classes)
    }
}

impl From<Vec<f64>> for Target {
    fn from(values: Vec<f64>) -> Self {
        Self::Real(values)
    }
}

impl From<LabelMatrix> for Target {
    fn from(labels: LabelMatrix) -> Self {
        Self::Labels(labels)
    }
}

/// What a one-class machine says: the class `inside` or `outside`.
impl From<Vec<bool>> for Target {
    fn from(inside: Vec<bool>) -> Self {
        let names = vec!["outside".to_owned(), "inside".to_owned()];
        Self::Classes(Categories { codes: inside.into_iter().map(u32::from).collect(), names })
    }
}
