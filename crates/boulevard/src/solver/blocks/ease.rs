//! Small bounds first: at a large C most of a cold fit on many rows goes into coefficients that wander between bounds far apart.
//!
//! The problem with an eighth of the bounds is much easier, and its solution times eight is a good start: what was at a bound is at the
//! new one, and most of those stay there. Gradients are linear in the point, so no kernel value is computed for it:
//!
//! ```text
//! g = K b + linear     becomes     8 (g - linear) + linear
//! ```
//! Powers of two are exact: bounds, sums and who is at a bound stay what they were.

use super::engine::{Load, Outcome};
use super::run::Loop;
use super::set::WorkingSet;
use crate::solver::dual::{DualProblem, Equality};
use crate::solver::smo::{is_endless, status};

/// From one stage to the next.
const FACTOR: f64 = 8.0;
/// Stages before the last at most.
const STAGES: usize = 2;
/// A stage ends at this violation, for targets whose slopes differ by 2 at the start.
const UNTIL: f64 = 1.0;
/// Smallest bound of a first stage, in units of the step that a variable would take alone: with smaller ones nearly everything is at a
/// bound, and there is nothing to learn.
const LEAST: f64 = 1.0;

/// Once there are so many sets' worth of support vectors, and more than this share of them is free, bounds do not matter: the stages are
/// left, and the point stays as it is.
const ENOUGH: usize = 4;
const LOOSE: f64 = 0.5;

/// Half the range of slopes at zero: the unit of violations.
pub(super) fn unit(linear: &[f64]) -> f64 {
    let (least, most) = linear.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    0.5 * (most - least)
}

/// The bounds of the stages before the last, smallest first; none where the problem is not one for them: sums other than zero, bounds
/// that are small already, or none worth the name. `diagonal` is the kernel's.
pub(super) fn stages(problem: &DualProblem<'_>, diagonal: f64, b: &[f64]) -> Vec<[Vec<f64>; 2]> {
    let (lower, upper) = (problem.lower, problem.upper);
    let around_zero = lower.iter().all(|&v| v <= 0.0) && upper.iter().all(|&v| v >= 0.0);
    if !around_zero || is_endless(problem) || b.iter().any(|&v| v != 0.0) || matches!(problem.equality, Equality::TwoSums(_)) {
        return Vec::new();
    }
    let largest = lower.iter().chain(upper).fold(0.0, |most: f64, v| most.max(v.abs()));
    let steps = largest * diagonal / unit(problem.linear);
    if !steps.is_finite() {
        return Vec::new();
    }
    let powers = (1..=STAGES as i32).rev().map(|power| FACTOR.powi(power)).filter(|by| steps / by >= LEAST);
    powers.map(|by| [lower, upper].map(|bounds| bounds.iter().map(|v| v / by).collect())).collect()
}

impl<'a> Loop<'a> {
    /// All stages but the last.
    pub(super) fn ease(&mut self, set: &mut WorkingSet) -> Outcome<()> {
        while !self.later.is_empty() {
            let answer = self.look(set)?;
            let target = (UNTIL * unit(self.problem.linear)).max(self.options.tolerance);
            self.descend(set, answer, target, true)?;
            if self.is_loose() {
                self.later = &self.later[self.later.len() - 1..];
                self.grow_by(1.0)?;
            } else {
                self.grow()?;
            }
        }
        Ok(())
    }

    /// Whether the bounds of an early stage are too wide to teach anything.
    pub(super) fn is_loose(&self) -> bool {
        !self.later.is_empty() && self.support > ENOUGH * self.plan.set && self.free as f64 > LOOSE * self.support as f64
    }

    /// Goes on with the bounds of the next stage, from the point and its gradient, grown with them. Every row is active afterwards.
    pub(super) fn grow(&mut self) -> Outcome<()> {
        self.grow_by(FACTOR)
    }

    fn grow_by(&mut self, factor: f64) -> Outcome<()> {
        let Some((next, later)) = self.later.split_first() else { return Ok(()) };
        self.widen()?;
        (self.problem, self.later) = (next, later);
        self.scale(factor)
    }

    /// For a fit that ends before its time: the problem itself, at the best point on the ray through zero and the one there is. A point that
    /// was just grown may be worse than none.
    pub(super) fn settle_for(&mut self) -> Outcome<()> {
        if !self.eased {
            return Ok(());
        }
        let gradient = self.engine.gradient()?;
        let (mut square, mut linear) = (0.0, 0.0);
        for ((b, g), l) in self.b.iter().zip(&gradient).zip(self.problem.linear) {
            square += b * (g - l);
            linear += b * l;
        }
        let most = FACTOR.powi(self.later.len() as i32);
        let best = if square > 0.0 { (-linear / square).clamp(0.0, most) } else { 1.0 };
        match self.later.split_last() {
            Some((last, _)) => (self.problem, self.later) = (last, &[]),
            None if best == 1.0 => return Ok(()),
            None => {}
        }
        self.scale(best)
    }

    /// Multiplies the point by a factor, every row being active.
    fn scale(&mut self, factor: f64) -> Outcome<()> {
        let mut gradient = self.engine.gradient()?;
        gradient.iter_mut().zip(self.problem.linear).for_each(|(g, linear)| *g = factor * (*g - linear) + linear);
        self.b.iter_mut().for_each(|b| *b *= factor);
        let status: Vec<u8> = (0..self.b.len()).map(|i| status(self.problem, i, self.b[i])).collect();
        self.park_at = f64::INFINITY;
        self.engine.load(&Load { gradient: &gradient, status: &status, kink: self.problem.kink })
    }
}
