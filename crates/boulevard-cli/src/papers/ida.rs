//! Raetsch's benchmark collection as stored under `ida/`: a table per set and its splits.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use boulevard::data::Dataset;
use boulevard::data::io::{ReadOptions, TargetKind};
use boulevard::data::split::Split;

/// The thirteen sets, in the order of the papers' tables.
pub const SETS: [&str; 13] = [
    "titanic",
    "flare_solar",
    "banana",
    "breast_cancer",
    "diabetis",
    "waveform",
    "ringnorm",
    "twonorm",
    "thyroid",
    "german",
    "heart",
    "splice",
    "image",
];

/// A set with its splits.
pub struct Benchmark {
    pub data: Dataset<'static>,
    pub splits: Vec<Part>,
}

/// One split and where it is from.
pub struct Part {
    pub split: Split,
    /// Whether it is one of Raetsch's own.
    pub original: bool,
}

/// Reads one set.
pub fn read(folder: &Path, name: &str) -> Result<Benchmark> {
    let table = folder.join("ida").join(format!("{name}.csv.gz"));
    crate::files::expect_file(&table)?;
    let options = ReadOptions { target: TargetKind::Classes, ..ReadOptions::default() };
    let data = Dataset::read_with(&table, &options)?;
    let path = folder.join("ida").join(format!("{name}.splits.csv.gz"));
    let splits = parse(&unpacked(&path)?, data.len()).with_context(|| path.display().to_string())?;
    Ok(Benchmark { data, splits })
}

fn unpacked(path: &Path) -> Result<String> {
    let named = || path.display().to_string();
    let file = std::fs::File::open(path).with_context(named)?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).with_context(named)?;
    Ok(text)
}

/// Lines `split,origin,rows of the training part`; every other row is tested.
fn parse(text: &str, rows: usize) -> Result<Vec<Part>> {
    let mut lines = text.lines().enumerate();
    ensure!(lines.next().is_some_and(|(_, head)| head == "split,origin,train"), "line 1: expected `split,origin,train`");
    let mut parts = Vec::new();
    for (number, line) in lines {
        let number = number + 1;
        let fields: Vec<&str> = line.split(',').collect();
        let [_, origin, train] = fields[..] else { bail!("line {number}: expected 3 fields, found {}", fields.len()) };
        let original = match origin {
            "original" => true,
            "generated" => false,
            other => bail!("line {number}: origin must be `original` or `generated`, found `{other}`"),
        };
        let mut learnt = vec![false; rows];
        for word in train.split_ascii_whitespace() {
            match word.parse::<usize>() {
                Ok(row) if row < rows => learnt[row] = true,
                _ => bail!("line {number}: `{word}` is not a row below {rows}"),
            }
        }
        let side = |which: bool| (0..rows).filter(|&row| learnt[row] == which).collect::<Vec<_>>();
        parts.push(Part { split: Split { train: side(true), test: side(false) }, original });
    }
    ensure!(!parts.is_empty(), "there are no splits");
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn splits_are_read_strictly() {
        let parts = parse("split,origin,train\n0,original,0 2\n1,generated,1 2\n", 4).unwrap();
        assert_eq!((parts[0].split.train.clone(), parts[0].split.test.clone(), parts[0].original), (vec![0, 2], vec![1, 3], true));
        for bad in [
            "",
            "split,origin,train\n",
            "split,origin,train\n0,original\n",
            "split,origin,train\n0,x,1\n",
            "split,origin,train\n0,original,9\n",
        ] {
            assert!(parse(bad, 4).is_err(), "{bad}");
        }
    }
}
