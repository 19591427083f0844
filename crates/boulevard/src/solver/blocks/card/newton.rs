//! Newton's systems on the card: the matrix in double precision, Cholesky's factor of it, solutions.

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::engine::CardBlocks;
use super::table::{CardTable, EXACT_SHARED, EXACT_THREADS};
use super::times::timed;
use crate::observe::Progress;
use crate::solver::blocks::engine::{Costs, Moved, Newton, Outcome};

/// As in `kernels/90_factor.cu`: columns of a block, of a panel, and of a tile of what is right of the panel.
const BLOCK: usize = 64;
const PANEL: usize = 512;
const TILE: usize = 128;
/// Shared memory of the large tiles and of a block's factor.
const TILE_SHARED: usize = 2 * 2 * 128 * 20 * 8;
const BLOCK_SHARED: usize = 2 * 64 * 65 * 8;
/// Diagonal of rows that are not the matrix: what is subtracted from it must not matter.
const OUTSIDE: f64 = 1e30;
/// Pivots below this share of the ridge are those of a matrix that is not positive definite.
const PIVOT: f64 = 0.01;
/// A factor may take this share of the memory that is free.
const SHARE: f64 = 0.7;

/// Memory of factors, which grows as needed.
pub(super) struct Factors {
    matrix: Buffer<f64>,
    inverses: Buffer<f64>,
    costs: Option<Costs>,
    diagonal: f64,
}

impl Factors {
    pub(super) fn new(card: &Arc<Card>, table: &CardTable) -> Result<Self, CudaError> {
        let (costs, diagonal) = costs(card, table)?.map_or((None, 1.0), |(costs, diagonal)| (Some(costs), diagonal));
        Ok(Self { matrix: card.allocate(0)?, inverses: card.allocate(0)?, costs, diagonal })
    }

    pub(super) fn has_newton(&self) -> bool {
        self.costs.is_some()
    }
}

/// What work takes on this card, and the kernel's diagonal; none where systems are not for it: kernels whose values have no common size,
/// and cards without tensor cores or with slow double precision.
fn costs(card: &Card, table: &CardTable) -> Result<Option<(Costs, f64)>, CudaError> {
    let formula = &table.kernel.double.formula;
    let diagonal = match formula.kind {
        0 => 1.0,
        4 if formula.shift > 0.0 => 1.0 / formula.shift.sqrt(),
        _ => return Ok(None),
    };
    // Data center cards: A100 and those after it.
    if !table.exact_on_tensor_cores() || card.capability().1 != 0 {
        return Ok(None);
    }
    // Measured on an H200 with its 132 processors; the generation before has half the rate per processor.
    let generation = if card.capability().0 == 8 { 2.0 } else { 1.0 };
    let slower = 132.0 / card.processors() as f64;
    let width = table.columns as f64;
    let most = ((SHARE * card.memory()?.0 as f64 / 8.0).sqrt() as usize).saturating_sub(TILE);
    let costs = Costs {
        round: 3e-4,
        step: 1.4e-6,
        value: (0.4e-12 + 1.3e-14 * width) * slower,
        exact: (2e-12 + 5e-14 * width) * slower * generation,
        operation: slower * generation / 28e12,
        variable: 6e-7,
        most,
    };
    Ok(Some((costs, diagonal)))
}

impl CardBlocks<'_> {
    /// Factors the matrix with the right sides below it; false if a pivot is too small.
    fn factor(&mut self, stride: usize, least: f64, progress: &Progress<'_>) -> Outcome<bool> {
        let failed = self.card.upload(&[0u32]).map_err(|error| self.failed(&error))?;
        for start in (0..stride).step_by(PANEL) {
            self.enter(progress)?;
            let panel = || -> Result<u32, CudaError> {
                let (card, matrix, inverses) = (&self.card, &self.factors.matrix, &self.factors.inverses);
                let end = (start + PANEL).min(stride);
                for at in (start..end).step_by(BLOCK) {
                    let tiles = (stride - at) / BLOCK;
                    if at > start {
                        let launch = card.launch("subtract_64").grid(8, tiles.div_ceil(8)).threads(EXACT_THREADS).shared(EXACT_SHARED);
                        let launch = launch.buffer(matrix).count(stride).count(stride).count(at).count(at);
                        launch.count(start).count(at - start).run()?;
                    }
                    let launch = card.launch("factor_block").shared(BLOCK_SHARED).buffer(matrix).count(stride).count(at).number(least);
                    launch.buffer(inverses).buffer(&failed).run()?;
                    let launch = card.launch("solve_block").grid(tiles - 1, 1).threads(EXACT_THREADS).shared(EXACT_SHARED);
                    launch.buffer(matrix).count(stride).count(at).buffer(inverses).run()?;
                }
                let tiles = (stride - end) / TILE;
                let launch = card.launch("subtract_128").grid(8 * tiles, tiles.div_ceil(8)).shared(TILE_SHARED);
                let launch = launch.buffer(matrix).count(stride).count(stride).count(end).count(end);
                launch.count(start).count(end - start).run()?;
                Ok(failed.read(1)?[0])
            };
            if timed(&self.card, "newton: factor", panel).map_err(|error| self.failed(&error))? != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The matrix and the right sides, ready to be factored.
    fn set_up(&mut self, ids: &[u32], ridge: f64, sides: &[&[f64]], stride: usize) -> Result<(), CudaError> {
        let Self { card, table, factors, .. } = self;
        if factors.matrix.len() < stride * stride {
            // The old memory goes before the new comes; a little more, since the next one may be larger.
            factors.matrix = card.allocate(0)?;
            let more = stride + stride / 16;
            factors.matrix = card.allocate(more * more).or_else(|_| card.allocate(stride * stride))?;
        }
        if factors.inverses.len() < stride * BLOCK {
            factors.inverses = card.allocate(2 * stride * BLOCK)?;
        }
        timed(card, "newton: matrix", || table.store_exactly(ids, ridge, OUTSIDE, &factors.matrix, stride))?;
        for (row, side) in sides.iter().enumerate() {
            factors.matrix.write((ids.len() + row) * stride, side)?;
        }
        Ok(())
    }

    /// The second half of the solution.
    fn back(&self, size: usize, sides: usize, stride: usize) -> Result<Vec<Vec<f64>>, CudaError> {
        let (card, matrix, inverses) = (&self.card, &self.factors.matrix, &self.factors.inverses);
        let (y, x) = (card.allocate::<f64>(sides * stride)?, card.allocate::<f64>(sides * stride)?);
        let launch = card.launch("take_sides").items(stride).buffer(matrix).count(stride).count(size).count(sides);
        launch.buffer(&y).run()?;
        for at in (0..stride).step_by(BLOCK).rev() {
            let launch = card.launch("back_block").grid(at.div_ceil(256).max(1), 1).buffer(matrix).count(stride).count(at);
            launch.buffer(inverses).count(sides).buffer(&y).buffer(&x).run()?;
        }
        let all = x.read(sides * stride)?;
        Ok(all.chunks_exact(stride).map(|x| x[..size].to_vec()).collect())
    }
}

impl Newton for CardBlocks<'_> {
    fn costs(&self) -> Costs {
        self.factors.costs.unwrap_or(Costs { round: 0.0, step: 0.0, value: 0.0, exact: 0.0, operation: 0.0, variable: 0.0, most: 0 })
    }

    fn solve(&mut self, ids: &[u32], ridge: f64, sides: &[&[f64]], progress: &Progress<'_>) -> Outcome<Option<Vec<Vec<f64>>>> {
        self.enter(progress)?;
        let ridge = ridge * self.factors.diagonal;
        let stride = (ids.len() + sides.len()).next_multiple_of(TILE);
        match self.set_up(ids, ridge, sides, stride) {
            Ok(()) => {}
            // Others took the memory: rounds do without.
            Err(CudaError::Memory { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        }
        if !self.factor(stride, PIVOT * ridge, progress)? {
            return Ok(None);
        }
        timed(&self.card, "newton: back", || self.back(ids.len(), sides.len(), stride)).map(Some).map_err(|error| self.failed(&error))
    }

    fn product(&mut self, rows: &[u32], of: Moved<'_>) -> Outcome<Vec<f64>> {
        let Self { card, table, sums, .. } = self;
        let product = || -> Result<Vec<f64>, CudaError> {
            let mut out = vec![0.0; rows.len()];
            if rows.is_empty() || of.ids.is_empty() {
                return Ok(out);
            }
            card.enter()?;
            let (ids, columns) = (card.upload(rows)?, table.exact_columns(of.ids, of.steps)?);
            let splits = table.weigh_exactly(&ids, 0, rows.len(), &columns, sums)?;
            for part in sums.values.read(splits * rows.len())?.chunks_exact(rows.len()) {
                out.iter_mut().zip(part).for_each(|(out, part)| *out += part);
            }
            Ok(out)
        };
        timed(card, "newton: product", product).map_err(|error| self.failed(&error))
    }

    fn active(&mut self) -> Outcome<(Vec<u32>, Vec<f64>)> {
        self.card.enter().and_then(|()| self.state.read_active()).map_err(|error| self.failed(&error))
    }

    fn remember(&mut self) -> Outcome<()> {
        let Self { card, state, .. } = self;
        card.enter().and_then(|()| state.remember(card)).map_err(|error| self.failed(&error))
    }

    fn restore(&mut self) -> Outcome<()> {
        self.state.restore();
        Ok(())
    }
}
