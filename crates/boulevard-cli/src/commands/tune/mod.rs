//! `boulevard tune`: a grid over C (or nu), gamma and epsilon, judged by cross-validation and refined around its best point, which is
//! fitted on all rows.

mod grid;
mod judge;
mod select;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use boulevard::any::{AnyLearner, AnyModel, Plan as Work};
use boulevard::data::{Dataset, Target};
use boulevard::gallery::{self, GridCell};
use boulevard::metrics::comparison::{mean, standard_deviation};
use boulevard::picture::Picture;
use boulevard::svm::{Learner, Model};
use boulevard::validation::{GridPick, GridSetting, default_folds, loss_name};
use serde_json::json;

use self::grid::{Grid, grid};
use self::judge::{at, judge};
use crate::Outcome;
use crate::args::TuneArgs;
use crate::learner::Plan;
use crate::progress::Watcher;
use crate::report::html::Page;
use crate::report::table::Table;
use crate::report::{complain, number, print, print_json, story};
use crate::{data, files};

/// One point of the grid and how it did.
struct Cell {
    at: GridSetting,
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
    check(args)?;
    data::expect_tasks(std::slice::from_ref(&plan), &args.read)?;
    let data = data::read_for(&plan, &args.data, &args.read)?;
    let grid = grid(args, &plan, &data)?;
    let splits = default_folds(&data, args.folds, args.learner.seed)?;
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let cells = judge(&plan.work, &grid, &data, &splits, &context);
    watcher.finish();
    let cells = cells?;
    let out_of_time = context.deadline.is_some_and(|end| std::time::Instant::now() >= end);
    let missing = cells.iter().filter(|cell| cell.errors.is_empty()).count();
    let price = price_name(&plan);
    let Some(lowest) = best(&cells) else {
        ensure!(!out_of_time, "none of the {} points of the grid was finished within --max-time", cells.len());
        bail!("no point of the grid could be fitted: nu may be too large for these class sizes")
    };
    let chosen = if args.one_se { smoothest(&cells, lowest, price) } else { lowest };
    let best = &cells[chosen];
    if out_of_time && missing > 0 && !args.run.quiet {
        complain(&format!("warning: {missing} of {} points of the grid were not finished within --max-time", cells.len()));
    }
    // The fit of the best point has a time of its own.
    let fitted = at(&plan.work, &best.at).fit_in(&data, &args.run.context(&watcher))?;
    if let Some(path) = &args.output {
        fitted.save(path)?;
    }
    let how = if args.one_se { GridPick::OneSe } else { GridPick::Best }.in_words();
    let picture = {
        let drawn: Vec<GridCell> = cells.iter().map(Cell::drawn).collect();
        let share = !matches!(data.target, Target::Real(_));
        gallery::search(&drawn, [if price == "nu" { "nu" } else { "C" }, "gamma"], chosen, share)
    };
    if let Some(path) = &args.report {
        report(path, picture.clone(), &fitted, &at(&plan.work, &best.at), &data, args, &story_of(&cells, &grid, how))?;
    }
    if args.run.json {
        let rows: Vec<_> = cells
            .iter()
            .map(|c| {
                let at = &c.at;
                json!({ price: at.c, "gamma": at.gamma, "epsilon": at.epsilon, "mean": mean_or_null(&c.errors), "folds": c.errors })
            })
            .collect();
        let at = &best.at;
        print_json(&json!({
            "error": loss_name(&data.target), "grid": rows,
            "best": { price: at.c, "gamma": at.gamma, "epsilon": at.epsilon, "mean": mean(&best.errors) },
            "chosen_by": how, "refined": cells.len() - grid.points().len().min(cells.len()), "values_from": grid.why,
            "finished": cells.len() - missing, "model": args.output, "fit": fitted.to_json(), "pictures": [picture],
        }))?;
        return Ok(Outcome::Done);
    }
    let mut text = format!("{} ({}), {} folds, {}\n\n", args.data.display(), data::in_words(&data), args.folds, loss_name(&data.target));
    text.push_str(&table(&cells, best, price, &data.target));
    text.push_str(&story_text(&cells, &grid, how, args));
    let gamma = best.at.gamma.map_or(String::new(), |gamma| format!(" --gamma {}", number::g(gamma)));
    let epsilon = best.at.epsilon.map_or(String::new(), |epsilon| format!(" --epsilon {}", number::g(epsilon)));
    let (middle, spread) = (show(&data.target, mean(&best.errors)), show(&data.target, standard_deviation(&best.errors)));
    text.push_str(&format!(
        "\nbest: --{price} {}{gamma}{epsilon}, {} {middle} (sd over folds {spread})\n",
        number::g(best.at.c),
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
    if at_edge(best, &cells) && !args.run.quiet {
        complain("hint: the best point lies at the edge of the grid; a wider one may hold a better");
    }
    Ok(Outcome::Done)
}

/// Refuses flags that contradict each other before anything is read.
fn check(args: &TuneArgs) -> Result<()> {
    ensure!(args.learner.c.is_none() && args.learner.nu.is_none(), "tune searches --c and --nu itself: use --c-grid");
    ensure!(args.learner.gamma.is_none(), "tune searches --gamma itself: use --gamma-grid");
    ensure!(args.gamma_grid.iter().all(|gamma| gamma.is_finite() && *gamma >= 0.0), "--gamma-grid must hold numbers that are not negative");
    ensure!(args.epsilon_grid.iter().all(|e| e.is_finite() && *e >= 0.0), "--epsilon-grid must hold numbers that are not negative");
    ensure!(args.c_grid.iter().all(|c| c.is_finite() && *c > 0.0), "--c-grid must hold positive numbers");
    ensure!(args.epsilon_grid.is_empty() || args.learner.epsilon.is_none(), "give --epsilon or --epsilon-grid, not both");
    files::all_writable(args.output.iter().chain(&args.report))
}

/// What was done, in a sentence or two; nothing where the user gave every value and nothing was added.
fn story_of(cells: &[Cell], grid: &Grid, how: &str) -> String {
    let added = cells.len().saturating_sub(grid.points().len());
    let mut text = grid.why.as_ref().map_or(String::new(), |why| format!("Values: {why}. "));
    if added > 0 {
        text.push_str(&format!("{added} points were added around the best. "));
    }
    text.push_str(&format!("Chosen: {how}."));
    text
}

fn story_text(cells: &[Cell], grid: &Grid, how: &str, args: &TuneArgs) -> String {
    if grid.why.is_none() && !grid.refine && !args.one_se { String::new() } else { format!("\n{}\n", story_of(cells, grid, how)) }
}

impl Cell {
    fn drawn(&self) -> GridCell {
        let error = if self.errors.is_empty() { f64::NAN } else { mean(&self.errors) };
        GridCell { first: self.at.c, second: self.at.gamma, error, deviation: standard_deviation(&self.errors) }
    }
}

/// The report: the search, then the model it led to.
fn report(path: &Path, search: Picture, fitted: &AnyModel, work: &Work, data: &Dataset<'_>, args: &TuneArgs, told: &str) -> Result<()> {
    let name = args.data.file_name().map_or_else(|| args.data.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut page = Page::new(&format!("The best {} on {name}", args.method.text()));
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    page.text(&format!("{name}: {}. Searched by {} folds. {told}", data::in_words(data), args.folds))
        .section("The search")
        .pictures([search]);
    let folds = story::judge(work, data, fitted.report().seconds, args.learner.seed + 1, &context);
    story::tell(&mut page, fitted, &folds, data, &story::command_line(), &context)?;
    watcher.finish();
    files::write(path, page.finish().as_bytes())
}

/// The place of the point of least error; ties go to the one nearest the middle of the grid, where its neighbors are known to be good too.
fn best(cells: &[Cell]) -> Option<usize> {
    let (prices, gammas, epsilons) = (values(cells, |at| Some(at.c)), values(cells, |at| at.gamma), values(cells, |at| at.epsilon));
    let off = |value: Option<f64>, all: &[f64]| {
        let place = all.iter().position(|&v| Some(v) == value).unwrap_or(0);
        if all.is_empty() { 0.0 } else { (place as f64 - (all.len() as f64 - 1.0) / 2.0).abs() }
    };
    let key = |place: usize| {
        let at = &cells[place].at;
        (mean(&cells[place].errors), off(Some(at.c), &prices) + off(at.gamma, &gammas) + off(at.epsilon, &epsilons))
    };
    let fitted = (0..cells.len()).filter(|&place| !cells[place].errors.is_empty());
    fitted.min_by(|&a, &b| key(a).partial_cmp(&key(b)).expect("errors are numbers"))
}

/// The place of the smoothest machine within one standard error of the best: smallest C (largest nu), then smallest gamma.
fn smoothest(cells: &[Cell], best: usize, price: &str) -> usize {
    let errors = &cells[best].errors;
    let deviation = standard_deviation(errors) / (errors.len().max(1) as f64).sqrt();
    let reach = mean(errors) + if deviation.is_finite() { deviation } else { 0.0 };
    let roughness = |place: &usize| {
        let at = &cells[*place].at;
        (if price == "nu" { -at.c } else { at.c }, at.gamma.unwrap_or(0.0), -at.epsilon.unwrap_or(0.0))
    };
    let close = (0..cells.len()).filter(|&place| !cells[place].errors.is_empty() && mean(&cells[place].errors) <= reach);
    close.min_by(|a, b| roughness(a).partial_cmp(&roughness(b)).expect("parameters are numbers")).unwrap_or(best)
}

/// All values of one parameter, rising.
fn values(cells: &[Cell], of: impl Fn(&GridSetting) -> Option<f64>) -> Vec<f64> {
    let mut values: Vec<f64> = cells.iter().filter_map(|cell| of(&cell.at)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
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

fn table(cells: &[Cell], best: &Cell, price: &str, target: &Target) -> String {
    let (prices, gammas) = (values(cells, |at| Some(at.c)), values(cells, |at| at.gamma));
    let gammas: Vec<Option<f64>> = if gammas.is_empty() { vec![None] } else { gammas.into_iter().map(Some).collect() };
    let mut table = Table::new(std::iter::once(format!("gamma \\ {price}")).chain(prices.iter().map(|&p| number::general(p, 4))));
    for gamma in gammas {
        let name = gamma.map_or("-".to_owned(), |gamma| number::general(gamma, 4));
        let error = |&c: &f64| {
            let at = GridSetting { c, gamma, epsilon: best.at.epsilon };
            let cell = cells.iter().find(|cell| cell.at == at);
            cell.and_then(|cell| mean_or_null(&cell.errors)).map_or("-".to_owned(), |m| show(target, m))
        };
        table.row(std::iter::once(name).chain(prices.iter().map(error)));
    }
    let plane = match best.at.epsilon {
        Some(epsilon) if values(cells, |at| at.epsilon).len() > 1 => format!("epsilon {}:\n", number::g(epsilon)),
        _ => String::new(),
    };
    plane + &table.text()
}

fn at_edge(best: &Cell, cells: &[Cell]) -> bool {
    let edge = |value: Option<f64>, all: &[f64]| {
        let (low, high) = (all.first().copied(), all.last().copied());
        value.is_some() && low != high && (value == low || value == high)
    };
    edge(Some(best.at.c), &values(cells, |at| Some(at.c))) || edge(best.at.gamma, &values(cells, |at| at.gamma))
}
