//! One Newton step for all methods: the linear system in coefficients, weights, switches and biases.
//!
//! Where a group's weight `w` and its sum `u = sum alpha phi` agree, they lie on the curve `w = s(|u|^2) u`. A [`Point`] is kept on that
//! curve through `p = w + k u`: for every `p` there is exactly one such pair, and it depends on `p` smoothly with slopes between 0 and
//! `1 / k`. Steps in `u` alone jump where a switch turns, steps in `w` alone stick where it is off; steps in `p` do neither.
//!
//! Linearised, with `m = s (1 - s)`:
//!
//! ```text
//! d_u     = Phi' d_alpha + e,                e = Phi' alpha - u (what does not agree yet)
//! d_s     = m <u, d_u>,                      d_w = s d_u + u d_s
//! d_alpha = given - omega d_f,               d_f = Phi d_w + d_b
//! 1' d_alpha - d_b / variance = -(1' alpha - b / variance)
//! ```
//! One task of features: `d_w = (s + m u^2) d_u`, one system of as many unknowns as there are features or active samples, whichever are
//! fewer. Several tasks are coupled only by `d_s`: one system per task, and conjugate gradients on the switches, whose condition number is
//! at most `1 + 2 ln(1 / rho)` or so.

use super::super::problem::switch::State;
use super::super::problem::table::Element;
use super::super::problem::{Problem, Samples};
use super::block::{Block, Shift, conjugate_gradients};

/// A point on the curve.
#[derive(Clone)]
pub(super) struct Point {
    pub p: Vec<Element>,
    pub k: f64,
    pub bias: Vec<f64>,
}

/// The pair of weights and sums that a point stands for.
pub(super) struct Curve {
    pub u: Vec<Element>,
    pub state: Vec<State>,
    pub energy: Vec<f64>,
}

impl Point {
    pub fn zero(problem: &Problem<'_>, k: f64) -> Self {
        let tasks = problem.tasks.len();
        Self { p: (0..tasks).map(|m| problem.table(m).zero()).collect(), k, bias: vec![0.0; tasks] }
    }

    /// The point whose weights are `on * sums`.
    pub fn from_weights(problem: &Problem<'_>, k: f64, on: &[f64], sums: &[Element], bias: &[f64]) -> Self {
        let energy = problem.energies(sums);
        let factors: Vec<f64> = energy
            .iter()
            .zip(on)
            .map(|(&q, &on)| {
                let (size, norm) = (on * q.sqrt(), q.sqrt());
                if norm > 0.0 { on + k * problem.switch.invert(size, 0.0) / norm } else { on + k }
            })
            .collect();
        let p = sums.iter().enumerate().map(|(m, sum)| problem.table(m).scaled(|d| factors[d], sum)).collect();
        Self { p, k, bias: bias.to_vec() }
    }

    pub fn curve(&self, problem: &Problem<'_>) -> Curve {
        let norms = problem.energies(&self.p);
        let sizes: Vec<f64> = norms.iter().map(|&norm| problem.switch.invert(norm.sqrt(), self.k)).collect();
        let state: Vec<State> = sizes.iter().map(|&r| problem.switch.state(r * r)).collect();
        let u = self.p.iter().enumerate().map(|(m, p)| problem.table(m).scaled(|d| 1.0 / (state[d].on + self.k), p)).collect();
        Curve { u, state, energy: sizes.iter().map(|r| r * r).collect() }
    }

    /// The point after a part of a step.
    pub fn moved(&self, problem: &Problem<'_>, curve: &Curve, step: &Step, part: f64) -> Self {
        let mut next = self.clone();
        for (m, p) in next.p.iter_mut().enumerate() {
            let table = problem.table(m);
            table.add(p, |d| part * (curve.state[d].on + self.k), &step.sums[m]);
            table.add(p, |d| part * step.switches[d], &curve.u[m]);
            next.bias[m] += part * step.bias[m];
        }
        next
    }
}

impl Curve {
    /// Scores of every task, bias included.
    pub fn scores(&self, problem: &Problem<'_>, bias: &[f64]) -> Samples {
        problem.each_task(problem.pass(), |m| {
            let table = problem.table(m);
            let mut f = table.scores(&table.scaled(|d| self.state[d].on, &self.u[m]));
            f.iter_mut().for_each(|f| *f += bias[m]);
            f
        })
    }

    /// `sum_d R(|w_d|) = sum_d s q - f(q)`
    pub fn penalty(&self, problem: &Problem<'_>) -> f64 {
        self.energy.iter().zip(&self.state).map(|(&q, state)| state.on * q - problem.switch.bonus(q)).sum()
    }
}

/// A Newton step.
pub(super) struct Step {
    /// Of the coefficients.
    pub alpha: Samples,
    /// Of the scores.
    pub scores: Samples,
    pub bias: Vec<f64>,
    /// Of `u`.
    pub sums: Vec<Element>,
    pub switches: Vec<f64>,
}

/// The right hand side for one task.
pub(super) struct Given<'a> {
    /// What the coefficients change by where the scores do not.
    pub alpha: &'a [f64],
    /// `Phi' alpha - u`
    pub rest: &'a Element,
    /// `1' alpha - b / variance`
    pub bias: f64,
}

/// The factored system.
pub(super) struct System<'a> {
    problem: &'a Problem<'a>,
    curve: &'a Curve,
    blocks: Vec<Block>,
    /// Whether a task's block holds the switches' response already.
    exact: bool,
}

impl<'a> System<'a> {
    /// Factors the system at a point for curvatures `omega >= 0` of the samples. With an `accuracy` the system of one task of features is
    /// solved to it by conjugate gradients instead.
    pub fn new(problem: &'a Problem<'a>, curve: &'a Curve, omega: Samples, accuracy: Option<f64>) -> Self {
        let exact = problem.tasks.len() == 1;
        // With one task the products inside a block are worth the threads, with many the tasks are.
        let inner = if exact { problem.threads } else { 1 };
        let omega: Vec<std::sync::Mutex<Vec<f64>>> = omega.into_iter().map(std::sync::Mutex::new).collect();
        let blocks = problem.each_task(if exact { 0 } else { usize::MAX }, |m| {
            let omega = std::mem::take(&mut *omega[m].lock().expect("one task each"));
            Block::new(problem, curve, m, omega, exact, inner, accuracy)
        });
        Self { problem, curve, blocks, exact }
    }

    /// The step for a right hand side.
    pub fn solve(&self, given: &[Given<'_>]) -> Step {
        self.solve_for(given, true)
    }

    /// The same; without `sums`, what only a step that is taken needs (sums and, with one task, switches) stays empty.
    pub fn solve_for(&self, given: &[Given<'_>], sums: bool) -> Step {
        if self.exact {
            let (table, curve) = (self.problem.table(0), self.curve);
            // d_f at rest: the scores of d_w = s e + m u <u, e>.
            let mut products = vec![0.0; table.groups];
            table.add_inner(&curve.u[0], given[0].rest, &mut products);
            let shift = Shift::Rest(given[0].rest, &curve.u[0], &products, &curve.state);
            let part = self.blocks[0].solve(self.problem, table, given[0].alpha, shift, given[0].bias);
            if !sums {
                return Step { alpha: vec![part.alpha], scores: vec![part.scores], bias: vec![part.bias], sums: vec![], switches: vec![] };
            }
            let mut sums = part.sums.unwrap_or_else(|| table.embed(&part.alpha));
            if part.needs_rest {
                table.add(&mut sums, |_| 1.0, given[0].rest);
            }
            let mut products = vec![0.0; table.groups];
            table.add_inner(&curve.u[0], &sums, &mut products);
            let switches = products.iter().zip(&curve.state).map(|(product, state)| state.on * state.off * product).collect();
            return Step { alpha: vec![part.alpha], scores: vec![part.scores], bias: vec![part.bias], sums: vec![sums], switches };
        }
        self.solve_coupled(given, sums)
    }

    /// Several tasks: the switches' change by conjugate gradients, the rest task by task.
    fn solve_coupled(&self, given: &[Given<'_>], sums: bool) -> Step {
        let (problem, curve) = (self.problem, self.curve);
        let groups = problem.groups();
        let roots: Vec<f64> = curve.state.iter().map(|state| (state.on * state.off).sqrt()).collect();
        let cost = problem.pass();
        let base = problem.each_task(cost, |m| {
            let table = problem.table(m);
            let at_rest = table.scores(&table.scaled(|d| curve.state[d].on, given[m].rest));
            let part = self.blocks[m].solve(problem, table, given[m].alpha, Shift::Scores(&at_rest), given[m].bias);
            let mut products = table.pull(&curve.u[m], &part.alpha);
            table.add_inner(&curve.u[m], given[m].rest, &mut products);
            (part, products)
        });
        let sum_up = |parts: &mut dyn Iterator<Item = &Vec<f64>>| {
            let mut total = vec![0.0; groups];
            for part in parts {
                total.iter_mut().zip(part).for_each(|(total, value)| *total += value);
            }
            total
        };
        let mut right = sum_up(&mut base.iter().map(|(_, products)| products));
        right.iter_mut().zip(&roots).for_each(|(value, root)| *value *= root);
        let apply = |x: &[f64]| {
            let parts = problem.each_task(cost, |m| {
                let table = problem.table(m);
                let shift = table.scores(&table.scaled(|d| roots[d] * x[d], &curve.u[m]));
                let zeros = vec![0.0; shift.len()];
                let answer = self.blocks[m].solve(problem, table, &zeros, Shift::Scores(&shift), 0.0);
                table.pull(&curve.u[m], &answer.alpha)
            });
            let mut total = sum_up(&mut parts.iter());
            // The tasks answer against the shift: the operator is identity minus their (negative) answer.
            total.iter_mut().zip(&roots).zip(x).for_each(|((value, root), x)| *value = x - root * *value);
            total
        };
        let x = conjugate_gradients(&right, None, problem.coupling, (2 * groups).min(500), || problem.halted_after_pass(), apply);
        let switches: Vec<f64> = x.iter().zip(&roots).map(|(x, root)| x * root).collect();
        let parts = problem.each_task(cost, |m| {
            let table = problem.table(m);
            let mut change = table.scaled(|d| curve.state[d].on, given[m].rest);
            table.add(&mut change, |d| switches[d], &curve.u[m]);
            let part = self.blocks[m].solve(problem, table, given[m].alpha, Shift::Scores(&table.scores(&change)), given[m].bias);
            let sums = sums.then(|| {
                let mut sums = table.embed(&part.alpha);
                table.add(&mut sums, |_| 1.0, given[m].rest);
                sums
            });
            (part, sums)
        });
        let mut step = Step { alpha: Vec::new(), scores: Vec::new(), bias: Vec::new(), sums: Vec::new(), switches };
        for (part, sums) in parts {
            step.alpha.push(part.alpha);
            step.scores.push(part.scores);
            step.bias.push(part.bias);
            step.sums.extend(sums);
        }
        step
    }
}
