//! Vector instructions, chosen at run time, and the inner loops written with them.
//!
//! [`tile`] computes blocks of kernel values, [`sweep`] the solver's passes over all samples. Both are safe code over the vectors of
//! `vector.rs`, compiled once for each instruction set.

pub mod sweep;
#[cfg(test)]
mod tests;
pub mod tile;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

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
    /// The best set that this machine has; with the feature `portable`, which tests what other machines do, none but plain Rust.
    pub fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
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
