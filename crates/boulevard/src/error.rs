//! Every way a call can fail, with the facts a user needs to mend it.

use std::path::PathBuf;

/// The result type of the whole library.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The tolerance was reached.
    #[default]
    Converged,
    /// The iteration limit was reached first.
    MaxIterations,
    /// The time limit was reached first.
    TimeLimit,
    /// The caller asked to stop.
    Interrupted,
    /// No step changes anything any more at this precision, and the tolerance is still not reached: it asks for more digits than there are.
    Rounding,
}

impl StopReason {
    /// Whether the work was ended from outside before its result was worth anything: by a time limit or an interruption.
    pub fn is_cut_short(self) -> bool {
        matches!(self, Self::TimeLimit | Self::Interrupted)
    }

    /// 0 converged, 1 iteration limit, 2 time limit, 3 interrupted, 4 stuck at rounding.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIterations => "iteration limit",
            Self::TimeLimit => "time limit",
            Self::Interrupted => "interrupted",
            Self::Rounding => "stuck at rounding",
        }
    }

    /// The worse of two reasons, for work made of parts.
    pub fn worst(self, other: Self) -> Self {
        // Rounding came last into the list, but is next to the best: nothing more could have been had.
        let rank = |reason: Self| if reason == Self::Rounding { 1 } else { 2 * reason.code() };
        if rank(self) >= rank(other) { self } else { other }
    }
}

/// What went wrong: the place, what was found there, and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its range.
    #[error("parameter `{name}` of {owner} must be {allowed}, got {found}")]
    Parameter {
        /// The field's name, as in the struct.
        name: &'static str,
        /// The learner or kernel it belongs to.
        owner: &'static str,
        /// What would be accepted.
        allowed: String,
        /// What was given.
        found: String,
    },
    /// A NaN or an infinity in the data.
    #[error("{what} contains {found} at row {row}, column {column}: only finite numbers are allowed")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// The value, as text (`NaN`, `inf`, `-inf`).
        found: String,
        /// 0-based row.
        row: usize,
        /// 0-based column.
        column: usize,
    },
    /// Two things that must have the same size do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was counted.
        what: String,
        /// The count that would fit.
        expected: usize,
        /// The count that was found.
        found: usize,
    },
    /// Data that are well formed but cannot be learnt from.
    #[error("{0}")]
    Data(String),
    /// Numbers so large that what is computed from them is no longer finite.
    #[error("{0}")]
    Overflow(String),
    /// A text file with a mistake in it.
    #[error("{}:{line}: {message}", path.display())]
    Parse {
        /// The file (or `-` for standard input).
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// What was found and what is allowed.
        message: String,
    },
    /// A file that as a whole cannot be used.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The operating system refused to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
    /// The memory limit does not hold even the smallest working set.
    #[error("{what} needs {needed} bytes, but the memory limit is {allowed} bytes")]
    Memory {
        /// What needs the memory.
        what: &'static str,
        /// Bytes it needs at least.
        needed: usize,
        /// Bytes allowed.
        allowed: usize,
    },
    /// There is no memory limit, but the machine (or the container, or the process's own limit) has too little left.
    #[error("{what} needs {needed} bytes, but only {free} bytes of memory are free")]
    FreeMemory {
        /// What needs the memory.
        what: &'static str,
        /// Bytes it needs at least.
        needed: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// The device that was asked for cannot be used.
    #[error("device {device}: {reason}")]
    Device {
        /// As it was asked for.
        device: String,
        /// Why not.
        reason: String,
    },
    /// The time limit or the caller ended the work before there was anything to return.
    #[error("the work was stopped ({}) before there was a result", reason.text())]
    Stopped {
        /// Which of the two.
        reason: StopReason,
    },
}

impl Error {
    /// Shorthand for [`Error::Data`].
    pub fn data(message: impl Into<String>) -> Self {
        Self::Data(message.into())
    }

    /// Shorthand for [`Error::Overflow`].
    pub fn overflow(message: impl Into<String>) -> Self {
        Self::Overflow(message.into())
    }

    /// Shorthand for [`Error::File`].
    pub fn file(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::File { path: path.into(), message: message.into() }
    }

    /// Shorthand for [`Error::Io`].
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Shorthand for [`Error::Parse`].
    pub fn parse(path: impl Into<PathBuf>, line: usize, message: impl Into<String>) -> Self {
        Self::Parse { path: path.into(), line, message: message.into() }
    }

    /// Shorthand for [`Error::Shape`].
    pub fn shape(what: impl Into<String>, expected: usize, found: usize) -> Self {
        Self::Shape { what: what.into(), expected, found }
    }
}
