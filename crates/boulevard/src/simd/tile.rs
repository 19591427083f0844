//! Blocks of kernel values: four query rows against one panel of columns, finished in registers.
//!
//! A kernel value is `finish(start_i + start_j + sum_k combine(x_ik, x_jk))`. For the RBF the data are scaled by
//! `sqrt(2 gamma log2 e)` beforehand and `start = -|x|^2 / 2`, so that the value is `2^sum` with nothing left to multiply. One tile
//! serves kernel rows, whole Gram blocks, the exact gradient and prediction; a value has the same bits in all of them, whatever the
//! batch.

use super::{Isa, Job, Real, Simd};

/// Query rows per tile: 4 x 64 lanes fill 16 of the 32 registers. Six rows would need 24 and leave too few
/// for columns and constants.
pub const TILE_ROWS: usize = 4;

/// Query groups summed in `T` before they are added to the `f64` totals (252 rows).
pub(super) const GROUPS_PER_SUM: usize = 63;

/// How two coordinates are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// `a b`
    Product,
    /// `|a - b|`
    Distance,
    /// `(a - b)^2 / (a + b)`, 0 where both are 0
    ChiSquared,
}

/// How the sum becomes a kernel value. `square = -2 sum` is the squared distance where `start = -|x|^2 / 2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finish<T> {
    /// `sum`
    Identity,
    /// `2^min(sum, 0)`
    Exp2,
    /// `2^-sum` for a sum that is never negative
    Exp2Negated,
    /// `(scale * sum + shift)^degree`
    Power {
        /// Factor of the sum.
        scale: T,
        /// Added to it.
        shift: T,
        /// The exponent.
        degree: u32,
    },
    /// `tanh(scale * sum + shift)`
    Tanh {
        /// Factor of the sum.
        scale: T,
        /// Added to it.
        shift: T,
    },
    /// `max(0, 1 - scale * square)^degree`
    Epanechnikov {
        /// Factor of the squared distance.
        scale: T,
        /// The exponent.
        degree: u32,
    },
    /// `sqrt(scale * square + shift)`
    Multiquadric {
        /// Factor of the squared distance.
        scale: T,
        /// Added to it.
        shift: T,
    },
    /// `1 / sqrt(scale * square + shift)`
    InverseMultiquadric {
        /// Factor of the squared distance.
        scale: T,
        /// Added to it.
        shift: T,
    },
}

/// The formula of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula<T> {
    /// How coordinates are combined.
    pub combine: Combine,
    /// How the sum is finished.
    pub finish: Finish<T>,
}

impl<T> Formula<T> {
    /// The formula most machines have. Loops are compiled for it apart: what other formulas need would take registers from its sums.
    pub(super) const RBF: Self = Self { combine: Combine::Product, finish: Finish::Exp2 };
}

/// Four query rows, interleaved: value `k` of row `r` at `4 k + r`.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a, T> {
    /// Interleaved values, `4 d` of them per group.
    pub values: &'a [T],
    /// Start values, 4 per group.
    pub starts: &'a [T],
}

/// Columns in panels: value `k` of column `c` at `k * lanes + c` of its panel.
#[derive(Clone, Copy, Debug)]
pub struct Panels<'a, T> {
    /// Panel after panel, `d * lanes` values each.
    pub values: &'a [T],
    /// Start values, `lanes` per panel.
    pub starts: &'a [T],
    /// Coordinates per column.
    pub dimensions: usize,
}

/// The kernel values of one group of queries against one panel.
#[inline(always)]
fn tile<T: Real, S: Simd<T>>(
    simd: S,
    formula: &Formula<T>,
    queries: &[T],
    query_starts: &[T],
    panel: &[T],
    panel_starts: &[T],
) -> [S::V; TILE_ROWS] {
    let column_start = simd.load(panel_starts);
    let starts: &[T; TILE_ROWS] = query_starts.first_chunk().expect("a full group");
    // Four variables instead of an array: the compiler keeps an array of panels in memory.
    let mut a = simd.add(simd.splat(starts[0]), column_start);
    let mut b = simd.add(simd.splat(starts[1]), column_start);
    let mut c = simd.add(simd.splat(starts[2]), column_start);
    let mut d = simd.add(simd.splat(starts[3]), column_start);
    let groups = queries.as_chunks::<TILE_ROWS>().0;
    match formula.combine {
        Combine::Product => {
            for (query, columns) in groups.iter().zip(panel.chunks_exact(S::LANES)) {
                let columns = simd.load(columns);
                a = simd.fma(simd.splat(query[0]), columns, a);
                b = simd.fma(simd.splat(query[1]), columns, b);
                c = simd.fma(simd.splat(query[2]), columns, c);
                d = simd.fma(simd.splat(query[3]), columns, d);
            }
        }
        Combine::Distance => {
            for (query, columns) in groups.iter().zip(panel.chunks_exact(S::LANES)) {
                let columns = simd.load(columns);
                a = simd.add(a, distance(simd, query[0], columns));
                b = simd.add(b, distance(simd, query[1], columns));
                c = simd.add(c, distance(simd, query[2], columns));
                d = simd.add(d, distance(simd, query[3], columns));
            }
        }
        Combine::ChiSquared => {
            for (query, columns) in groups.iter().zip(panel.chunks_exact(S::LANES)) {
                let columns = simd.load(columns);
                a = simd.add(a, chi_squared(simd, query[0], columns));
                b = simd.add(b, chi_squared(simd, query[1], columns));
                c = simd.add(c, chi_squared(simd, query[2], columns));
                d = simd.add(d, chi_squared(simd, query[3], columns));
            }
        }
    }
    finish_sums(simd, &formula.finish, [a, b, c, d])
}

#[inline(always)]
pub(super) fn distance<T: Real, S: Simd<T>>(simd: S, query: T, columns: S::V) -> S::V {
    let query = simd.splat(query);
    simd.max(simd.sub(query, columns), simd.sub(columns, query))
}

#[inline(always)]
pub(super) fn chi_squared<T: Real, S: Simd<T>>(simd: S, query: T, columns: S::V) -> S::V {
    let (query, zero) = (simd.splat(query), simd.splat(T::default()));
    let (difference, total) = (simd.sub(query, columns), simd.add(query, columns));
    let term = simd.div(simd.mul(difference, difference), total);
    simd.select(simd.less(zero, total), term, zero)
}

#[inline(always)]
fn power<T: Real, S: Simd<T>>(simd: S, base: S::V, degree: u32) -> S::V {
    let (mut result, mut square, mut rest) = (simd.splat(T::from_f64(1.0)), base, degree);
    while rest > 0 {
        if rest & 1 == 1 {
            result = simd.mul(result, square);
        }
        rest >>= 1;
        if rest > 0 {
            square = simd.mul(square, square);
        }
    }
    result
}

/// Finishes the sums of a tile. The choice is made once per tile; every arm is written out for its four panels.
#[inline(always)]
fn finish_sums<T: Real, S: Simd<T>>(simd: S, finish: &Finish<T>, [a, b, c, d]: [S::V; TILE_ROWS]) -> [S::V; TILE_ROWS] {
    macro_rules! four {
        ($one:expr) => {
            [$one(simd, a), $one(simd, b), $one(simd, c), $one(simd, d)]
        };
        ($one:expr, $($argument:expr),+) => {
            [$one(simd, a, $($argument),+), $one(simd, b, $($argument),+), $one(simd, c, $($argument),+), $one(simd, d, $($argument),+)]
        };
    }
    match *finish {
        Finish::Identity => [a, b, c, d],
        Finish::Exp2 => four!(exp2),
        Finish::Exp2Negated => four!(exp2_negated),
        Finish::Power { scale, shift, degree } => four!(shifted_power, scale, shift, degree),
        Finish::Tanh { scale, shift } => four!(tanh, scale, shift),
        Finish::Epanechnikov { scale, degree } => four!(epanechnikov, scale, degree),
        Finish::Multiquadric { scale, shift } => four!(multiquadric, scale, shift),
        Finish::InverseMultiquadric { scale, shift } => four!(inverse_multiquadric, scale, shift),
    }
}

#[inline(always)]
fn number<T: Real, S: Simd<T>>(simd: S, value: f64) -> S::V {
    simd.splat(T::from_f64(value))
}

#[inline(always)]
pub(super) fn exp2<T: Real, S: Simd<T>>(simd: S, sum: S::V) -> S::V {
    // Rounding can lift the exponent of two equal rows just above zero; a kernel value above 1 would make eta negative.
    simd.exp2(simd.min(sum, number(simd, 0.0)))
}

#[inline(always)]
pub(super) fn exp2_negated<T: Real, S: Simd<T>>(simd: S, sum: S::V) -> S::V {
    simd.exp2(simd.sub(number(simd, 0.0), sum))
}

#[inline(always)]
pub(super) fn shifted_power<T: Real, S: Simd<T>>(simd: S, sum: S::V, scale: T, shift: T, degree: u32) -> S::V {
    power(simd, simd.fma(sum, simd.splat(scale), simd.splat(shift)), degree)
}

#[inline(always)]
pub(super) fn tanh<T: Real, S: Simd<T>>(simd: S, sum: S::V, scale: T, shift: T) -> S::V {
    // tanh |a| = (1 - e) / (1 + e), e = exp(-2 |a|)
    let (zero, one, exponent) = (number(simd, 0.0), number(simd, 1.0), number(simd, -2.0 * std::f64::consts::LOG2_E));
    let a = simd.fma(sum, simd.splat(scale), simd.splat(shift));
    let e = simd.exp2(simd.mul(simd.max(a, simd.sub(zero, a)), exponent));
    let size = simd.div(simd.sub(one, e), simd.add(one, e));
    simd.select(simd.less(a, zero), simd.sub(zero, size), size)
}

/// The squared distance from `-square / 2`, kept from falling below zero by rounding.
#[inline(always)]
fn square<T: Real, S: Simd<T>>(simd: S, sum: S::V) -> S::V {
    simd.max(simd.mul(sum, number(simd, -2.0)), number(simd, 0.0))
}

#[inline(always)]
pub(super) fn epanechnikov<T: Real, S: Simd<T>>(simd: S, sum: S::V, scale: T, degree: u32) -> S::V {
    let base = simd.sub(number(simd, 1.0), simd.mul(square(simd, sum), simd.splat(scale)));
    power(simd, simd.max(base, number(simd, 0.0)), degree)
}

#[inline(always)]
pub(super) fn multiquadric<T: Real, S: Simd<T>>(simd: S, sum: S::V, scale: T, shift: T) -> S::V {
    simd.sqrt(simd.fma(square(simd, sum), simd.splat(scale), simd.splat(shift)))
}

#[inline(always)]
pub(super) fn inverse_multiquadric<T: Real, S: Simd<T>>(simd: S, sum: S::V, scale: T, shift: T) -> S::V {
    simd.div(number(simd, 1.0), multiquadric(simd, sum, scale, shift))
}

/// The work of [`fill`].
#[inline(always)]
fn fill_panels<T: Real, S: Simd<T>>(simd: S, formula: &Formula<T>, queries: Queries<'_, T>, panels: Panels<'_, T>, out: &mut [&mut [T]]) {
    let (size, group) = (panels.dimensions * S::LANES, panels.dimensions * TILE_ROWS);
    for (p, starts) in panels.starts.chunks_exact(S::LANES).enumerate() {
        let panel = &panels.values[p * size..(p + 1) * size];
        for (g, out) in out.chunks_mut(TILE_ROWS).enumerate() {
            let query_starts = &queries.starts[g * TILE_ROWS..(g + 1) * TILE_ROWS];
            let values = tile(simd, formula, &queries.values[g * group..(g + 1) * group], query_starts, panel, starts);
            for (row, value) in out.iter_mut().zip(values) {
                simd.store(value, &mut row[p * S::LANES..]);
            }
        }
    }
}

/// Writes kernel values: row `r` into `out[r]`, for all panels. Every `out[r]` has room for all columns.
///
/// `queries` are groups of four rows; fewer outputs drop the padding rows of the last one. A panel is read from memory once for all groups.
pub fn fill<T: Real>(isa: Isa, formula: &Formula<T>, queries: Queries<'_, T>, panels: Panels<'_, T>, out: &mut [&mut [T]]) {
    struct Fill<'a, 'b, 'c, T> {
        formula: &'a Formula<T>,
        queries: Queries<'a, T>,
        panels: Panels<'a, T>,
        out: &'b mut [&'c mut [T]],
    }
    impl<T: Real> Job<T> for Fill<'_, '_, '_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            let Self { formula, queries, panels, out } = self;
            match formula {
                Formula { combine: Combine::Product, finish: Finish::Exp2 } => fill_panels(simd, &Formula::RBF, queries, panels, out),
                formula => fill_panels(simd, formula, queries, panels, out),
            }
        }
    }
    T::dispatch(isa, Fill { formula, queries, panels, out });
}

#[inline(always)]
fn weighted<T: Real, S: Simd<T>>(simd: S, weight: &[T; TILE_ROWS], values: &[S::V; TILE_ROWS], sum: S::V) -> S::V {
    let sum = simd.fma(simd.splat(weight[0]), values[0], sum);
    let sum = simd.fma(simd.splat(weight[1]), values[1], sum);
    let sum = simd.fma(simd.splat(weight[2]), values[2], sum);
    simd.fma(simd.splat(weight[3]), values[3], sum)
}

/// The work of [`weigh`].
#[inline(always)]
fn weigh_panels<T: Real, S: Simd<T>>(
    simd: S,
    formula: &Formula<T>,
    queries: Queries<'_, T>,
    weights: &[T],
    outputs: usize,
    panels: Panels<'_, T>,
    sums: &mut [f64],
) {
    let (size, group, columns) = (panels.dimensions * S::LANES, panels.dimensions * TILE_ROWS, panels.starts.len());
    let mut partial = vec![T::default(); outputs * S::LANES];
    let groups = queries.starts.len() / TILE_ROWS;
    for (p, starts) in panels.starts.chunks_exact(S::LANES).enumerate() {
        let panel = &panels.values[p * size..(p + 1) * size];
        for first in (0..groups).step_by(GROUPS_PER_SUM) {
            let last = (first + GROUPS_PER_SUM).min(groups);
            partial.fill(T::default());
            for g in first..last {
                let query = &queries.values[g * group..(g + 1) * group];
                let values = tile(simd, formula, query, &queries.starts[g * TILE_ROWS..], panel, starts);
                let of_group = &weights[g * outputs * TILE_ROWS..(g + 1) * outputs * TILE_ROWS];
                for (weight, sum) in of_group.as_chunks::<TILE_ROWS>().0.iter().zip(partial.chunks_exact_mut(S::LANES)) {
                    let total = weighted(simd, weight, &values, simd.load(sum));
                    simd.store(total, sum);
                }
            }
            for (o, part) in partial.chunks_exact(S::LANES).enumerate() {
                let to = &mut sums[o * columns + p * S::LANES..o * columns + (p + 1) * S::LANES];
                for (to, part) in to.iter_mut().zip(part) {
                    *to += part.to_f64();
                }
            }
        }
    }
}

/// Adds weighted sums of kernel rows: `sums[o * columns + c] += sum_r weights[o, r] K[r, c]`.
///
/// `weights` holds, for each group of four rows, 4 weights per output: `weights[(group * outputs + o) * 4 + r]`; padding rows have
/// weight 0. `sums` is output-major, `panels.starts.len()` columns each. Products are summed in `T` over 252 rows and then in `f64`.
pub fn weigh<T: Real>(
    isa: Isa,
    formula: &Formula<T>,
    queries: Queries<'_, T>,
    weights: &[T],
    outputs: usize,
    panels: Panels<'_, T>,
    sums: &mut [f64],
) {
    struct Weigh<'a, T> {
        formula: &'a Formula<T>,
        queries: Queries<'a, T>,
        weights: &'a [T],
        outputs: usize,
        panels: Panels<'a, T>,
        sums: &'a mut [f64],
    }
    impl<T: Real> Job<T> for Weigh<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            let Self { formula, queries, weights, outputs, panels, sums } = self;
            match formula {
                Formula { combine: Combine::Product, finish: Finish::Exp2 } => {
                    weigh_panels(simd, &Formula::RBF, queries, weights, outputs, panels, sums);
                }
                formula => weigh_panels(simd, formula, queries, weights, outputs, panels, sums),
            }
        }
    }
    T::dispatch(isa, Weigh { formula, queries, weights, outputs, panels, sums });
}

/// Finishes plain sums in place.
pub fn apply<T: Real>(isa: Isa, finish: &Finish<T>, sums: &mut [T]) {
    struct Apply<'a, T> {
        finish: &'a Finish<T>,
        sums: &'a mut [T],
    }
    impl<T: Real> Job<T> for Apply<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            let mut buffer = [T::default(); 64];
            for chunk in self.sums.chunks_mut(S::LANES) {
                buffer[..chunk.len()].copy_from_slice(chunk);
                let value = simd.load(&buffer);
                let [value, ..] = finish_sums(simd, self.finish, [value; TILE_ROWS]);
                simd.store(value, &mut buffer);
                chunk.copy_from_slice(&buffer[..chunk.len()]);
            }
        }
    }
    T::dispatch(isa, Apply { finish, sums });
}
