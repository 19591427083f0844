//! Fronts of machines, and what rows held out say about their points.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::evolve::Evolution;
use super::evolve::population::{Landscape, Member};
use super::exact::signed::SignedKernel;
use super::exact::slots::{POINTS, Slot, SlotTask, SumRange};
use super::judge::{self, Judged};
use super::model::ClassFront;
use super::parameters::{Mode, ParetoSvc};
use super::point::{Facts, FrontPoint, facts};
use super::restart;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, weighted_sum_watched};
use crate::linalg;
use crate::metrics::pareto::non_dominated_ranks;
use crate::observe::{Context, Observer, Progress, StopReason};
use crate::parallel;
use crate::solver::{KernelSource, TableKernel};
use crate::svm::{FitReport, worse};

/// Rows up to which a kernel without a proof is tested for negative eigenvalues; beyond, it counts as indefinite.
const TESTED_UP_TO: usize = 2000;

/// One front before it is put into a model.
struct Computed {
    members: Vec<(Vec<f64>, Facts)>,
    iterations: u64,
    stop: StopReason,
    reference: f64,
}

/// A front with its errors.
pub(super) struct Measured {
    pub train: Vec<usize>,
    pub held: usize,
    pub codes: Vec<u32>,
    /// What the training rows weigh.
    pub room: Vec<f64>,
    pub machines: Vec<ClassFront>,
    pub front: Vec<FrontPoint>,
    pub report: FitReport,
}

impl ParetoSvc {
    /// What the slots of one machine share.
    pub(super) fn task<'a>(
        &self,
        source: &'a dyn KernelSource,
        signs: &'a [f64],
        room: &'a [f64],
        balanced: bool,
        context: &Context<'a>,
    ) -> SlotTask<'a> {
        SlotTask {
            source,
            signs,
            room,
            balanced,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations.unwrap_or(100_000 + 200 * signs.len() as u64),
            context: *context,
        }
    }

    /// The front of one two-class problem.
    fn front(&self, table: &TableKernel<'_>, signs: &[f64], room: &[f64], range: SumRange, context: &Context<'_>) -> Result<Computed> {
        let source = SignedKernel::new(table, signs, self.cache_bytes(signs.len()), context);
        let n = signs.len();
        let balanced = self.balanced();
        let reference = {
            let order: Vec<usize> = (0..n).collect();
            weighted_sum_watched(source.double()?, &order, room, 0..n, context)?
                .iter()
                .zip(room)
                .map(|(value, room)| value * room)
                .sum::<f64>()
        };
        if !reference.is_finite() {
            return Err(Error::overflow("the kernel values are so large that their sum overflows: scale the columns first"));
        }
        if self.mode == Mode::Evolve {
            let matrix = source.matrix(context)?;
            let landscape = Landscape { q: &matrix, signs, objectives: if balanced { 3 } else { 2 } };
            let evolution = Evolution {
                population: self.population_size,
                generations: self.generations,
                mutation: self.mutation,
                crossover: self.crossover,
                variant: self.variant,
                seed: self.seed,
            };
            let evolved = evolution.run(&landscape, context)?;
            let describe = |member: Member| {
                let facts = facts(&member.alpha, &member.gradient, signs, room, balanced);
                (member.alpha, facts)
            };
            let members = evolved.front.into_iter().map(describe).collect();
            return Ok(Computed { members, iterations: evolved.generations, stop: evolved.stop, reference });
        }
        let task = self.task(&source, signs, room, balanced, context);
        let cache = Some(self.cache_bytes(signs.len()));
        let mut slots = task.sweep(self.n_points, range, cache, context)?;
        let mut stop = slots.iter().fold(StopReason::Converged, |worst, slot| worst.worst(slot.stop));
        if self.mode == Mode::Hybrid && !stop.is_cut_short() && !is_positive(table.kernel(), &source)? {
            stop = stop.worst(restart::improve(&task, &mut slots, self.seed, cache, context)?);
        }
        let iterations = slots.iter().map(|slot| slot.iterations).sum();
        let mut members: Vec<(Vec<f64>, Facts)> = slots
            .into_iter()
            .map(|Slot { alpha, gradient, .. }| {
                let facts = facts(&alpha, &gradient, signs, room, balanced);
                (alpha, facts)
            })
            .collect();
        // An indefinite kernel may have a smaller q at a larger sum: such slots are not on the front.
        let points: Vec<[f64; 2]> = members.iter().map(|(_, facts)| [facts.sum, -facts.quadratic]).collect();
        let mut ranks = non_dominated_ranks(&points)?.into_iter();
        members.retain(|_| ranks.next() == Some(0));
        Ok(Computed { members, iterations, stop, reference })
    }

    /// One front per machine: the second of two classes against the first, or each class against the rest.
    fn fronts(
        &self,
        table: &TableKernel<'_>,
        codes: &[u32],
        room: &[f64],
        classes: usize,
        range: SumRange,
        context: &Context<'_>,
    ) -> Result<(Vec<ClassFront>, FitReport)> {
        let mut report = FitReport::default();
        let mut machines = Vec::new();
        for class in if classes == 2 { 1..2 } else { 0..classes } {
            if !codes.iter().any(|&code| code as usize == class) {
                continue;
            }
            let signs = signs(codes, class);
            let computed = self.front(table, &signs, room, range, context)?;
            report.iterations += computed.iterations;
            report.stop = report.stop.worst(computed.stop);
            let (mut alphas, mut points, mut lambdas, mut biases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for (alpha, facts) in computed.members {
                alphas.extend(alpha);
                points.push(facts.point());
                lambdas.push(facts.lambda);
                biases.push(facts.bias);
                report.objective += 0.5 * facts.quadratic;
                report.violation = worse(report.violation, facts.violation);
                report.gap = worse(report.gap, facts.gap);
            }
            machines.push(ClassFront { class, points, alphas, lambdas, biases, reference: computed.reference });
        }
        Ok((machines, report))
    }

    /// Splits, computes the front over `range` and measures its errors; `repeat` tells hold-outs apart.
    pub(super) fn measure(
        &self,
        data: &Dataset<'_>,
        kernel: &Kernel,
        repeat: usize,
        range: SumRange,
        context: &Context<'_>,
    ) -> Result<Measured> {
        let classes = data.expect_classes()?;
        let count = classes.names().len();
        let (train, test) = judge::hold_out(data, self.holdout, self.seed, repeat, context)?;
        let weights = data.weights_or_ones();
        let x = kernel.rows_of(&data.x, &train);
        let codes: Vec<u32> = train.iter().map(|&row| classes.codes()[row]).collect();
        let table = TableKernel::new(kernel, &x, context);
        let room: Vec<f64> = train.iter().map(|&row| weights[row]).collect();
        let (mut machines, report) = self.fronts(&table, &codes, &room, count, range, context)?;
        let new_rows = kernel.new_rows_of(&data.x, &train, &test);
        let truth: Vec<u32> = test.iter().map(|&row| classes.codes()[row]).collect();
        let of_test: Vec<f64> = test.iter().map(|&row| weights[row]).collect();
        let (own, held) = (Judged { x: &x, codes: &codes, weights: &room }, Judged { x: &new_rows, codes: &truth, weights: &of_test });
        let front = judge::table(&mut machines, kernel, own, held, count, context)?;
        Ok(Measured { train, held: test.len(), codes, room, machines, front, report })
    }

    /// Fronts of the other hold-outs, with fewer points: they are averaged over neighbors anyway. `range.least` is where they end, see
    /// [`worth_averaging`]. Each is a task of its own, so that every thread has a front to work on. A front that was cut short ends
    /// somewhere else and is left out.
    pub(super) fn repeats(
        &self,
        data: &Dataset<'_>,
        kernel: &Kernel,
        range: SumRange,
        report: &mut FitReport,
        context: &Context<'_>,
    ) -> Result<Vec<Vec<FrontPoint>>> {
        let coarse = Self { n_points: (self.n_points / 3).max(10).min(self.n_points), ..self.clone() };
        let machines = match data.expect_classes()?.names().len() {
            2 => 1,
            several => several,
        };
        let repeats = self.holdout_repeats - 1;
        let all = AllPoints { context: *context, done: AtomicU64::new(0), total: (machines * repeats * coarse.n_points) as u64 };
        let inner = Context { observer: context.observer.map(|_| &all as &dyn Observer), ..context.with_threads(1) };
        // Every front has its own matrix and factor: where memory is limited they come one after the other.
        let threads = if context.memory.is_some() { 1 } else { context.threads };
        let mut fronts = Vec::new();
        for measured in parallel::map(threads, repeats, |repeat| coarse.measure(data, kernel, 1 + repeat, range, &inner)) {
            let Measured { report: other, front, .. } = measured?;
            report.iterations += other.iterations;
            report.stop = report.stop.worst(other.stop);
            if !other.stop.is_cut_short() {
                fronts.push(front);
            }
        }
        Ok(fronts)
    }
}

/// Counts the points of several fronts that are computed at once, so that whoever watches sees one number grow.
struct AllPoints<'a> {
    context: Context<'a>,
    done: AtomicU64,
    total: u64,
}

impl Observer for AllPoints<'_> {
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()> {
        let Some(observer) = self.context.observer else { return ControlFlow::Continue(()) };
        if progress.stage != POINTS || progress.total.is_none() {
            return observer.on_progress(progress);
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        observer.on_progress(&Progress { done: done.min(self.total), total: Some(self.total), ..progress.clone() })
    }
}

/// +1 for a class, -1 for all others.
pub(super) fn signs(codes: &[u32], class: usize) -> Vec<f64> {
    codes.iter().map(|&code| if code as usize == class { 1.0 } else { -1.0 }).collect()
}

/// Whether every local minimum is a global one: the kernel is known to be positive semi-definite, or this matrix is (up to rounding).
fn is_positive(kernel: &Kernel, source: &SignedKernel<'_>) -> Result<bool> {
    if kernel.is_positive_semidefinite() == Some(true) {
        return Ok(true);
    }
    let n = source.len();
    if n > TESTED_UP_TO {
        return Ok(false);
    }
    let mut matrix = source.matrix(&Context::single())?;
    let largest = (0..n).map(|i| matrix[i * n + i].abs()).fold(0.0, f64::max);
    (0..n).for_each(|i| matrix[i * n + i] += 1e-9 * largest);
    Ok(linalg::cholesky(&mut matrix, n))
}
