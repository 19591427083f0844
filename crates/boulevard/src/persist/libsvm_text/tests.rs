//! Round trips and malformed files. `tests/libsvm_interop.rs` compares with LIBSVM's own programs.

use super::*;
use crate::data::{Categories, Dataset, Matrix, generate};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::*;

fn three_classes() -> Dataset<'static> {
    let shape = generate::Clusters { classes: 3, ..generate::Clusters::default() };
    let data = generate::classification(60, 4, &shape).unwrap();
    let codes: Vec<String> = data.expect_classes().unwrap().codes().iter().map(|code| (i64::from(*code) - 1).to_string()).collect();
    Dataset::classes(data.x, Categories::from_names(&codes))
}

fn back(model: &AnyModel) -> AnyModel {
    let text = to_text(model, &WriteOptions::default()).unwrap();
    parse(text.as_bytes(), "model", &ReadOptions { features: Some(model.features()) }).unwrap()
}

#[test]
fn a_round_trip_keeps_every_decision() {
    let data = three_classes();
    let context = Context::default();
    for kernel in [Kernel::Linear, Kernel::default(), Kernel::poly(3, 0.2, 1.0), Kernel::sigmoid(0.01, 0.1)] {
        for penalty in [Penalty::C(2.0), Penalty::Nu(0.3)] {
            let model = Svc { kernel: kernel.clone(), penalty, calibrate: true, calibration: CalibrationMethod::Sigmoid, ..Svc::default() }
                .fit(&data)
                .unwrap();
            let AnyModel::Svc(read) = back(&model.clone().into()) else { panic!("a classifier") };
            assert_eq!(read.machine.coefficients, model.machine.coefficients);
            assert_eq!(read.machine.intercepts, model.machine.intercepts);
            assert_eq!((&read.classes, &read.calibration), (&model.classes, &model.calibration));
            assert_eq!(read.machine.vectors.to_dense(), model.machine.vectors);
            assert_eq!(read.machine.kernel, model.machine.kernel);
            assert_eq!(read.probabilities(&data.x, &context).unwrap().len(), 180);
            // And through the native format.
            let any = AnyModel::from(read);
            assert_eq!(AnyModel::from_bytes(&any.to_bytes().unwrap()).unwrap(), any);
        }
    }
    let real = generate::regression(50, 1, 0, 0.3);
    for tube in [Tube::Epsilon(0.2), Tube::Nu(0.4)] {
        let model = Svr { tube, ..Svr::default() }.fit(&real).unwrap();
        let AnyModel::Svr(read) = back(&model.clone().into()) else { panic!("a regressor") };
        let (a, b) = (read.predict(&real.x).unwrap(), model.predict(&real.x).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4 * b.abs().max(1.0)));
        assert_eq!(read.machine.coefficients, model.machine.coefficients);
    }
    let model = OneClass::default().fit(&real).unwrap();
    let AnyModel::OneClass(read) = back(&model.clone().into()) else { panic!("a one-class machine") };
    assert_eq!(read.machine.intercepts, model.machine.intercepts);
    // A machine without support vectors: everything lies inside the tube.
    let flat = Svr { tube: Tube::Epsilon(1e6), ..Svr::default() }.fit(&real).unwrap();
    let AnyModel::Svr(read) = back(&flat.clone().into()) else { panic!("a regressor") };
    assert_eq!((read.machine.len(), read.predict(&real.x).unwrap()), (0, flat.predict(&real.x).unwrap()));
}

#[test]
fn sharpened_probabilities_are_refused_with_the_way_out() {
    let learner = Svc { calibrate: true, calibration: CalibrationMethod::Temperature, ..Svc::default() };
    let mut model = learner.fit(&three_classes()).unwrap();
    let complaint = to_text(&model.clone().into(), &WriteOptions::default()).unwrap_err().to_string();
    assert!(complaint.contains("`temperature`") && complaint.contains("fit the model with calibration `sigmoid`"), "{complaint}");
    model.calibration = None;
    assert!(to_text(&model.into(), &WriteOptions::default()).is_ok());
}

#[test]
fn precomputed_kernels_keep_their_rows() {
    let gram: Vec<f64> = (0..20).flat_map(|i| (0..20).map(move |j| (-0.1 * f64::powi(f64::from(i - j), 2)).exp())).collect();
    let square = Dataset::classes(Matrix::dense(gram, 20, 20).unwrap(), Categories::from_names(&["-1", "1"].repeat(10)));
    let model = Svc { kernel: Kernel::Precomputed, ..Svc::default() }.fit(&square).unwrap();
    let AnyModel::Svc(read) = back(&model.clone().into()) else { panic!("a classifier") };
    assert_eq!((&read.machine.support, read.features()), (&model.machine.support, 20));
    assert_eq!(read.predict(&square.x).unwrap(), model.predict(&square.x).unwrap());
}

#[test]
fn what_libsvm_cannot_hold_is_refused() {
    let message = |model: AnyModel, options: &WriteOptions| to_text(&model, options).unwrap_err().to_string();
    let none = WriteOptions::default();
    let data = generate::banana(40, 1);
    let named = Dataset::classes(data.x.clone(), Categories::from_names(&["yes", "no"].repeat(20)));
    let model = AnyModel::from(Svc::default().fit(&named).unwrap());
    assert!(message(model.clone(), &none).starts_with("class `no` is not an integer"));
    let mapped = WriteOptions { labels: Some(vec![-1, 1]) };
    assert!(to_text(&model, &mapped).unwrap().contains("\nlabel -1 1\n"));
    assert!(message(model.clone(), &WriteOptions { labels: Some(vec![1]) }).contains("expected 2, found 1"));
    assert!(message(model, &WriteOptions { labels: Some(vec![1, 1]) }).contains("both have the label 1"));
    let twins = Dataset::classes(data.x.clone(), Categories::from_names(&["1", "1.0"].repeat(20)));
    assert!(message(Svc::default().fit(&twins).unwrap().into(), &none).contains("both have the label 1"));
    let laplacian = Svc { kernel: Kernel::Laplacian { gamma: 1.0.into() }, ..Svc::default() }.fit(&data).unwrap();
    assert!(message(laplacian.into(), &mapped).contains("got laplacian"));
    let rest = Svc { multiclass: Multiclass::OneVsRest, ..Svc::default() }.fit(&three_classes()).unwrap();
    assert!(message(rest.into(), &none).contains("one-vs-one"));
    let real = Svr::default().fit(&generate::regression(20, 1, 0, 0.1)).unwrap();
    assert!(message(real.into(), &mapped).contains("epsilon_svr has none"));
}

const SOUND: &str = "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 3\nrho 0.25\nlabel 1 -1\nprobA -2\nprobB 0.1\nnr_sv 2 1\nSV\n\
                     0.5 1:1 3:-2 \n0.5 2:1e-3\n-1 1:4\n";

#[test]
fn mistakes_are_refused_with_their_line() {
    let options = ReadOptions::default();
    let sound = parse(SOUND.as_bytes(), "m", &options).unwrap();
    assert_eq!(sound.features(), 3);
    assert!(parse(format!("{}\n\n", SOUND.replace('\n', "\r\n")).as_bytes(), "m", &options).is_ok());
    let marks = SOUND.replace("probA -2\nprobB 0.1\n", "prob_density_marks 1 2 3\n");
    assert!(parse(marks.as_bytes(), "m", &options).is_ok());
    let changes = [
        ("svm_type c_svc", "svm_type svc", "m:1: `svm_type` must be one of c_svc,"),
        ("svm_type c_svc\n", "", "m:10: `svm_type` is missing before `SV`"),
        ("kernel_type rbf", "kernel_type rbf 2", "m:2: `kernel_type` must have one value, found 2"),
        ("gamma 0.5\n", "", "`gamma` is missing"),
        ("gamma 0.5", "gamma -1", "m:2: parameter `gamma` of Kernel"),
        ("gamma 0.5", "gamma nan", "m:3: `gamma` must be a finite number, found `nan`"),
        ("gamma 0.5", "gamma", "m:3: `gamma` must have one value, found 0"),
        ("gamma 0.5", "gamme 0.5", "m:3: unknown key `gamme`"),
        ("gamma 0.5", "", "m:3: an empty line before `SV`"),
        ("gamma 0.5", "gamma 0.5\ngamma 1", "m:4: `gamma` is given again: line 3 has it already"),
        ("nr_class 2", "nr_class 1", "m:4: `nr_class` must be 2 or more, found 1"),
        ("nr_class 2", "nr_class 99999999999", "m:6: `rho` must have"),
        ("nr_class 2", "nr_class 3", "m:6: `rho` must have 3 values, found 1"),
        ("total_sv 3", "total_sv 18446744073709551615", "m:10: `nr_sv` must add up to `total_sv`"),
        ("total_sv 3", "total_sv -3", "m:5: `total_sv` must be a whole number"),
        ("nr_sv 2 1", "nr_sv 2 2", "must add up to `total_sv`, which is 3"),
        ("nr_sv 2 1", "nr_sv 18446744073709551615 4", "m:10: `nr_sv` must add up"),
        (
            "total_sv 3\nrho 0.25\nlabel 1 -1\nprobA -2\nprobB 0.1\nnr_sv 2 1",
            "total_sv 4\nrho 0.25\nlabel 1 -1\nnr_sv 2 2",
            "after 3 support vectors",
        ),
        (
            "total_sv 3\nrho 0.25\nlabel 1 -1\nprobA -2\nprobB 0.1\nnr_sv 2 1",
            "total_sv 2\nrho 0.25\nlabel 1 -1\nnr_sv 1 1",
            "m:12: more support vectors",
        ),
        ("label 1 -1", "label 1 1", "m:7: label 1 is given twice"),
        ("label 1 -1", "label 1 x", "m:7: a label must be an integer, found `x`"),
        ("label 1 -1", "label 1", "m:7: `label` must have 2 values, found 1"),
        ("label 1 -1\n", "", "`label` is missing"),
        ("probB 0.1\n", "", "`probB` is missing"),
        ("probA -2", "probA -2 1", "m:8: `probA` must have 1 values, found 2"),
        ("SV\n", "SV 3\n", "m:11: `SV` must stand alone"),
        ("1:1 3:-2", "3:1 1:-2", "m:12: column 1 follows column 3"),
        ("1:1 3:-2", "0:1 3:-2", "m:12: column 0 follows column 0"),
        ("1:1 3:-2", "1:1 3:inf", "m:12: a value must be a finite number, found `inf`"),
        ("1:1 3:-2", "1:1 99999999999:2", "columns must rise"),
        ("1:1 3:-2", "1:1 3", "m:12: a value must be `column:number`, found `3`"),
        ("0.5 2:1e-3", "x 2:1e-3", "m:13: a coefficient must be a finite number, found `x`"),
        ("0.5 2:1e-3", "NaN 2:1e-3", "m:13: a coefficient must be a finite number, found `NaN`"),
        ("0.5 2:1e-3", "", "m:13: an empty line between support vectors"),
        ("-1 1:4\n", "", "m:13: the file ends after 2 support vectors; `total_sv` is 3"),
    ];
    for (from, to, expected) in changes {
        assert!(SOUND.contains(from), "{from}");
        let message = parse(SOUND.replacen(from, to, 1).as_bytes(), "m", &options).unwrap_err().to_string();
        assert!(message.contains(expected), "{from} -> {to}: {message}");
    }
    let message = parse(SOUND.as_bytes(), "m", &ReadOptions { features: Some(2) }).unwrap_err().to_string();
    assert!(message.contains("uses column 3"), "{message}");
    assert!(parse(b"", "m", &options).unwrap_err().to_string().contains("m:1: the file ends before `SV`"));
    assert!(parse(b"svm_type c_svc\n\xff\xfe\n", "m", &options).unwrap_err().to_string().contains("m:2: not text"));
    assert!(read("no such file", &options).unwrap_err().to_string().contains("no such file"));
}

#[test]
fn no_bytes_make_it_panic() {
    let options = ReadOptions::default();
    let precomputed =
        SOUND.replace("rbf\ngamma 0.5", "precomputed").replace("1:1 3:-2 ", "0:3").replace("2:1e-3", "0:1").replace("1:4", "0:7");
    assert!(parse(precomputed.as_bytes(), "m", &options).is_ok());
    for text in [SOUND, &precomputed] {
        let bytes = text.as_bytes();
        let mut damaged = bytes.to_vec();
        for place in 0..bytes.len() {
            assert!(parse(&bytes[..place], "m", &options).is_err(), "cut to {place} bytes");
            for byte in [0, b' ', b'\n', b':', b'-', b'9', b'e', 0xff, bytes[place] ^ 1, bytes[place] ^ 0x40] {
                damaged[place] = byte;
                if let Ok(AnyModel::Svc(model)) = parse(&damaged, "m", &options)
                    && model.features() < 100
                {
                    let x = Matrix::dense(vec![0.5; model.features()], 1, model.features()).unwrap();
                    model.predict(&x).unwrap();
                }
            }
            damaged[place] = bytes[place];
        }
    }
}
