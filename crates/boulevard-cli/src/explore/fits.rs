//! A model on the page: what it is, what it was learnt from, and its points where it is a front.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail, ensure};
use boulevard::any::AnyModel;
use boulevard::data::Dataset;
use boulevard::data::io::{ReadOptions, TargetKind};
use boulevard::gallery::Judged;
use boulevard::methods::pareto::Pick;
use boulevard::observe::Context;
use boulevard::svm::{Answers, Model};
use boulevard::validation::FoldResult;
use serde_json::Value;

use super::source::Source;
use super::state::lock;
use crate::model;
use crate::report::{front, story};

/// A fitted or opened model.
pub struct Fit {
    pub title: String,
    /// The command line that makes it.
    pub command: String,
    pub model: AnyModel,
    pub data: Option<Dataset<'static>>,
    pub folds: Vec<FoldResult>,
    /// Answers about points that were looked at: asking again costs nothing.
    pub seen: Mutex<HashMap<(usize, &'static str), Arc<Value>>>,
    /// What was said about rows, by point; `None` is the model itself.
    judged: Mutex<HashMap<Option<usize>, Option<Arc<Judged>>>>,
}

impl Fit {
    pub fn trained(model: AnyModel, data: Dataset<'static>, folds: Vec<FoldResult>, method: String, command: String) -> Result<Self> {
        Ok(Self { title: method, command, model, data: Some(data), folds, seen: Mutex::default(), judged: Mutex::default() })
    }

    /// A model from a file, with the table it learnt from where that is given.
    pub fn opened(path: &Path, table: Option<&Source>) -> Result<Self> {
        let fitted = model::load(path)?;
        let data = table.map(|source| labelled(&fitted, source)).transpose()?;
        let command = format!("boulevard inspect {}", path.display());
        Ok(Self {
            title: path.display().to_string(),
            command,
            model: fitted,
            data,
            folds: Vec::new(),
            seen: Mutex::default(),
            judged: Mutex::default(),
        })
    }

    /// The points of a front; none for other models.
    pub fn points(&self) -> usize {
        front::of(&self.model).map_or(0, |front| front.front.len())
    }

    /// The model at a point of the front, as `--pick INDEX --no-refit` makes it.
    pub fn at(&self, point: Option<usize>) -> Result<AnyModel> {
        let Some(point) = point else { return Ok(self.model.clone()) };
        let front = front::of(&self.model).context("only a front has points")?;
        ensure!(point < front.front.len(), "the front has {} points, there is no point {point}", front.front.len());
        let mut chosen = front.clone();
        chosen.classifier = front.select(point)?;
        chosen.picked = point;
        chosen.parameters.pick = Pick::Index(point);
        chosen.parameters.refit = false;
        Ok(self.model.with_inner(chosen.into())?)
    }

    /// The command that makes the model of a point.
    pub fn command_at(&self, point: Option<usize>) -> String {
        match point {
            Some(point) => format!("{} --pick={point} --no-refit", self.command),
            None => self.command.clone(),
        }
    }

    /// What the model, or a point of its front, says about rows; computed once.
    pub fn judged(&self, point: Option<usize>) -> Result<Option<Arc<Judged>>> {
        if let Some(known) = lock(&self.judged).get(&point) {
            return Ok(known.clone());
        }
        let context = Context::default();
        let found = match (point, &self.data) {
            (_, None) => None,
            (None, Some(data)) => story::judged(&self.model, &self.folds, data, &context)?,
            (Some(point), Some(data)) => self.judged_at(point, data, &context)?,
        };
        let found = found.map(Arc::new);
        lock(&self.judged).insert(point, found.clone());
        Ok(found)
    }

    /// What a point says about rows that it did not learn from; all rows where none were held out.
    fn judged_at(&self, point: usize, data: &Dataset<'_>, context: &Context<'_>) -> Result<Option<Judged>> {
        let chosen = self.at(Some(point))?;
        let Some(front) = front::of(&self.model) else { return Ok(None) };
        let mut learnt = vec![false; data.len()];
        front.rows.iter().filter(|&&row| row < data.len()).for_each(|&row| learnt[row] = true);
        let held: Vec<usize> = (0..data.len()).filter(|&row| !learnt[row]).collect();
        if held.is_empty() {
            return Ok(Judged::from_model(&chosen, data, false, context)?);
        }
        let judged = Judged::from_model(&chosen, &data.select(&held), true, context)?;
        Ok(judged.map(|judged| Judged { rows: judged.rows.iter().map(|&row| held[row]).collect(), ..judged }))
    }

    /// An answer that is computed once.
    pub fn once(&self, point: usize, what: &'static str, compute: impl FnOnce() -> Result<Value>) -> Result<Arc<Value>> {
        if let Some(known) = lock(&self.seen).get(&(point, what)) {
            return Ok(Arc::clone(known));
        }
        let value = Arc::new(compute()?);
        lock(&self.seen).insert((point, what), Arc::clone(&value));
        Ok(value)
    }
}

/// Reads a table as a model wants it.
fn labelled(fitted: &AnyModel, source: &Source) -> Result<Dataset<'static>> {
    let target = match fitted.answers() {
        Answers::Classes(_) | Answers::Tasks { classes: Some(_), .. } => TargetKind::Classes,
        Answers::Numbers(_) | Answers::Tasks { classes: None, .. } => TargetKind::Real,
        Answers::Inside => TargetKind::None,
        Answers::Labels(_) => bail!("a model of several labels is opened without --data"),
    };
    let options = ReadOptions { target, one_hot: source.one_hot, ..ReadOptions::default() };
    let mut data = Dataset::read_with(&source.path, &options)?;
    model::align(fitted, &mut data, &source.path)?;
    Ok(data)
}
