//! Newton's systems on the card: the matrix in double precision, Cholesky's factor of it, solutions.

use std::ops::Range;
use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::border::{Beside, Gram, Places};
use super::engine::CardBlocks;
use super::factor::{Between, Factor, TILE};
use super::refusal;
use super::table::CardTable;
use super::times::timed;
use crate::observe::Progress;
use crate::solver::blocks::engine::{Costs, Halt, Moved, Newton, Outcome};

/// Diagonal of rows that are not the matrix: what is subtracted from it must not matter.
pub(super) const OUTSIDE: f64 = 1e30;
/// Pivots below this share of the ridge are those of a matrix that is not positive definite.
const PIVOT: f64 = 0.01;
/// A factor may take this share of the memory that is free.
const SHARE: f64 = 0.5;
/// Rows below a factor that there is room for, as a share of its variables.
const BESIDE: f64 = 0.25;

/// The last factor, and rows below it for systems that differ in some variables.
pub(super) struct Factors {
    pub main: Factor,
    /// Of the variables that differ.
    pub small: Factor,
    /// Products of the rows below.
    pub gram: Gram,
    /// Variables of the factor, on the card too, and their places in it.
    pub ids: Vec<u32>,
    pub on_card: Buffer<u32>,
    pub places: Places,
    /// What the rows below are, and where.
    pub rows: Vec<Beside>,
    costs: Option<Costs>,
    diagonal: f64,
}

impl Factors {
    pub(super) fn new(card: &Arc<Card>, table: &CardTable) -> Result<Self, CudaError> {
        let (costs, diagonal) = costs(card, table)?.map_or((None, 1.0), |(costs, diagonal)| (Some(costs), diagonal));
        let (main, small) = (Factor::new(card)?, Factor::new(card)?);
        let (ids, on_card, places, rows) = (Vec::new(), card.allocate(0)?, Places::default(), Vec::new());
        Ok(Self { main, small, gram: Gram::new(card)?, ids, on_card, places, rows, costs, diagonal })
    }

    /// The kernel's diagonal, where systems are solved.
    pub(super) fn diagonal(&self) -> Option<f64> {
        self.costs.map(|_| self.diagonal)
    }

    pub(super) fn has_newton(&self) -> bool {
        self.costs.is_some()
    }

    /// There is no factor any more.
    fn forget(&mut self) {
        self.ids.clear();
        self.places = Places::default();
        self.rows.clear();
        self.gram.known = 0;
    }

    /// The factor is of these.
    fn begin(&mut self, card: &Arc<Card>, ids: &[u32]) -> Result<(), CudaError> {
        self.on_card = card.upload(ids)?;
        self.ids = ids.to_vec();
        self.places = Places::of(ids);
        Ok(())
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
    // Where others share the card, what is free depends on where they are: all of it, cut evenly, does not.
    let ((free, total), sharing) = (card.memory()?, card.sharing());
    let room = if sharing > 1 { total / sharing } else { free };
    let most = ((SHARE * room as f64 / 8.0).sqrt() as usize).saturating_sub(TILE);
    let costs = Costs {
        round: 3e-4,
        step: 0.55e-6,
        value: (0.4e-12 + 1.3e-14 * width) * slower,
        exact: (2e-12 + 5e-14 * width) * slower * generation,
        operation: slower * generation / 35e12,
        variable: 1e-6,
        most,
    };
    Ok(Some((costs, diagonal)))
}

/// Columns of `x` that are the solution, side by side.
pub(super) fn solutions(x: &Buffer<f64>, size: usize, sides: usize, stride: usize) -> Result<Vec<Vec<f64>>, CudaError> {
    Ok(x.read(sides * stride)?.chunks_exact(stride).map(|x| x[..size].to_vec()).collect())
}

impl CardBlocks<'_> {
    /// The matrix and the right sides, ready to be factored.
    fn set_up(&mut self, ids: &[u32], ridge: f64, sides: &[&[f64]]) -> Result<(), CudaError> {
        let Self { card, table, factors, .. } = self;
        let spare = (BESIDE * ids.len() as f64) as usize + sides.len() + 2 * TILE;
        factors.main.prepare(card, ids.len(), sides.len(), spare)?;
        let stride = factors.main.stride;
        table.store_exactly(ids, ridge, OUTSIDE, &factors.main.matrix, stride)?;
        for (row, side) in sides.iter().enumerate() {
            factors.main.matrix.write((ids.len() + row) * stride, side)?;
        }
        Ok(())
    }

    /// Factors columns of a matrix that is set up.
    pub(super) fn make_factor(&mut self, small: bool, columns: Range<usize>, least: f64, progress: &Progress<'_>) -> Outcome<bool> {
        let (card, device) = (self.card.clone(), self.device());
        let failed = move |error: CudaError| Halt::Failed(refusal(device, &error));
        // Whoever asks needs all of the engine: the factor steps aside.
        let empty = Factor::new(&card).map_err(&failed)?;
        let place = if small { &mut self.factors.small } else { &mut self.factors.main };
        let factor = std::mem::replace(place, empty);
        let made = factor.make(&card, columns, least, &mut Between { ask: &mut || self.enter(progress), failed: &failed });
        *(if small { &mut self.factors.small } else { &mut self.factors.main }) = factor;
        made
    }

    /// The solution of a system with a new factor.
    fn solve_anew(&mut self, ids: &[u32], ridge: f64, sides: &[&[f64]], progress: &Progress<'_>) -> Outcome<Option<Vec<Vec<f64>>>> {
        let card = self.card.clone();
        self.factors.forget();
        match timed(&card, "newton: matrix", || self.set_up(ids, ridge, sides)) {
            Ok(()) => {}
            // Others took the memory: rounds do without.
            Err(CudaError::Memory { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        }
        let all = 0..self.factors.main.stride;
        if !timed(&card, "newton: factor", || self.make_factor(false, all, PIVOT * ridge, progress))? {
            return Ok(None);
        }
        let solved = timed(&card, "newton: back", || {
            self.factors.begin(&card, ids)?;
            let main = &self.factors.main;
            let x = main.back(&card, &main.sides(&card, ids.len(), sides.len())?, sides.len())?;
            solutions(&x, ids.len(), sides.len(), main.stride)
        });
        solved.map(Some).map_err(|error| self.failed(&error))
    }
}

impl Newton for CardBlocks<'_> {
    fn costs(&self) -> Costs {
        self.factors.costs.unwrap_or(Costs { round: 0.0, step: 0.0, value: 0.0, exact: 0.0, operation: 0.0, variable: 0.0, most: 0 })
    }

    fn solve(
        &mut self,
        ids: &[u32],
        ridge: f64,
        sides: &[&[f64]],
        differing: f64,
        cost: &mut f64,
        progress: &Progress<'_>,
    ) -> Outcome<Option<Vec<Vec<f64>>>> {
        self.enter(progress)?;
        let ridge = ridge * self.factors.diagonal;
        if let Some(change) = self.factors.change(ids, sides.len(), differing) {
            *cost += change.cost(self.factors.ids.len()) * self.costs().system(self.factors.ids.len());
            if let Some(solved) = self.solve_beside(&change, ids, ridge, PIVOT * ridge, sides, progress)? {
                return Ok(Some(solved));
            }
        }
        *cost += self.costs().system(ids.len());
        self.solve_anew(ids, ridge, sides, progress)
    }

    fn factored(&self) -> &[u32] {
        &self.factors.ids
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
