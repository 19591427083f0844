//! Models go to LIBSVM's own programs and come back. Needs `svm-train` and `svm-predict` on the search path; skips itself otherwise.

use std::path::Path;
use std::process::{Command, Stdio};

use boulevard::data::{Categories, Dataset, Matrix, Target, generate};
use boulevard::kernel::Kernel;
use boulevard::observe::Context;
use boulevard::persist::AnyModel;
use boulevard::persist::libsvm_text::{self, ReadOptions, WriteOptions, vote};
use boulevard::svm::{CalibrationMethod, Classifier, Learner, Model, OneClass, Penalty, SolverSettings, Svc, SvcModel, Svr, Tube, couple};

fn installed() -> bool {
    // Without arguments it prints its usage and fails; all that counts is that it starts.
    let found = Command::new("svm-predict").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: svm-predict is not installed");
    }
    found
}

fn run(program: &str, arguments: &[&str], files: &[&Path]) {
    let output = Command::new(program).args(arguments).args(files).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Data with integer classes 1, 2, ... (two classes: -1 and 1).
fn classes(count: usize) -> Dataset<'static> {
    let shape = generate::Clusters { classes: count, separation: 1.0, ..generate::Clusters::default() };
    let data = generate::classification(40 * count, 3, &shape).unwrap();
    let codes = data.expect_classes().unwrap().codes();
    let name = |code: u32| if count == 2 { 2 * i64::from(code) - 1 } else { i64::from(code) + 1 };
    let names: Vec<String> = codes.iter().map(|&code| name(code).to_string()).collect();
    Dataset::classes(data.x, Categories::from_names(&names))
}

fn kernels() -> [Kernel; 4] {
    [Kernel::Linear, Kernel::poly(3, 0.1, 1.0), Kernel::rbf(0.05), Kernel::sigmoid(0.01, 0.2)]
}

fn settings() -> SolverSettings {
    // Predictions are then made in double precision, as LIBSVM makes them.
    SolverSettings { tolerance: 1e-6, ..SolverSettings::default() }
}

/// The words of `svm-predict`'s output, line by line.
fn predict(folder: &Path, probability: bool) -> Vec<Vec<String>> {
    let out = folder.join("out");
    let flags: &[&str] = if probability { &["-b", "1"] } else { &[] };
    run("svm-predict", flags, &[&folder.join("data.svm"), &folder.join("model"), &out]);
    let text = std::fs::read_to_string(out).unwrap();
    text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The same labels and probabilities from our model and from LIBSVM's program.
fn compare_classifier(model: &SvcModel, x: &Matrix<'_>, folder: &Path, what: &str) {
    let context = Context::default();
    let outputs = model.machine.outputs();
    let raw = model.outputs_in(x, &context).unwrap();
    let k = model.classes.len();
    let lines = predict(folder, false);
    assert_eq!(lines.len(), x.rows(), "{what}");
    for (row, (line, raw)) in lines.iter().zip(raw.chunks_exact(outputs)).enumerate() {
        if raw.iter().any(|value| value.abs() < 1e-9) {
            continue;
        }
        assert_eq!(line[0], model.classes[vote(raw, k)], "{what}: row {row}");
    }
    let Some(calibration) = &model.calibration else { return };
    let lines = predict(folder, true);
    assert_eq!(lines[0][1..], model.classes[..], "{what}");
    for (row, (line, raw)) in lines[1..].iter().zip(raw.chunks_exact(outputs)).enumerate() {
        let mut r = vec![0.0; k * k];
        let mut pair = 0;
        for i in 0..k {
            for j in i + 1..k {
                let p = calibration.sigmoids[pair].probability(raw[pair]).clamp(1e-7, 1.0 - 1e-7);
                (r[i * k + j], r[j * k + i]) = (p, 1.0 - p);
                pair += 1;
            }
        }
        let ours = couple(&r, k);
        // Newer versions of LIBSVM take the probability of two classes directly; the coupling is within 0.005 of it.
        let allowed = if k == 2 { 5e-3 } else { 1e-4 };
        for (class, p) in ours.iter().enumerate() {
            let theirs: f64 = line[1 + class].parse().unwrap();
            assert!((p - theirs).abs() < allowed, "{what}: row {row}, class {class}: {p} for {theirs}");
        }
    }
}

fn compare_numbers(ours: &[f64], folder: &Path, what: &str) {
    let lines = predict(folder, false);
    assert_eq!(lines.len(), ours.len(), "{what}");
    let scale = ours.iter().fold(1.0, |largest: f64, v| largest.max(v.abs()));
    for (row, (line, ours)) in lines.iter().zip(ours).enumerate() {
        let theirs: f64 = line[0].parse().unwrap();
        // Old versions print six digits.
        assert!((theirs - ours).abs() < 1e-5 * scale, "{what}: row {row}: {ours} for {theirs}");
    }
}

fn compare_inside(values: &[f64], folder: &Path, what: &str) {
    for (row, (line, value)) in predict(folder, false).iter().zip(values).enumerate() {
        if value.abs() > 1e-9 {
            assert_eq!(line[0], if *value > 0.0 { "1" } else { "-1" }, "{what}: row {row}: {value}");
        }
    }
}

#[test]
fn libsvm_predicts_with_our_models() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data_file, model_file) = (folder.path().join("data.svm"), folder.path().join("model"));
    let none = WriteOptions::default();
    for count in [2, 3, 5] {
        let data = classes(count);
        data.write(&data_file).unwrap();
        for kernel in kernels() {
            for (penalty, calibrate) in [(Penalty::C(2.0), true), (Penalty::Nu(0.2), false)] {
                let calibration = CalibrationMethod::Sigmoid;
                let learner = Svc { kernel: kernel.clone(), penalty, calibrate, calibration, solver: settings(), ..Svc::default() };
                let model = learner.fit(&data).unwrap();
                libsvm_text::write(&model.clone().into(), &model_file, &none).unwrap();
                compare_classifier(&model, &data.x, folder.path(), &format!("{count} classes, {kernel:?}, {penalty:?}"));
            }
        }
    }
    let data = generate::regression(80, 2, 1, 0.5);
    data.write(&data_file).unwrap();
    for kernel in kernels() {
        for tube in [Tube::Epsilon(0.3), Tube::Nu(0.3)] {
            let model = Svr { kernel: kernel.clone(), tube, solver: settings(), ..Svr::default() }.fit(&data).unwrap();
            libsvm_text::write(&model.clone().into(), &model_file, &none).unwrap();
            compare_numbers(&model.predict(&data.x).unwrap(), folder.path(), &format!("{kernel:?}, {tube:?}"));
        }
        let model = OneClass { kernel: kernel.clone(), nu: 0.3, solver: settings() }.fit(&data).unwrap();
        libsvm_text::write(&model.clone().into(), &model_file, &none).unwrap();
        compare_inside(&model.decision_values(&data.x).unwrap(), folder.path(), &format!("one-class, {kernel:?}"));
    }
}

#[test]
fn we_predict_with_models_of_libsvm() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data_file, model_file) = (folder.path().join("data.svm"), folder.path().join("model"));
    let train = |kind: &str, kernel: &str, more: &[&str]| {
        let fixed = ["-q", "-s", kind, "-t", kernel, "-g", "0.05", "-r", "0.2", "-d", "2", "-n", "0.2"];
        run("svm-train", &[&fixed[..], more].concat(), &[&data_file, &model_file]);
    };
    let read = |columns: usize| libsvm_text::read(&model_file, &ReadOptions { features: Some(columns) }).unwrap();
    for count in [2, 3] {
        let data = classes(count);
        data.write(&data_file).unwrap();
        for (kind, kernel) in [("0", "0"), ("0", "1"), ("0", "2"), ("0", "3"), ("1", "2")] {
            train(kind, kernel, &["-b", "1"]);
            let AnyModel::Svc(model) = read(data.x.columns()) else { panic!("a classifier") };
            compare_classifier(&model, &data.x, folder.path(), &format!("svm-train -s {kind} -t {kernel}, {count} classes"));
        }
    }
    let data = generate::regression(80, 2, 1, 0.5);
    data.write(&data_file).unwrap();
    for kernel in ["0", "1", "2", "3"] {
        // With -b 1 a regression model has a `probA` of its own, which is read over.
        for (kind, flags) in [("3", &["-b", "1"][..]), ("4", &[])] {
            train(kind, kernel, flags);
            let AnyModel::Svr(model) = read(data.x.columns()) else { panic!("a regressor") };
            compare_numbers(&model.predict(&data.x).unwrap(), folder.path(), &format!("svm-train -s {kind} -t {kernel}"));
        }
        train("2", kernel, &[]);
        let AnyModel::OneClass(model) = read(data.x.columns()) else { panic!("a one-class machine") };
        compare_inside(&model.decision_values(&data.x).unwrap(), folder.path(), &format!("svm-train -s 2 -t {kernel}"));
    }
}

#[test]
fn precomputed_kernels_go_both_ways() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data_file, model_file) = (folder.path().join("data.svm"), folder.path().join("model"));
    let data = classes(2);
    let (n, Target::Classes(truth)) = (data.len(), data.target.clone()) else { panic!("classes") };
    let row = |i: usize| (0..data.x.columns()).map(move |j| (i, j)).collect::<Vec<_>>();
    let mut text = String::new();
    let mut gram = Vec::new();
    for i in 0..n {
        text.push_str(&format!("{} 0:{}", truth.names()[truth.codes()[i] as usize], i + 1));
        for j in 0..n {
            let product: f64 = row(i).iter().map(|&(i, c)| data.x.get(i, c) * data.x.get(j, c)).sum();
            gram.push(product);
            text.push_str(&format!(" {}:{product}", j + 1));
        }
        text.push('\n');
    }
    std::fs::write(&data_file, text).unwrap();
    let square = Dataset::classes(Matrix::dense(gram, n, n).unwrap(), truth);
    let model = Svc { kernel: Kernel::Precomputed, solver: settings(), ..Svc::default() }.fit(&square).unwrap();
    libsvm_text::write(&model.clone().into(), &model_file, &WriteOptions::default()).unwrap();
    compare_classifier(&model, &square.x, folder.path(), "our precomputed kernel");
    run("svm-train", &["-q", "-t", "4"], &[&data_file, &model_file]);
    let AnyModel::Svc(model) = libsvm_text::read(&model_file, &ReadOptions { features: Some(n) }).unwrap() else { panic!("a classifier") };
    compare_classifier(&model, &square.x, folder.path(), "their precomputed kernel");
}
