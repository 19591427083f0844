//! The sharpness gamma and the rows' weights: how much of the loss a new feature could still remove, row by row.
//!
//! `H_i = y_i f(x_i) - 1` is negative inside the margin and behind it. The smooth loss `1/gamma log(1 + exp(-gamma H))` exceeds the hinge
//! by `G(gamma) = 1/gamma sum_i s_i log(1 + exp(-gamma |H_i|))` in all, and gamma is chosen so that this excess equals the regularisation
//! term R: the smooth loss then bounds the whole objective of the machine. G falls from infinity to 0 and is convex, so there is
//! exactly one root for every R > 0. (The paper minimises (G - R)^2, which is *not* convex: a Newton minimiser started on the right
//! of the root runs away.)

use serde::{Deserialize, Serialize};

/// Which regularisation term gamma is solved for. The paper prints the second and third in different places; the first is that of the
/// machine that is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum GammaRule {
    /// |w|^2 / (2 C).
    ///
    /// `|w|^2 / (2 C)`: the machine's objective divided by C.
    #[default]
    #[serde(rename = "w2/2C")]
    #[cfg_attr(feature = "clap", value(name = "w2/2C"))]
    HalfSquare,
    /// |w| / C.
    #[serde(rename = "w/C")]
    #[cfg_attr(feature = "clap", value(name = "w/C"))]
    Norm,
    /// C |w|, as printed in the paper.
    ///
    /// `C |w|`, as equation (5) prints it.
    #[serde(rename = "cw")]
    #[cfg_attr(feature = "clap", value(name = "cw"))]
    Literal,
}

impl GammaRule {
    /// The regularisation term.
    pub fn term(self, norm: f64, c: f64) -> f64 {
        match self {
            Self::HalfSquare => norm * norm / (2.0 * c),
            Self::Norm => norm / c,
            Self::Literal => norm * c,
        }
    }
}

/// A solved gamma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharpness {
    /// The root, or the cap.
    pub gamma: f64,
    /// Whether the root lies at or beyond the cap.
    pub capped: bool,
}

/// Solves `G(gamma) = term` for gamma, at most `cap`; `counts` are the rows' sample weights.
pub fn sharpness(slacks: &[f64], counts: &[f64], term: f64, cap: f64) -> Sharpness {
    let capped = Sharpness { gamma: cap, capped: true };
    if term <= 0.0 || term.is_nan() || excess(slacks, counts, cap).0 >= term {
        return capped;
    }
    let Some((mut low, mut high)) = bracket(slacks, counts, term) else { return capped };
    high = high.min(cap);
    let mut gamma = low;
    // Newton from the left end is monotone (convex and falling); bisection guards against rounding.
    for _ in 0..200 {
        let (value, slope) = excess(slacks, counts, gamma);
        let rest = value - term;
        if rest > 0.0 {
            low = low.max(gamma)
        } else {
            high = high.min(gamma)
        }
        let newton = gamma - rest / slope;
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        if (next - gamma).abs() <= 1e-15 * gamma {
            gamma = next;
            break;
        }
        gamma = next;
    }
    Sharpness { gamma: gamma.min(cap), capped: gamma >= cap }
}

/// Ends between which the root lies: `S log 2 / (R + 1/2 sum s |H|)` and `S log 2 / R`, from `log 2 - u/2 <= log(1 + e^-u) <= log 2`.
pub fn bracket(slacks: &[f64], counts: &[f64], term: f64) -> Option<(f64, f64)> {
    let top = counts.iter().sum::<f64>() * std::f64::consts::LN_2;
    let spread: f64 = slacks.iter().zip(counts).map(|(h, s)| s * h.abs()).sum();
    let ends = (top / (term + 0.5 * spread), top / term);
    (ends.0 > 0.0 && ends.1.is_finite()).then_some(ends)
}

/// G and its derivative; `exp` of a positive number is never formed.
fn excess(slacks: &[f64], counts: &[f64], gamma: f64) -> (f64, f64) {
    let (mut value, mut slope) = (0.0, 0.0);
    for (h, s) in slacks.iter().zip(counts) {
        let u = gamma * h.abs();
        let e = (-u).exp();
        let log = e.ln_1p();
        value += s * log;
        slope -= s * (log + u * e / (1.0 + e));
    }
    (value / gamma, slope / (gamma * gamma))
}

/// `1 / (1 + exp(gamma H))`: near 1 for rows far behind the margin, near 0 for rows well outside. Sound for any size of `gamma H`.
pub fn row_weights(slacks: &[f64], gamma: f64) -> Vec<f64> {
    let logistic = |z: f64| {
        let e = (-z.abs()).exp();
        if z >= 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
    };
    slacks.iter().map(|h| logistic(gamma * h)).collect()
}

/// What a feature promises before the machine is fitted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// `B / A`, the weighted correlation of the feature with the classes, from -1 to 1.
    pub edge: f64,
    /// The step `atanh(B / A) / gamma` that the bound below is reached with.
    pub step: f64,
    /// By how much the smooth loss falls at least: `(A - sqrt(A^2 - B^2)) / gamma`.
    pub decrease: f64,
}

/// The edge of a feature with values `g` in [-1, 1]; `weights` are the row weights times the sample weights.
pub fn edge(weights: &[f64], signs: &[f64], g: &[f64], gamma: f64) -> Edge {
    let total: f64 = weights.iter().sum();
    let agreement: f64 = weights.iter().zip(signs).zip(g).map(|((w, y), g)| w * y * g).sum();
    if total <= 0.0 {
        return Edge::default();
    }
    let edge = (agreement / total).clamp(-1.0, 1.0);
    // A perfect feature would promise an infinite step; files hold finite numbers.
    let step = edge.clamp(-1.0 + 1e-15, 1.0 - 1e-15).atanh() / gamma;
    Edge { edge, step, decrease: (total - (total * total - agreement * agreement).max(0.0).sqrt()) / gamma }
}
