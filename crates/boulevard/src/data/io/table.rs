//! The table that CSV, ARFF and Parquet readers fill row by row: columns by role, cells checked, one-hot encoding, and the data set at the end.

use std::collections::HashSet;

use super::cells::{finite, short_list, truth};
use super::complaint::{Fault, excerpt};
use super::names::{NameColumn, is_missing};
use super::number;
use super::onehot;
use super::options::{Missing, ReadOptions, TargetKind};
use super::roles::{Column, Kind, Role, assign};
use super::room::Room;
use crate::data::{Csr, Dataset, LabelMatrix, Matrix, Target};
use crate::error::Result;

/// A label matrix is stored whole; beyond this many entries a small file could ask for all the memory there is.
pub(super) const MOST_LABEL_ENTRIES: usize = 1 << 31;

/// Entries that sparse rows may imply (features whose default is not zero) beyond what the file spells out.
const MOST_IMPLIED_ENTRIES: usize = 1 << 24;

/// How the cells of a feature column become numbers.
enum Cells {
    /// As they are.
    Numbers,
    /// Text: a code now, one 0/1 column per name at the end.
    Names(NameColumn),
}

/// How feature values are stored.
enum Values {
    Dense(Vec<f64>),
    /// In single precision.
    Single(Vec<f32>),
    Sparse {
        offsets: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f64>,
        implied: usize,
    },
}

/// What is known of the row that is being read. It joins the table only when the row is whole.
#[derive(Default)]
struct Row {
    features: Vec<(usize, f64)>,
    texts: Vec<(usize, usize, String)>,
    labels: Vec<bool>,
    label: String,
    task: String,
    group: String,
    weight: f64,
}

/// A table under construction.
pub(super) struct Table {
    columns: Vec<Column>,
    roles: Vec<Role>,
    target: TargetKind,
    cells: Vec<Cells>,
    feature_names: Vec<String>,
    label_names: Vec<String>,
    /// The feature a column is, if its cells are just numbers: by column.
    quick: Vec<Option<usize>>,
    /// The names that may occur, where the header says: by column.
    declared: Vec<HashSet<Vec<u8>>>,
    /// Values that a sparse row has where it says nothing, if they must be stored: by column.
    absent: Vec<(usize, String)>,
    has_task: bool,
    has_group: bool,
    keep_missing: bool,
    row: Row,
    rows: usize,
    values: Values,
    label: NameColumn,
    reals: Vec<f64>,
    labels: Vec<bool>,
    tasks: NameColumn,
    groups: NameColumn,
    weights: Vec<f64>,
}

impl Table {
    /// Assigns roles to columns; the error is a sentence about the header.
    pub(super) fn new(columns: Vec<Column>, options: &ReadOptions, sparse: bool) -> std::result::Result<Self, String> {
        let roles = assign(&columns, options)?;
        let (mut cells, mut feature_names, mut label_names, mut absent) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut quick, mut declared) = (Vec::new(), Vec::new());
        for (place, (column, role)) in columns.iter().zip(&roles).enumerate() {
            match role {
                Role::Feature(_) => {
                    feature_names.push(column.name.clone());
                    let text = is_text(&column.kind);
                    if text && !options.one_hot {
                        return Err(format!(
                            "column `{}` holds text; a feature must be a number (or be one-hot encoded, or ignored)",
                            column.name
                        ));
                    }
                    cells.push(if text { Cells::Names(NameColumn::default()) } else { Cells::Numbers });
                }
                Role::LabelOf(number) => {
                    label_names.resize(label_names.len().max(number + 1), String::new());
                    label_names[*number] = column.name.clone();
                }
                _ => {}
            }
            if sparse && let Some(text) = absent_value(column, *role) {
                absent.push((place, text));
            }
            quick.push(match (role, &column.kind) {
                (Role::Feature(feature), Kind::Number) => Some(*feature),
                _ => None,
            });
            declared.push(match &column.kind {
                Kind::Nominal(names) => names.iter().cloned().map(String::into_bytes).collect(),
                _ => HashSet::new(),
            });
        }
        let target = match (roles.contains(&Role::Label), options.target) {
            (false, _) => TargetKind::None,
            (true, TargetKind::None) => TargetKind::None,
            (true, TargetKind::Labels) => return Err("several `labels` must be named for a multi-label target, not one `label`".to_owned()),
            (true, kind) => kind,
        };
        let values = match sparse {
            true => Values::Sparse { offsets: vec![0], indices: Vec::new(), values: Vec::new(), implied: 0 },
            false if options.single => Values::Single(Vec::new()),
            false => Values::Dense(Vec::new()),
        };
        let row = Row { labels: vec![false; label_names.len()], weight: 1.0, ..Row::default() };
        Ok(Self {
            has_task: roles.contains(&Role::Task),
            has_group: roles.contains(&Role::Group),
            keep_missing: options.missing == Missing::Keep,
            columns,
            roles,
            target,
            cells,
            feature_names,
            label_names,
            quick,
            declared,
            absent,
            row,
            rows: 0,
            values,
            label: NameColumn::default(),
            reals: Vec::new(),
            labels: Vec::new(),
            tasks: NameColumn::default(),
            groups: NameColumn::default(),
            weights: Vec::new(),
        })
    }

    /// Number of columns in the file.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Number of features.
    #[cfg(feature = "parquet")]
    pub(super) fn features(&self) -> usize {
        self.feature_names.len()
    }

    /// Forgets a row that was begun.
    pub(super) fn begin_row(&mut self) {
        let row = &mut self.row;
        row.features.clear();
        row.texts.clear();
        row.labels.fill(false);
        for text in [&mut row.label, &mut row.task, &mut row.group] {
            text.clear();
        }
        row.weight = 1.0;
    }

    /// Takes one cell of the row; cells may come in rising column order only.
    #[inline]
    pub(super) fn cell(&mut self, column: usize, field: &[u8]) -> std::result::Result<(), Fault> {
        if let Some(feature) = self.quick[column]
            && let Some((value, length)) = number::scan(field)
            && length == field.len()
        {
            self.row.features.push((feature, value));
            return Ok(());
        }
        self.odd_cell(column, field)
    }

    /// A cell that is a number already; `None` is a null.
    pub(super) fn number(&mut self, column: usize, value: Option<f64>) -> std::result::Result<(), Fault> {
        match (self.quick[column], value) {
            (Some(feature), Some(value)) if value.is_finite() => {
                self.row.features.push((feature, value));
                Ok(())
            }
            (_, None) => self.odd_cell(column, b""),
            (_, Some(value)) => self.odd_cell(column, number::text(value).as_bytes()),
        }
    }

    /// A cell that is a whole number already: as a name it keeps all its digits.
    #[cfg(feature = "parquet")]
    pub(super) fn whole(&mut self, column: usize, value: Option<i128>) -> std::result::Result<(), Fault> {
        match (self.quick[column], value) {
            (None, Some(value)) => self.odd_cell(column, value.to_string().as_bytes()),
            (_, value) => self.number(column, value.map(|value| value as f64)),
        }
    }

    /// Every cell that is not simply a number in a feature column.
    fn odd_cell(&mut self, column: usize, field: &[u8]) -> std::result::Result<(), Fault> {
        let role = self.roles[column];
        if role == Role::Ignored {
            return Ok(());
        }
        let name = &self.columns[column].name;
        if is_missing(field) {
            if self.keep_missing
                && let Some(feature) = self.quick[column]
            {
                self.row.features.push((feature, f64::NAN));
                return Ok(());
            }
            return Err(Fault::Missing(format!("column `{name}`")));
        }
        if let Kind::Nominal(names) = &self.columns[column].kind
            && !self.declared[column].contains(field)
        {
            return Err(Fault::Bad(format!(
                "column `{name}`: `{}` is not one of its declared values {}",
                excerpt(field),
                short_list(names)
            )));
        }
        let text =
            || std::str::from_utf8(field).map_err(|_| Fault::Bad(format!("column `{name}`: `{}` is not valid UTF-8", excerpt(field))));
        let row = &mut self.row;
        match role {
            Role::Feature(feature) => match &self.cells[feature] {
                Cells::Numbers => row.features.push((feature, finite(name, field, "or have text columns one-hot encoded")?)),
                Cells::Names(_) => {
                    row.texts.push((row.features.len(), feature, text()?.to_owned()));
                    row.features.push((feature, 0.0));
                }
            },
            Role::Label => {
                if self.target == TargetKind::Real {
                    finite(name, field, "or have the labels read as classes")?;
                }
                row.label.push_str(text()?);
            }
            Role::LabelOf(number) => row.labels[number] = truth(name, field)?,
            Role::Task => row.task.push_str(text()?),
            Role::Group => row.group.push_str(text()?),
            Role::Weight => {
                let weight = finite(name, field, "")?;
                if weight < 0.0 {
                    return Err(Fault::Bad(format!("column `{name}`: weight {weight} is negative; weights must be zero or positive")));
                }
                row.weight = weight;
            }
            Role::Ignored => {}
        }
        Ok(())
    }

    /// Gives the columns that a sparse row left out their default values; `given` holds the columns that were there, rising.
    pub(super) fn fill_absent(&mut self, given: &[usize]) -> std::result::Result<(), Fault> {
        let before = self.row.features.len();
        let absent = std::mem::take(&mut self.absent);
        let filled = absent
            .iter()
            .filter(|(column, _)| given.binary_search(column).is_err())
            .try_for_each(|(column, text)| self.cell(*column, text.as_bytes()));
        self.absent = absent;
        filled.and_then(|()| self.count_implied(before))
    }

    fn count_implied(&mut self, before: usize) -> std::result::Result<(), Fault> {
        let added = self.row.features.len() - before;
        if let Values::Sparse { values, implied, .. } = &mut self.values {
            *implied += added;
            // `values` holds implied entries too; only what the file spelt out earns more of them.
            let spelt = values.len().saturating_sub(*implied - added);
            if *implied > MOST_IMPLIED_ENTRIES.saturating_add(100 * spelt) {
                return Err(Fault::Bad(
                    "sparse rows leave out too many attributes whose default is not zero; write the file densely".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Makes room for one more row, or says what the whole table needs.
    #[inline]
    pub(super) fn make_room(&mut self, room: &Room) -> Result<()> {
        let width = self.feature_names.len();
        match &mut self.values {
            Values::Dense(values) => room.reserve(values, width),
            Values::Single(values) => room.reserve(values, width),
            // Of the columns' numbers nobody asks: they take the smaller part.
            Values::Sparse { values, .. } => room.reserve_beside(values, width.min(1 << 16), size_of::<u32>()),
        }
    }

    /// Adds the row to the table.
    pub(super) fn commit_row(&mut self) -> std::result::Result<(), Fault> {
        if self.labels.len() + self.label_names.len() > MOST_LABEL_ENTRIES {
            return Err(Fault::Bad(too_many_labels(self.rows + 1, self.label_names.len())));
        }
        let row = &mut self.row;
        for (place, feature, text) in row.texts.drain(..) {
            if let Cells::Names(names) = &mut self.cells[feature] {
                row.features[place].1 = f64::from(names.intern(&text));
            }
        }
        match &mut self.values {
            Values::Dense(values) => values.extend(row.features.iter().map(|&(_, value)| value)),
            Values::Single(values) => {
                if let Some(&(feature, value)) = row.features.iter().find(|(_, value)| value.is_finite() && !(*value as f32).is_finite()) {
                    let name = &self.feature_names[feature];
                    return Err(Fault::Bad(format!("column `{name}`: {value:e} is too large for single precision")));
                }
                values.extend(row.features.iter().map(|&(_, value)| value as f32));
            }
            Values::Sparse { offsets, indices, values, .. } => {
                row.features.sort_unstable_by_key(|&(feature, _)| feature);
                for &(feature, value) in &row.features {
                    // A code of 0 is a name and is kept; a number 0 is what a sparse row leaves out.
                    if value.to_bits() != 0 || matches!(self.cells[feature], Cells::Names(_)) {
                        indices.push(feature as u32);
                        values.push(value);
                    }
                }
                offsets.push(values.len());
            }
        }
        match self.target {
            TargetKind::None | TargetKind::Labels => {}
            TargetKind::Real => self.reals.push(number::parse(row.label.as_bytes()).unwrap_or(0.0)),
            TargetKind::Auto | TargetKind::Classes => self.label.push(&row.label),
        }
        self.labels.extend_from_slice(&row.labels);
        if self.has_task {
            self.tasks.push(&row.task);
        }
        if self.has_group {
            self.groups.push(&row.group);
        }
        self.weights.push(row.weight);
        self.rows += 1;
        Ok(())
    }

    /// The data set.
    pub(super) fn finish(self) -> Result<Dataset<'static>> {
        let width = self.feature_names.len();
        let x = match self.values {
            Values::Dense(values) => Matrix::dense(values, self.rows, width)?,
            Values::Single(values) => Matrix::dense_f32(values, self.rows, width)?,
            Values::Sparse { offsets, indices, values, .. } => Matrix::Sparse(Csr::new(offsets, indices, values, width)?),
        };
        let names: Vec<Option<NameColumn>> = self
            .cells
            .into_iter()
            .map(|cells| match cells {
                Cells::Numbers => None,
                Cells::Names(names) => Some(names),
            })
            .collect();
        let (x, feature_names) = onehot::expand(x, self.feature_names, names)?;
        let label_kind = self.columns.iter().zip(&self.roles).find(|(_, role)| **role == Role::Label).map(|(column, _)| &column.kind);
        let target = if !self.label_names.is_empty() {
            Target::Labels(LabelMatrix::new(self.labels, self.label_names)?)
        } else {
            match (self.target, label_kind) {
                (TargetKind::None | TargetKind::Labels, _) => Target::None,
                (TargetKind::Real, _) => Target::Real(self.reals),
                (TargetKind::Auto, Some(Kind::Text | Kind::Nominal(_))) => Target::Classes(self.label.into_classes()),
                (kind, _) => target_of(self.label, kind),
            }
        };
        let chosen = |role: Role| self.roles.contains(&role);
        Ok(Dataset {
            x,
            target,
            weights: chosen(Role::Weight).then_some(self.weights),
            groups: chosen(Role::Group).then(|| self.groups.into_categories()),
            tasks: chosen(Role::Task).then(|| self.tasks.into_categories()),
            feature_names: Some(feature_names),
        })
    }
}

/// The rule of [`TargetKind::Auto`]: numbers of which at least one has a fractional part are real, everything else is a class.
pub(super) fn target_of(labels: NameColumn, kind: TargetKind) -> Target {
    match labels.numbers() {
        Some(numbers) if kind == TargetKind::Real || (kind == TargetKind::Auto && numbers.iter().any(|value| value.fract() != 0.0)) => {
            Target::Real(labels.codes.iter().map(|&code| numbers[code as usize]).collect())
        }
        _ => Target::Classes(labels.into_classes()),
    }
}

pub(super) fn too_many_labels(rows: usize, labels: usize) -> String {
    format!("{rows} rows with {labels} labels are more than the {MOST_LABEL_ENTRIES} entries a label matrix may have")
}

/// What a sparse row means where it leaves a column out, if that must be stored: 0, and for a nominal attribute its first name.
fn absent_value(column: &Column, role: Role) -> Option<String> {
    let stored = !matches!(role, Role::Feature(_) | Role::LabelOf(_));
    match &column.kind {
        _ if role == Role::Ignored => None,
        Kind::Number => stored.then(|| "0".to_owned()),
        // A text has no default: the empty text is a missing value.
        Kind::Text => Some(String::new()),
        Kind::Nominal(names) => {
            let first = names.first()?;
            (stored || is_text(&column.kind) || number::parse(first.as_bytes()) != Some(0.0)).then(|| first.clone())
        }
    }
}

/// Whether cells of this kind are not all numbers.
fn is_text(kind: &Kind) -> bool {
    match kind {
        Kind::Number => false,
        Kind::Text => true,
        Kind::Nominal(names) => !names.iter().all(|name| number::parse(name.as_bytes()).is_some_and(f64::is_finite)),
    }
}
