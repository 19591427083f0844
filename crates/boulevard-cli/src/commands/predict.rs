//! `boulevard predict`: labels, decision values and probabilities as CSV; the accuracy where the truth is known.

use anyhow::{Context as _, Result, ensure};
use boulevard::data::io::{Format, Missing, ReadOptions, Scan, TargetKind, read_whole, read_whole_from};
use boulevard::data::{Dataset, Fill, Imputer, Sets, Target};
use boulevard::metrics::classification::Confusion;
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::metrics::regression;
use boulevard::persist::AnyModel;
use boulevard::svm::{Answers, Model};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::PredictArgs;
use crate::files;
use crate::model::{align, decide, load, load_for};
use crate::progress::Watcher;
use crate::report::{complain, labels, number, print, print_json};

pub fn run(args: &PredictArgs) -> Result<Outcome> {
    files::all_writable(&args.output)?;
    let mut model = load(&args.model)?;
    if args.probability && !model.decides_sets() {
        let classifies = !model.answers().are_numbers() && model.answers() != Answers::Inside;
        ensure!(classifies, "--probability needs a classifier, and this model is of kind `{}`", model.inner().kind());
        ensure!(model.has_probabilities(), "{}: the model has no probabilities: train it with --calibrate", args.model.display());
    }
    let (mut data, dropped) = read(&model, args)?;
    if !dropped.is_empty() {
        tell_dropped(&dropped, data.len());
    }
    if model.features() < data.x.columns() && model.feature_names().is_none() {
        model = load_for(&args.model, data.x.columns())?;
    }
    align(&model, &mut data, &args.data)?;
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let gathered = gather(&model, &data, args)?;
    let decisions = decide(&model, &data, gathered.as_ref().map(|gathered| &gathered.sets), &context)?;
    let said = model.predictions_from(&decisions)?;
    let probabilities = if args.probability { model.probabilities_from(&decisions)? } else { None };
    watcher.finish();
    let groups: Option<Vec<String>> = gathered.as_ref().and_then(|gathered| gathered.names.clone());
    // From here on a row is a set.
    let data = match gathered {
        Some(gathered) => gathered.truth,
        None => data,
    };
    let mut head = match &said {
        Target::Labels(labels) => labels.names().to_vec(),
        _ => vec!["prediction".to_owned()],
    };
    let mut numbers: Vec<(usize, &[f64])> = Vec::new();
    if args.decision {
        head.extend(model.decision_names());
        numbers.push((decisions.columns, &decisions.values));
    }
    if let Some(values) = &probabilities {
        let names = probability_names(&model);
        head.extend(names.iter().map(|name| format!("probability:{name}")));
        numbers.push((names.len(), values));
    }
    let summary = judge(&data, &said)?;
    if args.run.json && args.output.is_none() {
        let rows: Vec<Value> = (0..data.len()).map(|row| row_json(row, groups.as_deref(), &head, &said, &numbers)).collect();
        print_json(
            &json!({ "rows": data.len(), "dropped_lines": dropped, "score": summary.as_ref().map(|s| s.json.clone()), "predictions": rows }),
        )?;
        return Ok(Outcome::Done);
    }
    let csv = table(data.len(), groups.as_deref(), &head, &said, &numbers);
    match &args.output {
        Some(path) => {
            files::write(path, csv.as_bytes())?;
            if args.run.json {
                print_json(&json!({ "rows": data.len(), "dropped_lines": dropped, "score": summary.map(|s| s.json), "output": path }))?;
            } else {
                let score = summary.map_or(String::new(), |s| s.text + "\n");
                print(&format!("{score}{} predictions written to {}\n", data.len(), path.display()))?;
            }
        }
        None => {
            print(&csv)?;
            // The table goes to standard output, perhaps into a pipe: the score must not follow it there.
            if let Some(summary) = summary
                && !args.run.quiet
            {
                complain(&summary.text);
            }
        }
    }
    Ok(Outcome::Done)
}

/// What the columns of probabilities stand for.
fn probability_names(model: &AnyModel) -> &[String] {
    match model.answers() {
        Answers::Classes(names) | Answers::Labels(names) | Answers::Tasks { names, .. } => names,
        Answers::Numbers(_) | Answers::Inside => &[],
    }
}

/// The sets of a file, their names where they have any, and their labels where the file has some.
struct Gathered {
    sets: Sets,
    names: Option<Vec<String>>,
    truth: Dataset<'static>,
}

/// For a classifier of sets: which rows belong together. Without `--group` every row is a set of its own.
fn gather(model: &AnyModel, data: &Dataset<'static>, args: &PredictArgs) -> Result<Option<Gathered>> {
    if !model.decides_sets() {
        return Ok(None);
    }
    let (sets, names) = match &data.groups {
        Some(groups) => {
            let (sets, places) = Sets::of_groups(groups);
            (sets, Some(places.into_iter().map(|place| groups.names()[place].clone()).collect()))
        }
        None => {
            if !args.run.quiet {
                complain("hint: no --group was given, so every row is a set of its own");
            }
            (Sets::singles(data.len()), None)
        }
    };
    // One row of each set stands for it where labels are compared.
    let first: Vec<usize> = (0..sets.len()).map(|set| sets.rows(set)[0] as usize).collect();
    if let Target::Classes(classes) = &data.target {
        sets.shared_classes(classes).with_context(|| args.data.display().to_string())?;
    }
    Ok(Some(Gathered { truth: data.select(&first), sets, names }))
}

/// A table, and the lines of the rows that were left out of it.
type Found = (Dataset<'static>, Vec<usize>);

fn found(scan: Scan) -> Found {
    (scan.data, scan.dropped_lines)
}

/// Answers must be matched to rows: says which rows have none.
fn tell_dropped(dropped: &[usize], rows: usize) {
    const SHOWN: usize = 20;
    let mut lines = dropped.iter().take(SHOWN).map(usize::to_string).collect::<Vec<_>>().join(", ");
    if dropped.len() > SHOWN {
        lines += &format!(" and {} more (--json has all)", dropped.len() - SHOWN);
    }
    let total = rows + dropped.len();
    complain(&format!("warning: {} of {total} rows have missing values and get no answer: lines {lines}", dropped.len()));
}

/// What to do about missing values: what the model remembers, unless the command says something that goes with it.
fn missing(model: &AnyModel, args: &PredictArgs) -> Result<Missing> {
    let (remembered, asked) = (model.imputer().map(Imputer::fill), args.read.fill());
    if let Some(asked @ (Fill::Median | Fill::MostFrequent)) = asked {
        ensure!(
            remembered == Some(asked),
            "{}: the model remembers no values for --missing {}: train it with the same flag",
            args.model.display(),
            if asked == Fill::Median { "median" } else { "most-frequent" }
        );
    }
    if args.read.missing.is_some() || args.read.drop_missing {
        return Ok(args.read.options(TargetKind::None).missing);
    }
    Ok(match remembered {
        None => Missing::Error,
        Some(Fill::Drop) => Missing::DropRow,
        Some(Fill::Median | Fill::MostFrequent) => Missing::Keep,
    })
}

/// A way to read the file more than once: standard input is kept.
fn loader(args: &PredictArgs) -> Result<impl Fn(&ReadOptions) -> boulevard::Result<Scan>> {
    let input = if args.data.as_os_str() == "-" { Some(files::standard_input()?) } else { None };
    Ok(move |options: &ReadOptions| match &input {
        Some(bytes) => read_whole_from(&bytes[..], "-", options),
        None => read_whole(&args.data, options),
    })
}

/// Reads the file, with the label if it has one.
///
/// Without `--label` the last column is a label exactly if the model does not need it as a feature.
fn read(model: &AnyModel, args: &PredictArgs) -> Result<Found> {
    files::expect_file(&args.data)?;
    let target = match model.answers() {
        Answers::Inside if args.read.label.is_none() => TargetKind::None,
        answers if answers.are_numbers() => TargetKind::Real,
        _ => TargetKind::Classes,
    };
    let mut options = args.read.options(target);
    options.missing = missing(model, args)?;
    if let Answers::Labels(names) = model.answers() {
        return read_labels(names, args, options);
    }
    let names = model.feature_names();
    // The model was trained on one-hot columns: new rows need the same treatment.
    options.one_hot |= names.is_some_and(|names| names.iter().any(|name| name.contains('=')));
    if model.wants_kernel_values() {
        let use_ = boulevard::data::io::PrecomputedUse::Predict;
        return Ok((boulevard::data::io::read_precomputed(&args.data, &options, use_)?.data, Vec::new()));
    }
    options.features = names.map(<[String]>::to_vec);
    let load = loader(args)?;
    let with_label = load(&options);
    if args.read.label.is_some() || target == TargetKind::None || options.format == Some(Format::Libsvm) {
        return Ok(found(with_label?));
    }
    // A column that stands where the label should be, but is empty or no label: the features are what counts.
    if names.is_some()
        && let Err(refused) = &with_label
        && let Ok(scan) = load(&ReadOptions { target: TargetKind::None, ..options.clone() })
    {
        complain(&format!("warning: the label cannot be read, so there is no score: {refused}"));
        return Ok(found(scan));
    }
    let needed = match &with_label {
        Ok(scan) => match (names, &scan.data.feature_names) {
            (Some(names), Some(have)) => !names.iter().all(|name| have.contains(name)),
            _ => scan.data.x.columns() < model.features() && !scan.data.x.is_sparse(),
        },
        // A last column that is no number cannot be a regression label, but neither can it be a feature: the first error is the better.
        Err(_) => false,
    };
    if needed && let Ok(scan) = load(&ReadOptions { target: TargetKind::None, ..options.clone() }) {
        return Ok(found(scan));
    }
    Ok(found(with_label?))
}

/// Reads a file for a model of labels: with their columns where it has them all, else without.
fn read_labels(names: &[String], args: &PredictArgs, mut options: ReadOptions) -> Result<Found> {
    let load = loader(args)?;
    if !options.labels.is_empty() {
        return Ok(found(load(&options)?));
    }
    options.labels = names.to_vec();
    if let Ok(scan) = load(&options) {
        return Ok(found(scan));
    }
    Ok(found(load(&ReadOptions { labels: Vec::new(), target: TargetKind::None, ..options })?))
}

/// How good the predictions are.
struct Score {
    text: String,
    json: Value,
}

fn judge(data: &Dataset<'_>, said: &Target) -> Result<Option<Score>> {
    let weights = data.weights.as_deref();
    Ok(match (&data.target, said) {
        (Target::Classes(truth), Target::Classes(said)) if truth.names().iter().any(|name| said.names().contains(name)) => {
            let table = Confusion::from_categories(truth, said, weights)?;
            let right = (0..table.classes()).map(|class| table.count(class, class)).sum::<f64>();
            let total: f64 =
                (0..table.classes()).flat_map(|i| (0..table.classes()).map(move |j| (i, j))).map(|(i, j)| table.count(i, j)).sum();
            let text = format!("accuracy {} ({} of {} right)", number::percent(table.accuracy()), number::g(right), number::g(total));
            Some(Score { text, json: json!({ "accuracy": table.accuracy(), "balanced_accuracy": table.balanced_accuracy() }) })
        }
        (Target::Labels(truth), Target::Labels(said)) => {
            let counts = LabelConfusion::new(truth, said, weights)?;
            let text = format!("{}{}", labels::table(&counts).text(), labels::summary(&counts));
            Some(Score { text, json: labels::json(&counts) })
        }
        (Target::Real(truth), Target::Real(said)) => {
            let (mse, r2) = (regression::mean_squared_error(truth, said, weights)?, regression::r2(truth, said, weights)?);
            let text = format!("root mean squared error {}, R2 {}", number::g(mse.sqrt()), number::g(r2));
            Some(Score { text, json: json!({ "mean_squared_error": mse, "r2": r2 }) })
        }
        _ => None,
    })
}

fn said_text(target: &Target, row: usize) -> String {
    match target {
        Target::Classes(classes) => classes.names()[classes.codes()[row] as usize].clone(),
        Target::Real(values) => values[row].to_string(),
        Target::Labels(labels) => labels.row(row).iter().map(|&on| if on { "1" } else { "0" }).collect::<Vec<_>>().join(","),
        Target::None => String::new(),
    }
}

fn table(rows: usize, groups: Option<&[String]>, head: &[String], said: &Target, numbers: &[(usize, &[f64])]) -> String {
    let mut text = if groups.is_some() { "group,".to_owned() } else { String::new() };
    text += &(head.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",") + "\n");
    for row in 0..rows {
        if let Some(groups) = groups {
            text.push_str(&(quoted(&groups[row]) + ","));
        }
        match said {
            // One column per label.
            Target::Labels(_) => text.push_str(&said_text(said, row)),
            _ => text.push_str(&quoted(&said_text(said, row))),
        }
        for (width, values) in numbers {
            values[row * width..(row + 1) * width].iter().for_each(|value| text.push_str(&format!(",{value}")));
        }
        text.push('\n');
    }
    text
}

fn row_json(row: usize, groups: Option<&[String]>, head: &[String], said: &Target, numbers: &[(usize, &[f64])]) -> Value {
    let mut object = serde_json::Map::new();
    if let Some(groups) = groups {
        object.insert("group".to_owned(), json!(groups[row]));
    }
    let answers = match said {
        Target::Labels(labels) => labels.row(row).iter().map(|&on| json!(on)).collect(),
        Target::Real(values) => vec![json!(values[row])],
        other => vec![json!(said_text(other, row))],
    };
    let width = answers.len();
    head.iter().zip(answers).for_each(|(name, value)| {
        object.insert(name.clone(), value);
    });
    let cells = numbers.iter().flat_map(|(width, values)| values[row * width..(row + 1) * width].iter());
    head[width..].iter().zip(cells).for_each(|(name, value)| {
        object.insert(name.clone(), json!(value));
    });
    Value::Object(object)
}

/// A CSV field.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
