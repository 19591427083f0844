//! The reader: bytes to sparse rows, one line buffer for the whole file.

use super::super::complaint::{Complaints, Fault, excerpt};
use super::super::names::{NameColumn, is_missing, unknown};
use super::super::number;
use super::super::options::{ReadOptions, TargetKind};
use super::super::source::{Lines, Source};
use super::super::table::{MOST_LABEL_ENTRIES, target_of, too_many_labels};
use super::rows::Rows;
use crate::data::{Categories, Csr, Dataset, LabelMatrix, Matrix, Target};
use crate::error::{Error, Result};

/// Indices beyond this are taken for a mistake: no model could hold a weight for each.
pub(super) const LARGEST_INDEX: u64 = 1 << 32;

/// One line, taken apart. `pairs` of the row are appended to the caller's arrays.
#[derive(Default)]
pub(super) struct Head<'a> {
    /// The labels before the first pair; empty where there are none.
    pub(super) labels: &'a [u8],
    pub(super) qid: Option<&'a [u8]>,
    pub(super) cost: Option<f64>,
    /// What follows the head.
    pub(super) pairs: &'a [u8],
}

/// Cuts off the comment and takes the head of the line apart. `None` for a line with nothing on it.
pub(super) fn split_line(line: &[u8]) -> std::result::Result<Option<Head<'_>>, Fault> {
    let line = match line.iter().position(|&byte| byte == b'#') {
        Some(comment) => &line[..comment],
        None => line,
    };
    let mut head = Head { pairs: line.trim_ascii_start(), ..Head::default() };
    if head.pairs.is_empty() {
        return Ok(None);
    }
    let (first, rest) = word(head.pairs);
    if !first.contains(&b':') {
        head.labels = first;
        head.pairs = rest;
    }
    loop {
        let (next, rest) = word(head.pairs);
        if let Some(qid) = next.strip_prefix(b"qid:") {
            head.qid = Some(qid);
        } else if let Some(cost) = next.strip_prefix(b"cost:") {
            let value = number::parse(cost).filter(|value| value.is_finite() && *value >= 0.0);
            let bad = || Fault::Bad(format!("weight `cost:{}` must be a finite number, zero or positive", excerpt(cost)));
            head.cost = Some(value.ok_or_else(bad)?);
        } else {
            return Ok(Some(head));
        }
        head.pairs = rest;
    }
}

/// The first word, and what follows it without leading blanks.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// Appends the pairs of one line. On an error the arrays hold a part of the row: the caller cuts them back.
pub(super) fn pairs(text: &[u8], indices: &mut Vec<u32>, values: &mut Vec<f64>) -> std::result::Result<(), Fault> {
    let mut at = 0;
    let mut previous = 0;
    loop {
        while at < text.len() && text[at].is_ascii_whitespace() {
            at += 1;
        }
        if at == text.len() {
            return Ok(());
        }
        let start = at;
        let mut index = 0u64;
        // 15 digits cannot wrap around and are more than the largest index has.
        while at < text.len() && text[at].is_ascii_digit() && at - start < 15 {
            index = index * 10 + u64::from(text[at] - b'0');
            at += 1;
        }
        if at == start || text.get(at) != Some(&b':') || index <= previous || index > LARGEST_INDEX {
            return Err(bad_index(word(&text[start..]).0, previous));
        }
        previous = index;
        at += 1;
        let value = match number::scan(&text[at..]) {
            Some((value, length)) if text.get(at + length).is_none_or(u8::is_ascii_whitespace) => {
                at += length;
                value
            }
            _ => {
                let (token, _) = word(&text[at..]);
                at += token.len();
                odd_value(index, token)?
            }
        };
        indices.push((index - 1) as u32);
        values.push(value);
    }
}

/// A value that is no finite decimal.
fn odd_value(index: u64, token: &[u8]) -> std::result::Result<f64, Fault> {
    match number::parse(token) {
        Some(value) if value.is_finite() => Ok(value),
        _ if is_missing(token) => Err(Fault::Missing(format!("the value of index {index}"))),
        Some(_) => Err(Fault::Bad(format!("the value of index {index} is `{}`; only finite numbers are allowed", excerpt(token)))),
        None => Err(Fault::Bad(format!("the value of index {index} is `{}`; it must be a number", excerpt(token)))),
    }
}

fn bad_index(token: &[u8], previous: u64) -> Fault {
    let shown = excerpt(token);
    let Some(colon) = token.iter().position(|&byte| byte == b':') else {
        return Fault::Bad(format!("`{shown}` has no colon; features are written `index:value`"));
    };
    let digits = &token[..colon];
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Fault::Bad(format!("the index of `{shown}` is not a whole number; features are written `index:value`"));
    }
    Fault::Bad(match std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok()) {
        Some(0) => "index 0: indices start at 1 (a precomputed kernel, `0:i` first on every line, is read as such)".to_owned(),
        Some(index) if index <= LARGEST_INDEX => format!("index {index} follows index {previous}; indices must rise"),
        _ => format!("the index of `{shown}` is too large; the largest that is allowed is {LARGEST_INDEX}"),
    })
}

/// The labels of all rows, before it is known whether there is one or several on each.
#[derive(Default)]
pub(super) struct Labels {
    /// Every label that occurs, row after row, as codes.
    column: NameColumn,
    /// Where the labels of each row end in `column.codes`.
    ends: Vec<usize>,
    reals: Vec<f64>,
    several: bool,
    /// Lines of rows without labels.
    bare: Vec<(usize, usize)>,
}

impl Labels {
    /// Takes the labels of a row apart and adds them; nothing is added on an error.
    pub(super) fn push(&mut self, line: usize, text: &[u8], options: &ReadOptions) -> std::result::Result<(), Fault> {
        match options.target {
            TargetKind::None => return Ok(()),
            TargetKind::Real => {
                let bad = || Fault::Bad(format!("label `{}` must be a finite number", excerpt(text)));
                if is_missing(text) {
                    return Err(Fault::Missing("the label".to_owned()));
                }
                self.reals.push(number::parse(text).filter(|value| value.is_finite()).ok_or_else(bad)?);
                return Ok(());
            }
            _ => {}
        }
        let text = std::str::from_utf8(text).map_err(|_| Fault::Bad(format!("label `{}` is not valid UTF-8", excerpt(text))))?;
        if text.is_empty() {
            self.bare.push((line, self.ends.len()));
            self.ends.push(self.column.codes.len());
            return Ok(());
        }
        let several = text.contains(',');
        if several && options.target == TargetKind::Classes {
            return Err(Fault::Bad(format!("`{}` are several labels; a class is one label", excerpt(text.as_bytes()))));
        }
        for label in text.split(',') {
            if is_missing(label.as_bytes()) {
                return Err(Fault::Missing("a label".to_owned()));
            }
            if number::parse(label.as_bytes()).is_some_and(|value| !value.is_finite()) {
                return Err(Fault::Bad(format!("label `{}` is not finite", excerpt(label.as_bytes()))));
            }
            if !options.labels.is_empty() && !options.labels.iter().any(|known| known == label || same_number(known, label)) {
                let known: Vec<&str> = options.labels.iter().map(String::as_str).collect();
                return Err(Fault::Bad(unknown("label", "a target", label, &known)));
            }
        }
        self.several |= several;
        text.split(',').for_each(|label| self.column.push(label));
        self.ends.push(self.column.codes.len());
        Ok(())
    }

    /// The target. Rows without a label in a file of single labels are complained about, and their places returned.
    pub(super) fn finish(self, options: &ReadOptions, complaints: &mut Complaints<'_>) -> Result<(Target, Vec<usize>)> {
        let several = self.several || options.target == TargetKind::Labels || !options.labels.is_empty();
        match options.target {
            TargetKind::None => Ok((Target::None, Vec::new())),
            TargetKind::Real => Ok((Target::Real(self.reals), Vec::new())),
            _ if several => Ok((self.matrix(options, complaints)?, Vec::new())),
            _ if self.bare.len() == self.ends.len() => Ok((Target::None, Vec::new())),
            kind => {
                let mut places = Vec::new();
                for (line, place) in self.bare {
                    complaints
                        .note(line, "there is no label; every line must start with one (no line of this file has several)".to_owned())?;
                    places.push(place);
                }
                Ok((target_of(self.column, kind), places))
            }
        }
    }

    fn matrix(self, options: &ReadOptions, complaints: &Complaints<'_>) -> Result<Target> {
        // `Categories` puts the labels in order; a row's labels are a run of its codes.
        let classes = self.column.into_classes();
        let (names, ranks) = match options.labels.is_empty() {
            true => (classes.names().to_vec(), (0..classes.names().len()).collect()),
            false => (options.labels.clone(), places(&options.labels, &classes)),
        };
        if names.is_empty() {
            return Err(complaints.file("no line has a label; a multi-label target needs at least one"));
        }
        let size = self.ends.len().saturating_mul(names.len());
        if size > MOST_LABEL_ENTRIES {
            return Err(complaints.file(too_many_labels(self.ends.len(), names.len())));
        }
        let mut values = vec![false; size];
        let mut start = 0;
        for (row, &end) in self.ends.iter().enumerate() {
            for &code in &classes.codes()[start..end] {
                values[row * names.len() + ranks[code as usize]] = true;
            }
            start = end;
        }
        Ok(Target::Labels(LabelMatrix::new(values, names)?))
    }
}

/// Where each class stands in the list of labels the caller gave. Every one is in it: rows with others were refused.
fn places(labels: &[String], classes: &Categories) -> Vec<usize> {
    let find = |name: &String| labels.iter().position(|label| label == name || same_number(label, name)).unwrap_or(0);
    classes.names().iter().map(find).collect()
}

fn same_number(a: &str, b: &str) -> bool {
    matches!((number::parse(a.as_bytes()), number::parse(b.as_bytes())), (Some(a), Some(b)) if a == b)
}

/// Reads a whole file.
pub(in super::super) fn read(source: Source<'_>, options: &ReadOptions, complaints: &mut Complaints<'_>) -> Result<Dataset<'static>> {
    check_options(options, complaints)?;
    let mut lines = Lines::new(source);
    let mut table = Rows::new(options.single);
    let mut labels = Labels::default();
    let (mut groups, mut weights) = (NameColumn::default(), Vec::new());
    // Rows that may have too many columns, with their lines: how many are too many is known when all values are.
    let (mut wide, least) = (Vec::new(), options.most_features(0));
    let path = complaints.path().to_owned();
    loop {
        let number = lines.number + 1;
        let Some(line) = lines.next_line().map_err(|source| Error::io(&path, source))? else { break };
        let row = split_line(line).and_then(|head| {
            let Some(head) = head else { return Ok(None) };
            table.read(head.pairs)?;
            let group = match (&options.group, head.qid) {
                (None, _) => None,
                (Some(_), Some(qid)) if !is_missing(qid) => {
                    Some(std::str::from_utf8(qid).map_err(|_| Fault::Bad("the group after `qid:` is not valid UTF-8".to_owned()))?)
                }
                (Some(_), _) => return Err(Fault::Missing("the group (`qid:`)".to_owned())),
            };
            if options.weight.is_some() && head.cost.is_none() {
                return Err(Fault::Missing("the weight (`cost:`)".to_owned()));
            }
            labels.push(number, head.labels, options)?;
            Ok(Some((group, head.cost)))
        });
        match row {
            Ok(None) => {}
            Ok(Some((group, cost))) => {
                if table.width() > least {
                    wide.push((number, table.len(), table.width()));
                }
                table.make_room(&complaints.room)?;
                table.commit();
                weights.extend(cost.filter(|_| options.weight.is_some()));
                group.into_iter().for_each(|group| groups.push(group));
            }
            Err(fault) => {
                complaints.judge(number, Err(fault))?;
            }
        }
    }
    let rows = table.len();
    let most = options.most_features(table.stored());
    wide.retain(|&(_, _, index)| index > most);
    for &(line, _, index) in &wide {
        complaints.note(line, too_wide(index, most, options))?;
    }
    let x = table.finish(options.n_features.unwrap_or(0))?;
    let (target, bare) = labels.finish(options, complaints)?;
    let mut data = Dataset::new(x, target);
    data.weights = options.weight.is_some().then_some(weights);
    data.groups = options.group.is_some().then(|| groups.into_categories());
    if bare.is_empty() && wide.is_empty() {
        return Ok(data);
    }
    // Only a scan comes here: the rows without label are left out, of which the target has none already.
    let target = std::mem::replace(&mut data.target, Target::None);
    let labelled: Vec<usize> = (0..rows).filter(|row| bare.binary_search(row).is_err()).collect();
    let data = Dataset { target, ..data.select(&labelled) };
    if wide.is_empty() {
        return Ok(data);
    }
    let narrow = |place: &usize| wide.binary_search_by_key(&labelled[*place], |&(_, row, _)| row).is_err();
    let data = data.select(&(0..labelled.len()).filter(narrow).collect::<Vec<_>>());
    let Matrix::Sparse(x) = &data.x else { return Ok(data) };
    let columns = x.indices().iter().max().map_or(0, |&last| last as usize + 1).max(options.n_features.unwrap_or(0));
    let x = Csr::new(x.offsets().to_vec(), x.indices().to_vec(), x.values().to_vec(), columns)?;
    Ok(Dataset { x: Matrix::Sparse(x), ..data })
}

fn too_wide(index: usize, most: usize, options: &ReadOptions) -> String {
    let why = match options.max_features {
        Some(_) => "the limit `max_features`".to_owned(),
        None => format!("the limit for a file of its size; raise `max_features` to {index} or more if it is meant"),
    };
    format!("index {index} is beyond {most}, {why}")
}

/// A LIBSVM file has no named columns; asking for one is a mistake worth a sentence.
pub(super) fn check_options(options: &ReadOptions, complaints: &Complaints<'_>) -> Result<()> {
    let named =
        [("label", &options.label, ""), ("task", &options.task, ""), ("group", &options.group, "qid"), ("weight", &options.weight, "cost")];
    for (what, name, allowed) in named {
        if let Some(name) = name
            && name != allowed
        {
            let hint = if allowed.is_empty() { String::new() } else { format!("; only `{allowed}` can be asked for") };
            return Err(complaints.file(format!("a LIBSVM file has no named columns, so `{name}` cannot be the {what}{hint}")));
        }
    }
    match options.ignore.first() {
        Some(name) => Err(complaints.file(format!("a LIBSVM file has no named columns, so `{name}` cannot be ignored"))),
        None => Ok(()),
    }
}
