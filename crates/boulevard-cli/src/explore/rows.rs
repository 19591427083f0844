//! Rows on the page: a list that can be filtered, and why one of them is decided so.

use anyhow::{Context as _, Result, ensure};
use boulevard::gallery;
use boulevard::observe::Context;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fits::Fit;
use crate::report::number;

/// Rows and columns of one answer.
const PAGE: usize = 50;
const COLUMNS: usize = 8;
/// Values that are told of an explained row.
const VALUES: usize = 60;

/// Which rows are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// The point of the front that judges.
    point: Option<usize>,
    /// The class they are of, and the one that is said.
    is: Option<String>,
    said: Option<String>,
    /// Only those that are decided wrongly.
    wrong: bool,
    /// How many come before.
    from: usize,
}

/// Rows with what they are and what is said, the hardest first. Without classes there is nothing to filter by: no rows.
pub fn list(fit: &Fit, filter: &Filter) -> Result<Value> {
    let (Some(data), Some(judged)) = (&fit.data, fit.judged(filter.point)?) else {
        return Ok(json!({ "total": 0, "classes": [], "columns": [], "rows": [] }));
    };
    let name = |code: u32| &judged.classes[code as usize];
    let fits = |wanted: &Option<String>, code: u32| wanted.as_ref().is_none_or(|wanted| wanted == name(code));
    let chosen: Vec<usize> = gallery::hardest_rows(&judged, judged.len())
        .into_iter()
        .filter(|&i| fits(&filter.is, judged.truth[i]) && fits(&filter.said, judged.said[i]))
        .filter(|&i| !filter.wrong || judged.truth[i] != judged.said[i])
        .collect();
    let columns = data.x.columns().min(COLUMNS);
    let row = |&i: &usize| {
        let values: Vec<String> = (0..columns).map(|column| number::general(data.x.get(judged.rows[i], column), 4)).collect();
        let margin = judged.margin(i);
        json!({
            "row": judged.rows[i] + 1, "is": name(judged.truth[i]), "said": name(judged.said[i]), "values": values,
            "margin": margin.is_finite().then_some(margin),
        })
    };
    let rows: Vec<Value> = chosen.iter().skip(filter.from).take(PAGE).map(row).collect();
    let columns: Vec<String> = (0..columns).map(|column| data.feature_name(column)).collect();
    Ok(json!({ "total": chosen.len(), "heldOut": judged.held_out, "classes": judged.classes, "columns": columns, "rows": rows }))
}

/// Why one row (counted from 1) is decided so.
pub fn explain(fit: &Fit, row: usize, point: Option<usize>) -> Result<Value> {
    let data = fit.data.as_ref().context("the model was opened without the table it learnt from: give it with --data")?;
    ensure!(row >= 1, "rows are counted from 1");
    let chosen = fit.at(point)?;
    ensure!(row <= data.len(), "there is no row {row}: the table has {}", data.len());
    let prepared = chosen.prepare(&data.x.select(&[row - 1]))?;
    let told = gallery::explain(&chosen, data, row - 1, prepared.as_ref(), &Context::default())?;
    let values: Vec<(String, String)> = (0..data.x.columns().min(VALUES))
        .map(|column| (data.feature_name(column), number::general(data.x.get(row - 1, column), 5)))
        .collect();
    Ok(json!({ "row": row, "truth": told.truth, "said": told.said, "changes": told.changes, "pictures": told.pictures, "values": values }))
}
