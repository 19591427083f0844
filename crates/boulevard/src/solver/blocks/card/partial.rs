//! Partial sums: columns are cut into parts where rows alone would leave processors of the card idle.

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

/// Partial sums, in memory that grows as needed.
pub(super) struct Sums {
    pub values: Buffer<f64>,
}

impl Sums {
    pub(super) fn new(card: &Arc<Card>) -> Result<Self, CudaError> {
        Ok(Self { values: card.allocate(0)? })
    }

    /// Into how many parts columns are cut so that few rows keep the whole card busy; there is room for their sums afterwards.
    pub(super) fn splits(&mut self, card: &Arc<Card>, rows: usize, tile_rows: usize, tiles: usize) -> Result<usize, CudaError> {
        let splits = Self::fewest(card, rows, tile_rows, tiles);
        self.reserve(card, rows, splits)
    }

    /// The same for blocks that have a processor for themselves: cut so that few processors have nothing to do in the last turn.
    pub(super) fn even_splits(&mut self, card: &Arc<Card>, rows: usize, tile_rows: usize, tiles: usize) -> Result<usize, CudaError> {
        self.even_splits_of(card, rows, tile_rows, tiles, 1)
    }

    /// The same for sums of several outputs.
    pub(super) fn even_splits_of(
        &mut self,
        card: &Arc<Card>,
        rows: usize,
        tile_rows: usize,
        tiles: usize,
        outputs: usize,
    ) -> Result<usize, CudaError> {
        let (fewest, blocks) = (Self::fewest(card, rows, tile_rows, tiles), rows.div_ceil(tile_rows).max(1));
        let splits = evenly(blocks, card.processors(), fewest, tiles);
        self.reserve(card, rows * outputs, splits)
    }

    fn fewest(card: &Card, rows: usize, tile_rows: usize, tiles: usize) -> usize {
        const BLOCKS_PER_PROCESSOR: usize = 6;
        const MOST: usize = 32;
        (BLOCKS_PER_PROCESSOR * card.processors() / rows.div_ceil(tile_rows).max(1)).clamp(1, MOST).min(tiles.max(1))
    }

    /// Room for sums, and how many parts there are.
    fn reserve(&mut self, card: &Arc<Card>, rows: usize, splits: usize) -> Result<usize, CudaError> {
        if self.values.len() < rows * splits {
            // The old memory goes before the new comes.
            self.values = card.allocate(0)?;
            self.values = card.allocate(rows * splits)?;
        }
        Ok(splits)
    }
}

/// Parts of `fewest` or a little more for which the turns of all processors are filled best, the fewest of those that are nearly as good.
fn evenly(blocks: usize, processors: usize, fewest: usize, tiles: usize) -> usize {
    const MORE: usize = 15;
    const WORTH: f64 = 0.99;
    /// What a block takes before its first tile, in tiles.
    const BEGIN: f64 = 0.06;
    // Turns of whole tiles: parts of unequal size wait for the largest.
    let turns = |splits: usize| (blocks * splits).div_ceil(processors) as f64 * (tiles.div_ceil(splits) as f64 + BEGIN);
    (fewest..=fewest + MORE).filter(|&splits| splits <= tiles).fold(
        fewest,
        |best, splits| {
            if turns(splits) < WORTH * turns(best) { splits } else { best }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn the_last_turn_is_filled() {
        // 469 blocks on 132 processors: four turns, the last half empty; cut into sixteen, 57 of which 56.8 are needed.
        assert_eq!(evenly(469, 132, 1, 64), 16);
        assert_eq!(evenly(4 * 132, 132, 1, 64), 1);
        assert_eq!(evenly(10, 132, 32, 64), 32);
        assert_eq!(evenly(469, 132, 1, 1), 1, "nothing to cut");
        assert_eq!(evenly(40_000, 132, 1, 64), 1, "many turns");
    }
}
