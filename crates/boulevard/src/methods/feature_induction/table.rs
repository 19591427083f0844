//! The rows an induction works on: raw columns for the trees, standardised ones for the machine, and an order that depends on what the
//! rows hold and not on where they stand.

use std::collections::HashSet;

use super::tree::SortedColumns;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::random::Random;
use crate::svm::{Classes, content_key};

/// Mean and spread of every original column.
///
/// Not a [`crate::data::Scaler`]: that one sums differences from the smallest value instead of the first, which gives other last digits,
/// and models in files hold these two lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// What is subtracted.
    pub center: Vec<f64>,
    /// What it is divided by afterwards: the standard deviation (divisor: the sum of weights), 1 for a constant column.
    pub spread: Vec<f64>,
}

impl Standard {
    fn fit(x: &[f64], columns: usize, counts: &[f64], context: &Context<'_>) -> Result<Self> {
        let mut meter = context.meter("standardise");
        let total: f64 = counts.iter().sum();
        let (mut center, mut spread) = (Vec::with_capacity(columns), Vec::with_capacity(columns));
        for j in 0..columns {
            // Columns lie across the rows: every value is a cache line of its own.
            meter.spend(16 * counts.len())?;
            let column = || x.iter().skip(j).step_by(columns);
            // Differences from the first value keep the digits of columns far from zero.
            let first = x[j];
            let mean = first + column().zip(counts).map(|(v, s)| s * (v - first)).sum::<f64>() / total;
            let square = column().zip(counts).map(|(v, s)| s * (v - mean) * (v - mean)).sum::<f64>() / total;
            let constant = column().all(|v| *v == first);
            let deviation = square.sqrt();
            if !(mean.is_finite() && deviation.is_finite()) {
                return Err(Error::data(format!("column {j} spans too wide a range to be standardised")));
            }
            center.push(if constant { first } else { mean });
            spread.push(if constant || deviation == 0.0 { 1.0 } else { deviation });
        }
        Ok(Self { center, spread })
    }

    /// The standardised value of a column.
    pub fn apply(&self, column: usize, value: f64) -> f64 {
        (value - self.center[column]) / self.spread[column]
    }

    /// [`Standard::table`] in pieces between which somebody may stop.
    fn table_in(&self, x: &Matrix<'_>, context: &Context<'_>) -> Result<Vec<f64>> {
        let columns = self.center.len();
        let mut values = vec![0.0; x.rows() * columns];
        let mut meter = context.meter("prepare");
        for (row, out) in values.chunks_exact_mut(columns.max(1)).enumerate() {
            meter.spend(8 * columns)?;
            x.copy_row(row, out);
            out.iter_mut().enumerate().for_each(|(j, v)| *v = self.apply(j, *v));
        }
        Ok(values)
    }

    /// A table's standardised columns, row-major.
    pub(super) fn table(&self, x: &Matrix<'_>) -> Vec<f64> {
        let columns = self.center.len();
        let mut values = vec![0.0; x.rows() * columns];
        for (row, out) in values.chunks_exact_mut(columns.max(1)).enumerate() {
            x.copy_row(row, out);
            out.iter_mut().enumerate().for_each(|(j, v)| *v = self.apply(j, *v));
        }
        values
    }
}

/// Rows with the same content, class included: drawing and splitting treat them as one.
struct Group {
    rows: Vec<u32>,
    /// What the rows hold, without their class.
    content: u64,
}

/// Everything about the training rows that does not change from round to round.
pub(super) struct TrainingTable {
    pub x: Matrix<'static>,
    pub columns: SortedColumns,
    pub standard: Standard,
    /// Standardised original columns, row-major.
    pub z: Vec<f64>,
    /// What each row counts: sample weight times class factor.
    pub counts: Vec<f64>,
    /// Class codes.
    pub codes: Vec<u32>,
    /// How many rows a draw has: the sum of sample weights, or the number of different rows if that is more.
    pub draws: usize,
    groups: Vec<Group>,
}

impl TrainingTable {
    /// The rows that weigh something.
    pub fn new(data: &Dataset<'_>, classes: &Classes, seed: u64, context: &Context<'_>) -> Result<Self> {
        let (rows, columns) = (classes.rows.len(), data.x.columns());
        let needed = rows.saturating_mul(columns).saturating_mul(5 * size_of::<f64>());
        if let Some(allowed) = context.memory
            && needed > allowed
        {
            return Err(Error::Memory { what: "feature induction (dense columns, sorted and standardised)", needed, allowed });
        }
        // Places in the sorted lists have 32 bits.
        if u32::try_from(rows.saturating_mul(columns)).is_err() {
            return Err(Error::data(format!("feature induction handles fewer than 2^32 values, found {rows} rows of {columns}")));
        }
        let x = if rows == data.len() {
            data.x.to_dense_in(context)?
        } else {
            data.x.select_in(&classes.rows, context)?.to_dense_in(context)?
        };
        let counts: Vec<f64> = (0..rows).map(|i| classes.weights[i] * classes.factors[classes.codes[i] as usize]).collect();
        let groups = group(&x, &classes.codes, seed, context)?;
        let draws = (classes.weights.iter().sum::<f64>().round() as usize).max(groups.len()).min(rows.max(1) << 10);
        Self::build(x, counts, classes.codes.clone(), groups, draws, context)
    }

    fn build(
        x: Matrix<'static>,
        counts: Vec<f64>,
        codes: Vec<u32>,
        groups: Vec<Group>,
        draws: usize,
        context: &Context<'_>,
    ) -> Result<Self> {
        let mut meter = context.meter("prepare");
        meter.spend(8 * x.rows() * x.columns())?;
        let Matrix::F64(dense) = &x else { return Err(Error::data("feature induction needs a dense table")) };
        let standard = Standard::fit(dense.values(), x.columns(), &counts, context)?;
        let columns = SortedColumns::new_in(&x, context)?;
        meter.spend(8 * x.rows() * x.columns())?;
        let z = standard.table_in(&x, context)?;
        Ok(Self { columns, standard, z, counts, codes, draws, groups, x })
    }

    pub fn rows(&self) -> usize {
        self.codes.len()
    }

    pub fn original(&self) -> usize {
        self.x.columns()
    }

    /// Splits the groups of each class: about `share` of its weight is held out. None if a class has fewer than two groups of `class`
    /// or of the rest. Which rows those are depends on their content alone.
    pub fn hold_out(&self, class: u32, share: f64, random: &mut Random) -> Option<(Vec<usize>, Vec<usize>)> {
        let sides = [true, false].map(|side| self.groups_where(|code| (code == class) == side));
        self.hold_out_of(sides.into(), share, random)
    }

    /// The same with the share of every class.
    pub fn hold_out_all(&self, share: f64, random: &mut Random) -> Option<(Vec<usize>, Vec<usize>)> {
        let mut codes = self.codes.clone();
        codes.sort_unstable();
        codes.dedup();
        self.hold_out_of(codes.into_iter().map(|class| self.groups_where(|code| code == class)).collect(), share, random)
    }

    fn groups_where(&self, wanted: impl Fn(u32) -> bool) -> Vec<&Group> {
        self.groups.iter().filter(|group| wanted(self.codes[group.rows[0] as usize])).collect()
    }

    fn hold_out_of(&self, sides: Vec<Vec<&Group>>, share: f64, random: &mut Random) -> Option<(Vec<usize>, Vec<usize>)> {
        let mut held = vec![false; self.rows()];
        let mut contents = HashSet::new();
        for mut members in sides {
            if members.len() < 2 {
                return None;
            }
            random.shuffle(&mut members);
            let weight = |group: &Group| group.rows.iter().map(|&row| self.counts[row as usize]).sum::<f64>();
            let goal = share * members.iter().map(|group| weight(group)).sum::<f64>();
            let (mut taken, last) = (0.0, members.len() - 1);
            for group in &members[..last] {
                // At least one group; then only what brings the sum nearer to the goal.
                if taken > 0.0 && taken + 0.5 * weight(group) > goal {
                    break;
                }
                taken += weight(group);
                contents.insert(group.content);
                group.rows.iter().for_each(|&row| held[row as usize] = true);
            }
        }
        self.hold_out_twins(&contents, &mut held);
        let (test, train) = (0..self.rows()).partition(|&row| held[row]);
        Some((train, test))
    }

    /// Rows that are equal but for their class are held out together: otherwise what is left teaches the opposite of what is judged. Not
    /// where nothing of a class would be left.
    fn hold_out_twins(&self, contents: &HashSet<u64>, held: &mut [bool]) {
        let mut with = held.to_vec();
        for group in self.groups.iter().filter(|group| contents.contains(&group.content)) {
            group.rows.iter().for_each(|&row| with[row as usize] = true);
        }
        let left = |held: &[bool]| self.codes.iter().zip(held).filter(|(_, held)| !**held).map(|(code, _)| *code).collect::<HashSet<u32>>();
        if left(&with) == left(held) {
            held.copy_from_slice(&with);
        }
    }

    /// A table of some of the rows.
    pub fn part(&self, rows: &[usize], context: &Context<'_>) -> Result<Self> {
        let mut place = vec![u32::MAX; self.rows()];
        rows.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
        let kept = |group: &Group| {
            let rows: Vec<u32> = group.rows.iter().map(|&row| place[row as usize]).filter(|&row| row != u32::MAX).collect();
            (!rows.is_empty()).then_some(Group { rows, content: group.content })
        };
        let groups: Vec<Group> = self.groups.iter().filter_map(kept).collect();
        let draws = (self.draws as f64 * rows.len() as f64 / self.rows() as f64).round() as usize;
        let counts = rows.iter().map(|&row| self.counts[row]).collect();
        let codes = rows.iter().map(|&row| self.codes[row]).collect();
        Self::build(self.x.select_in(rows, context)?, counts, codes, groups, draws.max(1), context)
    }

    /// Draws rows with replacement, row i with a chance proportional to `chances[i]`: how often each row was drawn. The draws of a
    /// group are spread over its rows.
    pub fn draw(&self, chances: &[f64], random: &mut Random) -> Vec<f64> {
        let mut sums = Vec::with_capacity(self.groups.len());
        let mut total = 0.0;
        for group in &self.groups {
            total += group.rows.iter().map(|&row| chances[row as usize]).sum::<f64>();
            sums.push(total);
        }
        let mut drawn = vec![0u32; self.groups.len()];
        for _ in 0..self.draws {
            let at = random.uniform() * total;
            let place = sums.partition_point(|&sum| sum <= at).min(sums.len() - 1);
            drawn[place] += 1;
        }
        let mut weights = vec![0.0; self.rows()];
        for (group, &drawn) in self.groups.iter().zip(&drawn) {
            match group.rows[..] {
                [row] => weights[row as usize] = f64::from(drawn),
                _ if drawn > 0 => {
                    let sum: f64 = group.rows.iter().map(|&row| chances[row as usize]).sum();
                    for &row in &group.rows {
                        weights[row as usize] = f64::from(drawn) * chances[row as usize] / sum;
                    }
                }
                _ => {}
            }
        }
        weights
    }

    /// A fold for every row, `folds` of them; rows of one content share a fold.
    pub fn folds(&self, folds: usize) -> Vec<usize> {
        let mut fold_of = vec![0; self.rows()];
        for (place, group) in self.groups.iter().enumerate() {
            group.rows.iter().for_each(|&row| fold_of[row as usize] = place % folds);
        }
        fold_of
    }
}

/// Groups of equal rows, ordered by class and a hash of the content.
fn group(x: &Matrix<'_>, codes: &[u32], seed: u64, context: &Context<'_>) -> Result<Vec<Group>> {
    let mut meter = context.meter("compare rows");
    let mut keys: Vec<(u32, u64, u32)> = Vec::with_capacity(codes.len());
    for (&code, row) in codes.iter().zip(0u32..) {
        keys.push((code, content_key(x, row as usize, seed, &mut meter)?, row));
    }
    keys.sort_unstable();
    Ok(keys
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|group| Group { rows: group.iter().map(|key| key.2).collect(), content: group[0].1 })
        .collect())
}
