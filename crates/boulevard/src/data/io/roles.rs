//! Which column plays which part.

use std::collections::{HashMap, HashSet};

use super::names::unknown;
use super::options::{ReadOptions, TargetKind};

/// What the cells of a column are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Numbers.
    Number,
    /// Any text.
    Text,
    /// One of the names an ARFF header declares.
    Nominal(Vec<String>),
}

/// A column of a file with named columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The part a column plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    /// The feature with this number.
    Feature(usize),
    /// The label.
    Label,
    /// The label of this number, in a multi-label target.
    LabelOf(usize),
    Task,
    Group,
    Weight,
    Ignored,
}

/// One role per column, or what is wrong with the names.
pub(super) fn assign(columns: &[Column], options: &ReadOptions) -> Result<Vec<Role>, String> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let places = check_names(&names)?;
    let mut roles: Vec<Option<Role>> = vec![None; names.len()];
    let mut give = |what: &str, name: &str, role: Role| -> Result<(), String> {
        let place = *places.get(name).ok_or_else(|| unknown("column", what, name, &names))?;
        match roles[place].replace(role) {
            Some(_) => Err(format!("column `{name}` cannot be the {what} and something else too")),
            None => Ok(()),
        }
    };
    for (what, name, role) in
        [("task", &options.task, Role::Task), ("group", &options.group, Role::Group), ("weight", &options.weight, Role::Weight)]
    {
        if let Some(name) = name {
            give(what, name, role)?;
        }
    }
    if let Some(name) = &options.label {
        if !options.labels.is_empty() {
            return Err("either one `label` column or several `labels` can be named, not both".to_owned());
        }
        give("label", name, if options.target == TargetKind::None { Role::Ignored } else { Role::Label })?;
    }
    for name in matching(&options.ignore, &names, "ignored")? {
        give("ignored column", name, Role::Ignored)?;
    }
    for (number, name) in matching(&options.labels, &names, "label")?.into_iter().enumerate() {
        give("label", name, if options.target == TargetKind::None { Role::Ignored } else { Role::LabelOf(number) })?;
    }
    let mut label_may_be_absent = false;
    if let Some(wanted) = options.features.as_deref().and_then(|features| places_of(features, &places)) {
        let free: Vec<usize> = (0..names.len()).filter(|place| roles[*place].is_none() && !wanted.contains(place)).collect();
        let labeled = options.label.is_none() && options.labels.is_empty() && options.target != TargetKind::None;
        label_may_be_absent = labeled && free.is_empty();
        for &place in &free {
            let last = labeled && Some(&place) == free.last();
            roles[place] = Some(if last && options.target != TargetKind::Labels { Role::Label } else { Role::Ignored });
        }
    }
    let labeled = roles.contains(&Some(Role::Label)) || label_may_be_absent;
    if !labeled && options.label.is_none() && options.labels.is_empty() && options.target != TargetKind::None {
        if options.target == TargetKind::Labels {
            return Err("the columns of a multi-label target must be named (`labels`)".to_owned());
        }
        match roles.iter().rposition(Option::is_none) {
            Some(last) => roles[last] = Some(Role::Label),
            None => return Err("no column is left to take as label".to_owned()),
        }
    }
    let mut features = 0;
    Ok(roles
        .into_iter()
        .map(|role| {
            role.unwrap_or_else(|| {
                features += 1;
                Role::Feature(features - 1)
            })
        })
        .collect())
}

/// The places of a model's features, if they are all there.
fn places_of(features: &[String], places: &HashMap<&str, usize>) -> Option<HashSet<usize>> {
    let place = |name: &String| {
        let column = || name.split_once('=').and_then(|(column, _)| places.get(column));
        places.get(name.as_str()).or_else(column).copied()
    };
    features.iter().map(place).collect()
}

/// Where each name stands. Names must be there and differ, else a column cannot be asked for.
fn check_names<'a>(names: &[&'a str]) -> Result<HashMap<&'a str, usize>, String> {
    let mut places = HashMap::new();
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} has no name; every column must have one", i + 1));
        }
        if let Some(first) = places.insert(*name, i) {
            return Err(format!("columns {} and {} are both named `{name}`; names must differ", first + 1, i + 1));
        }
    }
    Ok(places)
}

/// The columns that the given names and `prefix*` patterns stand for, each once, in the order of the names and then of the file.
fn matching<'a>(wanted: &'a [String], names: &[&'a str], what: &str) -> Result<Vec<&'a str>, String> {
    let mut found: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for name in wanted {
        let before = found.len();
        // A column may really be called `a*`: an exact name goes first.
        match name.strip_suffix('*').filter(|_| !names.contains(&name.as_str())) {
            Some(prefix) => {
                found.extend(names.iter().filter(|column| column.starts_with(prefix) && seen.insert(**column)));
                if found.len() == before {
                    return Err(format!("no column name starts with `{prefix}`; {}", unknown("column", what, name, names)));
                }
            }
            None if seen.insert(name) => found.push(name),
            None => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(names: &[&str], options: &ReadOptions) -> Result<Vec<Role>, String> {
        let columns: Vec<Column> = names.iter().map(|name| Column { name: (*name).to_owned(), kind: Kind::Number }).collect();
        assign(&columns, options)
    }

    #[test]
    fn the_last_free_column_is_the_label() {
        let options = ReadOptions { weight: Some("w".into()), ignore: vec!["id".into()], ..Default::default() };
        let found = roles(&["id", "a", "y", "w"], &options).unwrap();
        assert_eq!(found, [Role::Ignored, Role::Feature(0), Role::Label, Role::Weight]);
        let none = ReadOptions { target: TargetKind::None, ..Default::default() };
        assert_eq!(roles(&["a", "b"], &none).unwrap(), [Role::Feature(0), Role::Feature(1)]);
        let left_out = ReadOptions { label: Some("a".into()), ..none };
        assert_eq!(roles(&["a", "b"], &left_out).unwrap(), [Role::Ignored, Role::Feature(0)]);
    }

    #[test]
    fn patterns_name_several_labels() {
        let options = ReadOptions { labels: vec!["y_1".into(), "y_*".into()], ..Default::default() };
        let found = roles(&["y_0", "a", "y_1", "y_2"], &options).unwrap();
        assert_eq!(found, [Role::LabelOf(1), Role::Feature(0), Role::LabelOf(0), Role::LabelOf(2)]);
    }

    #[test]
    fn bad_names_are_refused() {
        let default = ReadOptions::default();
        assert_eq!(roles(&["a", "b", "a"], &default).unwrap_err(), "columns 1 and 3 are both named `a`; names must differ");
        assert!(roles(&["", "b"], &default).unwrap_err().contains("column 1 has no name"));
        let misspelt = ReadOptions { label: Some("lable".into()), ..Default::default() };
        assert!(roles(&["a", "label"], &misspelt).unwrap_err().contains("did you mean `label`?"));
        let twice = ReadOptions { label: Some("a".into()), weight: Some("a".into()), ..Default::default() };
        assert!(roles(&["a", "b"], &twice).unwrap_err().contains("something else"));
        let pattern = ReadOptions { labels: vec!["z*".into()], ..Default::default() };
        assert!(roles(&["a", "b"], &pattern).is_err());
    }
}
