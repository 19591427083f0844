//! The face step: free variables to the solution of their own problem, as far as it helps.
//!
//! ```text
//! solve; cut at the bounds; those that were cut stay there; again, until nothing is cut
//! then the step's length along the whole way that makes the objective least
//! ```

use super::super::engine::{Moved, Outcome};
use super::super::run::Loop;
use super::super::set::WorkingSet;
use super::Outcomes;
use super::system::{AT_FIRST, Direction, Members, ON_THE_WAY, direction};
use crate::solver::smo::inside;

/// Systems at most.
const SOLVES: usize = 10;
/// A step whose first solution cuts more than this share would end nowhere near it.
const FAR: f64 = 0.6;
/// So few cut do not need another solution: what their sums lack is spread over the others.
const FEW: f64 = 0.002;
/// Shorter steps, in units of the whole way, were not worth the solution.
const SHORTEST: f64 = 0.01;

impl Loop<'_> {
    /// Free variables among the active ones, with their slopes.
    fn free_members(&self, ids: &[u32], gradient: &[f64]) -> Members {
        let mut members = Members::new();
        let (problem, kink) = (self.problem, self.problem.kink);
        for (&id, &g) in ids.iter().zip(gradient) {
            let (i, b) = (id as usize, self.b[id as usize]);
            if inside(problem, i, b) {
                self.join(&mut members, id, if kink == 0.0 { 0.0 } else { b.signum() }, g);
            }
        }
        members
    }

    /// A member on one side of the kink: `side` is the sign of the values it may have, or 0 if there is no kink.
    pub(super) fn join(&self, members: &mut Members, id: u32, side: f64, gradient: f64) {
        let (problem, i) = (self.problem, id as usize);
        members.ids.push(id);
        members.group.push(self.group(id));
        members.b.push(self.b[i]);
        members.low.push(if side > 0.0 { problem.lower[i].max(0.0) } else { problem.lower[i] });
        members.high.push(if side < 0.0 { problem.upper[i].min(0.0) } else { problem.upper[i] });
        members.slope.push(gradient + side * problem.kink);
    }

    /// Answers what it took, too, in seconds on paper.
    pub(super) fn face_step(&mut self, set: &WorkingSet) -> Outcome<(Outcomes, f64)> {
        let progress = self.progress(None);
        let Some(newton) = self.engine.newton() else { return Ok((Outcomes::Failed, 0.0)) };
        let (ids, gradient) = newton.active()?;
        let members = self.free_members(&ids, &gradient);
        let size = members.len();
        let (mut x, mut slopes, mut open) = (members.b.clone(), members.slope.clone(), (0..size).collect::<Vec<usize>>());
        let wanted = members.sums(&members.b);
        let failed = |cost| Ok((Outcomes::Failed, cost));
        let (mut solves, mut cost, mut feasible) = (0, 0.0, false);
        while solves < SOLVES && !feasible && !open.is_empty() {
            let Some(newton) = self.engine.newton() else { return failed(cost) };
            let sums = members.sums(&x);
            let missing = [wanted[0] - sums[0], wanted[1] - sums[1]];
            let differing = if solves == 0 { AT_FIRST } else { ON_THE_WAY };
            let solved = direction(newton, &members, &open, &slopes, missing, differing, &mut cost, &progress)?;
            solves += 1;
            let Some(found) = solved else { return failed(cost) };
            let before = x.clone();
            let mut cut = 0;
            for (&k, d) in open.iter().zip(&found.d) {
                let target = x[k] + d;
                x[k] = target.clamp(members.low[k], members.high[k]);
                cut += usize::from(x[k] != target);
            }
            if cut as f64 > FAR * open.len() as f64 {
                return failed(cost);
            }
            feasible = cut == 0 || (cut as f64 <= FEW * open.len() as f64 && spread(&members, &open, &found, wanted, &mut x));
            let moved: Vec<usize> = (0..size).filter(|&k| x[k] != before[k]).collect();
            let moved_ids: Vec<u32> = moved.iter().map(|&k| members.ids[k]).collect();
            let steps: Vec<f64> = moved.iter().map(|&k| x[k] - before[k]).collect();
            let change = newton.product(&members.ids, Moved { ids: &moved_ids, steps: &steps, status: &[] })?;
            slopes.iter_mut().zip(&change).for_each(|(slope, change)| *slope += change);
            open.retain(|&k| members.low[k] < x[k] && x[k] < members.high[k]);
        }
        if !feasible {
            return failed(cost);
        }
        // The objective along the way is a parabola.
        let way: Vec<f64> = x.iter().zip(&members.b).map(|(x, b)| x - b).collect();
        let descent: f64 = way.iter().zip(&members.slope).map(|(d, slope)| d * slope).sum();
        let curvature: f64 = way.iter().zip(slopes.iter().zip(&members.slope)).map(|(d, (after, before))| d * (after - before)).sum();
        let length = if curvature > 0.0 { (-descent / curvature).min(1.0) } else { 1.0 };
        if descent.is_nan() || descent >= 0.0 || length < SHORTEST {
            return failed(cost);
        }
        let mut values: Vec<f64> = (0..size)
            .map(|k| if length == 1.0 { x[k] } else { (members.b[k] + length * way[k]).clamp(members.low[k], members.high[k]) })
            .collect();
        let sums = members.sums(&values);
        members.balance(&mut values, [wanted[0] - sums[0], wanted[1] - sums[1]]);
        let answer = self.go(&members.ids, &values, set.wanted(self.groups), set.kept())?;
        Ok((Outcomes::Moved(answer), cost))
    }
}

/// Spreads what the sums lack over the open members; whether that was possible.
fn spread(members: &Members, open: &[usize], found: &Direction, wanted: [f64; 2], x: &mut [f64]) -> bool {
    const ROUNDS: usize = 30;
    for group in 0..2 {
        for round in 0..=ROUNDS {
            let missing = wanted[group] - members.sums(x)[group];
            if missing.abs() <= 1e-12 * (1.0 + wanted[group].abs()) {
                break;
            }
            let takes = |k: usize| members.group[k] == group && if missing > 0.0 { x[k] < members.high[k] } else { x[k] > members.low[k] };
            let share: Vec<f64> =
                open.iter().zip(&found.even[group]).map(|(&k, even)| if takes(k) { even.max(0.0) } else { 0.0 }).collect();
            let all: f64 = share.iter().sum();
            if round == ROUNDS || all <= 0.0 {
                return false;
            }
            for (&k, share) in open.iter().zip(&share) {
                x[k] = (x[k] + missing * share / all).clamp(members.low[k], members.high[k]);
            }
        }
    }
    true
}
