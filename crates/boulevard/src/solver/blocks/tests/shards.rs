//! Rows in several places: the loop neither knows nor cares.
//!
//! Every shard holds some rows and nothing else. Features of variables that move are sent to all of them; candidates come back and are
//! merged. Plain double precision, one kernel value at a time.

use super::*;
use crate::observe::StopReason;
use crate::solver::blocks::engine::*;
use crate::solver::blocks::known::Known;
use crate::solver::blocks::local;
use crate::solver::blocks::select::{self, TAKEN, group, may, slopes};

struct Row {
    id: u32,
    features: Vec<f64>,
    linear: f64,
    gradient: f64,
    status: u8,
    active: bool,
}

struct Shard {
    rows: Vec<Row>,
    kernel: Kernel,
    kink: f64,
}

impl Shard {
    /// `sum_r weights[r] k(features[r], row)`
    fn sum(&self, row: &Row, features: &[Vec<f64>], weights: &[f64]) -> f64 {
        features.iter().zip(weights).map(|(x, w)| w * self.kernel.evaluate(x, &row.features).unwrap()).sum()
    }

    fn add(&mut self, features: &[Vec<f64>], weights: &[f64], active: bool) {
        for at in 0..self.rows.len() {
            if self.rows[at].active == active {
                let more = self.sum(&self.rows[at], features, weights);
                self.rows[at].gradient += more;
            }
        }
    }

    fn offer(&self, count: usize, kept: &[u32]) -> select::Offer {
        let active: Vec<&Row> = self.rows.iter().filter(|row| row.active).collect();
        let ids: Vec<u32> = active.iter().map(|row| row.id).collect();
        let status: Vec<u8> = active.iter().map(|row| row.status | if kept.contains(&row.id) { TAKEN } else { 0 }).collect();
        let gradient: Vec<f64> = active.iter().map(|row| row.gradient).collect();
        select::offer(&ids, &status, &gradient, self.kink, count)
    }
}

struct Shards {
    shards: Vec<Shard>,
    parked: bool,
    /// Calls that would be rounds over a network.
    calls: usize,
}

impl Shards {
    fn new(case: &Case, count: usize) -> Self {
        let row = |id: usize| Row {
            id: id as u32,
            features: (0..case.x.columns()).map(|j| case.x.get(id, j)).collect(),
            linear: case.linear[id],
            gradient: 0.0,
            status: 0,
            active: true,
        };
        let shard = |s: usize| Shard {
            rows: (0..case.linear.len()).filter(|id| id % count == s).map(row).collect(),
            kernel: case.kernel.clone(),
            kink: case.kink,
        };
        Self { shards: (0..count).map(shard).collect(), parked: false, calls: 0 }
    }

    fn row(&mut self, id: u32) -> &mut Row {
        let count = self.shards.len();
        &mut self.shards[id as usize % count].rows[id as usize / count]
    }

    fn features(&mut self, ids: &[u32]) -> Vec<Vec<f64>> {
        ids.iter().map(|&id| self.row(id).features.clone()).collect()
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Row> {
        self.shards.iter_mut().flat_map(|shard| &mut shard.rows)
    }
}

impl BlockEngine for Shards {
    fn load(&mut self, state: &Load<'_>) -> Outcome<()> {
        for row in self.all() {
            (row.gradient, row.status, row.active) = (state.gradient[row.id as usize], state.status[row.id as usize], true);
        }
        Ok(())
    }

    fn step(&mut self, moved: Moved<'_>, want: &Want<'_>) -> Outcome<Answer> {
        self.calls += 1;
        let features = self.features(moved.ids);
        self.shards.iter_mut().for_each(|shard| shard.add(&features, moved.steps, true));
        moved.ids.iter().zip(moved.status).for_each(|(&id, &status)| self.row(id).status = status);
        let found = select::merge(self.shards.iter().map(|shard| shard.offer(want.count, want.kept)), want.count);
        let kept = want.kept.iter().map(|&id| self.row(id).gradient).collect();
        Ok(Answer { extremes: found.extremes, up: found.up, low: found.low, kept })
    }

    fn solve_set(&mut self, set: &Set<'_>) -> Outcome<SetSolution> {
        let (features, size) = (self.features(set.ids), set.ids.len());
        let width = size.next_multiple_of(64);
        let mut values = vec![0.0; size * width];
        for (i, row) in values.chunks_exact_mut(width).enumerate() {
            row.iter_mut().zip(&features).for_each(|(to, x)| *to = self.shards[0].kernel.evaluate(x, &features[i]).unwrap());
        }
        let diagonal: Vec<f64> = (0..size).map(|i| values[i * width + i]).collect();
        local::solve(&Known { values, size, width }, &diagonal, set, &Context::single())
    }

    fn narrow(&mut self, rule: Narrow<'_>) -> Outcome<usize> {
        self.calls += 1;
        let kink = self.shards[0].kink;
        let stays = |row: &Row| match rule {
            Narrow::To(ids) => ids.contains(&row.id),
            Narrow::Unsettled { extremes, margin, kept, .. } => {
                let ((grow, fall), (up, low)) = (may(row.status), slopes(row.status, row.gradient, kink));
                let bounds = &extremes[group(row.status)];
                kept.contains(&row.id) || (grow && up <= bounds.most_low + margin) || (fall && low >= bounds.least_up - margin)
            }
        };
        let active = self.all().filter(|row| row.active).count();
        let left = self.all().filter(|row| row.active && stays(row)).count();
        // A shard cannot keep what parked rows were when the first of them was parked: it parks once.
        if self.parked || left == 0 || matches!(rule, Narrow::Unsettled { at_most, .. } if left > at_most) {
            return Ok(active);
        }
        self.parked = true;
        self.all().for_each(|row| row.active = stays(row));
        Ok(left)
    }

    fn widen(&mut self, moved: Moved<'_>) -> Outcome<()> {
        self.calls += 1;
        let features = self.features(moved.ids);
        self.shards.iter_mut().for_each(|shard| shard.add(&features, moved.steps, false));
        self.all().for_each(|row| row.active = true);
        self.parked = false;
        Ok(())
    }

    fn recheck(&mut self, support: Moved<'_>, _: Recheck) -> Outcome<Drift> {
        self.calls += 1;
        let features = self.features(support.ids);
        let mut drift = Drift::default();
        for shard in &mut self.shards {
            for at in 0..shard.rows.len() {
                let exact = shard.rows[at].linear + shard.sum(&shard.rows[at], &features, support.steps);
                drift.largest = drift.largest.max((exact - shard.rows[at].gradient).abs());
                shard.rows[at].gradient = exact;
                drift.rows += 1;
            }
        }
        Ok(drift)
    }

    fn gradient(&mut self) -> Outcome<Vec<f64>> {
        let n: usize = self.shards.iter().map(|shard| shard.rows.len()).sum();
        Ok((0..n as u32).map(|id| self.row(id).gradient).collect())
    }

    fn unwatch(&mut self) {}

    fn seconds_for(&self, _: f64) -> f64 {
        0.0
    }
}

#[test]
fn the_loop_does_not_know_where_rows_live() {
    for case in [Case::classes(500, 3, |_| 5.0), Case::regression(400, 2.0, 0.1), Case::nu(400, 0.3)] {
        let reference = case.by_pairs(1e-7);
        let mut points = Vec::new();
        for count in [1, 3, 7] {
            let mut engine = Shards::new(&case, count);
            let problem = case.problem();
            let n = problem.len();
            let (mut b, mut gradient) = (problem.start.map_or_else(|| vec![0.0; n], <[f64]>::to_vec), problem.linear.to_vec());
            let (unknown, mut steps) = (problem.start.is_some(), 0);
            let plan = Plan { outer: Some(150), rounding: f64::ROUNDING, ..small_sets() };
            let verdict = solve(&mut engine, &problem, &options(1e-5), plan, unknown, &mut b, &mut gradient, &mut steps).unwrap();
            assert_eq!(verdict, Verdict::Done(StopReason::Converged));
            let certificate = certify(&problem, &b, &gradient);
            assert!(certificate.violation <= 1e-5, "{:e}", certificate.violation);
            assert!((certificate.objective / reference.objective - 1.0).abs() < 1e-6);
            assert!(engine.calls as u64 * 5 < steps, "{} rounds over the network for {steps} steps", engine.calls);
            points.push(b);
        }
        assert_eq!(points[0], points[1], "however many shards");
        assert_eq!(points[0], points[2]);
    }
}
