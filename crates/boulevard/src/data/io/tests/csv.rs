use super::*;
use crate::data::io::{Missing, TargetKind};

fn get(text: &str) -> Dataset<'static> {
    read(Format::Csv, text, &ReadOptions::default()).unwrap()
}

fn fail(text: &str) -> String {
    message(Format::Csv, text, &ReadOptions::default())
}

#[test]
fn separators_quotes_and_line_ends() {
    for text in [
        "a,b,label\n1,2.5,yes\n3,-4e1,no\n",
        "a;b;label\r\n1;2.5;yes\r\n3;-4e1;no",
        "\u{feff}a\tb\tlabel\n 1 \t2.5\tyes\n3\t-4e1\t\"no\"\n",
        "\"a\",b,label\n\"1\",2.5,\"yes\"\n\n3,-4e1,no\n",
    ] {
        let data = get(text);
        assert_eq!(rows(&data), [[1.0, 2.5], [3.0, -40.0]], "{text:?}");
        assert_eq!(classes(&data), ["yes", "no"]);
        assert_eq!(data.feature_names.unwrap(), ["a", "b"]);
    }
    let data = get("\"a;b\",\"c \"\"d\"\"\",label\n1,2,\"x, y\"\n3,4,\"two\nlines\"\n");
    assert_eq!(data.feature_names.as_ref().unwrap(), &["a;b", "c \"d\""]);
    assert_eq!(classes(&data), ["x, y", "two\nlines"]);
}

#[test]
fn columns_by_name() {
    let options = ReadOptions {
        label: Some("y".into()),
        task: Some("t".into()),
        group: Some("g".into()),
        weight: Some("w".into()),
        ignore: vec!["id*".into()],
        ..Default::default()
    };
    let data = read(Format::Csv, "id1,y,a,t,g,w,b\nq,0.5,1,t1,g1,2,3\nr,1,2,t2,g1,0,4\n", &options).unwrap();
    assert_eq!(rows(&data), [[1.0, 3.0], [2.0, 4.0]]);
    assert_eq!(data.target, Target::Real(vec![0.5, 1.0]));
    assert_eq!(data.weights.unwrap(), [2.0, 0.0]);
    assert_eq!((data.tasks.unwrap().names().len(), data.groups.unwrap().names().len()), (2, 1));
    assert!(
        message(Format::Csv, "a,lable\n1,2\n", &ReadOptions { label: Some("label".into()), ..Default::default() })
            .ends_with("there is no column `label` to take as label; the columns are `a`, `lable`; did you mean `lable`?")
    );
}

#[test]
fn several_label_columns() {
    let options = ReadOptions { labels: vec!["label_*".into()], ..Default::default() };
    let data = read(Format::Csv, "a,label_0,label_1\n1,0,1\n2,true,FALSE\n", &options).unwrap();
    let Target::Labels(labels) = &data.target else { panic!("labels") };
    assert_eq!((labels.row(0), labels.row(1)), (&[false, true][..], &[true, false][..]));
    assert_eq!(data.x.columns(), 1);
    assert!(message(Format::Csv, "a,label_0\n1,2\n", &options).contains("file:2: label column `label_0`: `2` must be 0 or 1"));
}

#[test]
fn mistakes_have_a_line_and_a_reason() {
    for (text, place, reason) in [
        ("a,b\n1,2\n1\n", "file:3: ", "1 fields; the header has 2"),
        ("a,b\n1,2,3\n", "file:2: ", "3 fields; the header has 2"),
        ("a,a,b\n1,2,3\n", "file:1: ", "columns 1 and 2 are both named `a`"),
        (",a,b\n1,2,3\n", "file:1: ", "column 1 has no name"),
        ("1,2,3\n1,2,3\n", "file:1: ", "holds only numbers"),
        ("a,b\n\n\nx,1\n", "file:4: ", "column `a`: `x` is not a number"),
        ("a,b\n1,1\n,2\n", "file:3: ", "column `a` is missing"),
        ("a,b\n1,1\n?,2\n", "file:3: ", "column `a` is missing"),
        ("a,b\n1,1\nNaN,2\n", "file:3: ", "column `a` is missing"),
        ("a,b\n1,?\n", "file:2: ", "column `b` is missing"),
        ("a,b\n-inf,2\n", "file:2: ", "column `a`: `-inf` is not finite"),
        ("a,b\n\"1\n2\n\",1\nx,1\n", "file:2: ", "is not a number"),
        ("a,b\r\n1,2\r\n\r\nx,1\r\n", "file:4: ", "is not a number"),
        ("a,b\r\n1,2\r\nx,1", "file:3: ", "is not a number"),
        ("a,b\n1,2\n\nx,1", "file:4: ", "is not a number"),
        ("a,b\n1,\"p\nq\"\nx,\"r\ns\"\n", "file:4: ", "is not a number"),
        ("\n\na,a\n", "file:3: ", "are both named"),
        ("", "file: ", "is empty"),
        ("a,b\n", "file: ", "there are no data rows"),
    ] {
        let found = fail(text);
        assert!(found.starts_with(place) && found.contains(reason), "{text:?}: {found}");
    }
    let weight = ReadOptions { weight: Some("w".into()), ..Default::default() };
    assert!(message(Format::Csv, "w,a,y\n-1,1,1\n", &weight).contains("weight -1 is negative"));
    let bytes = b"a,b\n1,\xff\n";
    let found = Dataset::read_from(&bytes[..], "f.csv", &ReadOptions::default()).unwrap_err().to_string();
    assert!(found.contains("not valid UTF-8"), "{found}");
}

#[test]
fn rows_with_missing_values_can_be_dropped() {
    let drop = ReadOptions { missing: Missing::DropRow, ..Default::default() };
    let data = read(Format::Csv, "a,b\n1,x\n,y\n3,x\n4,NA\n", &drop).unwrap();
    assert_eq!((rows(&data), data.expect_classes().unwrap().names()), (vec![vec![1.0], vec![3.0]], &["x".to_owned()][..]));
    assert!(message(Format::Csv, "a,b\n,x\n", &drop).contains("all 1 have missing values"));
}

#[test]
fn text_becomes_one_hot_on_request() {
    let text = "n,color,label\n1,red,0\n2,blue,1\n3,red,0\n4,01,0\n5,1,1\n";
    assert!(fail(text).contains("file:2: column `color`: `red` is not a number"));
    let options = ReadOptions { one_hot: true, ..Default::default() };
    let data = read(Format::Csv, text, &options).unwrap();
    assert_eq!(data.feature_names.as_ref().unwrap(), &["n", "color=01", "color=1", "color=blue", "color=red"]);
    assert_eq!(rows(&data)[0], [1.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(rows(&data)[3], [4.0, 1.0, 0.0, 0.0, 0.0]);
    assert!(!data.x.is_sparse());
    let identifiers: String = (0..50).map(|i| format!("{i},id{i},{}\n", i % 2)).collect();
    let data = read(Format::Csv, &format!("n,id,label\n{identifiers}"), &options).unwrap();
    assert!(data.x.is_sparse());
    assert_eq!((data.x.columns(), data.x.get(7, 0), data.feature_name(1)), (51, 7.0, "id=id0".to_owned()));
    let none = ReadOptions { one_hot: true, target: TargetKind::None, ..Default::default() };
    assert_eq!(read(Format::Csv, "a,b\n1,x\n2,y\n", &none).unwrap().x.columns(), 3);
}

#[test]
fn a_scan_reports_every_bad_line() {
    let (found, rows) = problems(Format::Csv, "a,b\n1,2\nx,3\n4\n5,6\n,7\n", &ReadOptions::default());
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 6]);
    assert_eq!(rows, 2);
    let (found, rows) = problems(Format::Csv, "a,b\nx,3\n", &ReadOptions::default());
    assert_eq!((found.len(), rows), (1, 0));
}
