//! The reader. Nothing is allocated by what the file claims: counts are compared with what was read.

use std::collections::HashMap;

use super::ReadOptions;
use crate::data::io::{excerpt, number};
use crate::data::{Csr, Matrix};
use crate::kernel::Kernel;
use crate::persist::AnyModel;
use crate::persist::machine::check_machine;
use crate::svm::{
    Calibration, CalibrationMethod, FitReport, KernelMachine, Layout, OneClass, OneClassModel, Penalty, Ready, Sigmoid, Svc, SvcModel, Svr,
    SvrModel, Tube,
};

/// A line and what is wrong with it.
type Fault = (usize, String);
type Result<T> = std::result::Result<T, Fault>;

/// All keys that LIBSVM 3.x writes.
const KEYS: [&str; 14] = [
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "probA",
    "probB",
    "prob_density_marks",
    "nr_sv",
    "SV",
];
/// Column numbers in LIBSVM are C's `int`.
const LAST_COLUMN: usize = i32::MAX as usize;
/// Columns that every model may have, and those that each of its values earns it, unless the caller knows the number.
const COLUMNS_FOR_ALL: usize = 1 << 21;
const COLUMNS_PER_VALUE: usize = 256;
/// Predictions with a model that was read are made this exactly: nobody knows to which tolerance it was solved.
const TOLERANCE: f64 = 1e-6;

pub(super) fn parse(bytes: &[u8], options: &ReadOptions) -> Result<AnyModel> {
    let mut lines = Lines { rest: bytes, line: 0, whole: bytes.ends_with(b"\n") };
    let head = Head::read(&mut lines)?;
    let kind = head.word("svm_type", &["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"])?;
    let kernel = head.kernel()?;
    let classes: usize = head.whole("nr_class")?;
    let total: usize = head.whole("total_sv")?;
    let is_svc = matches!(kind, "c_svc" | "nu_svc");
    if classes < 2 || (!is_svc && classes != 2) {
        let allowed = if is_svc { "2 or more".to_owned() } else { format!("2 for {kind}") };
        return Err((head.line("nr_class"), format!("`nr_class` must be {allowed}, found {classes}")));
    }
    let outputs = if is_svc { (classes - 1).saturating_mul(classes) / 2 } else { 1 };
    let intercepts: Vec<f64> = head.numbers("rho", outputs)?.into_iter().map(|rho| -rho).collect();
    let class_facts = if is_svc { Some(head.classes(classes, total, outputs)?) } else { None };
    let vectors = Vectors::read(&mut lines, if is_svc { classes - 1 } else { 1 }, total, kernel == Kernel::Precomputed)?;
    let machine = vectors.machine(kernel, intercepts, class_facts.as_ref(), options, lines.line)?;
    // Nothing is known about how well the problem was solved.
    let report = FitReport { gap: f64::INFINITY, violation: f64::INFINITY, ..FitReport::default() };
    let kernel = machine.kernel.clone();
    Ok(match (kind, class_facts) {
        ("c_svc" | "nu_svc", Some(facts)) => AnyModel::Svc(SvcModel {
            parameters: Svc {
                kernel,
                penalty: if kind == "c_svc" { Penalty::C(1.0) } else { Penalty::Nu(0.5) },
                calibrate: facts.calibration.is_some(),
                calibration: CalibrationMethod::Sigmoid,
                ..Svc::default()
            },
            classes: facts.names,
            machine,
            support_counts: facts.counts,
            iterations: vec![0; outputs],
            calibration: facts.calibration,
            feature_names: None,
            report,
        }),
        ("one_class", _) => AnyModel::OneClass(OneClassModel {
            parameters: OneClass { kernel, ..OneClass::default() },
            machine,
            feature_names: None,
            report,
        }),
        _ => {
            let tube = if kind == "nu_svr" { Tube::Nu(0.5) } else { Svr::default().tube };
            AnyModel::Svr(SvrModel { parameters: Svr { kernel, tube, ..Svr::default() }, machine, feature_names: None, report })
        }
    })
}

struct Lines<'a> {
    rest: &'a [u8],
    /// The number of the line that was read last.
    line: usize,
    /// Whether the file's last line is ended.
    whole: bool,
}

impl<'a> Lines<'a> {
    /// The next line's words; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Vec<&'a str>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or(&[]);
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some(text.split_ascii_whitespace().collect())),
            Err(_) => Err((self.line, format!("not text: `{}`", excerpt(line)))),
        }
    }
}

/// The lines before the support vectors, by key.
struct Head<'a> {
    entries: HashMap<&'a str, (usize, Vec<&'a str>)>,
    /// The line of `SV`.
    end: usize,
}

impl<'a> Head<'a> {
    fn read(lines: &mut Lines<'a>) -> Result<Self> {
        let mut entries = HashMap::new();
        while let Some(words) = lines.next()? {
            let Some((&key, values)) = words.split_first() else {
                return Err((lines.line, "an empty line before `SV`".into()));
            };
            if !KEYS.contains(&key) {
                let found = excerpt(key.as_bytes());
                return Err((lines.line, format!("unknown key `{found}`: LIBSVM's model files have {}", KEYS.join(", "))));
            }
            if key == "SV" {
                return if values.is_empty() {
                    Ok(Self { entries, end: lines.line })
                } else {
                    Err((lines.line, format!("`SV` must stand alone, found `{}` after it", excerpt(values[0].as_bytes()))))
                };
            }
            if let Some((first, _)) = entries.insert(key, (lines.line, values.to_vec())) {
                return Err((lines.line, format!("`{key}` is given again: line {first} has it already")));
            }
        }
        Err((lines.line.max(1), "the file ends before `SV`".into()))
    }

    fn line(&self, key: &str) -> usize {
        self.entries.get(key).map_or(self.end, |entry| entry.0)
    }

    fn values(&self, key: &str) -> Result<&(usize, Vec<&'a str>)> {
        self.entries.get(key).ok_or_else(|| (self.end, format!("`{key}` is missing before `SV`")))
    }

    fn one(&self, key: &str) -> Result<(usize, &'a str)> {
        match self.values(key)? {
            (line, values) if values.len() == 1 => Ok((*line, values[0])),
            (line, values) => Err((*line, format!("`{key}` must have one value, found {}", values.len()))),
        }
    }

    fn word(&self, key: &str, allowed: &[&'static str]) -> Result<&'static str> {
        let (line, found) = self.one(key)?;
        let known = allowed.iter().find(|word| **word == found);
        known
            .copied()
            .ok_or_else(|| (line, format!("`{key}` must be one of {}, found `{}`", allowed.join(", "), excerpt(found.as_bytes()))))
    }

    fn whole<T: std::str::FromStr>(&self, key: &str) -> Result<T> {
        let (line, found) = self.one(key)?;
        found.parse().map_err(|_| (line, format!("`{key}` must be a whole number, found `{}`", excerpt(found.as_bytes()))))
    }

    fn number(&self, key: &str) -> Result<f64> {
        let (line, found) = self.one(key)?;
        finite(line, &format!("`{key}`"), found)
    }

    fn list(&self, key: &str, count: usize) -> Result<(usize, &[&'a str])> {
        match self.values(key)? {
            (line, values) if values.len() == count => Ok((*line, values)),
            (line, values) => Err((*line, format!("`{key}` must have {count} values, found {}", values.len()))),
        }
    }

    fn numbers(&self, key: &str, count: usize) -> Result<Vec<f64>> {
        let (line, values) = self.list(key, count)?;
        values.iter().map(|value| finite(line, &format!("`{key}`"), value)).collect()
    }

    fn kernel(&self) -> Result<Kernel> {
        let kernel = match self.word("kernel_type", &["linear", "polynomial", "rbf", "sigmoid", "precomputed"])? {
            "linear" => Kernel::Linear,
            "polynomial" => Kernel::poly(self.whole("degree")?, self.number("gamma")?, self.number("coef0")?),
            "rbf" => Kernel::rbf(self.number("gamma")?),
            "sigmoid" => Kernel::sigmoid(self.number("gamma")?, self.number("coef0")?),
            _ => Kernel::Precomputed,
        };
        kernel.validate().map_err(|error| (self.line("kernel_type"), error.to_string()))?;
        Ok(kernel)
    }

    /// What only classifiers have.
    fn classes(&self, classes: usize, total: usize, outputs: usize) -> Result<ClassFacts> {
        let (line, labels) = self.list("label", classes)?;
        let mut names: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for label in labels {
            let value: i32 =
                label.parse().map_err(|_| (line, format!("a label must be an integer, found `{}`", excerpt(label.as_bytes()))))?;
            if !seen.insert(value) {
                return Err((line, format!("label {value} is given twice")));
            }
            names.push(value.to_string());
        }
        let (line, counts) = self.list("nr_sv", classes)?;
        let count = |text: &&str| {
            text.parse().map_err(|_| (line, format!("`nr_sv` must hold whole numbers, found `{}`", excerpt(text.as_bytes()))))
        };
        let counts: Vec<usize> = counts.iter().map(count).collect::<Result<_>>()?;
        let sum = counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
        if sum != Some(total) {
            return Err((line, format!("`nr_sv` must add up to `total_sv`, which is {total}")));
        }
        let calibration = match (self.entries.contains_key("probA"), self.entries.contains_key("probB")) {
            (false, false) => None,
            _ => {
                let (a, b) = (self.numbers("probA", outputs)?, self.numbers("probB", outputs)?);
                Some(Calibration::plain(a.into_iter().zip(b).map(|(a, b)| Sigmoid { a, b }).collect()))
            }
        };
        Ok(ClassFacts { names, counts, calibration })
    }
}

struct ClassFacts {
    names: Vec<String>,
    counts: Vec<usize>,
    calibration: Option<Calibration>,
}

fn finite(line: usize, what: &str, text: &str) -> Result<f64> {
    match number::parse(text.as_bytes()) {
        Some(value) if value.is_finite() => Ok(value),
        _ => Err((line, format!("{what} must be a finite number, found `{}`", excerpt(text.as_bytes())))),
    }
}

/// The lines after `SV`.
#[derive(Default)]
struct Vectors {
    /// By support vector, as in the file.
    coefficients: Vec<f64>,
    per_vector: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    /// Training rows, for precomputed kernels.
    rows: Vec<usize>,
    /// The largest column (or row of a precomputed kernel), counted from 1, and its line.
    widest: (usize, usize),
}

impl Vectors {
    fn read(lines: &mut Lines<'_>, per_vector: usize, total: usize, precomputed: bool) -> Result<Self> {
        let mut vectors = Self { per_vector, offsets: vec![0], ..Self::default() };
        while let Some(words) = lines.next()? {
            if words.is_empty() {
                // Blank lines may only end the file.
                let blank = lines.line;
                while let Some(words) = lines.next()? {
                    if !words.is_empty() {
                        return Err((blank, "an empty line between support vectors".into()));
                    }
                }
                break;
            }
            if vectors.offsets.len() > total {
                return Err((lines.line, format!("more support vectors than `total_sv`, which is {total}")));
            }
            vectors.add(&words, precomputed).map_err(|message| (lines.line, message))?;
            let last = if precomputed { vectors.rows.last().copied() } else { vectors.indices.last().map(|&last| last as usize) };
            vectors.widest = vectors.widest.max((last.map_or(0, |last| last + 1), lines.line));
        }
        match vectors.offsets.len() - 1 {
            // LIBSVM ends every line; without this a file cut inside its last number would be read as another model.
            found if found == total && !lines.whole => Err((lines.line, "the file ends in the middle of a line".into())),
            found if found == total => Ok(vectors),
            found => Err((lines.line, format!("the file ends after {found} support vectors; `total_sv` is {total}"))),
        }
    }

    fn add(&mut self, words: &[&str], precomputed: bool) -> std::result::Result<(), String> {
        if words.len() < self.per_vector {
            return Err(format!("a support vector must begin with its coefficients: {} of them, found {}", self.per_vector, words.len()));
        }
        let (coefficients, entries) = words.split_at(self.per_vector);
        for word in coefficients {
            self.coefficients.push(finite(0, "a coefficient", word).map_err(|fault| fault.1)?);
        }
        if precomputed {
            let row = match entries {
                [entry] => entry.strip_prefix("0:").and_then(|row| row.parse::<usize>().ok()).filter(|row| (1..=LAST_COLUMN).contains(row)),
                _ => None,
            };
            let row = row.ok_or("a support vector of a precomputed kernel must be `0:row`, rows counted from 1")?;
            self.rows.push(row - 1);
        } else {
            let mut last = 0;
            for entry in entries {
                let bad = || format!("a value must be `column:number`, found `{}`", excerpt(entry.as_bytes()));
                let (column, value) = entry.split_once(':').ok_or_else(bad)?;
                let column: usize = column.parse().map_err(|_| bad())?;
                if column <= last || column > LAST_COLUMN {
                    return Err(format!("column {column} follows column {last}: columns must rise from 1 to {LAST_COLUMN} at most"));
                }
                self.indices.push((column - 1) as u32);
                self.values.push(finite(0, "a value", value).map_err(|fault| fault.1)?);
                last = column;
            }
        }
        self.offsets.push(self.values.len());
        Ok(())
    }

    fn machine(
        self,
        kernel: Kernel,
        intercepts: Vec<f64>,
        classes: Option<&ClassFacts>,
        options: &ReadOptions,
        line: usize,
    ) -> Result<KernelMachine> {
        let count = self.offsets.len() - 1;
        let precomputed = kernel == Kernel::Precomputed;
        let used = self.indices.iter().map(|&column| column as usize).chain(self.rows.iter().copied()).max().map_or(1, |last| last + 1);
        let features = options.features.unwrap_or(used);
        if features < used {
            return Err((line, format!("the model uses column {used}, but the tables it is for have {features}")));
        }
        // What judges with the model has room for every column: one number in the file must not ask for gigabytes of it.
        let most = COLUMNS_PER_VALUE.saturating_mul(self.values.len().max(count)).max(COLUMNS_FOR_ALL);
        if options.features.is_none() && used > most {
            let (column, line) = self.widest;
            return Err((
                line,
                format!(
                    "column {column} is beyond {most}, the limit for a model of its size; give the columns of the tables (`features`) if it is meant"
                ),
            ));
        }
        let vectors = if precomputed {
            Matrix::dense(Vec::new(), count, 0)
        } else {
            Csr::new(self.offsets, self.indices, self.values, features).map(Matrix::Sparse)
        };
        let coefficients = (0..self.per_vector).flat_map(|o| self.coefficients.iter().skip(o).step_by(self.per_vector).copied()).collect();
        let machine = KernelMachine {
            kernel,
            support: if precomputed { self.rows } else { (0..count).collect() },
            vectors: vectors.map_err(|error| (line, error.to_string()))?,
            coefficients,
            layout: classes.map_or(Layout::Full, |facts| Layout::Pairs(facts.counts.clone())),
            intercepts,
            features,
            tolerance: TOLERANCE,
            ready: Ready::default(),
        };
        check_machine(&machine).map_err(|error| (line, error.to_string()))?;
        Ok(machine)
    }
}
