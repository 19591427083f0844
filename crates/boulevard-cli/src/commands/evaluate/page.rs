//! The report of a cross-validation.

use anyhow::Result;
use boulevard::data::{Dataset, Target};
use boulevard::gallery;
use boulevard::metrics::comparison::{mean, standard_deviation};
use boulevard::picture::Picture;
use boulevard::validation::FoldResult;

use super::curve::Curve;
use super::{Comparison, Judged, label_confusion, verdict};
use crate::args::EvaluateArgs;
use crate::report::html::Page;
use crate::report::table::Table;
use crate::report::{labels, number, story};

/// Methods side by side, then what each said about the rows it had not seen.
pub fn page(judged: &[Judged], tests: &[Comparison], curve: Option<&Curve>, data: &Dataset<'_>, args: &EvaluateArgs) -> Result<String> {
    let share = !matches!(data.target, Target::Real(_));
    let name = args.data.file_name().map_or_else(|| args.data.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut page = Page::new(&format!("{} on {name}", judged.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")));
    page.text(&format!(
        "{name}: {}. {} folds{}; every row is judged by machines that did not see it.",
        crate::data::in_words(data),
        args.folds,
        if args.repeats > 1 { format!(", repeated {} times", args.repeats) } else { String::new() }
    ));
    let rows = rows(judged);
    let sentence = sentence(&rows, share);
    page.classed("lead", &sentence);
    if rows.len() > 1 {
        page.section("The methods").pictures([side_by_side(judged, data)]);
    }
    page.list(&tests.iter().map(|one| verdict(judged, one.first, one.second, &one.test)).collect::<Vec<_>>());
    if let Some(curve) = curve {
        page.section("Samples per decision").pictures([curve.picture()]);
    }
    for one in judged {
        page.section(&format!("What {} said", one.name));
        if let Some(counts) = label_confusion(one, data)? {
            page.text(&labels::summary(&counts)).table(&labels::table(&counts));
        }
        page.pictures(pictures(one, data)?);
    }
    page.section("How it was made").table(&fits(judged)).lines(&story::command_line());
    story::summary(&mut page, data);
    Ok(page.finish())
}

/// What one method said about rows that it had not seen.
pub fn pictures(one: &Judged, data: &Dataset<'_>) -> Result<Vec<Picture>> {
    let mut pictures = Vec::new();
    if let Some(rows) = gallery::Judged::from_folds(&one.folds, data)? {
        pictures.extend(story::goodness(&rows)?);
        pictures.push(gallery::hardest(&rows));
    } else if let Some(sets) = gallery::Judged::of_sets(&one.folds, data)? {
        pictures.extend(story::goodness(&sets)?);
    }
    if let Some(counts) = label_confusion(one, data)? {
        pictures.push(gallery::label_bars(&counts, "rows that were not learnt from"));
    }
    if let Target::Labels(truth) = &data.target {
        pictures.extend(gallery::label_curves(&one.folds, truth)?);
    }
    if let Target::Real(truth) = &data.target {
        let truth: Vec<f64> = one.rows().into_iter().map(|row| truth[row]).collect();
        let own = |fold: &FoldResult| if let Target::Real(said) = &fold.predictions { said.clone() } else { Vec::new() };
        let said: Vec<f64> = one.folds.iter().flat_map(own).collect();
        if said.len() == truth.len() && !said.is_empty() {
            pictures.push(gallery::agreement(&truth, &said, true)?);
            pictures.push(gallery::farthest(&truth, &said, &one.rows(), true).0);
        }
    }
    Ok(pictures)
}

/// Methods with the mean and the standard deviation of their errors.
fn rows(judged: &[Judged]) -> Vec<(String, f64, f64)> {
    judged.iter().map(|one| (one.name.clone(), mean(&one.errors), standard_deviation(&one.errors))).collect()
}

fn sentence(rows: &[(String, f64, f64)], share: bool) -> String {
    let show = |value: f64| if share { number::percent(value) } else { number::g(value) };
    match rows.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((best, error, spread)) if rows.len() > 1 => {
            format!("{best} has the lowest mean error, {} (standard deviation over folds {}).", show(*error), show(*spread))
        }
        Some((_, error, spread)) => format!("Mean error {}, standard deviation over folds {}.", show(*error), show(*spread)),
        None => String::new(),
    }
}

/// All methods in one picture.
pub fn side_by_side(judged: &[Judged], data: &Dataset<'_>) -> Picture {
    let (rows, share) = (rows(judged), !matches!(data.target, Target::Real(_)));
    gallery::comparison(&rows, share, &sentence(&rows, share))
}

/// How the fits behind the numbers went.
fn fits(judged: &[Judged]) -> Table {
    let mut table = Table::new(["method", "fits", "not converged", "time per fit", "largest gap"]);
    for one in judged {
        let reports = || one.folds.iter().map(|fold| &fold.report);
        let seconds = reports().map(|report| report.seconds).sum::<f64>() / one.folds.len().max(1) as f64;
        let gap = reports().map(|report| report.gap).fold(0.0, f64::max);
        let cells =
            [one.name.clone(), one.folds.len().to_string(), one.unconverged.to_string(), number::seconds(seconds), format!("{gap:.0e}")];
        table.row(cells);
    }
    table
}
