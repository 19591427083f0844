//! More columns than rows: the problem in as many columns as there are independent rows.
//!
//! With `K = X X' = L L'` (Cholesky with pivots, so `L` has as many columns as `K` has rank) the rows of `L` have the same inner products
//! as those of `X`, so the problem on `L` has the same optimum. Its weights `v` come back as `w = X_P' L_P^-T v` with `P` the
//! pivot rows. Costs `rows^2 * columns` once, then everything is `rows` wide.

use super::table::LinearTable;
use crate::data::Matrix;
use crate::error::Result;
use crate::linalg::{self, Part, Shape, View, add_product_in, mirror_in};
use crate::observe::{Context, PIECE};
use crate::simd::{Isa, Job, Real, Simd};

/// The rows rewritten in fewer columns.
pub(super) struct Reduced<'a> {
    pub(super) table: LinearTable<'a>,
    pivots: Vec<usize>,
    /// The pivots' rows of the factor, lower triangular.
    corner: Vec<f64>,
}

/// Columns of the table that are multiplied at a time.
const STRIP: usize = 512;
/// Added to the diagonal, relative to its largest value, instead of looking for pivots.
const RIDGE: f64 = 1e-12;

impl<'a> Reduced<'a> {
    /// `exact`: by pivots. Otherwise with a tiny ridge instead, which is faster and nearly always good enough; the certificate on the
    /// original rows tells.
    pub(super) fn new(table: &LinearTable<'a>, exact: bool) -> Result<Self> {
        let context = *table.context();
        let n = table.rows();
        let mut kernel = kernel_matrix(table)?;
        if !exact {
            let ridge = RIDGE * (0..n).map(|i| kernel[i * n + i]).fold(0.0, f64::max);
            let mut factor = kernel.clone();
            (0..n).for_each(|i| factor[i * n + i] += ridge);
            if ridge > 0.0 && linalg::cholesky_in(&mut factor, n, &context)? {
                (0..n).for_each(|i| factor[i * n + i + 1..(i + 1) * n].fill(0.0));
                let corner = factor.clone();
                let table = LinearTable::plain(Matrix::dense(factor, n, n).expect("as many values as it says"), context);
                return Ok(Self { table, pivots: (0..n).collect(), corner });
            }
        }
        let pivots = f64::dispatch(Isa::detect(), Pivoted { kernel: &mut kernel, n, context: &context })?;
        let rank = pivots.len();
        let mut values = vec![0.0; n * rank];
        for (k, &pivot) in pivots.iter().enumerate() {
            (0..n).for_each(|i| values[i * rank + k] = kernel[pivot * n + i]);
        }
        let corner = pivots.iter().flat_map(|&pivot| values[pivot * rank..(pivot + 1) * rank].to_vec()).collect();
        let table = LinearTable::plain(Matrix::dense(values, n, rank).expect("as many values as it says"), context);
        Ok(Self { table, pivots, corner })
    }

    /// Weights for the original columns.
    pub(super) fn weights(&self, original: &LinearTable<'_>, v: &[f64]) -> Result<Vec<f64>> {
        let rank = self.pivots.len();
        let mut solved = v.to_vec();
        for i in (0..rank).rev() {
            solved[i] /= self.corner[i * rank + i];
            let value = solved[i];
            solved[..i].iter_mut().zip(&self.corner[i * rank..]).for_each(|(s, l)| *s -= value * l);
        }
        let mut combination = vec![0.0; original.rows()];
        self.pivots.iter().zip(&solved).for_each(|(&row, &value)| combination[row] = value);
        original.backward(&combination)
    }

    /// Starting weights for the reduced columns that give the same margins as `w` as nearly as possible.
    pub(super) fn start(&self, original: &LinearTable<'_>, w: &[f64]) -> Result<Vec<f64>> {
        // L_P v = X_P w by forward substitution.
        let margins = original.forward(w)?;
        let rank = self.pivots.len();
        let mut v: Vec<f64> = self.pivots.iter().map(|&row| margins[row]).collect();
        for i in 0..rank {
            let known: f64 = v[..i].iter().zip(&self.corner[i * rank..]).map(|(v, l)| v * l).sum();
            v[i] = (v[i] - known) / self.corner[i * rank + i];
        }
        Ok(v)
    }
}

fn kernel_matrix(table: &LinearTable<'_>) -> Result<Vec<f64>> {
    let (n, d) = (table.rows(), table.columns());
    let mut kernel = vec![0.0; n * n];
    let mut row = vec![0.0; d];
    let mut strip = Vec::new();
    for from in (0..d).step_by(STRIP) {
        let width = STRIP.min(d - from);
        strip.clear();
        table.context().go_on("solve")?;
        for i in 0..n {
            table.copy_part(i, from..from + width, &mut row);
            strip.extend_from_slice(&row[..width]);
        }
        let view = View::new(&strip, width);
        let shape = Shape { rows: n, columns: n, depth: width };
        add_product_in(&mut kernel, n, shape, 1.0, [view, view.transposed()], Part::Lower, table.context())?;
    }
    mirror_in(&mut kernel, n, n, table.context())?;
    Ok(kernel)
}

/// Cholesky with pivots: row `p` of the kernel matrix becomes the factor's column of pivot `p`. Returns the pivots in order.
struct Pivoted<'a> {
    kernel: &'a mut [f64],
    n: usize,
    context: &'a Context<'a>,
}

impl Job<f64> for Pivoted<'_> {
    type Output = Result<Vec<usize>>;

    #[inline(always)]
    fn run<S: Simd<f64>>(self, _: S) -> Result<Vec<usize>> {
        let n = self.n;
        let mut left: Vec<f64> = (0..n).map(|i| self.kernel[i * n + i]).collect();
        let smallest = 1e-13 * left.iter().copied().fold(0.0, f64::max);
        let mut pivots: Vec<usize> = Vec::new();
        while let Some(pivot) = (0..n).max_by(|&a, &b| left[a].total_cmp(&left[b]))
            && left[pivot] > smallest
        {
            if n * pivots.len() > PIECE / 16 {
                self.context.go_on("solve")?;
            }
            let mut column = self.kernel[pivot * n..(pivot + 1) * n].to_vec();
            for &earlier in &pivots {
                let known = &self.kernel[earlier * n..(earlier + 1) * n];
                let factor = known[pivot];
                column.iter_mut().zip(known).for_each(|(c, k)| *c -= factor * k);
            }
            let root = left[pivot].sqrt();
            column.iter_mut().for_each(|c| *c /= root);
            column[pivot] = root;
            pivots.iter().for_each(|&earlier| column[earlier] = 0.0);
            left.iter_mut().zip(&column).for_each(|(l, c)| *l -= c * c);
            pivots.push(pivot);
            pivots.iter().for_each(|&p| left[p] = f64::NEG_INFINITY);
            self.kernel[pivot * n..(pivot + 1) * n].copy_from_slice(&column);
        }
        Ok(pivots)
    }
}
