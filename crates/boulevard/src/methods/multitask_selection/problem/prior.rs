//! Margin priors: what an example contributes to the dual, and the loss it stands for.
//!
//! ```text
//! dual     a v + g(v),  0 <= v < c        (one multiplier per example, or two in regression)
//! primal   phi(m) = max over v of  m v + g(v),   m the margin by which the constraint is missed
//! ```
//! | prior | g(v) |
//! |---|---|
//! | classification | `v + ln(1 - v / c)`, with `m = -y f` |
//! | exponential | `-epsilon v + ln(1 - v / c)`, with `m = +-(y - f)` |
//! | flat then exponential (Jebara and Jaakkola 2000) | `-epsilon v - ln((A(v) + 1/(c - v)) / (epsilon + 1/c))` |
//!
//! with `A(v) = (1 - exp(-epsilon v)) / v`. All are strictly concave: `-g''` is the variance of the margin.

use serde::{Deserialize, Serialize};

/// The prior of the margin in regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum MarginPrior {
    /// Exponential beyond epsilon.
    ///
    /// Exponential decay beyond epsilon.
    #[default]
    Exp,
    /// Flat up to epsilon, exponential beyond.
    ///
    /// Flat up to epsilon, exponential decay beyond (Jebara and Jaakkola 2000).
    Jj,
}

/// A margin prior with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Margin {
    pub c: f64,
    kind: PriorKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PriorKind {
    /// `offset v + ln(1 - v / c)`: offset 1 in classification, `-epsilon` in regression.
    Log {
        offset: f64,
    },
    Jj {
        epsilon: f64,
    },
}

/// The loss at one margin: value, the multiplier that attains it, and how fast that multiplier grows.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Loss {
    pub value: f64,
    pub multiplier: f64,
    pub curvature: f64,
}

impl Loss {
    /// The loss of a sample that counts this much.
    pub fn times(self, weight: f64) -> Self {
        Self { value: weight * self.value, multiplier: weight * self.multiplier, curvature: weight * self.curvature }
    }
}

/// `g`, `g'` and `-g''` at one multiplier.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Term {
    pub value: f64,
    pub slope: f64,
    pub curvature: f64,
}

impl Margin {
    pub fn classification(c: f64) -> Self {
        Self { c, kind: PriorKind::Log { offset: 1.0 } }
    }

    pub fn regression(c: f64, epsilon: f64, prior: MarginPrior) -> Self {
        let kind = match prior {
            MarginPrior::Exp => PriorKind::Log { offset: -epsilon },
            MarginPrior::Jj => PriorKind::Jj { epsilon },
        };
        Self { c, kind }
    }

    /// The offset of the logarithmic form, which the interior point method splits into a pair of its own.
    pub fn log_offset(&self) -> Option<f64> {
        match self.kind {
            PriorKind::Log { offset } => Some(offset),
            PriorKind::Jj { .. } => None,
        }
    }

    /// `g` and its derivatives at `0 <= v < c`.
    pub fn term(&self, v: f64) -> Term {
        let room = self.c - v;
        match self.kind {
            PriorKind::Log { offset } => {
                Term { value: offset * v + (-v / self.c).ln_1p(), slope: offset - 1.0 / room, curvature: 1.0 / (room * room) }
            }
            PriorKind::Jj { epsilon } => {
                let [a0, a1, a2] = moments(epsilon, v);
                let b = 1.0 / room;
                let (n, n1, n2) = (a0 + b, b * b - a1, a2 + 2.0 * b * b * b);
                let ratio = n1 / n;
                Term {
                    value: -epsilon * v - (n / (epsilon + 1.0 / self.c)).ln(),
                    slope: -epsilon - ratio,
                    curvature: (n2 / n - ratio * ratio).max(f64::MIN_POSITIVE),
                }
            }
        }
    }

    /// `g(v)` alone.
    pub fn value(&self, v: f64) -> f64 {
        match self.kind {
            PriorKind::Log { offset } => offset * v + (-v / self.c).ln_1p(),
            PriorKind::Jj { .. } => self.term(v).value,
        }
    }

    /// The margin up to which the loss is zero: `-g'(0)`.
    pub fn threshold(&self) -> f64 {
        -self.term(0.0).slope
    }

    /// `phi(m) = max over v of m v + g(v)`.
    pub fn loss(&self, m: f64) -> Loss {
        match self.kind {
            PriorKind::Log { offset } => {
                let t = self.c * (m + offset);
                if t <= 1.0 {
                    return Loss::default();
                }
                // v = c - 1 / (m + offset), without cancellation near zero.
                let excess = t - 1.0;
                let value = if excess < 1e-3 { small_log_excess(excess) } else { excess - t.ln() };
                Loss { value, multiplier: self.c * (excess / t), curvature: (self.c / t).powi(2) }
            }
            PriorKind::Jj { .. } => {
                if m <= self.threshold() {
                    return Loss::default();
                }
                let v = self.solve(m);
                let term = self.term(v);
                Loss { value: m * v + term.value, multiplier: v, curvature: 1.0 / term.curvature }
            }
        }
    }

    /// The `v` that maximises `m v + g(v) - step v^2 / 2`.
    #[inline(always)]
    pub fn best(&self, m: f64, step: f64) -> f64 {
        match self.kind {
            PriorKind::Log { offset } => {
                let slope = m + offset;
                if slope * self.c <= 1.0 {
                    return 0.0;
                }
                // With t = c - v:  step t^2 + (slope - step c) t - 1 = 0. The positive root, from the form that does not cancel.
                let b = slope - step * self.c;
                let root = (b * b + 4.0 * step).sqrt();
                let t = if b >= 0.0 { 2.0 / (b + root) } else { (root - b) / (2.0 * step) };
                (self.c - t).clamp(0.0, self.c * (1.0 - 1e-15))
            }
            PriorKind::Jj { .. } => self.best_by_newton(m, step),
        }
    }

    fn best_by_newton(&self, m: f64, step: f64) -> f64 {
        if m <= self.threshold() {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, self.c);
        let mut v = (m / (step + 1.0 / self.c)).min(0.5 * self.c);
        for _ in 0..100 {
            let term = self.term(v);
            let slope = m + term.slope - step * v;
            if slope > 0.0 {
                low = v
            } else {
                high = v
            }
            let mut next = v + slope / (term.curvature + step);
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            if (next - v).abs() <= 1e-13 * self.c {
                return next;
            }
            v = next;
        }
        v
    }

    /// The root of `m + g'(v) = 0`: Newton's method kept inside a shrinking bracket.
    fn solve(&self, m: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.c);
        // Beyond the flat part the prior is exponential: v is close to c - 1 / (m - epsilon).
        let mut v = (self.c - 1.0 / m.max(1.0 / self.c)).clamp(0.0, self.c * (1.0 - 1e-12));
        for _ in 0..200 {
            let term = self.term(v);
            let slope = m + term.slope;
            if slope > 0.0 {
                low = v
            } else {
                high = v
            }
            let mut next = v + slope / term.curvature;
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            if (next - v).abs() <= 1e-16 * self.c {
                return next;
            }
            v = next;
        }
        v
    }
}

/// `e - ln(1 + e)` for small `e`, where the difference would lose its digits.
fn small_log_excess(e: f64) -> f64 {
    e * e * (0.5 - e * (1.0 / 3.0 - e * (0.25 - e * (0.2 - e / 6.0))))
}

/// `A_j = integral of g^j exp(-v g)` over `0 <= g <= epsilon`, for j = 0, 1, 2.
fn moments(epsilon: f64, v: f64) -> [f64; 3] {
    let x = epsilon * v;
    if x < 1.0 {
        let mut sums = [0.0; 3];
        let mut power = 1.0;
        for k in 0..24 {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += power / (k + j + 1) as f64;
            }
            power *= -x / (k + 1) as f64;
        }
        return [sums[0] * epsilon, sums[1] * epsilon.powi(2), sums[2] * epsilon.powi(3)];
    }
    let e = (-x).exp();
    [(1.0 - e) / v, (1.0 - e * (1.0 + x)) / (v * v), (2.0 - e * (2.0 + 2.0 * x + x * x)) / (v * v * v)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priors() -> Vec<Margin> {
        vec![
            Margin::classification(3.0),
            Margin::regression(5.0, 0.15, MarginPrior::Exp),
            Margin::regression(5.0, 0.15, MarginPrior::Jj),
            Margin::regression(50.0, 0.5, MarginPrior::Jj),
            Margin::regression(2.0, 0.0, MarginPrior::Jj),
        ]
    }

    #[test]
    fn derivatives_agree_with_differences() {
        for prior in priors() {
            for share in [0.001, 0.1, 0.4, 0.9] {
                let (v, h) = (share * prior.c, 1e-5 * prior.c * share);
                let (low, high, term) = (prior.term(v - h), prior.term(v + h), prior.term(v));
                let slope = (high.value - low.value) / (2.0 * h);
                let curvature = -(high.slope - low.slope) / (2.0 * h);
                assert!((slope - term.slope).abs() < 1e-6 * (1.0 + slope.abs()), "{prior:?} {v}: {slope} {}", term.slope);
                assert!((curvature - term.curvature).abs() < 1e-5 * curvature.abs(), "{prior:?} {v}: {curvature} {}", term.curvature);
            }
        }
    }

    #[test]
    fn the_loss_is_the_conjugate() {
        for prior in priors() {
            for m in [-2.0, 0.0, 0.2, 0.5, 1.0, 3.0, 40.0] {
                let loss = prior.loss(m);
                let best = (0..20_000).map(|i| prior.c * i as f64 / 20_000.0).map(|v| m * v + prior.value(v)).fold(0.0, f64::max);
                assert!((loss.value - best).abs() < 1e-5 * (1.0 + best), "{prior:?} {m}: {} {best}", loss.value);
                if loss.multiplier > 0.0 {
                    assert!((m + prior.term(loss.multiplier).slope).abs() < 1e-9 * (1.0 + m), "{prior:?} {m}");
                }
                let h = 1e-6;
                let slope = (prior.loss(m + h).value - prior.loss(m - h).value) / (2.0 * h);
                assert!((slope - loss.multiplier).abs() < 1e-4 * prior.c, "{prior:?} {m}");
            }
        }
    }

    #[test]
    fn moments_are_continuous_where_the_formula_changes() {
        let (below, above) = (moments(0.5, 2.0 * (1.0 - 1e-13)), moments(0.5, 2.0));
        for (a, b) in below.iter().zip(above) {
            assert!((a - b).abs() < 1e-12 * b);
        }
    }
}
