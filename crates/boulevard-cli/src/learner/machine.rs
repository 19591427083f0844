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
    let solver = solver(args);
    let (kernel, c, nu) = (kernel(args), args.c.unwrap_or(1.0), args.nu.unwrap_or(0.5));
    let classifier = |penalty: Penalty| {
        Recipe::Svc(Svc {
            kernel: kernel.clone(),
            penalty,
            class_weight: args.class_weight.clone().unwrap_or_default(),
            multiclass: multiclass(args),
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
        MethodName::Gather => super::gather::recipe(args),
        MethodName::Linear => return linear::recipe(args),
        MethodName::Induce => return induce::recipe(args, kernel),
        MethodName::Select => bail!("--method select is not a kernel machine"),
        MethodName::Boost => return super::boost::recipe(args, solver),
        MethodName::Pareto => return super::pareto::recipe(args),
    })
}

/// The solver's settings.
pub fn solver(args: &LearnerArgs) -> SolverSettings {
    let default = SolverSettings::default();
    SolverSettings {
        tolerance: args.tolerance.unwrap_or(default.tolerance),
        cache_megabytes: args.cache_size.or(default.cache_megabytes),
        max_iterations: args.max_iter,
        shrinking: !args.no_shrinking,
        polish: !args.no_polish,
        ..default
    }
}

/// How many classes are reduced to two.
pub fn multiclass(args: &LearnerArgs) -> Multiclass {
    match args.multiclass {
        Some(MulticlassName::OneVsRest) => Multiclass::OneVsRest,
        Some(MulticlassName::OneVsOne) | None => Multiclass::OneVsOne,
    }
}

/// Flags given that the method does not have, with the methods that do.
pub fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, String)> {
    use MethodName::{Boost, Gather, Induce, Linear, NuSvc, NuSvr, OneClass, Pareto, Select, Svc, Svr};
    let machines: &[MethodName] = &[Svc, NuSvc, Svr, NuSvr, OneClass];
    let kernel = args.kernel.is_some() || args.gamma.is_some() || args.degree.is_some() || args.coef0.is_some();
    let facts: [(bool, &'static str, &[&[MethodName]]); 17] = [
        (args.c.is_some(), "c", &[&[Svc, Svr, NuSvr, Linear], &[Gather, Induce, Select, Boost]]),
        (args.nu.is_some(), "nu", &[&[NuSvc, NuSvr, OneClass]]),
        (args.epsilon.is_some(), "epsilon", &[&[Svr, Linear], &[Select]]),
        (args.class_weight.is_some(), "class-weight", &[&[Svc, NuSvc, Linear], &[Gather, Induce, Boost]]),
        (args.bias.is_some(), "bias", &[&[Select], &[Pareto]]),
        (args.sampling.is_some(), "sampling", &[&[Induce, Boost]]),
        (args.preset.is_some(), "preset", &[&[Induce, Boost]]),
        (args.multiclass.is_some(), "multiclass", &[&[Svc, NuSvc, Gather]]),
        (args.loss.is_some(), "loss", &[&[Linear]]),
        (args.penalty.is_some(), "penalty", &[&[Linear]]),
        (args.intercept_scaling.is_some(), "intercept-scaling", &[&[Linear]]),
        // Boosting says itself what it has instead.
        (kernel && method != Boost, "kernel (with gamma, degree, coef0)", &[machines, &[Gather, Induce, Pareto]]),
        (args.cache_size.is_some(), "cache-size", &[machines, &[Gather, Boost, Pareto]]),
        (args.max_iter.is_some(), "max-iter", &[machines, &[Gather, Select], &[Boost, Pareto]]),
        (args.no_shrinking, "no-shrinking", &[machines, &[Gather, Boost]]),
        (args.no_polish, "no-polish", &[machines, &[Gather, Boost]]),
        (args.calibrate, "calibrate", &[&[Svc, NuSvc, Linear], &[Gather, Induce, Select, Boost, Pareto]]),
    ];
    let belongs = |groups: &[&[MethodName]]| {
        let of = |group: &[MethodName]| -> Vec<String> {
            if *group == *machines {
                return vec!["the kernel machines".into()];
            }
            group.iter().map(|method| method.text().to_owned()).collect()
        };
        let mut names: Vec<String> = groups.iter().flat_map(|group| of(group)).collect();
        let last = names.pop().unwrap_or_default();
        if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
    };
    let fits = |groups: &[&[MethodName]]| groups.iter().any(|group| group.contains(&method));
    facts.iter().filter(|(given, _, groups)| *given && !fits(groups)).map(|(_, flag, groups)| (*flag, belongs(groups))).collect()
}
