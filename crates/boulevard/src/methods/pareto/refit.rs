//! A point of a front on other rows: the picked one on all of them.

use super::calibrate::Position;
use super::exact::costs::CostTask;
use super::exact::signed::SignedKernel;
use super::fronts::signs;
use super::model::{Output, Samples};
use super::parameters::ParetoSvc;
use super::point::facts;
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason};
use crate::solver::{Solver, TableKernel};
use crate::svm::{FitReport, SvcModel, worse};

impl ParetoSvc {
    /// A classifier at the given place of every machine's front, from all rows of `data`. `starts` are `alpha`s to begin with.
    ///
    /// Where values of C were judged, the machine is the one at that C: of the many minima of an indefinite kernel the one that a descent
    /// from nothing ends in, as when it was judged.
    pub(super) fn at_position(
        &self,
        data: &Dataset<'_>,
        kernel: &Kernel,
        position: &[Position],
        starts: &[Vec<f64>],
        context: &Context<'_>,
    ) -> Result<(SvcModel, StopReason)> {
        let classes = data.expect_classes()?;
        let room = data.weights_or_ones();
        let table = TableKernel::new(kernel, &data.x, context);
        let mut solved = Vec::new();
        let mut report = FitReport::default();
        for (machine, &Position { class, share, cost }) in position.iter().enumerate() {
            let signs = signs(classes.codes(), class);
            let has = |side: f64| signs.iter().zip(room.iter()).any(|(&y, &room)| y == side && room > 0.0);
            if !has(1.0) || !has(-1.0) {
                continue;
            }
            let source = SignedKernel::new(&table, &signs, self.cache_bytes(signs.len()), context);
            let task = self.task(&source, &signs, &room, self.balanced(), context);
            let mut solver = task.solver(Some(self.cache_bytes(signs.len())), context)?;
            let mut sum = share * task.largest();
            let (mut start, mut gradient) = (None, None);
            if let Some(cost) = cost {
                let own = CostTask { signs: &signs, room: &room, tolerance: self.tolerance, max_iterations: task.max_iterations };
                let mut machine = Solver::new(&table, Some(self.cache_bytes(signs.len())), context)?;
                if let Some(slot) = own.sweep(&mut machine, &[cost], &mut |_| true, context)?.pop() {
                    report.iterations += slot.iterations;
                    // What is left to do, for want of steps or of digits, the descent finishes and certifies.
                    report.stop = report.stop.worst(if slot.stop.is_cut_short() { slot.stop } else { report.stop });
                    sum = slot.alpha.iter().sum();
                    (start, gradient) = (Some(slot.alpha), Some(slot.gradient));
                }
            }
            let start = start.unwrap_or_else(|| task.fill(starts.get(machine).map_or(&room[..], Vec::as_slice), sum));
            let mut slot = task.descend(&mut solver, start, gradient)?;
            // With other rows q may vanish at this position, and a machine of rounding errors would be left: go on to the next one.
            while slot.stop == StopReason::Converged && sum < task.largest() && task.vanished(&slot, sum, &solver) {
                sum = (sum + task.largest() / self.n_points as f64).min(task.largest());
                slot = task.descend(&mut solver, task.fill(&slot.alpha, sum), None)?;
            }
            let facts = facts(&slot.alpha, &slot.gradient, &signs, &room, task.balanced);
            report.iterations += slot.iterations;
            report.stop = report.stop.worst(slot.stop);
            report.gap = worse(report.gap, facts.gap);
            report.violation = worse(report.violation, facts.violation);
            report.objective += 0.5 * facts.quadratic;
            report.rows = room.iter().filter(|&&room| room > 0.0).count();
            solved.push((class, slot.alpha, facts));
        }
        let rows: Vec<usize> = (0..data.len()).collect();
        let samples = Samples {
            kernel,
            rows: &rows,
            codes: classes.codes(),
            vectors: &data.x,
            features: data.x.columns(),
            classes: classes.names(),
            feature_names: &data.feature_names,
        };
        let outputs: Vec<Output<'_>> = solved
            .iter()
            .map(|(class, alpha, facts)| {
                let scale = if facts.lambda > 0.0 { 1.0 / facts.lambda } else { 1.0 };
                Output { class: *class, alpha, scale, bias: facts.bias }
            })
            .collect();
        let c = outputs.iter().map(|output| output.scale.ln()).sum::<f64>() / outputs.len().max(1) as f64;
        Ok((samples.classifier(&outputs, self.settings(), c.exp(), report), report.stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::generate;
    use crate::kernel::Gamma;
    use crate::svm::Learner;

    /// Machines at values of C that no step improves any more are a start for the descent, and their lack of digits is not the fit's.
    #[test]
    fn a_refit_that_reaches_its_gap_has_converged() {
        for seed in 0..5 {
            let data = generate::checkerboard(80, seed, 4, 4.0);
            let learner = ParetoSvc { kernel: Kernel::Multiquadric { gamma: Gamma::SCALE, coef0: 0.0 }, ..ParetoSvc::default() };
            let model = learner.fit_in(&data, &Context::single()).unwrap();
            assert!(model.report.gap <= learner.tolerance, "{:?}", model.report);
            assert_eq!(model.report.stop, StopReason::Converged, "{:?}", model.report);
        }
    }
}
