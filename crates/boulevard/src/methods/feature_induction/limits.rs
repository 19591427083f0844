//! How much of everything: what trees see, how many features, how deep, how many rules.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How a tree sees the rows' weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// As many rows as there are, drawn with replacement by weight.
    #[default]
    Resample,
    /// All rows with their weights: no chance involved.
    Weight,
}

/// How many features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// Chosen on held-out rows, up to [`super::FeatureInduction::max_induced`]; possibly none.
    #[default]
    Auto,
    /// This many rounds.
    Exactly(usize),
}

/// From what users write: a number or `auto`.
impl std::str::FromStr for Amount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            number => number.parse().map(Self::Exactly).map_err(|_| Error::data("expected a number or `auto`")),
        }
    }
}

/// How deep trees may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// One, three or no limit: chosen on held-out rows.
    #[default]
    Auto,
    /// As deep as 64 levels.
    Unlimited,
    /// This many levels of tests.
    AtMost(usize),
}

/// From what users write: a number, `none` or `auto`.
impl std::str::FromStr for Depth {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Unlimited),
            number => number.parse().map(Self::AtMost).map_err(|_| Error::data("expected a number, `none` or `auto`")),
        }
    }
}

/// How many rules the model may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleLimit {
    /// As few as come within one standard error of the lowest error on held-out rows, 20 at most. Where [`super::FeatureInduction::n_induced`]
    /// is a number, or the preset the paper's, or the kernel not linear: no limit.
    #[default]
    Auto,
    /// Whole trees with all their leaves.
    Unlimited,
    /// This many, or fewer where held-out rows say by more than one standard error that fewer are better; none where the list is not better
    /// than the linear machine by half of one.
    AtMost(usize),
    /// This many; no rows are held out.
    Exactly(usize),
}

/// From what users write: a number, `none` or `auto`.
impl std::str::FromStr for RuleLimit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Unlimited),
            number => number.parse().map(Self::AtMost).map_err(|_| Error::data("expected a number, `none` or `auto`")),
        }
    }
}
