//! When a sweep over a front has seen enough.

/// Watches the held-out error along a sweep towards small sums (a large C), and says when it has risen for good.
///
/// Small sums are the dear ones, and beyond the valley of the error they decide nothing.
pub(super) struct Rise {
    /// What the held-out rows weigh.
    total: f64,
    lowest: f64,
    /// Points in a row whose error is clearly above the lowest, and how many are for good.
    above: usize,
    enough: usize,
}

impl Rise {
    /// Standard errors above the lowest that count as clear.
    const CLEAR: f64 = 2.0;

    pub(super) fn new(total: f64, enough: usize) -> Self {
        Self { total, lowest: f64::INFINITY, above: 0, enough }
    }

    /// Whether to go on after a point that is wrong about rows of this weight.
    pub(super) fn go_on(&mut self, wrong: f64) -> bool {
        let share = wrong / self.total.max(f64::MIN_POSITIVE);
        self.lowest = self.lowest.min(share);
        // One row at least: a lowest error of nothing has no spread of its own.
        let spread = self.lowest.max(1.0 / self.total.max(1.0));
        let clear = self.lowest + Self::CLEAR * (spread * (1.0 - spread).max(0.0) / self.total.max(1.0)).sqrt();
        self.above = if share > clear { self.above + 1 } else { 0 };
        self.above < self.enough
    }
}

#[cfg(test)]
mod tests {
    use super::Rise;

    #[test]
    fn a_sweep_ends_where_the_error_has_risen_for_good() {
        let seen = |wrong: &[f64]| {
            let mut rise = Rise::new(100.0, 2);
            wrong.iter().take_while(|&&wrong| rise.go_on(wrong)).count()
        };
        assert_eq!(seen(&[40.0, 20.0, 10.0, 12.0, 14.0, 11.0]), 6, "within the noise");
        assert_eq!(seen(&[40.0, 10.0, 20.0, 12.0, 20.0, 21.0, 22.0]), 5, "one point is no valley, two in a row are");
        assert_eq!(seen(&[0.0, 0.0, 1.0, 2.0, 1.0]), 5, "no error at all is no reason to stop at the first");
    }
}
