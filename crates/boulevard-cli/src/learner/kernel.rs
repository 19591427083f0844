//! The kernel that flags describe, and which of them it has a use for.

use boulevard::kernel::{Gamma, Kernel};

use crate::args::{KernelName, LearnerArgs};

/// The kernel; parameters that were not given have scikit-learn's defaults.
pub fn kernel(args: &LearnerArgs) -> Kernel {
    let gamma = args.gamma.unwrap_or(Gamma::SCALE);
    // A multiquadric with constant 0 is a cone or a pole: 1 is the usual choice.
    let (coef0, offset) = (args.coef0.unwrap_or(0.0), args.coef0.unwrap_or(1.0));
    match args.kernel.unwrap_or_default() {
        KernelName::Linear => Kernel::Linear,
        KernelName::Poly => Kernel::Poly { degree: args.degree.unwrap_or(3), gamma, coef0 },
        KernelName::Rbf => Kernel::Rbf { gamma },
        KernelName::Sigmoid => Kernel::Sigmoid { gamma, coef0 },
        KernelName::Laplacian => Kernel::Laplacian { gamma },
        KernelName::Epanechnikov => Kernel::Epanechnikov { gamma, degree: args.degree.unwrap_or(1) },
        KernelName::Multiquadric => Kernel::Multiquadric { gamma, coef0: offset },
        KernelName::InverseMultiquadric => Kernel::InverseMultiquadric { gamma, coef0: offset },
        KernelName::ChiSquared => Kernel::ChiSquared { gamma },
        KernelName::Precomputed => Kernel::Precomputed,
    }
}

/// Flags given that the chosen kernel does not have, with those that do.
pub fn misplaced(args: &LearnerArgs) -> Vec<(&'static str, &'static str)> {
    use KernelName::{Epanechnikov, InverseMultiquadric, Linear, Multiquadric, Poly, Precomputed, Sigmoid};
    let name = args.kernel.unwrap_or_default();
    let facts = [
        (args.gamma.is_some(), !matches!(name, Linear | Precomputed), "gamma", "kernels other than linear and precomputed"),
        (args.degree.is_some(), matches!(name, Poly | Epanechnikov), "degree", "--kernel poly and epanechnikov"),
        (
            args.coef0.is_some(),
            matches!(name, Poly | Sigmoid | Multiquadric | InverseMultiquadric),
            "coef0",
            "--kernel poly, sigmoid, multiquadric and inverse-multiquadric",
        ),
    ];
    facts.iter().filter(|(given, fits, ..)| *given && !fits).map(|(.., flag, belongs)| (*flag, *belongs)).collect()
}
