//! One point of a front and what can be said about it from `alpha` and `g = Q alpha` alone.

use serde::{Deserialize, Serialize};

/// A row of the front's table.
///
/// For more than two classes the numbers of the one-vs-rest machines at one position are put together: `quadratic` and `sum_alpha` are
/// summed, errors are those of the joint decision, support vectors are counted once, `equivalent_c` is the geometric mean, `margin` the
/// smallest, `gap` the largest.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FrontPoint {
    /// `q = alpha' Q alpha`, to be small; `|w|^2` of the machine at this scale.
    pub quadratic: f64,
    /// `s = sum alpha`, to be large.
    pub sum_alpha: f64,
    /// Share of the training rows on the wrong side; NaN where it was not measured (widths that are only compared).
    pub train_error: f64,
    /// Share of the held-out rows on the wrong side; NaN without a hold-out.
    pub holdout_error: f64,
    /// Rows with `alpha > 0`.
    pub n_support: usize,
    /// The C of the plain machine with the same decision function, `1 / lambda`; NaN where there is none (`lambda <= 0`).
    pub equivalent_c: f64,
    /// Half the width of the street in the kernel's space, `lambda / sqrt q`; NaN where there is none.
    pub margin: f64,
    /// `(max over alpha > 0 of g - min over alpha < 1 of g) / (mean of |g| weighted by alpha)`: 0 for an optimum at this sum.
    pub gap: f64,
}

/// By bits: what is not there (NaN) is the same in both.
impl PartialEq for FrontPoint {
    fn eq(&self, other: &Self) -> bool {
        let bits = |p: &Self| [p.quadratic, p.sum_alpha, p.train_error, p.holdout_error, p.equivalent_c, p.margin, p.gap].map(f64::to_bits);
        self.n_support == other.n_support && bits(self) == bits(other)
    }
}

/// What `alpha` and its gradient say, without any data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub quadratic: f64,
    pub sum: f64,
    pub support: usize,
    /// Multiplier of the sum: half the slope of `q(s)`. NaN for `alpha = 0`.
    pub lambda: f64,
    /// Intercept in the scale of `alpha`.
    pub bias: f64,
    pub gap: f64,
    /// The gap before division.
    pub violation: f64,
    pub train_error: f64,
}

/// One side's multiplier and violation: all samples, or those of one class.
struct Side {
    most: f64,
    least: f64,
    free_sum: f64,
    free: usize,
}

impl Side {
    fn new(alpha: &[f64], g: &[f64], room: &[f64], keep: impl Fn(usize) -> bool) -> Self {
        let mut side = Self { most: f64::NEG_INFINITY, least: f64::INFINITY, free_sum: 0.0, free: 0 };
        for i in (0..alpha.len()).filter(|&i| room[i] > 0.0 && keep(i)) {
            if alpha[i] > 0.0 {
                side.most = side.most.max(g[i]);
            }
            if alpha[i] < room[i] {
                side.least = side.least.min(g[i]);
            }
            if alpha[i] > 0.0 && alpha[i] < room[i] {
                side.free_sum += g[i];
                side.free += 1;
            }
        }
        side
    }

    /// Mean gradient of the free samples; without any, the middle of what the bounds allow.
    fn lambda(&self) -> f64 {
        match (self.free, self.most.is_finite(), self.least.is_finite()) {
            (0, true, true) => 0.5 * (self.most + self.least),
            (0, true, false) => self.most,
            (0, false, _) => f64::NAN,
            (free, ..) => self.free_sum / free as f64,
        }
    }

    fn violation(&self) -> f64 {
        if self.most.is_finite() && self.least.is_finite() { (self.most - self.least).max(0.0) } else { 0.0 }
    }
}

/// The facts about `alpha` with `g = Q alpha`. Samples have `room` for their `alpha`, which is what they weigh; `balanced` machines have an intercept, each class its own multiplier.
pub(super) fn facts(alpha: &[f64], g: &[f64], signs: &[f64], room: &[f64], balanced: bool) -> Facts {
    let sum: f64 = alpha.iter().sum();
    let quadratic: f64 = alpha.iter().zip(g).map(|(a, g)| a * g).sum();
    let weight: f64 = alpha.iter().zip(g).map(|(a, g)| a * g.abs()).sum();
    let (lambda, bias, violation) = if balanced {
        let (plus, minus) = (Side::new(alpha, g, room, |i| signs[i] > 0.0), Side::new(alpha, g, room, |i| signs[i] < 0.0));
        let (up, down) = (plus.lambda(), minus.lambda());
        let bias = 0.5 * (down - up);
        (0.5 * (up + down), if bias.is_finite() { bias } else { 0.0 }, plus.violation().max(minus.violation()))
    } else {
        let all = Side::new(alpha, g, room, |_| true);
        (all.lambda(), 0.0, all.violation())
    };
    // Opposite twins can make g vanish: then there is nothing to be wrong about.
    let noise = 1e-15 * sum.max(f64::MIN_POSITIVE);
    let gap = if weight <= noise * sum && violation <= noise { 0.0 } else { violation * sum / weight.max(noise * sum) };
    // f_i = y_i g_i + b; zero counts as the negative class, as everywhere.
    let wrong = (0..alpha.len()).filter(|&i| (signs[i] * g[i] + bias > 0.0) != (signs[i] > 0.0)).fold(0.0, |sum, i| sum + room[i]);
    let train_error = wrong / room.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    Facts { quadratic, sum, support: alpha.iter().filter(|&&a| a > 0.0).count(), lambda, bias, gap, violation, train_error }
}

impl Facts {
    /// The table's row; the hold-out error comes later.
    pub(super) fn point(&self) -> FrontPoint {
        let has_street = self.lambda > 0.0 && self.quadratic > 0.0;
        FrontPoint {
            quadratic: self.quadratic,
            sum_alpha: self.sum,
            train_error: self.train_error,
            holdout_error: f64::NAN,
            n_support: self.support,
            equivalent_c: if self.lambda > 0.0 { 1.0 / self.lambda } else { f64::NAN },
            margin: if has_street { self.lambda / self.quadratic.sqrt() } else { f64::NAN },
            gap: self.gap,
        }
    }
}
