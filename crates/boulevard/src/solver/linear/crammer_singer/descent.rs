//! One row at a time (the sequential dual method of Keerthi et al. 2008), with exactly free biases.
//!
//! The best shares of one row, the others fixed, are the projection of `share_i + z_i / |x_i|^2` onto the simplex of size `price_i`. As in
//! the descent for two classes, a small constant column gathers what the biases lack, and every second epoch they take it over; rows are
//! visited in a new random order each epoch, and those at rest are left out until the others are done.

use super::certificate::{Proof, prove};
use super::{Joint, Outcome};
use crate::data::Matrix;
use crate::error::Result;
use crate::observe::{Context, PIECE, Progress, StopReason, stopped};
use crate::random::Random;
use crate::solver::linear::table::LinearTable;

/// The constant column's square in units of the mean squared row.
const RHO: f64 = 0.03;
/// Epochs between two moves of the biases.
const BIAS_EPOCHS: usize = 2;
/// Rows visited at most, in units of all rows: more where they are few and cheap.
const MOST_EPOCHS: usize = 3000;

struct Descent<'a> {
    joint: &'a Joint<'a>,
    squares: Vec<f64>,
    /// By column, the classes side by side: a row's update touches neighbours.
    w: Vec<f64>,
    /// By row, the classes side by side.
    shares: Vec<f64>,
    biases: Vec<f64>,
    rho: f64,
    /// By class, the sum of `price [own] - share` over the rows.
    sums: Vec<f64>,
    /// Room for one dense row, one row of scores, new shares, and their order.
    row: Vec<f64>,
    scores: Vec<f64>,
    fresh: Vec<f64>,
    sorted: Vec<f64>,
}

/// Calls `visit` with the columns and values of a row.
#[inline(always)]
fn read_row(table: &LinearTable<'_>, row: usize, buffer: &mut [f64], constant: Option<f64>, mut visit: impl FnMut(usize, f64)) {
    if let Matrix::Sparse(x) = table.x() {
        let (columns, values) = x.row(row);
        columns.iter().zip(values).for_each(|(&j, &v)| visit(j as usize, v));
        if let Some(value) = constant {
            visit(x.columns(), value);
        }
    } else {
        table.copy_row(row, buffer);
        buffer.iter().enumerate().for_each(|(j, &v)| visit(j, v));
    }
}

impl<'a> Descent<'a> {
    fn new(joint: &'a Joint<'a>) -> Self {
        let (n, k, d) = (joint.rows(), joint.classes, joint.table.columns());
        let mut row = vec![0.0; d];
        let constant = joint.table.constant();
        let squares: Vec<f64> = (0..n)
            .map(|i| {
                let mut sum = 0.0;
                read_row(joint.table, i, &mut row, constant, |_, v| sum += v * v);
                sum
            })
            .collect();
        // At first nobody is taken for another class.
        let mut shares = vec![0.0; n * k];
        (0..n).for_each(|i| shares[i * k + joint.own(i)] = joint.prices[i]);
        let mean = squares.iter().sum::<f64>() / n.max(1) as f64;
        let rho = if joint.free_bias { (RHO * mean).max(f64::MIN_POSITIVE) } else { 0.0 };
        let room = || vec![0.0; k];
        Self {
            joint,
            squares,
            w: vec![0.0; d * k],
            shares,
            biases: room(),
            rho,
            sums: room(),
            row,
            scores: room(),
            fresh: room(),
            sorted: room(),
        }
    }

    /// Gives a row its best shares. Returns the violation found, negative where all of the price rests on one class with that much to
    /// spare.
    fn visit(&mut self, i: usize) -> f64 {
        let (k, table, price) = (self.joint.classes, self.joint.table, self.joint.prices[i]);
        let constant = table.constant();
        for m in 0..k {
            self.scores[m] = self.joint.cost(i, m) + self.biases[m] + self.rho * self.sums[m];
        }
        let (scores, w) = (&mut self.scores, &self.w);
        read_row(table, i, &mut self.row, constant, |j, v| {
            scores.iter_mut().zip(&w[j * k..(j + 1) * k]).for_each(|(s, w)| *s += v * w);
        });
        let shares = &mut self.shares[i * k..(i + 1) * k];
        let most = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let least = scores.iter().zip(&*shares).filter(|(_, share)| **share > 0.0).fold(f64::INFINITY, |a, (&s, _)| a.min(s));
        if let Some(only) = shares.iter().position(|&share| share == price)
            && scores[only] == most
        {
            // What this class is ahead of the next one.
            let next = scores.iter().enumerate().filter(|(m, _)| *m != only).fold(f64::NEG_INFINITY, |a, (_, &b)| a.max(b));
            return next - most;
        }
        let square = self.squares[i] + self.rho;
        if square > 0.0 {
            self.fresh.iter_mut().zip(&*shares).zip(&*scores).for_each(|((f, share), s)| *f = share + (s - most) / square);
            project(&mut self.fresh, price, &mut self.sorted);
        } else {
            let best = scores.iter().position(|&s| s == most).unwrap_or(0);
            self.fresh.fill(0.0);
            self.fresh[best] = price;
        }
        // Now the changes of the weights' factors, which are minus those of the shares.
        for m in 0..k {
            let change = shares[m] - self.fresh[m];
            shares[m] = self.fresh[m];
            self.sums[m] += change;
            self.fresh[m] = change;
        }
        if self.fresh.iter().any(|change| *change != 0.0) {
            let (changes, w) = (&self.fresh, &mut self.w);
            read_row(table, i, &mut self.row, constant, |j, v| {
                w[j * k..(j + 1) * k].iter_mut().zip(changes).for_each(|(w, change)| *w += v * change);
            });
        }
        most - least
    }

    /// Visits the `active` rows and leaves out those at rest with more to spare than `rest`.
    fn epoch(&mut self, active: &mut Vec<u32>, rest: f64, ask: impl Fn() -> Option<StopReason>) -> std::result::Result<f64, StopReason> {
        let (mut worst, mut kept, mut done) = (0.0f64, 0, 0);
        let work = 2 * self.joint.classes * (1 + self.joint.table.values_per_row());
        for place in 0..active.len() {
            done += work;
            if done > PIECE || place == 0 {
                done = 0;
                if let Some(asked) = ask() {
                    return Err(asked);
                }
            }
            let i = active[place];
            let violation = self.visit(i as usize);
            worst = worst.max(violation);
            if violation >= -rest {
                active[kept] = i;
                kept += 1;
            }
        }
        active.truncate(kept);
        Ok(worst)
    }

    fn proof(&self, table: &LinearTable<'_>) -> Result<Proof> {
        let (k, d) = (self.joint.classes, self.joint.table.columns());
        let weights = (0..k).flat_map(|m| (0..d).map(move |j| (m, j))).map(|(m, j)| self.w[j * k + m]).collect();
        let biases = self.biases.iter().zip(&self.sums).map(|(b, sum)| b + self.rho * sum).collect();
        prove(self.joint, table, weights, biases, self.shares.clone())
    }
}

/// The point of the simplex `{ v >= 0, sum v = size }` that is nearest to `v`.
fn project(v: &mut [f64], size: f64, sorted: &mut Vec<f64>) {
    sorted.clear();
    sorted.extend_from_slice(v);
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut level) = (-size, f64::NEG_INFINITY);
    for (place, value) in sorted.iter().enumerate() {
        if place > 0 && *value <= level {
            break;
        }
        sum += value;
        level = sum / (place + 1) as f64;
    }
    v.iter_mut().for_each(|v| *v = (*v - level).max(0.0));
    // A vertex exactly, where rounding would leave almost one: rows at rest are told by it.
    if let Some(only) = v.iter().position(|&v| v > 0.0)
        && v.iter().filter(|v| **v > 0.0).count() == 1
    {
        v[only] = size;
    }
}

// long: one loop with its bookkeeping, as in the descent for two classes.
pub(super) fn solve(joint: &Joint<'_>, tolerance: f64, context: &Context<'_>) -> Result<Outcome> {
    let mut state = Descent::new(joint);
    let mean = state.squares.iter().sum::<f64>() / joint.rows().max(1) as f64;
    let everyone: Vec<u32> = (0..joint.rows() as u32).collect();
    let mut active = everyone.clone();
    let mut random = Random::new(0, 0);
    let mut target = (100.0 * tolerance).min(0.1);
    let (mut rest, mut epochs, mut imbalance) = (f64::INFINITY, 0u64, f64::INFINITY);
    let mut best: Option<Proof> = None;
    let mut stop = StopReason::MaxIterations;
    for epoch in 0..MOST_EPOCHS {
        random.shuffle(&mut active);
        let progress = Progress { stage: "solve", done: epochs, total: None, violation: Some(rest.min(1e300)), tolerance: Some(target) };
        let worst = match state.epoch(&mut active, rest, || context.check(&progress)) {
            Ok(worst) => worst,
            Err(asked) => {
                stop = asked;
                break;
            }
        };
        epochs += 1;
        rest = if worst > 0.0 { worst } else { f64::INFINITY };
        if joint.free_bias && epoch % BIAS_EPOCHS == BIAS_EPOCHS - 1 {
            state.biases.iter_mut().zip(&state.sums).for_each(|(bias, sum)| *bias += state.rho * sum);
        }
        if worst > target {
            continue;
        }
        let proof = match stopped(state.proof(joint.table))? {
            Ok(proof) => proof,
            Err(reason) => {
                stop = reason;
                break;
            }
        };
        let gap = proof.relative();
        if best.as_ref().is_none_or(|best| proof.gap < best.gap) {
            best = Some(proof);
        }
        if gap <= tolerance {
            stop = StopReason::Converged;
            break;
        }
        // The biases lag behind: let the column carry more.
        let total: f64 = joint.prices.iter().sum();
        let now = state.sums.iter().map(|sum| sum.abs()).sum::<f64>() / total.max(f64::MIN_POSITIVE);
        if joint.free_bias && now > 0.5 * imbalance && state.rho < mean {
            state.rho *= 3.0;
        }
        imbalance = now;
        if target < 1e-13 {
            break;
        }
        target *= if gap < 10.0 * tolerance { 0.3 } else { 0.1 };
        active.clone_from(&everyone);
        rest = f64::INFINITY;
    }
    let proof = match (best, stop) {
        (Some(best), StopReason::Converged) => best,
        (best, _) => {
            // Passes that nobody stops: without them the last epochs would be lost.
            let last = state.proof(&joint.table.undisturbed())?;
            best.filter(|best| best.gap < last.gap).unwrap_or(last)
        }
    };
    Ok(Outcome { proof, iterations: epochs, stop, method: "sequential dual" })
}
