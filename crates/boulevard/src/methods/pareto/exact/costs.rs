//! Coarse points of a front by C instead of by sum: the plain machine's problem, as a grid search solves it.
//!
//! With an intercept and a positive semi-definite kernel the machine at `C` is the point of the front whose multiplier is `1 / C`, at
//! `alpha = |b| / C`. The signs are in the bounds (`b = y alpha C`), so the kernel's own rows serve all hold-outs and all classes, and
//! along a rising C every solution is the start of the next. For points that are only judged that is cheaper than slots of given sums,
//! which need an exact face each.

use super::slots::{POINTS, Slot};
use crate::error::Result;
use crate::observe::{Context, StopReason};
use crate::solver::{DualProblem, DualSolution, Equality, Options, Solver, Start, along_ray};

/// One machine on some rows.
pub(in super::super) struct CostTask<'a> {
    /// +1 and -1.
    pub signs: &'a [f64],
    /// What rows weigh; 0 for rows that are held out.
    pub room: &'a [f64],
    /// KKT violation to reach, in units of the margin.
    pub tolerance: f64,
    /// Steps per point at most.
    pub max_iterations: u64,
}

impl CostTask<'_> {
    /// Solves for `costs`, which rise; by rising sum, which is by falling C. It ends where it is stopped, where no row is at its bound any
    /// more (a larger C has the same machine), and where `go_on`, which sees every point, has seen enough.
    pub(in super::super) fn sweep(
        &self,
        solver: &mut Solver<'_>,
        costs: &[f64],
        go_on: &mut dyn FnMut(&Slot) -> bool,
        context: &Context<'_>,
    ) -> Result<Vec<Slot>> {
        let n = self.signs.len();
        let linear: Vec<f64> = (0..n).map(|i| if self.room[i] > 0.0 { -self.signs[i] } else { 0.0 }).collect();
        let options = Options { tolerance: self.tolerance, max_iterations: Some(self.max_iterations), shrinking: false, polish: false };
        let mut slots: Vec<Slot> = Vec::with_capacity(costs.len());
        let mut last: Option<(f64, DualSolution)> = None;
        for (place, &cost) in costs.iter().enumerate() {
            let bound = |i: usize, side: f64| if self.signs[i] == side { side * cost * self.room[i] } else { 0.0 };
            let lower: Vec<f64> = (0..n).map(|i| bound(i, -1.0)).collect();
            let upper: Vec<f64> = (0..n).map(|i| bound(i, 1.0)).collect();
            let bounds = |i: usize| (lower[i], upper[i]);
            let start = last.take().map(|(before, last)| along_ray(&last, |i| linear[i], 0.0, cost / before, bounds));
            let (begin, known) = Start::parts(start);
            let problem =
                DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: begin.as_deref() };
            let found = solver.solve_from(&problem, known, &options)?;
            let alpha: Vec<f64> = (0..n).map(|i| self.share(found.coefficients[i].abs(), cost, i)).collect();
            let gradient: Vec<f64> = (0..n).map(|i| self.signs[i] * (found.gradient[i] - linear[i]) / cost).collect();
            let quadratic = alpha.iter().zip(&gradient).map(|(a, g)| a * g).sum();
            let free = (0..n).all(|i| alpha[i] < self.room[i] || self.room[i] == 0.0);
            let mut slot = Slot { alpha, gradient, quadratic, iterations: found.iterations, stop: found.stop };
            if let Some(reason) = context.step(POINTS, place + 1, costs.len()) {
                slot.stop = slot.stop.worst(reason);
            }
            let stopped = matches!(slot.stop, StopReason::TimeLimit | StopReason::Interrupted);
            let enough = !go_on(&slot);
            slots.push(slot);
            if stopped || free || enough {
                break;
            }
            last = Some((cost, found));
        }
        slots.reverse();
        Ok(slots)
    }

    /// A coefficient as a share of C: at its bound exactly the row's room.
    fn share(&self, coefficient: f64, cost: f64, i: usize) -> f64 {
        if coefficient >= cost * self.room[i] { self.room[i] } else { (coefficient / cost).min(self.room[i]) }
    }
}

/// Values of C for a kernel whose values are of the given size: slack is measured in margins, and a margin in kernel values. `finer` ones
/// have one more between any two.
pub(in super::super) fn costs(size: f64, finer: bool) -> Vec<f64> {
    /// From 1/32 to 512, a factor of 4 apart, as usual grids have it.
    const POWERS: std::ops::RangeInclusive<i32> = -5..=9;
    let size = if size > 0.0 && size.is_finite() { size } else { 1.0 };
    POWERS.step_by(if finer { 1 } else { 2 }).map(|power| 2f64.powi(power) / size).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::point::facts;
    use super::*;
    use crate::data::generate;
    use crate::kernel::Kernel;
    use crate::solver::TableKernel;

    #[test]
    fn machines_at_a_cost_are_points_of_the_front() {
        let data = generate::two_gaussians(80, 1, 2, 1.5);
        let context = Context::single();
        let signs: Vec<f64> = data.expect_classes().unwrap().codes().iter().map(|&code| if code == 1 { 1.0 } else { -1.0 }).collect();
        let room: Vec<f64> = (0..80).map(|i| if i % 5 == 0 { 0.0 } else { 1.0 + (i % 2) as f64 }).collect();
        let table = TableKernel::new(&Kernel::rbf(0.3), &data.x, &context);
        let mut solver = Solver::new(&table, None, &context).unwrap().shared();
        let task = CostTask { signs: &signs, room: &room, tolerance: 1e-9, max_iterations: 1_000_000 };
        let costs = costs(1.0, false);
        let slots = task.sweep(&mut solver, &costs, &mut |_| true, &context).unwrap();
        assert!(
            slots.len() > 4 && slots.windows(2).all(|pair| pair[0].alpha.iter().sum::<f64>() < pair[1].alpha.iter().sum::<f64>() + 1e-9)
        );
        let mut below = 0;
        for (slot, cost) in slots.iter().rev().zip(&costs) {
            let found = facts(&slot.alpha, &slot.gradient, &signs, &room, true);
            assert!(found.gap < 1e-6, "C = {cost}: {found:?}");
            // Where all room of one class is used, one point serves all smaller C.
            let side = |sign: f64| signs.iter().zip(&room).filter(|(y, _)| **y == sign).map(|(_, room)| room).sum::<f64>();
            if found.sum < 2.0 * side(1.0).min(side(-1.0)) - 1e-6 {
                assert!((found.lambda * cost - 1.0).abs() < 1e-6, "C = {cost}: {found:?}");
                below += 1;
            }
            assert!(slot.alpha.iter().zip(&room).all(|(alpha, room)| (0.0..=*room).contains(alpha)));
            // The gradient, carried along the ray, is that of the point.
            let column = |j: usize| (0..80).map(|i| signs[i] * slot.alpha[i] * kernel(&data, i, j)).sum::<f64>() * signs[j];
            (0..80).for_each(|j| assert!((column(j) - slot.gradient[j]).abs() < 1e-9));
        }
        assert!(below > 3, "{below}");
        let first = task.sweep(&mut solver, &costs, &mut |_| false, &context).unwrap();
        assert_eq!(first.len(), 1, "enough after one");
    }

    fn kernel(data: &crate::data::Dataset<'_>, i: usize, j: usize) -> f64 {
        let square: f64 = (0..2).map(|k| (data.x.get(i, k) - data.x.get(j, k)).powi(2)).sum();
        (-0.3 * square).exp()
    }
}
