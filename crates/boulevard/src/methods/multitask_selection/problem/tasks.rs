//! What is learnt from: tables of samples, and tasks that each give their rows a target.

use serde::{Deserialize, Serialize};

use crate::data::split::{self, Split};
use crate::data::{Categories, Dataset, Matrix, Target};
use crate::error::{Error, Result};
use crate::observe::{Context, PIECE};

/// Values beyond this make energies that double precision cannot tell apart.
const LARGEST_VALUE: f64 = 1e30;
/// Targets beyond this leave nothing of the margin, whose scale is 1.
const LARGEST_TARGET: f64 = 1e9;

/// What the tasks' decisions mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outputs {
    /// One class of these: one task for two classes (positive for the second), else one task per class.
    Classes(Vec<String>),
    /// Any of these labels, a task each.
    Labels(Vec<String>),
    /// Numbers, a task for each column of the target.
    Real(usize),
    /// Tasks with rows of their own.
    Tasks {
        /// Their names.
        names: Vec<String>,
        /// The two classes they tell apart; none in regression.
        classes: Option<[String; 2]>,
    },
}

impl Outputs {
    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        match self {
            Self::Classes(classes) if classes.len() == 2 => 1,
            Self::Classes(names) | Self::Labels(names) | Self::Tasks { names, .. } => names.len(),
            Self::Real(count) => *count,
        }
    }

    /// Whether decisions are signs, not numbers.
    pub fn classify(&self) -> bool {
        !matches!(self, Self::Real(_) | Self::Tasks { classes: None, .. })
    }

    /// The name of a task.
    pub fn name(&self, task: usize) -> String {
        match self {
            Self::Classes(classes) if classes.len() == 2 => format!("{} against {}", classes[1], classes[0]),
            Self::Classes(names) | Self::Labels(names) | Self::Tasks { names, .. } => names[task].clone(),
            Self::Real(_) => format!("y{}", task + 1),
        }
    }
}

/// One task's target on the rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskTarget {
    /// Which table.
    pub table: usize,
    /// One number per row: plus or minus one in classification.
    pub y: Vec<f64>,
}

/// Rows of every table to learn from and to test on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSplit {
    /// Rows to learn from, one list per table.
    pub train: Vec<Vec<usize>>,
    /// Rows to test on, one list per table.
    pub test: Vec<Vec<usize>>,
}

/// Tables and tasks. Several tasks may look at one table, or each may have its own.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSet<'a> {
    /// The samples.
    pub tables: Vec<Matrix<'a>>,
    /// The tasks.
    pub targets: Vec<TaskTarget>,
    /// What they mean.
    pub outputs: Outputs,
    /// One name per feature.
    pub feature_names: Option<Vec<String>>,
    /// What rows count, one list per table; none means 1.
    pub weights: Option<Vec<Vec<f64>>>,
}

impl<'a> TaskSet<'a> {
    /// The tasks of a data set: its classes, labels or numbers, split by its task column if it has one.
    pub fn from_dataset(data: &Dataset<'a>) -> Result<Self> {
        data.validate()?;
        let feature_names = data.feature_names.clone();
        if let Some(tasks) = &data.tasks {
            return Self::by_task(data, tasks);
        }
        let sign = |on: bool| if on { 1.0 } else { -1.0 };
        let one_vs_rest = |codes: &[u32], class: usize| codes.iter().map(|&code| sign(code as usize == class)).collect();
        let (targets, outputs) = match &data.target {
            Target::Classes(classes) => {
                let names = classes.names().to_vec();
                let positive: Vec<usize> = if names.len() == 2 { vec![1] } else { (0..names.len()).collect() };
                let targets = positive.into_iter().map(|class| one_vs_rest(classes.codes(), class)).collect();
                (targets, Outputs::Classes(names))
            }
            Target::Labels(labels) => {
                let targets = (0..labels.names().len()).map(|label| labels.label(label).map(sign).collect()).collect();
                (targets, Outputs::Labels(labels.names().to_vec()))
            }
            Target::Real(values) => (vec![values.clone()], Outputs::Real(1)),
            Target::None => return Err(Error::data("multi-task selection needs a target, found none")),
        };
        let targets: Vec<Vec<f64>> = targets;
        let targets = targets.into_iter().map(|y| TaskTarget { table: 0, y }).collect();
        let weights = data.weights.clone().map(|weights| vec![weights]);
        let set = Self { tables: vec![data.x.clone()], targets, outputs, feature_names, weights };
        set.check()?;
        Ok(set)
    }

    fn by_task(data: &Dataset<'a>, tasks: &Categories) -> Result<Self> {
        let classes = match &data.target {
            Target::Classes(classes) => match classes.names() {
                [first, second] => Some([first.clone(), second.clone()]),
                names => {
                    return Err(Error::data(format!(
                        "tasks with rows of their own tell two classes apart, found {}: leave the task column out to have one task per class",
                        names.len()
                    )));
                }
            },
            Target::Real(_) => None,
            other => return Err(Error::data(format!("a task column goes with classes or numbers as target, found {}", other.kind()))),
        };
        let mut set = Self {
            tables: Vec::new(),
            targets: Vec::new(),
            outputs: Outputs::Tasks { names: tasks.names().to_vec(), classes },
            feature_names: data.feature_names.clone(),
            weights: data.weights.as_ref().map(|_| Vec::new()),
        };
        for task in 0..tasks.names().len() {
            let rows: Vec<usize> = (0..data.len()).filter(|&row| tasks.codes()[row] as usize == task).collect();
            let y = match &data.target {
                Target::Classes(classes) => rows.iter().map(|&row| if classes.codes()[row] == 1 { 1.0 } else { -1.0 }).collect(),
                Target::Real(values) => rows.iter().map(|&row| values[row]).collect(),
                _ => unreachable!("refused above"),
            };
            set.targets.push(TaskTarget { table: task, y });
            set.tables.push(data.x.select(&rows));
            if let (Some(all), Some(weights)) = (&mut set.weights, &data.weights) {
                all.push(rows.iter().map(|&row| weights[row]).collect());
            }
        }
        set.check()?;
        Ok(set)
    }

    /// Features per sample.
    pub fn features(&self) -> usize {
        self.tables.first().map_or(0, Matrix::columns)
    }

    /// Rows of all tables.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(Matrix::rows).sum()
    }

    /// Fails with the first thing that cannot be learnt from.
    pub fn check(&self) -> Result<()> {
        self.check_in(&Context::single())
    }

    /// Fails at the first target that is too large to be learnt in the units it has.
    pub(in super::super) fn check_range(&self) -> Result<()> {
        for (task, target) in self.targets.iter().enumerate() {
            if let Some((row, y)) = target.y.iter().enumerate().find(|(_, y)| y.abs() > LARGEST_TARGET) {
                return Err(Error::data(format!(
                    "task `{}`: target {y:e} at row {row} is out of range; up to {LARGEST_TARGET:e} is allowed without `standardize`, because \
                     the margin has scale 1",
                    self.outputs.name(task)
                )));
            }
        }
        Ok(())
    }

    /// [`TaskSet::check`] in pieces between which somebody may stop.
    pub(in super::super) fn check_in(&self, context: &Context<'_>) -> Result<()> {
        if self.targets.is_empty() {
            return Err(Error::data("there are no tasks to learn"));
        }
        if self.targets.len() != self.outputs.tasks() {
            return Err(Error::shape("tasks", self.outputs.tasks(), self.targets.len()));
        }
        let columns = self.features();
        for (k, table) in self.tables.iter().enumerate() {
            let named = || if self.tables.len() == 1 { "the data".to_owned() } else { format!("task `{}`", self.outputs.name(k)) };
            if table.rows() == 0 {
                return Err(Error::data(format!("{} has no rows", named())));
            }
            if table.columns() != columns {
                return Err(Error::shape(format!("feature columns of {}, as in the first task", named()), columns, table.columns()));
            }
            if columns == 0 {
                return Err(Error::data("the data have no feature columns"));
            }
            check_values(table, named, context)?;
        }
        for (task, target) in self.targets.iter().enumerate() {
            let name = self.outputs.name(task);
            let Some(table) = self.tables.get(target.table) else {
                return Err(Error::data(format!("task `{name}` names table {}, but there are {}", target.table, self.tables.len())));
            };
            if target.y.len() != table.rows() {
                return Err(Error::shape(format!("targets of task `{name}`, one per row"), table.rows(), target.y.len()));
            }
            if self.outputs.classify() {
                if let Some(y) = target.y.iter().find(|y| y.abs() != 1.0) {
                    return Err(Error::data(format!("task `{name}`: targets must be 1 or -1, found {y}")));
                }
                if target.y.iter().all(|&y| y == target.y[0]) {
                    let side = if target.y[0] > 0.0 { "positive" } else { "negative" };
                    return Err(Error::data(format!("task `{name}` has one class only: all {} rows are {side}", target.y.len())));
                }
            } else if let Some((row, y)) = target.y.iter().enumerate().find(|(_, y)| y.is_nan() || y.abs() >= LARGEST_VALUE) {
                return Err(Error::data(format!(
                    "task `{name}`: target {y:e} at row {row} is out of range: {LARGEST_VALUE:e} is too large"
                )));
            }
        }
        if let Some(weights) = &self.weights {
            if weights.len() != self.tables.len() || weights.iter().zip(&self.tables).any(|(w, x)| w.len() != x.rows()) {
                return Err(Error::shape("lists of sample weights, one weight per row", self.rows(), weights.iter().map(Vec::len).sum()));
            }
            if let Some(weight) = weights.iter().flatten().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
                return Err(Error::data(format!("sample weights must be finite and not negative, found {weight}")));
            }
        }
        match &self.feature_names {
            Some(names) if names.len() != columns => Err(Error::shape("feature names, one per column", columns, names.len())),
            _ => Ok(()),
        }
    }

    /// The same tasks on some rows of every table.
    pub fn select(&self, rows: &[Vec<usize>]) -> TaskSet<'static> {
        self.with_tables(self.tables.iter().zip(rows).map(|(table, rows)| table.select(rows)).collect(), rows)
    }

    /// [`TaskSet::select`] in pieces between which somebody may stop.
    pub fn select_in(&self, rows: &[Vec<usize>], context: &Context<'_>) -> Result<TaskSet<'static>> {
        let tables = self.tables.iter().zip(rows).map(|(table, rows)| table.select_in(rows, context)).collect::<Result<_>>()?;
        Ok(self.with_tables(tables, rows))
    }

    /// The same tasks with these tables of all rows instead.
    pub(in super::super) fn on_tables<'b>(&self, tables: Vec<Matrix<'b>>) -> TaskSet<'b> {
        TaskSet {
            tables,
            targets: self.targets.clone(),
            outputs: self.outputs.clone(),
            feature_names: self.feature_names.clone(),
            weights: self.weights.clone(),
        }
    }

    /// What belongs to some rows beside their tables.
    fn with_tables(&self, tables: Vec<Matrix<'static>>, rows: &[Vec<usize>]) -> TaskSet<'static> {
        TaskSet {
            tables,
            targets: self
                .targets
                .iter()
                .map(|target| TaskTarget { table: target.table, y: rows[target.table].iter().map(|&row| target.y[row]).collect() })
                .collect(),
            outputs: self.outputs.clone(),
            feature_names: self.feature_names.clone(),
            weights: self
                .weights
                .as_ref()
                .map(|all| all.iter().zip(rows).map(|(weights, rows)| rows.iter().map(|&row| weights[row]).collect()).collect()),
        }
    }

    /// What a row of a table counts.
    pub fn weight(&self, table: usize, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |all| all[table][row])
    }

    /// The rows that count something, one list per table; none where all do.
    pub fn counting(&self) -> Option<Vec<Vec<usize>>> {
        let weights = self.weights.as_ref()?;
        let of = |weights: &Vec<f64>| (0..weights.len()).filter(|&row| weights[row] > 0.0).collect();
        weights.iter().flatten().any(|&weight| weight == 0.0).then(|| weights.iter().map(of).collect())
    }

    /// The same tasks on some of the columns.
    pub fn columns(&self, chosen: &[usize]) -> Result<TaskSet<'static>> {
        let of = |table: &Matrix<'_>| {
            // Only what is chosen is touched: wide tables have many columns, and sets are small.
            let values: Vec<f64> = (0..table.rows()).flat_map(|i| chosen.iter().map(move |&j| table.get(i, j))).collect();
            Matrix::dense(values, table.rows(), chosen.len())
        };
        let mut set = self.on_tables(self.tables.iter().map(of).collect::<Result<_>>()?);
        set.feature_names = self.feature_names.as_ref().map(|names| chosen.iter().map(|&j| names[j].clone()).collect());
        Ok(set)
    }

    /// Folds of every table: rows to learn from and to test on. Classes keep their shares.
    pub fn folds(&self, k: usize, seed: u64) -> Result<Vec<TaskSplit>> {
        let mut per_table: Vec<Vec<Split>> = Vec::new();
        for (t, table) in self.tables.iter().enumerate() {
            per_table.push(if self.outputs.classify() {
                let of_table: Vec<&TaskTarget> = self.targets.iter().filter(|target| target.table == t).collect();
                let pattern = |row: usize| of_table.iter().map(|target| if target.y[row] > 0.0 { '1' } else { '0' }).collect::<String>();
                let classes = Categories::from_names(&(0..table.rows()).map(pattern).collect::<Vec<_>>());
                split::stratified_k_fold(&classes, k, seed)?
            } else {
                split::k_fold(table.rows(), k, seed)?
            });
        }
        Ok((0..k)
            .map(|fold| {
                let part = |of: fn(&Split) -> &Vec<usize>| per_table.iter().map(|folds| of(&folds[fold]).clone()).collect();
                TaskSplit { train: part(|split| &split.train), test: part(|split| &split.test) }
            })
            .collect())
    }
}

/// Fails with the first value of a table that is too large to be learnt from.
fn check_values(table: &Matrix<'_>, named: impl Fn() -> String, context: &Context<'_>) -> Result<()> {
    fn all<T>(values: &[T], context: &Context<'_>, fine: impl Fn(&T) -> bool) -> Result<bool> {
        for (place, piece) in values.chunks(PIECE / 8).enumerate() {
            // A small table is checked before anybody is asked: a fit that is stopped at once still has an answer.
            if place > 0 {
                context.go_on("prepare")?;
            }
            if !piece.iter().all(&fine) {
                return Ok(false);
            }
        }
        Ok(true)
    }
    // One quick pass; only a table that fails it is searched for the place.
    let fine = match table {
        Matrix::F64(dense) => all(dense.values(), context, |value| value.abs() <= LARGEST_VALUE)?,
        Matrix::F32(dense) => all(dense.values(), context, |value| f64::from(value.abs()) <= LARGEST_VALUE)?,
        Matrix::Sparse(csr) => all(csr.values(), context, |value| value.abs() <= LARGEST_VALUE)?,
    };
    if fine {
        return Ok(());
    }
    table.check_finite("X")?;
    for row in 0..table.rows() {
        let mut found = None;
        table.for_each(row, |column, value| {
            if value.abs() > LARGEST_VALUE {
                found = Some((column, value));
            }
        });
        if let Some((column, value)) = found {
            return Err(Error::data(format!(
                "{} holds {value:e} at row {row}, column {column}: values up to {LARGEST_VALUE:e} are allowed, scale the column first",
                named()
            )));
        }
    }
    Ok(())
}
