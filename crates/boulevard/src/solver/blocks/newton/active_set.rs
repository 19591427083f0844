//! The active set: systems over the free variables and those that should be free, until nobody changes sides.
//!
//! Whether a bound variable should be free is judged by its slope at the solution of the system before anything is cut: judged after the
//! cut, the method runs away from every start. Objective and sums are out of hand until it ends; if it does not end at a solution, point
//! and gradients come back as they were.

use super::super::engine::{Answer, Outcome};
use super::super::run::Loop;
use super::super::set::WorkingSet;
use super::Outcomes;
use super::system::{AT_FIRST, Members, ON_THE_WAY, direction};
use crate::solver::smo::inside;

/// Systems at most.
const ROUNDS: usize = 12;
/// The violation to reach, in tolerances.
const TARGET: f64 = 0.5;
/// Slopes this near to the multiplier, in tolerances, are on no side.
const BAND: f64 = 0.1;
/// Sums must be right to this, relative to their terms.
const SUMS: f64 = 1e-9;

impl Loop<'_> {
    /// Answers what it took, too, in seconds on paper.
    pub(super) fn active_set(&mut self, set: &WorkingSet) -> Outcome<(Outcomes, f64)> {
        let mut cost = 0.0;
        let Some(newton) = self.engine.newton() else { return Ok((Outcomes::Failed, 0.0)) };
        newton.remember()?;
        let before = self.b.to_vec();
        let solved = self.change_sides(&mut cost);
        if !matches!(solved, Ok(true)) {
            let ids: Vec<u32> = (0..before.len() as u32).filter(|&id| self.b[id as usize] != before[id as usize]).collect();
            let values: Vec<f64> = ids.iter().map(|&id| before[id as usize]).collect();
            self.place(&(0..ids.len()).collect::<Vec<_>>(), &ids, &values);
            if let Some(newton) = self.engine.newton() {
                newton.restore()?;
            }
        }
        let outcome = if solved? { Outcomes::Moved(self.look(set)?) } else { Outcomes::Failed };
        Ok((outcome, cost))
    }

    /// Whether it came to a solution.
    fn change_sides(&mut self, cost: &mut f64) -> Outcome<bool> {
        let (progress, target) = (self.progress(None), TARGET * self.options.tolerance);
        let Some(newton) = self.engine.newton() else { return Ok(false) };
        let (ids, gradient) = newton.active()?;
        let mut members = self.sides(&ids, &gradient, &gradient, self.middle_slopes(&ids, &gradient), &[]);
        let (mut missing, mut last) = ([0.0f64; 2], usize::MAX);
        for round in 0..ROUNDS {
            if members.len() < 2 || members.len() > self.schedule.most() {
                return Ok(false);
            }
            let all: Vec<usize> = (0..members.len()).collect();
            let Some(newton) = self.engine.newton() else { return Ok(false) };
            let differing = if round == 0 { AT_FIRST } else { ON_THE_WAY };
            let found = direction(newton, &members, &all, &members.slope, missing, differing, cost, &progress)?;
            let Some(found) = found else { return Ok(false) };
            let beyond: Vec<f64> = members.b.iter().zip(&found.d).map(|(b, d)| b + d).collect();
            let inside: Vec<f64> = all.iter().map(|&k| beyond[k].clamp(members.low[k], members.high[k])).collect();
            let cut: Vec<usize> = all.iter().copied().filter(|&k| inside[k] != beyond[k]).collect();
            // First to the solution itself, whose slopes decide, then back to the bounds.
            let mut answer = self.go(&members.ids, &beyond, 0, &[])?;
            let Some(newton) = self.engine.newton() else { return Ok(false) };
            let (ids, judged) = newton.active()?;
            let cut_ids: Vec<u32> = cut.iter().map(|&k| members.ids[k]).collect();
            if !cut.is_empty() {
                answer = self.go(&cut_ids, &cut.iter().map(|&k| inside[k]).collect::<Vec<_>>(), 0, &[])?;
            }
            let (was, is) = (members.sums(&members.b), members.sums(&inside));
            (0..2).for_each(|group| missing[group] -= is[group] - was[group]);
            let terms = 1.0 + inside.iter().map(|v| v.abs()).sum::<f64>();
            let balanced = missing.iter().all(|missing| missing.abs() <= SUMS * terms);
            if answer.gap() <= target && balanced {
                return self.balanced(&members, inside, missing);
            }
            let Some(newton) = self.engine.newton() else { return Ok(false) };
            let (_, gradient) = newton.active()?;
            let next = self.sides(&ids, &judged, &gradient, found.multipliers, &cut_ids);
            let kept = next.ids.iter().filter(|id| members.ids.binary_search(id).is_ok()).count();
            let changed = next.len() + members.len() - 2 * kept;
            if changed == 0 || changed > last {
                return Ok(false);
            }
            (members, last) = (next, changed);
        }
        Ok(false)
    }

    /// The last digits of the sums, after which the violation must still be good.
    fn balanced(&mut self, members: &Members, mut values: Vec<f64>, missing: [f64; 2]) -> Outcome<bool> {
        members.balance(&mut values, missing);
        let answer: Answer = self.go(&members.ids, &values, 0, &[])?;
        Ok(answer.gap() <= 2.0 * TARGET * self.options.tolerance)
    }

    /// Per group the median slope of free variables.
    fn middle_slopes(&self, ids: &[u32], gradient: &[f64]) -> [f64; 2] {
        let mut slopes: [Vec<f64>; 2] = Default::default();
        for (&id, &g) in ids.iter().zip(gradient) {
            let b = self.b[id as usize];
            if inside(self.problem, id as usize, b) {
                slopes[self.group(id)].push(if self.problem.kink == 0.0 { g } else { g + self.problem.kink * b.signum() });
            }
        }
        slopes.map(|mut slopes| {
            let middle = slopes.len() / 2;
            if slopes.is_empty() { 0.0 } else { *slopes.select_nth_unstable_by(middle, f64::total_cmp).1 }
        })
    }

    /// Free variables, and bound ones that would go inside at these multipliers by the gradients `judged`, other than those just cut.
    /// Rising, as the active ones are.
    fn sides(&self, ids: &[u32], judged: &[f64], gradient: &[f64], multipliers: [f64; 2], cut: &[u32]) -> Members {
        let (problem, band) = (self.problem, BAND * self.options.tolerance);
        let mut members = Members::new();
        for (&id, (&judged, &g)) in ids.iter().zip(judged.iter().zip(gradient)) {
            let (i, b, multiplier) = (id as usize, self.b[id as usize], multipliers[self.group(id)]);
            let kinked = problem.kink != 0.0;
            if inside(problem, i, b) {
                self.join(&mut members, id, if kinked { b.signum() } else { 0.0 }, g);
                continue;
            }
            if cut.binary_search(&id).is_ok() {
                continue;
            }
            let (up, down) = if kinked { (if b >= 0.0 { 1.0 } else { -1.0 }, if b > 0.0 { 1.0 } else { -1.0 }) } else { (0.0, 0.0) };
            if b < problem.upper[i] && judged + up * problem.kink < multiplier - band {
                self.join(&mut members, id, up, g);
            } else if b > problem.lower[i] && judged + down * problem.kink > multiplier + band {
                self.join(&mut members, id, down, g);
            }
        }
        members
    }
}
