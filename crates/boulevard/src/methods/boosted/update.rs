//! The weights from one round to the next (AdaBoost, Freund and Schapire 1997, in the paper's notation).
//!
//! ```text
//! e = sum_i W_i [h(x_i) != y_i]      over all rows, not only the drawn ones
//! a = 1/2 ln((1 - e) / e)            e is floored at 1 / (2 N): a perfect round would weigh infinitely much
//! W_i <- W_i exp(-a y_i h(x_i)) / Z  afterwards the rows that were missed weigh one half (unless e was floored)
//! ```
//! A round with `e >= 1/2` is refused: at one half its vote would be 0 and nothing would change, for ever.

/// Decision values of rows that the kernel cannot tell apart differ by rounding: only what is above it is a yes.
const NOISE: f64 = 1e-12;

/// What a machine says at decision value `f`; at zero it says no.
pub fn says_yes(f: f64) -> bool {
    f > NOISE
}

/// What a round is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Weight of the rows it misses, not floored.
    pub error: f64,
    /// Weight of its vote; 0 if it is refused.
    pub alpha: f64,
}

impl Verdict {
    /// Judges a round by the weight of the rows it misses.
    pub fn new(weights: &[f64], missed: &[bool], floor: f64) -> Self {
        // From +0: an empty sum is -0.
        let error = weights.iter().zip(missed).filter(|(_, missed)| **missed).fold(0.0, |sum, (w, _)| sum + w);
        if !Self::is_better_than_chance(error) {
            return Self { error, alpha: 0.0 };
        }
        let floored = error.max(floor);
        Self { error, alpha: 0.5 * ((1.0 - floored) / floored).ln() }
    }

    /// Whether the error is below one half, and not by a rounding: votes of 1e-16 would be accepted for ever.
    pub fn is_better_than_chance(error: f64) -> bool {
        error < 0.5 - 1e-10
    }

    /// Whether the round counts.
    pub fn is_accepted(&self) -> bool {
        self.alpha > 0.0
    }

    /// The weights of the next round, in place.
    ///
    /// One factor per sign and one division per row, no vector instructions that round some rows differently: rows with the same history
    /// keep the same bits, and that is what makes them tie.
    pub fn update(&self, weights: &mut [f64], missed: &[bool]) {
        if !self.is_accepted() {
            return;
        }
        let (right, wrong) = ((-self.alpha).exp(), self.alpha.exp());
        weights.iter_mut().zip(missed).for_each(|(w, missed)| *w *= if *missed { wrong } else { right });
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
    }
}
