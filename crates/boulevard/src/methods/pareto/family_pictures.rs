//! The pictures of a family of fronts: the fronts of all widths with their common one, and the errors along them.

use super::family::WidthFront;
use super::model::ParetoModel;
use super::point::FrontPoint;
use crate::error::Result;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::words::{general, percent};

/// Nothing where there was one width only.
pub(super) fn pictures(model: &ParetoModel) -> Result<Vec<Picture>> {
    let Some(chosen) = model.chosen_width() else { return Ok(Vec::new()) };
    Ok(vec![fronts(model, chosen)?, errors(model, chosen)])
}

fn name(own: &WidthFront) -> String {
    format!("gamma = {}", general(own.gamma, 3))
}

fn fronts(model: &ParetoModel, chosen: usize) -> Result<Picture> {
    let positive = model.family.iter().flat_map(|own| &own.front).all(|point| point.quadratic > 0.0);
    let y = if positive { Axis::log("quadratic term") } else { Axis::linear("quadratic term") };
    let mut picture = Picture::new("family", "The fronts of all widths", Axis::linear("sum of alphas"), y);
    let at = |point: &FrontPoint| (point.sum_alpha, point.quadratic);
    for (place, own) in model.family.iter().enumerate() {
        let layer = Layer::new(Mark::Line, &name(own), Role::Class(place)).points(own.front.iter().map(at));
        picture = picture.with(layer.numbers("equivalent C", own.front.iter().map(|point| point.equivalent_c).collect()));
    }
    let common = model.common_front()?;
    let layer = Layer::new(Mark::Points, "common front", Role::Baseline).points(common.iter().map(|(.., point)| at(point)));
    picture = picture.with(layer.texts("what", common.iter().map(|(own, ..)| name(&model.family[*own])).collect()));
    let largest = model.family.iter().max_by(|a, b| a.hypervolume.total_cmp(&b.hypervolume));
    Ok(picture.saying(format!(
        "{} widths; the common front has {} points, and {} covers the largest area. Another width is another space: areas say how much \
         freedom a width gives, not how well it predicts. Chosen by held-out error: {}.",
        model.family.len(),
        common.len(),
        largest.map_or_else(String::new, name),
        name(&model.family[chosen])
    )))
}

fn errors(model: &ParetoModel, chosen: usize) -> Picture {
    let mut picture =
        Picture::new("widths", "Estimated error of all widths", Axis::log("equivalent C"), Axis::percent("estimated hold-out error"));
    for (place, own) in model.family.iter().enumerate() {
        let known: Vec<usize> =
            (0..own.front.len()).filter(|&i| own.front[i].equivalent_c.is_finite() && own.front[i].equivalent_c > 0.0).collect();
        let layer = Layer::new(Mark::Line, &name(own), Role::Class(place))
            .numbers("x", known.iter().map(|&i| own.front[i].equivalent_c).collect())
            .numbers("y", known.iter().map(|&i| 100.0 * own.estimates[i]).collect());
        picture = picture.with(layer);
    }
    let best = &model.family[chosen];
    let holdouts = best.holdouts;
    let rest = match model.family.iter().all(|own| own.holdouts == holdouts) {
        true => "",
        false => "; widths that fell behind after the first ones were not judged further",
    };
    let why =
        if model.has_lowest(chosen) { "has the lowest estimate" } else { "is the kernel's own, within a standard error of the lowest" };
    picture.saying(format!("{} {why}, {}, over {holdouts} hold-outs{rest}.", name(best), percent(best.lowest())))
}
