//! Kernel rows from sparse tables, for data too wide to be spread out.
//!
//! A few query rows are scattered into a dense buffer (one line of four values per column of the table); every sample then visits only
//! its own stored values.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::pack::{Recipe, check_distances, check_starts};
use super::rows::KernelRows;
use crate::data::Csr;
use crate::error::Result;
use crate::observe::Context;
use crate::simd::tile::{self, Combine, Formula, TILE_ROWS};
use crate::simd::{Isa, Real};

/// Whether tiles over the spread-out table are faster than visiting stored values.
pub(super) fn is_better_dense(x: &Csr<'_>) -> bool {
    let (rows, columns) = (x.offsets().len() - 1, x.columns());
    let stored = x.values().len().div_ceil(rows.max(1));
    // A tile does 64 columns at once where a scattered visit does four rows: one stored value costs about as much as eight dense ones.
    // A dense copy above a gigabyte is never made.
    (columns <= 512 || stored * 8 >= columns) && rows.saturating_mul(columns) < 1 << 28
}

/// Stored values, scaled, with start values as in `pack.rs`.
struct Stored<T> {
    offsets: Vec<usize>,
    entries: Vec<(u32, T)>,
    starts: Vec<T>,
    /// `sum_k combine(x_k, 0)`: what columns without a stored value on the other side contribute.
    alone: Vec<T>,
}

impl<T: Real> Stored<T> {
    fn new(recipe: &Recipe<T>, x: &Csr<'_>, numbers: &Numbers) -> Self {
        let entries: Vec<(u32, T)> =
            x.indices().iter().zip(x.values()).map(|(&j, &v)| (numbers.of(j), T::from_f64(v * recipe.scale()))).collect();
        let rows = x.offsets().len() - 1;
        let (mut starts, mut alone) = (vec![T::default(); rows], vec![T::default(); rows]);
        for row in 0..rows {
            let values = || entries[x.offsets()[row]..x.offsets()[row + 1]].iter().map(|(_, v)| v.to_f64());
            if recipe.is_distance() {
                starts[row] = T::from_f64(-0.5 * values().map(|v| v * v).sum::<f64>());
            }
            if recipe.formula.combine != Combine::Product {
                alone[row] = T::from_f64(values().map(f64::abs).sum());
            }
        }
        Self { offsets: x.offsets().to_vec(), entries, starts, alone }
    }

    fn select(&self, rows: &[usize]) -> Self {
        let (mut offsets, mut entries) = (vec![0], Vec::new());
        for &row in rows {
            entries.extend_from_slice(self.row(row));
            offsets.push(entries.len());
        }
        let pick = |values: &[T]| rows.iter().map(|&row| values[row]).collect();
        Self { offsets, entries, starts: pick(&self.starts), alone: pick(&self.alone) }
    }

    fn row(&self, row: usize) -> &[(u32, T)] {
        &self.entries[self.offsets[row]..self.offsets[row + 1]]
    }
}

/// The numbers that columns go by: their own, or, where few of very many columns hold values, their rank among those that do. Buffers
/// then grow with the values that are there, not with a column number that somebody wrote into a file.
enum Numbers {
    Own(usize),
    Ranks(Vec<u32>),
}

impl Numbers {
    /// Columns per stored value from which ranks are used.
    const SCATTERED: usize = 4;

    fn new(tables: &[&Csr<'_>]) -> Self {
        let columns = tables.iter().map(|x| x.columns()).max().unwrap_or(0);
        let stored: usize = tables.iter().map(|x| x.values().len()).sum();
        if columns <= 1024 || columns / Self::SCATTERED <= stored {
            return Self::Own(columns);
        }
        let mut used: Vec<u32> = tables.iter().flat_map(|x| x.indices().iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        Self::Ranks(used)
    }

    fn count(&self) -> usize {
        match self {
            Self::Own(columns) => *columns,
            Self::Ranks(used) => used.len(),
        }
    }

    fn of(&self, column: u32) -> u32 {
        match self {
            Self::Own(_) => column,
            Self::Ranks(used) => used.binary_search(&column).expect("all columns in use were collected") as u32,
        }
    }
}

/// Kernel values between sparse tables.
pub(super) struct SparseRows<T> {
    formula: Formula<T>,
    queries: Arc<Stored<T>>,
    columns: Option<Stored<T>>,
    dimensions: usize,
    /// Buffers of earlier calls, all zeros: clearing fresh memory for every four rows costs more than four rows of few values.
    spare: Mutex<Vec<Lines<T>>>,
    isa: Isa,
}

/// One line of four values per column.
type Lines<T> = Vec<[T; TILE_ROWS]>;

impl<T: Real> SparseRows<T> {
    pub(super) fn new(recipe: &Recipe<T>, rows: &Csr<'_>, columns: Option<&Csr<'_>>, context: &Context<'_>) -> Result<Self> {
        let mut meter = context.meter("prepare");
        let tables: Vec<&Csr<'_>> = std::iter::once(rows).chain(columns).collect();
        let stored = 8 * tables.iter().map(|x| x.values().len()).sum::<usize>();
        let numbers = Numbers::new(&tables);
        meter.spend(stored)?;
        let columns = columns.map(|columns| Stored::new(recipe, columns, &numbers));
        meter.spend(stored)?;
        let queries = Arc::new(Stored::new(recipe, rows, &numbers));
        check_starts(recipe, &queries.starts)?;
        if columns.is_none() {
            check_distances(recipe, &queries.starts)?;
        }
        columns.as_ref().map_or(Ok(()), |columns| check_starts(recipe, &columns.starts))?;
        meter.spend(stored)?;
        Ok(Self { formula: recipe.formula, queries, columns, dimensions: numbers.count(), spare: Mutex::default(), isa: context.isa })
    }

    fn other(&self) -> &Stored<T> {
        self.columns.as_ref().unwrap_or(&*self.queries)
    }
}

impl<T: Real> KernelRows<T> for SparseRows<T> {
    fn rows(&self) -> usize {
        self.queries.starts.len()
    }

    fn columns(&self) -> usize {
        self.other().starts.len()
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        let zero = [0.0f64; TILE_ROWS];
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut lines = spare.unwrap_or_else(|| vec![[T::default(); TILE_ROWS]; self.dimensions]);
        for (rows, out) in rows.chunks(TILE_ROWS).zip(out.chunks_mut(TILE_ROWS)) {
            for (r, &row) in rows.iter().enumerate() {
                for &(j, v) in self.queries.row(row) {
                    lines[j as usize][r] = v;
                }
            }
            for (place, c) in columns.clone().enumerate() {
                let mut sums = zero;
                for &(j, v) in self.other().row(c) {
                    let (line, v) = (&lines[j as usize], v.to_f64());
                    for r in 0..TILE_ROWS {
                        let q = line[r].to_f64();
                        sums[r] += match self.formula.combine {
                            Combine::Product => q * v,
                            Combine::Distance => (q - v).abs() - q.abs(),
                            Combine::ChiSquared if q + v > 0.0 => (q - v) * (q - v) / (q + v) - q,
                            Combine::ChiSquared => 0.0,
                        };
                    }
                }
                for (r, (&row, out)) in rows.iter().zip(out.iter_mut()).enumerate() {
                    let start = self.queries.starts[row].to_f64() + self.other().starts[c].to_f64();
                    out[place] = T::from_f64(start + self.queries.alone[row].to_f64() + sums[r]);
                }
            }
            for out in out.iter_mut() {
                tile::apply(self.isa, &self.formula.finish, &mut out[..columns.len()]);
            }
            for &row in rows {
                for &(j, _) in self.queries.row(row) {
                    lines[j as usize] = [T::default(); TILE_ROWS];
                }
            }
        }
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(lines);
    }

    fn work(&self) -> usize {
        // A stored value waits for its line where a dense one is already there.
        16 + 4 * self.other().entries.len() / self.other().starts.len().max(1)
    }

    fn accuracy(&self) -> f64 {
        let largest = self.queries.starts.iter().fold(0.0, |a: f64, s| a.max(s.to_f64().abs()));
        let norm =
            (0..self.rows()).map(|r| self.queries.row(r).iter().map(|(_, v)| v.to_f64() * v.to_f64()).sum::<f64>()).fold(0.0, f64::max);
        T::ROUNDING * (4.0 + 3.0 * largest.max(norm))
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        Box::new(Self {
            formula: self.formula,
            queries: Arc::clone(&self.queries),
            columns: Some(self.other().select(columns)),
            dimensions: self.dimensions,
            spare: Mutex::default(),
            isa: self.isa,
        })
    }
}
