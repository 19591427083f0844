//! Bringing columns to a common scale, and back.
//!
//! One map per column, fitted once and applied to any table with the same columns:
//!
//! | [`Scaling`] | map | a constant column |
//! |---|---|---|
//! | `Standard` | `(x - mean) / sd`, sd with divisor n | `x - mean` |
//! | `MinMax` | `low + (high - low) (x - min) / (max - min)` | 0, whatever `x` |
//! | `MaxAbs` | `x / max abs x` | the same map; a column of zeros stays as it is |
//!
//! The rule for a constant column under `MinMax` is that of LIBSVM's `svm-scale`, which leaves such columns out.
//! In all three cases the training rows of a constant column lose their value, except under `MaxAbs`, and [`Scaler::inverse`] restores it.
//!
//! **Sparse tables.** An entry that is not stored is a zero and counts as one in the statistics, so that a sparse table and its dense
//! twin give the same scaler. A sparse table is transformed only if every column's map sends 0 to 0 ([`Scaler::keeps_zeros`]; always
//! so for `MaxAbs`), and it then stays sparse. Otherwise [`Scaler::transform`] fails: silently leaving out the centering would change
//! the numbers, and silently returning a dense table may need a thousand times the memory. Whoever wants that says `to_dense()`.

use serde::{Deserialize, Serialize};

use super::{Csr, Matrix, weights};
use crate::check;
use crate::error::{Error, Result};

/// What every column is brought to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scaling {
    /// Mean 0 and standard deviation 1.
    #[default]
    Standard,
    /// The range `low..=high`.
    MinMax {
        /// Where the smallest training value goes.
        low: f64,
        /// Where the largest training value goes.
        high: f64,
    },
    /// Largest absolute value 1; zeros stay zeros.
    MaxAbs,
}

/// The map of one column: `start + width (x - origin) / spread`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct ColumnMap {
    /// The mean, the minimum, or 0.
    origin: f64,
    /// The standard deviation, `max - min`, or the largest absolute value; 0 marks a constant column.
    spread: f64,
    /// The largest value under `MinMax`, kept because `origin + spread` rounds; else unused and equal to `origin`.
    top: f64,
}

/// A fitted scaling: the map of every column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaler {
    scaling: Scaling,
    maps: Vec<ColumnMap>,
}

impl Scaler {
    /// Learns the map of every column of `x`. A row of weight 2 counts as two rows, a row of weight 0 as none.
    ///
    /// ```
    /// use boulevard::data::{Matrix, Scaler, Scaling};
    /// let x = Matrix::from_rows(&[[1.0, 10.0], [3.0, 10.0]])?;
    /// let scaler = Scaler::fit(&x, None, Scaling::Standard)?;
    /// assert_eq!(scaler.transform(&x)?, Matrix::from_rows(&[[-1.0, 0.0], [1.0, 0.0]])?);
    /// # Ok::<(), boulevard::Error>(())
    /// ```
    pub fn fit(x: &Matrix<'_>, weights: Option<&[f64]>, scaling: Scaling) -> Result<Self> {
        check_range(scaling)?;
        if x.rows() == 0 {
            return Err(Error::data("a scaler cannot be fitted: the data have no rows"));
        }
        x.check_finite("X")?;
        let weights = weights::resolve(weights, x.rows())?;
        let (low, high) = extremes(x, &weights);
        let maps = match scaling {
            Scaling::Standard => standard_maps(x, &weights, &low, &high)?,
            Scaling::MinMax { low: start, high: end } => {
                let ranges = low.iter().zip(&high).enumerate();
                ranges.map(|(column, (&min, &max))| range_map(column, min, max, end - start)).collect::<Result<_>>()?
            }
            Scaling::MaxAbs => {
                low.iter().zip(&high).map(|(min, max)| ColumnMap { origin: 0.0, spread: min.abs().max(max.abs()), top: 0.0 }).collect()
            }
        };
        Ok(Self { scaling, maps })
    }

    /// A min-max scaler from known ranges, one `(min, max)` per column; `min == max` marks a constant column.
    pub fn from_ranges(low: f64, high: f64, ranges: &[(f64, f64)]) -> Result<Self> {
        let scaling = Scaling::MinMax { low, high };
        check_range(scaling)?;
        let maps = ranges.iter().enumerate().map(|(column, &(min, max))| range_map(column, min, max, high - low)).collect::<Result<_>>()?;
        Ok(Self { scaling, maps })
    }

    /// What the scaler was fitted to do.
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.maps.len()
    }

    /// The fitted `(min, max)` of every column, for a min-max scaler only.
    pub fn ranges(&self) -> Option<Vec<(f64, f64)>> {
        matches!(self.scaling, Scaling::MinMax { .. }).then(|| self.maps.iter().map(|map| (map.origin, map.top)).collect())
    }

    /// Whether every column's map sends 0 to 0, so that a sparse table can stay sparse.
    pub fn keeps_zeros(&self) -> bool {
        (0..self.columns()).all(|column| self.apply(column, 0.0) == 0.0)
    }

    /// [`Scaler::transform`], where a sparse table whose zeros move becomes dense.
    pub fn table(&self, x: &Matrix<'_>) -> Result<Matrix<'static>> {
        if x.is_sparse() && !self.keeps_zeros() { self.transform(&x.to_dense()) } else { self.transform(x) }
    }

    /// The scaled table, of the same kind and precision. Values outside the fitted range go outside the target range.
    pub fn transform(&self, x: &Matrix<'_>) -> Result<Matrix<'static>> {
        self.map_table(x, "scaled", |scaler, column, value| scaler.apply(column, value))
    }

    /// The original values of a scaled table. Columns that were constant get their constant back.
    pub fn inverse(&self, x: &Matrix<'_>) -> Result<Matrix<'static>> {
        self.map_table(x, "scaled back", |scaler, column, value| scaler.undo(column, value))
    }

    /// One scaled value.
    fn apply(&self, column: usize, value: f64) -> f64 {
        let ColumnMap { origin, spread, top } = self.maps[column];
        match self.scaling {
            Scaling::Standard | Scaling::MaxAbs if spread == 0.0 => value - origin,
            Scaling::Standard | Scaling::MaxAbs => (value - origin) / spread,
            Scaling::MinMax { .. } if spread == 0.0 => 0.0,
            // The ends first and in this order of operations: bit for bit what svm-scale computes.
            Scaling::MinMax { low, .. } if value == origin => low,
            Scaling::MinMax { high, .. } if value == top => high,
            Scaling::MinMax { low, high } => low + (high - low) * (value - origin) / spread,
        }
    }

    /// One original value.
    fn undo(&self, column: usize, value: f64) -> f64 {
        let ColumnMap { origin, spread, top } = self.maps[column];
        match self.scaling {
            Scaling::Standard | Scaling::MaxAbs if spread == 0.0 => value + origin,
            Scaling::Standard | Scaling::MaxAbs => value * spread + origin,
            Scaling::MinMax { .. } if spread == 0.0 => origin,
            Scaling::MinMax { low, .. } if value == low => origin,
            Scaling::MinMax { high, .. } if value == high => top,
            Scaling::MinMax { low, high } => origin + spread * ((value - low) / (high - low)),
        }
    }

    fn map_table(&self, x: &Matrix<'_>, verb: &str, map: impl Fn(&Self, usize, f64) -> f64) -> Result<Matrix<'static>> {
        if x.columns() != self.columns() {
            return Err(Error::shape("columns of a table to be scaled", self.columns(), x.columns()));
        }
        let (rows, columns) = (x.rows(), x.columns());
        match x {
            Matrix::F64(dense) => {
                Matrix::dense(dense.values().iter().enumerate().map(|(i, &v)| map(self, i % columns, v)).collect::<Vec<_>>(), rows, columns)
            }
            Matrix::F32(dense) => {
                let values = dense.values().iter().enumerate().map(|(i, &v)| map(self, i % columns, f64::from(v)) as f32);
                Matrix::dense_f32(values.collect::<Vec<_>>(), rows, columns)
            }
            Matrix::Sparse(csr) => {
                if let Some(column) = (0..columns).find(|&column| map(self, column, 0.0) != 0.0) {
                    let image = map(self, column, 0.0);
                    return Err(Error::data(format!(
                        "a sparse table cannot be {verb} and stay sparse: in column {column} zero becomes {image}; \
                         scale by the largest absolute value, or make the table dense first"
                    )));
                }
                let values: Vec<f64> = csr.indices().iter().zip(csr.values()).map(|(&column, &v)| map(self, column as usize, v)).collect();
                Csr::new(csr.offsets().to_vec(), csr.indices().to_vec(), values, columns).map(Matrix::Sparse)
            }
        }
    }
}

fn check_range(scaling: Scaling) -> Result<()> {
    if let Scaling::MinMax { low, high } = scaling {
        check::finite("Scaling", "low", low)?;
        check::finite("Scaling", "high", high)?;
        if high <= low || !(high - low).is_finite() {
            return Err(check::complaint("Scaling", "high", format!("above `low` = {low}, by a finite width"), high));
        }
    }
    Ok(())
}

/// The map of a range onto one of the given width; their product must not overflow, because the map multiplies before it divides.
fn range_map(column: usize, min: f64, max: f64, width: f64) -> Result<ColumnMap> {
    if !(min.is_finite() && max.is_finite() && min <= max) {
        return Err(Error::data(format!("column {column}: {min}..{max} is not a range of finite numbers")));
    }
    finite_spread(column, (max - min) * width.max(1.0)).map(|_| ColumnMap { origin: min, spread: max - min, top: max })
}

fn finite_spread(column: usize, spread: f64) -> Result<f64> {
    if spread.is_finite() { Ok(spread) } else { Err(Error::data(format!("column {column} spans too wide a range to be scaled"))) }
}

/// Smallest and largest value of every column over the rows that count.
fn extremes(x: &Matrix<'_>, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let columns = x.columns();
    let (mut low, mut high) = (vec![f64::INFINITY; columns], vec![f64::NEG_INFINITY; columns]);
    let mut stored = vec![0usize; columns];
    let mut counted = 0;
    for row in (0..x.rows()).filter(|&row| weights[row] > 0.0) {
        counted += 1;
        x.for_each(row, |column, value| {
            low[column] = low[column].min(value);
            high[column] = high[column].max(value);
            stored[column] += 1;
        });
    }
    for column in (0..columns).filter(|&column| stored[column] < counted) {
        low[column] = low[column].min(0.0);
        high[column] = high[column].max(0.0);
    }
    (low, high)
}

/// Weighted mean and standard deviation (divisor: the sum of weights) in two passes.
fn standard_maps(x: &Matrix<'_>, weights: &[f64], low: &[f64], high: &[f64]) -> Result<Vec<ColumnMap>> {
    let columns = x.columns();
    let total: f64 = weights.iter().sum();
    // Sums run over differences from the smallest value: a large common offset then costs no digits.
    let (mut sum, mut stored) = (vec![0.0; columns], vec![0.0; columns]);
    for (row, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        x.for_each(row, |column, value| {
            sum[column] += weight * (value - low[column]);
            stored[column] += weight;
        });
    }
    let absent: Vec<f64> = stored.iter().map(|stored| if x.is_sparse() { (total - stored).max(0.0) } else { 0.0 }).collect();
    let mean: Vec<f64> = (0..columns).map(|j| low[j] + (sum[j] - absent[j] * low[j]) / total).collect();
    let mut squares: Vec<f64> = (0..columns).map(|j| absent[j] * mean[j] * mean[j]).collect();
    for (row, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        x.for_each(row, |column, value| squares[column] += weight * (value - mean[column]) * (value - mean[column]));
    }
    (0..columns)
        .map(|column| {
            // Rounding leaves a constant column a tiny deviation; its extremes tell the truth.
            if low[column] == high[column] {
                return Ok(ColumnMap { origin: low[column], spread: 0.0, top: low[column] });
            }
            let spread = finite_spread(column, (squares[column] / total).sqrt())?;
            Ok(ColumnMap { origin: mean[column], spread, top: mean[column] })
        })
        .collect()
}

#[cfg(test)]
mod tests;
