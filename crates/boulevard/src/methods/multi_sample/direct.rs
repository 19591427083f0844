//! The direct decision: one machine on the kernel of whole sets (ESVM).

use std::sync::Arc;

use super::learner::MultiSample;
use super::source::{BaseKernel, TupleKernel};
use super::tuples::Tuples;
use crate::data::{Matrix, Sets};
use crate::error::{Error, Result};
use crate::kernel::permanent::{self, Base, BaseGram, Normalization, SetRows};
use crate::kernel::{self, Kernel, KernelRows};
use crate::observe::Context;
use crate::parallel;
use crate::solver::Solver;
use crate::svm::{Calibration, FitReport, Multiclass, Outputs, Penalty, Svc, codes, pairs};

/// Sets judged by one thread at a time, at most.
const CHUNK: usize = 512;
/// Bytes of kernel values between support rows and the samples of those sets: fewer sets where there are many support rows.
const CHUNK_BYTES: usize = 32 << 20;

/// `f_o(T) = sum_s coefficient[o, s] S(z_s, T) + intercept_o` for sets of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct SetMachine {
    /// Samples per set.
    pub size: usize,
    /// The base kernel as given, all parameters numbers.
    pub kernel: Kernel,
    /// Rows of the training table that occur in support sets.
    pub support: Vec<usize>,
    /// Those rows. No columns for a precomputed kernel.
    pub vectors: Matrix<'static>,
    /// `size` places in `support` for each support set.
    pub sets: Vec<usize>,
    /// Row-major: outputs x support sets.
    pub coefficients: Vec<f64>,
    /// One per output.
    pub intercepts: Vec<f64>,
    /// Whether there is an output per pair of classes (positive for the first), or else per class.
    pub pairwise: bool,
    /// Columns of the extended training set.
    pub columns: usize,
    /// Columns of the training table.
    pub features: usize,
    /// Probabilities, where they were fitted.
    pub calibration: Option<Calibration>,
}

/// Kernel values between two lists of tuples, for machines that differ only in their coefficients.
pub(super) struct Block {
    values: Vec<f64>,
    columns: usize,
    width: usize,
}

impl BaseKernel<'_> {
    pub(super) fn judge_block(&self, rows: &Tuples, columns: &Tuples) -> Result<Block> {
        let kernel = self.between(rows, columns)?;
        let width = columns.len().next_multiple_of(self.lanes());
        let mut values = vec![0.0; rows.len() * width];
        let order: Vec<usize> = (0..rows.len()).collect();
        kernel.fill(&order, 0..columns.len(), &mut values.chunks_exact_mut(width).collect::<Vec<_>>());
        Ok(Block { values, columns: columns.len(), width })
    }
}

/// Solved problems on tuples: coefficients of every tuple, one row per output.
pub(super) struct TupleFit {
    pub coefficients: Vec<f64>,
    pub intercepts: Vec<f64>,
    pub pairwise: bool,
    pub report: FitReport,
}

/// Solves all two-class problems on an extended training set. `factors` are those of the classes, `weights` of the rows.
pub(super) fn solve(
    learner: &MultiSample,
    base: &BaseKernel<'_>,
    tuples: &Tuples,
    factors: &[f64],
    weights: &[f64],
    context: &Context<'_>,
) -> Result<TupleFit> {
    let mut fits = solve_path(learner, base, tuples, factors, weights, &[learner.c], context)?;
    Ok(fits.pop().expect("one fit per C"))
}

/// [`solve`] for several C, which share kernel rows.
pub(super) fn solve_path(
    learner: &MultiSample,
    base: &BaseKernel<'_>,
    tuples: &Tuples,
    factors: &[f64],
    weights: &[f64],
    cs: &[f64],
    context: &Context<'_>,
) -> Result<Vec<TupleFit>> {
    let classes = factors.len();
    let (n, k) = (tuples.len(), tuples.k);
    // A tuple weighs what its rows weigh on average; written out in all orders, the copies share the cost.
    let share = if learner.symmetric { 1.0 } else { 1.0 / permanent::factorial(k) };
    let weight =
        |tuple: usize| share * tuples.members[tuple * k..(tuple + 1) * k].iter().map(|&row| weights[row as usize]).sum::<f64>() / k as f64;
    let pairwise = classes == 2 || learner.multiclass == Multiclass::OneVsOne;
    let problems: Vec<(usize, Option<usize>)> =
        if pairwise { pairs(classes).into_iter().map(|(i, j)| (i, Some(j))).collect() } else { (0..classes).map(|i| (i, None)).collect() };
    let several = problems.len() > 1;
    let inner = if several { context.with_threads(1) } else { *context };
    let inner = Context { memory: context.memory.map(|m| m / context.threads.min(problems.len()).max(1)), ..inner };
    let paths = parallel::try_map(context.threads, problems.len(), |p| -> Result<_> {
        let (first, second) = problems[p];
        let takes_part = |code: u32| code as usize == first || second.is_none_or(|second| code as usize == second);
        let chosen: Vec<usize> = (0..n).filter(|&t| takes_part(tuples.codes[t])).collect();
        let signs: Vec<f64> = chosen.iter().map(|&t| if tuples.codes[t] as usize == first { 1.0 } else { -1.0 }).collect();
        if !(signs.contains(&1.0) && signs.contains(&-1.0)) {
            return Ok((chosen, Vec::new()));
        }
        let part = if chosen.len() == n { None } else { Some(tuples.select(&chosen)) };
        let source = TupleKernel::new(base, part.as_ref().unwrap_or(tuples))?;
        let mut solver = Solver::new(&source, learner.solver.cache_bytes(), &inner)?;
        let weights: Vec<f64> = chosen.iter().map(|&t| weight(t)).collect();
        let factors: Vec<f64> = chosen.iter().map(|&t| factors[tuples.codes[t] as usize]).collect();
        let mut path = Vec::with_capacity(cs.len());
        for &c in cs {
            let svc = Svc { penalty: Penalty::C(c), solver: learner.solver, ..Svc::default() };
            path.push(svc.solve_binary(&mut solver, &signs, &weights, &factors, None)?);
        }
        if several {
            context.step("fit sets", p, problems.len());
        }
        Ok((chosen, path))
    });
    let paths = paths?;
    let fit_of = |place: usize| {
        let mut fit =
            TupleFit { coefficients: vec![0.0; problems.len() * n], intercepts: Vec::new(), pairwise, report: FitReport::default() };
        for ((chosen, path), row) in paths.iter().zip(fit.coefficients.chunks_exact_mut(n.max(1))) {
            // A class without tuples never wins.
            let Some(binary) = path.get(place) else {
                fit.intercepts.push(if pairwise { 0.0 } else { f64::NEG_INFINITY });
                continue;
            };
            fit.intercepts.push(binary.intercept);
            chosen.iter().zip(&binary.coefficients).for_each(|(&tuple, &b)| row[tuple] = b);
            fit.report.add(&binary.solution);
        }
        fit
    };
    Ok((0..cs.len()).map(fit_of).collect())
}

impl TupleFit {
    /// The class that each row of outputs decides for.
    pub(super) fn winners(&self, outputs: Vec<f64>, classes: usize) -> Vec<u32> {
        let decisions = stand_for(self.pairwise).decisions(outputs, classes);
        codes(&decisions.values, decisions.columns)
    }

    /// The tuples with a coefficient that is not zero.
    fn support(&self, n: usize) -> Vec<usize> {
        (0..n).filter(|&tuple| self.coefficients.iter().skip(tuple).step_by(n.max(1)).any(|&b| b != 0.0)).collect()
    }

    /// The machine's outputs for other tuples of the same table, row-major.
    pub(super) fn judge(&self, base: &BaseKernel<'_>, tuples: &Tuples, others: &Tuples, context: &Context<'_>) -> Result<Vec<f64>> {
        let n = tuples.len();
        let support = self.support(n);
        let rows = base.between(&tuples.select(&support), others)?;
        let coefficients: Vec<f64> = self.coefficients.chunks_exact(n).flat_map(|row| support.iter().map(|&t| row[t])).collect();
        Ok(weigh(&rows, &coefficients, &self.intercepts, others.len(), context))
    }

    /// The machine's outputs for the columns of a block of kernel values between its tuples and others.
    pub(super) fn weigh_block(&self, block: &Block) -> Vec<f64> {
        let (outputs, n) = (self.intercepts.len(), self.coefficients.len() / self.intercepts.len());
        let mut values: Vec<f64> = self.intercepts.iter().copied().cycle().take(block.columns * outputs).collect();
        for (output, row) in self.coefficients.chunks_exact(n).enumerate() {
            let mut sums = vec![0.0; block.columns];
            for (tuple, &b) in row.iter().enumerate().filter(|(_, b)| **b != 0.0) {
                let kernel = &block.values[tuple * block.width..tuple * block.width + block.columns];
                sums.iter_mut().zip(kernel).for_each(|(sum, value)| *sum += b * value);
            }
            values.iter_mut().skip(output).step_by(outputs).zip(sums).for_each(|(value, sum)| *value += sum);
        }
        values
    }

    /// What prediction needs of the fit.
    pub(super) fn machine(&self, base: &BaseKernel<'_>, kernel: &Kernel, x: &Matrix<'_>, tuples: &Tuples) -> Result<SetMachine> {
        let (n, k) = (tuples.len(), tuples.k);
        let support_sets = self.support(n);
        let chosen = tuples.select(&support_sets);
        let mut support: Vec<usize> = chosen.members.iter().map(|&row| row as usize).collect();
        support.sort_unstable();
        support.dedup();
        let sets = chosen.members.iter().map(|&row| support.binary_search(&(row as usize)).expect("it was collected")).collect();
        let mut coefficients: Vec<f64> =
            self.coefficients.chunks_exact(n.max(1)).flat_map(|row| support_sets.iter().map(|&t| row[t])).collect();
        if base.is_cosine() {
            // Half of the normalization is known here; the other half belongs to the sets to be judged.
            let own = base.own_values(&chosen)?;
            let scale: Vec<f64> = own.iter().map(|&v| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 }).collect();
            coefficients.chunks_exact_mut(scale.len().max(1)).for_each(|row| row.iter_mut().zip(&scale).for_each(|(b, s)| *b *= s));
        }
        Ok(SetMachine {
            size: k,
            kernel: kernel.clone(),
            vectors: kernel.vectors(x, &support),
            support,
            sets,
            coefficients,
            intercepts: self.intercepts.clone(),
            pairwise: self.pairwise,
            columns: n,
            features: x.columns(),
            calibration: None,
        })
    }
}

impl SetMachine {
    /// What its outputs stand for.
    pub(super) fn stand_for(&self) -> Outputs {
        stand_for(self.pairwise)
    }

    pub(super) fn no_probabilities(&self) -> Error {
        Error::data(format!("the machine for sets of {} has no probabilities: fit it with `calibrate`", self.size))
    }

    /// Number of support sets.
    pub fn len(&self) -> usize {
        self.sets.len() / self.size
    }

    /// Whether there are no support sets.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    /// All outputs for the chosen sets, each of this machine's size; row-major.
    pub(super) fn evaluate(
        &self,
        x: &Matrix<'_>,
        sets: &Sets,
        chosen: &[usize],
        normalization: Normalization,
        symmetric: bool,
        context: &Context<'_>,
    ) -> Result<Vec<f64>> {
        let at_once = (CHUNK_BYTES / (size_of::<f64>() * self.size * self.support.len().max(1))).clamp(1, CHUNK);
        let chunks: Vec<&[usize]> = chosen.chunks(at_once).collect();
        let parts = parallel::try_map(context.threads, chunks.len(), |c| {
            let rows: Vec<usize> = chunks[c].iter().flat_map(|&set| sets.rows(set).iter().map(|&row| row as usize)).collect();
            let inner = context.with_threads(1);
            context.step("judge sets", c, chunks.len());
            self.evaluate_chunk(&x.select(&rows), normalization, symmetric, &inner)
        });
        Ok(parts?.concat())
    }

    /// Consecutive runs of rows are the sets.
    fn evaluate_chunk(&self, x: &Matrix<'_>, normalization: Normalization, symmetric: bool, context: &Context<'_>) -> Result<Vec<f64>> {
        let (rule, base) = permanent::rule(&self.kernel, normalization);
        let rule = if symmetric { rule } else { rule.ordered() };
        let mut members: Vec<u32> = (0..x.rows() as u32).collect();
        if symmetric {
            permanent::sort_members(&mut members, self.size, &permanent::ranks(x));
        }
        let columns = Tuples { k: self.size, codes: vec![0; members.len() / self.size], members };
        let count = columns.len();
        if self.is_empty() {
            return Ok(self.intercepts.iter().copied().cycle().take(count * self.outputs()).collect());
        }
        let cross = kernel::cross::<f64>(&base, &self.vectors, &self.support, x, context)?;
        let gram = Base::Gram(Arc::new(BaseGram::new(&*cross, context)?));
        let rows = Arc::new(self.sets.iter().map(|&place| place as u32).collect());
        let sets = SetRows::new(gram, rule, self.size, rows, Arc::new(columns.members.clone()), [0.0, 1.0], context.isa);
        let no_bias = vec![0.0; self.outputs()];
        let mut values = weigh(&sets, &self.coefficients, &no_bias, count, context);
        if normalization == Normalization::Cosine {
            let own = permanent::own_values(rule, &base, x, self.size)?;
            for (values, own) in values.chunks_exact_mut(self.outputs()).zip(own) {
                let scale = if own > 0.0 { 1.0 / own.sqrt() } else { 0.0 };
                values.iter_mut().for_each(|value| *value *= scale);
            }
        }
        for values in values.chunks_exact_mut(self.outputs()) {
            values.iter_mut().zip(&self.intercepts).for_each(|(value, intercept)| *value += intercept);
        }
        Ok(values)
    }
}

fn stand_for(pairwise: bool) -> Outputs {
    if pairwise { Outputs::Pairs } else { Outputs::Classes }
}

/// Weighted sums of kernel rows plus intercepts, one row of outputs per column of the kernel.
fn weigh(rows: &SetRows<'_, f64>, coefficients: &[f64], intercepts: &[f64], count: usize, context: &Context<'_>) -> Vec<f64> {
    let outputs = intercepts.len();
    let order: Vec<usize> = (0..rows.rows()).collect();
    let width = count.next_multiple_of(context.isa.lanes::<f64>());
    let mut sums = vec![0.0; outputs * width];
    rows.weigh(&order, coefficients, outputs, 0..count, &mut sums);
    (0..count).flat_map(|c| (0..outputs).map(move |o| (c, o))).map(|(c, o)| sums[o * width + c] + intercepts[o]).collect()
}
