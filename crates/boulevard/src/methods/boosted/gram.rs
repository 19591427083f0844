//! Squared distances, computed once and shared by all labels, folds, rounds and widths; kernel matrices made from them, one per width.
//!
//! Where the distances do not fit into the memory for kernel rows, rows come from the table, as for any other machine.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::{self, Kernel, KernelRows};
use crate::observe::Context;
use crate::random::Random;
use crate::simd::Real;
use crate::solver::{KernelSource, SMALL, TableKernel};

/// Bytes per pair of rows: the distance and its kernel value in both precisions.
const BYTES_PER_PAIR: usize = 20;
/// Rows whose distances give the median where not all of them are in memory.
const MEDIAN_ROWS: usize = 1000;
/// Stream of random numbers for those rows.
const MEDIAN_STREAM: u64 = 9_001;

/// The samples' distances, or the samples.
pub(super) struct Distances<'a> {
    x: &'a Matrix<'a>,
    context: Context<'a>,
    /// Row-major squares, all pairs.
    squares: Option<Arc<Vec<f64>>>,
    /// Kernel matrices in use, by the bits of sigma.
    levels: Mutex<HashMap<u64, Weak<Level<'a>>>>,
}

impl<'a> Distances<'a> {
    /// Distances of the rows of `x`, within `bytes` of memory.
    pub(super) fn new(x: &'a Matrix<'a>, bytes: usize, context: &Context<'a>) -> Result<Self> {
        let n = x.rows();
        let fits = n.saturating_mul(n).saturating_mul(BYTES_PER_PAIR) <= bytes;
        let squares = if fits { Some(Arc::new(squares(x, context)?)) } else { None };
        Ok(Self { x, context: *context, squares, levels: Mutex::default() })
    }

    /// Whether the distances are in memory.
    pub(super) fn are_resident(&self) -> bool {
        self.squares.is_some()
    }

    /// The kernel matrix of width `sigma`: the one somebody is using, or a new one. `whole` if all of it will be asked for again and
    /// again (the first width); else draws take only the values they need.
    pub(super) fn level(&self, sigma: f64, whole: bool) -> Arc<Level<'a>> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = levels.get(&sigma.to_bits()).and_then(Weak::upgrade) {
            return level;
        }
        let level = Arc::new(match &self.squares {
            Some(squares) => Level::Resident(Resident {
                squares: squares.clone(),
                rows: self.x.rows(),
                sigma,
                whole,
                context: self.context,
                columns: self.x.columns(),
                single: OnceLock::new(),
                double: OnceLock::new(),
            }),
            None => Level::Table(TableKernel::new(&kernel_of(sigma), self.x, &self.context)),
        });
        levels.insert(sigma.to_bits(), Arc::downgrade(&level));
        level
    }

    /// `sqrt(median / 2)` of the squared distances that are not zero (so that repeated rows change nothing), pairs counting with the
    /// product of their rows' weights. 1 if all rows are the same.
    pub(super) fn usual_sigma(&self, weights: &[f64], seed: u64) -> Result<f64> {
        let n = self.x.rows();
        let (values, rows): (Arc<Vec<f64>>, Vec<usize>) = match &self.squares {
            Some(squares) => (squares.clone(), (0..n).collect()),
            None => {
                let mut rows = Random::new(seed, MEDIAN_STREAM).permutation(n);
                rows.truncate(MEDIAN_ROWS);
                rows.sort_unstable();
                (Arc::new(squares(&self.x.select(&rows), &self.context)?), rows)
            }
        };
        if weights.windows(2).all(|pair| pair[0] == pair[1]) {
            let mut pairs: Vec<f64> = (0..rows.len()).flat_map(|i| values[i * rows.len() + i + 1..(i + 1) * rows.len()].to_vec()).collect();
            pairs.retain(|&square| square > 0.0);
            if pairs.is_empty() {
                return Ok(1.0);
            }
            let middle = pairs.len().div_ceil(2) - 1;
            return Ok((0.5 * *pairs.select_nth_unstable_by(middle, f64::total_cmp).1).sqrt());
        }
        let mut pairs = Vec::new();
        for i in 0..rows.len() {
            for j in i + 1..rows.len() {
                let square = values[i * rows.len() + j];
                if square > 0.0 {
                    pairs.push((square, weights[rows[i]] * weights[rows[j]]));
                }
            }
        }
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let half = 0.5 * pairs.iter().map(|pair| pair.1).sum::<f64>();
        let mut sum = 0.0;
        let median = pairs.iter().find(|pair| {
            sum += pair.1;
            sum >= half
        });
        Ok(median.map_or(1.0, |pair| (0.5 * pair.0).sqrt()))
    }
}

/// The kernel of a width: `exp(-|x - z|^2 / (2 sigma^2))`.
pub(super) fn kernel_of(sigma: f64) -> Kernel {
    Kernel::rbf(1.0 / (2.0 * sigma * sigma))
}

/// All squared distances, symmetric to the bit, zero on the diagonal.
fn squares(x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    // The multiquadric with constant 0 is the distance: its tiles serve dense and sparse tables.
    let rows = kernel::rows::<f64>(&Kernel::Multiquadric { gamma: 1.0.into(), coef0: 0.0 }, x, context)?;
    let n = x.rows();
    let mut all = kernel::whole(&*rows, context.threads, context)?;
    // Equal rows are at distance zero but for rounding, and nobody can tell rows that near apart.
    let largest = all.iter().fold(0.0, |a: f64, &v| if v.is_nan() { f64::INFINITY } else { a.max(v) });
    if !(largest * largest).is_finite() {
        return Err(Error::data("rows are so far apart that the squares of their distances overflow: scale the columns first"));
    }
    let nothing = 1e-13 * largest * largest;
    for i in 0..n {
        // Above the diagonal from the tiles, below it from above.
        for j in 0..n {
            let square = all[i * n + j] * all[i * n + j];
            all[i * n + j] = match j {
                j if j < i => all[j * n + i],
                j if j == i => 0.0,
                _ if square <= nothing => 0.0,
                _ => square,
            };
        }
    }
    Ok(all)
}

/// The kernel matrix of one width.
pub(super) enum Level<'a> {
    Resident(Resident<'a>),
    Table(TableKernel<'a>),
}

impl<'a> Level<'a> {
    /// As the solver sees it.
    pub(super) fn source(&self) -> &(dyn KernelSource + 'a) {
        match self {
            Self::Resident(resident) => resident,
            Self::Table(table) => table,
        }
    }

    /// Some of the samples.
    pub(super) fn subset<'s>(&'s self, samples: &[usize]) -> Result<Box<dyn KernelSource + 's>> {
        Ok(match self {
            Self::Resident(resident) => Box::new(resident.subset(samples)),
            Self::Table(table) => Box::new(table.subset(samples)?),
        })
    }

    /// `sum_s coefficient_s K[sample_s, i]` for every sample `i`.
    pub(super) fn weigh(&self, samples: &[usize], coefficients: &[f64]) -> Result<Vec<f64>> {
        let source = self.source();
        let n = source.len();
        Ok(match self {
            Self::Resident(resident) if !resident.whole => {
                let mut sums = vec![0.0; n];
                resident.weigh(samples, coefficients, &mut sums);
                sums
            }
            Self::Resident(_) => source.double()?.weighted_sum(samples, coefficients, 0..n),
            Self::Table(_) => source.single()?.weighted_sum(samples, coefficients, 0..n),
        })
    }
}

/// A kernel matrix from distances in memory; each precision is made when first asked for.
pub(super) struct Resident<'a> {
    squares: Arc<Vec<f64>>,
    rows: usize,
    sigma: f64,
    whole: bool,
    context: Context<'a>,
    columns: usize,
    single: OnceLock<Square<f32>>,
    double: OnceLock<Square<f64>>,
}

impl Resident<'_> {
    fn square<T: Real>(&self) -> Square<T> {
        let (n, lanes) = (self.rows, self.context.isa.lanes::<T>());
        let width = n.next_multiple_of(lanes);
        let mut values = vec![T::default(); n * width];
        for i in 0..n {
            let (above, row) = values.split_at_mut(i * width);
            // The matrix is symmetric: half of the exponentials do.
            (0..i).for_each(|j| row[j] = above[j * width + i]);
            let squares = &self.squares[i * n..(i + 1) * n];
            row[i..n].iter_mut().zip(&squares[i..]).for_each(|(to, &square)| *to = T::from_f64(self.value(square)));
        }
        Square { values, rows: n, columns: n, width, lanes }
    }

    /// The kernel at a squared distance.
    fn value(&self, square: f64) -> f64 {
        (-0.5 / (self.sigma * self.sigma) * square).exp()
    }

    /// Kernel values of some samples with each other, straight from the distances.
    fn gather<T: Real>(&self, samples: &[usize], lanes: usize) -> Square<T> {
        let (n, width) = (samples.len(), samples.len().next_multiple_of(lanes));
        let mut values = vec![T::default(); n * width];
        for i in 0..n {
            let (above, row) = values.split_at_mut(i * width);
            (0..i).for_each(|j| row[j] = above[j * width + i]);
            let squares = &self.squares[samples[i] * self.rows..];
            row[i..n].iter_mut().zip(&samples[i..]).for_each(|(to, &sample)| *to = T::from_f64(self.value(squares[sample])));
        }
        Square { values, rows: n, columns: n, width, lanes }
    }

    /// Adds `coefficient_s K[sample_s, i]` to every sum.
    fn weigh(&self, samples: &[usize], coefficients: &[f64], sums: &mut [f64]) {
        for (&sample, coefficient) in samples.iter().zip(coefficients) {
            let squares = &self.squares[sample * self.rows..(sample + 1) * self.rows];
            sums.iter_mut().zip(squares).for_each(|(sum, &square)| *sum += coefficient * self.value(square));
        }
    }

    fn subset(&self, samples: &[usize]) -> Subset {
        let lanes = [self.context.isa.lanes::<f32>(), self.context.isa.lanes::<f64>()];
        // Small problems are solved in double precision from the start.
        let large = samples.len() > SMALL;
        if !self.whole {
            let single = large.then(|| self.gather(samples, lanes[0]));
            return Subset { single, double: self.gather(samples, lanes[1]), columns: self.columns };
        }
        let whole = self.double.get_or_init(|| self.square());
        let single = large.then(|| whole.gather(samples, samples, lanes[0]));
        Subset { single, double: whole.gather(samples, samples, lanes[1]), columns: self.columns }
    }
}

impl KernelSource for Resident<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        Ok(vec![1.0; self.rows])
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        Ok(self.single.get_or_init(|| self.square()))
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        Ok(self.double.get_or_init(|| self.square()))
    }

    fn dimensions(&self) -> usize {
        self.columns
    }

    fn table_bytes(&self) -> usize {
        // Counted when the distances were made.
        0
    }
}

/// The kernel matrix of some samples.
struct Subset {
    single: Option<Square<f32>>,
    double: Square<f64>,
    columns: usize,
}

impl KernelSource for Subset {
    fn len(&self) -> usize {
        self.double.rows
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        Ok(vec![1.0; self.double.rows])
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        self.single.as_ref().map(|rows| rows as _).ok_or_else(|| crate::Error::data("small problems have no single precision rows"))
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        Ok(&self.double)
    }

    fn dimensions(&self) -> usize {
        self.columns
    }

    fn table_bytes(&self) -> usize {
        0
    }
}

/// A matrix of kernel values in memory; rows are padded to whole panels.
struct Square<T> {
    values: Vec<T>,
    rows: usize,
    columns: usize,
    width: usize,
    lanes: usize,
}

impl<T: Real> Square<T> {
    fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    fn gather<U: Real>(&self, rows: &[usize], columns: &[usize], lanes: usize) -> Square<U> {
        let width = columns.len().next_multiple_of(lanes);
        let mut values = vec![U::default(); rows.len() * width];
        for (to, &row) in values.chunks_exact_mut(width.max(1)).zip(rows) {
            let from = self.row(row);
            to.iter_mut().zip(columns).for_each(|(to, &column)| *to = U::from_f64(from[column].to_f64()));
        }
        Square { values, rows: rows.len(), columns: columns.len(), width, lanes }
    }
}

impl<T: Real> KernelRows<T> for Square<T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        for (&row, out) in rows.iter().zip(out) {
            out[..columns.len()].copy_from_slice(&self.row(row)[columns.clone()]);
        }
    }

    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        let stride = sums.len() / outputs;
        for (r, &row) in rows.iter().enumerate() {
            let values = &self.row(row)[columns.clone()];
            for (o, sums) in sums.chunks_exact_mut(stride).enumerate() {
                let weight = weights[o * rows.len() + r];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value.to_f64());
            }
        }
    }

    fn resident(&self, row: usize) -> Option<&[T]> {
        Some(self.row(row))
    }

    fn accuracy(&self) -> f64 {
        T::ROUNDING
    }

    fn work(&self) -> usize {
        1
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let rows: Vec<usize> = (0..self.rows).collect();
        Box::new(self.gather::<T>(&rows, columns, self.lanes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::generate;

    #[test]
    fn kernel_values_come_from_the_distances() {
        let data = generate::two_gaussians(50, 1, 3, 1.0);
        let context = Context::single();
        for x in [data.x.clone(), data.x.to_sparse()] {
            let near = Distances::new(&x, 1 << 20, &context).unwrap();
            let far = Distances::new(&x, 0, &context).unwrap();
            assert!(near.are_resident() && !far.are_resident());
            let weights = vec![1.0; 50];
            let sigma = near.usual_sigma(&weights, 0).unwrap();
            assert_eq!(sigma, far.usual_sigma(&weights, 0).unwrap());
            let (a, b, c) = (near.level(sigma, true), far.level(sigma, true), near.level(0.7 * sigma, false));
            let coefficients: Vec<f64> = (0..50).map(|i| i as f64 - 20.0).collect();
            let all: Vec<usize> = (0..50).collect();
            let (a, b) = (a.weigh(&all, &coefficients).unwrap(), b.weigh(&all, &coefficients).unwrap());
            a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-3, "{a} {b}"));
            // Values taken one by one are those of the whole matrix.
            let whole = c.source().double().unwrap().resident(7).unwrap()[9];
            let some = c.subset(&[3, 7, 9]).unwrap();
            assert_eq!(some.double().unwrap().resident(1).unwrap()[2], whole);
            let mut unit = vec![0.0; 50];
            unit[7] = 1.0;
            assert_eq!(c.weigh(&all, &unit).unwrap()[9], whole);
        }
        let same = Matrix::from_rows(&[[1.0], [1.0]]).unwrap();
        assert_eq!(Distances::new(&same, 1 << 20, &context).unwrap().usual_sigma(&[1.0, 1.0], 0).unwrap(), 1.0);
    }

    #[test]
    fn a_repeated_row_is_a_weight() {
        let data = generate::two_gaussians(20, 1, 2, 1.0);
        let weights: Vec<f64> = (0..20).map(|i| (i % 3 + 1) as f64).collect();
        let repeated: Vec<usize> = (0..20).flat_map(|i| std::iter::repeat_n(i, i % 3 + 1)).collect();
        let (context, many) = (Context::single(), data.x.select(&repeated));
        let a = Distances::new(&data.x, 1 << 20, &context).unwrap().usual_sigma(&weights, 0).unwrap();
        let b = Distances::new(&many, 1 << 20, &context).unwrap().usual_sigma(&vec![1.0; many.rows()], 0).unwrap();
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
}
