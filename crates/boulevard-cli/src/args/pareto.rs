//! Flags of fronts.

use boulevard::methods::pareto::Pick;
use clap::{Args, ValueEnum};

/// How a front is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// Exact points; restarts where the kernel is not positive semi-definite
    Hybrid,
    /// Exact points only
    Exact,
    /// The paper's evolution
    Evolve,
}

/// How an evolution mutates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MutationName {
    /// A positive alpha becomes zero, a zero becomes random
    Hybrid,
    /// Zeros and ones change places
    Switching,
    /// Normal steps
    Gaussian,
}

/// How an evolution recombines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CrossoverName {
    /// Genes are exchanged
    Uniform,
    /// Points on the line through both parents
    Arithmetic,
}

/// Which NSGA-II.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VariantName {
    /// As in the paper's experiments
    Paper,
    /// As its authors published it
    Textbook,
}

/// Parameters of `--method pareto`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Parameters of pareto")]
pub struct ParetoArgs {
    /// How the front is computed [default: hybrid]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<ModeName>,
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
    pub mutation: Option<MutationName>,
    /// How an evolution recombines [default: uniform]
    #[arg(long, value_name = "HOW")]
    pub crossover: Option<CrossoverName>,
    /// Which NSGA-II [default: paper]
    #[arg(long, value_name = "WHICH")]
    pub variant: Option<VariantName>,
    /// Share of the rows on which errors are measured; 0 for none [default: 0.2]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub holdout: Option<f64>,
    /// Hold-outs over which errors are averaged before a point of an exact front is picked [default: 5]
    #[arg(long, value_name = "N")]
    pub holdout_repeats: Option<usize>,
    /// The point that predicts: `holdout` (lowest error), `knee`, `one-se`, or a row of the front [default: holdout]
    #[arg(long, value_name = "POINT", value_parser = pick)]
    pub pick: Option<Pick>,
    /// Do not solve the picked point again on all rows
    #[arg(long)]
    pub no_refit: bool,
}

fn pick(text: &str) -> Result<Pick, String> {
    match text {
        "holdout" => Ok(Pick::Holdout),
        "knee" => Ok(Pick::Knee),
        "one-se" => Ok(Pick::OneSe),
        row => row.parse().map(Pick::Index).map_err(|_| "expected `holdout`, `knee`, `one-se` or a row of the front".to_owned()),
    }
}
