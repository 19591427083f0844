//! What was clicked, as the command line that does the same: it is what runs, so it cannot say anything else.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use boulevard::any::Method;
use clap::{Args, Parser, ValueEnum};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::{Cli, Command, LearnerArgs, MethodName, TrainArgs};
use crate::learner::flags_of;

/// Parameters that matter most, in the order in which they are offered; a method shows the first few that it has.
const MAIN: [&str; 14] = [
    "scale",
    "c",
    "nu",
    "epsilon",
    "kernel",
    "gamma",
    "n_points",
    "n_induced",
    "max_rules",
    "rho",
    "n_samples_per_decision",
    "max_rounds",
    "class_weight",
    "loss",
];
const MAIN_SHOWN: usize = 5;

/// A training as the page asks for it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    pub method: String,
    /// Roles of columns: label, labels, group, task, weight, ignore.
    pub columns: Map<String, Value>,
    /// Flags by name (with dashes) and value; a switch has `true`.
    pub flags: Map<String, Value>,
}

impl Request {
    /// Words after `boulevard`.
    pub fn words(&self, data: &str, one_hot: bool) -> Result<Vec<String>> {
        let mut words = vec!["train".to_owned(), data.to_owned(), "--method".to_owned(), self.method.clone()];
        for (name, value) in self.columns.iter().chain(&self.flags) {
            ensure!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "`{}` is not a flag", name.escape_debug());
            ensure!(!["output", "report", "json", "format"].contains(&name.as_str()), "`--{name}` is not for this page");
            match value {
                Value::Null | Value::Bool(false) => {}
                Value::Bool(true) => words.push(format!("--{name}")),
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => words.push(format!("--{name}={}", text.trim())),
                Value::Number(number) => words.push(format!("--{name}={number}")),
                _ => return Err(anyhow!("`--{name}` takes one value")),
            }
        }
        if one_hot && !self.columns.contains_key("one-hot") {
            words.push("--one-hot".to_owned());
        }
        Ok(words)
    }
}

/// The flags behind words.
pub fn parse(words: &[String], path: &Path) -> Result<TrainArgs> {
    let mut real = words.to_vec();
    real[1] = path.to_string_lossy().into_owned();
    let parsed = Cli::try_parse_from(std::iter::once("boulevard".to_owned()).chain(real));
    match parsed.map_err(|error| anyhow!("{}", told(&error.to_string())))?.command {
        Command::Train(args) => Ok(args),
        _ => Err(anyhow!("this page trains only")),
    }
}

/// The first sentence of a complaint about the command line.
fn told(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Words as they are typed into a shell.
pub fn typed(words: &[String]) -> String {
    let word = |word: &String| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=,:+@%".contains(c));
        if plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    std::iter::once("boulevard".to_owned()).chain(words.iter().map(word)).collect::<Vec<_>>().join(" ")
}

/// All methods with their flags, for the page.
pub fn methods() -> Value {
    let command = LearnerArgs::augment_args(clap::Command::new("flags"));
    let arguments: Vec<(String, &clap::Arg)> = command.get_arguments().map(|arg| (arg.get_id().to_string(), arg)).collect();
    let method = |name: &MethodName| {
        let mut own: Vec<String> = name.methods().iter().filter_map(|name| Method::named(name).ok()).flat_map(flags_of).collect();
        own.push("scale".to_owned());
        let main: Vec<&str> = MAIN.iter().copied().filter(|flag| own.iter().any(|one| one == flag)).take(MAIN_SHOWN).collect();
        let mut shown: Vec<&(String, &clap::Arg)> = arguments.iter().filter(|(id, _)| own.contains(id)).collect();
        shown.sort_by_key(|(id, _)| main.iter().position(|flag| flag == id).unwrap_or(main.len()));
        let flags: Vec<Value> = shown.iter().map(|(id, arg)| flag(arg, main.contains(&id.as_str()))).collect();
        let help = name.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default();
        json!({ "name": name.text(), "help": help, "flags": flags })
    };
    Value::Array(MethodName::value_variants().iter().map(method).collect())
}

fn flag(arg: &clap::Arg, main: bool) -> Value {
    let switch = !arg.get_action().takes_values();
    let choices: Vec<String> =
        if switch { Vec::new() } else { arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect() };
    json!({
        "name": arg.get_long().unwrap_or_default(), "help": arg.get_help().map(ToString::to_string), "switch": switch,
        "choices": choices, "main": main,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(value: Value) -> Request {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_clicked_is_a_command_line() {
        let asked = request(
            json!({ "method": "pareto", "columns": { "label": "the class" }, "flags": { "gamma": "0.5", "n-points": 40, "calibrate": false, "c": "" } }),
        );
        let words = asked.words("my data.csv", false).unwrap();
        assert_eq!(typed(&words), "boulevard train 'my data.csv' --method pareto '--label=the class' --gamma=0.5 --n-points=40");
        let args = parse(&words, Path::new("/elsewhere/x.csv")).unwrap();
        assert_eq!(args.data, Path::new("/elsewhere/x.csv"));
        assert_eq!(args.read.label.as_deref(), Some("the class"));
    }

    #[test]
    fn nothing_but_a_training_can_be_asked_for() {
        for flags in [json!({ "output": "/etc/x" }), json!({ "report": "x" }), json!({ "c; rm": "1" }), json!({ "c": ["1"] })] {
            assert!(request(json!({ "method": "svc", "flags": flags })).words("x.csv", false).is_err());
        }
        let words = request(json!({ "method": "svc", "flags": { "c": "-o" } })).words("x.csv", false).unwrap();
        assert!(parse(&words, Path::new("x.csv")).is_err());
        let words = request(json!({ "method": "no-such" })).words("x.csv", false).unwrap();
        assert!(parse(&words, Path::new("x.csv")).unwrap_err().to_string().contains("no-such"));
    }

    #[test]
    fn every_method_has_flags_of_which_a_few_matter() {
        for method in methods().as_array().unwrap() {
            let flags = method["flags"].as_array().unwrap();
            let main = flags.iter().filter(|flag| flag["main"] == true).count();
            assert!((1..=MAIN_SHOWN).contains(&main), "{method}");
            assert!(!method["help"].as_str().unwrap().is_empty());
        }
    }
}
