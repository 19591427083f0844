//! Error against the number of samples per decision, on rows that were held out.

use anyhow::{Result, bail, ensure};
use boulevard::data::Dataset;
use boulevard::data::split::Split;
use boulevard::methods::multi_sample::{CurvePoint, MultiSampleModel, curve_picture, samples_until};
use boulevard::metrics::comparison::{mean, standard_deviation};
use boulevard::observe::{Context, StopReason};
use boulevard::picture::Picture;
use boulevard::svm::Model;
use serde_json::{Value, json};

use crate::learner::Plan;
use crate::report::table::Table;
use crate::report::{html, number, story};

/// Cuts of the held-out rows into sets, per fold.
const REPEATS: usize = 10;
/// What one asks for.
const TARGET: f64 = 0.01;

/// The curve, averaged over folds.
pub struct Curve {
    points: Vec<CurvePoint>,
}

/// Fits on every fold and judges sets of all sizes, until the time is up.
pub fn run(
    plan: &Plan,
    data: &Dataset<'_>,
    repetitions: impl Iterator<Item = boulevard::Result<Vec<Split>>>,
    sizes: &[usize],
    context: &Context<'_>,
) -> Result<Curve> {
    let mut folds: Vec<Vec<CurvePoint>> = Vec::new();
    let splits = repetitions.flat_map(|splits| splits.map_or_else(|error| vec![Err(error)], |splits| splits.into_iter().map(Ok).collect()));
    for (done, split) in splits.enumerate() {
        let split = split?;
        match context.step("error by size", done, done + 1) {
            Some(StopReason::Interrupted) => bail!("interrupted"),
            Some(StopReason::TimeLimit) => break,
            _ => {}
        }
        let fitted = plan.fit(&data.select(&split.train), context)?;
        match fitted.report().stop {
            StopReason::Interrupted => bail!("interrupted"),
            StopReason::TimeLimit => break,
            _ => {}
        }
        let test = data.select(&split.test);
        let test = match fitted.prepare(&test.x)? {
            Some(x) => Dataset { x, ..test },
            None => test,
        };
        let Some(model) = fitted.get::<MultiSampleModel>() else { bail!("only --method gather has a curve") };
        folds.push(model.error_by_size(&test, sizes, REPEATS, done as u64, context)?);
    }
    ensure!(!folds.is_empty(), "no fold of the curve was finished within --max-time");
    let mut points = Vec::new();
    for &size in sizes {
        let of_size: Vec<&CurvePoint> = folds.iter().flatten().filter(|point| point.size == size).collect();
        if !of_size.is_empty() {
            let errors: Vec<f64> = of_size.iter().map(|point| point.error).collect();
            let sets = of_size.iter().map(|point| point.sets).sum();
            points.push(CurvePoint { size, error: mean(&errors), deviation: standard_deviation(&errors), sets });
        }
    }
    Ok(Curve { points })
}

impl Curve {
    fn table(&self) -> Table {
        let mut table = Table::new(["samples per decision", "error", "sd over folds", "sets"]);
        for point in &self.points {
            table.row([point.size.to_string(), number::percent(point.error), number::percent(point.deviation), point.sets.to_string()]);
        }
        table
    }

    fn answer(&self) -> String {
        match samples_until(&self.points, TARGET) {
            Some(size) => format!("error of at most 1 % from {size} samples on"),
            None => "no size on the curve has an error of at most 1 %".to_owned(),
        }
    }

    pub fn text(&self) -> String {
        format!("{}{}\n", self.table().text(), self.answer())
    }

    pub fn json(&self) -> Value {
        json!({ "points": self.points, "samples_until_one_percent": samples_until(&self.points, TARGET) })
    }

    /// The curve as a picture.
    pub fn picture(&self) -> Picture {
        curve_picture(&self.points, None)
    }

    pub fn page(&self, name: &str) -> String {
        let mut page = html::Page::new(&format!("Error against samples per decision: {name}"));
        page.classed("lead", &self.answer())
            .section("The curve")
            .pictures([self.picture()])
            .table(&self.table())
            .lines(&story::command_line());
        page.finish()
    }
}
