//! Cross-validation of a plan: every row predicted by a model that did not see it.

use anyhow::{Result, bail};
use boulevard::data::split::Split;
use boulevard::data::{Categories, Dataset, Matrix, Target};
use boulevard::internal::parallel;
use boulevard::internal::random::Random;
use boulevard::kernel::Kernel;
use boulevard::methods::multi_sample::{MultiSampleModel, Sets};
use boulevard::metrics::multilabel::LabelConfusion;
use boulevard::metrics::{classification, regression};
use boulevard::observe::{Context, StopReason};

use crate::learner::Plan;
use crate::progress::Silent;

/// What one fold gave.
pub struct FoldResult {
    /// Error: share of wrong classes, mean squared error, or share of rows outside.
    pub error: f64,
    /// Predictions for the fold's test rows.
    pub predicted: Target,
    pub stop: StopReason,
}

/// What the error of a target is called.
pub fn error_name(target: &Target) -> &'static str {
    match target {
        Target::Real(_) => "mean squared error",
        Target::None => "share outside",
        Target::Labels(_) => "Hamming loss",
        _ => "error",
    }
}

/// Fits and judges the plan on every split, splits in parallel.
pub fn cross_validate(plan: &Plan, data: &Dataset<'_>, splits: &[Split], context: &Context<'_>) -> Result<Vec<FoldResult>> {
    let inner = if splits.len() > 1 { context.with_threads(1) } else { *context }.with_observer(&Silent);
    let results = parallel::map(context.threads, splits.len(), |i| {
        if context.step("cross-validate", i, splits.len()) == Some(StopReason::Interrupted) {
            bail!("interrupted");
        }
        one_fold(plan, data, &splits[i], &inner)
    });
    results.into_iter().collect()
}

fn one_fold(plan: &Plan, data: &Dataset<'_>, split: &Split, context: &Context<'_>) -> Result<FoldResult> {
    let precomputed = *plan.kernel() == Kernel::Precomputed;
    let mut train = data.select(&split.train);
    if precomputed {
        train.x = block(&data.x, &split.train, &split.train)?;
    }
    let fitted = plan.fit(&train, context)?;
    let stop = fitted.model.report().stop;
    if stop == StopReason::Interrupted {
        bail!("interrupted");
    }
    let test = if precomputed { block(&data.x, &split.test, &split.train)? } else { data.x.select(&split.test) };
    if let Some(model) = fitted.gatherer() {
        return gathered(model, &fitted.prepare(&test)?, &data.select(&split.test), stop, context);
    }
    let rows = Dataset { tasks: data.tasks.as_ref().map(|tasks| tasks.select(&split.test)), ..Dataset::new(test, Target::None) };
    let predicted = fitted.answer_rows(&rows, context)?.target;
    let weights: Option<Vec<f64>> = data.weights.as_ref().map(|weights| split.test.iter().map(|&row| weights[row]).collect());
    let error = judge(&data.target.select(&split.test), &predicted, weights.as_deref())?;
    Ok(FoldResult { error, predicted, stop })
}

/// A classifier of sets is judged by sets; every row then has the label of its set.
fn gathered(model: &MultiSampleModel, x: &Matrix<'_>, test: &Dataset<'_>, stop: StopReason, context: &Context<'_>) -> Result<FoldResult> {
    let classes = test.expect_classes()?;
    let sets = test_sets(test, model.parameters.n_samples_per_decision, model.parameters.seed)?;
    let truth = sets.shared_classes(classes)?;
    let said = model.predict_sets(x, &sets, context)?;
    // Codes of the file and of the model may differ: a fold may lack a class.
    let wrong = |set: usize| said.names()[said.codes()[set] as usize] != classes.names()[truth[set] as usize];
    let error = (0..sets.len()).filter(|&set| wrong(set)).count() as f64 / sets.len().max(1) as f64;
    let mut codes = vec![0; test.len()];
    for set in 0..sets.len() {
        sets.rows(set).iter().for_each(|&row| codes[row as usize] = said.codes()[set]);
    }
    Ok(FoldResult { error, predicted: Target::Classes(Categories::new(codes, said.names().to_vec())?), stop })
}

/// The sets of labelled rows: groups where there are groups, else rows of a class drawn together, `k` at a time.
pub fn test_sets(data: &Dataset<'_>, k: usize, seed: u64) -> Result<Sets> {
    /// Stream of the order of rows: files may be sorted.
    const ORDER: u64 = 78;
    if let Some(groups) = &data.groups {
        return Ok(Sets::of_groups(groups).0);
    }
    let classes = data.expect_classes()?;
    let order = Random::new(seed, ORDER).permutation(data.len());
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for class in 0..classes.names().len() {
        let rows: Vec<usize> = order.iter().copied().filter(|&row| classes.codes()[row] as usize == class).collect();
        // What is left over makes a smaller set, so that every row is judged.
        sets.extend(rows.chunks(k.max(1)).map(<[usize]>::to_vec));
    }
    Ok(Sets::new(&sets)?)
}

/// The error of predictions.
pub fn judge(truth: &Target, predicted: &Target, weights: Option<&[f64]>) -> Result<f64> {
    Ok(match (truth, predicted) {
        (Target::Classes(truth), Target::Classes(predicted)) => {
            1.0 - classification::Confusion::from_categories(truth, predicted, weights)?.accuracy()
        }
        (Target::Real(truth), Target::Real(predicted)) => regression::mean_squared_error(truth, predicted, weights)?,
        (Target::Labels(truth), Target::Labels(predicted)) => LabelConfusion::new(truth, predicted, weights)?.hamming_loss(),
        (Target::None, Target::Classes(inside)) => {
            inside.codes().iter().filter(|&&code| code == 0).count() as f64 / inside.len().max(1) as f64
        }
        (truth, predicted) => bail!("predictions are {} but the file has {}", predicted.kind(), truth.kind()),
    })
}

/// Some rows and columns of a kernel matrix.
fn block(x: &Matrix<'_>, rows: &[usize], columns: &[usize]) -> boulevard::Result<Matrix<'static>> {
    let values: Vec<f64> = rows.iter().flat_map(|&i| columns.iter().map(move |&j| x.get(i, j))).collect();
    Matrix::dense(values, rows.len(), columns.len())
}
