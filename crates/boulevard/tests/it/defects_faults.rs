//! Readers that fail in the middle, and what was left of the forged models: an error in words, never a panic or an answer that is not finite.

use std::io::{self, Read};

use boulevard::data::io::{Format, ReadOptions, read_whole_from, scan_from};
use boulevard::data::{Matrix, RangeFile, Sets, generate};
use boulevard::methods::multi_sample::Method;
use boulevard::persist::AnyModel;
use boulevard::prelude::*;
use boulevard::svm::Rows;

/// Gives some bytes, then fails as a disk or a network does.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the cable was pulled"));
        }
        let count = self.0.len().min(buffer.len()).min(7);
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn a_reader_that_fails_in_the_middle_is_an_error_that_says_so() {
    let arff = "@relation r\n@attribute a real\n@attribute y {p,q}\n@data\n1,p\n2,q\n3,p\n";
    for (text, format) in
        [("1 1:1 2:2\n-1 1:2\n1 3:1\n", Format::Libsvm), ("a,b,label\n1,2,x\n3,4,y\n5,6,x\n", Format::Csv), (arff, Format::Arff)]
    {
        for one_hot in [false, true] {
            for end in 0..text.len() {
                let options = ReadOptions { format: Some(format), one_hot, ..ReadOptions::default() };
                for result in [
                    read_whole_from(Failing(&text.as_bytes()[..end]), "f", &options),
                    scan_from(Failing(&text.as_bytes()[..end]), "f", &options, &mut |_| {}),
                ] {
                    let message = result.err().unwrap_or_else(|| panic!("{format:?} cut at {end} was read")).to_string();
                    assert!(message.contains("the cable was pulled"), "{format:?} at {end}: {message}");
                }
            }
        }
    }
}

#[test]
fn a_range_file_cut_after_its_second_line_was_read_as_one_without_features() {
    let file = RangeFile { target: None, low: -1.0, high: 1.0, features: vec![(0, 0.5, 3.0), (1, -1.0, 1.0), (3, 0.0, 12.0)] };
    let folder = std::env::temp_dir().join(format!("boulevard-cut-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for file in [file.clone(), RangeFile { features: Vec::new(), ..file }] {
        let path = folder.join("r");
        file.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(RangeFile::parse(&text, &path).unwrap(), file);
        for cut in 0..text.len() - 1 {
            assert!(RangeFile::parse(&text[..cut], &path).is_err(), "{:?} was read", &text[..cut]);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    // Older files have the mark on the line of the first feature; those of svm-scale have none.
    let path = std::path::Path::new("r");
    assert_eq!(RangeFile::parse("x\n-1 1\n1 0 1 \n2 0 1\n#features 2\n", path).unwrap().features.len(), 2);
    assert!(RangeFile::parse("x\n-1 1\n1 0 1 \n2 0 1\n", path).is_err());
    assert_eq!(RangeFile::parse("x\n-1 1\n1 0 1\n2 0 1\n", path).unwrap().features.len(), 2);
}

/// Asks a model that was changed by hand about ordinary rows: finite decisions, or an error.
fn answers(model: AnyModel, x: &Matrix<'_>, what: &str) {
    let Ok(bytes) = model.to_bytes() else { return };
    // A model whose decisions would overflow may be refused.
    let Ok(model) = AnyModel::from_bytes(&bytes) else { return };
    let sets = Sets::singles(x.rows());
    let rows = Rows { x, sets: model.decides_sets().then_some(&sets), tasks: None };
    if let Ok(decisions) = model.decide(&rows, &Context::single()) {
        assert!(decisions.values.iter().all(|v| v.is_finite()), "{what}: {:?}", decisions.values);
    }
}

#[test]
fn forged_machines_of_sets_centers_of_inductions_and_fronts_gave_answers_that_are_not_finite() {
    let data = generate::two_gaussians(60, 1, 3, 1.0);
    let sets = MultiSample { method: Method::Direct, tune: false, n_samples_per_decision: 2, ..MultiSample::default() }.fit(&data).unwrap();
    let induction = FeatureInduction { max_induced: 3, ..FeatureInduction::default() }.fit(&data).unwrap();
    let front = ParetoSvc { n_points: 4, ..ParetoSvc::default() }.fit(&data).unwrap();
    for value in [1e308, -1e308, 1e200, f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 5e-324] {
        let mut forged = sets.clone();
        forged.machines[0].coefficients[0] = value;
        answers(forged.into(), &data.x, "coefficient of a machine for sets");
        let mut forged = sets.clone();
        forged.machines[0].intercepts[0] = value;
        answers(forged.into(), &data.x, "intercept of a machine for sets");
        let mut forged = sets.clone();
        forged.separation[1] = value;
        answers(forged.into(), &data.x, "separation");
        let mut forged = induction.clone();
        forged.standard.center[0] = value;
        answers(forged.into(), &data.x, "center");
        let mut forged = induction.clone();
        forged.standard.spread[0] = value;
        answers(forged.into(), &data.x, "spread");
        let mut forged = front.clone();
        forged.machines[0].biases[0] = value;
        answers(forged.into(), &data.x, "bias of a front");
        let mut forged = front.clone();
        forged.machines[0].alphas[0] = value;
        answers(forged.into(), &data.x, "multiplier of a front");
        let mut forged = front.clone();
        forged.classifier.machine.intercepts[0] = value;
        answers(forged.into(), &data.x, "intercept of a front's classifier");
    }
}

#[test]
fn a_table_whose_decisions_overflow_is_an_error_that_names_the_row() {
    let data = generate::two_gaussians(60, 1, 3, 1.0);
    let model = AnyModel::from(Svc { kernel: Kernel::poly(3, 1.0, 0.0), ..Svc::default() }.fit(&data).unwrap());
    let x = Matrix::from_rows(&[[1.0, 1.0, 1.0], [1e200, -1e200, 1e200]]).unwrap();
    let message = model.decision_values(&x).unwrap_err().to_string();
    assert!(message.contains("overflow"), "{message}");
}

#[test]
fn the_label_is_found_by_the_features_that_are_known() {
    let read = |text: &str, features: &[&str]| {
        let features = Some(features.iter().map(|name| (*name).to_owned()).collect());
        boulevard::data::Dataset::read_from(text.as_bytes(), "f.csv", &ReadOptions { features, one_hot: true, ..ReadOptions::default() })
    };
    let data = read("y,a,b\np,1,2\nq,3,4\n", &["a", "b"]).unwrap();
    assert_eq!(data.feature_names.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(data.expect_classes().unwrap().names(), ["p", "q"]);
    // Several others: the last of them; none: no label.
    let data = read("id,y,a,b\nk,p,1,2\nl,q,3,4\n", &["a", "b"]).unwrap();
    assert_eq!((data.x.columns(), data.expect_classes().unwrap().names().len()), (2, 2));
    assert!(matches!(read("a,b\n1,2\n3,4\n", &["b", "a"]).unwrap().target, Target::None));
    // Values of one-hot columns stand for their column; a file without all of them is read as ever.
    assert_eq!(read("color,y\nred,p\nblue,q\n", &["color=red"]).unwrap().expect_classes().unwrap().names(), ["p", "q"]);
    assert_eq!(read("y,a,b\n1,1,p\n2,3,q\n", &["a", "z"]).unwrap().x.columns(), 2);
}
