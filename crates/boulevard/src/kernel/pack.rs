//! Dense tables in the layouts that tiles read, and kernel rows from them.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::rows::KernelRows;
use super::{Kernel, function::Gamma};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::observe::{Context, PIECE};
use crate::simd::one_row;
use crate::simd::tile::{self, Combine, Finish, Formula, Panels, Queries, TILE_ROWS};
use crate::simd::{Isa, Real};

/// How a kernel becomes a tile formula: shift and scale the data, then apply the formula.
#[derive(Debug)]
pub(super) struct Recipe<T> {
    pub formula: Formula<T>,
    /// Factor of the (centered) data.
    scale: f64,
    /// Whether distances matter only: then the data may be centered, and start values are `-|x|^2 / 2`.
    distance: bool,
}

impl<T> Recipe<T> {
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    pub(super) fn is_distance(&self) -> bool {
        self.distance
    }
}

/// The recipe of a kernel with a tile formula; `None` for the others.
pub(super) fn recipe<T: Real>(kernel: &Kernel) -> Option<Recipe<T>> {
    let number = |gamma: &Gamma| gamma.value().expect("gamma was resolved");
    let real = T::from_f64;
    let product = |finish| Recipe { formula: Formula { combine: Combine::Product, finish }, scale: 1.0, distance: false };
    let distance = |finish, scale| Recipe { formula: Formula { combine: Combine::Product, finish }, scale, distance: true };
    let log2_e = std::f64::consts::LOG2_E;
    Some(match kernel {
        Kernel::Linear => product(Finish::Identity),
        Kernel::Poly { degree, gamma, coef0 } => {
            product(Finish::Power { scale: real(number(gamma)), shift: real(*coef0), degree: *degree })
        }
        Kernel::Sigmoid { gamma, coef0 } => product(Finish::Tanh { scale: real(number(gamma)), shift: real(*coef0) }),
        Kernel::Rbf { gamma } => distance(Finish::Exp2, (2.0 * number(gamma) * log2_e).sqrt()),
        Kernel::Epanechnikov { gamma, degree } => {
            distance(Finish::Epanechnikov { scale: real(1.0), degree: *degree }, number(gamma).sqrt())
        }
        Kernel::Multiquadric { gamma, coef0 } => {
            distance(Finish::Multiquadric { scale: real(1.0), shift: real(coef0 * coef0) }, number(gamma).sqrt())
        }
        Kernel::InverseMultiquadric { gamma, coef0 } => {
            distance(Finish::InverseMultiquadric { scale: real(1.0), shift: real(coef0 * coef0) }, number(gamma).sqrt())
        }
        // Both sums are homogeneous: scaling the data scales the exponent.
        Kernel::Laplacian { gamma } => Recipe {
            formula: Formula { combine: Combine::Distance, finish: Finish::Exp2Negated },
            scale: number(gamma) * log2_e,
            distance: false,
        },
        Kernel::ChiSquared { gamma } => Recipe {
            formula: Formula { combine: Combine::ChiSquared, finish: Finish::Exp2Negated },
            scale: number(gamma) * log2_e,
            distance: false,
        },
        Kernel::Precomputed | Kernel::Sum { .. } | Kernel::Normalized { .. } | Kernel::Custom(_) => return None,
    })
}

/// The point that distance kernels are centered on: the column means of `x`, or nothing where centring is not allowed.
pub(super) fn center<T: Real>(recipe: &Recipe<T>, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
    let mut mean = vec![0.0; x.columns()];
    if recipe.distance && x.rows() > 0 {
        let stride = stride(x.columns());
        for row in 0..x.rows() {
            ask(row, stride, context)?;
            match x {
                Matrix::F64(dense) => mean.iter_mut().zip(dense.row(row)).for_each(|(mean, v)| *mean += v),
                _ => x.for_each(row, |j, v| mean[j] += v),
            }
        }
        mean.iter_mut().for_each(|m| *m /= x.rows() as f64);
        // Values so large that their sum overflows: leave them where they are.
        if mean.iter().any(|m| !m.is_finite()) {
            mean.fill(0.0);
        }
    }
    Ok(mean)
}

/// Rows of so many values between two questions whether to go on.
fn stride(columns: usize) -> usize {
    // Fresh memory is written on the way: a value takes as long as several multiplications.
    (PIECE / 8 / columns.max(1)).max(1)
}

fn ask(row: usize, stride: usize, context: &Context<'_>) -> Result<()> {
    if row % stride == stride - 1 { context.go_on("prepare") } else { Ok(()) }
}

/// Fails where the squares that a distance is made of overflow in double precision: no value would then be a number. (In single precision
/// the accuracy says so, and nobody uses the rows.)
pub(super) fn check_starts<T: Real>(recipe: &Recipe<T>, starts: &[T]) -> Result<()> {
    if T::DOUBLE && recipe.distance && starts.iter().any(|start| !start.to_f64().is_finite()) {
        return Err(Error::data("gamma times the squares of the columns overflows: scale the columns, or use a smaller gamma"));
    }
    Ok(())
}

/// Start values beyond this leave no digits of the exponent: a row's distance to itself, the difference of two of them, need not be near zero.
const MOST_START: f64 = (1u64 << 46) as f64;

/// Fails where the rows of a fit are so far from their middle, in widths of the kernel, that nobody can tell any longer how far they are from
/// each other. (A sample that is judged may lie anywhere: its values are zero.)
pub(super) fn check_distances<T: Real>(recipe: &Recipe<T>, starts: &[T]) -> Result<()> {
    let lost = |start: &T| start.to_f64().is_nan() || start.to_f64().abs() > MOST_START;
    if recipe.distance && matches!(recipe.formula.finish, Finish::Exp2) && starts.iter().any(lost) {
        return Err(Error::data(
            "gamma times the squares of the columns is so large that distances lose their digits: scale the columns, or use a smaller gamma",
        ));
    }
    Ok(())
}

/// Rows of a table after centring and scaling, row-major, with their start values.
pub(super) struct PackedTable<T> {
    values: Vec<T>,
    starts: Vec<T>,
    dimensions: usize,
}

impl<T: Real> PackedTable<T> {
    pub(super) fn new(recipe: &Recipe<T>, center: &[f64], x: &Matrix<'_>, context: &Context<'_>) -> Result<Self> {
        let (rows, dimensions) = (x.rows(), x.columns());
        let mut values = vec![T::default(); rows * dimensions];
        let mut starts = vec![T::default(); rows];
        let stride = stride(dimensions);
        for (row, (to, start)) in values.chunks_exact_mut(dimensions).zip(&mut starts).enumerate() {
            ask(row, stride, context)?;
            match x {
                Matrix::F64(dense) => {
                    for ((to, &v), c) in to.iter_mut().zip(dense.row(row)).zip(center) {
                        *to = T::from_f64((v - c) * recipe.scale);
                    }
                }
                Matrix::F32(dense) => {
                    for ((to, &v), c) in to.iter_mut().zip(dense.row(row)).zip(center) {
                        *to = T::from_f64((f64::from(v) - c) * recipe.scale);
                    }
                }
                Matrix::Sparse(_) => {
                    for (to, c) in to.iter_mut().zip(center) {
                        *to = T::from_f64(-c * recipe.scale);
                    }
                    x.for_each(row, |j, v| to[j] = T::from_f64((v - center[j]) * recipe.scale));
                }
            }
            if recipe.distance {
                // From the rounded values, so that the distance of a row to itself is zero up to one rounding.
                *start = T::from_f64(-0.5 * to.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>());
            }
        }
        check_starts(recipe, &starts)?;
        Ok(Self { values, starts, dimensions })
    }

    fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.dimensions..(row + 1) * self.dimensions]
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The values and the start value of a table's only row.
    pub(super) fn only(&self) -> (&[T], T) {
        (&self.values, self.starts[0])
    }

    /// Interleaves up to four rows as a tile reads them; missing rows are zeros.
    fn interleave(&self, rows: &[usize], values: &mut [T], starts: &mut [T]) {
        // A whole group in one pass: the update of a blocked fit does little else beside its tiles.
        if let [a, b, c, d] = *rows {
            starts.iter_mut().zip(rows).for_each(|(start, &row)| *start = self.starts[row]);
            let of = self.row(a).iter().zip(self.row(b)).zip(self.row(c).iter().zip(self.row(d)));
            for (group, ((&a, &b), (&c, &d))) in values.as_chunks_mut::<TILE_ROWS>().0.iter_mut().zip(of) {
                *group = [a, b, c, d];
            }
            return;
        }
        values.fill(T::default());
        starts.fill(T::default());
        for (r, &row) in rows.iter().enumerate() {
            starts[r] = self.starts[row];
            for (group, &value) in values.as_chunks_mut::<TILE_ROWS>().0.iter_mut().zip(self.row(row)) {
                group[r] = value;
            }
        }
    }

    /// The rows as panels.
    pub(super) fn pack(&self, isa: Isa, context: &Context<'_>) -> Result<Packed<T>> {
        self.pack_some(self.len(), |place| place, isa, context)
    }

    /// Some rows as columns of a panel from column `first` on: a line of the cache is written at once, not one value of it sixteen times.
    fn turn(&self, places: &[usize; LINE], first: usize, lanes: usize, panel: &mut [T]) {
        let dimensions = self.dimensions;
        let rows = places.map(|place| &self.values[place * dimensions..][..dimensions]);
        for (k, to) in panel.chunks_exact_mut(lanes).enumerate().take(dimensions) {
            let to: &mut [T; LINE] = to[first..].first_chunk_mut().expect("a panel holds whole lines");
            for r in 0..LINE {
                to[r] = rows[r][k];
            }
        }
    }

    /// `count` rows as panels, each from the place that `row` names: without a copy of them in between, which a memory limit would have to
    /// count.
    pub(super) fn pack_some(&self, count: usize, row: impl Fn(usize) -> usize, isa: Isa, context: &Context<'_>) -> Result<Packed<T>> {
        let lanes = isa.lanes::<T>();
        let panels = count.div_ceil(lanes);
        let size = self.dimensions * lanes;
        let mut values = vec![T::default(); panels * size];
        let mut starts = vec![T::default(); panels * lanes];
        starts.iter_mut().zip(0..count).for_each(|(start, place)| *start = self.starts[row(place)]);
        let stride = stride(size);
        for (p, panel) in values.chunks_exact_mut(size.max(1)).enumerate() {
            ask(p, stride, context)?;
            let places: Vec<usize> = (p * lanes..((p + 1) * lanes).min(count)).map(&row).collect();
            let (lines, rest) = places.as_chunks::<LINE>();
            for (first, line) in (0..).step_by(LINE).zip(lines) {
                self.turn(line, first, lanes, panel);
            }
            for (c, &place) in (lines.len() * LINE..).zip(rest) {
                for (k, &value) in self.row(place).iter().enumerate() {
                    panel[k * lanes + c] = value;
                }
            }
        }
        Ok(Packed { values, starts, dimensions: self.dimensions, lanes })
    }
}

/// Columns of a panel that are written together: 64 bytes in single precision. (Panels of eight, doubles without AVX-512, are written one
/// value at a time.)
const LINE: usize = 16;

/// Rows that are computed while a panel is at hand: tables that leave the caches would be read from memory for every tile.
pub(super) const ROWS_TOGETHER: usize = 4 * TILE_ROWS;

/// Columns in panels, padded to whole panels.
#[derive(Debug)]
pub(super) struct Packed<T> {
    values: Vec<T>,
    starts: Vec<T>,
    dimensions: usize,
    lanes: usize,
}

impl<T: Real> Packed<T> {
    /// All panels.
    pub(super) fn all(&self) -> Panels<'_, T> {
        Panels { values: &self.values, starts: &self.starts, dimensions: self.dimensions }
    }

    /// The panels of `columns`, which must begin at a panel; the last one may be cut.
    fn range(&self, columns: Range<usize>) -> Panels<'_, T> {
        assert!(columns.start.is_multiple_of(self.lanes), "columns begin at a panel");
        let panels = columns.start / self.lanes..columns.end.div_ceil(self.lanes);
        let size = self.dimensions * self.lanes;
        Panels {
            values: &self.values[panels.start * size..panels.end * size],
            starts: &self.starts[panels.start * self.lanes..panels.end * self.lanes],
            dimensions: self.dimensions,
        }
    }
}

/// Kernel values by tiles: queries from one table, columns from another (or the same).
pub(super) struct PackedRows<T> {
    formula: Formula<T>,
    queries: Arc<PackedTable<T>>,
    /// Made when first asked for.
    columns: OnceLock<Packed<T>>,
    len: usize,
    accuracy: f64,
    isa: Isa,
}

impl<T: Real> PackedRows<T> {
    /// Rows of `rows` against columns of `columns`; `None` means the same table, whose columns wait until they are asked for where they are
    /// wanted `in_parts` only: with ten classes nobody ever asks for all of them.
    pub(super) fn new(
        recipe: &Recipe<T>,
        rows: &Matrix<'_>,
        columns: Option<&Matrix<'_>>,
        in_parts: bool,
        context: &Context<'_>,
    ) -> Result<Self> {
        let isa = context.isa;
        let center = center(recipe, rows, context)?;
        let queries = PackedTable::new(recipe, &center, rows, context)?;
        let other = columns.map(|columns| PackedTable::new(recipe, &center, columns, context)).transpose()?;
        if other.is_none() {
            check_distances(recipe, &queries.starts)?;
        }
        let table = other.as_ref().unwrap_or(&queries);
        let (packed, len) = (OnceLock::new(), table.len());
        if !(in_parts && columns.is_none()) {
            let _ = packed.set(table.pack(isa, context)?);
        }
        let accuracy = accuracy(recipe, &queries).max(accuracy(recipe, table));
        Ok(Self { formula: recipe.formula, queries: Arc::new(queries), columns: packed, len, accuracy, isa })
    }

    fn columns_ready(&self) -> &Packed<T> {
        let nobody = Context { isa: self.isa, ..Context::single() };
        self.columns.get_or_init(|| self.queries.pack(self.isa, &nobody).expect("nobody stops it"))
    }
}

impl<T: Real> PackedRows<T> {
    /// [`KernelRows::weigh`] where one sample is judged: the roles are changed, so that not one of every panel's values is used but all. Values
    /// and sums have the same bits.
    fn weigh_one(&self, rows: &[usize], weights: &[f64], outputs: usize, sums: &mut [f64]) {
        let (lanes, dimensions) = (self.isa.lanes::<T>(), self.queries.dimensions);
        let panels = rows.len().div_ceil(lanes);
        let (mut values, mut starts) = (vec![T::default(); panels * dimensions * lanes], vec![T::default(); panels * lanes]);
        starts.iter_mut().zip(rows).for_each(|(start, &row)| *start = self.queries.starts[row]);
        for (panel, rows) in values.chunks_exact_mut((dimensions * lanes).max(1)).zip(rows.chunks(lanes)) {
            for (c, &row) in rows.iter().enumerate() {
                panel.chunks_exact_mut(lanes).zip(self.queries.row(row)).for_each(|(to, &value)| to[c] = value);
            }
        }
        // The sample is the first lane of the only panel.
        let columns = self.columns_ready();
        let query: Vec<T> = columns.values.chunks_exact(columns.lanes).map(|lane| lane[0]).collect();
        let width = columns.starts.len();
        let mut found: Vec<f64> = sums.chunks(width).map(|sum| sum[0]).collect();
        let panels = Panels { values: &values, starts: &starts, dimensions };
        one_row::weigh_one(self.isa, &self.formula, &query, columns.starts[0], weights, outputs, panels, &mut found);
        sums.chunks_mut(width).zip(found).for_each(|(sum, value)| sum[0] = value);
    }
}

/// A bound on the error of a value, from the rounding of data, sum and finish.
pub(super) fn accuracy<T: Real>(recipe: &Recipe<T>, table: &PackedTable<T>) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    match (recipe.formula.combine, recipe.formula.finish) {
        // The exponent is a difference of numbers as large as |start|; ln 2 turns its error into a relative one of a value up to 1.
        (_, Finish::Exp2) => T::ROUNDING * (4.0 + 3.0 * largest(&mut table.starts.iter().map(|s| s.to_f64().abs()))),
        (_, Finish::Exp2Negated) => T::ROUNDING * (4.0 + 2.0 * (table.dimensions as f64).sqrt()),
        (_, finish) => {
            let norm = largest(&mut (0..table.len()).map(|i| table.row(i).iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>()));
            let growth = match finish {
                Finish::Power { scale, shift, degree } => {
                    let base = scale.to_f64().abs() * norm + shift.to_f64().abs();
                    (f64::from(degree) + 1.0) * base.powi(degree as i32)
                }
                Finish::Tanh { scale, shift } => 1.0 + scale.to_f64().abs() * norm + shift.to_f64().abs(),
                Finish::InverseMultiquadric { shift, .. } => norm / shift.to_f64().powf(1.5) + 1.0,
                Finish::Multiquadric { shift, .. } => norm / shift.to_f64().sqrt().max(1e-3) + 1.0,
                Finish::Epanechnikov { degree, .. } => 1.0 + f64::from(degree) * norm,
                _ => norm,
            };
            T::ROUNDING * 4.0 * growth
        }
    }
}

impl<T: Real> KernelRows<T> for PackedRows<T> {
    fn rows(&self) -> usize {
        self.queries.len()
    }

    fn columns(&self) -> usize {
        self.len
    }

    fn fill(&self, rows: &[usize], columns: Range<usize>, out: &mut [&mut [T]]) {
        let panels = self.columns_ready().range(columns);
        let size = TILE_ROWS * self.queries.dimensions;
        let mut values = vec![T::default(); rows.len().min(ROWS_TOGETHER).div_ceil(TILE_ROWS) * size];
        let mut starts = [T::default(); ROWS_TOGETHER];
        for (rows, out) in rows.chunks(ROWS_TOGETHER).zip(out.chunks_mut(ROWS_TOGETHER)) {
            for (g, group) in rows.chunks(TILE_ROWS).enumerate() {
                let starts = &mut starts[g * TILE_ROWS..(g + 1) * TILE_ROWS];
                self.queries.interleave(group, &mut values[g * size..(g + 1) * size], starts);
            }
            let used = rows.len().div_ceil(TILE_ROWS);
            let queries = Queries { values: &values[..used * size], starts: &starts[..used * TILE_ROWS] };
            tile::fill(self.isa, &self.formula, queries, panels, out);
        }
    }

    fn weigh(&self, rows: &[usize], weights: &[f64], outputs: usize, columns: Range<usize>, sums: &mut [f64]) {
        if self.len == 1 && columns == (0..1) {
            return self.weigh_one(rows, weights, outputs, sums);
        }
        // Groups are cut small enough that their interleaved rows stay in the second-level cache.
        const GROUPS: usize = 252;
        let panels = self.columns_ready().range(columns);
        let size = TILE_ROWS * self.queries.dimensions;
        let groups = rows.len().div_ceil(TILE_ROWS).min(GROUPS);
        let (mut values, mut starts) = (vec![T::default(); groups * size], vec![T::default(); groups * TILE_ROWS]);
        let mut group_weights = vec![T::default(); groups * outputs * TILE_ROWS];
        for (block, rows_of_block) in rows.chunks(GROUPS * TILE_ROWS).enumerate() {
            let used = rows_of_block.len().div_ceil(TILE_ROWS);
            group_weights.fill(T::default());
            for (g, group) in rows_of_block.chunks(TILE_ROWS).enumerate() {
                let starts = &mut starts[g * TILE_ROWS..(g + 1) * TILE_ROWS];
                self.queries.interleave(group, &mut values[g * size..(g + 1) * size], starts);
                for o in 0..outputs {
                    for r in 0..group.len() {
                        let row = block * GROUPS * TILE_ROWS + g * TILE_ROWS + r;
                        group_weights[(g * outputs + o) * TILE_ROWS + r] = T::from_f64(weights[o * rows.len() + row]);
                    }
                }
            }
            let queries = Queries { values: &values[..used * size], starts: &starts[..used * TILE_ROWS] };
            tile::weigh(self.isa, &self.formula, queries, &group_weights[..used * outputs * TILE_ROWS], outputs, panels, sums);
        }
    }

    fn accuracy(&self) -> f64 {
        self.accuracy
    }

    fn work(&self) -> usize {
        self.queries.dimensions + 16
    }

    fn restrict<'s>(&'s self, columns: &[usize]) -> Box<dyn KernelRows<T> + 's> {
        let nobody = Context { isa: self.isa, ..Context::default() };
        let packed = self.queries.pack_some(columns.len(), |place| columns[place], self.isa, &nobody).expect("nobody stops it");
        Box::new(Self { queries: Arc::clone(&self.queries), columns: OnceLock::from(packed), len: columns.len(), ..*self })
    }
}
