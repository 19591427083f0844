//! Fits on a graphics card against those on the processor. Without a card the tests say "skipped"; refusals are tested without one
//! (`it/device.rs`).
//!
//! `table::table` prints the figures of docs/benchmarks/card.md; it takes minutes and is run by scripts/test-gpu.

#![allow(clippy::print_stdout)]

mod answers;
mod indefinite;
mod problems;
mod table;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use boulevard::Error;
use boulevard::data::{Categories, Dataset, Matrix};
use boulevard::kernel::Kernel;
use boulevard::observe::{Context, Device, Observer, Progress, StopReason};
use boulevard::solver::{DoubledKernel, DualProblem, DualSolution, Equality, KernelSource, Options, Route, Solver, TableKernel};
use boulevard::svm::{KernelMachine, Model, Penalty, Svc, SvcModel};
use boulevard::validation::{GridSearch, cross_validate};

use crate::problems::{Problem, apart, clouds, different, digits, fit, fit_classes, machine, search, try_fit, try_fit_to};

/// The context of the first card; none, and the reason, where there is none.
pub(crate) fn cuda() -> Option<Context<'static>> {
    let (x, context) = (Matrix::dense(vec![0.0; 12], 6, 2).unwrap(), Context::default().with_device(Device::Cuda(0)));
    match Solver::new(&TableKernel::new(&Kernel::rbf(1.0), &x, &context), None, &context).map(|_| ()) {
        Ok(()) => Some(context),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn compare(name: &str, cpu: &DualSolution, card: &DualSolution) {
    let close = (cpu.objective - card.objective).abs() / cpu.objective.abs();
    println!(
        "{name}: objective {:.9} on the processor ({}), {:.9} on the card ({}), {close:.1e} apart; violation {:.2e} and {:.2e}",
        cpu.objective, cpu.route, card.objective, card.route, cpu.violation, card.violation
    );
    assert_eq!((card.route, card.stop), (Route::Card, StopReason::Converged), "{name}");
    // The relative gaps are proven: so far may two solutions within the tolerance be apart, and no further.
    let apart = cpu.gap + card.gap + 1e-12;
    assert!(card.violation <= 1e-3 && close <= apart, "{name}: {close:.1e} apart, gaps allow {apart:.1e}");
}

#[test]
fn classes_agree_for_every_kernel() {
    let Some(context) = cuda() else { return };
    let problem = clouds(6000, 7, 12, 1.0);
    let kernels = [
        Kernel::rbf(0.1),
        Kernel::Laplacian { gamma: 0.1.into() },
        Kernel::poly(2, 0.1, 1.0),
        Kernel::InverseMultiquadric { gamma: 0.1.into(), coef0: 1.0 },
    ];
    for kernel in kernels {
        let (cpu, _) = fit(&problem, &kernel, 1.0, &context.with_device(Device::Cpu));
        let (card, _) = fit(&problem, &kernel, 1.0, &context);
        compare(&kernel.in_words(), &cpu, &card);
        let (again, _) = fit(&problem, &kernel, 1.0, &context);
        assert_eq!(card.coefficients, again.coefficients, "{}: the same input twice", kernel.in_words());
    }
}

#[test]
fn many_features_and_sparse_rows_agree() {
    let Some(context) = cuda() else { return };
    let problem = clouds(6000, 150, 12, 1.0);
    let (cpu, _) = fit(&problem, &Kernel::rbf(0.005), 10.0, &context.with_device(Device::Cpu));
    let (card, _) = fit(&problem, &Kernel::rbf(0.005), 10.0, &context);
    compare("150 features", &cpu, &card);
    let sparse = Problem { x: problem.x.to_sparse(), y: problem.y.clone() };
    let (card_sparse, _) = fit(&sparse, &Kernel::rbf(0.005), 10.0, &context);
    assert_eq!(card.coefficients, card_sparse.coefficients);
}

/// Regression with a kink, one class, and the two sums of nu regression.
#[test]
fn other_machines_agree() {
    let Some(context) = cuda() else { return };
    let problem = clouds(6000, 4, 8, 1.0);
    let n = problem.y.len();
    let target: Vec<f64> = (0..n).map(|i| -problem.x.get(i, 0).sin() - 0.2 * problem.x.get(i, 1)).collect();
    let (kernel, options) = (Kernel::rbf(0.3), Options { polish: false, ..Options::default() });
    let on = |device| context.with_device(device);
    let mut pairs = Vec::new();
    for device in [Device::Cpu, Device::Cuda(0)] {
        let context = on(device);
        let source = TableKernel::new(&kernel, &problem.x, &context);
        let (lower, upper) = (vec![-2.0; n], vec![2.0; n]);
        let svr = DualProblem { linear: &target, lower: &lower, upper: &upper, kink: 0.1, equality: Equality::Sum, start: None };
        let mut found = vec![Solver::new(&source, None, &context).unwrap().solve(&svr, &options).unwrap()];
        let (zero, one, nothing) = (vec![0.0; n], vec![1.0; n], vec![0.0; n]);
        let start: Vec<f64> = (0..n).map(|i| if i < n / 5 { 1.0 } else { 0.0 }).collect();
        let novelty = DualProblem { linear: &nothing, lower: &zero, upper: &one, kink: 0.0, equality: Equality::Sum, start: Some(&start) };
        found.push(Solver::new(&source, None, &context).unwrap().solve(&novelty, &options).unwrap());
        let doubled = DoubledKernel::new(&source, &context);
        assert_eq!(doubled.table().unwrap().len(), 2 * n);
        let second: Vec<bool> = (0..2 * n).map(|i| i >= n).collect();
        let linear = [&target[..], &target].concat();
        let (low, high): (Vec<f64>, Vec<f64>) = second.iter().map(|&s| if s { (-1.0, 0.0) } else { (0.0, 1.0) }).unzip();
        let share = (0.3 * n as f64 / 2.0) as usize;
        let start: Vec<f64> = (0..2 * n).map(|i| if i % n < share { if second[i] { -1.0 } else { 1.0 } } else { 0.0 }).collect();
        let nu = DualProblem {
            linear: &linear,
            lower: &low,
            upper: &high,
            kink: 0.0,
            equality: Equality::TwoSums(&second),
            start: Some(&start),
        };
        found.push(Solver::new(&doubled, None, &context).unwrap().solve(&nu, &options).unwrap());
        pairs.push(found);
    }
    let (cpu, card) = (&pairs[0], &pairs[1]);
    for (k, name) in ["regression", "one class", "nu regression"].into_iter().enumerate() {
        compare(name, &cpu[k], &card[k]);
    }
}

/// A fit that is stopped on the card is one with a reason and a point that the constraints allow.
#[test]
fn limits_hold_on_the_card() {
    let Some(context) = cuda() else { return };
    let problem = clouds(60_000, 20, 40, 1.0);
    let hurried = context.with_time_limit(std::time::Duration::from_millis(200));
    let (solution, seconds) = fit(&problem, &Kernel::rbf(0.05), 1000.0, &hurried);
    println!("stopped after {seconds:.2} s: {:?}, violation {:.2e}", solution.stop, solution.violation);
    assert_eq!(solution.stop, StopReason::TimeLimit);
    assert!(solution.coefficients.iter().sum::<f64>().abs() < 1e-6);
}

/// Breaks off at the so manieth question.
struct Breaks(AtomicUsize);

impl Observer for Breaks {
    fn on_progress(&self, _: &Progress<'_>) -> ControlFlow<()> {
        if self.0.fetch_add(1, Ordering::Relaxed) >= 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whoever watches hears of progress and may break it off, soon.
#[test]
fn interrupts_are_heard_on_the_card() {
    let Some(context) = cuda() else { return };
    let problem = clouds(60_000, 20, 40, 1.0);
    let breaks = Breaks(AtomicUsize::new(0));
    match try_fit(&problem, &Kernel::rbf(0.05), 1000.0, &context.with_observer(&breaks)) {
        Ok((solution, seconds)) => {
            println!("broken off after {seconds:.2} s: {:?}, violation {:.2e}", solution.stop, solution.violation);
            assert!(solution.stop == StopReason::Interrupted && solution.coefficients.iter().sum::<f64>().abs() < 1e-6 && seconds < 2.0);
        }
        Err(error) => assert!(matches!(error, Error::Stopped { reason: StopReason::Interrupted }), "{error}"),
    }
    // Predictions of many pieces, too.
    let (x, breaks) = (clouds(600_000, 54, 12, 1.0).x, Breaks(AtomicUsize::new(4)));
    let stopped = machine(&x, 2000, 0.01, 0.1).evaluate(&x, &context.with_observer(&breaks)).map(|values| values.len());
    assert!(matches!(stopped, Err(Error::Stopped { reason: StopReason::Interrupted })), "{stopped:?}");
}

/// From a solution there is little left to do, and the optimum is the same.
#[test]
fn starts_are_used_on_the_card() {
    let Some(context) = cuda() else { return };
    let problem = clouds(20_000, 20, 40, 1.0);
    let source = TableKernel::new(&Kernel::rbf(0.05), &problem.x, &context);
    let linear: Vec<f64> = problem.y.iter().map(|y| -y).collect();
    let solve = |c: f64, start: Option<&[f64]>| {
        let [lower, upper] =
            [-1.0, 1.0].map(|sign| problem.y.iter().map(|&y| if y * sign > 0.0 { y * c } else { 0.0 }).collect::<Vec<f64>>());
        let dual = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start };
        let options = Options { polish: false, ..Options::default() };
        Solver::new(&source, None, &context).unwrap().solve(&dual, &options).unwrap()
    };
    let cold = solve(1.0, None);
    let again = solve(1.0, Some(&cold.coefficients));
    let next = solve(1.25, Some(&cold.coefficients));
    println!("steps: cold {}, from its solution {}, to a larger C {}", cold.iterations, again.iterations, next.iterations);
    for solution in [&again, &next] {
        assert_eq!((solution.route, solution.stop), (Route::Card, StopReason::Converged));
        assert!(solution.violation <= 1e-3 && solution.iterations < cold.iterations);
    }
    assert!((again.objective - cold.objective).abs() <= 1e-6 * cold.objective.abs());
}

#[test]
fn a_card_that_is_not_there_is_an_error_or_the_processor() {
    let problem = clouds(200, 3, 4, 1.0);
    let asked = Context::default().with_device(Device::Cuda(99));
    let source = TableKernel::new(&Kernel::rbf(0.5), &problem.x, &asked);
    let error = Solver::new(&source, None, &asked).map(|_| ()).unwrap_err();
    assert!(matches!(&error, Error::Device { device, .. } if device == "cuda:99"), "{error}");
    let line = error.to_string();
    assert!(line.starts_with("device cuda:99: ") && !line.contains('\n'), "{line}");
    println!("{line}");
    for device in [Device::Auto, Device::Cpu] {
        let (solution, _) = fit(&problem, &Kernel::rbf(0.5), 1.0, &Context::default().with_device(device));
        assert_eq!(solution.stop, StopReason::Converged);
    }
}

/// One machine on card and processor, and fits on both that are solved further than 1e-5: no label differs outside a band of 1e-5. (Fits to
/// the usual 1e-3 may differ by as much.)
#[test]
fn labels_agree_outside_a_narrow_band() {
    let Some(context) = cuda() else { return };
    let cpu = context.with_device(Device::Cpu);
    let (narrow, wide) = (clouds(20_000, 20, 40, 1.0), clouds(6000, 150, 12, 1.0));
    let cases =
        [("20k x 20, C = 1", &narrow, 0.05, 1.0), ("20k x 20, C = 10", &narrow, 0.05, 10.0), ("6k x 150, C = 10", &wide, 0.005, 10.0)];
    for (name, problem, gamma, c) in cases {
        let kernel = Kernel::rbf(gamma);
        let (on_card, seconds) = try_fit_to(1e-7, problem, &kernel, c, &context).unwrap();
        let (on_cpu, cpu_seconds) = try_fit_to(1e-7, problem, &kernel, c, &cpu).unwrap();
        let close = (on_cpu.objective - on_card.objective).abs() / on_cpu.objective.abs();
        let differ = different(problem, &on_cpu, &on_card, 1e-5);
        println!(
            "{name}, tolerance 1e-7: {seconds:.2} s on the card ({}), {cpu_seconds:.2} on the processor; {close:.1e} apart, violation {:.1e} and {:.1e}, {differ} labels",
            on_card.route, on_card.violation, on_cpu.violation
        );
        assert!(on_card.stop == StopReason::Converged && close < 1e-9 && differ == 0, "{name}: {close:e}, {differ} labels");
        let (x, y) = (problem.x.clone(), problem.y.iter().map(|y| y.to_string()).collect::<Vec<_>>());
        let (model, _) = fit_classes(&x, &y, gamma, c, &context);
        let machine = model.kernel_machines()[0].clone();
        for tolerance in [1e-3, 1e-5, 1e-13] {
            let machine = KernelMachine { tolerance, ..machine.clone() };
            let [card, cpu] = [&context, &cpu].map(|context| machine.evaluate(&x, context).unwrap());
            let (most, differ) = apart(&cpu, &card, 1e-5);
            println!("    one machine for a tolerance of {tolerance:.0e}: values {most:.1e} apart, {differ} labels outside 1e-5");
            // Single precision is used where its errors are a small share of the tolerance.
            assert!(most < tolerance.max(1e-9) && (differ == 0 || tolerance > 1e-5), "{name}: {most:e}, {differ} labels");
        }
    }
}

/// All pairs of classes at once on a stored matrix.
#[test]
fn pairs_of_classes_agree() {
    let Some(context) = cuda() else { return };
    for (c, gamma) in [(1.0, 0.01), (10.0, 0.003)] {
        let (x, y) = digits(6000, 40, 5);
        let (cpu, cpu_seconds) = fit_classes(&x, &y, gamma, c, &context.with_device(Device::Cpu));
        let (card, seconds) = fit_classes(&x, &y, gamma, c, &context);
        let (a, b) = (cpu.report(), card.report());
        let close = (a.objective - b.objective).abs() / a.objective.abs();
        println!(
            "pairs, C = {c}: {} on the card in {seconds:.3} s, {cpu_seconds:.3} on the processor; {close:.1e} apart, violation {:.2e}",
            b.route, b.violation
        );
        assert_eq!((b.route, b.stop), (Route::Card, StopReason::Converged));
        assert!(b.violation <= 1e-3 && close < a.gap + b.gap + 1e-12);
        let on = |model: &SvcModel, device| model.kernel_machines()[0].evaluate(&x, &context.with_device(device)).unwrap();
        let (most, other) = apart(&on(&cpu, Device::Cpu), &on(&card, Device::Cpu), 1e-2);
        assert!(most < 2e-2 && other == 0, "{most:e} {other}");
        // And the same machine on both, against double precision: single precision on the processor has errors of its own.
        let machine = card.kernel_machines()[0].clone();
        let exact = KernelMachine { tolerance: 1e-13, ..machine }.evaluate(&x, &context.with_device(Device::Cpu)).unwrap();
        let (most, other) = apart(&exact, &on(&card, Device::Cuda(0)), 1e-4);
        let (of_processor, _) = apart(&exact, &on(&card, Device::Cpu), 1e-4);
        println!("decision values of one machine: {most:.1e} from double precision on the card, {of_processor:.1e} on the processor");
        assert!(most < 2e-4 && other == 0, "{most:e} {other}");
        let (again, _) = fit_classes(&x, &y, gamma, c, &context);
        assert_eq!(on(&card, Device::Cpu), on(&again, Device::Cpu), "the same input twice");
    }
}

/// Folds and points of a grid side by side on the card: the steps and scores that they have one after the other, and the scores of the
/// processor.
#[test]
fn many_problems_at_once_agree() {
    let Some(context) = cuda() else { return };
    let problem = clouds(8000, 7, 12, 1.0);
    let (c, gamma) = ([1.0, 10.0, 100.0], [0.05, 0.2]);
    let context = context.with_threads(context.threads.max(4));
    let (at_once, _) = search(&problem, &c, &gamma, &context);
    let (in_turn, _) = search(&problem, &c, &gamma, &context.with_threads(1));
    assert_eq!(at_once.stop, StopReason::Converged);
    assert_eq!(at_once.points, in_turn.points, "the same steps and scores");
    let (cpu, _) = search(&problem, &c, &gamma, &context.with_device(Device::Cpu));
    for (a, b) in at_once.points.iter().zip(&cpu.points) {
        let most = a.scores.iter().zip(&b.scores).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("C = {}, gamma = {:?}: {:.4} and {:.4}, a fold {most:.1e} apart", a.c, a.gamma, a.mean, b.mean);
        // Two solutions within the tolerance may disagree about rows at the border.
        assert!(most < 3e-3, "C = {}, gamma = {:?}: {most:e}", a.c, a.gamma);
    }
    // Any learner's folds, too.
    let names: Vec<String> = problem.y.iter().map(|y| y.to_string()).collect();
    let data = Dataset::classes(problem.x.clone(), Categories::from_names(&names));
    let splits = GridSearch::default().splits(&data).unwrap();
    let svc = Svc { kernel: Kernel::rbf(0.1), penalty: Penalty::C(10.0), ..Svc::default() };
    let of = |threads: usize| {
        let mut found = cross_validate(&svc, &data, &splits, &context.with_threads(threads)).unwrap();
        // Nobody is as fast twice.
        found.folds.iter_mut().for_each(|fold| fold.report.seconds = 0.0);
        found
    };
    let (at_once, in_turn) = (of(context.threads), of(1));
    assert_eq!(at_once.folds, in_turn.folds);
    assert!(at_once.folds.iter().all(|fold| fold.report.route == Route::Card));
}
