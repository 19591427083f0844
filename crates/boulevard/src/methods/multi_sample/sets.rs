//! Which samples belong together: sets to be judged, and extended training sets.

use crate::data::Categories;
use crate::error::{Error, Result};
use crate::random::Random;

/// Streams of random numbers: one per class and set size, apart from everything else that is drawn from a seed.
const EXTENDED: u64 = 0x6a74_0000_0000;

/// Sets of rows, each to get one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sets {
    /// Set `i` is `members[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    members: Vec<u32>,
}

impl Sets {
    /// Sets from lists of row numbers. A set without members is refused.
    pub fn new<R: AsRef<[usize]>>(sets: &[R]) -> Result<Self> {
        let (mut offsets, mut members) = (vec![0], Vec::new());
        for (place, set) in sets.iter().enumerate() {
            if set.as_ref().is_empty() {
                return Err(Error::data(format!("set {place} is empty: a decision needs at least one sample")));
            }
            for &row in set.as_ref() {
                members.push(u32::try_from(row).map_err(|_| Error::data(format!("row number {row} is too large")))?);
            }
            offsets.push(members.len());
        }
        Ok(Self { offsets, members })
    }

    /// Every one of `rows` rows is a set of its own.
    pub fn singles(rows: usize) -> Self {
        Self { offsets: (0..=rows).collect(), members: (0..rows as u32).collect() }
    }

    /// Consecutive runs of `k` rows.
    pub fn runs(rows: usize, k: usize) -> Result<Self> {
        if k == 0 || !rows.is_multiple_of(k) {
            return Err(Error::data(format!("{rows} rows cannot be cut into sets of {k}")));
        }
        Ok(Self { offsets: (0..=rows / k).map(|set| set * k).collect(), members: (0..rows as u32).collect() })
    }

    /// One set per group that has rows, in the order of the groups' names; with the place of each set's group among the names.
    pub fn of_groups(groups: &Categories) -> (Self, Vec<usize>) {
        let mut rows = vec![Vec::new(); groups.names().len()];
        for (row, &group) in groups.codes().iter().enumerate() {
            rows[group as usize].push(row as u32);
        }
        let (mut offsets, mut members, mut places) = (vec![0], Vec::new(), Vec::new());
        for (place, rows) in rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            members.extend(rows);
            offsets.push(members.len());
            places.push(place);
        }
        (Self { offsets, members }, places)
    }

    /// The paper's test sets: the rows of each class, later class first, cut in order into sets of `k`; what is left over is dropped.
    /// With the class of every set.
    pub fn of_classes(classes: &Categories, k: usize) -> (Self, Vec<u32>) {
        let (mut offsets, mut members, mut codes) = (vec![0], Vec::new(), Vec::new());
        for class in (0..classes.names().len() as u32).rev() {
            let rows: Vec<u32> = (0..classes.len() as u32).filter(|&row| classes.codes()[row as usize] == class).collect();
            for set in rows.chunks_exact(k.max(1)) {
                members.extend_from_slice(set);
                offsets.push(members.len());
                codes.push(class);
            }
        }
        (Self { offsets, members }, codes)
    }

    /// Number of sets.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of one set.
    pub fn rows(&self, set: usize) -> &[u32] {
        &self.members[self.offsets[set]..self.offsets[set + 1]]
    }

    /// Samples in one set.
    pub fn size(&self, set: usize) -> usize {
        self.offsets[set + 1] - self.offsets[set]
    }

    /// Fails if a set names a row that is not there.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        match self.members.iter().find(|&&row| row as usize >= rows) {
            Some(row) => Err(Error::data(format!("a set names row {row}, but there are only {rows} rows"))),
            None => Ok(()),
        }
    }

    /// The class that all rows of each set share; fails where they do not.
    pub fn shared_classes(&self, classes: &Categories) -> Result<Vec<u32>> {
        self.check(classes.len())?;
        (0..self.len())
            .map(|set| {
                let rows = self.rows(set);
                let first = classes.codes()[rows[0] as usize];
                match rows.iter().find(|&&row| classes.codes()[row as usize] != first) {
                    None => Ok(first),
                    Some(&other) => Err(Error::data(format!(
                        "the samples of a set share one label: row {} is `{}` and row {other} of the same set is `{}`",
                        rows[0],
                        classes.names()[first as usize],
                        classes.names()[classes.codes()[other as usize] as usize]
                    ))),
                }
            })
            .collect()
    }
}

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
