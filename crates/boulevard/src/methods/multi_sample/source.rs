//! The kernel matrix of an extended training set, as the solver sees it: one base matrix of single samples serves every tuple, fold and C.

use std::sync::{Arc, OnceLock};

use super::tuples::Tuples;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::permanent::{self, Base, BaseGram, Normalization, Rule, SetRows};
use crate::kernel::{self, GramRows, Kernel, KernelRows};
use crate::observe::Context;
use crate::simd::Real;
use crate::solver::{KernelSource, SMALL};

/// The base matrix is kept in both precisions, or else in single precision alone, or else not at all: as takes at most this, or half of
/// the memory allowed.
const MOST_BYTES: usize = 512 << 20;

/// Products that a whole matrix of tuples may take at once; larger ones are made row by row as the solver asks.
const MOST_AT_ONCE: usize = 1 << 31;

/// The base kernel of a table of single samples.
pub(super) struct BaseKernel<'a> {
    kernel: Kernel,
    rule: Rule,
    normalization: Normalization,
    x: &'a Matrix<'a>,
    context: Context<'a>,
    double_gram: Option<Arc<BaseGram<f64>>>,
    /// Whether there is room for the matrix in single precision.
    keeps_single: bool,
    single_gram: OnceLock<Arc<BaseGram<f32>>>,
    double_rows: OnceLock<Arc<dyn KernelRows<f64> + 'a>>,
    single_rows: OnceLock<Arc<dyn KernelRows<f32> + 'a>>,
    /// Largest `k(x, x)`, and the error of base values in double precision.
    largest: f64,
    accuracy: f64,
}

impl<'a> BaseKernel<'a> {
    /// `kernel` must be resolved. The matrix of all pairs of samples is computed here, if there is room for it.
    pub(super) fn new(
        kernel: &Kernel,
        normalization: Normalization,
        symmetric: bool,
        x: &'a Matrix<'a>,
        context: &Context<'a>,
    ) -> Result<Self> {
        let (rule, base) = permanent::rule(kernel, normalization);
        let rule = if symmetric { rule } else { rule.ordered() };
        let most = context.memory.map_or(MOST_BYTES, |memory| MOST_BYTES.min(memory / 2));
        let pairs = x.rows().saturating_mul(x.rows());
        let keep = pairs.saturating_mul(size_of::<f64>() + size_of::<f32>()) <= most;
        let keeps_single = keep || pairs.saturating_mul(size_of::<f32>()) <= most;
        let rows = kernel::rows::<f64>(&base, x, context)?;
        let largest = kernel::diagonal(&base, x)?.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        let accuracy = rows.accuracy();
        let double_rows = OnceLock::new();
        let double_gram = if keep {
            Some(Arc::new(BaseGram::new(&*rows, context)?))
        } else {
            let _ = double_rows.set(Arc::from(rows));
            None
        };
        Ok(Self {
            kernel: base,
            rule,
            normalization,
            x,
            context: *context,
            double_gram,
            keeps_single,
            single_gram: OnceLock::new(),
            double_rows,
            single_rows: OnceLock::new(),
            largest,
            accuracy,
        })
    }

    pub(super) fn lanes(&self) -> usize {
        self.context.isa.lanes::<f64>()
    }

    pub(super) fn is_cosine(&self) -> bool {
        self.normalization == Normalization::Cosine
    }

    fn double_base(&self) -> Base<'a, f64> {
        match &self.double_gram {
            Some(gram) => Base::Gram(Arc::clone(gram)),
            None => Base::Rows(Arc::clone(self.double_rows.get().expect("made where no matrix is kept"))),
        }
    }

    fn single_base(&self) -> Result<Base<'a, f32>> {
        if let Some(gram) = &self.double_gram {
            return Ok(Base::Gram(Arc::clone(self.single_gram.get_or_init(|| Arc::new(gram.single(self.context.isa))))));
        }
        if let Some(gram) = self.single_gram.get() {
            return Ok(Base::Gram(Arc::clone(gram)));
        }
        if self.keeps_single {
            let rows = kernel::rows::<f32>(&self.kernel, self.x, &self.context)?;
            let gram = Arc::new(BaseGram::new(&*rows, &self.context)?);
            return Ok(Base::Gram(Arc::clone(self.single_gram.get_or_init(|| gram))));
        }
        if self.single_rows.get().is_none() {
            let _ = self.single_rows.set(Arc::from(kernel::rows::<f32>(&self.kernel, self.x, &self.context)?));
        }
        Ok(Base::Rows(Arc::clone(self.single_rows.get().expect("just set"))))
    }

    /// Values between two lists of tuples, in double precision.
    pub(super) fn between(&self, rows: &Tuples, columns: &Tuples) -> Result<SetRows<'a, f64>> {
        let (row_sets, column_sets) = (Arc::new(rows.members.clone()), Arc::new(columns.members.clone()));
        let sets =
            SetRows::new(self.double_base(), self.rule, rows.k, row_sets, column_sets, [self.accuracy, self.largest], self.context.isa);
        Ok(match self.normalization {
            Normalization::Mean => sets,
            Normalization::Cosine => sets.cosine(&self.own_values(rows)?, &self.own_values(columns)?),
        })
    }

    /// Every tuple's value with itself, before normalization.
    pub(super) fn own_values(&self, tuples: &Tuples) -> Result<Vec<f64>> {
        let k = tuples.k;
        let mut m = vec![0.0; k * k];
        let width = self.x.columns();
        let (mut a, mut b) = (vec![0.0; width], vec![0.0; width]);
        let mut meter = self.context.meter("sets");
        tuples
            .members
            .chunks_exact(k)
            .map(|tuple| {
                meter.spend(2 * (k << k) + k * k)?;
                for (r, &row) in tuple.iter().enumerate() {
                    for (c, &column) in tuple.iter().enumerate() {
                        m[r * k + c] = match (&self.double_gram, &self.kernel) {
                            (Some(gram), _) => gram.get(row as usize, column as usize),
                            (None, Kernel::Precomputed) => self.x.get(row as usize, column as usize),
                            (None, kernel) => {
                                self.x.copy_row(row as usize, &mut a);
                                self.x.copy_row(column as usize, &mut b);
                                kernel.evaluate(&a, &b)?
                            }
                        };
                    }
                }
                let value = permanent::value(self.rule, &m, k);
                if value.is_finite() {
                    Ok(value)
                } else {
                    Err(Error::overflow(format!(
                        "the kernel of sets of {k} samples overflows ({value}): scale the features, or use normalization `cosine`"
                    )))
                }
            })
            .collect()
    }
}

/// The kernel matrix of some tuples.
pub(super) struct TupleKernel<'s, 'a> {
    base: &'s BaseKernel<'a>,
    k: usize,
    members: Arc<Vec<u32>>,
    own: Vec<f64>,
    single: OnceLock<SetRows<'a, f32>>,
    double: OnceLock<Box<dyn KernelRows<f64> + 'a>>,
}

impl<'s, 'a> TupleKernel<'s, 'a> {
    pub(super) fn new(base: &'s BaseKernel<'a>, tuples: &Tuples) -> Result<Self> {
        let own = base.own_values(tuples)?;
        let members = Arc::new(tuples.members.clone());
        Ok(Self { base, k: tuples.k, members, own, single: OnceLock::new(), double: OnceLock::new() })
    }

    fn rows<T: Real>(&self, of: Base<'a, T>, accuracy: f64) -> SetRows<'a, T> {
        let base = self.base;
        let (rows, columns) = (Arc::clone(&self.members), Arc::clone(&self.members));
        let sets = SetRows::new(of, base.rule, self.k, rows, columns, [accuracy, base.largest], base.context.isa);
        match base.normalization {
            Normalization::Mean => sets,
            Normalization::Cosine => sets.cosine(&self.own, &self.own),
        }
    }
}

impl KernelSource for TupleKernel<'_, '_> {
    fn len(&self) -> usize {
        self.own.len()
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        Ok(match self.base.normalization {
            Normalization::Mean => self.own.clone(),
            Normalization::Cosine => self.own.iter().map(|&v| if v > 0.0 { 1.0 } else { 0.0 }).collect(),
        })
    }

    fn single(&self) -> Result<&dyn KernelRows<f32>> {
        if self.single.get().is_none() {
            // A matrix that was computed in double precision is only rounded.
            let accuracy = match (&self.base.double_gram, self.base.single_base()?) {
                (None, Base::Rows(rows)) => rows.accuracy(),
                (None, Base::Gram(_)) => kernel::rows::<f32>(&self.base.kernel, self.base.x, &self.base.context)?.accuracy(),
                _ => self.base.accuracy + f32::ROUNDING * self.base.largest,
            };
            let _ = self.single.set(self.rows(self.base.single_base()?, accuracy));
        }
        Ok(self.single.get().expect("just set"))
    }

    fn double(&self) -> Result<&dyn KernelRows<f64>> {
        if self.double.get().is_none() {
            let rows = self.rows(self.base.double_base(), self.base.accuracy);
            let work = (self.len() * self.len()).saturating_mul(self.k << (self.k - 1));
            let _ = self.double.set(if self.len() <= SMALL && work <= MOST_AT_ONCE {
                Box::new(GramRows::new(&rows, false, false, &self.base.context)?)
            } else {
                Box::new(rows)
            });
        }
        Ok(&**self.double.get().expect("just set"))
    }

    /// As if samples had many features: rows are permanents, and keeping them pays.
    fn dimensions(&self) -> usize {
        1000
    }

    fn table_bytes(&self) -> usize {
        let n = self.base.x.rows();
        let bytes = match (self.base.double_gram.is_some(), self.base.keeps_single) {
            (true, _) => 12,
            (false, true) => 4,
            _ => 0,
        };
        let gram = n.saturating_mul(n).saturating_mul(bytes);
        gram.saturating_add(16 * self.members.len())
    }
}
