//! What is written is read back to the last bit.

use proptest::prelude::*;

use super::*;
use crate::data::io::TargetKind;
use crate::data::{Categories, LabelMatrix};

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![3 => any::<f64>().prop_filter("finite", |value| value.is_finite()), 1 => Just(0.0), 1 => Just(-0.0), 1 => (-9i32..9).prop_map(f64::from)]
}

/// A name every format can hold.
fn name() -> impl Strategy<Value = String> {
    // Never `nan` or `inf`, which text formats take for numbers.
    "c[a-z]{0,2}"
}

/// A name with everything that needs quotes.
fn odd_name() -> impl Strategy<Value = String> {
    "[a-zé,;'\"%{}\\\\\n\t# ]{0,4}".prop_map(|name| format!("x{name}x"))
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    None,
    Classes,
    Real,
    Labels,
}

fn dataset(names: BoxedStrategy<String>) -> impl Strategy<Value = Dataset<'static>> {
    let goal = prop_oneof![Just(Goal::None), Just(Goal::Classes), Just(Goal::Real), Just(Goal::Labels)];
    (1usize..6, 1usize..5, any::<bool>(), any::<bool>(), goal).prop_flat_map(move |(rows, columns, sparse, extras, goal)| {
        let values = prop::collection::vec(value(), rows * columns);
        let texts = prop::collection::vec(names.clone(), rows);
        let reals = prop::collection::vec(value(), rows);
        let flags = prop::collection::vec(any::<bool>(), rows * 2);
        let weights = prop::collection::vec(0.1f64..9.0, rows);
        let features = prop::collection::hash_set(names.clone(), columns);
        (values, texts, reals, flags, weights, features).prop_map(move |(values, texts, mut reals, flags, weights, features)| {
            // A whole-number target is read as classes unless asked for: make sure of a fraction.
            reals[0] = 0.5;
            let target = match goal {
                Goal::None => Target::None,
                Goal::Classes => Target::Classes(Categories::from_names(&texts)),
                Goal::Real => Target::Real(reals),
                Goal::Labels => Target::Labels(LabelMatrix::new(flags, vec!["label_a".into(), "label_b".into()]).unwrap()),
            };
            let x = Matrix::dense(values, rows, columns).unwrap();
            let mut data = Dataset::new(if sparse { x.to_sparse() } else { x }, target);
            data.feature_names = Some(features.into_iter().collect());
            if extras {
                data.weights = Some(weights);
                data.groups = Some(Categories::from_names(&texts));
            }
            data
        })
    })
}

fn options(data: &Dataset<'_>, format: Format) -> ReadOptions {
    let text = format == Format::Libsvm;
    ReadOptions {
        format: Some(format),
        target: match &data.target {
            Target::None => TargetKind::None,
            Target::Labels(_) if text => TargetKind::Labels,
            _ => TargetKind::Auto,
        },
        labels: if let Target::Labels(labels) = &data.target { labels.names().to_vec() } else { Vec::new() },
        weight: data.weights.as_ref().map(|_| if text { "cost" } else { "weight" }.to_owned()),
        group: data.groups.as_ref().map(|_| if text { "qid" } else { "group" }.to_owned()),
        ..Default::default()
    }
}

fn bits(data: &Dataset<'_>) -> Vec<Vec<u64>> {
    rows(data).into_iter().map(|row| row.into_iter().map(f64::to_bits).collect()).collect()
}

fn check(data: &Dataset<'static>, format: Format) {
    let mut bytes = Vec::new();
    data.write_to(&mut bytes, "out", format).unwrap();
    let back = Dataset::read_from(&bytes[..], "in", &options(data, format))
        .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&bytes)));
    let shown = String::from_utf8_lossy(&bytes);
    assert_eq!(bits(&back), bits(data), "{shown}");
    assert_eq!(back.target, data.target, "{shown}");
    assert_eq!((&back.weights, &back.groups), (&data.weights, &data.groups), "{shown}");
    if format != Format::Libsvm {
        assert_eq!(back.feature_names, data.feature_names, "{shown}");
    }
}

proptest! {
    #[test]
    fn libsvm(data in dataset(name().boxed())) {
        check(&data, Format::Libsvm);
    }

    #[test]
    fn csv(data in dataset(odd_name().boxed())) {
        check(&data, Format::Csv);
    }

    #[test]
    fn arff(data in dataset(odd_name().boxed())) {
        check(&data, Format::Arff);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet(data in dataset(odd_name().boxed())) {
        check(&data, Format::Parquet);
    }
}

#[test]
fn files_by_extension() {
    let folder = tempfile::tempdir().unwrap();
    let x = Matrix::from_rows(&[[1.0, 0.1], [0.0, -3e-7]]).unwrap();
    let data = Dataset::classes(x, Categories::from_names(&["a", "b"]));
    let mut names = vec!["a.svm", "b.libsvm.gz", "c.csv", "d.csv.gz", "e.tsv", "f.arff", "g.arff.gz", "h.txt", "i.dat"];
    if cfg!(feature = "parquet") {
        names.push("j.parquet");
    }
    for name in &names {
        let path = folder.path().join(name);
        data.write(&path).unwrap();
        let back = Dataset::read(&path).unwrap();
        assert_eq!((rows(&back), &back.target), (rows(&data), &data.target), "{name}");
        let gzip = std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]);
        assert_eq!(gzip, name.ends_with(".gz"));
        // Without an extension the first bytes tell.
        let bare = folder.path().join("bare");
        std::fs::rename(&path, &bare).unwrap();
        assert_eq!(rows(&Dataset::read(&bare).unwrap()), rows(&data), "{name}");
        std::fs::remove_file(bare).unwrap();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(data.write(folder.path().join("a.xlsx")).unwrap_err().to_string().contains("does not say which format"));
    assert!(Dataset::read(folder.path()).unwrap_err().to_string().contains("is a folder"));
    assert!(Dataset::read(folder.path().join("none.csv")).unwrap_err().to_string().contains("none.csv"));
}

#[test]
fn what_cannot_be_read_back_is_not_written() {
    let of = |class: &str| Dataset::classes(Matrix::from_rows(&[[1.0]]).unwrap(), Categories::from_names(&[class]));
    let refused = |data: &Dataset<'_>, format| data.write_to(Vec::new(), "out", format).is_err();
    for class in ["", "?", "NA", " a", "nan"] {
        assert!(refused(&of(class), Format::Csv), "{class:?}");
    }
    for class in ["a b", "a,b", "a:b", "a#", "inf"] {
        assert!(refused(&of(class), Format::Libsvm), "{class:?}");
        assert!(!refused(&of(class), Format::Csv), "{class:?}");
    }
    let nan = Dataset::new(Matrix::from_rows(&[[f64::NAN]]).unwrap(), Target::None);
    assert!(refused(&nan, Format::Csv) && refused(&nan, Format::Libsvm));
    let mut twice = Dataset::new(Matrix::from_rows(&[[1.0, 2.0]]).unwrap(), Target::None);
    twice.feature_names = Some(vec!["a".into(), "a".into()]);
    assert!(refused(&twice, Format::Arff));
    let short = Dataset::new(Matrix::from_rows(&[[1.0], [2.0]]).unwrap(), Target::Real(vec![1.0]));
    assert!(refused(&short, Format::Csv));
    let most = ReadOptions { max_features: Some(1 << 32), ..ReadOptions::default() };
    let wide = Dataset::read_from(&b"1 4294967296:1\n"[..], "w.svm", &most).unwrap();
    assert!(refused(&wide, Format::Csv) && !refused(&wide, Format::Libsvm));
    #[cfg(not(feature = "parquet"))]
    assert!(of("a").write("x.parquet").unwrap_err().to_string().contains("--features parquet"));
}
