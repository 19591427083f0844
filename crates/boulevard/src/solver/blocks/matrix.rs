//! The kernel matrix of the set in hand, most of which is that of the last set.
//!
//! Half of a set or more stays for the next one. Whoever stays keeps its place, so that what lies between two of them is neither computed
//! nor copied; whoever joins takes a place that became free. On tables with few features this is a tenth of a fit.

use std::sync::Mutex;

use super::engine::{Set, SetSolution};
use super::local::Gram;
use crate::kernel::KernelRows;
use crate::parallel::Crew;
use crate::simd::Real;

const NOWHERE: u32 = u32::MAX;
/// Rows computed, or copied from columns, at once.
const ROWS: usize = 32;

pub(super) struct SetMatrix<T> {
    pub gram: Gram<T>,
    /// The variable in every place.
    ids: Vec<u32>,
    /// The place of every variable of the problem.
    place: Vec<u32>,
}

impl<T: Real> SetMatrix<T> {
    /// For problems of so many variables.
    pub(super) fn new(variables: usize) -> Self {
        Self { gram: Gram { values: Vec::new(), size: 0, width: 0 }, ids: Vec::new(), place: vec![NOWHERE; variables] }
    }

    /// Takes another set, whose variables are rows of `kernel`; answers the place of each. The same bits for any number of threads.
    pub(super) fn renew(&mut self, ids: &[u32], kernel: &dyn KernelRows<T>, lanes: usize, crew: &mut Crew) -> Vec<usize> {
        if ids.len() != self.gram.size {
            self.resize(ids.len(), lanes);
        }
        let (places, stays) = self.seat(ids);
        let variables: Vec<usize> = self.ids.iter().map(|&id| id as usize).collect();
        let columns = kernel.restrict(&variables);
        let (size, width) = (ids.len(), self.gram.width);
        let rows = self.gram.values[..size * width].chunks_exact_mut(width.max(1)).enumerate();
        let (mut old, mut new): (Vec<_>, Vec<_>) = rows.partition(|(place, _)| stays[*place]);
        let parts: Vec<Mutex<&mut [(usize, &mut [T])]>> = new.chunks_mut(ROWS).map(Mutex::new).collect();
        crew.share(parts.len(), &|p| {
            let mut part = parts[p].lock().expect("every part is taken once");
            let rows: Vec<usize> = part.iter().map(|(place, _)| variables[*place]).collect();
            columns.fill(&rows, 0..size, &mut part.iter_mut().map(|(_, row)| &mut **row).collect::<Vec<_>>());
        });
        drop(parts);
        // The others have the new columns: the matrix is symmetric.
        let parts: Vec<Mutex<&mut [(usize, &mut [T])]>> = old.chunks_mut(ROWS).map(Mutex::new).collect();
        crew.share(parts.len(), &|p| {
            let mut part = parts[p].lock().expect("every part is taken once");
            // Four at a time: their addresses stay in registers.
            let (fours, rest) = new.as_chunks::<4>();
            for [(c0, row0), (c1, row1), (c2, row2), (c3, row3)] in fours {
                let (row0, row1, row2, row3) = (&row0[..width], &row1[..width], &row2[..width], &row3[..width]);
                for (place, to) in part.iter_mut() {
                    let (place, to) = (*place, &mut to[..width]);
                    (to[*c0], to[*c1], to[*c2], to[*c3]) = (row0[place], row1[place], row2[place], row3[place]);
                }
            }
            for (column, row) in rest {
                part.iter_mut().for_each(|(place, to)| to[*column] = row[*place]);
            }
        });
        places
    }

    /// Nobody is seated.
    fn resize(&mut self, size: usize, lanes: usize) {
        self.ids.drain(..).for_each(|id| self.place[id as usize] = NOWHERE);
        // A panel more than needed: rows a power of two apart would share few places of the nearest cache.
        let width = size.next_multiple_of(lanes) + lanes;
        let values = std::mem::take(&mut self.gram.values);
        self.gram = Gram { values, size, width };
        if self.gram.values.len() < size * width {
            self.gram.values.resize(size * width, T::default());
        }
    }

    /// Gives everybody a place; also which places are those of variables that stay.
    fn seat(&mut self, ids: &[u32]) -> (Vec<usize>, Vec<bool>) {
        let mut places: Vec<usize> = ids.iter().map(|&id| self.place[id as usize] as usize).collect();
        let mut stays = vec![false; ids.len()];
        places.iter().filter(|&&place| place != NOWHERE as usize).for_each(|&place| stays[place] = true);
        for (&id, _) in self.ids.iter().zip(&stays).filter(|(_, stays)| !**stays) {
            self.place[id as usize] = NOWHERE;
        }
        self.ids.resize(ids.len(), 0);
        let mut free = (0..ids.len()).filter(|&place| !stays[place]);
        for (place, &id) in places.iter_mut().zip(ids).filter(|(place, _)| **place == NOWHERE as usize) {
            *place = free.next().expect("as many places as variables");
            self.ids[*place] = id;
            self.place[id as usize] = *place as u32;
        }
        (places, stays)
    }
}

/// Solves a set whose variables are seated like this: `solve` sees them in the order of their places.
pub(super) fn by_places<E>(
    set: &Set<'_>,
    places: &[usize],
    solve: impl FnOnce(&Set<'_>) -> Result<SetSolution, E>,
) -> Result<SetSolution, E> {
    let mut order = vec![0; places.len()];
    places.iter().enumerate().for_each(|(at, &place)| order[place] = at);
    fn seated<V: Copy>(values: &[V], order: &[usize]) -> Vec<V> {
        order.iter().filter_map(|&at| values.get(at).copied()).collect()
    }
    let solution = solve(&Set {
        ids: &seated(set.ids, &order),
        gradient: &seated(set.gradient, &order),
        start: &seated(set.start, &order),
        lower: &seated(set.lower, &order),
        upper: &seated(set.upper, &order),
        second: &seated(set.second, &order),
        progress: set.progress.clone(),
        ..*set
    })?;
    Ok(SetSolution { b: places.iter().map(|&place| solution.b[place]).collect(), steps: solution.steps })
}

#[cfg(test)]
mod tests {
    use super::super::tests::Case;
    use super::*;
    use crate::observe::Context;
    use crate::solver::{KernelSource, TableKernel};

    #[test]
    fn a_renewed_matrix_is_that_of_its_set() {
        let case = Case::classes(400, 5, |_| 1.0);
        let context = Context::single();
        let source = TableKernel::new(&case.kernel, &case.x, &context);
        let (kernel, lanes) = (source.single().unwrap(), context.isa.lanes::<f32>());
        let (mut matrix, mut crew) = (SetMatrix::new(400), Crew::new(2));
        // Some stay, in another order; all are new; fewer than before; nobody is new.
        let sets: [Vec<u32>; 5] =
            [(0..200).collect(), (50..250).rev().collect(), (200..400).collect(), (190..260).collect(), (190..260).collect()];
        for (round, ids) in sets.iter().enumerate() {
            let places = matrix.renew(ids, kernel, lanes, &mut crew);
            let (all, mut row) = ((0..400).collect::<Vec<usize>>(), vec![0.0_f32; 512]);
            for (&id, &place) in ids.iter().zip(&places) {
                kernel.restrict(&all).fill(&[id as usize], 0..400, &mut [&mut row[..]]);
                let found = &matrix.gram.values[place * matrix.gram.width..];
                assert!(ids.iter().zip(&places).all(|(&other, &at)| found[at] == row[other as usize]), "round {round}, row {id}");
            }
        }
    }
}
