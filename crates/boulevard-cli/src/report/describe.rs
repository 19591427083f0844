//! A model in words, for a terminal.

use boulevard::svm::Fact;

/// The facts for a terminal.
pub fn text(facts: &[Fact]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}
