//! Vectors of lanes for three instruction sets, behind one trait. With `unsafe` code (docs/architecture.md).
//!
//! A vector here is a *panel*: several machine registers that are always used together (64 `f32` or 32 `f64` with AVX-512), which hides
//! the latency of every operation. A token (`Avx512`, `Avx2`, `Portable`) can only be had after the machine was asked for the
//! instructions, so the methods on it are safe to call. They must be inlined into the entry points of [`Real::dispatch`] to become single
//! instructions: hence `#[inline(always)]` throughout.

use super::Isa;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// A floating point type that kernels and solvers compute in.
pub trait Real: Copy + Default + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// Rounds from `f64`.
    fn from_f64(value: f64) -> Self;
    /// Widens to `f64`.
    fn to_f64(self) -> f64;
    /// The values as they are, if they are of this type.
    fn borrow(values: &[f64]) -> Option<&[Self]>;
    /// `self * a + b`, rounded twice where the hardware has nothing better.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Half the distance from 1 to the next number: the bound of one relative rounding error.
    const ROUNDING: f64;
    /// Whether this is the wide type.
    const DOUBLE: bool;
    /// Coefficients 1..=N of a polynomial for `2^x` on `[0, 1)`; coefficient 0 is exactly 1, so that `2^0 = 1`.
    const EXP2: &'static [Self];
    /// Below this exponent `2^x` is taken as `2^EXP2_LOW`.
    const EXP2_LOW: Self;
    /// Runs `job` with the instructions of `isa`, or the best the machine has if it lacks them.
    fn dispatch<J: Job<Self>>(isa: Isa, job: J) -> J::Output;
}

macro_rules! dispatch {
    () => {
        fn dispatch<J: Job<Self>>(isa: Isa, job: J) -> J::Output {
            match isa.min(Isa::detect()) {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `detect` found every feature that the entry point enables.
                Isa::Avx512 => unsafe { x86::enter_avx512(job) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Isa::Avx2 => unsafe { x86::enter_avx2(job) },
                _ => job.run(Portable),
            }
        }
    };
}

impl Real for f32 {
    #[inline(always)]
    fn borrow(_: &[f64]) -> Option<&[Self]> {
        None
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
    const ROUNDING: f64 = 5.960_464_477_539_063e-8;
    const DOUBLE: bool = false;
    // Minimax in relative error: 2.0e-9 before rounding.
    const EXP2: &'static [Self] = &[0.693_147_06, 0.240_229_3, 0.055_485_28, 0.009_675_451_6, 0.001_246_784_6, 0.000_216_129_16];
    const EXP2_LOW: Self = -126.0;
    dispatch!();
}

impl Real for f64 {
    #[inline(always)]
    fn borrow(values: &[f64]) -> Option<&[Self]> {
        Some(values)
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
    const ROUNDING: f64 = 1.110_223_024_625_156_5e-16;
    const DOUBLE: bool = true;
    // Minimax in relative error: 3.2e-18 before rounding.
    const EXP2: &'static [Self] = &[
        0.693_147_180_559_945_9,
        0.240_226_506_959_063_3,
        0.055_504_108_665_602_253,
        0.009_618_129_099_550_796,
        0.001_333_355_862_956_675_5,
        0.000_154_035_123_096_286_6,
        1.525_317_505_556_279_6e-5,
        1.320_836_728_895_114e-6,
        1.025_321_243_572_193_4e-7,
        6.559_529_322_770_528e-9,
        6.263_466_142_296_021e-10,
    ];
    const EXP2_LOW: Self = -1022.0;
    dispatch!();
}

/// Lanes of the widest panel.
pub(super) const MOST_LANES: usize = 64;

/// Operations on panels of `T`.
pub trait Simd<T: Real>: Copy {
    /// A panel of values.
    type V: Copy;
    /// A panel of truths.
    type M: Copy;
    /// Values in a panel.
    const LANES: usize;
    /// The same instructions on panels of one register, for work with many values at once; `LANES` is a multiple of its own.
    type One: Simd<T>;

    /// Panels of one register.
    fn one(self) -> Self::One;

    /// The same value in every lane.
    fn splat(self, value: T) -> Self::V;
    /// The first `LANES` values of a slice.
    fn load(self, from: &[T]) -> Self::V;
    /// Hints that the panel `offset` values into a slice will be read soon. Beyond its end nothing breaks, but time is lost.
    fn prefetch(self, from: &[T], offset: usize);
    /// Writes the first `LANES` values of a slice.
    fn store(self, value: Self::V, to: &mut [T]);
    /// `a + b`
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Roughly `1 / a` (relative error below 0.0004).
    fn reciprocal(self, a: Self::V) -> Self::V;
    /// The smaller of two.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// The larger of two.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// Square root.
    fn sqrt(self, a: Self::V) -> Self::V;
    /// `2^a` for `a <= 0`.
    fn exp2(self, a: Self::V) -> Self::V;
    /// `a < b`
    fn less(self, a: Self::V, b: Self::V) -> Self::M;
    /// Both.
    fn and(self, a: Self::M, b: Self::M) -> Self::M;
    /// `a` where `mask` holds, else `b`.
    fn select(self, mask: Self::M, a: Self::V, b: Self::V) -> Self::V;
    /// Where the first `LANES` bytes have `bit` set.
    fn has_bit(self, bytes: &[u8], bit: u8) -> Self::M;
    /// The largest value.
    #[inline(always)]
    fn largest(self, a: Self::V) -> T {
        let mut values = [T::default(); MOST_LANES];
        self.store(a, &mut values);
        let mut half = Self::LANES / 2;
        while half > 0 {
            for i in 0..half {
                values[i] = if values[i + half] > values[i] { values[i + half] } else { values[i] };
            }
            half /= 2;
        }
        values[0]
    }
    /// The first four values of four rows, columns as rows.
    #[inline(always)]
    fn turn(self, [a, b, c, d]: [&[T; 4]; 4]) -> [[T; 4]; 4] {
        [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
    }
}

/// Hints that a value of a slice will be read soon.
#[inline(always)]
pub fn prefetch<T>(from: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, whatever the address; every x86-64 machine has the instruction.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, at);
}

/// A piece of work that is compiled once per instruction set.
pub trait Job<T: Real> {
    /// What it gives back.
    type Output;
    /// Does the work; mark implementations `#[inline(always)]`.
    fn run<S: Simd<T>>(self, simd: S) -> Self::Output;
}

/// Plain Rust arrays; the compiler vectorises them as far as the target's baseline allows.
#[derive(Clone, Copy)]
pub struct Portable;

const PORTABLE_LANES: usize = 16;

macro_rules! portable {
    ($scalar:ty, $bits:ty, $mantissa:expr, $bias:expr) => {
        impl Simd<$scalar> for Portable {
            type V = [$scalar; PORTABLE_LANES];
            type M = [bool; PORTABLE_LANES];
            const LANES: usize = PORTABLE_LANES;
            type One = Self;

            #[inline(always)]
            fn one(self) -> Self {
                self
            }

            #[inline(always)]
            fn splat(self, value: $scalar) -> Self::V {
                [value; PORTABLE_LANES]
            }
            #[inline(always)]
            fn load(self, from: &[$scalar]) -> Self::V {
                *from.first_chunk().expect("a full panel")
            }
            #[inline(always)]
            fn prefetch(self, _: &[$scalar], _: usize) {}
            #[inline(always)]
            fn store(self, value: Self::V, to: &mut [$scalar]) {
                *to.first_chunk_mut().expect("a full panel") = value;
            }
            #[inline(always)]
            fn add(self, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] + b[i])
            }
            #[inline(always)]
            fn sub(self, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] - b[i])
            }
            #[inline(always)]
            fn mul(self, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] * b[i])
            }
            #[inline(always)]
            fn div(self, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] / b[i])
            }
            #[inline(always)]
            fn reciprocal(self, a: Self::V) -> Self::V {
                std::array::from_fn(|i| 1.0 / a[i])
            }
            // Two roundings: a fused operation without hardware support would be a slow library call.
            #[inline(always)]
            fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            fn min(self, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn max(self, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn sqrt(self, a: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i].sqrt())
            }
            #[inline(always)]
            fn exp2(self, a: Self::V) -> Self::V {
                std::array::from_fn(|i| {
                    let a = if a[i] > <$scalar>::EXP2_LOW { a[i] } else { <$scalar>::EXP2_LOW };
                    let whole = a.floor();
                    let rest = a - whole;
                    let polynomial = <$scalar>::EXP2.iter().rev().fold(0.0, |sum, c| sum * rest + c) * rest + 1.0;
                    polynomial * <$scalar>::from_bits(((whole as i64 + $bias) as $bits) << $mantissa)
                })
            }
            #[inline(always)]
            fn less(self, a: Self::V, b: Self::V) -> Self::M {
                std::array::from_fn(|i| a[i] < b[i])
            }
            #[inline(always)]
            fn and(self, a: Self::M, b: Self::M) -> Self::M {
                std::array::from_fn(|i| a[i] & b[i])
            }
            #[inline(always)]
            fn select(self, mask: Self::M, a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| if mask[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn has_bit(self, bytes: &[u8], bit: u8) -> Self::M {
                let bytes: &[u8; PORTABLE_LANES] = bytes.first_chunk().expect("a full panel");
                std::array::from_fn(|i| bytes[i] & bit != 0)
            }
        }
    };
}

portable!(f32, u32, 23, 127);
portable!(f64, u64, 52, 1023);
