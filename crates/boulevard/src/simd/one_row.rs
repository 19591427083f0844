//! One sample against panels of rows: weighted sums of its kernel values, with the bits that [`super::tile`] gives them in a block.

use super::tile::{
    Combine, Finish, Formula, GROUPS_PER_SUM, Panels, TILE_ROWS, chi_squared, distance, epanechnikov, exp2, exp2_negated,
    inverse_multiquadric, multiquadric, shifted_power, tanh,
};
use super::{Isa, Job, Real, Simd};

/// The kernel values of one query against one panel: a tile without the rows that nobody asked for, with its operations.
#[inline(always)]
fn tile_of_one<T: Real, S: Simd<T>>(simd: S, formula: &Formula<T>, query: &[T], start: T, panel: &[T], panel_starts: &[T]) -> S::V {
    let mut sum = simd.add(simd.splat(start), simd.load(panel_starts));
    let columns = query.iter().zip(panel.chunks_exact(S::LANES));
    match formula.combine {
        Combine::Product => {
            for (&value, columns) in columns {
                sum = simd.fma(simd.splat(value), simd.load(columns), sum);
            }
        }
        Combine::Distance => {
            for (&value, columns) in columns {
                sum = simd.add(sum, distance(simd, value, simd.load(columns)));
            }
        }
        Combine::ChiSquared => {
            for (&value, columns) in columns {
                sum = simd.add(sum, chi_squared(simd, value, simd.load(columns)));
            }
        }
    }
    match formula.finish {
        Finish::Identity => sum,
        Finish::Exp2 => exp2(simd, sum),
        Finish::Exp2Negated => exp2_negated(simd, sum),
        Finish::Power { scale, shift, degree } => shifted_power(simd, sum, scale, shift, degree),
        Finish::Tanh { scale, shift } => tanh(simd, sum, scale, shift),
        Finish::Epanechnikov { scale, degree } => epanechnikov(simd, sum, scale, degree),
        Finish::Multiquadric { scale, shift } => multiquadric(simd, sum, scale, shift),
        Finish::InverseMultiquadric { scale, shift } => inverse_multiquadric(simd, sum, scale, shift),
    }
}

/// The values of [`weigh_one`].
#[inline(always)]
fn values_of_one<T: Real, S: Simd<T>>(simd: S, formula: &Formula<T>, query: &[T], start: T, panels: Panels<'_, T>, values: &mut [T]) {
    let size = panels.dimensions * S::LANES;
    for (p, starts) in panels.starts.chunks_exact(S::LANES).enumerate() {
        let value = tile_of_one(simd, formula, query, start, &panels.values[p * size..(p + 1) * size], starts);
        simd.store(value, &mut values[p * S::LANES..]);
    }
}

/// Adds weighted sums of the same values to as many totals, of as many rows at a time as [`super::tile::weigh`] adds up, with its operations.
#[inline(always)]
fn add_chains<T: Real, S: Simd<T>, const N: usize>(simd: S, weights: [&[f64]; N], values: &[T], totals: &mut [f64]) {
    const ROWS: usize = GROUPS_PER_SUM * TILE_ROWS;
    let rows = weights[0].len();
    for first in (0..rows).step_by(ROWS) {
        let part = first..(first + ROWS).min(rows);
        let (values, weights) = (&values[part.clone()], weights.map(|weights| &weights[part.clone()]));
        let mut sums = [simd.splat(T::default()); N];
        for (r, &value) in values.iter().enumerate() {
            let value = simd.splat(value);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = simd.fma(simd.splat(T::from_f64(weights[r])), value, *sum);
            }
        }
        for (total, sum) in totals.iter_mut().zip(sums) {
            let mut lanes = [T::default(); 64];
            simd.store(sum, &mut lanes);
            *total += lanes[0].to_f64();
        }
    }
}

/// [`weigh`] with one column, the bits of which it gives: the rows are the panels here and the column is the query, so that a panel's values
/// are of as many rows instead of one. `weights[o * rows + r]` is of output `o` and row `r`; panels are padded. `start` is the query's.
#[allow(clippy::too_many_arguments)] // as `weigh` has them
pub fn weigh_one<T: Real>(
    isa: Isa,
    formula: &Formula<T>,
    query: &[T],
    start: T,
    weights: &[f64],
    outputs: usize,
    panels: Panels<'_, T>,
    sums: &mut [f64],
) {
    struct WeighOne<'a, T> {
        formula: &'a Formula<T>,
        query: &'a [T],
        start: T,
        weights: &'a [f64],
        outputs: usize,
        panels: Panels<'a, T>,
        sums: &'a mut [f64],
    }
    impl<T: Real> Job<T> for WeighOne<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            let Self { formula, query, start, weights, outputs, panels, sums } = self;
            let rows = weights.len() / outputs.max(1);
            let mut values = vec![T::default(); panels.starts.len()];
            match formula {
                Formula { combine: Combine::Product, finish: Finish::Exp2 } => {
                    values_of_one(simd, &Formula::RBF, query, start, panels, &mut values);
                }
                formula => values_of_one(simd, formula, query, start, panels, &mut values),
            }
            // One register is enough: every lane has the same sum. Four outputs at a time, because an addition waits for the one before it.
            let one = simd.one();
            for (sums, weights) in sums.chunks_exact_mut(4).zip(weights.chunks_exact((4 * rows).max(1))) {
                let of = |output: usize| &weights[output * rows..(output + 1) * rows];
                add_chains(one, [of(0), of(1), of(2), of(3)], &values, sums);
            }
            let done = outputs / 4 * 4;
            for (sum, weights) in sums.chunks_mut(1).zip(weights.chunks_exact(rows.max(1))).skip(done) {
                add_chains(one, [weights], &values, sum);
            }
        }
    }
    T::dispatch(isa, WeighOne { formula, query, start, weights, outputs, panels, sums });
}
