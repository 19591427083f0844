//! `boulevard demo`: a tour on data that the library makes itself. One table, one page with pictures, the same every time.
//!
//! A method that is added gets a stop here: a function that returns [`Stop`].

use std::time::Instant;

use anyhow::Result;
use boulevard::any::{AnyLearner, AnyModel};
use boulevard::data::generate::{self, Clusters};
use boulevard::data::{Dataset, LabelMatrix, Target, split};
use boulevard::gallery;
use boulevard::kernel::Kernel;
use boulevard::methods::boosted::BoostedSvc;
use boulevard::methods::feature_induction::{Amount, Depth, FeatureInduction};
use boulevard::methods::multi_sample::{Method, MultiSample, MultiSampleModel, curve_picture};
use boulevard::methods::multitask_selection::MultiTaskSelection;
use boulevard::methods::pareto::ParetoSvc;
use boulevard::metrics::classification::Confusion;
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::metrics::regression;
use boulevard::observe::Context;
use boulevard::picture::Picture;
use boulevard::svm::{ClassWeight, Learner, Model, OneClass, Penalty, Svc, Svr, Tube};
use boulevard::validation::loss;
use serde_json::json;

use crate::Outcome;
use crate::args::DemoArgs;
use crate::files;
use crate::progress::Watcher;
use crate::report::table::Table;
use crate::report::{html, number, print, print_json};

/// One stop of the tour.
struct Stop {
    problem: &'static str,
    method: &'static str,
    rows: usize,
    /// What the error is, and how much.
    measure: &'static str,
    error: f64,
    fitted: AnyModel,
    seconds: f64,
    figures: Vec<Picture>,
    words: &'static str,
}

pub fn run(args: &DemoArgs) -> Result<Outcome> {
    files::expect_writable(&args.output)?;
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let start = Instant::now();
    let mut stops = vec![banana(&context)?, spiral(&context)?, three_classes(&context)?];
    stops.extend(imbalanced(&context)?);
    stops.push(rare_labels(&context)?);
    stops.push(rules(&context)?);
    stops.push(front(&context)?);
    stops.push(friedman(&context)?);
    stops.push(one_class(&context)?);
    stops.push(select(&context)?);
    stops.push(three_samples(&context)?);
    watcher.finish();
    let table = table(&stops);
    files::write(&args.output, page(&stops, &table).as_bytes())?;
    if args.run.json {
        let rows: Vec<_> = stops
            .iter()
            .map(|stop| {
                json!({
                    "problem": stop.problem, "method": stop.method, "rows": stop.rows, "measure": stop.measure, "error": stop.error,
                    "support_vectors": stop.fitted.support_vectors(), "gap": stop.fitted.report().gap, "seconds": stop.seconds,
                    "pictures": stop.figures,
                })
            })
            .collect();
        print_json(&json!({ "stops": rows, "report": args.output }))?;
    } else {
        print(&format!(
            "A tour on built-in data; errors are on rows that were not learnt from.\n\n{}\n\
             All in {}. Pictures: {}\n\nNext: boulevard train YOUR.csv -o YOUR.model      (the last column is the label)\n",
            table.text(),
            number::seconds(start.elapsed().as_secs_f64()),
            args.output.display()
        ))?;
    }
    Ok(Outcome::Done)
}

fn table(stops: &[Stop]) -> Table {
    let mut table = Table::new(["problem", "method", "rows", "measure", "error", "support vectors", "gap", "time"]);
    for stop in stops {
        let report = stop.fitted.report();
        let error = if stop.measure == "RMSE" { number::general(stop.error, 3) } else { number::percent(stop.error) };
        table.row([
            stop.problem.to_owned(),
            stop.method.to_owned(),
            stop.rows.to_string(),
            stop.measure.to_owned(),
            error,
            stop.fitted.support_vectors().to_string(),
            format!("{:.0e}", report.gap),
            number::seconds(stop.seconds),
        ]);
    }
    table
}

fn page(stops: &[Stop], table: &Table) -> String {
    let mut page = html::Page::new("Boulevard: a tour");
    page.text(&format!(
        "A support vector machine looks for the widest street between classes. Here it is on {} problems that the library makes itself. \
         Errors are on rows that were not learnt from; the gap says how far the solution can be from the best one, at most.",
        stops.len()
    ));
    page.table(table);
    for stop in stops {
        page.section(&format!("{}: {}", stop.problem, stop.method)).text(stop.words).pictures(stop.figures.iter().cloned());
    }
    page.section("Next").lines(
        "boulevard explore your.csv\nboulevard train your.csv -o your.model --report your.html\nboulevard predict your.model new.csv",
    );
    page.finish()
}

/// A fit, without anything said about it yet.
fn fit(
    problem: &'static str,
    method: &'static str,
    learner: impl Into<AnyLearner>,
    train: &Dataset<'_>,
    context: &Context<'_>,
) -> Result<Stop> {
    let start = Instant::now();
    let fitted = learner.into().fit_in(train, context)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Stop { problem, method, rows: train.len(), measure: "error", error: f64::NAN, fitted, seconds, figures: Vec::new(), words: "" })
}

impl Stop {
    /// With its error on new rows.
    fn judged(self, test: &Dataset<'_>, context: &Context<'_>) -> Result<Self> {
        let error = loss(&test.target, &self.fitted.predict_in(&test.x, context)?, None)?;
        Ok(Self { error, ..self })
    }
}

fn classify(problem: &'static str, svc: Svc, train: &Dataset<'static>, test: &Dataset<'static>, context: &Context<'_>) -> Result<Stop> {
    let stop = fit(problem, "SVC", svc, train, context)?.judged(test, context)?;
    Ok(Stop { figures: map(&stop.fitted, train, context)?, ..stop })
}

/// The decision map.
fn map(fitted: &AnyModel, data: &Dataset<'_>, context: &Context<'_>) -> Result<Vec<Picture>> {
    Ok(gallery::decision_map(fitted, data, None, context)?.into_iter().collect())
}

fn banana(context: &Context<'_>) -> Result<Stop> {
    let svc = Svc { kernel: Kernel::rbf(1.0), ..Svc::default() };
    let stop = classify("banana", svc, &generate::banana(400, 1), &generate::banana(4000, 2), context)?;
    Ok(Stop { words: "Two crescents that overlap: no rule errs on less than about 11 %.", ..stop })
}

fn spiral(context: &Context<'_>) -> Result<Stop> {
    let svc = Svc { kernel: Kernel::rbf(20.0), penalty: Penalty::C(10.0), ..Svc::default() };
    let (train, test) = (generate::spiral(400, 1, 1.5, 0.03), generate::spiral(4000, 2, 1.5, 0.03));
    let stop = classify("spiral", svc, &train, &test, context)?;
    Ok(Stop { words: "Far from any straight line, and easy for a kernel.", ..stop })
}

fn three_classes(context: &Context<'_>) -> Result<Stop> {
    let shape =
        Clusters { columns: 2, informative: 2, redundant: 0, classes: 3, clusters_per_class: 1, separation: 1.2, label_noise: 0.02 };
    let all = generate::classification(2400, 3, &shape)?;
    let parts = split::stratified_hold_out(all.expect_classes()?, 2000.0 / 2400.0, 0)?;
    let svc = Svc { kernel: Kernel::rbf(0.3), ..Svc::default() };
    let stop = classify("three classes", svc, &all.select(&parts.train), &all.select(&parts.test), context)?;
    Ok(Stop { words: "One machine per pair of classes, and a vote.", ..stop })
}

/// One class in twenty: without weights it is hardly ever said.
fn imbalanced(context: &Context<'_>) -> Result<Vec<Stop>> {
    let thin = |seed: u64, n: usize| -> Result<Dataset<'static>> {
        let all = generate::two_gaussians(n, seed, 2, 2.2);
        let codes = all.expect_classes()?.codes().to_vec();
        let mut rare = 0;
        let keep = |&row: &usize| {
            rare += usize::from(codes[row] == 1);
            codes[row] == 0 || rare % 19 == 1
        };
        let rows: Vec<usize> = (0..all.len()).filter(keep).collect();
        Ok(all.select(&rows))
    };
    let (train, test) = (thin(1, 800)?, thin(2, 8000)?);
    let mut stops = Vec::new();
    for (method, class_weight, words) in [
        ("SVC", ClassWeight::Equal, "One row in twenty is of the rare class: the machine gives it up."),
        ("SVC, balanced", ClassWeight::Balanced, "With class weights both classes count the same."),
    ] {
        let svc = Svc { kernel: Kernel::rbf(0.3), class_weight, ..Svc::default() };
        let stop = classify("rare class", svc, &train, &test, context)?;
        let Target::Classes(said) = stop.fitted.predict_in(&test.x, context)? else { unreachable!("a classifier") };
        let counts = Confusion::from_categories(test.expect_classes()?, &said, None)?;
        stops.push(Stop { method, measure: "balanced error", error: 1.0 - counts.balanced_accuracy(), words, ..stop });
    }
    Ok(stops)
}

/// Three labels on a plane, the last with one row in twenty-five.
fn rare_labels(context: &Context<'_>) -> Result<Stop> {
    let labelled = |seed: u64, n: usize| -> Result<Dataset<'static>> {
        let all = generate::two_gaussians(n, seed, 2, 1.0);
        let (x, y) = (|i: usize| all.x.get(i, 0), |i: usize| all.x.get(i, 1));
        let on = (0..n).flat_map(|i| [x(i) + 0.3 * y(i) > 0.5, y(i) > 1.0, (x(i) - 0.5).powi(2) + y(i).powi(2) > 6.5]).collect();
        let names = ["right", "high", "far"].map(String::from).to_vec();
        Ok(Dataset { target: Target::Labels(LabelMatrix::new(on, names)?), ..all })
    };
    let (train, test) = (labelled(1, 400)?, labelled(2, 4000)?);
    let stop = fit("rare labels", "boosted", BoostedSvc { max_rounds: 10, ..Default::default() }, &train, context)?;
    let (Target::Labels(truth), Target::Labels(said)) = (&test.target, stop.fitted.predict_in(&test.x, context)?) else {
        unreachable!("labels on both sides")
    };
    let counts = LabelConfusion::new(truth, &said, None)?;
    let mut figures = vec![gallery::label_bars(&counts, "rows that were not learnt from")];
    figures.extend(stop.fitted.pictures(None, context)?);
    let words = "Several labels per row, one of them rare: F1 of each on new rows.";
    Ok(Stop { measure: "1 - macro F1", error: 1.0 - counts.macro_average().f1, figures, words, ..stop })
}

/// Rules where a straight line fails.
fn rules(context: &Context<'_>) -> Result<Stop> {
    let (train, test) = (generate::checkerboard(400, 1, 2, 1.0), generate::checkerboard(4000, 2, 2, 1.0));
    let induce = FeatureInduction { c: 1.0, n_induced: Amount::Exactly(10), max_depth: Depth::AtMost(3), ..FeatureInduction::default() };
    let stop = fit("checkerboard", "induced rules", induce, &train, context)?.judged(&test, context)?;
    let mut figures = map(&stop.fitted, &train, context)?;
    figures.extend(stop.fitted.pictures(None, context)?);
    let words = "A linear machine with ten induced trees: their rules can be read with `boulevard inspect`.";
    Ok(Stop { figures, words, ..stop })
}

/// Every C at once.
fn front(context: &Context<'_>) -> Result<Stop> {
    let (train, test) = (generate::banana(400, 1), generate::banana(4000, 2));
    let pareto = ParetoSvc { kernel: Kernel::rbf(1.0), ..ParetoSvc::default() };
    let stop = fit("banana", "front", pareto, &train, context)?.judged(&test, context)?;
    let words = "A hundred machines from the widest street to the hardest margin: training and hold-out error in percent.";
    Ok(Stop { figures: stop.fitted.pictures(None, context)?, words, ..stop })
}

fn friedman(context: &Context<'_>) -> Result<Stop> {
    let (train, test) = (generate::regression(500, 1, 2, 1.0), generate::regression(1000, 2, 2, 1.0));
    let svr = Svr { kernel: Kernel::rbf(0.5), c: 30.0, tube: Tube::Epsilon(0.5), ..Svr::default() };
    let stop = fit("Friedman's function", "SVR", svr, &train, context)?;
    let (truth, said) = match (&test.target, stop.fitted.predict_in(&test.x, context)?) {
        (Target::Real(truth), Target::Real(said)) => (truth.clone(), said),
        _ => unreachable!("a regressor on a regression problem"),
    };
    let error = regression::root_mean_squared_error(&truth, &said, None)?;
    let words = "Five columns matter, two do not; the noise alone has an RMSE of 1.";
    Ok(Stop { measure: "RMSE", error, figures: vec![gallery::agreement(&truth, &said, true)?], words, ..stop })
}

/// Forty columns of which three matter: the switches find them.
fn select(context: &Context<'_>) -> Result<Stop> {
    let shape =
        Clusters { columns: 40, informative: 3, redundant: 0, classes: 2, clusters_per_class: 1, separation: 1.2, label_noise: 0.02 };
    let all = generate::classification(2100, 4, &shape)?;
    let parts = split::stratified_hold_out(all.expect_classes()?, 2000.0 / 2100.0, 0)?;
    let (train, test) = (all.select(&parts.train), all.select(&parts.test));
    let learner = MultiTaskSelection { c: Some(2.0), rho: Some(0.01), ..MultiTaskSelection::default() };
    let stop = fit("3 of 40 columns", "select", learner, &train, context)?.judged(&test, context)?;
    let words = "The probability that a column matters, for the largest ones; three columns do.";
    Ok(Stop { figures: stop.fitted.pictures(Some(&train), context)?, words, ..stop })
}

fn one_class(context: &Context<'_>) -> Result<Stop> {
    let crescent = |all: Dataset<'static>| {
        let inside: Vec<usize> = (0..all.len()).filter(|&row| all.expect_classes().is_ok_and(|c| c.codes()[row] == 1)).collect();
        Dataset { target: Target::None, ..all.select(&inside) }
    };
    let (train, test) = (crescent(generate::banana(800, 5)), crescent(generate::banana(4000, 6)));
    let learner = OneClass { kernel: Kernel::rbf(1.0), nu: 0.1, ..OneClass::default() };
    let stop = fit("one crescent", "one-class", learner, &train, context)?.judged(&test, context)?;
    let words = "Learnt from one class alone with nu = 0.1: about one new row in ten falls outside.";
    Ok(Stop { measure: "share outside", figures: map(&stop.fitted, &train, context)?, words, ..stop })
}

/// Three samples per decision, of which the class is known to be the same.
fn three_samples(context: &Context<'_>) -> Result<Stop> {
    let (train, test) = (generate::two_gaussians(200, 1, 2, 1.5), generate::two_gaussians(6000, 2, 2, 1.5));
    let gather = MultiSample { method: Method::Direct, kernel: Kernel::rbf(0.1), ..MultiSample::default() };
    let stop = fit("three samples", "gather", gather, &train, context)?;
    let curve = stop.fitted.expect::<MultiSampleModel>()?.error_by_size(&test, &[1, 2, 3, 4, 5, 6, 8, 10], 3, 0, context)?;
    let error = curve.iter().find(|point| point.size == 3).map_or(f64::NAN, |point| point.error);
    let words = "Samples that are known to share a class are judged together: one machine for sets of three, consensus for other sizes.";
    Ok(Stop { error, figures: vec![curve_picture(&curve, Some(3))], words, ..stop })
}
