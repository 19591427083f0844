//! How a trial of an automatic choice is judged on held-out rows: wrong decisions to be told, log losses to decide by.
//!
//! A log loss needs probabilities. Decision values become some by one factor per trial, their sharpness, which is fitted to the same rows:
//! one number for all of them takes nothing away from the comparison, and trials of different scales can be compared.

use super::model::MultiTaskSelectionModel;
use super::problem::tasks::{Outputs, TaskSet, TaskTarget};
use crate::error::Result;
use crate::observe::Context;
use crate::svm::argmax;

/// What rows count, in the order of their losses.
pub(super) fn row_weights(tasks: &TaskSet<'_>) -> Vec<f64> {
    if matches!(&tasks.outputs, Outputs::Classes(names) if names.len() > 2) {
        return (0..tasks.tables[0].rows()).map(|row| tasks.weight(0, row)).collect();
    }
    let mut weights = Vec::new();
    for target in &tasks.targets {
        weights.extend((0..target.y.len()).map(|row| tasks.weight(target.table, row)));
    }
    weights
}

/// What a model says of held-out rows (of every task).
pub(super) struct Said {
    /// Whether each row is decided wrongly, or the squared error.
    errors: Vec<f64>,
    /// How far every other class is above the row's own, `others` numbers per row; nothing in regression.
    above: Vec<f64>,
    others: usize,
}

impl Said {
    pub fn of(model: &MultiTaskSelectionModel, tasks: &TaskSet<'_>, context: &Context<'_>) -> Result<Self> {
        let values: Vec<Vec<f64>> = if matches!(&tasks.outputs, Outputs::Classes(names) if names.len() > 2) {
            let values = crate::svm::Model::decision_values_in(model, &tasks.tables[0], context)?;
            (0..tasks.targets.len()).map(|m| values.iter().skip(m).step_by(tasks.targets.len()).copied().collect()).collect()
        } else {
            let of = |(m, target): (usize, &TaskTarget)| model.task_values(&tasks.tables[target.table], m, context);
            tasks.targets.iter().enumerate().map(of).collect::<Result<_>>()?
        };
        let y: Vec<&[f64]> = tasks.targets.iter().map(|target| &target.y[..]).collect();
        Ok(Self::of_values(&tasks.outputs, &y, &values))
    }

    /// What values say of rows, both for every task.
    pub fn of_values(outputs: &Outputs, y: &[impl AsRef<[f64]>], values: &[Vec<f64>]) -> Self {
        let (mut errors, mut above) = (Vec::new(), Vec::new());
        if let Outputs::Classes(names) = outputs
            && names.len() > 2
        {
            let classes = names.len();
            for row in 0..values[0].len() {
                let values: Vec<f64> = values.iter().map(|of| of[row]).collect();
                let own = (0..classes).find(|&class| y[class].as_ref()[row] > 0.0).unwrap_or(0);
                errors.push(f64::from(u8::from(argmax(&values) != own)));
                above.extend((0..classes).filter(|&class| class != own).map(|class| values[class] - values[own]));
            }
            return Self { errors, above, others: classes - 1 };
        }
        let classify = outputs.classify();
        for (y, values) in y.iter().zip(values) {
            for (&y, f) in y.as_ref().iter().zip(values) {
                errors.push(if classify { f64::from(u8::from((*f > 0.0) != (y > 0.0))) } else { (y - f) * (y - f) });
                above.extend(classify.then_some(-y.signum() * f));
            }
        }
        Self { errors, above, others: usize::from(classify) }
    }
}

/// One trial over all folds.
pub(super) struct Pooled {
    /// The loss of every row, times what it counts.
    pub losses: Vec<f64>,
    /// What the wrong rows count, or the weighted squared errors.
    pub wrong: f64,
}

impl Pooled {
    /// What one trial said in every fold, and what all rows count.
    pub fn of(said: &[&Said], weights: &[f64]) -> Self {
        let errors = said.iter().flat_map(|said| &said.errors);
        let weighted: Vec<f64> = errors.zip(weights).map(|(error, weight)| error * weight).collect();
        let wrong = weighted.iter().sum();
        let others = said[0].others;
        if others == 0 {
            return Self { losses: weighted, wrong };
        }
        let above: Vec<f64> = said.iter().flat_map(|said| said.above.iter().copied()).collect();
        let sharpness = sharpness(&above, others, weights);
        let loss = |(above, weight): (&[f64], &f64)| weight * log_loss(above, sharpness).0;
        Self { losses: above.chunks_exact(others).zip(weights).map(loss).collect(), wrong }
    }
}

/// `ln(1 + sum exp(t a))` over what other classes are above, and its slope in `t`.
fn log_loss(above: &[f64], t: f64) -> (f64, f64) {
    let most = above.iter().fold(0.0, |most: f64, a| most.max(t * a));
    let (mut sum, mut slope) = ((-most).exp(), 0.0);
    for a in above {
        let part = (t * a - most).exp();
        sum += part;
        slope += a * part;
    }
    (most + sum.ln(), slope / sum)
}

/// The factor at which decision values have the lowest log loss, to a few percent: the loss is convex in it.
fn sharpness(above: &[f64], others: usize, weights: &[f64]) -> f64 {
    const STEPS: usize = 12;
    let (mut low, mut high) = (1e-2f64.ln(), 1e3f64.ln());
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        let slope: f64 = above.chunks_exact(others).zip(weights).map(|(above, weight)| weight * log_loss(above, middle.exp()).1).sum();
        if slope > 0.0 { high = middle } else { low = middle }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::{log_loss, sharpness};

    #[test]
    fn losses_do_not_depend_on_the_scale_of_decision_values() {
        // Two other classes per row; the last row is wrong.
        let above = [-1.0, -2.0, -0.5, -3.0, -2.5, -0.2, 0.4, -1.0];
        let weights = [1.0, 2.0, 1.0, 1.0];
        let mean = |factor: f64| {
            let above: Vec<f64> = above.iter().map(|a| factor * a).collect();
            let t = sharpness(&above, 2, &weights);
            above.chunks_exact(2).zip(&weights).map(|(above, weight)| weight * log_loss(above, t).0).sum::<f64>() / 5.0
        };
        assert!((mean(1.0) - mean(7.0)).abs() < 1e-3, "{} {}", mean(1.0), mean(7.0));
        // At the best sharpness no other is better.
        let at = |t: f64| above.chunks_exact(2).zip(&weights).map(|(above, weight)| weight * log_loss(above, t).0).sum::<f64>() / 5.0;
        assert!([0.1, 0.5, 1.0, 2.0, 4.0, 10.0].iter().all(|&t| at(t) >= mean(1.0) - 1e-3));
        assert!((log_loss(&[0.0], 3.0).0 - 2f64.ln()).abs() < 1e-15 && log_loss(&[800.0], 1.0).0 == 800.0);
    }
}
