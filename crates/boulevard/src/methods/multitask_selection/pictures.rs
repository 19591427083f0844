//! Switches, weights by task, and the path over rho.

use super::learner::Select;
use super::model::MultiTaskSelectionModel;
use super::problem::tasks::TaskSet;
use crate::data::Dataset;
use crate::error::Result;
use crate::observe::Context;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::svm::Model;
use crate::words::{general, listed};

/// Groups that are drawn.
const SHOWN: usize = 20;
/// Lines of a path.
const LINES: usize = 8;
/// Seconds of a fit up to which a whole path is worth its time.
const CHEAP: f64 = 0.5;
/// A switch above this is on.
const ON: f64 = 0.5;

/// The place and the largest switch of every group, the largest first.
fn sorted(model: &MultiTaskSelectionModel) -> Vec<(usize, f64)> {
    let largest = |group: usize| (0..model.tasks()).map(|task| model.switches_of(task)[group]).fold(0.0, f64::max);
    let mut groups: Vec<(usize, f64)> = (0..model.groups()).map(|group| (group, largest(group))).collect();
    groups.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    groups
}

pub(super) fn pictures(model: &MultiTaskSelectionModel, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
    let groups = sorted(model);
    let mut pictures = vec![switches(model, &groups)];
    pictures.extend(map(model, &groups));
    if let Some(data) = data.filter(|_| model.report().seconds < CHEAP) {
        pictures.push(path(model, data, context)?);
    }
    Ok(pictures)
}

fn switches(model: &MultiTaskSelectionModel, groups: &[(usize, f64)]) -> Picture {
    let shown = &groups[..groups.len().min(SHOWN)];
    let names: Vec<String> = shown.iter().map(|&(group, _)| model.group_name(group)).collect();
    let what = if model.parameters.select == Select::Features { "feature" } else { "kernel" };
    let mut picture = Picture::new(
        "switches",
        &format!("Which {what}s are on"),
        Axis::linear("probability that it is on").within(0.0, 1.0),
        Axis::names(what, names.clone()),
    );
    let shared = model.switches.len() == model.groups();
    for task in 0..if shared { 1 } else { model.tasks() } {
        let name = if shared { String::new() } else { model.outputs.name(task) };
        let role = if shared { Role::Neutral } else { Role::Class(task) };
        let values = shown.iter().map(|&(group, _)| model.switches_of(task)[group]).collect();
        let mark = if shared { Mark::Bars } else { Mark::Points };
        picture = picture.with(Layer::new(mark, &name, role).numbers("x", values).texts("y", names.clone()));
    }
    let on: Vec<String> = groups.iter().filter(|(_, on)| *on > ON).map(|&(group, _)| model.group_name(group)).collect();
    let chosen = model.choice.as_ref().and_then(|choice| choice.kept.as_ref());
    let kept: Vec<String> = chosen.into_iter().flatten().map(|&group| model.group_name(group)).collect();
    picture.saying(match on.len() {
        0 if !kept.is_empty() => format!(
            "The model keeps {} of {} {what}s: {}. None of the switches is above one half: they say in which order {what}s count.",
            kept.len(),
            groups.len(),
            listed(&kept)
        ),
        0 => format!(
            "No {what} has more than one chance in two to matter; the largest switch is that of `{}`.",
            names.first().map_or("-", |n| n)
        ),
        count => format!("{count} of {} {what}s are on: {}.", groups.len(), listed(&on)),
    })
}

/// Weights of every task and feature.
fn map(model: &MultiTaskSelectionModel, groups: &[(usize, f64)]) -> Option<Picture> {
    if model.tasks() < 2 || model.weights.is_empty() {
        return None;
    }
    let shown: Vec<usize> = groups.iter().take(SHOWN).map(|&(group, _)| group).collect();
    let features: Vec<String> = shown.iter().map(|&group| model.group_name(group)).collect();
    let tasks: Vec<String> = (0..model.tasks()).map(|task| model.outputs.name(task)).collect();
    let (mut x, mut y, mut value) = (Vec::new(), Vec::new(), Vec::new());
    let mut most = (0.0, String::new());
    for task in 0..model.tasks() {
        for (&group, name) in shown.iter().zip(&features) {
            let weight = model.weights[task * model.features + group];
            if weight.abs() > most.0 {
                most = (weight.abs(), format!("`{name}` in {}", tasks[task]));
            }
            x.push(name.clone());
            y.push(tasks[task].clone());
            value.push(weight);
        }
    }
    let layer = Layer::new(Mark::Cells, "weight", Role::Neutral).texts("x", x).texts("y", y).numbers("value", value);
    let picture = Picture::new("task-map", "Weights by task and feature", Axis::names("feature", features), Axis::names("task", tasks));
    Some(picture.with(layer).saying(format!("The largest weight is that of {}; a column of strong cells matters to every task.", most.1)))
}

/// Switches over rho, one line per group that is ever on.
fn path(model: &MultiTaskSelectionModel, data: &Dataset<'_>, context: &Context<'_>) -> Result<Picture> {
    let rhos = [1.0f64, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6];
    let ln_rhos: Vec<f64> = rhos.iter().map(|rho| rho.ln()).collect();
    let learner = super::MultiTaskSelection { calibrate: false, ..model.parameters.clone() };
    let models = learner.path(&TaskSet::from_dataset(data)?, &ln_rhos, context)?;
    let largest =
        |model: &MultiTaskSelectionModel, group: usize| (0..model.tasks()).map(|task| model.switches_of(task)[group]).fold(0.0, f64::max);
    // Of groups that begin together those count that last.
    let mut lasting: Vec<(usize, f64)> =
        (0..model.groups()).map(|group| (group, models.iter().map(|one| largest(one, group)).sum::<f64>())).collect();
    lasting.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut picture =
        Picture::new("rho-path", "Switches over rho", Axis::log("rho, the prior probability"), Axis::linear("switch").within(0.0, 1.0))
            .choosing("rho");
    for (place, &(group, _)) in lasting.iter().take(LINES).enumerate() {
        let points = rhos.iter().zip(&models).map(|(&rho, one)| (rho, largest(one, group)));
        let layer = Layer::new(Mark::Line, &model.group_name(group), Role::Class(place)).points(points);
        picture = picture.with(layer.numbers("key", rhos[..models.len()].to_vec()));
    }
    let given = model.parameters.ln_rho.or(model.parameters.rho.map(f64::ln));
    if let Some(now) = model.choice.as_ref().map(|choice| choice.ln_rho).or(given) {
        picture = picture.with(Layer::new(Mark::Rule, "this model", Role::Chosen).numbers("x", vec![now.exp()]));
    }
    let on = |one: &MultiTaskSelectionModel| (0..one.groups()).filter(|&group| largest(one, group) > ON).count();
    let (first, last) = (models.first().map_or(0, on), models.last().map_or(0, on));
    Ok(picture.saying(format!(
        "From rho = 1 to rho = {} the number of switches that are on falls from {first} to {last}; `{}` lasts longest.",
        general(rhos[models.len().saturating_sub(1)], 2),
        lasting.first().map_or_else(String::new, |&(group, _)| model.group_name(group))
    )))
}
