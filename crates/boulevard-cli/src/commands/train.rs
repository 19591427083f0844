//! `boulevard train`: read, learn, report, save.

use anyhow::{Result, bail};
use boulevard::data::{Dataset, Target};
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::metrics::regression;
use boulevard::observe::{Context, StopReason};
use boulevard::persist::AnyModel;
use serde_json::json;

use crate::Outcome;
use crate::args::{LearnerArgs, ScaleName, TrainArgs};
use crate::learner::Plan;
use crate::model::Fitted;
use crate::progress::Watcher;
use crate::report::{complain, describe, front, html, number, picture, print, print_json, selection};
use crate::{columns, data, files, report};

/// Training rows times support vectors up to which the training error is worth its time.
const CHEAP: usize = 1 << 31;

pub fn run(args: &TrainArgs) -> Result<Outcome> {
    let plan = Plan::new(args.method, &args.learner)?;
    for path in args.output.iter().chain(&args.report) {
        files::expect_writable(path)?;
    }
    let data = data::read_for(&plan, &args.data, &args.read)?;
    if !args.run.quiet {
        hint_at_scale(&data, &args.learner);
    }
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let fitted = plan.fit(&data, &context);
    watcher.finish();
    let fitted = fitted?;
    if let boulevard::persist::AnyModel::MultiTaskSelection(model) = &fitted.model
        && !args.run.quiet
    {
        model.notes.iter().for_each(|note| complain(&format!("warning: {note}")));
    }
    let error = training_error(&fitted, &data)?;
    if let Some(path) = &args.output {
        fitted.save(path)?;
    }
    if let Some(path) = &args.report {
        files::write(path, page(&fitted, &data, error, &args.data.display().to_string())?.as_bytes())?;
    }
    if args.run.json {
        let mut value = describe::json(&fitted);
        value["training_error"] = json!(error);
        value["model"] = json!(args.output);
        value["report"] = json!(args.report);
        print_json(&value)?;
    } else {
        let mut text = format!("data: {} ({})\n", args.data.display(), data::in_words(&data));
        if let Target::Labels(labels) = &data.target
            && let Some(line) = report::labels::imbalance(labels)
        {
            text.push_str(&format!("labels: {line}\n"));
        }
        text.push_str(&describe::text(&describe::facts(&fitted)));
        if let AnyModel::Pareto(model) = &fitted.model {
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
fn outcome(fitted: &Fitted, args: &TrainArgs) -> Result<Outcome> {
    let report = fitted.model.report();
    let (gap, cure) = (report.gap, "more --max-iter or --max-time, a smaller --c, or --scale");
    match (report.stop, &args.output) {
        (StopReason::Converged, _) => return Ok(Outcome::Done),
        (StopReason::Interrupted, Some(path)) => {
            complain(&format!("interrupted: the partial model (relative gap {gap:.1e}) was saved to {}", path.display()));
        }
        (StopReason::Interrupted, None) => bail!("interrupted; nothing was saved, because no -o was given"),
        (stop, _) => complain(&format!("warning: the solver {} (relative gap {gap:.1e}); try {cure}", describe::stop(stop))),
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

/// The error on the rows it learnt from, where that is cheap.
fn training_error(fitted: &Fitted, data: &Dataset<'_>) -> Result<Option<f64>> {
    if data.len().saturating_mul(fitted.support()) > CHEAP {
        return Ok(None);
    }
    if let Some(model) = fitted.gatherer() {
        let sets = boulevard::any::judged_sets(data, model.parameters.n_samples_per_decision, model.parameters.seed)?;
        let truth = sets.shared_classes(data.expect_classes()?)?;
        let said = model.predict_sets(&fitted.prepare(&data.x)?, &sets, &Context::default())?;
        let wrong = said.codes().iter().zip(&truth).filter(|(a, b)| a != b).count();
        return Ok(Some(wrong as f64 / sets.len() as f64));
    }
    let answers = fitted.answer_rows(data, &Context::default())?;
    Ok(Some(boulevard::validation::loss(&data.target, &answers.target, data.weights.as_deref())?))
}

fn training_line(fitted: &Fitted, target: &Target, error: f64) -> String {
    match target {
        _ if fitted.gatherer().is_some() => format!("training sets: {} wrong\n", number::percent(error)),
        Target::Real(_) => format!("training rows: root mean squared error {}\n", number::g(error.sqrt())),
        Target::None => format!("training rows: {} outside\n", number::percent(error)),
        Target::Labels(_) => format!("training rows: {} of the label entries wrong\n", number::percent(error)),
        _ => format!("training rows: {} wrong\n", number::percent(error)),
    }
}

/// The report as a page.
fn page(fitted: &Fitted, data: &Dataset<'_>, error: Option<f64>, name: &str) -> Result<String> {
    let mut table = crate::report::table::Table::new(["", "the model"]);
    for (name, value) in describe::facts(fitted) {
        table.row([name.to_owned(), value]);
    }
    if let Some(error) = error {
        let line = training_line(fitted, &data.target, error);
        let (name, value) = line.trim_end().split_once(": ").expect("the line has a colon");
        table.row([name, value]);
    }
    let mut body = format!("<p class=\"soft\">{}: {}</p>\n", html::escape(name), html::escape(&data::in_words(data))) + &table.html();
    if let Target::Labels(truth) = &data.target
        && let Target::Labels(said) = fitted.answer(&data.x, &Context::default())?.target
    {
        let counts = LabelConfusion::new(truth, &said, data.weights.as_deref())?;
        body.push_str(&html::section("Labels", "On the training rows, the rarest label first."));
        body.push_str(&report::labels::table(&counts).html());
    }
    if let AnyModel::Boosted(model) = &fitted.model {
        let (errors, heavy) = picture::boosting(model);
        let captions = [
            "Weight of the training rows that each round misses, one line per label; below one half a round counts.",
            "Share of the weight on the heaviest tenth of the rows: how far the rounds have turned to hard rows.",
        ];
        let figures =
            html::figure(&errors, "Errors over rounds.", captions[0]) + &html::figure(&heavy, "Weights over rounds.", captions[1]);
        body.push_str(&html::cards(&figures));
    }
    if let AnyModel::Pareto(model) = &fitted.model {
        body.push_str(&front::section(model));
    }
    if let boulevard::persist::AnyModel::FeatureInduction(model) = &fitted.model {
        if let Some(svg) = crate::report::induce::curves(model) {
            let caption = "Error in % on held-out rows over the number of rounds; the dashed line is the linear machine.";
            body.push_str(&html::cards(&html::figure(&svg, "What the rules bring.", caption)));
        }
        body.push_str(&crate::report::induce::table(model));
    }
    if let Some(figure) = map(fitted, data)? {
        body.push_str(&html::cards(&figure));
    }
    if let boulevard::persist::AnyModel::MultiTaskSelection(model) = &fitted.model {
        let bars: Vec<_> = selection::largest_switches(model, 25).into_iter().map(|(name, on)| (name, on, None)).collect();
        let svg = picture::bars("the largest switches", &bars, |value| number::general(value, 3));
        body.push_str(&html::figure(&svg, "What is on.", "Posterior probability of the features or kernels with the largest ones."));
    }
    if let Target::Real(truth) = &data.target
        && let Target::Real(said) = fitted.answer_rows(data, &Context::default())?.target
    {
        let pairs: Vec<(f64, f64)> = truth.iter().copied().zip(said.iter().copied()).take(2000).collect();
        let caption = format!("On the training rows; R2 = {}.", number::g(regression::r2(truth, &said, None)?));
        body.push_str(&html::cards(&html::figure(&picture::agreement("true value against prediction", &pairs), "Predictions.", &caption)));
    }
    Ok(html::page("A model and how it was trained", &body))
}

/// The decision map of a model with two features.
pub fn map(fitted: &Fitted, data: &Dataset<'_>) -> Result<Option<String>> {
    const MOST_DOTS: usize = 1500;
    let codes = match &data.target {
        Target::Classes(classes) => classes.codes().to_vec(),
        Target::None => vec![1; data.len()],
        _ => return Ok(None),
    };
    if data.x.columns() != 2 || data.tasks.is_some() {
        return Ok(None);
    }
    let points: Vec<(f64, f64)> = (0..data.len()).map(|i| (data.x.get(i, 0), data.x.get(i, 1))).collect();
    let window = picture::Window::around(&points);
    let cells = boulevard::data::Matrix::dense(window.cells(), picture::CELLS * picture::CELLS, 2)?;
    let Target::Classes(said) = fitted.answer(&cells, &Context::default())?.target else { return Ok(None) };
    let said: Vec<usize> = said.codes().iter().map(|&code| code as usize).collect();
    let support = support_rows(fitted);
    let dots: Vec<picture::Dot> = points
        .iter()
        .enumerate()
        .take(MOST_DOTS)
        .map(|(i, &at)| picture::Dot { at, class: codes[i] as usize, ringed: support.contains(&i) })
        .collect();
    let svg = picture::regions("decision regions and samples", window, &said, &dots);
    Ok(Some(html::figure(&svg, "Who rules where.", "Support vectors have a ring.")))
}

fn support_rows(fitted: &Fitted) -> std::collections::HashSet<usize> {
    match &fitted.model {
        AnyModel::Svc(model) => model.machine.support.iter().copied().collect(),
        AnyModel::OneClass(model) => model.machine.support.iter().copied().collect(),
        AnyModel::Pareto(model) => model.classifier.machine.support.iter().copied().collect(),
        _ => Default::default(),
    }
}
