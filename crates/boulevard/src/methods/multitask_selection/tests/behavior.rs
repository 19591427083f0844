//! What users rely on: the same bits for any number of threads, paths that agree with single fits, and clear words for bad input.

use proptest::prelude::*;

use super::super::*;
use crate::data::{Categories, Dataset, Matrix, Target};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, StopFlag, StopReason};
use crate::persist::AnyModel;
use crate::random::Random;
use crate::svm::{Learner, Model};

/// `tasks` tasks of `n` rows that all depend on the first two of `d` columns.
fn tasks(seed: u64, count: usize, n: usize, d: usize, classify: bool) -> TaskSet<'static> {
    let mut random = Random::new(seed, 0);
    let mut set = TaskSet {
        tables: Vec::new(),
        targets: Vec::new(),
        outputs: Outputs::Tasks {
            names: (0..count).map(|m| format!("t{m}")).collect(),
            classes: classify.then(|| ["no".to_owned(), "yes".to_owned()]),
        },
        feature_names: None,
        weights: None,
    };
    for table in 0..count {
        let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
        let w: Vec<f64> = (0..d).map(|k| if k < 2 { 1.0 + random.uniform() } else { 0.0 }).collect();
        let mut y: Vec<f64> = x.chunks_exact(d).map(|row| crate::linalg::dot(row, &w) + 0.3 * random.normal()).collect();
        if classify {
            y.iter_mut().for_each(|y| *y = y.signum());
            (y[0], y[1]) = (1.0, -1.0);
        }
        set.tables.push(Matrix::dense(x, n, d).unwrap());
        set.targets.push(TaskTarget { table, y });
    }
    set
}

/// Everything given, nothing chosen.
fn given() -> MultiTaskSelection {
    MultiTaskSelection { rho: Some(0.01), c: Some(3.0), ..MultiTaskSelection::default() }
}

fn message<T>(result: Result<T>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn threads_do_not_change_a_bit() {
    for (count, n, d, c) in [(3, 40, 12, 3.0), (1, 700, 150, 2.0), (4, 150, 200, 1.5)] {
        let set = tasks(1, count, n, d, true);
        let learner = MultiTaskSelection { c: Some(c), ..given() };
        let mut one = learner.fit_tasks(&set, &Context::default().with_threads(1)).unwrap();
        let mut two = learner.fit_tasks(&set, &Context::default().with_threads(2)).unwrap();
        (one.report.seconds, two.report.seconds) = (0.0, 0.0);
        assert_eq!(one, two);
        assert!(one.report.gap <= 1e-6 && one.report.stop == StopReason::Converged);
    }
}

#[test]
fn samples_that_do_not_count_have_multipliers_of_exactly_zero() {
    for (select, tolerance) in [(Select::Features, 1e-6), (Select::Features, 1e-9), (Select::Kernels, 1e-6)] {
        let learner = MultiTaskSelection { select, kernels: vec![Kernel::Linear, Kernel::rbf(0.02)], c: Some(10.0), tolerance, ..given() };
        let model = learner.fit_tasks(&tasks(7, 1, 200, 6, true), &Context::default()).unwrap();
        let (zeros, tiny) =
            (model.coefficients[0].iter().filter(|a| **a == 0.0).count(), model.coefficients[0].iter().filter(|a| a.abs() < 1e-9).count());
        assert!(zeros > 20 && zeros == tiny, "{select:?} at {tolerance}: {zeros} zeros, {tiny} below 1e-9");
        assert!(model.report.gap <= tolerance);
    }
}

#[test]
fn a_path_agrees_with_single_fits_and_own_switches_with_single_tasks() {
    let set = tasks(2, 3, 30, 8, true);
    let learner = MultiTaskSelection { tolerance: 1e-10, ..given() };
    let ln_rhos = [0.0, -2.3, -9.2, -4.6];
    let path = learner.path(&set, &ln_rhos, &Context::default()).unwrap();
    for (model, ln_rho) in path.iter().zip(ln_rhos) {
        let alone = MultiTaskSelection { ln_rho: Some(ln_rho), ..learner.clone() }.fit_tasks(&set, &Context::default()).unwrap();
        assert!((model.report.objective / alone.report.objective - 1.0).abs() < 1e-9);
        for (a, b) in model.weights.iter().zip(&alone.weights) {
            assert!((a - b).abs() < 1e-6);
        }
    }
    let own = MultiTaskSelection { share: false, ..learner.clone() }.fit_tasks(&set, &Context::default()).unwrap();
    assert_eq!(own.switches.len(), 3 * 8);
    for m in 0..3 {
        let mut single = tasks(2, 3, 30, 8, true);
        single.tables = vec![single.tables.remove(m)];
        single.targets = vec![TaskTarget { table: 0, y: single.targets[m].y.clone() }];
        single.outputs = Outputs::Tasks { names: vec!["t".into()], classes: Some(["no".into(), "yes".into()]) };
        let alone = learner.fit_tasks(&single, &Context::default()).unwrap();
        assert_eq!(own.switches_of(m), alone.switches_of(0));
    }
}

#[test]
fn rho_one_has_all_switches_on_and_c_up_to_one_is_trivial() {
    let set = tasks(3, 2, 25, 5, true);
    let model = MultiTaskSelection { rho: Some(1.0), ..given() }.fit_tasks(&set, &Context::default()).unwrap();
    assert!(model.switches.iter().all(|&on| on == 1.0) && model.report.gap <= 1e-6);
    let trivial = MultiTaskSelection { c: Some(1.0), ..given() }.fit_tasks(&set, &Context::default()).unwrap();
    assert!(trivial.weights.iter().all(|&w| w == 0.0) && trivial.intercepts == [0.0, 0.0]);
    assert_eq!((trivial.report.objective, trivial.report.gap), (0.0, 0.0));
    assert!(trivial.notes[0].contains("c > 1"), "{:?}", trivial.notes);
}

#[test]
fn tiny_priors_and_constant_targets_are_solved() {
    for ln_rho in [-30.0, -400.0, -700.0] {
        for classify in [true, false] {
            let learner = MultiTaskSelection { ln_rho: Some(ln_rho), c: Some(50.0), ..given() };
            let model = learner.fit_tasks(&tasks(4, 2, 30, 6, classify), &Context::default()).unwrap();
            assert!(model.report.gap <= 1e-6, "ln rho {ln_rho}: gap {}", model.report.gap);
        }
    }
    let mut set = tasks(5, 1, 20, 3, false);
    set.targets[0].y = vec![7.0; 20];
    let flat = MultiTaskSelection { bias: BiasPrior::Flat, ..given() }.fit_tasks(&set, &Context::default()).unwrap();
    assert!((flat.intercepts[0] - 7.0).abs() <= flat.parameters.epsilon + 0.5 && flat.report.gap == 0.0);
}

#[test]
fn bad_parameters_and_data_are_named() {
    let set = tasks(6, 2, 12, 3, true);
    let fit = |learner: &MultiTaskSelection, set: &TaskSet<'_>| message(learner.fit_tasks(set, &Context::default()));
    let plain = MultiTaskSelection::default();
    for (learner, word) in [
        (MultiTaskSelection { c: Some(0.0), ..plain.clone() }, "parameter `c`"),
        (MultiTaskSelection { c: Some(f64::NAN), ..plain.clone() }, "parameter `c`"),
        (MultiTaskSelection { rho: Some(0.0), ..plain.clone() }, "parameter `rho`"),
        (MultiTaskSelection { rho: Some(1.5), ..plain.clone() }, "parameter `rho`"),
        (MultiTaskSelection { ln_rho: Some(1.0), ..plain.clone() }, "parameter `ln_rho`"),
        (MultiTaskSelection { ln_rho: Some(-1e4), ..plain.clone() }, "parameter `ln_rho`"),
        (MultiTaskSelection { tolerance: 0.0, ..plain.clone() }, "parameter `tolerance`"),
        (MultiTaskSelection { select: Select::Kernels, ..plain.clone() }, "parameter `kernels`"),
        (MultiTaskSelection { select: Select::Kernels, kernels: vec![Kernel::Precomputed], ..plain.clone() }, "parameter `kernels`"),
    ] {
        assert!(fit(&learner, &set).contains(word), "{}", fit(&learner, &set));
    }
    let kernels = vec![Kernel::Linear, Kernel::Sigmoid { gamma: 1.0.into(), coef0: -2.0 }];
    let refused = fit(&MultiTaskSelection { select: Select::Kernels, kernels, normalize_kernels: false, ..plain.clone() }, &set);
    assert!(refused.contains("kernel 2 (sigmoid") && refused.contains("not positive semi-definite"), "{refused}");

    let mut one_class = set.clone();
    one_class.targets[1].y = vec![1.0; 12];
    assert_eq!(fit(&plain, &one_class), "task `t1` has one class only: all 12 rows are positive");
    let mut narrow = set.clone();
    narrow.tables[1] = Matrix::dense(vec![0.0; 24], 12, 2).unwrap();
    assert_eq!(fit(&plain, &narrow), "feature columns of task `t1`, as in the first task: expected 3, found 2");
    let mut empty = set.clone();
    empty.tables[0] = Matrix::dense(Vec::new(), 0, 3).unwrap();
    assert_eq!(fit(&plain, &empty), "task `t0` has no rows");
    let mut large = tasks(6, 1, 12, 3, false);
    large.targets[0].y[4] = 1e30;
    assert!(fit(&plain, &large).contains("target 1e30 at row 4"), "{}", fit(&plain, &large));
    let mut wide = set.clone();
    wide.tables[0] = Matrix::dense(vec![1e40; 36], 12, 3).unwrap();
    assert!(fit(&plain, &wide).contains("scale the column"), "{}", fit(&plain, &wide));
    let small = Context { memory: Some(100), ..Context::default() };
    assert!(message(plain.fit_tasks(&set, &small)).contains("memory limit"));
}

#[test]
fn duplicate_tasks_and_zero_vectors_have_an_answer() {
    let mut twice = tasks(7, 2, 20, 4, true);
    (twice.tables[1], twice.targets[1].y) = (twice.tables[0].clone(), twice.targets[0].y.clone());
    let model = MultiTaskSelection::default().fit_tasks(&twice, &Context::default()).unwrap();
    assert!(model.report.gap <= 1e-6);
    for (a, b) in model.weights[..4].iter().zip(&model.weights[4..]) {
        assert!((a - b).abs() < 1e-4, "the same task twice gets the same weights");
    }
    let mut rows = tasks(8, 1, 20, 4, true);
    let mut values = vec![0.0; 4];
    (1..20).for_each(|row| {
        let mut own = vec![0.0; 4];
        rows.tables[0].copy_row(row, &mut own);
        values.extend(own);
    });
    rows.tables[0] = Matrix::dense(values, 20, 4).unwrap();
    let learner = MultiTaskSelection {
        select: Select::Kernels,
        kernels: vec![Kernel::Linear, Kernel::poly(2, 1.0, 0.0), Kernel::rbf(0.5)],
        ..given()
    };
    let model = learner.fit_tasks(&rows, &Context::default()).unwrap();
    assert!(model.report.gap <= 1e-6);
    let values = model.decision_values(&rows.tables[0]).unwrap();
    assert!(values.iter().all(|value| value.is_finite()));
}

#[test]
fn near_identity_kernels_are_pointed_out() {
    let set = tasks(9, 1, 20, 6, true);
    let kernels = vec![Kernel::Linear, Kernel::rbf(1e3)];
    let model = MultiTaskSelection { select: Select::Kernels, kernels, ..given() }.fit_tasks(&set, &Context::default()).unwrap();
    assert!(model.notes.iter().any(|note| note.starts_with("kernel 2 (rbf")), "{:?}", model.notes);
    assert_eq!(model.notes.len(), 1);
}

#[test]
fn files_hold_models_to_the_bit_and_broken_ones_are_refused() {
    let set = tasks(10, 2, 20, 5, true);
    let kernels = vec![Kernel::Linear, Kernel::rbf(0.3)];
    for learner in [
        MultiTaskSelection { calibrate: true, ..given() },
        MultiTaskSelection { select: Select::Kernels, kernels, share: false, ..given() },
    ] {
        let model = AnyModel::from(learner.fit_tasks(&set, &Context::default()).unwrap());
        let bytes = model.to_bytes().unwrap();
        assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), model);
        for cut in [0, 9, bytes.len() / 3, bytes.len() - 1] {
            assert!(AnyModel::from_bytes(&bytes[..cut]).is_err());
        }
    }
}

#[test]
fn classes_labels_and_sparse_tables_predict() {
    let mut random = Random::new(11, 0);
    let x: Vec<f64> = (0..90 * 4).map(|_| random.normal()).collect();
    let names: Vec<String> = x.chunks_exact(4).map(|row| format!("c{}", if row[0] > 0.5 { 2 } else { u8::from(row[1] > 0.0) })).collect();
    let data = Dataset::classes(Matrix::dense(x, 90, 4).unwrap(), Categories::from_names(&names));
    let learner = MultiTaskSelection { c: Some(5.0), calibrate: true, ..given() };
    let model = learner.fit(&data).unwrap();
    let said = model.predict(&data.x).unwrap();
    let crate::data::Target::Classes(said) = said else { panic!("classes") };
    let right = said.codes().iter().zip(data.expect_classes().unwrap().codes()).filter(|(a, b)| a == b).count();
    assert!(right > 75, "{right} of 90");
    let probabilities = model.probabilities(&data.x, &Context::default()).unwrap();
    for (row, &code) in probabilities.chunks_exact(3).zip(said.codes()) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(crate::svm::argmax(row), code as usize);
    }
    let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
    let again = learner.fit(&sparse).unwrap();
    assert_eq!(again.weights, model.weights);
    let dropped = MultiTaskSelection { threshold: 1.1, calibrate: false, ..learner.clone() }.fit(&data).unwrap();
    assert!(dropped.weights.iter().all(|&w| w == 0.0) && dropped.switches.iter().any(|&on| on > 0.0));
    assert!(message(MultiTaskSelection::default().fit(&Dataset::new(data.x.clone(), Target::None))).contains("needs a target"));
}

#[test]
fn a_stopped_fit_is_a_usable_model() {
    let set = tasks(12, 1, 200, 60, true);
    let flag = StopFlag::default();
    flag.stop();
    let model = MultiTaskSelection::default().fit_tasks(&set, &Context::default().with_observer(&flag)).unwrap();
    assert_eq!(model.report.stop, StopReason::Interrupted);
    assert_eq!(model.decision_values(&set.tables[0]).unwrap().len(), 200);
    let few = MultiTaskSelection { max_iterations: Some(2), ..given() }.fit_tasks(&set, &Context::default()).unwrap();
    assert_eq!((few.report.stop, few.report.iterations), (StopReason::MaxIterations, 2));
    assert!(few.report.gap > 1e-6);
}

#[test]
fn the_search_finds_that_selection_helps_and_transfer_is_reported() {
    let set = tasks(13, 2, 40, 30, true);
    let search = SelectionSearch { ln_rho: vec![0.0, -4.6], c: vec![1.5, 3.0], folds: 4, repeats: 2, seed: 0 };
    let found = search.run(&MultiTaskSelection::default(), &set, &Context::default()).unwrap();
    assert_eq!(found.points.len(), 4);
    assert!(found.points[found.best].ln_rho < 0.0, "{:?}", found.points);
    let report = transfer(&MultiTaskSelection::default(), &set, 4, 0, &Context::default()).unwrap();
    assert_eq!((report.tasks.len(), report.rows.clone()), (2, vec![40, 40]));
    assert!(report.together.iter().chain(&report.alone).all(|error| (0.0..0.5).contains(error)));
}

/// A problem on which every other method stalls: eight rows, rare switches, wide bounds.
#[test]
fn what_stalls_is_reached_by_way_of_smaller_bounds() {
    let set = tasks(536, 1, 8, 10, false);
    let learner =
        MultiTaskSelection { ln_rho: Some(-26.783531229758587), c: Some(268.0390059312016), bias: BiasPrior::Gaussian, ..given() };
    let model = learner.fit_tasks(&set, &Context::single()).unwrap();
    assert_eq!(model.report.stop, StopReason::Converged);
    assert!(model.report.gap <= 1e-6, "gap {}", model.report.gap);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_problem_is_certified(
        seed in 0u64..1000, count in 1usize..4, n in 3usize..25, d in 1usize..12, classify: bool, flat: bool, jj: bool, kernels: bool,
        ln_rho in prop_oneof![Just(0.0), -1.0..0.0f64, -40.0..-1.0f64], c in prop_oneof![1.01..4.0f64, 4.0..300.0f64],
    ) {
        let set = tasks(seed, count, n, d, classify);
        let learner = MultiTaskSelection {
            ln_rho: Some(ln_rho),
            c: Some(c),
            bias: if flat { BiasPrior::Flat } else { BiasPrior::Gaussian },
            margin_prior: if jj { MarginPrior::Jj } else { MarginPrior::Exp },
            select: if kernels { Select::Kernels } else { Select::Features },
            kernels: if kernels { vec![Kernel::Linear, Kernel::poly(2, 1.0, 1.0), Kernel::rbf(0.4)] } else { Vec::new() },
            ..given()
        };
        let model = learner.fit_tasks(&set, &Context::single()).unwrap();
        prop_assert!(model.report.gap <= 1e-6, "gap {} after {} steps", model.report.gap, model.report.iterations);
        prop_assert!(model.switches.iter().all(|on| (0.0..=1.0).contains(on)));
    }
}
