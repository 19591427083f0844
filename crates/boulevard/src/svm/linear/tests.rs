use super::*;
use crate::data::{Categories, Dataset, generate};
use crate::kernel::Kernel;
use crate::persist::AnyModel;
use crate::solver::linear::{Bias, LinearLoss, Regularizer};
use crate::svm::{ClassWeight, Learner, Model, Penalty, SolverSettings, Svc, Svr, Tube};

fn hinge(c: f64) -> LinearSvc {
    LinearSvc { c, loss: LinearLoss::Absolute, tolerance: 1e-9, ..Default::default() }
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < tolerance, "{worst}");
}

#[test]
fn the_hinge_with_a_free_bias_is_the_linear_kernel_machine() {
    let data = generate::twonorm(300, 1);
    for c in [0.01, 1.0, 100.0] {
        let kernel = Svc {
            kernel: Kernel::Linear,
            penalty: Penalty::C(c),
            solver: SolverSettings { tolerance: 1e-8, ..Default::default() },
            ..Default::default()
        };
        let (linear, kernel) = (hinge(c).fit(&data).unwrap(), kernel.fit(&data).unwrap());
        close(&linear.decision_values(&data.x).unwrap(), &kernel.decision_values(&data.x).unwrap(), 1e-5);
        assert!((linear.report.objective / kernel.report.objective - 1.0).abs() < 1e-8);
    }
}

#[test]
fn the_tube_with_a_free_bias_is_the_linear_kernel_regressor() {
    let mut data = generate::twonorm(200, 2);
    let values: Vec<f64> = (0..200).map(|i| data.x.get(i, 0) * 2.0 + data.x.get(i, 1) + (i % 7) as f64 * 0.1).collect();
    data.target = crate::data::Target::Real(values);
    let kernel = Svr {
        kernel: Kernel::Linear,
        tube: Tube::Epsilon(0.1),
        solver: SolverSettings { tolerance: 1e-8, ..Default::default() },
        ..Default::default()
    };
    let linear = LinearSvr { epsilon: 0.1, tolerance: 1e-9, ..Default::default() };
    close(&linear.fit(&data).unwrap().predict(&data.x).unwrap(), &kernel.fit(&data).unwrap().predict(&data.x).unwrap(), 1e-5);
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_no_row() {
    let data = generate::twonorm(60, 3);
    for learner in [hinge(0.5), LinearSvc { bias: Bias::Column(1.0), ..Default::default() }, LinearSvc::default()] {
        let weights: Vec<f64> = (0..60).map(|i| (i % 3) as f64).collect();
        let rows: Vec<usize> = (0..60).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
        let weighted = learner.fit(&data.clone().with_weights(weights)).unwrap();
        let repeated = learner.fit(&data.select(&rows)).unwrap();
        close(&weighted.decision_values(&data.x).unwrap(), &repeated.decision_values(&data.x).unwrap(), 1e-6);
    }
}

#[test]
fn order_storage_and_precision_of_rows_do_not_matter() {
    let data = generate::twonorm(900, 4);
    let order: Vec<usize> = (0..900).rev().collect();
    let f32s: Vec<f32> = (0..900).flat_map(|i| (0..data.x.columns()).map(|j| data.x.get(i, j) as f32).collect::<Vec<_>>()).collect();
    let single = Dataset { x: Matrix::dense_f32(f32s, 900, data.x.columns()).unwrap(), ..data.clone() };
    for learner in [hinge(1.0), LinearSvc { tolerance: 1e-9, ..Default::default() }] {
        let plain = learner.fit(&data).unwrap().decision_values(&data.x).unwrap();
        let permuted = learner.fit(&data.select(&order)).unwrap();
        close(&plain, &permuted.decision_values(&data.x).unwrap(), 1e-3);
        let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
        close(&plain, &learner.fit(&sparse).unwrap().decision_values(&sparse.x).unwrap(), 1e-3);
        close(&plain, &learner.fit(&single).unwrap().decision_values(&single.x).unwrap(), 1e-3);
    }
}

#[test]
fn many_classes_files_and_probabilities() {
    let data = generate::waveform(300, 5);
    let codes: Vec<u32> = data.expect_classes().unwrap().codes().iter().enumerate().map(|(i, c)| (c + (i % 2) as u32) % 3).collect();
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let data = Dataset::classes(data.x, Categories::new(codes, names).unwrap());
    let model = LinearSvc { calibrate: true, class_weight: ClassWeight::Balanced, ..Default::default() }.fit(&data).unwrap();
    assert_eq!(model.machine.outputs(), 3);
    let probabilities = model.probabilities(&data.x, &crate::observe::Context::default()).unwrap();
    let predicted = model.predict(&data.x).unwrap();
    for (row, &code) in probabilities.chunks_exact(3).zip(predicted.codes()) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(crate::svm::argmax(row), code as usize);
    }
    let any = AnyModel::from(model.clone());
    assert_eq!(AnyModel::from_bytes(&any.to_bytes().unwrap()).unwrap(), any);
    let real = Dataset::regression(data.x.clone(), (0..300).map(|i| data.x.get(i, 3)).collect());
    let regressor = AnyModel::from(LinearSvr::default().fit(&real).unwrap());
    let bytes = regressor.to_bytes().unwrap();
    assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), regressor);
    for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        assert!(AnyModel::from_bytes(&bytes[..cut]).is_err());
    }
}

#[test]
fn what_cannot_be_learnt_is_refused() {
    let data = generate::twonorm(40, 6);
    let complains = |learner: LinearSvc, data: &Dataset<'_>, about: &str| {
        let text = learner.fit(data).unwrap_err().to_string();
        assert!(text.contains(about), "{text}");
    };
    complains(LinearSvc { c: -1.0, ..Default::default() }, &data, "c");
    complains(LinearSvc { tolerance: 0.0, ..Default::default() }, &data, "tolerance");
    complains(LinearSvc { regularizer: Regularizer::L1, ..hinge(1.0) }, &data, "L1");
    complains(LinearSvc { bias: Bias::Column(0.0), ..Default::default() }, &data, "bias");
    let codes = data.expect_classes().unwrap().codes().to_vec();
    let first: Vec<usize> = (0..40).filter(|&i| codes[i] == codes[0]).collect();
    complains(LinearSvc::default(), &data.select(&first), "two classes");
    let mut broken = data.clone();
    broken.x = Matrix::dense(vec![f64::NAN; 40], 40, 1).unwrap();
    complains(LinearSvc::default(), &broken, "row");
}
