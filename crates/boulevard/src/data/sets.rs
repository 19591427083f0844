//! Sets of rows that share a label and get one decision.

use super::{Categories, Dataset};
use crate::error::{Error, Result};
use crate::random::Random;

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

    /// The sets that labelled rows are judged by: groups where there are groups, else rows of a class drawn together, `k` at a time.
    pub fn for_judging(data: &Dataset<'_>, k: usize, seed: u64) -> Result<Self> {
        /// Stream of the order of rows: files may be sorted.
        const ORDER: u64 = 78;
        if let Some(groups) = &data.groups {
            return Ok(Self::of_groups(groups).0);
        }
        let classes = data.expect_classes()?;
        let order = Random::new(seed, ORDER).permutation(data.len());
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for class in 0..classes.names().len() {
            let rows: Vec<usize> = order.iter().copied().filter(|&row| classes.codes()[row] as usize == class).collect();
            // What is left over makes a smaller set, so that every row is judged.
            sets.extend(rows.chunks(k.max(1)).map(<[usize]>::to_vec));
        }
        Self::new(&sets)
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
    pub(crate) fn check(&self, rows: usize) -> Result<()> {
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
