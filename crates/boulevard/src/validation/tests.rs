//! Cross-validation and grid search against the plain way: fit on the selected rows, predict the others.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::data::split::{Split, k_fold, stratified_k_fold};
use crate::data::{Categories, Dataset, Matrix, Target, generate};
use crate::kernel::Kernel;
use crate::observe::{Context, Observer, Progress, StopReason};
use crate::svm::*;

fn tight() -> SolverSettings {
    SolverSettings { tolerance: 1e-8, ..SolverSettings::default() }
}

fn classes(count: usize, n: usize) -> Dataset<'static> {
    let shape = generate::Clusters { classes: count, clusters_per_class: 1, label_noise: 0.1, ..generate::Clusters::default() };
    generate::classification(n, 7, &shape).unwrap()
}

fn gram(x: &Matrix<'_>, gamma: f64) -> Matrix<'static> {
    let row = |i: usize| (0..x.columns()).map(|j| x.get(i, j)).collect::<Vec<_>>();
    let values =
        (0..x.rows()).flat_map(|i| (0..x.rows()).map(move |j| Kernel::rbf(gamma).evaluate(&row(i), &row(j)).unwrap())).collect::<Vec<_>>();
    Matrix::dense(values, x.rows(), x.rows()).unwrap()
}

/// Stops the work at the given question of the search itself (the solver asks questions of its own).
struct StopAt(AtomicUsize, usize);

impl Observer for StopAt {
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()> {
        let asked = if progress.stage == "grid search" { self.0.fetch_add(1, Ordering::Relaxed) } else { 0 };
        if asked >= self.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn folds_equal_fits_by_hand() {
    let data = classes(3, 120);
    let folds = stratified_k_fold(data.expect_classes().unwrap(), 4, 1).unwrap();
    let svc = Svc { kernel: Kernel::rbf(0.05), calibrate: true, ..Svc::default() };
    let result = cross_validate(&svc, &data, &folds, &Context::default()).unwrap();
    assert_eq!((result.folds.len(), result.stop), (4, StopReason::Converged));
    let Some(Target::Classes(all)) = result.out_of_fold(120) else { panic!("every row once") };
    let mut hits = 0;
    for (fold, split) in result.folds.iter().zip(&folds) {
        let model = svc.fit(&data.select(&split.train)).unwrap();
        let x = data.x.select(&split.test);
        let predicted = model.predict(&x).unwrap();
        assert_eq!(fold.predictions, Target::Classes(predicted.clone()));
        assert_eq!(fold.probabilities.as_ref().unwrap(), &model.probabilities(&x, &Context::default()).unwrap());
        assert_eq!(fold.report.objective, model.report.objective);
        for (&row, code) in split.test.iter().zip(predicted.codes()) {
            assert_eq!(all.codes()[row], *code);
            hits += usize::from(data.expect_classes().unwrap().codes()[row] == *code);
        }
    }
    assert!((result.mean(&data, Score::Accuracy).unwrap() - hits as f64 / 120.0).abs() < 1e-12);
    assert!(result.scores(&data, Score::LogLoss).unwrap().iter().all(|loss| *loss > 0.0 && *loss < 2.0));
    assert!(result.standard_deviation(&data, Score::F1Macro).unwrap() >= 0.0);
    assert!(result.mean(&data, Score::Rmse).unwrap_err().to_string().contains("rmse does not apply to predictions of classes"));
    // The same bits for any number of threads.
    for threads in [1, 3] {
        let again = cross_validate(&svc, &data, &folds, &Context::default().with_threads(threads)).unwrap();
        let bits = |result: &CrossValidation| result.folds.iter().map(|f| f.probabilities.clone()).collect::<Vec<_>>();
        assert_eq!(bits(&again), bits(&result));
    }
}

#[test]
fn every_kind_of_learner_can_be_validated() {
    let data = generate::regression(90, 1, 0, 0.3);
    let folds = k_fold(90, 3, 0).unwrap();
    let context = Context::default();
    let result = cross_validate(&Svr { c: 10.0, ..Svr::default() }, &data, &folds, &context).unwrap();
    assert!(result.mean(&data, Score::R2).unwrap() > 0.3);
    assert!(result.mean(&data, Score::Mae).unwrap() <= result.mean(&data, Score::Rmse).unwrap());
    assert!(matches!(result.out_of_fold(90), Some(Target::Real(values)) if values.len() == 90));
    assert_eq!(result.out_of_fold(91), None);
    let inside = cross_validate(&OneClass { nu: 0.2, ..OneClass::default() }, &data, &folds, &context).unwrap();
    assert!(matches!(inside.out_of_fold(90), Some(Target::Classes(_))));
    assert!(inside.mean(&data, Score::Accuracy).is_err());
    // A precomputed kernel needs rows and columns of the matrix.
    let data = classes(3, 60);
    let square = Dataset { x: gram(&data.x, 0.05), ..data.clone() };
    let folds = k_fold(60, 3, 0).unwrap();
    let svc = Svc { kernel: Kernel::rbf(0.05), solver: tight(), ..Svc::default() };
    let plain = cross_validate(&svc, &data, &folds, &context).unwrap();
    let given = cross_validate(&Svc { kernel: Kernel::Precomputed, ..svc }, &square, &folds, &context).unwrap();
    assert_eq!(plain.out_of_fold(60), given.out_of_fold(60));
}

#[test]
fn bad_splits_are_named() {
    let data = classes(2, 20);
    let message = |splits: &[Split]| cross_validate(&Svc::default(), &data, splits, &Context::default()).unwrap_err().to_string();
    let split = |train: &[usize], test: &[usize]| Split { train: train.to_vec(), test: test.to_vec() };
    assert_eq!(message(&[]), "there are no splits to validate on");
    assert_eq!(message(&[split(&[], &[1])]), "split 0 has no training rows");
    assert_eq!(message(&[split(&[1, 2], &[20])]), "split 0 names test row 20, but there are 20 rows");
    assert_eq!(message(&[split(&[1, 2], &[2])]), "split 0 names row 2 twice");
}

#[test]
fn scores_know_their_direction() {
    assert!(Score::Accuracy.is_better(0.9, 0.8) && !Score::Accuracy.is_better(0.8, 0.8));
    assert!(Score::Rmse.is_better(0.1, 0.2) && Score::Rmse.is_better(0.1, f64::NAN) && !Score::Rmse.is_better(f64::NAN, 0.1));
    for score in Score::ALL {
        assert_eq!(serde_json::to_string(&score).unwrap(), format!("\"{}\"", score.name()));
    }
}

/// The grid's scores by the plain way.
fn plain_svc(learner: &Svc, search: &GridSearch, data: &Dataset<'_>, score: Score) -> Vec<f64> {
    let splits = search.splits(data).unwrap();
    let mut means = Vec::new();
    let gammas = if search.gamma.is_empty() { vec![None] } else { search.gamma.iter().copied().map(Some).collect() };
    for gamma in gammas {
        for &c in &search.c {
            let kernel = gamma.map_or(learner.kernel.clone(), |gamma| learner.kernel.clone().with_gamma(gamma));
            let svc = Svc { kernel, penalty: Penalty::C(c), ..learner.clone() };
            means.push(cross_validate(&svc, data, &splits, &Context::default()).unwrap().mean(data, score).unwrap());
        }
    }
    means
}

fn close(found: &[f64], expected: &[f64], allowed: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= allowed), "{what}: {found:?} for {expected:?}");
}

#[test]
fn a_grid_of_classifiers_equals_the_plain_way() {
    let search = GridSearch { c: vec![0.1, 1.0, 30.0], gamma: vec![0.02, 0.2], folds: 3, ..GridSearch::default() };
    for count in [2, 3, 6] {
        let data = classes(count, 150);
        let weights: Vec<f64> = (0..150).map(|i| [1.0, 0.5, 2.0, 0.0][i % 4]).collect();
        let weighted = data.clone().with_weights(weights);
        let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
        let plain = Svc { solver: tight(), ..Svc::default() };
        let balanced = Svc { class_weight: ClassWeight::Balanced, ..plain.clone() };
        let rest = Svc { multiclass: Multiclass::OneVsRest, ..plain.clone() };
        for (learner, data) in [(&plain, &data), (&balanced, &weighted), (&rest, &weighted), (&plain, &sparse)] {
            for score in [Score::Accuracy, Score::F1Macro] {
                let search = GridSearch { score: Some(score), ..search.clone() };
                let found = search.svc(learner, data, &Context::default()).unwrap();
                let means: Vec<f64> = found.points.iter().map(|point| point.mean).collect();
                close(&means, &plain_svc(learner, &search, data, score), 1e-12, &format!("{count} classes, {learner:?}"));
                assert_eq!((found.stop, found.score), (StopReason::Converged, score));
                let best = found.best_point().unwrap();
                assert!(means.iter().all(|mean| !score.is_better(*mean, best.mean)));
                let model = found.model.as_ref().unwrap();
                assert_eq!(model.parameters.penalty, Penalty::C(best.c));
                assert_eq!(model.machine.kernel.gamma().unwrap().value(), best.gamma);
            }
        }
    }
}

#[test]
fn large_tables_and_rare_classes_too() {
    // Above the size that is solved in double precision from the start, at the usual tolerance: rows near the border may change sides.
    let data = classes(3, 700);
    let search = GridSearch { c: vec![1.0, 10.0, 100.0], gamma: vec![0.05], folds: 3, refit: false, ..GridSearch::default() };
    let found = search.svc(&Svc::default(), &data, &Context::default()).unwrap();
    let means: Vec<f64> = found.points.iter().map(|point| point.mean).collect();
    close(&means, &plain_svc(&Svc::default(), &search, &data, Score::Accuracy), 2.0 / 700.0, "single precision");
    assert!(found.model.is_none());
    // Class `d` has one row: the fold that tests it learns without it.
    for others in [["a", "b", "c"].as_slice(), &["a", "b", "c", "e", "f"]] {
        let mut names: Vec<&str> = (0..90).map(|i| others[i % others.len()]).collect();
        names[10] = "d";
        let data = Dataset::classes(classes(3, 90).x, Categories::from_names(&names));
        let search = GridSearch { c: vec![1.0], gamma: vec![0.05], folds: 3, ..GridSearch::default() };
        for multiclass in [Multiclass::OneVsOne, Multiclass::OneVsRest] {
            let svc = Svc { multiclass, solver: tight(), ..Svc::default() };
            let found = search.svc(&svc, &data, &Context::default()).unwrap();
            close(&[found.points[0].mean], &plain_svc(&svc, &search, &data, Score::Accuracy), 1e-12, "a rare class");
        }
    }
}

#[test]
fn other_kernels_and_log_loss() {
    let data = classes(3, 90);
    let search = GridSearch { c: vec![0.5, 5.0], folds: 3, ..GridSearch::default() };
    let context = Context::default();
    let linear = Svc { kernel: Kernel::Linear, solver: tight(), ..Svc::default() };
    let found = search.svc(&linear, &data, &context).unwrap();
    close(&[found.points[0].mean, found.points[1].mean], &plain_svc(&linear, &search, &data, Score::Accuracy), 1e-12, "linear");
    assert_eq!(found.points[0].gamma, None);
    let square = Dataset { x: gram(&data.x, 0.05), ..data.clone() };
    let given = search.svc(&Svc { kernel: Kernel::Precomputed, solver: tight(), ..Svc::default() }, &square, &context).unwrap();
    let rbf = search.svc(&Svc { kernel: Kernel::rbf(0.05), solver: tight(), ..Svc::default() }, &data, &context).unwrap();
    let scores = |result: &GridResult<SvcModel>| result.points.iter().map(|p| p.scores.clone()).collect::<Vec<_>>();
    assert_eq!(scores(&given), scores(&rbf));
    let loss = GridSearch { score: Some(Score::LogLoss), ..search };
    let found = loss.svc(&Svc { kernel: Kernel::rbf(0.05), ..Svc::default() }, &data, &context).unwrap();
    let best = found.best_point().unwrap();
    assert!(found.points.iter().all(|point| point.mean >= best.mean) && found.model.as_ref().unwrap().calibration.is_some());
}

#[test]
fn a_grid_of_regressors_equals_the_plain_way() {
    let data = generate::regression(120, 3, 1, 0.4);
    let weights: Vec<f64> = (0..120).map(|i| [1.0, 0.5, 2.0, 0.0][i % 4]).collect();
    let context = Context::default();
    // Powers of two scale without rounding. Where no variable is free the offset is an interval, and a last bit decides which of its points
    // is taken.
    let search =
        GridSearch { c: vec![0.25, 2.0, 32.0], gamma: vec![0.02, 0.2], epsilon: vec![0.0, 0.3], folds: 4, ..GridSearch::default() };
    for data in [data.clone(), data.clone().with_weights(weights)] {
        let splits = search.splits(&data).unwrap();
        let learner = Svr { solver: tight(), ..Svr::default() };
        let found = search.svr(&learner, &data, &context).unwrap();
        assert_eq!((found.points.len(), found.score), (12, Score::Rmse));
        for point in &found.points {
            let tube = Tube::Epsilon(point.epsilon.unwrap());
            let svr = Svr { kernel: Kernel::rbf(point.gamma.unwrap()), c: point.c, tube, ..learner.clone() };
            let plain = cross_validate(&svr, &data, &splits, &context).unwrap().scores(&data, Score::Rmse).unwrap();
            close(&point.scores, &plain, 1e-6, &format!("{svr:?}"));
        }
        let best = found.best_point().unwrap();
        assert!(found.points.iter().all(|point| point.mean >= best.mean));
        assert_eq!(found.model.as_ref().unwrap().parameters.tube, Tube::Epsilon(best.epsilon.unwrap()));
    }
    let nu = Svr { tube: Tube::Nu(0.5), ..Svr::default() };
    assert!(search.svr(&nu, &data, &context).unwrap_err().to_string().contains("empty for nu-regression"));
    let found = GridSearch { epsilon: Vec::new(), ..search }.svr(&nu, &data, &context).unwrap();
    assert_eq!((found.points.len(), found.points[0].epsilon), (6, None));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for (count, n) in [(2, 700), (3, 200), (6, 200)] {
        let data = classes(count, n);
        let search = GridSearch { c: vec![0.1, 1.0, 10.0], gamma: vec![0.01, 0.1, 1.0], folds: 5, refit: false, ..GridSearch::default() };
        let run = |threads| search.svc(&Svc::default(), &data, &Context::default().with_threads(threads)).unwrap();
        let one = run(1);
        assert_eq!(one.points.len(), 9);
        // Also the number of steps: not only the scores.
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
    }
    let data = generate::regression(150, 3, 0, 0.4);
    let search = GridSearch { c: vec![0.3, 3.0], gamma: vec![0.1], folds: 5, refit: false, ..GridSearch::default() };
    let run = |threads| search.svr(&Svr::default(), &data, &Context::default().with_threads(threads)).unwrap();
    assert_eq!(run(1), run(4));
}

/// Wide bounds and rows that are alike: where Newton steps take over from pair steps (that they do is tested in the solver).
#[test]
fn wide_bounds_give_the_scores_of_plain_fits_on_any_threads() {
    let data = classes(2, 900);
    let learner = Svc { kernel: Kernel::rbf(0.01), ..Svc::default() };
    let search = GridSearch { c: vec![100.0, 1000.0], folds: 3, refit: false, ..GridSearch::default() };
    let found = |threads| search.svc(&learner, &data, &Context::default().with_threads(threads)).unwrap();
    let (one, two) = (found(1), found(2));
    assert_eq!(one, two);
    assert_eq!(one.stop, StopReason::Converged);
    let plain = plain_svc(&learner, &search, &data, Score::Accuracy);
    close(&one.points.iter().map(|point| point.mean).collect::<Vec<_>>(), &plain, 0.004, "means");
}

#[test]
fn ties_go_to_the_smallest_c_and_then_gamma() {
    let x = Matrix::dense((0..40).map(|i| if i % 2 == 0 { -5.0 } else { 5.0 } + 0.01 * f64::from(i)).collect::<Vec<f64>>(), 40, 1).unwrap();
    let data = Dataset::classes(x, Categories::from_names(&["a", "b"].repeat(20)));
    let search = GridSearch { c: vec![100.0, 1.0, 10.0, 1.0], gamma: vec![0.5, 0.1], ..GridSearch::default() };
    let found = search.svc(&Svc::default(), &data, &Context::default()).unwrap();
    assert!(found.points.iter().all(|point| point.mean == 1.0 && point.standard_deviation == 0.0));
    let best = found.best_point().unwrap();
    assert_eq!((found.points.len(), best.c, best.gamma), (6, 1.0, Some(0.1)));
}

#[test]
fn a_stopped_search_returns_what_it_has() {
    let data = classes(3, 150);
    let search = GridSearch { c: vec![0.1, 1.0, 10.0], gamma: vec![0.01, 0.1], folds: 3, ..GridSearch::default() };
    let whole = search.svc(&Svc::default(), &data, &Context::single()).unwrap();
    // Nine problems (three pairs, three folds) make a point; the 22nd question stops the third.
    let observer = StopAt(AtomicUsize::new(0), 21);
    let cut = search.svc(&Svc::default(), &data, &Context::single().with_observer(&observer)).unwrap();
    assert_eq!((cut.stop, cut.points.len()), (StopReason::Interrupted, 2));
    assert_eq!(cut.points, whole.points[..2]);
    assert!(cut.best.is_some() && cut.model.is_none());
    for threads in [1, 2] {
        let late = Context::default().with_threads(threads).with_time_limit(Duration::ZERO);
        let nothing = search.svc(&Svc::default(), &data, &late).unwrap();
        assert_eq!((nothing.stop, nothing.points.len(), nothing.best), (StopReason::TimeLimit, 0, None));
        let folds = search.splits(&data).unwrap();
        let nothing = cross_validate(&Svc::default(), &data, &folds, &late).unwrap();
        assert_eq!((nothing.stop, nothing.folds.len()), (StopReason::TimeLimit, 0));
    }
    let many = classes(6, 150);
    let observer = StopAt(AtomicUsize::new(0), 21);
    let cut = search.svc(&Svc::default(), &many, &Context::default().with_observer(&observer)).unwrap();
    assert_eq!((cut.stop, cut.points.len()), (StopReason::Interrupted, 0));
    let observer = StopAt(AtomicUsize::new(0), 7);
    let data = generate::regression(60, 3, 0, 0.4);
    let cut = search.svr(&Svr::default(), &data, &Context::single().with_observer(&observer)).unwrap();
    assert_eq!((cut.stop, cut.points.len()), (StopReason::Interrupted, 2));
}

#[test]
fn bad_searches_are_named() {
    let data = classes(2, 40);
    let message = |search: GridSearch, svc: &Svc| search.svc(svc, &data, &Context::default()).unwrap_err().to_string();
    let svc = Svc::default();
    let sound = GridSearch::default;
    assert!(message(GridSearch { c: vec![], ..sound() }, &svc).contains("parameter `c` of GridSearch must be a list"));
    assert!(message(GridSearch { c: vec![0.0], ..sound() }, &svc).contains("`c` of GridSearch must be positive"));
    assert!(message(GridSearch { folds: 1, ..sound() }, &svc).contains("must be at least 2, got 1"));
    assert!(message(GridSearch { epsilon: vec![0.1], ..sound() }, &svc).contains("empty for a classifier"));
    let linear = Svc { kernel: Kernel::Linear, ..Svc::default() };
    assert!(message(GridSearch { gamma: vec![0.1], ..sound() }, &linear).contains("must be empty for a linear kernel, got [0.1]"));
    assert!(message(sound(), &Svc { penalty: Penalty::Nu(0.5), ..Svc::default() }).contains("nu-classification has no C"));
    assert!(message(GridSearch { score: Some(Score::R2), ..sound() }, &svc).contains("r2 does not apply"));
    let numbers = Dataset::new(data.x.clone(), Target::Real(vec![0.0; 40]));
    assert!(sound().svc(&svc, &numbers, &Context::default()).unwrap_err().to_string().contains("needs classes"));
    let groups: Vec<String> = (0..40).map(|i| (i / 4).to_string()).collect();
    let grouped = Dataset { groups: Some(Categories::from_names(&groups)), ..data.clone() };
    for split in sound().splits(&grouped).unwrap() {
        assert!(split.test.iter().all(|row| !split.train.iter().any(|other| other / 4 == row / 4)));
    }
}

#[test]
fn a_grid_of_its_own_is_refined_around_its_best() {
    let data = generate::banana(90, 3);
    let kernel = crate::kernel::Kernel::default();
    let grid = AutomaticGrid::new(&kernel, &data).unwrap();
    assert_eq!((grid.c.len(), grid.gamma.len(), grid.epsilon.len()), (5, 5, 0));
    let search = GridSearch { c: grid.c.clone(), gamma: grid.gamma.clone(), folds: 3, refit: false, ..GridSearch::default() };
    let plain = search.svc(&Svc::default(), &data, &Context::single()).unwrap();
    let refined = GridSearch { refine: true, ..search.clone() }.svc(&Svc::default(), &data, &Context::single()).unwrap();
    assert_eq!((plain.points.len(), plain.refined, refined.points.len(), refined.refined), (25, 0, 33, 8));
    assert!(refined.best_point().unwrap().mean >= plain.best_point().unwrap().mean);
    // All points of the grid are there unchanged, and all are in order.
    for point in &plain.points {
        assert!(refined.points.iter().any(|other| (other.c, other.gamma) == (point.c, point.gamma) && other.mean == point.mean));
    }
    assert!(refined.points.windows(2).all(|pair| (pair[0].gamma, pair[0].c) < (pair[1].gamma, pair[1].c)));
    let calm = GridSearch { pick: GridPick::OneSe, ..search }.svc(&Svc::default(), &data, &Context::single()).unwrap();
    let (best, chosen) = (plain.best_point().unwrap(), calm.best_point().unwrap());
    assert!(chosen.c <= best.c && chosen.mean >= best.mean - best.standard_deviation / 3f64.sqrt());
}
