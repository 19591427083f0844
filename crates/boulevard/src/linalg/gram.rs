//! Weighted Gram matrices `X' W X`.

use super::product::{DEPTH, Part, Shape, View, add_weighted_in};
use super::transpose::mirror_in;
use crate::error::Result;
use crate::observe::{Context, PIECE};
use crate::parallel;

/// Row blocks that one partial sum covers at least.
const LEAST_BLOCKS: usize = 16;
/// Partial sums at most: their number must not depend on the threads, or the bits would.
const MOST_PARTS: usize = 8;

/// `sum_i weights_i x_i x_i'` over `rows` numbered rows of `columns` values, as a full symmetric matrix.
///
/// An error if it was stopped.
///
/// `fetch(rows, block)` writes the named rows one after another into `block`. Rows of weight zero are not fetched. The cost is
/// `rows * columns^2` multiplications, about the machine's speed limit; the bits do not depend on the number of threads.
pub fn weighted_gram(
    rows: usize,
    columns: usize,
    weights: impl Fn(usize) -> f64 + Sync,
    fetch: impl Fn(&[usize], &mut [f64]) + Sync,
    context: &Context<'_>,
) -> Result<Vec<f64>> {
    let active: Vec<usize> = (0..rows).filter(|&i| weights(i) != 0.0).collect();
    let blocks = active.len().div_ceil(DEPTH);
    let parts = (blocks / LEAST_BLOCKS).clamp(1, MOST_PARTS);
    let share = blocks.div_ceil(parts).max(1) * DEPTH;
    let sums = parallel::try_map(context.threads, active.len().div_ceil(share).max(1), |part| {
        let mut sum = vec![0.0; columns * columns];
        let mut block = vec![0.0; DEPTH * columns];
        let mut factors = Vec::with_capacity(DEPTH);
        let own = &active[(part * share).min(active.len())..((part + 1) * share).min(active.len())];
        for rows in own.chunks(DEPTH) {
            let size = rows.len() * columns;
            fetch(rows, &mut block[..size]);
            factors.clear();
            factors.extend(rows.iter().map(|&row| weights(row)));
            let (shape, x) = (Shape { rows: columns, columns, depth: rows.len() }, View::new(&block[..size], columns));
            add_weighted_in(&mut sum, columns, shape, &factors, [x.transposed(), x], Part::Lower, context)?;
            if own.len() * columns * columns > PIECE {
                context.go_on("solve")?;
            }
        }
        Ok(sum)
    });
    let mut sums = sums?.into_iter();
    let mut total = sums.next().expect("at least one part");
    for sum in sums {
        total.iter_mut().zip(sum).for_each(|(total, value)| *total += value);
    }
    mirror_in(&mut total, columns, columns, context)?;
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_weighted_gram_is_the_plain_sum_for_any_number_of_threads() {
        let (n, d) = (5000, 37);
        let mut random = Random::new(2, 0);
        let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 0.0 } else { random.uniform() }).collect();
        let fetch = |rows: &[usize], block: &mut [f64]| {
            for (row, to) in rows.iter().zip(block.chunks_exact_mut(d)) {
                to.copy_from_slice(&x[row * d..(row + 1) * d]);
            }
        };
        let one = weighted_gram(n, d, |i| weights[i], fetch, &Context::single()).unwrap();
        assert_eq!(one, weighted_gram(n, d, |i| weights[i], fetch, &Context::single().with_threads(2)).unwrap());
        for (i, j) in [(0, 0), (36, 0), (0, 36), (20, 33)] {
            let sum: f64 = (0..n).map(|r| weights[r] * x[r * d + i] * x[r * d + j]).sum();
            assert!((one[i * d + j] - sum).abs() < 1e-9);
        }
        assert_eq!(weighted_gram(0, 2, |_| 1.0, |_, _| {}, &Context::single()).unwrap(), vec![0.0; 4]);
    }
}
