//! The `boulevard` program: flags are parsed, turned into a checked request, run, and reported.

mod args;
mod columns;
mod commands;
mod data;
mod explore;
mod files;
mod learner;
mod model;
mod papers;
mod progress;
mod report;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// How a verb that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything asked for was done.
    Done,
    /// A solver stopped early and `--strict` was given.
    NotConverged,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotConverged) => ExitCode::from(1),
        Err(error) => {
            report::complain(&format!("error: {}", in_one_line(&error)));
            ExitCode::from(2)
        }
    }
}

/// The error and its causes. Library errors spell out their cause themselves; it is not said twice.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Train(args) => commands::train::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Scale(args) => commands::scale::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::SvmTrain(args) => commands::libsvm::train::run(&args),
        Command::SvmPredict(args) => commands::libsvm::predict::run(&args),
        Command::Completions(args) => commands::generated::completions(&args),
        Command::Man(args) => commands::generated::man(&args),
        Command::DocsCli => commands::generated::reference(),
    }
}
