//! Manners of files: messages on one line with the right line number, headers that are data, counts that overflow, files cut short, and
//! model files with forged numbers.

use std::path::Path;

use boulevard::data::io::{Format, ReadOptions};
use boulevard::data::{Dataset, RangeFile, generate};
use boulevard::persist::AnyModel;
use boulevard::prelude::*;

fn read(text: &str, format: Format) -> boulevard::Result<Dataset<'static>> {
    Dataset::read_from(text.as_bytes(), "f", &ReadOptions { format: Some(format), ..ReadOptions::default() })
}

fn complaint(text: &str, format: Format) -> String {
    read(text, format).err().unwrap_or_else(|| panic!("{text:?} was read")).to_string()
}

#[test]
fn an_unclosed_quote_is_reported_on_the_line_where_its_row_starts() {
    for (text, line) in [
        ("a,label\n1,x\n\"2,y\n3,x\n", 3),
        ("a,label\n1,x\n2,y\n\"3,x\n", 4),
        ("a,label\n1,x\n\"2,y\n3,x", 3),
        ("a,label\r\n1,x\r\n\"2,y\r\n3,x\r\n", 3),
        ("a,label\n1,x\n\n\"2,y\n\n\n", 4),
        // A quoted line end that is closed, and a row that is too long for another reason.
        ("a,label\n1,\"x\n\"\n2,y,z\n", 4),
        ("a,label\n1,x\n2,y,\"z\n\"\n", 3),
    ] {
        let message = complaint(text, Format::Csv);
        assert!(message.starts_with(&format!("f:{line}: ")), "{text:?}: {message}");
    }
}

#[test]
fn a_message_with_a_line_end_in_a_column_name_is_one_line() {
    let message = complaint("\"a\nb\",label\nx,1\n", Format::Csv);
    assert!(!message.contains('\n') && message.contains("a\\nb"), "{message}");
    let message = complaint("\"a\nb\",\"a\nb\",label\n1,2,x\n", Format::Csv);
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn a_first_row_of_data_is_not_taken_for_a_header() {
    let message = complaint("5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n7.0,3.2,4.7,1.4,versicolor\n", Format::Csv);
    assert!(message.starts_with("f:1: ") && message.contains("looks like data"), "{message}");
    // Years and wavelengths are names.
    assert_eq!(read("2018,2019,2020,label\n1,2,3,a\n3,2,1,b\n", Format::Csv).unwrap().len(), 2);
    assert_eq!(read("400.5,402,410.25,label\n1,2,3,a\n3,2,1,b\n", Format::Csv).unwrap().len(), 2);
    // So is whatever the caller names a column of.
    let options = ReadOptions { format: Some(Format::Csv), label: Some("y".into()), ..ReadOptions::default() };
    assert_eq!(Dataset::read_from("3,1,y\n1,2,a\n2,1,b\n".as_bytes(), "f", &options).unwrap().len(), 2);
}

#[test]
fn a_number_of_labels_that_overflows_is_refused_in_arff() {
    let file = |count: &str| format!("@relation 'r: -C {count}'\n@attribute a real\n@attribute l {{0,1}}\n@data\n1,0\n2,1\n");
    let message = complaint(&file("99999999999999999999"), Format::Arff);
    assert!(message.starts_with("f:1: ") && message.contains("-C 99999999999999999999"), "{message}");
    assert!(complaint(&file("3"), Format::Arff).contains("only 2 attributes"));
    assert!(read(&file("-1"), Format::Arff).is_ok());
}

#[test]
fn a_range_file_cut_at_a_line_end_is_refused() {
    let folder = std::env::temp_dir().join(format!("boulevard-ranges-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("r");
    let file = RangeFile { target: None, low: -1.0, high: 1.0, features: vec![(0, 0.5, 3.0), (1, -1.0, 1.0), (3, 0.0, 12.0)] };
    file.write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("x\n-1 1 \n1 0.5 3\n"), "{text}");
    assert_eq!(RangeFile::read(&path).unwrap(), file);
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    for &end in &ends[2..ends.len() - 1] {
        let message = RangeFile::parse(&text[..end], Path::new("r")).unwrap_err().to_string();
        assert!(message.contains("cut short"), "{message}");
    }
    // Those of svm-scale have no such line.
    assert_eq!(RangeFile::parse(&file.to_text(), Path::new("r")).unwrap(), file);
    // Nothing is left beside it.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn forged_models_with_huge_numbers_or_minus_infinity_are_refused() {
    let data = generate::two_gaussians(60, 1, 3, 1.0);
    let svc = Svc { kernel: Kernel::Linear, ..Svc::default() }.fit(&data).unwrap();
    let linear = LinearSvc::default().fit(&data).unwrap();
    let boosted = BoostedSvc::default().fit(&data).unwrap();
    let selection = MultiTaskSelection::default().fit(&data).unwrap();
    assert!(AnyModel::from(svc.clone()).to_bytes().is_ok() && AnyModel::from(linear.clone()).to_bytes().is_ok());
    assert!(AnyModel::from(boosted.clone()).to_bytes().is_ok() && AnyModel::from(selection.clone()).to_bytes().is_ok());
    // Saving asks what loading asks: a forged file would have to pass the same questions.
    for value in [1e308, -1e308, f64::NEG_INFINITY, f64::INFINITY, f64::NAN] {
        let mut forged = svc.clone();
        forged.machine.coefficients[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "coefficient {value}");
        let mut forged = svc.clone();
        forged.machine.intercepts[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "intercept {value}");
        let mut forged = linear.clone();
        forged.machine.weights[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "weight {value}");
        let mut forged = linear.clone();
        forged.machine.biases[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "bias {value}");
        let mut forged = boosted.clone();
        forged.machines[0].intercepts[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "boosted intercept {value}");
        let mut forged = selection.clone();
        forged.intercepts[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "selection intercept {value}");
        let mut forged = selection.clone();
        forged.weights[0] = value;
        assert!(AnyModel::from(forged).to_bytes().is_err(), "selection weight {value}");
    }
    let mut forged = svc;
    let mut values = vec![0.0; forged.machine.vectors.rows() * 3];
    values[0] = 1e200;
    forged.machine.vectors = Matrix::dense(values, forged.machine.vectors.rows(), 3).unwrap();
    assert!(AnyModel::from(forged).to_bytes().is_err(), "a vector whose square overflows");
}

#[test]
fn a_target_out_of_reach_of_the_bias_is_noted() {
    let data = generate::two_gaussians(60, 1, 3, 1.0);
    let y = |offset: f64| (0..60).map(|row| data.x.get(row, 0) + offset).collect::<Vec<_>>();
    let given = MultiTaskSelection { c: Some(3.0), rho: Some(0.01), ..MultiTaskSelection::default() };
    let fit = |offset: f64| given.fit(&Dataset::new(data.x.clone(), Target::Real(y(offset)))).unwrap();
    assert!(fit(1000.0).notes.iter().any(|note| note.contains("prior of the bias")), "{:?}", fit(1000.0).notes);
    assert!(fit(0.0).notes.is_empty());
    // Chosen automatically, targets are standardized inside: an offset only moves the intercept.
    let fit = |offset: f64| MultiTaskSelection::default().fit(&Dataset::new(data.x.clone(), Target::Real(y(offset)))).unwrap();
    let (near, far) = (fit(0.0), fit(1000.0));
    assert!(far.notes.is_empty(), "{:?}", far.notes);
    assert!((far.intercepts[0] - near.intercepts[0] - 1000.0).abs() < 1e-6, "{:?} {:?}", far.intercepts, near.intercepts);
}
