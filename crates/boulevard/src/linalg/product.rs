//! Matrix products by packed tiles: four rows of the left factor against one panel of columns of the right one.

use std::cell::RefCell;

use crate::error::Result;
use crate::observe::{Context, PIECE};
use crate::simd::{Isa, Job, Real, Simd};

/// Rows of a tile; with a panel of columns they fill half the registers.
const TILE_ROWS: usize = 4;
/// Terms summed between two visits of the result: a packed panel of this depth fits the nearest cache.
pub(super) const DEPTH: usize = 128;
/// Rows of the left factor that are packed together.
const BLOCK_ROWS: usize = 128;
/// The widest panel of any instruction set.
const MOST_LANES: usize = 32;

/// A matrix in a slice: value `(i, j)` lies at `i * row_step + j * column_step`.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Where the values are.
    pub values: &'a [f64],
    /// From one row to the next.
    pub row_step: usize,
    /// From one column to the next.
    pub column_step: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix.
    pub fn new(values: &'a [f64], columns: usize) -> Self {
        Self { values, row_step: columns, column_step: 1 }
    }

    /// The same matrix with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self { values: self.values, row_step: self.column_step, column_step: self.row_step }
    }

    /// The same matrix from row `i` and column `j` on.
    #[inline(always)]
    fn from(self, i: usize, j: usize) -> Self {
        Self { values: &self.values[i * self.row_step + j * self.column_step..], ..self }
    }
}

/// Which part of the result is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// The lower triangle with the diagonal; values above it are left undefined.
    Lower,
}

/// The shape of a product.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Rows of the result.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// Terms of each inner product.
    pub depth: usize,
}

thread_local! {
    /// Packed factors of the last product: small products come by the thousand, and clearing fresh memory would cost as much as they do.
    static PACKED: RefCell<[Vec<f64>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Packed numbers that are kept for the next product at most.
const KEPT: usize = 1 << 17;

/// `out += factor * left * right`, where row `i` of the result starts at `out[i * step]`.
pub fn add_product(out: &mut [f64], step: usize, shape: Shape, factor: f64, left: View<'_>, right: View<'_>, part: Part) {
    run(out, step, shape, factor, &[], [left, right], part);
}

/// [`add_product`] in strips of rows, asking in between whether to go on. Every value has the same bits.
pub fn add_product_in(
    out: &mut [f64],
    step: usize,
    shape: Shape,
    factor: f64,
    views: [View<'_>; 2],
    part: Part,
    context: &Context<'_>,
) -> Result<()> {
    strips(out, step, shape, factor, &[], views, part, context)
}

/// `out += left * diag(weights) * right`, as [`add_product_in`].
pub(crate) fn add_weighted_in(
    out: &mut [f64],
    step: usize,
    shape: Shape,
    weights: &[f64],
    views: [View<'_>; 2],
    part: Part,
    context: &Context<'_>,
) -> Result<()> {
    strips(out, step, shape, 1.0, weights, views, part, context)
}

fn strips(
    out: &mut [f64],
    step: usize,
    shape: Shape,
    factor: f64,
    weights: &[f64],
    [left, right]: [View<'_>; 2],
    part: Part,
    context: &Context<'_>,
) -> Result<()> {
    let row = shape.columns.saturating_mul(shape.depth).max(1);
    if shape.rows.saturating_mul(row) <= PIECE {
        run(out, step, shape, factor, weights, [left, right], part);
        return Ok(());
    }
    // A strip is as wide as the factors: packing the right one again for each costs a small share of the product.
    let height = (PIECE / row).max(1).next_multiple_of(TILE_ROWS).max(4 * TILE_ROWS);
    for top in (0..shape.rows).step_by(height) {
        context.go_on("solve")?;
        let rows = height.min(shape.rows - top);
        // Of a lower triangle, the columns that begin left of the strip's last diagonal value.
        let columns = if part == Part::Lower { (top + rows).min(shape.columns) } else { shape.columns };
        let shape = Shape { rows, columns, ..shape };
        run(&mut out[top * step..], step, shape, factor, weights, [left.from(top, 0), right], Part::All);
    }
    Ok(())
}

fn run(out: &mut [f64], step: usize, shape: Shape, factor: f64, weights: &[f64], [left, right]: [View<'_>; 2], part: Part) {
    let mut packed = PACKED.take();
    let isa = Isa::detect();
    let depth = shape.depth.min(DEPTH);
    packed[0].resize(shape.rows.min(BLOCK_ROWS).next_multiple_of(TILE_ROWS) * depth, 0.0);
    packed[1].resize(shape.columns.next_multiple_of(isa.lanes::<f64>()) * depth, 0.0);
    let [packed_left, packed_right] = &mut packed;
    f64::dispatch(isa, Product { out, step, shape, factor, weights, left, right, part, packed_left, packed_right });
    packed.iter_mut().filter(|buffer| buffer.len() > KEPT).for_each(|buffer| *buffer = Vec::new());
    PACKED.set(packed);
}

struct Product<'a> {
    out: &'a mut [f64],
    step: usize,
    shape: Shape,
    factor: f64,
    /// A factor per term; none means 1.
    weights: &'a [f64],
    left: View<'a>,
    right: View<'a>,
    part: Part,
    packed_left: &'a mut [f64],
    packed_right: &'a mut [f64],
}

impl Job<f64> for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd<f64>>(self, simd: S) {
        let Shape { rows, columns, depth } = self.shape;
        let lanes = S::LANES;
        let panels = columns.div_ceil(lanes);
        let (left, right) = (self.packed_left, self.packed_right);
        for first in (0..depth).step_by(DEPTH) {
            let terms = DEPTH.min(depth - first);
            let weights = self.weights.get(first..first + terms).unwrap_or(&[]);
            pack(right, self.right.from(first, 0), columns, lanes, terms);
            for top in (0..rows).step_by(BLOCK_ROWS) {
                let height = BLOCK_ROWS.min(rows - top);
                pack(left, self.left.from(top, first).transposed(), height, TILE_ROWS, terms);
                for group in left.chunks_exact_mut(TILE_ROWS * terms).take(height.div_ceil(TILE_ROWS)) {
                    for (weight, four) in weights.iter().zip(group.as_chunks_mut::<TILE_ROWS>().0) {
                        four.iter_mut().for_each(|value| *value *= weight);
                    }
                    if self.factor != 1.0 {
                        group.iter_mut().for_each(|value| *value *= self.factor);
                    }
                }
                for panel in 0..panels {
                    let from = panel * lanes;
                    let width = lanes.min(columns - from);
                    let columns = &right[panel * lanes * terms..][..lanes * terms];
                    for group in 0..height.div_ceil(TILE_ROWS) {
                        let row = top + group * TILE_ROWS;
                        let count = TILE_ROWS.min(top + height - row);
                        if self.part == Part::Lower && row + count <= from {
                            continue;
                        }
                        let queries = &left[group * TILE_ROWS * terms..][..TILE_ROWS * terms];
                        let tile = tile(simd, queries, columns);
                        for (r, values) in tile.into_iter().take(count).enumerate() {
                            let out = &mut self.out[(row + r) * self.step + from..][..width];
                            if width == lanes {
                                simd.store(simd.add(simd.load(out), values), out);
                                continue;
                            }
                            let mut buffer = [0.0; MOST_LANES];
                            simd.store(values, &mut buffer);
                            out.iter_mut().zip(buffer).for_each(|(out, value)| *out += value);
                        }
                    }
                }
            }
        }
    }
}

/// Copies columns of a matrix into groups of `size`: value `t` of column `c` at `t * size + c` of its group; the last group is padded.
#[inline(always)]
fn pack(to: &mut [f64], from: View<'_>, columns: usize, size: usize, terms: usize) {
    for (group, to) in to.chunks_exact_mut(size * terms).take(columns.div_ceil(size)).enumerate() {
        let from = from.from(0, group * size);
        let width = size.min(columns - group * size);
        if width < size {
            to.fill(0.0);
        }
        if from.column_step == 1 {
            for (term, to) in to.chunks_exact_mut(size).enumerate() {
                to[..width].copy_from_slice(&from.values[term * from.row_step..][..width]);
            }
            continue;
        }
        // The source is stored by columns: four of them at a time, so that four values are written together.
        let column = |c: usize| &from.values[c * from.column_step..][..terms];
        let fours = if from.row_step == 1 { width / 4 * 4 } else { 0 };
        for c in (0..fours).step_by(4) {
            let (c0, c1, c2, c3) = (column(c), column(c + 1), column(c + 2), column(c + 3));
            for ((((to, v0), v1), v2), v3) in to.chunks_exact_mut(size).zip(c0).zip(c1).zip(c2).zip(c3) {
                to[c..c + 4].copy_from_slice(&[*v0, *v1, *v2, *v3]);
            }
        }
        for (term, to) in to.chunks_exact_mut(size).enumerate() {
            for c in fours..width {
                to[c] = from.values[term * from.row_step + c * from.column_step];
            }
        }
    }
}

#[inline(always)]
fn tile<S: Simd<f64>>(simd: S, queries: &[f64], panel: &[f64]) -> [S::V; TILE_ROWS] {
    let zero = simd.splat(0.0);
    let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
    for (query, columns) in queries.as_chunks::<TILE_ROWS>().0.iter().zip(panel.chunks_exact(S::LANES)) {
        let columns = simd.load(columns);
        a = simd.fma(simd.splat(query[0]), columns, a);
        b = simd.fma(simd.splat(query[1]), columns, b);
        c = simd.fma(simd.splat(query[2]), columns, c);
        d = simd.fma(simd.splat(query[3]), columns, d);
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn products_of_all_shapes_equal_the_plain_sums() {
        let mut random = Random::new(1, 0);
        for (rows, columns, depth) in [(1, 1, 1), (3, 5, 2), (4, 32, 7), (33, 31, 130), (130, 70, 300), (5, 200, 257)] {
            let a: Vec<f64> = (0..rows * depth).map(|_| random.normal()).collect();
            let b: Vec<f64> = (0..columns * depth).map(|_| random.normal()).collect();
            let shape = Shape { rows, columns, depth };
            let mut out = vec![1.0; rows * columns];
            add_product(&mut out, columns, shape, -2.0, View::new(&a, depth), View::new(&b, depth).transposed(), Part::All);
            let mut lower = vec![1.0; rows * columns];
            add_product(&mut lower, columns, shape, -2.0, View::new(&a, depth), View::new(&b, depth).transposed(), Part::Lower);
            for i in 0..rows {
                for j in 0..columns {
                    let sum: f64 = (0..depth).map(|k| a[i * depth + k] * b[j * depth + k]).sum();
                    assert!((out[i * columns + j] - (1.0 - 2.0 * sum)).abs() < 1e-10, "{rows} x {columns} x {depth} at {i}, {j}");
                    assert!(j > i || lower[i * columns + j] == out[i * columns + j]);
                }
            }
        }
    }
}
