//! Which algorithm for which shape.

use super::loss::{Pull, Samples, certify, without_dual};
use super::newton::Point;
use super::reduce::Reduced;
use super::table::LinearTable;
use super::{
    Bias, LinearLoss, LinearOutcome, LinearProblem, LinearSolution, LinearStart, Regularizer, Task, descent, interior, lagrangian, lasso,
    squared,
};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason, stopped};
use crate::solver::{DualProblem, Equality, Options, SMALL, Solver, TableKernel};

/// Up to this many rows or columns a dense system is affordable.
const MOST_DENSE: usize = 6000;
/// Sparse tables with at most this many columns are spread out.
const FEW_COLUMNS: usize = 500;
/// So are those with more than this share of values stored.
const CROWDED: f64 = 0.1;
/// Values that a spread-out table may have at most (1 GB).
const MOST_VALUES: usize = 1 << 27;
/// Sparse rows are only multiplied with each other, column by column, up to so many multiplications (some hundredths of a second). Beyond,
/// descent has nearly always ended in less, and without it 1500 texts of 50 000 words took four seconds.
const MOST_PRODUCTS: usize = 300_000_000;
/// Multiplications of one interior point step up to which the method is the fastest from a cold start.
const SMALL_STEP: usize = 3_000_000;

/// Small problems are solved exactly unless no more than this gap is asked for: a caller with many problems in a row wants them quickly.
const ROUGH: f64 = 5e-3;
/// Up to this many rows exactness costs nothing.
const TINY: usize = 128;

/// Violations of the margin below this are taken for rounding.
const ROUNDING: f64 = 1e-9;

/// Solves a linear problem to a relative duality gap of `tolerance`.
///
/// A solution that stopped early is a usable one; [`LinearSolution::gap`] says how good it is.
pub fn solve_linear(
    problem: &LinearProblem<'_>,
    tolerance: f64,
    start: Option<&LinearStart>,
    context: &Context<'_>,
) -> Result<LinearSolution> {
    let n = problem.x.rows();
    for (what, length) in [("targets", problem.target.len()), ("upper prices", problem.up.len()), ("lower prices", problem.down.len())] {
        if length != n {
            return Err(Error::shape(what, n, length));
        }
    }
    let prices: f64 = problem.up.iter().chain(problem.down).sum();
    if !prices.is_finite() {
        return Err(Error::data("the sum of C times the sample weights overflows: use smaller weights, or a smaller C"));
    }
    if problem.regularizer == Regularizer::L1 && problem.loss == LinearLoss::Absolute {
        return Err(Error::data("the L1 penalty goes with the squared loss only"));
    }
    // Rows without a price are not there at all.
    let rows: Vec<usize> = (0..n).filter(|&i| problem.up[i] > 0.0 || problem.down[i] > 0.0).collect();
    if rows.len() < n {
        let pick = |from: &[f64]| rows.iter().map(|&i| from[i]).collect::<Vec<f64>>();
        let (x, target, up, down) = (problem.x.select(&rows), pick(problem.target), pick(problem.up), pick(problem.down));
        let start = start.map(|s| LinearStart { dual: if s.dual.len() == n { pick(&s.dual) } else { Vec::new() }, ..s.clone() });
        let part = LinearProblem { x: &x, target: &target, up: &up, down: &down, ..*problem };
        let mut solution = solve_linear(&part, tolerance, start.as_ref(), context)?;
        let mut dual = vec![0.0; n];
        rows.iter().zip(&solution.dual).for_each(|(&i, &v)| dual[i] = v);
        solution.dual = dual;
        return Ok(solution);
    }
    let spread;
    let x = if spread_out(problem.x, problem.regularizer) {
        spread = problem.x.to_dense();
        &spread
    } else {
        problem.x
    };
    let outcome = match stopped(LinearRun::new(x, problem, tolerance, start, context))? {
        Ok(run) => match stopped(run.run())? {
            Ok(outcome) => return Ok(run.finish(outcome)),
            Err(reason) => reason,
        },
        Err(reason) => reason,
    };
    Ok(nothing(problem, outcome))
}

/// The point zero, where the work was stopped before there was another, with what the dual point zero proves about it.
fn nothing(problem: &LinearProblem<'_>, stop: StopReason) -> LinearSolution {
    let samples = Samples { target: problem.target, up: problem.up, down: problem.down, tube: problem.tube, loss: problem.loss };
    let (n, columns) = (problem.x.rows(), problem.x.columns());
    let point = Point { w: vec![0.0; columns], bias: 0.0, residuals: problem.target.to_vec() };
    let certificate = without_dual(&samples, &Pull::none(columns), problem.bias == Bias::Free, &point);
    LinearSolution {
        weights: point.w,
        bias: 0.0,
        dual: vec![0.0; n],
        primal: certificate.primal,
        objective: certificate.primal - certificate.gap,
        gap: certificate.relative(),
        iterations: 0,
        stop,
        method: "none",
    }
}

/// Whether a sparse table is better off dense.
fn spread_out(x: &Matrix<'_>, regularizer: Regularizer) -> bool {
    let Matrix::Sparse(csr) = x else { return false };
    let size = x.rows().saturating_mul(x.columns());
    let crowded = csr.values().len() as f64 > CROWDED * size as f64;
    let narrow = x.columns() <= FEW_COLUMNS && regularizer == Regularizer::L2;
    size <= MOST_VALUES && (narrow || crowded)
}

/// A problem with its table prepared.
struct LinearRun<'a> {
    table: LinearTable<'a>,
    samples: Samples<'a>,
    problem: &'a LinearProblem<'a>,
    constant: Option<f64>,
    free_bias: bool,
    tolerance: f64,
    start: LinearStart,
    warm: bool,
    context: &'a Context<'a>,
}

impl<'a> LinearRun<'a> {
    fn new(
        x: &'a Matrix<'a>,
        problem: &'a LinearProblem<'a>,
        tolerance: f64,
        start: Option<&LinearStart>,
        context: &'a Context<'a>,
    ) -> Result<Self> {
        let constant = if let Bias::Column(value) = problem.bias { Some(value) } else { None };
        let free_bias = problem.bias == Bias::Free;
        let table = LinearTable::new(x, free_bias, constant, context)?;
        let samples = Samples { target: problem.target, up: problem.up, down: problem.down, tube: problem.tube, loss: problem.loss };
        let warm = start.is_some();
        let mut start = start.cloned().unwrap_or_default();
        start.weights.resize(x.columns(), 0.0);
        match constant {
            Some(value) => start.weights.push(if value == 0.0 { 0.0 } else { start.bias / value }),
            None => start.bias += table.shift(&start.weights),
        }
        if constant.is_some() || !free_bias {
            start.bias = 0.0;
        }
        if start.dual.len() == x.rows() && problem.loss == LinearLoss::Absolute {
            start.dual.iter_mut().enumerate().for_each(|(i, v)| *v = v.clamp(-problem.down[i], problem.up[i]));
        } else {
            start.dual.clear();
        }
        Ok(Self { table, samples, problem, constant, free_bias, tolerance, start, warm, context })
    }

    fn run(&self) -> Result<LinearOutcome> {
        let (n, d) = (self.table.rows(), self.table.columns());
        if self.problem.regularizer == Regularizer::L1 {
            return lasso::solve(&self.task(&self.table), self.start_point()?);
        }
        let sparse = self.table.x().is_sparse();
        let affordable = n.min(d) <= if sparse { MOST_DENSE / 4 } else { MOST_DENSE };
        if !affordable {
            return self.descend();
        }
        let exactly = || if d > n { self.reduced() } else { self.dense(&self.table, self.start_point()?) };
        // Few columns in play, but too many rows to spread out, or products of all columns: only where descent is stuck.
        if sparse && (d <= n || n.saturating_mul(n).saturating_mul(d) > MOST_PRODUCTS) {
            let outcome = self.descend()?;
            return if outcome.stop == StopReason::MaxIterations { exactly() } else { Ok(outcome) };
        }
        exactly()
    }

    /// The same on a table, its own or a smaller one.
    fn task<'b>(&'b self, table: &'b LinearTable<'b>) -> Task<'b> {
        Task { table, samples: &self.samples, free_bias: self.free_bias, tolerance: self.tolerance, context: self.context }
    }

    fn start_point(&self) -> Result<Point> {
        Point::new(&self.table, self.samples.target, self.start.weights.clone(), self.start.bias)
    }

    fn descend(&self) -> Result<LinearOutcome> {
        descent::solve(&self.task(&self.table), self.constant, &self.start)
    }

    /// The methods for tables with fewer columns than rows.
    fn dense(&self, table: &LinearTable<'_>, point: Point) -> Result<LinearOutcome> {
        let (task, tolerance) = (self.task(table), self.tolerance);
        if self.problem.loss == LinearLoss::Squared {
            return squared::solve(&task, point);
        }
        let n = table.rows();
        let dual = (!self.start.dual.is_empty()).then_some(&self.start.dual[..]);
        let small = n <= TINY || (n <= SMALL && tolerance < ROUGH);
        if small || (!self.warm && n * (table.columns() + 1).pow(2) <= SMALL_STEP) {
            let pull = Pull::none(table.columns());
            let asked = if small { tolerance.min(1e-13) } else { tolerance };
            let mut outcome = interior::solve(&Task { tolerance: asked, ..task }, &pull, point.clone(), dual)?;
            if small {
                // A finish that is stopped leaves what there was.
                let (stop, before) = (outcome.stop, (outcome.point.clone(), outcome.certificate.clone(), outcome.iterations));
                outcome = match stopped(self.exact(table, outcome))? {
                    Ok(outcome) => outcome,
                    Err(reason) => LinearOutcome {
                        point: before.0,
                        certificate: before.1,
                        iterations: before.2,
                        stop: stop.worst(reason),
                        method: "interior point",
                    },
                };
            }
            if outcome.stop != StopReason::MaxIterations || outcome.certificate.relative() <= tolerance {
                return Ok(outcome);
            }
            let dual = outcome.certificate.dual.clone();
            let other = lagrangian::solve(&task, outcome.point.clone(), Some(&dual))?;
            return Ok(if other.certificate.gap < outcome.certificate.gap { other } else { outcome });
        }
        lagrangian::solve(&task, point, dual)
    }

    /// More columns than rows: with a ridge first, by pivots where its certificate does not hold.
    fn reduced(&self) -> Result<LinearOutcome> {
        let outcome = self.reduced_to(&Reduced::new(&self.table, false)?)?;
        let reached = outcome.certificate.relative() <= self.tolerance;
        if reached || matches!(outcome.stop, StopReason::TimeLimit | StopReason::Interrupted) {
            return Ok(outcome);
        }
        let again = match stopped(Reduced::new(&self.table, true).and_then(|reduced| self.reduced_to(&reduced)))? {
            Ok(again) => again,
            Err(stop) => return Ok(LinearOutcome { stop, ..outcome }),
        };
        Ok(if again.certificate.gap < outcome.certificate.gap { again } else { outcome })
    }

    fn reduced_to(&self, reduced: &Reduced<'_>) -> Result<LinearOutcome> {
        let w = if self.warm { reduced.start(&self.table, &self.start.weights)? } else { vec![0.0; reduced.table.columns()] };
        let point = Point::new(&reduced.table, self.samples.target, w, self.start.bias)?;
        let outcome = self.dense(&reduced.table, point)?;
        // Three passes that make a solution of what was found, and that nobody stops.
        let table = self.table.undisturbed();
        let w = reduced.weights(&table, &outcome.point.w)?;
        let point = Point::new(&table, self.samples.target, w, outcome.point.bias)?;
        let pull = Pull::none(self.table.columns());
        let dual = outcome.certificate.dual;
        let sides = table.backward_sides(&dual)?;
        let judge = |point: &Point| certify(&sides, &self.samples, &pull, self.free_bias, point, dual.clone());
        let mut best = (judge(&point), point);
        // At a huge price even rounding inside the margin is dear; lengthening the weights by as much puts it right.
        let inside = self.samples.target.iter().zip(&best.1.residuals).map(|(t, r)| t * r).filter(|u| *u < ROUNDING).fold(0.0, f64::max);
        if self.problem.loss == LinearLoss::Absolute && self.samples.tube == 0.0 && inside > 0.0 {
            let mut longer = best.1.clone();
            let factor = 1.0 + 1.5 * inside;
            longer.w.iter_mut().for_each(|w| *w *= factor);
            longer.bias *= factor;
            longer.residuals.iter_mut().zip(self.samples.target).for_each(|(r, t)| *r = t - factor * (t - *r));
            let certificate = judge(&longer);
            if certificate.gap < best.0.gap {
                best = (certificate, longer);
            }
        }
        Ok(LinearOutcome { point: best.1, certificate: best.0, ..outcome })
    }

    /// Small problems with the absolute loss are finished by the kernel machines' exact solution of the optimality conditions.
    fn exact(&self, table: &LinearTable<'_>, outcome: LinearOutcome) -> Result<LinearOutcome> {
        let interrupted = !matches!(outcome.stop, StopReason::Converged | StopReason::MaxIterations);
        if interrupted || table.columns() == 0 {
            return Ok(outcome);
        }
        let everyone: Vec<usize> = (0..table.rows()).collect();
        let rows = table.gather(&everyone)?;
        let start = self.at_bounds(&outcome);
        let linear: Vec<f64> = self.samples.target.iter().map(|t| -t).collect();
        let lower: Vec<f64> = self.samples.down.iter().map(|v| -v).collect();
        let problem = DualProblem {
            linear: &linear,
            lower: &lower,
            upper: self.samples.up,
            kink: self.samples.tube,
            equality: if self.free_bias { Equality::Sum } else { Equality::Free },
            start: Some(&start),
        };
        let options = Options { tolerance: 1e-9, max_iterations: Some(2000), shrinking: false, polish: true };
        let source = TableKernel::new(&Kernel::Linear, rows.x(), self.context);
        // By steps alone: where these creep, `solve` would come back here for the weights.
        let solution = Solver::new(&source, None, self.context)?.solve_by_steps(&problem, None, &options)?;
        let w = table.backward(&solution.coefficients)?;
        let mut point = Point::new(table, self.samples.target, w, 0.0)?;
        if self.free_bias {
            point.bias = -solution.offsets[0];
            point.residuals.iter_mut().for_each(|r| *r -= point.bias);
        }
        let pull = Pull::none(table.columns());
        let dual = solution.coefficients;
        let certificate = certify(&table.backward_sides(&dual)?, &self.samples, &pull, self.free_bias, &point, dual);
        if certificate.gap > outcome.certificate.gap.max(1e-14 * outcome.certificate.primal) {
            return Ok(outcome);
        }
        let stop = if certificate.relative() <= self.tolerance { StopReason::Converged } else { outcome.stop };
        Ok(LinearOutcome { point, certificate, stop, ..outcome })
    }

    /// The dual point with every variable at its bound (or at zero) that is nearer to it than its residual is to the corner: an
    /// interior point only comes close to bounds.
    fn at_bounds(&self, outcome: &LinearOutcome) -> Vec<f64> {
        let Samples { up, down, tube, .. } = self.samples;
        let mut dual = outcome.certificate.dual.clone();
        // A price that nobody pays says nothing about what is small.
        let largest = dual.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (i, v) in dual.iter_mut().enumerate() {
            let r = outcome.point.residuals[i];
            let price = if *v > 0.0 { up[i] } else { down[i] };
            let (share, beyond) = (v.abs() / price, r * v.signum() - tube);
            if *v == 0.0 || (beyond < 0.0 && v.abs() / price.min(largest) < -beyond) {
                *v = 0.0;
            } else if beyond > 0.0 && 1.0 - share < beyond {
                *v = price * v.signum();
            }
        }
        if self.free_bias {
            // What the bounds took from the sum goes to the variables with the most room.
            let mut rest: f64 = -dual.iter().sum::<f64>();
            let room = |i: usize, v: f64, rest: f64| if rest > 0.0 { up[i] - v } else { v + down[i] };
            let free: Vec<usize> = (0..dual.len()).filter(|&i| dual[i] != 0.0 && dual[i] < up[i] && dual[i] > -down[i]).collect();
            for &i in free.iter().chain(&(0..dual.len()).collect::<Vec<_>>()) {
                let step = rest.abs().min(0.5 * room(i, dual[i], rest)).copysign(rest);
                dual[i] += step;
                rest -= step;
            }
        }
        dual
    }

    /// Back to the columns as they were given.
    fn finish(&self, outcome: LinearOutcome) -> LinearSolution {
        let LinearOutcome { point, certificate, iterations, stop, method } = outcome;
        let mut weights = point.w;
        let bias = match self.constant {
            Some(value) => value * weights.pop().expect("the constant column"),
            None => point.bias - self.table.shift(&weights),
        };
        let gap = certificate.relative();
        // More than was asked for may have been tried.
        let stop = match stop {
            StopReason::MaxIterations if gap <= self.tolerance => StopReason::Converged,
            StopReason::Converged if gap > self.tolerance => StopReason::MaxIterations,
            stop => stop,
        };
        LinearSolution {
            weights,
            bias,
            primal: certificate.primal,
            objective: certificate.primal - certificate.gap,
            gap,
            dual: certificate.dual,
            iterations,
            stop,
            method,
        }
    }
}
