//! What Python asks with: data, tasks and limits, each a named tuple of `boulevard._request` with the same names.

use boulevard::data::{Categories, Dataset, LabelMatrix, Target};
use boulevard::methods::multitask_selection::{TaskSet, TaskTarget};
use numpy::{PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Table, counts, reals};
use crate::errors::{convert, read};

/// What the caller allows, and whom it wants to hear of progress.
#[derive(FromPyObject)]
pub struct Limits {
    /// Threads to use.
    pub threads: usize,
    /// Seconds.
    pub time: Option<f64>,
    /// Bytes.
    pub memory: Option<usize>,
    /// Processor or card, as the library names them.
    pub device: String,
    /// Called with `(stage, done, total, violation, tolerance)`; a true result stops the work.
    pub progress: Option<Py<PyAny>>,
}

impl Limits {
    /// Threads alone.
    pub fn threads(threads: usize) -> Self {
        Self { threads, time: None, memory: None, device: "auto".to_owned(), progress: None }
    }
}

/// One table to learn from.
#[derive(FromPyObject)]
pub struct Data<'py> {
    x: Bound<'py, PyAny>,
    /// Numbers, class codes where there are names, or a table of truth values.
    y: Option<Bound<'py, PyAny>>,
    /// Names of classes or labels.
    names: Option<Vec<String>>,
    weights: Option<Bound<'py, PyAny>>,
    /// Codes of the groups that rows belong to.
    groups: Option<Bound<'py, PyAny>>,
    /// Names of the features.
    features: Option<Vec<String>>,
}

/// Tables and tasks of multi-task selection.
#[derive(FromPyObject)]
pub struct Tasks<'py> {
    tables: Vec<Bound<'py, PyAny>>,
    /// For every task its table and numbers.
    targets: Vec<(usize, Bound<'py, PyAny>)>,
    /// What the tasks stand for, as JSON.
    outputs: String,
    features: Option<Vec<String>>,
    /// What rows count, one list per table.
    weights: Option<Vec<Bound<'py, PyAny>>>,
}

/// Whatever a learner learns from.
#[derive(FromPyObject)]
pub enum Training<'py> {
    /// One table.
    Table(Data<'py>),
    /// Several tables or tasks.
    Tasks(Tasks<'py>),
}

impl<'py> Data<'py> {
    /// The table itself, to be borrowed by [`Data::dataset`].
    pub fn hold(&self) -> PyResult<Table<'py>> {
        Table::extract(&self.x)
    }

    /// The library's view of it.
    pub fn dataset<'a>(&self, held: &'a Table<'_>) -> PyResult<Dataset<'a>> {
        let py = self.x.py();
        let target = match (&self.y, &self.names) {
            (None, _) => Target::None,
            (Some(y), None) => Target::Real(reals(y)?),
            (Some(y), Some(names)) if y.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() == 2) => {
                let labels: PyReadonlyArray2<'_, bool> = y.extract()?;
                let values = labels.as_array().iter().copied().collect();
                Target::Labels(LabelMatrix::new(values, names.clone()).map_err(|error| convert(py, error))?)
            }
            (Some(y), Some(names)) => Target::Classes(categories(y, names.clone())?),
        };
        let groups = self.groups.as_ref().map(|codes| -> PyResult<Categories> {
            let most = counts(codes)?.into_iter().max().unwrap_or(0);
            categories(codes, (0..=most).map(|code| code.to_string()).collect())
        });
        let mut data = Dataset::new(held.matrix()?, target);
        data.weights = self.weights.as_ref().map(reals).transpose()?;
        (data.groups, data.feature_names) = (groups.transpose()?, self.features.clone());
        Ok(data)
    }
}

impl<'py> Tasks<'py> {
    /// The tables themselves, to be borrowed by [`Tasks::task_set`].
    pub fn hold(&self) -> PyResult<Vec<Table<'py>>> {
        self.tables.iter().map(Table::extract).collect()
    }

    /// The library's view of them.
    pub fn task_set<'a>(&self, py: Python<'_>, held: &'a [Table<'_>]) -> PyResult<TaskSet<'a>> {
        Ok(TaskSet {
            tables: held.iter().map(Table::matrix).collect::<PyResult<_>>()?,
            targets: self.targets.iter().map(|(table, y)| Ok(TaskTarget { table: *table, y: reals(y)? })).collect::<PyResult<_>>()?,
            outputs: read(py, &self.outputs)?,
            feature_names: self.features.clone(),
            weights: self.weights.as_ref().map(|all| all.iter().map(reals).collect::<PyResult<_>>()).transpose()?,
        })
    }
}

/// Categories from codes and names.
fn categories(codes: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<Categories> {
    let numbers = counts(codes)?.into_iter().map(|code| code as u32).collect();
    Categories::new(numbers, names).map_err(|error| convert(codes.py(), error))
}
