//! The table that is looked at: a file, a dropped file, or a set that the library makes.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use boulevard::data::io::{ReadOptions, TargetKind};
use boulevard::data::{Dataset, Target, generate};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{columns, data, files};

/// Sets that the library makes: names, what they are, and how.
type Maker = fn() -> boulevard::Result<Dataset<'static>>;
const BUILT_IN: [(&str, &str, Maker); 6] = [
    ("banana", "two crescents that overlap; 400 rows", || Ok(generate::banana(400, 1))),
    ("spiral", "two spirals; 400 rows", || Ok(generate::spiral(400, 1, 1.5, 0.03))),
    ("checkerboard", "squares that alternate, for rules; 400 rows", || Ok(generate::checkerboard(400, 1, 2, 1.0))),
    ("three-classes", "three clouds; 300 rows", || {
        let shape = generate::Clusters {
            columns: 2,
            informative: 2,
            redundant: 0,
            classes: 3,
            clusters_per_class: 1,
            separation: 1.2,
            label_noise: 0.02,
        };
        generate::classification(300, 3, &shape)
    }),
    ("waveform", "21 columns of waves in noise; 500 rows", || Ok(generate::waveform(500, 1))),
    ("friedman", "numbers to predict from seven columns; 300 rows", || Ok(generate::regression(300, 1, 2, 1.0))),
];

/// A table that can be learnt from.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// What commands call it.
    pub name: String,
    #[serde(skip)]
    pub path: PathBuf,
    /// Its columns, where the first line names them.
    pub columns: Vec<String>,
    /// Size and kind in words.
    pub words: String,
    /// The method to begin with.
    pub method: &'static str,
    /// Whether columns differ so much that scaling helps.
    pub uneven: bool,
    /// Whether text columns must be turned into numbers.
    pub one_hot: bool,
}

/// The sets that can be made, for the page.
pub fn built_in() -> Value {
    json!(BUILT_IN.map(|(name, words, _)| json!({ "name": name, "words": words })))
}

/// Names in the first line of a CSV file; none where it is something else.
fn header(path: &Path) -> Vec<String> {
    let name = path.to_string_lossy().to_lowercase();
    if !(name.ends_with(".csv") || name.ends_with(".csv.gz")) {
        return Vec::new();
    }
    let Ok(file) = std::fs::File::open(path) else { return Vec::new() };
    let reader: Box<dyn Read> = if name.ends_with(".gz") { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut line = String::new();
    if BufReader::new(reader.take(1 << 20)).read_line(&mut line).is_err() {
        return Vec::new();
    }
    let cut = [',', ';', '\t'].into_iter().max_by_key(|cut| line.matches(*cut).count()).unwrap_or(',');
    line.trim_end().trim_start_matches('\u{feff}').split(cut).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
}

/// Looks a file over: it must be readable as a table.
pub fn open(path: &Path, name: &str) -> Result<Source> {
    files::expect_file(path)?;
    let options = |one_hot: bool| ReadOptions { target: TargetKind::Classes, one_hot, ..ReadOptions::default() };
    // The complaint names the file as the user knows it.
    let renamed = |error: boulevard::Error| anyhow!("{}", error.to_string().replace(&path.display().to_string(), name));
    let (table, one_hot) = match Dataset::read_with(path, &options(false)) {
        Ok(table) => (table, false),
        Err(error) => (Dataset::read_with(path, &options(true)).map_err(|_| renamed(error))?, true),
    };
    table.validate().map_err(renamed)?;
    // A last column of nearly as many numbers as rows is no class.
    let numbers = match &table.target {
        Target::Classes(classes) => {
            classes.names().len() > 20.max(table.len() / 10) && classes.names().iter().all(|name| name.parse::<f64>().is_ok())
        }
        _ => false,
    };
    let labels = matches!(table.target, Target::Labels(_));
    let words =
        if numbers { format!("{} rows, {} features, a number to predict", table.len(), table.x.columns()) } else { data::in_words(&table) };
    Ok(Source {
        name: name.to_owned(),
        path: path.to_owned(),
        columns: header(path),
        words,
        method: if numbers {
            "svr"
        } else if labels {
            "boost"
        } else {
            "pareto"
        },
        uneven: columns::uneven(&columns::describe(&table.x)).is_some(),
        one_hot,
    })
}

/// Makes a set and writes it to the chosen folder, so that the commands on the page work as they stand.
pub fn make(name: &str, folder: &Path) -> Result<Source> {
    let known = || BUILT_IN.map(|(name, ..)| name).join(", ");
    let (name, _, maker) =
        BUILT_IN.iter().find(|(own, ..)| *own == name).with_context(|| format!("there is no set `{name}`; there are {}", known()))?;
    let file = format!("{name}.csv");
    let path = folder.join(&file);
    let mut bytes = Vec::new();
    maker()?.write_to(&mut bytes, &file, boulevard::data::io::Format::Csv)?;
    match std::fs::read(&path) {
        Ok(there) => {
            ensure!(there == bytes, "{} is there already and holds something else; the built-in set was not written", path.display())
        }
        Err(_) => files::write(&path, &bytes)?,
    }
    open(&path, &file)
}
