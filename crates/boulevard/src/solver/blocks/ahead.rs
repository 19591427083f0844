//! Looking ahead: where the last sweeps were going, without a kernel value.
//!
//! Near the solution sets settle the free variables against each other, and every sweep over them removes about the same share of what is
//! left. Some points of the last sweeps and their gradients are remembered; gradients are linear in the point, so the objective is known on
//! the whole flat through these points, and its minimum there costs a handful of sums:
//!
//! ```text
//! d_j = b - b_j,  K d_j = g - g_j:      minimize over c   sum_j c_j g'd_j + 1/2 sum_ij c_i c_j d_i'K d_j
//! ```
//! (Anderson's way to speed up a fixed-point iteration, as Bertrand & Massias 2021 use it for descent by coordinates.) Variables that would
//! leave their bounds stop there and others take over what their sum lacks, which costs the columns of both. The step is undone if the
//! objective did not fall. At 80 000 rows and C = 10 a fifth of all columns and a tenth of the time is saved.

use super::ease::unit;
use super::engine::{Answer, Moved, Outcome, Want};
use super::run::Loop;
use super::set::WorkingSet;
use crate::linalg::{cholesky, dot, solve};
use crate::solver::smo::{inside, status};

/// Points that are remembered. (Three and eight are about as good.)
const POINTS: usize = 5;
/// A point is remembered when so many variables moved for every free one.
const SWEEP: f64 = 0.3;
/// Not before this violation, for targets whose slopes differ by 2 at the start: further away bounds decide.
const FROM: f64 = 0.3;
/// For every variable that stops at a bound so many others take over what the sum lacks.
const TAKERS: usize = 4;
/// And have room for this many times as much.
const ROOM: f64 = 4.0;
/// Added to the diagonal of the small system, relative: sweeps that went the same way.
const RIDGE: f64 = 1e-9;

/// A point and its gradient, by place among the active variables.
type Point = (Vec<f64>, Vec<f64>);

/// Points of the last sweeps.
#[derive(Default)]
pub(super) struct Trail {
    points: Vec<Point>,
    /// Variables that moved since the last of them.
    moved: usize,
}

impl Trail {
    /// Other rows are active now, or their gradients were computed anew.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// A round that moved so many variables.
    pub(super) fn round(&mut self, moved: usize) {
        self.moved += moved;
    }
}

impl Loop<'_> {
    /// Remembers the point after a sweep, and steps ahead where there are enough of them: the candidates after that.
    pub(super) fn look_ahead(&mut self, set: &WorkingSet, gap: f64) -> Outcome<Option<Answer>> {
        let due = self.trail.points.is_empty() || self.trail.moved as f64 >= SWEEP * self.free as f64;
        if !self.plan.ahead || !self.later.is_empty() || !due || gap > FROM * unit(self.problem.linear) {
            return Ok(None);
        }
        let Some((ids, gradient)) = self.engine.active_gradient() else { return Ok(None) };
        let b: Vec<f64> = ids.iter().map(|&id| self.b[id as usize]).collect();
        self.trail.moved = 0;
        if self.trail.points.len() < POINTS {
            self.trail.points.push((b, gradient));
            return Ok(None);
        }
        let points = std::mem::take(&mut self.trail.points);
        let Some((step, change)) = self.best(&ids, &points, &b, &gradient) else { return Ok(None) };
        let along: Vec<f64> = b.iter().zip(&step).map(|(b, step)| b + step).collect();
        let Some(to) = self.within_bounds(&ids, &b, &along) else { return Ok(None) };
        let statuses =
            |values: &[f64]| -> Vec<u8> { ids.iter().zip(values).map(|(&id, &v)| status(self.problem, id as usize, v)).collect() };
        let (before, after) = (statuses(&b), statuses(&to));
        let beside: Vec<usize> = (0..ids.len()).filter(|&place| to[place] != along[place]).collect();
        let of = |values: &dyn Fn(usize) -> f64| -> Vec<f64> { beside.iter().map(|&place| values(place)).collect() };
        let (beside_ids, steps) = (beside.iter().map(|&place| ids[place]).collect::<Vec<_>>(), of(&|place| to[place] - along[place]));
        let beside_status: Vec<u8> = beside.iter().map(|&place| after[place]).collect();
        let there: Vec<f64> = gradient.iter().zip(&change).map(|(g, change)| g + change).collect();
        self.engine.set_active(&there, &after);
        let want = Want { count: 0, kept: &[], progress: self.progress(Some(gap)) };
        let outcome = self.engine.step(Moved { ids: &beside_ids, steps: &steps, status: &beside_status }, &want);
        let reached = outcome.as_ref().ok().and_then(|_| self.engine.active_gradient());
        let fell = reached.is_some_and(|(_, reached)| {
            let kinks: f64 = to.iter().zip(&b).map(|(to, b)| to.abs() - b.abs()).sum();
            let slopes = |place: usize| 0.5 * (to[place] - b[place]) * (gradient[place] + reached[place]);
            (0..ids.len()).map(slopes).sum::<f64>() + self.problem.kink * kinks < 0.0
        });
        if !fell {
            self.engine.set_active(&gradient, &before);
            return outcome.map(|_| None);
        }
        let moved: Vec<usize> = (0..ids.len()).filter(|&place| to[place] != b[place]).collect();
        self.place(&moved, &ids, &to);
        self.look(set).map(Some)
    }

    /// The way to the least objective on the flat through the points, and the gradient's change along it.
    fn best(&self, ids: &[u32], points: &[Point], b: &[f64], gradient: &[f64]) -> Option<Point> {
        let away = |from: &[f64], to: &[f64]| -> Vec<f64> { to.iter().zip(from).map(|(to, from)| to - from).collect() };
        let ways: Vec<Point> = points.iter().map(|(point, slopes)| (away(point, b), away(slopes, gradient))).collect();
        // On its side of the kink a variable's price is a slope like any other.
        let slopes: Vec<f64> =
            gradient.iter().zip(b).map(|(g, b)| if *b == 0.0 { *g } else { g + self.problem.kink * b.signum() }).collect();
        let m = ways.len();
        let mut matrix = vec![0.0; m * m];
        for (i, (way, _)) in ways.iter().enumerate() {
            for (j, (_, change)) in ways.iter().enumerate().take(i + 1) {
                matrix[i * m + j] = dot(way, change);
            }
            matrix[i * m + i] *= 1.0 + RIDGE;
        }
        let mut shares: Vec<f64> = ways.iter().map(|(way, _)| -dot(way, &slopes)).collect();
        if !cholesky(&mut matrix, m) {
            return None;
        }
        solve(&matrix, m, &mut shares);
        let mut sum = (vec![0.0; ids.len()], vec![0.0; ids.len()]);
        for ((way, change), share) in ways.iter().zip(&shares) {
            sum.0.iter_mut().zip(way).for_each(|(sum, value)| *sum += share * value);
            sum.1.iter_mut().zip(change).for_each(|(sum, value)| *sum += share * value);
        }
        sum.0.iter().chain(&sum.1).all(|value| value.is_finite()).then_some(sum)
    }

    /// The point with every variable within its bounds, on the side of the kink where it was, and the sums as they were; none if nobody has
    /// room for what they lack.
    fn within_bounds(&self, ids: &[u32], b: &[f64], along: &[f64]) -> Option<Vec<f64>> {
        let problem = self.problem;
        let bounds = |place: usize| {
            let (id, kinked) = (ids[place] as usize, problem.kink != 0.0);
            let low = if kinked && b[place] >= 0.0 { problem.lower[id].max(0.0) } else { problem.lower[id] };
            let high = if kinked && b[place] <= 0.0 { problem.upper[id].min(0.0) } else { problem.upper[id] };
            (low, high)
        };
        let mut to: Vec<f64> = (0..ids.len()).map(|place| along[place].clamp(bounds(place).0, bounds(place).1)).collect();
        for group in 0..self.groups {
            let members: Vec<usize> = (0..ids.len()).filter(|&place| self.group(ids[place]) == group).collect();
            let lacking: f64 = members.iter().map(|&place| b[place] - to[place]).sum();
            let stopped = members.iter().filter(|&&place| to[place] != along[place]).count();
            let room = |place: usize| if lacking > 0.0 { bounds(place).1 - to[place] } else { to[place] - bounds(place).0 };
            let free = members.iter().filter(|&&place| inside(problem, ids[place] as usize, to[place]));
            let mut takers: Vec<(usize, f64)> = free.map(|&place| (place, room(place))).collect();
            takers.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            let mut total = 0.0;
            let enough = |&(count, total): &(usize, f64)| count >= TAKERS * stopped && total >= ROOM * lacking.abs();
            let count = takers
                .iter()
                .enumerate()
                .map(|(count, (_, room))| {
                    total += room;
                    (count + 1, total)
                })
                .find(enough)
                .map_or(takers.len(), |(count, _)| count);
            total = takers[..count].iter().map(|(_, room)| room).sum();
            if stopped == 0 {
                continue;
            }
            if !(total.is_finite() && total > lacking.abs()) {
                return None;
            }
            for &(place, room) in &takers[..count] {
                let (low, high) = bounds(place);
                // Rounding must not lead out of the bounds.
                to[place] = (to[place] + lacking * (room / total)).clamp(low, high);
            }
        }
        Some(to)
    }
}
