//! The space a front covers: exact hypervolume for one, two and three objectives.

use super::pareto::objectives;
use crate::error::{Error, Result};

/// The volume of all positions that some point dominates and that are better than `reference`; all objectives are maximized.
///
/// Points that are not better than the reference in every objective add nothing; dominated points and duplicates do no harm.
/// Exact for one to three objectives; O(N log N) for two, O(N^2) at worst for three.
pub fn hypervolume<P: AsRef<[f64]>>(points: &[P], reference: &[f64]) -> Result<f64> {
    let count = reference.len();
    if !(1..=3).contains(&count) {
        return Err(Error::data(format!("the hypervolume is computed for 1 to 3 objectives, the reference has {count}")));
    }
    objectives(&[reference])?;
    if objectives(points)? != count && !points.is_empty() {
        return Err(Error::shape("objectives of the points, as many as of the reference", count, points[0].as_ref().len()));
    }
    // From here on the reference is the origin. A missing third objective is a slab of height 1, a missing second one likewise.
    let above = |point: &P| {
        let mut lifted = [1.0; 3];
        for (lifted, (value, reference)) in lifted.iter_mut().zip(point.as_ref().iter().zip(reference)) {
            *lifted = value - reference;
        }
        lifted
    };
    let mut boxes: Vec<[f64; 3]> = points.iter().map(above).filter(|point| point.iter().all(|&value| value > 0.0)).collect();
    boxes.sort_by(|a, b| b[2].total_cmp(&a[2]).then(b[0].total_cmp(&a[0])).then(b[1].total_cmp(&a[1])));

    // A sweep from the top: between two heights the cut is the staircase of all points above, and its area only grows.
    let mut stairs = Staircase::default();
    let mut volume = 0.0;
    for (i, point) in boxes.iter().enumerate() {
        stairs.add(point[0], point[1]);
        let below = boxes.get(i + 1).map_or(0.0, |next| next[2]);
        volume += stairs.area * (point[2] - below);
    }
    Ok(volume)
}

/// The union of rectangles `[0, x] x [0, y]` as its corners, x rising and y falling.
#[derive(Default)]
struct Staircase {
    corners: Vec<(f64, f64)>,
    area: f64,
}

impl Staircase {
    fn add(&mut self, x: f64, y: f64) {
        // The first corner that reaches as far as x; if it is as high too, nothing is new.
        let start = self.corners.partition_point(|corner| corner.0 < x);
        let mut floor = self.corners.get(start).map_or(0.0, |corner| corner.1);
        if floor >= y {
            return;
        }
        // Corners to the left that are no higher vanish under the new one; the new area is what rises above them.
        let (mut right, mut keep) = (x, start);
        while keep > 0 && self.corners[keep - 1].1 <= y {
            let (corner_x, corner_y) = self.corners[keep - 1];
            self.area += (right - corner_x) * (y - floor);
            (right, floor) = (corner_x, corner_y);
            keep -= 1;
        }
        let left = if keep > 0 { self.corners[keep - 1].0 } else { 0.0 };
        self.area += (right - left) * (y - floor);
        // A corner at the same x is lower, or `add` would have returned: it vanishes as well.
        let end = start + usize::from(self.corners.get(start).is_some_and(|corner| corner.0 == x));
        self.corners.splice(keep..end, [(x, y)]);
    }
}
