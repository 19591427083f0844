//! The second-order model of the losses with the L1 penalty on some columns, minimised over the changes of their weights.
//!
//! `slope'c + 1/2 c' X'HX c + |w + c|_1`, the bias last and without a penalty. Coordinate descent finds which weights are zero; as it is slow
//! where columns resemble each other, every few sweeps some conjugate gradients move all other weights at once, with the signs they have.

use super::lasso_state::{ByGram, ByRows, State};
use super::table::LinearTable;
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::Meter;

const MOST_SWEEPS: usize = 2000;
/// Sweeps between two steps of all weights.
const SWEEPS: usize = 8;
/// Products of such a step at most, and the share of the slopes that it leaves.
const PRODUCTS: usize = 30;
const LEFT: f64 = 0.1;
/// A value of a sparse column costs as much as so many of a Gram matrix, which are read one after the other.
const SCATTERED: usize = 16;

/// The model at its start.
pub(super) struct Model<'a> {
    /// The columns in play.
    pub(super) part: &'a LinearTable<'a>,
    /// Their weights.
    pub(super) weights: &'a [f64],
    /// The losses' second derivatives, by row.
    pub(super) curvature: &'a [f64],
    /// The losses' slopes along the columns, and along the bias where it is free.
    pub(super) slope: Vec<f64>,
    /// A sweep that gains no more at any place ends the descent, and so does one that gains no more than `least_share` of the first.
    pub(super) least_gain: f64,
    pub(super) least_share: f64,
}

impl Model<'_> {
    /// Good changes, the bias last where it is free.
    pub(super) fn minimize(self) -> Result<Vec<f64>> {
        let size = self.slope.len();
        match self.part.x() {
            Matrix::Sparse(x) if SCATTERED * (x.values().len() + self.part.rows()) < size * size => {
                self.descend(ByRows::new(x, self.curvature, &self.slope))
            }
            _ => {
                let gram = self.part.gram(self.curvature, size > self.weights.len())?;
                self.descend(ByGram::new(gram, self.slope.clone()))
            }
        }
    }

    fn descend(&self, mut state: impl State) -> Result<Vec<f64>> {
        let mut change = vec![0.0; self.slope.len()];
        let tiny = 1e-12 * (0..change.len()).map(|k| state.rise(k)).fold(0.0, f64::max);
        let mut meter = self.part.context().meter("solve");
        let mut enough = self.least_gain;
        for sweep in 0..MOST_SWEEPS {
            let gained = self.sweep(&mut state, &mut change, tiny, &mut meter)?;
            if sweep == 0 {
                enough = enough.max(self.least_share * gained);
            }
            if gained <= enough {
                break;
            }
            if sweep % SWEEPS == SWEEPS - 1 {
                self.move_all(&mut state, &mut change, tiny, &mut meter)?;
            }
        }
        Ok(change)
    }

    /// Every variable in turn at its best; returns the most that one of them gained.
    fn sweep(&self, state: &mut impl State, change: &mut [f64], tiny: f64, meter: &mut Meter<'_>) -> Result<f64> {
        let mut most = 0.0f64;
        for k in 0..change.len() {
            let rise = state.rise(k) + tiny;
            if rise <= 0.0 {
                continue;
            }
            let slope = state.slope(k);
            let new = match self.weights.get(k) {
                Some(weight) => {
                    let z = weight + change[k] - slope / rise;
                    (z - 1.0 / rise).max(0.0) + (z + 1.0 / rise).min(0.0) - weight
                }
                None => change[k] - slope / rise,
            };
            let delta = new - change[k];
            meter.spend(state.cost(k, delta != 0.0))?;
            if delta != 0.0 {
                change[k] = new;
                state.moved(k, delta);
                most = most.max(delta * delta * rise);
            }
        }
        Ok(most)
    }

    /// The weight of a column after its change; the bias is never held.
    fn held(&self, k: usize, change: f64) -> Option<f64> {
        self.weights.get(k).map(|weight| weight + change)
    }

    /// Moves all weights that are not zero, with the signs they have; those that would change sign become zero.
    fn move_all(&self, state: &mut impl State, change: &mut [f64], tiny: f64, meter: &mut Meter<'_>) -> Result<()> {
        let free: Vec<usize> = (0..change.len()).filter(|&k| state.rise(k) > 0.0 && self.held(k, change[k]) != Some(0.0)).collect();
        let pull: Vec<f64> = free.iter().map(|&k| -state.slope(k) - self.held(k, change[k]).map_or(0.0, f64::signum)).collect();
        let scale: Vec<f64> = free.iter().map(|&k| 1.0 / (state.rise(k) + tiny)).collect();
        let all = state.cost_of_all();
        let spread = |part: &[f64]| {
            let mut whole = vec![0.0; change.len()];
            free.iter().zip(part).for_each(|(&k, v)| whole[k] = *v);
            whole
        };
        let product = |part: &[f64], meter: &mut Meter<'_>| -> Result<Vec<f64>> {
            meter.spend(2 * all)?;
            let effect = state.effect(&spread(part));
            Ok(free.iter().zip(part).map(|(&k, v)| state.along(&effect, k) + tiny * v).collect())
        };
        let step = conjugate(&pull, &scale, |part| product(part, meter))?;
        let mut length = 1.0;
        while length > 0.1 {
            let moves: Vec<f64> = free
                .iter()
                .zip(&step)
                .map(|(&k, s)| match self.held(k, change[k]) {
                    Some(w) if w * (w + length * s) <= 0.0 => -w,
                    _ => length * s,
                })
                .collect();
            let bent = product(&moves, meter)?;
            let gain: f64 = moves.iter().zip(&pull).zip(&bent).map(|((v, p), b)| v * (p - 0.5 * b)).sum();
            if gain > 0.0 {
                let moves = spread(&moves);
                let effect = state.effect(&moves);
                state.absorb(&effect);
                for (k, v) in moves.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    // Exactly zero, not almost.
                    change[k] = if self.held(k, change[k]) == Some(-v) { -self.weights[k] } else { change[k] + v };
                }
                return Ok(());
            }
            length *= 0.5;
        }
        Ok(())
    }
}

/// Roughly the solution of `A s = pull` by conjugate gradients with a diagonal `scale`.
fn conjugate(pull: &[f64], scale: &[f64], mut product: impl FnMut(&[f64]) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scaled = |rest: &[f64]| rest.iter().zip(scale).map(|(r, s)| r * s).collect::<Vec<f64>>();
    let (mut step, mut rest) = (vec![0.0; pull.len()], pull.to_vec());
    let mut direction = scaled(&rest);
    let mut size = dot(&rest, &direction);
    let enough = LEFT * LEFT * size;
    for _ in 0..PRODUCTS {
        if size <= enough {
            break;
        }
        let image = product(&direction)?;
        let bend = dot(&direction, &image);
        if bend <= 0.0 {
            break;
        }
        let length = size / bend;
        step.iter_mut().zip(&direction).for_each(|(s, d)| *s += length * d);
        rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= length * i);
        let next = scaled(&rest);
        let new = dot(&rest, &next);
        direction.iter_mut().zip(&next).for_each(|(d, n)| *d = n + new / size * *d);
        size = new;
    }
    Ok(step)
}
