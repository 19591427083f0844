//! One switch among many: how the energy of its feature answers a move, and the value that is best then.
//!
//! At fixed switches the machines are solved; what is left is `Phi(s) = max_alpha T(alpha) - sum_d s_d q_d / 2 + sum_d KL(s_d | rho)`. Let
//! `M = K + Omega^-1`, with `Omega` the curvature of the losses. Moves `delta_d` change the first part by no more than
//!
//! ```text
//! -1/2 sum_d q_d delta_d / (1 + delta_d h_d)        where   X' M^-1 X <= diag(h)  on the features that move
//! ```
//! up to the change of `Omega`. `h_d = 1 / s_d` always holds (`M` is at least `K`), and gives the best switch at fixed weights. Where `s_d`
//! is small, `h_d = L sum_i omega_i x_id^2` (`M` is at least `Omega^-1`) is much smaller, `L` the largest eigenvalue of the normalized
//! products of features that move together: 1 alone, some units for features that are hardly correlated.

use super::super::problem::switch::Switch;

/// Newton steps at most.
const STEPS: usize = 60;
/// Change of the log-odds that is nothing.
const NOTHING: f64 = 1e-9;

/// What is known about one switch.
pub(super) struct Answer<'a> {
    switch: &'a Switch,
    on: f64,
    energy: f64,
    /// `h`
    strength: f64,
}

impl<'a> Answer<'a> {
    /// The switch stands at `on`, its feature has `energy`, and answers no more strongly than `bound`.
    pub fn new(switch: &'a Switch, on: f64, energy: f64, bound: f64) -> Self {
        Self { switch, on, energy, strength: bound.min(1.0 / on) }
    }

    /// `1 + (to - on) h`, summed so that it stays positive where `h` is `1 / on` and `to` next to nothing.
    fn room(&self, to: f64) -> f64 {
        (1.0 - self.on * self.strength).max(0.0) + to * self.strength
    }

    /// What the switch at `to` costs, up to a constant.
    pub fn cost(&self, to: f64) -> f64 {
        self.switch.divergence(to) - 0.5 * self.energy * (to - self.on) / self.room(to)
    }

    /// The cheapest value: `logit(s) - logit(rho) = q / 2 / (1 + (s - s_0) h)^2`, the left side rising and the right side falling in s.
    pub fn best(&self) -> f64 {
        let half = 0.5 * self.energy;
        let start = (self.on / (1.0 - self.on).max(f64::MIN_POSITIVE)).ln();
        let mut low = self.switch.log_odds();
        if low == f64::INFINITY {
            return 1.0;
        }
        let mut high = f64::INFINITY;
        let mut odds = start.max(low);
        let mut last = f64::INFINITY;
        for _ in 0..STEPS {
            let small = (-odds.abs()).exp();
            let (less, more) = (small / (1.0 + small), 1.0 / (1.0 + small));
            let (on, off) = if odds >= 0.0 { (more, less) } else { (less, more) };
            let room = self.room(on);
            let earned = half / (room * room);
            let above = odds - self.switch.log_odds() - earned;
            if above > 0.0 {
                high = odds
            } else {
                low = odds
            }
            let slope = 1.0 + 2.0 * earned * self.strength * on * off / room;
            let mut next = odds - above / slope;
            // The right side falls off a cliff: from one of its sides Newton's step ends far on the other, and back.
            let slow = above.abs() > 0.5 * last && high.is_finite();
            last = above.abs();
            if slow || !(next >= low && next <= high) {
                next = if high.is_finite() { 0.5 * (low + high) } else { low + half };
            }
            if (next - odds).abs() <= NOTHING {
                break;
            }
            odds = next;
        }
        1.0 / (1.0 + (-odds).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_value_is_the_cheapest() {
        for ln_rho in [-1.0, -8.0, -17.0, -40.0] {
            let switch = Switch::new(ln_rho);
            for on in [ln_rho.exp(), 1e-3, 0.3, 0.999] {
                for energy in [0.0, 1.0, 12.0, 40.0, 300.0] {
                    for bound in [1e-3, 30.0, 1e12] {
                        let answer = Answer::new(&switch, on, energy, bound);
                        let best = answer.best();
                        let cost = answer.cost(best);
                        for factor in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
                            let other = (factor * best).min(1.0 - 1e-12);
                            assert!(answer.cost(other) >= cost - 1e-9 * (1.0 + cost.abs()), "{ln_rho} {on} {energy} {bound}: {best}");
                        }
                    }
                    // With nothing else known it is the best value at fixed weights.
                    let best = Answer::new(&switch, on, energy, f64::INFINITY).best();
                    let r = switch.invert(on * energy.sqrt(), 0.0);
                    assert!((best / switch.state(r * r).on - 1.0).abs() < 1e-6, "{ln_rho} {on} {energy}: {best}");
                }
            }
        }
        assert_eq!(Answer::new(&Switch::new(0.0), 1.0, 2.0, 1.0).best(), 1.0);
    }
}
