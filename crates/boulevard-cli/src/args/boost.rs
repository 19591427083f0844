//! Flags of the boosted classifier.

use boulevard::methods::boosted::{AtLeastOne, InitialWeights, Measure, Thresholds, Validation, Voting, WeightScale};
use clap::Args;
use serde::Serialize;

use super::learner::Finite;

/// Parameters of `--method boost`.
#[derive(Clone, Debug, Default, Serialize, Args)]
#[command(next_help_heading = "Boosting (--method boost)")]
pub struct BoostArgs {
    /// Share of the rows that is drawn, unless all are used [default: 0.3]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub sampling_ratio: Option<Finite>,
    /// First weights [default: auto]
    #[arg(long, value_name = "HOW")]
    pub initial_weights: Option<InitialWeights>,
    /// Thresholds of the scores [default: tuned]
    #[arg(long, value_name = "HOW")]
    pub thresholds: Option<Thresholds>,
    /// What thresholds and the number of rounds are chosen by [default: f1]
    #[arg(long, value_name = "WHAT")]
    pub measure: Option<Measure>,
    /// Price of a miss, for --measure cost [default: 1]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    pub miss_cost: Option<Finite>,
    /// Price of a false alarm, for --measure cost [default: 1]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    pub alarm_cost: Option<Finite>,
    /// Share of the carriers to be found, for --measure precision-at-recall [default: 0.8]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub least_recall: Option<Finite>,
    /// Votes [default: soft]
    #[arg(long, value_name = "HOW")]
    pub voting: Option<Voting>,
    /// Width of the first kernel exp(-|x - z|^2 / (2 sigma^2)) [default: from the median distance]
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub sigma_init: Option<Finite>,
    /// No kernel is narrower than this [default: a fifth of the first]
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub sigma_min: Option<Finite>,
    /// What a refused round takes off the width [default: a twentieth of the first]
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub sigma_step: Option<Finite>,
    /// Factor between weights and prices: `n` (the number of rows) or a number [default: n]
    #[arg(long, value_name = "SCALE", allow_negative_numbers = true)]
    pub weight_scale: Option<WeightScale>,
    /// Rounds at most [default: 20]
    #[arg(long, value_name = "N")]
    pub max_rounds: Option<usize>,
    /// Keep only as many rounds as serve held-out rows best [default: true]
    #[arg(long, value_name = "BOOL")]
    pub early_stopping: Option<bool>,
    /// Held-out rows: a number of folds, or a share such as 0.2 [default: 5]
    #[arg(long, value_name = "FOLDS", allow_negative_numbers = true)]
    pub validation: Option<Validation>,
    /// A row that no label claims gets its best one [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub at_least_one: Option<AtLeastOne>,
}
