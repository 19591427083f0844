//! What is chosen where nothing is given, sample weights, and the scale of the data.

use super::super::*;
use crate::data::{Categories, Dataset, Matrix, Target};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::random::Random;
use crate::svm::{Learner, Model};

/// Rows of `d` columns whose first three decide, as numbers.
fn table(seed: u64, n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed, 0);
    let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
    let y = (0..n).map(|i| 2.0 * x[i * d] - 1.5 * x[i * d + 1] + x[i * d + 2] + 0.3 * random.normal()).collect();
    (x, y)
}

fn signs(y: &[f64]) -> Categories {
    Categories::new(y.iter().map(|&y| u32::from(y > 0.0)).collect(), vec!["no".into(), "yes".into()]).unwrap()
}

#[test]
fn the_default_ends_in_a_small_set_and_says_why() {
    let (x, y) = table(0, 150, 60);
    let data = Dataset::classes(Matrix::dense(x, 150, 60).unwrap(), signs(&y));
    let model = MultiTaskSelection::default().fit(&data).unwrap();
    let choice = model.choice.as_ref().unwrap();
    let kept = choice.kept.as_ref().unwrap();
    assert!(kept.len() <= 20 && [0, 1, 2].iter().all(|j| kept.contains(j)), "{kept:?}");
    assert!((choice.ln_rho + 60f64.ln()).abs() < 1e-12 && choice.standardized && choice.refit_gap.unwrap() < 1e-5);
    assert_eq!(choice.frequencies.len(), 60);
    assert!(choice.frequencies[0] == 1.0 && choice.trials.len() > 10 && choice.reason.contains("held-out"), "{}", choice.reason);
    let selected = model.selected();
    for (j, &on) in selected.iter().enumerate() {
        assert_eq!(on, kept.contains(&j));
        assert_eq!(on, model.weights[j] != 0.0);
    }
    // Each choice is overridden by one argument.
    let all = MultiTaskSelection { keep: Keep::All, ..Default::default() }.fit(&data).unwrap();
    assert!(all.choice.unwrap().kept.is_none() && all.weights.iter().all(|w| *w != 0.0));
    let four = MultiTaskSelection { keep: Keep::Exactly(4), c: Some(2.0), rho: Some(0.05), ..Default::default() }.fit(&data).unwrap();
    assert_eq!(four.weights.iter().filter(|w| **w != 0.0).count(), 4);
    assert!(!four.choice.unwrap().standardized);
    let many = MultiTaskSelection { keep: Keep::Exactly(61), ..Default::default() }.fit(&data);
    assert!(many.unwrap_err().to_string().contains("at most the 60 features"));
}

#[test]
fn scale_and_offset_of_columns_and_targets_do_not_matter() {
    let (x, y) = table(1, 100, 20);
    let plain = Dataset::new(Matrix::dense(x.clone(), 100, 20).unwrap(), Target::Real(y.clone()));
    let scaled: Vec<f64> = x.iter().enumerate().map(|(i, v)| v * 10f64.powi((i % 20) as i32 % 5 - 2) + 7.0).collect();
    let moved = Dataset::new(Matrix::dense(scaled, 100, 20).unwrap(), Target::Real(y.iter().map(|y| 1000.0 * y + 1e5).collect()));
    // Folds follow what rows hold: with everything given the two must agree, with nothing given both must be good.
    let given =
        MultiTaskSelection { c: Some(15.0), rho: Some(0.05), standardize: Some(true), keep: Keep::Exactly(5), ..Default::default() };
    let good = MultiTaskSelection::default().fit(&moved).unwrap().decision_values(&moved.x).unwrap();
    let far: f64 = good.iter().zip(&y).map(|(f, y)| ((f - 1e5) / 1000.0 - y).powi(2)).sum();
    assert!(far < 0.05 * y.iter().map(|y| y * y).sum::<f64>(), "{far}");
    let (a, b) = (given.fit(&plain).unwrap(), given.fit(&moved).unwrap());
    assert_eq!(a.selected(), b.selected());
    // Where all features stay, what counts is seen on standardized columns: in units of its own a column of large numbers has a small weight.
    let all = MultiTaskSelection { keep: Keep::All, ..given.clone() };
    let (first, other) = (all.fit(&plain).unwrap().selected(), all.fit(&moved).unwrap().selected());
    assert_eq!(first, other);
    assert!(first[..3].iter().all(|on| *on) && first.contains(&false), "{first:?}");
    let (f, g) = (a.decision_values(&plain.x).unwrap(), b.decision_values(&moved.x).unwrap());
    let total: f64 = y.iter().map(|y| y * y).sum();
    let wrong: f64 = f.iter().zip(&y).map(|(f, y)| (f - y) * (f - y)).sum();
    assert!(wrong < 0.05 * total, "{wrong} of {total}");
    for (f, g) in f.iter().zip(&g) {
        assert!((1000.0 * f + 1e5 - g).abs() < 0.1, "{f} {g}");
    }
    // Prices in a small currency are as good as others; only where nothing is standardized do they leave nothing of the margin.
    let dear = Dataset::new(Matrix::dense(x, 100, 20).unwrap(), Target::Real(y.iter().map(|y| 1e12 * (y + 3.0)).collect()));
    let g = given.fit(&dear).unwrap().decision_values(&dear.x).unwrap();
    f.iter().zip(&g).for_each(|(f, g)| assert!((f + 3.0 - g / 1e12).abs() < 1e-4, "{f} {g}"));
    let raw = MultiTaskSelection { standardize: Some(false), ..given }.fit(&dear).unwrap_err().to_string();
    assert!(raw.contains("out of range") && raw.contains("`standardize`"), "{raw}");
}

#[test]
fn a_weight_of_two_is_a_row_twice_and_a_weight_of_zero_no_row() {
    let (x, y) = table(2, 80, 12);
    let weights: Vec<f64> = (0..80).map(|i| f64::from(i % 3)).collect();
    let order: Vec<usize> = (0..80).flat_map(|i| vec![i; i % 3]).collect();
    for target in [Target::Real(y.clone()), Target::Classes(signs(&y))] {
        let whole = Dataset::new(Matrix::dense(x.clone(), 80, 12).unwrap(), target);
        // With c and rho given: an automatic choice between near ties may fall another way.
        for learner in [
            MultiTaskSelection { rho: Some(0.05), c: Some(3.0), tolerance: 1e-9, ..Default::default() },
            MultiTaskSelection { rho: Some(0.05), c: Some(3.0), bias: BiasPrior::Flat, tolerance: 1e-9, ..Default::default() },
            MultiTaskSelection { rho: Some(0.05), c: Some(3.0), margin_prior: MarginPrior::Jj, tolerance: 1e-9, ..Default::default() },
            MultiTaskSelection {
                select: Select::Kernels,
                kernels: vec![Kernel::Linear, Kernel::rbf(0.05)],
                rho: Some(0.1),
                c: Some(2.0),
                tolerance: 1e-9,
                ..Default::default()
            },
        ] {
            let weighted = learner.fit(&whole.clone().with_weights(weights.clone())).unwrap();
            let repeated = learner.fit(&whole.select(&order)).unwrap();
            let plain = learner.fit(&whole).unwrap();
            assert!(weighted.report.gap < 1e-5 && weighted.coefficients[0].len() == 80);
            let scale = weighted.report.objective.abs().max(1.0);
            assert!((weighted.report.objective - repeated.report.objective).abs() < 1e-5 * scale, "{learner:?}");
            let values = |model: &MultiTaskSelectionModel| model.decision_values_in(&whole.x, &Context::single()).unwrap();
            let (a, b, c) = (values(&weighted), values(&repeated), values(&plain));
            let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far(&a, &b) < 2e-3 && far(&a, &c) > 1e-2, "{} {} {learner:?}", far(&a, &b), far(&a, &c));
        }
    }
}

#[test]
fn many_columns_and_many_tasks_come_back() {
    let (x, y) = table(3, 60, 2000);
    let mut data = Dataset::classes(Matrix::dense(x, 60, 2000).unwrap(), signs(&y));
    data.tasks = Some(Categories::from_names(&(0..60).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect::<Vec<_>>()));
    let model = MultiTaskSelection::default().fit(&data).unwrap();
    assert!(model.selected().iter().filter(|on| **on).count() <= 160 && model.tasks() == 2);
    let own = MultiTaskSelection { share: false, keep: Keep::All, c: Some(1.5), ..Default::default() }.fit(&data).unwrap();
    assert_eq!(own.switches.len(), 2 * 2000);
}

#[test]
fn trials_in_the_space_of_samples_choose_like_the_others() {
    let (n, d) = (110, 2000);
    let (x, y) = table(5, n, d);
    // Small priors put all switches next to zero, where turns once stayed.
    let small = |power: f64| Some(-power * (d as f64).ln());
    let cases = [
        (Target::Classes(signs(&y)), small(1.0)),
        (Target::Classes(signs(&y)), small(2.0)),
        (Target::Classes(signs(&y)), small(4.0)),
        (Target::Classes(signs(&y)), None),
        (Target::Real(y.clone()), None),
        (Target::Real(y.clone()), small(2.0)),
    ];
    for (target, ln_rho) in cases {
        let data = Dataset::new(Matrix::dense(x.clone(), n, d).unwrap(), target);
        let fit = |threshold: f64, threads: usize| {
            let learner = MultiTaskSelection { threshold, ln_rho, ..Default::default() };
            learner.fit_in(&data, &Context::single().with_threads(threads)).unwrap()
        };
        let model = fit(0.0, 1);
        let choice = model.choice.as_ref().unwrap();
        assert!(model.report.gap <= 1e-6 && model.report.stop == crate::observe::StopReason::Converged);
        let largest = super::super::automatic::largest(&super::super::automatic::sizes(&model.weights, d), 3);
        assert_eq!(largest, [0, 1, 2], "{}", choice.reason);
        assert_eq!(model.weights, fit(0.0, 2).weights);
        // A threshold below every switch changes nothing but the way: whole tables are solved for every trial.
        let other = fit(1e-15, 1);
        let trials = |model: &MultiTaskSelectionModel| model.choice.clone().unwrap().trials;
        for (a, b) in trials(&model).iter().zip(trials(&other)) {
            assert!((a.c, a.features, a.refit_ln_rho) == (b.c, b.features, b.refit_ln_rho));
            // Both are rough, and small sets differ where two features are nearly as large.
            assert!(a.features.is_some() || (a.loss - b.loss).abs() < 0.1 * b.loss.max(0.1), "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_table_short_of_rows_gets_a_small_prior_and_says_so() {
    let (x, y) = table(6, 40, 400);
    let data = Dataset::classes(Matrix::dense(x.clone(), 40, 400).unwrap(), signs(&y));
    let model = MultiTaskSelection::default().fit(&data).unwrap();
    let choice = model.choice.as_ref().unwrap();
    assert!((choice.ln_rho + 2.0 * 400f64.ln()).abs() < 1e-12 && choice.reason.contains("(400 features)^2"), "{}", choice.reason);
    // Not where it is given, where columns are fewer, for numbers, and for several tasks.
    let given = MultiTaskSelection { rho: Some(0.01), ..Default::default() }.fit(&data).unwrap().choice.unwrap();
    assert!((given.ln_rho - 0.01f64.ln()).abs() < 1e-12);
    let numbers = Dataset::new(Matrix::dense(x.clone(), 40, 400).unwrap(), Target::Real(y.clone()));
    assert!((MultiTaskSelection::default().fit(&numbers).unwrap().choice.unwrap().ln_rho + 400f64.ln()).abs() < 1e-12);
    let mut tasks = data.clone();
    tasks.tasks = Some(Categories::from_names(&(0..40).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect::<Vec<_>>()));
    assert!((MultiTaskSelection::default().fit(&tasks).unwrap().choice.unwrap().ln_rho + 400f64.ln()).abs() < 1e-12);
}
