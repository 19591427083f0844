//! Why one row is decided as it is: what pulled, which support vectors are nearest, what would have to change.

use serde::Serialize;

use super::asked::{Asked, quantile, sorted_column};
use crate::data::{Dataset, Matrix, Target};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::picture::{Axis, Layer, Mark, Picture, Role};
use crate::svm::{KernelMachine, Model};
use crate::words::general;

/// Parts and support vectors that are shown.
const PARTS: usize = 10;
const NEAREST: usize = 6;
/// Values of a column that are tried for another answer.
const TRIED: usize = 40;
/// Changes that are told.
const CHANGES: usize = 4;

/// Why a row got its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The row's place in the table, from 0.
    pub row: usize,
    /// What it is, where that is known.
    pub truth: Option<String>,
    /// What was said.
    pub said: String,
    /// What pulled and which support vectors are near.
    pub pictures: Vec<Picture>,
    /// Single changes that would lead to another answer, the smallest first.
    pub changes: Vec<String>,
}

/// Explains a row of `data`; `prepared` is the same row as the kernel machines see it, where columns are scaled first.
pub fn explain<M: Model>(
    model: &M,
    data: &Dataset<'_>,
    row: usize,
    prepared: Option<&Matrix<'_>>,
    context: &Context<'_>,
) -> Result<Explanation> {
    if row >= data.len() {
        return Err(Error::data(format!("there is no row {}: the table has {}", row + 1, data.len())));
    }
    let own = data.x.select(&[row]);
    let (said, code) = answer(model, &own, context)?;
    let truth = match &data.target {
        Target::Classes(classes) => Some(classes.names()[classes.codes()[row] as usize].clone()),
        Target::Real(values) => Some(general(values[row], 5)),
        _ => None,
    };
    let (mut pictures, mut changes) = (Vec::new(), Vec::new());
    if let Some(asked) = Asked::new(model, data, context) {
        let asked = asked.following(code.unwrap_or(1));
        pictures.extend(pulls(model, &asked, data, row, &own)?);
        if code.is_some() {
            changes = what_would_change(model, data, &own, &said, context)?;
        }
    }
    let machines = if model.decides_sets() { Vec::new() } else { model.kernel_machines() };
    if let [machine] = machines.as_slice() {
        pictures.extend(nearest(machine, data, row, prepared.unwrap_or(&own))?);
    }
    Ok(Explanation { row, truth, said, pictures, changes })
}

/// The answer about one row, and its class.
fn answer<M: Model>(model: &M, x: &Matrix<'_>, context: &Context<'_>) -> Result<(String, Option<usize>)> {
    let said: Target = model.predict_in(x, context)?.into();
    Ok(match said {
        Target::Classes(classes) => (classes.names()[classes.codes()[0] as usize].clone(), Some(classes.codes()[0] as usize)),
        Target::Real(values) => (general(values[0], 5), None),
        Target::Labels(labels) => {
            let on: Vec<&str> = labels.names().iter().zip(labels.row(0)).filter(|(_, on)| **on).map(|(name, _)| name.as_str()).collect();
            (if on.is_empty() { "no label".to_owned() } else { on.join(", ") }, None)
        }
        Target::None => (String::new(), None),
    })
}

/// What every part added: the model's own parts, or what happens when a column goes to its median.
fn pulls<M: Model>(model: &M, asked: &Asked<'_, M>, data: &Dataset<'_>, row: usize, own: &Matrix<'_>) -> Result<Option<Picture>> {
    let mut parts: Vec<(String, f64)> = model.pulls(&data.x, row)?.into_iter().map(|pull| (pull.text, pull.adds)).collect();
    let known = !parts.is_empty();
    let measure = if known { model.pulls(&data.x, row)?[0].class.clone() } else { String::new() };
    let label = if known { format!("added to the decision for {measure}") } else { format!("added to the {}", asked.measure()) };
    let in_percent = !known && asked.in_percent();
    if !known {
        let width = data.x.columns();
        let mut values = vec![0.0; width];
        own.copy_row(0, &mut values);
        let mut table = values.clone();
        for column in 0..width {
            let mut changed = values.clone();
            changed[column] = quantile(&sorted_column(&data.x, column), 0.5);
            table.extend(changed);
        }
        let found = asked.values(&Matrix::dense(table, width + 1, width)?)?;
        parts = (0..width).map(|j| (format!("{} = {}", data.feature_name(j), general(values[j], 4)), found[0] - found[j + 1])).collect();
    }
    parts.retain(|(_, adds)| *adds != 0.0 && adds.is_finite());
    parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let Some((first, adds)) = parts.first().cloned() else { return Ok(None) };
    let rest = parts.len().saturating_sub(PARTS);
    parts.truncate(PARTS);
    let names: Vec<String> = parts.iter().map(|(text, _)| text.clone()).collect();
    let how = if known { "" } else { " (against the same row with that column at its median)" };
    let more = if rest > 0 { format!(" {rest} smaller parts are not drawn.") } else { String::new() };
    let layer = Layer::new(Mark::Bars, "", Role::Neutral).numbers("x", parts.iter().map(|part| part.1).collect()).texts("y", names.clone());
    let title = format!("What pulled row {}", row + 1);
    let axis = if in_percent { Axis::percent(&label) } else { Axis::linear(&label) };
    let points = if in_percent { " percentage points" } else { "" };
    Ok(Some(Picture::new("pulls", &title, axis, Axis::names("part", names)).with(layer).saying(format!(
        "Strongest: {first}, which {} {}{points}{how}.{more}",
        if adds > 0.0 { "adds" } else { "takes away" },
        general(adds.abs(), 3)
    ))))
}

/// The support vectors that are most like the row, besides itself; `values` is the row as the machine sees it.
fn nearest(machine: &KernelMachine, data: &Dataset<'_>, row: usize, values: &Matrix<'_>) -> Result<Option<Picture>> {
    const MOST: usize = 20_000;
    if machine.len() > MOST || machine.vectors.columns() != values.columns() {
        return Ok(None);
    }
    let (mut x, mut z) = (vec![0.0; values.columns()], vec![0.0; values.columns()]);
    values.copy_row(0, &mut x);
    let mut likeness = Vec::with_capacity(machine.len());
    for place in (0..machine.len()).filter(|&place| machine.support[place] != row) {
        machine.vectors.copy_row(place, &mut z);
        likeness.push((place, machine.kernel.evaluate(&x, &z)?));
    }
    likeness.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    likeness.truncate(NEAREST);
    if likeness.is_empty() {
        return Ok(None);
    }
    let itself = if machine.support.contains(&row) { " other" } else { "" };
    let class = |row: usize| match &data.target {
        Target::Classes(classes) if row < classes.len() => format!(" ({})", classes.names()[classes.codes()[row] as usize]),
        _ => String::new(),
    };
    let names: Vec<String> =
        likeness.iter().map(|&(place, _)| format!("row {}{}", machine.support[place] + 1, class(machine.support[place]))).collect();
    let layer = Layer::new(Mark::Bars, "", Role::Neutral)
        .numbers("x", likeness.iter().map(|part| part.1).collect())
        .texts("y", names.clone())
        .numbers("coefficient", likeness.iter().map(|&(place, _)| machine.coefficients[place]).collect());
    let others = machine.len() - usize::from(!itself.is_empty());
    let carries = if itself.is_empty() { "" } else { " The row is a support vector itself." };
    let sentence = format!("Of {others}{itself} support vectors {} is the most alike by the kernel.{carries}", names[0]);
    let picture =
        Picture::new("nearest", "The nearest support vectors", Axis::linear("kernel value"), Axis::names("support vector", names));
    Ok(Some(picture.with(layer).saying(sentence)))
}

/// Single columns whose change alone leads to another answer, those that must move least (in spreads of the column) first.
fn what_would_change<M: Model>(model: &M, data: &Dataset<'_>, own: &Matrix<'_>, said: &str, context: &Context<'_>) -> Result<Vec<String>> {
    let width = data.x.columns();
    let mut values = vec![0.0; width];
    own.copy_row(0, &mut values);
    let mut found: Vec<(f64, String)> = Vec::new();
    for column in 0..width {
        let sorted = sorted_column(&data.x, column);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        if low == high {
            continue;
        }
        let mut steps: Vec<f64> = (0..=TRIED).map(|step| quantile(&sorted, step as f64 / TRIED as f64)).collect();
        steps.dedup();
        let mut table = Vec::with_capacity(steps.len() * width);
        for &step in &steps {
            let start = table.len();
            table.extend_from_slice(&values);
            table[start + column] = step;
        }
        let answers: Target = model.predict_in(&Matrix::dense(table, steps.len(), width)?, context)?.into();
        let Target::Classes(answers) = answers else { return Ok(Vec::new()) };
        let name = |i: usize| &answers.names()[answers.codes()[i] as usize];
        let other = (0..steps.len()).filter(|&i| name(i) != said).min_by(|&a, &b| {
            let far = |i: usize| (steps[i] - values[column]).abs();
            far(a).total_cmp(&far(b))
        });
        if let Some(i) = other {
            let spread = quantile(&sorted, 0.9) - quantile(&sorted, 0.1);
            let far = (steps[i] - values[column]).abs() / if spread > 0.0 { spread } else { high - low };
            let side = if steps[i] > values[column] { "raised" } else { "lowered" };
            let text = format!(
                "With {} {side} from {} to {} it would be said {}.",
                data.feature_name(column),
                general(values[column], 4),
                general(steps[i], 4),
                name(i)
            );
            found.push((far, text));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(found.into_iter().take(CHANGES).map(|(_, text)| text).collect())
}
