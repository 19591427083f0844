//! The kernel machines: svc, nu-svc, svr, nu-svr, one-class.

use anyhow::{Result, bail};
use boulevard::svm::{Multiclass, OneClass, Penalty, SolverSettings, Svc, Svr, Tube};

use super::kernel::{self, kernel};
use super::{Recipe, induce, linear};
use crate::args::{LearnerArgs, MethodName, MulticlassName};

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
        MethodName::Induce => return induce::recipe(args, kernel),
        MethodName::Select => bail!("--method select is not a kernel machine"),
    })
}

/// Flags given that the method does not have, with those that do.
pub fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, &'static str)> {
    use MethodName::{Induce, Linear, NuSvc, NuSvr, OneClass, Select, Svc, Svr};
    let (linear, classifies) = (method == Linear, matches!(method, Svc | NuSvc | Linear | Induce));
    let machine = !matches!(method, Linear | Induce | Select);
    let kernel = args.kernel.is_some() || args.gamma.is_some() || args.degree.is_some() || args.coef0.is_some();
    let facts = [
        (
            args.c.is_some(),
            matches!(method, Svc | Svr | NuSvr | Linear | Induce | Select),
            "c",
            "svc, svr, nu-svr, linear, induce and select",
        ),
        (args.nu.is_some(), matches!(method, NuSvc | NuSvr | OneClass), "nu", "nu-svc, nu-svr and one-class"),
        (args.epsilon.is_some(), matches!(method, Svr | Linear | Select), "epsilon", "svr, linear and select"),
        (args.class_weight.is_some(), classifies, "class-weight", "svc, nu-svc, linear and induce"),
        (args.multiclass.is_some(), matches!(method, Svc | NuSvc), "multiclass", "svc and nu-svc"),
        (args.loss.is_some(), linear, "loss", "linear"),
        (args.penalty.is_some(), linear, "penalty", "linear"),
        (args.intercept_scaling.is_some(), linear, "intercept-scaling", "linear"),
        (kernel, machine || method == Induce, "kernel (with gamma, degree, coef0)", "the kernel machines and induce"),
        (args.cache_size.is_some(), machine, "cache-size", "the kernel machines"),
        (args.max_iter.is_some(), machine || method == Select, "max-iter", "the kernel machines and select; --max-time limits any fit"),
        (args.no_shrinking, machine, "no-shrinking", "the kernel machines"),
        (args.no_polish, machine, "no-polish", "the kernel machines"),
        (args.calibrate, classifies || method == Select, "calibrate", "svc, nu-svc, linear, induce and select"),
    ];
    let mut found: Vec<_> = facts.iter().filter(|(given, fits, ..)| *given && !fits).map(|(.., flag, belongs)| (*flag, *belongs)).collect();
    if method != Induce {
        found.extend(induce::given(&args.induce).into_iter().map(|flag| (flag, "induce")));
    }
    found
}
