//! `boulevard evaluate`: cross-validation, and whether one method really beats another.

use anyhow::{Result, ensure};
use boulevard::data::split::Split;
use boulevard::data::{Categories, Dataset, LabelMatrix, Target};
use boulevard::metrics::classification::Confusion;
use boulevard::metrics::comparison::{TTest, corrected_t_test, mean, standard_deviation};
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::observe::StopReason;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{EvaluateArgs, MethodName};
use crate::folds::{FoldResult, cross_validate, error_name};
use crate::learner::Plan;
use crate::progress::Watcher;
use crate::report::table::Table;
use crate::report::{labels, number, print, print_json};
use crate::{data, files, report};

mod curve;

/// Per-fold values are printed up to this many.
const MOST_FOLDS: usize = 100;

pub fn run(args: &EvaluateArgs) -> Result<Outcome> {
    let plans = Plan::several(&args.method, &args.learner)?;
    let target = plans[0].target();
    ensure!(plans.iter().all(|plan| plan.target() == target), "classification, regression and one-class methods cannot be compared");
    ensure!(
        args.sizes.is_empty() || args.method.contains(&MethodName::Gather),
        "--sizes does not apply to these methods: it belongs to gather"
    );
    ensure!(!args.sizes.contains(&0), "--sizes must be at least 1");
    if let Some(path) = &args.curve {
        files::expect_writable(path)?;
    }
    let data = data::read_for(&plans[0], &args.data, &args.read)?;
    let splits = data::folds(&data, args.folds, args.repeats, args.learner.seed)?;
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let results: Result<Vec<_>> = plans.iter().map(|plan| cross_validate(plan, &data, &splits, &context)).collect();
    let curve = plans.iter().find(|plan| plan.method == MethodName::Gather).filter(|_| !args.sizes.is_empty());
    let curve = curve.map(|plan| curve::run(plan, &data, &splits, &args.sizes, &context)).transpose();
    watcher.finish();
    let curve = curve?;
    if let (Some(path), Some(curve)) = (&args.curve, &curve) {
        files::write(path, curve.page(&args.data.display().to_string()).as_bytes())?;
    }
    let judged: Vec<Judged> = plans.iter().zip(results?).map(|(plan, folds)| Judged::new(plan, folds)).collect();
    if judged.iter().any(|one| one.unconverged > 0) && !args.run.quiet {
        report::complain("warning: some fits did not converge; their folds count all the same");
    }
    let tests = compare(&judged, &splits)?;
    if args.run.json {
        let mut value = as_json(&judged, &tests, &data, &splits)?;
        if let Some(curve) = &curve {
            value["curve"] = curve.json();
        }
        print_json(&value)?;
    } else {
        let header = format!("{} ({}), {} folds x {}\n\n", args.data.display(), data::in_words(&data), args.folds, args.repeats);
        let mut text = header + &as_text(&judged, &tests, &data, &splits)?;
        if args.method.contains(&MethodName::Gather) {
            text.push_str(match &data.groups {
                Some(_) => "\ngather is judged by groups: one decision each\n",
                None => "\ngather is judged by sets: held-out rows of one class drawn together\n",
            });
        }
        if let Some(curve) = &curve {
            text.push_str(&format!("\n{}", curve.text()));
        }
        if let Some(path) = &args.curve {
            text.push_str(&format!("curve written to {}\n", path.display()));
        }
        print(&text)?;
    }
    Ok(Outcome::Done)
}

/// A method and its errors.
struct Judged {
    name: &'static str,
    errors: Vec<f64>,
    folds: Vec<FoldResult>,
    unconverged: usize,
}

impl Judged {
    fn new(plan: &Plan, folds: Vec<FoldResult>) -> Self {
        let errors = folds.iter().map(|fold| fold.error).collect();
        let unconverged = folds.iter().filter(|fold| fold.stop != StopReason::Converged).count();
        Self { name: plan.method.text(), errors, folds, unconverged }
    }
}

/// A test between two of the methods.
struct Comparison {
    first: usize,
    second: usize,
    test: TTest,
}

fn compare(judged: &[Judged], splits: &[Split]) -> Result<Vec<Comparison>> {
    let mut tests = Vec::new();
    for first in 0..judged.len() {
        for second in first + 1..judged.len() {
            let differences: Vec<f64> = judged[first].errors.iter().zip(&judged[second].errors).map(|(a, b)| a - b).collect();
            let test = corrected_t_test(&differences, splits[0].train.len(), splits[0].test.len())?;
            tests.push(Comparison { first, second, test });
        }
    }
    Ok(tests)
}

/// All predictions of all folds against the truth.
fn confusion(one: &Judged, data: &Dataset<'_>, splits: &[Split]) -> Result<Option<Confusion>> {
    let Target::Classes(truth) = &data.target else { return Ok(None) };
    let rows: Vec<usize> = splits.iter().flat_map(|split| split.test.iter().copied()).collect();
    let mut said = Vec::with_capacity(rows.len());
    for fold in &one.folds {
        let Target::Classes(predicted) = &fold.predicted else { return Ok(None) };
        said.extend(predicted.codes().iter().map(|&code| predicted.names()[code as usize].as_str()));
    }
    let place = |name: &str| truth.names().iter().position(|known| known == name).map(|place| place as u32);
    let codes: Option<Vec<u32>> = said.into_iter().map(place).collect();
    let Some(codes) = codes else { return Ok(None) };
    let said = Categories::new(codes, truth.names().to_vec())?;
    Ok(Some(Confusion::from_categories(&truth.select(&rows), &said, None)?))
}

/// The same for several labels per row.
fn label_confusion(one: &Judged, data: &Dataset<'_>, splits: &[Split]) -> Result<Option<LabelConfusion>> {
    let Target::Labels(truth) = &data.target else { return Ok(None) };
    let rows: Vec<usize> = splits.iter().flat_map(|split| split.test.iter().copied()).collect();
    let mut said = Vec::with_capacity(rows.len() * truth.names().len());
    for fold in &one.folds {
        let Target::Labels(predicted) = &fold.predicted else { return Ok(None) };
        (0..predicted.len()).for_each(|row| said.extend_from_slice(predicted.row(row)));
    }
    let said = LabelMatrix::new(said, truth.names().to_vec())?;
    Ok(Some(LabelConfusion::new(&truth.select(&rows), &said, None)?))
}

fn as_text(judged: &[Judged], tests: &[Comparison], data: &Dataset<'_>, splits: &[Split]) -> Result<String> {
    let share = !matches!(data.target, Target::Real(_));
    let show = |value: f64| if share { number::percent(value) } else { number::g(value) };
    let mut table = Table::new([
        "method".to_owned(),
        error_name(&data.target).to_owned(),
        "sd over folds".to_owned(),
        "best fold".to_owned(),
        "worst fold".to_owned(),
    ]);
    for one in judged {
        let (low, high) = one.errors.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &e| (low.min(e), high.max(e)));
        table.row([one.name.to_owned(), show(mean(&one.errors)), show(standard_deviation(&one.errors)), show(low), show(high)]);
    }
    let mut text = table.text();
    for one in judged {
        let values: Vec<String> = one.errors.iter().take(MOST_FOLDS).map(|&e| number::general(e, 4)).collect();
        text.push_str(&format!("\n{} by fold: {}\n", one.name, values.join(" ")));
        if let Some(counts) = label_confusion(one, data, splits)? {
            text.push_str(&format!("{}: {}\n\n{}", one.name, labels::summary(&counts), labels::table(&counts).text()));
        }
        if let Some(counts) = confusion(one, data, splits)? {
            text.push_str(&format!(
                "{}: accuracy {}, balanced accuracy {}\n\n",
                one.name,
                number::percent(counts.accuracy()),
                number::percent(counts.balanced_accuracy())
            ));
            text.push_str(&confusion_table(&counts).text());
        }
    }
    for Comparison { first, second, test } in tests {
        let (a, b) = (judged[*first].name, judged[*second].name);
        let verdict = match test.p {
            p if p < 0.05 => format!("{} is better", if test.mean < 0.0 { a } else { b }),
            _ => "no difference shown".to_owned(),
        };
        text.push_str(&format!(
            "\n{a} - {b}: mean difference {}, corrected resampled t = {:.3} with {:.0} degrees, p = {:.4}: {verdict}\n",
            number::general(test.mean, 4),
            test.t,
            test.degrees,
            test.p
        ));
    }
    Ok(text)
}

/// Rows are the truth, columns what was said.
pub fn confusion_table(counts: &Confusion) -> Table {
    let mut table = Table::new(std::iter::once("true \\ said".to_owned()).chain(counts.names().iter().cloned()));
    for (i, name) in counts.names().iter().enumerate() {
        table.row(std::iter::once(name.clone()).chain((0..counts.classes()).map(|j| number::g(counts.count(i, j)))));
    }
    table
}

fn as_json(judged: &[Judged], tests: &[Comparison], data: &Dataset<'_>, splits: &[Split]) -> Result<Value> {
    let methods: Result<Vec<Value>> = judged
        .iter()
        .map(|one| {
            let counts = confusion(one, data, splits)?.map(|counts| {
                let rows: Vec<Vec<f64>> =
                    (0..counts.classes()).map(|i| (0..counts.classes()).map(|j| counts.count(i, j)).collect()).collect();
                json!({ "classes": counts.names(), "counts": rows, "balanced_accuracy": counts.balanced_accuracy() })
            });
            Ok(json!({
                "method": one.name, "mean": mean(&one.errors), "sd": standard_deviation(&one.errors), "folds": one.errors,
                "not_converged": one.unconverged, "confusion": counts,
                "labels": label_confusion(one, data, splits)?.map(|counts| labels::json(&counts)),
            }))
        })
        .collect();
    let tests: Vec<Value> = tests
        .iter()
        .map(|c| json!({ "first": judged[c.first].name, "second": judged[c.second].name, "mean": c.test.mean, "t": c.test.t, "degrees": c.test.degrees, "p": c.test.p }))
        .collect();
    Ok(json!({ "error": error_name(&data.target), "rows": data.len(), "methods": methods?, "comparisons": tests }))
}
