//! `boulevard train`: read, learn, report, save.

use anyhow::{Result, bail};
use boulevard::data::{Categories, Dataset, Target};
use boulevard::observe::{Context, StopReason};
use boulevard::persist::AnyModel;
use boulevard::svm::{Model, facts_text, stop as stop_in_words};
use boulevard::validation::loss;
use serde_json::json;

use crate::Outcome;
use crate::args::{LearnerArgs, ScaleName, TrainArgs};
use crate::learner::Plan;
use crate::model::{decide, predict};
use crate::progress::{Silent, Watcher};
use crate::report::{complain, front, html, number, print, print_json, story};
use crate::{columns, data, files, report};

/// Training rows times support vectors up to which the training error is worth its time.
const CHEAP: usize = 1 << 31;

pub fn run(args: &TrainArgs) -> Result<Outcome> {
    let plan = Plan::new(args.method, &args.learner)?.filling(args.read.fill())?;
    files::all_writable(args.output.iter().chain(&args.report))?;
    data::expect_tasks(std::slice::from_ref(&plan), &args.read)?;
    let mut data = data::read_for(&plan, &args.data, &args.read)?;
    if !args.run.quiet {
        hint_at_scale(&data, &args.learner);
    }
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let fitted = plan.fit(&data, &context);
    watcher.finish();
    let fitted = fitted?;
    // Errors and pictures are those of the rows as the model saw them.
    if let Some(imputer) = fitted.imputer()
        && let Some(filled) = imputer.table(&data.x)?
    {
        data.x = filled;
    }
    if !args.run.quiet {
        fitted.notes().iter().for_each(|note| complain(&format!("warning: {note}")));
    }
    if let Some(path) = &args.output {
        fitted.save(path)?;
    }
    // Who pressed Ctrl-C wants an end, not figures; and Ctrl-C ends this too: the model is what was asked for.
    let interrupted = fitted.report().stop == StopReason::Interrupted;
    let error = if interrupted { None } else { stopped(training_error(&fitted, &data))? };
    if let Some(path) = &args.report {
        files::write(path, page(&fitted, &plan, &data, args, &args.run.context(&watcher))?.as_bytes())?;
        watcher.finish();
    }
    if args.run.json {
        let mut value = fitted.to_json();
        value["training_error"] = json!(error);
        value["model"] = json!(args.output);
        value["report"] = json!(args.report);
        value["pictures"] = json!(fitted.pictures(None, &Context::default())?);
        print_json(&value)?;
    } else {
        let mut text = format!("data: {} ({})\n", args.data.display(), data::in_words(&data));
        if let Target::Labels(labels) = &data.target
            && let Some(line) = report::labels::imbalance(labels)
        {
            text.push_str(&format!("labels: {line}\n"));
        }
        text.push_str(&facts_text(&fitted.facts()));
        if let Some(model) = front::of(&fitted) {
            text.push_str(&format!("\n{}\n", front::table(model).text()));
        }
        if let Some(error) = error {
            text.push_str(&training_line(&fitted, &data.target, error));
        }
        for (what, path) in [("model saved to", &args.output), ("report written to", &args.report)] {
            if let Some(path) = path {
                text.push_str(&format!("{what} {}\n", path.display()));
            }
        }
        print(&text)?;
    }
    outcome(&fitted, args)
}

/// Says how an early stop is to be understood.
fn outcome(fitted: &AnyModel, args: &TrainArgs) -> Result<Outcome> {
    let report = fitted.report();
    let (gap, cure) = (report.gap, "more --max-iter or --max-time, a smaller --c, or --scale");
    match (report.stop, &args.output) {
        (StopReason::Converged, _) => return Ok(Outcome::Done),
        (StopReason::Interrupted, Some(path)) => {
            complain(&format!("interrupted: the partial model (relative gap {gap:.1e}) was saved to {}", path.display()));
        }
        (StopReason::Interrupted, None) => bail!("interrupted; nothing was saved, because no -o was given"),
        (stop, _) => complain(&format!("warning: the solver {} (relative gap {gap:.1e}); try {cure}", stop_in_words(stop))),
    }
    Ok(if args.strict { Outcome::NotConverged } else { Outcome::Done })
}

fn hint_at_scale(data: &Dataset<'_>, args: &LearnerArgs) {
    if args.scale != ScaleName::None || args.kernel.as_deref() == Some("precomputed") {
        return;
    }
    if let Some((narrow, wide, ratio)) = columns::uneven(&columns::describe(&data.x)) {
        let (narrow, wide) = (data.feature_name(narrow), data.feature_name(wide));
        complain(&format!("hint: column `{wide}` varies {ratio:.0} times as much as `{narrow}`; --scale standard may help"));
    }
}

/// Nothing where the work was stopped.
fn stopped(error: Result<Option<f64>>) -> Result<Option<f64>> {
    match error {
        Err(error) if matches!(error.downcast_ref(), Some(boulevard::Error::Stopped { .. })) => Ok(None),
        other => other,
    }
}

/// The error on the rows it learnt from, where that is cheap.
fn training_error(fitted: &AnyModel, data: &Dataset<'_>) -> Result<Option<f64>> {
    if data.len().saturating_mul(fitted.support_vectors()) > CHEAP {
        return Ok(None);
    }
    let context = Context::default().with_observer(&Silent);
    let Some(sets) = fitted.judged_sets(data)? else {
        return Ok(Some(loss(&data.target, &predict(fitted, data, &context)?, data.weights.as_deref())?));
    };
    let truth = sets.shared_classes(data.expect_classes()?)?;
    let said = fitted.predictions_from(&decide(fitted, data, Some(&sets), &context)?)?;
    let truth = Categories::new(truth, data.expect_classes()?.names().to_vec())?;
    Ok(Some(loss(&truth.into(), &said, None)?))
}

fn training_line(fitted: &AnyModel, target: &Target, error: f64) -> String {
    match target {
        _ if fitted.decides_sets() => format!("training sets: {} wrong\n", number::percent(error)),
        Target::Real(_) => format!("training rows: root mean squared error {}\n", number::g(error.sqrt())),
        Target::None => format!("training rows: {} outside\n", number::percent(error)),
        Target::Labels(_) => format!("training rows: {} of the label entries wrong\n", number::percent(error)),
        _ => format!("training rows: {} wrong\n", number::percent(error)),
    }
}

/// The report as a page.
fn page(fitted: &AnyModel, plan: &Plan, data: &Dataset<'_>, args: &TrainArgs, context: &Context<'_>) -> Result<String> {
    let name = args.data.file_name().map_or_else(|| args.data.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut page = html::Page::new(&format!("{} on {name}", args.method.text()));
    page.text(&format!("{name}: {}. Fitted in {}.", data::in_words(data), number::seconds(fitted.report().seconds)));
    let folds = story::judge(&plan.work, data, fitted.report().seconds, args.learner.seed, context);
    story::tell(&mut page, fitted, &folds, data, &story::command_line(), context)?;
    if let Some(model) = front::of(fitted) {
        page.section("The front in numbers").table(&front::table(model));
    }
    Ok(page.finish())
}
