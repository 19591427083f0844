//! The machines' promises on problems small enough to check by other means.

use super::*;
use crate::data::{Categories, Dataset, Matrix, Target, generate};
use crate::kernel::{Gamma, Kernel};
use crate::observe::Context;

fn tight() -> SolverSettings {
    SolverSettings { tolerance: 1e-9, ..SolverSettings::default() }
}

fn three_classes(n: usize) -> Dataset<'static> {
    let data = generate::two_gaussians(n, 3, 3, 1.5);
    let names: Vec<String> =
        (0..n).map(|i| if data.x.get(i, 0) + 0.3 * (i % 3) as f64 > 0.8 { "c".into() } else { ["a", "b"][i % 2].to_string() }).collect();
    Dataset::classes(data.x, Categories::from_names(&names))
}

fn close(a: &[f64], b: &[f64], allowed: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = b.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= allowed * scale, "{what}: {i}: {x} for {y}");
    }
}

#[test]
fn four_points_have_the_known_machine() {
    // Two points a side, margin from -1 to 1: w = 1, b = 0.
    let x = Matrix::from_rows(&[[-1.0], [-2.0], [1.0], [2.0]]).unwrap();
    let data = Dataset::classes(x, Categories::from_names(&["-", "-", "+", "+"]));
    let model = Svc { kernel: Kernel::Linear, penalty: Penalty::C(10.0), ..Svc::default() }.fit(&data).unwrap();
    assert_eq!(model.classes, ["+", "-"]);
    close(&model.decision_values(&data.x).unwrap(), &[1.0, 2.0, -1.0, -2.0], 1e-9, "decisions, positive for the second class");
    assert_eq!(model.support_counts, [1, 1]);
    assert!((model.report.objective + 0.5).abs() < 1e-9 && model.report.gap < 1e-9);
    assert_eq!(model.predict(&data.x).unwrap().codes(), [1, 1, 0, 0]);
}

#[test]
fn weights_are_repeated_rows_and_zero_is_absence() {
    let data = three_classes(90);
    let weights: Vec<f64> = (0..90).map(|i| [0.0, 1.0, 2.0, 3.0][i % 4]).collect();
    let repeated: Vec<usize> = (0..90).flat_map(|i| std::iter::repeat_n(i, i % 4)).collect();
    for kernel in [Kernel::default(), Kernel::Linear, Kernel::poly(2, 0.5, 1.0)] {
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            for penalty in [Penalty::C(2.0), Penalty::Nu(0.6)] {
                if matches!(penalty, Penalty::Nu(_)) && (multiclass == Multiclass::OneVsRest || kernel == Kernel::Linear) {
                    // One class against two thirds: such a nu is not feasible. A line leaves no margin at all.
                    continue;
                }
                let svc = Svc { kernel: kernel.clone(), multiclass, penalty, solver: tight(), ..Svc::default() };
                let a = svc.fit(&data.clone().with_weights(weights.clone())).unwrap();
                let b = svc.fit(&data.select(&repeated)).unwrap();
                let allowed = if matches!(kernel, Kernel::Linear) { 1e-5 } else { 1e-6 };
                let context = Context::default();
                close(&a.outputs_in(&data.x, &context).unwrap(), &b.outputs_in(&data.x, &context).unwrap(), allowed, &format!("{svc:?}"));
                assert!((a.report.objective / b.report.objective - 1.0).abs() < 1e-7);
            }
        }
    }
}

#[test]
fn regression_weights_are_repeated_rows() {
    let data = generate::regression(80, 1, 0, 0.5);
    let weights: Vec<f64> = (0..80).map(|i| (i % 3) as f64).collect();
    let repeated: Vec<usize> = (0..80).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    for tube in [Tube::Epsilon(0.2), Tube::Nu(0.4)] {
        let svr = Svr { tube, c: 3.0, solver: tight(), ..Svr::default() };
        let a = svr.fit(&data.clone().with_weights(weights.clone())).unwrap();
        let b = svr.fit(&data.select(&repeated)).unwrap();
        close(&a.predict(&data.x).unwrap(), &b.predict(&data.x).unwrap(), 1e-6, &format!("{tube:?}"));
    }
    let one = OneClass { nu: 0.3, solver: tight(), ..OneClass::default() };
    let a = one.fit(&data.clone().with_weights(weights)).unwrap();
    let b = one.fit(&data.select(&repeated)).unwrap();
    close(&a.decision_values(&data.x).unwrap(), &b.decision_values(&data.x).unwrap(), 1e-6, "one-class");
}

#[test]
fn the_order_of_rows_and_the_storage_do_not_matter() {
    let data = three_classes(120);
    let order = crate::random::Random::new(4, 0).permutation(120);
    let svc = Svc { solver: tight(), penalty: Penalty::C(5.0), ..Svc::default() };
    let context = Context::default();
    let reference = svc.fit(&data).unwrap().outputs_in(&data.x, &context).unwrap();
    let permuted = svc.fit(&data.select(&order)).unwrap().outputs_in(&data.x, &context).unwrap();
    close(&permuted, &reference, 1e-7, "permuted");
    let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
    let model = svc.fit(&sparse).unwrap();
    close(&model.outputs_in(&sparse.x, &context).unwrap(), &reference, 1e-7, "sparse");
    close(&model.outputs_in(&data.x, &context).unwrap(), &reference, 1e-7, "sparse model, dense table");
    let kernel = Kernel::default().resolve(&data.x, None).unwrap();
    let mut gram = vec![0.0; 120 * 120];
    let (mut a, mut b) = (vec![0.0; 3], vec![0.0; 3]);
    for i in 0..120 {
        for j in 0..120 {
            data.x.copy_row(i, &mut a);
            data.x.copy_row(j, &mut b);
            gram[i * 120 + j] = kernel.evaluate(&a, &b).unwrap();
        }
    }
    let given = Dataset { x: Matrix::dense(gram, 120, 120).unwrap(), ..data.clone() };
    let model = Svc { kernel: Kernel::Precomputed, ..svc }.fit(&given).unwrap();
    close(&model.outputs_in(&given.x, &context).unwrap(), &reference, 1e-7, "precomputed");
}

/// Large enough for pair steps on the matrix itself; rows of 701 and of 3203 values need the next row as padding, and the last has none.
#[test]
fn a_large_given_matrix_is_solved_where_it_lies() {
    for n in [701, 3203] {
        let data = generate::two_gaussians(n, 4, 5, 1.5);
        let svc = Svc { kernel: Kernel::rbf(0.2), solver: SolverSettings { tolerance: 1e-5, ..Default::default() }, ..Svc::default() };
        let plain = svc.fit(&data).unwrap();
        let gram = crate::kernel::rows::<f64>(&svc.kernel, &data.x, &Context::single()).unwrap();
        let gram = crate::kernel::whole(&*gram, 2, &Context::default()).unwrap();
        let given = Dataset { x: Matrix::dense(gram, n, n).unwrap(), ..data.clone() };
        let svc = Svc { kernel: Kernel::Precomputed, ..svc };
        let [one, two] = [1, 2].map(|threads| svc.fit_in(&given, &Context::default().with_threads(threads)).unwrap());
        assert_eq!(one.machine, two.machine, "{n}");
        let (found, expected) = (one.report.objective, plain.report.objective);
        assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{n}: {found} and {expected}");
        close(
            &one.outputs_in(&given.x, &Context::default()).unwrap(),
            &plain.outputs_in(&data.x, &Context::default()).unwrap(),
            2e-4,
            "given",
        );
    }
}

#[test]
fn threads_and_batches_give_the_same_bits() {
    let data = three_classes(1500);
    let svc = Svc { penalty: Penalty::C(10.0), ..Svc::default() };
    let one = svc.fit_in(&data, &Context::single()).unwrap();
    let two = svc.fit_in(&data, &Context::default().with_threads(2)).unwrap();
    assert_eq!(one.machine, two.machine);
    let all = one.outputs_in(&data.x, &Context::default()).unwrap();
    for rows in [vec![7], vec![3, 900, 1499], (100..333).collect()] {
        let some = one.outputs_in(&data.x.select(&rows), &Context::single()).unwrap();
        let expected: Vec<f64> = rows.iter().flat_map(|&r| all[r * 3..(r + 1) * 3].to_vec()).collect();
        assert_eq!(some, expected);
    }
}

/// Wide enough that pairs share the matrices of their classes.
#[test]
fn a_pair_among_many_is_the_machine_of_its_two_classes_alone() {
    let (n, d) = (150, 140);
    let mut random = crate::random::Random::new(8, 0);
    let values: Vec<f64> = (0..n * d).map(|i| random.normal() + if i % d % 3 == i / d % 3 { 0.4 } else { 0.0 }).collect();
    let codes: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
    let names = |codes: &[u32]| codes.iter().map(|&c| ["a", "b", "c"][c as usize]).collect::<Vec<_>>();
    let x = Matrix::dense(values, n, d).unwrap();
    let learner = Svc { kernel: Kernel::rbf(0.005), solver: tight(), ..Svc::default() };
    let all = learner.fit(&Dataset::classes(x.select(&(0..n).collect::<Vec<_>>()), Categories::from_names(&names(&codes)))).unwrap();
    let outputs = all.outputs_in(&x, &Context::default()).unwrap();
    for (pair, [first, second]) in [[0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
        let rows: Vec<usize> = (0..n).filter(|&i| codes[i] == first || codes[i] == second).collect();
        let labels: Vec<u32> = rows.iter().map(|&i| codes[i]).collect();
        let alone = learner.fit(&Dataset::classes(x.select(&rows), Categories::from_names(&names(&labels)))).unwrap();
        let expected = alone.outputs_in(&x, &Context::default()).unwrap();
        let found: Vec<f64> = (0..n).map(|i| outputs[i * 3 + pair]).collect();
        close(&found, &expected, 1e-7, "one pair");
    }
}

#[test]
fn predictions_are_the_argmax_of_what_is_shown() {
    let data = three_classes(200);
    for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
        let model = Svc { multiclass, calibrate: true, ..Svc::default() }.fit(&data).unwrap();
        let decisions = model.decision_values(&data.x).unwrap();
        let probabilities = model.probabilities(&data.x, &Context::default()).unwrap();
        let codes = model.predict(&data.x).unwrap();
        for (i, &code) in codes.codes().iter().enumerate() {
            let row = |values: &[f64]| values[i * 3..(i + 1) * 3].to_vec();
            assert_eq!(super::multiclass::argmax(&row(&decisions)), code as usize);
            let p = row(&probabilities);
            assert_eq!(super::multiclass::argmax(&p), code as usize, "{p:?}");
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p.iter().all(|&v| (0.0..=1.0).contains(&v)));
        }
    }
}

#[test]
fn probabilities_are_calibrated() {
    // One informative direction: the true probability is logistic in it.
    let data = generate::two_gaussians(2000, 8, 2, 2.0);
    let model = Svc { calibrate: true, ..Svc::default() }.fit(&data).unwrap();
    let fresh = generate::two_gaussians(2000, 9, 2, 2.0);
    let p = model.probabilities(&fresh.x, &Context::default()).unwrap();
    let truth = fresh.expect_classes().unwrap().codes();
    let brier = p.chunks(2).zip(truth).map(|(p, &y)| (p[1] - f64::from(y)).powi(2)).sum::<f64>() / 2000.0;
    assert!(brier < 0.125, "{brier}");
    let sure: Vec<usize> = (0..2000).filter(|&i| p[2 * i + 1] > 0.8 && p[2 * i + 1] < 0.95).collect();
    let share = sure.iter().filter(|&&i| truth[i] == 1).count() as f64 / sure.len() as f64;
    assert!((0.78..0.97).contains(&share), "{share} of {}", sure.len());
}

#[test]
fn nu_bounds_the_errors_and_the_support_vectors() {
    let data = generate::two_gaussians(400, 5, 2, 1.5);
    let model = Svc { penalty: Penalty::Nu(0.7), solver: tight(), ..Svc::default() }.fit(&data).unwrap();
    assert!(model.machine.len() as f64 >= 0.7 * 400.0 - 1e-6);
    let codes = data.expect_classes().unwrap().codes();
    let margins = model.decision_values(&data.x).unwrap();
    let errors = margins.iter().zip(codes).filter(|(f, y)| (if **y == 1 { **f } else { -**f }) < 1.0 - 1e-6).count();
    assert!(errors as f64 <= 0.7 * 400.0 + 1e-6, "{errors}");
    let outside = OneClass { nu: 0.2, solver: tight(), ..OneClass::default() }.fit(&data).unwrap();
    let out = outside.decision_values(&data.x).unwrap().iter().filter(|&&f| f < -1e-7).count();
    assert!(out as f64 <= 0.2 * 400.0 + 1e-6, "{out}");
}

#[test]
fn bad_input_is_named() {
    let data = three_classes(30);
    let message = |result: crate::Result<SvcModel>| result.unwrap_err().to_string();
    assert_eq!(
        message(Svc { penalty: Penalty::C(-1.0), ..Svc::default() }.fit(&data)),
        "parameter `c` of Svc must be positive and finite, got -1"
    );
    let uneven: Vec<String> = (0..30).map(|i| if i < 3 { "rare" } else { "common" }.to_string()).collect();
    let uneven = Dataset::classes(data.x.clone(), Categories::from_names(&uneven));
    assert_eq!(
        message(Svc { penalty: Penalty::Nu(0.5), ..Svc::default() }.fit(&uneven)),
        "parameter `nu` of Svc must be at most 0.200000 for these class sizes, got 0.5"
    );
    assert!(message(Svc { kernel: Kernel::Rbf { gamma: Gamma::Value(-1.0) }, ..Svc::default() }.fit(&data)).contains("`gamma`"));
    let one = Dataset::classes(data.x.clone(), Categories::from_names(&["x"; 30]));
    assert_eq!(message(Svc::default().fit(&one)), "classification needs at least two classes, found only `x`");
    assert!(message(Svc::default().fit(&data.clone().with_weights(vec![0.0; 30]))).contains("all sample weights are zero"));
    assert!(message(Svc::default().fit(&data.clone().with_weights(vec![-1.0; 30]))).contains("row 0 has -1"));
    assert!(message(Svc::default().fit(&data.clone().with_weights(vec![1.0; 3]))).contains("expected 30, found 3"));
    assert!(message(Svc::default().fit(&Dataset::new(data.x.clone(), Target::Real(vec![0.0; 30])))).contains("needs classes"));
    let weights = ClassWeight::Given(vec![("zebra".into(), 2.0)]);
    assert!(message(Svc { class_weight: weights, ..Svc::default() }.fit(&data)).contains("a, b, c"));
    let model = Svc::default().fit(&data).unwrap();
    let wide = Matrix::from_rows(&[[0.0; 4]]).unwrap();
    assert_eq!(model.predict(&wide).unwrap_err().to_string(), "feature columns: expected 3, found 4");
    assert!(model.predict(&Matrix::from_rows(&[[0.0, f64::INFINITY, 0.0]]).unwrap()).unwrap_err().to_string().contains("column 1"));
}

#[test]
fn sigmoids_and_coupling_have_their_known_properties() {
    let values: Vec<f64> = (0..200).map(|i| (i as f64 - 100.0) / 20.0).collect();
    let positive: Vec<bool> = values.iter().enumerate().map(|(i, v)| *v + if i % 7 == 0 { -3.0 } else { 0.2 } > 0.0).collect();
    let sigmoid = Sigmoid::fit(&values, &positive, None);
    assert!(sigmoid.a < 0.0 && sigmoid.probability(5.0) > 0.9 && sigmoid.probability(-5.0) < 0.1);
    // Consistent pairwise probabilities are coupled to the probabilities they came from.
    let p = [0.5, 0.3, 0.2];
    let mut r = [0.0; 9];
    for i in 0..3 {
        for j in 0..3 {
            r[i * 3 + j] = p[i] / (p[i] + p[j]);
        }
    }
    close(&couple(&r, 3), &p, 2e-3, "coupled");
}

#[test]
fn few_distinct_rows_do_not_turn_probabilities_around() {
    // Eight kinds of rows, each with both classes in its own proportion.
    let (mut x, mut codes) = (Vec::new(), Vec::new());
    for i in 0..400u32 {
        let kind = i % 8;
        x.extend([f64::from(kind & 1), f64::from((kind >> 1) & 1), f64::from(kind >> 2)]);
        codes.push(u32::from((i / 8) % 10 < 1 + kind));
    }
    let classes = crate::data::Categories::new(codes, vec!["no".into(), "yes".into()]).unwrap();
    let data = crate::data::Dataset::classes(crate::data::Matrix::dense(x, 400, 3).unwrap(), classes);
    let model = Svc { kernel: Kernel::rbf(1.0), calibrate: true, ..Default::default() }.fit(&data).unwrap();
    let slope = model.calibration.as_ref().unwrap().sigmoids[0].a;
    assert!(slope < 0.0, "larger values speak for the first class: {slope}");
}

/// Pairs of classes with more rows than pair steps are for: blocks, some of whose rows are parked.
#[test]
fn large_pairs_of_classes_are_solved_by_blocks() {
    let data = three_classes(9_000);
    let svc = Svc { kernel: Kernel::rbf(0.3), penalty: Penalty::C(10.0), ..Svc::default() };
    let two = svc.fit_in(&data, &Context { threads: 2, ..Context::default() }).unwrap();
    assert!(two.report.gap < 1e-2 && two.report.violation <= 1e-3, "{:?}", two.report);
    assert!(two.report.route.to_string().starts_with("blocks"), "{}", two.report.route);
    assert_eq!(two.machine, svc.fit_in(&data, &Context::single()).unwrap().machine);
}
