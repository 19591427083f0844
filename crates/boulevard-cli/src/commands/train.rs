//! `boulevard train`: read, learn, report, save.

use std::collections::HashSet;

use anyhow::{Result, bail};
use boulevard::data::{Categories, Dataset, Target};
use boulevard::methods::boosted::BoostedModel;
use boulevard::methods::feature_induction::FeatureInductionModel;
use boulevard::methods::multitask_selection::MultiTaskSelectionModel;
use boulevard::methods::pareto::ParetoModel;
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::metrics::regression;
use boulevard::observe::{Context, StopReason};
use boulevard::persist::AnyModel;
use boulevard::svm::{Model, facts_text, stop as stop_in_words};
use boulevard::validation::loss;
use serde_json::json;

use crate::Outcome;
use crate::args::{LearnerArgs, ScaleName, TrainArgs};
use crate::learner::Plan;
use crate::model::{decide, predict};
use crate::progress::Watcher;
use crate::report::{complain, front, html, number, picture, print, print_json};
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
    if !args.run.quiet {
        fitted.notes().iter().for_each(|note| complain(&format!("warning: {note}")));
    }
    let error = training_error(&fitted, &data)?;
    if let Some(path) = &args.output {
        fitted.save(path)?;
    }
    if let Some(path) = &args.report {
        files::write(path, page(&fitted, &data, error, &args.data.display().to_string())?.as_bytes())?;
    }
    if args.run.json {
        let mut value = fitted.to_json();
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
        text.push_str(&facts_text(&fitted.facts()));
        if let Some(model) = fitted.get::<ParetoModel>() {
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

/// The error on the rows it learnt from, where that is cheap.
fn training_error(fitted: &AnyModel, data: &Dataset<'_>) -> Result<Option<f64>> {
    if data.len().saturating_mul(fitted.support_vectors()) > CHEAP {
        return Ok(None);
    }
    let context = Context::default();
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
fn page(fitted: &AnyModel, data: &Dataset<'_>, error: Option<f64>, name: &str) -> Result<String> {
    let mut table = crate::report::table::Table::new(["", "the model"]);
    for (name, value) in fitted.facts() {
        table.row([name.to_owned(), value]);
    }
    if let Some(error) = error {
        let line = training_line(fitted, &data.target, error);
        let (name, value) = line.trim_end().split_once(": ").expect("the line has a colon");
        table.row([name, value]);
    }
    let mut body = format!("<p class=\"soft\">{}: {}</p>\n", html::escape(name), html::escape(&data::in_words(data))) + &table.html();
    if let Target::Labels(truth) = &data.target
        && let Target::Labels(said) = predict(fitted, data, &Context::default())?
    {
        let counts = LabelConfusion::new(truth, &said, data.weights.as_deref())?;
        body.push_str(&html::section("Labels", "On the training rows, the rarest label first."));
        body.push_str(&report::labels::table(&counts).html());
    }
    if let Some(model) = fitted.get::<BoostedModel>() {
        let (errors, heavy) = picture::boosting(model);
        let captions = [
            "Weight of the training rows that each round misses, one line per label; below one half a round counts.",
            "Share of the weight on the heaviest tenth of the rows: how far the rounds have turned to hard rows.",
        ];
        let figures =
            html::figure(&errors, "Errors over rounds.", captions[0]) + &html::figure(&heavy, "Weights over rounds.", captions[1]);
        body.push_str(&html::cards(&figures));
    }
    if let Some(model) = fitted.get::<ParetoModel>() {
        body.push_str(&front::section(model));
    }
    if let Some(model) = fitted.get::<FeatureInductionModel>() {
        if let Some(svg) = crate::report::induce::path(model) {
            let caption = "Error in % on held-out rows over the number of rules; the dashed line is what whole trees reach.";
            body.push_str(&html::cards(&html::figure(&svg, "How many rules.", caption)));
        }
        if let Some(svg) = crate::report::induce::curves(model) {
            let caption = "Error in % on held-out rows over the number of rounds; the dashed line is the linear machine.";
            body.push_str(&html::cards(&html::figure(&svg, "What the rules bring.", caption)));
        }
        body.push_str(&crate::report::induce::table(model));
    }
    if let Some(figure) = map(fitted, data)? {
        body.push_str(&html::cards(&figure));
    }
    if let Some(model) = fitted.get::<MultiTaskSelectionModel>() {
        let bars: Vec<_> = model.largest_switches(25).into_iter().map(|(name, on)| (name, on, None)).collect();
        let svg = picture::bars("the largest switches", &bars, |value| number::general(value, 3));
        body.push_str(&html::figure(&svg, "What is on.", "Posterior probability of the features or kernels with the largest ones."));
    }
    if let Target::Real(truth) = &data.target
        && let Target::Real(said) = predict(fitted, data, &Context::default())?
    {
        let pairs: Vec<(f64, f64)> = truth.iter().copied().zip(said.iter().copied()).take(2000).collect();
        let caption = format!("On the training rows; R2 = {}.", number::g(regression::r2(truth, &said, None)?));
        body.push_str(&html::cards(&html::figure(&picture::agreement("true value against prediction", &pairs), "Predictions.", &caption)));
    }
    Ok(html::page("A model and how it was trained", &body))
}

/// The decision map of a model with two features.
pub fn map(fitted: &AnyModel, data: &Dataset<'_>) -> Result<Option<String>> {
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
    let Target::Classes(said) = fitted.predict(&cells)? else { return Ok(None) };
    let said: Vec<usize> = said.codes().iter().map(|&code| code as usize).collect();
    // Rings belong to rows of the table: machines of sets and ensembles have support vectors of another kind.
    let machines = if fitted.decides_sets() { Vec::new() } else { fitted.kernel_machines() };
    let support: HashSet<usize> =
        machines.iter().filter(|_| machines.len() == 1).flat_map(|machine| machine.support.iter().copied()).collect();
    let dots: Vec<picture::Dot> = points
        .iter()
        .enumerate()
        .take(MOST_DOTS)
        .map(|(i, &at)| picture::Dot { at, class: codes[i] as usize, ringed: support.contains(&i) })
        .collect();
    let svg = picture::regions("decision regions and samples", window, &said, &dots);
    Ok(Some(html::figure(&svg, "Decision regions.", "Support vectors have a ring.")))
}
