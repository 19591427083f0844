//! The fitted model: switches, weights, and decisions of every task.

use serde_json::{Map, Value, json};

use super::automatic::SelectionChoice;
use super::describe;
use super::folds::folds;
use super::learner::{MultiTaskSelection, Select};
use super::pictures;
use super::problem::Certificate;
use super::problem::tasks::{Outputs, TaskSet};
use super::problem::training::Training;
use crate::data::{Categories, Dataset, LabelMatrix, Matrix, Target};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::linalg::dot;
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{
    Answers, Calibration, Decisions, Fact, FitReport, KernelMachine, Layout, Model, Ready, Rows, Sigmoid, argmax, codes, consistent,
    details,
};
use crate::words::listed;

/// Folds behind a calibration.
const FOLDS: usize = 5;

/// A fitted model of multi-task selection.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiTaskSelectionModel {
    /// What it was fitted with.
    pub parameters: MultiTaskSelection,
    /// What the tasks' decisions mean.
    pub outputs: Outputs,
    /// Probability that each group (feature or kernel) is on: one row if the tasks share it, else one per task.
    pub switches: Vec<f64>,
    /// Weight of every feature in every task, row-major; empty for kernels.
    pub weights: Vec<f64>,
    /// Bias of every task.
    pub intercepts: Vec<f64>,
    /// Signed coefficient of every training row of every task.
    pub coefficients: Vec<Vec<f64>>,
    /// The base kernels, all parameters numbers; empty for features.
    pub kernels: Vec<Kernel>,
    /// Kernel machines: one that serves all tasks if they share rows and switches, else one per task. Empty for features.
    pub machines: Vec<KernelMachine>,
    /// A sigmoid per task, where probabilities were fitted.
    pub calibration: Option<Calibration>,
    /// Features per sample.
    pub features: usize,
    /// Feature names, where the training table had them.
    pub feature_names: Option<Vec<String>>,
    /// What the fit chose and why; none for models of paths and of older files.
    pub choice: Option<SelectionChoice>,
    /// What the user should know about the fit.
    pub notes: Vec<String>,
    /// How the fit went: `objective` is J, `gap` relative to it.
    pub report: FitReport,
}

impl MultiTaskSelectionModel {
    pub(super) fn build(
        parameters: &MultiTaskSelection,
        training: &Training<'_>,
        solved: Vec<Certificate>,
        report: FitReport,
    ) -> Result<Self> {
        let tasks = training.tasks;
        let count = tasks.targets.len();
        let groups = solved[0].on.len();
        let keep = |on: f64| if on > parameters.threshold { on } else { 0.0 };
        let switches: Vec<f64> = solved.iter().flat_map(|certificate| certificate.on.iter().copied()).collect();
        // Task m is part m of the one solution, or the only part of solution m.
        let place = |m: usize| if solved.len() == 1 { (0, m) } else { (m, 0) };
        let coefficients: Vec<Vec<f64>> = (0..count).map(|m| solved[place(m).0].alpha[place(m).1].clone()).collect();
        let intercepts: Vec<f64> = (0..count).map(|m| solved[place(m).0].bias[place(m).1]).collect();
        let mut weights = Vec::new();
        let mut machines = Vec::new();
        match parameters.select {
            Select::Features => {
                for m in 0..count {
                    let (s, part) = place(m);
                    weights.extend(solved[s].sums[part].0[..groups].iter().zip(&solved[s].on).map(|(u, &on)| keep(on) * u));
                }
            }
            Select::Kernels => {
                let one = solved.len() == 1 && tasks.tables.len() == 1;
                let sets: Vec<Vec<usize>> = if one { vec![(0..count).collect()] } else { (0..count).map(|m| vec![m]).collect() };
                for set in sets {
                    let on: Vec<f64> = solved[place(set[0]).0].on.iter().map(|&on| keep(on)).collect();
                    machines.push(machine(parameters, training, &set, &on, &coefficients, &intercepts)?);
                }
            }
        }
        Ok(Self {
            parameters: parameters.clone(),
            outputs: tasks.outputs.clone(),
            switches,
            weights,
            intercepts,
            coefficients,
            kernels: training.kernels.clone(),
            machines,
            calibration: None,
            features: tasks.features(),
            feature_names: tasks.feature_names.clone(),
            choice: None,
            notes: training.notes.clone(),
            report,
        })
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.intercepts.len()
    }

    /// Number of switches in a row: features or kernels.
    pub fn groups(&self) -> usize {
        if self.kernels.is_empty() { self.features } else { self.kernels.len() }
    }

    /// The switches that a task uses.
    pub fn switches_of(&self, task: usize) -> &[f64] {
        let groups = self.groups();
        if self.switches.len() == groups { &self.switches } else { &self.switches[task * groups..(task + 1) * groups] }
    }

    /// The features that count: those that were kept, or where all were those whose weights over all tasks are above a hundredth of the
    /// largest (on standardized columns, where the fit saw such). For kernels: those whose switch is above the threshold.
    pub fn selected(&self) -> Vec<bool> {
        let groups = self.groups();
        if !self.kernels.is_empty() {
            return (0..groups).map(|d| self.switches.iter().skip(d).step_by(groups).any(|&on| on > self.parameters.threshold)).collect();
        }
        let known = self.choice.as_ref().and_then(|choice| choice.kept.as_ref().or(choice.counting.as_ref()));
        let places = known.map_or_else(|| super::automatic::counting(&self.weights, groups), Vec::clone);
        let mut selected = vec![false; groups];
        places.into_iter().for_each(|j| selected[j] = true);
        selected
    }

    /// The name of a group: a feature's, or the kernel in words.
    pub fn group_name(&self, group: usize) -> String {
        match (self.kernels.get(group), &self.feature_names) {
            (Some(kernel), _) => kernel.in_brief(),
            (None, Some(names)) => names[group].clone(),
            (None, None) => format!("x{}", group + 1),
        }
    }

    /// Decision values of one task.
    pub fn task_values(&self, x: &Matrix<'_>, task: usize, context: &Context<'_>) -> Result<Vec<f64>> {
        let tasks = self.tasks();
        if task >= tasks {
            return Err(Error::data(format!("there is no task {task}: the model has {tasks}")));
        }
        self.check_input(x)?;
        if self.kernels.is_empty() {
            return Ok(self.linear(x, task..task + 1));
        }
        if self.machines.len() == 1 {
            let all = self.machines[0].evaluate(x, context)?;
            return Ok(all.iter().skip(task).step_by(tasks).copied().collect());
        }
        self.machines[task].evaluate(x, context)
    }

    fn linear(&self, x: &Matrix<'_>, tasks: std::ops::Range<usize>) -> Vec<f64> {
        let mut values = Vec::with_capacity(x.rows() * tasks.len());
        let mut row = vec![0.0; self.features];
        for i in 0..x.rows() {
            if !x.is_sparse() {
                x.copy_row(i, &mut row);
            }
            for task in tasks.clone() {
                let weights = &self.weights[task * self.features..(task + 1) * self.features];
                let mut sum = 0.0;
                if x.is_sparse() {
                    x.for_each(i, |column, value| sum += weights[column] * value);
                } else {
                    sum = dot(weights, &row);
                }
                values.push(sum + self.intercepts[task]);
            }
        }
        values
    }

    /// The value of every row's own task, from the values of all tasks.
    fn own_values(&self, x: &Matrix<'_>, tasks: &Categories, names: &[String], context: &Context<'_>) -> Result<Vec<f64>> {
        if tasks.len() != x.rows() {
            return Err(Error::shape("tasks, one per row", x.rows(), tasks.len()));
        }
        let place = |name: &String| {
            let unknown = || Error::data(format!("task `{name}` is unknown; the model's are {}", listed(names)));
            names.iter().position(|known| known == name).ok_or_else(unknown)
        };
        let all = self.values(x, context)?;
        let own = |(row, &code): (usize, &u32)| Ok(all[row * self.tasks() + place(&tasks.names()[code as usize])?]);
        tasks.codes().iter().enumerate().map(own).collect()
    }

    /// Fits probabilities: a sigmoid per task on cross-validated decisions.
    pub fn calibrate(&mut self, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<()> {
        if tasks.outputs != self.outputs || !self.outputs.classify() {
            return Err(Error::data("probabilities must be fitted on the tasks the classifier learnt from"));
        }
        if let Some(rows) = tasks.counting() {
            return self.calibrate(&tasks.select_in(&rows, context)?, context);
        }
        let plain = MultiTaskSelection { calibrate: false, ..self.parameters.settled_by(self.choice.as_ref()) };
        let mut values: Vec<Vec<f64>> = tasks.targets.iter().map(|target| vec![f64::NAN; target.y.len()]).collect();
        // By content: a weight of 2 is a row twice here too.
        for (done, fold) in folds(tasks, self.parameters.seed, 0, 0, context)?.unwrap_or_default().iter().enumerate() {
            context.step("calibrate", done, FOLDS);
            // A class that lost its only rows to the test part cannot be learnt: those rows are judged by the whole model.
            let Ok(model) = plain.fit_tasks(&tasks.select_in(&fold.train, context)?, context) else { continue };
            for (m, target) in tasks.targets.iter().enumerate() {
                let rows = &fold.test[target.table];
                let found = model.task_values(&tasks.tables[target.table].select(rows), m, context)?;
                rows.iter().zip(found).for_each(|(&row, value)| values[m][row] = value);
            }
        }
        for (m, target) in tasks.targets.iter().enumerate() {
            if values[m].iter().any(|value| value.is_nan()) {
                let own = self.task_values(&tasks.tables[target.table], m, context)?;
                values[m].iter_mut().zip(own).filter(|(value, _)| value.is_nan()).for_each(|(value, own)| *value = own);
            }
        }
        let sigmoids = tasks.targets.iter().zip(&values).map(|(target, values)| {
            let positive: Vec<bool> = target.y.iter().map(|&y| y > 0.0).collect();
            let weights: Option<Vec<f64>> = tasks.weights.as_ref().map(|all| all[target.table].clone());
            Sigmoid::fit(values, &positive, weights.as_deref())
        });
        self.calibration = Some(Calibration::plain(sigmoids.collect()));
        Ok(())
    }

    /// The values of all tasks, row-major.
    fn values(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        self.check_input(x)?;
        if self.kernels.is_empty() {
            return Ok(self.linear(x, 0..self.tasks()));
        }
        if self.machines.len() == 1 {
            return self.machines[0].evaluate(x, context);
        }
        let mut values = vec![0.0; x.rows() * self.tasks()];
        for (m, machine) in self.machines.iter().enumerate() {
            let own = machine.evaluate(x, context)?;
            values.iter_mut().skip(m).step_by(self.tasks()).zip(own).for_each(|(to, value)| *to = value);
        }
        Ok(values)
    }
}

/// The probability of one label: above one half exactly if the label is predicted, and rising with the decision. Where the sigmoid crosses one
/// half elsewhere, what lies between is pressed against it.
fn label_probability(sigmoid: &Sigmoid, f: f64) -> f64 {
    const PRESSED: f64 = 1e-9;
    if sigmoid.a >= 0.0 {
        // The decisions say nothing about the label: one half, in order.
        return 0.5 + PRESSED * f / (1.0 + f.abs());
    }
    let p = sigmoid.probability(f);
    if f > 0.0 { p.max(0.5 + PRESSED * p) } else { p.min(0.5 - PRESSED * (1.0 - p)) }
}

/// The kernel machine of some tasks on one table.
fn machine(
    parameters: &MultiTaskSelection,
    training: &Training<'_>,
    set: &[usize],
    on: &[f64],
    coefficients: &[Vec<f64>],
    intercepts: &[f64],
) -> Result<KernelMachine> {
    let x = &training.tasks.tables[training.units[set[0]].table];
    let support: Vec<usize> = (0..x.rows()).filter(|&row| set.iter().any(|&m| coefficients[m][row] != 0.0)).collect();
    let mut terms: Vec<(f64, Kernel)> =
        on.iter().zip(&training.kernels).filter(|(on, _)| **on > 0.0).map(|(&on, kernel)| (on, kernel.clone())).collect();
    if terms.is_empty() {
        // Every switch is below the threshold: the decision is the bias.
        terms.push((0.0, training.kernels[0].clone()));
    }
    Ok(KernelMachine {
        kernel: Kernel::Sum { terms },
        vectors: x.select(&support),
        coefficients: set.iter().flat_map(|&m| support.iter().map(move |&row| coefficients[m][row])).collect(),
        support,
        layout: Layout::Full,
        intercepts: set.iter().map(|&m| intercepts[m]).collect(),
        features: x.columns(),
        // Predictions in double precision: tight whatever the solver's tolerance.
        tolerance: parameters.tolerance.min(1e-9),
        ready: Ready::default(),
    })
}

impl Model for MultiTaskSelectionModel {
    type Prediction = Target;

    fn report(&self) -> &FitReport {
        &self.report
    }

    fn features(&self) -> usize {
        self.features
    }

    fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    fn parameters(&self) -> Value {
        json!(self.parameters)
    }

    fn answers(&self) -> Answers<'_> {
        match &self.outputs {
            Outputs::Classes(names) => Answers::Classes(names),
            Outputs::Labels(names) => Answers::Labels(names),
            Outputs::Real(count) => Answers::Numbers(*count),
            Outputs::Tasks { names, classes } => Answers::Tasks { names, classes: classes.as_ref() },
        }
    }

    fn decision_names(&self) -> Vec<String> {
        match &self.outputs {
            Outputs::Tasks { names, .. } if names.len() > 1 => self.answers().decision_names(),
            outputs => (0..self.tasks()).map(|task| format!("decision:{}", outputs.name(task))).collect(),
        }
    }

    /// One value per task; where tasks have rows of their own and rows say which is theirs, the value of that task.
    fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
        match (&self.outputs, rows.tasks) {
            (Outputs::Tasks { names, .. }, Some(tasks)) => Ok(Decisions::plain(self.own_values(rows.x, tasks, names, context)?, 1)),
            _ => Ok(Decisions::plain(self.values(rows.x, context)?, self.tasks())),
        }
    }

    fn predictions_from(&self, decisions: &Decisions) -> Result<Target> {
        let values = &decisions.values;
        Ok(match &self.outputs {
            Outputs::Classes(names) => Categories::new(codes(values, self.tasks()), names.clone())?.into(),
            Outputs::Labels(names) => LabelMatrix::new(values.iter().map(|&f| f > 0.0).collect(), names.clone())?.into(),
            Outputs::Real(1) => values.clone().into(),
            Outputs::Real(count) => {
                return Err(Error::data(format!("this model predicts {count} numbers per row: ask for its decision values")));
            }
            Outputs::Tasks { names, .. } if decisions.columns > 1 => {
                return Err(Error::data(format!("this model has {} tasks: say for every row which one it belongs to", names.len())));
            }
            Outputs::Tasks { classes: Some(classes), .. } => Categories::new(codes(values, 1), classes.to_vec())?.into(),
            Outputs::Tasks { classes: None, .. } => values.clone().into(),
        })
    }

    /// One column per class, or the probability of each label or task.
    fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
        let Some(calibration) = &self.calibration else { return Ok(None) };
        if decisions.columns != self.tasks() {
            return Err(Error::data("probabilities of tasks with rows of their own are asked for all tasks at once"));
        }
        let tasks = self.tasks();
        let single = |f: f64, task: usize| {
            // A sigmoid may cross one half elsewhere than the decision: then both classes meet there.
            let p = calibration.sigmoids[task].probability(f);
            let mut pair = [1.0 - p, p];
            consistent(&mut pair, usize::from(f > 0.0));
            pair
        };
        let values = &decisions.values;
        Ok(Some(match &self.outputs {
            Outputs::Classes(names) if names.len() > 2 => values
                .chunks_exact(tasks)
                .flat_map(|raw| {
                    let mut row = calibration.probabilities(raw, tasks, false);
                    consistent(&mut row, argmax(raw));
                    row
                })
                .collect(),
            Outputs::Classes(_) => values.iter().flat_map(|&f| single(f, 0)).collect(),
            _ => {
                let of = |(m, &f): (usize, &f64)| label_probability(&calibration.sigmoids[m], f);
                values.chunks_exact(tasks).flat_map(|row| row.iter().enumerate().map(of)).collect()
            }
        }))
    }

    fn has_probabilities(&self) -> bool {
        self.calibration.is_some()
    }

    fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        self.calibrate(&TaskSet::from_dataset(data)?, context)
    }

    fn facts(&self) -> Vec<Fact> {
        describe::facts(self)
    }

    fn pictures(&self, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
        pictures::pictures(self, data, context)
    }

    fn details(&self) -> Map<String, Value> {
        details([("kernel", json!(self.kernels)), ("classes", json!(self.outputs)), ("choice", json!(self.choice))])
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn kernel_machines(&self) -> Vec<&KernelMachine> {
        self.machines.iter().collect()
    }

    /// Rows that count in some task.
    fn support_vectors(&self) -> usize {
        self.coefficients.iter().flatten().filter(|value| **value != 0.0).count()
    }
}
