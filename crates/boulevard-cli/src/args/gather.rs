//! Flags of decisions from several samples.

use clap::{Args, ValueEnum};

/// How samples become one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecideName {
    /// One machine on whole sets
    Direct,
    /// Posteriors of single samples multiplied
    Consensus,
    /// The majority of hard decisions
    Vote,
}

/// Scales of the kernel between sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NormalizationName {
    /// The mean over permutations
    Mean,
    /// That divided by the root of both sets' own values
    Cosine,
}

/// What a direct machine does with sets of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OtherSizesName {
    /// Consensus of single samples
    Consensus,
    /// A machine for every size from 2 up to the one asked for
    Family,
}

/// Parameters of `--method gather`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Parameters of gather")]
pub struct GatherArgs {
    /// How samples become one decision [default: direct]
    #[arg(long, value_name = "HOW")]
    pub decide: Option<DecideName>,
    /// Samples per decision that a direct machine is fitted for, from 1 to 16 [default: 3]
    #[arg(long, value_name = "K")]
    pub n_samples_per_decision: Option<usize>,
    /// Tuples to learn from, about [default: K times the rows]
    #[arg(long, value_name = "N")]
    pub n_extended: Option<usize>,
    /// Scale of the kernel between sets [default: mean]
    #[arg(long, value_name = "HOW")]
    pub normalization: Option<NormalizationName>,
    /// Sets of another size than a direct machine was fitted for [default: consensus]
    #[arg(long, value_name = "HOW")]
    pub other_sizes: Option<OtherSizesName>,
    /// Class priors of consensus, separated by commas, in the order of the classes [default: their shares of the rows]
    #[arg(long, value_name = "PRIORS", value_delimiter = ',', allow_negative_numbers = true)]
    pub priors: Option<Vec<f64>>,
    /// Fit a sigmoid that came out falling on held-out values again on the training values
    #[arg(long)]
    pub platt_guard: bool,
    /// Write all orders of every tuple out instead of using the symmetric kernel (K at most 4)
    #[arg(long)]
    pub no_symmetric: bool,
}
