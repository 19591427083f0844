//! Pair steps with cached kernel rows, or blocks without: which way is faster for a problem, and why.
//!
//! Both end at the same optimum. With few features a kernel value is cheaper to compute than to fetch, and blocks win from some thousand
//! rows up. With many features pair steps win as long as the rows of all support vectors fit the cache, and lose by an order of magnitude
//! when they do not.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};

use super::dual::{DualProblem, Equality};
use super::source::KernelSource;

/// Below so many rows pair steps are about as fast, all kernel rows together are small, and results keep their bits.
pub(super) const FEWEST_ROWS: usize = 5000;
/// Features up to which blocks win whatever fits, and from which pair steps win whenever their rows fit.
const FEW: f64 = 50.0;
const MANY: f64 = 100.0;
/// Share of the samples whose rows pair steps ask for, at most in most fits.
const SUPPORT_SHARE: f64 = 0.75;

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
    /// Blocks: with so few features kernel values are cheaper to compute than to keep.
    Cheap,
    /// Blocks: the kernel rows do not fit the cache.
    Crowded,
    /// Blocks after pair steps: kernel rows had to be computed again and again.
    Revised,
    /// Blocks on a graphics card.
    Card,
    /// Blocks, then double precision: single precision could not reach the tolerance.
    Delicate,
    /// Blocks: the rows are on many machines.
    Shards,
}

impl Route {
    pub(super) fn is_blocks(self) -> bool {
        matches!(self, Self::Cheap | Self::Crowded | Self::Revised | Self::Card | Self::Delicate | Self::Shards)
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
            Self::Cheap => "blocks: with so few features kernel values are cheaper to compute than to keep",
            Self::Crowded => "blocks: the kernel rows do not fit the cache",
            Self::Revised => "blocks after pair steps: kernel rows were computed again and again",
            Self::Card => "blocks on the graphics card",
            Self::Delicate => "blocks, then double precision: single precision could not reach the tolerance",
            Self::Shards => "blocks on shards: rows stay on the machines that hold them",
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
pub(super) fn choose(source: &dyn KernelSource, problem: &DualProblem<'_>, cache: usize, shared: bool) -> Route {
    let n = source.len();
    if matches!(problem.equality, Equality::Free) {
        return Route::Coordinates;
    }
    if n < FEWEST_ROWS {
        return Route::Small;
    }
    if !may_block(source) {
        return Route::Indefinite;
    }
    match FORCED.load(Ordering::Relaxed) {
        0 => {}
        1 => return Route::Small,
        _ => return Route::Crowded,
    }
    let many = ((source.dimensions() as f64 - FEW) / (MANY - FEW)).clamp(0.0, 1.0);
    // Rows that serve many problems are worth their memory with any number of features.
    let many = if shared { 1.0 } else { many };
    let needed = SUPPORT_SHARE * (n as f64).powi(2) * size_of::<f32>() as f64;
    if needed <= many * cache as f64 {
        Route::Cached
    } else if many == 0.0 || needed <= cache as f64 {
        Route::Cheap
    } else {
        Route::Crowded
    }
}

/// Whether blocks are safe: kernels that are known not to be positive semi-definite stay with pair steps. A matrix or function that was
/// given is taken at its word.
pub(super) fn may_block(source: &dyn KernelSource) -> bool {
    source.len() >= FEWEST_ROWS && source.is_positive_semidefinite() != Some(false)
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
        let problem = DualProblem { linear: &[], lower: &[], upper: &[], kink: 0.0, equality: Equality::Sum, start: None };
        choose(&Sized { n, d, definite }, &problem, megabytes * 1_000_000, shared)
    }

    #[test]
    fn few_features_many_rows_and_memory_decide() {
        let yes = Some(true);
        assert_eq!(route(2_999, 20, yes, 200, false), Route::Small);
        assert_eq!(route(80_000, 20, yes, 100_000, false), Route::Cheap, "whatever fits");
        assert_eq!(route(10_000, 100, yes, 200, false), Route::Crowded, "300 MB of rows");
        assert_eq!(route(10_000, 100, yes, 400, false), Route::Cached);
        assert_eq!(route(20_000, 100, yes, 2_000, false), Route::Cached);
        assert_eq!(route(40_000, 100, yes, 2_000, false), Route::Crowded);
        assert_eq!(route(20_000, 75, yes, 2_000, false), Route::Cheap, "half as many features, half the room");
        assert_eq!(route(10_000, 20, yes, 400, true), Route::Cached, "rows for many problems");
        assert_eq!(route(20_000, 20, Some(false), 200, false), Route::Indefinite);
        assert_eq!(route(20_000, 20_000, None, 200, false), Route::Crowded, "a given matrix is taken at its word");
    }

    #[test]
    fn every_way_says_what_it_is() {
        use Route::{Cached, Card, Cheap, Crowded, Delicate, Indefinite, Revised, Shards, Small};
        let ways = [Small, Indefinite, Cached, Cheap, Crowded, Revised, Card, Delicate, Shards];
        assert!(ways.iter().all(|way| way.to_string().starts_with(if way.is_blocks() { "blocks" } else { "pair steps" })));
    }
}
