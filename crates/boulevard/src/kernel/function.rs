//! The kernel functions, their parameters, and what is known about them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::check;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::observe::Context;

/// The width of a kernel: a number, or a rule that looks at the training data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", untagged)]
pub enum Gamma {
    /// This number.
    Value(f64),
    /// A rule by name.
    Rule(GammaRule),
}

/// How to choose gamma from the training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GammaRule {
    /// `1 / (columns * variance of all values)`, the variance weighted by the sample weights.
    Scale,
    /// `1 / columns`
    Auto,
}

impl Gamma {
    /// [`GammaRule::Scale`].
    pub const SCALE: Self = Self::Rule(GammaRule::Scale);
    /// [`GammaRule::Auto`].
    pub const AUTO: Self = Self::Rule(GammaRule::Auto);

    /// The number; only rules that were not resolved have none.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Rule(_) => None,
        }
    }
}

impl From<f64> for Gamma {
    fn from(value: f64) -> Self {
        Self::Value(value)
    }
}

/// From what users write: a number, `scale` or `auto`.
impl std::str::FromStr for Gamma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "scale" => Ok(Self::SCALE),
            "auto" => Ok(Self::AUTO),
            number => check::number(number).map(Self::Value).ok_or_else(|| Error::data("expected a number, `scale` or `auto`")),
        }
    }
}

/// A kernel of the caller's own, asked for whole blocks.
pub trait KernelFunction: Send + Sync {
    /// Kernel values of every row of `a` with every row of `b`, row-major `a.rows() x b.rows()`.
    fn block(&self, a: &Matrix<'_>, b: &Matrix<'_>) -> Result<Vec<f64>>;
}

/// A shared [`KernelFunction`]. It has no file format: models that use one cannot be saved.
#[derive(Clone)]
pub struct Custom(pub Arc<dyn KernelFunction>);

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A kernel function. `d2` is the squared distance of two samples, `d1` the sum of absolute differences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Kernel {
    /// `<x, z>`
    Linear,
    /// `(gamma <x, z> + coef0)^degree`
    Poly {
        /// The exponent.
        degree: u32,
        /// Factor of the inner product.
        gamma: Gamma,
        /// Added to it.
        coef0: f64,
    },
    /// `exp(-gamma d2)`
    Rbf {
        /// Inverse width.
        gamma: Gamma,
    },
    /// `tanh(gamma <x, z> + coef0)`
    Sigmoid {
        /// Factor of the inner product.
        gamma: Gamma,
        /// Added to it.
        coef0: f64,
    },
    /// `exp(-gamma d1)`
    Laplacian {
        /// Inverse width.
        gamma: Gamma,
    },
    /// `max(0, 1 - gamma d2)^degree`
    Epanechnikov {
        /// Inverse squared radius.
        gamma: Gamma,
        /// The exponent.
        degree: u32,
    },
    /// `sqrt(gamma d2 + coef0^2)`; grows with distance, so machines take it with a negative sign, and sums should too.
    Multiquadric {
        /// Factor of the squared distance.
        gamma: Gamma,
        /// The value at distance 0.
        coef0: f64,
    },
    /// `1 / sqrt(gamma d2 + coef0^2)`
    InverseMultiquadric {
        /// Factor of the squared distance.
        gamma: Gamma,
        /// The inverse of the value at distance 0.
        coef0: f64,
    },
    /// `exp(-gamma sum (x - z)^2 / (x + z))` for values that are not negative
    ChiSquared {
        /// Inverse width.
        gamma: Gamma,
    },
    /// The table holds kernel values instead of features: square for fitting, one column per training row for prediction.
    Precomputed,
    /// `sum_k weight_k k_k(x, z)`
    Sum {
        /// Weights and kernels.
        terms: Vec<(f64, Kernel)>,
    },
    /// `k(x, z) / sqrt(k(x, x) k(z, z))`
    Normalized {
        /// The kernel to normalise.
        kernel: Box<Kernel>,
    },
    /// A function of the caller's own.
    #[serde(skip)]
    Custom(Custom),
}

impl Default for Kernel {
    fn default() -> Self {
        Self::Rbf { gamma: Gamma::SCALE }
    }
}

impl Kernel {
    /// [`Kernel::Rbf`] with a number.
    pub fn rbf(gamma: f64) -> Self {
        Self::Rbf { gamma: gamma.into() }
    }

    /// [`Kernel::Poly`] with numbers.
    pub fn poly(degree: u32, gamma: f64, coef0: f64) -> Self {
        Self::Poly { degree, gamma: gamma.into(), coef0 }
    }

    /// [`Kernel::Sigmoid`] with numbers.
    pub fn sigmoid(gamma: f64, coef0: f64) -> Self {
        Self::Sigmoid { gamma: gamma.into(), coef0 }
    }

    /// Its name, as in files and options.
    pub fn name(&self) -> &'static str {
        self.form().info.name
    }

    /// Whether every kernel matrix is positive semi-definite: `Some(true)` proven, `Some(false)` not so in general, `None` unknown.
    pub fn is_positive_semidefinite(&self) -> Option<bool> {
        self.form().definite
    }

    pub(crate) fn gamma_mut(&mut self) -> Option<&mut Gamma> {
        match self {
            Self::Poly { gamma, .. }
            | Self::Rbf { gamma }
            | Self::Sigmoid { gamma, .. }
            | Self::Laplacian { gamma }
            | Self::Epanechnikov { gamma, .. }
            | Self::Multiquadric { gamma, .. }
            | Self::InverseMultiquadric { gamma, .. }
            | Self::ChiSquared { gamma } => Some(gamma),
            Self::Linear | Self::Precomputed | Self::Sum { .. } | Self::Normalized { .. } | Self::Custom(_) => None,
        }
    }

    /// Its gamma, where it has one.
    pub fn gamma(&self) -> Option<Gamma> {
        self.form().gamma
    }

    /// The same kernel with another gamma, where it has one.
    pub fn with_gamma(mut self, value: f64) -> Self {
        if let Some(gamma) = self.gamma_mut() {
            *gamma = Gamma::Value(value);
        }
        self
    }

    /// The kernel as machines use it: one that grows with distance is taken with a negative sign, which makes it a similarity.
    ///
    /// With the positive sign a machine votes for the class that is far away. Negated, the multiquadric is positive semi-definite on
    /// coefficients that sum to zero, which those of machines with an intercept do. In a [`Kernel::Sum`] signs are the user's.
    pub(crate) fn similarity(self) -> Self {
        match self {
            Self::Multiquadric { .. } => Self::Sum { terms: vec![(-1.0, self)] },
            kernel => kernel,
        }
    }

    /// Checks all parameters.
    pub fn validate(&self) -> Result<()> {
        const OWNER: &str = "Kernel";
        if let Some(Gamma::Value(gamma)) = self.gamma() {
            // Zero makes a constant kernel: useless, but LIBSVM and scikit-learn accept it.
            check::not_negative(OWNER, "gamma", gamma)?;
        }
        match self {
            Self::Poly { degree, coef0, .. } => {
                check::finite(OWNER, "coef0", *coef0)?;
                if *degree > 64 {
                    return Err(check::complaint(OWNER, "degree", "at most 64", degree));
                }
            }
            Self::Sigmoid { coef0, .. } | Self::Multiquadric { coef0, .. } => check::finite(OWNER, "coef0", *coef0)?,
            Self::InverseMultiquadric { coef0, .. } => {
                check::finite(OWNER, "coef0", *coef0)?;
                if *coef0 == 0.0 {
                    return Err(check::complaint(OWNER, "coef0", "other than zero", coef0));
                }
            }
            Self::Epanechnikov { degree, .. } => check::at_least(OWNER, "degree", *degree as usize, 1)?,
            Self::Sum { terms } => {
                if terms.is_empty() {
                    return Err(check::complaint(OWNER, "terms", "a list of at least one kernel", "none"));
                }
                for (weight, kernel) in terms {
                    check::finite(OWNER, "weight", *weight)?;
                    kernel.validate()?;
                }
            }
            Self::Normalized { kernel } => kernel.validate()?,
            Self::Linear | Self::Rbf { .. } | Self::Laplacian { .. } | Self::ChiSquared { .. } | Self::Precomputed | Self::Custom(_) => {}
        }
        Ok(())
    }

    /// The same kernel with every gamma rule replaced by its number for the table `x` with these weights.
    pub fn resolve(&self, x: &Matrix<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let mut resolved = self.clone();
        match &mut resolved {
            Self::Sum { terms } => {
                for (_, kernel) in terms {
                    *kernel = kernel.resolve(x, weights)?;
                }
            }
            Self::Normalized { kernel } => **kernel = kernel.resolve(x, weights)?,
            kernel => {
                if let Some(gamma) = kernel.gamma_mut()
                    && let Gamma::Rule(rule) = *gamma
                {
                    *gamma = Gamma::Value(match rule {
                        GammaRule::Auto => 1.0 / x.columns() as f64,
                        GammaRule::Scale => scale_rule(x, weights)?,
                    });
                }
            }
        }
        if matches!(resolved, Self::ChiSquared { .. }) {
            check_not_negative(x)?;
        }
        Ok(resolved)
    }

    /// Some rows of a training table for this kernel: for [`Kernel::Precomputed`] the same rows and columns of the matrix.
    pub(crate) fn rows_of(&self, x: &Matrix<'_>, rows: &[usize]) -> Matrix<'static> {
        match self {
            Self::Precomputed => {
                let values: Vec<f64> = rows.iter().flat_map(|&i| rows.iter().map(move |&j| x.get(i, j))).collect();
                Matrix::dense(values, rows.len(), rows.len()).expect("square")
            }
            _ => x.select(rows),
        }
    }

    /// Some rows of a training set for this kernel.
    pub(crate) fn part_of(&self, data: &Dataset<'_>, rows: &[usize], context: &Context<'_>) -> Result<Dataset<'static>> {
        let mut part = data.select_in(rows, context)?;
        if matches!(self, Self::Precomputed) {
            // Columns are samples: their names, if there are any, go with them.
            part.x = self.rows_of(&data.x, rows);
            part.feature_names = data.feature_names.as_ref().map(|names| rows.iter().map(|&row| names[row].clone()).collect());
        }
        Ok(part)
    }

    /// Other rows of the same table for a model that learnt from `train`.
    pub(crate) fn new_rows_of(&self, x: &Matrix<'_>, train: &[usize], rows: &[usize]) -> Matrix<'static> {
        match self {
            Self::Precomputed => {
                let values: Vec<f64> = rows.iter().flat_map(|&i| train.iter().map(move |&j| x.get(i, j))).collect();
                Matrix::dense(values, rows.len(), train.len()).expect("one value per pair")
            }
            _ => x.select(rows),
        }
    }

    /// The support vectors a model must keep: none for [`Kernel::Precomputed`], whose values come with every new table.
    pub(crate) fn vectors(&self, x: &Matrix<'_>, support: &[usize]) -> Matrix<'static> {
        match self {
            Self::Precomputed => Matrix::dense(Vec::new(), support.len(), 0).expect("no columns"),
            _ => x.select(support),
        }
    }

    /// [`Kernel::vectors`] by several threads.
    pub(crate) fn vectors_by(&self, x: &Matrix<'_>, support: &[usize], threads: usize) -> Matrix<'static> {
        match self {
            Self::Precomputed => self.vectors(x, support),
            _ => x.select_by(support, threads),
        }
    }

    /// The value for two samples given as full rows. The slow, plain form that the fast paths are tested against.
    ///
    /// Fails for [`Kernel::Precomputed`] and [`Kernel::Custom`], which have no formula, and for a gamma rule that was not resolved.
    pub fn evaluate(&self, x: &[f64], z: &[f64]) -> Result<f64> {
        let gamma = match self.gamma() {
            Some(gamma) => {
                gamma.value().ok_or_else(|| Error::data("the kernel's gamma is a rule that was not resolved on training data"))?
            }
            None => 0.0,
        };
        let argument = self.form().argument.of(x, z).unwrap_or(0.0);
        Ok(match self {
            Self::Linear => argument,
            Self::Poly { degree, coef0, .. } => (gamma * argument + coef0).powi(*degree as i32),
            Self::Sigmoid { coef0, .. } => (gamma * argument + coef0).tanh(),
            Self::Rbf { .. } | Self::Laplacian { .. } | Self::ChiSquared { .. } => (-gamma * argument).exp(),
            Self::Epanechnikov { degree, .. } => (1.0 - gamma * argument).max(0.0).powi(*degree as i32),
            Self::Multiquadric { coef0, .. } => (gamma * argument + coef0 * coef0).sqrt(),
            Self::InverseMultiquadric { coef0, .. } => 1.0 / (gamma * argument + coef0 * coef0).sqrt(),
            Self::Sum { terms } => {
                let mut sum = 0.0;
                for (weight, kernel) in terms {
                    sum += weight * kernel.evaluate(x, z)?;
                }
                sum
            }
            Self::Normalized { kernel } => kernel.evaluate(x, z)? / (kernel.evaluate(x, x)? * kernel.evaluate(z, z)?).sqrt(),
            Self::Precomputed | Self::Custom(_) => return Err(Error::data(format!("a {} kernel has no formula", self.name()))),
        })
    }
}

/// `1 / (columns * variance)` over all values of the table, rows weighted; 1 for constant data, as scikit-learn does.
fn scale_rule(x: &Matrix<'_>, weights: Option<&[f64]>) -> Result<f64> {
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let count = (0..x.rows()).map(weight).sum::<f64>() * x.columns() as f64;
    let mut sum = 0.0;
    for row in 0..x.rows() {
        let mut of_row = 0.0;
        x.for_each(row, |_, value| of_row += value);
        sum += weight(row) * of_row;
    }
    let mean = sum / count;
    let mut variance = 0.0;
    for row in 0..x.rows() {
        let (mut of_row, mut stored) = (0.0, 0);
        x.for_each(row, |_, value| {
            of_row += (value - mean) * (value - mean);
            stored += 1;
        });
        of_row += (x.columns() - stored) as f64 * mean * mean;
        variance += weight(row) * of_row;
    }
    variance /= count;
    if !variance.is_finite() {
        // A value that is no number has the same effect, and is said where it is.
        x.check_finite("X")?;
        return Err(Error::overflow("the values of X are so large that their variance overflows: scale them first"));
    }
    Ok(if variance > 0.0 { 1.0 / (x.columns() as f64 * variance) } else { 1.0 })
}

fn check_not_negative(x: &Matrix<'_>) -> Result<()> {
    for row in 0..x.rows() {
        let mut bad = None;
        x.for_each(row, |column, value| {
            if value < 0.0 && bad.is_none() {
                bad = Some((column, value));
            }
        });
        if let Some((column, value)) = bad {
            return Err(Error::data(format!(
                "the chi-squared kernel needs values that are not negative, found {value} at row {row}, column {column}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_rule_counts_weights_as_repeated_rows() {
        let x = Matrix::from_rows(&[[1.0, 2.0], [3.0, 5.0], [9.0, 9.0]]).unwrap();
        let repeated = Matrix::from_rows(&[[1.0, 2.0], [3.0, 5.0], [3.0, 5.0]]).unwrap();
        let weighted = scale_rule(&x, Some(&[1.0, 2.0, 0.0])).unwrap();
        assert!((weighted - scale_rule(&repeated, None).unwrap()).abs() < 1e-15);
        assert!((scale_rule(&x.to_sparse(), None).unwrap() - scale_rule(&x, None).unwrap()).abs() < 1e-15);
        assert_eq!(scale_rule(&Matrix::from_rows(&[[2.0], [2.0]]).unwrap(), None).unwrap(), 1.0);
    }

    #[test]
    fn the_scale_rule_tells_holes_from_large_values() {
        let hole = scale_rule(&Matrix::from_rows(&[[1.0, 2.0], [3.0, f64::NAN]]).unwrap(), None).unwrap_err();
        assert!(matches!(hole, Error::NotFinite { .. }) && hole.to_string().contains("NaN"), "{hole}");
        let large = scale_rule(&Matrix::from_rows(&[[1e300, 2.0], [-1e300, 0.0]]).unwrap(), None).unwrap_err();
        assert!(matches!(large, Error::Overflow(_)), "{large}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert_eq!(
            Kernel::rbf(-1.0).validate().unwrap_err().to_string(),
            "parameter `gamma` of Kernel must be zero or positive, and finite, got -1"
        );
        assert!(Kernel::Sum { terms: vec![] }.validate().is_err());
        assert!(Kernel::poly(3, f64::NAN, 0.0).validate().is_err());
        assert!(Kernel::InverseMultiquadric { gamma: 1.0.into(), coef0: 0.0 }.validate().is_err());
        let x = Matrix::from_rows(&[[1.0, -2.0]]).unwrap();
        assert!(Kernel::ChiSquared { gamma: 1.0.into() }.resolve(&x, None).unwrap_err().to_string().contains("column 1"));
    }

    #[test]
    fn json_keeps_kernels() {
        let kernel = Kernel::Sum {
            terms: vec![(0.3, Kernel::default()), (1.0, Kernel::Normalized { kernel: Box::new(Kernel::poly(2, 0.1, 1.0)) })],
        };
        let text = serde_json::to_string(&kernel).unwrap();
        assert_eq!(serde_json::from_str::<Kernel>(&text).unwrap(), kernel);
        assert!(serde_json::from_str::<Kernel>(r#"{"type":"rbf","gamma":1.0,"color":2}"#).is_err());
    }
}
