//! The kernel machines: svc, nu-svc, svr, nu-svr, one-class.

use anyhow::{Result, bail};
use boulevard::svm::{Multiclass, OneClass, Penalty, SolverSettings, Svc, Svr, Tube};

use super::kernel::{self, kernel};
use super::{Recipe, linear};
use crate::args::{KernelName, LearnerArgs, MethodName, MulticlassName};

/// The learner for a method.
pub fn recipe(method: MethodName, args: &LearnerArgs) -> Result<Recipe> {
    if let Some((flag, belongs)) = kernel::misplaced(args).first() {
        bail!("--{flag} does not apply to this kernel: it belongs to {belongs}");
    }
    let default = SolverSettings::default();
    let solver = SolverSettings {
        tolerance: args.tolerance.unwrap_or(default.tolerance),
        cache_megabytes: args.cache_size.unwrap_or(default.cache_megabytes),
        max_iterations: args.max_iter,
        shrinking: !args.no_shrinking,
        polish: !args.no_polish,
        ..default
    };
    let (kernel, c, nu) = (kernel(args), args.c.unwrap_or(1.0), args.nu.unwrap_or(0.5));
    let classifier = |penalty: Penalty| {
        Recipe::Svc(Svc {
            kernel: kernel.clone(),
            penalty,
            class_weight: args.class_weight.clone().unwrap_or_default(),
            multiclass: match args.multiclass {
                Some(MulticlassName::OneVsRest) => Multiclass::OneVsRest,
                Some(MulticlassName::OneVsOne) | None => Multiclass::OneVsOne,
            },
            solver,
            calibrate: args.calibrate,
            seed: args.seed,
        })
    };
    let regressor = |tube: Tube| Recipe::Svr(Svr { kernel: kernel.clone(), c, tube, solver });
    Ok(match method {
        MethodName::Svc => classifier(Penalty::C(c)),
        MethodName::NuSvc => classifier(Penalty::Nu(nu)),
        MethodName::Svr => regressor(Tube::Epsilon(args.epsilon.unwrap_or(0.1))),
        MethodName::NuSvr => regressor(Tube::Nu(nu)),
        MethodName::OneClass => Recipe::OneClass(OneClass { kernel: kernel.clone(), nu, solver }),
        MethodName::Linear => return linear::recipe(args),
    })
}

/// Flags given that the method does not have, with those that do.
pub fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, &'static str)> {
    use MethodName::{Linear, NuSvc, NuSvr, OneClass, Svc, Svr};
    let (linear, classifies) = (method == Linear, matches!(method, Svc | NuSvc | Linear));
    let kernel = args.kernel != KernelName::Rbf || args.gamma.is_some() || args.degree.is_some() || args.coef0.is_some();
    let facts = [
        (args.c.is_some(), matches!(method, Svc | Svr | NuSvr | Linear), "c", "svc, svr, nu-svr and linear"),
        (args.nu.is_some(), matches!(method, NuSvc | NuSvr | OneClass), "nu", "nu-svc, nu-svr and one-class"),
        (args.epsilon.is_some(), matches!(method, Svr | Linear), "epsilon", "svr and linear"),
        (args.class_weight.is_some(), classifies, "class-weight", "svc, nu-svc and linear"),
        (args.multiclass.is_some(), matches!(method, Svc | NuSvc), "multiclass", "svc and nu-svc"),
        (args.loss.is_some(), linear, "loss", "linear"),
        (args.penalty.is_some(), linear, "penalty", "linear"),
        (args.intercept_scaling.is_some(), linear, "intercept-scaling", "linear"),
        (kernel, !linear, "kernel (with gamma, degree, coef0)", "the kernel machines"),
        (args.cache_size.is_some(), !linear, "cache-size", "the kernel machines"),
        (args.max_iter.is_some(), !linear, "max-iter", "the kernel machines; --max-time limits any fit"),
        (args.no_shrinking, !linear, "no-shrinking", "the kernel machines"),
        (args.no_polish, !linear, "no-polish", "the kernel machines"),
        (args.calibrate, classifies, "calibrate", "svc, nu-svc and linear"),
    ];
    facts.iter().filter(|(given, fits, ..)| *given && !fits).map(|(.., flag, belongs)| (*flag, *belongs)).collect()
}
