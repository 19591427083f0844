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
use clap::error::ErrorKind;

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
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            report::complain(&usage_in_one_line(&error.to_string()));
            return ExitCode::from(2);
        }
        // Help and version.
        Err(error) => error.exit(),
    };
    match run(command) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotConverged) => ExitCode::from(1),
        Err(error) => {
            report::complain(&format!("error: {}", in_one_line(&error)));
            ExitCode::from(2)
        }
    }
}

/// A complaint about the words of a command: without its usage, which `--help` has in full.
fn usage_in_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    format!("{} (--help says more)", words.join(" "))
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
