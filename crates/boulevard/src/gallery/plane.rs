//! A plane through a table: two of its columns, or its two main directions.

use super::asked::{Importance, dense, quantile, sorted_column};
use crate::data::{Dataset, Matrix};
use crate::error::Result;
use crate::picture::thinned;

/// Two columns that carry this share of what moves the answer are enough to look at.
const ENOUGH: f64 = 0.5;
/// Rows that directions are computed from, and rounds of it.
const ROWS: usize = 1000;
const ROUNDS: usize = 60;

/// A way from the plane to rows and back.
pub(super) struct Plane {
    /// What lies along both axes.
    pub labels: [String; 2],
    /// How the plane lies, for the sentence; empty where the table is the plane.
    pub words: String,
    center: Vec<f64>,
    /// Directions in the table's own units.
    directions: [Vec<f64>; 2],
    /// What to multiply (row - center) with to come to the plane.
    readers: [Vec<f64>; 2],
}

impl Plane {
    /// The plane to look at.
    pub fn of(data: &Dataset<'_>, importance: Option<&Importance>) -> Self {
        let width = data.x.columns();
        if width == 2 {
            return Self::columns(data, [0, 1], String::new());
        }
        let total: f64 = importance.map_or(0.0, |found| found.columns.iter().map(|(_, moved)| moved).sum());
        match importance {
            Some(found) if total > 0.0 && found.columns[0].1 + found.columns[1].1 >= ENOUGH * total => {
                let pair = [found.columns[0].0, found.columns[1].0];
                let words = match width {
                    3 => "the other column stands at its median".to_owned(),
                    _ => format!("the {} other columns stand at their medians", width - 2),
                };
                Self::columns(data, pair, words)
            }
            _ => Self::main(data),
        }
    }

    fn columns(data: &Dataset<'_>, pair: [usize; 2], words: String) -> Self {
        let width = data.x.columns();
        let mut center: Vec<f64> = (0..width).map(|column| quantile(&sorted_column(&data.x, column), 0.5)).collect();
        pair.iter().for_each(|&column| center[column] = 0.0);
        let unit = |column: usize| (0..width).map(|j| f64::from(u8::from(j == column))).collect::<Vec<f64>>();
        let directions = pair.map(unit);
        Self { labels: pair.map(|column| data.feature_name(column)), words, center, readers: directions.clone(), directions }
    }

    /// The two directions of largest variance of the standardized columns, by repeated multiplication.
    fn main(data: &Dataset<'_>) -> Self {
        let width = data.x.columns();
        let rows = thinned(data.len(), ROWS);
        let mut table = dense(&data.x, &rows);
        let n = rows.len() as f64;
        let column = |table: &[f64], j: usize| table.iter().skip(j).step_by(width).copied().collect::<Vec<f64>>();
        let mut center = vec![0.0; width];
        let mut spread = vec![1.0; width];
        for j in 0..width {
            let values = column(&table, j);
            center[j] = values.iter().sum::<f64>() / n;
            spread[j] = (values.iter().map(|v| (v - center[j]).powi(2)).sum::<f64>() / n).sqrt();
            if spread[j] == 0.0 {
                spread[j] = 1.0;
            }
        }
        table.chunks_exact_mut(width).for_each(|row| (0..width).for_each(|j| row[j] = (row[j] - center[j]) / spread[j]));
        let mut found: Vec<Vec<f64>> = Vec::new();
        let mut variance = Vec::new();
        for place in 0..2 {
            let mut direction: Vec<f64> = (0..width).map(|j| 1.0 + 0.1 * ((j * 7 + place * 3) % 11) as f64).collect();
            let mut length = 0.0;
            for _ in 0..ROUNDS {
                for other in &found {
                    let along: f64 = direction.iter().zip(other).map(|(a, b)| a * b).sum();
                    direction.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
                }
                let mut next = vec![0.0; width];
                for row in table.chunks_exact(width) {
                    let along: f64 = row.iter().zip(&direction).map(|(a, b)| a * b).sum();
                    next.iter_mut().zip(row).for_each(|(a, b)| *a += along * b / n);
                }
                length = next.iter().map(|v| v * v).sum::<f64>().sqrt();
                if length == 0.0 {
                    break;
                }
                direction = next.iter().map(|v| v / length).collect();
            }
            variance.push(length / width as f64);
            found.push(direction);
        }
        let main = |direction: &[f64]| {
            let largest = (0..width).fold(0, |best, j| if direction[j].abs() > direction[best].abs() { j } else { best });
            data.feature_name(largest)
        };
        let labels = [0, 1].map(|place| format!("main direction {} (mostly {})", place + 1, main(&found[place])));
        let directions = [0, 1].map(|place: usize| (0..width).map(|j| found[place][j] * spread[j]).collect());
        let readers = [0, 1].map(|place: usize| (0..width).map(|j| found[place][j] / spread[j]).collect());
        let words = format!("a plane through the middle that shows {:.0} % of the table's variance", 100.0 * (variance[0] + variance[1]));
        Self { labels, words, center, directions, readers }
    }

    /// Where a row lies.
    pub fn place(&self, x: &Matrix<'_>, row: usize) -> (f64, f64) {
        let mut at = [0.0; 2];
        for (j, center) in self.center.iter().enumerate() {
            let value = x.get(row, j) - center;
            (0..2).for_each(|axis| at[axis] += self.readers[axis][j] * value);
        }
        (at[0], at[1])
    }

    /// The rows of points of the plane.
    pub fn rows(&self, points: &[(f64, f64)]) -> Result<Matrix<'static>> {
        let width = self.center.len();
        let mut values = Vec::with_capacity(points.len() * width);
        for &(x, y) in points {
            values.extend((0..width).map(|j| self.center[j] + x * self.directions[0][j] + y * self.directions[1][j]));
        }
        Matrix::dense(values, points.len(), width)
    }
}
