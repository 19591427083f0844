//! `boulevard reproduce`: tables of papers beside the published numbers, as text, Markdown, JSON and HTML.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use boulevard::gallery;
use boulevard::observe::Context;
use boulevard::picture::Picture;
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::ReproduceArgs;
use crate::files;
use crate::papers::{self, Bench, Entry, Spec, State};
use crate::progress::{Watcher, interrupted};
use crate::report::html::Page;
use crate::report::table::Table;
use crate::report::{number, print, story};

pub fn run(args: &ReproduceArgs) -> Result<Outcome> {
    if args.list {
        return list();
    }
    let specs = chosen(args)?;
    let Some(data) = &args.data else { bail!("--data DIR is needed: the folder with the data sets") };
    ensure!(data.is_dir(), "{}: is not a folder with data sets", data.display());
    files::all_writable(args.json.iter().chain(&args.report))?;
    std::fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let watcher = Watcher::new(args.quiet);
    let mut all = Vec::new();
    let mut whole = Page::new("Tables of papers beside the published numbers");
    for (place, spec) in specs.iter().enumerate() {
        // What several tables of a paper need is forgotten once, before the first of them.
        if args.fresh && specs[..place].iter().all(|before| paper(before) != paper(spec)) {
            State::open(shared_folder(spec, args), true)?;
        }
        let (entries, figures) = table(spec, args, data, &watcher)?;
        let stem = spec.name.replace('/', "-") + if args.quick { "-quick" } else { "" };
        let file = |extension: &str| args.out.join(format!("{stem}.{extension}"));
        let mut value = as_json(spec, &entries, args.quick);
        files::write(&file("md"), as_markdown(spec, &entries).as_bytes())?;
        files::write(&file("json"), format!("{value:#}\n").as_bytes())?;
        files::write(&file("html"), as_html(spec, &entries, &figures).as_bytes())?;
        print(&format!(
            "{}\n{}\n\n{}\n{}\nwritten to {}/{stem}.md, .json, .html\n\n",
            spec.name,
            spec.title,
            as_table(&entries).text(),
            summary(&entries),
            args.out.display()
        ))?;
        value["pictures"] = json!(drawn(spec, &entries, &figures));
        all.push(value);
        whole.section(&format!("{}: {}", spec.name, spec.title));
        tell(&mut whole, spec, &entries, &figures);
    }
    watcher.finish();
    if let Some(path) = &args.report {
        whole.section("How it was made").lines(&story::command_line());
        files::write(path, whole.finish().as_bytes())?;
        print(&format!("report written to {}\n", path.display()))?;
    }
    if let Some(path) = &args.json {
        files::write(path, format!("{:#}\n", json!(all)).as_bytes())?;
    }
    Ok(Outcome::Done)
}

fn list() -> Result<Outcome> {
    let mut table = Table::new(["table", "what", "rows", "data"]);
    for spec in papers::all() {
        table.row([spec.name.to_owned(), spec.title.to_owned(), spec.rows.len().to_string(), spec.data.to_owned()]);
    }
    print(&table.text())?;
    Ok(Outcome::Done)
}

fn chosen(args: &ReproduceArgs) -> Result<Vec<Spec>> {
    let all = papers::all();
    if args.tables.is_empty() {
        return Ok(all);
    }
    let known = || all.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
    let find = |name: &String| all.iter().find(|spec| spec.name == name).copied();
    args.tables.iter().map(|name| find(name).with_context(|| format!("there is no table `{name}`; there are {}", known()))).collect()
}

/// The paper a table is from.
fn paper(spec: &Spec) -> &'static str {
    spec.name.split('/').next().unwrap_or(spec.name)
}

fn shared_folder(spec: &Spec, args: &ReproduceArgs) -> PathBuf {
    args.out.join("state").join(paper(spec)).join(if args.quick { "quick" } else { "full" })
}

/// All rows of one table and their pictures; finished cells are not computed again.
fn table(spec: &Spec, args: &ReproduceArgs, data: &Path, watcher: &Watcher) -> Result<(Vec<Entry>, Vec<Picture>)> {
    let mode = if args.quick { "quick" } else { "full" };
    let state = State::open(args.out.join("state").join(spec.name.replace('/', "-")).join(mode), args.fresh)?;
    let shared = State::open(shared_folder(spec, args), false)?;
    let context = Context::default().with_observer(watcher);
    let context = args.threads.map_or(context, |threads| context.with_threads(threads as usize));
    for row in &args.only {
        ensure!(spec.rows.contains(&row.as_str()), "{} has no row `{row}`; its rows are {}", spec.name, spec.rows.join(", "));
    }
    let rows: Vec<&str> =
        spec.rows.iter().copied().filter(|row| args.only.is_empty() || args.only.iter().any(|only| only == row)).collect();
    let (mut entries, mut figures) = (Vec::new(), Vec::new());
    for (place, row) in rows.iter().enumerate() {
        watcher.note(&format!("{}: {row} ({} of {})", spec.name, place + 1, rows.len()));
        let bench = Bench { data, quick: args.quick, state: &state, shared: &shared, context };
        let result = (spec.run)(&bench, row);
        if interrupted() && result.is_err() {
            watcher.finish();
            bail!("interrupted; finished cells are kept in {}: the same command goes on from there", args.out.display());
        }
        entries.extend(result.with_context(|| format!("{}, row {row}", spec.name))?);
        figures.extend(papers::figures(spec, &bench, row)?);
    }
    Ok((entries, figures))
}

fn as_table(entries: &[Entry]) -> Table {
    let mut table = Table::new(["row", "column", "published", "ours", "sd", "splits", "deviation", "verdict", "chosen"]);
    for entry in entries {
        table.row([
            entry.row.clone(),
            entry.column.clone(),
            entry.published.map_or("-".to_owned(), |value| number::general(value, 4)),
            number::general(entry.ours, 4),
            number::general(entry.deviation, 3),
            entry.splits.to_string(),
            entry.distance().map_or("-".to_owned(), |distance| format!("{distance:+.1} sd")),
            entry.verdict().to_owned(),
            entry.note.clone(),
        ]);
    }
    table
}

fn summary(entries: &[Entry]) -> String {
    let judged: Vec<bool> = entries.iter().filter(|entry| entry.counts).filter_map(Entry::agrees).collect();
    if judged.is_empty() {
        return "the paper prints no numbers to compare with".to_owned();
    }
    let agree = judged.iter().filter(|&&agrees| agrees).count();
    format!("{agree} of {} published numbers lie within two standard deviations", judged.len())
}

fn as_markdown(spec: &Spec, entries: &[Entry]) -> String {
    format!(
        "# {}: {}\n\n{}\n\nProtocol: {}\n\nNumbers are {}s.\n\n{}\n{}.\n",
        spec.name,
        spec.title,
        spec.source,
        spec.protocol,
        spec.measure,
        as_table(entries).markdown(),
        summary(entries)
    )
}

fn as_json(spec: &Spec, entries: &[Entry], quick: bool) -> Value {
    let rows: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let mut value = json!(entry);
            value["distance"] = json!(entry.distance());
            value["verdict"] = json!(entry.verdict());
            value
        })
        .collect();
    json!({ "table": spec.name, "title": spec.title, "source": spec.source, "protocol": spec.protocol, "quick": quick, "entries": rows, "summary": summary(entries) })
}

/// Whether a measure is a share, which people read in percent.
fn is_share(measure: &str) -> bool {
    measure.ends_with("error") || measure.ends_with("accuracy")
}

/// Our numbers beside the published ones, then what the table has besides.
fn drawn(spec: &Spec, entries: &[Entry], figures: &[Picture]) -> Vec<Picture> {
    let counts = entries.iter().any(|entry| entry.counts);
    let several = entries.iter().filter(|entry| entry.counts || !counts).any(|entry| entry.column != entries[0].column);
    let name = |entry: &Entry| if several { format!("{} {}", entry.row, entry.column) } else { entry.row.clone() };
    // Parts reported apart have no bar, unless there is nothing else.
    let shown = entries.iter().filter(|entry| entry.counts || !counts);
    let bars: Vec<(String, f64, Option<f64>)> = shown.map(|entry| (name(entry), entry.ours, entry.published)).collect();
    let stars = if bars.iter().any(|bar| bar.2.is_some()) { " Stars: the published number." } else { "" };
    let sentence = format!("Bars: our {}.{stars}", spec.measure);
    let beside = (!bars.is_empty()).then(|| gallery::published(&bars, spec.measure, is_share(spec.measure), &sentence));
    beside.into_iter().chain(figures.iter().cloned()).collect()
}

/// A table with its pictures, on a page.
fn tell(page: &mut Page, spec: &Spec, entries: &[Entry], figures: &[Picture]) {
    let told = summary(entries);
    page.text(spec.source).classed("lead", &format!("{}{}.", told[..1].to_uppercase(), &told[1..]));
    page.pictures(drawn(spec, entries, figures)).table(&as_table(entries)).text(&format!("Protocol: {}", spec.protocol));
}

fn as_html(spec: &Spec, entries: &[Entry], figures: &[Picture]) -> String {
    let mut page = Page::new(&format!("{}: {}", spec.name, spec.title));
    tell(&mut page, spec, entries, figures);
    page.finish()
}
