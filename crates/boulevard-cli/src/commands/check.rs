//! `boulevard check`: every bad line and its reason, then what the sound rows look like and what to do.

use anyhow::{Result, ensure};
use boulevard::data::io::{Problem, Scan, TargetKind, scan};
use boulevard::data::{Dataset, Target};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::CheckArgs;
use crate::columns::{self, Column};
use crate::report::table::Table;
use crate::report::{number, print, print_json};
use crate::{data, files};
use boulevard::words::listed;

/// A class with less than this share of the rows asks for weights.
const RARE: f64 = 0.1;

pub fn run(args: &CheckArgs) -> Result<Outcome> {
    args.read.expect_no_filling()?;
    files::expect_file(&args.data)?;
    let target = if args.regression { TargetKind::Real } else { TargetKind::Auto };
    let mut problems: Vec<Problem> = Vec::new();
    let scan = scan(&args.data, &args.read.options(target), &mut |problem| problems.push(problem))?;
    let facts = columns::describe(&scan.data.x);
    let advice = if scan.data.is_empty() { Vec::new() } else { advice(&scan.data, &facts) };
    let name = args.data.display().to_string();
    if args.json {
        print_json(&as_json(&name, &scan, &problems, &facts, &advice))?;
    } else {
        print(&as_text(&name, &scan, &problems, &facts, &advice))?;
    }
    ensure!(problems.is_empty(), "{name}: {} of {} rows are bad", problems.len(), scan.data.len() + problems.len());
    Ok(Outcome::Done)
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Something to know, and what to do about it.
struct Advice {
    found: String,
    cure: &'static str,
}

fn advice(data: &Dataset<'_>, facts: &[Column]) -> Vec<Advice> {
    let mut all = Vec::new();
    let mut say = |found: String, cure: &'static str| all.push(Advice { found, cure });
    let name = |column: usize| data.feature_name(column);
    let named = |columns: &[usize]| {
        let names: Vec<String> = columns.iter().map(|&column| name(column)).collect();
        listed(&names)
    };
    let constant: Vec<usize> = (0..facts.len()).filter(|&j| facts[j].is_constant()).collect();
    if !constant.is_empty() {
        say(
            format!("{}: {}", counted(constant.len(), "column is constant", "columns are constant"), named(&constant)),
            "nothing can be learnt there; leave out with --ignore",
        );
    }
    let varying: Vec<(usize, usize)> = columns::repeated_columns(&data.x).into_iter().filter(|pair| !facts[pair.1].is_constant()).collect();
    if let Some(&(first, second)) = varying.first() {
        let found = format!(
            "{}, for example `{}` equals `{}`",
            counted(varying.len(), "column repeats another", "columns repeat others"),
            name(second),
            name(first)
        );
        say(found, "repeats count double in every distance; leave out with --ignore");
    }
    if let Some((narrow, wide, ratio)) = columns::uneven(facts) {
        let found = format!("spreads are uneven: `{}` varies {ratio:.0} times as much as `{}`", name(wide), name(narrow));
        say(found, "distances see only the wide columns; train with --scale standard");
    }
    let equal = columns::first_equal_rows(&data.x);
    let repeats = equal.iter().enumerate().filter(|(row, first)| row != *first).count();
    if repeats > 0 {
        say(
            counted(repeats, "row repeats the features of an earlier one", "rows repeat the features of earlier ones"),
            "folds may test on rows they learnt from; group them with --group",
        );
    }
    target_advice(data, &equal, &mut say);
    all
}

fn target_advice(data: &Dataset<'_>, equal: &[usize], say: &mut dyn FnMut(String, &'static str)) {
    let Target::Classes(classes) = &data.target else { return };
    let codes = classes.codes();
    let torn = equal.iter().enumerate().filter(|(row, first)| codes[*row] != codes[**first]).count();
    if torn > 0 {
        say(
            counted(
                torn,
                "row has the features of an earlier one but another class",
                "rows have the features of earlier ones but another class",
            ),
            "no model can get both right",
        );
    }
    let (counts, rows) = (classes.counts(), data.len());
    if counts.len() == 1 {
        say(
            format!("all rows are of class `{}`", classes.names()[0]),
            "a classifier needs two; is --label right, or is it --method one-class?",
        );
    }
    if counts.len() > 20 && counts.len() * 5 > rows {
        say(format!("{} classes for {rows} rows", counts.len()), "is the label a number? Then train with --method svr");
        return;
    }
    let rare: Vec<&str> = (0..counts.len())
        .filter(|&i| (counts[i] as f64) < RARE * rows as f64 * 2.0 / counts.len() as f64)
        .map(|i| classes.names()[i].as_str())
        .collect();
    if !rare.is_empty() && counts.len() > 1 {
        say(format!("rare classes: {}", listed(&rare)), "a plain machine may never say them; train with --class-weight balanced");
    }
    if counts.contains(&1) {
        say("some classes have a single row".to_owned(), "they cannot be judged by cross-validation");
    }
}

fn as_text(name: &str, scan: &Scan, problems: &[Problem], facts: &[Column], advice: &[Advice]) -> String {
    let mut text = String::new();
    for problem in problems {
        text.push_str(&format!("{name}:{}: {}\n", problem.line, problem.message));
    }
    if !problems.is_empty() {
        text.push('\n');
    }
    let format = format!("{:?}", scan.format).to_lowercase();
    text.push_str(&format!(
        "{name}: {format}, {}, {} bad rows, {} left out for missing values\n",
        data::in_words(&scan.data),
        problems.len(),
        scan.dropped
    ));
    if scan.data.is_empty() {
        return text;
    }
    match &scan.data.target {
        Target::Classes(classes) => {
            let mut table = Table::new(["class", "rows", "share"]);
            for (class, count) in classes.names().iter().zip(classes.counts()).take(30) {
                table.row([class.clone(), count.to_string(), number::percent(count as f64 / scan.data.len() as f64)]);
            }
            text.push_str(&format!("\n{}", table.text()));
            if classes.names().len() > 30 {
                text.push_str(&format!("and {} more\n", classes.names().len() - 30));
            }
        }
        Target::Real(values) => {
            let x = boulevard::data::Matrix::dense(&values[..], values.len(), 1).expect("one column");
            let column = columns::describe(&x)[0];
            text.push_str(&format!(
                "\ntarget: {} .. {}, mean {}, sd {}\n",
                number::g(column.low),
                number::g(column.high),
                number::g(column.mean),
                number::g(column.deviation)
            ));
        }
        Target::Labels(labels) => {
            let mut table = Table::new(["label", "rows"]);
            for (i, label) in labels.names().iter().enumerate() {
                table.row([label.clone(), labels.label(i).filter(|&on| on).count().to_string()]);
            }
            text.push_str(&format!("\n{}", table.text()));
        }
        Target::None => {}
    }
    const SHOWN: usize = 12;
    let mut table = Table::new(["column", "from", "to", "mean", "sd"]);
    for (j, column) in facts.iter().enumerate().take(SHOWN) {
        let numbers = [column.low, column.high, column.mean, column.deviation].map(|value| number::general(value, 4));
        table.row(std::iter::once(scan.data.feature_name(j)).chain(numbers));
    }
    text.push_str(&format!("\n{}", table.text()));
    if facts.len() > SHOWN {
        text.push_str(&format!("and {} more\n", facts.len() - SHOWN));
    }
    text.push('\n');
    for Advice { found, cure } in advice {
        text.push_str(&format!("- {found}; {cure}\n"));
    }
    if advice.is_empty() {
        text.push_str("nothing suspicious\n");
    }
    text
}

fn as_json(name: &str, scan: &Scan, problems: &[Problem], facts: &[Column], advice: &[Advice]) -> Value {
    let classes = match &scan.data.target {
        Target::Classes(classes) => {
            json!(classes.names().iter().zip(classes.counts()).map(|(n, c)| json!({ "name": n, "rows": c })).collect::<Vec<_>>())
        }
        _ => Value::Null,
    };
    let column = |(j, c): (usize, &Column)| json!({ "name": scan.data.feature_name(j), "low": c.low, "high": c.high, "mean": c.mean, "sd": c.deviation, "constant": c.is_constant() });
    json!({
        "file": name,
        "format": scan.format,
        "rows": scan.data.len(),
        "features": scan.data.x.columns(),
        "dropped": scan.dropped,
        "problems": problems.iter().map(|p| json!({ "line": p.line, "message": p.message })).collect::<Vec<_>>(),
        "classes": classes,
        "columns": facts.iter().enumerate().map(column).collect::<Vec<_>>(),
        "advice": advice.iter().map(|a| json!({ "found": a.found, "cure": a.cure })).collect::<Vec<_>>(),
    })
}
