//! Flags of feature induction.

use clap::{Args, ValueEnum};

/// What leaves say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputName {
    /// How sure they are, from -1 to 1
    Soft,
    /// -1 or 1
    Hard,
    /// How sure they are, counted with two more rows
    Laplace,
}

/// Which regularisation term the sharpness of the weights is solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GammaRuleName {
    /// |w|^2 / (2 C)
    #[value(name = "w2/2C")]
    HalfSquare,
    /// |w| / C
    #[value(name = "w/C")]
    Norm,
    /// C |w|, as printed in the paper
    #[value(name = "cw")]
    Literal,
}

/// Parameters of feature induction.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Parameters of induce")]
pub struct InduceArgs {
    /// Features to induce: a number, or `auto` for what held-out rows say [default: auto]
    #[arg(long, value_name = "N")]
    pub n_induced: Option<String>,
    /// Depth of the trees: a number, `none` for no limit, or `auto` for what held-out rows say [default: auto]
    #[arg(long, value_name = "DEPTH")]
    pub max_depth: Option<String>,
    /// What leaves say (`output` in Python) [default: soft]
    #[arg(long, value_name = "WHAT")]
    pub leaf_output: Option<OutputName>,
    /// Which regularisation term gamma is solved for [default: w2/2C]
    #[arg(long, value_name = "RULE")]
    pub gamma_rule: Option<GammaRuleName>,
    /// Largest sharpness of the weights [default: 50]
    #[arg(long, value_name = "GAMMA", allow_negative_numbers = true)]
    pub gamma_max: Option<f64>,
    /// Rows that a leaf has at least [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub min_samples_leaf: Option<f64>,
    /// Confidence of the pruning, from 0 (none) to 0.5 [default: 0.25]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub confidence: Option<f64>,
    /// Every row's value comes from a tree that did not see it
    #[arg(long)]
    pub cross_fit: bool,
    /// Features at most where their number is chosen [default: 50]
    #[arg(long, value_name = "N")]
    pub max_induced: Option<usize>,
    /// Stop when a feature lowers the objective by less than this share of it [default: 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub min_gain: Option<f64>,
    /// C of the last machine where its kernel is not linear [default: 1]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub kernel_c: Option<f64>,
}
