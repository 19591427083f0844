//! Flags that say how a data file is read.

use anyhow::{Result, bail};
use boulevard::data::Fill;
use boulevard::data::io::{Format, Missing, ReadOptions, TargetKind};
use clap::{Args, ValueEnum};

/// The file formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    Libsvm,
    Csv,
    Arff,
    Parquet,
    Npy,
}

/// What is done about missing values: empty fields, `?`, `NA`, `NaN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MissingName {
    /// Refuse the file
    Error,
    /// Leave such rows out
    Drop,
    /// Fill in the column's median
    Median,
    /// Fill in the column's most frequent value
    MostFrequent,
}

/// How a data file is read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// File format; guessed from the extension or the first bytes if not given
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<FormatName>,
    /// Column to predict (default: the last one; one-class learning has none unless it is named here or holds text)
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Columns of a multi-label target, separated by commas; `name*` means all that start so
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with = "label")]
    pub labels: Vec<String>,
    /// Column of sample weights
    #[arg(long, value_name = "COLUMN")]
    pub weight: Option<String>,
    /// Column that says which rows belong together; folds never cut a group
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<String>,
    /// Column that says which task a row belongs to
    #[arg(long, value_name = "COLUMN")]
    pub task: Option<String>,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Turn text columns into one 0/1 column per value
    #[arg(long)]
    pub one_hot: bool,
    /// Keep values in single precision: half the memory for large tables
    #[arg(long)]
    pub single: bool,
    /// What to do about missing values; a model remembers it, and predict does the same [default: error; predict: as the model]
    #[arg(long, value_name = "HOW")]
    pub missing: Option<MissingName>,
    /// As --missing drop, but no model remembers it
    #[arg(long, conflicts_with = "missing")]
    pub drop_missing: bool,
    /// Most columns a LIBSVM file may have [default: 2097152, or 256 per value in the file]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_features: Option<u64>,
}

impl DataArgs {
    /// The library's options for a target of this kind.
    pub fn options(&self, target: TargetKind) -> ReadOptions {
        ReadOptions {
            format: self.format.map(|format| match format {
                FormatName::Libsvm => Format::Libsvm,
                FormatName::Csv => Format::Csv,
                FormatName::Arff => Format::Arff,
                FormatName::Parquet => Format::Parquet,
                FormatName::Npy => Format::Npy,
            }),
            label: self.label.clone(),
            labels: self.labels.clone(),
            task: self.task.clone(),
            group: self.group.clone(),
            weight: self.weight.clone(),
            ignore: self.ignore.clone(),
            target,
            one_hot: self.one_hot,
            n_features: None,
            features: None,
            max_features: self.max_features.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            single: self.single,
            missing: match self.missing {
                Some(MissingName::Drop) => Missing::DropRow,
                Some(MissingName::Median | MissingName::MostFrequent) => Missing::Keep,
                None if self.drop_missing => Missing::DropRow,
                Some(MissingName::Error) | None => Missing::Error,
            },
        }
    }

    /// What a model has to remember about missing values.
    pub fn fill(&self) -> Option<Fill> {
        match self.missing? {
            MissingName::Error => None,
            MissingName::Drop => Some(Fill::Drop),
            MissingName::Median => Some(Fill::Median),
            MissingName::MostFrequent => Some(Fill::MostFrequent),
        }
    }

    /// For verbs that only read: there is no model that fills anything in.
    pub fn expect_no_filling(&self) -> Result<()> {
        match self.fill() {
            Some(Fill::Median | Fill::MostFrequent) => {
                bail!(
                    "--missing median and most-frequent belong to train, evaluate and tune, whose models remember the values; here say --missing drop"
                )
            }
            _ => Ok(()),
        }
    }
}
