//! The reader: header, then rows into the shared table.

use std::borrow::Cow;

use super::super::complaint::{Complaints, Fault, excerpt};
use super::super::options::{ReadOptions, TargetKind};
use super::super::roles::{Column, Kind, Role, assign};
use super::super::source::{Lines, Source};
use super::super::table::Table;
use super::tokens::{Until, fields, without_comment, word};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Reads a whole file.
pub(in super::super) fn read(source: Source<'_>, options: &ReadOptions, complaints: &mut Complaints<'_>) -> Result<Dataset<'static>> {
    let mut lines = Lines::new(source);
    let header = read_header(&mut lines, complaints)?;
    let options = settle(&header, options, complaints)?;
    let mut columns = Some(header.columns);
    let mut table: Option<(Table, bool)> = None;
    let path = complaints.path().to_owned();
    let mut given = Vec::new();
    loop {
        let number = lines.number + 1;
        let Some(line) = lines.next_line().map_err(|error| Error::io(&path, error))? else { break };
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        let sparse = line.starts_with(b"{");
        // The first row decides how the table is stored.
        if let Some(columns) = columns.take() {
            table = Some((Table::new(columns, &options, sparse).map_err(|message| complaints.file(message))?, sparse));
        }
        let Some((table, stored_sparse)) = &mut table else { break };
        table.make_room(&complaints.room)?;
        table.begin_row();
        let row = match (sparse, *stored_sparse) {
            (true, true) => sparse_row(line, table, &mut given),
            (true, false) => Err(Fault::Bad("a sparse row `{...}` in a file whose first row is dense".to_owned())),
            (false, _) => dense_row(line, table),
        };
        complaints.judge(number, row.and_then(|()| table.commit_row()))?;
    }
    match (table, columns) {
        (Some((table, _)), _) => table.finish(),
        (None, columns) => Table::new(columns.unwrap_or_default(), &options, false).map_err(|message| complaints.file(message))?.finish(),
    }
}

/// What stands above `@data`.
struct Header {
    columns: Vec<Column>,
    /// MEKA's `-C`: this many first (or, if negative, last) attributes are labels.
    labels: i64,
}

fn read_header(lines: &mut Lines<'_>, complaints: &Complaints<'_>) -> Result<Header> {
    let mut header = Header { columns: Vec::new(), labels: 0 };
    loop {
        let number = lines.number + 1;
        let Some(line) = lines.next_line().map_err(|error| Error::io(complaints.path(), error))? else {
            return Err(complaints.file("there is no `@data` line; an ARFF file has a header, `@data`, and rows"));
        };
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (keyword, rest) = line.split_at(end);
        match &keyword.to_ascii_lowercase()[..] {
            b"@relation" => {
                let (name, _) = word(rest, Until::Blank).map_err(|message| complaints.fatal(number, message))?;
                header.labels = label_count(&String::from_utf8_lossy(&name)).map_err(|message| complaints.fatal(number, message))?;
            }
            b"@attribute" => header.columns.push(attribute(rest).map_err(|message| complaints.fatal(number, message))?),
            b"@data" if header.columns.is_empty() => return Err(complaints.fatal(number, "there is no `@attribute` before `@data`")),
            b"@data" => return Ok(header),
            _ => {
                let found = excerpt(keyword);
                return Err(
                    complaints.fatal(number, format!("`{found}` in the header; only @relation, @attribute and @data may stand there"))
                );
            }
        }
    }
}

/// The number after `-C` in a relation's name.
fn label_count(relation: &str) -> std::result::Result<i64, String> {
    let mut words = relation.split_ascii_whitespace().skip_while(|word| *word != "-C");
    let Some(count) = words.nth(1).map(|count| count.trim_end_matches([':', ','])) else { return Ok(0) };
    match count.parse() {
        Ok(count) => Ok(count),
        // Not a number at all: then it is no option of MEKA's, only a name.
        Err(_) if count.trim_start_matches(['-', '+']).chars().any(|c| !c.is_ascii_digit()) => Ok(0),
        Err(_) => Err(format!("the relation says `-C {}`, which is no number of attributes", excerpt(count.as_bytes()))),
    }
}

/// A declaration: name and type.
fn attribute(text: &[u8]) -> std::result::Result<Column, String> {
    // An unquoted name ends at a blank, or at the brace of a list that follows without one.
    let (name, rest) = word(text, Until::Blank)?;
    let (name, rest) = match (&name, name.iter().position(|&byte| byte == b'{')) {
        (Cow::Borrowed(bytes), Some(brace)) if brace > 0 => {
            let start = text.len() - text.trim_ascii_start().len() + brace;
            (Cow::Borrowed(&bytes[..brace]), &text[start..])
        }
        _ => (name, rest),
    };
    let name = String::from_utf8(name.into_owned()).map_err(|_| "the name of the attribute is not valid UTF-8".to_owned())?;
    let rest = rest.trim_ascii();
    if let Some(list) = rest.strip_prefix(b"{") {
        let list = list.strip_suffix(b"}").ok_or_else(|| format!("the values of attribute `{name}` do not end in `}}`"))?;
        let mut values = Vec::new();
        fields(list, &mut values)?;
        let text = |value: Cow<'_, [u8]>| {
            String::from_utf8(value.into_owned()).map_err(|_| format!("a value of attribute `{name}` is not valid UTF-8"))
        };
        let values = values.into_iter().map(text).collect::<std::result::Result<Vec<_>, _>>()?;
        if values.is_empty() {
            return Err(format!("attribute `{name}` is nominal but has no values"));
        }
        return Ok(Column { name, kind: Kind::Nominal(values) });
    }
    let kind = rest.split(u8::is_ascii_whitespace).next().unwrap_or_default().to_ascii_lowercase();
    match &kind[..] {
        b"numeric" | b"real" | b"integer" => Ok(Column { name, kind: Kind::Number }),
        b"string" | b"date" => Ok(Column { name, kind: Kind::Text }),
        _ => {
            let found = excerpt(rest);
            Err(format!("attribute `{name}` has type `{found}`; it must be numeric, real, integer, string, date or {{a list of names}}"))
        }
    }
}

/// The options with what the header says filled in: labels by `-C`, and a numeric label is real.
fn settle(header: &Header, options: &ReadOptions, complaints: &Complaints<'_>) -> Result<ReadOptions> {
    let mut options = options.clone();
    let width = header.columns.len();
    if header.labels != 0 && options.label.is_none() && options.labels.is_empty() {
        let count = usize::try_from(header.labels.unsigned_abs()).unwrap_or(usize::MAX);
        if count > width {
            return Err(complaints.file(format!("the relation says `-C {}`, but there are only {width} attributes", header.labels)));
        }
        let range = if header.labels > 0 { 0..count } else { width - count..width };
        options.labels = header.columns[range].iter().map(|column| column.name.clone()).collect();
    }
    let roles = assign(&header.columns, &options).map_err(|message| complaints.file(message))?;
    for (column, role) in header.columns.iter().zip(&roles) {
        if *role == Role::Label && column.kind == Kind::Number && options.target == TargetKind::Auto {
            options.target = TargetKind::Real;
        }
    }
    Ok(options)
}

fn dense_row(line: &[u8], table: &mut Table) -> std::result::Result<(), Fault> {
    let width = table.width();
    let wrong = |found: usize| Fault::Bad(format!("{found} values; the header declares {width} attributes"));
    // Without commas, blanks separate (Weka reads both).
    let by_blanks = width > 1 && !line.contains(&b',');
    if by_blanks || !line.iter().any(|byte| matches!(byte, b'\'' | b'"')) {
        let split = |byte: &u8| if by_blanks { byte.is_ascii_whitespace() } else { *byte == b',' };
        let mut count = 0;
        for field in line.split(split).map(<[u8]>::trim_ascii).filter(|field| !by_blanks || !field.is_empty()) {
            if count < width {
                table.cell(count, field)?;
            }
            count += 1;
        }
        return if count == width { Ok(()) } else { Err(wrong(count)) };
    }
    let mut values = Vec::new();
    fields(line, &mut values)?;
    if values.len() != width {
        return Err(wrong(values.len()));
    }
    values.iter().enumerate().try_for_each(|(column, field)| table.cell(column, field))
}

fn sparse_row(line: &[u8], table: &mut Table, given: &mut Vec<usize>) -> std::result::Result<(), Fault> {
    let inside = line[1..]
        .strip_suffix(b"}")
        .ok_or_else(|| Fault::Bad("a sparse row must end in `}` (weights after it are not supported)".to_owned()))?;
    given.clear();
    let mut text = inside.trim_ascii();
    while !text.is_empty() {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let index = std::str::from_utf8(&text[..digits]).ok().and_then(|digits| digits.parse::<usize>().ok());
        let bad = || Fault::Bad(format!("`{}` in a sparse row; entries are written `index value`", excerpt(text)));
        let index = index.filter(|_| text.get(digits).is_some_and(u8::is_ascii_whitespace)).ok_or_else(bad)?;
        if index >= table.width() {
            return Err(Fault::Bad(format!("index {index} in a sparse row; the last attribute has index {}", table.width() - 1)));
        }
        if let Some(&previous) = given.last()
            && previous >= index
        {
            return Err(Fault::Bad(format!("index {index} follows index {previous}; indices must rise in a sparse row")));
        }
        given.push(index);
        let (field, rest) = word(&text[digits..], Until::Comma)?;
        table.cell(index, &field)?;
        text = match rest.first() {
            None => rest,
            Some(b',') => rest[1..].trim_ascii_start(),
            Some(_) => return Err(bad()),
        };
    }
    table.fill_absent(given)
}
