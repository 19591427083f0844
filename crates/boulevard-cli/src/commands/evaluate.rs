//! `boulevard evaluate`: cross-validation, and whether one method really beats another.

use anyhow::{Result, ensure};
use boulevard::any::AnyLearner;
use boulevard::data::split::{self, Split};
use boulevard::data::{Categories, Dataset, LabelMatrix, Target};
use boulevard::internal::check;
use boulevard::metrics::classification::Confusion;
use boulevard::metrics::comparison::{TTest, corrected_t_test, mean, standard_deviation};
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::observe::{Context, StopReason};
use boulevard::validation::{FoldResult, cross_validate, default_folds, loss_name};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::EvaluateArgs;
use crate::learner::Plan;
use crate::progress::Watcher;
use crate::report::table::Table;
use crate::report::{labels, number, print, print_json};
use crate::{data, files, report};

mod curve;
mod page;

/// Per-fold values are printed up to this many.
const MOST_FOLDS: usize = 100;

/// Folds that are laid out at a time, about.
const BATCH: usize = 64;

pub fn run(args: &EvaluateArgs) -> Result<Outcome> {
    let plans = Plan::several(&args.method, &args.learner)?;
    let plans = plans.into_iter().map(|plan| plan.filling(args.read.fill())).collect::<Result<Vec<Plan>>>()?;
    let target = plans[0].target();
    ensure!(plans.iter().all(|plan| plan.target() == target), "classification, regression and one-class methods cannot be compared");
    let gather = plans.iter().find(|plan| matches!(plan.learner(), AnyLearner::MultiSample(_)));
    ensure!(args.sizes.is_empty() || gather.is_some(), "--sizes does not apply to these methods: it belongs to gather");
    ensure!(!args.sizes.contains(&0), "--sizes must be at least 1");
    check::at_least("evaluate", "repeats", args.repeats, 1)?;
    files::all_writable(args.curve.iter().chain(&args.report))?;
    data::expect_tasks(&plans, &args.read)?;
    let data = data::read_for(&plans[0], &args.data, &args.read)?;
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let judged = judge(&plans, &data, args, &context);
    let curve = gather.filter(|_| !args.sizes.is_empty() && judged.is_ok());
    let curve = curve.map(|plan| curve::run(plan, &data, repetitions(&data, args), &args.sizes, &context)).transpose();
    watcher.finish();
    let (judged, curve) = (judged?, curve?);
    if let (Some(path), Some(curve)) = (&args.curve, &curve) {
        files::write(path, curve.page(&args.data.display().to_string()).as_bytes())?;
    }
    if judged.iter().any(|one| one.unconverged > 0) && !args.run.quiet {
        report::complain("warning: some fits did not converge; their folds count all the same");
    }
    let tests = compare(&judged, &data)?;
    if let Some(path) = &args.report {
        files::write(path, page::page(&judged, &tests, curve.as_ref(), &data, args)?.as_bytes())?;
    }
    if args.run.json {
        let mut value = as_json(&judged, &tests, &data)?;
        if let Some(curve) = &curve {
            value["curve"] = curve.json();
        }
        print_json(&value)?;
    } else {
        let header = format!("{} ({}), {} folds x {}\n\n", args.data.display(), data::in_words(&data), args.folds, args.repeats);
        let mut text = header + &as_text(&judged, &tests, &data)?;
        if gather.is_some() {
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
        if let Some(path) = &args.report {
            text.push_str(&format!("report written to {}\n", path.display()));
        }
        print(&text)?;
    }
    Ok(Outcome::Done)
}

/// The folds of one repetition after another: all of them at once may be more than the memory holds.
fn repetitions<'a>(data: &'a Dataset<'_>, args: &EvaluateArgs) -> impl Iterator<Item = boulevard::Result<Vec<Split>>> + 'a {
    let folds = args.folds;
    split::repeat_seeds(args.learner.seed).take(args.repeats).map(move |seed| default_folds(data, folds, seed))
}

/// Cross-validates all plans on the same folds, until the time is up.
fn judge(plans: &[Plan], data: &Dataset<'_>, args: &EvaluateArgs, context: &Context<'_>) -> Result<Vec<Judged>> {
    let mut judged: Vec<Judged> = plans.iter().map(|plan| Judged::new(plan, args.folds.saturating_mul(args.repeats))).collect();
    let (mut repetitions, mut done, mut in_time) = (repetitions(data, args), 0, true);
    while in_time {
        // Several repetitions at a time, so that no thread waits for the last fold of each.
        let splits: Vec<Split> = repetitions
            .by_ref()
            .take(BATCH.div_ceil(args.folds.max(1)))
            .collect::<boulevard::Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        if splits.is_empty() {
            break;
        }
        for (plan, one) in plans.iter().zip(&mut judged) {
            let found = cross_validate(&plan.work, data, &splits, context)?;
            ensure!(found.stop != StopReason::Interrupted, "interrupted");
            in_time &= found.stop != StopReason::TimeLimit;
            one.add(found.folds, done, data)?;
        }
        done += splits.len();
    }
    for one in &judged {
        ensure!(!one.folds.is_empty(), "no fold of {} was finished within --max-time", one.name);
    }
    Ok(judged)
}

/// A method and its errors.
struct Judged {
    name: String,
    /// Folds that were asked for.
    asked: usize,
    /// Those that were finished, with their places among all.
    folds: Vec<FoldResult>,
    errors: Vec<f64>,
    unconverged: usize,
}

impl Judged {
    fn new(plan: &Plan, asked: usize) -> Self {
        Self { name: plan.method.text(), asked, folds: Vec::new(), errors: Vec::new(), unconverged: 0 }
    }

    fn add(&mut self, folds: Vec<FoldResult>, before: usize, data: &Dataset<'_>) -> Result<()> {
        for fold in folds {
            self.errors.push(fold.loss(data)?);
            self.unconverged += usize::from(fold.report.stop != StopReason::Converged);
            self.folds.push(FoldResult { split: before + fold.split, ..fold });
        }
        Ok(())
    }

    /// Rows that were tested, fold by fold.
    fn rows(&self) -> Vec<usize> {
        self.folds.iter().flat_map(|fold| fold.test.iter().copied()).collect()
    }
}

/// A test between two of the methods.
struct Comparison {
    first: usize,
    second: usize,
    test: TTest,
}

/// Tests on the folds that both methods finished.
fn compare(judged: &[Judged], data: &Dataset<'_>) -> Result<Vec<Comparison>> {
    let mut tests = Vec::new();
    for first in 0..judged.len() {
        for second in first + 1..judged.len() {
            let (a, b) = (&judged[first], &judged[second]);
            let partner = |fold: &FoldResult| b.folds.binary_search_by_key(&fold.split, |other| other.split).ok();
            let pairs = a.folds.iter().zip(&a.errors).filter_map(|(fold, error)| Some(error - b.errors[partner(fold)?]));
            let differences: Vec<f64> = pairs.collect();
            if differences.len() < 2 {
                continue;
            }
            let tested = a.folds[0].test.len();
            let test = corrected_t_test(&differences, data.len() - tested, tested)?;
            tests.push(Comparison { first, second, test });
        }
    }
    Ok(tests)
}

/// All predictions of all folds against the truth.
fn confusion(one: &Judged, data: &Dataset<'_>) -> Result<Option<Confusion>> {
    let Target::Classes(truth) = &data.target else { return Ok(None) };
    let rows = one.rows();
    let mut said = Vec::with_capacity(rows.len());
    for fold in &one.folds {
        let Target::Classes(predicted) = &fold.predictions else { return Ok(None) };
        said.extend(predicted.codes().iter().map(|&code| predicted.names()[code as usize].as_str()));
    }
    let place = |name: &str| truth.names().iter().position(|known| known == name).map(|place| place as u32);
    let codes: Option<Vec<u32>> = said.into_iter().map(place).collect();
    let Some(codes) = codes else { return Ok(None) };
    let said = Categories::new(codes, truth.names().to_vec())?;
    Ok(Some(Confusion::from_categories(&truth.select(&rows), &said, None)?))
}

/// The same for several labels per row.
fn label_confusion(one: &Judged, data: &Dataset<'_>) -> Result<Option<LabelConfusion>> {
    let Target::Labels(truth) = &data.target else { return Ok(None) };
    let rows = one.rows();
    let mut said = Vec::with_capacity(rows.len() * truth.names().len());
    for fold in &one.folds {
        let Target::Labels(predicted) = &fold.predictions else { return Ok(None) };
        (0..predicted.len()).for_each(|row| said.extend_from_slice(predicted.row(row)));
    }
    let said = LabelMatrix::new(said, truth.names().to_vec())?;
    Ok(Some(LabelConfusion::new(&truth.select(&rows), &said, None)?))
}

fn as_text(judged: &[Judged], tests: &[Comparison], data: &Dataset<'_>) -> Result<String> {
    let share = !matches!(data.target, Target::Real(_));
    let show = |value: f64| if share { number::percent(value) } else { number::g(value) };
    let mut table = Table::new([
        "method".to_owned(),
        loss_name(&data.target).to_owned(),
        "sd over folds".to_owned(),
        "best fold".to_owned(),
        "worst fold".to_owned(),
    ]);
    for one in judged {
        let (low, high) = one.errors.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &e| (low.min(e), high.max(e)));
        table.row([one.name.clone(), show(mean(&one.errors)), show(standard_deviation(&one.errors)), show(low), show(high)]);
    }
    let mut text = table.text();
    for one in judged.iter().filter(|one| one.folds.len() < one.asked) {
        text.push_str(&format!("\n{}: only {} of {} folds were finished within --max-time\n", one.name, one.folds.len(), one.asked));
    }
    for one in judged {
        let values: Vec<String> = one.errors.iter().take(MOST_FOLDS).map(|&e| number::general(e, 4)).collect();
        text.push_str(&format!("\n{} by fold: {}\n", one.name, values.join(" ")));
        if let Some(counts) = label_confusion(one, data)? {
            text.push_str(&format!("{}: {}\n\n{}", one.name, labels::summary(&counts), labels::table(&counts).text()));
        }
        if let Some(counts) = confusion(one, data)? {
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
        text.push_str(&format!("\n{}\n", verdict(judged, *first, *second, test)));
    }
    Ok(text)
}

/// What a test says.
fn verdict(judged: &[Judged], first: usize, second: usize, test: &TTest) -> String {
    let (a, b) = (&judged[first].name, &judged[second].name);
    let verdict = match test.p {
        p if p < 0.05 => format!("{} is better", if test.mean < 0.0 { a } else { b }),
        _ => "no difference shown".to_owned(),
    };
    format!(
        "{a} - {b}: mean difference {}, corrected resampled t = {:.3} with {:.0} degrees of freedom, p = {:.4}: {verdict}",
        number::general(test.mean, 4),
        test.t,
        test.degrees,
        test.p
    )
}

/// Rows are the truth, columns what was said.
pub fn confusion_table(counts: &Confusion) -> Table {
    let mut table = Table::new(std::iter::once("true \\ said".to_owned()).chain(counts.names().iter().cloned()));
    for (i, name) in counts.names().iter().enumerate() {
        table.row(std::iter::once(name.clone()).chain((0..counts.classes()).map(|j| number::g(counts.count(i, j)))));
    }
    table
}

fn as_json(judged: &[Judged], tests: &[Comparison], data: &Dataset<'_>) -> Result<Value> {
    let methods: Result<Vec<Value>> = judged
        .iter()
        .map(|one| {
            let counts = confusion(one, data)?.map(|counts| {
                let rows: Vec<Vec<f64>> =
                    (0..counts.classes()).map(|i| (0..counts.classes()).map(|j| counts.count(i, j)).collect()).collect();
                json!({ "classes": counts.names(), "counts": rows, "balanced_accuracy": counts.balanced_accuracy() })
            });
            Ok(json!({
                "method": one.name, "mean": mean(&one.errors), "sd": standard_deviation(&one.errors), "folds": one.errors,
                "folds_finished": one.folds.len(), "folds_asked": one.asked,
                "not_converged": one.unconverged, "confusion": counts,
                "labels": label_confusion(one, data)?.map(|counts| labels::json(&counts)), "pictures": page::pictures(one, data)?,
            }))
        })
        .collect();
    let tests: Vec<Value> = tests
        .iter()
        .map(|c| json!({ "first": judged[c.first].name, "second": judged[c.second].name, "mean": c.test.mean, "t": c.test.t, "degrees": c.test.degrees, "p": c.test.p }))
        .collect();
    Ok(
        json!({ "error": loss_name(&data.target), "rows": data.len(), "methods": methods?, "comparisons": tests, "pictures": [page::side_by_side(judged, data)] }),
    )
}
