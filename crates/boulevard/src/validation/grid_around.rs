//! Where a grid lies when nobody says, and what is tried around its best point.
//!
//! Values are spaced evenly on a logarithmic scale around what the data say: gamma around the rule `scale` (one over columns times
//! variance: with it, distances between rows are about 1), C of a classifier around 1, because slack is measured in margins; C and
//! epsilon of a regression in units of the target's spread. Steps are wide, because errors change slowly; the second round halves them
//! around the best point.

use super::grid_table::GridSetting;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::kernel::{Gamma, GammaRule, Kernel};

/// Automatic values for a kernel and a table.
#[derive(Clone, Debug, PartialEq)]
pub struct AutomaticGrid {
    /// Values of C.
    pub c: Vec<f64>,
    /// Values of gamma; none where the kernel has none.
    pub gamma: Vec<f64>,
    /// Values of epsilon; none for classes.
    pub epsilon: Vec<f64>,
    /// What they are centered on, in words.
    pub why: String,
}

/// C of a classifier: 1/8 to 512, a factor of 8 apart.
const C_POWERS: std::ops::RangeInclusive<i32> = -1..=3;
/// Gamma: `scale` times 1/64 to 4, a factor of 4 apart.
const GAMMA_POWERS: std::ops::RangeInclusive<i32> = -3..=1;
/// Epsilon, in units of the target's spread.
const EPSILONS: [f64; 2] = [0.03, 0.24];

impl AutomaticGrid {
    /// Values for `kernel` on the rows of `data`. Its own gamma is not looked at.
    pub fn new(kernel: &Kernel, data: &Dataset<'_>) -> Result<Self> {
        let unit = match &data.target {
            Target::Real(values) => spread(values, data.weights.as_deref()),
            _ => 1.0,
        };
        let c = C_POWERS.map(|power| unit * 8f64.powi(power)).collect();
        let epsilon = if matches!(data.target, Target::Real(_)) { EPSILONS.iter().map(|share| share * unit).collect() } else { Vec::new() };
        let (gamma, mut why) = match kernel.gamma() {
            None => (Vec::new(), "the kernel has no gamma".to_owned()),
            Some(_) => {
                let mut center = kernel.clone();
                if let Some(gamma) = center.gamma_mut() {
                    *gamma = Gamma::Rule(GammaRule::Scale);
                }
                let center = center.resolve(&data.x, data.weights.as_deref())?.gamma().and_then(Gamma::value).unwrap_or(1.0);
                let values = GAMMA_POWERS.map(|power| center * 4f64.powi(power)).collect();
                (values, format!("gamma around {} (one over columns times variance)", crate::words::general(center, 3)))
            }
        };
        if matches!(data.target, Target::Real(_)) {
            why.push_str(&format!("; C and epsilon in units of the target's spread, {}", crate::words::general(unit, 3)));
        }
        Ok(Self { c, gamma, epsilon, why })
    }
}

/// The standard deviation of the target; 1 where there is none.
fn spread(values: &[f64], weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..values.len()).map(weight).sum();
    let mean = values.iter().enumerate().map(|(i, y)| weight(i) * y).sum::<f64>() / total;
    let variance = values.iter().enumerate().map(|(i, y)| weight(i) * (y - mean) * (y - mean)).sum::<f64>() / total;
    if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 }
}

/// The points around `best` that the grid of `settings` does not have: all combinations of C and gamma half a step to both sides, and
/// epsilon half a step to both sides.
pub fn around(settings: &[GridSetting], best: &GridSetting) -> Vec<GridSetting> {
    let axis = |value: &dyn Fn(&GridSetting) -> Option<f64>| {
        let mut values: Vec<f64> = settings.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        value(best).map_or(Vec::new(), |at| neighbors(&values, at))
    };
    let (c, gamma, epsilon) = (axis(&|s| Some(s.c)), axis(&|s| s.gamma), axis(&|s| s.epsilon));
    let with_own = |values: &[f64], own: f64| values.iter().copied().chain([own]).collect::<Vec<f64>>();
    let gammas: Vec<Option<f64>> = match best.gamma {
        Some(own) => with_own(&gamma, own).into_iter().map(Some).collect(),
        None => vec![None],
    };
    let mut points: Vec<GridSetting> = Vec::new();
    for &gamma in &gammas {
        points.extend(with_own(&c, best.c).into_iter().map(|c| GridSetting { c, gamma, epsilon: best.epsilon }));
    }
    points.extend(epsilon.iter().map(|&epsilon| GridSetting { epsilon: Some(epsilon), ..*best }));
    points.retain(|point| !settings.contains(point));
    // Points of one gamma and epsilon share kernel rows and start from each other, C rising.
    points.sort_by(|a, b| {
        let or_zero = |value: Option<f64>| value.unwrap_or(0.0);
        or_zero(a.gamma).total_cmp(&or_zero(b.gamma)).then(or_zero(a.epsilon).total_cmp(&or_zero(b.epsilon))).then(a.c.total_cmp(&b.c))
    });
    points
}

/// Half a step (on a logarithmic scale) to both sides of a value of a rising list; at an end a whole step outwards.
fn neighbors(values: &[f64], at: f64) -> Vec<f64> {
    let Some(place) = values.iter().position(|&value| value == at) else { return Vec::new() };
    let positive = |value: f64| value > 0.0 && value.is_finite();
    if values.len() < 2 || !positive(at) {
        return Vec::new();
    }
    let half = |other: f64| if positive(other) { (at * other).sqrt() } else { 0.5 * (at + other) };
    let below = if place > 0 { half(values[place - 1]) } else { at * at / values[1] };
    let above = if place + 1 < values.len() { half(values[place + 1]) } else { at * at / values[place - 1] };
    [below, above].into_iter().filter(|&value| positive(value)).collect()
}
