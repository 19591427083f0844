//! What the solvers see of one task's samples: groups of features or kernels, behind the same few operations.
//!
//! A group `d` is a space with a feature map. An [`Element`] holds one vector of every group's space. For input features the space has
//! one dimension and the vector is a number. For kernels the vector is a sum over samples, `sum_t coefficient_t k_d(x_t, .)`; its values
//! at the samples, the images, travel with it, so that inner products and norms need no further kernel matrix.

use std::sync::OnceLock;

use crate::data::Matrix;
use crate::error::Result;
use crate::linalg::{Symmetric, add_symmetric, padded, transpose, weighted_gram};
use crate::observe::Context;
use crate::simd::Isa;

/// The samples of a task.
pub(in super::super) struct TaskTable {
    pub rows: usize,
    pub groups: usize,
    isa: Isa,
    kind: TableKind,
}

enum TableKind {
    /// Padded rows, and their transpose when first asked for.
    Features {
        x: Vec<f64>,
        stride: usize,
        columns: OnceLock<Vec<f64>>,
        /// `X X'`, likewise.
        products: OnceLock<Vec<f64>>,
    },
    Kernels(Vec<Symmetric>),
}

/// One vector of every group's space.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Element(pub Vec<f64>);

impl TaskTable {
    /// The columns of a table, in pieces between which somebody may stop.
    pub fn of(x: &Matrix<'_>, context: &Context<'_>) -> Result<Self> {
        let (rows, columns) = (x.rows(), x.columns());
        let stride = columns.next_multiple_of(context.isa.lanes::<f64>());
        let mut padded = vec![0.0; rows * stride];
        let mut meter = context.meter("prepare");
        for (row, to) in padded.chunks_exact_mut(stride.max(1)).enumerate() {
            // Fresh memory takes longer than a multiplication.
            meter.spend(8 * stride)?;
            x.copy_row(row, &mut to[..columns]);
        }
        Ok(Self {
            rows,
            groups: columns,
            isa: context.isa,
            kind: TableKind::Features { x: padded, stride, columns: OnceLock::new(), products: OnceLock::new() },
        })
    }

    /// Input features; `x` is row-major and dense.
    #[cfg(test)]
    pub fn features(x: &[f64], rows: usize, columns: usize, isa: Isa) -> Self {
        let stride = columns.next_multiple_of(isa.lanes::<f64>());
        let mut padded = vec![0.0; rows * stride];
        for (to, from) in padded.chunks_exact_mut(stride).zip(x.chunks_exact(columns)) {
            to[..columns].copy_from_slice(from);
        }
        Self {
            rows,
            groups: columns,
            isa,
            kind: TableKind::Features { x: padded, stride, columns: OnceLock::new(), products: OnceLock::new() },
        }
    }

    /// Kernel matrices, each `rows x rows`; only lower triangles are used, so that they are symmetric to the bit.
    pub fn kernels(grams: Vec<Vec<f64>>, rows: usize, isa: Isa) -> Self {
        let grams: Vec<Symmetric> = grams.into_iter().map(|gram| Symmetric::new(gram, rows)).collect();
        Self { rows, groups: grams.len(), isa, kind: TableKind::Kernels(grams) }
    }

    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The padded rows and their stride, if these are features.
    pub fn padded(&self) -> Option<(&[f64], usize)> {
        match &self.kind {
            TableKind::Features { x, stride, .. } => Some((x, *stride)),
            TableKind::Kernels(_) => None,
        }
    }

    /// The columns one after another, if these are features. Once it is `halted` they are not made whole: whoever stops uses them no more.
    pub fn columns(&self, halted: impl Fn() -> bool) -> Option<&[f64]> {
        /// Columns at a time: some milliseconds for a thousand rows.
        const WIDTH: usize = 1 << 10;
        match &self.kind {
            TableKind::Features { x, stride, columns, .. } => Some(columns.get_or_init(|| {
                let mut out = vec![0.0; self.rows * self.groups];
                let height = self.rows.max(1);
                for (part, to) in out.chunks_mut(WIDTH * height).enumerate() {
                    if halted() {
                        break;
                    }
                    let first = part * WIDTH;
                    transpose(self.isa, self.rows, to.len() / height, |i| &x[i * stride + first..], to, height);
                }
                out
            })),
            TableKind::Kernels(_) => None,
        }
    }

    /// `X X'` of features; an error where it was stopped.
    pub fn inner_products(&self, context: &Context<'_>) -> Result<&[f64]> {
        let TableKind::Features { x, stride, products, .. } = &self.kind else { unreachable!("kernels have no columns") };
        if let Some(products) = products.get() {
            return Ok(products);
        }
        // All features take part: the rows that are asked for are neighbors.
        let fetch = |rows: &[usize], block: &mut [f64]| {
            transpose(self.isa, self.rows, rows.len(), |i| &x[i * stride + rows[0]..], block, self.rows);
        };
        let computed = weighted_gram(self.groups, self.rows, |_| 1.0, fetch, context)?;
        Ok(products.get_or_init(|| computed))
    }

    /// The kernel matrices, if these are kernels.
    pub fn grams(&self) -> Option<&[Symmetric]> {
        match &self.kind {
            TableKind::Features { .. } => None,
            TableKind::Kernels(grams) => Some(grams),
        }
    }

    pub fn zero(&self) -> Element {
        Element(vec![
            0.0;
            match &self.kind {
                TableKind::Features { stride, .. } => *stride,
                TableKind::Kernels(_) => 2 * self.groups * self.rows,
            }
        ])
    }

    /// `sum_t alpha_t phi_d(x_t)` of every group.
    pub fn embed(&self, alpha: &[f64]) -> Element {
        let mut out = self.zero();
        match &self.kind {
            TableKind::Features { x, stride, .. } => padded::rows_sum(self.isa, x, *stride, alpha, &mut out.0),
            TableKind::Kernels(grams) => {
                let n = self.rows;
                let (coefficients, images) = out.0.split_at_mut(self.groups * n);
                coefficients.chunks_exact_mut(n).for_each(|to| to.copy_from_slice(alpha));
                for (gram, to) in grams.iter().zip(images.chunks_exact_mut(n)) {
                    match gram {
                        Symmetric::Full(gram) => add_symmetric(self.isa, gram, alpha, to),
                        Symmetric::Diagonal(diagonal) => {
                            to.iter_mut().zip(diagonal).zip(alpha).for_each(|((to, value), alpha)| *to = value * alpha);
                        }
                    }
                }
            }
        }
        out
    }

    /// `sum_d <w_d, phi_d(x_t)>` at every sample.
    pub fn scores(&self, w: &Element) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        match &self.kind {
            TableKind::Features { x, stride, .. } => padded::rows_dot(self.isa, x, *stride, &w.0, &mut out),
            TableKind::Kernels(_) => {
                for image in w.0[self.groups * self.rows..].chunks_exact(self.rows) {
                    out.iter_mut().zip(image).for_each(|(out, value)| *out += value);
                }
            }
        }
        out
    }

    /// `<a_d, b_d>` of every group, added to `out`.
    pub fn add_inner(&self, a: &Element, b: &Element, out: &mut [f64]) {
        match &self.kind {
            TableKind::Features { .. } => out.iter_mut().zip(&a.0).zip(&b.0).for_each(|((out, a), b)| *out += a * b),
            TableKind::Kernels(_) => {
                let (n, half) = (self.rows, self.groups * self.rows);
                for ((out, a), b) in out.iter_mut().zip(a.0[..half].chunks_exact(n)).zip(b.0[half..].chunks_exact(n)) {
                    *out += crate::linalg::dot(a, b);
                }
            }
        }
    }

    /// `to_d += factors_d from_d` of every group.
    pub fn add(&self, to: &mut Element, factors: impl Fn(usize) -> f64, from: &Element) {
        match &self.kind {
            TableKind::Features { .. } => {
                for (d, (to, from)) in to.0.iter_mut().zip(&from.0).take(self.groups).enumerate() {
                    *to += factors(d) * from;
                }
            }
            TableKind::Kernels(_) => {
                for (block, (to, from)) in to.0.chunks_exact_mut(self.rows).zip(from.0.chunks_exact(self.rows)).enumerate() {
                    let factor = factors(block % self.groups);
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
                }
            }
        }
    }

    /// `factors_d from_d` of every group.
    pub fn scaled(&self, factors: impl Fn(usize) -> f64, from: &Element) -> Element {
        let mut out = self.zero();
        self.add(&mut out, factors, from);
        out
    }

    /// `sum_t g_t <u_d, phi_d(x_t)>` of every group: the adjoint of `scores(factors * u)` in `factors`.
    pub fn pull(&self, u: &Element, g: &[f64]) -> Vec<f64> {
        match &self.kind {
            TableKind::Features { x, stride, .. } => {
                let mut sums = vec![0.0; *stride];
                padded::rows_sum(self.isa, x, *stride, g, &mut sums);
                sums.truncate(self.groups);
                sums.iter_mut().zip(&u.0).for_each(|(sum, u)| *sum *= u);
                sums
            }
            TableKind::Kernels(_) => {
                u.0[self.groups * self.rows..].chunks_exact(self.rows).map(|image| crate::linalg::dot(image, g)).collect()
            }
        }
    }
}
