//! What the writers of tables with named columns share: the order of the columns and the names that can be read back.

use std::collections::HashSet;

use super::names::is_missing;
use crate::data::{Categories, Dataset, LabelMatrix, Target};
use crate::error::{Error, Result};

/// Tables with named columns are written whole, zeros included; a sparse set wider than this belongs in LIBSVM text.
const MOST_COLUMNS: usize = 1_000_000;

/// A column that is not a feature.
#[derive(Clone, Copy)]
pub(super) enum Extra<'a> {
    /// Tasks, groups or classes.
    Names(&'a Categories),
    /// Weights or a real target.
    Numbers(&'a [f64]),
    /// One label of many.
    Label(&'a LabelMatrix, usize),
}

/// The columns of a table: features first, then task, group and weight, and the label or labels last, where readers look for them.
pub(super) struct Layout<'a> {
    pub(super) features: Vec<String>,
    pub(super) extras: Vec<(String, Extra<'a>)>,
}

impl<'a> Layout<'a> {
    /// Names every column. A name of our own (`label`, ...) that a feature has already gets an underscore.
    pub(super) fn new(data: &'a Dataset<'_>) -> Result<Self> {
        let width = data.x.columns();
        if width > MOST_COLUMNS {
            return Err(Error::data(format!(
                "a table of {width} columns is too wide for this format (at most {MOST_COLUMNS}); write LIBSVM text"
            )));
        }
        let features: Vec<String> = (0..width).map(|column| data.feature_name(column)).collect();
        let mut taken = HashSet::new();
        for name in &features {
            check_word(name, "feature name")?;
            if !taken.insert(name.clone()) {
                return Err(Error::data(format!("two features are named `{name}`; names must differ to be read back")));
            }
        }
        let mut extras = Vec::new();
        let mut add = |name: &str, extra: Extra<'a>| {
            let mut name = name.to_owned();
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            extras.push((name, extra));
        };
        if let Some(tasks) = &data.tasks {
            add("task", Extra::Names(tasks));
        }
        if let Some(groups) = &data.groups {
            add("group", Extra::Names(groups));
        }
        if let Some(weights) = &data.weights {
            add("weight", Extra::Numbers(weights));
        }
        match &data.target {
            Target::None => {}
            Target::Classes(classes) => add("label", Extra::Names(classes)),
            Target::Real(values) => add("label", Extra::Numbers(values)),
            Target::Labels(labels) => labels.names().iter().enumerate().for_each(|(i, name)| add(name, Extra::Label(labels, i))),
        }
        Ok(Self { features, extras })
    }
}

/// What no format can give back: data that do not fit together, numbers that are not finite, names that look like missing values.
pub(super) fn check(data: &Dataset<'_>) -> Result<()> {
    data.validate()?;
    let names = |column: &'_ Option<Categories>| column.as_ref().map_or(Vec::new(), |column| column.names().to_vec());
    for (what, names) in [("class", target_names(data).to_vec()), ("group", names(&data.groups)), ("task", names(&data.tasks))] {
        for name in names {
            check_word(&name, what)?;
        }
    }
    Ok(())
}

/// The class or label names, if there are any.
pub(super) fn target_names<'a>(data: &'a Dataset<'_>) -> &'a [String] {
    match &data.target {
        Target::Classes(classes) => classes.names(),
        Target::Labels(labels) => labels.names(),
        Target::None | Target::Real(_) => &[],
    }
}

fn check_word(name: &str, what: &str) -> Result<()> {
    if is_missing(name.as_bytes()) {
        return Err(Error::data(format!("{what} `{name}` cannot be written: it would be read as a missing value")));
    }
    if name.trim_ascii() != name {
        return Err(Error::data(format!("{what} `{}` cannot be written: blanks at its ends would be lost", name.escape_debug())));
    }
    Ok(())
}
