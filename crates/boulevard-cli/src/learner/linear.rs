//! The linear machines: the loss says whether classes or numbers are learnt.

use anyhow::{Result, bail};
use boulevard::solver::linear::{Bias, LinearLoss, Regularizer};
use boulevard::svm::{LinearSvc, LinearSvr};

use super::Recipe;
use crate::args::{LearnerArgs, LossName, RegularizerName};

/// The learner for the flags.
pub fn recipe(args: &LearnerArgs) -> Result<Recipe> {
    let c = args.c.unwrap_or(1.0);
    let bias = args.intercept_scaling.map_or(Bias::Free, Bias::Column);
    let tolerance = args.tolerance.unwrap_or(1e-4);
    let loss = match args.loss {
        Some(LossName::Hinge | LossName::EpsilonInsensitive) => LinearLoss::Absolute,
        Some(LossName::SquaredHinge | LossName::SquaredEpsilonInsensitive) | None => LinearLoss::Squared,
    };
    if matches!(args.loss, Some(LossName::EpsilonInsensitive | LossName::SquaredEpsilonInsensitive)) {
        for (given, flag) in
            [(args.penalty.is_some(), "penalty"), (args.class_weight.is_some(), "class-weight"), (args.calibrate, "calibrate")]
        {
            if given {
                bail!("--{flag} does not apply to regression: it belongs to --loss hinge and squared-hinge");
            }
        }
        return Ok(Recipe::LinearSvr(LinearSvr { c, epsilon: args.epsilon.unwrap_or(0.0), loss, bias, tolerance }));
    }
    if args.epsilon.is_some() {
        bail!("--epsilon does not apply to classification: it belongs to --loss epsilon-insensitive and squared-epsilon-insensitive");
    }
    let regularizer = match args.penalty {
        Some(RegularizerName::L1) => Regularizer::L1,
        Some(RegularizerName::L2) | None => Regularizer::L2,
    };
    Ok(Recipe::LinearSvc(LinearSvc {
        c,
        loss,
        regularizer,
        bias,
        class_weight: args.class_weight.clone().unwrap_or_default(),
        tolerance,
        calibrate: args.calibrate,
        seed: args.seed,
    }))
}
