//! Flags of feature induction.

use boulevard::methods::feature_induction::{Amount, Depth, GammaRule, Output, RuleLimit};
use clap::Args;
use serde::Serialize;

use super::learner::{Finite, off};

/// Parameters of feature induction.
#[derive(Clone, Debug, Default, Serialize, Args)]
#[command(next_help_heading = "Parameters of induce")]
pub struct InduceArgs {
    /// Features to induce: a number, or `auto` for what held-out rows say [default: auto]
    #[arg(long, value_name = "N")]
    pub n_induced: Option<Amount>,
    /// Rules of the model: a number at most, `none` for whole trees, or `auto` for as few as held-out rows allow [default: auto]
    #[arg(long, value_name = "N")]
    pub max_rules: Option<RuleLimit>,
    /// Depth of the trees: a number, `none` for no limit, or `auto` for what held-out rows say [default: auto]
    #[arg(long, value_name = "DEPTH")]
    pub max_depth: Option<Depth>,
    /// What leaves say (`output` in Python) [default: soft]
    #[arg(long, value_name = "WHAT")]
    pub leaf_output: Option<Output>,
    /// Which regularisation term gamma is solved for [default: w2/2C]
    #[arg(long, value_name = "RULE")]
    pub gamma_rule: Option<GammaRule>,
    /// Largest sharpness of the weights [default: 50]
    #[arg(long, value_name = "GAMMA", allow_negative_numbers = true)]
    pub gamma_max: Option<Finite>,
    /// Rows that a leaf has at least [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub min_samples_leaf: Option<Finite>,
    /// Confidence of the pruning, from 0 (none) to 0.5 [default: 0.25]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub confidence: Option<Finite>,
    /// Every row's value comes from a tree that did not see it
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub cross_fit: bool,
    /// Features at most where their number is chosen [default: 50]
    #[arg(long, value_name = "N")]
    pub max_induced: Option<usize>,
    /// Stop when a feature lowers the objective by less than this share of it [default: 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub min_gain: Option<Finite>,
    /// C of the last machine where its kernel is not linear [default: 1]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub kernel_c: Option<Finite>,
}
