//! Flags of decisions from several samples.

use boulevard::kernel::permanent::Normalization;
use boulevard::methods::multi_sample::{Method, OtherSizes};
use clap::Args;
use serde::Serialize;

use super::learner::{Finite, off};

/// Parameters of `--method gather`.
#[derive(Clone, Debug, Default, Serialize, Args)]
#[command(next_help_heading = "Parameters of gather")]
pub struct GatherArgs {
    /// How samples become one decision [default: auto]
    #[arg(long, value_name = "HOW")]
    pub decide: Option<Method>,
    /// Samples per decision that a direct machine is fitted for, from 1 to 16 [default: 3]
    #[arg(long, value_name = "K")]
    pub n_samples_per_decision: Option<usize>,
    /// Tuples to learn from, about [default: K times the rows, at most 20000]
    #[arg(long, value_name = "N")]
    pub n_extended: Option<usize>,
    /// Scale of the kernel between sets [default: mean]
    #[arg(long, value_name = "HOW")]
    pub normalization: Option<Normalization>,
    /// Sets of another size than a direct machine was fitted for [default: consensus]
    #[arg(long, value_name = "HOW")]
    pub other_sizes: Option<OtherSizes>,
    /// Class priors of consensus, separated by commas, in the order of the classes [default: their shares of the rows]
    #[arg(long, value_name = "PRIORS", value_delimiter = ',', allow_negative_numbers = true)]
    pub priors: Option<Vec<Finite>>,
    /// Fit a sigmoid that came out falling on held-out values again on the training values
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub platt_guard: bool,
    /// Write all orders of every tuple out instead of using the symmetric kernel (K at most 4)
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub no_symmetric: bool,
}
