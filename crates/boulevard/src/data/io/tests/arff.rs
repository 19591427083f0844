use super::*;
use crate::data::io::TargetKind;

fn get(text: &str) -> Dataset<'static> {
    read(Format::Arff, text, &ReadOptions::default()).unwrap()
}

fn fail(text: &str) -> String {
    message(Format::Arff, text, &ReadOptions::default())
}

const HEAD: &str =
    "% iris\n@RELATION 'my iris'\n@attribute 'sepal length' REAL\n@Attribute width{0,1}\n@attribute class {'a b', c}\n@data\n";

#[test]
fn dense_rows() {
    let data = get(&format!("{HEAD}1.5,1,c\n% comment\n2, 0, 'a b' % more\n"));
    assert_eq!(rows(&data), [[1.5, 1.0], [2.0, 0.0]]);
    assert_eq!(classes(&data), ["c", "a b"]);
    assert_eq!(data.feature_names.unwrap(), ["sepal length", "width"]);
    let blanks = get("@relation r\n@attribute a numeric\n@attribute b integer\n@data\n1 2\n3\t4.5\n");
    assert_eq!((rows(&blanks), blanks.target), (vec![vec![1.0], vec![3.0]], Target::Real(vec![2.0, 4.5])));
}

#[test]
fn the_header_says_what_the_label_is() {
    let text = "@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\n3,4\n";
    assert_eq!(get(text).target, Target::Real(vec![2.0, 4.0]));
    let options = ReadOptions { target: TargetKind::Classes, ..Default::default() };
    assert_eq!(classes(&read(Format::Arff, text, &options).unwrap()), ["2", "4"]);
}

#[test]
fn sparse_rows_leave_out_defaults() {
    let data = get(&format!("{HEAD}{{0 1.5, 2 c}}\n{{ }}\n{{1 1}}\n1,0,c\n"));
    assert!(data.x.is_sparse());
    assert_eq!(rows(&data), [[1.5, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(classes(&data), ["c", "a b", "a b", "c"]);
    // The default of a nominal attribute is its first name, even if that is not 0.
    let text = "@relation r\n@attribute a {1,0}\n@attribute y numeric\n@data\n{}\n{0 0, 1 2.5}\n";
    let data = get(text);
    assert_eq!((rows(&data), data.target), (vec![vec![1.0], vec![0.0]], Target::Real(vec![0.0, 2.5])));
}

#[test]
fn nominal_features() {
    let text = "@relation r\n@attribute color {red,green}\n@attribute n numeric\n@attribute y {0,1}\n@data\n";
    assert!(fail(&format!("{text}red,1,0\n")).contains("column `color` holds text"));
    let options = ReadOptions { one_hot: true, ..Default::default() };
    let dense = read(Format::Arff, &format!("{text}red,1,0\ngreen,2,1\n"), &options).unwrap();
    assert_eq!(dense.feature_names.as_ref().unwrap(), &["color=green", "color=red", "n"]);
    let sparse = read(Format::Arff, &format!("{text}{{1 1}}\n{{0 green, 1 2, 2 1}}\n"), &options).unwrap();
    assert_eq!((rows(&dense), classes(&dense)), (rows(&sparse), classes(&sparse)));
}

#[test]
fn multi_label_files() {
    let head =
        |count: &str| format!("@relation 'scene: -C {count}'\n@attribute a {{0,1}}\n@attribute b numeric\n@attribute c {{0,1}}\n@data\n");
    let first = get(&format!("{}1,2.5,0\n", head("1")));
    let Target::Labels(labels) = &first.target else { panic!("labels") };
    assert_eq!((labels.names().join(""), labels.row(0)[0], rows(&first)), ("a".to_owned(), true, vec![vec![2.5, 0.0]]));
    let last = get(&format!("{}{{0 1, 2 1}}\n", head("-2")));
    let Target::Labels(labels) = &last.target else { panic!("labels") };
    assert_eq!((labels.names().join(""), rows(&last)), ("bc".to_owned(), vec![vec![1.0]]));
    let named = ReadOptions { labels: vec!["c".into(), "a".into()], ..Default::default() };
    let mulan = read(Format::Arff, &format!("{}1,2,0\n", head("0")), &named).unwrap();
    let Target::Labels(labels) = &mulan.target else { panic!("labels") };
    assert_eq!((labels.names().join(""), labels.row(0)), ("ca".to_owned(), &[false, true][..]));
    assert!(fail(&format!("{}1,2,0\n", head("-4"))).contains("only 3 attributes"));
    assert!(fail(&format!("{}1,2,0\n", head("-9223372036854775808"))).contains("only 3 attributes"));
}

#[test]
fn mistakes_have_a_line_and_a_reason() {
    for (text, place, reason) in [
        (format!("{HEAD}1,1\n"), "file:7: ", "2 values; the header declares 3"),
        (format!("{HEAD}1,2,c\n"), "file:7: ", "`2` is not one of its declared values {0, 1}"),
        (format!("{HEAD}1,1,c\n?,1,c\n"), "file:8: ", "column `sepal length` is missing"),
        (format!("{HEAD}1,1,'c\n"), "file:7: ", "never closed"),
        (format!("{HEAD}{{0 1\n"), "file:7: ", "must end in `}`"),
        (format!("{HEAD}{{0 1, 0 2}}\n"), "file:7: ", "index 0 follows index 0"),
        (format!("{HEAD}{{9 1}}\n"), "file:7: ", "the last attribute has index 2"),
        (format!("{HEAD}{{x 1}}\n"), "file:7: ", "entries are written `index value`"),
        (format!("{HEAD}1,1,c\n{{0 1}}\n"), "file:8: ", "first row is dense"),
        ("@relation r\n@attribute a foo\n@data\n1\n".to_owned(), "file:2: ", "it must be numeric"),
        ("@relation r\n@attribute a {x\n@data\n1\n".to_owned(), "file:2: ", "do not end in `}`"),
        ("@relation r\n@attribute s string\n@attribute a numeric\n@data\nx,1\n".to_owned(), "file: ", "column `s` holds text"),
        ("@relation r\n@data\n1\n".to_owned(), "file:2: ", "no `@attribute`"),
        ("@relation r\n1,2\n".to_owned(), "file:2: ", "only @relation, @attribute and @data"),
        ("@relation r\n@attribute a real\n".to_owned(), "file: ", "there is no `@data`"),
        (HEAD.to_owned(), "file: ", "there are no data rows"),
    ] {
        let found = fail(&text);
        assert!(found.starts_with(place) && found.contains(reason), "{text:?}: {found}");
    }
}

#[test]
fn a_scan_reports_every_bad_line() {
    let (found, rows) = problems(Format::Arff, &format!("{HEAD}1,1,c\nx,1,c\n\n1,1\n2,0,c\n"), &ReadOptions::default());
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [8, 10]);
    assert_eq!(rows, 2);
}
