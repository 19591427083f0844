//! Weighted Gram matrices `X' W X`.

use super::product::{DEPTH, Part, Shape, View, add_weighted};
use crate::parallel;

/// Row blocks that one partial sum covers at least.
const LEAST_BLOCKS: usize = 16;
/// Partial sums at most: their number must not depend on the threads, or the bits would.
const MOST_PARTS: usize = 8;

/// `sum_i weights_i x_i x_i'` over `rows` numbered rows of `columns` values, as a full symmetric matrix.
///
/// `fetch(rows, block)` writes the named rows one after another into `block`. Rows of weight zero are not fetched. The cost is
/// `rows * columns^2` multiplications, about the machine's speed limit; the bits do not depend on the number of threads.
pub fn weighted_gram(
    rows: usize,
    columns: usize,
    weights: impl Fn(usize) -> f64 + Sync,
    fetch: impl Fn(&[usize], &mut [f64]) + Sync,
    threads: usize,
) -> Vec<f64> {
    let active: Vec<usize> = (0..rows).filter(|&i| weights(i) != 0.0).collect();
    let blocks = active.len().div_ceil(DEPTH);
    let parts = (blocks / LEAST_BLOCKS).clamp(1, MOST_PARTS);
    let share = blocks.div_ceil(parts).max(1) * DEPTH;
    let sums = parallel::map(threads, active.len().div_ceil(share).max(1), |part| {
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
            add_weighted(&mut sum, columns, shape, &factors, x.transposed(), x, Part::Lower);
        }
        sum
    });
    let mut sums = sums.into_iter();
    let mut total = sums.next().expect("at least one part");
    for sum in sums {
        total.iter_mut().zip(sum).for_each(|(total, value)| *total += value);
    }
    mirror(&mut total, columns, columns);
    total
}

/// Copies the lower triangle of an `n x n` matrix to the upper one; rows are `step` apart.
pub fn mirror(a: &mut [f64], n: usize, step: usize) {
    // Square by square, so that the lines read crosswise stay in the nearest cache.
    const SIDE: usize = 16;
    for top in (0..n).step_by(SIDE) {
        for left in (top..n).step_by(SIDE) {
            for i in (top..(top + SIDE).min(n)).step_by(TILE) {
                for j in (left.max(i)..(left + SIDE).min(n)).step_by(TILE) {
                    mirror_tile(a, n, step, i, j);
                }
            }
        }
    }
}

/// A tile is transposed in registers.
const TILE: usize = 4;

/// The tile whose first row is `i` and whose first column is `j >= i`, from its mirror image.
#[inline(always)]
fn mirror_tile(a: &mut [f64], n: usize, step: usize, i: usize, j: usize) {
    if i == j || j + TILE > n {
        for i in i..(i + TILE).min(n) {
            for j in j.max(i + 1)..(j + TILE).min(n) {
                a[i * step + j] = a[j * step + i];
            }
        }
        return;
    }
    let line = |at: usize| *a[at..].first_chunk::<TILE>().expect("inside the matrix");
    let rows = [line(j * step + i), line((j + 1) * step + i), line((j + 2) * step + i), line((j + 3) * step + i)];
    for k in 0..TILE {
        let to = a[(i + k) * step + j..].first_chunk_mut::<TILE>().expect("inside the matrix");
        *to = [rows[0][k], rows[1][k], rows[2][k], rows[3][k]];
    }
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
        let one = weighted_gram(n, d, |i| weights[i], fetch, 1);
        assert_eq!(one, weighted_gram(n, d, |i| weights[i], fetch, 2));
        for (i, j) in [(0, 0), (36, 0), (0, 36), (20, 33)] {
            let sum: f64 = (0..n).map(|r| weights[r] * x[r * d + i] * x[r * d + j]).sum();
            assert!((one[i * d + j] - sum).abs() < 1e-9);
        }
        assert_eq!(weighted_gram(0, 2, |_| 1.0, |_, _| {}, 2), vec![0.0; 4]);
    }

    #[test]
    fn the_mirror_image_is_complete() {
        for n in [0, 1, 3, 4, 5, 16, 17, 37, 64] {
            let step = n + 3;
            let mut a: Vec<f64> = (0..n * step).map(|k| k as f64).collect();
            mirror(&mut a, n, step);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                assert_eq!(a[i * step + j], (i.max(j) * step + i.min(j)) as f64, "{n}: {i}, {j}");
            }
        }
    }
}
