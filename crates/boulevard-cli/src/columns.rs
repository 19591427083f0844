//! What can be said about columns without learning anything: ranges, spreads, constants, repeats.

use std::collections::HashMap;

use boulevard::data::Matrix;

/// Spreads that differ by more than this hide the narrow columns from a distance kernel.
const SUSPICIOUS_RATIO: f64 = 100.0;

/// One column in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    pub low: f64,
    pub high: f64,
    pub mean: f64,
    pub deviation: f64,
}

impl Column {
    pub fn is_constant(&self) -> bool {
        self.low == self.high
    }
}

/// Ranges, means and standard deviations (divisor n).
pub fn describe(x: &Matrix<'_>) -> Vec<Column> {
    let (rows, width) = (x.rows() as f64, x.columns());
    let mut facts = vec![Column { low: f64::INFINITY, high: f64::NEG_INFINITY, mean: 0.0, deviation: 0.0 }; width];
    let mut stored = vec![0usize; width];
    for row in 0..x.rows() {
        x.for_each(row, |j, v| {
            let column = &mut facts[j];
            column.low = column.low.min(v);
            column.high = column.high.max(v);
            column.mean += v / rows;
            stored[j] += 1;
        });
    }
    for (column, &stored) in facts.iter_mut().zip(&stored) {
        if stored < x.rows() {
            column.low = column.low.min(0.0);
            column.high = column.high.max(0.0);
        }
        column.deviation = (x.rows() - stored) as f64 * column.mean * column.mean;
    }
    for row in 0..x.rows() {
        x.for_each(row, |j, v| facts[j].deviation += (v - facts[j].mean).powi(2));
    }
    for column in &mut facts {
        column.deviation = if column.is_constant() { 0.0 } else { (column.deviation / rows).sqrt() };
    }
    facts
}

/// The narrowest and widest column that vary, if their spreads differ suspiciously: places and the ratio.
pub fn uneven(facts: &[Column]) -> Option<(usize, usize, f64)> {
    let varying = || facts.iter().enumerate().filter(|(_, column)| column.deviation > 0.0);
    let narrow = varying().min_by(|a, b| a.1.deviation.total_cmp(&b.1.deviation))?;
    let wide = varying().max_by(|a, b| a.1.deviation.total_cmp(&b.1.deviation))?;
    let ratio = wide.1.deviation / narrow.1.deviation;
    (ratio > SUSPICIOUS_RATIO).then_some((narrow.0, wide.0, ratio))
}

/// Pairs (first, repeat) of columns with equal values.
pub fn repeated_columns(x: &Matrix<'_>) -> Vec<(usize, usize)> {
    // Two sums with different weights tell columns apart; equal sums are then compared value by value.
    let mut prints = vec![(0u64, 0u64); x.columns()];
    for row in 0..x.rows() {
        x.for_each(row, |j, v| {
            if v != 0.0 {
                let print = &mut prints[j];
                print.0 = mix(print.0 ^ v.to_bits() ^ (row as u64).rotate_left(32));
                print.1 = print.1.wrapping_add(mix(v.to_bits().wrapping_add(row as u64)));
            }
        });
    }
    let mut seen: HashMap<(u64, u64), usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (column, print) in prints.iter().enumerate() {
        match seen.get(print) {
            Some(&first) if (0..x.rows()).all(|row| x.get(row, first) == x.get(row, column)) => pairs.push((first, column)),
            Some(_) => {}
            None => {
                seen.insert(*print, column);
            }
        }
    }
    pairs
}

/// For every row its first equal row (itself if there is none before).
pub fn first_equal_rows(x: &Matrix<'_>) -> Vec<usize> {
    let mut seen: HashMap<Vec<u64>, usize> = HashMap::new();
    let key = |row: usize| {
        let mut key = Vec::new();
        x.for_each(row, |j, v| {
            if v != 0.0 {
                key.extend([j as u64, v.to_bits()]);
            }
        });
        key
    };
    (0..x.rows()).map(|row| *seen.entry(key(row)).or_insert(row)).collect()
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_the_same_dense_and_sparse() {
        let x = Matrix::from_rows(&[[1.0, 0.0, 5.0, 0.0], [3.0, 0.0, 5.0, 0.0], [0.0, 400.0, 5.0, 400.0]]).unwrap();
        let (dense, sparse) = (describe(&x), describe(&x.to_sparse()));
        for (a, b) in dense.iter().zip(&sparse) {
            assert!((a.mean - b.mean).abs() < 1e-12 && (a.deviation - b.deviation).abs() < 1e-9 && a.low == b.low && a.high == b.high);
        }
        assert!(dense[2].is_constant());
        assert_eq!(uneven(&dense).map(|(narrow, wide, _)| (narrow, wide)), Some((0, 3)));
        assert_eq!(repeated_columns(&x), [(1, 3)]);
        let rows = Matrix::from_rows(&[[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]).unwrap();
        assert_eq!(first_equal_rows(&rows), [0, 1, 0]);
    }
}
