//! The engine that has its rows on shards.

use super::Cluster;
use super::cluster::confused;
use super::inner;
use super::message::{Anew, Features, Reply, Request, Stay};
use crate::observe::Progress;
use crate::solver::blocks::engine::{
    Answer, BlockEngine, Drift, Extremes, Halt, Load, Moved, Narrow, Outcome, Recheck, Set, SetSolution, Want,
};
use crate::solver::blocks::select;

/// Every shard offers this many times its share of the candidates.
const SURPLUS: f64 = 1.5;
/// And never fewer than so many.
const FEWEST: usize = 32;

/// One problem on all shards, or on some rows of theirs.
pub(super) struct Shards<'a, 'c> {
    cluster: &'a mut Cluster<'c>,
    /// Rows of the whole table by variable, rising; none if all take part.
    samples: Option<&'a [u32]>,
    linear: &'a [f64],
    double: bool,
    kink: f64,
    /// By variable: coefficients as shards know them, and statuses, to begin anew with.
    b: Vec<f64>,
    status: Vec<u8>,
    hint: [Extremes; 2],
    narrow: bool,
    /// Whether gradients that matter are those of double precision: then those of shards that come back must be, too.
    checked: bool,
}

impl<'a, 'c> Shards<'a, 'c> {
    /// `b` is the point that the gradient of [`BlockEngine::load`] belongs to.
    pub(super) fn new(cluster: &'a mut Cluster<'c>, samples: Option<&'a [u32]>, linear: &'a [f64], double: bool, b: &[f64]) -> Self {
        let (b, hint) = (b.to_vec(), [Extremes::NONE; 2]);
        Self { cluster, samples, linear, double, kink: 0.0, b, status: Vec::new(), hint, narrow: false, checked: false }
    }

    /// Row of the whole table.
    fn row(&self, variable: u32) -> u32 {
        self.samples.map_or(variable, |samples| samples[variable as usize])
    }

    fn rows(&self, variables: &[u32]) -> Vec<u32> {
        variables.iter().map(|&variable| self.row(variable)).collect()
    }

    /// The variable of a row that takes part.
    fn variable(&self, row: u32) -> Outcome<u32> {
        match self.samples {
            None => Ok(row),
            Some(samples) => samples.binary_search(&row).map(|place| place as u32).map_err(|_| confused().into()),
        }
    }

    /// Variables whose rows are on a shard, in their order.
    fn of_shard(&self, shard: usize) -> Vec<u32> {
        (0..self.linear.len() as u32).filter(|&variable| self.cluster.owner(self.row(variable)) == shard).collect()
    }

    /// The message that gives a shard its problem; gradients where they are not the linear terms.
    fn problem(&self, shard: usize, gradient: Option<&[f64]>, exempt: bool) -> Request {
        let variables = self.of_shard(shard);
        let of = |values: &[f64]| -> Vec<f64> { variables.iter().map(|&variable| values[variable as usize]).collect() };
        Request::Load {
            rows: if self.samples.is_some() { self.rows(&variables) } else { Vec::new() },
            linear: of(self.linear),
            gradient: gradient.map_or(Vec::new(), of),
            status: variables.iter().map(|&variable| self.status[variable as usize]).collect(),
            kink: self.kink,
            double: self.double,
            exempt,
        }
    }

    /// Shards that are back get their problem and compute their gradients from all coefficients; with `exactly` in double precision.
    fn welcome(&mut self, wait: bool, exactly: bool) -> Outcome<()> {
        let exactly = exactly || self.checked;
        for shard in self.cluster.back(wait)? {
            if !self.cluster.welcome(shard)? {
                continue;
            }
            let load = self.problem(shard, None, self.narrow);
            let support: Vec<u32> = (0..self.b.len() as u32).filter(|&variable| self.b[variable as usize] != 0.0).collect();
            let steps: Vec<f64> = support.iter().map(|&variable| self.b[variable as usize]).collect();
            let status = support.iter().map(|&variable| self.status[variable as usize]).collect();
            let ids = self.rows(&support);
            let (features, kept) = (Features::none(), Vec::new());
            let step = Request::Step { features, ids: ids.clone(), steps: steps.clone(), status, count: 0, hint: self.hint, kept };
            let mut requests = vec![load, step];
            if exactly {
                requests.push(Request::Recheck { ids, steps, anew: Anew::Active });
            }
            for request in requests {
                if self.cluster.is_alive(shard) {
                    self.cluster.call(vec![(shard, request)])?;
                }
            }
        }
        Ok(())
    }

    /// Asks everybody in reach; stops first if somebody wants that.
    fn all(&mut self, progress: &Progress<'_>, request: impl Fn(&Self, usize) -> Outcome<Request>) -> Outcome<Vec<(usize, Reply)>> {
        if let Some(reason) = self.cluster.check(progress) {
            return Err(Halt::Stop(reason));
        }
        self.ask(request)
    }

    /// The same without a way out.
    fn ask(&mut self, request: impl Fn(&Self, usize) -> Outcome<Request>) -> Outcome<Vec<(usize, Reply)>> {
        self.welcome(false, false)?;
        if self.cluster.living().is_empty() {
            self.settle()?;
        }
        let living = self.cluster.living();
        let messages = living.iter().map(|&shard| Ok((shard, request(self, shard)?))).collect::<Outcome<Vec<_>>>()?;
        let replies = self.cluster.call(messages)?;
        Ok(living.into_iter().zip(replies).filter_map(|(shard, reply)| Some((shard, reply?))).collect())
    }

    /// `b` follows what shards were told.
    fn follow(&mut self, moved: Moved<'_>) {
        for ((&id, step), status) in moved.ids.iter().zip(moved.steps).zip(moved.status) {
            self.b[id as usize] += step;
            self.status[id as usize] = *status;
        }
    }

    fn on_shard(&self, variables: &[u32], shard: usize) -> Vec<u32> {
        variables.iter().map(|&variable| self.row(variable)).filter(|&row| self.cluster.owner(row) == shard).collect()
    }
}

const QUIET: Progress<'static> = Progress { stage: "", done: 0, total: None, violation: None, tolerance: None };

impl BlockEngine for Shards<'_, '_> {
    fn load(&mut self, state: &Load<'_>) -> Outcome<()> {
        (self.status, self.kink, self.narrow) = (state.status.to_vec(), state.kink, false);
        let gradient = if state.gradient == self.linear { None } else { Some(state.gradient) };
        // Nobody can stop what has not begun.
        self.ask(|engine, shard| Ok(engine.problem(shard, gradient, false)))?;
        Ok(())
    }

    fn step(&mut self, moved: Moved<'_>, want: &Want<'_>) -> Outcome<Answer> {
        if let Some(reason) = self.cluster.check(&want.progress) {
            return Err(Halt::Stop(reason));
        }
        self.checked &= moved.ids.is_empty();
        let ids = self.rows(moved.ids);
        self.cluster.fetch(&ids)?;
        // Who comes back now is told of the point before this step, and hears of the step with the others.
        self.welcome(false, false)?;
        let fresh = self.cluster.spread(&ids);
        let shards = self.cluster.shards().max(1);
        let share = (SURPLUS * want.count as f64 / shards as f64).ceil() as usize;
        let count = if want.count == 0 { 0 } else { share.max(FEWEST).min(want.count) };
        let replies = self.ask(|engine, shard| {
            Ok(Request::Step {
                features: engine.cluster.features_for(shard, &fresh)?,
                ids: ids.clone(),
                steps: moved.steps.to_vec(),
                status: moved.status.to_vec(),
                count: count as u32,
                hint: engine.hint,
                kept: engine.on_shard(want.kept, shard),
            })
        })?;
        self.follow(moved);
        let (mut offers, mut kept) = (Vec::new(), vec![f64::NAN; want.kept.len()]);
        for (shard, reply) in replies {
            let Reply::Offer { mut offer, kept: gradients, features } = reply else { return Err(confused().into()) };
            self.cluster.learn(&features)?;
            for list in offer.up.iter_mut().chain(&mut offer.low) {
                for candidate in list {
                    candidate.id = self.variable(candidate.id)?;
                }
            }
            offers.push(offer);
            let places = (0..want.kept.len()).filter(|&k| self.cluster.owner(self.row(want.kept[k])) == shard);
            places.zip(gradients).for_each(|(k, gradient)| kept[k] = gradient);
        }
        let found = select::merge(offers, want.count);
        self.hint = found.extremes;
        let answer = Answer { extremes: found.extremes, up: found.up, low: found.low, kept };
        self.cluster.tell(Some(answer.gap()).filter(|gap| gap.is_finite()));
        Ok(answer)
    }

    fn solve_set(&mut self, set: &Set<'_>) -> Outcome<SetSolution> {
        let x = self.cluster.store.select(&self.rows(set.ids))?;
        let stage = self.cluster.stage();
        let progress = Progress { stage: &stage, ..set.progress.clone() };
        let set = Set { progress, ..*set };
        inner::solve(self.cluster.kernel(), &x, &set, self.double, &self.cluster.context)
    }

    fn narrow(&mut self, rule: Narrow<'_>) -> Outcome<usize> {
        let stay = |engine: &Self, shard: usize| match rule {
            Narrow::To(ids) => Stay::To { ids: engine.on_shard(ids, shard) },
            Narrow::Unsettled { extremes, margin, kept, .. } => Stay::Unsettled { extremes, margin, kept: engine.on_shard(kept, shard) },
        };
        let mut left = 0;
        for apply in [false, true] {
            let replies = self.all(&QUIET, |engine, shard| Ok(Request::Narrow { stay: stay(engine, shard), apply }))?;
            left = 0;
            for (_, reply) in replies {
                let Reply::Count { count } = reply else { return Err(confused().into()) };
                left += count as usize;
            }
            if !apply && (left == 0 || matches!(rule, Narrow::Unsettled { at_most, .. } if left > at_most)) {
                return Ok(self.b.len());
            }
        }
        self.narrow = true;
        Ok(left)
    }

    fn widen(&mut self, moved: Moved<'_>) -> Outcome<()> {
        let ids = self.rows(moved.ids);
        self.all(&QUIET, |_, _| Ok(Request::Widen { ids: ids.clone(), steps: moved.steps.to_vec() }))?;
        self.narrow = false;
        Ok(())
    }

    fn recheck(&mut self, support: Moved<'_>, rule: Recheck) -> Outcome<Drift> {
        self.checked = true;
        // The steps that shards were told add up to this, up to rounding.
        self.b.fill(0.0);
        support.ids.iter().zip(support.steps).for_each(|(&id, &value)| self.b[id as usize] = value);
        let ids = self.rows(support.ids);
        let progress = Progress { stage: "exact gradient", ..QUIET };
        let replies = self.all(&progress, |_, _| {
            let anew = match rule {
                Recheck::Active => Anew::Active,
                Recheck::Near { extremes, slack } => Anew::Near { extremes, slack },
            };
            Ok(Request::Recheck { ids: ids.clone(), steps: support.steps.to_vec(), anew })
        })?;
        let mut drift = Drift::default();
        for (_, reply) in replies {
            let Reply::Drift { drift: of_shard } = reply else { return Err(confused().into()) };
            drift.largest = drift.largest.max(of_shard.largest);
            drift.rows += of_shard.rows;
        }
        Ok(drift)
    }

    fn gradient(&mut self) -> Outcome<Vec<f64>> {
        let mut all = vec![f64::NAN; self.b.len()];
        let mut missing: Vec<usize> = (0..self.cluster.shards()).collect();
        while !missing.is_empty() {
            while missing.iter().any(|&shard| !self.cluster.is_alive(shard)) && !self.cluster.is_hopeless() {
                self.welcome(true, true)?;
            }
            missing.retain(|&shard| self.cluster.is_alive(shard));
            let messages = missing.iter().map(|&shard| (shard, Request::Gradient)).collect();
            let replies = self.cluster.call(messages)?;
            for (shard, reply) in std::mem::take(&mut missing).into_iter().zip(replies) {
                match reply {
                    Some(Reply::Gradient { values }) => {
                        self.of_shard(shard).iter().zip(values).for_each(|(&variable, g)| all[variable as usize] = g);
                    }
                    Some(_) => return Err(confused().into()),
                    None => missing.push(shard),
                }
            }
        }
        Ok(all)
    }

    fn settle(&mut self) -> Outcome<bool> {
        while !(0..self.cluster.shards()).all(|shard| self.cluster.is_alive(shard)) {
            if self.cluster.is_hopeless() {
                if self.cluster.living().is_empty() {
                    return Err(self.cluster.lost().into());
                }
                return Ok(false);
            }
            self.welcome(true, false)?;
        }
        Ok(true)
    }

    fn unwatch(&mut self) {
        (self.cluster.context.observer, self.cluster.context.deadline) = (None, None);
    }

    fn seconds_for(&self, _: f64) -> f64 {
        // Whoever has a cluster wants to know what its hours were worth: a stopped fit is always checked.
        0.0
    }
}
