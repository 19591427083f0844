//! Flags of fronts.

use boulevard::methods::pareto::{Crossover, Mode, Mutation, Pick, Variant, Widths};
use clap::Args;
use serde::Serialize;

use super::learner::{Finite, off};

/// Parameters of `--method pareto`.
#[derive(Clone, Debug, Default, Serialize, Args)]
#[command(next_help_heading = "Parameters of pareto")]
pub struct ParetoArgs {
    /// Kernel widths (gamma) whose fronts are compared: `auto` (around the data's own), `kernel` (--gamma only), or numbers separated by commas [default: auto; kernel where --gamma is a number]
    #[arg(long, value_name = "WIDTHS")]
    pub widths: Option<Widths>,
    /// How the front is computed [default: hybrid]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
    /// Points of an exact front [default: 100]
    #[arg(long, value_name = "N")]
    pub n_points: Option<usize>,
    /// Candidates of an evolution, at least 4 [default: 100]
    #[arg(long, value_name = "N")]
    pub population_size: Option<usize>,
    /// Generations of an evolution [default: 1000]
    #[arg(long, value_name = "N")]
    pub generations: Option<usize>,
    /// How an evolution mutates [default: hybrid]
    #[arg(long, value_name = "HOW")]
    pub mutation: Option<Mutation>,
    /// How an evolution recombines [default: uniform]
    #[arg(long, value_name = "HOW")]
    pub crossover: Option<Crossover>,
    /// Which NSGA-II [default: paper]
    #[arg(long, value_name = "WHICH")]
    pub variant: Option<Variant>,
    /// Share of the rows on which errors are measured; 0 for none [default: 0.2]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub holdout: Option<Finite>,
    /// Hold-outs over which errors are averaged before a point of an exact front is picked [default: 5]
    #[arg(long, value_name = "N")]
    pub holdout_repeats: Option<usize>,
    /// The point that predicts: `holdout` (lowest error), `knee`, `one-se`, or a row of the front [default: holdout]
    #[arg(long, value_name = "POINT")]
    pub pick: Option<Pick>,
    /// Do not solve the picked point again on all rows
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub no_refit: bool,
}
