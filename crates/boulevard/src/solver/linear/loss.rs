//! The losses, their slopes, and the certificate.
//!
//! Every loss is a function of the residual `r = target - x'w - b`, with a price for residuals above the tube and one for those below:
//! ```text
//! absolute  loss(r) = up max(0, r - tube) + down max(0, -r - tube)
//! squared   loss(r) = up max(0, r - tube)^2 + down max(0, -r - tube)^2
//! ```
//! With targets 1 and -1, no tube, and a price on one side only, these are the hinge and the squared hinge; with both prices equal,
//! the losses of support vector regression. The dual variable of a sample is the loss's slope, `dual = loss'(r)`.

use super::LinearLoss;
use super::newton::Point;

/// Targets and prices of the samples.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) target: &'a [f64],
    pub(super) up: &'a [f64],
    pub(super) down: &'a [f64],
    pub(super) tube: f64,
    pub(super) loss: LinearLoss,
}

impl Samples<'_> {
    pub(super) fn loss(&self, i: usize, r: f64) -> f64 {
        let (above, below) = ((r - self.tube).max(0.0), (-r - self.tube).max(0.0));
        match self.loss {
            LinearLoss::Absolute => self.up[i] * above + self.down[i] * below,
            LinearLoss::Squared => self.up[i] * above * above + self.down[i] * below * below,
        }
    }

    /// The conjugate: `loss(r) + conjugate(dual) >= dual r`, with equality at the slope.
    pub(super) fn conjugate(&self, i: usize, dual: f64) -> f64 {
        let price = if dual > 0.0 { self.up[i] } else { self.down[i] };
        let square = match self.loss {
            LinearLoss::Absolute => 0.0,
            LinearLoss::Squared if dual == 0.0 => 0.0,
            LinearLoss::Squared => dual * dual / (4.0 * price),
        };
        self.tube * dual.abs() + square
    }

    /// The slope of the squared loss, and its slope.
    pub(super) fn squared_slope(&self, i: usize, r: f64) -> (f64, f64) {
        let (above, below) = (r - self.tube, -r - self.tube);
        if above > 0.0 {
            (2.0 * self.up[i] * above, 2.0 * self.up[i])
        } else if below > 0.0 {
            (-2.0 * self.down[i] * below, 2.0 * self.down[i])
        } else {
            (0.0, 0.0)
        }
    }

    /// How far the residual is from the nearest corner of the absolute loss.
    pub(super) fn distance_to_corner(&self, i: usize, r: f64) -> f64 {
        let above = if self.up[i] > 0.0 { (r - self.tube).abs() } else { f64::INFINITY };
        let below = if self.down[i] > 0.0 { (r + self.tube).abs() } else { f64::INFINITY };
        above.min(below)
    }

    /// The mean price of samples that have one.
    pub(super) fn mean_price(&self) -> f64 {
        let prices = self.up.iter().zip(self.down).map(|(up, down)| up.max(*down)).filter(|price| *price > 0.0);
        let (sum, count) = prices.fold((0.0, 0usize), |(sum, count), price| (sum + price, count + 1));
        if count == 0 { 1.0 } else { sum / count as f64 }
    }

    /// The bias that is best for the margins `x'w`, by the crossing of the absolute loss's slope through zero; in the middle where it is
    /// flat. `pull` is a constant slope.
    pub(super) fn best_bias(&self, margins: &[f64], pull: f64) -> f64 {
        // The slope of the loss along the bias starts at -sum up and rises by up at target - margin - tube, by down at + tube.
        let mut corners = Vec::with_capacity(margins.len());
        let mut slope = -pull;
        for (i, margin) in margins.iter().enumerate() {
            let middle = self.target[i] - margin;
            slope -= self.up[i];
            if self.up[i] > 0.0 {
                corners.push((middle - self.tube, self.up[i]));
            }
            if self.down[i] > 0.0 {
                corners.push((middle + self.tube, self.down[i]));
            }
        }
        let scale = 1e-12 * slope.abs();
        corners.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (place, &(at, rise)) in corners.iter().enumerate() {
            slope += rise;
            if slope > scale {
                return at;
            }
            if slope >= -scale {
                return corners.get(place + 1).map_or(at, |next| 0.5 * (at + next.0));
            }
        }
        corners.last().map_or(0.0, |corner| corner.0)
    }
}

/// What is minimised beside the losses: `1/2 |w|^2 - pull'w - pull_bias b`.
#[derive(Clone)]
pub(super) struct Pull {
    pub(super) weights: Vec<f64>,
    pub(super) bias: f64,
    /// What gaps are relative to where it is not this problem's own objective.
    pub(super) scale: Option<f64>,
}

impl Pull {
    pub(super) fn none(columns: usize) -> Self {
        Self { weights: vec![0.0; columns], bias: 0.0, scale: None }
    }
}

/// A pair of primal and dual points and what they prove.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    pub(super) dual: Vec<f64>,
    pub(super) primal: f64,
    /// Primal minus dual objective, as a sum of terms that are never negative.
    pub(super) gap: f64,
    /// What the gap is relative to.
    pub(super) scale: f64,
}

impl Certificate {
    pub(super) fn relative(&self) -> f64 {
        match self.scale {
            scale if scale.is_nan() => f64::NAN,
            _ if self.gap == 0.0 => 0.0,
            scale => self.gap / scale.abs().max(f64::MIN_POSITIVE),
        }
    }
}

/// Factors of the positive and the negative dual variables that make their sum `-rest` (a free bias asks for it) and are at most 1, so
/// that all stay between their bounds.
pub(super) fn balance(dual: &[f64], rest: f64) -> [f64; 2] {
    let up: f64 = dual.iter().map(|v| v.max(0.0)).sum();
    let down: f64 = -dual.iter().map(|v| v.min(0.0)).sum::<f64>();
    let factor = |wanted: f64, have: f64| if have > 0.0 { (wanted / have).clamp(0.0, 1.0) } else { 1.0 };
    if up + rest > down { [factor(down - rest, up), 1.0] } else { [1.0, factor(up + rest, down)] }
}

/// A term of a gap, which only rounding makes negative. What is not a number stays so: `f64::max` would turn it into a proof.
pub(super) fn not_negative(term: f64) -> f64 {
    if term < 0.0 { 0.0 } else { term }
}

/// What the dual point zero proves about a point: true, and all that can be said without a pass over the table.
pub(super) fn without_dual(samples: &Samples<'_>, pull: &Pull, free_bias: bool, point: &Point) -> Certificate {
    let columns = point.w.len();
    certify(&[vec![0.0; columns], vec![0.0; columns]], samples, pull, free_bias, point, vec![0.0; point.residuals.len()])
}

/// Certifies `(w, residuals)` with the dual point `dual`; `sides` is `X' dual` from its positive and its negative part.
pub(super) fn certify(
    sides: &[Vec<f64>; 2],
    samples: &Samples<'_>,
    pull: &Pull,
    free_bias: bool,
    point: &Point,
    mut dual: Vec<f64>,
) -> Certificate {
    let [up, down] = if free_bias { balance(&dual, pull.bias) } else { [1.0; 2] };
    let Point { w, bias, residuals } = point;
    let mut gap = 0.0;
    let mut primal = -pull.bias * bias;
    for (j, (w, p)) in w.iter().zip(&pull.weights).enumerate() {
        primal += w * (0.5 * w - p);
        gap += 0.5 * (w - p - up * sides[0][j] - down * sides[1][j]).powi(2);
    }
    for (i, (&r, v)) in residuals.iter().zip(&mut dual).enumerate() {
        *v *= if *v > 0.0 { up } else { down };
        let loss = samples.loss(i, r);
        primal += loss;
        gap += not_negative(loss + samples.conjugate(i, *v) - *v * r);
    }
    Certificate { dual, primal, gap, scale: pull.scale.unwrap_or(primal) }
}
