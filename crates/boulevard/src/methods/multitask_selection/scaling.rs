//! Columns and targets brought to a common scale before the fit, and the model brought back afterwards.
//!
//! The prior of the weights and the margin have scale 1, so a factor on the inputs or the target is not absorbed by `c`: what is chosen
//! automatically is chosen for standardized data. Models hold weights for the data as they came.

use super::learner::Select;
use super::model::MultiTaskSelectionModel;
use super::problem::tasks::TaskSet;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::observe::Context;

/// The spread that columns get in classification. The penalty's scale is 1 whatever the data's; on six sets (three drawn, splice, german and
/// image of the IDA collection) one half erred less than one on four and no spread was best on all.
const SPREAD_OF_CLASSES: f64 = 0.5;

/// Mean and spread of every column (over all tables) and of every target.
pub(super) struct Scaling {
    /// Empty where columns stay as they are.
    center: Vec<f64>,
    spread: Vec<f64>,
    /// One pair per task; 0 and 1 for classes.
    targets: Vec<(f64, f64)>,
}

impl Scaling {
    /// Kernels see the columns as they are: their own width follows the data.
    pub fn fit(tasks: &TaskSet<'_>, select: Select, context: &Context<'_>) -> Result<Self> {
        let mut meter = context.meter("prepare");
        let columns = if select == Select::Features { tasks.features() } else { 0 };
        let mut total = 0.0;
        let mut row = vec![0.0; tasks.features()];
        // Differences from the first row keep the digits of columns far from zero.
        let mut first = vec![0.0; tasks.features()];
        tasks.tables[0].copy_row(0, &mut first);
        let (mut sums, mut squares) = (vec![0.0; columns], vec![0.0; columns]);
        for (t, table) in tasks.tables.iter().enumerate().filter(|_| columns > 0) {
            for i in 0..table.rows() {
                meter.spend(8 * columns)?;
                let weight = tasks.weight(t, i);
                table.copy_row(i, &mut row);
                total += weight;
                for j in 0..columns {
                    let from_first = row[j] - first[j];
                    sums[j] += weight * from_first;
                    squares[j] += weight * from_first * from_first;
                }
            }
        }
        let unit = if tasks.outputs.classify() { SPREAD_OF_CLASSES } else { 1.0 };
        let mut center = Vec::with_capacity(columns);
        let mut spread = Vec::with_capacity(columns);
        for j in 0..columns {
            let mean = sums[j] / total;
            let variance = squares[j] / total - mean * mean;
            let constant = variance <= 1e-24 * (squares[j] / total).max(f64::MIN_POSITIVE);
            center.push(first[j] + mean);
            spread.push(if constant { 1.0 } else { variance.sqrt() / unit });
            if !(center[j].is_finite() && spread[j].is_finite()) {
                return Err(Error::data(format!("column {j} spans too wide a range to be standardized")));
            }
        }
        let classify = tasks.outputs.classify();
        let of = |target: &super::problem::tasks::TaskTarget| {
            if classify {
                return (0.0, 1.0);
            }
            let weight = |row: usize| tasks.weight(target.table, row);
            let total: f64 = (0..target.y.len()).map(weight).sum();
            let start = target.y[0];
            let mean = start + target.y.iter().enumerate().map(|(row, y)| weight(row) * (y - start)).sum::<f64>() / total;
            let square = target.y.iter().enumerate().map(|(row, y)| weight(row) * (y - mean) * (y - mean)).sum::<f64>() / total;
            let spread = square.sqrt();
            (mean, if spread > 1e-12 * mean.abs().max(f64::MIN_POSITIVE) { spread } else { 1.0 })
        };
        let targets: Vec<(f64, f64)> = tasks.targets.iter().map(of).collect();
        if let Some(task) = targets.iter().position(|(mean, spread)| !(mean.is_finite() && spread.is_finite())) {
            return Err(Error::data(format!("task `{}`: targets span too wide a range to be standardized", tasks.outputs.name(task))));
        }
        Ok(Self { center, spread, targets })
    }

    /// The tasks at unit scale.
    pub fn apply<'a>(&self, tasks: &'a TaskSet<'_>, context: &Context<'_>) -> Result<TaskSet<'a>> {
        let (columns, mut meter) = (self.center.len(), context.meter("prepare"));
        let mut tables = Vec::with_capacity(tasks.tables.len());
        for table in &tasks.tables {
            if columns == 0 {
                tables.push(table.borrowed());
                continue;
            }
            let mut values = vec![0.0; table.rows() * columns];
            for (i, row) in values.chunks_exact_mut(columns).enumerate() {
                // Fresh memory takes longer than a multiplication.
                meter.spend(8 * columns)?;
                table.copy_row(i, row);
                row.iter_mut().zip(&self.center).zip(&self.spread).for_each(|((v, center), spread)| *v = (*v - center) / spread);
            }
            tables.push(Matrix::dense(values, table.rows(), columns)?);
        }
        let mut scaled = tasks.on_tables(tables);
        for (target, (mean, spread)) in scaled.targets.iter_mut().zip(&self.targets) {
            if !tasks.outputs.classify() {
                target.y.iter_mut().for_each(|y| *y = (*y - mean) / spread);
            }
        }
        Ok(scaled)
    }

    /// Weights and intercepts for the data as they came.
    pub fn restore(&self, model: &mut MultiTaskSelectionModel) {
        let columns = self.center.len();
        for (task, &(mean, scale)) in self.targets.iter().enumerate() {
            let mut intercept = model.intercepts[task];
            if columns > 0 {
                for (j, w) in model.weights[task * columns..(task + 1) * columns].iter_mut().enumerate() {
                    *w *= scale / self.spread[j];
                    intercept -= *w * self.center[j] / scale;
                }
            }
            model.intercepts[task] = scale * intercept + mean;
        }
        let tasks = self.targets.len();
        let shared = model.machines.len() == 1;
        for (place, machine) in model.machines.iter_mut().enumerate() {
            let support = machine.support.len();
            for output in 0..machine.intercepts.len() {
                let task = if shared && tasks > 1 { output } else { place };
                let (mean, scale) = self.targets[task];
                machine.coefficients[output * support..(output + 1) * support].iter_mut().for_each(|a| *a *= scale);
                machine.intercepts[output] = scale * machine.intercepts[output] + mean;
            }
        }
    }
}
