//! Public data sets, if the environment variable `BOULEVARD_DATA` says where they are.

use std::path::PathBuf;
use std::time::Instant;

use boulevard::data::io::{Format, Missing, ReadOptions};
use boulevard::data::{Dataset, Target};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("BOULEVARD_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: BOULEVARD_DATA is not set");
    }
    folder
}

#[test]
fn shapes_are_as_published() {
    let Some(folder) = folder() else { return };
    let plain = ReadOptions::default();
    let one_hot = ReadOptions { one_hot: true, ..plain.clone() };
    let drop = ReadOptions { missing: Missing::DropRow, ..plain.clone() };
    for (file, options, rows, columns, classes) in [
        ("ionosphere.csv", &plain, 351, 34, 2),
        ("breast_cancer.csv", &drop, 683, 9, 2),
        ("spambase.csv.gz", &plain, 4601, 57, 2),
        ("cmc.csv", &plain, 1473, 9, 3),
        ("splice.csv.gz", &one_hot, 3190, 287, 3),
        ("dermatology.csv", &drop, 358, 34, 6),
        ("crabs.csv", &one_hot, 200, 8, 2),
        ("letter.csv.gz", &plain, 20_000, 16, 26),
        ("a9a_train.csv.gz", &plain, 32_561, 123, 2),
        ("usps_test.csv.gz", &plain, 2007, 256, 10),
        ("ida/banana.csv.gz", &plain, 5300, 2, 2),
    ] {
        let data = Dataset::read_with(folder.join(file), options).unwrap();
        data.validate().unwrap();
        assert_eq!((data.len(), data.x.columns(), data.expect_classes().unwrap().names().len()), (rows, columns, classes), "{file}");
    }
    let missing = Dataset::read(folder.join("breast_cancer.csv")).unwrap_err().to_string();
    assert!(missing.contains("column `bare_nuclei` is missing"), "{missing}");
}

#[test]
fn several_labels() {
    let Some(folder) = folder() else { return };
    let options = ReadOptions { labels: vec!["label_*".into()], ..Default::default() };
    let data = Dataset::read_with(folder.join("scene_train.csv.gz"), &options).unwrap();
    let Target::Labels(labels) = &data.target else { panic!("labels") };
    let counts: Vec<usize> = (0..6).map(|label| labels.label(label).filter(|&on| on).count()).collect();
    assert_eq!((data.len(), data.x.columns(), counts), (1211, 294, vec![227, 165, 197, 196, 277, 224]));
}

#[test]
fn every_format_gives_the_same_data_back() {
    let Some(folder) = folder() else { return };
    // One dense set with many digits, one that is mostly zeros.
    for file in ["isolet_1234.csv.gz", "a9a_train.csv.gz"] {
        let data = Dataset::read(folder.join(file)).unwrap();
        let formats = [Format::Csv, Format::Libsvm, Format::Arff, Format::Parquet];
        for format in formats.into_iter().filter(|format| cfg!(feature = "parquet") || *format != Format::Parquet) {
            let mut bytes = Vec::new();
            data.write_to(&mut bytes, "memory", format).unwrap();
            let start = Instant::now();
            let back = Dataset::read_from(&bytes[..], "memory", &ReadOptions { format: Some(format), ..Default::default() }).unwrap();
            let speed = bytes.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
            eprintln!("{file} as {format:?}: {:.1} MB read at {speed:.0} MB/s", bytes.len() as f64 / 1e6);
            assert!(back.x.to_dense() == data.x.to_dense(), "{file} as {format:?}");
            assert_eq!(back.target, data.target);
        }
    }
}
