//! All pairs of classes at once: the whole kernel matrix is stored once in single precision, and every pair's problem is solved on it by one
//! block of the card, then certified in double precision.
//!
//! Rows of the matrix are sorted by class, so that a pair's variables are two ranges of it.

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::formula::CardKernel;
use super::partial::Sums;
use super::table::CardTable;
use super::times::timed;
use super::{SHARE, refusal};
use crate::error::Result;
use crate::observe::{Context, Device, Progress, StopReason};
use crate::parallel;
use crate::solver::certificate::certify;
use crate::solver::dual::{DualProblem, DualSolution, Options};
use crate::solver::route::Route;
use crate::solver::source::KernelSource;

/// Samples from which a card is used: where it was asked for, and without being asked.
const ASKED: usize = 5000;
const UNASKED: usize = 20_000;
/// Variables of a pair at most: 1024 threads with 16 each.
const THREADS: usize = 1024;
const MOST: usize = 16 * THREADS;
/// Steps of one launch: so long nobody can stop it.
const STEPS: usize = 10_000;
/// Pairs are solved to this share of the tolerance first, then to that one if double precision says it was not enough.
const STOPS: [f64; 3] = [0.9, 0.6, 0.3];
/// Steps in all, per variable.
const STEPS_PER_VARIABLE: u64 = 100;
/// The margin around the extremes is this many times the largest correction, as in the blocked loop.
const SAFETY: f64 = 4.0;
const SAMPLED: usize = 128;

/// One pair's problem: its variables are the members of the first class, then those of the second.
pub(crate) struct PairTask<'a> {
    pub classes: [usize; 2],
    pub problem: DualProblem<'a>,
}

/// The card that pairs of `rows` samples in all are for, by its number; none where the processor does better. Asked before problems are put
/// together, which takes longer than many a pair.
pub(crate) fn card_for_pairs(rows: usize, context: &Context<'_>) -> Option<usize> {
    match context.device {
        Device::Cuda(number) if rows >= ASKED => Some(number),
        Device::Auto if rows >= UNASKED => Some(0),
        _ => None,
    }
}

/// Solves every pair; none for pairs that another way must solve, and none at all where the card is not for them.
pub(crate) fn solve_pairs(
    source: &dyn KernelSource,
    members: &[&[usize]],
    tasks: &[PairTask<'_>],
    options: &Options,
    context: &Context<'_>,
) -> Result<Option<Vec<Option<DualSolution>>>> {
    let Some(number) = card_for_pairs(source.len(), context) else { return Ok(None) };
    let largest = tasks.iter().map(|task| task.problem.len()).max().unwrap_or(0);
    let simple = |task: &PairTask<'_>| task.problem.kink == 0.0 && task.problem.start.is_none();
    if tasks.len() < 2 || largest > MOST || !tasks.iter().all(simple) || options.max_iterations.is_some() {
        return Ok(None);
    }
    match on_card(number, source, members, tasks, options, context) {
        Ok(solved) => Ok(solved),
        Err(error) if context.device == Device::Auto => {
            context.note(&format!("{error}; using the processor"));
            Ok(None)
        }
        Err(error) => Err(refusal(context.device, &error)),
    }
}

/// The matrix and the pairs on the card.
struct Pairs {
    card: Arc<Card>,
    table: CardTable,
    matrix: Buffer<f32>,
    stride: usize,
    problems: Buffer<u64>,
    lower: Buffer<f64>,
    upper: Buffer<f64>,
    point: Buffer<f64>,
    gradient: Buffer<f64>,
    counters: Buffer<u64>,
    /// Where every pair's variables begin.
    offsets: Vec<usize>,
    largest: usize,
}

fn on_card(
    number: usize,
    source: &dyn KernelSource,
    members: &[&[usize]],
    tasks: &[PairTask<'_>],
    options: &Options,
    context: &Context<'_>,
) -> std::result::Result<Option<Vec<Option<DualSolution>>>, CudaError> {
    let Some(view) = source.table() else { return Ok(None) };
    // One number on the diagonal, and values from products.
    let Some(kernel) = CardKernel::new(view.kernel).filter(|kernel| kernel.tensor.is_some_and(|formula| formula.kind == 0)) else {
        return Ok(None);
    };
    let card = Card::open(number)?;
    let n: usize = members.iter().map(|of_class| of_class.len()).sum();
    let bytes = CardTable::bytes(source.len(), source.dimensions()).saturating_add(4 * n * n);
    if !card.has_tensor_cores() || bytes as f64 > SHARE * card.memory()?.0 as f64 {
        return Ok(None);
    }
    if 8 * tasks.iter().map(|task| task.problem.len()).max().unwrap_or(0) + 4096 > card.shared_bytes() {
        return Ok(None);
    }
    let table = timed(&card, "table", || CardTable::storable(card.clone(), kernel, &view))?;
    let mut pairs = Pairs::new(card, table, members, tasks)?;
    let mut steps = vec![0u64; tasks.len()];
    let mut solved: Vec<Option<DualSolution>> = tasks.iter().map(|_| None).collect();
    for stop in STOPS {
        let stopped = pairs.descend(stop * options.tolerance, &mut steps, options, context)?;
        let (b, mut gradient) = (pairs.point.read(pairs.point.len())?, pairs.gradient.read(pairs.gradient.len())?);
        let open: Vec<usize> =
            (0..tasks.len()).filter(|&p| solved[p].as_ref().is_none_or(|solution| solution.violation > options.tolerance)).collect();
        // The card's part of it is short: several threads do the rest.
        let checked = parallel::map(context.threads, open.len(), |at| {
            let task = &tasks[open[at]];
            let range = pairs.offsets[open[at]]..pairs.offsets[open[at]] + task.problem.len();
            let of_pair = [members[task.classes[0]], members[task.classes[1]]].concat();
            let (b, mut g) = (b[range.clone()].to_vec(), gradient[range].to_vec());
            pairs.card.enter()?;
            pairs.check(task, &of_pair, &b, &mut g, options.tolerance)?;
            let certificate = certify(&task.problem, &b, &g);
            let end = match stopped {
                Some(reason) if certificate.violation > options.tolerance => reason,
                _ => StopReason::Converged,
            };
            Ok(DualSolution {
                coefficients: b,
                gradient: g,
                gradient_error: f64::INFINITY,
                offsets: certificate.offsets,
                objective: certificate.objective,
                violation: certificate.violation,
                gap: certificate.gap,
                iterations: steps[open[at]],
                stop: end,
                route: Route::Card,
            })
        });
        for (&p, solution) in open.iter().zip(checked) {
            let solution: DualSolution = solution?;
            gradient[pairs.offsets[p]..][..solution.gradient.len()].copy_from_slice(&solution.gradient);
            solved[p] = Some(solution);
        }
        if stopped.is_some() || solved.iter().flatten().all(|solution| solution.violation <= options.tolerance) {
            return Ok(Some(solved));
        }
        // What double precision found is where the next steps begin.
        pairs.gradient.write(0, &gradient)?;
    }
    let good = |solution: DualSolution| (solution.violation <= options.tolerance).then_some(solution);
    Ok(Some(solved.into_iter().map(|solution| solution.and_then(good)).collect()))
}

impl Pairs {
    fn new(card: Arc<Card>, table: CardTable, members: &[&[usize]], tasks: &[PairTask<'_>]) -> std::result::Result<Self, CudaError> {
        let order: Vec<u32> = members.iter().flat_map(|of_class| of_class.iter().map(|&sample| sample as u32)).collect();
        let mut firsts = vec![0usize];
        for of_class in members {
            firsts.push(firsts[firsts.len() - 1] + of_class.len());
        }
        let (n, stride) = (order.len(), order.len().next_multiple_of(32));
        let matrix = timed(&card, "matrix memory", || card.allocate::<f32>(n * stride))?;
        timed(&card, "matrix", || {
            let rows = table.gather(&card.upload(&order)?, n, n, None)?;
            table.store_values(&rows, 0, n, &rows, n, &matrix, stride, true)
        })?;
        let (mut words, mut offsets, mut offset) = (Vec::new(), Vec::new(), 0usize);
        let two = |a: usize, b: usize| a as u64 | (b as u64) << 32;
        for task in tasks {
            let [i, j] = task.classes;
            words.extend([two(firsts[i], firsts[j]), two(members[i].len(), members[j].len()), offset as u64]);
            offsets.push(offset);
            offset += task.problem.len();
        }
        let all = |of: fn(&PairTask<'_>) -> Vec<f64>| tasks.iter().map(of).collect::<Vec<_>>().concat();
        let mut point = card.allocate::<f64>(offset)?;
        point.fill(0)?;
        Ok(Self {
            problems: card.upload(&words)?,
            lower: card.upload(&all(|task| task.problem.lower.to_vec()))?,
            upper: card.upload(&all(|task| task.problem.upper.to_vec()))?,
            gradient: card.upload(&all(|task| task.problem.linear.to_vec()))?,
            counters: card.allocate(2 * tasks.len())?,
            largest: tasks.iter().map(|task| task.problem.len()).max().unwrap_or(0),
            point,
            card,
            table,
            matrix,
            stride,
            offsets,
        })
    }

    /// Steps of all pairs until their violations are at most `stop`, or somebody wants an end.
    fn descend(
        &mut self,
        stop: f64,
        steps: &mut [u64],
        options: &Options,
        context: &Context<'_>,
    ) -> std::result::Result<Option<StopReason>, CudaError> {
        let kernel = match self.largest.div_ceil(THREADS) {
            0..=4 => "solve_pairs_4",
            5..=8 => "solve_pairs_8",
            9..=12 => "solve_pairs_12",
            _ => "solve_pairs_16",
        };
        loop {
            let told = timed(&self.card, "pairs", || {
                let launch = self.card.launch(kernel).grid(steps.len(), 1).threads(THREADS).shared(8 * self.largest);
                let launch = launch.buffer(&self.matrix).long(self.stride as u64).number(1.0).buffer(&self.problems).buffer(&self.lower);
                let launch = launch.buffer(&self.upper).number(stop).count(STEPS).buffer(&self.point).buffer(&self.gradient);
                launch.buffer(&self.counters).run()?;
                self.counters.read(2 * steps.len())
            })?;
            let mut going = false;
            for (steps, told) in steps.iter_mut().zip(told.chunks_exact(2)) {
                *steps += told[0];
                // Whoever did not use up the steps has come to an end.
                going |= told[0] == STEPS as u64 && *steps < STEPS_PER_VARIABLE * self.largest as u64;
            }
            if !going {
                return Ok(None);
            }
            let done = steps.iter().sum();
            let progress = Progress { stage: "solve", done, total: None, violation: None, tolerance: Some(options.tolerance) };
            if let Some(reason) = context.check(&progress) {
                return Ok(Some(reason));
            }
        }
    }

    /// Gradients that matter in double precision: those of support vectors, near the extremes, and a sample.
    fn check(
        &self,
        task: &PairTask<'_>,
        samples: &[usize],
        b: &[f64],
        gradient: &mut [f64],
        tolerance: f64,
    ) -> std::result::Result<(), CudaError> {
        let (problem, mut slack, mut exact) = (&task.problem, 2.0 * tolerance, vec![false; b.len()]);
        let support: Vec<usize> = (0..b.len()).filter(|&k| b[k] != 0.0).collect();
        let ids: Vec<u32> = support.iter().map(|&k| samples[k] as u32).collect();
        let weights: Vec<f64> = support.iter().map(|&k| b[k]).collect();
        let columns = self.table.exact_columns(&ids, &weights)?;
        loop {
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for k in 0..b.len() {
                least = if b[k] < problem.upper[k] { least.min(gradient[k]) } else { least };
                most = if b[k] > problem.lower[k] { most.max(gradient[k]) } else { most };
            }
            let near = |k: usize| {
                let up = b[k] < problem.upper[k] && gradient[k] <= least + slack;
                up || (b[k] > problem.lower[k] && gradient[k] >= most - slack)
            };
            let rows: Vec<usize> = (0..b.len()).filter(|&k| !exact[k] && (b[k] != 0.0 || k % SAMPLED == 0 || near(k))).collect();
            if rows.is_empty() {
                return Ok(());
            }
            let sums = timed(&self.card, "exact", || {
                let ids = self.card.upload(&rows.iter().map(|&k| samples[k] as u32).collect::<Vec<_>>())?;
                let mut sums = Sums::new(&self.card)?;
                let splits = self.table.weigh_exactly(&ids, 0, rows.len(), &columns, &mut sums)?;
                sums.values.read(splits * rows.len())
            })?;
            let mut drift = 0.0f64;
            for (at, &k) in rows.iter().enumerate() {
                let value = problem.linear[k] + sums.iter().skip(at).step_by(rows.len()).sum::<f64>();
                drift = drift.max((value - gradient[k]).abs());
                (gradient[k], exact[k]) = (value, true);
            }
            if SAFETY * drift <= slack {
                return Ok(());
            }
            slack = 2.0 * SAFETY * drift;
        }
    }
}
