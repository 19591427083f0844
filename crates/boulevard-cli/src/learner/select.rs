//! Multi-task feature and kernel selection.

use anyhow::{Result, bail, ensure};
use boulevard::kernel::{Gamma, Kernel};
use boulevard::methods::multitask_selection::{BiasPrior, MarginPrior, MultiTaskSelection, Select};

use crate::args::{BiasName, LearnerArgs, MarginName, MethodName, SelectName};

/// Steps where no limit was given: as in the Python classes.
const STEPS: u64 = 1000;

/// The learner that flags describe.
pub fn learner(args: &LearnerArgs) -> Result<MultiTaskSelection> {
    let default = MultiTaskSelection::default();
    let select = match args.select {
        Some(SelectName::Kernels) => Select::Kernels,
        Some(SelectName::Features) | None => Select::Features,
    };
    ensure!(select == Select::Kernels || args.kernels.is_empty(), "--kernels goes with --select kernels");
    let kernels = match (select, args.kernels.is_empty()) {
        (Select::Features, _) => Vec::new(),
        (Select::Kernels, true) => {
            vec![Kernel::Linear, Kernel::poly(2, 1.0, 1.0), Kernel::poly(3, 1.0, 1.0), Kernel::Rbf { gamma: Gamma::SCALE }]
        }
        (Select::Kernels, false) => args.kernels.iter().map(|text| kernel(text)).collect::<Result<_>>()?,
    };
    Ok(MultiTaskSelection {
        select,
        kernels,
        normalize_kernels: args.normalize_kernels.unwrap_or(true),
        rho: args.rho.unwrap_or(default.rho),
        ln_rho: args.ln_rho,
        c: args.c.unwrap_or(default.c),
        bias: match args.bias {
            Some(BiasName::Flat) => BiasPrior::Flat,
            Some(BiasName::Gaussian) | None => BiasPrior::Gaussian,
            Some(BiasName::None | BiasName::Objective) => {
                bail!("--bias none and objective belong to --method pareto; select has gaussian and flat")
            }
        },
        bias_variance: args.bias_variance.unwrap_or(default.bias_variance),
        share: args.share.unwrap_or(true),
        threshold: args.threshold.unwrap_or(default.threshold),
        tolerance: args.tolerance.unwrap_or(default.tolerance),
        max_iterations: Some(args.max_iter.unwrap_or(STEPS)),
        epsilon: args.epsilon.unwrap_or(default.epsilon),
        margin_prior: match args.margin_prior {
            Some(MarginName::Jj) => MarginPrior::Jj,
            Some(MarginName::Exp) | None => MarginPrior::Exp,
        },
        calibrate: args.calibrate,
        seed: args.seed,
    })
}

/// A base kernel from `name` or `name:number:number`: `linear`, `poly:DEGREE[:COEF0[:GAMMA]]`, `rbf[:GAMMA]`, `laplacian[:GAMMA]`.
fn kernel(text: &str) -> Result<Kernel> {
    let mut words = text.split(':');
    let name = words.next().unwrap_or("");
    let rest: Vec<&str> = words.collect();
    let number = |place: usize, default: f64| match rest.get(place) {
        None => Ok(default),
        Some(word) => word.parse::<f64>().map_err(|_| anyhow::anyhow!("--kernels: `{word}` in `{text}` is not a number")),
    };
    let gamma = || Ok::<Gamma, anyhow::Error>(if rest.is_empty() { Gamma::SCALE } else { Gamma::Value(number(0, 0.0)?) });
    let most = match name {
        "linear" => 0,
        "poly" => 3,
        "rbf" | "laplacian" => 1,
        _ => bail!(
            "--kernels: `{text}` is not a base kernel; there are linear, poly:DEGREE[:COEF0[:GAMMA]], rbf[:GAMMA] and laplacian[:GAMMA]"
        ),
    };
    ensure!(rest.len() <= most, "--kernels: `{text}` has {} numbers, {name} takes {most} at most", rest.len());
    Ok(match name {
        "linear" => Kernel::Linear,
        "poly" => {
            let degree = number(0, 3.0)?;
            ensure!(degree.fract() == 0.0 && (0.0..=100.0).contains(&degree), "--kernels: the degree in `{text}` must be a whole number");
            Kernel::poly(degree as u32, number(2, 1.0)?, number(1, 0.0)?)
        }
        "rbf" => Kernel::Rbf { gamma: gamma()? },
        _ => Kernel::Laplacian { gamma: gamma()? },
    })
}

/// Flags given that the method does not have, with those that do.
pub fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, &'static str)> {
    let own = method == MethodName::Select;
    let facts = [
        (args.select.is_some(), "select"),
        (!args.kernels.is_empty(), "kernels"),
        (args.normalize_kernels.is_some(), "normalize-kernels"),
        (args.rho.is_some(), "rho"),
        (args.ln_rho.is_some(), "ln-rho"),
        (args.bias_variance.is_some(), "bias-variance"),
        (args.share.is_some(), "share"),
        (args.threshold.is_some(), "threshold"),
        (args.margin_prior.is_some(), "margin-prior"),
        (args.regression, "regression"),
    ];
    facts.iter().filter(|(given, _)| *given && !own).map(|(_, flag)| (*flag, "select")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_read_from_short_words() {
        assert_eq!(kernel("linear").unwrap(), Kernel::Linear);
        assert_eq!(kernel("poly:2:1").unwrap(), Kernel::poly(2, 1.0, 1.0));
        assert_eq!(kernel("rbf:0.5").unwrap(), Kernel::rbf(0.5));
        assert_eq!(kernel("rbf").unwrap(), Kernel::Rbf { gamma: Gamma::SCALE });
        for bad in ["", "cubic", "poly:x", "poly:1.5", "linear:1", "rbf:1:2"] {
            assert!(kernel(bad).is_err(), "{bad}");
        }
    }
}
