//! A kernel machine made ready for samples that come one by one: what does not change from sample to sample is done before the first.

use std::sync::OnceLock;

use super::machine::{KernelMachine, Layout, SINGLE_SHARE, pair_index};
use crate::data::Matrix;
use crate::error::Result;
use crate::kernel::StandingRows;
use crate::observe::{Context, Device};
use crate::simd::Real;
use crate::solver::SMALL;

/// Support vectors of a sparse table are spread out only as far as they take so many values.
const MOST_SPREAD: usize = 1 << 22;

/// What [`KernelMachine::make_ready`] keeps beside a machine: copies of its support vectors in the order in which one sample is judged.
///
/// It is no part of what the machine is: a clone begins without it, machines are equal with and without it, files do not have it. It belongs
/// to the fields as they were: whoever changes them afterwards puts `Ready::default()` here.
#[derive(Debug, Default)]
pub struct Ready(OnceLock<Option<Box<Standing>>>);

impl Clone for Ready {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Ready {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// The rows in the precision that the machine judges with, and their weights part by part.
#[derive(Debug)]
struct Standing {
    rows: Rows,
    /// Per part: outputs (or classes - 1) x rows of the part.
    weights: Vec<Vec<f64>>,
}

#[derive(Debug)]
enum Rows {
    /// With the largest of the outputs' coefficients as vectors.
    Single(StandingRows<f32>, f64),
    Double(StandingRows<f64>),
}

impl KernelMachine {
    /// Makes the machine ready for tables of one row: they are then judged several times as fast, with the same bits. It takes the memory
    /// of the support vectors once more. Nothing happens for kernels without a formula of their own (given matrices, sums, functions).
    pub fn make_ready(&self, context: &Context<'_>) -> Result<()> {
        if self.ready.0.get().is_none() {
            let standing = self.standing(context)?;
            let _ = self.ready.0.set(standing.map(Box::new));
        }
        Ok(())
    }

    fn standing(&self, context: &Context<'_>) -> Result<Option<Standing>> {
        let spread = matches!(self.vectors, Matrix::Sparse(_)) && self.len().saturating_mul(self.features) > MOST_SPREAD;
        if self.is_empty() || spread {
            return Ok(None);
        }
        let parts = match &self.layout {
            Layout::Full => vec![self.len()],
            Layout::Pairs(counts) => counts.clone(),
        };
        let Some(rows) = self.standing_rows(&parts, context)? else { return Ok(None) };
        let (mut weights, mut first) = (Vec::with_capacity(parts.len()), 0);
        for count in parts {
            weights.push(self.coefficients.chunks_exact(self.len()).flat_map(|row| row[first..first + count].iter().copied()).collect());
            first += count;
        }
        Ok(Some(Standing { rows, weights }))
    }

    fn standing_rows(&self, parts: &[usize], context: &Context<'_>) -> Result<Option<Rows>> {
        if self.len() > SMALL {
            let Some(single) = StandingRows::<f32>::new(&self.kernel, &self.vectors, parts, context)? else { return Ok(None) };
            let size = self.size();
            if (single.accuracy() + f32::ROUNDING) * size <= SINGLE_SHARE * self.tolerance {
                return Ok(Some(Rows::Single(single, size)));
            }
        }
        Ok(StandingRows::<f64>::new(&self.kernel, &self.vectors, parts, context)?.map(Rows::Double))
    }

    /// All outputs for the only row of `x`, where the machine is ready for it.
    pub(super) fn evaluate_one(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Option<Vec<f64>>> {
        let Some(Some(standing)) = self.ready.0.get() else { return Ok(None) };
        if x.rows() != 1 || matches!(x, Matrix::Sparse(_)) || matches!(context.device, Device::Cuda(_)) {
            return Ok(None);
        }
        match &standing.rows {
            Rows::Single(rows, size) => {
                let sample = rows.sample(x, context)?;
                // A sample far from all rows needs double precision: that is rare, and takes the way of tables.
                let exact_enough = (sample.accuracy + f32::ROUNDING) * size <= SINGLE_SHARE * self.tolerance;
                if rows.isa() != context.isa || !exact_enough {
                    return Ok(None);
                }
                Ok(Some(self.sum_one(&standing.weights, |part, weights, outputs, sums| rows.weigh(part, &sample, weights, outputs, sums))))
            }
            Rows::Double(rows) if rows.isa() == context.isa => {
                let sample = rows.sample(x, context)?;
                Ok(Some(self.sum_one(&standing.weights, |part, weights, outputs, sums| rows.weigh(part, &sample, weights, outputs, sums))))
            }
            Rows::Double(_) => Ok(None),
        }
    }

    /// As [`KernelMachine::sum_columns`] adds the parts up.
    fn sum_one(&self, weights: &[Vec<f64>], weigh: impl Fn(usize, &[f64], usize, &mut [f64])) -> Vec<f64> {
        let mut values = self.intercepts.clone();
        match &self.layout {
            Layout::Full => {
                let mut sums = vec![0.0; self.outputs()];
                weigh(0, &weights[0], self.outputs(), &mut sums);
                values.iter_mut().zip(sums).for_each(|(value, sum)| *value += sum);
            }
            Layout::Pairs(counts) => {
                let classes = counts.len();
                let mut sums = vec![0.0; classes - 1];
                for (class, weights) in weights.iter().enumerate() {
                    sums.fill(0.0);
                    weigh(class, weights, classes - 1, &mut sums);
                    for (o, sum) in sums.iter().enumerate() {
                        let other = if o < class { o } else { o + 1 };
                        values[pair_index(class.min(other), class.max(other), classes)] += sum;
                    }
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::generate;
    use crate::kernel::{Gamma, Kernel};
    use crate::simd::Isa;

    /// A machine of so many rows and outputs, with coefficients of this size.
    fn machine(kernel: Kernel, rows: usize, layout: Layout, size: f64) -> KernelMachine {
        let x = generate::two_gaussians(rows, 3, 7, 1.0).x;
        let (per_row, outputs) = match &layout {
            Layout::Full => (5, 5),
            Layout::Pairs(counts) => (counts.len() - 1, counts.len() * (counts.len() - 1) / 2),
        };
        KernelMachine {
            kernel,
            support: (0..rows).collect(),
            features: x.columns(),
            vectors: x.into_owned(),
            coefficients: (0..rows * per_row).map(|i| size * ((i * 7919 % 1013) as f64 / 506.5 - 1.0)).collect(),
            layout,
            intercepts: (0..outputs).map(|o| 0.25 * o as f64).collect(),
            tolerance: 1e-3,
            ready: Ready::default(),
        }
    }

    #[test]
    fn a_machine_that_is_ready_says_the_same_bits() {
        let gamma = Gamma::Value(0.3);
        let kernels = [
            Kernel::Linear,
            Kernel::rbf(0.3),
            Kernel::Poly { degree: 3, gamma, coef0: 1.0 },
            Kernel::Sigmoid { gamma, coef0: 0.1 },
            Kernel::Laplacian { gamma },
            Kernel::ChiSquared { gamma },
            Kernel::Epanechnikov { gamma, degree: 2 },
            Kernel::Multiquadric { gamma, coef0: 1.0 },
            Kernel::InverseMultiquadric { gamma, coef0: 1.0 },
            Kernel::Normalized { kernel: Box::new(Kernel::Linear) },
        ];
        // Small machines and large coefficients need double precision; a sample far away needs it too.
        for (rows, size) in [(30, 1.0), (700, 1e-3), (700, 1e6)] {
            for layout in [Layout::Full, Layout::Pairs(vec![10, 7, rows - 17])] {
                for kernel in &kernels {
                    for isa in Isa::available() {
                        let context = Context { isa, ..Context::single() };
                        let plain = machine(kernel.clone(), rows, layout.clone(), size);
                        let ready = plain.clone();
                        ready.make_ready(&context).unwrap();
                        let has_formula = !matches!(kernel, Kernel::Normalized { .. });
                        assert_eq!(matches!(ready.ready.0.get(), Some(Some(_))), has_formula, "{kernel:?}");
                        for place in 0..4 {
                            let mut row: Vec<f64> = (0..7).map(|k| plain.vectors.get(place * 7, k) + 0.01).collect();
                            if place == 3 {
                                row.fill(4e3);
                            }
                            let x = Matrix::dense(row, 1, 7).unwrap();
                            let (said, expected) = (ready.evaluate(&x, &context).unwrap(), plain.evaluate(&x, &context).unwrap());
                            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                            assert_eq!(bits(&said), bits(&expected), "{kernel:?} {isa:?} {rows} rows, size {size}, sample {place}");
                        }
                    }
                }
            }
        }
        let first = machine(Kernel::Linear, 30, Layout::Full, 1.0);
        first.make_ready(&Context::single()).unwrap();
        assert_eq!(first, machine(Kernel::Linear, 30, Layout::Full, 1.0), "no part of what the machine is");
        assert!(first.clone().ready.0.get().is_none());
    }
}
