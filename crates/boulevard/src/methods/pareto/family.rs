//! Several widths of the kernel at once: the coarse front of each, and the common front of all.

use super::judge::{Judged, weighted_share};
use super::model::ParetoModel;
use super::point::{Facts, FrontPoint};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::metrics::pareto::non_dominated_ranks;
use crate::svm::argmax;

/// The points of one class's front, each with what it says about the held-out rows.
pub(super) type OfClass = (usize, Vec<(Facts, Vec<f64>)>);

/// The coarse front of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct WidthFront {
    /// The kernel's gamma.
    pub gamma: f64,
    /// Its points, by rising sum, from the rows that the fine front learns from; hold-out errors are those of the
    /// first hold-out, training errors of several classes the mean of the machines' own.
    pub front: Vec<FrontPoint>,
    /// Estimates of the hold-out error, one per point: means over hold-outs and neighboring points.
    pub estimates: Vec<f64>,
    /// Hold-outs that were judged.
    pub holdouts: usize,
    /// The area that the front covers, from sum 0 and the largest quadratic term of all widths.
    pub hypervolume: f64,
}

impl WidthFront {
    /// The lowest estimate.
    pub fn lowest(&self) -> f64 {
        self.estimates.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A point of the common front: the place of its width, the place on that width's front, and the point.
pub type CommonPoint = (usize, usize, FrontPoint);

impl ParetoModel {
    /// The points of all widths that no other is better than in both objectives, by rising sum.
    pub fn common_front(&self) -> Result<Vec<CommonPoint>> {
        let all: Vec<CommonPoint> = self
            .family
            .iter()
            .enumerate()
            .flat_map(|(width, own)| own.front.iter().enumerate().map(move |(place, point)| (width, place, *point)))
            .collect();
        let objectives: Vec<[f64; 2]> = all.iter().map(|(.., point)| [point.sum_alpha, -point.quadratic]).collect();
        let ranks = non_dominated_ranks(&objectives)?;
        let mut common: Vec<CommonPoint> = all.into_iter().zip(ranks).filter(|(_, rank)| *rank == 0).map(|(point, _)| point).collect();
        common.sort_by(|a, b| a.2.sum_alpha.total_cmp(&b.2.sum_alpha));
        Ok(common)
    }

    /// The place of the width that was chosen, where there were several.
    pub fn chosen_width(&self) -> Option<usize> {
        let lowest = |i: &usize| self.family[*i].lowest();
        let full = self.family.iter().map(|own| own.holdouts).max()?;
        (0..self.family.len()).filter(|&i| self.family[i].holdouts == full).min_by(|a, b| lowest(a).total_cmp(&lowest(b)))
    }
}

/// The kernel's gamma, also of one that was negated.
pub(super) fn width(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Sum { terms } if terms.len() == 1 => width(&terms[0].1),
        kernel => kernel.gamma().and_then(|gamma| gamma.value()).unwrap_or(f64::NAN),
    }
}

/// The common table of several machines at the same positions. A machine whose front ends early stays at its end.
pub(super) fn joint(machines: &[OfClass], held: Judged<'_>, classes: usize) -> Vec<FrontPoint> {
    let positions = machines.iter().map(|(_, slots)| slots.len()).max().unwrap_or(0);
    let at = |machine: &(usize, Vec<(Facts, Vec<f64>)>), position: usize| (position + machine.1.len()).saturating_sub(positions);
    (0..positions)
        .map(|position| {
            let each = || machines.iter().map(|machine| &machine.1[at(machine, position)]);
            let says = |row: usize| {
                if classes == 2 {
                    return usize::from(machines[0].1[position].1[row] > 0.0);
                }
                let values: Vec<f64> = each().map(|(_, said)| said[row]).collect();
                machines[argmax(&values)].0
            };
            let points: Vec<FrontPoint> = each().map(|(facts, _)| facts.point()).collect();
            let sum = |value: &dyn Fn(&FrontPoint) -> f64| points.iter().map(value).sum::<f64>();
            FrontPoint {
                quadratic: sum(&|point| point.quadratic),
                sum_alpha: sum(&|point| point.sum_alpha),
                // Of several machines the mean: their joint decisions about training rows are not worth the time here.
                train_error: sum(&|point| point.train_error) / points.len() as f64,
                holdout_error: weighted_share(held.weights, |row| says(row) != held.codes[row] as usize),
                n_support: points.iter().map(|point| point.n_support).max().unwrap_or(0),
                equivalent_c: (sum(&|point| point.equivalent_c.ln()) / points.len() as f64).exp(),
                margin: points.iter().map(|point| point.margin).fold(f64::INFINITY, |least, m| if m.is_nan() { m } else { least.min(m) }),
                gap: points.iter().map(|point| point.gap).fold(0.0, f64::max),
            }
        })
        .collect()
}

/// The first hold-out's points, and the means over hold-outs and neighbors at their positions, which are counted from the largest sum.
pub(super) fn estimates(fronts: &[Vec<FrontPoint>]) -> (Vec<FrontPoint>, Vec<f64>) {
    let first = fronts.first().cloned().unwrap_or_default();
    let from_end = |front: &[FrontPoint], back: usize| front[front.len().saturating_sub(back + 1)].holdout_error;
    let known: Vec<&Vec<FrontPoint>> = fronts.iter().filter(|front| !front.is_empty()).collect();
    let mean = |place: usize| known.iter().map(|front| from_end(front, first.len() - 1 - place)).sum::<f64>() / known.len().max(1) as f64;
    let means: Vec<f64> = (0..first.len()).map(mean).collect();
    let smooth = |place: usize| {
        let near = |other: usize| means.get(other).copied().unwrap_or(means[place]);
        0.5 * means[place] + 0.25 * (near(place.wrapping_sub(1)) + near(place + 1))
    };
    let smoothed = (0..means.len()).map(smooth).collect();
    (first, smoothed)
}
