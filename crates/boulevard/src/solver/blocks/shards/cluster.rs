//! The driver's side of all shards, for as long as a fit lasts: who lives, what they know, and what was sent.

use std::collections::HashSet;

use super::message::{Features, Reply, Request};
use super::store::RowStore;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::{Gamma, GammaRule, Kernel};
use crate::observe::{Context, Progress};
use crate::simd::Real;

/// Carries messages to shards, wherever they are: threads, processes, machines.
pub trait Fleet {
    /// Gives each of these shards its message, all at once, and waits for the answers, in the same order: none from a shard that is lost.
    fn call(&mut self, messages: Vec<(usize, Vec<u8>)>) -> Result<Vec<Option<Vec<u8>>>>;

    /// Lost shards that hold their rows again, and know nothing else. With `wait`, waits for the next one; then nothing in the answer means
    /// that none will come.
    fn returned(&mut self, wait: bool) -> Result<Vec<usize>>;

    /// How far the fit is, for dashboards.
    fn report(&mut self, report: &RoundReport) {
        let _ = report;
    }
}

/// One round of a fit on a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundReport {
    /// Rounds so far: a message to all shards and their answers.
    pub rounds: u64,
    /// KKT violation of the rows in reach, where it is known.
    pub violation: Option<f64>,
    /// Bytes sent to shards so far, all of them together.
    pub sent: u64,
    /// Bytes received from shards so far.
    pub received: u64,
    /// The shard whose work of this round took longest, and its seconds.
    pub slowest: Option<(usize, f64)>,
    /// Shards that are out of reach.
    pub lost: usize,
    /// Shards that were lost and came back.
    pub rebuilt: u64,
}

/// A run of rows of the whole table on one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The shard.
    pub shard: usize,
    /// Number of the first row in the whole table.
    pub first: usize,
    /// Rows.
    pub rows: usize,
}

/// The driver's view of all shards.
pub struct Cluster<'a> {
    fleet: &'a mut dyn Fleet,
    pub(super) context: Context<'a>,
    kernel: Kernel,
    /// By shard: runs of rows, in the shard's own order.
    runs: Vec<Vec<(u32, u32)>>,
    /// By row of the whole table: its shard.
    owner: Vec<u16>,
    columns: usize,
    accuracy: f64,
    rounding: f64,
    alive: Vec<bool>,
    /// Nobody who is lost will come back.
    hopeless: bool,
    /// Back already, and not yet told of the problem at hand.
    waiting: Vec<usize>,
    pub(super) store: RowStore,
    /// Rows that all shards in reach were sent.
    spread: HashSet<u32>,
    pub(super) report: RoundReport,
}

impl<'a> Cluster<'a> {
    /// Greets shards that hold these pieces of a table with `columns` features. `kernel` may still have a rule as gamma; `weights` are those
    /// of all rows.
    pub fn new(
        fleet: &'a mut dyn Fleet,
        pieces: &[Piece],
        columns: usize,
        kernel: &Kernel,
        weights: Option<&[f64]>,
        context: &Context<'a>,
    ) -> Result<Self> {
        let shards = pieces.iter().map(|piece| piece.shard + 1).max().unwrap_or(0);
        let n: usize = pieces.iter().map(|piece| piece.rows).sum();
        if n > u32::MAX as usize || shards > usize::from(u16::MAX) {
            return Err(Error::data(format!("{n} rows on {shards} shards: at most {} and {} are possible", u32::MAX, u16::MAX)));
        }
        if matches!(kernel, Kernel::Precomputed | Kernel::Custom(_)) {
            return Err(Error::data("kernel matrices and kernel functions cannot be used on a cluster: rows meet on other machines"));
        }
        if kernel.is_positive_semidefinite() == Some(false) {
            return Err(Error::data(
                "this kernel is not positive semi-definite for all parameters (sigmoid, multiquadric): on a cluster rows are solved in \
                 large sets, which may not end with it; fit it on one machine",
            ));
        }
        let (mut runs, mut owner) = (vec![Vec::new(); shards], vec![u16::MAX; n]);
        for piece in pieces {
            if piece.first + piece.rows > n || owner[piece.first..piece.first + piece.rows].iter().any(|&shard| shard != u16::MAX) {
                return Err(Error::data("the pieces of a table overlap or leave gaps"));
            }
            runs[piece.shard].push((piece.first as u32, piece.rows as u32));
            owner[piece.first..piece.first + piece.rows].fill(piece.shard as u16);
        }
        let mut cluster = Self {
            fleet,
            context: *context,
            kernel: kernel.clone(),
            runs,
            owner,
            columns,
            accuracy: 0.0,
            rounding: f32::ROUNDING,
            alive: vec![true; shards],
            hopeless: false,
            waiting: Vec::new(),
            store: RowStore::new(),
            spread: HashSet::new(),
            report: RoundReport::default(),
        };
        cluster.resolve(weights)?;
        cluster.greet()?;
        Ok(cluster)
    }

    /// Rows in all.
    pub fn len(&self) -> usize {
        self.owner.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.owner.is_empty()
    }

    /// The kernel, all parameters numbers.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Features per row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What was sent and received so far.
    pub fn report(&self) -> RoundReport {
        self.report
    }

    /// The error of kernel values in single precision.
    pub(super) fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// The relative error of sums in single precision.
    pub(super) fn rounding(&self) -> f64 {
        self.rounding
    }

    pub(super) fn shards(&self) -> usize {
        self.alive.len()
    }

    pub(super) fn owner(&self, row: u32) -> usize {
        usize::from(self.owner[row as usize])
    }

    pub(super) fn is_alive(&self, shard: usize) -> bool {
        self.alive[shard]
    }

    pub(super) fn living(&self) -> Vec<usize> {
        (0..self.alive.len()).filter(|&shard| self.alive[shard]).collect()
    }

    pub(super) fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    fn open(&self, shard: usize) -> Request {
        let kernel = serde_json::to_string(&self.kernel).expect("kernels with formulas are plain data");
        Request::Open { kernel, runs: self.runs[shard].clone() }
    }

    /// A gamma that is a rule becomes a number, from the moments of all shards.
    fn resolve(&mut self, weights: Option<&[f64]>) -> Result<()> {
        let rule = match self.kernel.gamma() {
            Some(Gamma::Rule(rule)) => rule,
            _ => return Ok(()),
        };
        let gamma = match rule {
            GammaRule::Auto => 1.0 / self.columns as f64,
            GammaRule::Scale => {
                self.greet()?;
                let of = |shard: usize| -> Vec<f64> {
                    let Some(weights) = weights else { return Vec::new() };
                    self.runs[shard].iter().flat_map(|&(first, rows)| &weights[first as usize..(first + rows) as usize]).copied().collect()
                };
                let requests: Vec<Request> = (0..self.shards()).map(|shard| Request::Moments { weights: of(shard) }).collect();
                let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
                for (shard, request) in requests.iter().enumerate() {
                    let Reply::Moments { count: n, mean: m, squares: s } = self.insist(shard, request)? else { return Err(confused()) };
                    if n > 0.0 {
                        // Chan, Golub and LeVeque (1983): moments of two parts together.
                        let (total, shift) = (count + n, m - mean);
                        squares += s + shift * shift * count * n / total;
                        mean += shift * n / total;
                        count = total;
                    }
                }
                let variance = squares / count;
                if !variance.is_finite() {
                    return Err(Error::overflow("the values of X are so large that their variance overflows: scale them first"));
                }
                if variance > 0.0 { 1.0 / (self.columns as f64 * variance) } else { 1.0 }
            }
        };
        if let Some(place) = self.kernel.gamma_mut() {
            *place = Gamma::Value(gamma);
        }
        Ok(())
    }

    fn greet(&mut self) -> Result<()> {
        let messages = (0..self.shards()).map(|shard| (shard, self.open(shard))).collect();
        let answers = self.call(messages)?;
        for (shard, answer) in answers.into_iter().enumerate() {
            let answer = match answer {
                Some(answer) => answer,
                // It was lost at once: its rows will be somewhere else.
                None => {
                    let open = self.open(shard);
                    self.insist(shard, &open)?
                }
            };
            let Reply::Opened { rows, columns, accuracy, rounding } = answer else { return Err(confused()) };
            let expected: u64 = self.runs[shard].iter().map(|(_, rows)| u64::from(*rows)).sum();
            if rows != expected {
                return Err(Error::shape(format!("rows of shard {shard}"), expected as usize, rows as usize));
            }
            if rows > 0 && columns as usize != self.columns {
                return Err(Error::shape(format!("feature columns of shard {shard}"), self.columns, columns as usize));
            }
            self.accuracy = self.accuracy.max(accuracy);
            self.rounding = self.rounding.max(rounding);
        }
        Ok(())
    }

    /// Sends messages, all at once; none for a shard that is lost on the way.
    pub(super) fn call(&mut self, messages: Vec<(usize, Request)>) -> Result<Vec<Option<Reply>>> {
        let shards: Vec<usize> = messages.iter().map(|(shard, _)| *shard).collect();
        let bytes: Vec<(usize, Vec<u8>)> = messages.into_iter().map(|(shard, request)| (shard, request.to_bytes())).collect();
        self.report.rounds += 1;
        self.report.sent += bytes.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        self.report.slowest = None;
        let answers = self.fleet.call(bytes)?;
        if answers.len() != shards.len() {
            return Err(Error::shape("answers of shards", shards.len(), answers.len()));
        }
        let mut replies = Vec::with_capacity(answers.len());
        for (&shard, answer) in shards.iter().zip(answers) {
            let Some(bytes) = answer else {
                self.alive[shard] = false;
                replies.push(None);
                continue;
            };
            self.report.received += bytes.len() as u64;
            let (reply, seconds) = Reply::from_bytes(&bytes)?;
            match reply {
                Reply::Failed { why } => return Err(Error::data(format!("shard {shard}: {why}"))),
                Reply::Refused { device, reason } => return Err(Error::Device { device, reason: format!("shard {shard}: {reason}") }),
                _ => {}
            }
            if self.report.slowest.is_none_or(|(_, longest)| seconds > longest) {
                self.report.slowest = Some((shard, seconds));
            }
            replies.push(Some(reply));
        }
        self.report.lost = self.alive.iter().filter(|alive| !**alive).count();
        Ok(replies)
    }

    /// Tells whoever watches how far the fit is.
    pub(super) fn tell(&mut self, violation: Option<f64>) {
        self.report.violation = violation;
        let report = self.report;
        self.fleet.report(&report);
    }

    /// One line about the round, for progress.
    pub(super) fn stage(&self) -> String {
        let report = &self.report;
        let slowest = report.slowest.map_or(String::new(), |(shard, seconds)| format!(", slowest shard {shard} ({seconds:.3} s)"));
        let lost = if report.lost > 0 { format!(", {} lost", report.lost) } else { String::new() };
        let megabytes = (report.sent + report.received) as f64 / 1e6;
        format!("round {}, {megabytes:.1} MB moved{slowest}{lost}, step", report.rounds)
    }

    /// An answer of one shard, however often it is lost: its rows must be somewhere before anything can begin.
    fn insist(&mut self, shard: usize, request: &Request) -> Result<Reply> {
        loop {
            if self.alive[shard] {
                let bytes = request.to_bytes();
                self.report.sent += bytes.len() as u64;
                match self.fleet.call(vec![(shard, bytes)])?.pop().flatten() {
                    Some(bytes) => match Reply::from_bytes(&bytes)?.0 {
                        Reply::Failed { why } => return Err(Error::data(format!("shard {shard}: {why}"))),
                        reply => return Ok(reply),
                    },
                    None => self.alive[shard] = false,
                }
            }
            let open = self.open(shard);
            for back in self.back(true)? {
                self.alive[back] = true;
                // Before a problem is loaded that is all there is to rebuild; later it is welcomed, and counted there.
                self.report.rebuilt += u64::from(matches!(request, Request::Open { .. } | Request::Moments { .. }));
                if back == shard && !matches!(request, Request::Open { .. } | Request::Moments { .. }) {
                    self.waiting.push(back);
                }
            }
            if self.hopeless {
                return Err(self.lost());
            }
            if self.alive[shard] && !matches!(request, Request::Open { .. }) {
                self.insist(shard, &open)?;
            }
        }
    }

    /// Shards whose rows are somewhere again.
    pub(super) fn back(&mut self, wait: bool) -> Result<Vec<usize>> {
        if self.hopeless || self.alive.iter().all(|alive| *alive) {
            return Ok(Vec::new());
        }
        let mut back = std::mem::take(&mut self.waiting);
        if back.is_empty() {
            back = self.fleet.returned(wait)?;
        }
        let back: Vec<usize> = back.into_iter().filter(|&shard| shard < self.alive.len() && !self.alive[shard]).collect();
        self.hopeless = wait && back.is_empty();
        Ok(back)
    }

    /// A shard that is back gets the kernel and all rows that the others were sent; false if it was lost again.
    pub(super) fn welcome(&mut self, shard: usize) -> Result<bool> {
        self.alive[shard] = true;
        let open = self.open(shard);
        let foreign: Vec<u32> = self.spread.iter().copied().filter(|&row| self.owner(row) != shard).collect();
        let opened = self.call(vec![(shard, open)])?.pop().flatten().is_some();
        const AT_ONCE: usize = 1 << 14;
        for ids in foreign.chunks(AT_ONCE) {
            if !self.alive[shard] {
                break;
            }
            let features = Features { ids: ids.to_vec(), rows: Some(self.store.select(ids)?) };
            // A step of nothing on no problem: rows to keep.
            self.call(vec![(shard, Request::keep(features))])?;
        }
        self.report.rebuilt += u64::from(opened && self.alive[shard]);
        Ok(opened && self.alive[shard])
    }

    /// Rows that the driver must know; those it does not are fetched.
    pub(super) fn fetch(&mut self, rows: &[u32]) -> Result<()> {
        for shard in 0..self.shards() {
            let ids: Vec<u32> = rows.iter().copied().filter(|&row| self.owner(row) == shard && !self.store.contains(row)).collect();
            if !ids.is_empty() {
                let before = self.alive.clone();
                let Reply::Features { features } = self.insist(shard, &Request::Features { ids })? else { return Err(confused()) };
                self.learn(&features)?;
                // Who was lost on the way knows its rows again, but nothing of the problem.
                for other in 0..self.shards() {
                    if self.alive[other] && (!before[other] || self.waiting.contains(&other)) {
                        self.alive[other] = false;
                        self.waiting.push(other);
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps rows that a shard sent.
    pub(super) fn learn(&mut self, features: &Features) -> Result<()> {
        match &features.rows {
            Some(rows) => self.store.append(&features.ids, rows),
            None => Ok(()),
        }
    }

    /// The rows among `ids` that shards have not been sent; from now on they have.
    pub(super) fn spread(&mut self, ids: &[u32]) -> Vec<u32> {
        ids.iter().copied().filter(|&id| self.spread.insert(id)).collect()
    }

    /// Some of `fresh` rows, for a shard: all but its own.
    pub(super) fn features_for(&self, shard: usize, fresh: &[u32]) -> Result<Features> {
        let ids: Vec<u32> = fresh.iter().copied().filter(|&row| self.owner(row) != shard).collect();
        let rows = if ids.is_empty() { None } else { Some(self.store.select(&ids)?) };
        Ok(Features { ids, rows })
    }

    /// Rows as a table, for a model.
    pub fn rows(&mut self, rows: &[usize]) -> Result<Matrix<'static>> {
        let ids: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        self.fetch(&ids)?;
        if ids.is_empty() {
            return Matrix::dense(Vec::new(), 0, self.columns);
        }
        self.store.select(&ids)
    }

    /// Who is gone for good.
    pub(super) fn lost(&self) -> Error {
        let gone: Vec<String> = (0..self.shards()).filter(|&shard| !self.alive[shard]).map(|shard| shard.to_string()).collect();
        Error::data(format!("shards {} of {} are lost and did not come back", gone.join(", "), self.shards()))
    }

    /// Whether to stop, with a word about the round.
    pub(super) fn check(&self, progress: &Progress<'_>) -> Option<crate::observe::StopReason> {
        let stage = self.stage();
        self.context.check(&Progress { stage: &stage, ..progress.clone() })
    }
}

pub(super) fn confused() -> Error {
    Error::data("a shard answered something else than it was asked")
}
