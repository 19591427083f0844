//! What the readers are told: the format, which column plays which part, and what to do about missing values.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// How a file is to be read. The default guesses the format and takes the last column as the label.
///
/// Names of columns may end in `*` where several are meant (`labels`, `ignore`): `label_*` is every column whose name starts with `label_`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// The format; `None` guesses by extension, or by the first bytes where the extension says nothing.
    pub format: Option<Format>,
    /// The label column (CSV, ARFF, Parquet); `None` is the last column that has no other part to play.
    pub label: Option<String>,
    /// The columns of a multi-label target. In LIBSVM files, which have no columns, these are the labels that may occur.
    pub labels: Vec<String>,
    /// The column that says which task a row belongs to.
    pub task: Option<String>,
    /// The column that says which rows belong together. In LIBSVM files only `qid` can be asked for.
    pub group: Option<String>,
    /// The column of sample weights. In LIBSVM files only `cost` (svmlight's word) can be asked for.
    pub weight: Option<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// The feature columns, where they are known (a model's; `column=value` stands for `column`). If the file has them all, other columns
    /// without a part to play are no features: the label is the only one of them, or the last, wherever it stands.
    pub features: Option<Vec<String>>,
    /// How the label is understood.
    pub target: TargetKind,
    /// Whether a feature column with text in it becomes one 0/1 column per value, named `column=value`.
    ///
    /// Off, a text value is an error. The result is dense, unless that would be 16 times as wide as the file or more: then it is sparse.
    pub one_hot: bool,
    /// The least number of feature columns of a LIBSVM file, whose own end is the largest index that occurs.
    pub n_features: Option<usize>,
    /// The most feature columns a LIBSVM file may have. `None` allows 2,097,152, 256 per value in the file, or `n_features`, whichever is
    /// most: work and memory grow with the columns, and one mistyped index must not ask for gigabytes. A row that goes beyond is a
    /// mistake in the file.
    pub max_features: Option<usize>,
    /// Whether values of dense tables are kept in single precision: half the memory, seven digits. Files of single precision are anyway.
    pub single: bool,
    /// What to do about missing values.
    pub missing: Missing,
}

/// The file formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// LIBSVM and svmlight text: `label index:value index:value ...`.
    Libsvm,
    /// Comma-, semicolon- or tab-separated text with a header row.
    Csv,
    /// Weka's attribute-relation format, also MULAN's and MEKA's multi-label kind.
    Arff,
    /// Apache Parquet, flat columns (needs the cargo feature `parquet`).
    Parquet,
    /// NumPy's files: one array of rows and columns. Read only.
    Npy,
}

/// Columns that every LIBSVM file may have.
const COLUMNS_FOR_ALL: usize = 1 << 21;
/// Columns that a value in a LIBSVM file earns it.
const COLUMNS_PER_VALUE: usize = 256;

impl ReadOptions {
    /// The most columns that a LIBSVM file with so many values may have.
    pub(super) fn most_features(&self, values: usize) -> usize {
        let earned = COLUMNS_PER_VALUE.saturating_mul(values).max(COLUMNS_FOR_ALL).max(self.n_features.unwrap_or(0));
        self.max_features.unwrap_or(earned)
    }
}

impl Format {
    /// The format an extension stands for; a trailing `.gz` is looked through. `None` where it does not say.
    ///
    /// `.txt` and `.dat` are LIBSVM when written; when read, the first bytes are asked first, because both are used for everything.
    pub fn from_path(path: &Path) -> Option<Self> {
        match extension(path).as_deref() {
            Some("svm" | "libsvm" | "svmlight" | "txt" | "dat") => Some(Self::Libsvm),
            Some("csv" | "tsv") => Some(Self::Csv),
            Some("arff") => Some(Self::Arff),
            Some("parquet") => Some(Self::Parquet),
            Some("npy") => Some(Self::Npy),
            _ => None,
        }
    }

    /// As [`Format::from_path`], without the extensions that are used for everything.
    pub(super) fn surely_from_path(path: &Path) -> Option<Self> {
        Self::from_path(path).filter(|_| !matches!(extension(path).as_deref(), Some("txt" | "dat")))
    }
}

/// What the label column holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Real numbers if every label is a number and at least one has a fractional part; else classes.
    ///
    /// So whole numbers are classes unless [`TargetKind::Real`] is asked for. An ARFF file declares its own kind: a numeric attribute is
    /// real, a nominal one is a class. Class names that are all numbers are brought to one form: `+1`, `1` and `1.0` are the class `1`.
    #[default]
    Auto,
    /// Classes, whatever they look like.
    Classes,
    /// Real numbers; anything else is an error.
    Real,
    /// Any number of labels per row. Only LIBSVM files need to be told (and only if no row has two); elsewhere name the `labels`.
    Labels,
    /// There is no label. A column named as `label` is then left out of the features; without a name, no column is taken as label.
    None,
}

/// What to do about missing values: empty fields, `?`, `NA`, `NaN` and nulls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Missing {
    /// Refuse the file, naming the line.
    #[default]
    Error,
    /// Leave the row out.
    DropRow,
    /// Keep a missing number of a feature column as `NaN`, for an [`Imputer`](crate::data::Imputer); refuse every other (labels, weights, text
    /// that is one-hot encoded, LIBSVM files).
    Keep,
}

/// The extension in lower case, `.gz` stripped.
fn extension(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map(|(_, extension)| extension.to_owned())
}

/// Whether the name asks for gzip.
pub(super) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_formats() {
        let of = |name: &str| Format::from_path(Path::new(name));
        assert_eq!(of("a.csv"), Some(Format::Csv));
        assert_eq!(of("dir.x/a.TSV.gz"), Some(Format::Csv));
        assert_eq!(of("a.libsvm.gz"), Some(Format::Libsvm));
        assert_eq!(of("a.arff"), Some(Format::Arff));
        assert_eq!(of("a.parquet"), Some(Format::Parquet));
        assert_eq!(of("a9a"), None);
        assert_eq!(of("-"), None);
        assert_eq!(Format::surely_from_path(Path::new("a.txt")), None);
    }

    #[test]
    fn options_come_from_json() {
        let options: ReadOptions = serde_json::from_str(r#"{"format": "csv", "missing": "drop-row", "target": "real"}"#).unwrap();
        assert_eq!((options.format, options.missing, options.target), (Some(Format::Csv), Missing::DropRow, TargetKind::Real));
        assert!(serde_json::from_str::<ReadOptions>(r#"{"lable": "y"}"#).is_err());
    }
}
