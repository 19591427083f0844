//! Real shards and real messages, in this process: the optimum of pair steps, whatever is lost on the way.

use super::*;
use crate::data::Csr;
use crate::error::{Error, Result};
use crate::observe::{Device, StopReason};
use crate::solver::blocks::shards::ShardedSolver;
use crate::solver::{Cluster, Fleet, Piece, RoundReport, Shard, SolveDual};

/// Shards in a list. Some die at given calls and come back some calls later, knowing nothing but their rows.
pub(crate) struct Local {
    tables: Vec<Matrix<'static>>,
    shards: Vec<Option<Shard>>,
    /// Call, shard, and how many questions until it is back (none: never).
    deaths: Vec<(usize, usize, Option<usize>)>,
    calls: usize,
    absent: Vec<(usize, Option<usize>)>,
    last: RoundReport,
}

impl Local {
    pub(crate) fn new(x: &Matrix<'_>, pieces: &[Piece], deaths: &[(usize, usize, Option<usize>)]) -> Self {
        let count = pieces.iter().map(|piece| piece.shard + 1).max().unwrap();
        let rows = |shard: usize| -> Vec<usize> {
            pieces.iter().filter(|piece| piece.shard == shard).flat_map(|piece| piece.first..piece.first + piece.rows).collect()
        };
        let tables: Vec<Matrix<'static>> = (0..count).map(|shard| x.select(&rows(shard))).collect();
        let shards = tables.iter().map(|table| Some(Shard::new(table.clone(), 1).unwrap())).collect();
        Self { tables, shards, deaths: deaths.to_vec(), calls: 0, absent: Vec::new(), last: RoundReport::default() }
    }
}

impl Fleet for Local {
    fn call(&mut self, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<Option<Vec<u8>>>> {
        self.calls += 1;
        for &(call, shard, back) in &self.deaths {
            if call == self.calls && self.shards[shard].is_some() {
                self.shards[shard] = None;
                self.absent.push((shard, back));
            }
        }
        Ok(messages.into_iter().map(|(shard, message)| self.shards[shard].as_mut().map(|shard| shard.call(&message))).collect())
    }

    fn returned(&mut self, wait: bool) -> Result<Vec<usize>> {
        let mut back = Vec::new();
        for (shard, questions) in &mut self.absent {
            if let Some(left) = questions {
                *left = if wait { 0 } else { left.saturating_sub(1) };
                if *left == 0 {
                    back.push(*shard);
                }
            }
        }
        self.absent.retain(|(shard, _)| !back.contains(shard));
        for &shard in &back {
            self.shards[shard] = Some(Shard::new(self.tables[shard].clone(), 1).unwrap());
        }
        Ok(back)
    }

    fn report(&mut self, report: &RoundReport) {
        self.last = *report;
    }
}

/// Shards of unequal sizes, rows of some of them in two pieces, one of them empty if there are many.
pub(crate) fn pieces(n: usize, shards: usize) -> Vec<Piece> {
    let weights: Vec<usize> = (0..shards).map(|shard| if shards > 3 && shard == 2 { 0 } else { 1 + 2 * (shard % 3) }).collect();
    let total: usize = 2 * weights.iter().sum::<usize>();
    let (mut all, mut first) = (Vec::new(), 0);
    for half in 0..2 {
        for (shard, weight) in weights.iter().enumerate() {
            let last = half == 1 && shard + 1 == shards;
            let rows = if last { n - first } else { n * weight / total };
            all.push(Piece { shard, first, rows });
            first += rows;
        }
    }
    all
}

struct Ended {
    solution: DualSolution,
    report: RoundReport,
}

fn solve_on(case: &Case, pieces: &[Piece], deaths: &[(usize, usize, Option<usize>)], set: usize) -> Ended {
    let mut fleet = Local::new(&case.x, pieces, deaths);
    let context = Context::single();
    let mut cluster = Cluster::new(&mut fleet, pieces, case.x.columns(), &case.kernel, None, &context).unwrap();
    let mut solver = ShardedSolver::new(&mut cluster, None);
    solver.set = Some(set);
    let solution = solver.solve(&case.problem(), None, &options(1e-5)).unwrap();
    Ended { solution, report: cluster.report() }
}

fn same(name: &str, case: &Case, found: &Ended) {
    let reference = case.by_pairs(1e-7);
    let solution = &found.solution;
    assert_eq!(solution.stop, StopReason::Converged, "{name}");
    assert!(solution.violation <= 1e-5, "{name}: {:e}", solution.violation);
    assert!((solution.objective / reference.objective - 1.0).abs() < 1e-6, "{name}: {} for {}", solution.objective, reference.objective);
    let run = Found {
        verdict: Verdict::Done(solution.stop),
        b: solution.coefficients.clone(),
        gradient: solution.gradient.clone(),
        objective: solution.objective,
        violation: solution.violation,
        steps: solution.iterations,
    };
    check(case, &run);
}

fn six() -> Vec<(&'static str, Case)> {
    let sparse = {
        let case = Case::classes(500, 3, |_| 5.0);
        let mut random = Random::new(3, 0);
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..500 {
            let mut row: Vec<usize> = (0..9).map(|_| random.below(900)).collect();
            row.sort_unstable();
            row.dedup();
            values.extend(row.iter().map(|_| 0.5 * random.normal()));
            indices.extend(row.iter().map(|&j| j as u32));
            offsets.push(indices.len());
        }
        let x = Matrix::Sparse(Csr::new(offsets, indices, values, 900).unwrap());
        Case { x, kernel: Kernel::rbf(0.1), ..case }
    };
    vec![
        ("C = 5", Case::classes(600, 4, |_| 5.0)),
        ("a bound per sample, some zero", Case::classes(600, 4, |i| (i % 7) as f64)),
        ("regression", Case::regression(500, 2.0, 0.1)),
        ("one class", Case::one_class(600, 0.3)),
        ("two sums", Case::nu(600, 0.4)),
        ("sparse rows", sparse),
    ]
}

#[test]
fn six_problems_on_one_to_seven_shards() {
    for (name, case) in six() {
        for shards in [1, 2, 3, 7] {
            let found = solve_on(&case, &pieces(case.linear.len(), shards), &[], 64);
            same(&format!("{name} on {shards}"), &case, &found);
        }
    }
}

#[test]
fn a_shard_with_one_class_only_and_sets_solved_by_smaller_ones() {
    // Every third sample is of the first class: the first shard holds nothing else.
    let case = Case::classes(1500, 4, |_| 5.0);
    let order: Vec<usize> = (0..1500).step_by(3).chain((0..1500).filter(|i| i % 3 != 0)).collect();
    let of = |values: &[f64]| -> Vec<f64> { order.iter().map(|&i| values[i]).collect() };
    let case = Case { x: case.x.select(&order), linear: of(&case.linear), lower: of(&case.lower), upper: of(&case.upper), ..case };
    let pieces = [Piece { shard: 0, first: 0, rows: 500 }, Piece { shard: 1, first: 500, rows: 1000 }];
    let found = solve_on(&case, &pieces, &[], 1200);
    same("one class per shard", &case, &found);
    assert!(found.report.rounds < 60, "{} rounds with sets of most of the rows", found.report.rounds);
}

#[test]
fn lost_shards_come_back_and_nothing_is_missing() {
    for (name, case) in six() {
        let n = case.linear.len();
        for (call, back) in [(1, 1), (2, 3), (5, 2), (9, 6), (14, 1000), (25, 4)] {
            let deaths = [(call, 1, Some(back)), (call + 3, 0, Some(2)), (call + 4, 1, Some(1))];
            let found = solve_on(&case, &pieces(n, 3), &deaths, 64);
            same(&format!("{name}, lost at call {call}"), &case, &found);
        }
        let plain = solve_on(&case, &pieces(n, 3), &[], 64);
        // At the last calls: the certificate and the gradients.
        for before_end in 0..4 {
            let found = solve_on(&case, &pieces(n, 3), &[(plain.report.rounds as usize - before_end, 2, Some(1))], 64);
            same(&format!("{name}, lost {before_end} before the end"), &case, &found);
        }
    }
}

#[test]
fn everybody_lost_at_once_comes_back() {
    let case = Case::classes(600, 4, |_| 5.0);
    let deaths: Vec<_> = (0..3).map(|shard| (8, shard, Some(2))).collect();
    let found = solve_on(&case, &pieces(600, 3), &deaths, 64);
    same("all lost", &case, &found);
    assert_eq!(found.report.rebuilt, 3);
}

#[test]
fn rows_that_never_come_back_leave_no_certificate() {
    let case = Case::classes(600, 4, |_| 5.0);
    let found = solve_on(&case, &pieces(600, 3), &[(8, 1, None)], 64);
    assert_eq!(found.solution.stop, StopReason::Interrupted);
    assert!(found.solution.violation.is_nan() && found.solution.gap.is_nan(), "nothing is certified");
    assert_eq!(found.report.lost, 1);
}

#[test]
fn rows_travel_once() {
    let case = Case::classes(900, 4, |_| 5.0);
    let found = solve_on(&case, &pieces(900, 3), &[], 64);
    // Features of every row to the driver once and to two other shards once, and some numbers per round.
    let features = 900 * 4 * 8;
    let per_round = found.report.rounds * (64 * 3 * 60 + 1000);
    assert!(found.report.received < features + per_round, "{:?}", found.report);
    assert!(found.report.sent < 3 * features + per_round, "{:?}", found.report);
}

#[test]
fn wrong_pieces_and_kernels_are_refused() {
    let case = Case::classes(60, 2, |_| 1.0);
    let context = Context::single();
    let good = pieces(60, 2);
    let fail = |pieces: &[Piece], columns: usize, kernel: &Kernel| {
        let mut fleet = Local::new(&case.x, &good, &[]);
        Cluster::new(&mut fleet, pieces, columns, kernel, None, &context).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(fail(&good, 2, &case.kernel), "");
    assert!(fail(&good, 3, &case.kernel).contains("columns"));
    assert!(fail(&[good[0], good[0], good[2], good[3]], 2, &case.kernel).contains("overlap"));
    assert!(fail(&good, 2, &Kernel::Precomputed).contains("cluster"));
    assert!(fail(&good, 2, &Kernel::Sigmoid { gamma: 0.1.into(), coef0: 0.0 }).contains("semi-definite"));
    // A card that is not there: an error where it was asked for, and nothing else where it was not.
    for (device, refused) in [(Device::Cuda(99), true), (Device::Auto, false), (Device::Cpu, false)] {
        let mut fleet = Local::new(&case.x, &good, &[]);
        fleet.shards = fleet.shards.into_iter().map(|shard| shard.map(|shard| shard.on(device))).collect();
        let error = Cluster::new(&mut fleet, &good, 2, &case.kernel, None, &context).err();
        assert_eq!(error.is_some(), refused, "{device}: {error:?}");
        assert!(fleet.shards.iter().flatten().all(|shard| !shard.is_on_card()));
        if let Some(error) = error {
            assert!(
                matches!(&error, Error::Device { device, reason } if device == "cuda:99" && reason.starts_with("shard 0: ")),
                "{error}"
            );
        }
    }
    let broken = Matrix::dense(vec![1.0, f64::NAN], 2, 1).unwrap();
    assert!(Shard::new(broken, 1).err().unwrap().to_string().contains("row 1"));
}
