//! A fitted model with the scaling in front of it: what the program saves, loads and applies.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use boulevard::data::{Categories, Dataset, Matrix, Scaler, Target};
use boulevard::kernel::Kernel;
use boulevard::methods::boosted::Kind;
use boulevard::methods::multi_sample::{MultiSampleModel, Sets};
use boulevard::methods::multitask_selection::{MultiTaskSelectionModel, Outputs};
use boulevard::observe::Context;
use boulevard::persist::{AnyModel, ScaledModel, libsvm_text};
use boulevard::svm::{Model, SvcModel};

use crate::files;

/// A model and what happens to columns before it sees them.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub scaler: Option<Scaler>,
    pub model: AnyModel,
}

/// What a model says about every row.
pub struct Answers {
    /// Classes, numbers, or `inside`/`outside`.
    pub target: Target,
    /// Decision values, row-major, one column per name.
    pub decisions: Vec<f64>,
    pub decision_names: Vec<String>,
}

impl Fitted {
    /// Reads a model file, native or LIBSVM's: the first bytes tell.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_for(path, 0)
    }

    /// As [`Fitted::load`], for tables of this many columns. A LIBSVM file does not say how many its training table had; columns that
    /// no support vector uses still count in distances.
    pub fn load_for(path: &Path, columns: usize) -> Result<Self> {
        files::expect_file(path)?;
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let parse = |features| libsvm_text::parse(&bytes, path, &libsvm_text::ReadOptions { features });
        let model = match bytes.trim_ascii_start().starts_with(b"svm_type") {
            true => match parse(None)? {
                model if model.features() < columns => parse(Some(columns))?,
                model => model,
            },
            false => AnyModel::from_bytes(&bytes).with_context(|| path.display().to_string())?,
        };
        match model {
            AnyModel::Scaled(scaled) => Ok(Self { scaler: Some(scaled.scaler), model: *scaled.model }),
            model => Ok(Self { scaler: None, model }),
        }
    }

    /// Writes a native model file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        match &self.scaler {
            None => self.model.save(path)?,
            Some(scaler) => AnyModel::Scaled(ScaledModel::new(scaler.clone(), self.model.clone())?).save(path)?,
        }
        Ok(())
    }

    /// The table as the machine wants it.
    pub fn prepare(&self, x: &Matrix<'_>) -> boulevard::Result<Matrix<'static>> {
        match &self.scaler {
            Some(scaler) => scaler.apply_to(x),
            None => Ok(x.clone().into_owned()),
        }
    }

    /// Predictions and decision values.
    pub fn answer(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Answers> {
        let x = self.prepare(x)?;
        Ok(match &self.model {
            AnyModel::Svc(model) => {
                let decisions = model.decision_values_in(&x, context)?;
                let codes = model.codes_from_decisions(&decisions);
                let target = Target::Classes(Categories::new(codes, model.classes.clone())?);
                Answers { target, decisions, decision_names: decision_names(&model.classes) }
            }
            AnyModel::LinearSvc(model) => {
                let decisions = model.decision_values_in(&x, context)?;
                let target = Target::Classes(Categories::new(model.codes_from_decisions(&decisions), model.classes.clone())?);
                Answers { target, decisions, decision_names: decision_names(&model.classes) }
            }
            AnyModel::FeatureInduction(model) => {
                let decisions = model.decision_values_in(&x, context)?;
                let target = Target::Classes(Categories::new(model.codes(&decisions), model.classes.clone())?);
                Answers { target, decisions, decision_names: decision_names(&model.classes) }
            }
            AnyModel::LinearSvr(model) => {
                let values = model.predict_in(&x, context)?;
                Answers { target: Target::Real(values.clone()), decisions: values, decision_names: vec!["value".to_owned()] }
            }
            AnyModel::Svr(model) => {
                let values = model.predict_in(&x, context)?;
                Answers { target: Target::Real(values.clone()), decisions: values, decision_names: vec!["value".to_owned()] }
            }
            AnyModel::Pareto(front) => {
                let model = &front.classifier;
                let decisions = model.decision_values_in(&x, context)?;
                let target = Target::Classes(Categories::new(model.codes_from_decisions(&decisions), model.classes.clone())?);
                Answers { target, decisions, decision_names: decision_names(&model.classes) }
            }
            AnyModel::OneClass(model) => {
                let decisions = model.decision_values_in(&x, context)?;
                let codes = decisions.iter().map(|&value| u32::from(value >= 0.0)).collect();
                let target = Target::Classes(Categories::new(codes, vec!["outside".to_owned(), "inside".to_owned()])?);
                Answers { target, decisions, decision_names: vec!["decision".to_owned()] }
            }
            AnyModel::MultiTaskSelection(model) => {
                let decisions = model.decision_values_in(&x, context)?;
                let target = model.predictions_from(&decisions)?;
                let names = (0..model.tasks()).map(|task| format!("decision:{}", model.outputs.name(task))).collect();
                Answers { target, decisions, decision_names: names }
            }
            AnyModel::Boosted(model) => {
                let decisions = model.decision_values_in(&x, context)?;
                let target = model.predictions(&decisions)?;
                let names = if model.kind == Kind::TwoClasses { &model.names[1..] } else { &model.names[..] };
                Answers { target, decisions, decision_names: names.iter().map(|name| format!("decision:{name}")).collect() }
            }
            AnyModel::MultiSample(model) => answer_sets(model, &x, &Sets::singles(x.rows()), context)?,
            other => bail!("this program cannot predict with models of kind `{}`", other.kind()),
        })
    }

    /// Predictions and decision values for rows that may say which task they belong to.
    pub fn answer_rows(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<Answers> {
        match &self.model {
            AnyModel::MultiTaskSelection(model) if matches!(&model.outputs, Outputs::Tasks { names, .. } if names.len() > 1) => {
                let tasks = tasks_of(model, data)?;
                let x = self.prepare(&data.x)?;
                let target = model.predict_tasks(&x, &tasks, context)?;
                let all = model.decision_values_in(&x, context)?;
                let decisions = tasks.iter().enumerate().map(|(row, task)| all[row * model.tasks() + task]).collect();
                Ok(Answers { target, decisions, decision_names: vec!["decision".to_owned()] })
            }
            _ => self.answer(&data.x, context),
        }
    }

    /// The classifier of sets, if it is one.
    pub fn gatherer(&self) -> Option<&MultiSampleModel> {
        match &self.model {
            AnyModel::MultiSample(model) => Some(model),
            _ => None,
        }
    }

    /// The classifier, or a sentence that says what it is instead.
    pub fn classifier(&self, purpose: &str) -> Result<&SvcModel> {
        match &self.model {
            AnyModel::Svc(model) => Ok(model),
            AnyModel::Pareto(model) => Ok(&model.classifier),
            other => bail!("{purpose} needs a classifier, and this model is of kind `{}`", other.kind()),
        }
    }

    /// Whether the model gives probabilities; fails for what is not a classifier.
    pub fn calibrated(&self, purpose: &str) -> Result<bool> {
        match &self.model {
            AnyModel::LinearSvc(model) => Ok(model.calibration.is_some()),
            AnyModel::Boosted(model) => Ok(model.calibration.is_some()),
            AnyModel::FeatureInduction(model) => Ok(model.calibration.is_some()),
            AnyModel::MultiTaskSelection(model) => Ok(model.calibration.is_some()),
            // Sets always have them: consensus needs them.
            AnyModel::MultiSample(model) => Ok(model.machines.iter().all(|machine| machine.calibration.is_some())),
            _ => Ok(self.classifier(purpose)?.calibration.is_some()),
        }
    }

    /// Support vectors in all.
    pub fn support(&self) -> usize {
        match &self.model {
            AnyModel::Svc(model) => model.machine.len(),
            AnyModel::Svr(model) => model.machine.len(),
            AnyModel::OneClass(model) => model.machine.len(),
            AnyModel::MultiTaskSelection(model) => model.coefficients.iter().flatten().filter(|value| **value != 0.0).count(),
            AnyModel::Boosted(model) => model.support_vectors(),
            AnyModel::Pareto(model) => model.classifier.machine.len(),
            AnyModel::MultiSample(model) => {
                model.machines.iter().map(|machine| machine.len()).sum::<usize>().max(model.single.machine.len())
            }
            _ => 0,
        }
    }
}

/// The task of every row, by the model's own numbers.
fn tasks_of(model: &MultiTaskSelectionModel, data: &Dataset<'_>) -> Result<Vec<usize>> {
    let Outputs::Tasks { names, .. } = &model.outputs else { bail!("the model has no tasks") };
    let Some(tasks) = &data.tasks else {
        bail!("the model has {} tasks: name the column that says which task a row belongs to with --task", names.len());
    };
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    tasks
        .codes()
        .iter()
        .map(|&code| {
            let name = &tasks.names()[code as usize];
            known
                .iter()
                .position(|known| known == name)
                .with_context(|| format!("task `{name}` is unknown; the model's are {}", listed(&known)))
        })
        .collect()
}

/// What a classifier of sets says about every set.
pub fn answer_sets(model: &MultiSampleModel, x: &Matrix<'_>, sets: &Sets, context: &Context<'_>) -> Result<Answers> {
    let decisions = model.set_decisions(x, sets, context)?;
    let target = Target::Classes(Categories::new(model.codes_from_decisions(&decisions), model.classes.clone())?);
    Ok(Answers { target, decisions, decision_names: decision_names(&model.classes) })
}

/// Whether the model wants kernel values instead of features.
pub fn is_precomputed(model: &AnyModel) -> bool {
    match model {
        AnyModel::Svc(model) => model.machine.kernel == Kernel::Precomputed,
        AnyModel::Svr(model) => model.machine.kernel == Kernel::Precomputed,
        AnyModel::OneClass(model) => model.machine.kernel == Kernel::Precomputed,
        AnyModel::Pareto(model) => model.kernel == Kernel::Precomputed,
        AnyModel::MultiSample(model) => model.single.machine.kernel == Kernel::Precomputed,
        _ => false,
    }
}

pub fn decision_names(classes: &[String]) -> Vec<String> {
    match classes {
        [_, second] => vec![format!("decision:{second}")],
        _ => classes.iter().map(|class| format!("decision:{class}")).collect(),
    }
}

/// Puts columns into the model's order where both sides have names; else checks the count.
pub fn align(fitted: &Fitted, data: &mut boulevard::data::Dataset<'static>, path: &Path) -> Result<()> {
    let wanted = fitted.model.features();
    let found = data.x.columns();
    if let (Some(names), Some(have)) = (fitted.model.feature_names(), &data.feature_names)
        && names != have.as_slice()
    {
        let place: std::collections::HashMap<&str, usize> = have.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        // A one-hot column `column=value` is absent when no row has that value: it is zero then.
        let absent = |name: &str| name.split_once('=').is_some_and(|(column, _)| have.iter().any(|h| h.starts_with(&format!("{column}="))));
        let missing: Vec<&str> = names.iter().map(String::as_str).filter(|name| !place.contains_key(name) && !absent(name)).collect();
        if missing.is_empty() {
            let order: Vec<usize> = names.iter().map(|name| place.get(name.as_str()).copied().unwrap_or(usize::MAX)).collect();
            data.x = columns(&data.x, &order)?;
            data.feature_names = Some(names.to_vec());
            return Ok(());
        }
        let extra: Vec<&str> = have.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
        bail!(
            "{}: the model was trained on {wanted} features and the file has {found}; missing: {}; not known to the model: {}",
            path.display(),
            listed(&missing),
            listed(&extra)
        );
    }
    if found == wanted {
        return Ok(());
    }
    // LIBSVM files end at the largest index that occurs: columns beyond it are zeros.
    if data.x.is_sparse() && found < wanted {
        let order: Vec<usize> = (0..wanted).collect();
        data.x = columns(&data.x, &order)?;
        return Ok(());
    }
    let names = match (fitted.model.feature_names(), &data.feature_names) {
        (Some(names), _) => format!(" (the model's are {})", listed(&names.iter().map(String::as_str).collect::<Vec<_>>())),
        (None, Some(names)) => format!(" (the file's are {})", listed(&names.iter().map(String::as_str).collect::<Vec<_>>())),
        (None, None) => String::new(),
    };
    bail!("{}: the model was trained on {wanted} features and the file has {found}{names}", path.display())
}

/// The columns in `order`; numbers past the end are zeros.
fn columns(x: &Matrix<'_>, order: &[usize]) -> Result<Matrix<'static>> {
    let width = x.columns();
    let mut row = vec![0.0; width];
    let mut values = Vec::with_capacity(x.rows() * order.len());
    let sparse = x.is_sparse();
    for i in 0..x.rows() {
        x.copy_row(i, &mut row);
        values.extend(order.iter().map(|&j| row.get(j).copied().unwrap_or(0.0)));
    }
    let dense = Matrix::dense(values, x.rows(), order.len()).context("reordering columns")?;
    Ok(if sparse { dense.to_sparse() } else { dense })
}

/// Up to five names in backquotes.
pub fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
