//! Machines of two classes, and how more classes are made of them.

use std::sync::Mutex;

use super::classes::{Classes, support_by_class};
use super::{OWNER, Penalty, Svc};
use crate::check;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::parallel;
use crate::solver::{
    DualProblem, DualSolution, Equality, GroupMatrices, KernelSource, Known, Options, PairTask, SolveDual, Solver, Start, TableKernel,
    card_for_pairs, fill_up, solve_pairs,
};
use crate::svm::learner::FitReport;
use crate::svm::machine::{KernelMachine, Layout, pairs};

/// Bounds of `b` for costs and signs: `[0, c]` for `+1`, `[-c, 0]` for `-1`.
pub(crate) fn sample_bounds(signs: &[f64], costs: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let lower = signs.iter().zip(costs).map(|(&y, &c)| if y < 0.0 { -c } else { 0.0 }).collect();
    let upper = signs.iter().zip(costs).map(|(&y, &c)| if y > 0.0 { c } else { 0.0 }).collect();
    (lower, upper)
}

/// A two-class machine: coefficients per sample and the intercept.
pub(crate) struct Binary {
    pub coefficients: Vec<f64>,
    pub intercept: f64,
    pub solution: DualSolution,
    /// The linear terms, and what the solution was multiplied with.
    linear: Vec<f64>,
    scale: f64,
}

impl Binary {
    /// The machine's value for a sample of the problem, whether it took part or not.
    pub(crate) fn decision(&self, sample: usize) -> f64 {
        (self.solution.gradient[sample] - self.linear[sample]) * self.scale + self.intercept
    }
}

impl Svc {
    /// Solves one two-class problem; `signs` are +1 and -1, `weights` the samples' own, `factors` their classes'.
    pub(crate) fn solve_binary(
        &self,
        solver: &mut dyn SolveDual,
        signs: &[f64],
        weights: &[f64],
        factors: &[f64],
        start: Option<Start>,
    ) -> Result<Binary> {
        let options = self.solver.options();
        match self.penalty {
            Penalty::C(c) => {
                let costs: Vec<f64> = weights.iter().zip(factors).map(|(w, f)| c * w * f).collect();
                let (lower, upper) = sample_bounds(signs, &costs);
                let linear: Vec<f64> = signs.iter().map(|y| -y).collect();
                let (point, known) = Start::parts(start);
                let start = point.as_deref();
                let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start };
                let solution = solver.solve(&problem, known, &options)?;
                let (coefficients, intercept) = (solution.coefficients.clone(), -solution.offsets[0]);
                Ok(Binary { coefficients, intercept, solution, linear, scale: 1.0 })
            }
            Penalty::Nu(nu) => {
                let side = |sign: f64| signs.iter().zip(weights).filter(|(y, _)| **y == sign).map(|(_, w)| w).sum::<f64>();
                let (plus, minus) = (side(1.0), side(-1.0));
                // `fit_in` refused what is not feasible for two classes; one nu for many pairs means the largest that is.
                let share = (nu * (plus + minus) / 2.0).min(plus).min(minus);
                let (lower, upper) = sample_bounds(signs, weights);
                let linear = vec![0.0; signs.len()];
                let second: Vec<bool> = signs.iter().map(|y| *y < 0.0).collect();
                let filled = fill_up(weights, |i| signs[i] < 0.0, share);
                let start: Vec<f64> = signs.iter().zip(filled).map(|(y, alpha)| y * alpha).collect();
                let problem = DualProblem {
                    linear: &linear,
                    lower: &lower,
                    upper: &upper,
                    kink: 0.0,
                    equality: Equality::TwoSums(&second),
                    start: Some(&start),
                };
                let solution = solver.solve(&problem, None, &options)?;
                // On the margin the decision is +r and -r: r scales the machine to the usual 1.
                let [plus, minus] = solution.offsets;
                let r = 0.5 * (plus - minus);
                // A nu too small for the data leaves no margin: the machine is zero, and dividing by rounding would make noise of it.
                let scale = if r > 1e-12 * share * solver.largest_diagonal() { 1.0 / r } else { 1.0 };
                if factors.iter().any(|&f| f != 1.0) {
                    // The same machine is the C-SVC with C = 1 / r: class weights are factors of that C.
                    let equivalent = Self { penalty: Penalty::C(scale), ..self.clone() };
                    return equivalent.solve_binary(solver, signs, weights, factors, None);
                }
                let coefficients = solution.coefficients.iter().map(|b| b * scale).collect();
                Ok(Binary { coefficients, intercept: -0.5 * (plus + minus) * scale, solution, linear, scale })
            }
        }
    }

    /// One machine per pair of classes, pairs in parallel. Pairs without samples get a zero machine.
    fn fit_pairs(
        &self,
        classes: &Classes,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<(Vec<Option<PairFit>>, FitReport)> {
        let members = GroupMatrices::new(classes.members());
        let all = pairs(count);
        let inner = if all.len() > 1 { context.with_threads(1) } else { *context };
        let inner = Context { memory: context.memory.map(|m| m / context.threads.min(all.len()).max(1)), ..inner };
        let mut ready = self.pairs_on_card(classes, &all, &members, count, source, context)?;
        let ready: Vec<Mutex<Option<DualSolution>>> = (0..all.len()).map(|p| Mutex::new(ready.get_mut(p).and_then(Option::take))).collect();
        let fits = parallel::map(context.threads, all.len(), |p| -> Result<Option<PairFit>> {
            let (i, j) = all[p];
            let of_both = [members.samples(i), members.samples(j)];
            if of_both[0].is_empty() || of_both[1].is_empty() {
                return Ok(None);
            }
            let ready = ready[p].lock().ok().and_then(|mut ready| ready.take());
            let whole = of_both[0].len() + of_both[1].len() == source.len();
            let samples = if whole { (0..source.len()).collect() } else { of_both.concat() };
            let of_class = |&s: &usize| classes.codes[s] as usize == i;
            let signs: Vec<f64> = samples.iter().map(|s| if of_class(s) { 1.0 } else { -1.0 }).collect();
            let weights: Vec<f64> = samples.iter().map(|&s| classes.weights[s]).collect();
            let factors: Vec<f64> = samples.iter().map(|&s| classes.factors[classes.codes[s] as usize]).collect();
            if ready.is_some() && !whole {
                let fit = self.solve_binary(&mut Ready(ready), &signs, &weights, &factors, None)?;
                return Ok(Some(PairFit { samples, fit }));
            }
            let subset = if whole { None } else { Some(source.subset(&samples)?.of_groups(&members, [i, j])) };
            let source: &dyn KernelSource = subset.as_ref().map_or(source, |subset| subset);
            let at_once = if all.len() > 1 { context.threads.min(all.len()) } else { 1 };
            let mut solver = Solver::new(source, Some(self.solver.cache_bytes_of(source.len(), at_once)), &inner)?;
            let fit = self.solve_binary(&mut solver, &signs, &weights, &factors, None)?;
            if all.len() > 1 {
                context.step("fit pairs", p, all.len());
            }
            Ok(Some(PairFit { samples, fit }))
        });
        let mut report = FitReport::default();
        let mut done = Vec::with_capacity(fits.len());
        for fit in fits {
            let fit = fit?;
            if let Some(pair) = &fit {
                report.add(&pair.fit.solution);
            }
            done.push(fit);
        }
        Ok((done, report))
    }

    /// The solutions of pairs that a graphics card solved, all at once; empty where it was none of its work.
    fn pairs_on_card(
        &self,
        classes: &Classes,
        all: &[(usize, usize)],
        members: &GroupMatrices,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<Vec<Option<DualSolution>>> {
        let Penalty::C(c) = self.penalty else { return Ok(Vec::new()) };
        if all.len() < 2 || card_for_pairs(source.len(), context).is_none() {
            return Ok(Vec::new());
        }
        let of_class: Vec<&[usize]> = (0..count).map(|class| members.samples(class)).collect();
        let there: Vec<usize> = (0..all.len()).filter(|&p| !of_class[all[p].0].is_empty() && !of_class[all[p].1].is_empty()).collect();
        let numbers: Vec<[Vec<f64>; 3]> = there
            .iter()
            .map(|&p| {
                let (i, j) = all[p];
                let cost = |s: &usize| c * classes.weights[*s] * classes.factors[classes.codes[*s] as usize];
                let costs: Vec<f64> = of_class[i].iter().chain(of_class[j]).map(cost).collect();
                let signs: Vec<f64> = (0..costs.len()).map(|k| if k < of_class[i].len() { 1.0 } else { -1.0 }).collect();
                let (lower, upper) = sample_bounds(&signs, &costs);
                [signs.iter().map(|y| -y).collect(), lower, upper]
            })
            .collect();
        let tasks: Vec<PairTask<'_>> = there
            .iter()
            .zip(&numbers)
            .map(|(&p, [linear, lower, upper])| PairTask {
                classes: [all[p].0, all[p].1],
                problem: DualProblem { linear, lower, upper, kink: 0.0, equality: Equality::Sum, start: None },
            })
            .collect();
        let Some(solved) = solve_pairs(source, &of_class, &tasks, &self.solver.options(), context)? else { return Ok(Vec::new()) };
        let mut by_pair: Vec<Option<DualSolution>> = all.iter().map(|_| None).collect();
        there.iter().zip(solved).for_each(|(&p, solution)| by_pair[p] = solution);
        Ok(by_pair)
    }

    pub(super) fn one_vs_one(
        &self,
        data: &Dataset<'_>,
        classes: &Classes,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<(KernelMachine, Vec<usize>, Vec<u64>, FitReport)> {
        let (fits, report) = self.fit_pairs(classes, count, source, context)?;
        let (table, intercepts) = pair_table(classes, count, &fits);
        let pairs = |counts: &[usize]| Layout::Pairs(counts.to_vec());
        let (kernel, features) = (source.kernel(), data.x.columns());
        let vectors = |support: &[usize]| Ok(kernel.vectors_by(&data.x, support, context.threads));
        let (machine, counts) = self.machine(kernel, features, vectors, classes, count, &table, pairs, intercepts)?;
        let iterations = fits.iter().map(|fit| fit.as_ref().map_or(0, |pair| pair.fit.solution.iterations)).collect();
        Ok((machine, counts, iterations, report))
    }

    pub(super) fn one_vs_rest(
        &self,
        data: &Dataset<'_>,
        classes: &Classes,
        count: usize,
        source: &TableKernel<'_>,
        context: &Context<'_>,
    ) -> Result<(KernelMachine, Vec<usize>, Vec<u64>, FitReport)> {
        let n = classes.rows.len();
        let mut iterations = vec![0; count];
        let mut report = FitReport::default();
        let (mut table, mut intercepts) = (vec![0.0; count * n], vec![0.0; count]);
        // One solver for all classes: they share its kernel rows.
        let mut solver = Solver::new(source, self.solver.cache_bytes(), context)?;
        let factors: Vec<f64> = classes.codes.iter().map(|&code| classes.factors[code as usize]).collect();
        for class in 0..count {
            let signs: Vec<f64> = classes.codes.iter().map(|&code| if code as usize == class { 1.0 } else { -1.0 }).collect();
            if !signs.contains(&1.0) {
                intercepts[class] = f64::NEG_INFINITY;
                continue;
            }
            let fit = self.solve_binary(&mut solver, &signs, &classes.weights, &factors, None)?;
            table[class * n..(class + 1) * n].copy_from_slice(&fit.coefficients);
            intercepts[class] = fit.intercept;
            iterations[class] = fit.solution.iterations;
            report.add(&fit.solution);
        }
        let (kernel, features) = (source.kernel(), data.x.columns());
        let vectors = |support: &[usize]| Ok(kernel.vectors_by(&data.x, support, context.threads));
        let (machine, counts) = self.machine(kernel, features, vectors, classes, count, &table, |_| Layout::Full, intercepts)?;
        Ok((machine, counts, iterations, report))
    }

    /// The machine of a table with one row of coefficients per output (or other class) and one column per sample; with the number of
    /// support vectors of each class. Support vectors are the samples with a coefficient that is not zero; `vectors` has their features.
    pub(crate) fn machine(
        &self,
        kernel: &Kernel,
        features: usize,
        vectors: impl FnOnce(&[usize]) -> Result<Matrix<'static>>,
        classes: &Classes,
        count: usize,
        table: &[f64],
        layout: impl Fn(&[usize]) -> Layout,
        intercepts: Vec<f64>,
    ) -> Result<(KernelMachine, Vec<usize>)> {
        let n = classes.rows.len();
        let (order, counts) = support_by_class(&classes.codes, count, |sample| (sample..table.len()).step_by(n).any(|at| table[at] != 0.0));
        let support: Vec<usize> = order.iter().map(|&s| classes.rows[s]).collect();
        let machine = KernelMachine {
            kernel: kernel.clone(),
            vectors: vectors(&support)?,
            support,
            coefficients: table.chunks_exact(n).flat_map(|row| order.iter().map(|&s| row[s])).collect(),
            layout: layout(&counts),
            intercepts,
            features,
            tolerance: self.solver.tolerance,
            ready: crate::svm::Ready::default(),
        };
        Ok((machine, counts))
    }
}

/// A solution that is there already, in the place of a solver.
struct Ready(Option<DualSolution>);

impl SolveDual for Ready {
    fn solve(&mut self, _: &DualProblem<'_>, _: Option<Known>, _: &Options) -> Result<DualSolution> {
        self.0.take().ok_or_else(|| Error::data("a solution that was already taken"))
    }

    fn largest_diagonal(&self) -> f64 {
        1.0
    }
}

/// The machine of one pair of classes, and the samples it was fitted on.
pub(crate) struct PairFit {
    pub samples: Vec<usize>,
    pub fit: Binary,
}

/// Coefficients of every sample against every other class, and the pairs' intercepts.
pub(crate) fn pair_table(classes: &Classes, count: usize, fits: &[Option<PairFit>]) -> (Vec<f64>, Vec<f64>) {
    let n = classes.rows.len();
    let (mut table, mut intercepts) = (vec![0.0; (count - 1) * n], vec![0.0; fits.len()]);
    for ((p, (i, j)), fit) in pairs(count).into_iter().enumerate().zip(fits) {
        let Some(pair) = fit else { continue };
        intercepts[p] = pair.fit.intercept;
        for (&sample, &b) in pair.samples.iter().zip(&pair.fit.coefficients) {
            let other = if classes.codes[sample] as usize == i { j - 1 } else { i };
            table[other * n + sample] = b;
        }
    }
    (table, intercepts)
}

/// Fails if the smaller of two classes cannot hold half of `nu`, class weights aside.
pub(crate) fn feasible(nu: f64, classes: &Classes) -> Result<()> {
    let side = |class: u32| classes.codes.iter().zip(&classes.weights).filter(|(code, _)| **code == class).map(|(_, w)| w).sum::<f64>();
    let (first, second) = (side(0), side(1));
    let allowed = 2.0 * first.min(second) / (first + second);
    if nu > allowed * (1.0 + 1e-12) {
        return Err(check::complaint(OWNER, "nu", format!("at most {allowed:.6} for these class sizes"), nu));
    }
    Ok(())
}
