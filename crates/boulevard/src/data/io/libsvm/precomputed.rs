//! Precomputed kernels in LIBSVM's form: `label 0:i 1:K(i,1) 2:K(i,2) ...`.

use std::io::Read;
use std::path::Path;

use super::super::complaint::{Complaints, Fault, excerpt};
use super::super::number;
use super::super::options::ReadOptions;
use super::super::room::{Place, Room};
use super::super::source::{Lines, Source, open, unpack};
use super::read::{Labels, check_options, pairs, split_line};
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};

/// What the rows of a kernel file are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecomputedUse {
    /// Training: `i` of `0:i` says which column belongs to the row, so it must lie within the columns.
    Train,
    /// Prediction: the columns are the training samples and `i` means nothing (LIBSVM's manual writes `0:?`).
    Predict,
}

/// A kernel matrix with its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Precomputed {
    /// One row per line; `x` holds the kernel values, dense, one column per training sample.
    pub data: Dataset<'static>,
    /// The 0-based column of each row's own sample; empty for [`PrecomputedUse::Predict`].
    pub own_columns: Vec<usize>,
}

/// Reads a precomputed kernel from a file. Every row must hold all values, `1:` to `n:`; zeros are not left out.
pub fn read_precomputed(path: impl AsRef<Path>, options: &ReadOptions, purpose: PrecomputedUse) -> Result<Precomputed> {
    let (source, place) = open(path.as_ref())?;
    read(source, place, path.as_ref(), options, purpose)
}

/// Reads a precomputed kernel from any reader; `name` stands in the messages.
pub fn read_precomputed_from(reader: impl Read, name: &str, options: &ReadOptions, purpose: PrecomputedUse) -> Result<Precomputed> {
    read(unpack(reader).map_err(|source| Error::io(name, source))?, Place::default(), Path::new(name), options, purpose)
}

fn read(source: Source<'_>, place: Place, path: &Path, options: &ReadOptions, purpose: PrecomputedUse) -> Result<Precomputed> {
    let mut complaints = Complaints::new(path, options.missing, None).within(Room::new(place));
    check_options(options, &complaints)?;
    if options.group.is_some() || options.weight.is_some() {
        return Err(complaints.file("groups and weights cannot be read from a precomputed kernel"));
    }
    let mut lines = Lines::new(source);
    let (mut indices, mut kernel, mut own_columns) = (Vec::new(), Vec::new(), Vec::new());
    let mut labels = Labels::default();
    let (mut columns, mut rows) = (None, 0);
    loop {
        let line_number = lines.number + 1;
        let Some(line) = lines.next_line().map_err(|source| Error::io(path, source))? else { break };
        let start = kernel.len();
        indices.clear();
        let row = split_line(line).and_then(|head| {
            let Some(head) = head else { return Ok(false) };
            let (own, values) = own_column(head.pairs, purpose)?;
            pairs(values, &mut indices, &mut kernel)?;
            if let Some((place, &index)) = indices.iter().enumerate().find(|(place, index)| *place != **index as usize) {
                let (found, due) = (u64::from(index) + 1, place + 1);
                return Err(Fault::Bad(format!("index {found} stands where {due} is due; all kernel values must be given")));
            }
            let due = *columns.get_or_insert(indices.len());
            if indices.len() != due {
                return Err(Fault::Bad(format!("{} kernel values; the first line has {due}", indices.len())));
            }
            if let Some(own) = own {
                if own == 0 || own > due {
                    return Err(Fault::Bad(format!("`0:{own}` must lie in 1..={due}, the number of kernel values")));
                }
                own_columns.push(own - 1);
            }
            labels.push(line_number, head.labels, options)?;
            Ok(true)
        });
        match row {
            Ok(whole) => rows += usize::from(whole),
            Err(fault) => {
                kernel.truncate(start);
                own_columns.truncate(rows);
                complaints.judge(line_number, Err(fault))?;
            }
        }
    }
    if rows == 0 {
        return Err(complaints.file("there are no data rows"));
    }
    let (target, _) = labels.finish(options, &mut complaints)?;
    let x = Matrix::dense(kernel, rows, columns.unwrap_or(0))?;
    Ok(Precomputed { data: Dataset::new(x, target), own_columns })
}

/// The `0:i` at the start, and what follows it.
fn own_column(text: &[u8], purpose: PrecomputedUse) -> std::result::Result<(Option<usize>, &[u8]), Fault> {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    let bad = || Fault::Bad(format!("`{}` stands where `0:i`, the number of the sample, is due", excerpt(first)));
    let serial = first.strip_prefix(b"0:").ok_or_else(bad)?;
    if purpose == PrecomputedUse::Predict {
        return if serial == b"?" || number::parse(serial).is_some() { Ok((None, rest)) } else { Err(bad()) };
    }
    // LIBSVM's own tools write the number as a double (`0:1.0`).
    let whole = number::parse(serial).filter(|value| value.fract() == 0.0 && (0.0..1e15).contains(value));
    Ok((Some(whole.ok_or_else(bad)? as usize), rest))
}
