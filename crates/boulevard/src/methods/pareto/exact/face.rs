//! Newton's method on a face of the box: the free variables are solved for as linear equations.
//!
//! Near the hard margin a front's problems are so badly conditioned that pair steps need millions of iterations. With `F` the variables
//! strictly inside the box and one multiplier per kept sum,
//! ```text
//! Q_FF d - rho 1 = -g_F,    1'd = 0
//! ```
//! is the step to the best point of the face. If the box is in the way the step ends at the first bound, that variable leaves `F` (its
//! row and column leave the Cholesky factor, O(m^2)), and the rest goes on. The objective never rises, and the sums stay. Which
//! variables belong on which side is left to the pair steps.

use crate::kernel::{self, KernelRows};
use crate::linalg::{UpdatedFactor, dot};

/// Free variables up to which a factor is kept.
const MOST_FREE: usize = 5000;

/// Free variables up to which a factor is kept within `memory` bytes: a quarter of it for the factor, its room to grow and the matrix it
/// is made of.
pub(super) fn most_free(memory: Option<usize>) -> usize {
    const BYTES: f64 = 2.6 * size_of::<f64>() as f64;
    memory.map_or(MOST_FREE, |memory| MOST_FREE.min((0.25 * memory as f64 / BYTES).sqrt() as usize))
}
/// Added to the diagonal, relative to its largest value, the smallest that works: free sets may exceed the matrix' numerical rank.
const RIDGES: [f64; 3] = [1e-13, 1e-12, 1e-11];

/// A point with its gradient `Q alpha`, and the side whose sum each variable belongs to.
pub(super) struct Point<'a> {
    pub alpha: &'a mut [f64],
    pub gradient: &'a mut [f64],
    /// 0 or 1 per variable.
    pub sides: &'a [u8],
    /// The largest value of each variable.
    pub room: &'a [f64],
}

/// What a descent came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaceStep {
    /// The objective fell.
    Gained,
    /// The point is the best of its face, as far as rounding lets one see.
    Best,
    /// Too many free variables, or a face that curves downwards.
    NoFactor,
}

/// Moves to the best point of the current face as far as the box allows. Variables at a bound that want to leave it may join the face:
/// those that the joint step would push out of the box leave again where they stand.
///
/// `kept` holds the factor from call to call: neighboring faces differ in a few variables, which cost `O(m^2)` each instead of `O(m^3)`
/// for all. A long walk ends early, at a point as sound as any, when `stop` says so.
pub(super) fn descend(
    rows: &dyn KernelRows<f64>,
    largest: f64,
    point: &mut Point<'_>,
    joining: &[usize],
    kept: &mut Option<Face>,
    most: usize,
    stop: &dyn Fn() -> bool,
) -> FaceStep {
    let n = point.alpha.len();
    let mut free: Vec<usize> = (0..n).filter(|&i| point.alpha[i] > 0.0 && point.alpha[i] < point.room[i]).collect();
    free.extend(joining);
    if free.len() < 2 {
        return FaceStep::Best;
    }
    if free.len() > most {
        return FaceStep::NoFactor;
    }
    let followed = kept.take().and_then(|mut face| face.follow(rows, &free, point).then_some(face));
    let mut face = match followed {
        Some(face) => face,
        None => {
            let plain = RIDGES.iter().find_map(|ridge| Face::new(rows, &free, ridge * largest, 0.0, point));
            // A kernel may be positive only where the sums are kept (the multiquadric, with balanced classes): a constant changes nothing.
            let shifted = || RIDGES.iter().find_map(|ridge| Face::new(rows, &free, ridge * largest, 2.0, point));
            let Some(face) = plain.or_else(shifted) else { return FaceStep::NoFactor };
            face
        }
    };
    let updated = face.changes > 0;
    let moves = face.walk(point, stop);
    *kept = Some(face);
    let (mut moved, mut steps): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    for (i, value) in settle(moves, point) {
        if value != point.alpha[i] {
            moved.push(i);
            steps.push(value - point.alpha[i]);
        }
    }
    let change = rows.weighted_sum(&moved, &steps, 0..n);
    // q changes by 2 d'g + d'Qd.
    let gain: f64 = moved.iter().zip(&steps).map(|(&i, step)| step * (2.0 * point.gradient[i] + change[i])).sum();
    if gain.is_nan() || gain >= 0.0 {
        if updated {
            // The factor has been changed many times: try once more with a new one.
            *kept = None;
            return descend(rows, largest, point, joining, kept, most, stop);
        }
        return FaceStep::Best;
    }
    moved.iter().zip(&steps).for_each(|(&i, step)| point.alpha[i] = (point.alpha[i] + step).clamp(0.0, point.room[i]));
    point.gradient.iter_mut().zip(&change).for_each(|(g, c)| *g += c);
    FaceStep::Gained
}

/// Rounding in nearly singular systems leaves something in the sums: gives it back to those with room.
fn settle(mut moves: Vec<(usize, f64)>, point: &Point<'_>) -> Vec<(usize, f64)> {
    for side in 0..2 {
        let of_side = |(i, _): &&(usize, f64)| point.sides[*i] == side;
        let error: f64 = moves.iter().filter(of_side).map(|(i, value)| point.alpha[*i] - value).sum();
        let roomy = |(i, value): &(usize, f64)| point.sides[*i] == side && *value > 0.0 && *value < point.room[*i];
        let count = moves.iter().filter(|&item| roomy(item)).count();
        for item in moves.iter_mut().filter(|item| roomy(item)) {
            item.1 = (item.1 + error / count as f64).clamp(0.0, point.room[item.0]);
        }
    }
    moves
}

/// The equations of the free variables.
#[derive(Clone, Debug)]
pub(super) struct Face {
    factor: UpdatedFactor,
    /// The variables, in the order of the factor.
    members: Vec<usize>,
    /// Side of each member.
    sides: Vec<u8>,
    /// Gradient of each member.
    gradient: Vec<f64>,
    /// Added to the diagonal.
    ridge: f64,
    /// Added within a side and taken between sides: steps that keep both sums do not notice.
    shift: f64,
    /// Variables that came or went since the factor was new.
    changes: usize,
}

/// One row of the matrix.
fn full_row<'a>(rows: &'a dyn KernelRows<f64>, row: usize, n: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
    if let Some(row) = rows.resident(row) {
        return row;
    }
    buffer.resize(kernel::padded(n), 0.0);
    rows.fill(&[row], 0..n, &mut [buffer]);
    buffer
}

impl Face {
    /// A new factor; `shift` is in units of the largest value.
    fn new(rows: &dyn KernelRows<f64>, free: &[usize], ridge: f64, shift: f64, point: &Point<'_>) -> Option<Self> {
        let (m, n) = (free.len(), point.alpha.len());
        let mut factor = vec![0.0; m * m];
        let mut buffer = Vec::new();
        for (f, row) in factor.chunks_exact_mut(m).enumerate() {
            let full = full_row(rows, free[f], n, &mut buffer);
            row.iter_mut().zip(&free[..=f]).for_each(|(to, &i)| *to = full[i]);
        }
        let shift = shift * factor.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        for (f, row) in factor.chunks_exact_mut(m).enumerate() {
            let side = point.sides[free[f]];
            if shift > 0.0 {
                row.iter_mut().zip(&free[..=f]).for_each(|(value, &i)| *value += if point.sides[i] == side { shift } else { -shift });
            }
            row[f] += ridge;
        }
        Some(Self {
            factor: UpdatedFactor::new(factor, m)?,
            members: free.to_vec(),
            sides: free.iter().map(|&i| point.sides[i]).collect(),
            gradient: free.iter().map(|&i| point.gradient[i]).collect(),
            ridge,
            shift,
            changes: 0,
        })
    }

    /// Brings the factor to the variables `free`; `false` where a new one is cheaper, or this one has no room left or is no longer positive definite.
    fn follow(&mut self, rows: &dyn KernelRows<f64>, free: &[usize], point: &Point<'_>) -> bool {
        let n = point.alpha.len();
        let mut wanted = vec![false; n];
        free.iter().for_each(|&i| wanted[i] = true);
        let going = self.members.iter().filter(|&&i| !wanted[i]).count();
        let coming = free.len() + going - self.members.len();
        self.changes += going + coming;
        if going + coming > free.len() / 5 + 2 || self.changes > 20 * free.len() || free.len() + going > self.factor.capacity() {
            return false;
        }
        for place in (0..self.members.len()).rev() {
            if !wanted[self.members[place]] {
                self.remove(place);
            }
        }
        self.members.iter().for_each(|&i| wanted[i] = false);
        let coming: Vec<usize> = free.iter().copied().filter(|&i| wanted[i]).collect();
        if !self.append(rows, &coming, point) {
            return false;
        }
        self.gradient = self.members.iter().map(|&i| point.gradient[i]).collect();
        true
    }

    /// Adds variables.
    fn append(&mut self, rows: &dyn KernelRows<f64>, coming: &[usize], point: &Point<'_>) -> bool {
        let (n, first) = (point.alpha.len(), self.members.len());
        self.members.extend(coming);
        self.sides.extend(coming.iter().map(|&i| point.sides[i]));
        let mut buffer = Vec::new();
        // The rows' values at the members, one after the other: a kernel that keeps no rows has one buffer for all.
        let (members, sides) = (&self.members, &self.sides);
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(coming.len());
        for (r, &i) in coming.iter().enumerate() {
            let row = full_row(rows, i, n, &mut buffer);
            let side = point.sides[i];
            let shifted = |f: usize| row[members[f]] + if sides[f] == side { self.shift } else { -self.shift };
            let mut of_row: Vec<f64> = (0..=first + r).map(shifted).collect();
            of_row[first + r] += self.ridge;
            values.push(of_row);
        }
        // Less than half the ridge is left where rounding has eaten it.
        self.factor.append(coming.len(), |r, f| values[r][f], 0.5 * self.ridge)
    }

    /// Steps until the face's best point, or until too few are free; where every variable ends.
    fn walk(&mut self, point: &Point<'_>, stop: &dyn Fn() -> bool) -> Vec<(usize, f64)> {
        let mut values: Vec<f64> = self.members.iter().map(|&i| point.alpha[i]).collect();
        let mut room_of: Vec<f64> = self.members.iter().map(|&i| point.room[i]).collect();
        let mut ended = Vec::new();
        while self.members.len() >= 2 && !stop() {
            let Some((step, multipliers)) = self.direction() else { break };
            // The largest part of the step that stays in the box, and who is in the way.
            let room = |f: usize| {
                let limit = if step[f] > 0.0 { room_of[f] } else { 0.0 };
                if step[f] == 0.0 { f64::INFINITY } else { (limit - values[f]) / step[f] }
            };
            let (blocking, length) = (0..values.len())
                .map(|f| (f, room(f)))
                .fold((usize::MAX, 1.0), |best, candidate| if candidate.1 < best.1 { candidate } else { best });
            for f in 0..values.len() {
                values[f] = (values[f] + length * step[f]).clamp(0.0, room_of[f]);
                self.gradient[f] += length * (multipliers[usize::from(self.sides[f])] - self.gradient[f]);
            }
            if blocking == usize::MAX {
                break;
            }
            ended.push((self.members[blocking], if step[blocking] > 0.0 { room_of[blocking] } else { 0.0 }));
            values.remove(blocking);
            room_of.remove(blocking);
            self.changes += 1;
            self.remove(blocking);
        }
        ended.extend(self.members.iter().copied().zip(values));
        ended
    }

    /// The step to the best point of the face, and the multipliers there.
    fn direction(&self) -> Option<(Vec<f64>, [f64; 2])> {
        let mut step: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let sides: &[u8] = if self.sides.contains(&1) { &[0, 1] } else { &[0] };
        let of_side = |&side: &u8| -> Vec<f64> { self.sides.iter().map(|&s| f64::from(s == side)).collect() };
        let mut answers: Vec<Vec<f64>> = sides.iter().map(of_side).collect();
        let mut right: Vec<&mut [f64]> = answers.iter_mut().map(Vec::as_mut_slice).collect();
        right.push(&mut step);
        self.factor.forward(&mut right);
        // Half of the way is enough for the multipliers; only the step itself goes the other half.
        let mut multipliers = [0.0; 2];
        if sides.len() == 1 {
            multipliers[0] = -dot(&answers[0], &step) / dot(&answers[0], &answers[0]);
        } else if !self.sides.contains(&0) {
            multipliers[1] = -dot(&answers[1], &step) / dot(&answers[1], &answers[1]);
        } else {
            let (a, b, d) = (dot(&answers[0], &answers[0]), dot(&answers[0], &answers[1]), dot(&answers[1], &answers[1]));
            let (r, s) = (-dot(&answers[0], &step), -dot(&answers[1], &step));
            let determinant = a * d - b * b;
            multipliers = [(r * d - s * b) / determinant, (a * s - b * r) / determinant];
        }
        for (&side, answer) in sides.iter().zip(&answers) {
            let multiplier = multipliers[usize::from(side)];
            step.iter_mut().zip(answer).for_each(|(step, answer)| *step += multiplier * answer);
        }
        self.factor.backward(&mut step);
        step.iter().all(|step| step.is_finite()).then_some((step, multipliers))
    }

    /// Takes a variable out.
    fn remove(&mut self, gone: usize) {
        self.factor.remove(gone);
        self.members.remove(gone);
        self.sides.remove(gone);
        self.gradient.remove(gone);
    }
}
