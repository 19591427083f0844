//! Cholesky's factor of a matrix on the card, rows below it, and solutions with it; `kernels/90_factor.cu` says how.

use std::ops::Range;
use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::exact::{EXACT_SHARED, EXACT_THREADS};
use crate::solver::blocks::engine::Outcome;

/// As in the kernels: columns of a block, of a panel, and of a tile of what is right of the panel.
const BLOCK: usize = 64;
const PANEL: usize = 512;
pub(super) const TILE: usize = 128;
/// Shared memory of the large tiles and of a block's factor.
const TILE_SHARED: usize = 3 * 2 * 128 * 20 * 8;
const BLOCK_SHARED: usize = 2 * 64 * 65 * 8;

/// Whoever is asked between two panels, and says how a card's error is told.
pub(super) struct Between<'a> {
    pub ask: &'a mut dyn FnMut() -> Outcome<()>,
    pub failed: &'a dyn Fn(CudaError) -> crate::solver::blocks::engine::Halt,
}

/// A matrix and, after [`Factor::make`], its factor. Memory grows as needed.
pub(super) struct Factor {
    pub matrix: Buffer<f64>,
    inverses: Buffer<f64>,
    /// Columns, and rows of the matrix itself: right sides and padding included.
    pub stride: usize,
    /// Rows that there is memory for.
    pub rows: usize,
}

impl Factor {
    pub(super) fn new(card: &Arc<Card>) -> Result<Self, CudaError> {
        Ok(Self { matrix: card.allocate(0)?, inverses: card.allocate(0)?, stride: 0, rows: 0 })
    }

    /// Memory for a matrix of `size` with `sides` right sides, and for `spare` more rows where there is that much.
    pub(super) fn prepare(&mut self, card: &Arc<Card>, size: usize, sides: usize, spare: usize) -> Result<(), CudaError> {
        self.stride = (size + sides).next_multiple_of(TILE);
        if self.matrix.len() < (self.stride + spare) * self.stride {
            // The old memory goes before the new comes; a little more, since the next one may be larger.
            self.matrix = card.allocate(0)?;
            let more = self.stride + self.stride / 16;
            let there = card.allocate((more + spare) * more).or_else(|_| card.allocate((self.stride + TILE) * self.stride));
            self.matrix = there?;
        }
        self.rows = self.matrix.len() / self.stride;
        if self.inverses.len() < self.stride * BLOCK {
            self.inverses = card.allocate(2 * self.stride * BLOCK)?;
        }
        Ok(())
    }

    /// Factors columns of the matrix, all before them being factored, with the right sides below; false if a pivot is below `least`.
    pub(super) fn make(&self, card: &Arc<Card>, columns: Range<usize>, least: f64, between: &mut Between<'_>) -> Outcome<bool> {
        let failed = card.upload(&[0u32]).map_err(between.failed)?;
        for start in columns.clone().step_by(PANEL) {
            (between.ask)()?;
            let panel = start..(start + PANEL).min(columns.end);
            self.panel(card, panel, 0, self.stride, Some((least, &failed))).map_err(between.failed)?;
            if failed.read(1).map_err(between.failed)?[0] != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does to the rows `first` to `last`, below the factor, what was done to the right sides.
    pub(super) fn append(&self, card: &Arc<Card>, first: usize, last: usize) -> Result<(), CudaError> {
        let panels = (0..self.stride).step_by(PANEL).map(|start| start..(start + PANEL).min(self.stride));
        panels.into_iter().try_for_each(|panel| self.panel(card, panel, first, last, None))
    }

    /// One panel: all rows from it on where it is factored, else those from `first` on.
    fn panel(
        &self,
        card: &Arc<Card>,
        panel: Range<usize>,
        first: usize,
        last: usize,
        pivots: Option<(f64, &Buffer<u32>)>,
    ) -> Result<(), CudaError> {
        let (matrix, inverses, stride, Range { start, end }) = (&self.matrix, &self.inverses, self.stride, panel);
        for at in (start..end).step_by(BLOCK) {
            if at > start {
                let top = first.max(at);
                let tiles = (last - top).div_ceil(BLOCK);
                let launch = card.launch("subtract_64").grid(8, tiles.div_ceil(8)).threads(EXACT_THREADS).shared(EXACT_SHARED);
                let launch = launch.buffer(matrix).count(stride).count(last).count(top).count(at);
                launch.count(start).count(at - start).run()?;
            }
            if let Some((least, failed)) = pivots {
                let launch = card.launch("factor_block").shared(BLOCK_SHARED).buffer(matrix).count(stride).count(at).number(least);
                launch.buffer(inverses).buffer(failed).run()?;
            }
            let top = first.max(at + BLOCK);
            let tiles = last.saturating_sub(top).div_ceil(BLOCK);
            let launch = card.launch("solve_block").grid(tiles, 1).threads(EXACT_THREADS).shared(EXACT_SHARED);
            launch.buffer(matrix).count(stride).count(at).count(top).buffer(inverses).run()?;
        }
        let (top, columns) = (first.max(end), (stride - end) / TILE);
        let tiles = last.saturating_sub(top).div_ceil(TILE);
        let launch = card.launch("subtract_128").grid(8 * columns, tiles.div_ceil(8)).shared(TILE_SHARED);
        let launch = launch.buffer(matrix).count(stride).count(last).count(top).count(end);
        launch.count(start).count(end - start).run()
    }

    /// The right sides after the factor: `y[side]`, `stride` apart.
    pub(super) fn sides(&self, card: &Arc<Card>, size: usize, sides: usize) -> Result<Buffer<f64>, CudaError> {
        let y = card.allocate::<f64>(sides * self.stride)?;
        let launch = card.launch("take_sides").items(self.stride).buffer(&self.matrix).count(self.stride).count(size).count(sides);
        launch.buffer(&y).run()?;
        Ok(y)
    }

    /// The second half of the solution, from `y`, which it uses up.
    pub(super) fn back(&self, card: &Arc<Card>, y: &Buffer<f64>, sides: usize) -> Result<Buffer<f64>, CudaError> {
        let x = card.allocate::<f64>(sides * self.stride)?;
        for at in (0..self.stride).step_by(BLOCK).rev() {
            let launch = card.launch("back_block").grid(at.div_ceil(256).max(1), 1).buffer(&self.matrix).count(self.stride).count(at);
            launch.buffer(&self.inverses).count(sides).buffer(y).buffer(&x).run()?;
        }
        Ok(x)
    }
}
