//! Decisions from several samples.

use boulevard::kernel::permanent::Normalization;
use boulevard::methods::multi_sample::{Method, MultiSample, OtherSizes};

use super::Recipe;
use super::kernel::kernel;
use super::machine::{multiclass, solver};
use crate::args::{DecideName, LearnerArgs, MethodName, NormalizationName, OtherSizesName};

/// The learner.
pub fn recipe(args: &LearnerArgs) -> Recipe {
    let (gather, default) = (&args.gather, MultiSample::default());
    Recipe::Gather(MultiSample {
        method: match gather.decide {
            Some(DecideName::Consensus) => Method::Consensus,
            Some(DecideName::Vote) => Method::Vote,
            Some(DecideName::Direct) | None => Method::Direct,
        },
        n_samples_per_decision: gather.n_samples_per_decision.unwrap_or(default.n_samples_per_decision),
        kernel: kernel(args),
        c: args.c.unwrap_or(default.c),
        symmetric: !gather.no_symmetric,
        n_extended: gather.n_extended,
        normalization: match gather.normalization {
            Some(NormalizationName::Cosine) => Normalization::Cosine,
            Some(NormalizationName::Mean) | None => Normalization::Mean,
        },
        other_sizes: match gather.other_sizes {
            Some(OtherSizesName::Family) => OtherSizes::Family,
            Some(OtherSizesName::Consensus) | None => OtherSizes::Consensus,
        },
        class_weight: args.class_weight.clone().unwrap_or_default(),
        multiclass: multiclass(args),
        priors: gather.priors.clone(),
        platt_guard: gather.platt_guard,
        calibrate: args.calibrate,
        solver: solver(args),
        seed: args.seed,
    })
}

/// Flags given that belong to this method alone.
pub fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, &'static str)> {
    if method == MethodName::Gather {
        return Vec::new();
    }
    let gather = &args.gather;
    let facts = [
        (gather.decide.is_some(), "decide"),
        (gather.n_samples_per_decision.is_some(), "n-samples-per-decision"),
        (gather.n_extended.is_some(), "n-extended"),
        (gather.normalization.is_some(), "normalization"),
        (gather.other_sizes.is_some(), "other-sizes"),
        (gather.priors.is_some(), "priors"),
        (gather.platt_guard, "platt-guard"),
        (gather.no_symmetric, "no-symmetric"),
    ];
    facts.into_iter().filter(|(given, _)| *given).map(|(_, flag)| (flag, "gather")).collect()
}
