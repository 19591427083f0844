//! Extended training sets: tuples of samples that share a class.

use crate::random::Random;

/// Streams of random numbers: one per class and set size, apart from everything else that is drawn from a seed.
const EXTENDED: u64 = 0x6a74_0000_0000;

/// Tuples of `k` rows of one class: columns of an extended training set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuples {
    /// Samples per tuple.
    pub k: usize,
    /// Row numbers, `k` for each tuple.
    pub members: Vec<u32>,
    /// Class of each tuple.
    pub codes: Vec<u32>,
}

impl Tuples {
    /// Number of tuples.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no tuples.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Draws an extended set from `rows` (row numbers with their class `codes`): about `columns` tuples in all, `k` times the rows if
    /// nothing is said.
    ///
    /// One repeat is a random order of a class cut into tuples that share no row (eqs. 5-8 of the paper); every class has the same number
    /// of repeats, so that the classes keep their proportions. A class with fewer than `k` rows gives one tuple per repeat, cut from
    /// several shuffles one after another: rows repeat in it only as often as they must.
    pub fn draw(rows: &[usize], codes: &[u32], classes: usize, k: usize, columns: Option<usize>, seed: u64) -> Self {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); classes];
        for (&row, &code) in rows.iter().zip(codes) {
            members[code as usize].push(row as u32);
        }
        let [per_repeat, repeats] = plan(members.iter().map(Vec::len), k, columns.unwrap_or(k * rows.len()));
        let mut tuples = Self { k, members: Vec::with_capacity(per_repeat * repeats * k), codes: Vec::new() };
        for (class, rows) in members.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let mut random = Random::new(seed, EXTENDED + ((k as u64) << 32) + class as u64);
            for _ in 0..repeats {
                if rows.len() >= k {
                    random.shuffle(rows);
                    let whole = rows.len() / k * k;
                    tuples.members.extend_from_slice(&rows[..whole]);
                    tuples.codes.extend(std::iter::repeat_n(class as u32, whole / k));
                } else {
                    let mut left = k;
                    while left > 0 {
                        random.shuffle(rows);
                        let take = left.min(rows.len());
                        tuples.members.extend_from_slice(&rows[..take]);
                        left -= take;
                    }
                    tuples.codes.push(class as u32);
                }
            }
        }
        tuples
    }

    /// How many [`Tuples::draw`] would draw.
    pub(super) fn count(codes: &[u32], classes: usize, k: usize, columns: Option<usize>) -> usize {
        let mut sizes = vec![0; classes];
        codes.iter().for_each(|&code| sizes[code as usize] += 1);
        let [per_repeat, repeats] = plan(sizes.into_iter(), k, columns.unwrap_or(k.saturating_mul(codes.len())));
        per_repeat.saturating_mul(repeats)
    }

    /// Some of the tuples.
    pub(super) fn select(&self, chosen: &[usize]) -> Self {
        let members = chosen.iter().flat_map(|&t| self.members[t * self.k..(t + 1) * self.k].iter().copied()).collect();
        Self { k: self.k, members, codes: chosen.iter().map(|&t| self.codes[t]).collect() }
    }

    /// The first tuples of every class, about `most` in all and in the same proportions.
    pub(super) fn thinned(&self, most: usize, classes: usize) -> Self {
        let share = most as f64 / self.len().max(1) as f64;
        let mut left: Vec<usize> = vec![0; classes];
        self.codes.iter().for_each(|&code| left[code as usize] += 1);
        left.iter_mut().for_each(|count| *count = (*count as f64 * share).ceil() as usize);
        let mut keep = |tuple: &usize| {
            let left = &mut left[self.codes[*tuple] as usize];
            let kept = *left > 0;
            *left = left.saturating_sub(1);
            kept
        };
        self.select(&(0..self.len()).filter(|tuple| keep(tuple)).collect::<Vec<_>>())
    }

    /// All orders of every tuple, as eq. (7) of the paper writes them out: only for machines without the symmetric kernel.
    pub(super) fn permuted(&self) -> Self {
        let orders = permutations(self.k);
        let mut all = Self { k: self.k, members: Vec::new(), codes: Vec::new() };
        for (tuple, &code) in self.members.chunks_exact(self.k).zip(&self.codes) {
            for order in &orders {
                all.members.extend(order.iter().map(|&place| tuple[place]));
                all.codes.push(code);
            }
        }
        all
    }
}

/// Tuples per repeat of classes of these sizes, and the repeats that come nearest to so many tuples in all.
fn plan(sizes: impl Iterator<Item = usize>, k: usize, columns: usize) -> [usize; 2] {
    let per_repeat: usize = sizes.filter(|&size| size > 0).map(|size| (size / k).max(1)).sum();
    [per_repeat, ((columns as f64 / per_repeat.max(1) as f64).round() as usize).max(1)]
}

fn permutations(k: usize) -> Vec<Vec<usize>> {
    if k == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(k - 1);
    (0..k)
        .flat_map(|first| {
            shorter.iter().map(move |rest| std::iter::once(first).chain(rest.iter().map(move |&i| i + usize::from(i >= first))).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_proportions_and_the_first() {
        let codes: Vec<u32> = (0..90).map(|row| u32::from(row >= 60)).collect();
        let all = Tuples::draw(&(0..90).collect::<Vec<_>>(), &codes, 2, 3, None, 0);
        let few = all.thinned(30, 2);
        let count = |tuples: &Tuples, class: u32| tuples.codes.iter().filter(|&&code| code == class).count();
        assert_eq!((count(&few, 0), count(&few, 1)), (20, 10));
        assert_eq!(few.members[..60], all.members[..60]);
        assert_eq!(few.members[60..], all.members[count(&all, 0) * 3..][..30]);
        assert_eq!(all.thinned(all.len(), 2), all);
    }
}
