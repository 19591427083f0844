//! The switch of one group: how its energy `q` becomes the probability that it is on.
//!
//! ```text
//! f(q)     = ln(1 - rho + rho exp(q / 2))
//! s(q)     = 2 f'(q) = sigmoid(q / 2 - l),   l = ln((1 - rho) / rho)
//! R(|w|)   = max over u of |u| |w| - f(u^2)     attained where |w| = s(u^2) |u|
//! ```
//! For small rho the regularizer `R` is close to `sqrt(2 l) |w|` below `sqrt(2 l)` and to `w^2 / 2 + l` above: a group lasso that turns into a
//! ridge. For rho = 1 it is `w^2 / 2`.

/// The prior probability that a group is on, as its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Switch {
    ln_rho: f64,
    ln_rest: f64,
    /// `ln((1 - rho) / rho)`, minus infinity for rho = 1.
    logit: f64,
}

/// A switch's state: on, off, and the bonus `f`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct State {
    pub on: f64,
    pub off: f64,
}

impl Switch {
    pub fn new(ln_rho: f64) -> Self {
        let ln_rest = if ln_rho >= 0.0 { f64::NEG_INFINITY } else { (-ln_rho.exp_m1()).ln() };
        Self { ln_rho, ln_rest, logit: if ln_rho >= 0.0 { f64::NEG_INFINITY } else { ln_rest - ln_rho } }
    }

    /// `ln(rho / (1 - rho))`, infinite for rho = 1.
    pub fn log_odds(&self) -> f64 {
        -self.logit
    }

    /// `f(q)`, with full relative accuracy for small `rho` and small `q`, and without overflow for large `q`.
    pub fn bonus(&self, q: f64) -> f64 {
        let half = 0.5 * q;
        if self.ln_rho >= 0.0 {
            return half;
        }
        let exponent = self.ln_rho + half;
        if exponent < 0.0 {
            // rho (exp(q / 2) - 1), as one exponential where exp(q / 2) alone would overflow.
            let rise = if half < 700.0 { self.ln_rho.exp() * half.exp_m1() } else { exponent.exp() - self.ln_rho.exp() };
            // A rho below the smallest double leaves only the product of the exponentials.
            let rise = if rise == 0.0 && half > 0.0 { (exponent.exp() - self.ln_rho.exp()).max(0.0) } else { rise };
            rise.ln_1p()
        } else {
            exponent + (self.ln_rest - exponent).exp().ln_1p()
        }
    }

    /// Both sides of the switch at energy `q`, each to full relative accuracy.
    pub fn state(&self, q: f64) -> State {
        let t = 0.5 * q - self.logit;
        let small = (-t.abs()).exp();
        let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
        if t >= 0.0 { State { on: more, off: less } } else { State { on: less, off: more } }
    }

    /// What the probability `on` costs: its divergence from rho.
    pub fn divergence(&self, on: f64) -> f64 {
        if self.ln_rho >= 0.0 {
            return 0.0;
        }
        let off = 1.0 - on;
        let part = |share: f64, ln_prior: f64| if share > 0.0 { share * (share.ln() - ln_prior) } else { 0.0 };
        (part(on, self.ln_rho) + part(off, self.ln_rest)).max(0.0)
    }

    /// The `r` with `(s(r^2) + k) r = p`, for `p >= 0` and `k >= 0`.
    ///
    /// The left side rises strictly, so the root is unique; Newton's method in `ln r` inside a bracket.
    pub fn invert(&self, p: f64, k: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        if self.ln_rho >= 0.0 {
            return p / (1.0 + k);
        }
        let mut low = p / (1.0 + k);
        // With s = rho throughout, r = p / (rho + k) at most; and s >= 1/2 beyond sqrt(2 l).
        let most = p / (self.ln_rho.exp() + k);
        let turning = (2.0 * self.logit.max(0.0)).sqrt();
        let mut high = most.min((p / (0.5 + k)).max(turning)).max(low * (1.0 + 1e-15));
        let mut r = if most <= turning { most } else { turning.clamp(low, high) };
        r = r.clamp(low, high);
        for _ in 0..200 {
            let state = self.state(r * r);
            let factor = state.on + k;
            let value = factor * r;
            if value > p {
                high = r
            } else {
                low = r
            }
            if high - low <= 4.0 * f64::EPSILON * high {
                break;
            }
            // d ln(value) / d ln(r) = 1 + on off r^2 / factor
            let slope = 1.0 + state.on * state.off * r * r / factor;
            let mut next = r * ((p / value).ln() / slope).exp();
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            if (next - r).abs() <= 2.0 * f64::EPSILON * r {
                return next;
            }
            r = next;
        }
        r
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_stable_at_every_scale() {
        let tiny = Switch::new((1e-12f64).ln());
        assert!((tiny.bonus(1e-9) / 5e-22 - 1.0).abs() < 1e-9);
        for ln_rho in [0.0, -1e-300, -1e-9, -0.1, -1.0, -20.0, -400.0, -700.0] {
            let switch = Switch::new(ln_rho);
            for q in [0.0, 1e-12, 1.0, 10.0, 790.0, 810.0, 1e4, 1e8, 1e300] {
                let (bonus, state) = (switch.bonus(q), switch.state(q));
                assert!(bonus.is_finite() && bonus >= 0.0 && bonus <= 0.5 * q * (1.0 + 1e-12), "{ln_rho} {q} {bonus}");
                assert!((0.0..=1.0).contains(&state.on) && (0.0..=1.0).contains(&state.off));
                assert!((state.on + state.off - 1.0).abs() < 1e-14);
            }
        }
        let switch = Switch::new(-400.0);
        assert!((switch.bonus(900.0) - 50.0).abs() < 1e-10, "{}", switch.bonus(900.0));
        assert!((switch.state(700.0).on / (-50f64).exp() - 1.0).abs() < 1e-10);
    }

    #[test]
    fn the_switch_is_twice_the_slope() {
        for ln_rho in [-0.5, -5.0, -30.0] {
            let switch = Switch::new(ln_rho);
            for q in [0.5, 8.0, 30.0, 62.0, 80.0] {
                let h = 1e-5;
                let slope = (switch.bonus(q + h) - switch.bonus(q - h)) / (2.0 * h);
                assert!((2.0 * slope - switch.state(q).on).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_inverse_inverts() {
        for ln_rho in [0.0, -1e-3, -1.0, -9.2, -50.0, -400.0] {
            let switch = Switch::new(ln_rho);
            for k in [0.0, 0.01, 0.1, 1.0] {
                for p in [1e-30, 1e-8, 0.01, 0.3, 1.0, 4.0, 30.0, 1e3, 1e9] {
                    let r = switch.invert(p, k);
                    let back = (switch.state(r * r).on + k) * r;
                    assert!((back / p - 1.0).abs() < 1e-11, "ln rho {ln_rho}, k {k}, p {p}: r {r}, back {back}");
                }
            }
        }
    }
}
