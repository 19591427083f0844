//! The boosted classifier.

use anyhow::{Context, Result, bail};
use boulevard::methods::boosted::{AtLeastOne, BoostedSvc, InitialWeights, Preset, Sampling, Thresholds, Validation, Voting, WeightScale};
use boulevard::svm::SolverSettings;

use super::Recipe;
use crate::args::{AtLeastOneName, BoostArgs, InitialWeightsName, LearnerArgs, PresetName, SamplingName, ThresholdsName, VotingName};

/// The learner.
pub fn recipe(args: &LearnerArgs, solver: SolverSettings) -> Result<Recipe> {
    if args.kernel.is_some() || args.gamma.is_some() || args.degree.is_some() || args.coef0.is_some() {
        bail!("--method boost has a Gaussian kernel of its own: its width is --sigma-init");
    }
    let (given, default) = (&args.boost, BoostedSvc::default());
    Ok(Recipe::Boosted(BoostedSvc {
        c: args.c.unwrap_or(default.c),
        sampling: match args.sampling {
            None => default.sampling,
            Some(SamplingName::All) => Sampling::All,
            Some(SamplingName::Stratified) => Sampling::Stratified,
            Some(SamplingName::Trimming) => Sampling::Trimming,
            Some(SamplingName::Resample | SamplingName::Weight) => {
                bail!("--sampling resample and weight belong to --method induce; boost has all, stratified and trimming")
            }
        },
        sampling_ratio: given.sampling_ratio.unwrap_or(default.sampling_ratio),
        initial_weights: given.initial_weights.map_or(default.initial_weights, |how| match how {
            InitialWeightsName::Balanced => InitialWeights::Balanced,
            InitialWeightsName::Uniform => InitialWeights::Uniform,
        }),
        thresholds: given.thresholds.map_or(default.thresholds, |how| match how {
            ThresholdsName::Tuned => Thresholds::Tuned,
            ThresholdsName::Zero => Thresholds::Zero,
        }),
        voting: given.voting.map_or(default.voting, |how| match how {
            VotingName::Soft => Voting::Soft,
            VotingName::Hard => Voting::Hard,
        }),
        sigma_init: given.sigma_init,
        sigma_min: given.sigma_min,
        sigma_step: given.sigma_step,
        weight_scale: match given.weight_scale.as_deref() {
            None => default.weight_scale,
            Some("n") => WeightScale::N,
            Some(text) => {
                WeightScale::Value(text.parse().with_context(|| format!("--weight-scale must be `n` or a number, got `{text}`"))?)
            }
        },
        max_rounds: given.max_rounds.unwrap_or(default.max_rounds),
        early_stopping: given.early_stopping.unwrap_or(default.early_stopping),
        validation: match &given.validation {
            None => default.validation,
            Some(text) => match (text.parse::<usize>(), text.parse::<f64>()) {
                (Ok(folds), _) => Validation::Folds(folds),
                (_, Ok(share)) => Validation::Share(share),
                _ => bail!("--validation must be a number of folds or a share such as 0.2, got `{text}`"),
            },
        },
        at_least_one: given.at_least_one.map_or(default.at_least_one, |when| match when {
            AtLeastOneName::Auto => AtLeastOne::Auto,
            AtLeastOneName::Always => AtLeastOne::Always,
            AtLeastOneName::Never => AtLeastOne::Never,
        }),
        class_weight: args.class_weight.clone().unwrap_or_default(),
        calibrate: args.calibrate,
        preset: args.preset.map(|PresetName::Paper| Preset::Paper),
        solver,
        seed: args.seed,
    }))
}

/// Flags of the boosted classifier that were given.
pub fn given(args: &BoostArgs) -> Vec<&'static str> {
    let facts = [
        (args.sampling_ratio.is_some(), "sampling-ratio"),
        (args.initial_weights.is_some(), "initial-weights"),
        (args.thresholds.is_some(), "thresholds"),
        (args.voting.is_some(), "voting"),
        (args.sigma_init.is_some(), "sigma-init"),
        (args.sigma_min.is_some(), "sigma-min"),
        (args.sigma_step.is_some(), "sigma-step"),
        (args.weight_scale.is_some(), "weight-scale"),
        (args.max_rounds.is_some(), "max-rounds"),
        (args.early_stopping.is_some(), "early-stopping"),
        (args.validation.is_some(), "validation"),
        (args.at_least_one.is_some(), "at-least-one"),
    ];
    facts.iter().filter(|(given, _)| *given).map(|(_, flag)| *flag).collect()
}
