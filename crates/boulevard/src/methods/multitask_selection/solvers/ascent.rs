//! Reweighted coordinate ascent, for input features.
//!
//! `P(w, b, s) = sum phi + sum_d |w_d|^2 / (2 s_d) + KL(s_d | rho)` is jointly convex, so its two blocks may take turns:
//!
//! 1. at fixed switches, a linear machine: coordinate ascent on its dual with `w = s u` kept up to date, one inner product and one update
//!    per step, the best step of a multiplier in closed form (the positive root of a quadratic);
//! 2. at fixed *weights*, `s_d = s(r^2)` with `r s(r^2) = |w_d|`.
//!
//! The obvious second step, `s_d = s(q_d)` at fixed *multipliers*, is wrong: fixing s there bounds J from above, and the iteration falls
//! into a cycle of two.
//!
//! A flat bias gets a Gaussian prior around its last value (a proximal point). Samples whose multiplier is zero and stays there are
//! visited once per turn only.

use super::super::problem::table::{Element, TaskTable};
use super::super::problem::{Certificate, Problem, Samples};
use super::newton::Point;
use crate::linalg::padded;
use crate::observe::{PIECE, StopReason};
use crate::random::Random;
use crate::simd::{Job, Real, Simd};

/// Passes over the samples that may move, per turn.
const PASSES: usize = 2;
/// Turns before the primal is looked at.
const FIRST_TURNS: usize = 8;
/// Multiplications of a pass that takes some twentieth of a second.
const LONG_PASS: usize = 4 * PIECE;
/// Variance of the proximal prior of a flat bias.
const PROXIMAL: f64 = 1.0;

pub(super) struct Ascent<'a> {
    problem: &'a Problem<'a>,
    tasks: Vec<TaskState>,
    /// Padded switches.
    on: Vec<f64>,
    turn: u64,
}

struct TaskState {
    alpha: Vec<f64>,
    /// Padded weights.
    w: Vec<f64>,
    /// The bias around which the prior is centered (zero if Gaussian).
    center: f64,
    bias: f64,
}

impl<'a> Ascent<'a> {
    /// From zero, or from coefficients of another rho.
    pub fn new(problem: &'a Problem<'a>, start: Option<(&Samples, &[f64])>) -> Self {
        let (_, stride) = problem.table(0).padded().expect("coordinate ascent is for features");
        let mut on = vec![0.0; stride];
        // Half on: the first turn should see every feature.
        on[..problem.groups()].fill(0.5);
        let tasks = (0..problem.tasks.len())
            .map(|m| match start {
                None => TaskState { alpha: vec![0.0; problem.tasks[m].y.len()], w: vec![0.0; stride], center: 0.0, bias: 0.0 },
                Some((alpha, bias)) => TaskState {
                    w: vec![0.0; stride],
                    center: if problem.variance.is_some() { 0.0 } else { bias[m] },
                    bias: bias[m],
                    alpha: alpha[m].clone(),
                },
            })
            .collect();
        let mut ascent = Self { problem, tasks, on, turn: 0 };
        if start.is_some() {
            let sums: Vec<Element> = ascent.sums();
            let energy = problem.energies(&sums);
            for (on, q) in ascent.on.iter_mut().zip(&energy) {
                *on = problem.switch.state(*q).on;
            }
            ascent.rebuild(&sums);
        }
        ascent
    }

    /// Turns until the primal falls by less than `progress` of itself in one, or the certificate's relative gap is below `tolerance`
    /// (asked for only where `progress` is zero, because it costs two more passes).
    pub fn run(
        &mut self,
        progress: f64,
        tolerance: f64,
        turns: usize,
        mut watch: impl FnMut(f64) -> Option<StopReason>,
    ) -> (Option<Certificate>, Option<StopReason>) {
        let (mut last, mut fallen) = (f64::INFINITY, f64::INFINITY);
        for turn in 1.. {
            self.turn();
            if self.problem.halted_after_pass() {
                let stop = watch(fallen);
                // A certificate takes two passes more: who interrupts a long one wants to leave.
                let leave = stop == Some(StopReason::Interrupted) && self.problem.pass() > LONG_PASS;
                return ((!leave).then(|| self.certify()), stop);
            }
            // The primal is no guide at first: weights between two turns belong to old switches.
            if turn >= FIRST_TURNS {
                let primal = self.primal();
                fallen = (last - primal).abs() / primal.abs().max(f64::MIN_POSITIVE);
                last = primal;
            }
            let settled = turn >= turns || (progress > 0.0 && fallen < progress);
            let certificate = (settled || progress == 0.0).then(|| self.certify());
            let stop = match &certificate {
                Some(certificate) if certificate.relative() <= tolerance => Some(StopReason::Converged),
                _ => watch(fallen),
            };
            if settled || stop.is_some() {
                return (Some(certificate.unwrap_or_else(|| self.certify())), stop);
            }
        }
        unreachable!("the loop ends by its limit")
    }

    /// The primal objective at the weights.
    fn primal(&self) -> f64 {
        let problem = self.problem;
        let losses = problem.each_task(problem.pass(), |m| {
            let (task, table) = (&self.tasks[m], problem.table(m));
            let (x, stride) = table.padded().expect("features");
            let mut scores = vec![0.0; table.rows];
            padded::rows_dot(table.isa(), x, stride, &task.w, &mut scores);
            let of = &problem.tasks[m];
            let samples = of.y.iter().zip(&of.weights).zip(&scores);
            let losses: f64 = samples.map(|((&y, &weight), f)| problem.loss(y, weight, f + task.bias).0.value).sum();
            losses + 0.5 * problem.stiffness() * task.bias * task.bias
        });
        let penalty = |size: f64| {
            let r = problem.switch.invert(size.sqrt(), 0.0);
            problem.switch.state(r * r).on * r * r - problem.switch.bonus(r * r)
        };
        losses.iter().sum::<f64>() + self.sizes().into_iter().map(penalty).sum::<f64>()
    }

    /// `|w_d|^2` of every feature.
    fn sizes(&self) -> Vec<f64> {
        let mut sizes = vec![0.0; self.problem.groups()];
        for task in &self.tasks {
            sizes.iter_mut().zip(&task.w).for_each(|(size, w)| *size += w * w);
        }
        sizes
    }

    /// The point to go on from with Newton's method.
    pub fn point(&self, k: f64) -> Point {
        let sums = self.sums();
        let bias: Vec<f64> = self.tasks.iter().map(|task| task.bias).collect();
        Point::from_weights(self.problem, k, &self.on[..self.problem.groups()], &sums, &bias)
    }

    fn sums(&self) -> Vec<Element> {
        self.problem.each_task(self.problem.pass(), |m| self.problem.table(m).embed(&self.tasks[m].alpha))
    }

    fn certify(&self) -> Certificate {
        let alpha: Samples = self.tasks.iter().map(|task| task.alpha.clone()).collect();
        let bias: Vec<f64> = self.tasks.iter().map(|task| task.bias).collect();
        self.problem.certify(alpha, &bias)
    }

    /// `w = s u` anew: sums of many small updates drift.
    fn rebuild(&mut self, sums: &[Element]) {
        for (task, sum) in self.tasks.iter_mut().zip(sums) {
            task.w.iter_mut().zip(&sum.0).zip(&self.on).for_each(|((w, u), on)| *w = on * u);
        }
    }

    /// One turn: multipliers at fixed switches, then switches at fixed weights.
    fn turn(&mut self) {
        let problem = self.problem;
        self.turn += 1;
        let (on, turn) = (&self.on, self.turn);
        let states: Vec<std::sync::Mutex<&mut TaskState>> = self.tasks.iter_mut().map(std::sync::Mutex::new).collect();
        problem.each_task(problem.pass(), |m| {
            let state = &mut **states[m].lock().expect("one task each");
            sweep(problem, m, state, on, turn);
        });
        drop(states);
        if problem.halted_after_pass() {
            // The multipliers so far are sound with the switches they were found for.
            return;
        }
        let groups = problem.groups();
        let sizes = self.sizes();
        let old = self.on.clone();
        for d in 0..groups {
            let r = problem.switch.invert(sizes[d].sqrt(), 0.0);
            self.on[d] = problem.switch.state(r * r).on;
        }
        for task in &mut self.tasks {
            for d in 0..groups {
                // w = s u: the sums stay, the switches change.
                task.w[d] *= self.on[d] / old[d];
            }
        }
    }
}

/// The passes over one task's samples.
fn sweep(problem: &Problem<'_>, m: usize, state: &mut TaskState, on: &[f64], turn: u64) {
    let table: &TaskTable = problem.table(m);
    let (x, stride) = table.padded().expect("features");
    let variance = problem.variance.unwrap_or(PROXIMAL);
    let mut curvature = vec![0.0; table.rows];
    padded::rows_norm(table.isa(), x, stride, on, &mut curvature);
    let mut order = Random::new(turn, m as u64).permutation(table.rows);
    for pass in 0..=PASSES {
        let kept = f64::dispatch(
            table.isa(),
            Pass {
                problem,
                y: &problem.tasks[m].y,
                weights: &problem.tasks[m].weights,
                x,
                stride,
                on,
                curvature: &curvature,
                variance,
                state,
                order: &order,
            },
        );
        if pass == 0 {
            order = kept;
        }
        if problem.halted_after_pass() {
            break;
        }
    }
    if problem.variance.is_none() {
        // Proximal point: the next turn's prior sits where this one's bias ended.
        state.center = state.bias;
    }
}

/// One pass; gives back the samples that may still move.
struct Pass<'a> {
    problem: &'a Problem<'a>,
    y: &'a [f64],
    weights: &'a [f64],
    x: &'a [f64],
    stride: usize,
    on: &'a [f64],
    curvature: &'a [f64],
    variance: f64,
    state: &'a mut TaskState,
    order: &'a [usize],
}

impl Job<f64> for Pass<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run<S: Simd<f64>>(self, simd: S) -> Vec<usize> {
        let Self { problem, y, weights, x, stride, on, curvature, variance, state, order } = self;
        let mut kept = Vec::with_capacity(order.len());
        let mut sum: f64 = state.alpha.iter().sum();
        let height = (PIECE / stride.max(1)).max(1);
        for (place, &i) in order.iter().enumerate() {
            // Every prefix of a pass leaves a sound point.
            if place % height == height - 1 && problem.halted() {
                break;
            }
            let row = &x[i * stride..(i + 1) * stride];
            let bias = state.center + variance * sum;
            let score = padded::dot(simd, row, &state.w) + bias;
            let (old, step) = (state.alpha[i], curvature[i] + variance);
            let new = problem.best_coefficient(y[i], weights[i], score - step * old, step);
            if new != 0.0 || old != 0.0 {
                kept.push(i);
            }
            if new != old {
                padded::add_weighted(simd, &mut state.w, new - old, on, row);
                state.alpha[i] = new;
                sum += new - old;
            }
        }
        state.bias = state.center + variance * sum;
        kept
    }
}

impl Problem<'_> {
    /// The best coefficient of one sample when all others stay: `score` is the score without its own part, `step` what the score gains per
    /// unit of the coefficient.
    #[inline(always)]
    fn best_coefficient(&self, y: f64, weight: f64, score: f64, step: f64) -> f64 {
        let (missing, sign) = if self.classify {
            (-y * score, y)
        } else {
            let rest = y - score;
            (rest.abs(), if rest < 0.0 { -1.0 } else { 1.0 })
        };
        sign * weight * self.margin.best(missing, step * weight)
    }
}
