//! Pictures say what the numbers say.

use super::*;
use crate::any::{AnyLearner, Method};
use crate::data::{Dataset, Target, generate};
use crate::kernel::Kernel;
use crate::methods::feature_induction::FeatureInduction;
use crate::methods::pareto::ParetoSvc;
use crate::observe::Context;
use crate::picture::{Column, Picture};
use crate::svm::{Learner, LinearSvc, Model, Svc};
use crate::validation::{cross_validate, default_folds};

fn sound(picture: &Picture) {
    assert!(!picture.title.is_empty() && !picture.sentence.is_empty(), "{}", picture.id);
    assert!(!picture.x.label.is_empty() && !picture.y.label.is_empty(), "{}", picture.id);
    assert!(!picture.layers.is_empty(), "{}", picture.id);
    for layer in &picture.layers {
        for (name, column) in &layer.columns {
            let rows = match column {
                Column::Numbers(values) => values.len(),
                Column::Texts(texts) => texts.len(),
            };
            assert_eq!(rows, layer.rows(), "{}: {name}", picture.id);
        }
    }
}

fn judged(data: &Dataset<'_>) -> Judged {
    let learner = Svc { kernel: Kernel::rbf(1.0), ..Svc::default() };
    let found = cross_validate(&learner, data, &default_folds(data, 4, 0).unwrap(), &Context::single()).unwrap();
    Judged::from_folds(&found.folds, data).unwrap().unwrap()
}

#[test]
fn rows_are_judged_by_folds_that_did_not_see_them() {
    let data = generate::banana(200, 1);
    let judged = judged(&data);
    assert_eq!(judged.len(), 200);
    for place in 0..judged.len() {
        assert_eq!(judged.margin(place) < 0.0, judged.truth[place] != judged.said[place]);
    }
    let pictures = [
        confusion(&judged).unwrap(),
        roc(&judged).unwrap(),
        precision_recall(&judged).unwrap(),
        calibration(&judged).unwrap(),
        hardest(&judged),
    ];
    pictures.iter().for_each(sound);
    let (error, _) = judged.error();
    assert!(pictures[0].sentence.starts_with(&crate::words::percent(error)), "{}", pictures[0].sentence);
    // Both curves tell the same thresholds, end with all rows, and hold the decisions themselves.
    let (ranked, alarms) = (&pictures[1].layers[1], &pictures[2].layers[0]);
    assert_eq!(ranked.column("threshold").unwrap()[1..], *alarms.column("threshold").unwrap());
    assert_eq!((ranked.column("x").unwrap().last(), ranked.column("y").unwrap().last()), (Some(&100.0), Some(&100.0)));
    let right = (0..200).filter(|&i| judged.truth[i] == 1 && judged.said[i] == 1).count() as f64;
    let wrong = (0..200).filter(|&i| judged.truth[i] == 0 && judged.said[i] == 1).count() as f64;
    let (found, false_alarms) = (alarms.column("rows found").unwrap(), alarms.column("false alarms").unwrap());
    assert!(found.iter().zip(false_alarms).any(|(&found, &alarms)| found == right && alarms == wrong));
    let star = &pictures[2].layers[1];
    assert!((star.column("y").unwrap()[0] - 100.0 * right / (right + wrong)).abs() < 1e-12);
    let counts: f64 = pictures[0].layers[0].column("rows").unwrap().iter().sum();
    assert_eq!(counts, 200.0);
    let margins = pictures[4].layers[0].column("x").unwrap();
    assert!(margins.windows(2).all(|pair| pair[0] <= pair[1]), "hardest first");
}

#[test]
fn three_classes_have_a_curve_each() {
    let shape = generate::Clusters {
        columns: 4,
        classes: 3,
        informative: 3,
        redundant: 0,
        clusters_per_class: 1,
        separation: 1.5,
        label_noise: 0.0,
    };
    let data = generate::classification(150, 2, &shape).unwrap();
    let judged = judged(&data);
    assert_eq!(roc(&judged).unwrap().layers.len(), 5, "guessing, three classes, what is said");
    sound(&calibration(&judged).unwrap());
}

#[test]
fn a_column_that_does_nothing_is_last() {
    let mut data = generate::two_gaussians(200, 3, 3, 3.0);
    // The third column is made useless.
    let values: Vec<f64> = (0..200).flat_map(|row| [data.x.get(row, 0), data.x.get(row, 1), (row % 7) as f64]).collect();
    data.x = crate::data::Matrix::dense(values, 200, 3).unwrap();
    let context = Context::single();
    let model = LinearSvc::default().fit_in(&data, &context).unwrap();
    let asked = Asked::new(&model, &data, &context).unwrap();
    let importance = Importance::new(&asked, &data).unwrap();
    assert_eq!(importance.columns[2].0, 2);
    let pictures = dependence(&asked, &data, &importance, 2).unwrap();
    assert_eq!(pictures.len(), 2);
    pictures.iter().for_each(sound);
    // A linear machine is a line in every column.
    let line = pictures[0].layers[1].column("y").unwrap();
    let step = line[1] - line[0];
    assert!(line.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() < 1e-9));
    let map = decision_map(&model, &data, Some(&importance), &context).unwrap().unwrap();
    sound(&map);
    assert!(map.sentence.contains("other column") || map.sentence.contains("variance"), "{}", map.sentence);
    let explained = explain(&model, &data, 5, None, &context).unwrap();
    explained.pictures.iter().for_each(sound);
    assert!(explained.changes.iter().all(|text| text.contains("would be said")));
    assert!(explain(&model, &data, 200, None, &context).is_err());
}

#[test]
fn a_change_that_is_told_changes_the_answer() {
    let data = generate::banana(150, 4);
    let context = Context::single();
    let model = Svc { kernel: Kernel::rbf(1.0), ..Svc::default() }.fit_in(&data, &context).unwrap();
    let told = (0..20).map(|row| explain(&model, &data, row, None, &context).unwrap()).find(|one| !one.changes.is_empty()).unwrap();
    let words: Vec<&str> = told.changes[0].split(' ').collect();
    let column = if words[1] == "x1" { 0 } else { 1 };
    let value: f64 = words[words.iter().position(|word| *word == "to").unwrap() + 1].parse().unwrap();
    let mut row = vec![data.x.get(told.row, 0), data.x.get(told.row, 1)];
    row[column] = value;
    let said = model.predict_in(&crate::data::Matrix::dense(row, 1, 2).unwrap(), &context).unwrap();
    assert_ne!(said.names()[said.codes()[0] as usize], told.said);
    assert!(told.pictures.iter().any(|picture| picture.id == "nearest"));
}

#[test]
fn every_method_describes_itself_soundly() {
    let data = generate::banana(120, 5);
    let context = Context::single();
    for method in crate::any::METHODS {
        let learner: AnyLearner = Method::named(method.name).unwrap().learner();
        let data = match learner.target() {
            crate::data::io::TargetKind::Real => {
                Dataset { target: Target::Real((0..120).map(|row| data.x.get(row, 0)).collect()), ..data.clone() }
            }
            crate::data::io::TargetKind::None => Dataset { target: Target::None, ..data.clone() },
            _ => data.clone(),
        };
        let model = learner.fit_in(&data, &context).unwrap();
        model.pictures(Some(&data), &context).unwrap().iter().for_each(sound);
        if let Some(map) = decision_map(&model, &data, None, &context).unwrap() {
            sound(&map);
        }
    }
}

#[test]
fn a_front_says_where_errors_part() {
    let data = generate::banana(200, 6);
    let context = Context::single();
    let model = ParetoSvc { kernel: Kernel::rbf(5.0), n_points: 30, ..ParetoSvc::default() }.fit_in(&data, &context).unwrap();
    let pictures = model.pictures(None, &context).unwrap();
    assert_eq!(pictures.iter().map(|picture| picture.id.as_str()).collect::<Vec<_>>(), ["front", "errors"]);
    assert_eq!(pictures[0].select.as_deref(), Some("pick"));
    assert_eq!(pictures[0].layers[0].column("key").unwrap().len(), 30);
    assert!(pictures[1].sentence.contains("part") || pictures[1].sentence.contains("learn by heart"), "{}", pictures[1].sentence);
}

#[test]
fn rules_pull() {
    let data = generate::checkerboard(200, 7, 2, 1.0);
    let context = Context::single();
    let model = FeatureInduction::default().fit_in(&data, &context).unwrap();
    let explained = explain(&model, &data, 0, None, &context).unwrap();
    assert!(!model.rules().is_empty() && explained.pictures[0].id == "pulls");
    let names = &explained.pictures[0].y.categories;
    assert!(names.iter().any(|name| name.contains('>') || name.contains("<=")), "{names:?}");
}

#[test]
fn a_search_is_a_map_or_a_line() {
    let cell = |first: f64, second: Option<f64>, error: f64| GridCell { first, second, error, deviation: 0.01 };
    let two = [cell(1.0, Some(0.1), 0.2), cell(4.0, Some(0.1), 0.1), cell(1.0, Some(1.0), 0.3), cell(4.0, Some(1.0), 0.4)];
    let map = search(&two, ["C", "gamma"], 1, true);
    sound(&map);
    assert!(map.sentence.contains("Lowest error 10 % at C = 4, gamma = 0.1; 1 of 4"), "{}", map.sentence);
    sound(&search(&[cell(1.0, None, 0.2), cell(2.0, None, 0.1)], ["C", "gamma"], 1, true));
    sound(&comparison(&[("svc".into(), 0.1, 0.02), ("induce".into(), 0.2, 0.01)], true, "svc is better."));
    sound(&published(&[("banana".into(), 11.0, Some(11.5)), ("heart".into(), 16.0, None)], "error in %", false, "Agrees."));
    sound(&agreement(&[1.0, 2.0, 3.0], &[1.1, 1.9, 3.2], true).unwrap());
    let (far, places) = farthest(&[1.0, 2.0, 3.0], &[1.1, 1.9, 2.5], &[7, 8, 9], true);
    sound(&far);
    assert_eq!(places[0], 2);
    assert!(far.sentence.contains("row 10 is farthest off, by 0.5"), "{}", far.sentence);
}

#[test]
fn plain_machines_show_weights_and_support_vectors() {
    let mut data = generate::two_gaussians(100, 3, 4, 2.0);
    data.feature_names = Some(["a", "b", "c", "d"].map(str::to_owned).to_vec());
    let context = Context::single();
    let linear = LinearSvc::default().fit_in(&data, &context).unwrap();
    let pictures = linear.pictures(None, &context).unwrap();
    pictures.iter().for_each(sound);
    let drawn = pictures[0].layers[0].column("x").unwrap();
    assert_eq!(drawn.len(), 4);
    assert!(drawn.windows(2).all(|pair| pair[0].abs() >= pair[1].abs()), "the largest first: {drawn:?}");
    let place = ["a", "b", "c", "d"].iter().position(|name| *name == pictures[0].y.categories[0]).unwrap();
    assert_eq!(drawn[0], linear.machine.weights[place]);
    let svc = Svc::default().fit_in(&data, &context).unwrap();
    let pictures = svc.pictures(None, &context).unwrap();
    sound(&pictures[0]);
    let counts: f64 = pictures[0].layers[0].column("x").unwrap().iter().sum();
    assert_eq!(counts, svc.support_vectors() as f64);
}
