//! The parts of a picture: axes, layers, and the columns behind them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// How an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal factors.
    Log,
    /// Names in a given order.
    Ordinal,
}

/// An axis; it always has a label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What is counted along it.
    pub label: String,
    /// In what, for example `%`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// How it counts.
    pub scale: Scale,
    /// Its ends, where the data do not say them.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "pair")]
    pub domain: Option<[f64; 2]>,
    /// The names along an ordinal axis, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

impl Axis {
    fn of(label: &str, unit: &str, scale: Scale) -> Self {
        Self { label: label.to_owned(), unit: unit.to_owned(), scale, domain: None, categories: Vec::new() }
    }

    /// Numbers in equal steps.
    pub fn linear(label: &str) -> Self {
        Self::of(label, "", Scale::Linear)
    }

    /// Positive numbers in equal factors.
    pub fn log(label: &str) -> Self {
        Self::of(label, "", Scale::Log)
    }

    /// Shares in percent: the numbers are 12 for 12 %.
    pub fn percent(label: &str) -> Self {
        Self::of(label, "%", Scale::Linear)
    }

    /// Names.
    pub fn names(label: &str, categories: Vec<String>) -> Self {
        Self { categories, ..Self::of(label, "", Scale::Ordinal) }
    }

    /// The same from `low` to `high`.
    pub fn within(self, low: f64, high: f64) -> Self {
        Self { domain: Some([low, high]), ..self }
    }
}

/// How the rows of a layer are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A line through them.
    Line,
    /// A line that jumps.
    Step,
    /// The band between `y1` and `y2`.
    Area,
    /// A mark each.
    Points,
    /// A bar each, from zero, along the axis that has numbers.
    Bars,
    /// A cell each with a shade for `value`; the whole is a map.
    Cells,
    /// The ground of a map: `class` and `value` (from 0 to 1, how sure) of a regular grid, row by row from the lower left.
    Ground,
    /// A straight line across at `x` or at `y`.
    Rule,
    /// Short strokes along the horizontal axis.
    Rug,
}

/// What a layer stands for: it decides the color, which is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Rows that were learnt from.
    Training,
    /// Rows that were not.
    Holdout,
    /// What is estimated from several looks.
    Estimate,
    /// What was chosen.
    Chosen,
    /// What to compare with.
    Baseline,
    /// Everything else.
    Neutral,
    /// The class at this place, or the n-th of several things.
    Class(usize),
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Training => serializer.serialize_str("training"),
            Self::Holdout => serializer.serialize_str("holdout"),
            Self::Estimate => serializer.serialize_str("estimate"),
            Self::Chosen => serializer.serialize_str("chosen"),
            Self::Baseline => serializer.serialize_str("baseline"),
            Self::Neutral => serializer.serialize_str("neutral"),
            Self::Class(place) => serializer.serialize_str(&format!("class{place}")),
        }
    }
}

/// One column of a layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; NaN where there is none.
    Numbers(Vec<f64>),
    /// Words.
    Texts(Vec<String>),
}

/// A number with seven digits: more cannot be seen, and a page with many of them stays small.
struct Short(f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if !value.is_finite() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

fn pair<S: Serializer>(ends: &Option<[f64; 2]>, serializer: S) -> Result<S::Ok, S::Error> {
    ends.map(|ends| ends.map(Short)).serialize(serializer)
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Numbers(values) => serializer.collect_seq(values.iter().map(|&value| Short(value))),
            Self::Texts(texts) => texts.serialize(serializer),
        }
    }
}

/// Rows drawn in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// How.
    pub mark: Mark,
    /// What they are called; empty where the title says it.
    pub name: String,
    /// What they stand for.
    pub role: Role,
    /// Named columns of the same length.
    pub columns: Vec<(String, Column)>,
    /// Columns of a [`Mark::Ground`].
    pub across: Option<usize>,
}

impl Layer {
    /// A layer without rows.
    pub fn new(mark: Mark, name: &str, role: Role) -> Self {
        Self { mark, name: name.to_owned(), role, columns: Vec::new(), across: None }
    }

    /// The same with a column of numbers.
    pub fn numbers(mut self, name: &str, values: Vec<f64>) -> Self {
        self.columns.push((name.to_owned(), Column::Numbers(values)));
        self
    }

    /// The same with a column of words.
    pub fn texts(mut self, name: &str, texts: Vec<String>) -> Self {
        self.columns.push((name.to_owned(), Column::Texts(texts)));
        self
    }

    /// The same with `x` and `y` from pairs.
    pub fn points(self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (x, y) = points.into_iter().unzip();
        self.numbers("x", x).numbers("y", y)
    }

    /// A grid this wide.
    pub fn wide(self, columns: usize) -> Self {
        Self { across: Some(columns), ..self }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| match column {
            Column::Numbers(values) => values.len(),
            Column::Texts(texts) => texts.len(),
        })
    }

    /// A column of numbers by name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find_map(|(own, column)| match column {
            Column::Numbers(values) if own == name => Some(values.as_slice()),
            _ => None,
        })
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Columns<'a>(&'a [(String, Column)]);
        impl Serialize for Columns<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, column)| (name, column)))
            }
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("mark", &self.mark)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("role", &self.role)?;
        if let Some(across) = self.across {
            map.serialize_entry("across", &across)?;
        }
        map.serialize_entry("columns", &Columns(&self.columns))?;
        map.end()
    }
}
