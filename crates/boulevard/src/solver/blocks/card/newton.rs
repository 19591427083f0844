//! Newton's systems on the card: the matrix in double precision, Cholesky's factor of it, solutions.

use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::engine::CardBlocks;
use super::exact::{EXACT_SHARED, EXACT_THREADS, EXACT_TILE};
use super::factor::{Between, Factor, TILE};
use super::refusal;
use super::table::CardTable;
use super::times::timed;
use crate::observe::Progress;
use crate::solver::blocks::engine::{Costs, Halt, Moved, Newton, Outcome};

/// Diagonal of rows that are not the matrix: what is subtracted from it must not matter.
const OUTSIDE: f64 = 1e30;
/// Pivots below this share of the ridge are those of a matrix that is not positive definite.
const PIVOT: f64 = 0.01;
/// A factor may take this share of the memory that is free.
const SHARE: f64 = 0.5;
/// Up to this share of the variables may be held without a new factor.
const HELD: f64 = 0.2;

/// The last system, and what it was solved again with.
pub(super) struct Factors {
    main: Factor,
    /// Products of the rows of variables that are held.
    small: Factor,
    /// Variables of the system, and how many are held: their rows are below the factor.
    size: usize,
    held: usize,
    costs: Option<Costs>,
    diagonal: f64,
}

impl Factors {
    pub(super) fn new(card: &Arc<Card>, table: &CardTable) -> Result<Self, CudaError> {
        let (costs, diagonal) = costs(card, table)?.map_or((None, 1.0), |(costs, diagonal)| (Some(costs), diagonal));
        Ok(Self { main: Factor::new(card)?, small: Factor::new(card)?, size: 0, held: 0, costs, diagonal })
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
        operation: slower * generation / 35e12,
        variable: 5e-7,
        most,
    };
    Ok(Some((costs, diagonal)))
}

/// Columns of `x` that are the solution, side by side.
fn solutions(x: &Buffer<f64>, size: usize, sides: usize, stride: usize) -> Result<Vec<Vec<f64>>, CudaError> {
    Ok(x.read(sides * stride)?.chunks_exact(stride).map(|x| x[..size].to_vec()).collect())
}

impl CardBlocks<'_> {
    /// The matrix and the right sides, ready to be factored.
    fn set_up(&mut self, ids: &[u32], ridge: f64, sides: &[&[f64]]) -> Result<(), CudaError> {
        let Self { card, table, factors, .. } = self;
        let spare = (HELD * ids.len() as f64) as usize + sides.len() + 2 * TILE;
        factors.main.prepare(card, ids.len(), sides.len(), spare)?;
        (factors.size, factors.held) = (ids.len(), 0);
        let stride = factors.main.stride;
        table.store_exactly(ids, ridge, OUTSIDE, &factors.main.matrix, stride)?;
        for (row, side) in sides.iter().enumerate() {
            factors.main.matrix.write((ids.len() + row) * stride, side)?;
        }
        Ok(())
    }

    /// Rows of variables that are held, then the right sides, below the factor; answers the matrix of their products.
    fn add_rows(&mut self, held: &[usize], sides: &[&[f64]]) -> Result<(), CudaError> {
        let Self { card, factors, .. } = self;
        let Factors { main, small, size, held: before, .. } = factors;
        let (stride, count) = (main.stride, held.len());
        let numbers: Vec<u32> = held[*before..].iter().map(|&k| k as u32).collect();
        let numbers = card.upload(&numbers)?;
        let launch = card.launch("unit_rows").items((count - *before) * stride).buffer(&main.matrix).count(stride).count(stride + *before);
        launch.buffer(&numbers).count(count - *before).run()?;
        let mut row = vec![0.0; stride];
        for (k, side) in sides.iter().enumerate() {
            row[..*size].copy_from_slice(side);
            main.matrix.write((stride + count + k) * stride, &row)?;
        }
        main.append(card, stride + *before, stride + count + sides.len())?;
        *before = count;
        small.prepare(card, count, sides.len(), 0)?;
        let tiles = small.stride / EXACT_TILE;
        let launch = card.launch("gram_rows").grid(tiles, tiles).threads(EXACT_THREADS).shared(EXACT_SHARED);
        let launch = launch.buffer(&main.matrix).count(stride).count(stride).count(count).count(sides.len()).number(OUTSIDE);
        launch.buffer(&small.matrix).count(small.stride).run()
    }

    /// The solution with some variables held, from the factored products.
    fn combine(&self, sides: usize) -> Result<Vec<Vec<f64>>, CudaError> {
        let (card, Factors { main, small, size, held, .. }) = (&self.card, &self.factors);
        let multipliers = small.back(card, &small.sides(card, *held, sides)?, sides)?;
        let y = card.allocate::<f64>(sides * main.stride)?;
        let launch = card.launch("combine_rows").items(main.stride).buffer(&main.matrix).count(main.stride).count(*size);
        let launch = launch.count(main.stride).count(*held).count(sides).buffer(&multipliers).count(small.stride);
        launch.buffer(&y).run()?;
        solutions(&main.back(card, &y, sides)?, *size, sides, main.stride)
    }

    /// Factors a matrix that is set up.
    fn make_factor(&mut self, small: bool, least: f64, progress: &Progress<'_>) -> Outcome<bool> {
        let (card, device) = (self.card.clone(), self.device());
        let failed = move |error: CudaError| Halt::Failed(refusal(device, &error));
        // Whoever asks needs all of the engine: the factor steps aside.
        let empty = Factor::new(&card).map_err(&failed)?;
        let place = if small { &mut self.factors.small } else { &mut self.factors.main };
        let factor = std::mem::replace(place, empty);
        let made = factor.make(&card, least, &mut Between { ask: &mut || self.enter(progress), failed: &failed });
        *(if small { &mut self.factors.small } else { &mut self.factors.main }) = factor;
        made
    }
}

impl Newton for CardBlocks<'_> {
    fn costs(&self) -> Costs {
        self.factors.costs.unwrap_or(Costs { round: 0.0, step: 0.0, value: 0.0, exact: 0.0, operation: 0.0, variable: 0.0, most: 0 })
    }

    fn solve(&mut self, ids: &[u32], ridge: f64, sides: &[&[f64]], progress: &Progress<'_>) -> Outcome<Option<Vec<Vec<f64>>>> {
        self.enter(progress)?;
        let ridge = ridge * self.factors.diagonal;
        let card = self.card.clone();
        match timed(&card, "newton: matrix", || self.set_up(ids, ridge, sides)) {
            Ok(()) => {}
            // Others took the memory: rounds do without.
            Err(CudaError::Memory { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        }
        if !timed(&card, "newton: factor", || self.make_factor(false, PIVOT * ridge, progress))? {
            return Ok(None);
        }
        let Factors { main, size, .. } = &self.factors;
        let solved = timed(&card, "newton: back", || {
            let x = main.back(&card, &main.sides(&card, *size, sides.len())?, sides.len())?;
            solutions(&x, *size, sides.len(), main.stride)
        });
        solved.map(Some).map_err(|error| self.failed(&error))
    }

    fn solve_again(&mut self, held: &[usize], sides: &[&[f64]], progress: &Progress<'_>) -> Outcome<Option<Vec<Vec<f64>>>> {
        self.enter(progress)?;
        let (card, main) = (self.card.clone(), &self.factors.main);
        if main.stride + held.len() + sides.len() + TILE > main.rows || held.len() as f64 > HELD * self.factors.size as f64 {
            return Ok(None);
        }
        match timed(&card, "newton: held", || self.add_rows(held, sides)) {
            Ok(()) => {}
            Err(CudaError::Memory { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        }
        if !timed(&card, "newton: held", || self.make_factor(true, 0.0, progress))? {
            return Ok(None);
        }
        timed(&card, "newton: back", || self.combine(sides.len())).map(Some).map_err(|error| self.failed(&error))
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
