//! What can be said on the command line: one struct per verb. Nothing here reads a file.

mod boost;
mod data;
#[cfg(test)]
pub mod fuzz;
mod gather;
mod induce;
mod kernel;
mod learner;
mod pareto;
mod run;
mod verbs;

pub use data::DataArgs;
pub use kernel::kernel_word;
pub use learner::{LearnerArgs, MethodName, ScaleName};
pub use run::RunArgs;
pub use verbs::{
    CheckArgs, CompletionsArgs, ConvertArgs, DemoArgs, EvaluateArgs, ExploreArgs, InspectArgs, LibsvmArgs, ManArgs, ModelFormat,
    PredictArgs, ReproduceArgs, ScaleArgs, TrainArgs, TuneArgs,
};

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
First steps:
  boulevard demo                                    a tour on built-in data
  boulevard check flowers.csv                       is the file sound?
  boulevard train flowers.csv -o flowers.model      learn; the last column is the label
  boulevard predict flowers.model new.csv           use it
  boulevard evaluate flowers.csv --folds 10         how good is it?

Exit status: 0 done, 1 finished without converging under --strict, 2 error.";

/// Support vector machines: train, judge, understand and use them.
#[derive(Debug, Parser)]
#[command(name = "boulevard", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A tour on built-in data: one table, one HTML report
    Demo(DemoArgs),
    /// Learn a model from a data file
    Train(TrainArgs),
    /// Apply a model to a data file
    Predict(PredictArgs),
    /// Judge one or more methods by cross-validation
    Evaluate(EvaluateArgs),
    /// Search C and gamma by cross-validation, and refit with the best
    Tune(TuneArgs),
    /// Look at data and models on a local page: train, choose on the front, compare, save
    Explore(ExploreArgs),
    /// Say in words what a model is
    Inspect(InspectArgs),
    /// Look a data file over: bad lines, classes, columns, scales
    Check(CheckArgs),
    /// Convert data between formats, and models to and from LIBSVM
    Convert(ConvertArgs),
    /// Bring every column to a range, as svm-scale does
    Scale(ScaleArgs),
    /// Regenerate tables of published papers beside the published numbers
    Reproduce(ReproduceArgs),
    /// Train with LIBSVM's options, messages and model file
    SvmTrain(LibsvmArgs),
    /// Predict with LIBSVM's options and messages
    SvmPredict(LibsvmArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
    /// Print the reference page of the command line
    #[command(hide = true)]
    DocsCli,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
