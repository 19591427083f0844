//! What people and machines read: text tables, numbers, JSON, and HTML pages with pictures.

pub mod front;
pub mod html;
pub mod labels;
pub mod story;
pub mod table;

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

pub use boulevard::words as number;

/// Prints to standard output. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// Prints JSON with a line end.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// A line on standard error; if even that fails there is nobody to tell.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
