//! The few special functions that the tests of significance need.

/// Logarithm of the gamma function, for x > 0.
pub(super) fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The regularized incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1].
///
/// The continued fraction converges fast for `x < (a + 1) / (a + b + 2)`; the other side follows from `I_x(a, b) = 1 - I_{1-x}(b, a)`.
pub(super) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    ln_front.exp() / a * beta_fraction(a, b, x)
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0f64).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// The complementary error function.
pub(crate) fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b.abs().max(1e-300)
    }

    #[test]
    fn gamma_at_known_points() {
        assert!(ln_gamma(1.0).abs() < 1e-14 && ln_gamma(2.0).abs() < 1e-14);
        assert!(near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-13));
        assert!(near(ln_gamma(11.0), 3_628_800f64.ln(), 1e-14));
        assert!(near(ln_gamma(0.001), 6.907_178_885_383_853, 1e-12));
    }

    #[test]
    fn beta_where_it_has_a_closed_form() {
        for x in [0.001, 0.1, 0.4, 0.5, 0.9, 0.999f64] {
            assert!(near(incomplete_beta(1.0, 3.0, x), 1.0 - (1.0 - x).powi(3), 1e-12));
            assert!(near(incomplete_beta(4.0, 1.0, x), x.powi(4), 1e-12));
            assert!(near(incomplete_beta(0.5, 0.5, x), 2.0 / std::f64::consts::PI * x.sqrt().asin(), 1e-12));
            // Binomial tail: I_x(2, 3) = sum over j >= 2 of C(4, j) x^j (1 - x)^(4 - j).
            let tail = 6.0 * x * x * (1.0 - x).powi(2) + 4.0 * x.powi(3) * (1.0 - x) + x.powi(4);
            assert!(near(incomplete_beta(2.0, 3.0, x), tail, 1e-12));
        }
        assert_eq!((incomplete_beta(2.0, 3.0, 0.0), incomplete_beta(2.0, 3.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn erfc_at_known_points() {
        assert_eq!(erfc(0.0), 1.0);
        assert!(near(erfc(0.5), 0.479_500_122_186_953_5, 1e-14));
        assert!(near(erfc(1.0), 0.157_299_207_050_285_13, 1e-14));
        assert!(near(erfc(2.0), 0.004_677_734_981_047_266, 1e-11));
        assert!(near(erfc(3.0), 2.209_049_699_858_544e-5, 1e-12));
        assert!(near(erfc(6.0), 2.151_973_671_249_891_3e-17, 1e-12));
        assert!(near(erfc(2.5 - 1e-9), erfc(2.5), 1e-7));
    }
}
