//! What the page is told about a model, a point of its front, a row, and two points beside each other.

use std::path::{Component, Path};

use anyhow::{Context as _, Result, ensure};
use boulevard::data::Target;
use boulevard::gallery::{self, Asked, Importance};
use boulevard::observe::Context;
use boulevard::picture::Picture;
use boulevard::svm::Model;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fits::Fit;
use super::request;
use super::state::Shared;
use crate::report::html::Page;
use crate::report::{front, number, story};

/// Everything about a model.
pub fn fit(id: usize, fit: &Fit) -> Result<Value> {
    let context = Context::default();
    let (mut good, mut own, mut general, mut hardest) = (Vec::new(), fit.model.pictures(None, &context)?, Vec::new(), None);
    let mut sentence = String::new();
    if let Some(data) = &fit.data {
        sentence = story::error_sentence(&fit.folds, data);
        if let Some(judged) = fit.judged(None)? {
            good = story::goodness(&judged)?;
            hardest = Some(gallery::hardest(&judged));
        } else if let Some(sets) = gallery::Judged::of_sets(&fit.folds, data)? {
            good = story::goodness(&sets)?;
        } else if let Target::Labels(truth) = &data.target {
            good = gallery::label_curves(&fit.folds, truth)?.into_iter().collect();
        }
        (own, general) = story::learnt(&fit.model, data, &context)?;
    }
    let facts: Vec<(String, String)> = fit.model.facts().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let picked = front::of(&fit.model).map(|front| front.picked);
    Ok(json!({
        "id": id, "title": fit.title, "command": fit.command, "sentence": sentence, "facts": facts, "own": own, "good": good,
        "general": general, "hardest": hardest, "points": fit.points(), "picked": picked, "notes": fit.model.notes(),
        "rows": fit.data.as_ref().map(|data| data.len()),
    }))
}

/// A point of the front: its numbers, what it says about rows it has not seen, and where it decides what.
pub fn point(fit: &Fit, place: usize) -> Result<Value> {
    let context = Context::default();
    let chosen = fit.at(Some(place))?;
    let model = front::of(&chosen).context("only a front has points")?;
    let at = &model.front[place];
    let (estimate, rows) = (model.estimates[place], model.estimate_rows.max(1) as f64);
    let mut facts = vec![
        ("point".to_owned(), format!("{place} of {}", model.front.len())),
        ("equivalent C".to_owned(), number::general(at.equivalent_c, 4)),
        ("training error".to_owned(), number::percent(at.train_error)),
        (
            "hold-out error".to_owned(),
            if at.holdout_error.is_nan() { "nothing held out".to_owned() } else { number::percent(at.holdout_error) },
        ),
        ("support vectors".to_owned(), at.n_support.to_string()),
        ("margin".to_owned(), number::general(at.margin, 4)),
        ("gap".to_owned(), format!("{:.0e}", at.gap)),
    ];
    if estimate.is_finite() {
        let spread = (estimate * (1.0 - estimate) / rows).sqrt();
        facts.insert(4, ("estimated error".to_owned(), format!("{} ± {}", number::percent(estimate), number::percent(spread))));
    }
    let mut pictures: Vec<Picture> = Vec::new();
    if let Some(judged) = fit.judged(Some(place))? {
        pictures.push(gallery::confusion(&judged)?);
    }
    if let Some(data) = &fit.data {
        let importance = Asked::new(&chosen, data, &context).map(|asked| Importance::new(&asked, data)).transpose()?;
        pictures.extend(gallery::decision_map(&chosen, data, importance.as_ref(), &context)?);
    }
    Ok(json!({ "point": place, "facts": facts, "pictures": pictures, "command": fit.command_at(Some(place)) }))
}

/// Two points: errors on the same rows, the rows on which they differ, and whether that can be chance.
pub fn compare(fit: &Fit, a: usize, b: usize) -> Result<Value> {
    let judged = |place: usize| fit.judged(Some(place))?.context("points are compared on the rows they were made from");
    let (first, second) = (judged(a)?, judged(b)?);
    let right = |one: &gallery::Judged, i: usize| one.truth[i] == one.said[i];
    let differ: Vec<usize> = (0..first.len()).filter(|&i| first.said[i] != second.said[i]).collect();
    let only_first = differ.iter().filter(|&&i| right(&first, i)).count();
    let only_second = differ.iter().filter(|&&i| right(&second, i)).count();
    let p = sign_test(only_first, only_second);
    let sentence = match p < 0.05 {
        true => format!(
            "Point {} is better on these rows (sign test on the rows where only one is right: p = {p:.3}).",
            if only_first > only_second { a } else { b }
        ),
        false => format!(
            "No difference is shown: {only_first} rows only point {a} has right, {only_second} only point {b} (sign test, p = {p:.3})."
        ),
    };
    let class = |one: &gallery::Judged, code: u32| one.classes[code as usize].clone();
    let rows: Vec<Value> = differ
        .iter()
        .take(200)
        .map(|&i| json!({ "row": first.rows[i] + 1, "is": class(&first, first.truth[i]), "a": class(&first, first.said[i]), "b": class(&second, second.said[i]) }))
        .collect();
    Ok(json!({
        "a": a, "b": b, "rows": rows, "differ": differ.len(), "of": first.len(), "p": p, "sentence": sentence, "heldOut": first.held_out,
        "errors": [first.error().0, second.error().0],
    }))
}

/// Two-sided sign test: the chance that a fair coin is at least as uneven.
fn sign_test(a: usize, b: usize) -> f64 {
    let (n, few) = (a + b, a.min(b));
    if n == 0 {
        return 1.0;
    }
    let mut logs = vec![0.0; n + 1];
    (1..=n).for_each(|i| logs[i] = logs[i - 1] + (i as f64).ln());
    let tail: f64 = (0..=few).map(|k| (logs[n] - logs[k] - logs[n - k] - n as f64 * 2f64.ln()).exp()).sum();
    (2.0 * tail).min(1.0)
}

/// The report of a model as a page.
pub fn report(fit: &Fit) -> Result<String> {
    let data = fit.data.as_ref().context("a report needs the table that the model learnt from: give it with --data")?;
    let mut page = Page::new(&fit.title);
    story::tell(&mut page, &fit.model, &fit.folds, data, &fit.command, &Context::default())?;
    if let Some(model) = front::of(&fit.model) {
        page.section("The front in numbers").table(&front::table(model));
    }
    Ok(page.finish())
}

/// A model to be saved.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Save {
    name: String,
    #[serde(default)]
    point: Option<usize>,
    #[serde(default)]
    overwrite: bool,
}

/// Writes a model into the chosen folder, and nowhere else.
pub fn save(shared: &Shared, fit: &Fit, asked: &Save) -> Result<Value> {
    let name = asked.name.trim();
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    let plain = matches!(parts.as_slice(), [Component::Normal(only)] if only.to_str() == Some(name)) && !name.contains(['/', '\\', ':']);
    ensure!(plain && !name.starts_with('.'), "`{}` is not the name of a file in the chosen folder", name.escape_debug());
    let path = shared.folder.join(name);
    if path.symlink_metadata().is_ok() {
        ensure!(path.symlink_metadata().is_ok_and(|facts| facts.is_file()), "{name} is there already and is not a plain file");
        ensure!(asked.overwrite, "{name} is there already: say that it may be replaced, or choose another name");
    }
    fit.at(asked.point)?.save(&path)?;
    let command = format!("{} -o {}", fit.command_at(asked.point), request::typed(&[name.to_owned()]).trim_start_matches("boulevard "));
    let table = shared.source().map_or_else(|| "DATA".to_owned(), |source| source.name);
    let word = |text: &str| request::typed(&[text.to_owned()]).trim_start_matches("boulevard ").to_owned();
    let predict = format!("boulevard predict {} {}", word(name), word(&table));
    let python =
        format!("import boulevard\nmodel = boulevard.load({})\nmodel.predict(X)  # the columns of {table}, in their order", json!(name));
    Ok(json!({ "path": path, "command": command, "predict": predict, "python": python }))
}

#[cfg(test)]
mod tests {
    use super::sign_test;

    #[test]
    fn the_sign_test_is_that_of_a_fair_coin() {
        assert_eq!(sign_test(0, 0), 1.0);
        assert!((sign_test(0, 6) - 2.0 / 64.0).abs() < 1e-12);
        assert!((sign_test(2, 8) - 2.0 * 56.0 / 1024.0).abs() < 1e-12);
        assert_eq!(sign_test(5, 5), 1.0);
    }
}
