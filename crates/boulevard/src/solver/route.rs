//! Pair steps with cached kernel rows, or blocks without: which way is faster for a problem, and why.
//!
//! Both end at the same optimum. With few features a kernel value is cheaper to compute than to fetch, and blocks win from some thousand
//! rows up. With many features pair steps win as long as the rows that are asked for again and again fit the cache, and lose by an order
//! of magnitude when they do not. How many those are depends on the problem: under small bounds most samples are settled by one step, and
//! where all samples are far apart every row is asked for about once, so that keeping rows brings nothing; where they are near each other
//! the kernel matrix is nearly one of low rank, and a few rounds of blocks are enough.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};

use super::dual::{DualProblem, Equality};
use super::source::KernelSource;
use crate::error::Result;
use crate::kernel::{self, Kernel, padded};
use crate::observe::{Context, Device};

/// Below so many rows pair steps are about as fast, all kernel rows together are small, and results keep their bits.
pub(super) const FEWEST_ROWS: usize = 5000;
/// Features up to which blocks win whatever fits, and from which pair steps win whenever their rows fit.
const FEW: f64 = 50.0;
const MANY: f64 = 100.0;
/// Rows from which it takes more features: every step sweeps all rows, kernel rows are long and fetched few times. (Zen 5, blocks beside pair
/// steps with 5 GB of rows: a9a, 32 561 x 123, 1.0 and 1.9 s, at C = 10 1.9 and 4.9; w8a, 49 749 x 300, 1.5 and 2.5, 1.9 and 3.6; clusters
/// of 40 000 x 200 10.0 and 9.4, of 40 000 x 100 2.2 and 2.4.) Beyond 300 features only shorter tables were measured.
const LONG: usize = 30_000;
const FEW_OF_LONG: f64 = 300.0;
const MANY_OF_LONG: f64 = 600.0;
/// The same where rows are near each other, whatever their number: blocks need few rounds. (First fits of 10 000 to 16 000 rows, Zen 5,
/// blocks beside pair steps: 75, 100 and 120 features at C = 1 0.85, 0.9 and 0.97 of the time, at C = 10 0.65, 0.7 and 0.85; a9a at C = 1
/// and 10 0.7 and 0.55; 150 indicators 0.92 and 1.1; 256 features 1.0; w8a, 300, 0.95 and 1.45; 617 1.5. All in a fifth of the memory.)
const FEW_OF_NEAR: f64 = 150.0;
const MANY_OF_NEAR: f64 = 300.0;
/// Share of the samples whose rows pair steps ask for again and again, the share of long tables, whose rows take longest to come again
/// (with 100 features, C = 10 and room for a quarter 6000, 10 000, 20 000 and 40 000 rows take 0.77, 0.9, 0.8 and 1.5 times as long as
/// by blocks), and the share where bounds are small.
const SHARE: f64 = 0.25;
const SHARE_OF_LONG: f64 = 0.5;
const GENTLE_SHARE: f64 = 0.2;
/// Bounds times the kernel's diagonal up to this are small: C = 1 is, for kernels of size 1, and C = 10 is not.
const GENTLE: f64 = 3.0;
/// Samples are far apart if kernel values of different ones, beside the diagonal, are below this in the mean. (10 000 x 100 at
/// C = 1: with means of 9e-5 and 4e-8 pair steps take 0.45 s and blocks 0.54 and 0.69, with 1e-27 0.89 and 0.69.)
const APART: f64 = 1e-10;
/// And near from this mean on. (With 75 to 120 features blocks won from 0.3 on; with 150 they lost at 0.26.)
const NEAR: f64 = 0.45;
/// Samples that are looked at for both.
const LOOKED_AT: usize = 64;

/// The way a problem was solved, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Pair steps: there are few rows.
    #[default]
    Small,
    /// One variable at a time: nothing ties them together.
    Coordinates,
    /// Pair steps: the kernel may not be positive semi-definite.
    Indefinite,
    /// Pair steps: the kernel rows of all support vectors fit the cache.
    Cached,
    /// Blocks: with so few features for so many rows kernel values are cheaper to compute than to keep.
    Cheap,
    /// Blocks: the kernel rows do not fit the cache.
    Crowded,
    /// Blocks: samples are so far apart that every kernel row is asked for about once.
    Apart,
    /// Blocks: samples are near each other, so that few rounds are enough.
    Near,
    /// Blocks after pair steps: kernel rows had to be computed again and again.
    Revised,
    /// Blocks on a graphics card.
    Card,
    /// Blocks, then double precision: single precision could not reach the tolerance.
    Delicate,
    /// Blocks: the rows are on many machines.
    Shards,
    /// Blocks on a graphics card, to a point where nothing falls any more: the kernel may not be positive semi-definite.
    CardIndefinite,
    /// The same, but sets undid each other's steps or single precision did not do: pair steps went on from there.
    CardThenPairs,
    /// Pair steps, and when they crept, which with a linear kernel they may, an interior point method for its weights.
    Weights,
}

impl Route {
    pub(super) fn is_blocks(self) -> bool {
        match self {
            Self::Small | Self::Coordinates | Self::Indefinite | Self::Cached | Self::Weights => false,
            Self::Cheap | Self::Crowded | Self::Apart | Self::Near | Self::Revised | Self::Card | Self::Delicate => true,
            Self::Shards | Self::CardIndefinite | Self::CardThenPairs => true,
        }
    }

    /// Whether the steps bear a gradient that may be wrong by a share of the tolerance: pair steps do, which count how much that is.
    pub(super) fn may_drift(self) -> bool {
        !self.is_blocks() && self != Self::Coordinates
    }

    /// Whether there is nothing worth mentioning: small problems, and models that no dual solver made.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Small => "pair steps: few rows",
            Self::Coordinates => "one variable at a time: no equality ties them",
            Self::Indefinite => "pair steps: the kernel may not be positive semi-definite",
            Self::Cached => "pair steps: the kernel rows fit the cache",
            Self::Cheap => "blocks: with so few features for so many rows kernel values are cheaper to compute than to keep",
            Self::Crowded => "blocks: the kernel rows do not fit the cache",
            Self::Apart => "blocks: rows are so far apart that hardly a kernel row is asked for twice",
            Self::Near => "blocks: rows are so near each other that a few rounds are enough",
            Self::Revised => "blocks after pair steps: kernel rows were computed again and again",
            Self::Card => "blocks on the graphics card",
            Self::Delicate => "blocks, then double precision: single precision could not reach the tolerance",
            Self::Shards => "blocks on shards: rows stay on the machines that hold them",
            Self::CardIndefinite => "blocks on the graphics card, to a stationary point: the kernel may not be positive semi-definite",
            Self::Weights => "an interior point method for the weights: pair steps of the linear kernel were slow",
            Self::CardThenPairs => "blocks on the graphics card, then pair steps: the kernel may not be positive semi-definite",
        })
    }
}

/// A way that everything takes: 1 pair steps, 2 blocks; 0 is the choice.
static FORCED: AtomicU8 = AtomicU8::new(0);

/// Forces pair steps (`false`) or blocks on all fits of the process from some thousand rows up: for measurements of the choice, nothing else.
pub fn force_route(blocks: bool) {
    FORCED.store(1 + u8::from(blocks), Ordering::Relaxed);
}

/// Chooses for `problem` with room for `cache` bytes of rows; `shared` if many problems will use the same rows.
pub(super) fn choose(
    source: &dyn KernelSource,
    problem: &DualProblem<'_>,
    diagonal: f64,
    cache: usize,
    shared: bool,
    context: &Context<'_>,
) -> Result<Route> {
    let n = source.len();
    if matches!(problem.equality, Equality::Free) {
        return Ok(Route::Coordinates);
    }
    if n < FEWEST_ROWS {
        return Ok(Route::Small);
    }
    if !may_block(source) {
        return Ok(Route::Indefinite);
    }
    match FORCED.load(Ordering::Relaxed) {
        0 => {}
        1 => return Ok(Route::Small),
        _ => return Ok(Route::Crowded),
    }
    let gentle = is_gentle(problem, diagonal);
    let features = source.dimensions() as f64;
    // Rows that serve many problems are worth their memory with any number of features, near or not.
    let nearness = if shared || features <= FEW { None } else { nearness(source, context)? };
    let near = n < LONG && nearness.is_some_and(|nearness| nearness >= NEAR);
    let [few, enough] = match near {
        _ if n >= LONG => [FEW_OF_LONG, MANY_OF_LONG],
        true => [FEW_OF_NEAR, MANY_OF_NEAR],
        false => [FEW, MANY],
    };
    let many = if shared { 1.0 } else { ((features - few) / (enough - few)).clamp(0.0, 1.0) };
    let share = match gentle {
        true => GENTLE_SHARE,
        false if n >= LONG => SHARE_OF_LONG,
        false => SHARE,
    };
    let needed = share * (n as f64).powi(2) * size_of::<f32>() as f64;
    Ok(if needed <= many * cache as f64 {
        if nearness.is_some_and(|nearness| nearness < APART) { Route::Apart } else { Route::Cached }
    } else if many == 0.0 || needed <= cache as f64 {
        if near { Route::Near } else { Route::Cheap }
    } else {
        Route::Crowded
    })
}

/// Whether bounds are small: most samples are settled by one step.
pub(super) fn is_gentle(problem: &DualProblem<'_>, diagonal: f64) -> bool {
    problem.lower.iter().chain(problem.upper).fold(0.0, |most: f64, v| most.max(v.abs())) * diagonal <= GENTLE
}

/// The mean kernel value between some samples, evenly drawn, beside the diagonal's. Matrices and functions that were given are not asked.
fn nearness(source: &dyn KernelSource, context: &Context<'_>) -> Result<Option<f64>> {
    let Some(view) = source.table() else { return Ok(None) };
    if matches!(view.kernel, Kernel::Precomputed | Kernel::Custom(_)) {
        return Ok(None);
    }
    let (n, looked_at) = (view.len(), LOOKED_AT.min(view.len()));
    let x = view.x.select(&(0..looked_at).map(|k| view.sample(k * n / looked_at)).collect::<Vec<_>>());
    let values = kernel::rows::<f64>(view.kernel, &x, context)?;
    let diagonal = kernel::diagonal(view.kernel, &x)?;
    let (mut row, mut sum) = (vec![0.0; padded(looked_at)], 0.0);
    for i in 0..looked_at {
        values.fill(&[i], 0..looked_at, &mut [&mut row]);
        let others = (0..looked_at).filter(|&j| j != i);
        sum += others.map(|j| row[j].abs() / (diagonal[i] * diagonal[j]).abs().sqrt().max(f64::MIN_POSITIVE)).sum::<f64>();
    }
    Ok(Some(sum / (looked_at * (looked_at - 1)).max(1) as f64))
}

/// Whether blocks are safe: kernels that are known not to be positive semi-definite stay with pair steps. A matrix or function that was
/// given is taken at its word.
pub(super) fn may_block(source: &dyn KernelSource) -> bool {
    source.len() >= FEWEST_ROWS && source.is_positive_semidefinite() != Some(false)
}

/// Whether blocks may run on a card: where one was asked for, kernels that are not positive semi-definite may, too. Every step of a set falls
/// along its pair whatever the curvature, so that the loop ends at a stationary point as pair steps do; which one is another matter, so
/// nobody gets another one without asking.
pub(super) fn may_block_on_card(source: &dyn KernelSource, device: Device) -> bool {
    may_block(source) || (source.len() >= FEWEST_ROWS && matches!(device, Device::Cuda(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::kernel::KernelRows;

    /// A kernel that has a size and no values.
    struct Sized {
        n: usize,
        d: usize,
        definite: Option<bool>,
    }

    impl KernelSource for Sized {
        fn len(&self) -> usize {
            self.n
        }
        fn diagonal(&self) -> Result<Vec<f64>> {
            unreachable!("a choice needs no values")
        }
        fn single(&self) -> Result<&dyn KernelRows<f32>> {
            unreachable!("a choice needs no values")
        }
        fn double(&self) -> Result<&dyn KernelRows<f64>> {
            unreachable!("a choice needs no values")
        }
        fn dimensions(&self) -> usize {
            self.d
        }
        fn is_positive_semidefinite(&self) -> Option<bool> {
            self.definite
        }
    }

    fn route(n: usize, d: usize, definite: Option<bool>, megabytes: usize, shared: bool) -> Route {
        under(10.0, n, d, definite, megabytes, shared)
    }

    fn under(bound: f64, n: usize, d: usize, definite: Option<bool>, megabytes: usize, shared: bool) -> Route {
        let problem = DualProblem { linear: &[0.0], lower: &[0.0], upper: &[bound], kink: 0.0, equality: Equality::Sum, start: None };
        choose(&Sized { n, d, definite }, &problem, 1.0, megabytes * 1_000_000, shared, &Context::single()).unwrap()
    }

    #[test]
    fn few_features_many_rows_and_memory_decide() {
        let yes = Some(true);
        assert_eq!(route(2_999, 20, yes, 200, false), Route::Small);
        assert_eq!(route(80_000, 20, yes, 100_000, false), Route::Cheap, "whatever fits");
        assert_eq!(route(10_000, 100, yes, 90, false), Route::Crowded, "100 MB of rows");
        assert_eq!(route(10_000, 100, yes, 110, false), Route::Cached);
        assert_eq!(under(1.0, 10_000, 100, yes, 100, false), Route::Cached, "80 MB of rows under small bounds");
        assert_eq!(under(1.0, 10_000, 100, yes, 70, false), Route::Crowded);
        assert_eq!(route(10_000, 100, yes, 400, false), Route::Cached);
        assert_eq!(route(20_000, 100, yes, 2_000, false), Route::Cached);
        assert_eq!(route(40_000, 100, yes, 5_000, false), Route::Cheap, "many rows");
        assert_eq!(route(40_000, 784, yes, 3_000, false), Route::Crowded);
        assert_eq!(route(40_000, 784, yes, 3_400, false), Route::Cached);
        assert_eq!(under(1.0, 40_000, 300, yes, 1_600, false), Route::Cheap);
        assert_eq!(under(1.0, 40_000, 784, yes, 1_600, false), Route::Cached);
        assert_eq!(route(20_000, 75, yes, 700, false), Route::Cheap, "half as many features, half the room");
        assert_eq!(route(20_000, 75, yes, 900, false), Route::Cached);
        assert_eq!(route(10_000, 20, yes, 400, true), Route::Cached, "rows for many problems");
        assert_eq!(route(20_000, 20, Some(false), 200, false), Route::Indefinite);
        assert_eq!(route(20_000, 20_000, None, 200, false), Route::Crowded, "a given matrix is taken at its word");
    }

    #[test]
    fn samples_far_apart_or_near_need_no_cache() {
        let x = crate::data::Matrix::from_rows(&(0..FEWEST_ROWS).map(|i| vec![i as f64; 100]).collect::<Vec<_>>()).unwrap();
        let context = Context::single();
        let bounds = vec![1.0; FEWEST_ROWS];
        let nothing = vec![0.0; FEWEST_ROWS];
        let problem = DualProblem { linear: &nothing, lower: &nothing, upper: &bounds, kink: 0.0, equality: Equality::Sum, start: None };
        for (gamma, expected) in [(1.0, Route::Apart), (1e-7, Route::Cached), (1e-12, Route::Near)] {
            let source = crate::solver::TableKernel::new(&Kernel::rbf(gamma), &x, &context);
            assert_eq!(choose(&source, &problem, 1.0, usize::MAX, false, &context).unwrap(), expected);
        }
    }

    #[test]
    fn indefinite_kernels_are_for_a_card_that_was_asked_for() {
        let of = |n, definite, device| may_block_on_card(&Sized { n, d: 20, definite }, device);
        assert!(of(FEWEST_ROWS, Some(false), Device::Cuda(0)) && of(FEWEST_ROWS, Some(true), Device::Auto));
        assert!(!of(FEWEST_ROWS, Some(false), Device::Auto) && !of(FEWEST_ROWS, Some(false), Device::Cpu));
        assert!(!of(FEWEST_ROWS - 1, Some(false), Device::Cuda(0)), "few rows");
    }

    #[test]
    fn every_way_says_what_it_is() {
        use Route::{
            Apart, Cached, Card, CardIndefinite, CardThenPairs, Cheap, Crowded, Delicate, Indefinite, Near, Revised, Shards, Small,
        };
        let ways = [Small, Indefinite, Cached, Cheap, Crowded, Apart, Near, Revised, Card, Delicate, Shards, CardIndefinite, CardThenPairs];
        assert!(ways.iter().all(|way| way.to_string().starts_with(if way.is_blocks() { "blocks" } else { "pair steps" })));
    }
}
