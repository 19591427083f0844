//! Choosing a point of a front, and the points worth marking in a picture.

use serde::{Deserialize, Serialize};

use super::point::FrontPoint;
use crate::check;
use crate::error::{Error, Result};

/// Which point becomes the classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The lowest estimate of the hold-out error (see `estimate`), of equals the one in the middle. Without a hold-out: the knee.
    #[default]
    Holdout,
    /// The corner of the curve of slack against norm, both as logarithms; where there is none, as [`Pick::Holdout`], and without a hold-out
    /// the C nearest to 1.
    Knee,
    /// The largest margin with an estimate within one standard error of the lowest. Without a hold-out: the knee.
    OneSe,
    /// This row of the table, the smallest sum first.
    Index(usize),
}

/// From what users write: `holdout`, `knee`, `one-se` or a row of the front.
impl std::str::FromStr for Pick {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "holdout" => Ok(Self::Holdout),
            "knee" => Ok(Self::Knee),
            "one-se" => Ok(Self::OneSe),
            row => row.parse().map(Self::Index).map_err(|_| Error::data("expected `holdout`, `knee`, `one-se` or a row of the front")),
        }
    }
}

/// Points worth a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The lowest estimate of the hold-out error.
    pub lowest: Option<usize>,
    /// The knee: the corner of the curve of slack against norm. `None` where there is none.
    pub knee: Option<usize>,
    /// The largest margin within one standard error of the lowest estimate.
    pub one_se: Option<usize>,
    /// Where training and hold-out error part: in the order of falling training error, the last point whose hold-out error is within one
    /// standard error of the lowest. `None` if they never part.
    pub parting: Option<usize>,
}

/// The order of the paper's right-hand picture: by measured training error, largest first. Equal ones by falling sum, which on an exact
/// front is the way to harder margins.
pub fn by_training_error(points: &[FrontPoint]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        points[b].train_error.total_cmp(&points[a].train_error).then(points[b].sum_alpha.total_cmp(&points[a].sum_alpha)).then(b.cmp(&a))
    });
    order
}

/// Half the window of [`estimate`], as a share of the points.
const WINDOW: f64 = 0.06;

/// A calmer estimate of hold-out errors along an exact front: the mean over several hold-outs, then over neighboring points.
///
/// A hold-out of some hundred rows is noisy, and the lowest of a hundred noisy numbers is one that was lucky. Neighbors on a front are
/// nearly the same machine, so their mean has the same expectation and less noise. `others` are fronts from other hold-outs; they are
/// read where the sum has the same share of its largest value, and not below the share `least`, where they end.
pub(super) fn estimate(points: &[FrontPoint], others: &[Vec<FrontPoint>], least: f64) -> Vec<f64> {
    let share = |points: &[FrontPoint], i: usize| points[i].sum_alpha / points[points.len() - 1].sum_alpha;
    let at = |other: &[FrontPoint], share_at: f64| {
        let above = (0..other.len()).position(|i| share(other, i) >= share_at).unwrap_or(other.len() - 1);
        let (low, high) = (above.saturating_sub(1), above);
        let width = share(other, high) - share(other, low);
        let part = if width > 0.0 { ((share_at - share(other, low)) / width).clamp(0.0, 1.0) } else { 1.0 };
        (1.0 - part) * other[low].holdout_error + part * other[high].holdout_error
    };
    let others: Vec<&Vec<FrontPoint>> = others.iter().filter(|other| !other.is_empty()).collect();
    let mean = |i: usize| {
        if share(points, i) < least {
            return points[i].holdout_error;
        }
        let sum: f64 = others.iter().map(|other| at(other, share(points, i))).sum();
        (points[i].holdout_error + sum) / (1 + others.len()) as f64
    };
    let means: Vec<f64> = (0..points.len()).map(mean).collect();
    let half = (WINDOW * points.len() as f64).round() as usize;
    let window = |i: usize| &means[i.saturating_sub(half)..(i + half + 1).min(means.len())];
    (0..means.len()).map(|i| window(i).iter().sum::<f64>() / window(i).len() as f64).collect()
}

/// The estimates where machines at values of C were judged: a point's is read from the `curve` of their errors against `ln C`, whose ends
/// go on. A point without a C is no better than the worst of them, and than what the rows held out from it say.
pub(super) fn estimate_by_cost(points: &[FrontPoint], curve: &[(f64, f64)]) -> Vec<f64> {
    let worst = curve.iter().map(|at| at.1).fold(0.0, f64::max);
    let read = |point: &FrontPoint| {
        let at = point.equivalent_c.ln();
        if !at.is_finite() {
            return point.holdout_error.max(worst);
        }
        match curve.iter().position(|knot| knot.0 >= at) {
            Some(0) => curve[0].1,
            Some(next) => {
                let (low, high) = (curve[next - 1], curve[next]);
                low.1 + (high.1 - low.1) * (at - low.0) / (high.0 - low.0)
            }
            None => curve[curve.len() - 1].1,
        }
    };
    points.iter().map(read).collect()
}

/// The share of the largest sum below which a front is not worth another hold-out: all errors there are so many standard errors above
/// the lowest that no average brings them back. Small sums are the dear ones, with nearly all support vectors free.
pub(super) fn worth_averaging(points: &[FrontPoint], rows: usize) -> f64 {
    const STANDARD_ERRORS: f64 = 5.0;
    let errors: Vec<f64> = points.iter().map(|point| point.holdout_error).collect();
    let Some((least, deviation)) = lowest(&errors, rows) else { return 0.0 };
    let hopeless = errors.iter().position(|&error| error <= least + STANDARD_ERRORS * deviation).unwrap_or(0);
    // Neighbors within the window are averaged with the hopeful ones.
    let first = hopeless.saturating_sub((WINDOW * points.len() as f64).round() as usize);
    points[first].sum_alpha / points[points.len() - 1].sum_alpha
}

/// The lowest error and its standard error over `rows` held-out rows.
fn lowest(errors: &[f64], rows: usize) -> Option<(f64, f64)> {
    let least = errors.iter().copied().filter(|error| !error.is_nan()).min_by(f64::total_cmp)?;
    Some((least, (least * (1.0 - least) / rows.max(1) as f64).sqrt()))
}

/// The marks of a front whose hold-out errors are estimated as `errors` from hold-outs of `rows` rows.
pub fn marks(points: &[FrontPoint], errors: &[f64], rows: usize) -> Marks {
    let mut marks = Marks { lowest: None, knee: knee(points), one_se: None, parting: None };
    let Some((least, deviation)) = lowest(errors, rows) else { return marks };
    let equals: Vec<usize> = (0..points.len()).filter(|&i| errors[i] <= least + 1e-12).collect();
    marks.lowest = equals.get((equals.len() - 1) / 2).copied();
    let close = |i: usize| errors[i] <= least + deviation;
    let width = |i: usize| if points[i].margin.is_nan() { f64::NEG_INFINITY } else { points[i].margin };
    marks.one_se = (0..points.len()).filter(|&i| close(i)).max_by(|&a, &b| width(a).total_cmp(&width(b)).then(b.cmp(&a)));
    let order = by_training_error(points);
    let last = order.iter().rposition(|&i| close(i));
    marks.parting = last.filter(|&place| place + 1 < order.len()).map(|place| order[place]);
    marks
}

/// The corner of the L-curve (Hansen 1992): the point farthest below the chord of `ln |w|` against `ln slack`.
///
/// The objectives themselves have no scale in which a knee means anything: another box stretches both, and most of the front is the
/// widest street. Slack and norm have one, because ratios of them are what C weighs. At `C = 1 / lambda` the machine's squared norm is
/// `q C^2` and the sum of its slacks, by strong duality, `s - q C`. Where nearly all slack is gone the curve says nothing any more.
fn knee(points: &[FrontPoint]) -> Option<usize> {
    /// Slack, as a share of the largest sum, below which the rows count as separated.
    const LEAST: f64 = 1e-3;
    /// How far from the chord a corner must be, as a share of both ranges: overlapping classes have none.
    const SHARP: f64 = 0.1;
    let largest = points.last()?.sum_alpha;
    let place = |i: usize| {
        let (c, q) = (points[i].equivalent_c, points[i].quadratic);
        let slack = points[i].sum_alpha - q * c;
        let known = c.is_finite() && c > 0.0 && q > 0.0 && slack > LEAST * largest;
        known.then(|| (slack.ln(), 0.5 * (q * c * c).ln()))
    };
    let curve: Vec<(usize, (f64, f64))> = (0..points.len()).filter_map(|i| Some((i, place(i)?))).collect();
    let ((_, first), (_, last)) = (curve.first()?, curve.last()?);
    let (width, height) = (last.0 - first.0, last.1 - first.1);
    if width == 0.0 || height == 0.0 || curve.len() < 3 {
        return None;
    }
    // From (0, 0) at the hardest margin to (1, 1) at the widest street: norms fall from 0 to 1 in this scale, and the corner lies above.
    let depth = |at: &(f64, f64)| (at.1 - first.1) / height - (at.0 - first.0) / width;
    let corner = curve.iter().max_by(|a, b| depth(&a.1).total_cmp(&depth(&b.1)).then(b.0.cmp(&a.0)))?;
    (depth(&corner.1) >= SHARP).then_some(corner.0)
}

/// Where nothing else decides: the point whose C is nearest to 1, what plain machines start with; without any C the middle.
fn usual(points: &[FrontPoint]) -> usize {
    let off = |i: &usize| points[*i].equivalent_c.ln().abs();
    let known = (0..points.len()).filter(|&i| points[i].equivalent_c.is_finite() && points[i].equivalent_c > 0.0);
    known.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(points.len() / 2)
}

impl Pick {
    /// The row of the table that is picked.
    pub fn choose(self, points: &[FrontPoint], errors: &[f64], rows: usize) -> Result<usize> {
        let marks = marks(points, errors, rows);
        match self {
            Self::Holdout => Ok(marks.lowest.or(marks.knee).unwrap_or_else(|| usual(points))),
            // A C of 1 means nothing at a width that rows have chosen: with wide kernels it is far too small.
            Self::Knee => Ok(marks.knee.or(marks.lowest).unwrap_or_else(|| usual(points))),
            Self::OneSe => Ok(marks.one_se.or(marks.knee).unwrap_or_else(|| usual(points))),
            Self::Index(index) if index < points.len() => Ok(index),
            Self::Index(index) => {
                let allowed = format!("below {}, the number of points on the front", points.len());
                Err(check::complaint("ParetoSvc", "pick", allowed, index))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_from_the_errors_at_their_c() {
        let point = |equivalent_c: f64| FrontPoint {
            quadratic: 1.0,
            sum_alpha: 1.0,
            train_error: 0.0,
            holdout_error: 0.3,
            n_support: 1,
            equivalent_c,
            margin: 1.0,
            gap: 0.0,
        };
        let curve = [(1f64.ln(), 0.4), (4f64.ln(), 0.2), (16f64.ln(), 0.3)];
        let found = estimate_by_cost(&[0.1, 1.0, 2.0, 4.0, 100.0, f64::NAN].map(point), &curve);
        let wanted = [0.4, 0.4, 0.3, 0.2, 0.3, 0.4];
        assert!(found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{found:?}");
    }
}
