//! Tables with many more features than samples: reweighted machines in the space of samples.
//!
//! `P(w, b, s) = sum phi + sum_d |w_d|^2 / (2 s_d) + KL(s_d | rho)` is jointly convex (see `ascent`). At fixed switches it is a machine with
//! the kernel matrix `K = sum_d s_d x_d x_d'`, which is small here, and Newton's method on it never looks at the table. What is left,
//! `Phi(s)`, is convex, and every switch has a value of its own that is best as far as is known how the sums answer (`Answer`); only
//! those whose move pays are moved, each for one term of K. Nearly all features of a wide table stay where the prior put them, as one
//! multiple of `X X'`, which serves every fold and every c.
//!
//! The usual second step, the best switch at fixed weights, is sound and too careful: it takes a sum to answer a rise of its switch as
//! strongly as it could if nothing else held the samples. Where a small prior puts switches at 1e-7 it raises them by a factor of three
//! in a turn and what it thinks can be gained is next to nothing: it looks settled with all weights at zero.
//!
//! A sample of weight zero takes no part and still gets its score.

use super::super::problem::table::Element;
use super::super::problem::{Certificate, Problem, Samples};
use super::answer::Answer;
use super::machine::Machine;
use super::newton::Point;
use crate::error::Result;
use crate::linalg::{Part, Shape, View, add_weighted_in, padded};
use crate::observe::Context;

/// Columns per row from which this is worth it, and the most rows.
const WIDE: usize = 2;
const MOST_ROWS: usize = 3000;
/// Values of all tables below which the other methods are quick.
const FEW_VALUES: usize = 200_000;
/// Matrices of inner products that are in memory at a time at most.
const PARTIAL_SUMS: usize = 10;
/// Products with the kernel matrix that a machine takes, roughly.
const MACHINE_PASSES: usize = 20;
/// Features whose terms are added to a kernel matrix at a time.
const PANEL: usize = 128;
/// The share of what the switches could gain that may be left by those that stay.
const IDLE: f64 = 0.1;
/// How many times as strongly as alone sums are taken to answer moves that are made together, and the factor where that was too little.
const CROWD: f64 = 2.0;
const CROWDED: f64 = 4.0;

/// Whether tables of these rows and columns are of this kind, and their matrices fit into what memory is allowed.
pub(in super::super) fn is_wide(shapes: &[(usize, usize)], context: &Context<'_>) -> bool {
    let sum = |of: fn(&(usize, usize)) -> usize| shapes.iter().map(of).fold(0usize, usize::saturating_add);
    let (values, squares) = (sum(|&(rows, columns)| rows.saturating_mul(columns)), sum(|&(rows, _)| rows.saturating_mul(rows)));
    // The tables twice, the inner products with their partial sums, and a kernel matrix per thread.
    let needed = (2 * values).saturating_add(squares.saturating_mul(PARTIAL_SUMS + context.threads)).saturating_mul(size_of::<f64>());
    let fits = context.memory.is_none_or(|allowed| needed <= allowed);
    values >= FEW_VALUES && fits && shapes.iter().all(|&(rows, columns)| rows <= MOST_ROWS && columns >= WIDE * rows)
}

/// Switches that move in a turn where the others need not be exact: more than sets hold, and their terms cost no more than a pass.
pub(in super::super) fn most_moves(rows: usize) -> usize {
    (rows / 4).max(256)
}

/// Where a path stands: what neighbors along it share.
pub(in super::super) struct Sampled {
    /// The switches that the kernel matrices stand for.
    on: Vec<f64>,
    /// Lower triangles of `sum_d on_d x_d x_d'`, one per table.
    kernels: Vec<Vec<f64>>,
    /// Coefficients of every sample; the weights are `on_d sum_i alpha_i x_id`.
    alpha: Samples,
    /// Scores of all samples.
    pub scores: Samples,
    /// `sum_i alpha_i x_id`
    sums: Vec<Element>,
    /// `Phi` after the last turn, and how many times as strongly as alone sums answer where many switches move at a time.
    primal: f64,
    crowd: f64,
}

/// What one turn found.
pub(in super::super) struct Turn {
    /// What the switches can gain at these weights, as a share of the primal.
    pub progress: f64,
    /// A factor for all switches that comes first.
    scale: Option<f64>,
    /// The moves that pay: feature and new value.
    moves: Vec<(usize, f64)>,
}

impl Sampled {
    /// Starts on the ray of what every sample asks for at score zero, where the dual is largest.
    pub fn new(problem: &Problem<'_>) -> Result<Self> {
        let products = problem.tables.iter().map(|table| table.inner_products(&problem.context)).collect::<Result<Vec<_>>>()?;
        let asked: Samples = problem
            .tasks
            .iter()
            .map(|task| task.y.iter().zip(&task.weights).map(|(&y, &weight)| problem.loss(y, weight, 0.0).1).collect())
            .collect();
        let sums = problem.each_task(problem.pass(), |m| problem.table(m).embed(&asked[m]));
        let energy = problem.energies(&sums);
        let factor = best_on_ray(problem, &asked, &energy);
        let wanted: Vec<f64> = energy.iter().map(|q| problem.switch.state(factor * factor * q).on).collect();
        // Idle features share one value.
        let mut order = wanted.clone();
        let middle = order.len() / 2;
        let median = *order.select_nth_unstable_by(middle, f64::total_cmp).1;
        let (sum, count) = wanted.iter().filter(|&&on| on <= 2.0 * median).fold((0.0, 0.0), |(sum, count), on| (sum + on, count + 1.0));
        let common: f64 = sum / count;
        let kernels = products.iter().map(|products| products.iter().map(|value| common * value).collect()).collect();
        let alpha = asked.iter().map(|asked| asked.iter().map(|a| factor * a).collect()).collect();
        let mut sampled = Self {
            on: vec![common; wanted.len()],
            kernels,
            alpha,
            scores: Vec::new(),
            sums: Vec::new(),
            primal: f64::INFINITY,
            crowd: CROWD,
        };
        let moves: Vec<(usize, f64)> = wanted.into_iter().enumerate().filter(|(_, on)| *on > 2.0 * median).collect();
        sampled.shift(problem, &moves)?;
        Ok(sampled)
    }

    /// Another problem on the same tables begins from here.
    pub fn restart(&mut self) {
        (self.primal, self.crowd) = (f64::INFINITY, CROWD);
    }

    /// The machines at the present switches, to a share `accuracy` of the primal, and what the switches can gain then. With `most`, only so
    /// many switches move, those that gain most, and only their gain counts: enough to rank features. Without, all that matter do.
    pub fn turn(&mut self, problem: &Problem<'_>, accuracy: f64, most: Option<usize>) -> Turn {
        let cost = self.kernels.iter().map(|kernel| kernel.len()).sum::<usize>() * MACHINE_PASSES;
        let solved = problem.each_task(cost, |m| {
            let kernel = &self.kernels[problem.tasks[m].table];
            Machine::solve(problem, m, kernel, self.alpha[m].clone(), accuracy)
        });
        let mut primal = 0.0;
        self.scores.clear();
        for (m, solved) in solved.into_iter().enumerate() {
            primal += solved.primal;
            self.alpha[m] = solved.alpha;
            self.scores.push(solved.scores);
        }
        self.sums = problem.each_task(problem.pass(), |m| problem.table(m).embed(&self.alpha[m]));
        let energy = problem.energies(&self.sums);
        let bounds = self.bounds(problem);
        primal += self.on.iter().map(|&on| problem.switch.divergence(on)).sum::<f64>();
        if primal > self.primal * (1.0 + accuracy) {
            // Moves that were made together got into each other's way.
            self.crowd *= CROWDED;
        }
        self.primal = primal;
        let answer = |d: usize| Answer::new(&problem.switch, self.on[d], energy[d], self.crowd * bounds[d]);
        let answers: Vec<Answer<'_>> = (0..energy.len()).map(answer).collect();
        let wanted: Vec<f64> = answers.iter().map(Answer::best).collect();
        let least: Vec<f64> = answers.iter().zip(&wanted).map(|(answer, &on)| answer.cost(on)).collect();
        let gains = |factor: f64| {
            let gain = |((answer, least), on): ((&Answer<'_>, &f64), &f64)| (answer.cost(factor * on) - least).max(0.0);
            answers.iter().zip(&least).zip(&self.on).map(gain).collect::<Vec<f64>>()
        };
        let plain = gains(1.0);
        let total: f64 = plain.iter().sum();
        // Idle features want to go the same way: one factor for the whole matrix takes them there without a move.
        let factor = common_factor(&wanted, &self.on);
        let [plain, scaled] = [plain, gains(factor)].map(|gains| Moves::of(&gains, IDLE * total, most));
        let better = if most.is_some() { scaled.left < 0.98 * plain.left } else { scaled.order.len() < plain.order.len() };
        let (moves, scale) = if better { (scaled, Some(factor)) } else { (plain, None) };
        let gained = if most.is_some() { moves.gained } else { total };
        let moves = moves.order.into_iter().map(|d| (d, wanted[d])).collect();
        Turn { progress: gained / primal.abs().max(f64::MIN_POSITIVE), scale, moves }
    }

    /// How much the sum of a feature can answer a move of its own switch at most, whatever the others are: `max_m sum_i omega_mi x_id^2`.
    fn bounds(&self, problem: &Problem<'_>) -> Vec<f64> {
        let of_tasks = problem.each_task(problem.pass(), |m| {
            let (table, task) = (problem.table(m), &problem.tasks[m]);
            let (x, stride) = table.padded().expect("features");
            let curvature = |i: usize| problem.loss(task.y[i], task.weights[i], self.scores[m][i]).0.curvature;
            let chosen: Vec<(usize, f64)> = (0..table.rows).map(|i| (i, curvature(i))).filter(|(_, omega)| *omega > 0.0).collect();
            let mut bounds = vec![0.0; stride];
            padded::gram_diagonal(table.isa(), x, stride, &chosen, &mut bounds);
            bounds
        });
        (0..problem.groups()).map(|d| of_tasks.iter().map(|bounds| bounds[d]).fold(0.0, f64::max)).collect()
    }

    /// Takes the moves of a turn.
    pub fn follow(&mut self, problem: &Problem<'_>, turn: &Turn) -> Result<()> {
        if let Some(factor) = turn.scale {
            self.kernels.iter_mut().flatten().for_each(|value| *value *= factor);
            self.on.iter_mut().for_each(|on| *on *= factor);
        }
        self.shift(problem, &turn.moves)
    }

    /// The point to go on from with Newton's method.
    pub(super) fn point(&self, problem: &Problem<'_>, k: f64) -> Point {
        let bias: Vec<f64> = self.alpha.iter().map(|alpha| problem.variance.unwrap_or(0.0) * alpha.iter().sum::<f64>()).collect();
        Point::from_weights(problem, k, &self.on, &self.sums, &bias)
    }

    fn shift(&mut self, problem: &Problem<'_>, moves: &[(usize, f64)]) -> Result<()> {
        for (table, kernel) in problem.tables.iter().zip(&mut self.kernels) {
            let (x, stride) = table.padded().expect("features");
            let n = table.rows;
            let mut panel = vec![0.0; n * PANEL.min(moves.len())];
            for moves in moves.chunks(PANEL) {
                let depth = moves.len();
                for (row, to) in x.chunks_exact(stride).zip(panel.chunks_exact_mut(depth)) {
                    moves.iter().zip(to).for_each(|(&(d, _), to)| *to = row[d]);
                }
                let by: Vec<f64> = moves.iter().map(|&(d, on)| on - self.on[d]).collect();
                let view = View::new(&panel, depth);
                let shape = Shape { rows: n, columns: n, depth };
                add_weighted_in(kernel, n, shape, &by, [view, view.transposed()], Part::Lower, &problem.context)?;
            }
        }
        moves.iter().for_each(|&(d, on)| self.on[d] = on);
        Ok(())
    }

    /// The sizes of all features' weights over the tasks.
    pub fn sizes(&self, problem: &Problem<'_>) -> Vec<f64> {
        problem.energies(&self.sums).iter().zip(&self.on).map(|(q, on)| on * on * q).collect()
    }

    /// The certificate of the coefficients that the scores ask for.
    pub fn certify(&self, problem: &Problem<'_>) -> Certificate {
        let ask = |m: usize| {
            let task = &problem.tasks[m];
            let samples = task.y.iter().zip(&task.weights).zip(&self.scores[m]);
            samples.map(|((&y, &weight), &f)| problem.loss(y, weight, f).1).collect::<Vec<f64>>()
        };
        let alpha: Samples = (0..problem.tasks.len()).map(ask).collect();
        let bias: Vec<f64> = alpha.iter().map(|alpha| problem.variance.unwrap_or(0.0) * alpha.iter().sum::<f64>()).collect();
        problem.certify(alpha, &bias)
    }
}

/// Which switches move.
struct Moves {
    /// In rising order.
    order: Vec<usize>,
    /// What they gain, and what is left.
    gained: f64,
    left: f64,
}

impl Moves {
    /// The largest gains, until the others together are no more than `allowed`, or `most` of them.
    fn of(gains: &[f64], allowed: f64, most: Option<usize>) -> Self {
        let mut order: Vec<usize> = (0..gains.len()).filter(|&d| gains[d] > 0.0).collect();
        let falling = |a: &usize, b: &usize| gains[*b].total_cmp(&gains[*a]).then(a.cmp(b));
        let total: f64 = gains.iter().sum();
        let mut gained = 0.0;
        if let Some(most) = most {
            if most < order.len() {
                order.select_nth_unstable_by(most, falling);
                order.truncate(most);
            }
            gained = order.iter().map(|&d| gains[d]).sum();
        } else {
            order.sort_unstable_by(falling);
            let count = order.iter().position(|&d| {
                let enough = total - gained <= allowed;
                gained += gains[d];
                enough
            });
            order.truncate(count.unwrap_or(order.len()));
        }
        order.sort_unstable();
        Self { order, gained, left: total - gained }
    }
}

/// What the switches below twice their median want to be multiplied by, together.
fn common_factor(wanted: &[f64], on: &[f64]) -> f64 {
    let mut order = wanted.to_vec();
    let middle = order.len() / 2;
    let median = *order.select_nth_unstable_by(middle, f64::total_cmp).1;
    let idle = wanted.iter().zip(on).filter(|(wanted, _)| **wanted <= 2.0 * median);
    let (to, from) = idle.fold((0.0, 0.0), |(to, from), (wanted, on)| (to + wanted, from + on));
    // No switch may pass 1.
    let most = on.iter().fold(0.0f64, |most, &on| most.max(on));
    (to / from).min(1.0 / most)
}

/// The factor of the coefficients at which the dual is largest, to a tenth.
fn best_on_ray(problem: &Problem<'_>, asked: &Samples, energy: &[f64]) -> f64 {
    const FACTORS: usize = 80;
    let mut best = (f64::NEG_INFINITY, 1.0);
    let mut factor = 0.9;
    for _ in 0..FACTORS {
        let mut objective = -energy.iter().map(|q| problem.switch.bonus(factor * factor * q)).sum::<f64>();
        for (task, asked) in problem.tasks.iter().zip(asked) {
            let sum = factor * asked.iter().sum::<f64>();
            objective -= 0.5 * problem.variance.unwrap_or(0.0) * sum * sum;
            let samples = task.y.iter().zip(&task.weights).zip(asked).filter(|((_, weight), _)| **weight > 0.0);
            objective += samples.map(|((&y, &weight), a)| problem.term(y, weight, factor * a)).sum::<f64>();
        }
        if objective > best.0 {
            best = (objective, factor);
        } else if objective.is_finite() {
            break;
        }
        factor *= 0.9;
    }
    best.1
}
