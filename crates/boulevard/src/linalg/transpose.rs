//! Transposes and mirror images, tile by tile in registers.

use std::sync::Mutex;

use crate::error::Result;
use crate::observe::{Context, PIECE};
use crate::parallel;
use crate::simd::{Isa, Job, Real, Simd};

/// Side of a tile.
const TILE: usize = 4;
/// Side of the squares in which the tiles of a mirror image are visited, so that the lines read crosswise stay in the nearest cache.
const SQUARE: usize = 16;
/// Columns that are turned for all rows before the next: long enough runs to read, few enough lines to write.
const RUN: usize = 64;
/// Rows of a mirror image that one thread takes at a time, and the fewest for which threads are asked.
const PART: usize = 64;
const LEAST: usize = 512;

#[inline(always)]
fn four(values: &[f64]) -> &[f64; TILE] {
    values.first_chunk().expect("inside the matrix")
}

/// `to[j * step + i] = row(i)[j]` for `i < rows` and `j < columns`.
pub fn transpose<'a>(isa: Isa, rows: usize, columns: usize, row: impl Fn(usize) -> &'a [f64], to: &mut [f64], step: usize) {
    f64::dispatch(isa, Transpose { rows, columns, row, to, step });
}

struct Transpose<'b, F> {
    rows: usize,
    columns: usize,
    row: F,
    to: &'b mut [f64],
    step: usize,
}

impl<'a, F: Fn(usize) -> &'a [f64]> Job<f64> for Transpose<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd<f64>>(self, simd: S) {
        let Self { rows, columns, row, to, step } = self;
        let whole = rows / (2 * TILE) * (2 * TILE);
        for left in (0..columns).step_by(RUN) {
            let run = left..(left + RUN).min(columns);
            for i in (0..whole).step_by(2 * TILE) {
                let part = |k: usize| &row(i + k)[run.clone()];
                let from = [part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7)];
                turn(simd, from, &mut to[left * step + i..], step);
            }
            for i in whole..rows {
                run.clone().for_each(|j| to[j * step + i] = row(i)[j]);
            }
        }
    }
}

/// Eight rows, whose columns are written as lines of eight.
#[inline(always)]
fn turn<S: Simd<f64>>(simd: S, [a, b, c, d, e, f, g, h]: [&[f64]; 2 * TILE], to: &mut [f64], step: usize) {
    let columns = a.len();
    let whole = columns / TILE * TILE;
    for j in (0..whole).step_by(TILE) {
        let first = simd.turn([four(&a[j..]), four(&b[j..]), four(&c[j..]), four(&d[j..])]);
        let second = simd.turn([four(&e[j..]), four(&f[j..]), four(&g[j..]), four(&h[j..])]);
        for k in 0..TILE {
            let line = to[(j + k) * step..].first_chunk_mut::<{ 2 * TILE }>().expect("inside the matrix");
            line[..TILE].copy_from_slice(&first[k]);
            line[TILE..].copy_from_slice(&second[k]);
        }
    }
    for j in whole..columns {
        let line = to[j * step..].first_chunk_mut::<{ 2 * TILE }>().expect("inside the matrix");
        *line = [a[j], b[j], c[j], d[j], e[j], f[j], g[j], h[j]];
    }
}

/// Copies the lower triangle of an `n x n` matrix to the upper one; rows are `step` apart.
pub fn mirror(a: &mut [f64], n: usize, step: usize) {
    f64::dispatch(Isa::detect(), Mirror { a, n, step });
}

struct Mirror<'a> {
    a: &'a mut [f64],
    n: usize,
    step: usize,
}

impl Job<f64> for Mirror<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd<f64>>(mut self, simd: S) {
        for top in (0..self.n).step_by(SQUARE) {
            for left in (top..self.n).step_by(SQUARE) {
                for i in (top..(top + SQUARE).min(self.n)).step_by(TILE) {
                    for j in (left.max(i)..(left + SQUARE).min(self.n)).step_by(TILE) {
                        self.tile(simd, i, j);
                    }
                }
            }
        }
    }
}

impl Mirror<'_> {
    /// The tile whose first row is `i` and whose first column is `j >= i`, from its mirror image.
    #[inline(always)]
    fn tile<S: Simd<f64>>(&mut self, simd: S, i: usize, j: usize) {
        let Self { a, n, step } = self;
        let (n, step) = (*n, *step);
        if i == j || j + TILE > n {
            for i in i..(i + TILE).min(n) {
                for j in j.max(i + 1)..(j + TILE).min(n) {
                    a[i * step + j] = a[j * step + i];
                }
            }
            return;
        }
        let from = j * step + i;
        let rows = [four(&a[from..]), four(&a[from + step..]), four(&a[from + 2 * step..]), four(&a[from + 3 * step..])];
        let columns = simd.turn(rows);
        for k in 0..TILE {
            a[(i + k) * step + j..][..TILE].copy_from_slice(&columns[k]);
        }
    }
}

/// [`mirror`] in strips of rows, asking in between whether to go on.
pub fn mirror_in(a: &mut [f64], n: usize, step: usize, context: &Context<'_>) -> Result<()> {
    // Values are read across their rows: each takes as long as several multiplications.
    let height = (PIECE / 8 / n.max(1)).next_multiple_of(SQUARE).max(SQUARE);
    if n <= height {
        mirror(a, n, step);
        return Ok(());
    }
    for top in (0..n).step_by(height) {
        context.go_on("solve")?;
        let end = (top + height).min(n);
        mirror(&mut a[top * step + top..], end - top, step);
        // What lies right of the square on the diagonal comes from below it.
        let (above, below) = a.split_at_mut((end * step).min(a.len()));
        transpose(Isa::detect(), n - end, end - top, |i| &below[i * step + top..], &mut above[top * step + end..], step);
    }
    Ok(())
}

/// [`mirror`] on several threads.
pub fn mirror_on(threads: usize, a: &mut [f64], n: usize, step: usize) {
    if threads == 1 || n < LEAST {
        return mirror(a, n, step);
    }
    let half = n / 2;
    let (top, bottom) = a.split_at_mut(half * step);
    // The two triangles on the diagonal, then the square between them, whose source nobody writes any more.
    let triangles = [Mutex::new((&mut *top, half)), Mutex::new((&mut bottom[half..], n - half))];
    parallel::map(threads, triangles.len(), |t| {
        let (part, size) = &mut *triangles[t].lock().expect("only one thread has this part");
        mirror(part, *size, step);
    });
    let parts: Vec<Mutex<&mut [f64]>> = top.chunks_mut(PART * step).map(Mutex::new).collect();
    parallel::map(threads, parts.len(), |p| {
        let part = &mut *parts[p].lock().expect("only one thread has this part");
        let rows = part.len() / step;
        transpose(Isa::detect(), n - half, rows, |j| &bottom[j * step + p * PART..], &mut part[half..], step);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_are_complete() {
        for (rows, columns) in [(0, 3), (1, 1), (4, 4), (5, 7), (16, 33), (37, 18)] {
            let from: Vec<f64> = (0..rows * columns).map(|k| k as f64).collect();
            let step = rows + 2;
            let mut to = vec![-1.0; columns * step];
            transpose(Isa::detect(), rows, columns, |i| &from[i * columns..(i + 1) * columns], &mut to, step);
            for (j, line) in to.chunks_exact(step).enumerate() {
                assert!((0..rows).all(|i| line[i] == from[i * columns + j]), "{rows} x {columns}");
                assert_eq!(line[rows..], [-1.0; 2]);
            }
        }
    }

    #[test]
    fn mirror_images_in_strips_are_the_same() {
        for n in [0, 1, 37, 600, 1500] {
            let step = n + 3;
            let mut whole: Vec<f64> = (0..n * step).map(|k| k as f64).collect();
            let mut strips = whole.clone();
            mirror(&mut whole, n, step);
            mirror_in(&mut strips, n, step, &Context::single()).unwrap();
            assert!(whole == strips, "{n}");
        }
    }

    #[test]
    fn mirror_images_are_complete_on_any_number_of_threads() {
        for n in [0, 1, 3, 4, 5, 16, 17, 37, 64, 600, 1031] {
            let step = n + 3;
            for threads in [1, 2, 3] {
                let mut a: Vec<f64> = (0..n * step).map(|k| k as f64).collect();
                mirror_on(threads, &mut a, n, step);
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    assert_eq!(a[i * step + j], (i.max(j) * step + i.min(j)) as f64, "{n}: {i}, {j}");
                }
            }
        }
    }
}
