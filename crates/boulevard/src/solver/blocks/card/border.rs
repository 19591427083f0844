//! A system that differs from the last factor's in some variables, solved without a new factor: rows for these are added below it, and only
//! a small system is factored. `kernels/90_factor.cu` has the formulas.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use boulevard_cuda::{Buffer, Card, CudaError};

use super::engine::CardBlocks;
use super::exact::EXACT_TILE;
use super::factor::{TILE, TILE_SHARED};
use super::newton::{Factors, OUTSIDE, solutions};
use super::times::timed;
use crate::observe::Progress;
use crate::solver::blocks::engine::Outcome;

/// Where variables are in a factor, by number.
#[derive(Default)]
pub(super) struct Places(Vec<u32>);

impl Places {
    const NONE: u32 = u32::MAX;

    pub(super) fn of(ids: &[u32]) -> Self {
        let mut places = vec![Self::NONE; ids.iter().max().map_or(0, |&last| last as usize + 1)];
        ids.iter().enumerate().for_each(|(place, &id)| places[id as usize] = place as u32);
        Self(places)
    }

    fn get(&self, id: u32) -> Option<usize> {
        self.0.get(id as usize).filter(|&&place| place != Self::NONE).map(|&place| place as usize)
    }
}

/// Products of the rows below a factor with each other, in memory that grows as needed.
pub(super) struct Gram {
    products: Buffer<f64>,
    stride: usize,
    /// Rows whose products are there.
    pub known: usize,
}

impl Gram {
    /// Memory grows by so many rows at a time.
    const MORE: usize = 4096;

    pub(super) fn new(card: &Arc<Card>) -> Result<Self, CudaError> {
        Ok(Self { products: card.allocate(0)?, stride: 0, known: 0 })
    }

    /// Room for the products of so many rows; answers how far lines are apart.
    fn reserve(&mut self, card: &Arc<Card>, rows: usize) -> Result<usize, CudaError> {
        if self.stride < rows.next_multiple_of(TILE) {
            // The old memory goes before the new comes.
            *self = Self::new(card)?;
            let stride = rows.next_multiple_of(Self::MORE);
            self.products = card.allocate(stride * stride)?;
            self.stride = stride;
        }
        Ok(self.stride)
    }
}

/// A row below the factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Beside {
    /// The variable at this place of the factor stays where it is.
    Held(usize),
    /// This variable is not in the factor.
    Joined(u32),
}

/// How a system differs from the factor.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// Places in the factor that are held, and numbers among the system's variables that joined.
    held: Vec<usize>,
    joined: Vec<usize>,
    /// Rows that were added before are of use.
    with_old: bool,
    /// Rows to be added, and how many there are then.
    new: Vec<Beside>,
    rows: usize,
}

impl Change {
    /// What it takes, in new factors of `size`: the added rows, their products, and the rest.
    pub(super) fn cost(&self, size: usize) -> f64 {
        const BESIDES: f64 = 0.03;
        let share = |rows: usize| rows as f64 / size.max(1) as f64;
        3.0 * share(self.new.len()) + 3.0 * share(self.rows).powi(2) + BESIDES
    }
}

impl Factors {
    /// How these variables differ from those of the factor, if that is by at most the share `differing`.
    pub(super) fn change(&self, ids: &[u32], sides: usize, differing: f64) -> Option<Change> {
        let most = (differing * self.ids.len() as f64) as usize;
        let most = most.min(self.main.rows.saturating_sub(self.main.stride + sides + TILE));
        change(&self.ids, &self.places, &self.rows, ids, most)
    }
}

/// With at most `most` rows added to a factor of `base`, which has `rows` already.
fn change(base: &[u32], places: &Places, rows: &[Beside], ids: &[u32], most: usize) -> Option<Change> {
    if base.is_empty() || most == 0 {
        return None;
    }
    let (mut open, mut joined) = (vec![false; base.len()], Vec::new());
    for (k, &id) in ids.iter().enumerate() {
        match places.get(id) {
            Some(place) => open[place] = true,
            None => joined.push(k),
        }
    }
    let held: Vec<usize> = (0..base.len()).filter(|&place| !open[place]).collect();
    if held.len() + joined.len() > most || joined.len() == ids.len() {
        return None;
    }
    let there: HashSet<Beside> = rows.iter().copied().collect();
    // Held ones from the last place on: the later a place, the later its row begins.
    let wanted = || held.iter().rev().map(|&place| Beside::Held(place)).chain(joined.iter().map(|&k| Beside::Joined(ids[k])));
    let new: Vec<Beside> = wanted().filter(|row| !there.contains(row)).collect();
    let count = rows.len() + new.len();
    if count <= most {
        return Some(Change { held, joined, with_old: true, new, rows: count });
    }
    // The old ones were for others.
    let new: Vec<Beside> = wanted().collect();
    let count = new.len();
    Some(Change { held, joined, with_old: false, new, rows: count })
}

impl CardBlocks<'_> {
    /// Rows of the variables that differ, then the right sides, below the factor.
    fn add_rows(&mut self, change: &Change, ids: &[u32], sides: &[&[f64]]) -> Result<(), CudaError> {
        let Self { card, table, factors, .. } = self;
        if !change.with_old {
            factors.rows.clear();
            factors.gram.known = 0;
        }
        let Factors { main, ids: base, on_card, places, rows, .. } = factors;
        let (stride, before, count) = (main.stride, rows.len(), change.rows);
        let held: Vec<u32> = change.new.iter().filter_map(|row| if let Beside::Held(k) = row { Some(*k as u32) } else { None }).collect();
        let joined: Vec<u32> = change.new.iter().filter_map(|row| if let Beside::Joined(id) = row { Some(*id) } else { None }).collect();
        let numbers = card.upload(&held)?;
        let launch = card.launch("unit_rows").items(held.len() * stride).buffer(&main.matrix).count(stride).count(stride + before);
        launch.buffer(&numbers).count(held.len()).run()?;
        if !joined.is_empty() {
            table.store_beside(&joined, on_card, base.len(), &main.matrix, stride, stride + before + held.len())?;
        }
        for (side, values) in sides.iter().enumerate() {
            let mut row = vec![0.0; stride];
            for (&id, value) in ids.iter().zip(*values) {
                if let Some(place) = places.get(id) {
                    row[place] = *value;
                }
            }
            main.matrix.write((stride + count + side) * stride, &row)?;
        }
        main.append(card, stride + before, stride + count + sides.len(), &held)?;
        rows.extend(&change.new);
        Ok(())
    }

    /// The small system, ready to be factored; answers the added row of each of its rows, none for padding.
    fn small_system(&mut self, change: &Change, ids: &[u32], ridge: f64, sides: &[&[f64]]) -> Result<Vec<Option<usize>>, CudaError> {
        let Self { card, table, factors, .. } = self;
        let Factors { main, small, gram, rows, .. } = factors;
        let (count, gram_stride) = (rows.len(), gram.reserve(card, rows.len() + sides.len())?);
        let (from, tiles) = (gram.known / TILE, (count + sides.len()).div_ceil(TILE));
        let launch = card.launch("gram_rows").grid(tiles, tiles - from).shared(TILE_SHARED);
        let launch = launch.buffer(&main.matrix).count(main.stride).count(main.stride).count(count).count(sides.len()).count(from);
        launch.number(OUTSIDE).buffer(&gram.products).count(gram_stride).run()?;
        gram.known = count;
        let row_of: HashMap<Beside, usize> = rows.iter().enumerate().map(|(at, &row)| (row, at)).collect();
        let joined: Vec<u32> = change.joined.iter().map(|&k| ids[k]).collect();
        let first_held = joined.len().next_multiple_of(TILE);
        let mut order: Vec<Option<usize>> = joined.iter().map(|&id| row_of.get(&Beside::Joined(id)).copied()).collect();
        order.resize(first_held, None);
        order.extend(change.held.iter().map(|&place| row_of.get(&Beside::Held(place)).copied()));
        small.prepare(card, order.len(), sides.len(), 0)?;
        let kernel_stride = joined.len().next_multiple_of(EXACT_TILE);
        let kernel = card.allocate::<f64>(kernel_stride * kernel_stride)?;
        if !joined.is_empty() {
            table.store_exactly(&joined, ridge, OUTSIDE, &kernel, kernel_stride)?;
        }
        let side_values: Vec<f64> = sides.iter().flat_map(|side| change.joined.iter().map(|&k| side[k])).collect();
        let side_values = card.upload(&side_values)?;
        let numbers = card.upload(&order.iter().map(|row| row.unwrap_or(0) as u32).collect::<Vec<_>>())?;
        let launch = card.launch("border").grid(small.stride.div_ceil(256), small.stride).buffer(&gram.products).count(gram_stride);
        let launch = launch.count(count);
        let launch = launch.buffer(&numbers).count(joined.len()).count(first_held).count(change.held.len()).count(sides.len());
        let launch = launch.buffer(&kernel).count(kernel_stride).buffer(&side_values).number(OUTSIDE);
        launch.buffer(&small.matrix).count(small.stride).run()?;
        Ok(order)
    }

    /// Turns the sign of a part of the small system.
    fn negate(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Result<(), CudaError> {
        let (card, small) = (&self.card, &self.factors.small);
        let launch = card.launch("negate").grid(columns.len().div_ceil(256), rows.len()).buffer(&small.matrix).count(small.stride);
        launch.count(rows.start).count(columns.start).count(columns.len()).run()
    }

    /// The solution, from the factored small system whose rows are `order`.
    fn combine(&self, change: &Change, ids: &[u32], order: &[Option<usize>], sides: usize) -> Result<Vec<Vec<f64>>, CudaError> {
        let (card, Factors { main, small, ids: base, places, rows, .. }) = (&self.card, &self.factors);
        let of_order = match order {
            [] => vec![Vec::new(); sides],
            order => solutions(&small.back(card, &small.sides(card, order.len(), sides)?, sides)?, order.len(), sides, small.stride)?,
        };
        let mut multipliers = vec![0.0; sides * rows.len()];
        for (side, solved) in of_order.iter().enumerate() {
            for (row, value) in order.iter().zip(solved) {
                if let Some(row) = row {
                    multipliers[side * rows.len() + row] = *value;
                }
            }
        }
        let (multipliers, y) = (card.upload(&multipliers)?, card.allocate::<f64>(sides * main.stride)?);
        let launch = card.launch("combine_rows").items(main.stride).buffer(&main.matrix).count(main.stride).count(base.len());
        let launch = launch.count(main.stride).count(rows.len()).count(sides).buffer(&multipliers).count(rows.len());
        launch.buffer(&y).run()?;
        let of_base = solutions(&main.back(card, &y, sides)?, base.len(), sides, main.stride)?;
        let pick = |side: usize| {
            let mut x: Vec<f64> = ids.iter().map(|&id| places.get(id).map_or(0.0, |place| of_base[side][place])).collect();
            change.joined.iter().zip(&of_order[side]).for_each(|(&k, value)| x[k] = *value);
            x
        };
        Ok((0..sides).map(pick).collect())
    }

    /// The solution of a system that differs from the factor's by `change`; none where that has no digits left, or no memory.
    pub(super) fn solve_beside(
        &mut self,
        change: &Change,
        ids: &[u32],
        ridge: f64,
        least: f64,
        sides: &[&[f64]],
        progress: &Progress<'_>,
    ) -> Outcome<Option<Vec<Vec<f64>>>> {
        let card = self.card.clone();
        let set_up = timed(&card, "newton: beside", || {
            self.add_rows(change, ids, sides)?;
            if change.held.is_empty() && change.joined.is_empty() { Ok(Vec::new()) } else { self.small_system(change, ids, ridge, sides) }
        });
        let order = match set_up {
            Ok(order) => order,
            Err(CudaError::Memory { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        };
        if !order.is_empty() {
            let (end, first_held) = (self.factors.small.stride, order.len() - change.held.len());
            let held = first_held..order.len();
            let mut made = first_held == 0 || timed(&card, "newton: small", || self.make_factor(true, 0..first_held, least, progress))?;
            if made {
                self.negate(held.clone(), held.clone()).map_err(|error| self.failed(&error))?;
                made = timed(&card, "newton: small", || self.make_factor(true, first_held..end, 0.0, progress))?;
            }
            if !made {
                return Ok(None);
            }
            self.negate(order.len()..order.len() + sides.len(), held).map_err(|error| self.failed(&error))?;
        }
        let solved = timed(&card, "newton: back", || self.combine(change, ids, &order, sides.len()));
        solved.map(Some).map_err(|error| self.failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_rows_that_are_missing() {
        let base = [3, 5, 8, 9];
        let places = Places::of(&base);
        let found = change(&base, &places, &[], &[3, 6, 9], 3).unwrap();
        assert_eq!((&found.held[..], &found.joined[..], found.rows), (&[1, 2][..], &[1][..], 3));
        assert_eq!(found.new, [Beside::Held(2), Beside::Held(1), Beside::Joined(6)], "the last place first");
        assert_eq!(change(&base, &places, &[], &[3, 6, 9], 2), None, "too many");
        let rows = [Beside::Held(1), Beside::Joined(7)];
        let found = change(&base, &places, &rows, &[3, 6, 9], 4).unwrap();
        assert_eq!((found.with_old, found.new, found.rows), (true, vec![Beside::Held(2), Beside::Joined(6)], 4));
        let found = change(&base, &places, &rows, &[3, 6, 9], 3).unwrap();
        assert_eq!((found.with_old, found.new.len(), found.rows), (false, 3, 3), "old rows go where there is no room");
        assert_eq!(change(&base, &places, &rows, &[1, 2], 9), None, "nothing in common");
        assert_eq!(change(&[], &Places::default(), &[], &[1], 9), None, "no factor");
    }
}
