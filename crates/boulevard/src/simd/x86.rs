//! AVX2 and AVX-512 behind [`Simd`], as whole panels and as panels of one register. With `unsafe` code (docs/architecture.md).

use std::arch::x86_64::*;

use super::{Job, Real, Simd};

/// Proof that the machine has AVX2 and FMA.
#[derive(Clone, Copy)]
pub struct Avx2(());

/// Proof that the machine has AVX-512 F, DQ, BW and VL.
#[derive(Clone, Copy)]
pub struct Avx512(());

/// [`Avx2`] with panels of one register.
#[derive(Clone, Copy)]
pub struct OneAvx2(());

/// [`Avx512`] with panels of one register.
#[derive(Clone, Copy)]
pub struct OneAvx512(());

/// # Safety
/// The machine must have the features named below.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
pub unsafe fn enter_avx512<T: Real, J: Job<T>>(job: J) -> J::Output
where
    Avx512: Simd<T>,
{
    job.run(Avx512(()))
}

/// # Safety
/// The machine must have the features named below.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn enter_avx2<T: Real, J: Job<T>>(job: J) -> J::Output
where
    Avx2: Simd<T>,
{
    job.run(Avx2(()))
}

/// The registers of a panel one by one, written out: a closure would not get the target features and stay a call.
macro_rules! each {
    (1, $i:ident, $value:expr) => {
        [{
            let $i = 0;
            $value
        }]
    };
    (2, $i:ident, $value:expr) => {
        [
            {
                let $i = 0;
                $value
            },
            {
                let $i = 1;
                $value
            },
        ]
    };
    (4, $i:ident, $value:expr) => {
        [
            {
                let $i = 0;
                $value
            },
            {
                let $i = 1;
                $value
            },
            {
                let $i = 2;
                $value
            },
            {
                let $i = 3;
                $value
            },
        ]
    };
}

/// The implementations for whole panels and for panels of one register.
macro_rules! x86 {
    ($wide:ident and $one:ident, $scalar:ty, $register:ty, registers $count:tt, $($rest:tt)*) => {
        x86_of! { $wide, $one, $scalar, $register, registers $count, $($rest)* }
        x86_of! { $one, $one, $scalar, $register, registers 1, $($rest)* }
    };
}

macro_rules! x86_of {
    (
        $token:ident, $one:ident, $scalar:ty, $register:ty, registers $count:tt, lanes $lanes:literal, mask $mask:ty;
        $set1:ident $loadu:ident $storeu:ident $add:ident $sub:ident $mul:ident $div:ident $fma:ident $min:ident $max:ident $sqrt:ident;
        reciprocal: |$rv:ident| $reciprocal:expr;
        exp2: |$e:ident| with $table:ident = $constants:expr; $exp2:expr;
        less: |$la:ident, $lb:ident| $less:expr;
        and: |$aa:ident, $ab:ident| $and:expr;
        select: |$sm:ident, $sa:ident, $sb:ident| $select:expr;
        bits: |$bp:ident, $bb:ident| $bits:expr;
        more: { $($more:tt)* }
    ) => {
        // SAFETY of every block below: the token proves that the instructions exist; loads and stores are unaligned ones, inside
        // slices whose length was checked just before.
        impl Simd<$scalar> for $token {
            type V = [$register; $count];
            type M = [$mask; $count];
            const LANES: usize = $count * $lanes;
            type One = $one;

            #[inline(always)]
            fn one(self) -> $one {
                $one(())
            }

            #[inline(always)]
            fn splat(self, value: $scalar) -> Self::V {
                // SAFETY: see above.
                [unsafe { $set1(value) }; $count]
            }
            #[inline(always)]
            fn load(self, from: &[$scalar]) -> Self::V {
                let from = &from[..$count * $lanes];
                // SAFETY: see above.
                each!($count, i, unsafe { $loadu(from.as_ptr().add(i * $lanes)) })
            }
            #[inline(always)]
            fn prefetch(self, from: &[$scalar], offset: usize) {
                for i in 0..$count {
                    // SAFETY: a prefetch reads nothing, whatever the address.
                    unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(offset + i * $lanes).cast()) }
                }
            }
            #[inline(always)]
            fn store(self, value: Self::V, to: &mut [$scalar]) {
                let to = &mut to[..$count * $lanes];
                for i in 0..$count {
                    // SAFETY: see above.
                    unsafe { $storeu(to.as_mut_ptr().add(i * $lanes), value[i]) }
                }
            }
            #[inline(always)]
            fn add(self, a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $add(a[i], b[i]) })
            }
            #[inline(always)]
            fn sub(self, a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $sub(a[i], b[i]) })
            }
            #[inline(always)]
            fn mul(self, a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $mul(a[i], b[i]) })
            }
            #[inline(always)]
            fn div(self, a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $div(a[i], b[i]) })
            }
            #[inline(always)]
            fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $fma(a[i], b[i], c[i]) })
            }
            #[inline(always)]
            fn reciprocal(self, a: Self::V) -> Self::V {
                each!($count, i, {
                    let $rv = a[i];
                    // SAFETY: see above.
                    unsafe { $reciprocal }
                })
            }
            #[inline(always)]
            fn min(self, a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $min(a[i], b[i]) })
            }
            #[inline(always)]
            fn max(self, a: Self::V, b: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $max(a[i], b[i]) })
            }
            #[inline(always)]
            fn sqrt(self, a: Self::V) -> Self::V {
                // SAFETY: see above.
                each!($count, i, unsafe { $sqrt(a[i]) })
            }
            #[inline(always)]
            fn exp2(self, a: Self::V) -> Self::V {
                let $table = $constants;
                each!($count, i, {
                    let $e = a[i];
                    // SAFETY: see above.
                    unsafe { $exp2 }
                })
            }
            #[inline(always)]
            fn less(self, a: Self::V, b: Self::V) -> Self::M {
                each!($count, i, {
                    let ($la, $lb) = (a[i], b[i]);
                    // SAFETY: see above.
                    unsafe { $less }
                })
            }
            #[inline(always)]
            #[allow(unused_unsafe)]
            fn and(self, a: Self::M, b: Self::M) -> Self::M {
                each!($count, i, {
                    let ($aa, $ab) = (a[i], b[i]);
                    // SAFETY: see above.
                    unsafe { $and }
                })
            }
            #[inline(always)]
            fn select(self, mask: Self::M, a: Self::V, b: Self::V) -> Self::V {
                each!($count, i, {
                    let ($sm, $sa, $sb) = (mask[i], a[i], b[i]);
                    // SAFETY: see above.
                    unsafe { $select }
                })
            }
            #[inline(always)]
            fn has_bit(self, bytes: &[u8], bit: u8) -> Self::M {
                let bytes = &bytes[..$count * $lanes];
                each!($count, i, {
                    let ($bp, $bb) = (&bytes[i * $lanes..(i + 1) * $lanes], bit);
                    // SAFETY: see above.
                    unsafe { $bits }
                })
            }
            $($more)*
        }
    };
}

/// Four rows of four, columns as rows: pairs within halves, then halves.
///
/// # Safety
/// The machine must have AVX.
#[inline(always)]
unsafe fn turn([a, b, c, d]: [&[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut columns = [[0.0; 4]; 4];
    // SAFETY: the caller promises the instructions; loads and stores are unaligned ones of four values each.
    unsafe {
        let (a, b) = (_mm256_loadu_pd(a.as_ptr()), _mm256_loadu_pd(b.as_ptr()));
        let (c, d) = (_mm256_loadu_pd(c.as_ptr()), _mm256_loadu_pd(d.as_ptr()));
        let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (even_below, odd_below) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        _mm256_storeu_pd(columns[0].as_mut_ptr(), _mm256_permute2f128_pd::<0x20>(even, even_below));
        _mm256_storeu_pd(columns[1].as_mut_ptr(), _mm256_permute2f128_pd::<0x20>(odd, odd_below));
        _mm256_storeu_pd(columns[2].as_mut_ptr(), _mm256_permute2f128_pd::<0x31>(even, even_below));
        _mm256_storeu_pd(columns[3].as_mut_ptr(), _mm256_permute2f128_pd::<0x31>(odd, odd_below));
    }
    columns
}

/// Added to a number, leaves its nearest multiple of a sixteenth: the last bit of the sum counts sixteenths.
const SIXTEENTHS_SHIFT: f64 = 1.5 * ((1_u64 << 48) as f64);
/// `2^(j / 16)`
const SIXTEENTHS: [f64; 16] = [
    1.0,
    1.044_273_782_427_413_8,
    1.090_507_732_665_257_7,
    1.138_788_634_756_691_6,
    1.189_207_115_002_721,
    1.241_857_812_073_484,
    1.296_839_554_651_009_6,
    1.354_255_546_936_892_7,
    std::f64::consts::SQRT_2,
    1.476_826_145_939_499_3,
    1.542_210_825_407_940_7,
    1.610_490_331_949_254_3,
    1.681_792_830_507_429,
    1.756_252_160_373_299_5,
    1.834_008_086_409_342_4,
    1.915_206_561_397_147_4,
];
/// Coefficients 1..=6 of a polynomial for `2^x` within a thirty-second of zero: minimax in relative error, 7.1e-18 before rounding.
const NEAR_ZERO: [f64; 6] = [
    0.693_147_180_559_946_8,
    0.240_226_506_959_101_67,
    0.055_504_108_651_954_584,
    0.009_618_129_102_053_624,
    0.001_333_382_023_281_516_2,
    0.000_154_042_116_993_352_25,
];

/// Constants of `2^x` in single precision.
struct Table32 {
    low: f32,
    one: f32,
    coefficients: [f32; 6],
}
/// Constants of `2^x` in double precision.
struct Table64 {
    low: f64,
    shift: f64,
    coefficients: [f64; 6],
    sixteenths: [f64; 16],
}
static TABLE32: &Table32 = &Table32 { low: f32::EXP2_LOW, one: 1.0, coefficients: *f32::EXP2.first_chunk().unwrap() };
static TABLE64: &Table64 = &Table64 { low: f64::EXP2_LOW, shift: SIXTEENTHS_SHIFT, coefficients: NEAR_ZERO, sixteenths: SIXTEENTHS };

/// Constants that stay in memory. The compiler would keep them in registers all through the loops around a tile, and the tile's own sums,
/// which are in use all the time, would not find room. (About 3 % of a fit of 40 000 rows on Zen 4, in four noisy turns.)
#[inline(always)]
fn in_memory<T>(place: &'static &'static T) -> &'static T {
    // SAFETY: a reference to a reference that is always there. Volatile: nobody may assume that it is the same the next time.
    unsafe { std::ptr::read_volatile(place) }
}

/// Horner's rule for `2^rest`, `rest` in `[0, 1)`.
macro_rules! horner {
    ($coefficients:expr, $one:expr, $rest:ident, $set1:ident, $fma:ident) => {{
        let mut sum = $set1($coefficients[$coefficients.len() - 1]);
        let mut k = $coefficients.len() - 1;
        while k > 0 {
            k -= 1;
            sum = $fma(sum, $rest, $set1($coefficients[k]));
        }
        $fma(sum, $rest, $set1($one))
    }};
}

x86! {
    Avx512 and OneAvx512, f32, __m512, registers 4, lanes 16, mask __mmask16;
    _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_fmadd_ps _mm512_min_ps _mm512_max_ps _mm512_sqrt_ps;
    reciprocal: |a| _mm512_rcp14_ps(a);
    exp2: |a| with table = in_memory(&TABLE32); {
        let a = _mm512_max_ps(a, _mm512_set1_ps(table.low));
        // a - floor(a): rounding mode 1 (down), no fraction bits kept
        let rest = _mm512_reduce_ps::<0x01>(a);
        _mm512_scalef_ps(horner!(table.coefficients, table.one, rest, _mm512_set1_ps, _mm512_fmadd_ps), a)
    };
    less: |a, b| _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
    and: |a, b| a & b;
    select: |m, a, b| _mm512_mask_blend_ps(m, b, a);
    bits: |bytes, bit| _mm_test_epi8_mask(_mm_loadu_si128(bytes.as_ptr().cast()), _mm_set1_epi8(bit as i8));
    more: {}
}

x86! {
    Avx512 and OneAvx512, f64, __m512d, registers 4, lanes 8, mask __mmask8;
    _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_fmadd_pd _mm512_min_pd _mm512_max_pd _mm512_sqrt_pd;
    reciprocal: |a| _mm512_rcp14_pd(a);
    exp2: |a| with table = in_memory(&TABLE64); {
        let a = _mm512_max_pd(a, _mm512_set1_pd(table.low));
        // To the nearest sixteenth: the last four bits of the sum are the number of sixteenths, and the table's index.
        let shifted = _mm512_add_pd(a, _mm512_set1_pd(table.shift));
        let near = _mm512_sub_pd(shifted, _mm512_set1_pd(table.shift));
        let rest = _mm512_sub_pd(a, near);
        let (low, high) = (_mm512_loadu_pd(table.sixteenths.as_ptr()), _mm512_loadu_pd(table.sixteenths.as_ptr().add(8)));
        let power = _mm512_permutex2var_pd(low, _mm512_castpd_si512(shifted), high);
        let mut sum = _mm512_set1_pd(table.coefficients[5]);
        let mut k = 5;
        while k > 0 {
            k -= 1;
            sum = _mm512_fmadd_pd(sum, rest, _mm512_set1_pd(table.coefficients[k]));
        }
        _mm512_scalef_pd(_mm512_fmadd_pd(_mm512_mul_pd(power, rest), sum, power), near)
    };
    less: |a, b| _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b);
    and: |a, b| a & b;
    select: |m, a, b| _mm512_mask_blend_pd(m, b, a);
    bits: |bytes, bit| _mm_test_epi8_mask(_mm_loadl_epi64(bytes.as_ptr().cast()), _mm_set1_epi8(bit as i8)) as u8;
    more: {
        #[inline(always)]
        fn turn(self, rows: [&[f64; 4]; 4]) -> [[f64; 4]; 4] {
            // SAFETY: see above.
            unsafe { turn(rows) }
        }
    }
}

x86! {
    Avx2 and OneAvx2, f32, __m256, registers 2, lanes 8, mask __m256;
    _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_fmadd_ps _mm256_min_ps _mm256_max_ps _mm256_sqrt_ps;
    reciprocal: |a| _mm256_rcp_ps(a);
    exp2: |a| with _table = (); {
        let a = _mm256_max_ps(a, _mm256_set1_ps(f32::EXP2_LOW));
        let whole = _mm256_floor_ps(a);
        let rest = _mm256_sub_ps(a, whole);
        let power = _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127)));
        _mm256_mul_ps(horner!(f32::EXP2, 1.0, rest, _mm256_set1_ps, _mm256_fmadd_ps), _mm256_castsi256_ps(power))
    };
    less: |a, b| _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
    and: |a, b| _mm256_and_ps(a, b);
    select: |m, a, b| _mm256_blendv_ps(b, a, m);
    bits: |bytes, bit| {
        let wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes.as_ptr().cast()));
        let bit = _mm256_set1_epi32(i32::from(bit));
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(wide, bit), bit))
    };
    more: {}
}

x86! {
    Avx2 and OneAvx2, f64, __m256d, registers 2, lanes 4, mask __m256d;
    _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_fmadd_pd _mm256_min_pd _mm256_max_pd _mm256_sqrt_pd;
    reciprocal: |a| _mm256_div_pd(_mm256_set1_pd(1.0), a);
    exp2: |a| with _table = (); {
        let a = _mm256_max_pd(a, _mm256_set1_pd(f64::EXP2_LOW));
        let whole = _mm256_floor_pd(a);
        let rest = _mm256_sub_pd(a, whole);
        let exponent = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(whole)), _mm256_set1_epi64x(1023));
        let power = _mm256_castsi256_pd(_mm256_slli_epi64::<52>(exponent));
        _mm256_mul_pd(horner!(f64::EXP2, 1.0, rest, _mm256_set1_pd, _mm256_fmadd_pd), power)
    };
    less: |a, b| _mm256_cmp_pd::<_CMP_LT_OQ>(a, b);
    and: |a, b| _mm256_and_pd(a, b);
    select: |m, a, b| _mm256_blendv_pd(b, a, m);
    bits: |bytes, bit| {
        let four = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let wide = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
        let bit = _mm256_set1_epi64x(i64::from(bit));
        _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(wide, bit), bit))
    };
    more: {
        #[inline(always)]
        fn turn(self, rows: [&[f64; 4]; 4]) -> [[f64; 4]; 4] {
            // SAFETY: see above.
            unsafe { turn(rows) }
        }
    }
}
