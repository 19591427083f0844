//! The solver's stages: fast steps in single precision, an exact gradient, double precision where needed, an exact finish.

use super::blocked;
use super::blocks::{CardCopy, Choice, choose_card};
use super::certificate::{Certificate, certify, draw_back, settle, violation};
use super::dual::{DualProblem, DualSolution, Equality, Options};
use super::estimate::Estimate;
use super::polish::polish;
use super::route::{self, Route};
use super::single;
use super::small;
use super::smo::{Budget, Engine, arena};
use super::source::KernelSource;
use super::start::Known;
use std::sync::{Arc, Mutex};

use boulevard_cuda::Card;

use crate::error::{Error, Result};
use crate::kernel::{self, weigh_watched};
use crate::memory::free_memory;
use crate::observe::{Context, Progress, StopReason, stopped as stopped_by};
use crate::parallel::{self, Crew};

/// Problems up to this size that could not be polished get more steps, to this share of the tolerance.
const REFINE_UP_TO: usize = 300;
const REFINED: f64 = 1e-7;
/// Rounding leaves nothing to gain below this.
const FINEST: f64 = 1e-9;
/// Bytes for kernel rows if neither the caller nor the system says otherwise.
const DEFAULT_CACHE: usize = 200 << 20;
/// This share of the free memory may be taken without being asked for.
const FREE_SHARE: usize = 4;

/// Whoever solves problems on one set of samples: this machine, or a cluster.
pub(crate) trait SolveDual {
    /// Solves one problem, with the gradient of its start as far as that is known.
    fn solve(&mut self, problem: &DualProblem<'_>, known: Option<Known>, options: &Options) -> Result<DualSolution>;

    /// The largest `k(x, x)`: the size of things.
    fn largest_diagonal(&self) -> f64;
}

impl SolveDual for Solver<'_> {
    fn solve(&mut self, problem: &DualProblem<'_>, known: Option<Known>, options: &Options) -> Result<DualSolution> {
        self.solve_from(problem, known, options)
    }

    fn largest_diagonal(&self) -> f64 {
        Solver::largest_diagonal(self)
    }
}

/// Solves [`DualProblem`]s on one set of samples. Kernel rows stay in memory from one problem to the next.
pub struct Solver<'a> {
    pub(super) source: &'a dyn KernelSource,
    pub(super) context: Context<'a>,
    pub(super) diagonal: Vec<f64>,
    pub(super) crew: Crew,
    cache: usize,
    pub(super) shared: bool,
    /// Points that Newton steps found, over all problems.
    pub(super) newton_moves: u64,
    /// Bytes for a set's kernel matrix.
    pub(super) set_bytes: usize,
    /// The card that blocks run on, if one does.
    pub(super) card: Option<Arc<Card>>,
    /// The table there, unless the source has one for several solvers.
    pub(super) copy: CardCopy,
    pub(super) single: Option<Engine<'a, f32>>,
    pub(super) double: Option<Engine<'a, f64>>,
}

impl Drop for Solver<'_> {
    /// Whoever set a limit may need the memory for something else next.
    fn drop(&mut self) {
        if self.context.memory.is_some() {
            (self.single, self.double) = (None, None);
            arena::release();
        }
    }
}

impl<'a> Solver<'a> {
    /// A solver with room for `cache` bytes of kernel rows, or for what it can use within a quarter of the free memory if none are given;
    /// never more than the context allows.
    pub fn new(source: &'a dyn KernelSource, cache: Option<usize>, context: &Context<'a>) -> Result<Self> {
        let n = source.len();
        let mut cache = cache.unwrap_or_else(|| automatic_cache(n, 1));
        let mut set_bytes = usize::MAX;
        let blocks = route::may_block(source);
        let card = match choose_card(source, route::may_block_on_card(source, context.device), context)? {
            Choice::Card(card) => Some(card),
            Choice::Processor => None,
            Choice::Refused(reason) => {
                context.note(&format!("{reason}; using the processor"));
                None
            }
        };
        let needed = blocked::fewest_bytes(source, context);
        if blocks && let Some(allowed) = context.memory.map_or_else(free_memory, Some) {
            if allowed < needed {
                let what = "the packed table, the model and the smallest working set";
                return Err(match context.memory {
                    Some(allowed) => Error::Memory { what, needed, allowed },
                    None => Error::FreeMemory { what, needed, free: allowed },
                });
            }
            set_bytes = allowed - blocked::bytes_beside_set(source, context);
        }
        if let Some(allowed) = context.memory {
            // Gradients, bounds and statuses beside the tables, and room for a few rows.
            let (fixed, rows) = (source.table_bytes().saturating_add(96 * n), 16 * n.max(64) * size_of::<f64>());
            // A model may keep all rows of the table in double precision: a third of its packings.
            let model = source.table_bytes() / 3;
            // What earlier fits left for this one counts too, and may be too small to be of use.
            arena::release();
            if blocks {
                // Rows that find no room leave the problem to blocks.
                cache = cache.min(allowed.saturating_sub(fixed));
            } else if allowed < fixed.saturating_add(rows) {
                return Err(Error::Memory {
                    what: "the packed table and the smallest kernel row cache",
                    needed: fixed.saturating_add(rows),
                    allowed,
                });
            }
            cache = cache.min(allowed.saturating_sub(fixed.saturating_add(model)).max(rows));
        }
        // Cores that others hold are left to them; the longer the fit, the better one may look.
        let threads = if n < 1000 || context.threads == 1 {
            1
        } else {
            context.threads.min(parallel::free_cores((1 + n / 1000).min(5) + (n / 4000).min(15)))
        };
        let (diagonal, crew) = (source.diagonal()?, Crew::new(threads));
        let copy = CardCopy::default();
        Ok(Self {
            source,
            context: *context,
            diagonal,
            crew,
            cache,
            shared: false,
            newton_moves: 0,
            set_bytes,
            card,
            copy,
            single: None,
            double: None,
        })
    }

    /// Many problems will be solved on the same samples: kernel rows that fit the cache are worth keeping.
    pub(crate) fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Bytes for rows: with few features a row is cheaper to compute twice than to write to memory for the first time, and under small bounds
    /// most rows are asked for once (a first fit of 10 000 x 100 at C = 1 takes 0.18 s and 170 MB; with all rows kept 0.22 s and 360 MB. At C = 10
    /// it would take a tenth longer. Of 2000 x 20 at C = 1 9 instead of 12 ms.)
    pub(super) fn budget(&self, problem: &DualProblem<'_>, width: usize) -> Budget {
        let n = self.source.len();
        let whole = n.saturating_mul(n).saturating_mul(width);
        let many = ((self.source.dimensions() as f64 - 50.0) / 50.0).clamp(0.0, 1.0);
        let share = if route::is_gentle(problem, self.largest_diagonal()) { 0.375 } else { 0.25 + 0.75 * many };
        let share = match n {
            0..=4096 if self.shared => 1.0,
            0..=4096 => 0.5 + 0.5 * many,
            _ => share,
        };
        let first = (whole as f64 * share) as usize;
        Budget { first: self.cache.min(first), most: self.cache.min(whole) }
    }

    /// The largest `k(x, x)`: the size of things.
    pub fn largest_diagonal(&self) -> f64 {
        self.diagonal.iter().fold(0.0, |a: f64, v| a.max(v.abs()))
    }

    /// Solves one problem.
    pub fn solve(&mut self, problem: &DualProblem<'_>, options: &Options) -> Result<DualSolution> {
        self.solve_from(problem, None, options)
    }

    /// Memory and time of a long fit, to whoever watches.
    fn say_what_it_takes(&self) {
        let (lanes, bytes) = (self.context.isa.lanes::<f32>(), blocked::usual_bytes(self.source, &self.context));
        let estimate = Estimate::new(self.source.len(), self.source.dimensions(), bytes, self.crew.threads(), lanes);
        if estimate.is_worth_saying() {
            self.context.note(&estimate.to_string());
        }
    }

    /// Solves one problem whose start has a gradient that the caller knows: computing it anew can cost more than the few steps from a
    /// neighboring problem's solution. It is computed anew where it may be wrong by more than the tolerance bears.
    pub fn solve_from(&mut self, problem: &DualProblem<'_>, known: Option<Known>, options: &Options) -> Result<DualSolution> {
        problem.validate()?;
        let most = options.max_iterations.unwrap_or_else(|| enough_steps(problem.len()));
        let options = &Options { max_iterations: Some(most), ..*options };
        let mut solution = match self.patience(problem).filter(|patience| *patience < most) {
            None => self.solve_by_steps(problem, known, options)?,
            Some(patience) => {
                let solution = self.solve_by_steps(problem, known, &Options { max_iterations: Some(patience), ..*options })?;
                if solution.stop == StopReason::MaxIterations { self.through_weights(problem, solution, options)? } else { solution }
            }
        };
        let lost = matches!(solution.stop, StopReason::Rounding | StopReason::MaxIterations) && problem.start.is_none();
        if lost && draw_back(problem, &mut solution.coefficients, &mut solution.gradient) {
            let Certificate { offsets, objective, violation, gap } = certify(problem, &solution.coefficients, &solution.gradient);
            solution = DualSolution { offsets, objective, violation, gap, ..solution };
        }
        Ok(solution)
    }

    /// The same by pair steps, blocks, or one variable at a time.
    // long: what a problem goes through from its start to its certificate, step by step.
    pub(super) fn solve_by_steps(&mut self, problem: &DualProblem<'_>, known: Option<Known>, options: &Options) -> Result<DualSolution> {
        if problem.len() != self.source.len() {
            return Err(Error::shape("variables, one per sample", self.source.len(), problem.len()));
        }
        let mut b = problem.start.map_or_else(|| vec![0.0; problem.len()], <[f64]>::to_vec);
        let chosen = route::choose(self.source, problem, self.largest_diagonal(), self.cache, self.shared, &self.context)?;
        let mut route = match chosen {
            Route::Small | Route::Cached | Route::Cheap | Route::Crowded | Route::Apart | Route::Near if self.card.is_some() => Route::Card,
            Route::Indefinite if self.card.is_some() => Route::CardIndefinite,
            route => route,
        };
        // Whoever follows the fit hears which way it goes.
        let stage = route.to_string();
        let way = Progress { stage: &stage, done: 0, total: None, violation: None, tolerance: None };
        let mut stopped = None;
        if route.is_blocks() {
            self.say_what_it_takes();
            stopped = self.context.check(&way);
        }
        if let Some(known) = &known
            && known.gradient.len() != problem.len()
        {
            return Err(Error::shape("gradient of the start, one value per sample", problem.len(), known.gradient.len()));
        }
        let known = match known {
            Some(known) if route.may_drift() && self.may_begin_with(known.error, problem, options)? => Some(known),
            known => known.filter(|known| known.error == 0.0),
        };
        let warm = known.is_none() && b.iter().any(|&v| v != 0.0);
        // Blocks compute the gradient of their start themselves.
        let unknown = warm && route.is_blocks();
        // Infinite where the gradient is not that of `b`: then it certifies nothing.
        let mut error = if warm { f64::INFINITY } else { known.as_ref().map_or(0.0, |known| known.error) };
        let mut gradient = known.map_or_else(|| problem.linear.to_vec(), |known| known.gradient);
        if stopped.is_none() && warm && !unknown {
            stopped = self.exact_gradient(problem, &b, &mut gradient)?;
            if stopped.is_none() {
                error = 0.0;
            }
        }
        let (mut iterations, mut checked) = (0, false);
        let finest = (REFINED * options.tolerance).max(FINEST);
        let early = |b, gradient, iterations| {
            small::solve(self.source, &self.diagonal, problem, options, finest, b, gradient, iterations, &self.context)
        };
        let small = match stopped {
            None => stopped_by(early(&mut b, &mut gradient, &mut iterations))?.unwrap_or(small::Progress::Open),
            Some(_) => small::Progress::Open,
        };
        let mut stop = match problem.equality {
            _ if stopped.is_some() => stopped.unwrap_or_default(),
            _ if small != small::Progress::Open => StopReason::Converged,
            Equality::Free => match stopped_by(self.source.double())? {
                Ok(rows) => single::descend(rows, &self.diagonal, problem, &mut b, &mut gradient, options, &mut iterations, &self.context),
                Err(reason) => reason,
            },
            _ => {
                let revisable = route == Route::Cached;
                let ended = match route.is_blocks() {
                    true => None,
                    false => self.pairs(problem, options, revisable, &mut b, &mut gradient, &mut iterations, &mut error)?,
                };
                match ended {
                    Some(stop) => stop,
                    None => {
                        route = route.max(if revisable { Route::Revised } else { Route::default() });
                        let found = self.blocks(problem, options, unknown, &mut b, &mut gradient, &mut iterations)?;
                        if route == Route::Card && self.card.is_none() {
                            // The card failed on the way, and the processor's blocks took over.
                            route = Route::Crowded;
                        }
                        (route, checked, error) = (route.max(found.route), found.checked, f64::INFINITY);
                        found.stop
                    }
                }
            }
        };
        if options.polish && small != small::Progress::Exact && matches!(stop, StopReason::Converged | StopReason::Rounding) {
            polish(self.source, &self.diagonal, problem, &mut b, &mut gradient)?;
            let reached = violation(problem, &b, &gradient) <= options.tolerance;
            if stop == StopReason::Converged || reached {
                stop = self.refine(problem, options, &mut b, &mut gradient, &mut iterations, &mut error)?;
            }
        }
        settle(problem, &mut b);
        let mut certificate = certify(problem, &b, &gradient);
        if !checked && error.is_infinite() {
            (certificate.objective, certificate.violation, certificate.gap) = (f64::NAN, f64::NAN, f64::NAN);
        }
        Ok(DualSolution {
            coefficients: b,
            gradient,
            gradient_error: error,
            offsets: certificate.offsets,
            objective: certificate.objective,
            violation: certificate.violation,
            gap: certificate.gap,
            iterations,
            stop,
            route,
        })
    }

    /// Small problems whose free variables have no unique solution (equal rows, both halves of a sample in nu-regression) cannot be
    /// polished: some more steps make them nearly as exact.
    fn refine(
        &mut self,
        problem: &DualProblem<'_>,
        options: &Options,
        b: &mut [f64],
        gradient: &mut Vec<f64>,
        iterations: &mut u64,
        error: &mut f64,
    ) -> Result<StopReason> {
        let tolerance = (REFINED * options.tolerance).max(FINEST);
        let small = problem.len() <= REFINE_UP_TO && !matches!(problem.equality, Equality::Free);
        if !small || 10.0 * tolerance >= options.tolerance || violation(problem, b, gradient) <= tolerance {
            return Ok(StopReason::Converged);
        }
        let most = (*iterations + 50 * problem.len() as u64).min(options.max_iterations.unwrap_or(u64::MAX));
        let finer = Options { tolerance, max_iterations: Some(most), ..*options };
        // It takes milliseconds: the observer is not called.
        let observer = self.context.observer.take();
        let stop = self.pairs(problem, &finer, false, b, gradient, iterations, error);
        self.context.observer = observer;
        let stop = stop?.unwrap_or_default();
        // Running out of these extra steps is no failure: the tolerance asked for was reached before.
        Ok(if matches!(stop, StopReason::MaxIterations | StopReason::Rounding) { StopReason::Converged } else { stop })
    }

    /// Sets `gradient` to `K b + linear` in double precision; `Some` reason, and `gradient` as it was, if it was stopped.
    pub(super) fn exact_gradient(&self, problem: &DualProblem<'_>, b: &[f64], gradient: &mut Vec<f64>) -> Result<Option<StopReason>> {
        let rows = match stopped_by(self.source.double())? {
            Ok(rows) => rows,
            Err(reason) => return Ok(Some(reason)),
        };
        let (support, weights) = kernel::support(b);
        let (lanes, threads, n) = (self.context.isa.lanes::<f64>(), self.crew.threads(), problem.len());
        // Parts of a few milliseconds, so that a stop is noticed soon.
        let work = support.len().max(1) * (self.source.dimensions() + 20);
        let part = n.div_ceil(4 * threads).min((1 << 26) / work + 1).next_multiple_of(lanes);
        let parts = n.div_ceil(part);
        let stopped = Mutex::new(None);
        let sums = parallel::map(threads, parts, |p| {
            if stopped.lock().expect("no panic while it is held").is_some() {
                return Vec::new();
            }
            let columns = p * part..((p + 1) * part).min(n);
            let mut sums = vec![0.0; columns.len().next_multiple_of(lanes)];
            // Without a total: a count of a few parts inside another stage would push that stage's own count aside.
            let summed = weigh_watched(rows, &support, &weights, columns.clone(), &mut sums, &self.context);
            if let Err(Error::Stopped { reason }) = summed.and_then(|()| self.context.go_on("exact gradient")) {
                *stopped.lock().expect("no panic while it is held") = Some(reason);
                return Vec::new();
            }
            sums.truncate(columns.len());
            sums
        });
        let reason = stopped.into_inner().expect("no thread panicked");
        if reason.is_none() {
            *gradient = sums.concat();
            gradient.iter_mut().zip(problem.linear).for_each(|(g, q)| *g += q);
        }
        Ok(reason)
    }
}

/// Steps after which a problem is left as it is where nobody gave a limit: ten million as in LIBSVM's program, or 10 000 per sample.
///
/// Steps grow in number with the bounds and with the condition of the kernel matrix: 6000 rows with one column take 174 per sample at C = 1000
/// and are not solved after 10 000 at C = 1e6, 15 rows with columns of scales from 1 to 800 000 not after 35 million in all.
fn enough_steps(n: usize) -> u64 {
    10_000_000.max(10_000 * n as u64)
}

/// What a fit of `n` samples can use for kernel rows, within a quarter of the free memory.
///
/// Fits that run `at_once` share that quarter.
pub(crate) fn automatic_cache(n: usize, at_once: usize) -> usize {
    let useful = n.saturating_mul(n).saturating_mul(size_of::<f64>());
    if useful <= DEFAULT_CACHE {
        return DEFAULT_CACHE;
    }
    useful.min(free_memory().map_or(DEFAULT_CACHE, |free| free / FREE_SHARE / at_once.max(1)))
}

#[cfg(test)]
impl Solver<'_> {
    /// Another room for rows.
    pub(super) fn set_cache(&mut self, bytes: usize) {
        self.cache = bytes;
    }
}
