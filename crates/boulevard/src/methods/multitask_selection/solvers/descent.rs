//! Semismooth Newton method on the primal, with a line search: fast close to the solution, and safe everywhere because the primal is convex.
//!
//! The losses are continuously differentiable with a kink in their slope; samples beyond it (`curvature > 0`) are the active ones and only
//! they enter the system. Coefficients that are zero at the solution become exactly zero.

use super::super::problem::table::Element;
use super::super::problem::{Certificate, Problem, Samples};
use super::newton::{Curve, Given, Point, System};
use crate::observe::StopReason;

/// Sufficient decrease of the line search.
const DECREASE: f64 = 1e-4;
/// Halvings of a step at most.
const HALVINGS: usize = 40;

/// A point with everything the next step needs.
struct State {
    point: Point,
    curve: Curve,
    primal: f64,
    alpha: Samples,
    omega: Samples,
}

impl State {
    fn new(problem: &Problem<'_>, point: Point) -> Self {
        let curve = point.curve(problem);
        let scores = curve.scores(problem, &point.bias);
        let mut primal = curve.penalty(problem);
        primal += 0.5 * problem.stiffness() * point.bias.iter().map(|b| b * b).sum::<f64>();
        let (mut alpha, mut omega) = (Samples::new(), Samples::new());
        for (task, scores) in problem.tasks.iter().zip(&scores) {
            let mut sum = 0.0;
            let (of_alpha, of_omega) = task
                .y
                .iter()
                .zip(&task.weights)
                .zip(scores)
                .map(|((&y, &weight), &f)| {
                    let (loss, alpha) = problem.loss(y, weight, f);
                    sum += loss.value;
                    (alpha, loss.curvature)
                })
                .unzip();
            primal += sum;
            alpha.push(of_alpha);
            omega.push(of_omega);
        }
        Self { point, curve, primal, alpha, omega }
    }
}

/// What came out.
pub(super) struct Descent {
    pub certificate: Certificate,
    pub stop: Option<StopReason>,
}

/// Steps from `point` until the relative gap is below `tolerance`. Gives up (`stop` none) after `steps`, or when steps no longer pay.
/// With `krylov` the system of one task of features is solved by conjugate gradients.
pub(super) fn descend(
    problem: &Problem<'_>,
    point: Point,
    tolerance: f64,
    steps: usize,
    krylov: bool,
    mut watch: impl FnMut(f64) -> Option<StopReason>,
) -> Descent {
    let mut state = State::new(problem, point);
    let mut best: Option<Certificate> = None;
    let mut done = 0;
    let (mut stalled, mut last) = (0, f64::INFINITY);
    // One step past a tight tolerance costs little and takes the optimality conditions down to rounding.
    let mut extra = usize::from(tolerance < 1e-8);
    loop {
        let sums = problem.each_task(problem.pass(), |m| problem.table(m).embed(&state.alpha[m]));
        let certificate = if problem.variance.is_some() {
            problem.certify_sums(state.alpha.clone(), sums.clone(), &state.point.bias)
        } else {
            problem.certify(state.alpha.clone(), &state.point.bias)
        };
        let (relative, objective) = (certificate.relative(), certificate.objective);
        // The gap of a dual point rises and falls on the way; what must go down is the primal.
        let improved = best.as_ref().is_none_or(|best| relative < 0.5 * best.relative());
        let fallen = (last - state.primal) / state.primal.abs().max(f64::MIN_POSITIVE);
        last = state.primal;
        stalled = if improved || fallen > 1e-4 { 0 } else { stalled + 1 };
        if best.as_ref().is_none_or(|best| relative < best.relative() || (relative <= tolerance && certificate.violation < best.violation))
        {
            best = Some(certificate);
        }
        let reached = best.as_ref().is_some_and(|best| best.relative() <= tolerance);
        let stop = if reached && (extra == 0 || stalled > 0) {
            Some(StopReason::Converged)
        } else {
            extra -= usize::from(reached);
            watch(relative)
        };
        if stop.is_some() || done >= steps || stalled > 4 {
            return Descent { certificate: best.expect("just set"), stop };
        }
        // Far from the solution a rough direction is as good as an exact one; close to it accuracy makes the steps quadratic.
        let distance = (state.primal - objective).abs() / state.primal.abs().max(f64::MIN_POSITIVE);
        let accuracy = krylov.then(|| (0.3 * distance.sqrt()).clamp(1e-8, 0.1));
        match step(problem, &state, &sums, accuracy) {
            Some(next) => state = next,
            None => {
                let stop = if reached {
                    Some(StopReason::Converged)
                } else if problem.halted_after_pass() {
                    watch(relative)
                } else {
                    None
                };
                return Descent { certificate: best.expect("just set"), stop };
            }
        }
        done += 1;
    }
}

/// One step; none where the primal cannot be lowered any more.
fn step(problem: &Problem<'_>, state: &State, sums: &[Element], accuracy: Option<f64>) -> Option<State> {
    let rest: Vec<Element> = sums
        .iter()
        .enumerate()
        .map(|(m, sums)| {
            let mut rest = sums.clone();
            problem.table(m).add(&mut rest, |_| -1.0, &state.curve.u[m]);
            rest
        })
        .collect();
    let zeros: Samples = state.alpha.iter().map(|alpha| vec![0.0; alpha.len()]).collect();
    let biases: Vec<f64> =
        state.alpha.iter().zip(&state.point.bias).map(|(alpha, b)| alpha.iter().sum::<f64>() - problem.stiffness() * b).collect();
    let given: Vec<Given<'_>> = (0..problem.tasks.len()).map(|m| Given { alpha: &zeros[m], rest: &rest[m], bias: biases[m] }).collect();
    let system = System::new(problem, &state.curve, state.omega.clone(), accuracy);
    if problem.halted_after_pass() {
        return None;
    }
    let direction = system.solve(&given);
    // Slope of the primal: -<e, d_w> - (1' alpha - b / variance) d_b.
    let mut slope = -biases.iter().zip(&direction.bias).map(|(rest, db)| rest * db).sum::<f64>();
    for m in 0..problem.tasks.len() {
        let table = problem.table(m);
        let mut change = table.scaled(|d| state.curve.state[d].on, &direction.sums[m]);
        table.add(&mut change, |d| direction.switches[d], &state.curve.u[m]);
        let mut products = vec![0.0; table.groups];
        table.add_inner(&rest[m], &change, &mut products);
        slope -= products.iter().sum::<f64>();
    }
    if !slope.is_finite() || slope >= 0.0 {
        return None;
    }
    let rounding = 1e-13 * state.primal.abs();
    let mut part = 1.0;
    for _ in 0..HALVINGS {
        if problem.halted_after_pass() {
            return None;
        }
        let next = State::new(problem, state.point.moved(problem, &state.curve, &direction, part));
        if next.primal <= state.primal + DECREASE * part * slope + rounding {
            return Some(next);
        }
        part *= 0.5;
    }
    None
}
