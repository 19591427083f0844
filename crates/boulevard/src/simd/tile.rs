//! Blocks of kernel values: four query rows against one panel of columns, finished in registers.
//!
//! A kernel value is `finish(start_i + start_j + sum_k combine(x_ik, x_jk))`. For the RBF the data are scaled by
//! `sqrt(2 gamma log2 e)` beforehand and `start = -|x|^2 / 2`, so that the value is `2^sum` with nothing left to multiply. One tile
//! serves kernel rows, whole Gram blocks, the exact gradient and prediction; a value has the same bits in all of them, whatever the
//! batch.

use super::{Isa, Job, Real, Simd};

/// Query rows per tile: 4 x 64 lanes fill 16 of the 32 registers. Six rows were measured twice as slow per value (spills).
pub const TILE_ROWS: usize = 4;

/// Query groups summed in `T` before they are added to the `f64` totals (252 rows).
const GROUPS_PER_SUM: usize = 63;

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
    let mut sums: [S::V; TILE_ROWS] = std::array::from_fn(|r| simd.add(simd.splat(starts[r]), column_start));
    let groups = queries.as_chunks::<TILE_ROWS>().0;
    match formula.combine {
        Combine::Product => {
            for (query, columns) in groups.iter().zip(panel.chunks_exact(S::LANES)) {
                let columns = simd.load(columns);
                for r in 0..TILE_ROWS {
                    sums[r] = simd.fma(simd.splat(query[r]), columns, sums[r]);
                }
            }
        }
        Combine::Distance => {
            for (query, columns) in groups.iter().zip(panel.chunks_exact(S::LANES)) {
                let columns = simd.load(columns);
                for r in 0..TILE_ROWS {
                    let query = simd.splat(query[r]);
                    sums[r] = simd.add(sums[r], simd.max(simd.sub(query, columns), simd.sub(columns, query)));
                }
            }
        }
        Combine::ChiSquared => {
            let zero = simd.splat(T::default());
            for (query, columns) in groups.iter().zip(panel.chunks_exact(S::LANES)) {
                let columns = simd.load(columns);
                for r in 0..TILE_ROWS {
                    let query = simd.splat(query[r]);
                    let (difference, total) = (simd.sub(query, columns), simd.add(query, columns));
                    let term = simd.div(simd.mul(difference, difference), total);
                    sums[r] = simd.add(sums[r], simd.select(simd.less(zero, total), term, zero));
                }
            }
        }
    }
    finish_sums(simd, &formula.finish, sums)
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

#[inline(always)]
fn finish_sums<T: Real, S: Simd<T>>(simd: S, finish: &Finish<T>, mut sums: [S::V; TILE_ROWS]) -> [S::V; TILE_ROWS] {
    let number = |value: f64| simd.splat(T::from_f64(value));
    match *finish {
        Finish::Identity => {}
        Finish::Exp2 => {
            // Rounding can lift the exponent of two equal rows just above zero; a kernel value above 1 would make eta negative.
            for sum in &mut sums {
                *sum = simd.exp2(simd.min(*sum, number(0.0)));
            }
        }
        Finish::Exp2Negated => {
            for sum in &mut sums {
                *sum = simd.exp2(simd.sub(number(0.0), *sum));
            }
        }
        Finish::Power { scale, shift, degree } => {
            for sum in &mut sums {
                *sum = power(simd, simd.fma(*sum, simd.splat(scale), simd.splat(shift)), degree);
            }
        }
        Finish::Tanh { scale, shift } => {
            // tanh |a| = (1 - e) / (1 + e), e = exp(-2 |a|)
            let (zero, one, exponent) = (number(0.0), number(1.0), number(-2.0 * std::f64::consts::LOG2_E));
            for sum in &mut sums {
                let a = simd.fma(*sum, simd.splat(scale), simd.splat(shift));
                let negated = simd.sub(zero, a);
                let e = simd.exp2(simd.mul(simd.max(a, negated), exponent));
                let size = simd.div(simd.sub(one, e), simd.add(one, e));
                *sum = simd.select(simd.less(a, zero), simd.sub(zero, size), size);
            }
        }
        Finish::Epanechnikov { scale, degree } => {
            for sum in &mut sums {
                let square = simd.max(simd.mul(*sum, number(-2.0)), number(0.0));
                let base = simd.max(simd.sub(number(1.0), simd.mul(square, simd.splat(scale))), number(0.0));
                *sum = power(simd, base, degree);
            }
        }
        Finish::Multiquadric { scale, shift } => {
            for sum in &mut sums {
                let square = simd.max(simd.mul(*sum, number(-2.0)), number(0.0));
                *sum = simd.sqrt(simd.fma(square, simd.splat(scale), simd.splat(shift)));
            }
        }
        Finish::InverseMultiquadric { scale, shift } => {
            for sum in &mut sums {
                let square = simd.max(simd.mul(*sum, number(-2.0)), number(0.0));
                *sum = simd.div(number(1.0), simd.sqrt(simd.fma(square, simd.splat(scale), simd.splat(shift))));
            }
        }
    }
    sums
}

/// Writes kernel values: row `r` of the group into `out[r]`, for all panels. Every `out[r]` has room for all columns.
///
/// `queries` is one group; fewer than four outputs drop the padding rows.
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
            let size = panels.dimensions * S::LANES;
            for (p, starts) in panels.starts.chunks_exact(S::LANES).enumerate() {
                let panel = &panels.values[p * size..(p + 1) * size];
                let values = tile(simd, formula, queries.values, queries.starts, panel, starts);
                for (row, value) in out.iter_mut().zip(values) {
                    simd.store(value, &mut row[p * S::LANES..]);
                }
            }
        }
    }
    T::dispatch(isa, Fill { formula, queries, panels, out });
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
            let (size, group, columns) = (panels.dimensions * S::LANES, panels.dimensions * TILE_ROWS, panels.starts.len());
            let mut partial = vec![T::default(); outputs * S::LANES];
            let groups = queries.starts.len() / TILE_ROWS;
            for (p, starts) in panels.starts.chunks_exact(S::LANES).enumerate() {
                let panel = &panels.values[p * size..(p + 1) * size];
                for first in (0..groups).step_by(GROUPS_PER_SUM) {
                    let last = (first + GROUPS_PER_SUM).min(groups);
                    if outputs == 1 {
                        let mut sum = simd.splat(T::default());
                        for g in first..last {
                            let query = &queries.values[g * group..(g + 1) * group];
                            let values = tile(simd, formula, query, &queries.starts[g * TILE_ROWS..], panel, starts);
                            let weight: &[T; TILE_ROWS] = weights[g * TILE_ROWS..].first_chunk().expect("a full group");
                            for r in 0..TILE_ROWS {
                                sum = simd.fma(simd.splat(weight[r]), values[r], sum);
                            }
                        }
                        simd.store(sum, &mut partial);
                    } else {
                        partial.fill(T::default());
                        for g in first..last {
                            let query = &queries.values[g * group..(g + 1) * group];
                            let values = tile(simd, formula, query, &queries.starts[g * TILE_ROWS..], panel, starts);
                            let of_group = &weights[g * outputs * TILE_ROWS..(g + 1) * outputs * TILE_ROWS];
                            for (weight, sum) in of_group.as_chunks::<TILE_ROWS>().0.iter().zip(partial.chunks_exact_mut(S::LANES)) {
                                let mut total = simd.load(sum);
                                for r in 0..TILE_ROWS {
                                    total = simd.fma(simd.splat(weight[r]), values[r], total);
                                }
                                simd.store(total, sum);
                            }
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
