//! Cutting rows into training and test parts, repeatably.
//!
//! Every function is a pure function of its arguments: the same seed gives the same parts. Row numbers rise within each part, so that
//! a learner sees the rows in their original order. Folds are always drawn at random: many files are sorted by class.
//!
//! | function | keeps |
//! |---|---|
//! | [`k_fold`], [`hold_out`] | sizes, within one row |
//! | [`stratified_k_fold`], [`stratified_hold_out`] | sizes and every class's share, within one row |
//! | [`group_k_fold`] | whole groups; sizes as even as groups allow |
//! | [`multilabel_k_fold`] | every label's share, as nearly as its rows allow |
//!
//! Another seed gives another split; [`repeated`] strings several together.

use super::{Categories, LabelMatrix};
use crate::check;
use crate::error::{Error, Result};
use crate::random::Random;

/// Which rows to learn from and which to test on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from, rising.
    pub train: Vec<usize>,
    /// Rows to test on, rising.
    pub test: Vec<usize>,
}

// Each kind of split draws from its own stream: two kinds with one seed share no randomness.
const PLAIN: u64 = 1;
const STRATIFIED: u64 = 2;
const GROUPED: u64 = 3;
const MULTILABEL: u64 = 4;
const REPEATS: u64 = 5;

/// `k` folds of `n` rows; sizes differ by one at most.
///
/// ```
/// use boulevard::data::split::k_fold;
/// let folds = k_fold(10, 3, 0)?;
/// assert_eq!(folds.iter().map(|fold| fold.test.len()).collect::<Vec<_>>(), [4, 3, 3]);
/// # Ok::<(), boulevard::Error>(())
/// ```
pub fn k_fold(n: usize, k: usize, seed: u64) -> Result<Vec<Split>> {
    check_folds(k, n, "rows")?;
    check_bytes("cross-validation", "k", k, bytes(n))?;
    let mut fold_of = vec![0; n];
    for (place, row) in Random::new(seed, PLAIN).permutation(n).into_iter().enumerate() {
        fold_of[row] = place % k;
    }
    Ok(folds(&fold_of, k))
}

/// `k` folds in which every class has its share: class counts and fold sizes differ by one at most.
///
/// A class may have fewer rows than there are folds. Some folds then test without it, and the class's only row, if there is but one,
/// is missing from the training part of the fold that tests it.
pub fn stratified_k_fold(classes: &Categories, k: usize, seed: u64) -> Result<Vec<Split>> {
    check_folds(k, classes.len(), "rows")?;
    check_bytes("cross-validation", "k", k, bytes(classes.len()))?;
    let mut random = Random::new(seed, STRATIFIED);
    let mut fold_of = vec![0; classes.len()];
    // Dealing goes on where the last class stopped: that evens out the fold sizes as well.
    let mut place = 0;
    for mut rows in rows_by_class(classes) {
        random.shuffle(&mut rows);
        for row in rows {
            fold_of[row] = place % k;
            place += 1;
        }
    }
    Ok(folds(&fold_of, k))
}

/// `k` folds that never cut a group: large groups first, each into the smallest fold so far.
///
/// The largest fold then exceeds the smallest by the size of the largest group at most. Needs at least `k` groups with rows.
pub fn group_k_fold(groups: &Categories, k: usize, seed: u64) -> Result<Vec<Split>> {
    let sizes = groups.counts();
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&group| sizes[group] > 0).collect();
    check_folds(k, order.len(), "groups")?;
    check_bytes("cross-validation", "k", k, bytes(groups.len()))?;
    Random::new(seed, GROUPED).shuffle(&mut order);
    // A stable sort: groups of the same size stay in random order.
    order.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));
    let mut filled = vec![0; k];
    let mut fold_of_group = vec![0; sizes.len()];
    for group in order {
        let fold = (0..k).min_by_key(|&fold| filled[fold]).unwrap_or(0);
        fold_of_group[group] = fold;
        filled[fold] += sizes[group];
    }
    let fold_of: Vec<usize> = groups.codes().iter().map(|&group| fold_of_group[group as usize]).collect();
    Ok(folds(&fold_of, k))
}

/// `k` folds in which every label has its share, by iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011).
///
/// The label with the fewest rows left goes first, because it is the hardest to spread later. Each of its rows goes to the fold that
/// lacks this label most; ties go to the fold that lacks rows most, then to chance. Rows without any label come last and even out the
/// sizes. Fold sizes follow from the labels and may differ by more than one. No fold is empty: an empty one wins every tie.
pub fn multilabel_k_fold(labels: &LabelMatrix, k: usize, seed: u64) -> Result<Vec<Split>> {
    let rows = labels.len();
    check_folds(k, rows, "rows")?;
    check_bytes("cross-validation", "k", k, bytes(rows))?;
    let mut random = Random::new(seed, MULTILABEL);
    // Rows in random order, so that which of two alike rows goes first is left to chance too.
    let order = random.permutation(rows);
    let n_labels = labels.names().len();
    let mut remaining: Vec<usize> = (0..n_labels).map(|label| labels.label(label).filter(|&on| on).count()).collect();
    let mut label_count = vec![vec![0usize; k]; n_labels];
    let mut size = vec![0usize; k];
    let mut fold_of = vec![usize::MAX; rows];

    // All folds want the same share, so "lacks most" is "has fewest": whole numbers, no rounding in the ties.
    let mut pick = |has: &dyn Fn(usize) -> (usize, usize)| {
        let least = (0..k).map(has).min();
        let tied: Vec<usize> = (0..k).filter(|&fold| Some(has(fold)) == least).collect();
        tied[random.below(tied.len())]
    };
    while let Some(label) = (0..n_labels).filter(|&label| remaining[label] > 0).min_by_key(|&label| remaining[label]) {
        for &row in order.iter().filter(|&&row| labels.row(row)[label]) {
            if fold_of[row] != usize::MAX {
                continue;
            }
            let fold = pick(&|fold| (label_count[label][fold], size[fold]));
            fold_of[row] = fold;
            size[fold] += 1;
            for other in (0..n_labels).filter(|&other| labels.row(row)[other]) {
                label_count[other][fold] += 1;
                remaining[other] -= 1;
            }
        }
    }
    for &row in &order {
        if fold_of[row] == usize::MAX {
            let fold = pick(&|fold| (size[fold], 0));
            fold_of[row] = fold;
            size[fold] += 1;
        }
    }
    Ok(folds(&fold_of, k))
}

/// One split that tests on `test_fraction` of `n` rows (rounded; at least one row on either side).
pub fn hold_out(n: usize, test_fraction: f64, seed: u64) -> Result<Split> {
    let tests = test_count(n, test_fraction)?;
    let mut is_test = vec![0; n];
    for &row in &Random::new(seed, PLAIN).permutation(n)[..tests] {
        is_test[row] = 1;
    }
    Ok(one_split(&is_test))
}

/// One split that tests on `test_fraction` of every class, each class's count rounded so that the total is that of [`hold_out`].
///
/// A class with few rows may be missing from the test part; it is never missing from the training part if it has two rows or more and
/// at most half of all rows are tested.
pub fn stratified_hold_out(classes: &Categories, test_fraction: f64, seed: u64) -> Result<Split> {
    let tests = test_count(classes.len(), test_fraction)?;
    let mut random = Random::new(seed, STRATIFIED);
    let rows = rows_by_class(classes);
    // Largest remainders, in whole numbers: class c is due `size_c * tests / n`.
    let due = |size: usize| (size as u128 * tests as u128, classes.len() as u128);
    let mut counts: Vec<usize> = rows.iter().map(|rows| (due(rows.len()).0 / due(rows.len()).1) as usize).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    random.shuffle(&mut order);
    order.sort_by_key(|&class| std::cmp::Reverse(due(rows[class].len()).0 % due(rows[class].len()).1));
    let missing = tests - counts.iter().sum::<usize>();
    for &class in &order[..missing] {
        counts[class] += 1;
    }
    let mut is_test = vec![0; classes.len()];
    for (mut rows, count) in rows.into_iter().zip(counts) {
        random.shuffle(&mut rows);
        rows[..count].iter().for_each(|&row| is_test[row] = 1);
    }
    Ok(one_split(&is_test))
}

/// The splits of `repeats` different seeds, one after another. The first is that of `seed` itself.
///
/// ```
/// use boulevard::data::split::{k_fold, repeated};
/// let splits = repeated(3, 0, |seed| k_fold(20, 5, seed))?;
/// assert_eq!(splits.len(), 15);
/// # Ok::<(), boulevard::Error>(())
/// ```
pub fn repeated(repeats: usize, seed: u64, mut split: impl FnMut(u64) -> Result<Vec<Split>>) -> Result<Vec<Split>> {
    check::at_least("repeated", "repeats", repeats, 1)?;
    let mut seeds = repeat_seeds(seed).take(repeats);
    let mut splits = split(seeds.next().unwrap_or(seed))?;
    let one = splits.iter().fold(0, |sum: usize, split| sum.saturating_add(bytes(split.train.len() + split.test.len())));
    check_bytes("repeated", "repeats", repeats, one)?;
    for seed in seeds {
        splits.extend(split(seed)?);
    }
    Ok(splits)
}

/// The seeds of [`repeated`], one after another without end: for callers that do not want to hold all splits at once.
pub fn repeat_seeds(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = Random::new(seed, REPEATS);
    std::iter::once(seed).chain(std::iter::repeat_with(move || random.bits()))
}

/// Bytes that lists of splits may take: they are made before the first fit, and one number asks for all of them.
const MOST_BYTES: usize = 4 << 30;

/// Bytes of a split of so many rows.
fn bytes(rows: usize) -> usize {
    rows.saturating_mul(size_of::<usize>()).saturating_add(size_of::<Split>())
}

/// Fails where `value` times `each` bytes are too many.
fn check_bytes(owner: &'static str, name: &'static str, value: usize, each: usize) -> Result<()> {
    let most = MOST_BYTES / each.max(1);
    if value <= most {
        return Ok(());
    }
    Err(check::complaint(owner, name, format!("at most {most} for a table of this size (the splits would take {each} bytes each)"), value))
}

fn check_folds(k: usize, available: usize, what: &str) -> Result<()> {
    check::at_least("cross-validation", "k", k, 2)?;
    if k > available {
        return Err(Error::data(format!("{k} folds need at least {k} {what}, found {available}")));
    }
    Ok(())
}

fn test_count(n: usize, fraction: f64) -> Result<usize> {
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(check::complaint("hold-out", "test_fraction", "above 0 and below 1", fraction));
    }
    if n < 2 {
        return Err(Error::data(format!("a hold-out split needs at least 2 rows, found {n}")));
    }
    Ok(((n as f64 * fraction).round() as usize).clamp(1, n - 1))
}

fn rows_by_class(classes: &Categories) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); classes.names().len()];
    for (row, &code) in classes.codes().iter().enumerate() {
        rows[code as usize].push(row);
    }
    rows
}

fn folds(fold_of: &[usize], k: usize) -> Vec<Split> {
    let part = |keep: &dyn Fn(usize) -> bool| (0..fold_of.len()).filter(|&row| keep(fold_of[row])).collect();
    (0..k).map(|fold| Split { train: part(&|f| f != fold), test: part(&|f| f == fold) }).collect()
}

fn one_split(is_test: &[usize]) -> Split {
    let (test, train) = (0..is_test.len()).partition(|&row| is_test[row] == 1);
    Split { train, test }
}

#[cfg(test)]
mod tests;
