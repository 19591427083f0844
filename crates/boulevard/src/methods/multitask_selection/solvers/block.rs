//! One task's part of a Newton step's system, factored: by feature, by sample, or not at all (conjugate gradients).

use super::super::problem::Problem;
use super::super::problem::switch::State;
use super::super::problem::table::{Element, TaskTable};
use super::newton::Curve;
use crate::linalg::{self, buffers, padded, weighted_gram};

/// Conjugate gradient steps after which the direction found so far is taken.
const KRYLOV_STEPS: usize = 150;

/// One task's part, factored.
pub(super) struct Block {
    pub omega: Vec<f64>,
    /// Weight of every group in this block.
    pub weights: Vec<f64>,
    shape: Form,
}

enum Form {
    /// One unknown per feature and one for the bias, scaled by the root of the weights.
    ByFeature { factor: Vec<f64>, roots: Vec<f64> },
    /// The same unknowns without a matrix: conjugate gradients to a given accuracy, with the matrix's diagonal as preconditioner. A
    /// product with the matrix reads the active rows once and costs a hundredth of forming it.
    Krylov { chosen: Vec<(usize, f64)>, roots: Vec<f64>, diagonal: Vec<f64>, accuracy: f64 },
    /// One unknown per active sample.
    BySample {
        factor: Vec<f64>,
        active: Vec<usize>,
        roots: Vec<f64>,
        /// The system's answer to a change of the bias.
        response: Vec<f64>,
        /// The lower triangle of the kernel matrix of all samples, where it was formed.
        gram: Option<Vec<f64>>,
    },
}

/// Solves `A x = b` for a symmetric positive definite `A`, with its diagonal as preconditioner where one is given.
pub(super) fn conjugate_gradients(
    b: &[f64],
    diagonal: Option<&[f64]>,
    accuracy: f64,
    steps: usize,
    halted: impl Fn() -> bool,
    mut apply: impl FnMut(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let precondition = |rest: &[f64]| match diagonal {
        Some(diagonal) => rest.iter().zip(diagonal).map(|(rest, d)| rest / d).collect(),
        None => rest.to_vec(),
    };
    let mut x = vec![0.0; b.len()];
    let mut rest = b.to_vec();
    let mut direction: Vec<f64> = precondition(&rest);
    let start = linalg::dot(&rest, &direction);
    let mut size = start;
    for turn in 0..steps {
        // One step at least: zero is no direction.
        if size <= accuracy * accuracy * start || size == 0.0 || (turn > 0 && halted()) {
            break;
        }
        let image = apply(&direction);
        let step = size / linalg::dot(&direction, &image);
        x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
        rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
        let next = precondition(&rest);
        let next_size = linalg::dot(&rest, &next);
        let keep = next_size / size;
        direction.iter_mut().zip(&next).for_each(|(d, r)| *d = r + keep * *d);
        size = next_size;
    }
    x
}

/// What the scores change by before the coefficients do.
pub(super) enum Shift<'a> {
    /// The disagreement of sums and coefficients, for a block that holds the switches' response.
    Rest(&'a Element, &'a Element, &'a [f64], &'a [State]),
    /// These scores.
    Scores(&'a [f64]),
}

pub(super) struct Part {
    pub alpha: Vec<f64>,
    pub scores: Vec<f64>,
    pub bias: f64,
    /// The change of `u`, where the system gives it.
    pub sums: Option<Element>,
    /// Whether the disagreement must still be added to the sums.
    pub needs_rest: bool,
}

impl Block {
    pub fn new(
        problem: &Problem<'_>,
        curve: &Curve,
        task: usize,
        omega: Vec<f64>,
        exact: bool,
        threads: usize,
        accuracy: Option<f64>,
    ) -> Self {
        let table = problem.table(task);
        let spread: Vec<f64> = curve.state.iter().map(|state| state.on * state.off).collect();
        let mut weights: Vec<f64> = curve.state.iter().map(|state| state.on).collect();
        let active: Vec<usize> = (0..omega.len()).filter(|&i| omega[i] > 0.0).collect();
        if let Some((x, stride)) = table.padded() {
            if exact {
                let u = &curve.u[task].0;
                weights.iter_mut().zip(&spread).zip(u).for_each(|((weight, spread), u)| *weight += spread * u * u);
            }
            if let (true, Some(accuracy)) = (exact, accuracy) {
                let chosen: Vec<(usize, f64)> = active.iter().map(|&i| (i, omega[i])).collect();
                let mut diagonal = vec![0.0; stride];
                padded::gram_diagonal(table.isa(), x, stride, &chosen, &mut diagonal);
                let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
                diagonal.truncate(table.groups);
                diagonal.iter_mut().zip(&weights).for_each(|(value, weight)| *value = 1.0 + weight * *value);
                let last = chosen.iter().map(|(_, omega)| omega).sum::<f64>() + problem.stiffness();
                diagonal.push(if last > 0.0 { last } else { 1.0 });
                return Self { omega, weights, shape: Form::Krylov { chosen, roots, diagonal, accuracy } };
            }
            if table.groups < active.len() {
                return Self::by_feature(problem, x, stride, omega, weights, threads);
            }
            return Self::by_sample(omega, weights, active, None, |active, roots, _, weights| {
                let columns = table.columns(|| problem.halted_after_pass()).expect("features");
                let fetch = |rows: &[usize], block: &mut [f64]| {
                    for (d, to) in rows.iter().zip(block.chunks_exact_mut(active.len())) {
                        let column = &columns[d * table.rows..(d + 1) * table.rows];
                        to.iter_mut().zip(active).zip(roots).for_each(|((to, &i), root)| *to = column[i] * root);
                    }
                };
                // Where it is stopped, an empty sum makes a step of no use, which nobody takes any more.
                weighted_gram(table.groups, active.len(), |d| weights[d], fetch, &problem.context.with_threads(threads))
                    .unwrap_or_else(|_| vec![0.0; active.len() * active.len()])
            });
        }
        // Lower triangle of sum_d s_d K_d, plus the switches' response where it belongs into the block.
        let grams = table.grams().expect("features or kernels");
        let n = table.rows;
        let images = &curve.u[task].0[table.groups * n..];
        let spread = if exact { &spread[..] } else { &[] };
        let mut gram = buffers::buffer(n * n);
        linalg::sum_weighted_symmetric(table.isa(), grams, &weights, images, spread, &mut gram);
        Self::by_sample(omega, weights, active, Some(gram), |active, roots, gram, _| {
            let gram = gram.expect("just formed");
            let mut out = buffers::buffer(active.len() * active.len());
            for (k, (to, &i)) in out.chunks_exact_mut(active.len()).zip(active).enumerate() {
                let (row, left) = (&gram[i * n..(i + 1) * n], roots[k]);
                if active.len() == n {
                    to[..=k].iter_mut().zip(row).zip(roots).for_each(|((to, value), right)| *to = value * left * right);
                } else {
                    to.iter_mut().zip(&active[..=k]).zip(roots).for_each(|((to, &j), right)| *to = row[j] * left * right);
                }
            }
            out
        })
    }

    pub fn by_feature(problem: &Problem<'_>, x: &[f64], stride: usize, omega: Vec<f64>, weights: Vec<f64>, threads: usize) -> Self {
        let groups = weights.len();
        let size = groups + 1;
        // The bias is one more feature, constant 1.
        let fetch = |rows: &[usize], block: &mut [f64]| {
            for (row, to) in rows.iter().zip(block.chunks_exact_mut(size)) {
                to[..groups].copy_from_slice(&x[row * stride..row * stride + groups]);
                to[groups] = 1.0;
            }
        };
        let mut matrix = weighted_gram(omega.len(), size, |i| omega[i], fetch, &problem.context.with_threads(threads))
            .unwrap_or_else(|_| vec![0.0; size * size]);
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        for (row, left) in matrix.chunks_exact_mut(size).zip(roots.iter().chain(&[1.0])) {
            row.iter_mut().zip(roots.iter().chain(&[1.0])).for_each(|(value, right)| *value *= left * right);
        }
        for d in 0..groups {
            matrix[d * size + d] += 1.0;
        }
        let last = &mut matrix[size * size - 1];
        *last += problem.stiffness();
        if *last <= 0.0 {
            *last = 1.0;
        }
        let factor = factored(size, || matrix.clone());
        Self { omega, weights, shape: Form::ByFeature { factor, roots } }
    }

    pub fn by_sample(
        omega: Vec<f64>,
        weights: Vec<f64>,
        active: Vec<usize>,
        gram: Option<Vec<f64>>,
        form: impl Fn(&[usize], &[f64], Option<&[f64]>, &[f64]) -> Vec<f64>,
    ) -> Self {
        let roots: Vec<f64> = active.iter().map(|&i| omega[i].sqrt()).collect();
        let n = active.len();
        let factor = factored(n, || {
            let mut matrix = form(&active, &roots, gram.as_deref(), &weights);
            (0..n).for_each(|i| matrix[i * n + i] += 1.0);
            matrix
        });
        let mut response = roots.clone();
        linalg::solve(&factor, n, &mut response);
        Self { omega, weights, shape: Form::BySample { factor, active, roots, response, gram } }
    }

    /// `d_alpha = given - omega (K d_alpha + shift + d_b)`, with the bias chosen by its own equation.
    pub fn solve(&self, problem: &Problem<'_>, table: &TaskTable, given: &[f64], shift: Shift<'_>, bias: f64) -> Part {
        let stiffness = problem.stiffness();
        match &self.shape {
            Form::ByFeature { roots, .. } | Form::Krylov { roots, .. } => {
                let groups = self.weights.len();
                let given: std::borrow::Cow<'_, [f64]> = match &shift {
                    Shift::Rest(..) => given.into(),
                    Shift::Scores(scores) => {
                        given.iter().zip(&self.omega).zip(*scores).map(|((given, omega), shift)| given - omega * shift).collect()
                    }
                };
                let mut right = table.embed(&given).0;
                right.truncate(groups);
                if let Shift::Rest(rest, ..) = shift {
                    right.iter_mut().zip(&rest.0).for_each(|(right, rest)| *right += rest);
                }
                right.iter_mut().zip(roots).for_each(|(right, root)| *right *= root);
                right.push(given.iter().sum::<f64>() + bias);
                self.solve_features(table, stiffness, &mut right, &|| problem.halted_after_pass());
                let db = right[groups];
                let mut weights = table.zero();
                weights.0.iter_mut().zip(&right[..groups]).zip(roots).for_each(|((to, x), root)| *to = x * root);
                let mut scores = table.scores(&weights);
                scores.iter_mut().for_each(|f| *f += db);
                let alpha: Vec<f64> = given.iter().zip(&self.omega).zip(&scores).map(|((given, omega), f)| given - omega * f).collect();
                match shift {
                    Shift::Rest(..) => {
                        // d_u = d_w / weight holds the disagreement already.
                        let sums = Element(
                            weights.0.iter().enumerate().map(|(d, w)| if d < groups { w / self.weights[d] } else { 0.0 }).collect(),
                        );
                        Part { alpha, scores, bias: db, sums: Some(sums), needs_rest: false }
                    }
                    Shift::Scores(shift) => {
                        scores.iter_mut().zip(shift).for_each(|(f, shift)| *f += shift);
                        Part { alpha, scores, bias: db, sums: None, needs_rest: true }
                    }
                }
            }
            Form::BySample { factor, active, roots, response, gram } => {
                let shifted = self.scores_of(table, given, &shift, gram.as_deref());
                let mut p: Vec<f64> = active.iter().zip(roots).map(|(&i, root)| -root * shifted[i]).collect();
                linalg::solve(factor, active.len(), &mut p);
                let total = |values: &[f64]| roots.iter().zip(values).map(|(root, value)| root * value).sum::<f64>();
                let room = total(response) + stiffness;
                let db = if room > 0.0 { (given.iter().sum::<f64>() + total(&p) + bias) / room } else { 0.0 };
                let mut alpha = given.to_vec();
                let mut scores = vec![0.0; given.len()];
                for (k, &i) in active.iter().enumerate() {
                    let value = p[k] - db * response[k];
                    alpha[i] += roots[k] * value;
                    scores[i] = -value / roots[k];
                }
                Part { alpha, scores, bias: db, sums: None, needs_rest: true }
            }
        }
    }

    /// The system in features and bias, in place.
    pub fn solve_features(&self, table: &TaskTable, stiffness: f64, right: &mut Vec<f64>, halted: &dyn Fn() -> bool) {
        match &self.shape {
            Form::ByFeature { factor, .. } => linalg::solve(factor, right.len(), right),
            Form::Krylov { chosen, roots, diagonal, accuracy } => {
                let (x, stride) = table.padded().expect("features");
                let groups = self.weights.len();
                let (mut scaled, mut image) = (vec![0.0; stride], vec![0.0; stride]);
                let apply = |v: &[f64]| {
                    scaled.iter_mut().zip(&v[..groups]).zip(roots).for_each(|((to, v), root)| *to = v * root);
                    let sum = padded::gram_product(table.isa(), x, stride, chosen, &scaled, v[groups], &mut image);
                    let mut out: Vec<f64> = image.iter().zip(roots).zip(v).map(|((image, root), v)| v + root * image).collect();
                    out.push(sum + stiffness * v[groups]);
                    out
                };
                *right = conjugate_gradients(right, Some(diagonal), *accuracy, KRYLOV_STEPS, halted, apply);
            }
            Form::BySample { .. } => unreachable!("systems of samples are solved elsewhere"),
        }
    }

    /// `K given + shift` at every sample.
    pub fn scores_of(&self, table: &TaskTable, given: &[f64], shift: &Shift<'_>, gram: Option<&[f64]>) -> Vec<f64> {
        let idle = given.iter().all(|&value| value == 0.0);
        match (shift, gram) {
            (Shift::Scores(scores), _) if idle => scores.to_vec(),
            (Shift::Scores(scores), Some(gram)) => {
                let mut out = scores.to_vec();
                linalg::add_symmetric(table.isa(), gram, given, &mut out);
                out
            }
            (Shift::Scores(scores), None) => {
                let mut out = table.scores(&table.scaled(|d| self.weights[d], &table.embed(given)));
                out.iter_mut().zip(*scores).for_each(|(out, shift)| *out += shift);
                out
            }
            (Shift::Rest(rest, u, products, state), Some(gram)) => {
                let mut change = table.scaled(|d| state[d].on, rest);
                table.add(&mut change, |d| state[d].on * state[d].off * products[d], u);
                let mut out = table.scores(&change);
                if !idle {
                    linalg::add_symmetric(table.isa(), gram, given, &mut out);
                }
                out
            }
            (Shift::Rest(rest, ..), None) => {
                let mut sums = if idle { table.zero() } else { table.embed(given) };
                table.add(&mut sums, |_| 1.0, rest);
                table.scores(&table.scaled(|d| self.weights[d], &sums))
            }
        }
    }
}

/// The Cholesky factor of a matrix whose eigenvalues are 1 or more but for rounding; a ridge is added until it exists.
fn factored(n: usize, form: impl Fn() -> Vec<f64>) -> Vec<f64> {
    if n == 0 {
        return Vec::new();
    }
    let mut factor = form();
    let mut ridge = 1e-13;
    while !linalg::cholesky(&mut factor, n) && ridge < 1.0 {
        factor = form();
        (0..n).for_each(|i| factor[i * n + i] *= 1.0 + ridge);
        ridge *= 100.0;
    }
    factor
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Form::BySample { factor, gram, .. } = &mut self.shape {
            buffers::give_back(std::mem::take(factor));
            gram.take().into_iter().for_each(buffers::give_back);
        }
    }
}
