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

use crate::kernel::KernelRows;
use crate::linalg;

/// Free variables up to which a factor is kept.
const MOST_FREE: usize = 2000;
/// Added to the diagonal, relative to its largest value, the smallest that works: free sets may exceed the matrix' numerical rank.
const RIDGES: [f64; 3] = [1e-13, 1e-12, 1e-11];

/// A point with its gradient `Q alpha`, and the side whose sum each variable belongs to.
pub(super) struct Point<'a> {
    pub alpha: &'a mut [f64],
    pub gradient: &'a mut [f64],
    /// 0 or 1 per variable.
    pub sides: &'a [u8],
}

/// What a descent came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The objective fell.
    Gained,
    /// The point is the best of its face, as far as rounding lets one see.
    Best,
    /// Too many free variables, or a face that curves downwards.
    NoFactor,
}

/// Moves to the best point of the current face as far as the box allows.
///
/// A long walk ends early, at a point as sound as any, when `stop` says so.
pub(super) fn descend(rows: &dyn KernelRows<f64>, largest: f64, point: &mut Point<'_>, stop: &dyn Fn() -> bool) -> Outcome {
    let n = point.alpha.len();
    let free: Vec<usize> = (0..n).filter(|&i| point.alpha[i] > 0.0 && point.alpha[i] < 1.0).collect();
    if free.len() < 2 {
        return Outcome::Best;
    }
    if free.len() > MOST_FREE {
        return Outcome::NoFactor;
    }
    let face = RIDGES.iter().find_map(|ridge| Face::new(rows, &free, ridge * largest, 0.0, point));
    // A kernel may be positive only where the sums are kept (the multiquadric, with balanced classes): there a constant changes nothing.
    let shifted = || RIDGES.iter().find_map(|ridge| Face::new(rows, &free, ridge * largest, 2.0, point));
    let Some(mut face) = face.or_else(shifted) else { return Outcome::NoFactor };
    let before: Vec<f64> = free.iter().map(|&i| point.alpha[i]).collect();
    let mut values = before.clone();
    face.walk(&mut values, stop);
    // Rounding in nearly singular systems leaves something in the sums: give it back to those with room.
    for side in 0..2 {
        let members: Vec<usize> = (0..free.len()).filter(|&f| point.sides[free[f]] == side).collect();
        let error = members.iter().map(|&f| before[f] - values[f]).sum::<f64>();
        let roomy: Vec<usize> = members.into_iter().filter(|&f| values[f] > 0.0 && values[f] < 1.0).collect();
        let share = error / roomy.len().max(1) as f64;
        roomy.iter().for_each(|&f| values[f] = (values[f] + share).clamp(0.0, 1.0));
    }
    let mut moved: Vec<usize> = Vec::new();
    let mut steps: Vec<f64> = Vec::new();
    for (f, &i) in free.iter().enumerate() {
        if values[f] != before[f] {
            moved.push(i);
            steps.push(values[f] - before[f]);
        }
    }
    let mut change = vec![0.0; n.next_multiple_of(64)];
    rows.weigh(&moved, &steps, 1, 0..n, &mut change);
    // q changes by 2 d'g + d'Qd.
    let gain: f64 = moved.iter().zip(&steps).map(|(&i, step)| step * (2.0 * point.gradient[i] + change[i])).sum();
    if gain.is_nan() || gain >= 0.0 {
        return Outcome::Best;
    }
    free.iter().zip(&values).for_each(|(&i, &value)| point.alpha[i] = value);
    point.gradient.iter_mut().zip(&change).for_each(|(g, c)| *g += c);
    Outcome::Gained
}

/// The equations of the variables that are still free.
struct Face {
    /// Lower triangle, row-major, `stride` apart.
    factor: Vec<f64>,
    stride: usize,
    /// Places among the first free variables.
    members: Vec<usize>,
    /// Side of each member.
    sides: Vec<u8>,
    /// Gradient of each member.
    gradient: Vec<f64>,
}

impl Face {
    /// `shift`, in units of the largest value, is added to values within a side and taken from those between sides: steps that keep
    /// both sums do not notice.
    fn new(rows: &dyn KernelRows<f64>, free: &[usize], ridge: f64, shift: f64, point: &Point<'_>) -> Option<Self> {
        let (m, n) = (free.len(), point.alpha.len());
        let mut factor = vec![0.0; m * m];
        let mut buffer = Vec::new();
        for (f, row) in factor.chunks_exact_mut(m).enumerate() {
            let full = match rows.resident(free[f]) {
                Some(full) => full,
                None => {
                    buffer.resize(n.next_multiple_of(64), 0.0);
                    rows.fill(&[free[f]], 0..n, &mut [&mut buffer]);
                    &buffer
                }
            };
            row.iter_mut().zip(&free[..=f]).for_each(|(to, &i)| *to = full[i]);
            row[f] += ridge;
        }
        if shift > 0.0 {
            let size = shift * factor.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (f, row) in factor.chunks_exact_mut(m).enumerate() {
                let side = point.sides[free[f]];
                row.iter_mut().zip(&free[..=f]).for_each(|(value, &i)| *value += if point.sides[i] == side { size } else { -size });
            }
        }
        linalg::cholesky(&mut factor, m).then(|| Self {
            factor,
            stride: m,
            members: (0..m).collect(),
            sides: free.iter().map(|&i| point.sides[i]).collect(),
            gradient: free.iter().map(|&i| point.gradient[i]).collect(),
        })
    }

    /// Steps until the face's best point, or until too few are free.
    fn walk(&mut self, values: &mut [f64], stop: &dyn Fn() -> bool) {
        while self.members.len() >= 2 && !stop() {
            let Some((step, multipliers)) = self.direction() else { return };
            // The largest part of the step that stays in the box, and who is in the way.
            let room = |f: usize| {
                let (value, step) = (values[self.members[f]], step[f]);
                let limit = if step > 0.0 { 1.0 } else { 0.0 };
                if step == 0.0 { f64::INFINITY } else { (limit - value) / step }
            };
            let (blocking, length) = (0..self.members.len())
                .map(|f| (f, room(f)))
                .fold((usize::MAX, 1.0), |best, candidate| if candidate.1 < best.1 { candidate } else { best });
            for (f, &member) in self.members.iter().enumerate() {
                values[member] = (values[member] + length * step[f]).clamp(0.0, 1.0);
                self.gradient[f] += length * (multipliers[usize::from(self.sides[f])] - self.gradient[f]);
            }
            if blocking == usize::MAX {
                return;
            }
            values[self.members[blocking]] = if step[blocking] > 0.0 { 1.0 } else { 0.0 };
            self.remove(blocking);
        }
    }

    /// The step to the best point of the face, and the multipliers there.
    fn direction(&self) -> Option<(Vec<f64>, [f64; 2])> {
        let m = self.members.len();
        let mut step: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        self.solve(&mut step);
        let sides: &[u8] = if self.sides.contains(&1) { &[0, 1] } else { &[0] };
        let answers: Vec<Vec<f64>> = sides
            .iter()
            .map(|&side| {
                let mut answer: Vec<f64> = self.sides.iter().map(|&s| f64::from(s == side)).collect();
                self.solve(&mut answer);
                answer
            })
            .collect();
        let total = |values: &[f64], side: u8| (0..m).filter(|&f| self.sides[f] == side).map(|f| values[f]).sum::<f64>();
        let mut multipliers = [0.0; 2];
        if sides.len() == 1 {
            multipliers[0] = -total(&step, 0) / total(&answers[0], 0);
        } else if !self.sides.contains(&0) {
            multipliers[1] = -total(&step, 1) / total(&answers[1], 1);
        } else {
            let (a, b, c, d) = (total(&answers[0], 0), total(&answers[1], 0), total(&answers[0], 1), total(&answers[1], 1));
            let (r, s) = (-total(&step, 0), -total(&step, 1));
            let determinant = a * d - b * c;
            multipliers = [(r * d - s * b) / determinant, (a * s - c * r) / determinant];
        }
        for (&side, answer) in sides.iter().zip(&answers) {
            let multiplier = multipliers[usize::from(side)];
            step.iter_mut().zip(answer).for_each(|(step, answer)| *step += multiplier * answer);
        }
        step.iter().all(|step| step.is_finite()).then_some((step, multipliers))
    }

    /// Solves `L L' x = b` in place.
    fn solve(&self, x: &mut [f64]) {
        let m = x.len();
        for i in 0..m {
            let row = &self.factor[i * self.stride..][..=i];
            x[i] = (x[i] - linalg::dot(&row[..i], &x[..i])) / row[i];
        }
        for i in (0..m).rev() {
            let row = &self.factor[i * self.stride..][..=i];
            let value = x[i] / row[i];
            x[i] = value;
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= value * l);
        }
    }

    /// Takes variable `gone` out of the factor: what its column held below the diagonal is a rank-one update of the rows that follow.
    fn remove(&mut self, gone: usize) {
        let (m, stride) = (self.members.len(), self.stride);
        let mut turns: Vec<(f64, f64)> = Vec::with_capacity(m - gone);
        for i in gone + 1..m {
            let (head, tail) = self.factor.split_at_mut(i * stride);
            let (to, from) = (&mut head[(i - 1) * stride..][..stride], &tail[..=i]);
            to[..gone].copy_from_slice(&from[..gone]);
            let mut rest = from[gone];
            // Rotations of the rows before, in order; then this row's own.
            for (&(cosine, sine), j) in turns.iter().zip(gone + 1..i) {
                let value = from[j];
                to[j - 1] = cosine * value + sine * rest;
                rest = cosine * rest - sine * value;
            }
            let radius = from[i].hypot(rest);
            to[i - 1] = radius;
            turns.push((from[i] / radius, rest / radius));
        }
        self.members.remove(gone);
        self.sides.remove(gone);
        self.gradient.remove(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_factor_without_a_variable_is_the_factor_of_the_rest() {
        let m = 9;
        let mut random = Random::new(1, 0);
        let half: Vec<f64> = (0..m * m).map(|_| random.normal()).collect();
        let entry = |i: usize, j: usize| linalg::dot(&half[i * m..(i + 1) * m], &half[j * m..(j + 1) * m]) + if i == j { 0.1 } else { 0.0 };
        for gone in [0, 4, 8] {
            let mut factor: Vec<f64> = (0..m * m).map(|at| entry(at / m, at % m)).collect();
            assert!(linalg::cholesky(&mut factor, m));
            let mut face = Face { factor, stride: m, members: (0..m).collect(), sides: vec![0; m], gradient: vec![0.0; m] };
            face.remove(gone);
            let kept: Vec<usize> = (0..m).filter(|&i| i != gone).collect();
            assert_eq!(face.members, kept);
            for (a, &i) in kept.iter().enumerate() {
                for (b, &j) in kept[..=a].iter().enumerate() {
                    let product: f64 = (0..=b).map(|k| face.factor[a * m + k] * face.factor[b * m + k]).sum();
                    assert!((product - entry(i, j)).abs() < 1e-12, "{gone}: {i}, {j}");
                }
            }
        }
    }
}
