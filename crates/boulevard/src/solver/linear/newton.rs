//! Newton's method for `1/2 |w|^2 - pull'w + sum_i s_i(r_i)` with piecewise linear slopes `s_i'`.
//!
//! The squared losses are such functions, and so are the inner problems of the augmented Lagrangian. The generalised Hessian is
//! `I + X' H X` with `H` the slopes' slopes, zero for most rows; between steps it changes in few rows, and only those are added to it
//! or taken away (finite Newton method, Keerthi and DeCoste 2005). The line search is exact, which makes the method finite and globally
//! convergent. A step costs two passes over the table, one Cholesky factor, and `columns^2` per row that changed.

use super::loss::{Pull, Samples};
use super::table::LinearTable;
use crate::error::Result;
use crate::linalg;
use crate::observe::Context;

/// How the slope of a sample's function follows from its residual.
pub(super) enum Response<'a> {
    /// The squared loss itself.
    Squared(Samples<'a>),
    /// The absolute loss smoothed around a multiplier: `clip(soft(multiplier + stiffness r, stiffness tube), -down, up)`.
    Shifted { samples: Samples<'a>, multiplier: Vec<f64>, stiffness: f64 },
}

impl Response<'_> {
    /// The slope at `r`, and the slope's slope divided by [`Response::scale`].
    #[inline(always)]
    fn at(&self, i: usize, r: f64) -> (f64, f64) {
        match self {
            Self::Squared(samples) => samples.squared_slope(i, r),
            Self::Shifted { samples, multiplier, stiffness } => {
                let (z, tube) = (multiplier[i] + stiffness * r, stiffness * samples.tube);
                let soft = (z - tube).max(0.0) + (z + tube).min(0.0);
                let inside = soft != 0.0 && soft < samples.up[i] && soft > -samples.down[i];
                (soft.clamp(-samples.down[i], samples.up[i]), f64::from(u8::from(inside)))
            }
        }
    }

    fn scale(&self) -> f64 {
        match self {
            Self::Squared(_) => 1.0,
            Self::Shifted { stiffness, .. } => *stiffness,
        }
    }

    pub(super) fn slopes(&self, residuals: &[f64]) -> Vec<f64> {
        residuals.iter().enumerate().map(|(i, &r)| self.at(i, r).0).collect()
    }
}

/// Where a solver stands.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) w: Vec<f64>,
    pub(super) bias: f64,
    pub(super) residuals: Vec<f64>,
}

impl Point {
    pub(super) fn new(table: &LinearTable<'_>, target: &[f64], w: Vec<f64>, bias: f64) -> Result<Self> {
        let margins = if w.iter().all(|w| *w == 0.0) { vec![0.0; target.len()] } else { table.forward(&w)? };
        let residuals = target.iter().zip(margins).map(|(t, m)| t - m - bias).collect();
        Ok(Self { w, bias, residuals })
    }
}

/// The Hessian, kept between steps and brought up to date row by row.
pub(super) struct Newton<'a> {
    table: &'a LinearTable<'a>,
    free_bias: bool,
    weights: Vec<f64>,
    gram: Vec<f64>,
    updates: usize,
}

/// Updates of the Hessian after which it is computed anew, against rounding.
const MOST_UPDATES: usize = 25;

impl<'a> Newton<'a> {
    pub(super) fn new(table: &'a LinearTable<'a>, free_bias: bool) -> Self {
        let size = table.columns() + usize::from(free_bias);
        Self { table, free_bias, weights: vec![0.0; table.rows()], gram: vec![0.0; size * size], updates: 0 }
    }

    /// Brings the Gram matrix of the curved rows up to date.
    fn refresh(&mut self, weights: Vec<f64>) -> Result<()> {
        let changed = weights.iter().zip(&self.weights).filter(|(new, old)| new != old).count();
        let curved = weights.iter().filter(|w| **w != 0.0).count();
        if changed == 0 {
            return Ok(());
        }
        self.updates += 1;
        if 2 * changed < curved && self.updates < MOST_UPDATES {
            let change: Vec<f64> = weights.iter().zip(&self.weights).map(|(new, old)| new - old).collect();
            let change = self.table.gram(&change, self.free_bias)?;
            self.gram.iter_mut().zip(change).for_each(|(gram, change)| *gram += change);
        } else {
            self.gram = self.table.gram(&weights, self.free_bias)?;
            self.updates = 0;
        }
        self.weights = weights;
        Ok(())
    }

    /// One step; `false` where none was possible.
    ///
    /// `hold` is the weight of `1/2 (bias - bias_0)^2`, which keeps the bias in place where no row is curved.
    pub(super) fn step(
        &mut self,
        point: &mut Point,
        response: &Response<'_>,
        gradient: &Gradient,
        pull: &Pull,
        hold: f64,
        bias_0: f64,
    ) -> Result<bool> {
        let curvature = point.residuals.iter().enumerate().map(|(i, &r)| response.at(i, r).1).collect();
        self.refresh(curvature)?;
        let columns = self.table.columns();
        let size = columns + usize::from(self.free_bias);
        let scale = response.scale();
        let mut matrix: Vec<f64> = self.gram.iter().map(|v| scale * v).collect();
        (0..columns).for_each(|j| matrix[j * size + j] += 1.0);
        let mut step: Vec<f64> = gradient.w.iter().map(|g| -g).collect();
        if self.free_bias {
            let corner = &mut matrix[size * size - 1];
            *corner += hold;
            // Without any curvature along the bias it stays where it is.
            let flat = *corner <= 0.0;
            *corner = if flat { 1.0 } else { *corner };
            step.push(if flat { 0.0 } else { -gradient.bias });
        }
        if !solve_scaled(&mut matrix, size, &mut step, self.table.context())? {
            return Ok(false);
        }
        let step_bias = if self.free_bias { step.pop().expect("pushed above") } else { 0.0 };
        let mut slopes = self.table.forward(&step)?;
        slopes.iter_mut().for_each(|s| *s += step_bias);
        let along: f64 = point.w.iter().zip(&pull.weights).zip(&step).map(|((w, p), s)| (w - p) * s).sum::<f64>()
            + (hold * (point.bias - bias_0) - pull.bias) * step_bias;
        let curve: f64 = step.iter().map(|s| s * s).sum::<f64>() + hold * step_bias * step_bias;
        let length = line_search(response, &point.residuals, &slopes, along, curve);
        if length == 0.0 {
            return Ok(false);
        }
        point.w.iter_mut().zip(&step).for_each(|(w, s)| *w += length * s);
        point.bias += length * step_bias;
        point.residuals.iter_mut().zip(&slopes).for_each(|(r, s)| *r -= length * s);
        Ok(true)
    }
}

/// The gradient of the objective, with the slopes it came from.
pub(super) struct Gradient {
    pub(super) w: Vec<f64>,
    pub(super) bias: f64,
    pub(super) slopes: Vec<f64>,
    /// `X' slopes` from the positive and the negative ones.
    pub(super) sides: [Vec<f64>; 2],
}

impl Gradient {
    pub(super) fn new(
        table: &LinearTable<'_>,
        response: &Response<'_>,
        point: &Point,
        pull: &Pull,
        hold: f64,
        bias_0: f64,
    ) -> Result<Self> {
        let slopes = response.slopes(&point.residuals);
        let sides = table.backward_sides(&slopes)?;
        let w = (0..point.w.len()).map(|j| point.w[j] - sides[0][j] - sides[1][j] - pull.weights[j]).collect();
        let bias = hold * (point.bias - bias_0) - pull.bias - slopes.iter().sum::<f64>();
        Ok(Self { w, bias, slopes, sides })
    }

    /// `1/2 |gradient of w|^2`, the gradient's part of the duality gap.
    pub(super) fn half_square(&self) -> f64 {
        0.5 * self.w.iter().map(|g| g * g).sum::<f64>()
    }
}

/// Solves a positive definite system in place after scaling its diagonal to 1, with a ridge where rounding made it indefinite.
pub(super) fn solve_scaled(matrix: &mut [f64], size: usize, x: &mut [f64], context: &Context<'_>) -> Result<bool> {
    let scales: Vec<f64> = (0..size).map(|j| matrix[j * size + j].sqrt().recip()).collect();
    if scales.iter().any(|s| !s.is_finite()) || x.iter().any(|x| !x.is_finite()) {
        return Ok(false);
    }
    for i in 0..size {
        for j in 0..=i {
            matrix[i * size + j] *= scales[i] * scales[j];
        }
    }
    let mut ridge = 0.0;
    while ridge < 1e-3 {
        let mut factor = matrix.to_vec();
        (0..size).for_each(|j| factor[j * size + j] += ridge);
        if linalg::cholesky_in(&mut factor, size, context)? {
            let right: Vec<f64> = x.iter().zip(&scales).map(|(x, s)| x * s).collect();
            x.copy_from_slice(&right);
            linalg::solve(&factor, size, x);
            // What the ridge and rounding took away comes back by refinement.
            for _ in 0..if ridge > 0.0 { 3 } else { 1 } {
                let mut left = right.clone();
                for i in 0..size {
                    let row = &matrix[i * size..i * size + i];
                    left[i] -= linalg::dot(row, &x[..i]) + matrix[i * size + i] * x[i];
                    let value = x[i];
                    left[..i].iter_mut().zip(row).for_each(|(left, m)| *left -= value * m);
                }
                linalg::solve(&factor, size, &mut left);
                x.iter_mut().zip(left).for_each(|(x, change)| *x += change);
            }
            x.iter_mut().zip(&scales).for_each(|(x, s)| *x *= s);
            return Ok(x.iter().all(|x| x.is_finite()));
        }
        ridge = if ridge == 0.0 { 1e-14 } else { 100.0 * ridge };
    }
    Ok(false)
}

/// The minimum along a direction: the zero of an increasing, piecewise linear slope, by Newton steps inside a bracket.
fn line_search(response: &Response<'_>, residuals: &[f64], slopes: &[f64], along: f64, curve: f64) -> f64 {
    let slope_at = |t: f64| {
        let (mut slope, mut rise) = (along + t * curve, curve);
        let scale = response.scale();
        for (i, (&r, &s)) in residuals.iter().zip(slopes).enumerate() {
            let (value, inner) = response.at(i, r - t * s);
            slope -= value * s;
            rise += scale * inner * s * s;
        }
        (slope, rise)
    };
    let start = slope_at(0.0).0;
    if start >= 0.0 || !start.is_finite() {
        return 0.0;
    }
    let (mut low, mut high, mut t) = (0.0, f64::INFINITY, 1.0);
    for _ in 0..60 {
        let (slope, rise) = slope_at(t);
        if slope.abs() <= 1e-3 * -start {
            return t;
        }
        if slope < 0.0 {
            low = t
        } else {
            high = t
        }
        let newton = t - slope / rise;
        t = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * t
        };
    }
    if low > 0.0 { low } else { t }
}
