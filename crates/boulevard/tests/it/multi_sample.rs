//! Multi-sample decisions against reference numbers, and what must not change: order of samples, threads, leaks, bad input.

use std::collections::HashSet;

use boulevard::data::{Categories, Dataset, Matrix, generate};
use boulevard::internal::random::Random;
use boulevard::kernel::Kernel;
use boulevard::kernel::permanent::{Normalization, set_kernel};
use boulevard::methods::multi_sample::{Consensus, Method, MultiSample, OtherSizes, Sets, Tuples, majority, softmax};
use boulevard::observe::Context;
use boulevard::svm::{Learner, Model, Multiclass, Sigmoid, SolverSettings};
use serde_json::Value;

use crate::reference::{numbers, reals, rows, vectors};

/// Labels -1 and 1 as classes.
fn signs(value: &Value) -> Categories {
    let codes = reals(value).into_iter().map(|y| u32::from(y > 0.0)).collect();
    Categories::new(codes, vec!["-1".into(), "1".into()]).unwrap()
}

#[test]
fn sums_and_votes_are_those_of_the_reference() {
    for case in vectors("consensus.json")["cases"].as_array().unwrap() {
        let (odds, prior) = (reals(&case["log_odds"]), case["prior_pos"].as_f64().unwrap());
        let consensus = Consensus::new(&[prior, 1.0 - prior]).unwrap();
        let ours = consensus.set_log_odds(&odds);
        let theirs = case["set_log_odds"].as_f64().unwrap();
        assert!((ours - theirs).abs() <= 1e-12 * theirs.abs().max(odds.iter().map(|v| v.abs()).sum::<f64>()), "{ours} and {theirs}");
        let scores: Vec<f64> = odds.iter().flat_map(|&odds| [odds, 0.0]).collect();
        let p = softmax(&consensus.set_scores(&scores));
        assert!((p[0] - case["p_pos"].as_f64().unwrap()).abs() < 1e-12 && (p[1] - case["p_neg"].as_f64().unwrap()).abs() < 1e-12);
        assert_eq!(if ours > 0.0 { 1 } else { -1 }, case["label"].as_i64().unwrap());
        let codes: Vec<u32> = odds.iter().map(|&odds| u32::from(odds > 0.0)).collect();
        let values: Vec<f64> = odds.iter().flat_map(|&odds| [-odds, odds]).collect();
        let votes = majority(&codes, &values, 2);
        assert_eq!(if votes[1] > votes[0] { 1 } else { -1 }, case["hard_vote"].as_i64().unwrap(), "{odds:?}");
    }
    for case in vectors("platt.json")["cases"].as_array().unwrap() {
        let positive: Vec<bool> = reals(&case["y"]).iter().map(|&y| y > 0.0).collect();
        let f = reals(&case["f"]);
        let sigmoid = Sigmoid::fit(&f, &positive, None);
        for (f, p) in f.iter().zip(reals(&case["p"])) {
            assert!((sigmoid.probability(*f) - p).abs() < 1e-5, "{} and {p}", sigmoid.probability(*f));
        }
    }
}

#[test]
fn test_sets_are_cut_as_in_the_paper() {
    for case in vectors("test_groups.json")["cases"].as_array().unwrap() {
        let k = case["K"].as_u64().unwrap() as usize;
        let (sets, codes) = Sets::of_classes(&signs(&case["y"]), k);
        let ours: Vec<Vec<usize>> = (0..sets.len()).map(|set| sets.rows(set).iter().map(|&row| row as usize).collect()).collect();
        assert_eq!(ours, numbers(&case["groups"]));
        let labels: Vec<f64> = codes.iter().map(|&code| if code == 1 { 1.0 } else { -1.0 }).collect();
        assert_eq!(labels, reals(&case["labels"]));
    }
}

/// The paper's machine on sets.
fn direct() -> MultiSample {
    MultiSample { method: Method::Direct, ..MultiSample::default() }
}

fn tight(k: usize) -> MultiSample {
    MultiSample { n_samples_per_decision: k, solver: SolverSettings { tolerance: 1e-9, ..SolverSettings::default() }, ..direct() }
}

#[test]
fn the_solved_machines_are_those_of_the_reference() {
    for k in [2, 3] {
        let case = vectors(&format!("esvm_solved_K{k}.json"));
        let data = Dataset::classes(Matrix::from_rows(&rows(&case["X"])).unwrap(), signs(&case["y"]));
        let learner = MultiSample { kernel: Kernel::rbf(case["gamma"].as_f64().unwrap()), c: case["C"].as_f64().unwrap(), ..tight(k) };
        let tuples = numbers(&case["Z"]);
        let model = learner.fit_tuples(&data, &tuples, &Context::default()).unwrap();
        let objective = case["dual_objective"].as_f64().unwrap();
        assert!((model.report().objective.abs() - objective.abs()).abs() < 1e-6 * objective.abs(), "{}", model.report().objective);
        assert!(model.report().gap < 1e-8);
        let decisions = model.set_decisions(&data.x, &Sets::new(&tuples).unwrap(), &Context::default()).unwrap();
        for (a, b) in decisions.iter().zip(reals(&case["decision"])) {
            assert!((a - b).abs() < 1e-6, "K = {k}: {a} and {b}");
        }
        assert!((model.machines[0].intercepts[0] + case["b"].as_f64().unwrap()).abs() < 1e-6);
        // Writing all orders out gives the same machine.
        let written =
            MultiSample { symmetric: false, ..learner.clone() }.fit_tuples(&data, &all_orders(&tuples), &Context::default()).unwrap();
        let other = written.set_decisions(&data.x, &Sets::new(&tuples).unwrap(), &Context::default()).unwrap();
        for (a, b) in decisions.iter().zip(other) {
            assert!((a - b).abs() < 1e-5, "K = {k}: {a} and {b}");
        }
    }
}

fn all_orders(tuples: &[Vec<usize>]) -> Vec<Vec<usize>> {
    fn orders(tuple: &[usize]) -> Vec<Vec<usize>> {
        if tuple.len() < 2 {
            return vec![tuple.to_vec()];
        }
        (0..tuple.len())
            .flat_map(|first| {
                let rest: Vec<usize> = tuple.iter().enumerate().filter(|(i, _)| *i != first).map(|(_, &row)| row).collect();
                orders(&rest).into_iter().map(move |rest| [vec![tuple[first]], rest].concat())
            })
            .collect()
    }
    tuples.iter().flat_map(|tuple| orders(tuple)).collect()
}

fn three_classes(n: usize, seed: u64) -> Dataset<'static> {
    let mut random = Random::new(seed, 9);
    let codes: Vec<u32> = (0..n).map(|row| (row % 3) as u32).collect();
    let centers = [[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]];
    let values = codes.iter().flat_map(|&code| centers[code as usize].map(|center| center + random.normal())).collect::<Vec<_>>();
    let classes = Categories::new(codes, vec!["a".into(), "b".into(), "c".into()]).unwrap();
    Dataset::classes(Matrix::dense(values, n, 2).unwrap(), classes)
}

fn wrong(said: &Categories, truth: &[u32]) -> f64 {
    said.codes().iter().zip(truth).filter(|(a, b)| a != b).count() as f64 / truth.len() as f64
}

#[test]
fn more_samples_per_decision_are_better_for_every_method_and_number_of_classes() {
    for (train, test) in [
        (generate::two_gaussians(100, 0, 3, 1.5), generate::two_gaussians(3000, 1, 3, 1.5)),
        (three_classes(120, 0), three_classes(3000, 1)),
    ] {
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            let mut errors = Vec::new();
            for method in [Method::Direct, Method::Consensus, Method::Vote] {
                let learner = MultiSample { method, multiclass, kernel: Kernel::rbf(0.15), ..direct() };
                let model = learner.fit(&train).unwrap();
                let alone = wrong(&model.predict(&test.x).unwrap(), test.expect_classes().unwrap().codes());
                let (sets, truth) = Sets::of_classes(test.expect_classes().unwrap(), 3);
                let together = wrong(&model.predict_sets(&test.x, &sets, &Context::default()).unwrap(), &truth);
                assert!(together < 0.75 * alone, "{method:?} {multiclass:?}: {together} after {alone}");
                errors.push(together);
            }
            assert!(errors[1] < errors[2] + 0.01, "consensus {} and votes {}", errors[1], errors[2]);
        }
    }
}

#[test]
fn the_order_within_a_set_does_not_change_a_bit() {
    let train = three_classes(60, 0);
    let test = three_classes(90, 1);
    let mut random = Random::new(5, 0);
    for method in [Method::Direct, Method::Consensus, Method::Vote] {
        for (normalization, k) in [(Normalization::Mean, 3), (Normalization::Cosine, 3), (Normalization::Mean, 5)] {
            let learner =
                MultiSample { method, normalization, n_samples_per_decision: k, calibrate: true, n_extended: Some(90), ..direct() };
            let model = learner.fit(&train).unwrap();
            let sets: Vec<Vec<usize>> = (0..90 / k).map(|set| (set * k..(set + 1) * k).collect()).collect();
            let mut shuffled = sets.clone();
            shuffled.iter_mut().for_each(|set| random.shuffle(set));
            let bits = |sets: &[Vec<usize>], x: &Matrix<'_>| {
                let sets = Sets::new(sets).unwrap();
                let mut values = model.set_decisions(x, &sets, &Context::default()).unwrap();
                values.extend(model.set_probabilities(x, &sets, &Context::single()).unwrap());
                values.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            };
            assert_eq!(bits(&sets, &test.x), bits(&shuffled, &test.x), "{method:?}, {normalization:?}, K = {k}");
            // Alone or among others, dense or sparse order of rows: the same bits.
            let own: Vec<usize> = shuffled.concat();
            let moved: Vec<Vec<usize>> = (0..sets.len()).map(|set| (set * k..(set + 1) * k).collect()).collect();
            assert_eq!(bits(&sets, &test.x), bits(&moved, &test.x.select(&own)));
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let (train, test) = (generate::banana(90, 0), generate::banana(60, 1));
    let fit = |threads: usize| {
        let context = Context::default().with_threads(threads);
        let learner = MultiSample { kernel: Kernel::rbf(0.5), calibrate: true, ..direct() };
        let model = learner.fit_in(&train, &context).unwrap();
        let sets = Sets::runs(60, 3).unwrap();
        let values = model.set_probabilities(&test.x, &sets, &context).unwrap();
        let points = learner.search(&train, &Default::default(), &context).unwrap();
        (model.machines, values, points)
    };
    assert_eq!(fit(1), fit(2));
}

#[test]
fn rows_of_a_fold_are_never_on_both_sides() {
    let plain = generate::banana(80, 3);
    let names: Vec<String> = (0..80).map(|row| format!("{}{}", plain.expect_classes().unwrap().codes()[row], row % 20)).collect();
    let grouped = Dataset { groups: Some(Categories::from_names(&names)), ..plain.clone() };
    for data in [&plain, &grouped] {
        for k in [2, 3, 7] {
            for seed in 0..5 {
                let learner = MultiSample { n_samples_per_decision: k, ..direct() };
                for fold in learner.fold_tuples(data, 5, seed).unwrap() {
                    let group = |row: &u32| data.groups.as_ref().map_or(*row, |groups| groups.codes()[*row as usize]);
                    let learnt: HashSet<u32> = fold.train.members.iter().map(group).collect();
                    let judged: HashSet<u32> = fold.test.members.iter().map(group).collect();
                    assert!(!judged.is_empty() && learnt.is_disjoint(&judged), "K = {k}, seed {seed}");
                    for (tuples, code) in fold.train.members.chunks(k).zip(&fold.train.codes) {
                        assert!(tuples.iter().all(|&row| data.expect_classes().unwrap().codes()[row as usize] == *code));
                    }
                }
            }
        }
    }
}

#[test]
fn tuples_share_no_row_within_a_repeat_and_keep_the_classes_proportions() {
    let codes: Vec<u32> = (0..50).map(|row| u32::from(row >= 35)).collect();
    let rows: Vec<usize> = (100..150).collect();
    for k in [1, 2, 3, 4, 15, 20, 40] {
        let tuples = Tuples::draw(&rows, &codes, 2, k, None, 1);
        assert_eq!(tuples.members.len(), tuples.len() * k);
        let per = |class: u32| (if class == 0 { 35 } else { 15 } / k).max(1);
        let count = |class: u32| tuples.codes.iter().filter(|&&code| code == class).count();
        assert_eq!(count(0) * per(1), count(1) * per(0), "K = {k}");
        for class in [0, 1] {
            let mine: Vec<&[u32]> =
                tuples.members.chunks(k).zip(&tuples.codes).filter(|(_, code)| **code == class).map(|(t, _)| t).collect();
            for repeat in mine.chunks(per(class)) {
                let mut seen: Vec<u32> = repeat.concat();
                seen.sort_unstable();
                let distinct = seen.iter().collect::<HashSet<_>>().len();
                let size = if class == 0 { 35 } else { 15 };
                assert_eq!(distinct, seen.len().min(size), "K = {k}, class {class}");
            }
        }
    }
    assert_eq!(Tuples::draw(&rows, &codes, 2, 3, None, 1), Tuples::draw(&rows, &codes, 2, 3, None, 1));
    assert_ne!(Tuples::draw(&rows, &codes, 2, 3, None, 1), Tuples::draw(&rows, &codes, 2, 3, None, 2));
}

#[test]
fn sets_of_any_size_get_an_answer() {
    let (train, test) = (generate::banana(90, 0), generate::banana(60, 1));
    let sets = Sets::new(&[vec![0], vec![1, 2], vec![3, 4, 5], (6..26).collect()]).unwrap();
    for other_sizes in [OtherSizes::Consensus, OtherSizes::Family] {
        let model = MultiSample { other_sizes, kernel: Kernel::rbf(0.5), calibrate: true, ..direct() }.fit(&train).unwrap();
        assert_eq!(model.machines.len(), if other_sizes == OtherSizes::Family { 2 } else { 1 });
        let said = model.predict_sets(&test.x, &sets, &Context::default()).unwrap();
        let probabilities = model.set_probabilities(&test.x, &sets, &Context::default()).unwrap();
        for (set, row) in probabilities.chunks(2).enumerate() {
            assert!((row[0] + row[1] - 1.0).abs() < 1e-12);
            assert_eq!(u32::from(row[1] > row[0]), said.codes()[set]);
        }
        let mut by_consensus = model.clone();
        by_consensus.parameters.method = Method::Consensus;
        let consensus = by_consensus.set_decisions(&test.x, &sets, &Context::default()).unwrap();
        let mine = model.set_decisions(&test.x, &sets, &Context::default()).unwrap();
        for (size, set) in [(1, 0), (2, 1), (3, 2), (20, 3)] {
            assert_eq!(mine[set] == consensus[set], model.machine(size).is_none(), "{size}");
        }
    }
}

#[test]
fn contributions_add_up_and_a_stream_ends_where_the_set_ends() {
    let (train, test) = (three_classes(120, 0), three_classes(60, 1));
    let sets = Sets::new(&[vec![0, 3, 6], vec![1], vec![2, 5, 8, 11]]).unwrap();
    let learner = MultiSample { method: Method::Consensus, kernel: Kernel::rbf(0.3), ..direct() };
    let model = learner.fit(&train).unwrap();
    let context = Context::default();
    let (decisions, parts) =
        (model.set_decisions(&test.x, &sets, &context).unwrap(), model.contributions(&test.x, &sets, &context).unwrap());
    let mut first = 0;
    for set in 0..sets.len() {
        for class in 0..3 {
            let sum: f64 = (first..first + sets.size(set)).map(|member| parts[member * 3 + class]).sum();
            assert!((sum + model.priors[class].ln() - decisions[set * 3 + class]).abs() < 1e-9);
        }
        first += sets.size(set);
    }
    assert_eq!(parts.len(), first * 3);
    let mut stream = model.sequential(0.999_999).unwrap();
    let scores = model.scores(&test.x, &context).unwrap();
    let last = [2, 5, 8, 11].map(|row| stream.add(&scores[row * 3..(row + 1) * 3]).unwrap()).pop_last();
    let probabilities = model.set_probabilities(&test.x, &sets, &context).unwrap();
    last.posterior.iter().zip(&probabilities[6..9]).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
    assert!(model.sequential(0.2).is_err() && model.sequential(1.0).is_err() && model.expected_samples(f64::NAN).is_err());
    // Direct: a sample that is pulled out of a set of equals pulls as much as the others.
    let machine = MultiSample { kernel: Kernel::rbf(0.3), ..direct() }.fit(&train).unwrap();
    let same = Sets::new(&[vec![4, 4, 4]]).unwrap();
    assert!(machine.contributions(&test.x, &same, &context).unwrap().iter().all(|&pull| pull == 0.0));
}

trait PopLast<T> {
    fn pop_last(self) -> T;
}

impl<T, const N: usize> PopLast<T> for [T; N] {
    fn pop_last(self) -> T {
        self.into_iter().next_back().unwrap()
    }
}

#[test]
fn the_expected_number_of_samples_is_near_the_simulated_one() {
    let model = MultiSample { method: Method::Consensus, kernel: Kernel::rbf(0.05), ..direct() }
        .fit(&generate::two_gaussians(400, 0, 2, 1.0))
        .unwrap();
    let test = generate::two_gaussians(4000, 1, 2, 1.0);
    let scores = model.scores(&test.x, &Context::default()).unwrap();
    let codes = test.expect_classes().unwrap().codes();
    let expected = model.expected_samples(0.99).unwrap();
    for class in 0..2u32 {
        let rows: Vec<usize> = (0..4000).filter(|&row| codes[row] == class).collect();
        let (mut used, mut tests, mut right, mut stream) = (0.0, 0.0, 0.0, model.sequential(0.99).unwrap());
        for &row in &rows {
            let standing = stream.add(&scores[row * 2..(row + 1) * 2]).unwrap();
            if standing.decided {
                (used, tests) = (used + standing.samples as f64, tests + 1.0);
                right += f64::from(u8::from(standing.code == class));
                stream = model.sequential(0.99).unwrap();
            }
        }
        let ratio = used / tests / expected[class as usize];
        assert!((0.6..1.8).contains(&ratio), "simulated {}, expected {}", used / tests, expected[class as usize]);
        assert!(right / tests > 0.95, "{right} of {tests}");
    }
    assert!(model.expected_samples(0.9).unwrap()[0] < expected[0]);
}

#[test]
fn priors_and_class_weights_move_single_decisions_too() {
    let (train, test) = (generate::two_gaussians(200, 0, 2, 1.5), generate::two_gaussians(1000, 1, 2, 1.5));
    let share = |learner: MultiSample, k: usize| {
        let model = MultiSample { method: Method::Consensus, kernel: Kernel::rbf(0.1), ..learner }.fit(&train).unwrap();
        let (sets, _) = Sets::of_classes(test.expect_classes().unwrap(), k);
        let said = model.predict_sets(&test.x, &sets, &Context::default()).unwrap();
        said.codes().iter().filter(|&&code| code == 1).count() as f64 / said.len() as f64
    };
    let base = direct;
    for k in [1, 3] {
        let plain = share(base(), k);
        assert!((plain - 0.5).abs() < 0.06, "{plain}");
        // What the training shares are is nothing new.
        assert_eq!(plain, share(MultiSample { priors: Some(vec![0.5, 0.5]), ..base() }, k));
        assert!(share(MultiSample { priors: Some(vec![0.1, 0.9]), ..base() }, k) > plain + 0.02);
        let weighted = boulevard::svm::ClassWeight::Given(vec![("1".into(), 9.0)]);
        assert!(share(MultiSample { class_weight: weighted, ..base() }, k) > plain + 0.02);
    }
}

#[test]
fn errors_fall_with_the_size_of_sets() {
    let model = MultiSample { method: Method::Consensus, kernel: Kernel::rbf(0.05), ..direct() }
        .fit(&generate::two_gaussians(200, 0, 2, 1.5))
        .unwrap();
    let test = generate::two_gaussians(600, 1, 2, 1.5);
    let curve = model.error_by_size(&test, &[1, 2, 3, 5, 8, 12, 400], 5, 0, &Context::default()).unwrap();
    assert_eq!(curve.iter().map(|point| point.size).collect::<Vec<_>>(), [1, 2, 3, 5, 8, 12]);
    assert!(curve.windows(2).all(|pair| pair[1].error < pair[0].error + 0.01), "{curve:?}");
    let needed = boulevard::methods::multi_sample::samples_until(&curve, 0.03).unwrap();
    assert!((5..=12).contains(&needed), "{needed}");
    assert!(model.error_by_size(&test, &[0], 5, 0, &Context::default()).is_err());
}

#[test]
fn models_come_back_from_files_to_the_bit_and_damage_is_found() {
    use boulevard::persist::AnyModel;
    for (method, data) in [(Method::Direct, three_classes(60, 0)), (Method::Vote, generate::banana(40, 0))] {
        let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
        for data in [data, sparse] {
            let learner = MultiSample { method, other_sizes: OtherSizes::Family, calibrate: true, n_extended: Some(60), ..direct() };
            let model = AnyModel::from(learner.fit(&data).unwrap());
            let bytes = model.to_bytes().unwrap();
            assert_eq!(AnyModel::from_bytes(&bytes).unwrap(), model);
            let mut random = Random::new(0, 0);
            for _ in 0..200 {
                let mut damaged = bytes.clone();
                match random.below(3) {
                    0 => damaged.truncate(random.below(bytes.len())),
                    1 => damaged[random.below(bytes.len())] ^= 1 << random.below(8),
                    _ => drop(damaged.drain(..random.below(50) + 1)),
                }
                // A bit of the container's padding may be harmless; nothing may panic.
                if let Ok(read) = AnyModel::from_bytes(&damaged) {
                    assert_eq!(read, model);
                }
            }
        }
    }
}

#[test]
fn bad_input_is_answered_with_facts() {
    let data = generate::banana(30, 0);
    let message = |learner: MultiSample, data: &Dataset<'_>| learner.fit(data).unwrap_err().to_string();
    let base = direct;
    for (k, found) in [(0, "0"), (17, "17")] {
        let text = message(MultiSample { n_samples_per_decision: k, ..base() }, &data);
        assert_eq!(text, format!("parameter `n_samples_per_decision` of MultiSample must be from 1 to 16, got {found}"));
    }
    for priors in [vec![0.0, 1.0], vec![1.0, 0.0], vec![0.2, 0.2], vec![f64::NAN, 0.5], vec![-0.5, 1.5]] {
        assert!(message(MultiSample { priors: Some(priors), ..base() }, &data).contains("`priors`"));
    }
    assert_eq!(message(MultiSample { priors: Some(vec![0.2, 0.3, 0.5]), ..base() }, &data), "priors, one per class: expected 2, found 3");
    assert!(message(MultiSample { n_extended: Some(0), ..base() }, &data).contains("n_extended"));
    assert!(message(MultiSample { symmetric: false, n_samples_per_decision: 5, ..base() }, &data).contains("at most 4"));
    assert!(message(MultiSample { c: -1.0, ..base() }, &data).contains("`c`"));
    let precomputed = MultiSample { kernel: Kernel::Precomputed, normalization: Normalization::Cosine, ..base() };
    assert!(message(precomputed, &data).contains("precomputed"));
    let mixed = Dataset { groups: Some(Categories::from_names(&["g"; 30])), ..data.clone() };
    assert!(message(base(), &mixed).contains("share one label"), "{}", message(base(), &mixed));
    let one = Dataset::classes(data.x.clone(), Categories::new(vec![0; 30], vec!["only".into()]).unwrap());
    assert!(message(base(), &one).contains("at least two classes"));
    // K larger than a class, one row per group: documented rules, no errors.
    let own: Vec<String> = (0..30).map(|row| row.to_string()).collect();
    let single_rows = Dataset { groups: Some(Categories::from_names(&own)), ..data.clone() };
    let model = MultiSample { n_samples_per_decision: 16, n_extended: Some(20), ..base() }.fit(&single_rows).unwrap();
    assert_eq!(model.machine(16).unwrap().columns, 20);
    let (sets, places) = Sets::of_groups(&Categories::new(vec![2, 0, 2], vec!["a".into(), "empty".into(), "c".into()]).unwrap());
    assert_eq!((sets.len(), places), (2, vec![0, 2]));
    assert!(Sets::new(&[vec![], vec![1]]).unwrap_err().to_string().contains("set 0 is empty"));
    assert!(Sets::runs(7, 3).is_err() && Sets::runs(6, 0).is_err());
    let outside = Sets::new(&[vec![99]]).unwrap();
    assert!(model.predict_sets(&data.x, &outside, &Context::default()).unwrap_err().to_string().contains("row 99"));
    assert!(model.set_probabilities(&data.x, &Sets::new(&[(0..16).collect::<Vec<_>>()]).unwrap(), &Context::default()).is_err());
    for k in [0, 17] {
        assert!(set_kernel(&Kernel::rbf(1.0), &data.x, None, k, Normalization::Mean, &Context::default()).is_err());
    }
    assert!(set_kernel(&Kernel::rbf(1.0), &data.x, None, 4, Normalization::Mean, &Context::default()).is_err());
}

#[test]
fn a_precomputed_kernel_is_the_same_as_its_samples() {
    let (train, test) = (generate::banana(60, 0), generate::banana(30, 1));
    let kernel = Kernel::rbf(0.7);
    let matrix = |a: &Matrix<'_>, b: &Matrix<'_>| {
        let row = |x: &Matrix<'_>, i: usize| {
            let mut values = vec![0.0; 2];
            x.copy_row(i, &mut values);
            values
        };
        let values: Vec<f64> = (0..a.rows())
            .flat_map(|i| (0..b.rows()).map(move |j| (i, j)))
            .map(|(i, j)| kernel.evaluate(&row(a, i), &row(b, j)).unwrap())
            .collect();
        Matrix::dense(values, a.rows(), b.rows()).unwrap()
    };
    let learner = MultiSample { kernel: kernel.clone(), solver: SolverSettings { tolerance: 1e-8, ..Default::default() }, ..direct() };
    let given = MultiSample { kernel: Kernel::Precomputed, ..learner.clone() };
    let sets = Sets::runs(30, 3).unwrap();
    let a = learner.fit(&train).unwrap().set_decisions(&test.x, &sets, &Context::default()).unwrap();
    let table = Dataset { x: matrix(&train.x, &train.x), ..train.clone() };
    let b = given.fit(&table).unwrap().set_decisions(&matrix(&test.x, &train.x), &sets, &Context::default()).unwrap();
    a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} and {b}"));
}

#[test]
fn a_stopped_fit_gives_a_usable_model() {
    use boulevard::observe::{StopFlag, StopReason};
    let data = generate::banana(400, 0);
    let flag = StopFlag::default();
    flag.stop();
    let learner = MultiSample { c: 1e4, kernel: Kernel::rbf(20.0), n_samples_per_decision: 4, ..direct() };
    let model = learner.fit_in(&data, &Context::default().with_observer(&flag)).unwrap();
    assert_eq!(model.report().stop, StopReason::Interrupted);
    assert_eq!(model.predict_sets(&data.x, &Sets::runs(400, 4).unwrap(), &Context::default()).unwrap().len(), 100);
    assert!(learner.search(&data, &Default::default(), &Context::default().with_observer(&flag)).is_err());
}

#[test]
fn a_base_matrix_that_does_not_fit_is_computed_as_it_is_needed() {
    let (train, test) = (generate::banana(1000, 0), generate::banana(60, 1));
    let learner = MultiSample {
        kernel: Kernel::rbf(0.5),
        solver: SolverSettings { tolerance: 1e-5, ..Default::default() },
        n_extended: Some(700),
        ..direct()
    };
    let sets = Sets::runs(60, 3).unwrap();
    let judge = |memory: Option<usize>| {
        let context = Context { memory, ..Context::default() };
        learner.fit_in(&train, &context).unwrap().set_decisions(&test.x, &sets, &Context::default()).unwrap()
    };
    // Kept in both precisions, in single precision, not at all.
    let kept = judge(None);
    for memory in [16 << 20, 7 << 20] {
        kept.iter().zip(&judge(Some(memory))).for_each(|(a, b)| assert!((a - b).abs() < 1e-3, "{a} and {b}"));
    }
}

/// Two classes that differ in the sign of the product of their columns: no mean of samples tells them apart.
fn crossed(n: usize, seed: u64) -> Dataset<'static> {
    let mut random = Random::new(seed, 3);
    let values: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
    let codes = values.chunks(2).map(|row| u32::from((row[0] * row[1] + 0.5 * random.normal()) > 0.0)).collect();
    Dataset::classes(Matrix::dense(values, n, 2).unwrap(), Categories::new(codes, vec!["a".into(), "b".into()]).unwrap())
}

#[test]
fn a_method_that_was_asked_for_says_so_and_what_width_it_has() {
    let data = crossed(60, 0);
    let said = |model: &boulevard::methods::multi_sample::MultiSampleModel| {
        model.facts().into_iter().find(|(name, _)| *name == "chosen").map(|(_, text)| text).unwrap()
    };
    let [direct, consensus] =
        [Method::Direct, Method::Consensus].map(|method| MultiSample { method, ..MultiSample::default() }.fit(&data).unwrap());
    // Three samples stand side by side: a third of the rule's width.
    assert!((3.0 * direct.gamma().unwrap() - consensus.gamma().unwrap()).abs() < 1e-12);
    assert!(said(&direct).contains("direct, as asked by `method`") && said(&direct).contains("over 3"), "{}", said(&direct));
    assert!(said(&consensus).contains("consensus, as asked") && said(&consensus).contains("single samples"), "{}", said(&consensus));
    let given = MultiSample { method: Method::Direct, kernel: Kernel::rbf(0.3), ..MultiSample::default() }.fit(&data).unwrap();
    assert!(given.gamma() == Some(0.3) && said(&given).contains("gamma = 0.3, as given"), "{}", said(&given));
}

#[test]
fn what_is_left_open_is_chosen_by_held_out_sets_and_said() {
    let (train, test) = (crossed(150, 0), crossed(1200, 1));
    let model = MultiSample::default().fit(&train).unwrap();
    let chosen = model.chosen.as_ref().unwrap();
    assert_eq!((model.method(), chosen.rows), (chosen.method, 150));
    assert!(chosen.trials.len() == 24 && chosen.sets >= 100, "{} trials, {} sets", chosen.trials.len(), chosen.sets);
    let least = chosen.trials.iter().map(|trial| trial.error).fold(1.0, f64::min);
    let own = chosen.trials.iter().filter(|trial| trial.method == chosen.method).map(|trial| trial.error).fold(1.0, f64::min);
    assert_eq!(least, own);
    assert!(chosen.why.contains("held-out sets") && model.facts().iter().any(|(name, text)| *name == "chosen" && *text == chosen.why));
    let (sets, truth) = Sets::of_classes(test.expect_classes().unwrap(), 3);
    let error = |model: &boulevard::methods::multi_sample::MultiSampleModel| {
        wrong(&model.predict_sets(&test.x, &sets, &Context::default()).unwrap(), &truth)
    };
    let fixed = [Method::Direct, Method::Consensus, Method::Vote]
        .map(|method| error(&MultiSample { method, ..MultiSample::default() }.fit(&train).unwrap()));
    let best = fixed.iter().copied().fold(1.0, f64::min);
    assert!(error(&model) < best + 0.06, "{} and {fixed:?}", error(&model));
    // One argument says otherwise; without tuning C and gamma stay.
    let kept = MultiSample { tune: false, ..MultiSample::default() }.fit(&train).unwrap();
    assert!(kept.chosen.unwrap().trials.iter().all(|trial| trial.c == 1.0));
    assert!(MultiSample { method: Method::Vote, ..MultiSample::default() }.fit(&train).unwrap().chosen.is_none());
    // The same for any number of threads, and from a file.
    let again = MultiSample::default().fit_in(&train, &Context::default().with_threads(3)).unwrap();
    assert_eq!((&again.chosen, &again.machines), (&model.chosen, &model.machines));
    let file = boulevard::persist::AnyModel::from(model.clone());
    assert_eq!(boulevard::persist::AnyModel::from_bytes(&file.to_bytes().unwrap()).unwrap(), file);
    // Too few rows to hold any out: consensus.
    let few = MultiSample::default()
        .fit(&train.select(
            &[0, 1, 2, 3].map(|k| (0..150).filter(|&row| train.expect_classes().unwrap().codes()[row] == u32::from(k > 2)).nth(k).unwrap()),
        ))
        .unwrap();
    assert_eq!((few.method(), few.chosen), (Method::Consensus, None));
}

#[test]
fn a_rule_for_gamma_knows_how_many_samples_stand_side_by_side() {
    let data = generate::two_gaussians(60, 0, 4, 1.5);
    let gamma = |k: usize| {
        let model = MultiSample { n_samples_per_decision: k, ..direct() }.fit(&data).unwrap();
        (model.machines[0].kernel.gamma().unwrap().value().unwrap(), model.single.machine.kernel.gamma().unwrap().value().unwrap())
    };
    for k in [1, 2, 5] {
        let (sets, single) = gamma(k);
        assert!((sets * k as f64 - single).abs() < 1e-15, "{sets} and {single}");
    }
    // A number is a number.
    let model = MultiSample { kernel: Kernel::rbf(0.3), ..direct() }.fit(&data).unwrap();
    assert_eq!(model.machines[0].kernel, Kernel::rbf(0.3));
}

#[test]
fn groups_are_held_out_whole_and_judged_as_they_are() {
    let train = three_classes(180, 2);
    let names: Vec<String> = (0..180).map(|row| format!("{}{}", row % 3, row / 15)).collect();
    let grouped = Dataset { groups: Some(Categories::from_names(&names)), ..train };
    let model = MultiSample::default().fit(&grouped).unwrap();
    let chosen = model.chosen.as_ref().unwrap();
    // Groups of five give one set of three at a time, three times.
    assert_eq!(chosen.sets, 36 * 3);
    let sets = Sets::new(&[vec![0, 3], vec![1, 4, 7], vec![2, 5, 8, 11, 14]]).unwrap();
    assert_eq!(model.predict_sets(&grouped.x, &sets, &Context::default()).unwrap().len(), 3);
}

#[test]
fn only_rows_in_tuples_take_part() {
    // Rows that weigh nothing are in no tuple: the same machine as without them, in the numbers of the whole table.
    let data = generate::banana(200, 0);
    let weights: Vec<f64> = (0..200).map(|row| f64::from(u8::from(row % 4 != 1))).collect();
    let kept: Vec<usize> = (0..200).filter(|row| row % 4 != 1).collect();
    let learner = MultiSample { n_extended: Some(150), kernel: Kernel::rbf(0.5), ..direct() };
    let (all, part) = (learner.fit(&data.clone().with_weights(weights)).unwrap(), learner.fit(&data.select(&kept)).unwrap());
    let (all, part) = (&all.machines[0], &part.machines[0]);
    assert_eq!(all.support, part.support.iter().map(|&row| kept[row]).collect::<Vec<_>>());
    assert_eq!((&all.vectors, &all.sets, &all.coefficients), (&part.vectors, &part.sets, &part.coefficients));
}
