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
        let gamma = width(&self.kernel);
        self.family.iter().position(|own| own.gamma == gamma)
    }

    /// Whether no width that was judged as often has a lower estimate.
    pub(super) fn has_lowest(&self, place: usize) -> bool {
        let own = &self.family[place];
        self.family.iter().all(|other| other.holdouts < own.holdouts || other.lowest() >= own.lowest())
    }
}

/// The kernel's gamma, also of one that was negated.
pub(super) fn width(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Sum { terms } if terms.len() == 1 => width(&terms[0].1),
        kernel => kernel.gamma().and_then(|gamma| gamma.value()).unwrap_or(f64::NAN),
    }
}

/// The points of one width on one hold-out, and which of the held-out rows each is wrong about.
#[derive(Default)]
pub(super) struct HeldOut {
    pub front: Vec<FrontPoint>,
    pub wrong: Vec<Vec<bool>>,
}

/// The common table of several machines at the same positions. A machine whose front ends early stays at its end.
pub(super) fn joint(machines: &[OfClass], held: Judged<'_>, classes: usize) -> HeldOut {
    let positions = machines.iter().map(|(_, slots)| slots.len()).max().unwrap_or(0);
    let at = |machine: &(usize, Vec<(Facts, Vec<f64>)>), position: usize| (position + machine.1.len()).saturating_sub(positions);
    let mut wrong: Vec<Vec<bool>> = Vec::with_capacity(positions);
    let front = (0..positions)
        .map(|position| {
            let each = || machines.iter().map(|machine| &machine.1[at(machine, position)]);
            let says = |row: usize| {
                if classes == 2 {
                    return usize::from(machines[0].1[position].1[row] > 0.0);
                }
                let values: Vec<f64> = each().map(|(_, said)| said[row]).collect();
                machines[argmax(&values)].0
            };
            wrong.push((0..held.codes.len()).map(|row| says(row) != held.codes[row] as usize).collect());
            let points: Vec<FrontPoint> = each().map(|(facts, _)| facts.point()).collect();
            let sum = |value: &dyn Fn(&FrontPoint) -> f64| points.iter().map(value).sum::<f64>();
            FrontPoint {
                quadratic: sum(&|point| point.quadratic),
                sum_alpha: sum(&|point| point.sum_alpha),
                // Of several machines the mean: their joint decisions about training rows are not worth the time here.
                train_error: sum(&|point| point.train_error) / points.len() as f64,
                holdout_error: weighted_share(held.weights, |row| wrong[position][row]),
                n_support: points.iter().map(|point| point.n_support).max().unwrap_or(0),
                equivalent_c: (sum(&|point| point.equivalent_c.ln()) / points.len() as f64).exp(),
                margin: points.iter().map(|point| point.margin).fold(f64::INFINITY, |least, m| if m.is_nan() { m } else { least.min(m) }),
                gap: points.iter().map(|point| point.gap).fold(0.0, f64::max),
            }
        })
        .collect();
    HeldOut { front, wrong }
}

/// The first hold-out's points, and the means over hold-outs and neighbors at their positions, which are counted from the largest sum.
pub(super) fn estimates(judged: &[HeldOut]) -> (Vec<FrontPoint>, Vec<f64>) {
    let first = judged.first().map(|held| held.front.clone()).unwrap_or_default();
    let known: Vec<&HeldOut> = judged.iter().filter(|held| !held.front.is_empty()).collect();
    let error = |held: &HeldOut, back: usize| held.front[from_end(held, back)].holdout_error;
    let mean = |place: usize| known.iter().map(|held| error(held, first.len() - 1 - place)).sum::<f64>() / known.len().max(1) as f64;
    let means: Vec<f64> = (0..first.len()).map(mean).collect();
    (first, smoothed(&means))
}

/// Mean held-out errors over hold-outs and neighbors, against `ln C`. A hold-out whose sweep ended early stays at its last error.
pub(super) fn curve(judged: &[HeldOut], costs: &[f64]) -> Vec<(f64, f64)> {
    let known: Vec<&HeldOut> = judged.iter().filter(|held| !held.front.is_empty()).collect();
    let positions = known.iter().map(|held| held.front.len()).max().unwrap_or(0);
    let error = |held: &&HeldOut, back: usize| held.front[from_end(held, back)].holdout_error;
    let means: Vec<f64> = (0..positions).map(|back| known.iter().map(|held| error(held, back)).sum::<f64>() / known.len() as f64).collect();
    costs.iter().map(|cost| cost.ln()).zip(smoothed(&means)).collect()
}

/// Every value with a quarter of each neighbor's.
fn smoothed(means: &[f64]) -> Vec<f64> {
    let smooth = |place: usize| {
        let near = |other: usize| means.get(other).copied().unwrap_or(means[place]);
        0.5 * means[place] + 0.25 * (near(place.wrapping_sub(1)) + near(place + 1))
    };
    (0..means.len()).map(smooth).collect()
}

fn from_end(held: &HeldOut, back: usize) -> usize {
    held.front.len().saturating_sub(back + 1)
}

/// The place of the lowest estimate, counted from the largest sum, and the estimate.
fn lowest_point(judged: &[HeldOut]) -> Option<(usize, f64)> {
    let (_, estimates) = estimates(judged);
    let place = (0..estimates.len()).min_by(|&a, &b| estimates[a].total_cmp(&estimates[b]))?;
    Some((estimates.len() - 1 - place, estimates[place]))
}

/// Whether rows cannot tell the first width from the better second one: the lowest estimates differ by at most one standard error of the
/// difference, both being judged by the same rows. `weights` are those of the rows of every hold-out, `rows` all there are: rows that are
/// judged twice say little more than once.
pub(super) fn indistinct(first: &[HeldOut], second: &[HeldOut], weights: &[Vec<f64>], rows: f64) -> bool {
    let (Some((back, estimate)), Some((other_back, other))) = (lowest_point(first), lowest_point(second)) else { return false };
    let (mut squares, mut total) = (0.0, 0.0);
    for ((first, second), weights) in first.iter().zip(second).zip(weights) {
        if first.front.is_empty() || second.front.is_empty() {
            continue;
        }
        let (a, b) = (&first.wrong[from_end(first, back)], &second.wrong[from_end(second, other_back)]);
        squares += a.iter().zip(b).zip(weights).filter(|((a, b), _)| a != b).map(|(_, weight)| weight).sum::<f64>();
        total += weights.iter().sum::<f64>();
    }
    let deviation = squares.sqrt() / total.max(f64::MIN_POSITIVE) * (total / rows.max(f64::MIN_POSITIVE)).max(1.0).sqrt();
    estimate - other <= deviation + 1e-12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(wrong: &[&[bool]]) -> HeldOut {
        let error = |wrong: &[bool]| wrong.iter().filter(|&&wrong| wrong).count() as f64 / wrong.len() as f64;
        let point = |wrong: &&[bool]| FrontPoint {
            quadratic: 1.0,
            sum_alpha: 1.0,
            train_error: 0.0,
            holdout_error: error(wrong),
            n_support: 1,
            equivalent_c: 1.0,
            margin: 1.0,
            gap: 0.0,
        };
        HeldOut { front: wrong.iter().map(point).collect(), wrong: wrong.iter().map(|wrong| wrong.to_vec()).collect() }
    }

    #[test]
    fn a_curve_of_errors_goes_by_c_and_stays_where_a_sweep_ended() {
        let rows = |count: usize| (0..4).map(|row| row < count).collect::<Vec<bool>>();
        // By rising sum, which is by falling C: one row wrong at C = 1, two at 2, three at 4; the other ended at C = 2 with four.
        let (long, short) = (held(&[&rows(3), &rows(2), &rows(1)]), held(&[&rows(4), &rows(1)]));
        let found = curve(&[long, short], &[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(found.iter().map(|at| at.0).collect::<Vec<_>>(), [0.0, 2f64.ln(), 4f64.ln()]);
        let means = [0.25, 0.75, 0.875];
        assert_eq!(found[1].1, 0.25 * means[0] + 0.5 * means[1] + 0.25 * means[2]);
        assert_eq!(found[0].1, 0.75 * means[0] + 0.25 * means[1]);
    }

    #[test]
    fn widths_are_told_apart_by_the_rows_they_disagree_about() {
        let rows = |count: usize| (0..40).map(|row| row < count).collect::<Vec<bool>>();
        let weights = vec![vec![1.0; 40]];
        let differ = |more: usize| indistinct(&[held(&[&rows(10 + more)])], &[held(&[&rows(10)])], &weights, 40.0);
        // Of rows that only one is wrong about the difference counts against its root.
        assert!(differ(1) && !differ(2));
        let moved: Vec<bool> = (0..40).map(|row| (20..32).contains(&row)).collect();
        assert!(indistinct(&[held(&[&moved])], &[held(&[&rows(10)])], &weights, 40.0), "12 wrong against 10 others");
        // The same rows judged twice say no more than once; a first width that is better stays.
        let twice = |wrong: &[bool]| vec![held(&[wrong]), held(&[wrong])];
        assert!(indistinct(&twice(&rows(11)), &twice(&rows(10)), &[weights[0].clone(), weights[0].clone()], 40.0));
        assert!(indistinct(&[held(&[&rows(3)])], &[held(&[&rows(10)])], &weights, 40.0));
    }
}
