//! The published pieces against test vectors; the whole against its promises.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::data::{Categories, Dataset, LabelMatrix, Matrix, Target, generate};
use crate::metrics::multilabel::LabelConfusion;
use crate::observe::{Context, Observer, Progress, StopReason};
use crate::random::Random;
use crate::svm::{ClassWeight, Learner, Model, SolverSettings};

macro_rules! vectors {
    ($name:literal) => {
        serde_json::from_str(include_str!(concat!("../../../tests/vectors/boosted/", $name, ".json"))).expect("a sound file")
    };
}

#[derive(Deserialize)]
struct SamplingVector {
    name: String,
    #[serde(rename = "W")]
    weights: Vec<f64>,
    dist: Option<Vec<f64>>,
    #[serde(rename = "L")]
    count: usize,
    u: Vec<f64>,
    order: Vec<usize>,
    groups: Vec<[usize; 2]>,
    picked: Vec<usize>,
    first_of_group: Vec<usize>,
    trim_picked_index_ties: Vec<usize>,
}

#[test]
fn sampling_is_that_of_the_vectors() {
    let all: Vec<SamplingVector> = vectors!("sampling");
    assert!(!all.is_empty());
    for v in all {
        let order = rank(&v.weights, v.dist.as_deref());
        assert_eq!(order, v.order, "{}", v.name);
        let found: Vec<[usize; 2]> = groups(v.weights.len(), v.count).iter().map(|g| [g.start, g.end]).collect();
        assert_eq!(found, v.groups, "{}", v.name);
        assert_eq!(pick(&order, &v.u), v.picked, "{}", v.name);
        assert_eq!(pick(&order, &vec![0.0; v.count]), v.first_of_group, "{}", v.name);
        assert_eq!(rank(&v.weights, None)[..v.count], v.trim_picked_index_ties, "{}", v.name);
    }
}

#[derive(Deserialize)]
struct UpdateVector {
    name: String,
    #[serde(rename = "W")]
    weights: Vec<f64>,
    y: Vec<f64>,
    h: Vec<f64>,
    eps_floor: f64,
    eps: f64,
    alpha: f64,
    #[serde(rename = "W_next")]
    next: Vec<f64>,
    ok: bool,
}

#[test]
fn updates_are_those_of_the_vectors() {
    let all: Vec<UpdateVector> = vectors!("update");
    assert!(!all.is_empty());
    for v in all {
        let missed: Vec<bool> = v.y.iter().zip(&v.h).map(|(y, h)| y != h).collect();
        let verdict = Verdict::new(&v.weights, &missed, v.eps_floor);
        assert_eq!(verdict.is_accepted(), v.ok, "{}", v.name);
        // The vectors show the error as it enters the vote.
        let floored = if v.ok { verdict.error.max(v.eps_floor) } else { verdict.error };
        assert!((floored - v.eps).abs() < 1e-12 || (verdict.error - v.eps).abs() < 1e-12, "{}: {}", v.name, verdict.error);
        assert!((verdict.alpha - v.alpha).abs() < 1e-12, "{}: {}", v.name, verdict.alpha);
        let mut weights = v.weights.clone();
        verdict.update(&mut weights, &missed);
        weights.iter().zip(&v.next).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{}", v.name));
    }
}

#[derive(Deserialize)]
struct MachineVector {
    name: String,
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    #[serde(rename = "W")]
    weights: Vec<f64>,
    #[serde(rename = "C")]
    c: f64,
    #[serde(rename = "Q")]
    scale: f64,
    sigma: f64,
    #[serde(rename = "Ci")]
    costs: Vec<f64>,
    alpha: Vec<f64>,
    b: f64,
    dual: f64,
    probes: Vec<Vec<f64>>,
    f: Vec<f64>,
    distances: Vec<f64>,
}

/// One round on all rows: a plain weighted machine.
fn one_round() -> BoostedSvc {
    BoostedSvc {
        max_rounds: 1,
        initial_weights: InitialWeights::Uniform,
        thresholds: Thresholds::Zero,
        early_stopping: false,
        ..BoostedSvc::default()
    }
}

#[test]
fn weighted_machines_are_those_of_the_vectors() {
    let all: Vec<MachineVector> = vectors!("weighted_svm");
    assert!(!all.is_empty());
    for v in all {
        let names: Vec<&str> = v.y.iter().map(|&y| if y > 0.0 { "+1" } else { "-1" }).collect();
        let data = Dataset::classes(Matrix::from_rows(&v.x).unwrap(), Categories::from_names(&names));
        // Weights that sum to N make C_i = C N W_i.
        let data = data.with_weights(v.weights.iter().map(|w| w * v.scale).collect());
        let solver = SolverSettings { tolerance: 1e-10, ..SolverSettings::default() };
        let settings = BoostedSvc { c: v.c, sigma_init: Some(v.sigma), solver, ..one_round() };
        let model = settings.fit(&data).unwrap();
        v.costs.iter().zip(&v.weights).for_each(|(cost, w)| assert!((cost - v.c * v.scale * w).abs() < 1e-12));
        let machine = &model.machines[0];
        let mut alpha = vec![0.0; v.y.len()];
        machine.support.iter().zip(&machine.coefficients).for_each(|(&row, b)| alpha[row] = b * v.y[row]);
        alpha.iter().zip(&v.alpha).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{}: {a} {b}", v.name));
        assert!((machine.intercepts[0] - v.b).abs() < 1e-6, "{}: {} {}", v.name, machine.intercepts[0], v.b);
        let objective = model.report.objective;
        assert!((objective.abs() - v.dual.abs()).abs() <= 1e-8 * v.dual.abs().max(1.0), "{}: {objective} {}", v.name, v.dual);
        let values = model.decision_values(&Matrix::from_rows(&v.probes).unwrap()).unwrap();
        values.iter().zip(&v.f).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{}: {a} {b}", v.name));
        let points = if v.distances.len() == v.y.len() { &v.x } else { &v.probes };
        let values = model.decision_values(&Matrix::from_rows(points).unwrap()).unwrap();
        values.iter().zip(&v.distances).for_each(|(a, b)| assert!((a.abs() - b).abs() < 1e-6, "{}: {a} {b}", v.name));
    }
}

#[derive(Deserialize)]
struct MetricsVector {
    #[serde(rename = "Y")]
    truth: Vec<Vec<f64>>,
    #[serde(rename = "P")]
    said: Vec<Vec<f64>>,
    accuracy: f64,
    precision: f64,
    recall: f64,
    f1: f64,
    hamming: f64,
}

#[test]
fn metrics_are_those_of_the_vectors() {
    let all: Vec<MetricsVector> = vectors!("metrics");
    let matrix = |rows: &[Vec<f64>]| {
        let names = (0..rows[0].len()).map(|label| label.to_string()).collect();
        LabelMatrix::new(rows.iter().flatten().map(|&v| v > 0.0).collect(), names).unwrap()
    };
    for v in all {
        let counts = LabelConfusion::new(&matrix(&v.truth), &matrix(&v.said), None).unwrap();
        let mean = counts.macro_average();
        let pairs = [
            (mean.accuracy, v.accuracy),
            (mean.precision, v.precision),
            (mean.recall, v.recall),
            (mean.f1, v.f1),
            (counts.hamming_loss(), v.hamming),
        ];
        pairs.iter().for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
    }
}

/// Three labels of falling size on a plane, some noise; every row but a few has one.
fn labeled(n: usize, seed: u64) -> Dataset<'static> {
    let mut random = Random::new(seed, 77);
    let (mut x, mut on) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let (a, b) = (random.normal(), random.normal());
        let noise = 0.3 * random.normal();
        x.extend([a, b]);
        on.extend([a + noise > 0.0, b + noise > 0.8, a * a + b * b + noise > 4.0]);
    }
    let names = ["right", "high", "far"].map(String::from).to_vec();
    Dataset::new(Matrix::dense(x, n, 2).unwrap(), Target::Labels(LabelMatrix::new(on, names).unwrap()))
}

fn labels(data: &Dataset<'_>) -> LabelMatrix {
    match &data.target {
        Target::Labels(labels) => labels.clone(),
        _ => panic!("labels"),
    }
}

fn f1(model: &BoostedModel, data: &Dataset<'_>) -> f64 {
    let Target::Labels(said) = model.predict(&data.x).unwrap() else { panic!("labels") };
    LabelConfusion::new(&labels(data), &said, None).unwrap().macro_average().f1
}

fn short() -> BoostedSvc {
    BoostedSvc { max_rounds: 4, validation: Validation::Folds(3), ..BoostedSvc::default() }
}

#[test]
fn rare_labels_are_found_in_every_mode() {
    let (train, test) = (labeled(300, 1), labeled(600, 2));
    for settings in [
        short(),
        BoostedSvc { sampling: Sampling::Stratified, sampling_ratio: 0.5, ..short() },
        BoostedSvc { sampling: Sampling::Trimming, sampling_ratio: 0.5, ..short() },
        BoostedSvc { voting: Voting::Hard, ..short() },
        BoostedSvc { validation: Validation::Share(0.25), ..short() },
        BoostedSvc { class_weight: ClassWeight::Balanced, initial_weights: InitialWeights::Uniform, ..short() },
        BoostedSvc { class_weight: ClassWeight::Given(vec![("far".into(), 5.0)]), ..short() },
    ] {
        let model = settings.fit(&train).unwrap();
        let found = f1(&model, &test);
        assert!(found > 0.7, "{found} with {settings:?}");
        assert!(model.report.gap < 1e-2 && model.report.stop == StopReason::Converged);
    }
    let paper = BoostedSvc { max_rounds: 6, ..BoostedSvc::paper() };
    assert!(f1(&paper.fit(&train).unwrap(), &test) > 0.6);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let data = labeled(150, 3);
    for settings in [short(), BoostedSvc { max_rounds: 5, ..BoostedSvc::paper() }] {
        let one = settings.fit_in(&data, &Context::single()).unwrap();
        let mut three = settings.fit_in(&data, &Context::default().with_threads(3)).unwrap();
        three.report.seconds = one.report.seconds;
        assert_eq!(one, three);
    }
}

#[test]
fn seeds_change_draws_and_nothing_else_does() {
    let data = labeled(120, 3);
    let paper = BoostedSvc { max_rounds: 3, ..BoostedSvc::paper() };
    let fit = |seed: u64| BoostedSvc { seed, ..paper.clone() }.fit(&data).unwrap();
    assert_eq!(fit(0).labels, fit(0).labels);
    assert_ne!(fit(0).labels, fit(1).labels);
    let whole = BoostedSvc { thresholds: Thresholds::Zero, early_stopping: false, ..short() };
    assert_eq!(whole.fit(&data).unwrap().labels, BoostedSvc { seed: 5, ..whole }.fit(&data).unwrap().labels);
}

#[test]
fn the_last_stage_is_the_model_and_weights_stay_a_distribution() {
    let data = labeled(120, 4);
    let model = BoostedSvc { max_rounds: 6, ..BoostedSvc::paper() }.fit(&data).unwrap();
    let stages = model.staged_decision_values_in(&data.x, &Context::default()).unwrap();
    assert_eq!(stages.len(), model.rounds());
    assert_eq!(stages[stages.len() - 1], model.decision_values(&data.x).unwrap());
    for label in &model.labels {
        let history = label.weights();
        assert_eq!(history.len(), label.rounds.len() + 1);
        for (t, weights) in history.iter().enumerate() {
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            if t > 0 && label.rounds[t - 1].error > 1e-3 {
                let missed: f64 = label.rounds[t - 1].missed.iter().map(|&row| weights[row]).sum();
                assert!((missed - 0.5).abs() < 1e-9, "{missed}");
            }
        }
        assert_eq!(label.misses().iter().sum::<usize>(), label.rounds.iter().map(|round| round.missed.len()).sum::<usize>());
        assert!(label.rounds.iter().all(|round| round.drawn == 36 && round.error < 0.5 && round.alpha > 0.0));
    }
}

#[test]
fn classes_two_and_more() {
    let two = generate::two_gaussians(160, 5, 2, 3.0);
    let model = short().fit(&two).unwrap();
    assert_eq!((model.kind, model.labels.len()), (Kind::TwoClasses, 1));
    let names: Vec<&str> =
        (0..160).map(|i| if two.x.get(i, 0) > 0.0 { "c" } else { ["a", "b"][usize::from(two.x.get(i, 1) > 0.0)] }).collect();
    let three = Dataset::classes(two.x.clone(), Categories::from_names(&names));
    let model = short().fit(&three).unwrap();
    assert_eq!((model.kind, model.labels.len()), (Kind::Classes, 3));
    let Target::Classes(said) = model.predict(&three.x).unwrap() else { panic!("classes") };
    let right = said.codes().iter().zip(three.expect_classes().unwrap().codes()).filter(|(a, b)| a == b).count();
    assert!(right > 140, "{right}");
    // Probabilities agree with predictions for classes and labels.
    let p = model.probabilities(&three.x, &Context::default()).unwrap();
    p.chunks(3).zip(said.codes()).for_each(|(p, &code)| assert_eq!(crate::svm::argmax(p), code as usize));
    let data = labeled(150, 6);
    let model = short().fit(&data).unwrap();
    let p = model.probabilities(&data.x, &Context::default()).unwrap();
    let margins = model.decision_values(&data.x).unwrap();
    p.iter().zip(&margins).for_each(|(p, m)| assert_eq!(*p > 0.5, *m > 0.0));
}

/// What a model says about its own choices.
fn said(model: &BoostedModel) -> String {
    model.facts().into_iter().find(|(name, _)| *name == "chosen").map_or(String::new(), |(_, text)| text)
}

#[test]
fn reasons_name_the_measure_and_speak_of_rounds_and_thresholds() {
    let two = generate::two_gaussians(160, 2, 2, 1.5);
    let base = BoostedSvc { max_rounds: 4, ..BoostedSvc::default() };
    let text = said(&BoostedSvc { measure: Measure::BalancedAccuracy, ..base.clone() }.fit(&two).unwrap());
    assert!(text.contains("threshold ") && text.contains("the best balanced accuracy of held-out rows") && text.contains("`thresholds`"));
    assert!(text.contains("`early_stopping`") && text.contains("`tune`"), "{text}");
    // Several classes have no thresholds; costs are said as costs, not with the minus that trials compare.
    let three = generate::classification(150, 1, &generate::Clusters { classes: 3, ..Default::default() }).unwrap();
    let text = said(&BoostedSvc { measure: Measure::Cost, miss_cost: 5.0, ..base.clone() }.fit(&three).unwrap());
    assert!(text.contains("by cost (5 a miss, 1 a false alarm), mean over the classes, of held-out rows (0."), "{text}");
    assert!(!text.contains("threshold") && text.contains("round") && text.contains("`early_stopping`"), "{text}");
    // Rounds as asked for and thresholds at zero leave nothing open.
    let plain = BoostedSvc { thresholds: Thresholds::Zero, early_stopping: false, ..base };
    assert_eq!(said(&plain.fit(&two).unwrap()), "");
}

#[test]
fn what_is_left_open_is_chosen_by_trials_and_said() {
    let data = labeled(150, 6);
    let model = short().fit(&data).unwrap();
    let chosen = model.chosen.as_ref().unwrap();
    // Three prices and widths with uniform weights, three prices with balanced ones.
    assert_eq!((chosen.trials.len(), chosen.rows), (12, 150));
    assert!(chosen.trials.iter().all(|trial| trial.score <= chosen.best.score + 1e-9));
    let settings = model.settings();
    assert_eq!((settings.c, settings.sigma_init), (chosen.best.c, Some(chosen.best.sigma_init)));
    assert!(model.facts().iter().any(|(name, text)| *name == "chosen" && text.contains("12 trials")));
    assert!(said(&model).contains("round") && said(&model).contains("a threshold per label: the best F1 of held-out rows"));
    // The same with these settings and no trials; probabilities that come later know them too.
    let fixed = BoostedSvc { tune: false, ..settings }.fit(&data).unwrap();
    assert_eq!((&fixed.labels, &fixed.machines, fixed.chosen), (&model.labels, &model.machines, None));
    let mut later = BoostedModel { calibration: None, ..model.clone() };
    later.calibrate_in(&data, &Context::default()).unwrap();
    assert_eq!(later.calibration.unwrap().len(), 3);
    // What is given stays, and where nothing is held out nothing is tried.
    let given =
        BoostedSvc { sigma_init: Some(0.7), initial_weights: InitialWeights::Balanced, ..short() }.fit(&data).unwrap().chosen.unwrap();
    assert!(given.trials.len() == 3 && given.trials.iter().all(|t| t.sigma_init == 0.7 && t.initial_weights == InitialWeights::Balanced));
    assert!(BoostedSvc::paper().resolved() == BoostedSvc::paper() && !BoostedSvc::paper().tune);
    let zero = BoostedSvc { thresholds: Thresholds::Zero, early_stopping: false, ..short() };
    assert!(zero.fit(&data).unwrap().chosen.is_none());
}

/// Two overlapping classes, one of them rare.
fn rare(seed: u64) -> Dataset<'static> {
    let all = generate::two_gaussians(400, seed, 3, 1.5);
    let codes = all.expect_classes().unwrap().codes().to_vec();
    let mut carriers = 0;
    let keep: Vec<usize> = (0..400)
        .filter(|&row| {
            carriers += usize::from(codes[row] == 1);
            codes[row] == 0 || carriers <= 30
        })
        .collect();
    all.select(&keep)
}

#[test]
fn the_best_trials_of_a_rare_class_are_averaged() {
    let data = rare(3);
    let fit = |threads: usize| BoostedSvc::default().fit_in(&data, &Context::single().with_threads(threads)).unwrap();
    let model = fit(1);
    let (label, chosen) = (&model.labels[0], model.chosen.as_ref().unwrap());
    assert_eq!(chosen.trials.len(), 18);
    assert_eq!(label.ending, Ending::Committee);
    assert!((2..=5).contains(&label.rounds.len()) && label.rounds.iter().all(|round| round.alpha == 1.0));
    assert_eq!(chosen.committee.len(), label.rounds.len());
    assert_eq!(chosen.committee[0], chosen.best);
    assert!(model.facts().iter().any(|(name, text)| *name == "rounds" && text.contains("averaged")));
    assert!(said(&model).contains("of the best trials, averaged, no boosting"), "{}", said(&model));
    // Nothing is boosted: rows keep their first weights.
    assert!(label.weights().iter().all(|weights| *weights == label.start));
    // The score is the mean of what the machines say one by one.
    let one = |trial: &Trial| {
        let Trial { c, sigma_init, initial_weights, .. } = *trial;
        let alone = BoostedSvc { c, sigma_init: Some(sigma_init), initial_weights, tune: false, max_rounds: 1, ..BoostedSvc::default() };
        let model = alone.fit(&data).unwrap();
        model.decision_values(&data.x).unwrap().iter().map(|value| value + model.labels[0].threshold).collect::<Vec<f64>>()
    };
    let each: Vec<Vec<f64>> = chosen.committee.iter().map(one).collect();
    for (row, value) in model.decision_values(&data.x).unwrap().iter().enumerate() {
        let mean = each.iter().map(|values| values[row]).sum::<f64>() / each.len() as f64;
        assert!((value + label.threshold - mean).abs() < 1e-6, "{value} {mean}");
    }
    assert_eq!(fit(4).labels, model.labels, "the same bits for any number of threads");
    let mut later = BoostedModel { calibration: None, ..model.clone() };
    later.calibrate_in(&data, &Context::default()).unwrap();
    assert_eq!(later.calibration, model.calibration);
    // One round is one machine.
    assert_eq!(BoostedSvc { max_rounds: 1, ..BoostedSvc::default() }.fit(&data).unwrap().labels[0].rounds.len(), 1);
}

#[test]
fn probabilities_come_later_if_asked() {
    let data = labeled(120, 4);
    let paper = BoostedSvc { max_rounds: 2, ..BoostedSvc::paper() };
    let mut model = paper.fit(&data).unwrap();
    assert!(model.probabilities(&data.x, &Context::default()).unwrap_err().to_string().contains("calibrate"));
    model.calibrate_in(&data, &Context::default()).unwrap();
    let at_once = BoostedSvc { calibrate: true, ..paper }.fit(&data).unwrap();
    assert_eq!(model.calibration, at_once.calibration);
    assert!(model.calibrate_in(&generate::two_gaussians(20, 1, 2, 1.0), &Context::default()).is_err());
}

#[test]
fn weights_are_repeated_rows_and_zero_is_absence() {
    let data = labeled(60, 8);
    let weights: Vec<f64> = (0..60).map(|i| [2.0, 1.0, 0.0, 3.0][i % 4]).collect();
    let mut repeated: Vec<usize> = (0..60).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    Random::new(1, 1).shuffle(&mut repeated);
    let solver = SolverSettings { tolerance: 1e-9, ..SolverSettings::default() };
    let settings = BoostedSvc { solver, ..short() };
    let a = settings.fit(&data.clone().with_weights(weights)).unwrap();
    let b = settings.fit(&data.select(&repeated)).unwrap();
    let (a, b) = (a.decision_values(&data.x).unwrap(), b.decision_values(&data.x).unwrap());
    a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{a} {b}"));
}

#[test]
fn memory_decides_the_way_not_the_answer() {
    let data = labeled(150, 9);
    // One round: a row that rounding puts on the other side changes the weights of all later ones.
    let whole = BoostedSvc { thresholds: Thresholds::Zero, early_stopping: false, max_rounds: 1, ..short() };
    let solver = SolverSettings { tolerance: 1e-8, cache_megabytes: Some(0.2), ..SolverSettings::default() };
    for sampling in [Sampling::All, Sampling::Stratified] {
        let near = BoostedSvc { sampling, solver: SolverSettings { cache_megabytes: Some(200.0), ..solver }, ..whole.clone() };
        let far = BoostedSvc { sampling, solver, ..whole.clone() };
        let (a, b) = (near.fit(&data).unwrap(), far.fit(&data).unwrap());
        let (a, b) = (a.decision_values(&data.x).unwrap(), b.decision_values(&data.x).unwrap());
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} {b}"));
    }
    let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
    let settings = BoostedSvc { solver: SolverSettings { tolerance: 1e-9, ..SolverSettings::default() }, ..whole };
    let (a, b) = (settings.fit(&data).unwrap(), settings.fit(&sparse).unwrap());
    let (a, b) = (a.decision_values(&data.x).unwrap(), b.decision_values(&sparse.x).unwrap());
    a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} {b}"));
}

/// A label matrix with one column per rule.
fn with_labels(x: &Matrix<'_>, rules: &[&dyn Fn(usize) -> bool]) -> Dataset<'static> {
    let on = (0..x.rows()).flat_map(|row| rules.iter().map(move |rule| rule(row))).collect();
    let names = (0..rules.len()).map(|label| format!("l{label}")).collect();
    Dataset::new(x.clone().into_owned(), Target::Labels(LabelMatrix::new(on, names).unwrap()))
}

#[test]
fn labels_that_never_change_and_labels_with_one_carrier() {
    let x = generate::two_gaussians(60, 1, 2, 2.0).x;
    let right = |row: usize| x.get(row, 0) > 0.0;
    let data = with_labels(&x, &[&right, &|_| false, &|_| true, &|row| row == 7, &right]);
    for settings in [short(), BoostedSvc { max_rounds: 3, ..BoostedSvc::paper() }] {
        let model = settings.fit(&data).unwrap();
        let endings: Vec<Ending> = model.labels.iter().map(|label| label.ending).collect();
        assert_eq!((endings[1], endings[2]), (Ending::Never, Ending::Always));
        let Target::Labels(said) = model.predict(&x).unwrap() else { panic!("labels") };
        assert!(said.label(1).all(|on| !on) && said.label(2).all(|on| on));
        // One carrier cannot be held out: the threshold stays at zero.
        assert!(model.labels[3].threshold == 0.0 && !model.labels[3].rounds.is_empty());
        if settings.preset.is_none() && settings.sampling == Sampling::All {
            // Equal columns get equal machines; their thresholds are tuned in turn.
            assert_eq!(model.labels[0].rounds.len(), model.labels[4].rounds.len());
            assert_eq!(model.labels[0].weights(), model.labels[4].weights());
            let p = model.probabilities(&x, &Context::default()).unwrap();
            assert!(p.chunks(5).all(|p| p[1] < 1e-6 && p[2] > 1.0 - 1e-6 && p.iter().all(|p| p.is_finite())));
        }
    }
    // Two classes, one of them with a single row: nothing says that more rounds help.
    let lone = Categories::new((0..60).map(|row| u32::from(row == 7)).collect(), vec!["many".into(), "one".into()]).unwrap();
    let model = BoostedSvc::default().fit(&Dataset::classes(x.clone(), lone)).unwrap();
    assert_eq!((model.rounds(), model.labels[0].threshold, model.stage_scores.len()), (1, 0.0, 0));
    assert!(said(&model).contains("1 round, no boosting: too few rows of a class to hold some out"), "{}", said(&model));
    assert!(!format!("{:?}", model.facts()).contains("held-out rows want no more"));
    // Nothing at all to learn is an answer too.
    let model = short().fit(&with_labels(&x, &[&|_| false])).unwrap();
    assert_eq!((model.rounds(), model.labels[0].ending), (0, Ending::Never));
    let Target::Labels(said) = model.predict(&x).unwrap() else { panic!("labels") };
    assert!(said.label(0).all(|on| !on));
}

#[test]
fn rows_get_a_label_where_every_training_row_has_one() {
    let x = generate::two_gaussians(90, 2, 2, 1.0).x;
    let one_of = |k: usize| {
        let x = &x;
        move |row: usize| {
            (if x.get(row, 0) > 0.4 {
                0
            } else if x.get(row, 1) > 0.0 {
                1
            } else {
                2
            }) == k
        }
    };
    let data = with_labels(&x, &[&one_of(0), &one_of(1), &one_of(2)]);
    let far = Matrix::from_rows(&[[50.0, 50.0], [-40.0, 0.0]]).unwrap();
    let auto = short().fit(&data).unwrap();
    assert!(auto.at_least_one);
    let Target::Labels(said) = auto.predict(&far).unwrap() else { panic!("labels") };
    assert!((0..2).all(|row| said.row(row).iter().any(|&on| on)));
    assert!(!BoostedSvc { at_least_one: AtLeastOne::Never, ..short() }.fit(&data).unwrap().at_least_one);
    // With rows that have none, none is an answer.
    assert!(!short().fit(&with_labels(&x, &[&one_of(0), &one_of(1)])).unwrap().at_least_one);
}

#[test]
fn when_every_round_is_refused_the_least_bad_machine_answers() {
    // Equal rows: every machine says the same everywhere and misses half of the weight.
    let x = Matrix::dense(vec![1.0; 40], 20, 2).unwrap();
    let data = with_labels(&x, &[&|row| row % 4 == 0]);
    let plain = BoostedSvc { thresholds: Thresholds::Zero, early_stopping: false, ..short() };
    let ending = |settings: BoostedSvc| {
        let model = settings.fit(&data).unwrap();
        let label = &model.labels[0];
        assert_eq!(label.rounds.len(), 1);
        assert!(label.rounds[0].error >= 0.5 - 1e-12 && label.rounds[0].alpha == 1.0, "{:?} {:?}", label.ending, label.rounds[0]);
        assert_eq!(label.weights()[0], label.weights()[1]);
        assert!(model.decision_values(&x).unwrap().iter().all(|v| v.is_finite()));
        label.ending
    };
    assert_eq!(ending(plain.clone()), Ending::SigmaMin);
    assert_eq!(ending(BoostedSvc { sigma_step: Some(0.0), ..plain.clone() }), Ending::Refused);
    let drawn = BoostedSvc { sampling: Sampling::Stratified, sampling_ratio: 0.5, sigma_step: Some(1e-9), ..plain };
    assert_eq!(ending(drawn), Ending::Refused);
}

/// Stops after some looks.
struct Impatient(std::sync::atomic::AtomicUsize);

impl Observer for Impatient {
    fn on_progress(&self, _: &Progress<'_>) -> std::ops::ControlFlow<()> {
        let left = self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        if left == 0 || left > usize::MAX / 2 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    }
}

#[test]
fn a_stopped_fit_is_a_usable_model() {
    let data = labeled(200, 5);
    for looks in [0, 1, 3, 10, 30] {
        let observer = Impatient(looks.into());
        let context = Context::single().with_observer(&observer);
        let model = short().fit_in(&data, &context).unwrap();
        assert_eq!(model.predict(&data.x).unwrap().count(), Some(200));
        assert!(model.report.stop == StopReason::Interrupted || looks == 30, "{looks}");
    }
    let late = Context::single().with_time_limit(std::time::Duration::ZERO);
    assert_eq!(short().fit_in(&data, &late).unwrap().report.stop, StopReason::TimeLimit);
}

#[test]
fn bad_input_is_named() {
    let data = labeled(30, 1);
    let message = |settings: BoostedSvc| settings.fit(&data).unwrap_err().to_string();
    let base = BoostedSvc::default();
    assert_eq!(message(BoostedSvc { c: 0.0, ..base.clone() }), "parameter `c` of BoostedSvc must be positive and finite, got 0");
    assert!(message(BoostedSvc { sampling_ratio: 1.5, ..base.clone() }).contains("`sampling_ratio`"));
    assert!(message(BoostedSvc { max_rounds: 0, ..base.clone() }).contains("`max_rounds`"));
    assert!(message(BoostedSvc { sigma_init: Some(-1.0), ..base.clone() }).contains("`sigma_init`"));
    assert!(message(BoostedSvc { sigma_step: Some(f64::NAN), ..base.clone() }).contains("`sigma_step`"));
    assert!(message(BoostedSvc { sigma_init: Some(1.0), sigma_min: Some(2.0), ..base.clone() }).contains("below sigma_init = 1"));
    assert!(message(BoostedSvc { sigma_min: Some(1e9), ..base.clone() }).contains("below the first width"));
    assert!(message(BoostedSvc { weight_scale: WeightScale::Value(0.0), ..base.clone() }).contains("`weight_scale`"));
    assert!(message(BoostedSvc { validation: Validation::Folds(1), ..base.clone() }).contains("`validation`"));
    assert!(message(BoostedSvc { validation: Validation::Share(0.9), ..base.clone() }).contains("at most 0.5"));
    let unknown = ClassWeight::Given(vec![("zebra".into(), 2.0)]);
    assert!(message(BoostedSvc { class_weight: unknown, ..base.clone() }).contains("right, high, far"));
    let one = Dataset::classes(data.x.clone(), Categories::from_names(&["x"; 30]));
    assert_eq!(base.fit(&one).unwrap_err().to_string(), "classification needs at least two classes, found only `x`");
    let real = Dataset::regression(data.x.clone(), vec![0.0; 30]);
    assert!(base.fit(&real).unwrap_err().to_string().contains("found real numbers"));
    let text = serde_json::to_string(&BoostedSvc::paper()).unwrap();
    assert_eq!(serde_json::from_str::<BoostedSvc>(&text).unwrap(), BoostedSvc::paper());
    assert!(text.contains("\"weight_scale\":\"n\""));
    for bad in ["{\"weight_scale\":\"m\"}", "{\"sampling\":\"some\"}", "{\"rounds\":3}"] {
        assert!(serde_json::from_str::<BoostedSvc>(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn picks_are_one_of_each_group(weights in prop::collection::vec(0.0f64..1.0, 2..60), ratio in 0.01f64..1.0, seed in 0u64..1000) {
        let order = rank(&weights, None);
        let count = draw_size(weights.len(), ratio);
        let mut random = Random::new(seed, 0);
        let uniforms: Vec<f64> = (0..count).map(|_| random.uniform()).collect();
        let picked = pick(&order, &uniforms);
        let parts = groups(weights.len(), count);
        prop_assert_eq!((parts[0].start, parts[count - 1].end), (0, weights.len()));
        for (part, row) in parts.iter().zip(&picked) {
            prop_assert!(order[part.clone()].contains(row));
        }
        // Every pick is at least as heavy as the picks of later groups.
        for pair in picked.windows(2) {
            prop_assert!(weights[pair[0]] >= weights[pair[1]]);
        }
    }

    #[test]
    fn accepted_rounds_leave_half_of_the_weight_on_their_misses(rows in prop::collection::vec((0.01f64..1.0, any::<bool>()), 3..40)) {
        let sum: f64 = rows.iter().map(|row| row.0).sum();
        let mut weights: Vec<f64> = rows.iter().map(|row| row.0 / sum).collect();
        let missed: Vec<bool> = rows.iter().map(|row| row.1).collect();
        let verdict = Verdict::new(&weights, &missed, 1e-9);
        verdict.update(&mut weights, &missed);
        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let heavy: f64 = weights.iter().zip(&missed).filter(|(_, m)| **m).map(|(w, _)| w).sum();
        if verdict.is_accepted() && verdict.error > 0.0 {
            prop_assert!((heavy - 0.5).abs() < 1e-9);
        } else if !verdict.is_accepted() {
            prop_assert!((heavy - verdict.error).abs() < 1e-12);
        }
    }
}
