//! Several widths of the kernel at once: a coarse front for each, judged on the same hold-outs, and which width is worth a fine one.
//!
//! A hold-out is the whole problem with no room for the rows held out, so that one kernel matrix per width serves all hold-outs, and what
//! a point says about a row held out is its gradient. Positions are shares of the largest sum, spaced by ratios: the interesting end of a
//! front is the small one. One hold-out is judged for every width, another for the better half, the others only for two that may still be
//! the best.

use super::exact::signed::SignedKernel;
use super::exact::slots::{MANY, Slot};
use super::judge::{self, Judged, weighted_share};
use super::learner::{ParetoSvc, signs};
use super::model::ParetoModel;
use super::point::{Facts, FrontPoint, facts};
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::metrics::pareto::{hypervolume, non_dominated_ranks};
use crate::observe::{Context, StopReason};
use crate::parallel;
use crate::solver::{KernelSource, TableKernel};
use crate::svm::{argmax, content_key};

/// The points of one class's front, each with what it says about the held-out rows.
type OfClass = (usize, Vec<(Facts, Vec<f64>)>);

/// The coarse front of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct WidthFront {
    /// The kernel's gamma.
    pub gamma: f64,
    /// Its points, by rising sum, from the rows that the fine front learns from; hold-out errors are those of the
    /// first hold-out, training errors of several classes the mean of the machines' own.
    pub front: Vec<FrontPoint>,
    /// Estimates of the hold-out error, one per point: means over hold-outs and neighboring points.
    pub estimates: Vec<f64>,
    /// Hold-outs that were judged.
    pub holdouts: usize,
    /// The area that the front covers, from sum 0 and the largest quadratic term of all widths.
    pub hypervolume: f64,
}

impl WidthFront {
    /// The lowest estimate.
    pub fn lowest(&self) -> f64 {
        self.estimates.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A point of the common front: the place of its width, the place on that width's front, and the point.
pub type CommonPoint = (usize, usize, FrontPoint);

impl ParetoModel {
    /// The points of all widths that no other is better than in both objectives, by rising sum.
    pub fn common_front(&self) -> Result<Vec<CommonPoint>> {
        let all: Vec<CommonPoint> = self
            .family
            .iter()
            .enumerate()
            .flat_map(|(width, own)| own.front.iter().enumerate().map(move |(place, point)| (width, place, *point)))
            .collect();
        let objectives: Vec<[f64; 2]> = all.iter().map(|(.., point)| [point.sum_alpha, -point.quadratic]).collect();
        let ranks = non_dominated_ranks(&objectives)?;
        let mut common: Vec<CommonPoint> = all.into_iter().zip(ranks).filter(|(_, rank)| *rank == 0).map(|(point, _)| point).collect();
        common.sort_by(|a, b| a.2.sum_alpha.total_cmp(&b.2.sum_alpha));
        Ok(common)
    }

    /// The place of the width that was chosen, where there were several.
    pub fn chosen_width(&self) -> Option<usize> {
        let lowest = |i: &usize| self.family[*i].lowest();
        let full = self.family.iter().map(|own| own.holdouts).max()?;
        (0..self.family.len()).filter(|&i| self.family[i].holdouts == full).min_by(|a, b| lowest(a).total_cmp(&lowest(b)))
    }
}

/// Positions of a coarse front: shares of the largest sum, falling.
const SHARES: [f64; 10] = [1.0, 0.78, 0.59, 0.43, 0.31, 0.21, 0.14, 0.085, 0.045, 0.018];
/// The largest C that is of interest: on columns of comparable scale nothing is gained beyond.
const MOST_C: f64 = 2000.0;
/// Relative KKT gap of a coarse point: errors do not change below that.
const TOLERANCE: f64 = 1e-3;
/// Rows up to which every width's matrix is kept while widths are compared: 8 MB each.
const KEPT_UP_TO: usize = 1000;
/// How many more hold-outs the widths of each round are judged by, and how many widths go on to the next round at most.
const ROUNDS: [(usize, usize); 3] = [(1, 3), (1, 2), (usize::MAX >> 1, 1)];

/// One width on some hold-outs.
struct Surveyed {
    /// Per hold-out its points, by rising sum.
    fronts: Vec<Vec<FrontPoint>>,
    iterations: u64,
    stop: StopReason,
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
    pub iterations: u64,
    pub stop: StopReason,
}

impl ParetoSvc {
    /// Judges all `kernels`, which differ in gamma only. Of large tables it sees a part: widths need no more to be told apart.
    pub(super) fn survey_in(&self, data: &Dataset<'_>, kernels: &[Kernel], context: &Context<'_>) -> Result<Survey> {
        let splits = |data: &Dataset<'_>| -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
            (0..self.holdout_repeats).map(|repeat| judge::hold_out(data, self.holdout, self.seed, repeat, context)).collect()
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
        Ok(Survey { others: None, ..survey })
    }

    /// Judges all `kernels` on `splits` of the rows of `data`.
    fn survey(&self, data: &Dataset<'_>, kernels: &[Kernel], splits: &[(Vec<usize>, Vec<usize>)], context: &Context<'_>) -> Result<Survey> {
        // The matrices of small two-class tables are kept from round to round: computing them would cost as much as the solutions.
        let classes = data.expect_classes()?;
        let kept = classes.names().len() == 2 && data.len() <= KEPT_UP_TO && context.memory.is_none();
        let of_two = signs(classes.codes(), 1);
        let tables: Vec<TableKernel<'_>> =
            kernels.iter().filter(|_| kept).map(|kernel| TableKernel::new(kernel, &data.x, context)).collect();
        let sources: Vec<SignedKernel<'_>> =
            tables.iter().map(|table| SignedKernel::new(table, &of_two, self.cache_bytes(data.len()), context)).collect();
        let mut found: Vec<Surveyed> = Vec::new();
        let mut finalists: Vec<usize> = (0..kernels.len()).collect();
        let weights = data.weights_or_ones();
        let cut = |found: &[Surveyed]| found.iter().any(|own| own.stop.is_cut_short());
        let mut judged = 0;
        for (count, keep) in ROUNDS {
            let until = (judged + count).min(splits.len());
            if until == judged || cut(&found) {
                break;
            }
            let alive: Vec<(&Kernel, Option<&SignedKernel<'_>>)> = finalists.iter().map(|&i| (&kernels[i], sources.get(i))).collect();
            let more = self.judge_widths(data, &alive, &splits[judged..until], context)?;
            if found.is_empty() {
                found = more;
            } else {
                for (&place, more) in finalists.iter().zip(more) {
                    let own = &mut found[place];
                    own.iterations += more.iterations;
                    own.stop = own.stop.worst(more.stop);
                    if !more.stop.is_cut_short() {
                        own.fronts.extend(more.fronts);
                    }
                }
            }
            judged = until;
            let rows: f64 = splits[..judged].iter().flat_map(|(_, test)| test).map(|&row| weights[row]).sum();
            let lowest: Vec<f64> = found.iter().map(|own| estimates(&own.fronts).1.iter().copied().fold(f64::INFINITY, f64::min)).collect();
            finalists.sort_by(|&a, &b| lowest[a].total_cmp(&lowest[b]).then(a.cmp(&b)));
            let best = lowest[finalists[0]];
            let reach = best + 2.0 * (best * (1.0 - best) / rows.max(1.0)).sqrt();
            finalists.retain(|&i| lowest[i] <= reach);
            finalists.truncate(keep);
        }
        let largest = |point: &FrontPoint| point.quadratic;
        let reference = found.iter().flat_map(|own| &own.fronts[0]).map(largest).fold(f64::NEG_INFINITY, f64::max);
        let mut family = Vec::new();
        for (kernel, own) in kernels.iter().zip(&found) {
            let (front, estimates) = estimates(&own.fronts);
            let points: Vec<[f64; 2]> = front.iter().map(|point| [point.sum_alpha, -point.quadratic]).collect();
            family.push(WidthFront {
                gamma: width(kernel),
                hypervolume: hypervolume(&points, &[0.0, -reference])?,
                holdouts: own.fronts.len(),
                front,
                estimates,
            });
        }
        let chosen = finalists.iter().copied().min_by(|&a, &b| family[a].lowest().total_cmp(&family[b].lowest()).then(a.cmp(&b)));
        let chosen = chosen.unwrap_or(0);
        let ends = family[chosen].front.first().zip(family[chosen].front.last());
        let floor = ends.map_or(0.0, |(first, last)| if last.sum_alpha > 0.0 { first.sum_alpha / last.sum_alpha } else { 0.0 });
        Ok(Survey {
            // The coarse front's last steps are long: where it was not cut short the fine one goes to the end.
            floor: if floor <= 1.01 * SHARES[SHARES.len() - 1] { 0.0 } else { floor },
            chosen,
            others: (!cut(&found)).then(|| found[chosen].fronts[1..].to_vec()),
            iterations: found.iter().map(|own| own.iterations).sum(),
            stop: found.iter().fold(StopReason::Converged, |worst, own| worst.worst(own.stop)),
            family,
        })
    }

    fn judge_widths(
        &self,
        data: &Dataset<'_>,
        kernels: &[(&Kernel, Option<&SignedKernel<'_>>)],
        splits: &[(Vec<usize>, Vec<usize>)],
        context: &Context<'_>,
    ) -> Result<Vec<Surveyed>> {
        // Every width has its own matrix: where memory is limited they come one after the other.
        let threads = if context.memory.is_some() { 1 } else { context.threads.min(kernels.len()) };
        let inner = if threads > 1 { context.with_threads(1) } else { *context };
        let coarse = Self { tolerance: self.tolerance.max(TOLERANCE), ..self.clone() };
        parallel::map(threads, kernels.len(), |k| coarse.judge_width(data, kernels[k], splits, &inner)).into_iter().collect()
    }

    /// Coarse fronts of one width on all `splits`.
    fn judge_width(
        &self,
        data: &Dataset<'_>,
        (kernel, kept): (&Kernel, Option<&SignedKernel<'_>>),
        splits: &[(Vec<usize>, Vec<usize>)],
        context: &Context<'_>,
    ) -> Result<Surveyed> {
        let classes = data.expect_classes()?;
        let (codes, count, n) = (classes.codes(), classes.names().len(), data.len());
        let weights = data.weights_or_ones();
        let table = TableKernel::new(kernel, &data.x, context);
        let mut surveyed = Surveyed { fronts: Vec::new(), iterations: 0, stop: StopReason::Converged };
        // Per split and machine: facts and decisions about the rows held out, by rising sum.
        let mut judged: Vec<Vec<OfClass>> = vec![Vec::new(); splits.len()];
        for class in if count == 2 { 1..2 } else { 0..count } {
            let signs = signs(codes, class);
            let own = SignedKernel::new(&table, &signs, self.cache_bytes(n), context);
            let source: &dyn KernelSource = match kept {
                Some(kept) => kept,
                None => &own,
            };
            for ((train, test), judged) in splits.iter().zip(&mut judged) {
                let mut room = vec![0.0; n];
                train.iter().for_each(|&row| room[row] = weights[row]);
                let has = |side: f64| train.iter().any(|&row| signs[row] == side);
                if !has(1.0) || !has(-1.0) {
                    continue;
                }
                let task = self.task(source, &signs, &room, self.balanced(), context);
                let mut rise = Rise::new(test.iter().map(|&row| weights[row]).sum());
                let mut go_on = |slot: &Slot| {
                    let bias = facts(&slot.alpha, &slot.gradient, &signs, &room, task.balanced).bias;
                    let wrong = |row: usize| (signs[row] * slot.gradient[row] + bias > 0.0) != (signs[row] > 0.0);
                    rise.go_on(test.iter().filter(|&&row| wrong(row)).map(|&row| weights[row]).sum())
                };
                let slots = task.sweep_at(&SHARES, MOST_C, &mut go_on, Some(self.cache_bytes(n)), context)?;
                surveyed.iterations += slots.iter().map(|slot| slot.iterations).sum::<u64>();
                surveyed.stop = slots.iter().fold(surveyed.stop, |worst, slot| worst.worst(slot.stop));
                let told = |Slot { alpha, gradient, .. }: &Slot| {
                    let facts = facts(alpha, gradient, &signs, &room, task.balanced);
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
            surveyed.fronts.push(joint(&machines, Judged { x: &data.x, codes: &held, weights: &of_rows }, count));
        }
        Ok(surveyed)
    }
}

/// Watches the held-out error along a sweep towards small sums, and says when it has risen for good.
///
/// Small sums are the dear ones, and beyond the valley of the error they decide nothing.
struct Rise {
    /// What the held-out rows weigh.
    total: f64,
    lowest: f64,
    /// Points in a row whose error is clearly above the lowest.
    above: usize,
}

impl Rise {
    /// Standard errors above the lowest that count as clear.
    const CLEAR: f64 = 2.0;
    /// Points in a row after which it is for good.
    const ENOUGH: usize = 2;

    fn new(total: f64) -> Self {
        Self { total, lowest: f64::INFINITY, above: 0 }
    }

    /// Whether to go on after a point that is wrong about rows of this weight.
    fn go_on(&mut self, wrong: f64) -> bool {
        let share = wrong / self.total.max(f64::MIN_POSITIVE);
        self.lowest = self.lowest.min(share);
        // One row at least: a lowest error of nothing has no spread of its own.
        let spread = self.lowest.max(1.0 / self.total.max(1.0));
        let clear = self.lowest + Self::CLEAR * (spread * (1.0 - spread).max(0.0) / self.total.max(1.0)).sqrt();
        self.above = if share > clear { self.above + 1 } else { 0 };
        self.above < Self::ENOUGH
    }
}

/// The kernel's gamma, also of one that was negated.
pub(super) fn width(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Sum { terms } if terms.len() == 1 => width(&terms[0].1),
        kernel => kernel.gamma().and_then(|gamma| gamma.value()).unwrap_or(f64::NAN),
    }
}

/// The common table of several machines at the same positions. A machine whose front ends early stays at its end.
fn joint(machines: &[OfClass], held: Judged<'_>, classes: usize) -> Vec<FrontPoint> {
    let positions = machines.iter().map(|(_, slots)| slots.len()).max().unwrap_or(0);
    let at = |machine: &(usize, Vec<(Facts, Vec<f64>)>), position: usize| (position + machine.1.len()).saturating_sub(positions);
    (0..positions)
        .map(|position| {
            let each = || machines.iter().map(|machine| &machine.1[at(machine, position)]);
            let says = |row: usize| {
                if classes == 2 {
                    return usize::from(machines[0].1[position].1[row] > 0.0);
                }
                let values: Vec<f64> = each().map(|(_, said)| said[row]).collect();
                machines[argmax(&values)].0
            };
            let points: Vec<FrontPoint> = each().map(|(facts, _)| facts.point()).collect();
            let sum = |value: &dyn Fn(&FrontPoint) -> f64| points.iter().map(value).sum::<f64>();
            FrontPoint {
                quadratic: sum(&|point| point.quadratic),
                sum_alpha: sum(&|point| point.sum_alpha),
                // Of several machines the mean: their joint decisions about training rows are not worth the time here.
                train_error: sum(&|point| point.train_error) / points.len() as f64,
                holdout_error: weighted_share(held.weights, |row| says(row) != held.codes[row] as usize),
                n_support: points.iter().map(|point| point.n_support).max().unwrap_or(0),
                equivalent_c: (sum(&|point| point.equivalent_c.ln()) / points.len() as f64).exp(),
                margin: points.iter().map(|point| point.margin).fold(f64::INFINITY, |least, m| if m.is_nan() { m } else { least.min(m) }),
                gap: points.iter().map(|point| point.gap).fold(0.0, f64::max),
            }
        })
        .collect()
}

/// The first hold-out's points, and the means over hold-outs and neighbors at their positions, which are counted from the largest sum.
fn estimates(fronts: &[Vec<FrontPoint>]) -> (Vec<FrontPoint>, Vec<f64>) {
    let first = fronts.first().cloned().unwrap_or_default();
    let from_end = |front: &[FrontPoint], back: usize| front[front.len().saturating_sub(back + 1)].holdout_error;
    let known: Vec<&Vec<FrontPoint>> = fronts.iter().filter(|front| !front.is_empty()).collect();
    let mean = |place: usize| known.iter().map(|front| from_end(front, first.len() - 1 - place)).sum::<f64>() / known.len().max(1) as f64;
    let means: Vec<f64> = (0..first.len()).map(mean).collect();
    let smooth = |place: usize| {
        let near = |other: usize| means.get(other).copied().unwrap_or(means[place]);
        0.5 * means[place] + 0.25 * (near(place.wrapping_sub(1)) + near(place + 1))
    };
    let smoothed = (0..means.len()).map(smooth).collect();
    (first, smoothed)
}

#[cfg(test)]
mod tests {
    use super::Rise;

    #[test]
    fn a_sweep_ends_where_the_error_has_risen_for_good() {
        let seen = |wrong: &[f64]| {
            let mut rise = Rise::new(100.0);
            wrong.iter().take_while(|&&wrong| rise.go_on(wrong)).count()
        };
        assert_eq!(seen(&[40.0, 20.0, 10.0, 12.0, 14.0, 11.0]), 6, "within the noise");
        assert_eq!(seen(&[40.0, 10.0, 20.0, 12.0, 20.0, 21.0, 22.0]), 5, "one point is no valley, two in a row are");
        assert_eq!(seen(&[0.0, 0.0, 1.0, 2.0, 1.0]), 5, "no error at all is no reason to stop at the first");
    }
}
