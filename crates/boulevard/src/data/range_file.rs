//! The range file of LIBSVM's `svm-scale`, read and written.
//!
//! ```text
//! x
//! -1 1            low and high of the scaled features
//! 1 0.5 3         feature number (from 1), smallest value, largest value
//! 3 0 12          constant features are left out
//! ```
//!
//! A file made with `-y` starts with a section for the target: `y`, then `low high`, then `min max`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::{Scaler, Scaling};
use crate::error::{Error, Result};

/// How `svm-scale -y` maps the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetRange {
    /// Where the smallest target goes.
    pub low: f64,
    /// Where the largest target goes.
    pub high: f64,
    /// The smallest target.
    pub min: f64,
    /// The largest target.
    pub max: f64,
}

impl TargetRange {
    /// A scaled target; a constant target has no scale, and every value becomes `low`.
    pub fn transform(&self, value: f64) -> f64 {
        if value == self.min || self.min == self.max {
            self.low
        } else if value == self.max {
            self.high
        } else {
            self.low + (self.high - self.low) * (value - self.min) / (self.max - self.min)
        }
    }

    /// The original of a scaled target.
    pub fn inverse(&self, value: f64) -> f64 {
        self.min + (self.max - self.min) * ((value - self.low) / (self.high - self.low))
    }
}

/// The word before the number of features on the last line.
const END: &str = "#features";

/// The contents of a range file.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeFile {
    /// The target's range, if the file has one.
    pub target: Option<TargetRange>,
    /// Where the smallest value of a feature goes.
    pub low: f64,
    /// Where the largest value of a feature goes.
    pub high: f64,
    /// `(column, min, max)` of the features listed, column from 0, rising.
    pub features: Vec<(usize, f64, f64)>,
}

impl RangeFile {
    /// The file of a min-max scaler; other scalings have no range file.
    pub fn from_scaler(scaler: &Scaler) -> Result<Self> {
        let (Scaling::MinMax { low, high }, Some(ranges)) = (scaler.scaling(), scaler.ranges()) else {
            return Err(Error::data("only a min-max scaler can be written as an svm-scale range file"));
        };
        let features = ranges.into_iter().enumerate().filter(|(_, (min, max))| min != max);
        Ok(Self { target: None, low, high, features: features.map(|(column, (min, max))| (column, min, max)).collect() })
    }

    /// The least number of columns a table must have for this file: one past the last feature listed.
    pub fn columns(&self) -> usize {
        self.features.last().map_or(0, |feature| feature.0 + 1)
    }

    /// The scaler for tables of `columns` columns. Columns the file does not list were constant and become 0.
    pub fn scaler(&self, columns: usize) -> Result<Scaler> {
        if columns < self.columns() {
            return Err(Error::shape("columns of a table to be scaled, at least", self.columns(), columns));
        }
        let mut ranges = vec![(0.0, 0.0); columns];
        for &(column, min, max) in &self.features {
            ranges[column] = (min, max);
        }
        Scaler::from_ranges(self.low, self.high, &ranges)
    }

    /// The file as text. Numbers are the shortest that read back to the same bits.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if let Some(target) = &self.target {
            let _ = writeln!(text, "y\n{} {}", number(target.low), number(target.high));
            let _ = writeln!(text, "{} {}", number(target.min), number(target.max));
        }
        let _ = writeln!(text, "x\n{} {}", number(self.low), number(self.high));
        for &(column, min, max) in &self.features {
            let _ = writeln!(text, "{} {} {}", column + 1, number(min), number(max));
        }
        text
    }

    /// The text with its end marked, so that a file cut short is noticed: the line of `low` and `high` ends in a blank, and the last line
    /// counts the features. `svm-scale` reads both without seeing them.
    fn to_marked_text(&self) -> String {
        let head = format!("x\n{} {}", number(self.low), number(self.high));
        let marked = self.to_text().replacen(&format!("{head}\n"), &format!("{head} \n"), 1);
        format!("{marked}{END} {}\n", self.features.len())
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        crate::atomic_file::replace(path, |file| file.write_all(self.to_marked_text().as_bytes()).map_err(|source| Error::io(path, source)))
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        Self::parse(&text, path)
    }

    /// Reads the text of a file; `path` appears in messages only.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut lines = Lines { rest: text.lines(), line: 0, path, blank: false };
        let mut head = lines.words("`x` or `y`")?;
        let mut target = None;
        if head == ["y"] {
            let [low, high] = lines.numbers("low and high of the target")?;
            lines.rising("low", low, "high", high)?;
            let [min, max] = lines.numbers("smallest and largest target")?;
            // A constant target is possible, and goes to `low`.
            if min != max {
                lines.rising("smallest", min, "largest", max)?;
            }
            target = Some(TargetRange { low, high, min, max });
            head = lines.words("`x`")?;
        }
        if head != ["x"] {
            return Err(lines.complaint(format!("expected `x`, found `{}`", head.join(" "))));
        }
        let [low, high] = lines.numbers("low and high of the features")?;
        lines.rising("low", low, "high", high)?;
        let mut features: Vec<(usize, f64, f64)> = Vec::new();
        // Files of older versions have the mark on the first feature's line.
        let (mut marked, mut ended) = (lines.blank, false);
        while let Some(words) = lines.next_words() {
            if ended {
                return Err(lines.complaint("there is more after the last line".to_owned()));
            }
            if let [END, count] = words[..] {
                if count.parse() != Ok(features.len()) {
                    return Err(lines.complaint(format!("the file says it has {count} features, but {} are there", features.len())));
                }
                ended = true;
                continue;
            }
            marked |= features.is_empty() && lines.blank;
            let [feature, min, max] = words[..] else {
                return Err(lines.complaint(format!("expected feature, smallest and largest value, found {} words", words.len())));
            };
            let column = match feature.parse::<usize>() {
                Ok(feature) if feature > 0 => feature - 1,
                _ => return Err(lines.complaint(format!("`{feature}` is not a feature number (1, 2, ...)"))),
            };
            if let Some(last) = features.last()
                && last.0 >= column
            {
                return Err(lines.complaint(format!("feature {} follows feature {}; features must rise", column + 1, last.0 + 1)));
            }
            let (min, max) = (lines.number(min)?, lines.number(max)?);
            lines.rising("smallest", min, "largest", max)?;
            features.push((column, min, max));
        }
        // A line that nobody ended, and nothing after it.
        let broken = features.is_empty() && !text.ends_with('\n');
        if (marked || broken) && !ended {
            return Err(
                lines.complaint(format!("the file ends before its last line (`{END}` and the number of features): it was cut short"))
            );
        }
        Ok(Self { target, low, high, features })
    }
}

/// The shortest decimal that reads back to the same bits, without hundreds of zeros.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e17).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

/// Lines of a file with the number of the current one.
struct Lines<'a> {
    rest: std::str::Lines<'a>,
    line: usize,
    path: &'a Path,
    /// Whether the current line ends in a blank.
    blank: bool,
}

impl<'a> Lines<'a> {
    fn complaint(&self, message: String) -> Error {
        Error::parse(self.path, self.line, message)
    }

    /// The words of the next line that is not blank.
    fn next_words(&mut self) -> Option<Vec<&'a str>> {
        loop {
            self.line += 1;
            let line = self.rest.next()?;
            self.blank = line.ends_with(' ');
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if !words.is_empty() {
                return Some(words);
            }
        }
    }

    fn words(&mut self, wanted: &str) -> Result<Vec<&'a str>> {
        self.next_words().ok_or_else(|| self.complaint(format!("the file ends where {wanted} should stand")))
    }

    fn numbers(&mut self, wanted: &str) -> Result<[f64; 2]> {
        let words = self.words(wanted)?;
        let [first, second] = words[..] else {
            return Err(self.complaint(format!("expected {wanted}, found {} words", words.len())));
        };
        Ok([self.number(first)?, self.number(second)?])
    }

    fn number(&self, word: &str) -> Result<f64> {
        match word.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.complaint(format!("`{word}` is not a finite number"))),
        }
    }

    /// Equal ends are refused too: neither svm-scale nor we write them, and they would divide by zero.
    fn rising(&self, low_name: &str, low: f64, high_name: &str, high: f64) -> Result<()> {
        if low < high && (high - low).is_finite() {
            Ok(())
        } else {
            Err(self.complaint(format!("{high_name} = {high} must be above {low_name} = {low}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<RangeFile> {
        RangeFile::parse(text, Path::new("r"))
    }

    #[test]
    fn a_file_of_svm_scale_is_read_and_written_back() {
        let text = "y\n0 1\n-5 5\nx\n-1 1\n1 0.5 3\n3 0 12\n";
        let file = parse(text).unwrap();
        assert_eq!(file.to_text(), text);
        assert_eq!((file.columns(), file.target.unwrap().transform(0.0), file.target.unwrap().inverse(1.0)), (3, 0.5, 5.0));
        let scaled = file.scaler(4).unwrap().transform(&Matrix::from_rows(&[[3.0, 7.0, 3.0, 9.0]]).unwrap()).unwrap();
        assert_eq!(scaled, Matrix::from_rows(&[[1.0, 0.0, -0.5, 0.0]]).unwrap());
        assert!(file.scaler(2).is_err());
        let constant = parse("y\n0 1\n4 4\nx\n-1 1\n").unwrap().target.unwrap();
        assert_eq!((constant.transform(4.0), constant.transform(9.0), constant.inverse(0.0)), (0.0, 0.0, 4.0));
        // With all digits, as C prints them.
        let long = parse("x\n-1.0000000000000000 1\n1 0.10000000000000001 1e+300\n").unwrap();
        assert_eq!(long.features, [(0, 0.1, 1e300)]);
        assert_eq!(parse(&long.to_text()).unwrap(), long);
    }

    #[test]
    fn malformed_files_are_refused_with_their_line() {
        for (text, line) in [
            ("", 1),
            ("z\n", 1),
            ("x\n", 2),
            ("x\n-1\n", 2),
            ("x\n1 -1\n", 2),
            ("x\n-1 inf\n", 2),
            ("x\n-1 1\n0 1 2\n", 3),
            ("x\n-1 1\n1 1 2\n\n1 1 2\n", 5),
            ("x\n-1 1\n2 1 2\n1 1 2\n", 4),
            ("x\n-1 1\n1 2 2\n", 3),
            ("x\n-1 1\n1 a 2\n", 3),
            ("x\n-1 1\n1 NaN 2\n", 3),
            ("x\n-1 1\n1 1\n", 3),
            ("x\n-1 1\n1 1 2 3\n", 3),
            ("x\n-1 1\n-1 1 2\n", 3),
            ("y\n-1 1\n1 2\n", 4),
            ("y\n-1 1\n3 2\nx\n-1 1\n", 3),
        ] {
            match parse(text) {
                Err(Error::Parse { line: found, .. }) => assert_eq!(found, line, "{text:?}"),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn only_min_max_has_a_range_file() {
        let x = Matrix::from_rows(&[[1.0, 5.0], [3.0, 5.0]]).unwrap();
        assert!(RangeFile::from_scaler(&Scaler::fit(&x, None, Scaling::Standard).unwrap()).is_err());
        let scaler = Scaler::fit(&x, None, Scaling::MinMax { low: 0.0, high: 1.0 }).unwrap();
        let file = RangeFile::from_scaler(&scaler).unwrap();
        assert_eq!(file.to_text(), "x\n0 1\n1 1 3\n");
        assert_eq!(file.scaler(2).unwrap().transform(&x).unwrap(), scaler.transform(&x).unwrap());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[xy0-9 .e\\-\n]{0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn numbers_keep_their_bits(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(number(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
