//! Made-up tables, and fits of them.

use std::time::Instant;

use boulevard::data::{Categories, Dataset, Matrix, Target};
use boulevard::kernel::Kernel;
use boulevard::observe::{Context, Device};
use boulevard::solver::{DualProblem, DualSolution, Equality, Fleet, Options, Piece, Shard, Solver, TableKernel};
use boulevard::svm::{KernelMachine, Layout, Learner, Penalty, Ready, Spread, Svc, SvcModel};
use boulevard::validation::{GridResult, GridSearch};

/// Numbers from a fixed seed.
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

pub(crate) struct Problem {
    pub x: Matrix<'static>,
    pub y: Vec<f64>,
}

/// `clusters` overlapping clouds in `d` dimensions, each of one class, and one in twenty labels flipped.
pub(crate) fn clouds(n: usize, d: usize, clusters: usize, spread: f64) -> Problem {
    let mut numbers = Numbers(d as u64);
    let centers: Vec<f64> = (0..clusters * d).map(|_| spread * numbers.normal()).collect();
    let signs: Vec<f64> = (0..clusters).map(|c| if c % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let (mut x, mut y) = (Vec::with_capacity(n * d), Vec::with_capacity(n));
    for _ in 0..n {
        let cluster = numbers.below(clusters);
        x.extend((0..d).map(|k| centers[cluster * d + k] + numbers.normal()));
        y.push(if numbers.uniform() < 0.05 { -signs[cluster] } else { signs[cluster] });
    }
    Problem { x: Matrix::dense(x, n, d).unwrap(), y }
}

/// Like covertype: 10 numbers from 100 overlapping clusters, one of 4 and one of 40 columns set. How far apart clusters are decides how many
/// rows become support vectors: two thirds with a spread of 1.
pub(crate) fn cover(n: usize, spread: f64) -> Problem {
    scaled_cover(n, spread, 1.0)
}

/// The same with clusters three times as far apart as they are wide, and numbers of variance 1: with C = 10 a fifth of the rows become support
/// vectors, and a fifth of those are free.
pub(crate) fn apart_cover(n: usize) -> Problem {
    scaled_cover(n, 3.0, 0.1f64.sqrt())
}

pub(crate) fn scaled_cover(n: usize, spread: f64, scale: f64) -> Problem {
    let numeric = clouds(n, 10, 100, spread);
    let mut numbers = Numbers(77);
    let mut x = Vec::with_capacity(n * 54);
    for row in 0..n {
        x.extend((0..10).map(|k| scale * numeric.x.get(row, k)));
        let (first, second) = (numbers.below(4), numbers.below(40));
        x.extend((0..4).map(|k| f64::from(u8::from(k == first))));
        x.extend((0..40).map(|k| f64::from(u8::from(k == second))));
    }
    Problem { x: Matrix::dense(x, n, 54).unwrap(), y: numeric.y }
}

pub(crate) fn fit(problem: &Problem, kernel: &Kernel, c: f64, context: &Context<'_>) -> (DualSolution, f64) {
    try_fit(problem, kernel, c, context).unwrap()
}

pub(crate) fn try_fit(problem: &Problem, kernel: &Kernel, c: f64, context: &Context<'_>) -> boulevard::Result<(DualSolution, f64)> {
    try_fit_to(1e-3, problem, kernel, c, context)
}

pub(crate) fn try_fit_to(
    tolerance: f64,
    problem: &Problem,
    kernel: &Kernel,
    c: f64,
    context: &Context<'_>,
) -> boulevard::Result<(DualSolution, f64)> {
    let start = Instant::now();
    let linear: Vec<f64> = problem.y.iter().map(|y| -y).collect();
    let bound = |sign: f64| -> Vec<f64> { problem.y.iter().map(|&y| if y * sign > 0.0 { sign * c } else { 0.0 }).collect() };
    let (lower, upper) = (bound(-1.0), bound(1.0));
    let dual = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: None };
    let options = Options { tolerance, polish: false, ..Options::default() };
    let source = TableKernel::new(kernel, &problem.x, context);
    let solution = Solver::new(&source, None, context)?.solve(&dual, &options)?;
    Ok((solution, start.elapsed().as_secs_f64()))
}

/// Rows whose sign differs between two solutions although one of them is further from the border than `band`.
pub(crate) fn different(problem: &Problem, a: &DualSolution, b: &DualSolution, band: f64) -> usize {
    let value = |solution: &DualSolution, i: usize| solution.gradient[i] + problem.y[i] - solution.offsets[0];
    (0..problem.y.len()).filter(|&i| (value(a, i) > 0.0) != (value(b, i) > 0.0) && value(a, i).abs().max(value(b, i).abs()) > band).count()
}

/// Ten classes of pictures that only their own kind resembles: each a mixture of a few random patterns.
pub(crate) fn digits(n: usize, d: usize, classes: usize) -> (Matrix<'static>, Vec<String>) {
    let mut numbers = Numbers(3);
    let patterns: Vec<f64> = (0..classes * 4 * d).map(|_| numbers.normal()).collect();
    let (mut x, mut y) = (Vec::with_capacity(n * d), Vec::with_capacity(n));
    for row in 0..n {
        let (class, other) = (row % classes, numbers.below(classes));
        let (first, second) = (class * 4 + numbers.below(4), other * 4 + numbers.below(4));
        let share = 0.35 * numbers.uniform();
        x.extend((0..d).map(|k| (1.0 - share) * patterns[first * d + k] + share * patterns[second * d + k] + 0.7 * numbers.normal()));
        y.push(class.to_string());
    }
    (Matrix::dense(x, n, d).unwrap(), y)
}

pub(crate) fn fit_classes(x: &Matrix<'static>, y: &[String], gamma: f64, c: f64, context: &Context<'_>) -> (SvcModel, f64) {
    let data = Dataset::classes(x.clone(), Categories::from_names(y));
    let start = Instant::now();
    let svc = Svc { kernel: Kernel::rbf(gamma), penalty: Penalty::C(c), ..Svc::default() };
    let model = svc.fit_in(&data, context).unwrap();
    (model, start.elapsed().as_secs_f64())
}

/// Largest difference of decision values, and how many have another sign further than `band` from the border.
pub(crate) fn apart(a: &[f64], b: &[f64], band: f64) -> (f64, usize) {
    assert_eq!(a.len(), b.len());
    let pairs = || a.iter().zip(b);
    let other = pairs().filter(|(a, b)| (**a > 0.0) != (**b > 0.0) && a.abs().max(b.abs()) > band).count();
    (pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max), other)
}

/// A grid search over values of C and gamma, in five folds, without the last fit; and its seconds.
pub(crate) fn search(problem: &Problem, c: &[f64], gamma: &[f64], context: &Context<'_>) -> (GridResult<SvcModel>, f64) {
    let names: Vec<String> = problem.y.iter().map(|y| y.to_string()).collect();
    let data = Dataset::classes(problem.x.clone(), Categories::from_names(&names));
    let grid = GridSearch { c: c.to_vec(), gamma: gamma.to_vec(), folds: 5, refit: false, ..GridSearch::default() };
    let start = Instant::now();
    let found = grid.svc(&Svc::default(), &data, context).unwrap();
    (found, start.elapsed().as_secs_f64())
}

/// A machine with random coefficients.
pub(crate) fn machine(x: &Matrix<'static>, vectors: usize, gamma: f64, size: f64) -> KernelMachine {
    let mut numbers = Numbers(9);
    let support: Vec<usize> = (0..vectors).map(|k| k * (x.rows() / vectors)).collect();
    KernelMachine {
        kernel: Kernel::rbf(gamma),
        vectors: x.select(&support).into_owned(),
        support,
        coefficients: (0..vectors).map(|_| size * numbers.normal()).collect(),
        layout: Layout::Full,
        intercepts: vec![0.25],
        features: x.columns(),
        tolerance: 1e-3,
        ready: Ready::default(),
    }
}

/// Shards of this process.
pub(crate) struct Shards(Vec<Shard>);

impl Fleet for Shards {
    fn call(&mut self, messages: Vec<(usize, Vec<u8>)>) -> boulevard::Result<Vec<Option<Vec<u8>>>> {
        Ok(messages.into_iter().map(|(shard, message)| Some(self.0[shard].call(&message))).collect())
    }

    fn returned(&mut self, _: bool) -> boulevard::Result<Vec<usize>> {
        Ok(Vec::new())
    }
}

/// The same table on shards of unequal sizes.
pub(crate) fn fit_shards(problem: &Problem, svc: &Svc, device: Device, context: &Context<'_>) -> (SvcModel, f64) {
    let (n, mut first, mut pieces, mut shards) = (problem.y.len(), 0, Vec::new(), Vec::new());
    for (shard, last) in [n / 2, n / 2 + n / 10, n].into_iter().enumerate() {
        pieces.push(Piece { shard, first, rows: last - first });
        let table = problem.x.select(&(first..last).collect::<Vec<_>>()).into_owned();
        shards.push(Shard::new(table, context.threads).unwrap().on(device));
        first = last;
    }
    let names: Vec<String> = problem.y.iter().map(|y| y.to_string()).collect();
    let target = Target::Classes(Categories::from_names(&names));
    let spread = Spread { pieces, columns: problem.x.columns(), target, weights: None, feature_names: None };
    let (mut fleet, start) = (Shards(shards), Instant::now());
    let model = svc.fit_spread(&spread, &mut fleet, context).unwrap();
    assert!(fleet.0.iter().all(|shard| shard.is_on_card() == (device != Device::Cpu)), "{device}");
    (model, start.elapsed().as_secs_f64())
}
