//! Missing values and what takes their place.
//!
//! A table may hold `NaN` where a value is missing ([`Missing::Keep`](super::io::Missing::Keep)). An [`Imputer`] learns one value per column
//! from the rows that have one and puts it into the holes, of the training rows and of every later table alike.

use serde::{Deserialize, Serialize};

use super::Matrix;
use crate::error::{Error, Result};

/// What happens to rows with missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// They are left out, by whoever reads the file.
    Drop,
    /// The column's median.
    Median,
    /// The column's most frequent value; the smallest of several.
    MostFrequent,
}

/// One value per column for the holes of tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imputer {
    fill: Fill,
    /// Number of columns.
    columns: usize,
    /// One per column; none where rows are left out.
    values: Vec<f64>,
}

impl Imputer {
    /// Learns from the values that a table has. A column without any is an error.
    pub fn fit(x: &Matrix<'_>, fill: Fill) -> Result<Self> {
        let columns = x.columns();
        if fill == Fill::Drop {
            return Ok(Self { fill, columns, values: Vec::new() });
        }
        let mut present: Vec<Vec<f64>> = vec![Vec::new(); columns];
        let mut stored = vec![0usize; columns];
        for row in 0..x.rows() {
            x.for_each(row, |column, value| {
                stored[column] += 1;
                if !value.is_nan() {
                    present[column].push(value);
                }
            });
        }
        let mut values = Vec::with_capacity(columns);
        for (column, mut present) in present.into_iter().enumerate() {
            // What sparse rows do not say is zero.
            present.resize(present.len() + x.rows() - stored[column], 0.0);
            if present.is_empty() {
                return Err(Error::data(format!("column {} has no value in any row: leave the column out", column + 1)));
            }
            present.sort_unstable_by(f64::total_cmp);
            values.push(if fill == Fill::Median { median(&present) } else { most_frequent(&present) });
        }
        Ok(Self { fill, columns, values })
    }

    /// What it does.
    pub fn fill(&self) -> Fill {
        self.fill
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What takes the place of missing values, by column; empty where rows are left out.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The table without holes; none where it has none, or where nothing is filled in.
    pub fn table(&self, x: &Matrix<'_>) -> Result<Option<Matrix<'static>>> {
        if x.columns() != self.columns {
            return Err(Error::shape("columns of the table", self.columns, x.columns()));
        }
        let fill = |place: usize, value: f64| if value.is_nan() { self.values[place % self.columns] } else { value };
        Ok(match x {
            _ if self.values.is_empty() => None,
            Matrix::F64(dense) if dense.values().iter().any(|v| v.is_nan()) => {
                let values: Vec<f64> = dense.values().iter().enumerate().map(|(place, &v)| fill(place, v)).collect();
                Some(Matrix::dense(values, x.rows(), x.columns())?)
            }
            Matrix::F32(dense) if dense.values().iter().any(|v| v.is_nan()) => {
                let values: Vec<f32> = dense.values().iter().enumerate().map(|(place, &v)| fill(place, f64::from(v)) as f32).collect();
                Some(Matrix::dense_f32(values, x.rows(), x.columns())?)
            }
            Matrix::Sparse(csr) if csr.values().iter().any(|v| v.is_nan()) => {
                let values: Vec<f64> = csr.indices().iter().zip(csr.values()).map(|(&column, &v)| fill(column as usize, v)).collect();
                Some(Matrix::Sparse(super::Csr::new(csr.offsets().to_vec(), csr.indices().to_vec(), values, x.columns())?))
            }
            _ => None,
        })
    }

    /// Whether an imputer from a file is one.
    pub(crate) fn check(&self) -> Result<()> {
        let wanted = if self.fill == Fill::Drop { 0 } else { self.columns };
        if self.values.len() != wanted {
            return Err(Error::shape("values for missing ones", wanted, self.values.len()));
        }
        match self.values.iter().position(|value| !value.is_finite()) {
            Some(column) => Err(Error::data(format!("the value for missing ones of column {} is not finite", column + 1))),
            None => Ok(()),
        }
    }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * sorted[middle - 1] + 0.5 * sorted[middle] }
}

fn most_frequent(sorted: &[f64]) -> f64 {
    let mut best = (0, sorted[0]);
    for run in sorted.chunk_by(|a, b| a == b) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLE: f64 = f64::NAN;

    #[test]
    fn medians_and_most_frequent_values_fill_holes() {
        let x = Matrix::from_rows(&[[1.0, 5.0], [HOLE, 5.0], [3.0, HOLE], [2.0, 7.0], [9.0, 7.0]]).unwrap();
        let median = Imputer::fit(&x, Fill::Median).unwrap();
        assert_eq!(median.values(), [2.5, 6.0]);
        let frequent = Imputer::fit(&x, Fill::MostFrequent).unwrap();
        assert_eq!(frequent.values(), [1.0, 5.0], "the smallest of several");
        let filled = median.table(&x).unwrap().unwrap();
        assert_eq!((filled.get(1, 0), filled.get(2, 1), filled.get(0, 0)), (2.5, 6.0, 1.0));
        assert_eq!(median.table(&filled).unwrap(), None, "no holes, no copy");
        let narrow = Matrix::dense_f32(vec![f32::NAN, 1.0], 1, 2).unwrap();
        assert_eq!(median.table(&narrow).unwrap().unwrap().get(0, 0), 2.5);
        assert!(median.table(&Matrix::from_rows(&[[1.0]]).unwrap()).unwrap_err().to_string().contains("expected 2, found 1"));
    }

    #[test]
    fn sparse_tables_count_their_zeros() {
        let x = Matrix::from_rows(&[[0.0, 4.0], [0.0, HOLE], [2.0, 6.0]]).unwrap().to_sparse();
        let median = Imputer::fit(&x, Fill::Median).unwrap();
        assert_eq!(median.values(), [0.0, 5.0]);
        assert_eq!(median.table(&x).unwrap().unwrap().get(1, 1), 5.0);
    }

    #[test]
    fn columns_without_values_and_strange_files_are_refused() {
        let x = Matrix::from_rows(&[[1.0, HOLE], [2.0, HOLE]]).unwrap();
        assert!(Imputer::fit(&x, Fill::Median).unwrap_err().to_string().contains("column 2 has no value"));
        assert!(Imputer::fit(&x, Fill::Drop).unwrap().table(&x).unwrap().is_none());
        let read = |text: &str| serde_json::from_str::<Imputer>(text).unwrap().check();
        assert!(read(r#"{"fill":"median","columns":2,"values":[1.0]}"#).is_err());
        assert!(read(r#"{"fill":"drop","columns":2,"values":[]}"#).is_ok());
    }
}
