//! Feature induction from flags.

use anyhow::{Result, bail};
use boulevard::kernel::Kernel;
use boulevard::methods::feature_induction::{Amount, Depth, FeatureInduction, GammaRule, Output, Preset, Sampling};

use super::Recipe;
use crate::args::{GammaRuleName, InduceArgs, LearnerArgs, OutputName, PresetName, SamplingName};

/// The learner for the flags; `kernel` is what the kernel flags describe.
pub fn recipe(args: &LearnerArgs, kernel: Kernel) -> Result<Recipe> {
    let (own, default) = (&args.induce, FeatureInduction::default());
    if args.kernel.is_none()
        && let Some((_, flag)) = [(args.gamma.is_some(), "gamma"), (args.degree.is_some(), "degree"), (args.coef0.is_some(), "coef0")]
            .iter()
            .find(|(given, _)| *given)
    {
        bail!("--{flag} needs a --kernel that has it: with induce the kernel is linear unless you choose another");
    }
    Ok(Recipe::Induce(Box::new(FeatureInduction {
        c: args.c.unwrap_or(default.c),
        n_induced: match own.n_induced.as_deref() {
            None | Some("auto") => Amount::Auto,
            Some(text) => match text.parse() {
                Ok(count) => Amount::Exactly(count),
                Err(_) => bail!("--n-induced must be a number or `auto`, got `{text}`"),
            },
        },
        max_depth: match own.max_depth.as_deref() {
            None | Some("auto") => Depth::Auto,
            Some("none") => Depth::Unlimited,
            Some(text) => match text.parse() {
                Ok(depth) => Depth::AtMost(depth),
                Err(_) => bail!("--max-depth must be a number, `none` or `auto`, got `{text}`"),
            },
        },
        sampling: match args.sampling {
            Some(SamplingName::Weight) => Sampling::Weight,
            Some(SamplingName::Resample) | None => Sampling::Resample,
            Some(SamplingName::All | SamplingName::Stratified | SamplingName::Trimming) => {
                bail!("--sampling all, stratified and trimming belong to --method boost; induce has resample and weight")
            }
        },
        output: match own.leaf_output {
            Some(OutputName::Hard) => Output::Hard,
            Some(OutputName::Laplace) => Output::Laplace,
            Some(OutputName::Soft) | None => Output::Soft,
        },
        gamma_rule: match own.gamma_rule {
            Some(GammaRuleName::Norm) => GammaRule::Norm,
            Some(GammaRuleName::Literal) => GammaRule::Literal,
            Some(GammaRuleName::HalfSquare) | None => GammaRule::HalfSquare,
        },
        gamma_max: own.gamma_max.unwrap_or(default.gamma_max),
        min_samples_leaf: own.min_samples_leaf.unwrap_or(default.min_samples_leaf),
        confidence: own.confidence.unwrap_or(default.confidence),
        cross_fit: own.cross_fit,
        max_induced: own.max_induced.unwrap_or(default.max_induced),
        min_gain: own.min_gain.unwrap_or(default.min_gain),
        kernel: if args.kernel.is_some() { kernel } else { Kernel::Linear },
        kernel_c: own.kernel_c.unwrap_or(default.kernel_c),
        class_weight: args.class_weight.clone().unwrap_or_default(),
        preset: args.preset.map(|PresetName::Paper| Preset::Paper),
        tolerance: args.tolerance.unwrap_or(default.tolerance),
        calibrate: args.calibrate,
        seed: args.seed,
    })))
}

/// Flags of this method that were given.
pub fn given(args: &InduceArgs) -> Vec<&'static str> {
    let facts = [
        (args.n_induced.is_some(), "n-induced"),
        (args.max_depth.is_some(), "max-depth"),
        (args.leaf_output.is_some(), "leaf-output"),
        (args.gamma_rule.is_some(), "gamma-rule"),
        (args.gamma_max.is_some(), "gamma-max"),
        (args.min_samples_leaf.is_some(), "min-samples-leaf"),
        (args.confidence.is_some(), "confidence"),
        (args.cross_fit, "cross-fit"),
        (args.max_induced.is_some(), "max-induced"),
        (args.min_gain.is_some(), "min-gain"),
        (args.kernel_c.is_some(), "kernel-c"),
    ];
    facts.iter().filter(|(given, _)| *given).map(|(_, flag)| *flag).collect()
}
