//! `boulevard tune`: a grid over C (or nu) and gamma, judged by cross-validation; the best is fitted on all rows.

mod select;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use boulevard::Error;
use boulevard::any::{AnyLearner, AnyModel, Plan as Work};
use boulevard::data::split::Split;
use boulevard::data::{Dataset, Imputer, Scaler, Target};
use boulevard::gallery::{self, GridCell};
use boulevard::internal::parallel;
use boulevard::kernel::Gamma;
use boulevard::methods::multi_sample::{Method, SetSearch};
use boulevard::metrics::comparison::{mean, standard_deviation};
use boulevard::observe::{Context, StopReason};
use boulevard::picture::Picture;
use boulevard::svm::{Learner, Model, Penalty, Svc};
use boulevard::validation::{GridPoint, GridSearch, Score, cross_validate, default_folds, loss_name};
use serde_json::json;

use crate::Outcome;
use crate::args::TuneArgs;
use crate::learner::Plan;
use crate::progress::{Silent, Watcher};
use crate::report::html::Page;
use crate::report::table::Table;
use crate::report::{complain, number, print, print_json, story};
use crate::{data, files};

/// One point of the grid and how it did.
struct Cell {
    price: f64,
    gamma: Option<f64>,
    errors: Vec<f64>,
}

pub fn run(args: &TuneArgs) -> Result<Outcome> {
    let plan = Plan::new(args.method, &args.learner)?.filling(args.read.fill())?;
    if let AnyLearner::MultiTaskSelection(learner) = plan.learner() {
        return select::run(args, &plan, learner);
    }
    if let Some(reason) = plan.learner().no_search() {
        bail!("--method {} {reason}", args.method.text());
    }
    ensure!(args.learner.c.is_none() && args.learner.nu.is_none(), "tune searches --c and --nu itself: use --c-grid");
    ensure!(args.learner.gamma.is_none(), "tune searches --gamma itself: use --gamma-grid");
    ensure!(args.gamma_grid.iter().all(|gamma| gamma.is_finite() && *gamma >= 0.0), "--gamma-grid must hold numbers that are not negative");
    ensure!(args.c_grid.iter().all(|c| c.is_finite() && *c > 0.0), "--c-grid must hold positive numbers");
    for path in args.output.iter().chain(&args.report) {
        files::expect_writable(path)?;
    }
    data::expect_tasks(std::slice::from_ref(&plan), &args.read)?;
    let data = data::read_for(&plan, &args.data, &args.read)?;
    let prices = prices(args, &plan);
    let gammas = gammas(args, &plan, &data)?;
    let splits = default_folds(&data, args.folds, args.learner.seed)?;
    let points: Vec<(f64, Option<f64>)> = gammas.iter().flat_map(|&gamma| prices.iter().map(move |&price| (price, gamma))).collect();
    let plans: Vec<Work> = points.iter().map(|&(price, gamma)| at(&plan.work, price, gamma)).collect();
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let judged = match shared_search(&plan.work, &prices, &gammas, &data, &splits, &context) {
        Some(judged) => judged,
        None => search(&plans, &data, &splits, &context),
    };
    watcher.finish();
    let cells: Vec<Cell> = points.iter().zip(judged?).map(|(&(price, gamma), errors)| Cell { price, gamma, errors }).collect();
    let out_of_time = context.deadline.is_some_and(|end| std::time::Instant::now() >= end);
    let missing = cells.iter().filter(|cell| cell.errors.is_empty()).count();
    let Some(best) = best(&cells, prices.len(), gammas.len()) else {
        ensure!(!out_of_time, "none of the {} points of the grid was finished within --max-time", cells.len());
        bail!("no point of the grid could be fitted: nu may be too large for these class sizes")
    };
    if out_of_time && missing > 0 && !args.run.quiet {
        complain(&format!("warning: {missing} of {} points of the grid were not finished within --max-time", cells.len()));
    }
    // The fit of the best point has a time of its own.
    let fitted = at(&plan.work, best.price, best.gamma).fit_in(&data, &args.run.context(&watcher))?;
    if let Some(path) = &args.output {
        fitted.save(path)?;
    }
    let price = price_name(&plan);
    let picture = {
        let grid: Vec<GridCell> = cells.iter().map(Cell::drawn).collect();
        let place = cells.iter().position(|cell| std::ptr::eq(cell, best)).unwrap_or(0);
        let share = !matches!(data.target, Target::Real(_));
        gallery::search(&grid, [if price == "nu" { "nu" } else { "C" }, "gamma"], place, share)
    };
    if let Some(path) = &args.report {
        report(path, picture.clone(), &fitted, &at(&plan.work, best.price, best.gamma), &data, args)?;
    }
    if args.run.json {
        let rows: Vec<_> =
            cells.iter().map(|c| json!({ price: c.price, "gamma": c.gamma, "mean": mean_or_null(&c.errors), "folds": c.errors })).collect();
        print_json(&json!({
            "error": loss_name(&data.target), "grid": rows, "best": { price: best.price, "gamma": best.gamma, "mean": mean(&best.errors) },
            "finished": cells.len() - missing, "model": args.output, "fit": fitted.to_json(), "pictures": [picture],
        }))?;
        return Ok(Outcome::Done);
    }
    let mut text = format!("{} ({}), {} folds, {}\n\n", args.data.display(), data::in_words(&data), args.folds, loss_name(&data.target));
    text.push_str(&table(&cells, &prices, &gammas, price, &data.target));
    let gamma = best.gamma.map_or(String::new(), |gamma| format!(" --gamma {}", number::g(gamma)));
    let (middle, spread) = (show(&data.target, mean(&best.errors)), show(&data.target, standard_deviation(&best.errors)));
    text.push_str(&format!(
        "\nbest: --{price} {}{gamma}, {} {middle} (sd over folds {spread})\n",
        number::g(best.price),
        loss_name(&data.target)
    ));
    match &args.output {
        Some(path) => text.push_str(&format!("model fitted on all rows and saved to {}\n", path.display())),
        None => text.push_str("to keep the model, give -o\n"),
    }
    if let Some(path) = &args.report {
        text.push_str(&format!("report written to {}\n", path.display()));
    }
    print(&text)?;
    if at_edge(best, &prices, &gammas) && !args.run.quiet {
        complain("hint: the best point lies at the edge of the grid; a wider one may hold a better");
    }
    Ok(Outcome::Done)
}

impl Cell {
    fn drawn(&self) -> GridCell {
        let error = if self.errors.is_empty() { f64::NAN } else { mean(&self.errors) };
        GridCell { first: self.price, second: self.gamma, error, deviation: standard_deviation(&self.errors) }
    }
}

/// The report: the search, then the model it led to.
fn report(path: &Path, search: Picture, fitted: &AnyModel, work: &Work, data: &Dataset<'_>, args: &TuneArgs) -> Result<()> {
    let name = args.data.file_name().map_or_else(|| args.data.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut page = Page::new(&format!("The best {} on {name}", args.method.text()));
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    page.text(&format!("{name}: {}. Searched by {} folds.", data::in_words(data), args.folds)).section("The search").pictures([search]);
    let folds = story::judge(work, data, fitted.report().seconds, args.learner.seed + 1, &context);
    story::tell(&mut page, fitted, &folds, data, &story::command_line(), &context)?;
    watcher.finish();
    files::write(path, page.finish().as_bytes())
}

/// The point of least error; ties go to the one nearest the middle of the grid, where its neighbors are known to be good too.
fn best(cells: &[Cell], columns: usize, rows: usize) -> Option<&Cell> {
    let off = |place: usize, size: usize| (place as f64 - (size as f64 - 1.0) / 2.0).abs();
    let key = |place: usize| (mean(&cells[place].errors), off(place % columns, columns) + off(place / columns, rows));
    let fitted = (0..cells.len()).filter(|&place| !cells[place].errors.is_empty());
    fitted.min_by(|&a, &b| key(a).partial_cmp(&key(b)).expect("errors are numbers")).map(|place| &cells[place])
}

fn price_name(plan: &Plan) -> &'static str {
    if plan.named().name == "nu_svc" { "nu" } else { "c" }
}

fn mean_or_null(errors: &[f64]) -> Option<f64> {
    (!errors.is_empty()).then(|| mean(errors))
}

fn show(target: &Target, value: f64) -> String {
    if matches!(target, Target::Real(_)) { number::g(value) } else { number::percent(value) }
}

fn prices(args: &TuneArgs, plan: &Plan) -> Vec<f64> {
    match (args.c_grid.is_empty(), price_name(plan)) {
        (false, _) => args.c_grid.clone(),
        (true, "nu") => vec![0.05, 0.1, 0.2, 0.3, 0.5, 0.7],
        (true, _) => (-1..=4).map(|power| 4f64.powi(power)).collect(),
    }
}

fn gammas(args: &TuneArgs, plan: &Plan, data: &Dataset<'_>) -> Result<Vec<Option<f64>>> {
    let Some(kernel) = plan.learner().kernel().filter(|kernel| kernel.gamma().is_some()) else {
        ensure!(args.gamma_grid.is_empty(), "--gamma-grid does not apply to this kernel: it has no gamma");
        return Ok(vec![None]);
    };
    if !args.gamma_grid.is_empty() {
        return Ok(args.gamma_grid.iter().copied().map(Some).collect());
    }
    // The rule is asked about the columns that the machine will see.
    let filled = match plan.work.missing {
        Some(fill) => Imputer::fit(&data.x, fill)?.table(&data.x)?,
        None => None,
    };
    let whole = filled.as_ref().unwrap_or(&data.x);
    let scaled = match plan.work.scaling {
        Some(scaling) => Some(Scaler::fit(whole, data.weights.as_deref(), scaling)?.table(whole)?),
        None => None,
    };
    let resolved = kernel.resolve(scaled.as_ref().unwrap_or(whole), data.weights.as_deref())?;
    let center = resolved.gamma().and_then(Gamma::value).unwrap_or(1.0);
    Ok((-3..=2).map(|power| Some(center * 4f64.powi(power))).collect())
}

/// The plan at one point of the grid.
fn at(plan: &Work, price: f64, gamma: Option<f64>) -> Work {
    let mut plan = plan.clone();
    // A point of a grid is one machine's: a method that would choose C and gamma itself is the direct one here.
    if let AnyLearner::MultiSample(gather) = &mut plan.learner
        && gather.method == Method::Auto
    {
        gather.method = Method::Direct;
    }
    if let Some(place) = plan.learner.price_mut() {
        *place = price;
    }
    if let (Some(gamma), Some(kernel)) = (gamma, plan.learner.kernel_mut()) {
        *kernel = kernel.clone().with_gamma(gamma);
    }
    plan
}

/// The library's grid search, which shares kernel rows over folds and values of C. It knows no scaling and no filling inside
/// folds and no nu-SVC: `None` then.
fn shared_search(
    plan: &Work,
    prices: &[f64],
    gammas: &[Option<f64>],
    data: &Dataset<'_>,
    splits: &[Split],
    context: &Context<'_>,
) -> Option<Result<Vec<Vec<f64>>>> {
    if plan.scaling.is_some() || plan.fills_missing() || plan.learner.is_precomputed() {
        return None;
    }
    if let AnyLearner::MultiSample(gather) = &plan.learner {
        let gamma = gammas.iter().flatten().copied().collect();
        let search = SetSearch { c: prices.to_vec(), gamma, folds: splits.len(), seed: gather.seed };
        let points = gather.search(data, &search, context).map_err(anyhow::Error::from);
        return Some(points.map(|points| points.into_iter().map(|point| point.errors).collect()));
    }
    let grid = GridSearch { c: prices.to_vec(), gamma: gammas.iter().flatten().copied().collect(), refit: false, ..GridSearch::default() };
    let found = match &plan.learner {
        AnyLearner::Svc(svc) if matches!(svc.penalty, Penalty::C(_)) => {
            let grid = GridSearch { score: Some(Score::Accuracy), ..grid };
            let plain = Svc { calibrate: false, ..svc.clone() };
            grid.svc_on(&plain, data, splits, context).map(|found| (found.points, found.stop))
        }
        AnyLearner::Svr(svr) => {
            let grid = GridSearch { score: Some(Score::Rmse), ..grid };
            grid.svr_on(svr, data, splits, context).map(|found| (found.points, found.stop))
        }
        _ => return None,
    };
    let error = |score: f64| if matches!(data.target, Target::Real(_)) { score * score } else { 1.0 - score };
    let sorted = |(points, stop): (Vec<GridPoint>, StopReason)| {
        ensure!(stop != StopReason::Interrupted, "interrupted");
        let at = |price: f64, gamma: Option<f64>| {
            let point = points.iter().find(|point| point.c == price && (gamma.is_none() || point.gamma == gamma));
            point.map_or(Vec::new(), |point| point.scores.iter().map(|&score| error(score)).collect())
        };
        Ok(gammas
            .iter()
            .flat_map(|&gamma| prices.iter().map(move |&price| (price, gamma)))
            .map(|(price, gamma)| at(price, gamma))
            .collect())
    };
    Some(found.map_err(Into::into).and_then(sorted))
}

/// Errors by plan and fold, every point on its own. A nu that the class sizes do not allow gives no errors, and neither does a point that
/// the time limit cut short; any other failure ends the search.
fn search(plans: &[Work], data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<Vec<Vec<f64>>> {
    let quiet = context.with_threads(1).with_observer(&Silent);
    let results = parallel::map(context.threads, plans.len(), |i| {
        if context.step("tune", i, plans.len()) == Some(StopReason::Interrupted) {
            bail!("interrupted");
        }
        // Calibration does not change the decisions that are judged here.
        match cross_validate(&plans[i].without_calibration(), data, splits, &quiet) {
            Ok(found) if found.stop == StopReason::Interrupted => bail!("interrupted"),
            Ok(found) if found.folds.len() < splits.len() => Ok(Vec::new()),
            Ok(found) => Ok(found.losses(data)?),
            Err(Error::Parameter { name: "nu", .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    });
    results.into_iter().collect()
}

fn table(cells: &[Cell], prices: &[f64], gammas: &[Option<f64>], price: &str, target: &Target) -> String {
    let mut table = Table::new(std::iter::once(format!("gamma \\ {price}")).chain(prices.iter().map(|&p| number::g(p))));
    for (row, gamma) in gammas.iter().enumerate() {
        let name = gamma.map_or("-".to_owned(), |gamma| number::general(gamma, 4));
        let errors = cells[row * prices.len()..(row + 1) * prices.len()].iter();
        table.row(std::iter::once(name).chain(errors.map(|cell| mean_or_null(&cell.errors).map_or("-".to_owned(), |m| show(target, m)))));
    }
    table.text()
}

fn at_edge(best: &Cell, prices: &[f64], gammas: &[Option<f64>]) -> bool {
    let edge = |value: f64, all: &mut dyn Iterator<Item = f64>| {
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        low < high && (value == low || value == high)
    };
    edge(best.price, &mut prices.iter().copied()) || best.gamma.is_some_and(|gamma| edge(gamma, &mut gammas.iter().flatten().copied()))
}
