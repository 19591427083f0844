//! `boulevard tune --method select`: rho and c by cross-validation, one path over rho per fold and c.

use anyhow::{Result, ensure};
use boulevard::any::Plan as Work;
use boulevard::data::io::TargetKind;
use boulevard::gallery::{self, GridCell};
use boulevard::methods::multitask_selection::{MultiTaskSelection, SelectionPoint, SelectionSearch, TaskSet};
use boulevard::persist::AnyModel;
use boulevard::svm::Learner;
use serde_json::json;

use crate::Outcome;
use crate::args::TuneArgs;
use crate::learner::Plan;
use crate::progress::Watcher;
use crate::report::table::Table;
use crate::report::{number, print, print_json};
use crate::{data, files};

pub fn run(args: &TuneArgs, plan: &Plan, learner: &MultiTaskSelection) -> Result<Outcome> {
    ensure!(args.learner.c.is_none(), "tune searches --c itself: use --c-grid");
    ensure!(args.learner.rho.is_none() && args.learner.ln_rho.is_none(), "tune searches --rho itself");
    ensure!(args.gamma_grid.is_empty(), "--gamma-grid does not apply to --method select: list its kernels with --kernels");
    ensure!(plan.work.scaling.is_none(), "tune --method select works on columns as they are: use `boulevard scale` first");
    files::all_writable(args.output.iter().chain(&args.report))?;
    let data = data::read_for(plan, &args.data, &args.read)?;
    let mut search = SelectionSearch { folds: args.folds, seed: args.learner.seed, ..SelectionSearch::default() };
    if !args.c_grid.is_empty() {
        search.c.clone_from(&args.c_grid);
    }
    let watcher = Watcher::new(args.run.quiet);
    let context = args.run.context(&watcher);
    let found = search.run(learner, &TaskSet::from_dataset(&data)?, &context);
    watcher.finish();
    let found = found?;
    let best = found.points[found.best].clone();
    let fitted = AnyModel::from(found.model);
    if let Some(path) = &args.output {
        fitted.save(path)?;
    }
    let drawn = |point: &SelectionPoint| GridCell {
        first: point.ln_rho.exp(),
        second: Some(point.c),
        error: point.error,
        deviation: point.deviation,
    };
    let grid: Vec<GridCell> = found.points.iter().map(drawn).collect();
    let picture = gallery::search(&grid, ["rho", "c"], found.best, learner.target() != TargetKind::Real);
    if let Some(path) = &args.report {
        let chosen = MultiTaskSelection { ln_rho: Some(best.ln_rho), c: Some(best.c), ..learner.clone() };
        super::report(path, picture.clone(), &fitted, &Work { learner: chosen.into(), ..plan.work.clone() }, &data, args, "")?;
    }
    if args.run.json {
        print_json(&json!({ "grid": found.points, "best": best, "model": args.output, "fit": fitted.to_json(), "pictures": [picture] }))?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(std::iter::once("c \\ rho".to_owned()).chain(search.ln_rho.iter().map(|ln_rho| number::g(ln_rho.exp()))));
    for (i, c) in search.c.iter().enumerate() {
        let row = &found.points[i * search.ln_rho.len()..(i + 1) * search.ln_rho.len()];
        table.row(std::iter::once(number::g(*c)).chain(row.iter().map(|point| number::general(point.error, 4))));
    }
    let mut text = format!("{} ({}), {} folds, mean error\n\n", args.data.display(), data::in_words(&data), args.folds);
    text.push_str(&table.text());
    text.push_str(&format!(
        "\nbest: --rho {} --c {}, error {} (sd over folds {})\n",
        number::g(best.ln_rho.exp()),
        number::g(best.c),
        number::general(best.error, 4),
        number::general(best.deviation, 3)
    ));
    match &args.output {
        Some(path) => text.push_str(&format!("model fitted on all rows and saved to {}\n", path.display())),
        None => text.push_str("to keep the model, give -o\n"),
    }
    print(&text)?;
    Ok(Outcome::Done)
}
