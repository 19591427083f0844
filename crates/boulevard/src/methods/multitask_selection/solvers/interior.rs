//! Primal-dual interior point method.
//!
//! Every multiplier `0 <= v < c` has a partner `z` for the lower bound with `v z -> 0`. The logarithm of the margin prior is itself a
//! barrier for the upper bound, of weight exactly 1: `(c - v) x = 1` (a sample that counts s: `(s c - v) x = s`). Far from the solution both products follow the same shrinking
//! target `t` (the second `max(1, t)`), which keeps the first steps long. Weights, sums and switches move on their curve
//! (see [`super::newton`]); treating the switches as a function of the multipliers instead took ten times as many steps.
//!
//! Steps are Mehrotra's: a predictor that aims at zero, then a corrector; where neither gets far, one that only centers.

use super::super::problem::table::Element;
use super::super::problem::{Certificate, Problem, Samples};
use super::newton::{Given, Point, Step, System};
use crate::linalg;
use crate::observe::StopReason;

/// How far towards the boundary a step may go.
const BOUNDARY: f64 = 0.995;
/// Starting value of the lower partners.
const START: f64 = 5.0;

/// A multiplier this much smaller than its partner is zero at the solution.
const VANISHING: f64 = 1e-3;

/// Multipliers of one task: `sides` per sample.
#[derive(Clone)]
struct Multipliers {
    v: Vec<f64>,
    z: Vec<f64>,
    /// `1 / (c - v)` at the solution; empty where the margin prior has another form.
    x: Vec<f64>,
}

/// Where the method stands.
pub(super) struct Interior<'a> {
    problem: &'a Problem<'a>,
    point: Point,
    multipliers: Vec<Multipliers>,
    /// `Phi' alpha`, carried along.
    sums: Vec<Element>,
    alpha: Samples,
    first: bool,
}

/// One Newton direction of everything.
struct Direction {
    step: Step,
    v: Samples,
    z: Samples,
    x: Samples,
}

/// What the complementary products are sent to, and the correction for their curvature.
struct Aim<'a> {
    target: f64,
    /// Whether the step will be taken, not only looked at.
    taken: bool,
    correction: Option<(&'a Direction, f64)>,
}

impl<'a> Interior<'a> {
    /// A central point in the middle of the box, all weights zero.
    pub fn new(problem: &'a Problem<'a>, k: f64) -> Self {
        let sides = if problem.classify { 1 } else { 2 };
        let log = problem.margin.log_offset();
        let multipliers: Vec<Multipliers> = problem
            .tasks
            .iter()
            .map(|task| {
                let n = task.y.len();
                let v = (0..sides * n).map(|j| 0.5 * problem.margin.c * task.weights[j % n]).collect();
                let (mut z, mut x) = (vec![START; sides * n], Vec::new());
                if let Some(offset) = log {
                    // x - z = a + offset makes the stationarity hold at score zero, both partners at least START.
                    for (j, z) in z.iter_mut().enumerate() {
                        let slope = problem.linear(&task.y, j) + offset;
                        *z = START + (-slope).max(0.0);
                        x.push(*z + slope);
                    }
                }
                Multipliers { v, z, x }
            })
            .collect();
        let mut interior = Self { problem, point: Point::zero(problem, k), multipliers, sums: Vec::new(), alpha: Vec::new(), first: true };
        interior.refresh();
        interior
    }

    /// Recomputes coefficients and sums from the multipliers.
    fn refresh(&mut self) {
        let problem = self.problem;
        self.alpha = self.multipliers.iter().enumerate().map(|(m, of)| problem.signed(&problem.tasks[m].y, &of.v)).collect();
        let alpha = &self.alpha;
        self.sums = problem.each_task(problem.pass(), |m| problem.table(m).embed(&alpha[m]));
    }

    /// Iterates until the certificate's relative gap is below `tolerance`. `watch` is asked before every step, with the gap so far.
    pub fn run(
        &mut self,
        tolerance: f64,
        steps: usize,
        mut watch: impl FnMut(f64) -> Option<StopReason>,
    ) -> (Certificate, Option<StopReason>) {
        let mut best: Option<Certificate> = None;
        let mut done = 0;
        loop {
            let certificate = self.certify();
            let relative = certificate.relative();
            if best
                .as_ref()
                .is_none_or(|best| certificate.gap.is_finite() && (certificate.objective > best.objective || relative < best.relative()))
            {
                best = Some(certificate);
            }
            let stop = if relative <= tolerance {
                Some(StopReason::Converged)
            } else if done >= steps {
                Some(StopReason::MaxIterations)
            } else {
                watch(relative)
            };
            if stop.is_some() || !self.step() {
                // No step because somebody wants to stop is not the same as no step because there is none.
                let stop = stop.or_else(|| if self.problem.halted_after_pass() { watch(relative) } else { None });
                return (best.expect("just set"), stop);
            }
            done += 1;
        }
    }

    /// Where weights and biases are.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// The point with exact zeros: an interior point leaves a little of every multiplier, however sure its partner says that it vanishes.
    pub fn with_zeros(&self) -> Certificate {
        let problem = self.problem;
        let alpha = self
            .multipliers
            .iter()
            .zip(problem.tasks)
            .map(|(of, task)| {
                let v: Vec<f64> = of.v.iter().zip(&of.z).map(|(&v, &z)| if v < VANISHING * z { 0.0 } else { v }).collect();
                problem.signed(&task.y, &v)
            })
            .collect();
        problem.certify(alpha, &self.point.bias)
    }

    fn certify(&self) -> Certificate {
        if self.problem.variance.is_some() {
            self.problem.certify_sums(self.alpha.clone(), self.sums.clone(), &self.point.bias)
        } else {
            self.problem.certify(self.alpha.clone(), &self.point.bias)
        }
    }

    /// One iteration; false when no step is possible any more.
    fn step(&mut self) -> bool {
        let problem = self.problem;
        let mut curve = self.point.curve(problem);
        if self.first {
            // No weight has moved yet: all switches are taken as on, or the first step would be as small as rho.
            curve.state.iter_mut().for_each(|state| (state.on, state.off) = (1.0, 0.0));
            self.first = false;
        }
        let scores = curve.scores(problem, &self.point.bias);
        let residuals: Samples = (0..problem.tasks.len()).map(|m| self.residuals(m, &scores[m])).collect();
        let slopes: Samples = (0..problem.tasks.len()).map(|m| self.slopes(m)).collect();
        let omega: Samples = slopes
            .iter()
            .enumerate()
            .map(|(m, slopes)| {
                let n = problem.tasks[m].y.len();
                (0..n).map(|t| slopes.iter().skip(t).step_by(n).map(|d| 1.0 / d).sum()).collect()
            })
            .collect();
        let rest: Vec<Element> = (0..problem.tasks.len())
            .map(|m| {
                let mut rest = self.sums[m].clone();
                problem.table(m).add(&mut rest, |_| -1.0, &curve.u[m]);
                rest
            })
            .collect();
        let system = System::new(problem, &curve, omega, None);
        // A direction of a system that was not finished is of no use.
        if problem.halted_after_pass() {
            return false;
        }
        let solve = |aim: Aim<'_>| self.direction(&system, &residuals, &slopes, &rest, aim);
        let product = self.product(None, 0.0);
        let predictor = solve(Aim { target: 0.0, taken: false, correction: None });
        if problem.halted_after_pass() {
            return false;
        }
        let reach = self.reach(&predictor);
        let target = (self.product(Some(&predictor), reach) / product).powi(3) * product;
        let mut direction = solve(Aim { target, taken: true, correction: Some((&predictor, reach * reach)) });
        let mut part = (BOUNDARY * self.reach(&direction)).min(1.0);
        if part < 0.1 || !part.is_finite() {
            direction = solve(Aim { target: product, taken: true, correction: None });
            part = (BOUNDARY * self.reach(&direction)).min(1.0);
        }
        if part.is_nan() || part <= 1e-10 {
            return false;
        }
        let moved = self.point.moved(problem, &curve, &direction.step, part);
        drop(system);
        for (m, of) in self.multipliers.iter_mut().enumerate() {
            for (to, by) in [(&mut of.v, &direction.v[m]), (&mut of.z, &direction.z[m]), (&mut of.x, &direction.x[m])] {
                to.iter_mut().zip(by).for_each(|(to, by)| *to += part * by);
            }
            // The sums move by what the coefficients do: the step of u without the disagreement it removed.
            let table = problem.table(m);
            table.add(&mut self.sums[m], |_| part, &direction.step.sums[m]);
            table.add(&mut self.sums[m], |_| -part, &rest[m]);
            self.alpha[m] = problem.signed(&problem.tasks[m].y, &of.v);
        }
        self.point = moved;
        self.multipliers.iter().all(|of| of.v.iter().chain(&of.z).chain(&of.x).all(|value| value.is_finite()))
    }

    /// `a + g'(v) - sign f + z` of every multiplier, with `1 / (c - v)` replaced by its partner.
    fn residuals(&self, m: usize, scores: &[f64]) -> Vec<f64> {
        let (problem, of) = (self.problem, &self.multipliers[m]);
        let y = &problem.tasks[m].y;
        (0..of.v.len())
            .map(|j| {
                let slope = match problem.margin.log_offset() {
                    Some(offset) => offset - of.x[j],
                    None => problem.margin.term(of.v[j] / problem.weight(m, j)).slope,
                };
                problem.linear(y, j) + slope - problem.sign(y, j) * scores[j % y.len()] + of.z[j]
            })
            .collect()
    }

    /// The diagonal of the system: curvature of the barriers at every multiplier.
    fn slopes(&self, m: usize) -> Vec<f64> {
        let (problem, of) = (self.problem, &self.multipliers[m]);
        (0..of.v.len())
            .map(|j| {
                let upper = if of.x.is_empty() {
                    problem.margin.term(of.v[j] / problem.weight(m, j)).curvature / problem.weight(m, j)
                } else {
                    of.x[j] / problem.room(m, j, of.v[j])
                };
                upper + of.z[j] / of.v[j]
            })
            .collect()
    }

    fn direction(&self, system: &System<'_>, residuals: &Samples, slopes: &Samples, rest: &[Element], aim: Aim<'_>) -> Direction {
        let problem = self.problem;
        let tasks = problem.tasks.len();
        let (mut upper, mut lower, mut sides) = (Samples::new(), Samples::new(), Samples::new());
        let mut given = Samples::new();
        for m in 0..tasks {
            let (of, y) = (&self.multipliers[m], &problem.tasks[m].y);
            let corrected = |j: usize, by: fn(&Direction) -> &Samples| {
                aim.correction.map_or(0.0, |(predictor, share)| share * predictor.v[m][j] * by(predictor)[m][j])
            };
            let ex: Vec<f64> = (0..of.x.len())
                .map(|j| {
                    let room = problem.room(m, j, of.v[j]);
                    (aim.target.max(1.0) * problem.weight(m, j) - room * of.x[j] + corrected(j, |d| &d.x)) / room
                })
                .collect();
            let ez: Vec<f64> = (0..of.v.len()).map(|j| (aim.target - of.v[j] * of.z[j] - corrected(j, |d| &d.z)) / of.v[j]).collect();
            let r: Vec<f64> = (0..of.v.len()).map(|j| residuals[m][j] - ex.get(j).copied().unwrap_or(0.0) + ez[j]).collect();
            let mut alpha = vec![0.0; y.len()];
            r.iter().enumerate().for_each(|(j, r)| alpha[j % y.len()] += problem.sign(y, j) * r / slopes[m][j]);
            upper.push(ex);
            lower.push(ez);
            sides.push(r);
            given.push(alpha);
        }
        let right: Vec<Given<'_>> = (0..tasks)
            .map(|m| Given {
                alpha: &given[m],
                rest: &rest[m],
                bias: self.alpha[m].iter().sum::<f64>() - problem.stiffness() * self.point.bias[m],
            })
            .collect();
        let step = system.solve_for(&right, aim.taken);
        let (mut v, mut z, mut x) = (Samples::new(), Samples::new(), Samples::new());
        for m in 0..tasks {
            let (of, y) = (&self.multipliers[m], &problem.tasks[m].y);
            let dv: Vec<f64> =
                (0..of.v.len()).map(|j| (sides[m][j] - problem.sign(y, j) * step.scores[m][j % y.len()]) / slopes[m][j]).collect();
            z.push((0..of.v.len()).map(|j| lower[m][j] - of.z[j] * dv[j] / of.v[j]).collect());
            x.push((0..of.x.len()).map(|j| upper[m][j] + of.x[j] * dv[j] / problem.room(m, j, of.v[j])).collect());
            v.push(dv);
        }
        Direction { step, v, z, x }
    }

    /// The largest part of a direction that keeps everything positive.
    fn reach(&self, direction: &Direction) -> f64 {
        let mut reach = 1.0f64 / BOUNDARY;
        for (m, of) in self.multipliers.iter().enumerate() {
            let mut limit = |value: f64, change: f64| {
                if change < 0.0 {
                    reach = reach.min(-value / change);
                }
            };
            for (j, &v) in of.v.iter().enumerate() {
                limit(v, direction.v[m][j]);
                limit(self.problem.room(m, j, v), -direction.v[m][j]);
                limit(of.z[j], direction.z[m][j]);
                if let Some(&x) = of.x.get(j) {
                    limit(x, direction.x[m][j]);
                }
            }
        }
        reach
    }

    /// The mean product of multipliers and their partners, after a part of a direction.
    fn product(&self, direction: Option<&Direction>, part: f64) -> f64 {
        let (mut sum, mut count) = (0.0, 0);
        for (m, of) in self.multipliers.iter().enumerate() {
            count += of.v.len();
            sum += match direction {
                None => linalg::dot(&of.v, &of.z),
                Some(d) => (0..of.v.len()).map(|j| (of.v[j] + part * d.v[m][j]) * (of.z[j] + part * d.z[m][j])).sum(),
            };
        }
        sum / count.max(1) as f64
    }
}

impl Problem<'_> {
    /// What the sample of multiplier `j` counts.
    fn weight(&self, m: usize, j: usize) -> f64 {
        let weights = &self.tasks[m].weights;
        weights[j % weights.len()]
    }

    /// How far multiplier `j` is from its upper bound.
    fn room(&self, m: usize, j: usize, v: f64) -> f64 {
        self.weight(m, j) * self.margin.c - v
    }

    /// How multiplier `j` of a task enters the signed coefficient: classification has one per sample, regression first the upper side of
    /// every sample, then the lower.
    fn sign(&self, y: &[f64], j: usize) -> f64 {
        if self.classify {
            y[j]
        } else if j < y.len() {
            -1.0
        } else {
            1.0
        }
    }

    /// The linear term `a` of multiplier `j`.
    fn linear(&self, y: &[f64], j: usize) -> f64 {
        if self.classify {
            0.0
        } else if j < y.len() {
            -y[j]
        } else {
            y[j - y.len()]
        }
    }

    /// Signed coefficients from multipliers. The two sides of a sample in regression are reduced to their difference.
    fn signed(&self, y: &[f64], v: &[f64]) -> Vec<f64> {
        (0..y.len()).map(|t| if self.classify { y[t] * v[t] } else { v[y.len() + t] - v[t] }).collect()
    }
}
