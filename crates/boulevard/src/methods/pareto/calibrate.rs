//! Probabilities for the picked point: sigmoids on decisions of rows that were left out.

use super::model::ParetoModel;
use crate::data::Dataset;
use crate::data::split::stratified_k_fold;
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::svm::{Calibration, Learner, Sigmoid};

const FOLDS: usize = 5;

impl ParetoModel {
    /// Where the picked point lies: per machine its class and its sum as a share of the largest.
    pub(super) fn position(&self) -> Vec<(usize, f64)> {
        let balanced = self.parameters.bias == super::Bias::Objective;
        let machine = |machine: &super::ClassFront| {
            let place = machine.place(self.picked, self.front.len());
            let plus = self.codes.iter().filter(|&&code| code as usize == machine.class).count();
            let largest = if balanced { 2 * plus.min(self.codes.len() - plus) } else { self.codes.len() };
            (machine.class, machine.points[place].sum_alpha / largest as f64)
        };
        self.machines.iter().map(machine).collect()
    }

    /// The picked `alpha`s, spread out over all `rows` of the training table.
    pub(super) fn starts(&self, rows: usize) -> Vec<Vec<f64>> {
        let spread = |machine: &super::ClassFront| {
            let mut all = vec![0.0; rows];
            let alpha = machine.alpha(machine.place(self.picked, self.front.len()));
            self.rows.iter().zip(alpha).for_each(|(&row, &value)| all[row] = value);
            all
        };
        self.machines.iter().map(spread).collect()
    }

    /// Fits probabilities to the classifier; `data` is the table the model learnt from.
    ///
    /// Five folds, each solved at the picked position; Platt's sigmoid per output on the decisions of the rows left out. Probabilities
    /// of an evolved point rest on exact points at the same sum.
    pub fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
        data.validate()?;
        let classes = data.expect_classes()?;
        if classes.names() != self.classes || data.x.columns() != self.classifier.machine.features {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: classes or columns differ"));
        }
        let outputs = self.classifier.machine.outputs();
        // A row that no fold can judge is judged by the model that saw it.
        let mut values = self.classifier.raw_values(&data.x, context)?;
        let (position, starts) = (self.position(), self.starts(data.len()));
        let folds = stratified_k_fold(classes, FOLDS.min(data.len()), self.parameters.seed)?;
        for (done, fold) in folds.iter().enumerate() {
            context.step("calibrate", done, FOLDS);
            let present = |class: u32| fold.train.iter().any(|&row| classes.codes()[row] == class);
            if !classes.codes().iter().all(|&code| present(code)) {
                continue;
            }
            let train = self.parameters.training_part(data, &fold.train);
            let starts: Vec<Vec<f64>> = starts.iter().map(|alpha| fold.train.iter().map(|&row| alpha[row]).collect()).collect();
            let (model, _) = self.parameters.at_position(&train, &self.kernel, &position, &starts, context)?;
            let test = self.parameters.test_part(data, &fold.train, &fold.test);
            let raw = model.raw_values(&test, context)?;
            for (row, raw) in fold.test.iter().zip(raw.chunks_exact(outputs)) {
                values[row * outputs..(row + 1) * outputs].copy_from_slice(raw);
            }
        }
        let sigmoids = (0..outputs)
            .map(|output| {
                // Two classes: the one output is positive for the first.
                let rows: Vec<usize> = (0..data.len()).filter(|&row| values[row * outputs + output].is_finite()).collect();
                let decisions: Vec<f64> = rows.iter().map(|&row| values[row * outputs + output]).collect();
                let first: Vec<bool> = rows.iter().map(|&row| classes.codes()[row] as usize == output).collect();
                Sigmoid::fit(&decisions, &first, None)
            })
            .collect();
        self.classifier.calibration = Some(Calibration { sigmoids });
        Ok(())
    }
}
