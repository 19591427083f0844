//! The problem: tasks that share switches, and the certificate of any feasible point.
//!
//! ```text
//! max J = sum_i a_i v_i + g(v_i)  -  sum_d f(q_d)  -  sum_m variance / 2 (sum_t alpha_mt)^2,     0 <= v_i < c
//! q_d   = sum_m | sum_t alpha_mt phi_d(x_mt) |^2
//! ```
//! with `alpha = y v` in classification and `alpha = v_lower - v_upper` in regression. A flat bias prior drops the last term and asks for
//! `sum_t alpha_mt = 0` in every task. J is strictly concave: the optimum is unique.
//!
//! Its primal is `P(w, b) = sum_i phi_i(f_i) + sum_d R(|w_d|) + sum_m b_m^2 / (2 variance)`. At any feasible alpha, with
//! `w_d = s_d sum alpha phi_d` and `b_m = variance sum_t alpha_mt` (any `b_m` if flat), the gap separates over samples:
//! `P - J = sum_i phi_i(f_i) + alpha_i f_i - (a_i v_i + g(v_i))`, every term at least zero.

use super::prior::{Loss, Margin};
use super::switch::Switch;
use super::table::{Element, TaskTable};
use crate::observe::{Context, PIECE};
use crate::parallel;

/// One task: the table with its samples and one target per sample (plus or minus one in classification).
pub(in super::super) struct Task {
    pub table: usize,
    pub y: Vec<f64>,
    /// What every sample counts, above zero: its loss is multiplied by it, so its multiplier ends at weight times c.
    pub weights: Vec<f64>,
}

pub(in super::super) struct Problem<'a> {
    pub tables: &'a [TaskTable],
    pub tasks: &'a [Task],
    pub switch: Switch,
    pub margin: Margin,
    pub classify: bool,
    /// Variance of the bias; none means flat.
    pub variance: Option<f64>,
    /// How exactly the systems that couple tasks are solved.
    pub coupling: f64,
    pub threads: usize,
    /// Who may stop it.
    pub context: Context<'a>,
}

/// A value per sample of every task.
pub(in super::super) type Samples = Vec<Vec<f64>>;

/// What is known about a feasible dual point.
#[derive(Clone, Debug)]
pub(in super::super) struct Certificate {
    pub objective: f64,
    /// `P - J`
    pub gap: f64,
    /// Largest violation of the optimality conditions of any multiplier.
    pub violation: f64,
    pub alpha: Samples,
    pub bias: Vec<f64>,
    pub on: Vec<f64>,
    /// `sum_t alpha_mt phi_d(x_mt)` of every task.
    pub sums: Vec<Element>,
}

impl Certificate {
    /// The gap relative to the objective; zero where both vanish.
    pub fn relative(&self) -> f64 {
        if self.gap <= 0.0 { 0.0 } else { self.gap / self.objective.abs().max(f64::MIN_POSITIVE) }
    }
}

impl Problem<'_> {
    pub fn groups(&self) -> usize {
        self.tables[0].groups
    }

    pub fn table(&self, task: usize) -> &TaskTable {
        &self.tables[self.tasks[task].table]
    }

    /// `1 / variance` of the bias, zero if flat.
    pub fn stiffness(&self) -> f64 {
        self.variance.map_or(0.0, |variance| 1.0 / variance)
    }

    /// Runs `work` for every task; on several threads if there is enough of it.
    pub fn each_task<R: Send>(&self, cost: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        const WORTH_A_THREAD: usize = 2_000_000;
        parallel::map(if cost < WORTH_A_THREAD { 1 } else { self.threads }, self.tasks.len(), work)
    }

    /// Whether somebody asked to stop. Inner loops then end where they are, with a worse point that is sound; the watch of the outer loop
    /// says why.
    pub fn halted(&self) -> bool {
        self.context.go_on("solve").is_err()
    }

    /// [`Problem::halted`] between two passes, where those take long enough to ask.
    pub fn halted_after_pass(&self) -> bool {
        self.pass() >= PIECE / 8 && self.halted()
    }

    /// Multiplications of one pass over all samples.
    pub fn pass(&self) -> usize {
        let of = |table: &TaskTable| if table.grams().is_some() { table.rows } else { 1 };
        self.tasks.iter().map(|task| task.y.len() * self.groups() * of(&self.tables[task.table])).sum()
    }

    /// The loss of one sample at score `f`, and the signed coefficient that attains it.
    pub fn loss(&self, y: f64, weight: f64, f: f64) -> (Loss, f64) {
        if self.classify {
            let loss = self.margin.loss(-y * f).times(weight);
            (loss, y * loss.multiplier)
        } else {
            let rest = y - f;
            let loss = self.margin.loss(rest.abs()).times(weight);
            (loss, rest.signum() * loss.multiplier)
        }
    }

    /// `a v + g(v)` of one sample's signed coefficient.
    pub fn term(&self, y: f64, weight: f64, alpha: f64) -> f64 {
        let linear = if self.classify { 0.0 } else { y * alpha };
        linear + weight * self.margin.value(alpha.abs() / weight)
    }

    /// How far a sample is from optimal at score `f`: the slope of J in its multipliers, one-sided at zero.
    fn violation(&self, y: f64, weight: f64, alpha: f64, f: f64) -> f64 {
        let slope = self.margin.term(alpha.abs() / weight).slope;
        if self.classify {
            let gradient = slope - y * f;
            if alpha == 0.0 { gradient.max(0.0) } else { gradient.abs() }
        } else {
            let rest = y - f;
            if alpha == 0.0 { (rest.abs() + slope).max(0.0) } else { (rest * alpha.signum() + slope).abs() }
        }
    }

    /// Makes the coefficients of every task sum to zero, as a flat bias asks: the larger side is shrunk.
    pub fn repair(&self, alpha: &mut Samples) {
        if self.variance.is_some() {
            return;
        }
        for alpha in alpha {
            for _ in 0..3 {
                let side = |sign: f64| alpha.iter().map(|a| (sign * a).max(0.0)).sum::<f64>();
                let (positive, negative) = (side(1.0), side(-1.0));
                let (sign, factor) = if positive > negative { (1.0, negative / positive) } else { (-1.0, positive / negative) };
                if positive == negative {
                    break;
                }
                alpha.iter_mut().filter(|a| **a * sign > 0.0).for_each(|a| *a *= factor);
            }
        }
    }

    /// Energies of all groups.
    pub fn energies(&self, sums: &[Element]) -> Vec<f64> {
        let mut energy = vec![0.0; self.groups()];
        for (task, sum) in sums.iter().enumerate() {
            self.table(task).add_inner(sum, sum, &mut energy);
        }
        energy.iter_mut().for_each(|q| *q = q.max(0.0));
        energy
    }

    /// The certificate of coefficients. `bias` is a guess for flat priors; the best one is found.
    pub fn certify(&self, mut alpha: Samples, bias: &[f64]) -> Certificate {
        self.repair(&mut alpha);
        let sums = self.each_task(self.pass(), |m| self.table(m).embed(&alpha[m]));
        self.certify_sums(alpha, sums, bias)
    }

    /// The same where the sums are known. The coefficients must be feasible.
    pub fn certify_sums(&self, alpha: Samples, sums: Vec<Element>, bias: &[f64]) -> Certificate {
        let energy = self.energies(&sums);
        let on: Vec<f64> = energy.iter().map(|&q| self.switch.state(q).on).collect();
        let per_task = self.each_task(self.pass(), |m| {
            let (table, y, weights, alpha) = (self.table(m), &self.tasks[m].y, &self.tasks[m].weights, &alpha[m]);
            let mut f = table.scores(&table.scaled(|d| on[d], &sums[m]));
            let sum: f64 = alpha.iter().sum();
            let b = match self.variance {
                Some(variance) => variance * sum,
                None => self.best_bias(y, weights, &f, bias[m]),
            };
            f.iter_mut().for_each(|f| *f += b);
            let (mut objective, mut gap, mut violation) = (0.0, 0.0, 0.0f64);
            for (((&y, &weight), &alpha), &f) in y.iter().zip(weights).zip(alpha).zip(&f) {
                let term = self.term(y, weight, alpha);
                objective += term;
                gap += self.loss(y, weight, f).0.value + alpha * f - term;
                violation = violation.max(self.violation(y, weight, alpha, f));
            }
            objective -= 0.5 * self.variance.unwrap_or(0.0) * sum * sum;
            (objective, gap, violation, b)
        });
        let objective = per_task.iter().map(|t| t.0).sum::<f64>() - energy.iter().map(|&q| self.switch.bonus(q)).sum::<f64>();
        Certificate {
            objective,
            gap: per_task.iter().map(|t| t.1).sum::<f64>().max(0.0),
            violation: per_task.iter().map(|t| t.2).fold(0.0, f64::max),
            bias: per_task.iter().map(|t| t.3).collect(),
            alpha,
            on,
            sums,
        }
    }

    /// The bias that minimises the losses of one task at fixed scores: the root of the falling function `sum_i alpha_i(f_i + b)`.
    fn best_bias(&self, y: &[f64], weights: &[f64], f: &[f64], guess: f64) -> f64 {
        let slope = |b: f64| {
            y.iter().zip(weights).zip(f).fold((0.0, 0.0), |(sum, curvature), ((&y, &weight), &f)| {
                let (loss, alpha) = self.loss(y, weight, f + b);
                (sum + alpha, curvature + if alpha == 0.0 { 0.0 } else { loss.curvature })
            })
        };
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (mut b, mut width) = (guess, 1.0);
        for _ in 0..100 {
            let (sum, curvature) = slope(b);
            if sum == 0.0 {
                return b;
            }
            // A positive sum asks for a larger bias.
            if sum > 0.0 {
                low = b
            } else {
                high = b
            }
            let mut next = b + sum / curvature;
            if !(next > low && next < high) {
                next = match (low.is_finite(), high.is_finite()) {
                    (true, true) => 0.5 * (low + high),
                    (true, false) => low + width,
                    _ => high - width,
                };
                width *= 2.0;
            }
            if (next - b).abs() <= 1e-15 * b.abs() || next == b {
                return next;
            }
            b = next;
        }
        b
    }
}
