//! Newton's steps: what pair steps would take thousands of rounds for, where the matrix of the free variables can be factored.
//!
//! At a large C most of a fit goes into settling free variables against each other. Their own problem, with all others fixed, is a linear
//! system. Two kinds of step are made of it, between bursts of rounds:
//!
//! - **face** ([`face`]): the free variables go to the solution of their system as far as bounds allow; nothing else moves. The step's
//!   length is chosen so that the objective cannot rise. Rounds after it release and repair.
//! - **active set** ([`active_set`]): near the solution, bound variables on the wrong side join, and those that hit a bound leave, until
//!   nothing changes: then the problem is solved. What does not get there is undone.
//!
//! Whether to try is decided by what the machine's work takes on paper, never by a clock: equal input takes equal steps.

mod active_set;
mod face;
mod schedule;
mod system;

pub(super) use schedule::{Factored, Schedule};

use self::schedule::Kind;
use super::engine::{Answer, Moved, Outcome, Want};
use super::run::Loop;
use super::set::WorkingSet;
use crate::solver::smo::{inside, status};

/// How a step came out.
enum Outcomes {
    /// The point moved.
    Moved(Answer),
    /// It did not, and will not soon.
    Failed,
}

impl Loop<'_> {
    /// One of Newton's steps, where it is time for one: the candidates after it, or none if the point is as it was.
    pub(super) fn newton(&mut self, set: &WorkingSet, answer: &Answer) -> Outcome<Option<Answer>> {
        let gap = answer.gap();
        let Some(kind) = self.schedule.due(gap, self.free, &self.factored) else { return Ok(None) };
        let (outcome, cost) = match kind {
            Kind::Face => self.face_step(set)?,
            Kind::ActiveSet => self.active_set(set)?,
        };
        let moved = matches!(outcome, Outcomes::Moved(_));
        if let Some(newton) = self.engine.newton() {
            let (problem, b) = (self.problem, &*self.b);
            self.factored.begin(newton.factored(), b.len(), |id| inside(problem, id as usize, b[id as usize]));
        }
        self.schedule.tried(kind, gap, cost, moved);
        Ok(match outcome {
            Outcomes::Moved(answer) => Some(answer),
            Outcomes::Failed => None,
        })
    }

    /// Group of a variable.
    pub(super) fn group(&self, id: u32) -> usize {
        usize::from(self.groups == 2 && self.problem.in_second_group(id as usize))
    }

    /// Moves variables to `values`, and asks for the next candidates, `count` of them.
    fn go(&mut self, ids: &[u32], values: &[f64], count: usize, kept: &[u32]) -> Outcome<Answer> {
        let moved: Vec<usize> = (0..ids.len()).filter(|&k| values[k] != self.b[ids[k] as usize]).collect();
        let moved_ids: Vec<u32> = moved.iter().map(|&k| ids[k]).collect();
        let before: Vec<f64> = ids.iter().map(|&id| self.b[id as usize]).collect();
        let steps: Vec<f64> = moved.iter().map(|&k| values[k] - before[k]).collect();
        let status: Vec<u8> = moved.iter().map(|&k| status(self.problem, ids[k] as usize, values[k])).collect();
        self.place(&moved, ids, values);
        let want = Want { count, kept, progress: self.progress(None) };
        let outcome = self.engine.step(Moved { ids: &moved_ids, steps: &steps, status: &status }, &want);
        if outcome.is_err() {
            // The gradient did not follow: the last point whose gradient is known stays.
            self.place(&moved, ids, &before);
        }
        outcome
    }
}
