//! Vector instructions, chosen at run time, and the inner loops written with them.
//!
//! [`tile`] computes blocks of kernel values, [`one_row`] those of a single sample, [`sweep`] the solver's passes over all
//! samples. All are safe code over the vectors of `vector.rs`, compiled once for each instruction set.

pub mod one_row;
pub mod sweep;
#[cfg(test)]
mod tests;
pub mod tile;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

pub use vector::{Job, Real, Simd, prefetch};

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain Rust, for every machine.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, DQ, BW, VL).
    Avx512,
}

impl Isa {
    /// The best set that this machine has. `BOULEVARD_PORTABLE=1` in the environment leaves plain Rust only, which is what other machines
    /// compute with: tests of equal results run that way too.
    pub fn detect() -> Self {
        static FOUND: OnceLock<Isa> = OnceLock::new();
        *FOUND.get_or_init(|| if std::env::var_os("BOULEVARD_PORTABLE").is_some() { Self::Portable } else { Self::best() })
    }

    #[cfg(target_arch = "x86_64")]
    fn best() -> Self {
        if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
            return Self::Portable;
        }
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        if wide { Self::Avx512 } else { Self::Avx2 }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn best() -> Self {
        Self::Portable
    }

    /// All sets that this machine has.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|&isa| isa <= Self::detect())
    }

    /// Values of `T` in one panel: tables are packed and rows are padded to a multiple of this.
    pub fn lanes<T: Real>(self) -> usize {
        T::dispatch(self, Sizes).0
    }

    /// Values of `T` in one register.
    pub fn register<T: Real>(self) -> usize {
        T::dispatch(self, Sizes).1
    }
}

/// Values in a panel and in a register.
struct Sizes;

impl<T: Real> Job<T> for Sizes {
    type Output = (usize, usize);
    #[inline(always)]
    fn run<S: Simd<T>>(self, _: S) -> (usize, usize) {
        (S::LANES, S::One::LANES)
    }
}
