//! Kernels as the card computes them: which argument in which precision, and the numbers of their formula.

use std::f64::consts::LOG2_E;

use boulevard_cuda::Formula;

use crate::kernel::Kernel;

const EXPONENTIAL: i32 = 0;
const IDENTITY: i32 = 1;
const POWER: i32 = 2;
const TANGENT: i32 = 3;
const INVERSE_ROOT: i32 = 4;
const TRUNCATED: i32 = 5;

/// Names of the three ways to compute sums in plain arithmetic, and matrices.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    pub formula: Formula,
    pub weigh: &'static str,
    pub store: &'static str,
}

/// A kernel on the card.
#[derive(Clone, Copy)]
pub(super) struct CardKernel {
    /// On tensor cores, before the table's scale; none for kernels without inner products.
    pub tensor: Option<Formula>,
    pub single: Plain,
    pub double: Plain,
    /// Whether only differences of samples count, so that the table may be centered.
    pub centered: bool,
}

impl CardKernel {
    /// None if the card does not compute this kernel. It must be resolved.
    pub(super) fn new(kernel: &Kernel) -> Option<Self> {
        let form = kernel.form();
        let gamma = match form.gamma {
            Some(gamma) => gamma.value()?,
            None => 1.0,
        };
        let formula = |kind, factor, norm_factor, shift| Formula { kind, degree: 1, factor, norm_factor, shift };
        let product = |formula: Formula| Self {
            tensor: Some(formula),
            single: Plain { formula, weigh: "weigh_single_product", store: "store_single_product" },
            double: Plain { formula, weigh: "weigh_double_product", store: "" },
            centered: false,
        };
        // In single precision distances are summed from differences, which loses nothing; in double precision from products, which is
        // twice as fast and exact enough.
        let distance = |of_distance: Formula, of_product: Formula| Self {
            tensor: Some(of_product),
            single: Plain { formula: of_distance, weigh: "weigh_single_squared", store: "store_single_squared" },
            double: Plain { formula: of_product, weigh: "weigh_double_product", store: "" },
            centered: true,
        };
        let rate = gamma * LOG2_E;
        Some(match kernel {
            Kernel::Linear => product(formula(IDENTITY, 1.0, 0.0, 0.0)),
            Kernel::Poly { degree, coef0, .. } => {
                let degree = i32::try_from(*degree).ok()?;
                product(Formula { degree, ..formula(POWER, gamma, 0.0, *coef0) })
            }
            Kernel::Sigmoid { coef0, .. } => product(formula(TANGENT, gamma, 0.0, *coef0)),
            Kernel::Rbf { .. } => distance(formula(EXPONENTIAL, -rate, 0.0, 0.0), formula(EXPONENTIAL, 2.0 * rate, -rate, 0.0)),
            Kernel::InverseMultiquadric { coef0, .. } => {
                let shift = coef0 * coef0;
                distance(formula(INVERSE_ROOT, gamma, 0.0, shift), formula(INVERSE_ROOT, -2.0 * gamma, gamma, shift))
            }
            Kernel::Epanechnikov { degree, .. } => {
                let degree = i32::try_from(*degree).ok()?;
                let truncated = |factor, norm_factor| Formula { degree, ..formula(TRUNCATED, factor, norm_factor, 1.0) };
                distance(truncated(-gamma, 0.0), truncated(2.0 * gamma, -gamma))
            }
            Kernel::Laplacian { .. } => {
                let formula = formula(EXPONENTIAL, -rate, 0.0, 0.0);
                Self {
                    tensor: None,
                    single: Plain { formula, weigh: "weigh_single_absolute", store: "store_single_absolute" },
                    double: Plain { formula, weigh: "weigh_double_absolute", store: "" },
                    centered: true,
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(formula: &Formula, t: f64) -> f64 {
        match formula.kind {
            EXPONENTIAL => t.min(0.0).exp2(),
            POWER => t.powi(formula.degree),
            TANGENT => t.tanh(),
            INVERSE_ROOT => 1.0 / t.sqrt(),
            TRUNCATED => t.max(0.0).powi(formula.degree),
            _ => t,
        }
    }

    /// All three forms of every kernel give the values of the library.
    #[test]
    fn formulas_are_those_of_the_kernels() {
        let (x, z) = ([0.5, -1.0, 2.0], [1.0, 0.25, 1.5]);
        let pairs = || x.iter().zip(&z);
        let product: f64 = pairs().map(|(a, b)| a * b).sum();
        let squared: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
        let absolute: f64 = pairs().map(|(a, b): (&f64, &f64)| (a - b).abs()).sum();
        let norms: f64 = x.iter().chain(&z).map(|v| v * v).sum();
        let kernels = [
            Kernel::Linear,
            Kernel::poly(3, 0.5, 1.0),
            Kernel::Sigmoid { gamma: 0.3.into(), coef0: 0.1 },
            Kernel::rbf(0.7),
            Kernel::Laplacian { gamma: 0.4.into() },
            Kernel::InverseMultiquadric { gamma: 0.4.into(), coef0: 1.5 },
            Kernel::Epanechnikov { gamma: 0.1.into(), degree: 2 },
            Kernel::Epanechnikov { gamma: 2.0.into(), degree: 1 },
        ];
        for kernel in kernels {
            let card = CardKernel::new(&kernel).expect("known to the card");
            let wanted = kernel.evaluate(&x, &z).unwrap();
            let argument = |name: &str| match name {
                name if name.ends_with("product") => product,
                name if name.ends_with("squared") => squared,
                _ => absolute,
            };
            let forms = [(&card.single.formula, argument(card.single.weigh)), (&card.double.formula, argument(card.double.weigh))];
            for (formula, argument) in forms.into_iter().chain(card.tensor.as_ref().map(|formula| (formula, product))) {
                let t = formula.factor * argument + formula.norm_factor * norms + formula.shift;
                let value = finish(formula, t);
                assert!((value - wanted).abs() < 1e-12, "{}: {value} instead of {wanted}", kernel.in_words());
            }
        }
        assert!(CardKernel::new(&Kernel::Precomputed).is_none() && CardKernel::new(&Kernel::ChiSquared { gamma: 1.0.into() }).is_none());
        assert!(CardKernel::new(&Kernel::default()).is_none(), "gamma is not a number yet");
    }
}
