//! Fronts of margin and error.

use anyhow::{Result, bail};
use boulevard::methods::pareto::{Bias, Crossover, Mode, Mutation, ParetoSvc, Variant};

use super::Recipe;
use super::kernel::{self, kernel};
use crate::args::{BiasName, CrossoverName, LearnerArgs, MethodName, ModeName, MutationName, VariantName};

pub fn recipe(args: &LearnerArgs) -> Result<Recipe> {
    if let Some((flag, belongs)) = kernel::misplaced(args).first() {
        bail!("--{flag} does not apply to this kernel: it belongs to {belongs}");
    }
    let (own, default) = (&args.pareto, ParetoSvc::default());
    Ok(Recipe::Pareto(ParetoSvc {
        kernel: kernel(args),
        mode: match own.mode {
            Some(ModeName::Exact) => Mode::Exact,
            Some(ModeName::Evolve) => Mode::Evolve,
            Some(ModeName::Hybrid) | None => Mode::Hybrid,
        },
        n_points: own.n_points.unwrap_or(default.n_points),
        population_size: own.population_size.unwrap_or(default.population_size),
        generations: own.generations.unwrap_or(default.generations),
        mutation: match own.mutation {
            Some(MutationName::Switching) => Mutation::Switching,
            Some(MutationName::Gaussian) => Mutation::Gaussian,
            Some(MutationName::Hybrid) | None => Mutation::Hybrid,
        },
        crossover: match own.crossover {
            Some(CrossoverName::Arithmetic) => Crossover::Arithmetic,
            Some(CrossoverName::Uniform) | None => Crossover::Uniform,
        },
        variant: match own.variant {
            Some(VariantName::Textbook) => Variant::Textbook,
            Some(VariantName::Paper) | None => Variant::Paper,
        },
        holdout: own.holdout.unwrap_or(default.holdout),
        holdout_repeats: own.holdout_repeats.unwrap_or(default.holdout_repeats),
        bias: match args.bias {
            Some(BiasName::Objective) => Bias::Objective,
            Some(BiasName::None) | None => Bias::None,
            Some(BiasName::Gaussian | BiasName::Flat) => {
                bail!("--bias gaussian and flat belong to --method select; pareto has none and objective")
            }
        },
        pick: own.pick.unwrap_or_default(),
        refit: !own.no_refit,
        tolerance: args.tolerance.unwrap_or(default.tolerance),
        cache_megabytes: args.cache_size.or(default.cache_megabytes),
        max_iterations: args.max_iter,
        calibrate: args.calibrate,
        seed: args.seed,
    }))
}

/// Flags given that the method does not have, with those that do.
pub fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, &'static str)> {
    let own = &args.pareto;
    let (pareto, only) = (method == MethodName::Pareto, "pareto");
    let facts = [
        (own.mode.is_some(), "mode"),
        (own.n_points.is_some(), "n-points"),
        (own.population_size.is_some(), "population-size"),
        (own.generations.is_some(), "generations"),
        (own.mutation.is_some(), "mutation"),
        (own.crossover.is_some(), "crossover"),
        (own.variant.is_some(), "variant"),
        (own.holdout.is_some(), "holdout"),
        (own.holdout_repeats.is_some(), "holdout-repeats"),
        (own.pick.is_some(), "pick"),
        (own.no_refit, "no-refit"),
    ];
    facts.iter().filter(|(given, _)| *given && !pareto).map(|(_, flag)| (*flag, only)).collect()
}
