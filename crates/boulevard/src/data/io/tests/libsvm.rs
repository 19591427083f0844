use super::*;
use crate::data::io::{Missing, PrecomputedUse, TargetKind, read_precomputed_from};

fn get(text: &str) -> Dataset<'static> {
    read(Format::Libsvm, text, &ReadOptions::default()).unwrap()
}

fn fail(text: &str) -> String {
    message(Format::Libsvm, text, &ReadOptions::default())
}

#[test]
fn a_plain_file() {
    let data = get("# heart\n+1 1:0.5 3:-2e-3 # first\n\n-1 2:1.\r\n1\n");
    assert!(data.x.is_sparse());
    assert_eq!(rows(&data), [[0.5, 0.0, -0.002], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]);
    assert_eq!(classes(&data), ["1", "-1", "1"]);
    assert_eq!(data.expect_classes().unwrap().names(), ["-1", "1"]);
}

#[test]
fn labels_are_classes_or_numbers() {
    assert_eq!(get("0.5 1:1\n2 1:2\n").target, Target::Real(vec![0.5, 2.0]));
    assert_eq!(classes(&get("cat 1:1\ndog 1:2\n")), ["cat", "dog"]);
    assert_eq!(classes(&get("1.0 1:1\n2.0 1:2\n")), ["1", "2"]);
    let real = ReadOptions { target: TargetKind::Real, ..Default::default() };
    assert_eq!(read(Format::Libsvm, "1 1:1\n2 1:2\n", &real).unwrap().target, Target::Real(vec![1.0, 2.0]));
    assert_eq!(message(Format::Libsvm, "1 1:1\nx 1:2\n", &real), "file:2: label `x` must be a finite number");
    let as_classes = ReadOptions { target: TargetKind::Classes, ..Default::default() };
    assert_eq!(classes(&read(Format::Libsvm, "0.5 1:1\n2 1:2\n", &as_classes).unwrap()), ["0.5", "2"]);
    let none = ReadOptions { target: TargetKind::None, ..Default::default() };
    assert_eq!(read(Format::Libsvm, "x 1:1\n1:2\n", &none).unwrap().target, Target::None);
    assert_eq!(get("1:1\n2:2\n").target, Target::None);
    assert!(fail("nan 1:1\n").contains("file:1: a label is missing"));
    assert_eq!(fail("inf 1:1\n"), "file:1: label `inf` is not finite");
}

#[test]
fn several_labels() {
    let data = get("1,3 2:0.5\n 1:1\n2\n1:5\n10,1 1:1\n");
    let Target::Labels(labels) = &data.target else { panic!("labels") };
    assert_eq!(labels.names(), ["1", "2", "3", "10"]);
    let on: Vec<Vec<u8>> = (0..5).map(|row| labels.row(row).iter().map(|&on| u8::from(on)).collect()).collect();
    assert_eq!(on, [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]);
    let named = ReadOptions { labels: vec!["3".into(), "1".into(), "7".into()], ..Default::default() };
    let Target::Labels(labels) = read(Format::Libsvm, "1,3 2:0.5\n+1 1:1\n", &named).unwrap().target else { panic!("labels") };
    assert_eq!((labels.names().join(" "), labels.row(1)), ("3 1 7".to_owned(), &[false, true, false][..]));
    assert!(message(Format::Libsvm, "1,4 2:0.5\n", &named).contains("file:1: there is no label `4`"));
    let forced = ReadOptions { target: TargetKind::Labels, ..Default::default() };
    assert!(matches!(read(Format::Libsvm, "1 1:1\n1:1\n", &forced).unwrap().target, Target::Labels(_)));
    let as_classes = ReadOptions { target: TargetKind::Classes, ..Default::default() };
    assert!(message(Format::Libsvm, "1,2 1:1\n", &as_classes).contains("a class is one label"));
}

#[test]
fn rows_without_a_label() {
    assert!(fail("1 1:1\n1:1\n2 1:1\n").starts_with("file:2: there is no label"));
    let (found, rows) = problems(Format::Libsvm, "1 1:1\n1:1\n2 1:1\n", &ReadOptions::default());
    assert_eq!((found.len(), found[0].0, rows), (1, 2, 2));
}

#[test]
fn groups_and_weights() {
    let options = ReadOptions { group: Some("qid".into()), weight: Some("cost".into()), ..Default::default() };
    let data = read(Format::Libsvm, "1 qid:7 cost:2 1:1\n2 cost:0.5 qid:a 1:1\n", &options).unwrap();
    assert_eq!(data.groups.unwrap().names(), ["7", "a"]);
    assert_eq!(data.weights.unwrap(), [2.0, 0.5]);
    assert_eq!(get("1 qid:7 cost:2 1:1\n").groups, None);
    assert!(message(Format::Libsvm, "1 1:1\n", &options).contains("file:1: the group (`qid:`) is missing"));
    assert!(fail("1 cost:-1 1:1\n").contains("zero or positive"));
    let named = ReadOptions { label: Some("y".into()), ..Default::default() };
    assert!(message(Format::Libsvm, "1 1:1\n", &named).contains("no named columns"));
}

#[test]
fn mistakes_have_a_line_and_a_reason() {
    for (text, line, reason) in [
        ("1 1:1\n1 0:1\n", 2, "indices start at 1"),
        ("1 2:1 2:1\n", 1, "index 2 follows index 2; indices must rise"),
        ("1 3:1 2:1\n", 1, "index 2 follows index 3; indices must rise"),
        ("1 a:1\n", 1, "the index of `a:1` is not a whole number"),
        ("1 -1:1\n", 1, "not a whole number"),
        ("1 1.5:1\n", 1, "not a whole number"),
        ("1 1\n", 1, "`1` has no colon"),
        ("1 1:x\n", 1, "the value of index 1 is `x`; it must be a number"),
        ("1 1:1:2\n", 1, "it must be a number"),
        ("1 1:inf\n", 1, "only finite numbers"),
        ("1 1:1e999\n", 1, "only finite numbers"),
        ("1 1:nan\n", 1, "the value of index 1 is missing"),
        ("1 1:\n", 1, "the value of index 1 is missing"),
        ("1 4294967297:1\n", 1, "the largest that is allowed is 4294967296"),
        ("1 99999999999999999999999:1\n", 1, "the largest that is allowed"),
        ("", 0, "there are no data rows"),
        ("# nothing\n\n", 0, "there are no data rows"),
    ] {
        let found = fail(text);
        let place = if line == 0 { "file: ".to_owned() } else { format!("file:{line}: ") };
        assert!(found.starts_with(&place) && found.contains(reason), "{text:?}: {found}");
    }
}

#[test]
fn a_scan_reports_every_bad_line() {
    let text = "1 1:1\n1 0:1\n2 2:x\n2 1:nan\n2 5:5\n";
    let (found, rows) = problems(Format::Libsvm, text, &ReadOptions::default());
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(rows, 2);
    let drop = ReadOptions { missing: Missing::DropRow, ..Default::default() };
    let (found, rows) = problems(Format::Libsvm, text, &drop);
    assert_eq!((found.len(), rows), (2, 2));
}

#[test]
fn columns_can_be_asked_for() {
    let options = ReadOptions { n_features: Some(5), ..Default::default() };
    assert_eq!(read(Format::Libsvm, "1 2:1\n", &options).unwrap().x.columns(), 5);
    assert_eq!(read(Format::Libsvm, "1 7:1\n", &options).unwrap().x.columns(), 7);
    let most = ReadOptions { max_features: Some(1 << 32), ..Default::default() };
    assert_eq!(read(Format::Libsvm, "1 4294967296:1\n", &most).unwrap().x.columns(), 1 << 32);
}

#[test]
fn precomputed_kernels() {
    let load = |text: &str, purpose| read_precomputed_from(text.as_bytes(), "k", &ReadOptions::default(), purpose);
    let found = load("1 0:1 1:4 2:0.5\n-1 0:2 1:0.5 2:9\n", PrecomputedUse::Train).unwrap();
    assert_eq!(rows(&found.data), [[4.0, 0.5], [0.5, 9.0]]);
    assert_eq!(found.own_columns, [0, 1]);
    assert_eq!(classes(&found.data), ["1", "-1"]);
    let test = load("1 0:? 1:4 2:0.5\n-1 0:99 1:0.5 2:9\n", PrecomputedUse::Predict).unwrap();
    assert!(test.own_columns.is_empty());
    for (text, reason) in [
        ("1 0:3 1:4 2:0.5\n", "`0:3` must lie in 1..=2"),
        ("1 0:0 1:4 2:0.5\n", "`0:0` must lie in 1..=2"),
        ("1 0:1.5 1:4\n", "the number of the sample, is due"),
        ("1 1:4 2:0.5\n", "the number of the sample, is due"),
        ("1 0:1 2:0.5\n", "index 2 stands where 1 is due"),
        ("1 0:1 4294967296:0.5\n", "index 4294967296 stands where 1 is due"),
        ("1 0:1 1:1\n1 0:1 1:1 2:2\n", "k:2: 2 kernel values; the first line has 1"),
        ("", "no data rows"),
    ] {
        let found = load(text, PrecomputedUse::Train).unwrap_err().to_string();
        assert!(found.contains(reason), "{text:?}: {found}");
    }
}
