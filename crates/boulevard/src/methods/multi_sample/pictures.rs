//! Error against samples per decision, on rows that were not learnt from.

use super::curve::{CurvePoint, samples_until};
use super::learner::MultiSample;
use super::model::MultiSampleModel;
use crate::data::{Dataset, split};
use crate::error::Result;
use crate::observe::Context;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::svm::{Learner, Model};
use crate::words::percent;

/// Sizes that are tried.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 6, 8, 10];
/// The share that is held out, how often sets are drawn, and seconds of a fit up to which another one is worth its time.
const SHARE: f64 = 0.3;
const REPEATS: usize = 5;
const CHEAP: f64 = 5.0;
/// The error that one would like to have.
const TARGET: f64 = 0.01;

/// A curve as a picture.
pub fn curve_picture(curve: &[CurvePoint], size: Option<usize>) -> Picture {
    let keys = || curve.iter().map(|point| point.size as f64).collect::<Vec<f64>>();
    let percents = |value: &dyn Fn(&CurvePoint) -> f64| curve.iter().map(|point| 100.0 * value(point)).collect::<Vec<f64>>();
    let mut picture = Picture::new(
        "error-by-samples",
        "Error against samples per decision",
        Axis::linear("samples per decision"),
        Axis::percent("error"),
    )
    .choosing("n-samples-per-decision")
    .with(
        Layer::new(Mark::Area, "one standard deviation", Role::Holdout)
            .numbers("x", keys())
            .numbers("y1", percents(&|point| (point.error - point.deviation).max(0.0)))
            .numbers("y2", percents(&|point| point.error + point.deviation)),
    )
    .with(
        Layer::new(Mark::Line, "held-out sets", Role::Holdout)
            .numbers("x", keys())
            .numbers("y", percents(&|point| point.error))
            .numbers("key", keys())
            .numbers("sets judged", curve.iter().map(|point| point.sets as f64).collect()),
    )
    .with(Layer::new(Mark::Rule, "1 % error", Role::Baseline).numbers("y", vec![100.0 * TARGET]));
    if let Some(size) = size {
        picture = picture.with(Layer::new(Mark::Rule, "this model", Role::Chosen).numbers("x", vec![size as f64]));
    }
    let sentence = match (samples_until(curve, TARGET), curve.first(), curve.last()) {
        (Some(size), Some(first), _) => {
            format!("{} samples are enough for an error of at most 1 %; one alone has {}.", size, percent(first.error))
        }
        (None, Some(first), Some(last)) => {
            format!(
                "From {} with one sample to {} with {}: no size here comes to 1 %.",
                percent(first.error),
                percent(last.error),
                last.size
            )
        }
        _ => "No class has enough rows to draw sets from.".to_owned(),
    };
    picture.saying(sentence)
}

pub(super) fn pictures(model: &MultiSampleModel, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
    let Some(data) = data.filter(|_| model.report().seconds < CHEAP) else { return Ok(Vec::new()) };
    // The rows it learnt from would flatter it: another machine learns from a part of them and is judged on the rest.
    let parts = match &data.groups {
        Some(groups) => split::group_k_fold(groups, 3, model.parameters.seed)?.swap_remove(0),
        None => split::stratified_hold_out(data.expect_classes()?, SHARE, model.parameters.seed)?,
    };
    let learner = MultiSample { calibrate: false, ..model.parameters.clone() };
    let judged = learner.fit_in(&data.select(&parts.train), context)?;
    let curve = judged.error_by_size(&data.select(&parts.test), &SIZES, REPEATS, model.parameters.seed, context)?;
    Ok(if curve.is_empty() { Vec::new() } else { vec![curve_picture(&curve, Some(model.parameters.n_samples_per_decision))] })
}
