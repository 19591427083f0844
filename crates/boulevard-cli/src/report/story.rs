//! What a report tells about a model: how good it is, what it learnt, rows to look at, how it was made, and the data themselves.

use std::time::Duration;

use anyhow::Result;
use boulevard::any::{AnyModel, Plan as Work};
use boulevard::data::{Dataset, Target};
use boulevard::gallery::{self, Asked, Importance, Judged};
use boulevard::metrics::comparison::{mean, standard_deviation};
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::observe::Context;
use boulevard::picture::Picture;
use boulevard::svm::Model;
use boulevard::validation::{FoldResult, cross_validate, default_folds, loss_name};

use super::html::Page;
use super::table::Table;
use super::{labels, number};
use crate::columns;
use crate::model::predict;

/// Folds behind the judgement of a report, and the least seconds they may take.
const FOLDS: usize = 5;
const LEAST_SECONDS: f64 = 10.0;
/// Columns whose effect is drawn, and columns of the data that are listed.
const EFFECTS: usize = 4;
const LISTED: usize = 40;
/// Rows that are explained, and multiplications (times a few dozen) that this may take.
const EXPLAINED: usize = 6;
const WORTH: usize = 50_000_000;
/// Training rows times support vectors up to which decisions about all of them are worth their time.
const CHEAP: usize = 1 << 31;

/// Judges a plan by folds that do not see their rows: as many as come about in the time of some fits. None where the table is too small
/// for folds.
pub fn judge(work: &Work, data: &Dataset<'_>, seconds: f64, seed: u64, context: &Context<'_>) -> Vec<FoldResult> {
    let limit = Duration::from_secs_f64((2.0 * FOLDS as f64 * seconds).max(LEAST_SECONDS));
    let folds = default_folds(data, FOLDS, seed);
    let found = folds.and_then(|folds| cross_validate(&work.without_calibration(), data, &folds, &context.with_time_limit(limit)));
    found.map_or_else(|_| Vec::new(), |found| found.folds)
}

/// The errors of folds in a sentence; empty without folds.
pub fn error_sentence(folds: &[FoldResult], data: &Dataset<'_>) -> String {
    let errors: Vec<f64> = folds.iter().filter_map(|fold| fold.loss(data).ok()).collect();
    if errors.is_empty() {
        return String::new();
    }
    let show = |value: f64| if matches!(data.target, Target::Real(_)) { number::general(value, 4) } else { number::percent(value) };
    let spread =
        if errors.len() > 1 { format!(", plus or minus {} from fold to fold", show(standard_deviation(&errors))) } else { String::new() };
    format!(
        "On rows that were not learnt from the {} is {}{spread} ({} folds).",
        loss_name(&data.target),
        show(mean(&errors)),
        errors.len()
    )
}

/// Judged rows: from folds where there are any, else the model's own training rows where that is cheap.
pub fn judged(fitted: &AnyModel, folds: &[FoldResult], data: &Dataset<'_>, context: &Context<'_>) -> Result<Option<Judged>> {
    if let Some(judged) = Judged::from_folds(folds, data)? {
        return Ok(Some(judged));
    }
    if data.len().saturating_mul(fitted.support_vectors()) > CHEAP {
        return Ok(None);
    }
    Ok(Judged::from_model(fitted, data, false, context)?)
}

/// How good it is: the pictures of judged rows.
pub fn goodness(judged: &Judged) -> Result<Vec<Picture>> {
    let mut pictures = vec![gallery::confusion(judged)?, gallery::roc(judged)?, gallery::precision_recall(judged)?];
    pictures.extend(gallery::calibration(judged));
    Ok(pictures)
}

/// Rows that are hard: their picture, and their places in the table, the hardest first.
type Hard = Option<(Picture, Vec<usize>)>;

/// Pictures of any kind of target besides classes, and the rows that are hardest.
fn others(fitted: &AnyModel, folds: &[FoldResult], data: &Dataset<'_>, context: &Context<'_>, page: &mut Page) -> Result<Hard> {
    let mut rows: Vec<usize> = folds.iter().flat_map(|fold| fold.test.iter().copied()).collect();
    let held_out = !rows.is_empty();
    match &data.target {
        Target::Real(truth) => {
            let mut said: Vec<f64> =
                folds.iter().flat_map(|fold| if let Target::Real(said) = &fold.predictions { said.clone() } else { Vec::new() }).collect();
            if !held_out {
                let Target::Real(own) = predict(fitted, data, context)? else { return Ok(None) };
                (rows, said) = ((0..own.len()).collect(), own);
            }
            if said.len() != rows.len() {
                return Ok(None);
            }
            let truth: Vec<f64> = rows.iter().map(|&row| truth[row]).collect();
            page.pictures([gallery::agreement(&truth, &said, held_out)?]);
            let (picture, places) = gallery::farthest(&truth, &said, &rows, held_out);
            Ok(Some((picture, places.into_iter().map(|place| rows[place]).collect())))
        }
        Target::Labels(truth) => {
            let mut said = Vec::new();
            for fold in folds {
                let Target::Labels(predicted) = &fold.predictions else { return Ok(None) };
                (0..predicted.len()).for_each(|row| said.extend_from_slice(predicted.row(row)));
            }
            let (counts, which) = if held_out {
                let said = boulevard::data::LabelMatrix::new(said, truth.names().to_vec())?;
                (LabelConfusion::new(&truth.select(&rows), &said, None)?, "rows that were not learnt from")
            } else {
                let Target::Labels(said) = predict(fitted, data, context)? else { return Ok(None) };
                (LabelConfusion::new(truth, &said, data.weights.as_deref())?, "the training rows")
            };
            let pictures = std::iter::once(gallery::label_bars(&counts, which)).chain(gallery::label_curves(folds, truth)?);
            page.text(&labels::summary(&counts)).table(&labels::table(&counts)).pictures(pictures);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// What a model learnt, drawn: its own pictures, where it decides what, and what columns do.
pub fn learnt(fitted: &AnyModel, data: &Dataset<'_>, context: &Context<'_>) -> Result<(Vec<Picture>, Vec<Picture>)> {
    let own = fitted.pictures(Some(data), context)?;
    // Of several tasks each has its own answer to the same row: there is no one map.
    let asked = if data.tasks.is_some() { None } else { Asked::new(fitted, data, context) };
    let Some(asked) = asked else { return Ok((own, Vec::new())) };
    let importance = Importance::new(&asked, data)?;
    let mut general: Vec<Picture> = gallery::decision_map(fitted, data, Some(&importance), context)?.into_iter().collect();
    general.extend(gallery::dependence(&asked, data, &importance, EFFECTS)?);
    Ok((own, general))
}

/// Everything about one model.
pub fn tell(
    page: &mut Page,
    fitted: &AnyModel,
    folds: &[FoldResult],
    data: &Dataset<'_>,
    command: &str,
    context: &Context<'_>,
) -> Result<()> {
    let error = error_sentence(folds, data);
    let judged = judged(fitted, folds, data, context)?;
    page.classed("lead", &error);
    page.section("How good it is");
    if folds.is_empty() {
        page.text(
            "There are too few rows (or too little time) for folds: what follows is on the rows that were learnt from, and flatters.",
        );
    }
    if let Some(judged) = &judged {
        page.pictures(goodness(judged)?);
    } else if let Some(sets) = Judged::of_sets(folds, data)? {
        page.text("Decisions are about sets of rows; so are these numbers.").pictures(goodness(&sets)?);
    }
    let mut hard = others(fitted, folds, data, context, page)?;
    let (own, general) = learnt(fitted, data, context)?;
    if !own.is_empty() || !general.is_empty() {
        page.section("What it learnt").pictures(own.into_iter().chain(general));
    }
    if let Some(judged) = judged.filter(|judged| !judged.is_empty()) {
        let places = gallery::hardest_rows(&judged, EXPLAINED);
        hard = Some((gallery::hardest(&judged), places.into_iter().map(|place| judged.rows[place]).collect()));
    }
    if let Some((picture, rows)) = hard {
        page.section("Rows to look at").pictures([picture]);
        explained(page, fitted, &rows, data, context)?;
    }
    page.section("How it was made").facts(&fitted.facts()).lines(command);
    summary(page, data);
    Ok(())
}

/// Why rows are decided so, one under the other to be unfolded. Of several tasks each has its own answer: nothing is told then.
fn explained(page: &mut Page, fitted: &AnyModel, rows: &[usize], data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
    if data.tasks.is_some() || rows.is_empty() {
        return Ok(());
    }
    let width = data.x.columns();
    let each = width.saturating_mul(width).saturating_mul(fitted.support_vectors().max(1)).max(1);
    let near = if fitted.kernel_machines().len() == 1 && !fitted.decides_sets() { ", which support vectors are near" } else { "" };
    let change = if matches!(data.target, Target::Classes(_)) { ", what would have to change" } else { "" };
    page.text(&format!("Why the model of all rows decides about them as it does: what pulled{near}{change}."));
    for (place, &row) in rows.iter().take((WORTH / each).clamp(1, EXPLAINED)).enumerate() {
        let prepared = fitted.prepare(&data.x.select(&[row]))?;
        let told = gallery::explain(fitted, data, row, prepared.as_ref(), context)?;
        let truth = told.truth.as_ref().map_or(String::new(), |truth| format!(", is {truth}"));
        let changes = if told.changes.is_empty() && matches!(data.target, Target::Classes(_)) {
            vec!["No change of a single column within what the table holds leads to another answer.".to_owned()]
        } else {
            told.changes
        };
        page.folded(&format!("Row {}: said {}{truth}", row + 1, told.said), place == 0, |page| {
            page.list(&changes).pictures(told.pictures);
        });
    }
    Ok(())
}

/// The table in numbers.
pub fn summary(page: &mut Page, data: &Dataset<'_>) {
    page.section("The data").text(&format!("{}.", crate::data::in_words(data)));
    if let Target::Classes(classes) = &data.target {
        let counts = classes.names().iter().zip(classes.counts()).map(|(name, count)| format!("{name}: {count} rows")).collect::<Vec<_>>();
        page.text(&counts.join(", "));
    }
    let mut table = Table::new(["column", "lowest", "mean", "highest", "std. dev."]);
    let facts = columns::describe(&data.x);
    for (place, column) in facts.iter().enumerate().take(LISTED) {
        let values = [column.low, column.mean, column.high, column.deviation].map(|value| number::general(value, 4));
        table.row(std::iter::once(data.feature_name(place)).chain(values));
    }
    page.table(&table);
    if facts.len() > LISTED {
        page.classed("soft", &format!("The first {LISTED} of {} columns.", facts.len()));
    }
}

/// The command line as it was given.
pub fn command_line() -> String {
    let word = |word: String| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=,:+@%".contains(c));
        if plain { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    let words = std::env::args().skip(1).map(word);
    std::iter::once("boulevard".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
