//! What happens when a line is bad: the strict readers stop with an error, [`scan`](super::scan) takes a note and goes on.

use std::path::{Path, PathBuf};

use super::options::Missing;
use super::room::{Place, Room};
use crate::error::{Error, Result};

/// One bad line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// 1-based line; in a Parquet file, 1-based row.
    pub line: usize,
    /// What was found and what is allowed.
    pub message: String,
}

/// Why a row cannot be used. Row parsers return this and know nothing of files or policies.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// A value is missing; the text names the column.
    Missing(String),
    /// Something is wrong.
    Bad(String),
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::Bad(message)
    }
}

/// Whether rows are kept, dropped or complained about.
pub(super) struct Complaints<'a> {
    path: PathBuf,
    policy: Missing,
    report: Option<&'a mut dyn FnMut(Problem)>,
    /// Rows with a mistake, so far.
    pub(super) problems: usize,
    /// Lines of the rows left out by [`Missing::DropRow`], so far.
    pub(super) dropped: Vec<usize>,
    /// What the rows may take.
    pub(super) room: Room,
}

impl<'a> Complaints<'a> {
    /// Stops at the first bad line unless there is a `report` to tell it to.
    pub(super) fn new(path: &Path, policy: Missing, report: Option<&'a mut dyn FnMut(Problem)>) -> Self {
        Self { path: path.to_owned(), policy, report, problems: 0, dropped: Vec::new(), room: Room::new(Place::default()) }
    }

    /// The same about a file whose place is known.
    pub(super) fn within(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// The file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An error about a line that ends the reading in any case, such as a bad header.
    pub(super) fn fatal(&self, line: usize, message: impl Into<String>) -> Error {
        Error::parse(&self.path, line, on_one_line(message.into()))
    }

    /// An error about the whole file.
    pub(super) fn file(&self, message: impl Into<String>) -> Error {
        Error::file(&self.path, on_one_line(message.into()))
    }

    /// Decides about one row: `Ok(true)` to keep it, `Ok(false)` to leave it out, an error to stop.
    pub(super) fn judge(&mut self, line: usize, row: std::result::Result<(), Fault>) -> Result<bool> {
        let message = match row {
            Ok(()) => return Ok(true),
            Err(Fault::Missing(_)) if self.policy == Missing::DropRow => {
                self.dropped.push(line);
                return Ok(false);
            }
            Err(Fault::Missing(what)) => {
                format!("{what} is missing; every value must be given (or be filled in, or have rows with missing values dropped)")
            }
            Err(Fault::Bad(message)) => message,
        };
        self.note(line, message)?;
        Ok(false)
    }

    /// Stops with an error or takes a note, as the caller of the reader wishes.
    pub(super) fn note(&mut self, line: usize, message: String) -> Result<()> {
        self.problems += 1;
        let message = on_one_line(message);
        match &mut self.report {
            Some(report) => {
                report(Problem { line, message });
                Ok(())
            }
            None => Err(Error::parse(&self.path, line, message)),
        }
    }
}

/// A message as one line of printable text: names of columns may hold anything.
fn on_one_line(message: String) -> String {
    if !message.contains(char::is_control) {
        return message;
    }
    message.chars().flat_map(|c| if c.is_control() { c.escape_debug().collect::<Vec<_>>() } else { vec![c] }).collect()
}

/// A piece of the file for a message: printable, and short however long it is.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    // Cut bytes first, so that a line of a gigabyte is not copied; a cut inside a character shows as U+FFFD.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST || bytes.len() > 4 * LONGEST {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_goes_on_and_a_reader_stops() {
        let mut seen = Vec::new();
        let mut report = |problem: Problem| seen.push(problem.line);
        let mut lenient = Complaints::new(Path::new("f"), Missing::DropRow, Some(&mut report));
        assert!(!lenient.judge(3, Err(Fault::Bad("x".into()))).unwrap());
        assert!(!lenient.judge(4, Err(Fault::Missing("x".into()))).unwrap());
        assert!(lenient.judge(5, Ok(())).unwrap());
        assert_eq!((lenient.problems, lenient.dropped.len()), (1, 1));
        assert_eq!(seen, [3]);
        let mut strict = Complaints::new(Path::new("f"), Missing::Error, None);
        let message = strict.judge(7, Err(Fault::Missing("column `a`".into()))).unwrap_err().to_string();
        assert!(message.starts_with("f:7: column `a` is missing"), "{message}");
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"a\tb"), "a\\tb");
        assert!(excerpt(&[b'x'; 1000]).len() < 60);
        assert!(excerpt(&[0xff; 1000]).ends_with("..."));
    }
}
