//! The two pictures of a front: the front itself, and the errors along it.

use super::choose::Marks;
use super::model::ParetoModel;
use super::point::FrontPoint;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::words::{general, percent};

/// A front with a name, for pictures.
#[derive(Clone, Copy, Debug)]
pub struct NamedFront<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its points.
    pub points: &'a [FrontPoint],
    /// What the hold-out error is estimated to be.
    pub estimates: &'a [f64],
    /// Points worth a mark.
    pub marks: Marks,
    /// The point that was chosen.
    pub picked: Option<usize>,
    /// Held-out rows behind the estimates.
    pub rows: usize,
}

impl ParetoModel {
    pub(super) fn named(&self) -> NamedFront<'_> {
        let marks = self.marks();
        NamedFront {
            name: "front",
            points: &self.front,
            estimates: &self.estimates,
            marks,
            picked: Some(self.picked),
            rows: self.estimate_rows,
        }
    }
}

/// The place of a point on the axis of C; points without one have none.
fn place(point: &FrontPoint) -> Option<f64> {
    Some(point.equivalent_c).filter(|c| c.is_finite() && *c > 0.0)
}

/// The words for a point that is marked.
fn words(front: &NamedFront<'_>, i: usize) -> String {
    let all = [
        (front.picked, "chosen"),
        (front.marks.lowest, "lowest estimated error"),
        (front.marks.knee, "knee"),
        (front.marks.one_se, "widest within one standard error"),
        (front.marks.parting, "errors part here"),
    ];
    all.iter().filter(|(place, _)| *place == Some(i)).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

fn column(points: &[FrontPoint], value: impl Fn(&FrontPoint) -> f64) -> Vec<f64> {
    points.iter().map(value).collect()
}

/// What every point tells when it is asked.
fn told(layer: Layer, front: &NamedFront<'_>, keys: bool) -> Layer {
    let points = front.points;
    let layer = if keys { layer.numbers("key", (0..points.len()).map(|i| i as f64).collect()) } else { layer };
    layer
        .numbers("equivalent C", column(points, |point| point.equivalent_c))
        .numbers("training error (%)", column(points, |point| 100.0 * point.train_error))
        .numbers("hold-out error (%)", column(points, |point| 100.0 * point.holdout_error))
        .numbers("support vectors", column(points, |point| point.n_support as f64))
        .numbers("margin", column(points, |point| point.margin))
}

/// The front and the errors along it. Several fronts are drawn together; marks are those of the first that has a chosen point.
pub fn pictures(fronts: &[NamedFront<'_>]) -> Vec<Picture> {
    vec![front(fronts), errors(fronts)]
}

fn front(fronts: &[NamedFront<'_>]) -> Picture {
    let positive = fronts.iter().flat_map(|front| front.points).all(|point| point.quadratic > 0.0);
    let y = if positive { Axis::log("quadratic term") } else { Axis::linear("quadratic term") };
    let mut picture = Picture::new("front", "The front", Axis::linear("sum of alphas"), y).choosing("pick");
    for (place, front) in fronts.iter().enumerate() {
        let role = if fronts.len() == 1 { Role::Neutral } else { Role::Class(place) };
        let line = || front.points.iter().map(|point| (point.sum_alpha, point.quadratic));
        let name = if fronts.len() == 1 { "points in order of C" } else { front.name };
        picture = picture.with(told(Layer::new(Mark::Points, name, role).points(line()), front, fronts.len() == 1));
    }
    let Some(front) = fronts.iter().find(|front| front.picked.is_some()).or(fronts.first()) else { return picture };
    let marked: Vec<usize> = (0..front.points.len()).filter(|&i| !words(front, i).is_empty()).collect();
    let at = |i: &usize| (front.points[*i].sum_alpha, front.points[*i].quadratic);
    let texts = marked.iter().map(|&i| words(front, i)).collect();
    // Where points can be chosen, so can their marks.
    let keyed = |layer: Layer, places: &[usize]| match fronts.len() {
        1 => layer.numbers("key", places.iter().map(|&i| i as f64).collect()),
        _ => layer,
    };
    let marks = Layer::new(Mark::Points, "marked", Role::Baseline).points(marked.iter().map(at)).texts("what", texts);
    picture = picture.with(keyed(marks, &marked));
    if let Some(picked) = front.picked {
        picture = picture.with(keyed(Layer::new(Mark::Points, "chosen", Role::Chosen).points([at(&picked)]), &[picked]));
    }
    let count: usize = fronts.iter().map(|front| front.points.len()).sum();
    picture.saying(format!(
        "{count} machines from the widest street (right) to the hardest margin (left); none is better than another in both terms. {}",
        front.picked.map_or(String::new(), |picked| {
            let point = &front.points[picked];
            format!("Chosen: C = {}, {} support vectors.", general(point.equivalent_c, 3), point.n_support)
        })
    ))
}

fn errors(fronts: &[NamedFront<'_>]) -> Picture {
    let mut picture = Picture::new("errors", "Errors along the front", Axis::log("equivalent C"), Axis::percent("error")).choosing("pick");
    let mut sentence = String::new();
    for (number, front) in fronts.iter().enumerate() {
        let shown: Vec<usize> = (0..front.points.len()).filter(|&i| place(&front.points[i]).is_some()).collect();
        // Fronts that carry no C (read back from a table) are drawn by their place.
        let (shown, at): (Vec<usize>, Vec<f64>) = if shown.is_empty() {
            picture.x = Axis::linear("solutions, from hard margin to wide street");
            picture.select = None;
            ((0..front.points.len()).collect(), (0..front.points.len()).map(|i| i as f64).collect())
        } else {
            let at = shown.iter().map(|&i| front.points[i].equivalent_c).collect();
            (shown, at)
        };
        let percents = |value: &dyn Fn(usize) -> f64| -> Vec<f64> { shown.iter().map(|&i| 100.0 * value(i)).collect() };
        let label = |what: &str| if fronts.len() == 1 { what.to_owned() } else { format!("{}: {what}", front.name) };
        let roles = if fronts.len() == 1 {
            [Role::Training, Role::Holdout, Role::Estimate]
        } else {
            [Role::Class(2 * number), Role::Class(2 * number + 1), Role::Class(2 * number + 1)]
        };
        let keys: Vec<f64> = shown.iter().map(|&i| i as f64).collect();
        let line = |name: &str, role: Role, y: Vec<f64>| {
            let layer = Layer::new(Mark::Line, &label(name), role).numbers("x", at.clone()).numbers("y", y);
            if fronts.len() == 1 { layer.numbers("key", keys.clone()) } else { layer }
        };
        let known = shown.iter().all(|&i| front.estimates[i].is_finite()) && !shown.is_empty();
        if known && fronts.len() == 1 {
            let spread = |i: usize| (front.estimates[i] * (1.0 - front.estimates[i]) / front.rows.max(1) as f64).sqrt();
            let band = Layer::new(Mark::Area, "one standard error", Role::Estimate)
                .numbers("x", at.clone())
                .numbers("y1", percents(&|i| (front.estimates[i] - spread(i)).max(0.0)))
                .numbers("y2", percents(&|i| front.estimates[i] + spread(i)));
            picture = picture.with(band);
        }
        picture = picture.with(line("training", roles[0], percents(&|i| front.points[i].train_error)));
        let same = shown.iter().all(|&i| front.points[i].holdout_error == front.estimates[i]);
        if shown.iter().all(|&i| front.points[i].holdout_error.is_finite()) {
            picture = picture.with(line("hold-out", roles[1], percents(&|i| front.points[i].holdout_error)));
        }
        if known && !same && fronts.len() == 1 {
            picture = picture.with(line("hold-out, estimated", roles[2], percents(&|i| front.estimates[i])));
        }
        if sentence.is_empty() {
            sentence = told_errors(front, known);
        }
        if let Some(picked) = front.picked.and_then(|picked| shown.iter().position(|&i| i == picked)) {
            picture = picture.with(Layer::new(Mark::Rule, "chosen", Role::Chosen).numbers("x", vec![at[picked]]));
        }
        if let Some(parting) = front.marks.parting.filter(|_| fronts.len() == 1)
            && let Some(parting) = shown.iter().position(|&i| i == parting)
        {
            picture = picture.with(Layer::new(Mark::Rule, "errors part", Role::Baseline).numbers("x", vec![at[parting]]));
        }
    }
    picture.saying(sentence)
}

/// What the errors along a front say.
fn told_errors(front: &NamedFront<'_>, known: bool) -> String {
    let Some(picked) = front.picked.or(front.marks.lowest) else {
        return "Training error along the front; nothing was held out.".to_owned();
    };
    if !known {
        return format!(
            "Nothing was held out, so only the training error is known: {} at the knee.",
            percent(front.points[picked].train_error)
        );
    }
    let lowest = front.marks.lowest.map_or(f64::NAN, |i| front.estimates[i]);
    let at = |i: usize| general(front.points[i].equivalent_c, 3);
    match front.marks.parting {
        Some(parting) => format!(
            "Beyond C = {} the training error goes on falling and the hold-out error does not: the machine begins to learn by heart. The \
             lowest estimate is {}.",
            at(parting),
            percent(lowest)
        ),
        None => format!(
            "Hold-out and training error do not part on this front; the lowest estimate of the hold-out error is {} at C = {}.",
            percent(lowest),
            front.marks.lowest.map_or_else(String::new, at)
        ),
    }
}
