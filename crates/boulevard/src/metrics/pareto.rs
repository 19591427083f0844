//! Points with several objectives: who dominates whom, how crowded a front is, and how much space it covers.
//!
//! All objectives are **maximized** (negate what is to be small). A point dominates another if it is at least as good in every
//! objective and better in one; equal points do not dominate each other and share their rank.

use std::cmp::Ordering;

pub use super::hypervolume::hypervolume;
use crate::error::{Error, Result};

/// Checks that all points have the same number (at least one) of finite objectives and gives that number; 0 for no points.
pub(super) fn objectives<P: AsRef<[f64]>>(points: &[P]) -> Result<usize> {
    let Some(first) = points.first() else { return Ok(0) };
    let count = first.as_ref().len();
    if count == 0 {
        return Err(Error::data("a point needs at least one objective"));
    }
    for (row, point) in points.iter().enumerate() {
        let point = point.as_ref();
        if point.len() != count {
            return Err(Error::shape(format!("objectives of point {row}"), count, point.len()));
        }
        if let Some(column) = point.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { what: "objectives", found: point[column].to_string(), row, column });
        }
    }
    Ok(count)
}

/// Whether `a` is at least as good as `b` in every objective and better in one.
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a >= b) && a.iter().zip(b).any(|(a, b)| a > b)
}

/// Lexicographic order, largest first. Zeros of both signs are equal, as they are for `dominates`.
fn descending(a: &[f64], b: &[f64]) -> Ordering {
    b.partial_cmp(a).unwrap_or(Ordering::Equal)
}

/// The rank of every point: 0 for points that none dominates, r + 1 for those that only points of ranks up to r dominate.
///
/// One or two objectives take O(N log N); more take O(M N^2) at worst, much less if there are many fronts.
///
/// ```
/// use boulevard::metrics::pareto::non_dominated_ranks;
/// assert_eq!(non_dominated_ranks(&[[1.0, 3.0], [2.0, 2.0], [1.0, 2.0]])?, [0, 0, 1]);
/// # Ok::<(), boulevard::Error>(())
/// ```
pub fn non_dominated_ranks<P: AsRef<[f64]>>(points: &[P]) -> Result<Vec<usize>> {
    let count = objectives(points)?;
    let point = |i: usize| points[i].as_ref();
    // In this order a point can be dominated by earlier ones only, and equal points stand side by side.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| descending(point(a), point(b)));
    let mut ranks = vec![0; points.len()];
    let mut fronts = if count <= 2 { Fronts::Planar(Vec::new()) } else { Fronts::General(Vec::new()) };
    for (place, &i) in order.iter().enumerate() {
        ranks[i] = match place.checked_sub(1).map(|before| order[before]) {
            Some(twin) if point(twin) == point(i) => ranks[twin],
            _ => fronts.insert(i, points),
        };
    }
    Ok(ranks)
}

/// The fronts so far, while points arrive in descending order.
enum Fronts {
    /// Per front, the largest last objective. It falls from front to front, and a front dominates a newcomer exactly if its value is
    /// at least the newcomer's: a binary search finds the place.
    Planar(Vec<f64>),
    /// Per front, its points.
    General(Vec<Vec<usize>>),
}

impl Fronts {
    fn insert<P: AsRef<[f64]>>(&mut self, newcomer: usize, points: &[P]) -> usize {
        let point = points[newcomer].as_ref();
        match self {
            Self::Planar(best) => {
                let last = point[point.len() - 1];
                let rank = best.partition_point(|&value| value >= last);
                if rank == best.len() {
                    best.push(last);
                } else {
                    best[rank] = last;
                }
                rank
            }
            Self::General(fronts) => {
                let free = |front: &Vec<usize>| !front.iter().rev().any(|&member| dominates(points[member].as_ref(), point));
                let rank = fronts.iter().position(free).unwrap_or(fronts.len());
                if rank == fronts.len() {
                    fronts.push(Vec::new());
                }
                fronts[rank].push(newcomer);
                rank
            }
        }
    }
}

/// The points by rank, the best front first; indices rise within a front.
pub fn non_dominated_fronts<P: AsRef<[f64]>>(points: &[P]) -> Result<Vec<Vec<usize>>> {
    let ranks = non_dominated_ranks(points)?;
    let mut fronts = vec![Vec::new(); ranks.iter().max().map_or(0, |most| most + 1)];
    for (i, rank) in ranks.into_iter().enumerate() {
        fronts[rank].push(i);
    }
    Ok(fronts)
}

/// How distances along different objectives are added up in [`crowding_distance`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrowdingScale {
    /// Divided by the objective's range over the front (Deb).
    #[default]
    Range,
    /// As they are: the objective with the largest numbers rules.
    Raw,
}

/// Crowding distance of the points of one front (Deb et al. 2002): the sum over objectives of the gap between both neighbors.
///
/// The ends of every objective are infinitely far. Points equal in one objective are ordered by the others, so that the result does
/// not depend on the order of the points; only exact duplicates are told apart by position. An objective with no range adds nothing.
pub fn crowding_distance<P: AsRef<[f64]>>(points: &[P], scale: CrowdingScale) -> Result<Vec<f64>> {
    let count = objectives(points)?;
    let mut distance = vec![0.0; points.len()];
    let mut order: Vec<usize> = (0..points.len()).collect();
    for objective in 0..count {
        let value = |i: usize| points[i].as_ref()[objective];
        order.sort_by(|&a, &b| {
            let by_value = value(b).partial_cmp(&value(a)).unwrap_or(Ordering::Equal);
            by_value.then_with(|| descending(points[a].as_ref(), points[b].as_ref())).then(a.cmp(&b))
        });
        let (first, last) = (order[0], order[order.len() - 1]);
        distance[first] = f64::INFINITY;
        distance[last] = f64::INFINITY;
        let range = value(first) - value(last);
        if range > 0.0 {
            let unit = if scale == CrowdingScale::Range { range } else { 1.0 };
            for neighbors in order.windows(3) {
                distance[neighbors[1]] += (value(neighbors[0]) - value(neighbors[2])) / unit;
            }
        }
    }
    Ok(distance)
}

#[cfg(test)]
mod tests;
