//! The front against solved problems, and what must hold for any front.

use std::path::PathBuf;

use serde_json::Value;

use super::evolve::Evolution;
use super::evolve::population::Landscape;
use super::exact::signed::SignedKernel;
use super::exact::slots::{SlotTask, SumRange};
use super::point::facts;
use super::restart;
use super::*;
use crate::data::{Categories, Dataset, Matrix};
use crate::kernel::Kernel;
use crate::metrics::pareto::hypervolume;
use crate::observe::{Context, StopFlag, StopReason};
use crate::solver::TableKernel;
use crate::svm::{Learner, Model, Penalty, SolverSettings, Svc};

fn vectors(prefix: &str) -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/pareto");
    let mut found: Vec<(String, Value)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
        .map(|path| (path.display().to_string(), serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty());
    found
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Matrix<'static> {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Matrix::from_rows(&rows).unwrap()
}

fn problem(value: &Value) -> (Matrix<'static>, Vec<f64>, Kernel) {
    let (x, signs) = (matrix(&value["X"]), numbers(&value["y"]));
    let number = |name: &str| value[name].as_f64().unwrap();
    let kernel = match value["kernel"].as_str().unwrap() {
        "rbf" => Kernel::rbf(number("gamma")),
        "epanechnikov" => Kernel::Epanechnikov { gamma: (1.0 / number("p")).into(), degree: number("p2") as u32 },
        "sigmoid" => Kernel::sigmoid(number("p"), number("p2")),
        "multiquadric" => Kernel::Multiquadric { gamma: (1.0 / number("p")).into(), coef0: number("p2") },
        other => panic!("unknown kernel {other}"),
    };
    (x, signs, kernel)
}

/// Runs `work` with the slots of a problem.
fn with_task<R>(x: &Matrix<'static>, signs: &[f64], kernel: &Kernel, balanced: bool, work: impl FnOnce(&SlotTask<'_>) -> R) -> R {
    let context = Context::single();
    let table = TableKernel::new(kernel, x, &context);
    let source = SignedKernel::new(&table, signs, 1 << 24, &context);
    work(&SlotTask {
        source: &source,
        signs,
        room: &vec![1.0; signs.len()],
        balanced,
        tolerance: 1e-10,
        max_iterations: 1_000_000,
        context,
    })
}

fn classes(signs: &[f64]) -> Categories {
    Categories::from_names(&signs.iter().map(|y| y.to_string()).collect::<Vec<_>>())
}

#[test]
fn exact_slots_reach_the_solved_problems() {
    for (name, value) in vectors("psd_") {
        let (x, signs, kernel) = problem(&value);
        with_task(&x, &signs, &kernel, false, |task| {
            let mut solver = task.solver(None, &Context::single()).unwrap();
            for point in value["front"].as_array().unwrap() {
                let (s, q) = (point["s"].as_f64().unwrap(), point["q"].as_f64().unwrap());
                let slot = task.descend(&mut solver, task.fill(&vec![1.0; signs.len()], s), None).unwrap();
                let found = facts(&slot.alpha, &slot.gradient, &signs, &vec![1.0; signs.len()], false);
                assert!((found.quadratic - q).abs() <= 1e-8 * q, "{name}, s = {s}: {} instead of {q}", found.quadratic);
                assert!((found.sum - s).abs() < 1e-12 * s.max(1.0) && found.gap < 1e-8, "{name}, s = {s}: gap {}", found.gap);
                let worst = slot.alpha.iter().zip(numbers(&point["alpha"])).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-6, "{name}, s = {s}: alpha off by {worst}");
                if point["alpha"].as_array().unwrap().iter().any(|a| (1e-9..1.0 - 1e-9).contains(&a.as_f64().unwrap())) {
                    let slope = point["lam_half_slope"].as_f64().unwrap();
                    assert!((found.lambda - slope).abs() < 1e-7 * slope, "{name}, s = {s}: lambda {} instead of {slope}", found.lambda);
                }
            }
        });
    }
}

#[test]
fn a_sweep_is_the_same_front_and_covers_its_hypervolume() {
    for (name, value) in vectors("psd_") {
        let (x, signs, kernel) = problem(&value);
        with_task(&x, &signs, &kernel, false, |task| {
            let slots = task.sweep(400, SumRange::default(), None, &Context::single()).unwrap();
            assert_eq!(slots.len(), 400);
            let front: Vec<[f64; 2]> = slots.iter().map(|slot| [slot.alpha.iter().sum(), -slot.quadratic]).collect();
            let reference = numbers(&value["hv_ref"]);
            let covered = hypervolume(&front, &[reference[0], -reference[1]]).unwrap();
            let exact = value["hv_exact"].as_f64().unwrap();
            // The staircase of 400 points misses about a part in 400.
            assert!(covered <= exact * (1.0 + 1e-9) && covered > 0.99 * exact, "{name}: {covered} of {exact}");
            let ray = value["ray_q_at_sum1"].as_f64().unwrap();
            for slot in &slots {
                let found = facts(&slot.alpha, &slot.gradient, &signs, &vec![1.0; signs.len()], false);
                assert!(found.gap < 1e-8, "{name}: gap {} at {}", found.gap, found.sum);
                if found.sum < value["ray_until_s"].as_f64().unwrap() {
                    assert!((found.quadratic / (found.sum * found.sum) - ray).abs() < 1e-8 * ray, "{name}: ray");
                }
            }
        });
    }
}

#[test]
fn gradients_do_not_drift_along_a_sweep() {
    // More rows than the solver's own exact finish takes, and far from separable: the front ends in badly conditioned problems.
    let data = crate::data::generate::banana(650, 7);
    let signs: Vec<f64> = data.expect_classes().unwrap().codes().iter().map(|&c| if c == 1 { 1.0 } else { -1.0 }).collect();
    with_task(&data.x, &signs, &Kernel::rbf(1.0), false, |task| {
        let slots = task.sweep(40, SumRange::default(), None, &Context::single()).unwrap();
        let (order, n) = ((0..650).collect::<Vec<_>>(), 650usize);
        for slot in &slots {
            let exact = task.source.double().unwrap().weighted_sum(&order, &slot.alpha, 0..n);
            let worst = exact.iter().zip(&slot.gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let found = facts(&slot.alpha, &slot.gradient, &signs, &vec![1.0; signs.len()], false);
            assert!(worst < 1e-11 && found.gap < 1e-4, "s = {}: drift {worst}, gap {}", found.sum, found.gap);
        }
    });
}

#[test]
fn every_point_is_the_plain_machine_of_its_c() {
    for (name, value) in vectors("psd_") {
        let (x, signs, kernel) = problem(&value);
        with_task(&x, &signs, &kernel, false, |task| {
            for path in value["svm_path_b0"].as_array().unwrap() {
                let (s, q, c) = (path["s_norm"].as_f64().unwrap(), path["q_norm"].as_f64().unwrap(), path["C"].as_f64().unwrap());
                let mut solver = task.solver(None, &Context::single()).unwrap();
                let slot = task.descend(&mut solver, task.fill(&vec![1.0; signs.len()], s), None).unwrap();
                let found = facts(&slot.alpha, &slot.gradient, &signs, &vec![1.0; signs.len()], false);
                assert!((found.quadratic - q).abs() < 1e-7 * q, "{name}, C = {c}");
                if slot.alpha.iter().any(|&a| a > 1e-9 && a < 1.0 - 1e-9) {
                    assert!((1.0 / found.lambda - c).abs() < 1e-5 * c, "{name}: C {} instead of {c}", 1.0 / found.lambda);
                }
            }
        });
    }
}

#[test]
fn with_an_intercept_the_front_is_the_ordinary_machine() {
    let data = crate::data::generate::banana(90, 3);
    let front = ParetoSvc {
        kernel: Kernel::rbf(1.0),
        bias: Bias::Objective,
        holdout: 0.0,
        n_points: 20,
        tolerance: 1e-9,
        pick: Pick::Index(7),
        ..ParetoSvc::default()
    };
    let model = front.fit(&data).unwrap();
    for index in [3, 7, 15] {
        let point = model.front[index];
        let plain = Svc {
            kernel: Kernel::rbf(1.0),
            penalty: Penalty::C(point.equivalent_c),
            solver: SolverSettings { tolerance: 1e-9, ..SolverSettings::default() },
            ..Svc::default()
        };
        let expected = plain.fit(&data).unwrap().decision_values(&data.x).unwrap();
        let found = model.select(index).unwrap().decision_values(&data.x).unwrap();
        let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5, "point {index}, C = {}: decisions differ by {worst}", point.equivalent_c);
        assert!(point.gap < 1e-8);
    }
}

#[test]
fn indefinite_slots_reach_the_global_minimum() {
    let (mut reached, mut all) = (0, 0);
    for (name, value) in vectors("indef_") {
        let (x, signs, kernel) = problem(&value);
        with_task(&x, &signs, &kernel, false, |task| {
            let mut solver = task.solver(None, &Context::single()).unwrap();
            let points = value["front"].as_array().unwrap();
            let descend = |point: &Value, solver: &mut crate::solver::Solver<'_>| {
                task.descend(solver, task.fill(&vec![1.0; signs.len()], point["s"].as_f64().unwrap()), None).unwrap()
            };
            let mut slots: Vec<_> = points.iter().map(|point| descend(point, &mut solver)).collect();
            assert_eq!(restart::improve(task, &mut slots, 0, None, &Context::single()).unwrap(), StopReason::Converged);
            for (slot, point) in slots.iter().zip(points) {
                let q = point["q"].as_f64().unwrap();
                all += 1;
                if slot.quadratic <= q + 1e-8 {
                    reached += 1;
                } else {
                    println!("{name}, s = {}: {} above {q}", point["s"], slot.quadratic);
                }
                assert!(slot.quadratic > q - 1e-8, "{name}: below the global minimum");
            }
        });
    }
    println!("{reached} of {all} global minima");
    assert!(reached * 100 >= 95 * all, "{reached} of {all} global minima");
}

#[test]
fn objectives_and_errors_of_given_points() {
    let (_, value) = vectors("fitness").remove(0);
    let (x, signs, kernel) = (matrix(&value["X"]), numbers(&value["y"]), Kernel::rbf(value["gamma"].as_f64().unwrap()));
    let context = Context::single();
    let table = TableKernel::new(&kernel, &x, &context);
    let source = SignedKernel::new(&table, &signs, 1 << 20, &context);
    let q = source.matrix(&context).unwrap();
    let landscape = Landscape { q: &q, signs: &signs, objectives: 3 };
    let alphas: Vec<Vec<f64>> = value["alpha"].as_array().unwrap().iter().map(numbers).collect();
    let drafts = alphas.iter().map(|alpha| super::evolve::population::Draft { alpha: alpha.clone(), bases: [None, None] }).collect();
    for (place, member) in landscape.evaluate(drafts).into_iter().enumerate() {
        let expected = [&value["f1_minus_quadratic"], &value["f2_sum"], &value["f3"]].map(|list| numbers(list)[place]);
        assert!(member.objectives.values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "point {place}");
        let found = facts(&member.alpha, &member.gradient, &signs, &vec![1.0; signs.len()], false);
        assert!((found.train_error - numbers(&value["train_err"])[place]).abs() < 1e-12, "point {place}");
    }
    // The same points as a front: hold-out errors.
    let new = matrix(&value["Xtest"]);
    let codes: Vec<u32> = signs.iter().map(|&y| u32::from(y > 0.0)).collect();
    let held: Vec<u32> = numbers(&value["ytest"]).iter().map(|&y| u32::from(y > 0.0)).collect();
    let blank = landscape.zero();
    let mut fronts = vec![ClassFront {
        class: 1,
        points: vec![facts(&blank.alpha, &blank.gradient, &signs, &vec![1.0; signs.len()], false).point(); alphas.len()],
        alphas: alphas.concat(),
        lambdas: vec![1.0; alphas.len()],
        biases: vec![0.0; alphas.len()],
        reference: 1.0,
    }];
    let (own, other) = (vec![1.0; codes.len()], vec![1.0; held.len()]);
    let training = judge::Judged { x: &x, codes: &codes, weights: &own };
    let held = judge::Judged { x: &new, codes: &held, weights: &other };
    let table = judge::table(&mut fronts, &kernel, training, held, 2, &context).unwrap();
    for (place, point) in table.iter().enumerate() {
        assert!((point.holdout_error - numbers(&value["test_err"])[place]).abs() < 1e-12, "point {place}");
    }
}

fn evolved(crossover: Crossover, mutation: Mutation, variant: Variant, generations: usize) -> ParetoModel {
    let data = crate::data::generate::banana(60, 1);
    let learner = ParetoSvc {
        kernel: Kernel::rbf(1.0),
        mode: Mode::Evolve,
        population_size: 40,
        generations,
        crossover,
        mutation,
        variant,
        ..ParetoSvc::default()
    };
    learner.fit(&data).unwrap()
}

#[test]
fn evolved_fronts_stay_in_the_box_and_below_the_exact_one() {
    let data = crate::data::generate::banana(60, 1);
    let exact = ParetoSvc { kernel: Kernel::rbf(1.0), n_points: 300, ..ParetoSvc::default() }.fit(&data).unwrap();
    let mut shares = Vec::new();
    for variant in [Variant::Paper, Variant::Textbook] {
        for crossover in [Crossover::Uniform, Crossover::Arithmetic] {
            for mutation in [Mutation::Hybrid, Mutation::Switching, Mutation::Gaussian] {
                let model = evolved(crossover, mutation, variant, 60);
                assert!(model.machines[0].alphas.iter().all(|alpha| (0.0..=1.0).contains(alpha)));
                // Rising in both: no point dominates another.
                assert!(model.front.windows(2).all(|pair| pair[0].sum_alpha < pair[1].sum_alpha && pair[0].quadratic < pair[1].quadratic));
                let share = model.hypervolume().unwrap() / exact.hypervolume().unwrap();
                assert!(share < 1.01, "{variant:?} {crossover:?} {mutation:?}: {share}");
                shares.push((variant, crossover, mutation, share));
            }
        }
    }
    let share = |v, c, m| shares.iter().find(|s| (s.0, s.1, s.2) == (v, c, m)).unwrap().3;
    assert!(share(Variant::Paper, Crossover::Uniform, Mutation::Hybrid) > 0.4, "{shares:?}");
    let (plain, better) = (Crossover::Uniform, Crossover::Arithmetic);
    assert!(share(Variant::Paper, better, Mutation::Hybrid) > share(Variant::Paper, plain, Mutation::Hybrid), "{shares:?}");
}

#[test]
fn the_best_ends_never_get_worse() {
    let data = crate::data::generate::banana(50, 2);
    let signs: Vec<f64> = data.expect_classes().unwrap().codes().iter().map(|&c| if c == 1 { 1.0 } else { -1.0 }).collect();
    let context = Context::single();
    let kernel = Kernel::rbf(1.0);
    let table = TableKernel::new(&kernel, &data.x, &context);
    let source = SignedKernel::new(&table, &signs, 1 << 24, &context);
    let q = source.matrix(&context).unwrap();
    for objectives in [2, 3] {
        let landscape = Landscape { q: &q, signs: &signs, objectives };
        let mut last = 0.0;
        for generations in 1..40 {
            let evolution = Evolution {
                population: 20,
                generations,
                mutation: Mutation::Hybrid,
                crossover: Crossover::Uniform,
                variant: Variant::Paper,
                seed: 5,
            };
            let front = evolution.run(&landscape, &context).unwrap().front;
            let most = front.iter().map(|member| member.objectives.values[1]).fold(0.0, f64::max);
            assert!(most >= last, "generation {generations}: {most} after {last}");
            assert!(front.iter().any(|member| member.objectives.values[0] == 0.0), "alpha = 0 stays");
            last = most;
            // Carried-over gradients are the true ones.
            for member in &front {
                let fresh = landscape.evaluate(vec![super::evolve::population::Draft { alpha: member.alpha.clone(), bases: [None, None] }]);
                assert!((fresh[0].objectives.values[0] - member.objectives.values[0]).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let data = crate::data::generate::banana(150, 4);
    let sigmoid = Kernel::sigmoid(0.5, -1.0);
    for (mode, kernel) in [(Mode::Exact, Kernel::rbf(1.0)), (Mode::Evolve, Kernel::rbf(1.0)), (Mode::Hybrid, sigmoid)] {
        let learner = ParetoSvc { mode, kernel, n_points: 12, generations: 20, ..ParetoSvc::default() };
        let fit = |threads| {
            let mut model = learner.fit_in(&data, &Context::default().with_threads(threads)).unwrap();
            model.report.seconds = 0.0;
            model.classifier.report.seconds = 0.0;
            (format!("{:?}", model.front), model.machines[0].alphas.clone(), model.classifier)
        };
        let one = fit(1);
        assert_eq!(one, fit(2));
        assert_eq!(one, fit(3));
    }
}

#[test]
fn order_of_rows_does_not_matter_to_the_exact_front() {
    let data = crate::data::generate::banana(60, 6);
    let order = crate::random::Random::new(9, 0).permutation(60);
    let learner = ParetoSvc { kernel: Kernel::rbf(1.0), holdout: 0.0, n_points: 15, tolerance: 1e-9, ..ParetoSvc::default() };
    let (a, b) = (learner.fit(&data).unwrap(), learner.fit(&data.select(&order)).unwrap());
    for (a, b) in a.front.iter().zip(&b.front) {
        assert!((a.quadratic - b.quadratic).abs() < 1e-9 * a.quadratic && a.train_error == b.train_error);
    }
}

#[test]
fn choosing_follows_its_rules() {
    let point = |sum: f64, quadratic: f64, train: f64, held: f64, margin: f64| FrontPoint {
        quadratic,
        sum_alpha: sum,
        train_error: train,
        holdout_error: held,
        n_support: 1,
        equivalent_c: 1.0,
        margin,
        gap: 0.0,
    };
    let points = [
        point(1.0, 1.0, 0.0, 0.3, 0.1),
        point(2.0, 2.0, 0.05, 0.1, 0.2),
        point(3.0, 3.0, 0.1, 0.1, 0.3),
        point(4.0, 9.0, 0.15, 0.13, 0.4),
        point(5.0, 20.0, 0.3, 0.4, 0.5),
    ];
    let errors: Vec<f64> = points.iter().map(|p| p.holdout_error).collect();
    let found = marks(&points, &errors, 100);
    assert_eq!(found, Marks { lowest: Some(1), knee: None, one_se: Some(3), parting: Some(1) });
    assert_eq!(by_training_error(&points), [4, 3, 2, 1, 0]);
    assert_eq!(Pick::Index(4).choose(&points, &errors, 100).unwrap(), 4);
    assert!(Pick::Index(5).choose(&points, &errors, 100).unwrap_err().to_string().contains("below 5"));
    let unknown = [f64::NAN; 5];
    // Nothing else decides: the C nearest to 1.
    assert_eq!(Pick::Holdout.choose(&points, &unknown, 0).unwrap(), 0);
    // No knee: what rows held out say stands in for it.
    assert_eq!(Pick::Knee.choose(&points, &errors, 100).unwrap(), 1);
    assert_eq!(marks(&points, &unknown, 0).parting, None);
    // A corner of slack against norm: the norm falls by a hundred at no cost, then slack rises by a hundred for nothing.
    let bend: Vec<FrontPoint> = [(1e3, 1.0, 100.0), (100.0, 1.2, 10.0), (10.0, 1.5, 1.0), (1.0, 10.0, 0.8), (0.1, 100.0, 0.6)]
        .iter()
        .map(|&(c, slack, norm): &(f64, f64, f64)| {
            let quadratic = norm * norm / (c * c);
            FrontPoint { equivalent_c: c, ..point(slack + quadratic * c, quadratic, 0.0, 0.0, 0.1) }
        })
        .collect();
    assert_eq!(marks(&bend, &unknown, 0).knee, Some(2));
    assert_eq!(Pick::Knee.choose(&bend, &unknown, 0).unwrap(), 2);
    // Averages over hold-outs, read at the same share of the sum.
    let other = vec![point(2.0, 1.0, 0.0, 0.0, 0.1), point(10.0, 9.0, 0.0, 0.8, 0.2)];
    let found = choose::estimate(&points, &[other], 0.0);
    let expected = [0.15, 0.15, 0.25, 0.365, 0.6];
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    // Fronts that end at a share are not read below it.
    let other = vec![point(4.0, 1.0, 0.0, 0.0, 0.1), point(10.0, 9.0, 0.0, 0.8, 0.2)];
    let found = choose::estimate(&points, &[other], 0.4);
    assert!(found.iter().zip([0.3, 0.05]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    // With 100 rows the first point is 6.7 standard errors above the lowest, with 10 rows 2.1.
    assert_eq!([choose::worth_averaging(&points, 100), choose::worth_averaging(&points, 10)], [0.4, 0.2]);
}

#[test]
fn many_classes_share_one_position() {
    let shape = crate::data::generate::Clusters { classes: 4, ..Default::default() };
    let data = crate::data::generate::classification(120, 2, &shape).unwrap();
    let model = ParetoSvc { n_points: 10, ..ParetoSvc::default() }.fit(&data).unwrap();
    assert_eq!((model.machines.len(), model.front.len()), (4, 10));
    let selected = model.select(4).unwrap();
    let part = data.select(&model.rows);
    let wrong = selected.predict(&part.x).unwrap().codes().iter().zip(&model.codes).filter(|(a, b)| a != b).count();
    assert!((model.front[4].train_error - wrong as f64 / model.codes.len() as f64).abs() < 1e-12);
}

#[test]
fn a_stopped_fit_is_a_usable_model() {
    let data = crate::data::generate::banana(200, 0);
    let flag = StopFlag::default();
    flag.stop();
    for mode in [Mode::Exact, Mode::Hybrid, Mode::Evolve] {
        let learner = ParetoSvc { mode, kernel: Kernel::sigmoid(1.0, 0.0), ..ParetoSvc::default() };
        let model = learner.fit_in(&data, &Context::single().with_observer(&flag)).unwrap();
        assert_eq!(model.report.stop, StopReason::Interrupted);
        assert!(!model.front.is_empty());
        if mode != Mode::Evolve {
            // What was not solved is still described truly.
            let point = model.select(0).unwrap();
            let train = data.select(&model.rows);
            let wrong = point.predict(&train.x).unwrap().codes().iter().zip(&model.codes).filter(|(a, b)| a != b).count();
            assert!((model.front[0].train_error - wrong as f64 / model.codes.len() as f64).abs() < 1e-12);
        }
        assert_eq!(model.predict(&data.x).unwrap().len(), 200);
    }
}

#[test]
fn bad_input_is_refused_with_the_reason() {
    let data = crate::data::generate::banana(40, 0);
    let complaint = |learner: ParetoSvc, data: &Dataset<'_>| learner.fit(data).unwrap_err().to_string();
    let default = ParetoSvc::default;
    assert!(complaint(ParetoSvc { holdout: 1.0, ..default() }, &data).contains("at least 0 (none) and below 1, got 1"));
    assert!(complaint(ParetoSvc { holdout: f64::NAN, ..default() }, &data).contains("got NaN"));
    assert!(complaint(ParetoSvc { population_size: 3, ..default() }, &data).contains("at least 4, got 3"));
    assert!(complaint(ParetoSvc { n_points: 1, ..default() }, &data).contains("at least 2, got 1"));
    assert!(complaint(default(), &data.select(&[0, 1, 2, 3])).contains("rows, found"));
    let one = (0..40).filter(|&i| data.expect_classes().unwrap().codes()[i] == 0).collect::<Vec<_>>();
    assert!(complaint(default(), &data.select(&one)).contains("found only `"));
    let evolve = ParetoSvc { mode: Mode::Evolve, ..default() };
    assert!(complaint(evolve, &data.clone().with_weights(vec![1.0; 40])).contains("no sample weights"));
    assert!(complaint(ParetoSvc { widths: Widths::Values(vec![]), ..default() }, &data).contains("at least one value"));
    let blind = ParetoSvc { widths: Widths::Values(vec![0.1, 1.0]), holdout: 0.0, ..default() };
    assert!(complaint(blind, &data).contains("cannot be compared"));
    let signs = [1.0, -1.0, -1.0, -1.0, -1.0, -1.0];
    let lonely = Dataset::classes(Matrix::dense(vec![0.0; 6], 6, 1).unwrap(), classes(&signs));
    assert!(complaint(default(), &lonely).contains("set holdout to 0"));
    assert!(ParetoSvc { holdout: 0.0, ..default() }.fit(&lonely).is_ok());
    let precomputed = ParetoSvc { kernel: Kernel::Precomputed, holdout: 0.0, ..default() };
    let mut k: Vec<f64> = (0..36).map(|i| if i % 7 == 0 { 1.0 } else { 0.1 }).collect();
    k[1] = 0.7;
    let crooked = Dataset::classes(Matrix::dense(k.clone(), 6, 6).unwrap(), classes(&signs));
    assert!(complaint(precomputed.clone(), &crooked).contains("row 1, column 0 holds 0.1, row 0, column 1 holds 0.7"));
    k[1] = f64::NAN;
    let hole = Dataset::classes(Matrix::dense(k, 6, 6).unwrap(), classes(&signs));
    assert!(complaint(precomputed, &hole).contains("NaN"));
}

#[test]
fn every_kernel_ends_and_gives_a_front() {
    let data = crate::data::generate::banana(80, 5);
    let x = &data.x;
    let mut values = Vec::new();
    for i in 0..80 {
        for j in 0..80 {
            // A matrix with many negative eigenvalues.
            let d: f64 = (0..2).map(|c| (x.get(i, c) - x.get(j, c)).powi(2)).sum::<f64>().sqrt();
            values.push((3.0 * d).cos() - 0.2);
        }
    }
    let given = Dataset { x: Matrix::dense(values, 80, 80).unwrap(), feature_names: None, ..data.clone() };
    let kernels = [
        Kernel::Epanechnikov { gamma: 0.3.into(), degree: 1 },
        Kernel::sigmoid(0.5, -1.0),
        Kernel::Multiquadric { gamma: 1.0.into(), coef0: 1.0 },
        Kernel::Linear,
        Kernel::Precomputed,
    ];
    for kernel in kernels {
        for bias in [Bias::None, Bias::Objective] {
            for mode in [Mode::Hybrid, Mode::Evolve] {
                let data = if kernel == Kernel::Precomputed { &given } else { &data };
                let learner = ParetoSvc { kernel: kernel.clone(), bias, mode, n_points: 12, generations: 15, ..ParetoSvc::default() };
                let model = learner.fit(data).unwrap();
                assert!(!model.front.is_empty() && model.report.stop == StopReason::Converged, "{kernel:?} {bias:?} {mode:?}");
                assert!(model.front.iter().all(|point| point.gap < 1e-4 || mode == Mode::Evolve), "{kernel:?} {bias:?}: {:?}", model.front);
                assert_eq!(model.predict(&data.x).unwrap().len(), 80);
            }
        }
    }
    // The sign that makes a multiquadric a similarity: better than chance.
    let model = ParetoSvc { kernel: Kernel::Multiquadric { gamma: 1.0.into(), coef0: 1.0 }, ..ParetoSvc::default() }.fit(&data).unwrap();
    assert!(model.front.iter().map(|point| point.train_error).fold(1.0, f64::min) < 0.3);
}

#[test]
fn opposite_twins_and_constant_columns_do_no_harm() {
    let x = Matrix::dense(vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 8, 1).unwrap();
    let data = Dataset::classes(x, classes(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]));
    let flat = Dataset::classes(Matrix::dense(vec![5.0; 8], 8, 1).unwrap(), data.expect_classes().unwrap().clone());
    for data in [&data, &flat] {
        for mode in [Mode::Hybrid, Mode::Evolve] {
            let model = ParetoSvc { mode, n_points: 10, generations: 20, ..ParetoSvc::default() }.fit(data).unwrap();
            assert!(model.front.iter().all(|point| point.quadratic.is_finite()));
            assert_eq!(model.predict(&data.x).unwrap().len(), 8);
            assert!(!model.facts().iter().any(|(_, text)| text.to_lowercase().contains("nan")), "{:?}", model.facts());
        }
    }
}

#[test]
fn widths_are_compared_and_the_chosen_one_is_a_front_like_any_other() {
    let data = crate::data::generate::banana(120, 4);
    let learner = ParetoSvc { n_points: 12, ..ParetoSvc::default() };
    let fit = |threads: usize| learner.fit_in(&data, &Context::default().with_threads(threads)).unwrap();
    let model = fit(1);
    assert_eq!(ParetoModel { report: model.report, classifier: model.classifier.clone(), ..fit(2) }, model);
    assert_eq!(model.family.len(), 5);
    assert!(model.family.windows(2).all(|pair| pair[0].gamma < pair[1].gamma));
    let chosen = model.chosen_width().unwrap();
    assert!(model.kernel == Kernel::rbf(model.family[chosen].gamma) && model.family[chosen].holdouts == 5);
    let common = model.common_front().unwrap();
    assert!(!common.is_empty() && common.windows(2).all(|pair| pair[0].2.quadratic <= pair[1].2.quadratic));
    // Rows of a coarse front are points of the same problem as the fine one's.
    let alone = ParetoSvc { kernel: model.kernel.clone(), ..learner.clone() }.fit(&data).unwrap();
    assert!(alone.family.is_empty() && alone.rows == model.rows);
    let (wide, all) = (model.family[chosen].front.last().unwrap(), alone.front.last().unwrap());
    assert!((wide.quadratic - all.quadratic).abs() <= 1e-9 * all.quadratic && wide.sum_alpha == all.sum_alpha);
    assert_eq!(model.select(model.picked).unwrap(), model.classifier);
}

#[test]
fn an_indefinite_kernel_is_judged_in_several_orders_and_refitted_at_its_c() {
    let data = crate::data::generate::two_gaussians(60, 1, 2, 1.5);
    let kernel = Kernel::Epanechnikov { gamma: crate::kernel::Gamma::Rule(crate::kernel::GammaRule::Scale), degree: 1 };
    let learner = ParetoSvc { kernel: kernel.clone(), n_points: 10, ..ParetoSvc::default() };
    let model = learner.fit(&data).unwrap();
    let chosen = model.chosen_width().unwrap();
    let own = kernel.resolve(&data.x, None).unwrap().gamma().unwrap().value().unwrap();
    let own = model.family.iter().position(|other| (other.gamma / own - 1.0).abs() < 1e-9).unwrap();
    // Another width only where it is better; by how much is tested beside the rule.
    assert!(chosen == own || model.family[chosen].lowest() < model.family[own].lowest());
    // All widths are judged by one order of the rows, the best and the own one by the other orders.
    let often: Vec<usize> = (0..model.family.len()).filter(|&place| model.family[place].holdouts == 30).collect();
    assert!(often.contains(&chosen) && often.len() <= 2, "{often:?}");
    assert!((0..model.family.len()).all(|place| often.contains(&place) || model.family[place].holdouts == 5));
    // The refit is the machine at the picked point's C.
    assert_eq!(model.select(model.picked).unwrap(), model.classifier);
    let c = model.front[model.picked].equivalent_c;
    let penalty = crate::svm::Penalty::C(c);
    let plain = crate::svm::Svc { kernel: model.kernel.clone(), penalty, ..Default::default() }.fit(&data).unwrap();
    let values = |model: &crate::svm::SvcModel| model.decision_values(&data.x).unwrap();
    let same = values(&plain).iter().zip(values(&model.classifier)).filter(|(a, b)| (**a > 0.0) == (*b > 0.0)).count();
    assert!(same >= 58, "C = {c}: {same} of 60 rows");
}

#[test]
fn weights_are_repeated_rows() {
    let data = crate::data::generate::banana(60, 5);
    let weights: Vec<f64> = (0..60).map(|row| f64::from(row % 3)).collect();
    let rows: Vec<usize> = (0..60).rev().flat_map(|row| vec![row; row % 3]).collect();
    for bias in [Bias::None, Bias::Objective] {
        let learner = ParetoSvc { kernel: Kernel::rbf(1.0), n_points: 10, tolerance: 1e-9, bias, ..ParetoSvc::default() };
        let weighted = learner.fit(&data.clone().with_weights(weights.clone())).unwrap();
        let repeated = learner.fit(&data.select(&rows)).unwrap();
        for (a, b) in weighted.front.iter().zip(&repeated.front) {
            assert!(
                (a.quadratic - b.quadratic).abs() < 1e-7 * b.quadratic.abs() && (a.sum_alpha - b.sum_alpha).abs() < 1e-9,
                "{a:?} {b:?}"
            );
            assert!((a.train_error - b.train_error).abs() < 1e-12 && (a.holdout_error - b.holdout_error).abs() < 1e-12);
        }
        assert_eq!(weighted.picked, repeated.picked);
    }
}

#[test]
fn repeated_hold_outs_judge_every_row_once() {
    let data = crate::data::generate::banana(100, 4);
    let counts = data.expect_classes().unwrap().counts();
    let mut held = vec![0; data.len()];
    for repeat in 0..5 {
        let (train, test) = judge::hold_out(&data, 0.2, 3, repeat, &Context::single()).unwrap();
        assert_eq!(train.len() + test.len(), data.len());
        test.iter().for_each(|&row| held[row] += 1);
    }
    // All at once they are the same, with rows that differ and with some that do not.
    for data in [&data, &data.select(&(0..100).map(|row| row % 90).collect::<Vec<_>>())] {
        let each = (0..5).map(|repeat| judge::hold_out(data, 0.2, 3, repeat, &Context::single()).unwrap());
        assert_eq!(judge::hold_outs(data, 0.2, 3, 5, &Context::single()).unwrap(), each.collect::<Vec<_>>());
    }
    // A class whose size five does not divide gives one block a row or two that another has had.
    let uneven: usize = counts.iter().map(|count| 4.min(count % 5 * 4)).sum();
    assert!(held.iter().filter(|&&times| times != 1).count() <= uneven, "{held:?}");
    let again = judge::hold_out(&data, 0.2, 3, 5, &Context::single()).unwrap();
    assert_ne!(again, judge::hold_out(&data, 0.2, 3, 0, &Context::single()).unwrap(), "after all blocks the order is another one");
    // The same by kinds of rows, where there are weights.
    let weighted = data.clone().with_weights(vec![1.0; 100]);
    let mut held = vec![0; 100];
    for repeat in 0..5 {
        judge::hold_out(&weighted, 0.2, 3, repeat, &Context::single()).unwrap().1.iter().for_each(|&row| held[row] += 1);
    }
    // Every block ends within half a row of its goal.
    assert!(held.iter().filter(|&&times| times != 1).count() <= 10, "{held:?}");
}
