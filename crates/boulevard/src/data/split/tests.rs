//! Tests of `split.rs`.

use super::*;
use proptest::prelude::*;

fn categories(codes: &[u32]) -> Categories {
    let names = (0..codes.iter().max().map_or(0, |&most| most + 1)).map(|code| code.to_string()).collect();
    Categories::new(codes.to_vec(), names).unwrap()
}

fn label_matrix(rows: &[[bool; 3]]) -> LabelMatrix {
    LabelMatrix::new(rows.concat(), ["a", "b", "c"].map(str::to_owned).to_vec()).unwrap()
}

/// Every row is tested exactly once and otherwise trained on; no part is empty.
fn partitions(splits: &[Split], n: usize) -> bool {
    let mut tested: Vec<usize> = splits.iter().flat_map(|split| split.test.iter().copied()).collect();
    tested.sort_unstable();
    tested == (0..n).collect::<Vec<_>>() && splits.iter().all(|split| complements(split, n))
}

fn complements(split: &Split, n: usize) -> bool {
    let mut all = [split.train.as_slice(), &split.test].concat();
    all.sort_unstable();
    all == (0..n).collect::<Vec<_>>()
        && split.train.is_sorted()
        && split.test.is_sorted()
        && !split.train.is_empty()
        && !split.test.is_empty()
}

fn spread(counts: impl Iterator<Item = usize> + Clone) -> usize {
    counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0)
}

#[test]
fn bad_requests_say_what_is_allowed() {
    let text = |result: Result<Vec<Split>>| result.unwrap_err().to_string();
    assert_eq!(text(k_fold(5, 1, 0)), "parameter `k` of cross-validation must be at least 2, got 1");
    assert_eq!(text(k_fold(2, 3, 0)), "3 folds need at least 3 rows, found 2");
    assert_eq!(text(group_k_fold(&categories(&[0, 0, 0, 1]), 3, 0)), "3 folds need at least 3 groups, found 2");
    assert_eq!(text(repeated(0, 0, |seed| k_fold(9, 3, seed))), "parameter `repeats` of repeated must be at least 1, got 0");
    for fraction in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(hold_out(10, fraction, 0).is_err());
    }
    assert!(hold_out(1, 0.5, 0).is_err() && hold_out(0, 0.5, 0).is_err());
    assert_eq!(hold_out(2, 0.01, 0).unwrap().test.len(), 1);
}

#[test]
fn seeds_repeat_and_differ() {
    assert_eq!(k_fold(50, 5, 7).unwrap(), k_fold(50, 5, 7).unwrap());
    assert_ne!(k_fold(50, 5, 7).unwrap(), k_fold(50, 5, 8).unwrap());
    let splits = repeated(3, 7, |seed| k_fold(50, 5, seed)).unwrap();
    assert_eq!(splits[..5], k_fold(50, 5, 7).unwrap()[..]);
    assert!(splits[..5] != splits[5..10] && splits[5..10] != splits[10..]);
}

#[test]
fn a_rare_class_is_spread_as_far_as_it_goes() {
    let mut codes = vec![0; 20];
    codes[3] = 1;
    codes[4] = 1;
    let folds = stratified_k_fold(&categories(&codes), 5, 0).unwrap();
    let rare = folds.iter().map(|fold| fold.test.iter().filter(|&&row| codes[row] == 1).count()).collect::<Vec<_>>();
    assert_eq!((rare.iter().sum::<usize>(), *rare.iter().max().unwrap()), (2, 1));
}

#[test]
fn rare_labels_are_spread_over_folds() {
    // Label a on 4 rows of 40, label b on half of them, label c on b's rows and a few more.
    let rows: Vec<[bool; 3]> = (0..40).map(|i| [i % 10 == 0, i % 2 == 0, i % 2 == 0 || i % 7 == 0]).collect();
    for seed in 0..20 {
        let folds = multilabel_k_fold(&label_matrix(&rows), 4, seed).unwrap();
        let count = |fold: &Split, label: usize| fold.test.iter().filter(|&&row| rows[row][label]).count();
        assert_eq!(spread(folds.iter().map(|fold| count(fold, 0))), 0);
        assert!(spread(folds.iter().map(|fold| count(fold, 1))) <= 1);
        assert!(spread(folds.iter().map(|fold| count(fold, 2))) <= 1);
    }
}

proptest! {
    #[test]
    fn plain_folds_partition_evenly(n in 2usize..60, k in 2usize..10, seed: u64) {
        prop_assume!(k <= n);
        let splits = k_fold(n, k, seed).unwrap();
        prop_assert!(partitions(&splits, n) && splits.len() == k);
        prop_assert!(spread(splits.iter().map(|split| split.test.len())) <= 1);
    }

    #[test]
    fn stratified_folds_keep_shares(codes in prop::collection::vec(0u32..4, 2..60), k in 2usize..8, seed: u64) {
        prop_assume!(k <= codes.len());
        let splits = stratified_k_fold(&categories(&codes), k, seed).unwrap();
        prop_assert!(partitions(&splits, codes.len()));
        prop_assert!(spread(splits.iter().map(|split| split.test.len())) <= 1);
        for class in 0..4 {
            let count = |split: &Split| split.test.iter().filter(|&&row| codes[row] == class).count();
            prop_assert!(spread(splits.iter().map(count)) <= 1);
        }
    }

    #[test]
    fn no_group_is_cut_and_sizes_are_even(codes in prop::collection::vec(0u32..15, 10..80), k in 2usize..6, seed: u64) {
        let groups = categories(&codes);
        let sizes = groups.counts();
        prop_assume!(sizes.iter().filter(|&&size| size > 0).count() >= k);
        let splits = group_k_fold(&groups, k, seed).unwrap();
        prop_assert!(partitions(&splits, codes.len()));
        for split in &splits {
            prop_assert!(split.test.iter().all(|&row| split.train.iter().all(|&other| codes[other] != codes[row])));
        }
        prop_assert!(spread(splits.iter().map(|split| split.test.len())) <= *sizes.iter().max().unwrap());
    }

    #[test]
    fn multilabel_folds_partition(rows in prop::collection::vec(any::<[bool; 3]>(), 2..50), k in 2usize..6, seed: u64) {
        prop_assume!(k <= rows.len());
        let splits = multilabel_k_fold(&label_matrix(&rows), k, seed).unwrap();
        prop_assert!(partitions(&splits, rows.len()));
        prop_assert_eq!(multilabel_k_fold(&label_matrix(&rows), k, seed).unwrap(), splits);
    }

    #[test]
    fn hold_outs_keep_sizes_and_shares(codes in prop::collection::vec(0u32..4, 2..60), fraction in 0.01..0.99f64, seed: u64) {
        let n = codes.len();
        let (plain, stratified) = (hold_out(n, fraction, seed).unwrap(), stratified_hold_out(&categories(&codes), fraction, seed).unwrap());
        prop_assert!(complements(&plain, n) && complements(&stratified, n));
        prop_assert_eq!(plain.test.len(), stratified.test.len());
        for class in 0..4 {
            let size = codes.iter().filter(|&&code| code == class).count() as f64;
            let due = size * stratified.test.len() as f64 / n as f64;
            let found = stratified.test.iter().filter(|&&row| codes[row] == class).count() as f64;
            prop_assert!((found - due).abs() < 1.0);
            prop_assert!(fraction > 0.5 || size < 2.0 || found < size || stratified.test.len() * 2 > n);
        }
    }
}
