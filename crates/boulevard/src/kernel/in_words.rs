//! A kernel as a formula with its numbers.

use super::Kernel;
use crate::words::g;

impl Kernel {
    /// Its name and formula, for people.
    pub fn in_words(&self) -> String {
        let gamma = self.gamma().and_then(|gamma| gamma.value()).map_or("gamma".to_owned(), g);
        match self {
            Self::Linear => "linear: <x, z>".to_owned(),
            Self::Poly { degree, coef0, .. } => format!("poly: ({gamma} <x, z> + {})^{degree}", g(*coef0)),
            Self::Rbf { .. } => format!("rbf: exp(-{gamma} |x - z|^2)"),
            Self::Sigmoid { coef0, .. } => format!("sigmoid: tanh({gamma} <x, z> + {})", g(*coef0)),
            Self::Laplacian { .. } => format!("laplacian: exp(-{gamma} |x - z|_1)"),
            Self::Epanechnikov { degree, .. } => format!("epanechnikov: max(0, 1 - {gamma} |x - z|^2)^{degree}"),
            Self::Multiquadric { coef0, .. } => format!("multiquadric: sqrt({gamma} |x - z|^2 + {}^2)", g(*coef0)),
            Self::InverseMultiquadric { coef0, .. } => format!("inverse multiquadric: 1 / sqrt({gamma} |x - z|^2 + {}^2)", g(*coef0)),
            Self::ChiSquared { .. } => format!("chi-squared: exp(-{gamma} sum (x - z)^2 / (x + z))"),
            other => other.name().to_owned(),
        }
    }
}
