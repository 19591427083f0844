//! LIBSVM's own command syntax: `-x value` pairs, then files.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};

/// Options and files as they were written.
pub struct Words {
    /// `('c', "10")`; for class weights `('w', "1", ...)` the class stands in `class`.
    pub options: Vec<Choice>,
    pub files: Vec<PathBuf>,
}

/// One option.
pub struct Choice {
    pub letter: char,
    /// The class of `-wi`.
    pub class: Option<String>,
    pub value: String,
}

/// Splits words into options and files. `switches` take no value.
pub fn parse(words: &[OsString], letters: &str, switches: &str, usage: &str) -> Result<Words> {
    let mut options = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.peek().and_then(|word| word.to_str()) {
        let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else { break };
        let mut characters = name.chars();
        let letter = characters.next().expect("not empty");
        let tail = characters.as_str();
        let is_weight = letter == 'w' && letters.contains('w');
        let known = letters.contains(letter) || switches.contains(letter);
        if !known || (!is_weight && !tail.is_empty()) || (is_weight && tail.is_empty()) {
            bail!("unknown option: -{name}\n\n{usage}");
        }
        let class = is_weight.then(|| tail.to_owned());
        rest.next();
        let value = if switches.contains(letter) {
            String::new()
        } else {
            match rest.next().and_then(|value| value.to_str()) {
                Some(value) => value.to_owned(),
                None => bail!("option -{name} needs a value\n\n{usage}"),
            }
        };
        options.push(Choice { letter, class, value });
    }
    Ok(Words { options, files: rest.map(PathBuf::from).collect() })
}

impl Choice {
    /// The value as a number.
    pub fn number<T: std::str::FromStr>(&self) -> Result<T> {
        let class = self.class.as_deref().unwrap_or("");
        self.value.parse().map_err(|_| anyhow::anyhow!("option -{}{class} needs a number, got `{}`", self.letter, self.value))
    }

    /// The value as 0 or 1.
    pub fn switch(&self) -> Result<bool> {
        match self.value.as_str() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => bail!("option -{} must be 0 or 1, got `{other}`", self.letter),
        }
    }
}
