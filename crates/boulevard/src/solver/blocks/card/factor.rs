//! Cholesky's factor of a matrix on the card, rows below it, and solutions with it; `kernels/90_factor.cu` says how.

use std::ops::Range;
use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::exact::{EXACT_SHARED, EXACT_THREADS};
use crate::solver::blocks::engine::Outcome;

/// As in the kernels: columns of a block, of a panel, and of a tile of what is right of the panel.
const BLOCK: usize = 64;
const PANEL: usize = 512;
/// Panels after which everything to the right of them gets what they owe it, and columns of these: reading and writing all that is left of
/// the matrix takes as long as four hundred columns of products.
const OUTER: usize = 2 * PANEL;
pub(super) const TILE: usize = 128;
/// Shared memory of the large tiles and of a block's factor.
pub(super) const TILE_SHARED: usize = 3 * 2 * 128 * 20 * 8;
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
        for start in columns.clone().step_by(OUTER) {
            (between.ask)()?;
            let panels = start..(start + OUTER).min(columns.end);
            self.panels(card, panels, |_| 0, self.stride, Some((least, &failed))).map_err(between.failed)?;
            if failed.read(1).map_err(between.failed)?[0] != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does to the rows `first` to `last`, below the factor, what was done to the right sides. The first of them are zero before the places
    /// `begins`, which fall: until then there is nothing to do for them.
    pub(super) fn append(&self, card: &Arc<Card>, first: usize, last: usize, begins: &[u32]) -> Result<(), CudaError> {
        let top = |end: usize| first + begins.partition_point(|&place| place as usize >= end);
        let mut outer = (0..self.stride).step_by(OUTER).map(|start| start..(start + OUTER).min(self.stride));
        outer.try_for_each(|panels| self.panels(card, panels, top, last, None))
    }

    /// Panels one after the other, then what they owe to everything right of them. `first` is the row from which on something happens in
    /// columns up to one.
    fn panels(
        &self,
        card: &Arc<Card>,
        columns: Range<usize>,
        first: impl Fn(usize) -> usize,
        last: usize,
        pivots: Option<(f64, &Buffer<u32>)>,
    ) -> Result<(), CudaError> {
        for start in columns.clone().step_by(PANEL) {
            let end = (start + PANEL).min(columns.end);
            self.panel(card, start..end, first(end), last, pivots)?;
            self.subtract(card, start..end, end..columns.end, first(end), last)?;
        }
        let end = columns.end;
        self.subtract(card, columns, end..self.stride, first(end), last)
    }

    /// What the columns `from` owe to others right of them, in rows from `first` on.
    fn subtract(&self, card: &Arc<Card>, from: Range<usize>, columns: Range<usize>, first: usize, last: usize) -> Result<(), CudaError> {
        let top = first.max(columns.start);
        let tiles = last.saturating_sub(top).div_ceil(TILE);
        let launch = card.launch("subtract_128").grid(8 * (columns.len() / TILE), tiles.div_ceil(8)).shared(TILE_SHARED);
        let launch = launch.buffer(&self.matrix).count(self.stride).count(last).count(top).count(columns.start);
        launch.count(from.start).count(from.len()).run()
    }

    /// One panel by itself: all rows from it on where it is factored, else those from `first` on.
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
        Ok(())
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
