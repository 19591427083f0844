//! Errors along a front: which rows are held out, what every point says about them, and the common table of several machines.

use super::model::ClassFront;
use super::point::FrontPoint;
use crate::check;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::{self, Kernel};
use crate::observe::Context;
use crate::parallel;
use crate::random::Random;
use crate::svm::{argmax, content_key};

/// The stream that hold-outs are drawn from.
const STREAM: u64 = 0x686f_6c64 << 32;

/// Training and held-out rows, each of which weighs something. Every class gives its share, rounded, but at least one row if it has two; a class with a single row gives
/// none. A hold-out that sees one class only could not tell a good machine from a constant one, and is refused.
///
/// Rows that are the same stay together where there are any, or weights: then a weight of 2 is having the row twice, and no row is judged
/// by a machine that learnt its twin. Such hold-outs depend on what rows hold, not on their order.
///
/// Repeats are blocks of one order of the rows, a fifth after the other at 20 %: no row is judged twice before all have been, which makes
/// means over repeats calmer than means over independent draws.
pub(super) fn hold_out(
    data: &Dataset<'_>,
    fraction: f64,
    seed: u64,
    repeat: usize,
    context: &Context<'_>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    draw(data, fraction, seed, repeat, &mut false, context)
}

/// The first `count` hold-outs. Whether rows are repeated is looked at once.
pub(super) fn hold_outs(
    data: &Dataset<'_>,
    fraction: f64,
    seed: u64,
    count: usize,
    context: &Context<'_>,
) -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
    let mut differ = false;
    (0..count).map(|repeat| draw(data, fraction, seed, repeat, &mut differ, context)).collect()
}

/// One hold-out; `differ` is whether all rows are known to differ and to weigh the same, and says so afterwards.
fn draw(
    data: &Dataset<'_>,
    fraction: f64,
    seed: u64,
    repeat: usize,
    differ: &mut bool,
    context: &Context<'_>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let classes = data.expect_classes()?;
    let weighs = |row: usize| data.weights.as_ref().is_none_or(|weights| weights[row] > 0.0);
    if fraction == 0.0 {
        return Ok(((0..classes.len()).filter(|&row| weighs(row)).collect(), Vec::new()));
    }
    if !*differ && let Some(held) = hold_out_kinds(data, classes, fraction, seed, repeat, context)? {
        return Ok((0..classes.len()).filter(|&row| weighs(row)).partition(|&row| !held[row]));
    }
    *differ = true;
    let (order, block) = block_of(fraction, repeat);
    let mut random = Random::new(seed, STREAM + order);
    let mut held = vec![false; classes.len()];
    let mut seen = 0;
    for class in 0..classes.names().len() {
        let mut rows: Vec<usize> = (0..classes.len()).filter(|&row| classes.codes()[row] as usize == class).collect();
        if rows.len() < 2 {
            continue;
        }
        random.shuffle(&mut rows);
        let count = ((rows.len() as f64 * fraction).round() as usize).clamp(1, rows.len() - 1);
        // The last block of a class that does not divide evenly takes its missing rows from the first.
        (block * count..(block + 1) * count).for_each(|place| held[rows[place % rows.len()]] = true);
        seen += 1;
    }
    two_seen(classes, seen)?;
    Ok((0..classes.len()).partition(|&row| !held[row]))
}

/// Which order of the rows a repeat belongs to, and which block of it.
fn block_of(fraction: f64, repeat: usize) -> (u64, usize) {
    let blocks = ((1.0 / fraction).round() as usize).max(1);
    ((repeat / blocks) as u64, repeat % blocks)
}

/// Fails unless two classes could be held out.
fn two_seen(classes: &Categories, seen: usize) -> Result<()> {
    if seen < 2 {
        let counts: Vec<String> =
            classes.names().iter().zip(classes.counts()).map(|(name, count)| format!("{count} of `{name}`")).collect();
        return Err(Error::data(format!(
            "a hold-out needs two classes with at least 2 rows each, found {}: set holdout to 0",
            counts.join(", ")
        )));
    }
    Ok(())
}

/// The same by kinds of rows, or `None` where all rows differ and weigh the same.
fn hold_out_kinds(
    data: &Dataset<'_>,
    classes: &Categories,
    fraction: f64,
    seed: u64,
    repeat: usize,
    context: &Context<'_>,
) -> Result<Option<Vec<bool>>> {
    let weight = |row: usize| data.weights.as_ref().map_or(1.0, |weights| weights[row]);
    let (order, block) = block_of(fraction, repeat);
    let mix = seed ^ (STREAM + order).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut meter = context.meter("hold out");
    let mut keys: Vec<(u32, u64, usize)> = (0..data.len())
        .filter(|&row| weight(row) > 0.0)
        .map(|row| Ok((classes.codes()[row], content_key(&data.x, row, mix, &mut meter)?, row)))
        .collect::<Result<_>>()?;
    keys.sort_unstable();
    let same = |a: &(u32, u64, usize), b: &(u32, u64, usize)| (a.0, a.1) == (b.0, b.1);
    if data.weights.is_none() && !keys.windows(2).any(|pair| same(&pair[0], &pair[1])) {
        return Ok(None);
    }
    // A class whose rows are all the same would have none left to learn from: its rows are told apart.
    let lone = |of_class: &[(u32, u64, usize)]| of_class.len() > 1 && of_class.windows(2).all(|pair| same(&pair[0], &pair[1]));
    if data.weights.is_none() && keys.chunk_by(|a, b| a.0 == b.0).any(lone) {
        return Ok(None);
    }
    let mut held = vec![false; data.len()];
    let mut seen = 0;
    for of_class in keys.chunk_by(|a, b| a.0 == b.0) {
        let apart = lone(of_class);
        let kinds: Vec<&[(u32, u64, usize)]> = of_class.chunk_by(|a, b| !apart && same(a, b)).collect();
        if kinds.len() < 2 {
            continue;
        }
        let weights: Vec<f64> = kinds.iter().map(|kind| kind.iter().map(|key| weight(key.2)).sum()).collect();
        let goal = fraction * weights.iter().sum::<f64>();
        // Where the block begins: after the kinds that weigh as much as the blocks before it.
        let mut before = 0.0;
        let first = weights.iter().position(|weight| {
            let here = before + 0.5 * weight > block as f64 * goal;
            before += weight;
            here
        });
        let first = first.unwrap_or(0);
        let mut sum = 0.0;
        for place in 0..kinds.len() - 1 {
            let at = (first + place) % kinds.len();
            if place > 0 && sum + 0.5 * weights[at] > goal {
                break;
            }
            sum += weights[at];
            kinds[at].iter().for_each(|key| held[key.2] = true);
        }
        seen += 1;
    }
    two_seen(classes, seen)?;
    Ok(Some(held))
}

/// The share of the weights for which `wrong` holds; NaN where nothing weighs anything.
pub(super) fn weighted_share(weights: &[f64], wrong: impl Fn(usize) -> bool) -> f64 {
    // The sum of nothing is minus zero, which would be shown.
    let bad = (0..weights.len()).filter(|&row| wrong(row)).fold(0.0, |sum, row| sum + weights[row]);
    bad / weights.iter().sum::<f64>()
}

/// Rows with their classes and what they weigh.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub x: &'a Matrix<'a>,
    pub codes: &'a [u32],
    pub weights: &'a [f64],
}

/// Fails with the place of the first pair of values that differ by more than rounding.
pub(super) fn check_symmetric(x: &Matrix<'_>) -> Result<()> {
    let n = x.rows();
    if x.columns() != n {
        return Err(Error::shape(format!("columns of a precomputed kernel matrix with {n} rows"), n, x.columns()));
    }
    let largest = x.largest();
    for row in 0..n {
        for column in 0..row {
            let (a, b) = (x.get(row, column), x.get(column, row));
            if (a - b).abs() > 1e-6 * largest {
                return Err(Error::data(format!(
                    "a kernel matrix must be symmetric: row {row}, column {column} holds {a}, row {column}, column {row} holds {b}"
                )));
            }
        }
    }
    Ok(())
}

/// Measures hold-out errors and makes the common table. Errors of each machine's own two-class problem go into its points.
pub(super) fn table(
    machines: &mut [ClassFront],
    kernel: &Kernel,
    training: Judged<'_>,
    held: Judged<'_>,
    classes: usize,
    context: &Context<'_>,
) -> Result<Vec<FrontPoint>> {
    let codes = training.codes;
    let decisions = if held.codes.is_empty() {
        vec![Vec::new(); machines.len()]
    } else {
        decide(machines, kernel, training.x, codes, held.x, context)?
    };
    for (machine, decisions) in machines.iter_mut().zip(&decisions) {
        for (point, values) in machine.points.iter_mut().zip(decisions.chunks_exact(held.codes.len().max(1))) {
            point.holdout_error = weighted_share(held.weights, |row| (values[row] > 0.0) != (held.codes[row] as usize == machine.class));
        }
    }
    if classes == 2 {
        return Ok(machines.first().map(|machine| machine.points.clone()).unwrap_or_default());
    }
    let own = decide(machines, kernel, training.x, codes, &kernel_rows(kernel, training.x, codes.len()), context)?;
    let positions = machines.iter().map(|machine| machine.points.len()).max().unwrap_or(0);
    let error = |decisions: &[Vec<f64>], truth: Judged<'_>, position: usize| {
        let rows = truth.codes.len();
        let judge = |row: usize| {
            let values: Vec<f64> = machines
                .iter()
                .zip(decisions)
                .map(|(machine, values)| {
                    let place = machine.place(position, positions);
                    machine.scale(place) * values[place * rows + row]
                })
                .collect();
            machines[argmax(&values)].class
        };
        weighted_share(truth.weights, |row| judge(row) != truth.codes[row] as usize)
    };
    let points = (0..positions).map(|position| {
        let places: Vec<usize> = machines.iter().map(|machine| machine.place(position, positions)).collect();
        let each = || machines.iter().zip(&places).map(|(machine, &place)| &machine.points[place]);
        let used = |row: usize| machines.iter().zip(&places).any(|(machine, &place)| machine.alpha(place)[row] > 0.0);
        FrontPoint {
            quadratic: each().map(|point| point.quadratic).sum(),
            sum_alpha: each().map(|point| point.sum_alpha).sum(),
            train_error: error(&own, training, position),
            holdout_error: error(&decisions, held, position),
            n_support: (0..codes.len()).filter(|&row| used(row)).count(),
            equivalent_c: (each().map(|point| point.equivalent_c.ln()).sum::<f64>() / machines.len() as f64).exp(),
            margin: each()
                .map(|point| point.margin)
                .fold(f64::INFINITY, |least, margin| if margin.is_nan() { margin } else { least.min(margin) }),
            gap: each().map(|point| point.gap).fold(0.0, f64::max),
        }
    });
    Ok(points.collect())
}

/// The training rows as new rows: for a given matrix it is its own table of values.
fn kernel_rows(kernel: &Kernel, training: &Matrix<'_>, rows: usize) -> Matrix<'static> {
    let all: Vec<usize> = (0..rows).collect();
    kernel.new_rows_of(training, &all, &all)
}

/// Decision values of every point for every new row: per machine row-major, points x rows.
fn decide(
    machines: &[ClassFront],
    kernel: &Kernel,
    training: &Matrix<'_>,
    codes: &[u32],
    new: &Matrix<'_>,
    context: &Context<'_>,
) -> Result<Vec<Vec<f64>>> {
    /// New rows judged at once by one thread.
    const PART: usize = 256;
    let all: Vec<usize> = (0..codes.len()).collect();
    let rows = kernel::cross::<f64>(kernel, training, &all, new, context)?;
    let lanes = context.isa.lanes::<f64>();
    let part = PART.next_multiple_of(lanes);
    let mut decisions = Vec::with_capacity(machines.len());
    for machine in machines {
        let outputs = machine.points.len();
        let label = |i: usize| if codes[i] as usize == machine.class { 1.0 } else { -1.0 };
        let weights: Vec<f64> = machine.alphas.iter().enumerate().map(|(at, alpha)| label(at % codes.len()) * alpha).collect();
        let parts = parallel::map(context.threads, new.rows().div_ceil(part), |p| {
            let columns = p * part..((p + 1) * part).min(new.rows());
            let mut sums = vec![0.0; outputs * columns.len().next_multiple_of(lanes)];
            rows.weigh(&all, &weights, outputs, columns.clone(), &mut sums);
            (columns, sums)
        });
        let mut values = vec![0.0; outputs * new.rows()];
        for (columns, sums) in parts {
            let stride = columns.len().next_multiple_of(lanes);
            for place in 0..outputs {
                let to = &mut values[place * new.rows() + columns.start..place * new.rows() + columns.end];
                to.iter_mut().zip(&sums[place * stride..]).for_each(|(to, sum)| *to = sum + machine.biases[place]);
            }
        }
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            return Err(check::complaint("ParetoSvc", "kernel", "one whose sums are finite on this table", values[place]));
        }
        decisions.push(values);
    }
    Ok(decisions)
}
