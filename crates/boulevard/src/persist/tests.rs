//! Round trips to the bit, and files that are damaged in every way.

use std::sync::Arc;

use super::*;
use crate::data::{Categories, Dataset, Matrix, generate};
use crate::error::Result;
use crate::kernel::{Custom, Kernel, KernelFunction};
use crate::methods::feature_induction::{Amount, Depth, FeatureInduction};
use crate::methods::pareto::{Bias, ParetoModel, ParetoSvc};
use crate::svm::*;

fn three_classes() -> Dataset<'static> {
    let shape = generate::Clusters { classes: 3, ..generate::Clusters::default() };
    let mut data = generate::classification(60, 2, &shape).unwrap();
    data.feature_names = Some((0..data.x.columns()).map(|j| format!("feature \"{j}\" \u{3b1}\n")).collect());
    data
}

fn small() -> SvcModel {
    let x = Matrix::from_rows(&[[-1.0, 0.5], [1.0, 0.25]]).unwrap();
    Svc { kernel: Kernel::rbf(0.3), ..Svc::default() }.fit(&Dataset::classes(x, Categories::from_names(&["a", "b"]))).unwrap()
}

fn to_f32(x: &Matrix<'_>) -> Matrix<'static> {
    let values: Vec<f32> = (0..x.rows()).flat_map(|i| (0..x.columns()).map(move |j| x.get(i, j) as f32)).collect();
    Matrix::dense_f32(values, x.rows(), x.columns()).unwrap()
}

/// All kinds, storages and layouts.
fn models() -> Vec<AnyModel> {
    let data = three_classes();
    let mut models: Vec<AnyModel> = Vec::new();
    for x in [data.x.clone(), to_f32(&data.x), data.x.to_sparse()] {
        let data = Dataset { x, ..data.clone() };
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            for kernel in [Kernel::default(), Kernel::poly(3, 0.1, 0.7), Kernel::Linear] {
                let calibrate = multiclass == Multiclass::OneVsOne;
                models.push(Svc { kernel, multiclass, calibrate, seed: u64::MAX, ..Svc::default() }.fit(&data).unwrap().into());
            }
        }
        models.push(OneClass { nu: 0.1 + 0.2, ..OneClass::default() }.fit(&data).unwrap().into());
    }
    let sum = Kernel::Sum {
        terms: vec![(1.0 / 3.0, Kernel::rbf(0.1)), (2.0, Kernel::Normalized { kernel: Box::new(Kernel::poly(2, 1.0, 1.0)) })],
    };
    let real = generate::regression(50, 1, 2, 0.3);
    for kernel in [sum, Kernel::default(), Kernel::Epanechnikov { gamma: 0.01.into(), degree: 2 }] {
        for tube in [Tube::Epsilon(0.1), Tube::Nu(0.3)] {
            models.push(Svr { kernel: kernel.clone(), tube, ..Svr::default() }.fit(&real).unwrap().into());
        }
    }
    let gram: Vec<f64> = (0..20).flat_map(|i| (0..20).map(move |j| (-0.1 * f64::powi(f64::from(i - j), 2)).exp())).collect();
    let square = Dataset::classes(Matrix::dense(gram, 20, 20).unwrap(), Categories::from_names(&["p", "q"].repeat(10)));
    models.push(Svc { kernel: Kernel::Precomputed, ..Svc::default() }.fit(&square).unwrap().into());
    let front = ParetoSvc { n_points: 4, calibrate: true, seed: u64::MAX, ..ParetoSvc::default() };
    models.push(front.fit(&data).unwrap().into());
    models.push(front.fit(&Dataset { x: data.x.to_sparse(), ..data.clone() }).unwrap().into());
    models.push(ParetoSvc { kernel: Kernel::Precomputed, bias: Bias::Objective, ..front }.fit(&square).unwrap().into());
    models.push(small().into());
    let induce = FeatureInduction { n_induced: Amount::Exactly(4), calibrate: true, ..FeatureInduction::default() };
    models.push(induce.fit(&data).unwrap().into());
    models.push(FeatureInduction { kernel: Kernel::rbf(0.2), max_depth: Depth::AtMost(2), ..induce.clone() }.fit(&data).unwrap().into());
    models.push(
        FeatureInduction { max_induced: 6, calibrate: false, ..FeatureInduction::default() }.fit(&generate::banana(60, 1)).unwrap().into(),
    );
    models
}

#[test]
fn every_model_comes_back_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    for model in models() {
        let bytes = model.to_bytes().unwrap();
        assert_eq!(bytes, model.to_bytes().unwrap(), "the same model makes the same bytes");
        assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), model);
        model.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        let loaded = AnyModel::load(&path).unwrap();
        assert_eq!((&loaded, loaded.to_bytes().unwrap()), (&model, bytes));
        assert_eq!(read_kind(&path).unwrap(), model.kind());
        assert_eq!((loaded.report(), loaded.features()), (model.report(), model.features()));
        assert_eq!(loaded.feature_names(), model.feature_names());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn odd_numbers_come_back() {
    let mut model = small();
    model.report.gap = f64::INFINITY;
    model.report.objective = -0.0;
    model.report.violation = 5e-324;
    model.machine.coefficients[0] = -0.0;
    model.machine.vectors = Matrix::from_rows(&[[f64::MAX, 5e-324], [-0.0, 0.1]]).unwrap();
    let bytes = AnyModel::from(model.clone()).to_bytes().unwrap();
    let AnyModel::Svc(back) = AnyModel::from_bytes(&bytes).unwrap() else { panic!("a classifier") };
    assert_eq!(back, model);
    assert!(back.report.objective.is_sign_negative() && back.machine.coefficients[0].is_sign_negative());
}

#[test]
fn another_kind_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    small().save(&path).unwrap();
    assert_eq!(SvcModel::load(&path).unwrap(), small_with_the_time_of(&path));
    let message = SvrModel::load(&path).unwrap_err().to_string();
    assert_eq!(message, format!("{}: the file holds a model of kind `svc`, not `svr`", path.display()));
    assert!(OneClassModel::load(folder.path().join("none")).unwrap_err().to_string().contains("none"));
}

fn small_with_the_time_of(path: &std::path::Path) -> SvcModel {
    let mut model = small();
    model.report.seconds = AnyModel::load(path).unwrap().report().seconds;
    model
}

#[test]
fn no_damage_goes_unnoticed() {
    let model = AnyModel::from(small());
    let bytes = model.to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(AnyModel::from_bytes(&bytes[..length]).is_err(), "cut to {length} bytes");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(AnyModel::from_bytes(&longer).is_err());
    let mut damaged = bytes.clone();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            damaged[place] = bytes[place] ^ (1 << bit);
            // Blanks between the header and the arrays are the only bytes that mean nothing.
            if let Ok(read) = AnyModel::from_bytes(&damaged) {
                assert!(bytes[place] == b' ' && read == model, "bit {bit} of byte {place}");
            }
        }
        for byte in [0, 0xff, b'"', b'9', b'}'] {
            damaged[place] = byte;
            let _ = AnyModel::from_bytes(&damaged);
        }
        damaged[place] = bytes[place];
    }
}

fn forged(change: impl Fn(&mut SvcModel)) -> Result<Vec<u8>> {
    let mut model = small();
    change(&mut model);
    AnyModel::from(model).to_bytes()
}

#[test]
fn inconsistent_models_are_neither_written_nor_read() {
    type Change = fn(&mut SvcModel);
    let changes: [(Change, &str); 14] = [
        (|m| m.machine.coefficients[1] = f64::NAN, "the coefficients contains NaN at row 0, column 1"),
        (|m| m.machine.coefficients.push(1.0), "coefficients: expected 2, found 3"),
        (|m| m.machine.support.push(7), "support vectors, one per support row: expected 3, found 2"),
        (|m| m.machine.intercepts[0] = f64::NEG_INFINITY, "the intercepts contains -inf"),
        (|m| m.machine.intercepts.clear(), "intercepts, one per pair of classes: expected 1, found 0"),
        (|m| m.machine.layout = Layout::Pairs(vec![usize::MAX, 3]), "support vectors of all classes: expected 2"),
        (|m| m.machine.layout = Layout::Full, "outputs of the machine: expected 2, found 1"),
        (|m| m.machine.features = 9, "columns of the support vectors: expected 9, found 2"),
        (|m| m.machine.tolerance = f64::NAN, "`tolerance`"),
        (|m| m.machine.kernel = Kernel::default(), "rule that was not resolved"),
        (|m| m.machine.kernel = Kernel::rbf(f64::INFINITY), "`gamma`"),
        (|m| m.classes[1] = "a".into(), "class `a` is named twice"),
        (|m| m.feature_names = Some(vec!["one".into()]), "feature names, one per column: expected 2, found 1"),
        (|m| m.calibration = Some(Calibration::plain(vec![])), "sigmoids, one per output: expected 1, found 0"),
    ];
    for (change, expected) in changes {
        let message = forged(change).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert!(forged(|m| m.parameters.class_weight = ClassWeight::Given(vec![("a".into(), f64::NAN)])).is_err());
}

#[test]
fn inconsistent_fronts_are_neither_written_nor_read() {
    let model = ParetoSvc { n_points: 4, ..ParetoSvc::default() }.fit(&three_classes()).unwrap();
    let changes: [fn(&mut ParetoModel); 9] = [
        |m| m.picked = 4,
        |m| m.codes[0] = 9,
        |m| m.codes.truncate(1),
        |m| m.machines[0].alphas[3] = f64::NAN,
        |m| m.machines[0].lambdas.truncate(1),
        |m| m.machines.clear(),
        |m| m.machines[1].class = 3,
        |m| m.machines[1].points.clear(),
        |m| m.parameters.holdout = 2.0,
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut wrong = model.clone();
        change(&mut wrong);
        assert!(AnyModel::from(wrong).to_bytes().is_err(), "change {place}");
    }
}

#[test]
fn newer_versions_and_strange_kinds_are_refused() {
    use native::tests_only::with_header;
    let message = |json: &str| AnyModel::from_bytes(&with_header(json)).unwrap_err().to_string();
    assert_eq!(
        message(r#"{"format":"boulevard model","version":2,"kind":"svc""#),
        "the file has format version 2, but this version of Boulevard reads up to 1: use a newer one"
    );
    assert!(message(r#"{"format":"other","version":1,"kind":"svc""#).contains("its format is `other`"));
    assert!(message(r#"{"format":"boulevard model","version":1,"kind":"oracle""#).contains("known are svc, svr, one_class"));
    assert!(message(r#"{"format":"boulevard model","version":1,"kind":"svc","model":{}"#).contains("header is wrong"));
    assert!(AnyModel::from_bytes(b"").unwrap_err().to_string().contains("shorter than 8 bytes"));
    // Sizes whose sum overflows.
    let huge = r#"{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}}"#;
    let bytes = [&(huge.len() as u64).to_le_bytes()[..], huge.as_bytes()].concat();
    assert!(AnyModel::from_bytes(&bytes).unwrap_err().to_string().contains("ends at byte"));
}

#[test]
fn wrong_arrays_with_a_right_checksum_are_refused() {
    use native::tests_only::with_arrays;
    let sparse = {
        let x = Matrix::from_rows(&[[-1.0, 0.0], [1.0, 0.25]]).unwrap().to_sparse();
        Svc { kernel: Kernel::rbf(0.3), ..Svc::default() }.fit(&Dataset::classes(x, Categories::from_names(&["a", "b"]))).unwrap()
    };
    let message = |change: &dyn Fn(&mut arrays::ArrayWriter)| {
        let error = AnyModel::from_bytes(&with_arrays(&sparse, change)).unwrap_err().to_string();
        assert!(error.starts_with("the model is inconsistent: "), "{error}");
        error
    };
    assert!(AnyModel::from_bytes(&with_arrays(&sparse, &|_| ())).is_ok());
    let replace = |name: &'static str, values: Vec<usize>| {
        move |arrays: &mut arrays::ArrayWriter| {
            arrays.arrays.remove(name);
            arrays.put_usize(name.into(), &values);
        }
    };
    assert!(message(&replace("vectors.offsets", vec![0, 2, 1])).contains("offset"));
    assert!(message(&replace("vectors.offsets", vec![0, 1])).contains("last sparse offset"));
    assert!(message(&replace("vectors.offsets", vec![0, 3])).contains("columns must rise"));
    assert!(message(&replace("vectors.columns", vec![0, 0, 9])).contains("outside the 2 columns"));
    assert!(message(&replace("support", vec![0, 1, 2])).contains("expected 3, found 2"));
    assert!(message(&replace("coefficients", vec![0, 1])).contains("must be F64 with 2 dimensions, found U64 with 1"));
    assert!(message(&|a| drop(a.arrays.remove("intercepts"))).contains("`intercepts` is missing"));
    let nan = |a: &mut arrays::ArrayWriter| {
        a.arrays.remove("coefficients");
        a.put_f64("coefficients".into(), vec![1, 2], &[1.0, f64::NAN]);
    };
    assert!(message(&nan).contains("the coefficients contains NaN"));
    let wide = |a: &mut arrays::ArrayWriter| {
        a.arrays.remove("coefficients");
        a.put_f64("coefficients".into(), vec![2, 1], &[1.0, -1.0]);
    };
    assert!(message(&wide).contains("one per support vector: expected 2, found 1"));
}

#[test]
fn custom_kernels_cannot_be_saved() {
    struct Product;
    impl KernelFunction for Product {
        fn block(&self, a: &Matrix<'_>, b: &Matrix<'_>) -> Result<Vec<f64>> {
            Ok((0..a.rows()).flat_map(|i| (0..b.rows()).map(move |j| a.get(i, 0) * b.get(j, 0))).collect())
        }
    }
    let custom = Kernel::Custom(Custom(Arc::new(Product)));
    let x = Matrix::from_rows(&[[-1.0], [1.0]]).unwrap();
    let data = Dataset::classes(x, Categories::from_names(&["a", "b"]));
    let model = Svc { kernel: custom.clone(), ..Svc::default() }.fit(&data).unwrap();
    let mut nested = model.clone();
    nested.machine.kernel = Kernel::Sum { terms: vec![(1.0, custom)] };
    nested.parameters.kernel = Kernel::Linear;
    for model in [model, nested] {
        let folder = tempfile::tempdir().unwrap();
        let message = model.save(folder.path().join("m")).unwrap_err().to_string();
        assert!(message.contains("custom kernel cannot be saved"), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn notes_travel_with_the_model_and_change_nothing_else() {
    let model = AnyModel::from(small());
    let plain = model.to_bytes().unwrap();
    assert_eq!(model.to_bytes_with_note(None).unwrap(), plain);
    assert_eq!(AnyModel::from_bytes_with_note(&plain).unwrap(), (model.clone(), None));
    for note in ["", "{\"C\": 1}", "with \"quotes\", \n and \u{e9}", ",\"sha256\":\"0\"}"] {
        let bytes = model.to_bytes_with_note(Some(note)).unwrap();
        assert_eq!(AnyModel::from_bytes_with_note(&bytes).unwrap(), (model.clone(), Some(note.to_owned())));
        assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), model);
        // The checksum covers it.
        let place = bytes.windows(4).position(|part| part == b"note").unwrap();
        let mut damaged = bytes.clone();
        damaged[place + 9] ^= 1;
        assert!(AnyModel::from_bytes(&damaged).is_err());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    model.save_with_note(&path, Some("kept")).unwrap();
    assert_eq!(AnyModel::load_with_note(&path).unwrap(), (model.clone(), Some("kept".to_owned())));
    assert_eq!(SvcModel::load(&path).unwrap(), small_with_the_time_of(&path));
}
