//! The comparison of widths: a coarse front for each, judged on the same hold-outs, in rounds that leave fewer and fewer of them.
//!
//! A hold-out is the whole problem with no room for the rows held out, so that one kernel matrix per width serves all hold-outs, and what
//! a point says about a row held out is its gradient. Points are machines at values of C where the front has them (an intercept, a
//! positive semi-definite kernel), else shares of the largest sum, spaced by ratios: the interesting end of a front is the small one. One
//! or two hold-outs are judged for every width, the others only for two or three that may still be the best.
//!
//! Kernels that are not positive semi-definite have widths at which they fail, and errors that jump from one to the next: the luckiest of
//! five is then often a bad one. The kernel's own width stays unless another is better by a standard error of the difference. (On nine IDA
//! sets with three such kernels, two splits each, the mean error was 17.2 at the own width, 15.5 at the lowest estimate and 15.2 by this
//! rule, and the worst of the 27 means was 1.3 points above the own width's instead of 5.2.) Their machines are local minima at values of C
//! too, as a plain machine's are, twice as many, and what picks the point: see `family::curve`. Where rows are few they
//! are judged by several orders of hold-outs, because the pick is what costs most there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exact::costs::{CostTask, costs};
use super::exact::signed::SignedKernel;
use super::exact::slots::{MANY, Slot};
use super::family::{HeldOut, OfClass, WidthFront, curve, estimates, indistinct, joint, width};
use super::fronts::signs;
use super::judge::{self, Judged};
use super::parameters::{Mode, ParetoSvc};
use super::point::{FrontPoint, facts};
use super::rise::Rise;
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::{Kernel, weighted_sum_watched};
use crate::metrics::pareto::hypervolume;
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::solver::{KernelSource, Solver, TableKernel};
use crate::svm::content_key;

/// Positions of a coarse front: shares of the largest sum, falling.
const SHARES: [f64; 10] = [1.0, 0.78, 0.59, 0.43, 0.31, 0.21, 0.14, 0.085, 0.045, 0.018];
/// The largest C that is of interest: on columns of comparable scale nothing is gained beyond.
const MOST_C: f64 = 2000.0;
/// Relative KKT gap of a coarse point: errors do not change below that.
const TOLERANCE: f64 = 1e-3;
/// KKT violation of a coarse machine in units of its margin. A grid search solves to a tenth of that; what a point says about rows held
/// out is the same but for a row in hundreds, which means over neighbors and hold-outs do not notice.
const COST_TOLERANCE: f64 = 1e-2;
/// Rows up to which every width's matrix is kept while widths are compared: 8 MB each.
const KEPT_UP_TO: usize = 1000;
/// How many more hold-outs the widths of each round are judged by, and how many widths go on to the next round at most.
const ROUNDS: &[(usize, usize)] = &[(1, 3), (1, 2), (usize::MAX >> 1, 1)];
/// The same for tables of so many rows, where the fine front is the smaller part of the work: a width that was lucky once is not enough. (On
/// eight other sets, five splits each, two finalists instead of three chose another width twice and erred 11.47 % instead of 11.48.)
const SEVERAL: usize = 500;
const ROUNDS_OF_SEVERAL: &[(usize, usize)] = &[(2, 2), (usize::MAX >> 1, 1)];
/// Rows that judge kernels that are not positive semi-definite, in as many orders of hold-outs as that takes, but not more than so many. On
/// 63 pairs of other sets and such kernels (80 to 300 rows, six splits), a C from 15 values was 0.16 points (standard error 0.06) better
/// than one from 8 values and one order, as a grid search picks it; with two or three orders 0.32 (0.08), and with six another 0.06.
const ROWS_OF_INDEFINITE: usize = 1800;
const MOST_ORDERS: usize = 6;

/// One width on some hold-outs.
struct Surveyed {
    /// Per hold-out its points, by rising sum.
    held: Vec<HeldOut>,
    iterations: u64,
    stop: StopReason,
}

impl Surveyed {
    /// More hold-outs of the same width.
    fn add(&mut self, more: Self) {
        self.iterations += more.iterations;
        self.stop = self.stop.worst(more.stop);
        if !more.stop.is_cut_short() {
            self.held.extend(more.held);
        }
    }
}

/// What is kept of a width from round to round.
enum Kept<'a> {
    /// The matrix with the labels' signs in it.
    Matrix(Box<SignedKernel<'a>>),
    /// A solver with its rows.
    Solver(Box<Mutex<Solver<'a>>>),
}

/// A solver that is kept, or one for the moment.
enum OwnOrKept<'k, 'a> {
    Own(Box<Solver<'k>>),
    Kept(MutexGuard<'k, Solver<'a>>),
}

/// What a survey found.
pub(super) struct Survey {
    pub family: Vec<WidthFront>,
    /// The place of the width with the lowest estimate.
    pub chosen: usize,
    /// The smallest share of the largest sum that its coarse front reaches.
    pub floor: f64,
    /// The coarse fronts of that width on the hold-outs after the first; none where the survey did not see all rows or was cut short.
    pub others: Option<Vec<Vec<FrontPoint>>>,
    /// Held-out errors of that width against `ln C`, where machines at values of C are what picks the point.
    pub curve: Option<Vec<(f64, f64)>>,
    pub iterations: u64,
    pub stop: StopReason,
}

/// The coarse fronts of all widths, and what the held-out rows say of them.
fn family(kernels: &[Kernel], found: &[Surveyed]) -> Result<Vec<WidthFront>> {
    let largest = |point: &FrontPoint| point.quadratic;
    let reference = found.iter().flat_map(|own| &own.held[0].front).map(largest).fold(f64::NEG_INFINITY, f64::max);
    let mut family = Vec::new();
    for (kernel, own) in kernels.iter().zip(found) {
        let (front, estimates) = estimates(&own.held);
        let points: Vec<[f64; 2]> = front.iter().map(|point| [point.sum_alpha, -point.quadratic]).collect();
        family.push(WidthFront {
            gamma: width(kernel),
            hypervolume: hypervolume(&points, &[0.0, -reference])?,
            holdouts: own.held.len(),
            front,
            estimates,
        });
    }
    Ok(family)
}

impl ParetoSvc {
    /// Judges all `kernels`, which differ in gamma only. Of large tables it sees a part: widths need no more to be told apart.
    pub(super) fn survey_in(&self, data: &Dataset<'_>, kernels: &[Kernel], context: &Context<'_>) -> Result<Survey> {
        let splits = |data: &Dataset<'_>| -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
            let more = self.picks_by_cost() && self.holdout_repeats > 1;
            let orders = if more { (ROWS_OF_INDEFINITE / data.len().max(1)).clamp(1, MOST_ORDERS) } else { 1 };
            judge::hold_outs(data, self.holdout, self.seed, orders * self.holdout_repeats, context)
        };
        if data.len() <= MANY {
            return self.survey(data, kernels, &splits(data)?, context);
        }
        let codes = data.expect_classes()?.codes();
        let mut meter = context.meter("hold out");
        let mut order: Vec<(u32, u64, usize)> =
            (0..data.len()).map(|row| Ok((codes[row], content_key(&data.x, row, self.seed, &mut meter)?, row))).collect::<Result<_>>()?;
        order.sort_unstable();
        let mut rows: Vec<usize> = Vec::new();
        for of_class in order.chunk_by(|a, b| a.0 == b.0) {
            let share = (of_class.len() * MANY).div_ceil(data.len()).max(of_class.len().min(2));
            rows.extend(of_class[..share].iter().map(|key| key.2));
        }
        rows.sort_unstable();
        let part = data.select(&rows);
        let survey = self.survey(&part, kernels, &splits(&part)?, context)?;
        Ok(Survey { others: None, curve: None, ..survey })
    }

    /// Judges all `kernels` on `splits` of the rows of `data`.
    fn survey(&self, data: &Dataset<'_>, kernels: &[Kernel], splits: &[(Vec<usize>, Vec<usize>)], context: &Context<'_>) -> Result<Survey> {
        // The matrices of small tables are kept from round to round: computing them would cost as much as the solutions.
        let classes = data.expect_classes()?;
        let by_cost = self.balanced();
        let costs = if self.picks_by_cost() { Some(self.common_costs(data, context)?) } else { None };
        let kept = (by_cost || classes.names().len() == 2) && data.len() <= KEPT_UP_TO && context.memory.is_none();
        let of_two = signs(classes.codes(), 1);
        let (inner, cache) = (context.with_threads(1), self.cache_bytes(data.len()));
        let tables: Vec<TableKernel<'_>> =
            kernels.iter().filter(|_| kept).map(|kernel| TableKernel::new(kernel, &data.x, context)).collect();
        let kept: Vec<Kept<'_>> = tables
            .iter()
            .map(|table| match by_cost {
                true => Ok(Kept::Solver(Box::new(Mutex::new(Solver::new(table, Some(cache), &inner)?.shared())))),
                false => Ok(Kept::Matrix(Box::new(SignedKernel::new(table, &of_two, cache, context)))),
            })
            .collect::<Result<_>>()?;
        let mut found: Vec<Surveyed> = Vec::new();
        let mut finalists: Vec<usize> = (0..kernels.len()).collect();
        let weights = data.weights_or_ones();
        let cut = |found: &[Surveyed]| found.iter().any(|own| own.stop.is_cut_short());
        let mut judged = 0;
        let definite = is_definite(&kernels[0]);
        let own = if definite { None } else { self.own_width(data, kernels)? };
        // One order of the rows for all widths, the others for the best and the kernel's own.
        let of_indefinite = [(self.holdout_repeats, 1), (usize::MAX >> 1, 1)];
        let rounds = match definite {
            false => &of_indefinite[..],
            true if by_cost && data.len() >= SEVERAL => ROUNDS_OF_SEVERAL,
            true => ROUNDS,
        };
        for &(count, keep) in rounds {
            let until = (judged + count).min(splits.len());
            if until == judged || cut(&found) {
                break;
            }
            let alive: Vec<(&Kernel, Option<&Kept<'_>>)> = finalists.iter().map(|&i| (&kernels[i], kept.get(i))).collect();
            let more = self.judge_widths(data, &alive, costs.as_deref(), &splits[judged..until], context)?;
            if found.is_empty() {
                found = more;
            } else {
                finalists.iter().zip(more).for_each(|(&place, more)| found[place].add(more));
            }
            judged = until;
            let rows: f64 = splits[..judged].iter().flat_map(|(_, test)| test).map(|&row| weights[row]).sum();
            let lowest: Vec<f64> = found.iter().map(|own| estimates(&own.held).1.iter().copied().fold(f64::INFINITY, f64::min)).collect();
            finalists.sort_by(|&a, &b| lowest[a].total_cmp(&lowest[b]).then(a.cmp(&b)));
            let best = lowest[finalists[0]];
            let reach = best + 2.0 * (best * (1.0 - best) / rows.max(1.0)).sqrt();
            finalists.retain(|&i| lowest[i] <= reach);
            let stays = own.filter(|own| finalists.iter().skip(keep).any(|i| i == own));
            finalists.truncate(keep);
            finalists.extend(stays);
        }
        let family = family(kernels, &found)?;
        let chosen = finalists.iter().copied().min_by(|&a, &b| family[a].lowest().total_cmp(&family[b].lowest()).then(a.cmp(&b)));
        let mut chosen = chosen.unwrap_or(0);
        if let Some(own) = own.filter(|own| finalists.contains(own)) {
            let of_rows = |(_, test): &(Vec<usize>, Vec<usize>)| test.iter().map(|&row| weights[row]).collect();
            let of_rows: Vec<Vec<f64>> = splits.iter().map(of_rows).collect();
            if indistinct(&found[own].held, &found[chosen].held, &of_rows, weights.iter().sum()) {
                chosen = own;
            }
        }
        let ends = family[chosen].front.first().zip(family[chosen].front.last());
        let floor = ends.map_or(0.0, |(first, last)| if last.sum_alpha > 0.0 { first.sum_alpha / last.sum_alpha } else { 0.0 });
        Ok(Survey {
            // The last steps between shares are long: where that front was not cut short the fine one goes to the end.
            floor: if !by_cost && floor <= 1.01 * SHARES[SHARES.len() - 1] { 0.0 } else { floor },
            curve: costs.filter(|_| !cut(&found)).map(|costs| curve(&found[chosen].held, &costs)),
            chosen,
            others: (!cut(&found)).then(|| found[chosen].held[1..].iter().map(|held| held.front.clone()).collect()),
            iterations: found.iter().map(|own| own.iterations).sum(),
            stop: found.iter().fold(StopReason::Converged, |worst, own| worst.worst(own.stop)),
            family,
        })
    }

    /// The place of the width that the kernel has by its own rule.
    fn own_width(&self, data: &Dataset<'_>, kernels: &[Kernel]) -> Result<Option<usize>> {
        let own = width(&self.kernel.resolve(&data.x, data.weights.as_deref())?);
        Ok(kernels.iter().position(|other| (width(other) / own - 1.0).abs() < 1e-6))
    }

    /// Values of C of the coarse points of all widths where machines at values of C pick the point. A diagonal says nothing about the size
    /// of values that may be negative: it is the distance of rows in the space of the kernel's own width that counts.
    fn common_costs(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let own = self.kernel.resolve(&data.x, data.weights.as_deref())?.similarity();
        Ok(costs(spread(&TableKernel::new(&own, &data.x, context), context)?, true))
    }

    fn judge_widths(
        &self,
        data: &Dataset<'_>,
        kernels: &[(&Kernel, Option<&Kept<'_>>)],
        costs: Option<&[f64]>,
        splits: &[(Vec<usize>, Vec<usize>)],
        context: &Context<'_>,
    ) -> Result<Vec<Surveyed>> {
        // Every width has its own matrix: where memory is limited they come one after the other.
        let threads = if context.memory.is_some() { 1 } else { context.threads.min(kernels.len()) };
        let inner = if threads > 1 { context.with_threads(1) } else { *context };
        let coarse = Self { tolerance: self.tolerance.max(TOLERANCE), ..self.clone() };
        parallel::map(threads, kernels.len(), |k| coarse.judge_width(data, kernels[k], costs, splits, &inner)).into_iter().collect()
    }

    /// Whether machines at values of C are what picks the point, and what the picked point is solved as again: kernels that are known not
    /// to be positive semi-definite. (A given matrix that is one should say the same as its kernel.)
    pub(super) fn picks_by_cost(&self) -> bool {
        self.balanced() && self.mode != Mode::Evolve && self.kernel.is_positive_semidefinite() == Some(false)
    }

    /// Coarse fronts of one width on all `splits`.
    fn judge_width(
        &self,
        data: &Dataset<'_>,
        (kernel, kept): (&Kernel, Option<&Kept<'_>>),
        common: Option<&[f64]>,
        splits: &[(Vec<usize>, Vec<usize>)],
        context: &Context<'_>,
    ) -> Result<Surveyed> {
        let classes = data.expect_classes()?;
        let (codes, count, n) = (classes.codes(), classes.names().len(), data.len());
        let weights = data.weights_or_ones();
        let table = TableKernel::new(kernel, &data.x, context);
        let mut surveyed = Surveyed { held: Vec::new(), iterations: 0, stop: StopReason::Converged };
        // Per split and machine: facts and decisions about the rows held out, by rising sum.
        let mut judged: Vec<Vec<OfClass>> = vec![Vec::new(); splits.len()];
        let (balanced, cache) = (self.balanced(), self.cache_bytes(n));
        let mut solver = match kept {
            Some(Kept::Solver(kept)) => Some(OwnOrKept::Kept(kept.lock().unwrap_or_else(PoisonError::into_inner))),
            _ if balanced => Some(OwnOrKept::Own(Box::new(Solver::new(&table, Some(cache), context)?.shared()))),
            _ => None,
        };
        // Points twice as near to each other rise twice as often before it is for good.
        let (costs, enough) = match common {
            Some(common) => (common.to_vec(), 4),
            None => (costs(mean(&table.diagonal()?), false), 2),
        };
        for class in if count == 2 { 1..2 } else { 0..count } {
            let signs = signs(codes, class);
            let own = SignedKernel::new(&table, &signs, cache, context);
            let source: &dyn KernelSource = match kept {
                Some(Kept::Matrix(kept)) => &**kept,
                _ => &own,
            };
            for ((train, test), judged) in splits.iter().zip(&mut judged) {
                let mut room = vec![0.0; n];
                train.iter().for_each(|&row| room[row] = weights[row]);
                let has = |side: f64| train.iter().any(|&row| signs[row] == side);
                if !has(1.0) || !has(-1.0) {
                    continue;
                }
                let task = self.task(source, &signs, &room, balanced, context);
                let mut rise = Rise::new(test.iter().map(|&row| weights[row]).sum(), enough);
                let mut go_on = |slot: &Slot| {
                    let bias = facts(&slot.alpha, &slot.gradient, &signs, &room, balanced).bias;
                    let wrong = |row: usize| (signs[row] * slot.gradient[row] + bias > 0.0) != (signs[row] > 0.0);
                    rise.go_on(test.iter().filter(|&&row| wrong(row)).map(|&row| weights[row]).sum())
                };
                let slots = if let Some(solver) = &mut solver {
                    let tolerance = self.tolerance.max(COST_TOLERANCE);
                    let task = CostTask { signs: &signs, room: &room, tolerance, max_iterations: task.max_iterations };
                    match solver {
                        OwnOrKept::Own(solver) => task.sweep(solver, &costs, &mut go_on, context)?,
                        OwnOrKept::Kept(solver) => task.sweep(solver, &costs, &mut go_on, context)?,
                    }
                } else {
                    task.sweep_at(&SHARES, MOST_C, &mut go_on, Some(cache), context)?
                };
                surveyed.iterations += slots.iter().map(|slot| slot.iterations).sum::<u64>();
                // Digits that a machine lacks after it has been judged are no shortcoming of the fit.
                let stops = slots.iter().map(|slot| slot.stop).filter(|stop| *stop != StopReason::Rounding);
                surveyed.stop = stops.fold(surveyed.stop, StopReason::worst);
                let told = |Slot { alpha, gradient, .. }: &Slot| {
                    let facts = facts(alpha, gradient, &signs, &room, balanced);
                    let scale = if facts.lambda > 0.0 { 1.0 / facts.lambda } else { 1.0 };
                    let said = test.iter().map(|&row| scale * (signs[row] * gradient[row] + facts.bias)).collect();
                    (facts, said)
                };
                judged.push((class, slots.iter().map(told).collect()));
                if surveyed.stop.is_cut_short() {
                    break;
                }
            }
        }
        for ((_, test), machines) in splits.iter().zip(judged) {
            let held: Vec<u32> = test.iter().map(|&row| codes[row]).collect();
            let of_rows: Vec<f64> = test.iter().map(|&row| weights[row]).collect();
            surveyed.held.push(joint(&machines, Judged { x: &data.x, codes: &held, weights: &of_rows }, count));
        }
        Ok(surveyed)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether the kernel is known to be positive semi-definite.
fn is_definite(kernel: &Kernel) -> bool {
    kernel.is_positive_semidefinite() == Some(true)
}

/// Half the mean squared distance of two rows in the space of the kernel, to the nearest power of 4: the usual values of C stay what they
/// are at the usual scales.
fn spread(table: &TableKernel<'_>, context: &Context<'_>) -> Result<f64> {
    let n = table.len();
    let order: Vec<usize> = (0..n).collect();
    let sums = weighted_sum_watched(table.double()?, &order, &vec![1.0; n], 0..n, context)?;
    let half = mean(&table.diagonal()?) - sums.iter().sum::<f64>() / (n * n).max(1) as f64;
    Ok(if half.abs() > 0.0 && half.is_finite() { 4f64.powf(half.abs().log(4.0).round()) } else { 1.0 })
}
