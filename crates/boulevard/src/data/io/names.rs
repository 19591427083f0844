//! Columns of names: interning, one form for class names that are numbers, and the nearest name to a misspelt one.

use std::collections::HashMap;

use super::number;
use crate::data::Categories;

/// A growing column of names, stored as codes into the distinct ones in order of appearance.
#[derive(Default)]
pub(super) struct NameColumn {
    pub(super) codes: Vec<u32>,
    pub(super) names: Vec<String>,
    places: HashMap<String, u32>,
}

impl NameColumn {
    /// The code of a name, new or known.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        // Files are often sorted by class: ask the last row's name before the hash table.
        if let Some(&last) = self.codes.last()
            && self.names[last as usize] == name
        {
            return last;
        }
        if let Some(&code) = self.places.get(name) {
            return code;
        }
        let code = u32::try_from(self.names.len()).expect("four thousand million distinct names do not fit in memory");
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), code);
        code
    }

    /// Appends a row.
    pub(super) fn push(&mut self, name: &str) {
        let code = self.intern(name);
        self.codes.push(code);
    }

    /// The column as categories, names as they are.
    pub(super) fn into_categories(self) -> Categories {
        sorted(&self.codes, &self.names)
    }

    /// The column as classes: if all names are numbers, they are brought to one form, so that `+1` and `1.0` are both `1`.
    pub(super) fn into_classes(self) -> Categories {
        match self.numbers() {
            Some(numbers) => {
                let canonical: Vec<String> = self.names.iter().zip(numbers).map(|(name, value)| canonical(name, value)).collect();
                sorted(&self.codes, &canonical)
            }
            None => self.into_categories(),
        }
    }

    /// The distinct names as finite numbers, if all of them are.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        self.names.iter().map(|name| number::parse(name.as_bytes()).filter(|value| value.is_finite())).collect()
    }
}

/// A class number as a name: no sign for plus, no `.0`, no `-0`. Whole numbers too large for an `f64` keep their digits.
fn canonical(name: &str, value: f64) -> String {
    const EXACT: f64 = (1u64 << 53) as f64;
    match value.abs() {
        size if size >= EXACT => name.to_owned(),
        0.0 => "0".to_owned(),
        _ => number::text(value),
    }
}

/// Categories in the library's order (as numbers, else as text), from codes into names that may repeat.
fn sorted(codes: &[u32], names: &[String]) -> Categories {
    // The order is that of `Categories::from_names`, asked for the distinct names only: a column of a million rows has few.
    let distinct = Categories::from_names(names);
    let codes = codes.iter().map(|&code| distinct.codes()[code as usize]).collect();
    Categories::new(codes, distinct.names().to_vec()).expect("codes come from the same list")
}

/// Whether a field says that there is no value.
pub(super) fn is_missing(field: &[u8]) -> bool {
    matches!(field, b"" | b"?" | b"NA") || field.eq_ignore_ascii_case(b"nan")
}

/// The complaint about a column (or whatever `noun` says) that does not exist: what there is, and what may have been meant (case aside).
pub(super) fn unknown(noun: &str, what: &str, name: &str, columns: &[&str]) -> String {
    const SHOWN: usize = 20;
    let mut list = columns[..columns.len().min(SHOWN)].iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ");
    if columns.len() > SHOWN {
        list.push_str(&format!(" and {} more", columns.len() - SHOWN));
    }
    let nearest = columns.iter().map(|column| (strsim::levenshtein(&name.to_lowercase(), &column.to_lowercase()), column)).min();
    let hint = match nearest {
        Some((steps, column)) if steps <= name.chars().count().div_ceil(2) => format!("; did you mean `{column}`?"),
        _ => String::new(),
    };
    format!("there is no {noun} `{name}` to take as {what}; the {noun}s are {list}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(rows: &[&str]) -> Categories {
        let mut column = NameColumn::default();
        rows.iter().for_each(|row| column.push(row));
        column.into_classes()
    }

    #[test]
    fn numbers_have_one_form_and_texts_are_kept() {
        let numbers = classes(&["+1", "-1", "1.0", "1", "10", "2"]);
        assert_eq!(numbers.names(), ["-1", "1", "2", "10"]);
        assert_eq!(numbers.codes(), [1, 0, 1, 1, 3, 2]);
        let texts = classes(&["01", "1", "a", "01"]);
        assert_eq!(texts.names(), ["01", "1", "a"]);
        assert_eq!(texts.codes(), [0, 1, 2, 0]);
        assert_eq!(classes(&["-0", "0", "1e2", "0.50"]).names(), ["0", "0.5", "100"]);
    }

    #[test]
    fn misspelt_names_find_their_neighbor() {
        assert!(unknown("column", "label", "lable", &["a", "label"]).ends_with("the columns are `a`, `label`; did you mean `label`?"));
        assert!(!unknown("column", "label", "weight", &["a", "b"]).contains("did you mean"));
        let many: Vec<String> = (0..100).map(|i| format!("c{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(unknown("column", "label", "zzzzzz", &many).contains("and 80 more"));
    }
}
