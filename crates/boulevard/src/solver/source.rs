//! Where a solver gets kernel rows from, in both precisions, made when first asked for.

use std::sync::OnceLock;

use super::blocks::CardCopy;
use crate::data::Matrix;
use crate::error::Result;
use crate::kernel::{self, GramRows, Kernel, KernelRows, RoundedRows, SubsetRows};
use crate::observe::Context;
use crate::simd::Real;

/// Problems up to this size are solved in double precision from the whole kernel matrix, finished exactly, and their machines predict in
/// double precision: all of it is cheap. One number for all three: an exact solution that is then evaluated roughly helps nobody.
pub(crate) const SMALL: usize = 600;

/// Features from which reading a kernel matrix from memory is faster than computing it again.
const SHARED_FROM: usize = 128;

/// What is done with rows in double precision: the kernel, and the numbers that the rows asked for have in it.
pub type ExactWork<'a> = dyn FnMut(&dyn KernelRows<f64>, &[usize]) + 'a;

/// The table that a kernel matrix is computed from.
pub struct TableView<'a> {
    /// The kernel, resolved.
    pub kernel: &'a Kernel,
    /// The table.
    pub x: &'a Matrix<'a>,
    /// The table's row of every sample; none if they are the same.
    pub rows: Option<Vec<usize>>,
}

impl TableView<'_> {
    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.rows.as_ref().map_or_else(|| self.x.rows(), Vec::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table's row of a sample.
    pub fn sample(&self, sample: usize) -> usize {
        self.rows.as_ref().map_or(sample, |rows| rows[sample])
    }

    /// Some of the samples, in any order and number.
    pub fn select(self, samples: &[usize]) -> Self {
        let rows = samples.iter().map(|&sample| self.sample(sample)).collect();
        Self { rows: Some(rows), ..self }
    }
}

/// The kernel matrix of one set of samples.
pub trait KernelSource: Sync {
    /// Number of samples.
    fn len(&self) -> usize;
    /// Whether there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// `k(x, x)` of every sample.
    fn diagonal(&self) -> Result<Vec<f64>>;
    /// Rows in single precision.
    fn single(&self) -> Result<&dyn KernelRows<f32>>;
    /// Rows in double precision.
    fn double(&self) -> Result<&dyn KernelRows<f64>>;
    /// Features per sample, for the choice between keeping and recomputing rows.
    fn dimensions(&self) -> usize;
    /// Whether `k(x, z) = k(z, x)` by the kernel's formula; a matrix or function that was given may be anything.
    fn symmetric(&self) -> bool {
        false
    }
    /// Whether every kernel matrix is positive semi-definite, see [`Kernel::is_positive_semidefinite`].
    fn is_positive_semidefinite(&self) -> Option<bool> {
        Some(false)
    }
    /// Calls `work` with rows `rows` and columns `columns` in double precision.
    fn exact(&self, rows: &[usize], columns: &[usize], work: &mut ExactWork<'_>) -> Result<()> {
        work(&*self.double()?.restrict(columns), rows);
        Ok(())
    }
    /// The table behind the matrix, for engines that have their own way with it; none where values are given or changed.
    fn table(&self) -> Option<TableView<'_>> {
        None
    }
    /// The table's copy on a card, where several solvers share one.
    fn card_copy(&self) -> Option<&CardCopy> {
        None
    }
    /// Bytes that packed tables take, in both precisions and both layouts.
    fn table_bytes(&self) -> usize {
        self.len().saturating_mul(self.dimensions()).saturating_mul(2 * (size_of::<f32>() + size_of::<f64>()))
    }
}

type Lazy<'a, T> = OnceLock<Box<dyn KernelRows<T> + 'a>>;

fn get<'s, 'a, T: Real>(
    cell: &'s Lazy<'a, T>,
    make: impl FnOnce() -> Result<Box<dyn KernelRows<T> + 'a>>,
) -> Result<&'s (dyn KernelRows<T> + 'a)> {
    if cell.get().is_none() {
        // Two threads may both make it; the first one's stays.
        let _ = cell.set(make()?);
    }
    Ok(&**cell.get().expect("just set"))
}

/// A kernel on a table.
pub struct TableKernel<'a> {
    kernel: Kernel,
    x: &'a Matrix<'a>,
    context: Context<'a>,
    diagonal: OnceLock<Vec<f64>>,
    single: Lazy<'a, f32>,
    double: Lazy<'a, f64>,
    rounded: bool,
    in_parts: bool,
    copy: Option<&'a CardCopy>,
}

impl<'a> TableKernel<'a> {
    /// `kernel` must be resolved ([`Kernel::resolve`]).
    pub fn new(kernel: &Kernel, x: &'a Matrix<'a>, context: &Context<'a>) -> Self {
        let (diagonal, single, double) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { kernel: kernel.clone(), x, context: *context, diagonal, single, double, rounded: false, in_parts: false, copy: None }
    }

    /// Several solvers share the table's copy on a card.
    pub fn sharing(self, copy: &'a CardCopy) -> Self {
        Self { copy: Some(copy), ..self }
    }

    /// Whether double precision rows hold values rounded to single precision, as LIBSVM keeps them.
    pub fn rounded(self, rounded: bool) -> Self {
        Self { rounded, ..self }
    }

    /// Its subsets are asked for rows, it itself hardly is: machines for pairs of classes.
    pub(crate) fn in_parts(self, in_parts: bool) -> Self {
        Self { in_parts, ..self }
    }

    fn rows<T: Real>(&self) -> Result<Box<dyn KernelRows<T> + 'a>> {
        if self.in_parts {
            kernel::rows_in_parts(&self.kernel, self.x, &self.context)
        } else {
            kernel::rows(&self.kernel, self.x, &self.context)
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// `k(x, x)` of every sample, computed once: hundreds of pairs of classes ask for their part of it.
    fn whole_diagonal(&self) -> Result<&[f64]> {
        if self.diagonal.get().is_none() {
            // Two threads may both compute it; the first one's stays.
            let _ = self.diagonal.set(kernel::diagonal(&self.kernel, self.x)?);
        }
        Ok(self.diagonal.get().expect("just set"))
    }

    /// Some of the samples; tables are not copied, only packed anew.
    pub fn subset<'s>(&'s self, samples: &[usize]) -> Result<SubsetKernel<'s>> {
        let diagonal = self.whole_diagonal()?;
        Ok(SubsetKernel {
            whole: self,
            samples: samples.to_vec(),
            diagonal: samples.iter().map(|&s| diagonal[s]).collect(),
            single: OnceLock::new(),
            double: OnceLock::new(),
            groups: None,
            context: self.context,
        })
    }
}

/// Some of the samples of a [`TableKernel`].
pub struct SubsetKernel<'a> {
    whole: &'a dyn KernelSource,
    samples: Vec<usize>,
    diagonal: Vec<f64>,
    single: OnceLock<SubsetRows<'a, f32>>,
    double: Lazy<'a, f64>,
    groups: Option<(&'a GroupMatrices, [usize; 2])>,
    context: Context<'a>,
}

/// The kernel matrices of groups of samples, made when first asked for: with one machine per pair of classes, half of every pair's matrix
/// is that of its classes, and the same in all their other pairs.
///
/// (Rows of larger problems could be shared in the same way. That was tried: on usps it gained nothing, on letter it lost a tenth, because
/// keeping a row costs what computing it does and few rows are needed by many pairs.)
pub(crate) struct GroupMatrices {
    samples: Vec<Vec<usize>>,
    matrices: Vec<OnceLock<GramRows>>,
}

impl GroupMatrices {
    pub(crate) fn new(samples: Vec<Vec<usize>>) -> Self {
        Self { matrices: samples.iter().map(|_| OnceLock::new()).collect(), samples }
    }

    /// The samples of a group.
    pub(crate) fn samples(&self, group: usize) -> &[usize] {
        &self.samples[group]
    }

    fn get(&self, group: usize, whole: &dyn KernelRows<f64>, context: &Context<'_>) -> Result<&GramRows> {
        if self.matrices[group].get().is_none() {
            // Two threads may both make it; the first one's stays.
            let _ = self.matrices[group].set(GramRows::new(&SubsetRows::new(whole, &self.samples[group]), true, false, context)?);
        }
        Ok(self.matrices[group].get().expect("just set"))
    }
}

impl<'a> SubsetKernel<'a> {
    /// The samples are those of two groups, one after the other; matrices within groups are shared with other subsets.
    pub(crate) fn of_groups(self, matrices: &'a GroupMatrices, groups: [usize; 2]) -> Self {
        Self { groups: Some((matrices, groups)), ..self }
    }
}

impl KernelSource for SubsetKernel<'_> {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        Ok(self.diagonal.clone())
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        let whole = self.whole.single()?;
        Ok(self.single.get_or_init(|| SubsetRows::new(whole, &self.samples)))
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        let whole = self.whole.double()?;
        get(&self.double, || {
            let rows = SubsetRows::new(whole, &self.samples);
            let symmetric = self.whole.symmetric();
            Ok(match &self.groups {
                _ if self.len() > SMALL => Box::new(rows),
                Some((matrices, groups)) if symmetric && self.dimensions() >= SHARED_FROM => {
                    let of = [matrices.get(groups[0], whole, &self.context)?, matrices.get(groups[1], whole, &self.context)?];
                    Box::new(GramRows::of_groups(&rows, of, &self.context)?)
                }
                _ => Box::new(GramRows::new(&rows, symmetric, false, &self.context)?),
            })
        })
    }

    fn dimensions(&self) -> usize {
        self.whole.dimensions()
    }

    fn symmetric(&self) -> bool {
        self.whole.symmetric()
    }

    fn is_positive_semidefinite(&self) -> Option<bool> {
        self.whole.is_positive_semidefinite()
    }

    fn table(&self) -> Option<TableView<'_>> {
        Some(self.whole.table()?.select(&self.samples))
    }

    fn exact(&self, rows: &[usize], columns: &[usize], work: &mut ExactWork<'_>) -> Result<()> {
        let samples = |chosen: &[usize]| -> Vec<usize> { chosen.iter().map(|&k| self.samples[k]).collect() };
        self.whole.exact(&samples(rows), &samples(columns), work)
    }
}

impl KernelSource for TableKernel<'_> {
    fn len(&self) -> usize {
        self.x.rows()
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        self.whole_diagonal().map(<[f64]>::to_vec)
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        get(&self.single, || self.rows())
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        get(&self.double, || {
            let rows = self.rows()?;
            Ok(match (self.len() <= SMALL, self.rounded) {
                (true, rounded) => Box::new(GramRows::new(&*rows, self.symmetric(), rounded, &self.context)?),
                (false, true) => Box::new(RoundedRows::new(rows)),
                (false, false) => rows,
            })
        })
    }

    fn dimensions(&self) -> usize {
        self.x.columns()
    }

    fn symmetric(&self) -> bool {
        self.kernel.form().symmetric
    }

    fn is_positive_semidefinite(&self) -> Option<bool> {
        self.kernel.is_positive_semidefinite()
    }

    fn table(&self) -> Option<TableView<'_>> {
        // Values rounded as LIBSVM keeps them are not the kernel's.
        (!self.rounded).then_some(TableView { kernel: &self.kernel, x: self.x, rows: None })
    }

    fn card_copy(&self) -> Option<&CardCopy> {
        self.copy
    }

    /// From the few rows that are asked for: whole tables in double precision would be two thirds of a large fit's memory.
    fn exact(&self, rows: &[usize], columns: &[usize], work: &mut ExactWork<'_>) -> Result<()> {
        if self.rounded || self.len() <= SMALL || matches!(self.kernel, Kernel::Precomputed | Kernel::Custom(_)) {
            work(&*self.double()?.restrict(columns), rows);
            return Ok(());
        }
        let (training, x) = (self.x.select(rows), self.x.select(columns));
        let kernel = kernel::cross::<f64>(&self.kernel, &training, &[], &x, &self.context)?;
        work(&*kernel, &(0..rows.len()).collect::<Vec<_>>());
        Ok(())
    }

    fn table_bytes(&self) -> usize {
        let values = match self.x {
            Matrix::Sparse(csr) if self.x.columns() > 512 => csr.values().len().saturating_mul(2),
            // A given matrix is read where it is.
            _ if matches!(self.kernel, Kernel::Precomputed) => 0,
            x => x.rows().saturating_mul(x.columns()),
        };
        values.saturating_mul(2 * (size_of::<f32>() + size_of::<f64>()))
    }
}
